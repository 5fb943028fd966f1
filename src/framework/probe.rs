//! [`Probe`]: receives how long extension points and plugins take, for metrics. The room `cluster` provides one with
//! its clock; a framework without a probe is not timed. Decisions cannot depend on it: the framework only passes a
//! [`Mark`] back to it.
//!
//! Source: `pkg/scheduler/framework/runtime/framework.go`, `pkg/scheduler/metrics/metrics.go`.

use super::events::{ClusterEvent, QueueingHint};
use super::points::{
    BindOutcome, PermitOutcome, PostFilterOutcome, PreFilterOutcome, PreFlight, PreScoreOutcome,
};
use bayplan_model::{Duration, Symbol};
use std::sync::Arc;

/// A timed step: upstream's names of extension points in metrics.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
#[allow(missing_docs)] // named like the extension points
pub enum TimedPoint {
    PreEnqueue,
    PreFilter,
    Filter,
    PostFilter,
    PreScore,
    Score,
    Reserve,
    Unreserve,
    Permit,
    PreBindPreFlight,
    PreBind,
    Bind,
    PostBind,
}

impl TimedPoint {
    /// The points at which evaluations are counted.
    pub(crate) const COUNTED: [TimedPoint; 4] =
        [TimedPoint::PreFilter, TimedPoint::Filter, TimedPoint::PreScore, TimedPoint::Score];

    /// The value of the label `extension_point`.
    pub fn name(self) -> &'static str {
        match self {
            TimedPoint::PreEnqueue => "PreEnqueue",
            TimedPoint::PreFilter => "PreFilter",
            TimedPoint::Filter => "Filter",
            TimedPoint::PostFilter => "PostFilter",
            TimedPoint::PreScore => "PreScore",
            TimedPoint::Score => "Score",
            TimedPoint::Reserve => "Reserve",
            TimedPoint::Unreserve => "Unreserve",
            TimedPoint::Permit => "Permit",
            TimedPoint::PreBindPreFlight => "PreBindPreFlight",
            TimedPoint::PreBind => "PreBind",
            TimedPoint::Bind => "Bind",
            TimedPoint::PostBind => "PostBind",
        }
    }
}

/// An instant of the probe's clock.
#[derive(Clone, Copy, Debug)]
pub struct Mark(pub u64);

/// A counter that only its creator can read.
pub trait Tally: Send + Sync {
    /// Adds to the count.
    fn add(&self, times: u64);
}

/// Adds up how long each rule of a policy takes in one attempt. Its maker learns the sums when it is dropped.
pub trait RuleTimes: Send + Sync {
    /// The present instant.
    fn mark(&self) -> Mark;
    /// A rule was evaluated at a point, for one node or many.
    fn add(&self, policy: &str, rule: &Symbol, point: TimedPoint, since: Mark);
}

/// What a plugin counts, for metrics of its own.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Counted {
    /// The creation of a claim for extended resources.
    ClaimCreation {
        /// Whether the API server created it.
        done: bool,
    },
    /// The wait of a pod for devices that are prepared before the binding.
    Preparation {
        /// How it ended: `success`, `failure`, `timeout` or `error`.
        status: &'static str,
        /// How long it took.
        took: Duration,
        /// The driver of each device that the claims of the pod have.
        devices: Vec<Symbol>,
        /// The driver of each of those that are prepared.
        prepared: Vec<Symbol>,
    },
}

/// Receives durations and counts.
pub trait Probe: Send + Sync {
    /// The present instant.
    fn mark(&self) -> Mark;
    /// An attempt begins: whether its plugins are timed one by one. Upstream does so for one attempt in ten.
    fn samples(&self) -> bool;
    /// Times the rules of a new attempt one by one.
    fn rule_times(&self) -> Arc<dyn RuleTimes>;
    /// All plugins of a point ran, for a pod of this profile, and came to `code`.
    fn point(&self, profile: &Symbol, point: TimedPoint, code: &'static str, since: Mark);
    /// One plugin ran.
    fn plugin(&self, plugin: &str, point: TimedPoint, code: &'static str, since: Mark);
    /// A plugin could not do its work at a point, in any attempt.
    fn failed(&self, plugin: &str, point: TimedPoint);
    /// A pod's wait at Permit has ended.
    fn waited(&self, code: &'static str, since: Mark);
    /// A plugin's hint was evaluated for an event; `None`: it panicked.
    fn hint(&self, plugin: &str, event: &ClusterEvent, hint: Option<QueueingHint>, since: Mark);
    /// The pods that an event may help were looked for and moved.
    fn event(&self, event: &ClusterEvent, since: Mark);
    /// The eviction of the victims of one preemptor has ended: `success` or `error`.
    fn evicted(&self, result: &'static str, since: Mark);
    /// A plugin counted something, for a pod of this profile.
    fn counted(&self, profile: &Symbol, what: &Counted);
    /// The counter of a plugin's evaluations at a point for the pods of a profile.
    fn evaluations(&self, profile: &Symbol, plugin: &str, point: TimedPoint) -> Arc<dyn Tally>;
}

/// The name of a code that is not an error.
pub trait Outcome {
    /// As upstream writes it.
    fn code(&self) -> &'static str {
        "Success"
    }
}

impl Outcome for () {}
impl<T> Outcome for Option<T> {}

/// The groups of PreBind plugins that have work.
impl<T> Outcome for std::collections::VecDeque<T> {
    fn code(&self) -> &'static str {
        if self.is_empty() { "Skip" } else { "Success" }
    }
}

impl Outcome for PostFilterOutcome {
    fn code(&self) -> &'static str {
        match self {
            Self::Made { .. } | Self::Candidates(_) => "Success",
            Self::Not { status, .. } | Self::Calls { then: status, .. } => status.code.name(),
        }
    }
}

impl Outcome for PreFilterOutcome {
    fn code(&self) -> &'static str {
        if matches!(self, Self::Skip) { "Skip" } else { "Success" }
    }
}

impl Outcome for PreScoreOutcome {
    fn code(&self) -> &'static str {
        if matches!(self, Self::Skip) { "Skip" } else { "Success" }
    }
}

impl Outcome for PermitOutcome {
    fn code(&self) -> &'static str {
        if matches!(self, Self::Wait { .. }) { "Wait" } else { "Success" }
    }
}

impl Outcome for PreFlight {
    fn code(&self) -> &'static str {
        if matches!(self, Self::Skip) { "Skip" } else { "Success" }
    }
}

impl Outcome for BindOutcome {
    fn code(&self) -> &'static str {
        if matches!(self, Self::Skip) { "Skip" } else { "Success" }
    }
}
