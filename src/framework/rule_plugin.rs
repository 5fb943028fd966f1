//! [`RulePlugin`]: what a plugin has beside the scheduling framework whose rules people write, as policies are: names of rules,
//! modes, exceptions, sums, and what happens after a binding and after a failed attempt. In-tree plugins have none of it.

use super::counting::Counting;
use super::handle::Handle;
use super::left_alone::LeftAlone;
use super::points::{AfterBind, Failure};
use super::preemption::PreemptionRules;
use bayplan_model::{Duration, Resource, Snapshot, Symbol};

/// A plugin of rules. Profiles have no points for them: what it serves here runs for every such plugin that is enabled
/// anywhere.
pub trait RulePlugin: Sync {
    /// The names of its rules that can refuse a pod or fail; statuses number them from 1. The rule of a refusal at
    /// PreEnqueue is the first.
    fn rules(&self) -> &[Symbol] {
        &[]
    }
    /// A hash of its source besides name and arguments: the text of a policy.
    fn digest(&self) -> u64 {
        0
    }
    /// The resources that it sums under a name and a key, such as those of a ledger, for all who show them; `None`: it has
    /// no such sums, or decides by none.
    fn sum(&self, name: &str, key: &str, snapshot: &Snapshot) -> Option<Resource> {
        let _ = (name, key, snapshot);
        None
    }
    /// The windows over which it reads what nodes use: the metrics API is polled while the plugin is in service.
    fn metrics_windows(&self) -> Vec<Duration> {
        Vec::new()
    }
    /// The rules that do not decide.
    fn counting(&self) -> Option<&dyn Counting> {
        None
    }
    /// Which pods may be evicted for a pod. Asked of the plugins at PostFilter by the one of them that preempts.
    fn preemption(&self) -> Option<&dyn PreemptionRules> {
        None
    }
    /// The exceptions by which it leaves the pod alone, for explanations.
    fn left_alone(&self, _h: &Handle) -> Vec<LeftAlone> {
        Vec::new()
    }
    /// After an attempt that failed.
    fn failure(&self) -> Option<&dyn Failure> {
        None
    }
    /// What is written once the pod is bound.
    fn after_bind(&self) -> Option<&dyn AfterBind> {
        None
    }
}
