//! Why a kubelet does not admit a pod that was bound to its node. Read by the scheduler's counts, `explain` and `doctor`.

/// The reasons that have a label of their own. A reason of this form that names another resource counts as [`OUT_OF_OTHER`].
///
/// Source: `pkg/kubelet/lifecycle/predicate.go`, `handlers.go`; `pkg/kubelet/cm/topologymanager`, `cm/cpumanager`;
/// `pkg/kubelet/nodeshutdown`, `pkg/kubelet/sysctl`.
const REASONS: [&str; 22] = [
    "OutOfcpu",
    "OutOfmemory",
    "OutOfephemeral-storage",
    "OutOfpods",
    OUT_OF_OTHER,
    "NodeAffinity",
    "NodeName",
    "NodePorts",
    "TaintToleration",
    "TopologyAffinityError",
    "SMTAlignmentError",
    "UnexpectedAdmissionError",
    "InvalidNodeInfo",
    "NodeShutdown",
    "SysctlForbidden",
    "AppArmor",
    "PodOSNotSupported",
    "PodOSSelectorNodeLabelDoesNotMatch",
    "InitContainerRestartPolicyForbidden",
    "SupplementalGroupsPolicyNotSupported",
    "PodLevelResourcesNotSupported",
    "PodFeatureUnsupported",
];
const OUT_OF: &str = "OutOf";
const OUT_OF_OTHER: &str = "OutOfOther";

/// The label of a kubelet's refusal, from `status.reason` of a pod that failed; `None` if it failed for another reason.
pub fn kubelet_refusal(reason: &str) -> Option<&'static str> {
    let known = REASONS.into_iter().find(|known| *known == reason);
    known.or_else(|| reason.starts_with(OUT_OF).then_some(OUT_OF_OTHER))
}

/// The resource of which the node had too little for a pod that its kubelet refused.
pub fn lacking_resource(reason: &str) -> Option<&str> {
    reason.strip_prefix(OUT_OF).filter(|resource| !resource.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_a_kubelet_refuses_is_a_refusal() {
        assert_eq!(kubelet_refusal("OutOfcpu"), Some("OutOfcpu"));
        assert_eq!(kubelet_refusal("OutOfnvidia.com/gpu"), Some(OUT_OF_OTHER));
        for other in ["Evicted", "DeadlineExceeded", "", "Preempting", "outofcpu"] {
            assert_eq!(kubelet_refusal(other), None, "{other}");
        }
    }

    #[test]
    fn the_resource_that_is_lacking_is_a_part_of_the_reason() {
        assert_eq!(lacking_resource("OutOfnvidia.com/gpu"), Some("nvidia.com/gpu"));
        assert_eq!((lacking_resource("OutOf"), lacking_resource("NodeShutdown")), (None, None));
    }
}
