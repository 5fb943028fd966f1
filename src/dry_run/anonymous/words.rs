//! Words that say nothing about a cluster: what Kubernetes itself calls things. The anonymous forms of snapshots and of the
//! bay plan leave them as they are.

/// Resources whose names say nothing about a cluster.
pub const RESOURCES: [&str; 5] = ["cpu", "memory", "ephemeral-storage", "nvidia.com/gpu", "amd.com/gpu"];

/// Label keys that Kubernetes gives every node.
pub const KEYS: [&str; 6] = [
    "topology.kubernetes.io/zone",
    "topology.kubernetes.io/region",
    "node.kubernetes.io/instance-type",
    "kubernetes.io/arch",
    "kubernetes.io/os",
    "kubernetes.io/hostname",
];

/// Namespaces that every cluster has.
const NAMESPACES: [&str; 4] = ["default", "kube-system", "kube-public", "kube-node-lease"];

/// Keys without a domain that controllers write, and the field that `matchFields` names.
const BARE_KEYS: [&str; 5] = [
    "pod-template-hash",
    "controller-revision-hash",
    "pod-template-generation",
    "metadata.name",
    "topology.kubernetes.io",
];

/// Roles of nodes that say nothing about a cluster.
const ROLES: [&str; 3] = ["control-plane", "master", "worker"];

/// Values of labels and fields that are words of Kubernetes.
const VALUES: [&str; 24] = [
    "",
    "amd64",
    "arm64",
    "linux",
    "windows",
    "true",
    "false",
    "True",
    "False",
    "Unknown",
    "Exists",
    "In",
    "NotIn",
    "DoesNotExist",
    "NoSchedule",
    "PreferNoSchedule",
    "NoExecute",
    "Ready",
    "Pending",
    "Running",
    "default-scheduler",
    "Unschedulable",
    "SchedulingGated",
    "PreemptionByScheduler",
];

/// Kinds of owners that Kubernetes has itself.
const KINDS: [&str; 9] = [
    "ReplicaSet",
    "ReplicationController",
    "StatefulSet",
    "DaemonSet",
    "Deployment",
    "Job",
    "CronJob",
    "Node",
    "Pod",
];

/// Drivers of volumes that every user of a cloud has, and that the scheduler knows by their names.
const DRIVERS: [&str; 8] = [
    "ebs.csi.aws.com",
    "pd.csi.storage.gke.io",
    "disk.csi.azure.com",
    "file.csi.azure.com",
    "cinder.csi.openstack.org",
    "csi.vsphere.vmware.com",
    "efs.csi.aws.com",
    "csi.hetzner.cloud",
];

/// Whether a domain belongs to Kubernetes.
fn is_of_kubernetes(domain: &str) -> bool {
    ["kubernetes.io", "k8s.io"]
        .iter()
        .any(|own| domain.strip_suffix(own).is_some_and(|before| before.is_empty() || before.ends_with('.')))
}

/// Whether a key of labels, annotations or taints is a word of Kubernetes or of Bayplan.
pub(super) fn is_key(key: &str) -> bool {
    match key.split_once('/') {
        Some(("node-role.kubernetes.io", role)) => ROLES.contains(&role),
        Some((domain, _)) => {
            is_of_kubernetes(domain) || domain == "bayplan.dev" || domain.ends_with(".bayplan.dev")
        }
        None => BARE_KEYS.contains(&key),
    }
}

/// Whether a resource is one of Kubernetes or of a well-known device.
pub(super) fn is_resource(name: &str) -> bool {
    RESOURCES.contains(&name)
        || ["pods", "storage"].contains(&name)
        || name.starts_with("hugepages-")
        || name.starts_with("attachable-volumes-")
}

/// Whether a namespace is in every cluster.
pub(super) fn is_namespace(name: &str) -> bool {
    NAMESPACES.contains(&name)
}

/// Whether the name of another object than a pod, a node or a namespace is one of Kubernetes.
pub(super) fn is_name(name: &str) -> bool {
    DRIVERS.contains(&name)
        || name.starts_with("kubernetes.io/")
        || ["default-scheduler", "system-node-critical", "system-cluster-critical"].contains(&name)
}

/// Whether a value is a word of Kubernetes, a number, an amount or an instant.
pub(super) fn is_value(value: &str) -> bool {
    VALUES.contains(&value) || is_amount(value) || is_instant(value)
}

/// Whether a kind of owner is one of Kubernetes.
pub(super) fn is_kind(kind: &str) -> bool {
    KINDS.contains(&kind)
}

/// `12`, `1.5`, `500m`, `2Gi`: of few digits, since a long number may be a name.
fn is_amount(text: &str) -> bool {
    let digits = text.trim_start_matches(['+', '-']);
    let end = digits.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(digits.len());
    let (number, unit) = digits.split_at(end);
    let units = ["", "m", "k", "M", "G", "T", "Ki", "Mi", "Gi", "Ti", "s", "%"];
    !number.is_empty() && number.len() <= 10 && units.contains(&unit)
}

/// `2026-01-05T09:00:00Z`
fn is_instant(text: &str) -> bool {
    bayplan_model::Time::parse(text).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_kubernetes_are_known_and_others_are_not() {
        for key in
            ["kubernetes.io/arch", "node.kubernetes.io/not-ready", "app.kubernetes.io/name", "bayplan.dev/x"]
        {
            assert!(is_key(key), "{key}");
        }
        for key in ["team", "acme.com/team", "notkubernetes.io/x", "node-role.kubernetes.io/acme", "app"] {
            assert!(!is_key(key), "{key}");
        }
        for value in ["12", "500m", "2Gi", "1.5", "2026-01-05T09:00:00Z", "linux", ""] {
            assert!(is_value(value), "{value}");
        }
        for value in ["acme", "12345678901", "1x", "gpu-1", "m"] {
            assert!(!is_value(value), "{value}");
        }
    }
}
