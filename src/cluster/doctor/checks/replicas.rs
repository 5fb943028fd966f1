//! Replicas: whether there are any, whether they are ready, and whether all have one version.

use crate::doctor::facts::{Facts, Part, some};
use crate::doctor::finding::Finding;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Pod;

pub(super) fn check(facts: &Facts) -> Part<Vec<Finding>> {
    let deployments = facts.deployments.as_ref().map_err(Clone::clone)?;
    let pods = facts.own_pods.as_ref().map_err(Clone::clone)?;
    if deployments.is_empty() && pods.is_empty() {
        return Ok(vec![
            Finding::warning("no Deployment and no pod has the label `app.kubernetes.io/name=bayplan`")
                .because(
                    "it may run outside of the cluster, or with other labels: its rights, leases and replicas are not \
                     checked",
                )
                .then("kubectl get deployments,pods --all-namespaces | grep bayplan"),
        ]);
    }
    let mut found: Vec<Finding> = deployments.iter().filter_map(|of| ready(of, pods)).collect();
    found.extend(deployments.iter().filter_map(|of| skew(of, pods)));
    Ok(found)
}

/// Whether enough of the replicas are ready.
fn ready(of: &Deployment, pods: &[Pod]) -> Option<Finding> {
    let wanted = of.spec.as_ref().and_then(|spec| spec.replicas).unwrap_or(1);
    let ready = of.status.as_ref().and_then(|status| status.ready_replicas).unwrap_or(0);
    let (namespace, name) = (text(&of.metadata.namespace), text(&of.metadata.name));
    if wanted == 0 {
        return Some(
            Finding::error(format!("the Deployment {namespace}/{name} is scaled to 0"))
                .because("nothing of it runs")
                .then(format!("kubectl --namespace {namespace} scale deploy/{name} --replicas=2")),
        );
    }
    if ready >= wanted {
        return None;
    }
    let what = format!("{ready} of {wanted} replicas of {namespace}/{name} are ready");
    let finding = if ready == 0 { Finding::error(what) } else { Finding::warning(what) };
    let mine = pods.iter().filter(|pod| pod.metadata.namespace == of.metadata.namespace);
    let why: Vec<String> = mine.filter_map(trouble).collect();
    let why = match why.is_empty() {
        true => "the page /readyz of a replica, and its log, say what it waits for".to_owned(),
        false => some(why.iter().map(String::as_str)),
    };
    Some(
        finding
            .because(why)
            .then(format!("kubectl --namespace {namespace} logs deploy/{name} --all-pods --tail=20")),
    )
}

/// Why a pod is not ready, as far as its status says.
fn trouble(pod: &Pod) -> Option<String> {
    let status = pod.status.as_ref()?;
    let waiting =
        status.container_statuses.iter().flatten().find_map(|of| of.state.as_ref()?.waiting.clone());
    let name = text(&pod.metadata.name);
    if let Some(waiting) = waiting {
        return Some(format!("{name}: {}", waiting.reason.unwrap_or_default()));
    }
    let unplaced =
        status.conditions.iter().flatten().find(|of| of.type_ == "PodScheduled" && of.status == "False");
    unplaced.map(|of| format!("{name} is not placed: {}", of.message.clone().unwrap_or_default()))
}

/// Whether pods of a Deployment have different images.
fn skew(of: &Deployment, pods: &[Pod]) -> Option<Finding> {
    let (namespace, name) = (text(&of.metadata.namespace), text(&of.metadata.name));
    let mine = pods.iter().filter(|pod| pod.metadata.namespace == of.metadata.namespace);
    let images = mine.filter(|pod| pod.metadata.deletion_timestamp.is_none()).filter_map(|pod| {
        let spec = pod.spec.as_ref()?;
        spec.containers.iter().find(|of| of.name == "bayplan")?.image.as_deref()
    });
    let mut images: Vec<&str> = images.collect();
    images.sort_unstable();
    images.dedup();
    (images.len() > 1).then(|| {
        Finding::warning(format!("replicas of {namespace}/{name} have different images: {}", images.join(", ")))
            .because(
                "an update is under way or does not go on: an older replica that becomes leader may refuse newer policies",
            )
            .then(format!("kubectl --namespace {namespace} rollout status deploy/{name}"))
    })
}

fn text(field: &Option<String>) -> &str {
    field.as_deref().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::facts::testing::{nothing, object};
    use crate::doctor::finding::Severity;
    use serde_json::json;

    #[test]
    fn replicas_are_there_are_ready_and_have_one_version() {
        assert!(check(&nothing()).unwrap()[0].what.contains("no Deployment and no pod"));
        let said = |wanted: i32, ready: i32, images: &[&str]| {
            let deployment = object(json!({
                "metadata": {"namespace": "bayplan", "name": "bayplan"},
                "spec": {"replicas": wanted, "selector": {}, "template": {}}, "status": {"readyReplicas": ready},
            }));
            let pods = images.iter().map(|image| {
                object(json!({
                    "metadata": {"namespace": "bayplan", "name": "bayplan-1"},
                    "spec": {"containers": [{"name": "bayplan", "image": image}]},
                    "status": {"containerStatuses": [{
                        "name": "bayplan", "image": image, "imageID": "", "ready": false, "restartCount": 0,
                        "state": {"waiting": {"reason": "ImagePullBackOff"}},
                    }]},
                }))
            });
            let facts =
                Facts { deployments: Ok(vec![deployment]), own_pods: Ok(pods.collect()), ..nothing() };
            check(&facts).unwrap()
        };
        assert!(said(2, 2, &["bayplan:1"]).is_empty());
        assert_eq!(said(0, 0, &[])[0].what, "the Deployment bayplan/bayplan is scaled to 0");
        let some = said(2, 1, &["bayplan:1"]);
        assert_eq!(
            (some[0].severity, some[0].why.as_str()),
            (Severity::Warning, "bayplan-1: ImagePullBackOff")
        );
        assert_eq!(said(2, 0, &[])[0].severity, Severity::Error);
        assert!(said(2, 2, &["bayplan:1", "bayplan:2"])[0].what.ends_with("bayplan:1, bayplan:2"));
    }
}
