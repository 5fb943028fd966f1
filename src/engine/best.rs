//! Adds up the scores of all plugins and chooses among the best nodes, for both deciders.

use super::{Selected, TieBreak};
use bayplan_framework::{
    Cycle, Feasible, Framework, MAX_SCORE, Normalize, PluginId, Recorder, Scale, Score, ScorePlugin, Status,
};
use bayplan_model::{NodeId, NodeSet, Snapshot, bits, block, blocks_mut, rows_where};

/// Totals by row, and scratch for one plugin's scores. Kept between pods.
#[derive(Debug, Default)]
pub(super) struct Totals {
    /// Whether the last pod was scored.
    pub(super) known: bool,
    pub(super) totals: Vec<i64>,
    pub(super) raw: Vec<i64>,
    /// Weighted normalised scores by raw score, where that saves divisions; else empty.
    table: Vec<i64>,
    /// No total is further from 0 than this; at the end of the numbers sums have to stop there.
    reach: i64,
    /// The highest total of each word of rows.
    highest: Vec<i64>,
    pub(super) best: NodeSet,
}

impl Totals {
    /// Nothing is known of the next pod yet.
    pub(super) fn forget(&mut self) {
        self.known = false;
        self.best.clear();
    }

    /// Room for `room` rows, whole words of 64; all totals 0.
    pub(super) fn begin(&mut self, room: usize) {
        self.totals.clear();
        self.totals.resize(room, 0);
        self.raw.resize(room, 0);
        self.reach = 0;
    }

    /// Adds the raw scores in `raw` to the totals, after normalising, checking and weighting them.
    pub(super) fn add(
        &mut self,
        framework: &Framework,
        scorer: ScorePlugin,
        point: &dyn Score,
        on: &NodeSet,
        rec: &mut dyn Recorder,
    ) -> Result<(), Status> {
        fill_gaps(on, &mut self.raw);
        let (low, high) = extremes(point.normalize(), on, &self.raw);
        let scale = Scale::of(point.normalize(), low, high);
        // Every scale rises or falls all the way, so that its ends say how far scores go.
        let ends = (scale.apply(low), scale.apply(high));
        let (least, most) = (ends.0.min(ends.1), ends.0.max(ends.1));
        if least < 0 || most > point.largest() {
            let scores = on.iter().map(|node| scale.apply(self.raw[node.row()]));
            if let Some(score) = scores.into_iter().find(|score| !(0..=point.largest()).contains(score)) {
                return Err(out_of_range(framework, scorer.plugin, score));
            }
        }
        let furthest = least.saturating_abs().max(most.saturating_abs());
        self.reach = self.reach.saturating_add(furthest.saturating_mul(scorer.weight));
        scale.fill(scorer.weight, low, &mut self.table);
        for (word, _, totals) in blocks_mut(on, &mut self.totals) {
            let Some(raw) = block(&self.raw, word) else { continue };
            if self.reach == i64::MAX {
                for (total, raw) in totals.iter_mut().zip(raw) {
                    let weighted = scale.apply(*raw).saturating_mul(scorer.weight);
                    *total = total.saturating_add(weighted);
                }
            } else {
                scale.add(scorer.weight, &self.table, raw, totals);
            }
        }
        if rec.wants_scores() {
            rec.scored(scorer.plugin, scorer.weight, on, &self.raw, scale);
        }
        Ok(())
    }

    /// Every feasible node counts the same: a profile without scorers.
    pub(super) fn all_equal(&mut self, on: &NodeSet) {
        for node in on.iter() {
            self.totals[node.row()] = 1;
        }
    }

    /// The chosen node, and all nodes with the highest total.
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
        let highest = if self.known {
            let highest = self.collect_best(&on.nodes);
            if !extra.is_empty() {
                let mut named: NodeSet = extra.iter().map(|(node, _)| *node).collect();
                named.intersect(&self.best);
                if !named.is_empty() {
                    self.best = named;
                }
            }
            highest
        } else {
            self.best.copy_from(&on.nodes);
            0
        };
        let count = self.best.len() as u32;
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

impl Totals {
    /// Fills `best` with the nodes that share the highest total, and returns it.
    fn collect_best(&mut self, on: &NodeSet) -> i64 {
        self.highest.clear();
        for (word, rows) in on.words().iter().enumerate() {
            let highest = match (block(&self.totals, word), *rows) {
                (None, _) | (_, 0) => None,
                (Some(totals), u64::MAX) => totals.iter().copied().max(),
                (Some(totals), rows) => bits(rows).map(|bit| totals[bit]).max(),
            };
            self.highest.push(highest.unwrap_or(i64::MIN));
        }
        let highest = self.highest.iter().max().copied().unwrap_or(i64::MIN);
        self.best.copy_from(on);
        for (word, rows) in self.best.words_mut().iter_mut().enumerate() {
            if self.highest[word] != highest {
                *rows = 0;
            } else {
                *rows &= rows_where(&self.totals, word, |total| *total == highest);
            }
        }
        highest
    }
}

/// Gives rows beside `on`, in words that `on` has rows of, the score of one of these: then passes need not look which
/// rows count.
fn fill_gaps(on: &NodeSet, raw: &mut [i64]) {
    for (_, rows, raw) in blocks_mut(on, raw) {
        let one = raw[rows.trailing_zeros() as usize];
        for bit in bits(!rows) {
            raw[bit] = one;
        }
    }
}

/// The lowest and the highest score, or numbers that go further where a normalisation does not need to know exactly.
fn extremes(normalize: Normalize, on: &NodeSet, raw: &[i64]) -> (i64, i64) {
    let blocks = || on.words().iter().enumerate().filter(|(_, rows)| **rows != 0);
    let blocks = || blocks().filter_map(|(word, _)| block(raw, word));
    if normalize == Normalize::None {
        // Whether one is below 0 or above 100 shows in the highest bit.
        let mut outside = 0;
        for raw in blocks() {
            for score in raw {
                outside |= score | MAX_SCORE.wrapping_sub(*score);
            }
        }
        if outside >= 0 {
            return (0, MAX_SCORE);
        }
    }
    let (mut low, mut high) = (i64::MAX, i64::MIN);
    for score in blocks().flatten().filter(|score| normalize.counts(**score)) {
        low = low.min(*score);
        high = high.max(*score);
    }
    if low > high { (0, 0) } else { (low, high) }
}

fn out_of_range(framework: &Framework, plugin: PluginId, score: i64) -> Status {
    let name = framework.plugin_name(plugin);
    let text = format!(
        "applying score defaultWeights on Score plugins: plugin {name:?} returns an invalid score {score}, it should \
         in the range of [0, {MAX_SCORE}] after normalizing"
    );
    Status::error(text).by(plugin)
}

/// The text of a scorer that failed.
pub(super) fn score_failed(cycle: &Cycle, status: Status) -> Status {
    let name = cycle.framework.plugin_name(status.plugin);
    let text = format!("running Score plugins: plugin {name:?} failed with: {}", status.message());
    Status::error(text).by(status.plugin).because_of(&status)
}
