//! [`QueuedPodInfo`]: a pod with its queueing state.

use super::plugin_id::{PluginId, PluginSet};
use bayplan_model::{PodInfo, Symbol, Time};
use std::sync::Arc;

/// The place of a pod in the queue: compared as bytes, then by time of entry, then by sequence number.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct SortKey(pub smallvec::SmallVec<[u8; 24]>);

/// What the key of a pod has in common with others.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SortShare {
    /// Pods of one class have the same [`Interest::groups`](super::Interest::groups), and keep the order of `own` among
    /// each other, whatever moves.
    pub class: SortKey,
    /// What tells the pod from others of its class.
    pub own: SortKey,
}

/// A pod with the queue's record of it.
#[derive(Clone, Debug)]
pub struct QueuedPodInfo {
    /// The pod.
    pub pod: Arc<PodInfo>,
    /// When it entered the queue this time; the base of its back-off.
    pub timestamp: Time,
    /// When it was first ready to be tried: it entered the active queue. `None` before. The scheduling SLI is measured
    /// from here.
    pub initial_attempt: Option<Time>,
    /// When it first entered the queue.
    pub added: Time,
    /// How often it was tried.
    pub attempts: u32,
    /// How often it was refused.
    pub unschedulable_count: u32,
    /// How often in a row it failed with an error.
    pub consecutive_errors: u32,
    /// The plugins that refused it last.
    pub unschedulable_plugins: PluginSet,
    /// Those of them that said `Pending`.
    pub pending_plugins: PluginSet,
    /// It was refused after its node had been chosen: at Reserve or at Permit.
    pub refused_late: bool,
    /// What refused it last, by name; `None` before the first refusal.
    pub blame: Option<Blame>,
    /// It is tried again only because it has waited longer than the limit.
    pub flushed: bool,
    /// Its back-off is not cut short, neither because no other pod is to be tried nor for its group: the failed attempt for
    /// another pod released or woke it.
    pub full_backoff: bool,
    /// An event since the last attempt helped it, other than the end of a pod.
    pub helped: bool,
    /// The PreEnqueue plugin that keeps it out.
    pub gating_plugin: Option<PluginId>,
    /// Audit rules that were already reported to the owner of the pod, with their policies.
    pub told: Vec<(Symbol, Symbol)>,
}

/// What refused a pod in an attempt, for metrics.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Blame {
    /// The plugin that refused most nodes.
    pub plugin: Symbol,
    /// The policy and the rule that refused nodes, if no other rule of a policy did.
    pub sole_rule: Option<(Symbol, Symbol)>,
    /// Whether a policy was the only one to refuse some node: every in-tree filter had passed it.
    pub by_policy_alone: bool,
}

impl QueuedPodInfo {
    /// A pod that has just come.
    pub fn new(pod: Arc<PodInfo>, now: Time) -> Self {
        Self {
            pod,
            timestamp: now,
            initial_attempt: None,
            added: now,
            attempts: 0,
            unschedulable_count: 0,
            consecutive_errors: 0,
            unschedulable_plugins: PluginSet::default(),
            pending_plugins: PluginSet::default(),
            refused_late: false,
            blame: None,
            flushed: false,
            full_backoff: false,
            helped: false,
            gating_plugin: None,
            told: Vec::new(),
        }
    }
}
