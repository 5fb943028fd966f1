//! Before a removal: what is left in the cluster, and what of it holds pods. Bayplan sets no finalizers.

use crate::doctor::facts::{Facts, Part, pod_name, some};
use crate::doctor::finding::Finding;

pub(super) fn check(facts: &Facts) -> Part<Vec<Finding>> {
    let Some(removal) = &facts.removal else { return Ok(Vec::new()) };
    let marked = removal.marked.as_ref().map_err(Clone::clone)?;
    let required = removal.required.as_ref().map_err(Clone::clone)?;
    let admission = removal.admission.as_ref().map_err(Clone::clone)?;
    let mut found = Vec::new();
    if !marked.is_empty() {
        let names: Vec<String> = marked.iter().map(pod_name).collect();
        found.push(
            Finding::warning(format!(
                "for {} bound pods something of `after bind` is still to write: {}",
                names.len(),
                some(names.iter().map(String::as_str))
            ))
            .because(
                "it is not written afterwards: wait until the annotations `after-bind.bayplan.dev/…` are gone",
            )
            .then("kubectl get pods --all-namespaces --output json | grep after-bind.bayplan.dev"),
        );
    }
    let names: Vec<&str> = required.iter().filter_map(|of| of.metadata.name.as_deref()).collect();
    if !names.is_empty() {
        let still = if admission.is_empty() {
            "the label stays"
        } else {
            "pods that step out of policies are refused there"
        };
        found.push(
            Finding::warning(format!(
                "namespaces require our schedulers of their pods: {}",
                some(names.iter().copied())
            ))
            .because(format!(
                "{still}: remove the label `bayplan.dev/scheduler` before pods name another scheduler"
            ))
            .then(format!("kubectl label namespace {} bayplan.dev/scheduler-", names.join(" "))),
        );
    }
    let mut stays: Vec<&str> = admission.iter().map(String::as_str).collect();
    stays.extend(removal.stays.iter().map(String::as_str));
    if !stays.is_empty() {
        found.push(
            Finding::note(format!("{} objects stay unless what installed them removes them: {}", stays.len(), some(stays.iter().copied())))
                .because("Bayplan sets no finalizers, so each can be deleted once its pods have ended; the policies are yours")
                .then(stays.iter().map(|of| format!("kubectl delete --ignore-not-found {of}")).collect::<Vec<_>>().join(" && ")),
        );
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::facts::Removal;
    use crate::doctor::facts::testing::{nothing, object, pod};
    use serde_json::json;

    #[test]
    fn what_stays_comes_with_its_deletion_and_what_holds_pods_before_it() {
        let removal = Removal {
            makers: Ok(Vec::new()),
            marked: Ok(vec![pod("a", "bayplan", 1)]),
            required: Ok(vec![object(json!({"metadata": {"name": "strict"}}))]),
            stays: vec!["lease/bayplan --namespace bayplan".into()],
            admission: Ok(vec!["validatingadmissionpolicy/bayplan".into()]),
        };
        let found = check(&Facts { removal: Some(removal), ..nothing() }).unwrap();
        assert_eq!(found.len(), 3, "{found:?}");
        assert_eq!(found[1].command, "kubectl label namespace strict bayplan.dev/scheduler-");
        assert!(
            found[2].command.contains("--ignore-not-found lease/bayplan --namespace bayplan"),
            "{found:?}"
        );
    }
}
