//! The scheduler of our own pods: a scheduler that must place itself never starts again. Static pods need none.

use crate::doctor::facts::{Facts, Part, pod_name, scheduler_of};
use crate::doctor::finding::Finding;

/// The annotation of a pod that a kubelet started from a file.
const STATIC: &str = "kubernetes.io/config.mirror";

pub(super) fn check(facts: &Facts) -> Part<Vec<Finding>> {
    let pods = facts.own_pods.as_ref().map_err(Clone::clone)?;
    let deployments = facts.deployments.as_ref().map_err(Clone::clone)?;
    let names = facts.our_names();
    let text = |field: &Option<String>| field.clone().unwrap_or_default();
    // What is placed, by which scheduler, and what to type if that is itself.
    let mut placed: Vec<(String, &str, String)> = Vec::new();
    for pod in pods {
        let annotations = pod.metadata.annotations.as_ref();
        if annotations.is_none_or(|all| !all.contains_key(STATIC)) {
            let (namespace, name) = (text(&pod.metadata.namespace), text(&pod.metadata.name));
            let owner = format!(
                "kubectl --namespace {namespace} get pod {name} --output jsonpath='{{.metadata.ownerReferences}}'"
            );
            placed.push((format!("the pod {}", pod_name(pod)), scheduler_of(pod), owner));
        }
    }
    for of in deployments {
        let spec = of.spec.as_ref().and_then(|spec| spec.template.spec.as_ref());
        let scheduler = spec.and_then(|spec| spec.scheduler_name.as_deref()).unwrap_or("default-scheduler");
        let (namespace, name) = (text(&of.metadata.namespace), text(&of.metadata.name));
        let patch = r#"{"spec":{"template":{"spec":{"schedulerName":"default-scheduler"}}}}"#;
        let command =
            format!("kubectl --namespace {namespace} patch deploy/{name} --type merge --patch '{patch}'");
        placed.push((format!("the Deployment {namespace}/{name}"), scheduler, command));
    }
    let itself = placed.iter().filter(|(_, name, _)| names.contains(name));
    // In the place of kube-scheduler its own name is the only one; a standby makes that safe.
    let has_standby = facts.kube_schedulers.iter().flatten().next().is_some();
    let (own, default): (Vec<_>, Vec<_>) = itself.partition(|(_, name, _)| *name != "default-scheduler");
    let mut found: Vec<Finding> = own
        .iter()
        .map(|(of, name, command)| {
            Finding::error(format!("{of} has the scheduler name `{name}`, which it serves itself"))
                .because("when none of its pods runs, none is placed again: give its pods `schedulerName: default-scheduler`")
                .then(command.clone())
        })
        .collect();
    if let Some((of, ..)) = default.first()
        && !has_standby
    {
        found.push(
            Finding::warning(format!("{of} is placed by Bayplan itself, without a kube-scheduler on standby"))
                .because(
                    "when none of its pods runs, none is placed again: keep kube-scheduler on standby of the same lease, or \
                     use static pods",
                )
                .then("kubectl --namespace kube-system get pods --selector component=kube-scheduler"),
        );
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::facts::testing::{installed, nothing, object, pod};
    use crate::doctor::finding::Severity;
    use k8s_openapi::api::core::v1::Pod;
    use serde_json::json;

    fn said(served: &str, own: Pod, standby: bool) -> Option<Severity> {
        let standby =
            if standby { vec![pod("kube-scheduler-master", "default-scheduler", 1)] } else { Vec::new() };
        let facts = Facts {
            installations: vec![installed(served)],
            own_pods: Ok(vec![own]),
            kube_schedulers: Ok(standby),
            ..nothing()
        };
        check(&facts).unwrap().first().map(|finding| finding.severity)
    }

    #[test]
    fn a_scheduler_does_not_depend_on_itself() {
        let own = |name: &str| pod("bayplan-1", name, 1);
        assert_eq!(said("bayplan", own("default-scheduler"), false), None);
        assert_eq!(said("bayplan", own("bayplan"), true), Some(Severity::Error));
        assert_eq!(said("default-scheduler", own("default-scheduler"), true), None);
        assert_eq!(said("default-scheduler", own("default-scheduler"), false), Some(Severity::Warning));
        let of_kubelet = object(json!({
            "metadata": {"name": "bayplan-master", "annotations": {STATIC: "x"}},
            "spec": {"schedulerName": "default-scheduler", "containers": []},
        }));
        assert_eq!(said("default-scheduler", of_kubelet, false), None);
    }
}
