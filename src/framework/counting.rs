//! [`Counting`]: the rules of a plugin that do not decide. They are evaluated after a decision, for what they would have
//! changed, and change nothing: a decision is the same with them and without them.

use super::handle::Handle;
use super::points::Feasible;
use super::preemption::PreemptionRules;
use bayplan_model::{NodeId, NodeSet, Symbol};

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
