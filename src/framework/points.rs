//! The extension points as traits. Their result types allow only legal outcomes: Filter cannot return
//! `Skip`, Score cannot return `Wait`.

use super::MAX_SCORE;
use super::calls::{Answer, ApiCall, CallError, Ticket};
use super::candidates::Candidate;
use super::cycle_state::StateSlot;
use super::diagnosis::NodeToStatus;
use super::events::{ClusterEvent, EventRegistration, QueueingHint};
use super::handle::{Actor, Handle};
use super::intent::Write;
use super::plugin_id::PluginId;
use super::preemption::{AppliedRules, RuleNotes};
use super::queued::{QueuedPodInfo, SortKey, SortShare};
use super::reads::Interest;
use super::simulation::Simulation;
use super::status::Status;
use bayplan_model::{NodeId, NodeInfo, NodeSet, ObjectKey, PodInfo, PodKey, Snapshot, Symbol, Time, bits};
use serde::Serialize;

/// Before a pod may enter the queue.
pub trait PreEnqueue: Sync {
    /// A refusal keeps the pod out of the queue until an event that the plugin waits for.
    fn pre_enqueue(&self, h: &Handle) -> Result<(), Status>;
    /// Whether the condition of a pod that is held says why: policies. The API server writes the condition of pods
    /// with scheduling gates itself.
    fn shows(&self) -> bool {
        false
    }
}

/// Orders the queue; exactly one per framework, the same in all.
pub trait QueueSort: Sync {
    /// The key of a pod: smaller goes first. Made when the pod enters the active queue or changes.
    fn key(&self, pod: &QueuedPodInfo, snapshot: &Snapshot) -> SortKey;
    /// What can change the key of a pod; `None`: everything that the plugin reads. Called with [`QueueSort::key`].
    fn interest(&self, pod: &QueuedPodInfo, snapshot: &Snapshot) -> Option<Interest> {
        let _ = (pod, snapshot);
        None
    }
    /// What the key has in common with those of other pods, if anything: then a change of a group moves all of these pods
    /// at once. Called with [`QueueSort::interest`].
    fn share(&self, pod: &QueuedPodInfo, snapshot: &Snapshot) -> Option<SortShare> {
        let _ = (pod, snapshot);
        None
    }
}

/// Which events may help a pod that the plugin refused.
pub trait EnqueueExtensions: Sync {
    /// Events the plugin waits for. None: it is never woken by events.
    fn events(&self) -> Vec<EventRegistration>;
    /// Whether this event may help this pod. Called only for registered events.
    fn hint(&self, h: &Handle, event: &ClusterEvent) -> QueueingHint {
        let _ = (h, event);
        QueueingHint::Queue
    }
    /// Further events that may help, for an in-tree plugin whose upstream hints miss some. [`EnqueueExtensions::events`]
    /// and [`EnqueueExtensions::hint`] stay upstream's.
    fn further_events(&self) -> Vec<EventRegistration> {
        Vec::new()
    }
    /// Whether one of the further events may help this pod. Called after [`EnqueueExtensions::hint`] said no, and on the
    /// cluster as it is after the event.
    fn further_hint(&self, h: &Handle, event: &ClusterEvent) -> QueueingHint {
        let _ = (h, event);
        QueueingHint::Skip
    }
}

/// The result of PreFilter.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum PreFilterOutcome {
    /// Filter runs on all nodes.
    AllNodes,
    /// Only these nodes can fit; Filter does not run on the others.
    Only(NodeSet),
    /// The plugin ignores this pod: its Filter and extensions are skipped.
    Skip,
}

/// Runs once per attempt, before Filter.
pub trait PreFilter: Sync {
    /// Computes what Filter needs. May refuse the pod or narrow the nodes.
    fn pre_filter(&self, h: &Handle, state: &mut StateSlot) -> Result<PreFilterOutcome, Status>;
    /// How the state follows pods that are added to and removed from a node in a simulation.
    fn extensions(&self) -> Option<&dyn PreFilterExtensions> {
        None
    }
}

/// Updates the state of PreFilter when a simulation adds or removes a pod. The state is the argument, not
/// [`Handle::state`].
pub trait PreFilterExtensions: Sync {
    /// `added` was put onto `node`.
    fn add_pod(
        &self,
        h: &Handle,
        state: &mut StateSlot,
        added: &PodInfo,
        node: NodeInfo,
    ) -> Result<(), Status>;
    /// `removed` was taken off `node`.
    fn remove_pod(
        &self,
        h: &Handle,
        state: &mut StateSlot,
        removed: &PodInfo,
        node: NodeInfo,
    ) -> Result<(), Status>;
    /// Whether [`PreFilterExtensions::again`] may refuse; always the same.
    fn asks_again(&self) -> bool {
        false
    }
    /// Whether PreFilter lets the pod onto this node as things are simulated. Preemption asks it beside Filter, so that
    /// a refusal of PreFilter which evictions can change needs no second text.
    fn again(&self, h: &Handle, node: NodeInfo) -> Result<(), Status> {
        let _ = (h, node);
        Ok(())
    }
}

/// Nodes that are refused for one reason, among the 64 rows of one word of a [`NodeSet`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RefusedRows {
    /// Which word.
    pub word: u32,
    /// The number of the status.
    pub status: u32,
    /// Which of its rows.
    pub rows: u64,
}

/// The refusals of a filter that ran on many nodes at once. Nodes that it does not refuse pass.
#[derive(Clone, Debug, Default)]
pub struct Verdicts {
    refused: Vec<RefusedRows>,
    statuses: Vec<Status>,
}

impl Verdicts {
    /// Removes all refusals, keeps the memory.
    pub fn clear(&mut self) {
        self.refused.clear();
        self.statuses.clear();
    }

    /// Registers a status; returns its number for [`Verdicts::refuse`]. Equal statuses get one number.
    pub fn status(&mut self, status: Status) -> u32 {
        let known = self.statuses.iter().position(|other| *other == status);
        known.unwrap_or_else(|| {
            self.statuses.push(status);
            self.statuses.len() - 1
        }) as u32
    }

    /// Refuses a node with a registered status. Nodes are refused once, in any order.
    pub fn refuse(&mut self, node: NodeId, status: u32) {
        self.refuse_rows(node.row() / 64, 1 << (node.row() % 64), status);
    }

    /// Refuses nodes of one word of rows with a registered status.
    pub fn refuse_rows(&mut self, word: usize, rows: u64, status: u32) {
        let word = word as u32;
        match self.refused.last_mut() {
            _ if rows == 0 => {}
            Some(last) if (last.word, last.status) == (word, status) => last.rows |= rows,
            _ => self.refused.push(RefusedRows { word, status, rows }),
        }
    }

    /// The refused nodes, by words of 64 rows.
    pub fn by_word(&self) -> &[RefusedRows] {
        &self.refused
    }

    /// The refused nodes with the numbers of their statuses.
    pub fn refused(&self) -> impl Iterator<Item = (NodeId, u32)> {
        self.refused.iter().flat_map(|of| {
            bits(of.rows).map(|bit| (NodeId::from_row(of.word as usize * 64 + bit), of.status))
        })
    }

    /// The registered statuses.
    pub fn statuses(&self) -> &[Status] {
        &self.statuses
    }
}

/// One thing that keeps a node from fitting, with numbers; for explanations.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Violation {
    /// The rule within the plugin (a policy's filter); empty for plugins that are one rule.
    pub rule: String,
    /// Where the rule is written, as people name it (`gpu.bay:12`); empty for in-tree plugins.
    pub place: String,
    /// The reason, as in the status.
    pub reason: String,
    /// The missing item (`cpu`, `taint dedicated=batch:NoSchedule`); empty when the reason names it.
    pub what: String,
    /// The required amount, in the user's units; empty without an amount.
    pub need: String,
    /// The available amount.
    pub have: String,
    /// The amounts, if the missing item is a resource.
    pub shortage: Option<Shortage>,
}

/// A thing of a node that a pod could get, such as a device, and what became of it; for explanations of one node.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Offer {
    /// The thing: `gpu.example.com/pool-1/gpu-0`.
    pub name: String,
    /// What asked for it: `claim shop/data, request gpu`.
    pub by: String,
    /// Whether the pod gets it there, or could.
    pub fits: bool,
    /// What became of it.
    pub outcome: String,
}

/// How much of a resource a node lacks for a pod, in base units.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Shortage {
    /// The resource.
    pub resource: Symbol,
    /// How much the pod requests.
    pub needed: i64,
    /// How much is free on the node.
    pub free: i64,
    /// How much the node has in all.
    pub allocatable: i64,
}

/// Runs for each node.
pub trait Filter: Sync {
    /// The definition: whether the pod fits on the node.
    fn filter(&self, h: &Handle, node: NodeInfo) -> Result<(), Status>;
    /// Whether the pod fits on each of many nodes, over columns; writes only refusals. An `Error` status ends the attempt.
    fn filter_range(&self, h: &Handle, nodes: &NodeSet, out: &mut Verdicts) {
        for id in nodes.iter() {
            if let Some(node) = h.snapshot.node(id)
                && let Err(status) = self.filter(h, node)
            {
                let status = out.status(status);
                out.refuse(id, status);
            }
        }
    }
    /// Everything that keeps the pod off the node, with values; empty exactly when [`Filter::filter`] succeeds.
    fn violations(&self, h: &Handle, node: NodeInfo, out: &mut Vec<Violation>) {
        if let Err(status) = self.filter(h, node) {
            out.extend(
                status
                    .reasons()
                    .map(|reason| Violation { reason: reason.to_owned(), ..Violation::default() }),
            );
        }
    }
    /// The things of a node among which the plugin chooses for the pod, each with what became of it; for explanations.
    fn offers(&self, h: &Handle, node: NodeInfo, out: &mut Vec<Offer>) {
        let _ = (h, node, out);
    }
}

/// The nodes that passed all filters.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Feasible {
    /// In row order.
    pub nodes: NodeSet,
}

/// How a failed attempt treats the pod's nomination (`status.nominatedNodeName`).
///
/// Source: `staging/src/k8s.io/kube-scheduler/framework/interface.go`, `NominatingInfo`.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Promise {
    /// It stays as it is.
    Keep,
    /// It is removed.
    #[default]
    Clear,
    /// The pod is nominated for the node of this name.
    To(Symbol),
}

/// The result of PostFilter.
#[derive(Clone, PartialEq, Debug)]
pub enum PostFilterOutcome {
    /// The plugin did something that may make the pod schedulable. Later plugins do not run.
    Made {
        /// The nomination that follows.
        promise: Promise,
        /// The text that follows the reasons of the filters; empty for none.
        message: String,
        /// Pods that are evicted from the node of the nomination, the most important first.
        evict: Vec<PodKey>,
    },
    /// The pod fits on these nodes once the victims of one are gone; never empty. The scheduler chooses one
    /// ([`Candidate::best`]), nominates the pod to its node and evicts the victims. Later plugins do not run.
    Candidates(Vec<Candidate>),
    /// The plugin wants calls to be made, one after another. The attempt waits for the answers; then `then` is what the
    /// plugin answers, as [`PostFilterOutcome::Not`].
    Calls {
        /// The calls.
        calls: Vec<PostFilterCall>,
        /// The answer when all of them succeeded; the first that fails is an `Error`.
        then: Status,
    },
    /// The plugin did nothing for the pod. `UnschedulableAndUnresolvable` and `Error` end PostFilter; the pod is
    /// `Unschedulable` in every case.
    Not {
        /// Why, with the text that follows the reasons of the filters.
        status: Status,
        /// The nomination that follows; an `Error` keeps it.
        promise: Promise,
    },
}

/// A call that a PostFilter plugin waits for.
#[derive(Clone, PartialEq, Debug)]
pub struct PostFilterCall {
    /// The call.
    pub call: ApiCall,
    /// What precedes the text of its failure; empty for nothing.
    pub failed: String,
    /// Whether it succeeded too when the object does not exist.
    pub may_be_gone: bool,
}

impl PostFilterOutcome {
    /// The plugin did nothing for the pod, and the nomination stays.
    pub fn not(status: Status) -> Self {
        Self::Not { status, promise: Promise::Keep }
    }
}

/// Runs when no node fits.
pub trait PostFilter: Sync {
    /// Whether it is counted as an attempt to preempt other pods.
    fn preempts(&self) -> bool {
        false
    }
    /// Whether it runs only where no other plugin of the point preempts. Of several such plugins, the first by name
    /// runs whose rules apply to the pod ([`PreemptionRules`](super::PreemptionRules)).
    fn is_substitute(&self) -> bool {
        false
    }
    /// May make the pod schedulable.
    fn post_filter(&self, h: &Handle, nodes: &NodeToStatus, run: &mut dyn PluginsRunner)
    -> PostFilterOutcome;
}

/// Lets plugins run filters on a changed copy of a node.
pub trait PluginsRunner {
    /// What the plugins say about the pods that may be evicted for the pod of the attempt.
    fn rules(&self) -> AppliedRules<'_>;
    /// Keeps what came of asking the rules.
    fn asked(&mut self, notes: RuleNotes);
    /// The name of a plugin.
    fn plugin_name(&self, plugin: PluginId) -> &str;
    /// A copy of one node to try changes on. `None` when there is no such row.
    fn simulate(&self, node: NodeId) -> Option<Simulation<'_>>;
}

/// The result of PreScore.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PreScoreOutcome {
    /// Score runs.
    Score,
    /// The plugin ignores this pod: its Score is skipped.
    Skip,
}

/// Runs once per attempt, before Score.
pub trait PreScore: Sync {
    /// Computes what Score needs.
    fn pre_score(
        &self,
        h: &Handle,
        feasible: &Feasible,
        state: &mut StateSlot,
    ) -> Result<PreScoreOutcome, Status>;
}

/// How raw scores become scores of 0 to 100. Data, so that a pass can fuse it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Normalize {
    /// They are already.
    None,
    /// `100 * s / max`, 0 when the maximum is 0 (upstream's `DefaultNormalizeScore`).
    Max,
    /// 100 minus that; 100 for all when the maximum is 0.
    MaxReversed,
    /// `100 * (s - min) / (max - min)`, 0 when they are equal.
    MinMax,
    /// `100 * (max + min - s) / max`, 100 when the maximum is 0: fewer is better, and the worst node keeps the share
    /// of `min` in `max`. Source: `NormalizeScore` of `podtopologyspread/scoring.go`.
    MaxPlusMin {
        /// The raw score of nodes that get 0 and do not count for maximum and minimum.
        ignored: i64,
    },
}

/// The score of a policy's own `score` statement for a node, before its weight.
#[derive(Clone, PartialEq, Debug)]
pub struct PartialScore {
    /// The statement's name.
    pub name: Symbol,
    /// 0 to 100.
    pub score: i64,
    /// Its weight within the plugin.
    pub weight: i64,
}

/// Runs for each feasible node.
pub trait Score: Sync {
    /// The definition: the raw score of a node that passed all filters.
    fn score(&self, h: &Handle, node: NodeInfo) -> Result<i64, Status>;
    /// The raw scores of many nodes at once, over columns; `out` is by row, with room for all rows of every word of
    /// `nodes`. Other rows may be written too; they are ignored.
    fn score_range(&self, h: &Handle, nodes: &NodeSet, out: &mut [i64]) -> Result<(), Status> {
        for id in nodes.iter() {
            if let (Some(node), Some(out)) = (h.snapshot.node(id), out.get_mut(id.row())) {
                *out = self.score(h, node)?;
            }
        }
        Ok(())
    }
    /// Whether it scores every node 0 for this pod: then it runs for reports only.
    fn is_zero(&self, h: &Handle) -> bool {
        let _ = h;
        false
    }
    /// How raw scores become scores.
    fn normalize(&self) -> Normalize {
        Normalize::None
    }
    /// The largest score that a node can get. Policies exceed 100, for their statements have weights.
    fn largest(&self) -> i64 {
        MAX_SCORE
    }
    /// The statements that make up the score of a node, for reports; empty for plugins that have none.
    fn partial_scores(&self, h: &Handle, feasible: &Feasible, node: NodeInfo) -> Vec<PartialScore> {
        let _ = (h, feasible, node);
        Vec::new()
    }
}

/// Runs when a node was chosen.
pub trait Reserve: Sync {
    /// Reserves what the pod needs. A refusal undoes all reservations.
    fn reserve(&self, a: &mut Actor, node: NodeId) -> Result<(), Status>;
    /// Releases the reservation, also when `reserve` was never called. Runs in reverse order of the plugins.
    fn unreserve(&self, a: &mut Actor, node: NodeId);
}

/// The result of Permit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PermitOutcome {
    /// The binding continues.
    Allow,
    /// The pod waits, at most until then.
    Wait {
        /// The deadline.
        until: Time,
    },
}

/// Runs last before the binding cycle; may hold the pod back.
pub trait Permit: Sync {
    /// Allows the pod, makes it wait, or refuses it.
    fn permit(&self, a: &mut Actor, node: NodeId) -> Result<PermitOutcome, Status>;
    /// Re-evaluates a waiting pod after a change that the plugin reads, and at its deadline.
    fn reconsider(&self, a: &mut Actor, node: NodeId) -> Result<PermitOutcome, Status>;
    /// Waiting pods with the same key get the same answer at the same moment, unless namespaces changed: when one of
    /// them goes on waiting, so do the others. `None`: the pod shares its answer with no other. Called whenever a pod
    /// begins or goes on waiting.
    fn equivalence_key(&self, h: &Handle) -> Option<u64> {
        let _ = h;
        None
    }
    /// What can change the answer about this waiting pod; `None`: everything that the plugin reads. Called whenever a
    /// pod begins or goes on waiting.
    fn interest(&self, h: &Handle) -> Option<Interest> {
        let _ = h;
        None
    }
    /// The status of a pod whose deadline passed; `None`: upstream's text.
    fn timed_out(&self, h: &Handle) -> Option<Status> {
        let _ = h;
        None
    }
    /// Called when a waiting pod leaves without being allowed.
    fn left(&self, a: &mut Actor) {
        let _ = a;
    }
}

/// The result of PreBind's pre-flight.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PreFlight {
    /// There is nothing to do for this pod.
    Skip,
    /// There is work; `parallel` says that it may run beside its neighbours'.
    Run {
        /// Whether it may run beside its neighbours'.
        parallel: bool,
    },
}

/// Prepares the binding.
pub trait PreBind: Sync {
    /// Whether there is work to do; without side effects.
    fn pre_flight(&self, h: &Handle, node: NodeId) -> Result<PreFlight, Status>;
    /// Starts the work.
    fn start(&self, a: &mut Actor, node: NodeId) -> Result<Box<dyn BindTask>, Status>;
}

/// The work of a plugin before a binding, as a state machine. It is polled at its start, at each answer, when a
/// watched object changes, and at its deadline.
pub trait BindTask: Send + Sync {
    /// Continues as far as possible.
    fn poll(&mut self, a: &mut Actor, wake: &Wake) -> Result<TaskPoll, Status>;
    /// A copy, for forks of the scheduler.
    fn fork(&self) -> Box<dyn BindTask>;
}

/// Why a task is polled.
#[derive(Clone, PartialEq, Debug)]
pub enum Wake {
    /// It begins.
    Start,
    /// A call was answered.
    Answer(Ticket, Result<Answer, CallError>),
    /// An object that it watches changed.
    Changed(ObjectKey),
    /// Its deadline passed.
    Deadline,
}

/// The state of a task after a poll.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TaskPoll {
    /// It is done.
    Done,
    /// It waits.
    Pending {
        /// For this long at most.
        until: Option<Time>,
        /// For changes of these.
        watch: Vec<ObjectKey>,
    },
}

/// The result of Bind.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum BindOutcome {
    /// The next Bind plugin runs.
    Skip,
    /// This call binds the pod.
    Send(ApiCall),
}

/// The binding itself.
pub trait Bind: Sync {
    /// The call that binds the pod.
    fn bind(&self, h: &Handle, node: NodeId) -> Result<BindOutcome, Status>;
}

/// After an attempt that ended without a node, or was refused at Reserve, Permit, PreBind or Bind. Its steps are undone,
/// and the pod is in the queue again, unless it is gone.
pub trait Failure: Sync {
    /// The attempt failed. `ended_by_others`: the pod waited at Permit, and a plugin refused it because of another pod.
    fn failed(&self, a: &mut Actor, ended_by_others: bool);
}

/// What a plugin writes for a pod that is bound, at least once, also after a restart. The Binding carries a mark, an
/// annotation of the pod, which goes when everything is written. The framework asks the plugin for what to write whenever
/// it is tried.
pub trait AfterBind: Sync {
    /// Whether there may be something to write for this pod, so that its Binding carries a mark.
    fn marks(&self, h: &Handle) -> bool;
    /// What is to be written now for a pod on this node, one object after the other.
    fn writes(&self, h: &Handle, node: NodeId) -> Vec<Write>;
}

/// After the binding.
pub trait PostBind: Sync {
    /// The pod is bound.
    fn post_bind(&self, a: &mut Actor, node: NodeId);
}
