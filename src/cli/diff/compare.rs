//! [`Comparison`]: the pending pods of a cluster decided as two versions of kube-scheduler decide, and the rows of the table
//! of differences that make the difference for each pod.
//!
//! Equal nodes are compared as sets; among them the first by name is taken, so that one decision does not differ by
//! chance. A cause is the smallest set of rows that, added to the old version alone, gives the new outcome: single rows
//! first, then pairs, then all that change something.

use crate::cli::dry_run::schedule_by;
use crate::cli::progress::Progress;
use crate::cli::setup::Setup;
use crate::dry_run::{Options, Report, Standing};
use crate::engine::TieBreak;
use crate::framework::Features;
use crate::model::{KubernetesVersion, PodInfo, Symbol, Time, VersionRow, VersionRowKind, VersionRows};
use crate::scheduler::{Decision, RecordLevel};
use std::collections::BTreeSet;
use std::sync::Arc;

/// What became of a pod.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Outcome {
    /// The node; `None`: it waits.
    pub(super) node: Option<Symbol>,
    /// The nodes that were equally good.
    pub(super) best: BTreeSet<Symbol>,
    /// The pods that were evicted for it, by name.
    pub(super) evicts: BTreeSet<String>,
    /// Why it waits, or what the event of its first attempt without a node says; empty without one.
    pub(super) message: String,
}

impl Outcome {
    fn is_decided_as(&self, other: &Self) -> bool {
        (&self.node, &self.best, &self.evicts) == (&other.node, &other.best, &other.evicts)
    }
}

/// A pod whose outcome differs.
pub(super) struct Differing {
    pub(super) pod: Arc<PodInfo>,
    pub(super) old: Outcome,
    pub(super) new: Outcome,
    /// The rows that make the difference; none: no set that was tried does it alone.
    pub(super) rows: Vec<VersionRow>,
}

impl Differing {
    /// Whether more than the text differs.
    pub(super) fn is_decision(&self) -> bool {
        !self.old.is_decided_as(&self.new)
    }
}

/// What two versions decide.
pub(super) struct Comparison {
    pub(super) old: KubernetesVersion,
    pub(super) new: KubernetesVersion,
    /// How many pods are pending.
    pub(super) pending: usize,
    /// Those whose outcome differs, in the order of the cluster.
    pub(super) pods: Vec<Differing>,
    /// Rows that change no decision of these pods and apply: wake-ups, retries, metrics, configuration.
    pub(super) applies: Vec<VersionRow>,
}

impl Comparison {
    /// Decides the pending pods by both versions, and once more for each row that may matter.
    pub(super) fn of(
        setup: &Setup,
        old: KubernetesVersion,
        new: KubernetesVersion,
        progress: &Progress,
    ) -> anyhow::Result<Self> {
        let [before, after] = [old, new].map(VersionRows::of);
        let decide = |rows: VersionRows| outcomes(setup, rows, progress);
        let (olds, news) = (decide(before)?, decide(after)?);
        let changed = |row: &VersionRow| before.has(*row) != after.has(*row);
        let turned: Vec<VersionRow> = VersionRow::ALL.iter().copied().filter(changed).collect();
        let differs: Vec<usize> = (0..olds.len()).filter(|at| olds.get(*at) != news.get(*at)).collect();
        let matters =
            |row: &VersionRow| matches!(row.def().kind, VersionRowKind::Decision | VersionRowKind::Text);
        let mut causes: Vec<Option<Vec<VersionRow>>> = vec![None; olds.len()];
        let mut acting = Vec::new();
        if !differs.is_empty() {
            for row in turned.iter().copied().filter(matters) {
                let one = decide(before.with(row, after.has(row)))?;
                if one != olds {
                    acting.push(row);
                }
                explain(&differs, &mut causes, &one, (&olds, &news), &[row]);
            }
        }
        for (at, first) in acting.iter().enumerate() {
            for second in acting.iter().skip(at + 1) {
                if differs.iter().all(|pod| causes.get(*pod).is_some_and(Option::is_some)) {
                    break;
                }
                let rows = before.with(*first, after.has(*first)).with(*second, after.has(*second));
                explain(&differs, &mut causes, &decide(rows)?, (&olds, &news), &[*first, *second]);
            }
        }
        let all: VersionRows = acting.iter().fold(before, |rows, row| rows.with(*row, after.has(*row)));
        if acting.len() > 2 && differs.iter().any(|pod| causes.get(*pod).is_none_or(Option::is_none)) {
            explain(&differs, &mut causes, &decide(all)?, (&olds, &news), &acting);
        }
        let pods = setup.world.pending.iter().zip(olds).zip(news).zip(causes);
        let pods = pods.filter(|(((_, old), new), _)| old != new);
        let pods = pods.map(|(((pod, old), new), rows)| Differing {
            pod: pod.clone(),
            old,
            new,
            rows: rows.unwrap_or_default(),
        });
        let applies = turned.iter().copied().filter(|row| !matters(row)).collect();
        Ok(Self { old, new, pending: setup.world.pending.len(), pods: pods.collect(), applies })
    }

    /// Each row of kind text with the number of pods whose text it alone changes.
    pub(super) fn texts(&self) -> Vec<(Vec<VersionRow>, usize)> {
        let mut counts: Vec<(Vec<VersionRow>, usize)> = Vec::new();
        for pod in self.pods.iter().filter(|pod| !pod.is_decision()) {
            match counts.iter_mut().find(|(rows, _)| *rows == pod.rows) {
                Some((_, count)) => *count += 1,
                None => counts.push((pod.rows.clone(), 1)),
            }
        }
        counts
    }
}

/// Notes the rows as the cause of each differing pod that they give its new outcome, and that has no cause yet.
fn explain(
    differs: &[usize],
    causes: &mut [Option<Vec<VersionRow>>],
    given: &[Outcome],
    (olds, news): (&[Outcome], &[Outcome]),
    rows: &[VersionRow],
) {
    for at in differs {
        let (Some(given), Some(old), Some(new)) = (given.get(*at), olds.get(*at), news.get(*at)) else {
            continue;
        };
        // Where something else is decided, the text may have another cause.
        let is_new = if old.is_decided_as(new) { given == new } else { given.is_decided_as(new) };
        if let Some(cause) = causes.get_mut(*at).filter(|cause| is_new && cause.is_none()) {
            *cause = Some(rows.to_vec());
        }
    }
}

/// The outcomes of the pending pods, in their order.
fn outcomes(setup: &Setup, rows: VersionRows, progress: &Progress) -> anyhow::Result<Vec<Outcome>> {
    let profiles = setup.as_decided_by(Features::under(rows))?;
    let options = Options {
        tie_break: TieBreak::Name,
        records: RecordLevel::Names,
        start: Time(jiff::Timestamp::now().as_microsecond()),
        ..Options::default()
    };
    let report: Report = schedule_by(setup, profiles, &options, progress);
    Ok(report.pods.iter().map(outcome).collect())
}

fn outcome(pod: &crate::dry_run::PodReport) -> Outcome {
    let mut outcome =
        Outcome { node: None, best: BTreeSet::new(), evicts: BTreeSet::new(), message: String::new() };
    for record in &pod.decisions {
        match &record.decision {
            Decision::Placed { best, .. } => outcome.best = best.iter().cloned().collect(),
            Decision::Unschedulable { message, .. } | Decision::Error { message } => {
                outcome.message.clone_from(message);
            }
        }
        let victims = record.preemption.iter().flat_map(|preemption| &preemption.victims);
        outcome.evicts.extend(victims.map(|victim| format!("{}/{}", victim.namespace, victim.name)));
    }
    outcome.node = match &pod.standing {
        Standing::Bound(node) | Standing::AtPermit { node, .. } => Some(node.clone()),
        _ => None,
    };
    if outcome.node.is_none() {
        outcome.best.clear();
    }
    outcome
}
