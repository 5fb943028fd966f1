//! [`Comparison`]: the pods of a cluster decided as two versions of kube-scheduler decide, and the rows of the table of
//! differences that make the difference for each.
//!
//! Equal nodes are compared as sets; among them the first by name is taken, so that one decision does not differ by
//! chance. `decided.rs` decides, `causes.rs` looks for the rows.

use super::causes::{Cause, Search};
use super::concerned::Concerned;
use super::decided::{Outcome, Outcomes, Subjects};
use crate::cli::progress::Progress;
use crate::cli::setup::Setup;
use crate::model::{KubernetesVersion, PodInfo, Symbol, VersionRow, VersionRowKind, VersionRows};
use std::sync::Arc;

/// A pod whose outcome differs.
pub(super) struct Differing {
    pub(super) pod: Arc<PodInfo>,
    /// Whether it runs, and would be treated otherwise if it were new.
    pub(super) runs: bool,
    pub(super) old: Outcome,
    pub(super) new: Outcome,
    /// The rows that make the difference.
    pub(super) cause: Cause,
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
    /// How many pods run.
    pub(super) running: usize,
    /// Those whose outcome differs: pending ones in the order of the cluster, then running ones.
    pub(super) pods: Vec<Differing>,
    /// Rows that change no decision of these pods and apply: wake-ups, retries, metrics, configuration.
    pub(super) applies: Vec<VersionRow>,
    nodes: Vec<Symbol>,
}

impl Comparison {
    /// Decides the pods by both versions, and those that differ by as many sets of rows as it takes to say why.
    pub(super) fn of(
        setup: &Setup,
        old: KubernetesVersion,
        new: KubernetesVersion,
        progress: &Progress,
    ) -> anyhow::Result<Self> {
        let versions @ [before, after] = [old, new].map(VersionRows::of);
        let turned = VersionRow::ALL.iter().copied().filter(|row| before.has(*row) != after.has(*row));
        let turned: Vec<VersionRow> = turned.collect();
        let concerned = Concerned::of(&setup.world);
        let subjects = Subjects::of(setup, &turned, &concerned);
        let all: Vec<usize> = (0..subjects.len()).collect();
        subjects.announce(&all, versions.len(), false, progress);
        let [olds, news]: [Outcomes; 2] = subjects
            .decide_all(&all, &versions, progress)?
            .try_into()
            .map_err(|_| anyhow::anyhow!("two versions were not decided by"))?;
        let differs = |at: &usize| match (olds.pods.get(at), news.pods.get(at)) {
            (Some(old), Some(new)) => !old.is(new),
            _ => false,
        };
        let differ: Vec<usize> = all.into_iter().filter(differs).collect();
        let search = Search::new(&subjects, (before, after), (&olds, &news), &differ, progress);
        let causes = search.run(&concerned)?;
        let pods = causes.into_iter().filter_map(|(at, cause)| {
            Some(Differing {
                pod: subjects.pod(at)?.clone(),
                runs: at >= subjects.pending(),
                old: olds.pods.get(&at)?.clone(),
                new: news.pods.get(&at)?.clone(),
                cause,
            })
        });
        let decides = |row: &VersionRow| row.def().kind <= VersionRowKind::Text;
        Ok(Self {
            old,
            new,
            pending: subjects.pending(),
            running: subjects.running,
            pods: pods.collect(),
            applies: turned.into_iter().filter(|row| !decides(row)).collect(),
            nodes: olds.nodes.clone(),
        })
    }

    /// The pending pods that are decided otherwise, or the running ones that would be.
    pub(super) fn moved(&self, running: bool) -> Vec<&Differing> {
        self.pods.iter().filter(|pod| pod.runs == running && pod.is_decision()).collect()
    }

    /// The names of the nodes that are equally good.
    pub(super) fn best(&self, of: &Outcome) -> Vec<&Symbol> {
        let mut names: Vec<&Symbol> = of.best.iter().filter_map(|node| self.nodes.get(node.row())).collect();
        names.sort_unstable();
        names
    }

    /// Each set of rows with the number of pods whose text alone it changes.
    pub(super) fn texts(&self) -> Vec<(&Cause, usize)> {
        let mut counts: Vec<(&Cause, usize)> = Vec::new();
        for pod in self.pods.iter().filter(|pod| !pod.is_decision()) {
            match counts.iter_mut().find(|(cause, _)| **cause == pod.cause) {
                Some((_, count)) => *count += 1,
                None => counts.push((&pod.cause, 1)),
            }
        }
        counts
    }
}
