//! [`Counting`]: the rules of a plugin that do not decide. They are evaluated after a decision, for what they would have
//! changed, and change nothing: a decision is the same with them and without them.

use super::handle::Handle;
use super::plugin_id::PluginId;
use super::points::Feasible;
use super::post_filter::PostFilterAnswer;
use super::preemption::PreemptionRules;
use super::runtime::{Cycle, Framework};
use bayplan_model::{NodeId, NodeSet, Snapshot, Symbol};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// What a rule would have done to a decision, had it decided.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum WouldEffect {
    /// Nothing.
    Same,
    /// Pods that are evicted would have been spared.
    Spares,
    /// Other pods would have been evicted.
    Evicts,
    /// Another node would have won.
    Moves,
    /// No feasible node would have been left.
    Waits,
}

impl WouldEffect {
    /// Each with its word, in metrics and tests.
    pub const WORDS: [(&'static str, WouldEffect); 5] = [
        ("same", WouldEffect::Same),
        ("moves", WouldEffect::Moves),
        ("waits", WouldEffect::Waits),
        ("spares", WouldEffect::Spares),
        ("evicts", WouldEffect::Evicts),
    ];

    /// Its word.
    pub fn word(self) -> &'static str {
        Self::WORDS.into_iter().find(|(_, effect)| *effect == self).map_or("", |(word, _)| word)
    }
}

/// What one rule would have done to one decision.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Would {
    /// The policy.
    pub policy: Symbol,
    /// The rule.
    pub rule: Symbol,
    /// What it would have done.
    pub effect: WouldEffect,
    /// What the owner of the pod reads in an event: the reason of a rule that warns, where it would refuse the pod.
    pub tells: Option<Symbol>,
}

/// The choice of a node.
#[derive(Clone, Copy)]
pub struct Choice<'a> {
    /// The nodes that were feasible.
    pub feasible: &'a Feasible,
    /// The node that was chosen.
    pub node: NodeId,
    /// The totals by row; `None` when nodes were not scored.
    pub totals: Option<&'a [i64]>,
    /// The totals by row among some of the nodes: scores are normalized over the nodes that are left.
    pub totals_among: &'a dyn Fn(&NodeSet) -> Option<Vec<i64>>,
    /// The weight of the plugin's scores in the profile.
    pub weight: i64,
}

/// What a rule that does not decide says of a pod, for explanations.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WouldRefuse {
    /// The rule.
    pub rule: Symbol,
    /// The word of its mode.
    pub mode: &'static str,
    /// Where it is written, as people name it.
    pub place: String,
    /// The reason, of the first node where it depends on the node.
    pub reason: String,
    /// How many nodes it would refuse; `None` when it would refuse the pod.
    pub nodes: Option<usize>,
}

/// The rules of a plugin that do not decide.
pub trait Counting: Sync {
    /// A node was chosen, and the pod is not there yet: what the rules up to Score would have done.
    fn chosen(&self, h: &Handle, choice: &Choice, out: &mut Vec<Would>);
    /// The pod counts as placed on the chosen node: what the rules from Reserve on would have done.
    fn placed(&self, h: &Handle, node: NodeId, out: &mut Vec<Would>);
    /// The attempt ended without a node. `evictions`: what the rules about evictions would have done.
    fn refused(&self, h: &Handle, evictions: WouldEffect, out: &mut Vec<Would>);
    /// The rules about evictions that count for the pod of the handle, those together that do so for the same pods.
    fn preemption(&self, h: &Handle) -> Vec<&dyn PreemptionRules>;
    /// The rules that would refuse the pod, or some of these nodes.
    fn refusals(&self, h: &Handle, nodes: &NodeSet) -> Vec<WouldRefuse>;
}

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
        // This is not a further attempt: its plugins are not timed.
        let cycle = Cycle { sampled: false, ..cycle.clone() };
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
