//! Pods that wait for a scheduler that does not run: no scheduler has looked at them, and no sign of one with their name is seen.

use crate::doctor::facts::{Facts, Part, pod_name, scheduler_of, some};
use crate::doctor::finding::Finding;
use k8s_openapi::api::core::v1::Pod;
use std::collections::BTreeMap;

/// A younger pod may be on its way, in seconds.
const YOUNG: i64 = 30;

pub(super) fn check(facts: &Facts) -> Part<Vec<Finding>> {
    let unbound = facts.unbound.as_ref().map_err(Clone::clone)?;
    let mut waiting: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for pod in unbound.iter().filter(|pod| is_ignored(pod, facts)) {
        waiting.entry(scheduler_of(pod)).or_default().push(pod_name(pod));
    }
    let ours = facts.our_names();
    let all = waiting.into_iter().filter(|(name, _)| !is_served(facts, name)).map(|(name, pods)| {
        let named = some(pods.iter().map(String::as_str));
        let finding = Finding::error(match pods.len() {
            1 => format!("a pod waits for the scheduler `{name}`, which does not run: {named}"),
            many => format!("{many} pods wait for the scheduler `{name}`, which does not run: {named}"),
        });
        let known = match ours.is_empty() {
            true => "no scheduler of ours serves a name".to_owned(),
            false => format!("those of ours serve {}", ours.join(", ")),
        };
        finding
            .because(format!(
                "no scheduler has looked at them, and none of that name leads or has bound pods lately; {known}; a pod's \
                 `schedulerName` cannot be changed: correct its template, or serve the name by a profile"
            ))
            .then(format!("kubectl get pods --all-namespaces --field-selector spec.schedulerName={name},spec.nodeName="))
    });
    Ok(all.collect())
}

/// Whether a pod is old enough, and no scheduler has said anything about it.
fn is_ignored(pod: &Pod, facts: &Facts) -> bool {
    let age =
        pod.metadata.creation_timestamp.as_ref().map(|at| facts.server_now().duration_since(at.0).as_secs());
    let conditions = pod.status.iter().filter_map(|status| status.conditions.as_ref()).flatten();
    let looked_at = conditions
        .into_iter()
        .any(|of| of.type_ == "PodScheduled" && of.reason.as_deref() != Some("SchedulingGated"));
    let gated = pod.spec.iter().any(|spec| spec.scheduling_gates.iter().flatten().next().is_some());
    age.is_none_or(|age| age > YOUNG) && !looked_at && !gated && pod.metadata.deletion_timestamp.is_none()
}

/// Whether a scheduler of that name is seen.
fn is_served(facts: &Facts, name: &str) -> bool {
    let by_events = || {
        let lately = facts.scheduled.iter().flatten().filter(|event| {
            let at = event.event_time.as_ref().map(|at| facts.server_now().duration_since(at.0).as_secs());
            at.is_some_and(|age| age < 600)
        });
        lately.into_iter().any(|event| event.reporting_controller.as_deref() == Some(name))
    };
    let by_configuration = || {
        let mut fresh = facts.published.iter().flatten().filter(|of| of.is_fresh(facts.server_now()));
        fresh.any(|of| of.names().any(|of| of == name))
    };
    let by_installation = || {
        let mut serving = facts.installations.iter().filter(|of| of.names.iter().any(|of| of == name));
        serving.any(|of| {
            let lease = of.wanted.lease.as_ref().and_then(|(namespace, name)| facts.lease(namespace, name));
            lease.is_some_and(|lease| facts.is_held(lease))
        })
    };
    let by_kube_scheduler = || {
        name == "default-scheduler"
            && facts.lease("kube-system", "kube-scheduler").is_some_and(|lease| facts.is_held(lease))
    };
    by_kube_scheduler() || by_installation() || by_configuration() || by_events()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::facts::testing::{installed, lease, nothing, pod};

    #[test]
    fn a_pod_waits_in_vain_if_no_sign_of_its_scheduler_is_seen() {
        let said = |pods: Vec<Pod>, held: i64| {
            let leases = vec![
                lease("bayplan", "bayplan", "bayplan-1_id", held),
                lease("kube-system", "kube-scheduler", "master_id", 1),
            ];
            let facts = Facts {
                installations: vec![installed("bayplan")],
                unbound: Ok(pods),
                leases: Ok(leases),
                ..nothing()
            };
            check(&facts).unwrap().into_iter().map(|finding| finding.what).collect::<Vec<_>>()
        };
        assert_eq!(
            said(vec![pod("a", "gone", 5), pod("b", "gone", 5)], 1),
            ["2 pods wait for the scheduler `gone`, which does not run: shop/a, shop/b"]
        );
        assert!(
            said(vec![pod("a", "gone", 0), pod("b", "bayplan", 5), pod("c", "default-scheduler", 5)], 1)
                .is_empty()
        );
        // Its own lease is stale, too.
        assert_eq!(said(vec![pod("b", "bayplan", 5)], 900).len(), 1);
    }
}
