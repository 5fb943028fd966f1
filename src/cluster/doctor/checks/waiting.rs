//! Before a removal: pods that wait for a scheduler name of ours, also those that a gate or a permit of a policy holds, and nominated nodes.

use crate::doctor::facts::{Facts, Part, pod_name, scheduler_of, some};
use crate::doctor::finding::Finding;
use k8s_openapi::api::core::v1::Pod;

pub(super) fn check(facts: &Facts) -> Part<Vec<Finding>> {
    let unbound = facts.unbound.as_ref().map_err(Clone::clone)?;
    let names = facts.our_names();
    // `default-scheduler` is served again by kube-scheduler.
    let ours = |pod: &&Pod| names.contains(&scheduler_of(pod)) && scheduler_of(pod) != "default-scheduler";
    let waits: Vec<&Pod> = unbound.iter().filter(ours).collect();
    let mut found = Vec::new();
    if !waits.is_empty() {
        let list: Vec<String> = waits.iter().map(|pod| pod_name(pod)).collect();
        let mut schedulers: Vec<&str> = waits.iter().map(|pod| scheduler_of(pod)).collect();
        schedulers.sort_unstable();
        schedulers.dedup();
        found.push(
            Finding::error(format!("{} pods wait for schedulers of ours: {}", waits.len(), some(list.iter().map(String::as_str))))
                .because(
                    "no other scheduler places them, and `schedulerName` of a pod cannot be changed: delete them once their \
                     templates name another one, or keep the name as a profile of kube-scheduler",
                )
                .then(each(&schedulers, |name| {
                    format!("kubectl delete pods --all-namespaces --field-selector spec.schedulerName={name},spec.nodeName=")
                })),
        );
    }
    let nominated = unbound.iter().filter(|pod| names.contains(&scheduler_of(pod)));
    let nominated =
        nominated.filter(|pod| pod.status.iter().any(|status| status.nominated_node_name.is_some()));
    let nominated: Vec<String> = nominated.map(pod_name).collect();
    if !nominated.is_empty() {
        found.push(
            Finding::note(format!(
                "{} pods have a nominated node, on which pods are being evicted for them: {}",
                nominated.len(),
                some(nominated.iter().map(String::as_str))
            ))
            .because("kube-scheduler honours `status.nominatedNodeName` of pods of its name; those of another name lose the room")
            .then("kubectl get pods --all-namespaces --output custom-columns=N:.metadata.namespace,P:.metadata.name,ON:.status.nominatedNodeName | grep --invert-match '<none>'"),
        );
    }
    Ok(found)
}

/// One command for each name.
pub(super) fn each(names: &[&str], command: impl Fn(&str) -> String) -> String {
    names.iter().map(|name| command(name)).collect::<Vec<_>>().join(" && ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::facts::testing::{installed, nothing, pod};
    use crate::doctor::finding::Severity;

    #[test]
    fn pods_that_nobody_would_place_are_errors() {
        let mut nominated = pod("c", "default-scheduler", 1);
        nominated.status.get_or_insert_default().nominated_node_name = Some("n".into());
        let mut installation = installed("bayplan");
        installation.names.push("default-scheduler".into());
        let facts = Facts {
            installations: vec![installation],
            unbound: Ok(vec![pod("a", "bayplan", 1), nominated, pod("x", "volcano", 1)]),
            ..nothing()
        };
        let found = check(&facts).unwrap();
        assert_eq!(found[0].what, "1 pods wait for schedulers of ours: shop/a");
        assert!(found[0].command.ends_with("spec.schedulerName=bayplan,spec.nodeName="));
        assert_eq!((found[1].severity, found.len()), (Severity::Note, 2));
    }
}
