//! [`Plugin`]: which extension points a plugin serves, and what it reads.

use super::handle::Handle;
use super::points::*;
use super::reads::{Need, Reads};
use super::remedies::Edit;
use super::rule_plugin::RulePlugin;
use bayplan_model::{NodeInfo, PodInfo, PodPrecondition, Snapshot, Time, Want};
use std::any::Any;

/// How often plugins that read the clock are re-evaluated, unless they say when.
const MINUTE: i64 = 60_000_000;

/// A plugin. It is immutable: state of one attempt lives in its slot of the `CycleState`, longer-lived state in an
/// `Index`. A plugin registers for an extension point by overriding its getter.
pub trait Plugin: Any + Send + Sync {
    /// The name, as in a profile.
    fn name(&self) -> &str;
    /// Everything it may read.
    fn reads(&self) -> Reads;
    /// What a pod must have before the plugin says anything about it at PreEnqueue, PreFilter, Filter, PreScore or
    /// Score; `None`: the plugin may say something about any pod. For other pods the framework behaves as if
    /// PreEnqueue had succeeded and PreFilter and PreScore had returned Skip.
    fn precondition(&self) -> Option<PodPrecondition> {
        None
    }
    /// The next instant at which the plugin's answer about a refused or waiting pod may change because time passed.
    /// `None`: never. Called when the pod begins to wait, at that instant, and after events that do not help the pod. Adds
    /// to `work` how many parts of conditions it evaluated, by which the queue bounds its time.
    fn next_change(&self, h: &Handle, work: &mut u64) -> Option<Time> {
        *work += 1;
        let next_minute = |wall: Time| Time((wall.0.div_euclid(MINUTE) + 1).saturating_mul(MINUTE));
        self.reads().clock.then(|| h.snapshot.monotonic(next_minute(h.snapshot.wall_clock(h.now))))
    }
    /// Indexes that it keeps in the snapshot, added when its profile comes into service.
    fn indexes(&self) -> Vec<(bayplan_model::IndexKey, Box<dyn bayplan_model::Index>)> {
        Vec::new()
    }
    /// The kinds of objects that it reads beside pods, nodes and namespaces: they are watched while the plugin is in
    /// service.
    fn kinds(&self) -> &'static [Need] {
        &[]
    }
    /// What the snapshot must keep for this pod while it waits for a node or is being bound: columns of the node labels
    /// that the plugin reads because the pod names them. What it reads for every pod is in [`Reads::label_keys`]. The
    /// plugin must work without the columns too: the scheduler calls this when it sees the pod, and other objects of the
    /// cluster that it depends on may change before the pod is tried.
    fn wants(&self, pod: &PodInfo, snapshot: &Snapshot, out: &mut Vec<Want>) {
        let _ = (pod, snapshot, out);
    }
    /// What it has beside the extension points, if people write its rules.
    fn rule_plugin(&self) -> Option<&dyn RulePlugin> {
        None
    }
    /// Before a pod may enter the queue.
    fn pre_enqueue(&self) -> Option<&dyn PreEnqueue> {
        None
    }
    /// Orders the queue.
    fn queue_sort(&self) -> Option<&dyn QueueSort> {
        None
    }
    /// Which events may help a pod that it refused.
    fn enqueue_extensions(&self) -> Option<&dyn EnqueueExtensions> {
        None
    }
    /// Once per attempt, before Filter.
    fn pre_filter(&self) -> Option<&dyn PreFilter> {
        None
    }
    /// For each node.
    fn filter(&self) -> Option<&dyn Filter> {
        None
    }
    /// When no node fits.
    fn post_filter(&self) -> Option<&dyn PostFilter> {
        None
    }
    /// Once per attempt, before Score.
    fn pre_score(&self) -> Option<&dyn PreScore> {
        None
    }
    /// For each feasible node.
    fn score(&self) -> Option<&dyn Score> {
        None
    }
    /// Edits that may help against the plugin's refusal, for explanations: of a node, or of the pod before nodes are
    /// evaluated (`None`). Called only for a pod and node that the plugin refuses. Each edit is tried before it is
    /// reported, so it may be one that does not help.
    fn remedies(&self, h: &Handle, node: Option<NodeInfo>) -> Vec<Edit> {
        let _ = (h, node);
        Vec::new()
    }
    /// When a node was chosen.
    fn reserve(&self) -> Option<&dyn Reserve> {
        None
    }
    /// Last before the binding cycle; may hold the pod back.
    fn permit(&self) -> Option<&dyn Permit> {
        None
    }
    /// Work before the binding.
    fn pre_bind(&self) -> Option<&dyn PreBind> {
        None
    }
    /// The binding itself.
    fn bind(&self) -> Option<&dyn Bind> {
        None
    }
    /// After the binding.
    fn post_bind(&self) -> Option<&dyn PostBind> {
        None
    }
}

/// The getters of [`Plugin`] for the extension points that a plugin serves itself: `serves!(PreFilter, Filter);` in its
/// `impl Plugin`.
#[macro_export]
macro_rules! serves {
    ($($point:ident),+) => { $($crate::serves!(@ $point);)+ };
    (@ PreEnqueue) => { $crate::serves!(@@ pre_enqueue PreEnqueue); };
    (@ QueueSort) => { $crate::serves!(@@ queue_sort QueueSort); };
    (@ EnqueueExtensions) => { $crate::serves!(@@ enqueue_extensions EnqueueExtensions); };
    (@ PreFilter) => { $crate::serves!(@@ pre_filter PreFilter); };
    (@ Filter) => { $crate::serves!(@@ filter Filter); };
    (@ PostFilter) => { $crate::serves!(@@ post_filter PostFilter); };
    (@ PreScore) => { $crate::serves!(@@ pre_score PreScore); };
    (@ Score) => { $crate::serves!(@@ score Score); };
    (@ Reserve) => { $crate::serves!(@@ reserve Reserve); };
    (@ Permit) => { $crate::serves!(@@ permit Permit); };
    (@ PreBind) => { $crate::serves!(@@ pre_bind PreBind); };
    (@ Bind) => { $crate::serves!(@@ bind Bind); };
    (@ PostBind) => { $crate::serves!(@@ post_bind PostBind); };
    (@@ $getter:ident $point:ident) => {
        fn $getter(&self) -> Option<&dyn $crate::$point> {
            Some(self)
        }
    };
}
