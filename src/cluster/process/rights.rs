//! The rights without which no pod is scheduled: which of them the account lacks, as the API server reviews them, and the
//! lines that grant them. `run` asks at the start and again while it runs; the log, the readiness and
//! `bayplan run --check-rights` say what is missing. Rights whose lack costs less (events, conditions, evictions) are not
//! here: the code that needs one reports it.

use super::leader;
use crate::api::client::{Api, JSON, Request};
use crate::inputs::watch::rule;
use bayplan_framework::Need;
use bayplan_model::{KINDS, Kind};
use http::Method;
use serde_json::{Value, json};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// How often the rights are reviewed while one is missing.
const AGAIN: Duration = Duration::from_secs(5);
/// How often they are reviewed when all are there: a right may be lost.
const LATER: Duration = Duration::from_secs(300);

/// A right on a resource.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Right {
    verbs: Vec<&'static str>,
    group: String,
    /// The plural name, with the subresource after a slash.
    resource: String,
    /// Empty: in the whole cluster.
    namespace: String,
    /// Empty: of all names.
    name: String,
}

impl Right {
    fn new(verbs: &[&'static str], group: &str, resource: &str) -> Self {
        let (group, resource) = (group.to_owned(), resource.to_owned());
        Self { verbs: verbs.to_vec(), group, resource, namespace: String::new(), name: String::new() }
    }

    fn in_namespace(self, namespace: &str) -> Self {
        Self { namespace: namespace.to_owned(), ..self }
    }

    fn of(self, name: &str) -> Self {
        Self { name: name.to_owned(), ..self }
    }

    /// The attributes of a review of one of its verbs.
    fn attributes(&self, verb: &str) -> Value {
        let (resource, subresource) = self.resource.split_once('/').unwrap_or((&self.resource, ""));
        json!({
            "verb": verb, "group": self.group, "resource": resource, "subresource": subresource,
            "namespace": self.namespace, "name": self.name,
        })
    }

    /// The line for a shell that grants it to a user.
    pub(crate) fn grant(&self, user: &str) -> String {
        let subject = match user.strip_prefix("system:serviceaccount:") {
            Some(account) => format!("--serviceaccount={}", quoted(account)),
            None => format!("--user={}", quoted(user)),
        };
        let verbs = self.verbs.join(",");
        let (resource, sub) = self.resource.split_once('/').unwrap_or((&self.resource, ""));
        let dotted =
            |mark: char, part: &str| if part.is_empty() { String::new() } else { format!("{mark}{part}") };
        let what = format!("{resource}{}{}", dotted('.', &self.group), dotted('/', sub));
        let first = self.verbs.first().copied().unwrap_or_default();
        let role = format!("bayplan-{first}-{}", self.resource.replace('/', "-"));
        let named = if self.name.is_empty() {
            String::new()
        } else {
            format!(" --resource-name={}", quoted(&self.name))
        };
        let (kind, place) = match self.namespace.is_empty() {
            true => ("clusterrole", String::new()),
            false => ("role", format!(" --namespace={}", quoted(&self.namespace))),
        };
        format!(
            "kubectl create {kind} {role}{place} --verb={verbs} --resource={what}{named} && \
             kubectl create {kind}binding {role}{place} --{kind}={role} {subject}"
        )
    }
}

impl std::fmt::Display for Right {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (resource, name) = (&self.resource, &self.name);
        let resource =
            if self.group.is_empty() { resource.clone() } else { format!("{resource}.{}", self.group) };
        write!(f, "{} {resource}", self.verbs.join(", "))?;
        if !name.is_empty() {
            write!(f, " `{name}`")?;
        }
        match self.namespace.is_empty() {
            true => Ok(()),
            false => write!(f, " in the namespace `{}`", self.namespace),
        }
    }
}

/// A word quoted for a shell.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.:@/".contains(c);
    match !word.is_empty() && word.chars().all(plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

/// What decides which rights are needed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Wanted<'o> {
    /// The kinds that plugins need.
    pub needs: &'o [Need],
    /// The namespaces of policies.
    pub policies: &'o [String],
    /// The lease.
    pub lease: Option<&'o leader::Settings>,
    /// Whether pods are bound.
    pub binds: bool,
}

/// The rights without which no pod is scheduled.
pub(crate) fn needed(wanted: &Wanted<'_>) -> Vec<Right> {
    let is_needed = |kind: &Kind| {
        let by_plugin = wanted.needs.iter().any(|need| need.kind == *kind && !need.optional);
        by_plugin || matches!(kind, Kind::Pod | Kind::Node)
    };
    let read = KINDS.iter().filter(|row| is_needed(&row.kind));
    let mut rights: Vec<Right> =
        read.map(|row| Right::new(&["list", "watch"], row.group, row.plural)).collect();
    let policies = wanted.policies.iter();
    rights.extend(policies.map(|of| Right::new(&["list", "watch"], "", "configmaps").in_namespace(of)));
    if let Some(lease) = wanted.lease {
        let group = "coordination.k8s.io";
        // RBAC cannot restrict `create` by name.
        let create = Right::new(&["create"], group, "leases").in_namespace(&lease.namespace);
        let renew = Right::new(&["get", "update"], group, "leases").in_namespace(&lease.namespace);
        rights.extend([create, renew.of(&lease.name)]);
    }
    if wanted.binds {
        rights.push(Right::new(&["create"], "", "pods/binding"));
    }
    rights
}

/// A right that is missing, with the line that grants it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Missing {
    /// The right: the verbs that are missing.
    pub right: Right,
    /// The rule of a role that allows it.
    pub rule: String,
    /// The line for a shell.
    pub grant: String,
}

impl std::fmt::Display for Missing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}; grant it: {}", self.right, self.grant)
    }
}

/// The missing ones of these rights. A right that cannot be reviewed counts as there.
pub(crate) async fn missing(api: &Api, needed: &[Right]) -> Vec<Missing> {
    let mut found = Vec::new();
    for right in needed {
        let mut verbs = Vec::new();
        for verb in &right.verbs {
            let spec = json!({ "resourceAttributes": right.attributes(verb) });
            let answer = review(api, "authorization.k8s.io", "SelfSubjectAccessReview", spec).await;
            if answer.is_some_and(|answer| answer["status"]["allowed"] == false) {
                verbs.push(*verb);
            }
        }
        if !verbs.is_empty() {
            found.push(Right { verbs, ..right.clone() });
        }
    }
    if found.is_empty() {
        return Vec::new();
    }
    let whoami = review(api, "authentication.k8s.io", "SelfSubjectReview", json!({})).await;
    let user = whoami.and_then(|answer| Some(answer["status"]["userInfo"]["username"].as_str()?.to_owned()));
    let user = user.unwrap_or_else(|| "system:serviceaccount:NAMESPACE:NAME".to_owned());
    let with_lines = |right: Right| {
        let verbs: Vec<&str> = right.verbs.clone();
        let (rule, grant) = (rule(&right.group, &[&right.resource], &verbs), right.grant(&user));
        Missing { right, rule, grant }
    };
    found.into_iter().map(with_lines).collect()
}

async fn review(api: &Api, group: &str, kind: &str, spec: Value) -> Option<Value> {
    let path = format!("/apis/{group}/v1/{}s", kind.to_lowercase());
    let body = json!({ "apiVersion": format!("{group}/v1"), "kind": kind, "spec": spec });
    let answer = api.call::<Value>(Request::with_body(Method::POST, path, JSON, &body)).await;
    answer.inspect_err(|error| tracing::debug!(%error, kind, "the account's rights cannot be reviewed")).ok()
}

/// What the account lacks now. Clones share it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rights {
    missing: Arc<Mutex<Vec<Missing>>>,
}

impl Rights {
    /// Reviews these rights for ever, and says what changed.
    pub(crate) async fn follow(self, api: Api, needed: Vec<Right>) {
        loop {
            let found = missing(&api, &needed).await;
            let pause = if found.is_empty() { LATER } else { AGAIN };
            self.note(found);
            tokio::time::sleep(pause).await;
        }
    }

    fn note(&self, found: Vec<Missing>) {
        let mut known = self.missing.lock().unwrap_or_else(PoisonError::into_inner);
        if *known == found {
            return;
        }
        for Missing { right, rule, grant } in found.iter().filter(|it| !known.contains(it)) {
            tracing::error!(%right, %rule, "no pod is scheduled until this right is granted: {grant}");
        }
        if found.is_empty() {
            tracing::info!("every right without which no pod is scheduled is there");
        }
        *known = found;
    }

    /// Passes if nothing is missing; else what, with the lines that grant it.
    pub(crate) fn complete(&self) -> Result<(), String> {
        let missing = self.missing.lock().unwrap_or_else(PoisonError::into_inner);
        if missing.is_empty() {
            return Ok(());
        }
        let all: Vec<String> = missing.iter().map(ToString::to_string).collect();
        Err(format!("no pod is scheduled until missing rights are granted: {}", all.join("; ")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings() -> leader::Settings {
        let (lease, renew, retry) =
            (Duration::from_secs(15), Duration::from_secs(10), Duration::from_secs(2));
        let (namespace, name) = ("bayplan".into(), "mine".into());
        leader::Settings { namespace, name, identity: String::new(), lease, renew, retry }
    }

    #[test]
    fn the_rights_without_which_nothing_is_scheduled_are_few() {
        let needs = [
            Need { kind: Kind::PersistentVolume, optional: false },
            Need { kind: Kind::CsiStorageCapacity, optional: true },
        ];
        let (policies, lease) = (["p".to_owned()], settings());
        let wanted = Wanted { needs: &needs, policies: &policies, lease: Some(&lease), binds: true };
        let all: Vec<String> = needed(&wanted).iter().map(ToString::to_string).collect();
        let mut expected = [
            "list, watch pods",
            "list, watch nodes",
            "list, watch persistentvolumes",
            "list, watch configmaps in the namespace `p`",
            "create leases.coordination.k8s.io in the namespace `bayplan`",
            "get, update leases.coordination.k8s.io `mine` in the namespace `bayplan`",
            "create pods/binding",
        ];
        let mut sorted = all.clone();
        sorted.sort();
        expected.sort();
        assert_eq!(sorted, expected);
    }

    #[test]
    fn a_right_has_a_line_that_grants_it() {
        let lease = settings();
        let wanted = Wanted { lease: Some(&lease), binds: true, ..Wanted::default() };
        let all = needed(&wanted);
        let grant = |at: usize, user: &str| all[all.len() - at].grant(user);
        assert_eq!(
            grant(1, "system:serviceaccount:a:b"),
            "kubectl create clusterrole bayplan-create-pods-binding --verb=create --resource=pods/binding && kubectl \
             create clusterrolebinding bayplan-create-pods-binding --clusterrole=bayplan-create-pods-binding \
             --serviceaccount=a:b"
        );
        assert_eq!(
            grant(2, "it's me"),
            "kubectl create role bayplan-get-leases --namespace=bayplan --verb=get,update \
             --resource=leases.coordination.k8s.io --resource-name=mine && kubectl create rolebinding bayplan-get-leases \
             --namespace=bayplan --role=bayplan-get-leases --user='it'\\''s me'"
        );
    }
}
