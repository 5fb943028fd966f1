//! `/metrics/resources`: requests and limits of each pod, with the STABLE names, labels and units
//! of kube-scheduler. Each request makes the page from the scheduler's cache; only the leader has
//! samples.
//!
//! Source: `pkg/scheduler/metrics/resources/resources.go`.

use bayplan_model::{PodInfo, Resource, Snapshot, Symbol};
use std::fmt::Write;
use std::sync::Arc;

const REQUEST: &str = "kube_pod_resource_request";
const LIMIT: &str = "kube_pod_resource_limit";

/// The page for all pods, ordered by namespace and name.
pub(crate) fn page(snapshot: &Snapshot) -> String {
    let mut pods: Vec<&Arc<PodInfo>> = snapshot.pods().map(|entry| &entry.pod).collect();
    pods.sort_by_key(|pod| (&pod.namespace, &pod.name));
    let mut text = String::new();
    for (name, help, of) in [
        (LIMIT, "Resources limit for workloads", (|pod| &pod.limits) as fn(&PodInfo) -> &Resource),
        (REQUEST, "Resources requested by workloads", |pod| &pod.requests),
    ] {
        let _ = write!(
            text,
            "# HELP {name} [STABLE] {help} on the cluster, broken down by pod. This shows the resource usage the \
             scheduler and kubelet expect per pod for resources along with the unit for the resource if any.\n# TYPE \
             {name} gauge\n"
        );
        for pod in &pods {
            samples(&mut text, name, pod, of(pod));
        }
    }
    text
}

fn samples(text: &mut String, name: &str, pod: &PodInfo, of: &Resource) {
    let node = pod.node_name.as_ref().map_or("", Symbol::as_str);
    let scalars =
        of.scalars.iter().map(|(resource, amount)| (resource.as_str(), unit(resource), *amount as f64));
    let all = [
        ("cpu", "cores", of.milli_cpu as f64 / 1_000.0),
        ("ephemeral-storage", "bytes", of.ephemeral_storage as f64),
        ("memory", "bytes", of.memory as f64),
    ];
    for (resource, unit, amount) in all.into_iter().chain(scalars).filter(|(_, _, amount)| *amount != 0.0) {
        // Names of Kubernetes objects need no escapes.
        let _ = writeln!(
            text,
            "{name}{{namespace=\"{}\",node=\"{node}\",pod=\"{}\",priority=\"{}\",resource=\"{resource}\",\
             scheduler=\"{}\",unit=\"{unit}\"}} {amount}",
            pod.namespace, pod.name, pod.priority, pod.scheduler_name
        );
    }
}

fn unit(resource: &str) -> &'static str {
    if resource.starts_with("hugepages-") {
        "bytes"
    } else if resource.starts_with("attachable-volumes-") {
        "integer"
    } else {
        ""
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bayplan_model::objects::pod;
    use bayplan_model::{Change, Placement};
    use serde_json::json;

    #[test]
    fn pods_have_the_samples_of_upstream() {
        let object = json!({
            "metadata": {"name": "web", "namespace": "shop", "uid": "u"},
            "spec": {"schedulerName": "bayplan", "nodeName": "a", "priority": 7, "containers": [{"resources": {
                "requests": {"cpu": "1500m", "memory": "64Mi", "hugepages-2Mi": "4Mi", "example.com/gpu": "2"},
                "limits": {"cpu": "2", "example.com/gpu": "2"}}}]},
        });
        let object: pod::Pod = serde_json::from_value(object).unwrap();
        let pod = Arc::new(PodInfo::from_object(&object).unwrap());
        let mut snapshot = Snapshot::default();
        let node = snapshot.row_or_placeholder(&"a".into());
        snapshot.apply(Change::PodPlaced { pod, node, how: Placement::Bound });
        let text = page(&snapshot);
        let samples: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
        let sample = |name: &str, resource: &str, unit: &str, value: &str| {
            format!(
                "kube_pod_resource_{name}{{namespace=\"shop\",node=\"a\",pod=\"web\",priority=\"7\",\
                 resource=\"{resource}\",scheduler=\"bayplan\",unit=\"{unit}\"}} {value}"
            )
        };
        assert_eq!(
            samples,
            [
                sample("limit", "cpu", "cores", "2"),
                sample("limit", "example.com/gpu", "", "2"),
                sample("request", "cpu", "cores", "1.5"),
                sample("request", "memory", "bytes", "67108864"),
                sample("request", "example.com/gpu", "", "2"),
                sample("request", "hugepages-2Mi", "bytes", "4194304"),
            ]
        );
        assert!(text.starts_with("# HELP kube_pod_resource_limit [STABLE] Resources limit for workloads on the cluster, broken down by pod. "));
    }
}
