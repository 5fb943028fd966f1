//! Totals and the choice among the best: what both deciders do after the scorers have answered.

use super::{Selected, TieBreak};
use crate::framework::{
    Cycle, Feasible, Framework, Normalize, PluginId, Recorder, Score, ScorePlugin, Status,
};
use crate::model::{NodeId, NodeSet, Snapshot};

/// The highest score of a plugin after normalisation.
const MAX_SCORE: i64 = 100;

/// Totals by row, and scratch for one plugin's scores. Kept between pods.
#[derive(Debug, Default)]
pub(super) struct Totals {
    /// Whether the last pod was scored.
    pub(super) known: bool,
    pub(super) totals: Vec<i64>,
    pub(super) raw: Vec<i64>,
    normalized: Vec<i64>,
    /// Normalised scores by raw score, where that saves divisions; else empty.
    table: Vec<i64>,
    pub(super) best: NodeSet,
}

impl Totals {
    /// Nothing is known of the next pod yet.
    pub(super) fn forget(&mut self) {
        self.known = false;
        self.best.clear();
    }

    /// Room for `rows` rows, all totals 0.
    pub(super) fn begin(&mut self, rows: usize) {
        self.totals.clear();
        self.totals.resize(rows, 0);
        self.raw.resize(rows, 0);
    }

    /// Takes in what a scorer wrote to `raw`: normalises, checks, weighs, adds.
    pub(super) fn add(
        &mut self,
        framework: &Framework,
        scorer: ScorePlugin,
        point: &dyn Score,
        on: &NodeSet,
        rec: &mut dyn Recorder,
    ) -> Result<(), Status> {
        let scale = Scale::of(point.normalize(), on, &self.raw);
        let bounded = !point.unbounded();
        scale.fill(&mut self.table);
        for node in on.iter() {
            let row = node.row();
            let score = match self.table.get(self.raw[row] as usize) {
                Some(score) => *score,
                None => scale.apply(self.raw[row]),
            };
            if bounded && !(0..=MAX_SCORE).contains(&score) {
                return Err(out_of_range(framework, scorer.plugin, score));
            }
            let total = &mut self.totals[row];
            *total = total.saturating_add(score.saturating_mul(scorer.weight));
        }
        if rec.wants_scores() {
            self.normalized.resize(self.raw.len(), 0);
            for node in on.iter() {
                self.normalized[node.row()] = scale.apply(self.raw[node.row()]);
            }
            rec.scored(scorer.plugin, scorer.weight, on, &self.raw, &self.normalized);
        }
        Ok(())
    }

    /// Every feasible node counts the same: a profile without scorers.
    pub(super) fn all_equal(&mut self, on: &NodeSet) {
        for node in on.iter() {
            self.totals[node.row()] = 1;
        }
    }

    /// The node with the highest total and the set of those that share it.
    #[allow(clippy::too_many_arguments)] // the contract of `Decider::select`
    pub(super) fn select(
        &mut self,
        on: &Feasible,
        s: &Snapshot,
        extra: &[(NodeId, i64)],
        tie: TieBreak,
        draw: u64,
        rec: &mut dyn Recorder,
    ) -> Option<Selected> {
        self.best.clear();
        for (node, points) in extra {
            if let Some(total) = self.totals.get_mut(node.row()).filter(|_| self.known) {
                *total = total.saturating_add(*points);
            }
        }
        let mut highest = i64::MIN;
        let mut count = 0u32;
        for node in on.nodes.iter() {
            let total = if self.known { self.totals[node.row()] } else { 0 };
            if total > highest {
                highest = total;
                count = 0;
                self.best.clear();
            }
            if total == highest {
                count += 1;
                self.best.insert(node);
            }
        }
        if count == 0 {
            return None;
        }
        let rank = match tie {
            TieBreak::Seeded => (draw % u64::from(count)) as u32,
            TieBreak::Name => {
                let name = |node: &NodeId| s.node(*node).map(|node| node.name().clone());
                let first = self.best.iter().enumerate().min_by_key(|(_, node)| name(node));
                first.map_or(0, |(rank, _)| rank as u32)
            }
        };
        let node = self.best.iter().nth(rank as usize)?;
        rec.selected(node, &self.best);
        Some(Selected { node, total: self.known.then_some(highest), rank, of: count })
    }
}

fn out_of_range(framework: &Framework, plugin: PluginId, score: i64) -> Status {
    let name = framework.plugin_name(plugin);
    let text = format!(
        "applying score defaultWeights on Score plugins: plugin {name:?} returns an invalid score {score}, it should \
         in the range of [0, {MAX_SCORE}] after normalizing"
    );
    Status::error(text).by(plugin)
}

/// A normalisation with the extremes that it needs.
#[derive(Clone, Copy, Debug)]
enum Scale {
    As,
    Constant(i64),
    Max(i64),
    MaxReversed(i64),
    MinMax(i64, i64),
}

impl Scale {
    fn of(normalize: Normalize, on: &NodeSet, raw: &[i64]) -> Self {
        let max = || on.iter().map(|node| raw[node.row()]).max().unwrap_or(0).max(0);
        match normalize {
            Normalize::None => Self::As,
            Normalize::Max => match max() {
                0 => Self::As,
                max => Self::Max(max),
            },
            Normalize::MaxReversed => match max() {
                0 => Self::Constant(MAX_SCORE),
                max => Self::MaxReversed(max),
            },
            Normalize::MinMax => {
                let scores = || on.iter().map(|node| raw[node.row()]);
                match (scores().min(), scores().max()) {
                    (Some(min), Some(max)) if min < max => Self::MinMax(min, max),
                    _ => Self::Constant(0),
                }
            }
        }
    }

    /// Writes the normalised score of each raw score up to the highest, when there are few.
    fn fill(self, table: &mut Vec<i64>) {
        const FEW: i64 = 1024;
        table.clear();
        if let Self::Max(max) | Self::MaxReversed(max) = self
            && max < FEW
        {
            table.extend((0..=max).map(|score| self.apply(score)));
        }
    }

    #[inline]
    fn apply(self, score: i64) -> i64 {
        match self {
            Self::As => score,
            Self::Constant(score) => score,
            Self::Max(max) => MAX_SCORE.saturating_mul(score) / max,
            Self::MaxReversed(max) => MAX_SCORE - MAX_SCORE.saturating_mul(score) / max,
            // As upstream: in floating point, then cut.
            Self::MinMax(min, max) => {
                (MAX_SCORE as f64 * (score.saturating_sub(min) as f64 / max.saturating_sub(min) as f64))
                    as i64
            }
        }
    }
}

/// Whether nodes are scored at all: one feasible node is taken as it is, unless the recorder wants to see scores.
pub(super) fn wants_scores(on: &Feasible, rec: &dyn Recorder) -> bool {
    rec.wants_scores() || on.nodes.len() > 1
}

/// The text of a scorer that failed.
pub(super) fn score_failed(cycle: &Cycle, status: Status) -> Status {
    let name = cycle.framework.plugin_name(status.plugin);
    let text = format!("running Score plugins: plugin {name:?} failed with: {}", status.message());
    Status::error(text).by(status.plugin)
}
