//! [`ExemptPods`]: the pods that policies leave alone unless they say `applies to all pods`.

use crate::model::{PodInfo, Symbol};

/// Pods to which only policies with `applies to all pods` apply.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ExemptPods {
    /// Pods of these namespaces: kube-system, the scheduler's own, and those of the configuration.
    pub namespaces: Vec<Symbol>,
}

impl Default for ExemptPods {
    fn default() -> Self {
        Self { namespaces: vec![Symbol::new("kube-system")] }
    }
}

/// Pods of this priority and above are exempt: the cluster's own.
pub const SYSTEM_PRIORITY: i32 = 2_000_000_000;

impl ExemptPods {
    /// Whether policies skip the pod altogether.
    pub fn exempts(&self, pod: &PodInfo) -> bool {
        pod.priority >= SYSTEM_PRIORITY || self.namespaces.contains(&pod.namespace)
    }
}

/// Whether a pod belongs to a DaemonSet.
pub fn of_daemon_set(pod: &PodInfo) -> bool {
    pod.owners.iter().any(|owner| owner.controller && owner.kind.as_str() == "DaemonSet")
}

/// Why a pod is exempt from policies without `applies to all pods`, for explanations. Pods of a
/// DaemonSet are still scored.
pub fn why_exempt(pod: &PodInfo, exempt: &ExemptPods) -> Option<String> {
    if pod.priority >= SYSTEM_PRIORITY {
        return Some("priority of the system".to_owned());
    }
    if exempt.namespaces.contains(&pod.namespace) {
        return Some(format!("namespace {}", pod.namespace));
    }
    of_daemon_set(pod).then(|| "DaemonSet".to_owned())
}
