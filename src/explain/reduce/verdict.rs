//! [`Verdict`]: what a decision on a pod comes to and why, without what the size of the cluster alone changes, such as the
//! numbers of nodes in the text of an event.

use crate::{Explanation, NodeExplanation, explain};
use bayplan_dry_run::because::decisive;
use bayplan_dry_run::{Options, PodReport, Report, Standing, Watcher, World, run_watched};
use bayplan_model::{PodInfo, PodKey, Snapshot, Symbol, Time};
use bayplan_scheduler::{Decision, DecisionRecord, NodeDetail, Profiles, RecordLevel, Scheduler};
use std::collections::BTreeSet;
use std::sync::Arc;

/// The result of a decision on a pod, and why.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Verdict {
    /// The result.
    pub outcome: Outcome,
    /// What keeps it away from nodes, each once: the rule, and the reason or the place of the rule.
    pub reasons: BTreeSet<(String, String)>,
    /// The pods that are evicted for it.
    pub evicted: BTreeSet<String>,
}

/// The result of a decision on a pod.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// It is placed on a node; `by` is what separates it from the next best one: a plugin, a statement of a policy, or
    /// nothing where it is the only one, or one of several that are equal.
    Placed {
        /// The node.
        node: String,
        /// What separates it from the next best one.
        by: String,
        /// Whether others are as good.
        equal: bool,
    },
    /// It waits, and no node fits.
    Waits,
    /// A plugin keeps it out of the queue.
    Gated(String),
    /// It waits at Permit for these plugins.
    AtPermit(Vec<String>),
    /// Its attempts fail with this error.
    Fails(String),
}

impl Verdict {
    /// Whether another verdict is the same, however the objects are called.
    pub fn is_like(&self, other: &Self) -> bool {
        let rules = |of: &Self| of.reasons.iter().map(|(rule, _)| rule.clone()).collect::<BTreeSet<_>>();
        let outcome = match (&self.outcome, &other.outcome) {
            (Outcome::Placed { by, equal, .. }, Outcome::Placed { by: others, equal: as_good, .. }) => {
                (by, equal) == (others, as_good)
            }
            (one, two) => one == two,
        };
        outcome && rules(self) == rules(other) && self.evicted.len() == other.evicted.len()
    }
}

/// The cluster at the turn of a pod.
struct AtTurn<'p> {
    pod: &'p PodKey,
    before: Option<Snapshot>,
}

impl Watcher for AtTurn<'_> {
    fn wants(&self, next: Option<&PodKey>) -> bool {
        next == Some(self.pod)
    }

    fn decided(&mut self, before: Snapshot, record: &DecisionRecord) {
        if record.key == *self.pod {
            self.before = Some(before);
        }
    }

    fn handled(&mut self, _: &Scheduler, _: Time) {}
}

/// A verdict, with what it is of.
pub struct Decided {
    /// The verdict.
    pub verdict: Verdict,
    /// The rule that refuses each node first.
    pub refused: Vec<(String, String)>,
    /// The nodes that are as good as the one that was chosen, with that one.
    pub best: Vec<String>,
    /// The pods that were placed before the pod's turn, each with its node.
    pub(super) placed_before: Vec<(PodKey, Symbol)>,
    /// For each reason the first node that has it.
    pub(super) witnesses: BTreeSet<String>,
}

/// Decides on a pod that waits; `None` if it is none of the profiles' pods, or is not in the cluster.
pub(super) fn decided(
    world: &World,
    profiles: &Arc<Profiles>,
    options: &Options,
    pod: &PodInfo,
) -> Option<Decided> {
    let framework = profiles.get(&pod.scheduler_name)?;
    let options =
        Options { records: RecordLevel::Nodes, recorded_pod: Some(pod.key.clone()), ..options.clone() };
    let mut watcher = AtTurn { pod: &pod.key, before: None };
    let report = run_watched(world, profiles.clone(), &options, Some(&mut watcher));
    let AtTurn { before, .. } = watcher;
    let own = report.pods.iter().find(|of| of.pod.key == pod.key)?;
    let before = before.unwrap_or_else(|| report.scheduler.fork());
    let placed_before = placed_at(&before, &report, pod);
    let now = options.start + report.elapsed;
    let explanation = explain(framework, &before, &own.pod, now);
    let outcome = outcome(own)?;
    let (reasons, witnesses) = match &outcome {
        Outcome::Placed { node, .. } => (BTreeSet::new(), beside(own, node)),
        _ => reasons(&explanation),
    };
    let evicted = own.decisions.iter().filter_map(|record| record.preemption.as_ref());
    let evicted =
        evicted.flat_map(|of| &of.victims).map(|pod| format!("{}/{}", pod.namespace, pod.name)).collect();
    let nodes = details(own);
    let most = nodes.iter().filter_map(|of| of.total).max();
    let best = nodes.iter().filter(|of| of.total.is_some() && of.total == most);
    let best = best.map(|of| of.name.to_string()).collect();
    let first = |of: &NodeExplanation| Some((of.name.clone(), of.refusals.first()?.rule.clone()));
    let before_nodes = explanation.refused_before_nodes.is_some();
    let refused = explanation.per_node.iter().filter(|_| !before_nodes).filter_map(first).collect();
    Some(Decided { verdict: Verdict { outcome, reasons, evicted }, refused, best, placed_before, witnesses })
}

/// The pending pods that have a node at this moment.
fn placed_at(snapshot: &Snapshot, report: &Report, pod: &PodInfo) -> Vec<(PodKey, Symbol)> {
    let others = report.pods.iter().map(|of| &of.pod.key).filter(|key| **key != pod.key);
    others
        .filter_map(|key| {
            let (node, _) = snapshot.pod(key)?.placed?;
            Some((key.clone(), snapshot.node(node)?.name().clone()))
        })
        .collect()
}

/// The chosen node and the next best one.
fn beside(own: &PodReport, node: &str) -> BTreeSet<String> {
    let nodes = details(own);
    let second = runner_up(nodes, node).map(|of| of.name.to_string());
    second.into_iter().chain([node.to_owned()]).collect()
}

fn details(own: &PodReport) -> &[NodeDetail] {
    own.decisions.last().and_then(|record| record.detail.as_ref()).map_or(&[], |detail| &detail.nodes)
}

fn runner_up<'n>(nodes: &'n [NodeDetail], chosen: &str) -> Option<&'n NodeDetail> {
    let others = nodes.iter().filter(|node| node.refused.is_none() && node.name != *chosen);
    others.rev().max_by_key(|node| node.total)
}

fn outcome(own: &PodReport) -> Option<Outcome> {
    Some(match &own.standing {
        Standing::Bound(node) => placed(own, node),
        Standing::Waiting { .. } => Outcome::Waits,
        Standing::Gated { by } => Outcome::Gated(by.to_string()),
        Standing::Failing { message } => Outcome::Fails(message.clone()),
        Standing::AtPermit { plugins, .. } => {
            Outcome::AtPermit(plugins.iter().map(ToString::to_string).collect())
        }
        Standing::NotOurs | Standing::Terminating => return None,
    })
}

fn placed(own: &PodReport, node: &str) -> Outcome {
    let nodes = details(own);
    let equal = matches!(own.decisions.last().map(|of| &of.decision), Some(Decision::Placed { equal, .. }) if *equal > 1);
    let chosen = nodes.iter().find(|of| of.name == *node);
    let by = match (chosen, runner_up(nodes, node)) {
        (Some(chosen), Some(second)) if !equal => {
            decisive(chosen, second).map(|(name, ..)| name).unwrap_or_default()
        }
        _ => String::new(),
    };
    Outcome::Placed { node: node.to_owned(), by, equal }
}

/// The reasons of all nodes, each once, and the first node that has each.
fn reasons(explanation: &Explanation) -> (BTreeSet<(String, String)>, BTreeSet<String>) {
    let (mut all, mut witnesses) = (BTreeSet::new(), BTreeSet::new());
    for node in &explanation.per_node {
        for refusal in &node.refusals {
            // Reasons of policies have values of the node in them.
            let what = if refusal.place.is_empty() { &refusal.reason } else { &refusal.place };
            if all.insert((refusal.rule.clone(), what.clone())) {
                witnesses.insert(node.name.clone());
            }
        }
    }
    if let Some((plugin, reason)) = &explanation.refused_before_nodes {
        all.insert((plugin.clone(), reason.clone()));
    }
    if let Some(late) = &explanation.refused_late {
        all.insert((late.plugin.clone(), late.reason.clone()));
        witnesses.insert(late.node.clone());
    }
    (all, witnesses)
}
