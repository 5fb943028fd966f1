//! Inputs and effects of the scheduler: the contract with its drivers (cluster, dry run, simulation).
//!
//! - Objects of one kind come in watch order, kinds in any order. A broken watch ends in `Relisted`, and the core
//!   determines which objects were deleted.
//! - An Input carries the new object only; the core holds the old one.
//! - Every `Call` is answered by exactly one `Reply`, also after a time-out. After `CallError::Retry` the scheduler
//!   pushes the same `Call` with the same ticket again, once its pause is over and if it is still wanted.
//! - Calls about one object are sent in order and one at a time.
//! - `now` is monotonic: it never runs backwards and never jumps with the wall clock. `WallClock` says how far the
//!   wall clock is away from it; events and policies get the wall clock. After `Lead(false)` nothing is sent but the
//!   events of bindings that were answered.

use bayplan_framework::{
    Answer, ApiCall, CallError, EventRecord, Framework, Need, PartialScore, Status, Ticket, Would,
};
use bayplan_model::{Duration, Kind, MarkKey, Object, ObjectKey, PodKey, Reading, Symbol, Time, VersionRows};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The profiles in service, by `schedulerName`, with the revision of the policies they were made with.
#[derive(Clone, Debug, Default)]
pub struct Profiles {
    /// One framework for each profile, in the order of the configuration.
    pub frameworks: Vec<Arc<Framework>>,
    /// Grows with every change of policies; every decision names it.
    pub revision: u64,
}

impl Profiles {
    /// The framework that serves a scheduler name.
    pub fn get(&self, scheduler_name: &Symbol) -> Option<&Arc<Framework>> {
        self.frameworks.iter().find(|framework| framework.scheduler_name == *scheduler_name)
    }

    /// As which version of Kubernetes they decide: all as the first.
    pub fn version(&self) -> VersionRows {
        self.frameworks.first().map(|framework| framework.version()).unwrap_or_default()
    }

    /// The kinds of objects that plugins need beside pods, nodes and namespaces, each once, in the order of the kinds. A
    /// kind is optional when it is for every plugin that needs it.
    pub fn needs(&self) -> Vec<Need> {
        let mut needs: BTreeMap<Kind, bool> = BTreeMap::new();
        for need in self.frameworks.iter().flat_map(|of| of.plugins()).flat_map(|plugin| plugin.kinds()) {
            *needs.entry(need.kind.clone()).or_insert(true) &= need.optional;
        }
        needs.into_iter().map(|(kind, optional)| Need { kind, optional }).collect()
    }

    /// The windows over which plugins read what nodes use.
    pub fn metrics_windows(&self) -> Vec<Duration> {
        self.frameworks.iter().flat_map(|of| of.metrics_windows()).collect()
    }
}

/// An input of the state machine.
#[derive(Clone, Debug)]
pub enum Input {
    /// An object was added or changed.
    Upserted(Object),
    /// An object was deleted.
    Deleted(ObjectKey),
    /// All objects of a kind, after a watch broke.
    Relisted(Kind, Vec<Object>),
    /// The API server has no such kind, until it is listed: it is older than the kind.
    NotServed(Kind),
    /// The metrics API was polled: what it said of the nodes, nothing when it did not answer.
    Metrics(Arc<[Reading]>),
    /// Every kind has been listed once.
    Synced,
    /// Whether a watch is too old to decide on. No attempt begins meanwhile; bindings continue.
    Stale(bool),
    /// The wall clock was stepped: it is `now` plus this. Zero until the first such input.
    WallClock(Duration),
    /// The answer to a call.
    Reply(Ticket, Result<Answer, CallError>),
    /// Other profiles or policies; taken between attempts.
    Profiles(Arc<Profiles>),
    /// Whether this instance leads.
    Lead(bool),
    /// The key that proves marks on bound pods beyond this process.
    MarkKey(MarkKey),
    /// Run one scheduling attempt.
    Cycle,
    /// Time has passed.
    Tick,
}

/// An effect that the driver carries out.
#[derive(Clone, Debug)]
pub enum Effect {
    /// A call that is answered by one `Reply`.
    Call(Ticket, ApiCall),
    /// An event to be written.
    Event(EventRecord),
    /// A decision was made; for records, reports and metrics.
    Decided(Box<DecisionRecord>),
}

/// How much a decision record holds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum RecordLevel {
    /// The outcome.
    #[default]
    Outcome,
    /// Also the chosen node and the best of the others with their scores.
    Best,
    /// Also three more of the best of the others.
    Ranked,
    /// Also the names of the nodes that share the highest total: thousands may.
    Names,
    /// Also every node with its refusal or scores; costs work per node.
    Nodes,
}

/// The outcome of an attempt.
#[derive(Clone, PartialEq, Debug)]
pub enum Decision {
    /// A node was chosen, assumed and reserved; the binding cycle begins.
    Placed {
        /// The node.
        node: Symbol,
        /// Its total; `None` when it was the only feasible node and scores were not wanted.
        total: Option<i64>,
        /// The nodes that shared the highest total; below `RecordLevel::Names` only the chosen one of them.
        best: Vec<Symbol>,
        /// How many nodes shared the highest total.
        equal: usize,
        /// How many nodes were feasible.
        feasible: usize,
    },
    /// No node fits, or Reserve or Permit refused.
    Unschedulable {
        /// kube-scheduler's text.
        message: String,
        /// The nominated node.
        nominated: Option<Symbol>,
    },
    /// The attempt failed.
    Error {
        /// What failed.
        message: String,
    },
}

/// One attempt.
#[derive(Clone, PartialEq, Debug)]
pub struct DecisionRecord {
    /// The pod.
    pub key: PodKey,
    /// `namespace/name` of the pod.
    pub pod: ObjectKey,
    /// The profile.
    pub profile: Symbol,
    /// The revision of the policies it was decided by.
    pub revision: u64,
    /// When.
    pub at: Time,
    /// Which attempt, from 1.
    pub attempt: u32,
    /// When the pod first entered the active queue.
    pub first_attempt: Time,
    /// Whether no event woke the pod: it was tried because it had waited longer than the limit.
    pub flushed: bool,
    /// How it ended.
    pub decision: Decision,
    /// The plugins that refused the pod or narrowed the nodes, in the order of the profile.
    pub unschedulable_plugins: Vec<Symbol>,
    /// The plugins that returned `Pending`.
    pub pending_plugins: Vec<Symbol>,
    /// The number of nodes that filters ran on.
    pub evaluated: usize,
    /// What an attempt to preempt other pods came to; `None` without one.
    pub preemption: Option<PreemptionRecord>,
    /// What the rules that do not decide would have done, each once, in the order of the profile and of the attempt.
    pub would: Vec<Would>,
    /// Every node, when wanted.
    pub detail: Option<DecisionDetail>,
}

/// What an attempt to preempt other pods came to.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct PreemptionRecord {
    /// The pods that are evicted from the nominated node, the most important first; none when preemption does not help.
    pub victims: Vec<ObjectKey>,
    /// How many of them PodDisruptionBudgets protect.
    pub violations: usize,
    /// Those PodDisruptionBudgets, `namespace/name`.
    pub budgets: Vec<Symbol>,
    /// Whether one of them is not being deleted yet.
    pub evicts: bool,
}

/// Every node of a decision.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct DecisionDetail {
    /// In row order.
    pub nodes: Vec<NodeDetail>,
    /// The message of a PreFilter that refused the pod.
    pub pre_filter_message: Option<String>,
}

/// One node of a decision.
#[derive(Clone, PartialEq, Debug)]
pub struct NodeDetail {
    /// Its name.
    pub name: Symbol,
    /// Why the node is not feasible, with the name of the plugin; `None` when it is.
    pub refused: Option<(Symbol, Status)>,
    /// Scores by plugin, in the order of the profile; only of feasible nodes.
    pub scores: Vec<PluginScore>,
    /// Their sum.
    pub total: Option<i64>,
}

/// The score of one plugin for one node.
#[derive(Clone, PartialEq, Debug)]
pub struct PluginScore {
    /// The plugin.
    pub plugin: Symbol,
    /// After normalisation and weight.
    pub score: i64,
    /// A policy's own statements, before their weights; empty for other plugins.
    pub parts: Vec<PartialScore>,
}
