//! What the rules that do not decide say, plugin by plugin.

use super::Cycle;
use super::Framework;
use crate::PostFilterAnswer;
use crate::counting::{Choice, Counting, Would, WouldEffect};
use crate::plugin_id::PluginId;
use crate::preemption::PreemptionRules;
use bayplan_model::{NodeId, Snapshot};
use std::panic::{AssertUnwindSafe, catch_unwind};

impl Framework {
    /// The plugins with rules that do not decide.
    pub fn counting(&self) -> impl Iterator<Item = (PluginId, &dyn Counting)> {
        self.counts().iter().filter_map(|id| Some((*id, self.plugin(*id)?.rule_plugin()?.counting()?)))
    }

    /// What the rules up to Score would have done to the choice of a node.
    pub fn would_choose(&self, cycle: &Cycle, snapshot: &Snapshot, choice: Choice) -> Vec<Would> {
        let mut all = Vec::new();
        for (id, rules) in self.counting() {
            let scorer = self.points().score.iter().find(|scorer| scorer.plugin == id);
            let choice = Choice { weight: scorer.map_or(1, |scorer| scorer.weight), ..choice };
            ask(&mut all, |out| rules.chosen(&cycle.handle(snapshot).for_plugin(id), &choice, out));
        }
        all
    }

    /// What the rules from Reserve on would have done to the pod on its node.
    pub fn would_place(&self, cycle: &Cycle, snapshot: &Snapshot, node: NodeId, all: &mut Vec<Would>) {
        for (id, rules) in self.counting() {
            ask(all, |out| rules.placed(&cycle.handle(snapshot).for_plugin(id), node, out));
        }
    }

    /// What the rules would have done where the attempt ended without a node. `effect` compares the
    /// evictions that follow from an answer of PostFilter with those of the attempt.
    pub fn would_refuse(
        &self,
        cycle: &Cycle,
        snapshot: &Snapshot,
        effect: &dyn Fn(&PostFilterAnswer) -> WouldEffect,
    ) -> Vec<Would> {
        let mut all = Vec::new();
        for (id, rules) in self.counting() {
            ask(&mut all, |out| {
                let h = cycle.handle(snapshot).for_plugin(id);
                let each = rules.preemption(&h).into_iter();
                let each = each.map(|rules| effect(&self.post_filter_with(cycle, snapshot, (id, rules))));
                let evictions = each.max().unwrap_or(WouldEffect::Same);
                rules.refused(&h, evictions, out);
            });
        }
        all
    }

    /// What PostFilter would have answered with further rules about evictions.
    fn post_filter_with(
        &self,
        cycle: &Cycle,
        snapshot: &Snapshot,
        with: (PluginId, &dyn PreemptionRules),
    ) -> PostFilterAnswer {
        // This is not a further attempt.
        let cycle = cycle.clone().untimed();
        self.ask_post_filters(&cycle, snapshot, Some(with))
    }
}

/// Asks the rules of one plugin. A panic counts nothing: the decision stands.
fn ask(all: &mut Vec<Would>, ask: impl FnOnce(&mut Vec<Would>)) {
    let mut own = Vec::new();
    if catch_unwind(AssertUnwindSafe(|| ask(&mut own))).is_ok() {
        all.append(&mut own);
    }
}
