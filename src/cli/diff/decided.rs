//! [`Subjects`]: the pods of a cluster that two versions may treat otherwise, and the result of each when decisions are made
//! by a set of rows. Pending pods are placed by a dry run; a running pod is taken out of the cluster, decided on it as if it
//! were new and alone, and put back.

use super::concerned::Concerned;
use crate::cli::at_once::at_once;
use crate::cli::progress::Progress;
use crate::cli::setup::Setup;
use crate::dry_run::{Options, PodReport, Report, Standing, Watcher, World, run_watched};
use crate::engine::{Decider, Scan, Selected, TieBreak};
use crate::framework::{Cycle, Features, Framework, Silent, Status};
use crate::model::{
    Change, NodeId, NodeSet, Object, PodInfo, PodKey, Snapshot, Symbol, Time, VersionRow, VersionRows,
};
use crate::scheduler::{Decision, DecisionRecord, Profiles, RecordLevel, Scheduler};
use rustc_hash::FxHashMap;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::sync::Arc;

/// The part of the work that a whole comparison is, as it is shown.
const COMPARING: &str = "deciding pods by both versions";
/// The search for causes, as it is shown.
const EXPLAINING: &str = "looking for the differences that matter";

/// What became of a pod.
#[derive(Clone, Debug, Default)]
pub(super) struct Outcome {
    /// The node, the first by name of those that are equally good; `None`: it waits, or fits no node.
    pub(super) node: Option<Symbol>,
    /// The nodes that are equally good.
    pub(super) best: NodeSet,
    /// The pods that were evicted for it, by name.
    pub(super) evicts: BTreeSet<String>,
    /// Why it waits, or what the event of its first attempt without a node says; empty without one.
    pub(super) message: String,
}

impl Outcome {
    /// Whether they differ in no more than the text.
    pub(super) fn is_decided_as(&self, other: &Self) -> bool {
        (&self.node, &self.evicts) == (&other.node, &other.evicts) && self.best.iter().eq(other.best.iter())
    }

    /// Whether they do not differ.
    pub(super) fn is(&self, other: &Self) -> bool {
        self.message == other.message && self.is_decided_as(other)
    }
}

/// What became of the pods.
#[derive(Default)]
pub(super) struct Outcomes {
    /// Of each subject that was decided.
    pub(super) pods: FxHashMap<usize, Outcome>,
    /// The names of the nodes by row.
    pub(super) nodes: Vec<Symbol>,
    /// Whether a pod was tried more than once, so that it matters which events wake pods.
    pub(super) retried: bool,
}

/// Pods of a cluster, each with a number: the pending ones in their order, then the running ones that a row may concern.
pub(super) struct Subjects<'s> {
    setup: &'s Setup,
    /// How many pods run that a profile serves.
    pub(super) running: usize,
    anew: Vec<Arc<PodInfo>>,
    /// The instant of all decisions.
    start: Time,
}

impl<'s> Subjects<'s> {
    /// Those of a cluster. Running pods that none of the rows concerns are left out: every set of rows decides them alike.
    pub(super) fn of(setup: &'s Setup, rows: &[VersionRow], concerned: &Concerned) -> Self {
        let running: Vec<&Arc<PodInfo>> = setup.world.objects.iter().filter_map(Self::runs(setup)).collect();
        let matters = |pod: &&&Arc<PodInfo>| rows.iter().any(|row| concerned.running(*row, pod));
        let anew = running.iter().filter(matters).map(|pod| (*pod).clone()).collect();
        let start = setup.start();
        Self { setup, running: running.len(), anew, start }
    }

    /// The running pods that the scheduler could place: static pods have no choice, and ended ones need none.
    fn runs(setup: &Setup) -> impl Fn(&Object) -> Option<&Arc<PodInfo>> {
        move |object| match object {
            Object::Pod(pod) => Some(pod).filter(|pod| {
                let ours = setup.profiles.get(&pod.scheduler_name).is_some();
                ours && !pod.is_terminating() && !pod.is_static() && pod.unreadable.is_none()
            }),
            _ => None,
        }
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.pending() + self.anew.len()
    }

    /// How many are pending: those with the first numbers.
    pub(super) fn pending(&self) -> usize {
        self.setup.world.pending.len()
    }

    /// One of them.
    pub(super) fn pod(&self, at: usize) -> Option<&Arc<PodInfo>> {
        self.setup.world.pending.get(at).or_else(|| self.anew.get(at.checked_sub(self.pending())?))
    }

    /// What deciding these costs, in about 20 ns each.
    pub(super) fn work(&self, of: &[usize]) -> usize {
        let world = &self.setup.world;
        let nodes = world.objects.iter().filter(|object| matches!(object, Object::Node(_))).count();
        let (pending, running) = self.parts(of);
        let pods = running.len() + if pending { self.pending() } else { 0 };
        pods.saturating_mul(nodes + 2_500).saturating_add(world.objects.len() * 250)
    }

    /// Whether a pending pod is among the subjects, and the running ones.
    fn parts(&self, of: &[usize]) -> (bool, Vec<usize>) {
        let (pending, running): (Vec<usize>, Vec<usize>) =
            of.iter().copied().partition(|at| *at < self.pending());
        (!pending.is_empty(), running)
    }

    /// Begins to show the work of deciding these by so many sets of rows.
    pub(super) fn announce(&self, of: &[usize], sets: usize, searching: bool, progress: &Progress) {
        let (pending, running) = self.parts(of);
        let pods = running.len() + if pending { self.pending() } else { 0 };
        progress.stage(if searching { EXPLAINING } else { COMPARING }, pods * sets);
    }

    /// Decides these by each set of rows, as many at once as the machine has cores. A pending pod is decided among all of
    /// them.
    pub(super) fn decide_all(
        &self,
        of: &[usize],
        by: &[VersionRows],
        progress: &Progress,
    ) -> anyhow::Result<Vec<Outcomes>> {
        let profiles: Vec<Arc<Profiles>> = by
            .iter()
            .map(|rows| self.setup.as_decided_by(Features::under(*rows)))
            .collect::<anyhow::Result<_>>()?;
        Ok(at_once(&profiles, MOST_AT_ONCE, |profiles| self.decide(of, profiles.clone(), progress))?)
    }

    fn decide(&self, of: &[usize], profiles: Arc<Profiles>, progress: &Progress) -> Outcomes {
        let (pending, running) = self.parts(of);
        let world = &self.setup.world;
        let bare;
        let world = match pending {
            true => world,
            false => {
                bare = World { pending: Vec::new(), ..world.clone() };
                &bare
            }
        };
        let options = Options {
            tie_break: TieBreak::Name,
            records: RecordLevel::Outcome,
            start: self.start,
            ..Options::default()
        };
        let alone = running.into_iter().filter_map(|at| Some((at, self.pod(at)?))).collect();
        let mut watch = Watch {
            progress,
            profiles: &profiles,
            alone,
            outcomes: Outcomes::default(),
            next: RefCell::default(),
            best: FxHashMap::default(),
        };
        let report = run_watched(world, profiles.clone(), &options, Some(&mut watch));
        let Watch { mut outcomes, mut best, .. } = watch;
        outcomes.retried = report.pods.iter().any(|pod| pod.decisions.len() > 1);
        for (at, pod) in report.pods.iter().enumerate() {
            outcomes.pods.insert(at, outcome(pod, best.remove(&pod.pod.key).unwrap_or_default()));
        }
        outcomes.nodes = names(&report);
        outcomes
    }
}

/// Each run holds the whole cluster.
const MOST_AT_ONCE: usize = 4;

fn names(report: &Report) -> Vec<Symbol> {
    let snapshot = report.scheduler.snapshot();
    let rows = (0..snapshot.columns().rows()).map(NodeId::from_row);
    rows.map(|row| snapshot.node(row).map(|node| node.name().clone()).unwrap_or_default()).collect()
}

fn outcome(pod: &PodReport, best: NodeSet) -> Outcome {
    let mut outcome = Outcome { best, ..Outcome::default() };
    for record in &pod.decisions {
        if let Decision::Unschedulable { message, .. } | Decision::Error { message } = &record.decision {
            outcome.message.clone_from(message);
        }
        let victims = record.preemption.iter().flat_map(|preemption| &preemption.victims);
        outcome.evicts.extend(victims.map(|victim| format!("{}/{}", victim.namespace, victim.name)));
    }
    outcome.node = match &pod.standing {
        Standing::Bound(node) | Standing::AtPermit { node, .. } => Some(node.clone()),
        _ => None,
    };
    if outcome.node.is_none() {
        outcome.best = NodeSet::default();
    }
    outcome
}

/// Watches a dry run: decides the running pods before it begins, and notes the best nodes of each attempt.
struct Watch<'w> {
    progress: &'w Progress,
    profiles: &'w Profiles,
    /// Running pods, each with its number.
    alone: Vec<(usize, &'w Arc<PodInfo>)>,
    outcomes: Outcomes,
    /// The pod whose attempt comes.
    next: RefCell<Option<PodKey>>,
    best: FxHashMap<PodKey, NodeSet>,
}

impl Watcher for Watch<'_> {
    fn wants(&self, next: Option<&PodKey>) -> bool {
        self.progress.step();
        *self.next.borrow_mut() = next.cloned();
        false
    }

    fn ready(&mut self, scheduler: &mut Scheduler, now: Time) {
        let mut snapshot = scheduler.fork();
        for (at, pod) in &self.alone {
            let Some(framework) = self.profiles.get(&pod.scheduler_name) else { continue };
            self.outcomes.pods.insert(*at, anew(pod, framework, &mut snapshot, now));
            self.progress.step();
        }
    }

    fn decided(&mut self, _: Snapshot, _: &DecisionRecord) {}

    fn handled(&mut self, scheduler: &Scheduler, _: Time) {
        if let Some(pod) = self.next.take() {
            self.best.insert(pod, scheduler.best_nodes().clone());
        }
    }
}

/// What a running pod would come to if it were new and the others ran. What it takes while it is resized is not what a new
/// pod asks for, so both versions count it alike.
fn anew(pod: &Arc<PodInfo>, framework: &Arc<Framework>, snapshot: &mut Snapshot, now: Time) -> Outcome {
    let Some((node, how)) = snapshot.pod(&pod.key).and_then(|entry| entry.placed) else {
        return Outcome::default();
    };
    snapshot.apply(Change::PodRemoved { pod: pod.key.clone() });
    let new = PodInfo {
        node_name: None,
        nominated_node: None,
        started: None,
        scheduled_condition: None,
        taken_in_1_36: None,
        ..PodInfo::clone(pod)
    };
    let outcome = alone(Arc::new(new), framework, snapshot, now);
    snapshot.apply(Change::PodPlaced { pod: pod.clone(), node, how });
    outcome
}

fn alone(pod: Arc<PodInfo>, framework: &Arc<Framework>, snapshot: &mut Snapshot, now: Time) -> Outcome {
    let wants = framework.wants(&pod, snapshot);
    snapshot.want(&wants);
    let mut cycle = Cycle::new(pod, framework.clone(), now);
    // A decider of its own: where sampling starts does not depend on the pods before.
    let mut decider = Scan::new();
    match chosen(&mut decider, &mut cycle, snapshot) {
        Ok(Some(chosen)) => Outcome {
            node: snapshot.node(chosen.node).map(|node| node.name().clone()),
            best: decider.best().clone(),
            ..Outcome::default()
        },
        Ok(None) => Outcome::default(),
        Err(status) => {
            let message = if status.is_rejected() { String::new() } else { status.message() };
            Outcome { message, ..Outcome::default() }
        }
    }
}

fn chosen(decider: &mut Scan, cycle: &mut Cycle, snapshot: &Snapshot) -> Result<Option<Selected>, Status> {
    let feasible = decider.filter(cycle, snapshot, &mut Silent)?;
    decider.score(cycle, &feasible, snapshot, &mut Silent)?;
    Ok(decider.select(cycle, &feasible, snapshot, &[], TieBreak::Name, 0, &mut Silent))
}
