//! [`Effect`]: what a change of policies does to the pods of a cluster.
//!
//! Pending pods are decided by both sides, with the first of equal nodes. Rules that changed are evaluated for each
//! running pod on its node, as if it were not there yet. The ones that are refused now are then decided once more, all of
//! them restarted.

use crate::cli::dry_run::schedule_by;
use crate::cli::page::Before;
use crate::cli::progress::Progress;
use crate::cli::setup::Setup;
use crate::compare::{Refusing, RuleDiff, Verdict};
use crate::dry_run::{Options, Report, Standing, World};
use crate::engine::TieBreak;
use crate::lang::eval::context::EvalContext;
use crate::lang::eval::exempt::ExemptPods;
use crate::model::{Change, Object, Placement, PodInfo, Snapshot, Symbol, Time};
use crate::scheduler::{Decision, RecordLevel};
use std::collections::BTreeSet;
use std::sync::Arc;

/// A pod by namespace and name.
pub(super) type Name = (Symbol, Symbol);

/// What became of a pending pod.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Outcome {
    /// The node; `None`: it waits.
    pub(super) node: Option<Symbol>,
    /// The total score of the node.
    pub(super) score: Option<i64>,
    /// Why it waits.
    pub(super) message: String,
    /// The pods that were evicted for it.
    pub(super) evicts: BTreeSet<String>,
}

/// A pending pod, decided by both sides.
pub(super) struct Pending {
    pub(super) pod: Arc<PodInfo>,
    pub(super) old: Outcome,
    pub(super) new: Outcome,
    /// The changed rules that refuse it on some node now, of a pod that begins to wait.
    pub(super) rules: Vec<String>,
}

/// A running pod that is refused where it is.
pub(super) struct Refused {
    pub(super) pod: Arc<PodInfo>,
    pub(super) node: Symbol,
    pub(super) rule: String,
    /// The node that it gets once it is restarted; `None`: it waits.
    pub(super) restarted_on: Option<Symbol>,
}

/// What a change does.
pub(super) struct Effect {
    /// All pending pods, in the order of the cluster.
    pub(super) pending: Vec<Pending>,
    /// How many pods are running.
    pub(super) running: usize,
    /// How many of them the policy of a rule that changed applies to.
    pub(super) asked: usize,
    /// How many of these are refused where they are, and were before.
    pub(super) as_before: usize,
    /// The ones that are refused now where they are and were not.
    pub(super) refused: Vec<Refused>,
    /// How many nodes there are.
    pub(super) nodes: usize,
}

impl Effect {
    /// Decides the pods of a cluster by both sides.
    pub(super) fn of(
        (before, after): (&Setup, &Setup),
        rules: &[RuleDiff],
        mut snapshot: Snapshot,
        progress: &Progress,
    ) -> Self {
        let (olds, news) = (outcomes(before, progress), outcomes(after, progress));
        let pods = before.world.pending.iter().zip(olds).zip(news);
        let mut pending: Vec<Pending> =
            pods.map(|((pod, old), new)| Pending { pod: pod.clone(), old, new, rules: Vec::new() }).collect();
        let now = before.start();
        let exempt = ExemptPods::default();
        let changed = rules.iter().filter(|rule| refuses_nodes(rule));
        let changed: Vec<Changed<'_>> =
            changed.map(|rule| Changed::of(rule, (before, after), &exempt)).collect();
        for pod in pending.iter_mut().filter(|pod| pod.begins_to_wait()) {
            pod.rules = blockers(&changed, &snapshot, &pod.pod, now);
        }
        let running: Vec<(Arc<PodInfo>, Symbol)> = snapshot
            .pods()
            .filter_map(|entry| Some((entry.pod.clone(), snapshot.node(entry.placed?.0)?.name().clone())))
            .collect();
        let (mut asked, mut as_before, mut refused) = (0, 0, Vec::new());
        progress.stage("asking running pods", if changed.is_empty() { 0 } else { running.len() });
        for (pod, node) in running.iter().filter(|_| !changed.is_empty()) {
            progress.step();
            let Some((placed, how)) = snapshot.pod(&pod.key).and_then(|entry| entry.placed) else { continue };
            // As if it were not there yet.
            snapshot.apply(Change::PodUnplaced { pod: pod.key.clone() });
            if let Some(found) = snapshot.node(placed) {
                let context = EvalContext::new(pod, &snapshot, now).on(found);
                let (mut is_asked, mut is_refused, mut by) = (false, false, None);
                for rule in &changed {
                    is_asked |= rule.new.applies(context) || rule.old.applies(context);
                    let (was, is) = (rule.old.refuses(context), rule.new.refuses(context));
                    is_refused |= is;
                    if is && !was && by.is_none() {
                        by = Some(rule.name.to_owned());
                    }
                }
                asked += usize::from(is_asked);
                as_before += usize::from(is_refused && by.is_none());
                if let Some(rule) = by {
                    refused.push(Refused { pod: pod.clone(), node: node.clone(), rule, restarted_on: None });
                }
            }
            snapshot.apply(Change::PodPlaced { pod: pod.clone(), node: placed, how });
        }
        refused
            .sort_by(|a: &Refused, b| (&a.pod.namespace, &a.pod.name).cmp(&(&b.pod.namespace, &b.pod.name)));
        if !refused.is_empty() {
            restart(after, &mut refused, progress);
        }
        Self { pending, running: running.len(), asked, as_before, refused, nodes: snapshot.node_count() }
    }

    /// Whether a pod is decided otherwise, or refused where it is.
    pub(super) fn differs(&self) -> bool {
        !self.refused.is_empty() || self.pending.iter().any(|pod| pod.old.node != pod.new.node)
    }

    /// Where pods are under the old policies, by their full names.
    pub(super) fn places_before(&self, setup: &Setup) -> Before {
        let running = setup.world.objects.iter().filter_map(|object| match object {
            Object::Pod(pod) => Some((pod.full_name(), pod.node_name.clone()?)),
            _ => None,
        });
        let pending = self
            .pending
            .iter()
            .filter_map(|pending| Some((pending.pod.full_name(), pending.old.node.clone()?)));
        running.chain(pending).collect()
    }

    /// How many running pods the rules that changed apply to and do not refuse.
    pub(super) fn may_stay(&self) -> usize {
        self.asked.saturating_sub(self.as_before + self.refused.len())
    }

    /// The pending pods for which `test` holds.
    pub(super) fn pending_that(&self, test: fn(&Pending) -> bool) -> impl Iterator<Item = &Pending> {
        self.pending.iter().filter(move |pod| test(pod))
    }
}

impl Pending {
    pub(super) fn begins_to_wait(&self) -> bool {
        self.old.node.is_some() && self.new.node.is_none()
    }

    pub(super) fn begins_to_run(&self) -> bool {
        self.old.node.is_none() && self.new.node.is_some()
    }

    pub(super) fn waits(&self) -> bool {
        self.old.node.is_none() && self.new.node.is_none()
    }

    pub(super) fn is_placed(&self) -> bool {
        self.old.node.is_some() && self.new.node.is_some()
    }

    pub(super) fn moves(&self) -> bool {
        self.is_placed() && self.old.node != self.new.node
    }
}

/// The cluster as it is given.
pub(super) fn snapshot(setup: &Setup) -> Snapshot {
    let mut snapshot = Snapshot::default();
    let world = &setup.world;
    for object in &world.objects {
        if let Object::Node(node) = object {
            snapshot.apply(Change::NodeUpserted { node: node.clone() });
        }
    }
    for object in &world.objects {
        match object {
            Object::Node(_) => {}
            Object::Namespace(namespace) => {
                snapshot.apply(Change::NamespaceUpserted { namespace: namespace.clone() });
            }
            Object::Pod(pod) => {
                if let Some(name) = &pod.node_name {
                    let node = snapshot.row_or_placeholder(name);
                    snapshot.apply(Change::PodPlaced { pod: pod.clone(), node, how: Placement::Bound });
                }
            }
            Object::Other(object) => snapshot.apply(Change::ObjectSeen { object: object.clone() }),
        }
    }
    for pod in &world.pending {
        snapshot.apply(Change::PodPending { pod: pod.clone() });
    }
    snapshot
}

/// Whether a rule that changed refuses nodes to pods.
fn refuses_nodes(rule: &RuleDiff) -> bool {
    let may_differ = !matches!(rule.verdict, Verdict::Same | Verdict::Changed);
    rule.kind.refuses_pods() && may_differ && !rule.only_counts()
}

/// A rule that changed, as it was and as it is.
struct Changed<'s> {
    name: &'s str,
    old: Refusing<'s>,
    new: Refusing<'s>,
}

impl<'s> Changed<'s> {
    fn of(rule: &'s RuleDiff, (before, after): (&'s Setup, &'s Setup), exempt: &'s ExemptPods) -> Self {
        let policy = |of: &'s Setup| of.policies.set.get(&rule.policy).map(|compiled| &*compiled.policy);
        let [old, new] = [(before, true), (after, false)]
            .map(|(of, is_before)| Refusing::of(policy(of), rule, is_before, exempt));
        Self { name: &rule.name, old, new }
    }
}

/// The changed rules that refuse a pod now, and did not, on some node.
fn blockers(changed: &[Changed<'_>], snapshot: &Snapshot, pod: &Arc<PodInfo>, now: Time) -> Vec<String> {
    let refuses_now = |rule: &&Changed<'_>| {
        snapshot.nodes().any(|node| {
            let context = EvalContext::new(pod, snapshot, now).on(node);
            rule.new.refuses(context) && !rule.old.refuses(context)
        })
    };
    changed.iter().filter(refuses_now).map(|rule| rule.name.to_owned()).collect()
}

fn options(start: Time) -> Options {
    Options { tie_break: TieBreak::Name, records: RecordLevel::Best, start, ..Options::default() }
}

/// The outcomes of the pending pods, in their order.
fn outcomes(setup: &Setup, progress: &Progress) -> Vec<Outcome> {
    let report: Report = schedule_by(setup, setup.profiles.clone(), &options(setup.start()), progress);
    report.pods.iter().map(outcome).collect()
}

fn outcome(pod: &crate::dry_run::PodReport) -> Outcome {
    let mut outcome = Outcome { node: None, score: None, message: String::new(), evicts: BTreeSet::new() };
    for record in &pod.decisions {
        match &record.decision {
            Decision::Placed { total, .. } => outcome.score = *total,
            Decision::Unschedulable { message, .. } | Decision::Error { message } => {
                outcome.message.clone_from(message)
            }
        }
        let victims = record.preemption.iter().flat_map(|preemption| &preemption.victims);
        outcome.evicts.extend(victims.map(|victim| format!("{}/{}", victim.namespace, victim.name)));
    }
    outcome.node = match &pod.standing {
        Standing::Bound(node) | Standing::AtPermit { node, .. } => Some(node.clone()),
        _ => None,
    };
    outcome
}

/// Decides the refused pods once more, as if all of them were made anew.
fn restart(after: &Setup, refused: &mut [Refused], progress: &Progress) {
    let again: BTreeSet<Name> =
        refused.iter().map(|of| (of.pod.namespace.clone(), of.pod.name.clone())).collect();
    let is_again = |pod: &PodInfo| again.contains(&(pod.namespace.clone(), pod.name.clone()));
    let objects =
        after.world.objects.iter().filter(|object| !matches!(object, Object::Pod(pod) if is_again(pod)));
    let pending = refused.iter().map(|of| {
        let pod = PodInfo { node_name: None, ..of.pod.as_ref().clone() };
        Arc::new(pod)
    });
    let world =
        World { objects: objects.cloned().collect(), pending: pending.collect(), ..after.world.clone() };
    progress.stage("restarting refused pods", refused.len());
    let report = crate::dry_run::run(&world, after.profiles.clone(), &options(after.start()));
    for (of, pod) in refused.iter_mut().zip(&report.pods) {
        of.restarted_on = outcome(pod).node;
    }
}
