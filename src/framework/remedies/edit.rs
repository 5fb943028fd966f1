//! [`Edit`]: a change of a pod or a node that may help against a refusal.

use super::words;
use bayplan_model::objects::devices::DeviceTaint;
use bayplan_model::{HostPort, Symbol, Taint};
use serde::Serialize;
use std::fmt;
use std::sync::Arc;

/// The taint that `kubectl cordon` leads to.
pub const CORDONED: &str = "node.kubernetes.io/unschedulable";

/// The prefix of taints that Kubernetes itself adds and removes with a condition of the node.
pub const CONDITION_TAINTS: &str = "node.kubernetes.io/";

/// Taints by which a controller starts or ends a node: it removes them itself, or the node goes.
pub(super) const OF_LIFECYCLE: &[&str] = &[
    "ToBeDeletedByClusterAutoscaler",
    "DeletionCandidateOfClusterAutoscaler",
    "karpenter.sh/disrupted",
    "karpenter.sh/disruption",
    "karpenter.sh/unregistered",
    "node.cloudprovider.kubernetes.io/uninitialized",
    "node.cloudprovider.kubernetes.io/shutdown",
    "node.cluster.x-k8s.io/uninitialized",
];

/// Whether a taint keeps pods off a node that is not ready for them yet, or that goes. No edit tolerates or removes it so
/// that a pod fits. Agents of the network and of storage use `agent-not-ready`.
pub fn is_of_lifecycle(key: &str) -> bool {
    OF_LIFECYCLE.contains(&key) || key.rsplit('/').next() == Some("agent-not-ready")
}

/// Domains of label keys that say what a node is: hardware, place and provider. Writing such a label does not change
/// the machine.
pub(super) const OF_MACHINES: &[&str] = &[
    "kubernetes.io",
    "k8s.io",
    "nvidia.com",
    "amd.com",
    "intel.com",
    "habana.ai",
    "graphcore.ai",
    "furiosa.ai",
    "cambricon.com",
    "huawei.com",
    "xilinx.com",
    "mellanox.com",
    "tenstorrent.com",
    "aliyun.accelerator",
    "karpenter.sh",
    "k8s.aws",
    "aws.com",
    "amazon.com",
    "amazonaws.com",
    "google.com",
    "googleapis.com",
    "gke.io",
    "azure.com",
    "openshift.io",
    "oraclecloud.com",
    "alibabacloud.com",
    "aliyun.com",
    "digitalocean.com",
    "hetzner.cloud",
    "linode.com",
    "vmware.com",
    "vultr.com",
    "scaleway.com",
    "ovhcloud.com",
    "ibm.com",
    "nutanix.com",
    "tencent.com",
    "huaweicloud.com",
    "volcengine.com",
    "nebuly.com",
    "kubevirt.io",
    "k3s.io",
    "k0sproject.io",
    "microk8s.io",
    "rancher.io",
    "cattle.io",
    "talos.dev",
    "cast.ai",
    "eksctl.io",
    "x-k8s.io",
];

/// Domains among them whose labels the operators of nodes set.
pub(super) const OF_OPERATORS: [&str; 2] = ["node-restriction.kubernetes.io", "node-role.kubernetes.io"];

/// Whether a label of a node says what the machine is: it is not set so that a pod fits.
pub fn describes_machine(key: &str) -> bool {
    let Some((domain, _)) = key.split_once('/') else { return false };
    let below = |of: &str| domain == of || domain.strip_suffix(of).is_some_and(|rest| rest.ends_with('.'));
    // Drivers of storage say where a volume can be reached.
    let of_driver = domain.split('.').any(|part| part == "csi");
    (of_driver || OF_MACHINES.iter().any(|of| below(of))) && !OF_OPERATORS.contains(&domain)
}

/// Who can make an edit.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum EditOwner {
    /// The owner of the pod.
    Pod,
    /// The operator of the nodes.
    Node,
    /// The author of the policies.
    Policy,
    /// No owner: the change happens while the pod waits.
    Wait,
}

impl EditOwner {
    /// The word in texts.
    pub fn word(self) -> &'static str {
        match self {
            EditOwner::Pod => "pod",
            EditOwner::Node => "node",
            EditOwner::Policy => "policy",
            EditOwner::Wait => "wait",
        }
    }
}

/// One change. Edits of a node change the node under evaluation and no other.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Edit {
    /// The pod requests this amount of a resource, in base units.
    Request {
        /// The resource.
        resource: Symbol,
        /// The amount.
        amount: i64,
    },
    /// The pod tolerates a taint.
    Tolerate(Taint),
    /// The pod's node selector has another value under a key.
    SelectorValue {
        /// The key.
        key: Symbol,
        /// The value that the selector has.
        from: Symbol,
        /// A value that a node has.
        to: Symbol,
    },
    /// The pod's node selector has another key for a value.
    SelectorKey {
        /// The key that the selector has.
        from: Symbol,
        /// A key that a node has with the same value.
        to: Symbol,
        /// The value.
        value: Symbol,
    },
    /// The pod's node selector has no such term.
    DropSelector {
        /// The key.
        key: Symbol,
        /// Its value.
        value: Symbol,
    },
    /// The pod has no required node affinity.
    DropRequiredAffinity,
    /// The pod has no required pod affinity.
    DropPodAffinity,
    /// The pod has no required pod anti-affinity.
    DropPodAntiAffinity,
    /// The pod has no such host port.
    DropHostPort(HostPort),
    /// The pod's hard topology spread constraints on a key allow a larger skew.
    MaxSkew {
        /// The topology key.
        topology_key: Symbol,
        /// The `maxSkew` that the constraint has.
        from: i32,
        /// A larger one.
        to: i32,
    },
    /// The pod's hard topology spread constraints on a key are only preferred: `ScheduleAnyway`.
    SpreadAnyway {
        /// The topology key.
        topology_key: Symbol,
    },
    /// The pod has this value under a label key, or no such label.
    PodLabel {
        /// The key.
        key: Symbol,
        /// The value.
        value: Option<Symbol>,
    },
    /// The pod has this value under an annotation key, or no such annotation.
    PodAnnotation {
        /// The key.
        key: Symbol,
        /// The value.
        value: Option<Arc<str>>,
    },
    /// A request of a claim of the pod tolerates a taint of devices.
    TolerateDevice {
        /// The request.
        of: DevicesOf,
        /// The taint.
        taint: DeviceTaint,
    },
    /// A request of a claim of the pod is for fewer devices.
    DeviceCount {
        /// The request.
        of: DevicesOf,
        /// How many devices it is for.
        from: i64,
        /// How many it is for after the edit.
        to: i64,
    },
    /// The node has this value under a label key, or no such label.
    NodeLabel {
        /// The key.
        key: Symbol,
        /// The value.
        value: Option<Symbol>,
    },
    /// The node has no such taint.
    RemoveTaint(Taint),
    /// The node is schedulable, and the taint that cordoning added is gone.
    Uncordon {
        /// Whether the node has that taint.
        tainted: bool,
    },
    /// A policy, or one of its rules, leaves the pod alone for a while.
    Except(Exempted),
    /// The pods of the node end, except those of DaemonSets.
    PodsEnd,
    /// Pods anywhere end that hold so much of a resource, so that sums over pods fall.
    ComesFree {
        /// The resource.
        resource: Symbol,
        /// How much of it, in base units.
        amount: i64,
    },
}

/// Names a request of a claim.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct DevicesOf {
    /// The namespace of the claim, which is that of the pod.
    pub namespace: Symbol,
    /// The claim.
    pub claim: Symbol,
    /// `request`, or `request/alternative`.
    pub request: Symbol,
}

impl fmt::Display for DevicesOf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "claim {}, request {}", self.claim, self.request)
    }
}

/// What an exception is from: a policy, or one of its rules.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Exempted {
    /// The policy.
    pub policy: Symbol,
    /// Its rule; `None`: all of the policy.
    pub rule: Option<Symbol>,
}

impl fmt::Display for Exempted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.rule {
            Some(rule) => write!(f, "{}/{rule}", self.policy),
            None => self.policy.fmt(f),
        }
    }
}

impl Edit {
    /// Who can make it.
    pub fn owner(&self) -> EditOwner {
        match self {
            Edit::Request { .. }
            | Edit::Tolerate(_)
            | Edit::SelectorValue { .. }
            | Edit::SelectorKey { .. }
            | Edit::DropSelector { .. }
            | Edit::DropRequiredAffinity
            | Edit::DropPodAffinity
            | Edit::DropPodAntiAffinity
            | Edit::DropHostPort(_)
            | Edit::MaxSkew { .. }
            | Edit::SpreadAnyway { .. }
            | Edit::PodLabel { .. }
            | Edit::PodAnnotation { .. }
            | Edit::TolerateDevice { .. }
            | Edit::DeviceCount { .. } => EditOwner::Pod,
            Edit::NodeLabel { .. } | Edit::RemoveTaint(_) | Edit::Uncordon { .. } => EditOwner::Node,
            Edit::Except(_) => EditOwner::Policy,
            Edit::PodsEnd | Edit::ComesFree { .. } => EditOwner::Wait,
        }
    }

    /// Whether it changes the node under evaluation.
    pub fn changes_node(&self) -> bool {
        self.owner() == EditOwner::Node || *self == Edit::PodsEnd
    }

    /// Whether it changes a claim of the pod, and not the pod itself.
    pub fn changes_claim(&self) -> bool {
        matches!(self, Edit::TolerateDevice { .. } | Edit::DeviceCount { .. })
    }

    /// Whether it happens while the pod waits.
    pub fn is_wait(&self) -> bool {
        self.owner() == EditOwner::Wait
    }

    /// The edit without the amount or value that differs from node to node: edits of one kind are
    /// one suggestion.
    pub fn kind(&self) -> Edit {
        match self {
            Edit::Request { resource, .. } => Edit::Request { resource: resource.clone(), amount: 0 },
            Edit::MaxSkew { topology_key, from, .. } => {
                Edit::MaxSkew { topology_key: topology_key.clone(), from: *from, to: 0 }
            }
            Edit::DeviceCount { of, from, .. } => Edit::DeviceCount { of: of.clone(), from: *from, to: 0 },
            Edit::NodeLabel { key, .. } => Edit::NodeLabel { key: key.clone(), value: None },
            Edit::Uncordon { .. } => Edit::Uncordon { tainted: false },
            other => other.clone(),
        }
    }

    /// Whether it has an amount that differs from node to node.
    pub fn has_amount(&self) -> bool {
        matches!(self, Edit::Request { .. } | Edit::MaxSkew { .. } | Edit::DeviceCount { .. })
    }

    /// What the pod is excepted from.
    pub fn exempted(&self) -> Option<&Exempted> {
        match self {
            Edit::Except(of) => Some(of),
            _ => None,
        }
    }

    /// What the edit replaces and what it puts there, where it corrects the spelling of a name.
    pub fn respelling(&self) -> Option<(&Symbol, &Symbol)> {
        match self {
            Edit::SelectorValue { from, to, .. } | Edit::SelectorKey { from, to, .. } => Some((from, to)),
            _ => None,
        }
    }

    /// Whether both edits address the same requirement, so that they make no sensible pair.
    pub fn overlaps(&self, other: &Edit) -> bool {
        let (a, b) = (self.subject(), other.subject());
        a.is_some() && a == b
    }

    /// The requirement that the edit addresses, where several kinds of edits may address the same
    /// one.
    fn subject(&self) -> Option<(&'static str, String)> {
        Some(match self {
            Edit::SelectorValue { key, .. }
            | Edit::SelectorKey { from: key, .. }
            | Edit::DropSelector { key, .. }
            | Edit::NodeLabel { key, .. } => ("label", key.to_string()),
            Edit::MaxSkew { topology_key, .. } | Edit::SpreadAnyway { topology_key } => {
                ("spread", topology_key.to_string())
            }
            Edit::PodLabel { key, .. } => ("pod label", key.to_string()),
            Edit::PodAnnotation { key, .. } => ("annotation", key.to_string()),
            Edit::Except(of) => ("policy", of.policy.to_string()),
            Edit::Tolerate(taint) | Edit::RemoveTaint(taint) if taint.key != *CORDONED => {
                ("taint", words::taint(taint))
            }
            Edit::Tolerate(_) | Edit::RemoveTaint(_) | Edit::Uncordon { .. } => {
                ("taint", CORDONED.to_owned())
            }
            _ => return None,
        })
    }
}
