//! What `bayplan doctor --bundle` writes for a report: facts that a list here names, and what the checks found, without their
//! reasons, which may repeat texts of policies and messages of others. Names of a cluster (namespaces, pods, nodes, users,
//! schedulers, policies) become `name-1`, `name-2`, …, the same name the same word; URLs and addresses are left out.

use super::checks::Outcome;
use super::facts::{Facts, holder, node_of, pod_name, scheduler_of};
use crate::policies::listing::State;
use k8s_openapi::api::core::v1::Pod;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr};

/// Names that are the same in every cluster, or our own.
const KNOWN: [&str; 11] = [
    "default",
    "kube-system",
    "kube-public",
    "kube-node-lease",
    "kube-scheduler",
    "default-scheduler",
    "bayplan",
    "bayplan-policies",
    "bayplan-overrides",
    "deploy",
    "pod",
];

/// The masked document.
pub fn document(facts: &Facts, outcomes: &[Outcome]) -> Value {
    let mut document = json!({
        "apiVersion": "bayplan.dev/v1", "kind": "DoctorBundle",
        "version": env!("CARGO_PKG_VERSION"),
        "server": facts.version.as_ref().ok(),
        "checks": outcomes.iter().map(checked).collect::<Vec<_>>(),
        "workloads": facts.installations.iter().map(|of| json!({
            "name": format!("{}/{}", of.workload.namespace, of.workload.name),
            "arguments": of.workload.arguments,
            "schedulerNames": of.names,
            "plugins": of.wanted.plugins,
            "policyNamespaces": of.wanted.policies.len(),
        })).collect::<Vec<_>>(),
        "deployments": facts.deployments.iter().flatten().map(|of| json!({
            "replicas": of.spec.as_ref().and_then(|spec| spec.replicas),
            "ready": of.status.as_ref().and_then(|status| status.ready_replicas).unwrap_or(0),
        })).collect::<Vec<_>>(),
        "ownPods": facts.own_pods.iter().flatten().map(own_pod).collect::<Vec<_>>(),
        "leases": facts.leases.iter().flatten().map(|of| json!({
            "name": format!("{}/{}", of.namespace, of.name),
            "holder": of.lease.as_ref().and_then(holder),
            "lateSeconds": of.lease.as_ref().and_then(|lease| facts.unrenewed_for(lease)).map(|late| late.as_secs()),
            "transitions": of.lease.as_ref().and_then(|lease| lease.spec.as_ref()?.lease_transitions),
        })).collect::<Vec<_>>(),
        "policies": facts.policies.iter().flatten().map(|of| json!({
            "name": of.name, "state": state(&of.state), "serving": of.serving.len(), "written": of.written,
        })).collect::<Vec<_>>(),
        "waitingPods": waiting(facts),
        "ports": facts.ports.iter().map(|port| json!({
            "of": port.of, "failing": port.failing.as_ref().ok(),
        })).collect::<Vec<_>>(),
    });
    Mask::of(facts).apply(&mut document);
    document
}

fn checked(of: &Outcome) -> Value {
    let found: Vec<Value> = of
        .result
        .iter()
        .flatten()
        .map(|finding| json!({"severity": finding.severity.word(), "what": finding.what}))
        .collect();
    json!({"name": of.check.name, "found": found, "cannotRead": of.unread().map(|unread| &unread.resource)})
}

fn own_pod(pod: &Pod) -> Value {
    let status = pod.status.clone().unwrap_or_default();
    let containers = status.container_statuses.unwrap_or_default();
    let waiting = containers.iter().find_map(|of| of.state.as_ref()?.waiting.as_ref()?.reason.clone());
    let images = pod.spec.iter().flat_map(|spec| &spec.containers).filter_map(|of| of.image.as_deref());
    json!({
        "name": pod_name(pod), "phase": status.phase, "waiting": waiting,
        "restarts": containers.iter().map(|of| of.restart_count).sum::<i32>(),
        // Without the registry.
        "images": images.map(|image| image.rsplit('/').next().unwrap_or_default()).collect::<Vec<_>>(),
    })
}

fn state(of: &State) -> &'static str {
    match of {
        State::Serving => "serving",
        State::Refused { .. } => "refused",
        State::Waiting { .. } => "waiting",
        State::Overridden { .. } => "overridden",
    }
}

/// How many pods without a node each scheduler name has.
fn waiting(facts: &Facts) -> Value {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for pod in facts.unbound.iter().flatten() {
        *counts.entry(scheduler_of(pod)).or_default() += 1;
    }
    counts.into_iter().map(|(name, pods)| json!({"scheduler": name, "pods": pods})).collect()
}

/// The words that stand for names.
struct Mask {
    words: BTreeMap<String, String>,
}

impl Mask {
    /// Every name that the facts have.
    fn of(facts: &Facts) -> Self {
        let mut names: BTreeSet<String> = BTreeSet::new();
        let mut add = |text: &str| names.extend(text.split(['/', ':', ' ']).map(str::to_owned));
        let some = [&facts.unbound, &facts.own_pods, &facts.kube_schedulers];
        let foreign = facts.foreign.iter().flat_map(|(pods, _)| pods);
        let refused = facts.refused.iter().flat_map(|of| of.pods.iter().chain(&of.beside));
        for pod in some.into_iter().flatten().flatten().chain(foreign).chain(refused) {
            add(&pod_name(pod));
            add(scheduler_of(pod));
            add(node_of(pod));
        }
        for of in &facts.installations {
            let (account_namespace, account) = of.wanted.account.parts();
            for text in [&of.workload.namespace, &of.workload.name, &of.workload.user, &of.wanted.namespace] {
                add(text);
            }
            [account_namespace, account].into_iter().for_each(&mut add);
            of.names.iter().chain(&of.wanted.policies).for_each(|name| add(name));
        }
        for of in facts.leases.iter().flatten() {
            [&of.namespace, &of.name].into_iter().for_each(|name| add(name));
            if let Some(holder) = of.lease.as_ref().and_then(holder) {
                add(holder);
                add(holder.rsplit_once('_').map_or(holder, |(host, _)| host));
            }
        }
        for of in facts.published.iter().flatten() {
            add(&of.object);
            add(&of.by);
            of.names().for_each(&mut add);
        }
        for of in facts.scheduled.iter().flatten() {
            [&of.reporting_controller, &of.reporting_instance]
                .into_iter()
                .flatten()
                .for_each(|name| add(name));
        }
        facts.policies.iter().flatten().for_each(|of| add(&of.name));
        facts.rights.iter().flatten().for_each(|of| {
            add(&of.user);
            [&of.lacks.namespace, &of.lacks.name].into_iter().for_each(|name| add(name));
        });
        if let Some(removal) = &facts.removal {
            for (object, scheduler) in removal.makers.iter().flatten() {
                add(object);
                add(scheduler);
            }
            removal.marked.iter().flatten().for_each(|pod| add(&pod_name(pod)));
            removal
                .required
                .iter()
                .flatten()
                .for_each(|of| add(of.metadata.name.as_deref().unwrap_or_default()));
            removal.stays.iter().for_each(|of| add(of));
        }
        add(&facts.user);
        let ours = |name: &str| {
            KNOWN.contains(&name) || name.is_empty() || name.starts_with("--") || name.contains("bayplan.dev")
        };
        let names = names.into_iter().filter(|name| !ours(name));
        let words = names.enumerate().map(|(at, name)| (name, format!("name-{}", at + 1)));
        Self { words: words.collect() }
    }

    fn apply(&self, value: &mut Value) {
        match value {
            Value::String(text) => *text = self.text(text),
            Value::Array(items) => items.iter_mut().for_each(|item| self.apply(item)),
            Value::Object(fields) => fields.values_mut().for_each(|field| self.apply(field)),
            _ => {}
        }
    }

    /// A text without names, URLs and addresses.
    fn text(&self, text: &str) -> String {
        let separates = |c: char| c.is_whitespace() || "\"'`,()=;".contains(c);
        let mut masked = String::new();
        for piece in text.split_inclusive(separates) {
            let word = piece.trim_end_matches(separates);
            masked.push_str(&self.word(word));
            masked.push_str(piece.get(word.len()..).unwrap_or_default());
        }
        masked
    }

    fn word(&self, word: &str) -> String {
        if word.contains("://") {
            return "URL".to_owned();
        }
        if word.parse::<IpAddr>().is_ok() || word.parse::<SocketAddr>().is_ok() {
            return "ADDRESS".to_owned();
        }
        if let Some(known) = self.words.get(word) {
            return known.clone();
        }
        let parts: Vec<&str> = word.split_inclusive(['/', ':']).collect();
        let mask = |part: &&str| {
            let name = part.trim_end_matches(['/', ':']);
            let known = self.words.get(name).map_or(name, String::as_str);
            format!("{known}{}", part.get(name.len()..).unwrap_or_default())
        };
        parts.iter().map(mask).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::checks;
    use super::super::facts::testing::{installed, lease, nothing, pod};
    use super::*;

    #[test]
    fn no_name_of_the_cluster_is_in_a_bundle() {
        let mut installation = installed("secret-scheduler");
        installation.workload.namespace = "secret-system".into();
        installation.workload.user = "system:serviceaccount:secret-system:secret-account".into();
        installation.workload.arguments = vec![
            "run".into(),
            "--master=https://secret.example.com:6443".into(),
            "--policy-namespaces=secret-rules".into(),
        ];
        installation.wanted.policies = vec!["secret-rules".into()];
        installation.wanted.lease = Some(("secret-system".into(), "secret-scheduler".into()));
        let mut waits = pod("secret-pod", "secret-other", 9);
        waits.metadata.namespace = Some("secret-shop".into());
        let facts = Facts {
            installations: vec![installation],
            leases: Ok(vec![lease("secret-system", "secret-scheduler", "secret-host_1b2c", 90)]),
            unbound: Ok(vec![waits]),
            user: "secret-user".into(),
            ..nothing()
        };
        let outcomes = checks::run(&facts);
        let text = document(&facts, &outcomes).to_string();
        assert!(!text.contains("secret"), "{text}");
        // What is left says what is wrong, and a name is the same word everywhere.
        assert!(text.contains("is stale: name-") && text.contains("which does not run: name-"), "{text}");
        assert!(text.contains("--master=URL"), "{text}");
    }

    #[test]
    fn names_are_masked_as_words() {
        let mask = Mask { words: [("web".to_owned(), "name-1".to_owned())].into() };
        assert_eq!(
            mask.text("web/web, `web` and cobweb at 10.0.0.1:443"),
            "name-1/name-1, `name-1` and cobweb at ADDRESS"
        );
    }
}
