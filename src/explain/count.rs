//! Counting: which rules refuse how many nodes, alone and together. Every division adds up to all
//! nodes.

use super::{Explanation, Refusal};
use bayplan_model::Symbol;
use serde::Serialize;
use std::collections::BTreeMap;

/// Nodes that are refused by exactly these rules.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeSetCount {
    /// The rules, in the order in which they run.
    pub rules: Vec<String>,
    /// How many nodes.
    pub nodes: usize,
}

/// One rule with the nodes that it refuses.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RuleCount {
    /// The rule: a plugin's name, or `policy/rule`.
    pub rule: String,
    /// Where it is written; empty for in-tree plugins.
    pub place: String,
    /// Nodes that it refuses.
    pub refuses: usize,
    /// Nodes that nothing else refuses.
    pub alone: usize,
    /// Why, with values, most frequent first.
    pub because: Vec<Because>,
}

/// One reason of a rule.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Because {
    /// The reason as in events.
    pub reason: String,
    /// The missing item; empty when the reason names it.
    pub what: String,
    /// The required amount.
    pub need: String,
    /// The available amounts, with the number of nodes; most frequent first.
    pub have: Vec<(String, usize)>,
    /// How many nodes have this reason.
    pub nodes: usize,
    /// The amounts, if the missing item is a resource.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shortfall: Option<Shortfall>,
}

/// How much of a resource nodes lack, in base units.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Shortfall {
    /// The resource.
    pub resource: Symbol,
    /// How much the pod requests.
    pub needed: i64,
    /// How much is free, with the number of nodes; the largest amount first.
    pub free: Vec<(i64, usize)>,
}

/// Fills in everything that is counted from `per_node`.
pub(super) fn count(explanation: &mut Explanation) {
    let order = order(explanation);
    let place_in_order = |rule: &str| order.iter().position(|other| *other == rule).unwrap_or(usize::MAX);
    let mut sets: BTreeMap<Vec<usize>, usize> = BTreeMap::new();
    let mut rules: BTreeMap<usize, Counting> = BTreeMap::new();
    for node in explanation.per_node.iter().filter(|node| !node.refusals.is_empty()) {
        let mut set: Vec<usize> = node.refusals.iter().map(|refusal| place_in_order(&refusal.rule)).collect();
        set.sort_unstable();
        set.dedup();
        for rule in &set {
            let of_rule = node.refusals.iter().filter(|refusal| place_in_order(&refusal.rule) == *rule);
            rules.entry(*rule).or_default().add(of_rule.collect(), set.len() == 1);
        }
        *sets.entry(set).or_default() += 1;
    }
    let mut left = explanation.per_node.len();
    for (rule, name) in order.iter().enumerate() {
        let stopped: usize =
            sets.iter().filter(|(set, _)| set.first() == Some(&rule)).map(|(_, nodes)| *nodes).sum();
        if stopped > 0 {
            left -= stopped;
            explanation.funnel.push((name.clone(), left));
        }
    }
    let names: Vec<&str> = order.iter().map(String::as_str).collect();
    explanation.conflicts = super::conflicts::conflicts(&explanation.per_node, &names);
    explanation.sets = sets
        .into_iter()
        .map(|(set, nodes)| NodeSetCount {
            rules: set.iter().filter_map(|at| order.get(*at)).cloned().collect(),
            nodes,
        })
        .collect();
    explanation.sets.sort_by(|a, b| b.nodes.cmp(&a.nodes).then_with(|| a.rules.cmp(&b.rules)));
    explanation.rules = rules.into_values().filter_map(Counting::finish).collect();
    explanation.rules.sort_by(|a, b| {
        b.alone.cmp(&a.alone).then(b.refuses.cmp(&a.refuses)).then_with(|| a.rule.cmp(&b.rule))
    });
}

/// The rules in the order in which they run. A node shows only the rules that refuse it, so each
/// rule is placed after the one that precedes it on some node.
fn order(explanation: &Explanation) -> Vec<String> {
    let mut order: Vec<String> = Vec::new();
    for node in &explanation.per_node {
        let mut after = 0;
        for refusal in &node.refusals {
            match order.iter().position(|rule| *rule == refusal.rule) {
                Some(at) => after = at + 1,
                None => {
                    order.insert(after, refusal.rule.clone());
                    after += 1;
                }
            }
        }
    }
    order
}

/// Reason, what is lacking, what is needed.
type ReasonKey = (String, String, String);

/// The counts of one rule while nodes are walked over.
#[derive(Default)]
struct Counting {
    count: Option<RuleCount>,
    reasons: BTreeMap<ReasonKey, Reason>,
}

/// The counts of one reason: what nodes have, with the number of nodes.
#[derive(Default)]
struct Reason {
    have: BTreeMap<String, usize>,
    /// How many nodes nothing else keeps away: no other rule, and no other reason of this one.
    alone: usize,
    shortfall: Option<(Symbol, i64)>,
    free: BTreeMap<i64, usize>,
}

impl Counting {
    /// Adds a node with the refusals of this rule.
    fn add(&mut self, refusals: Vec<&Refusal>, alone: bool) {
        let Some(first) = refusals.first() else { return };
        let count = self.count.get_or_insert_with(|| RuleCount {
            rule: first.rule.clone(),
            place: first.place.clone(),
            refuses: 0,
            alone: 0,
            because: Vec::new(),
        });
        count.refuses += 1;
        count.alone += usize::from(alone);
        for refusal in &refusals {
            let key = (refusal.reason.clone(), refusal.what.clone(), refusal.need.clone());
            let reason = self.reasons.entry(key).or_default();
            *reason.have.entry(refusal.have.clone()).or_default() += 1;
            reason.alone += usize::from(alone && refusals.len() == 1);
            if let Some(shortage) = &refusal.shortage {
                reason.shortfall = Some((shortage.resource.clone(), shortage.needed));
                *reason.free.entry(shortage.free).or_default() += 1;
            }
        }
    }

    /// The decisive reasons first: those that alone keep the most nodes away.
    fn finish(self) -> Option<RuleCount> {
        let mut count = self.count?;
        let mut reasons: Vec<(usize, Because)> = self
            .reasons
            .into_iter()
            .map(|((reason, what, need), counted)| (counted.alone, because(reason, what, need, counted)))
            .collect();
        reasons.sort_by(|(alone, a), (other, b)| {
            other.cmp(alone).then(b.nodes.cmp(&a.nodes)).then_with(|| a.reason.cmp(&b.reason))
        });
        count.because = reasons.into_iter().map(|(_, because)| because).collect();
        Some(count)
    }
}

fn because(reason: String, what: String, need: String, counted: Reason) -> Because {
    let nodes = counted.have.values().sum();
    let mut have: Vec<(String, usize)> =
        counted.have.into_iter().filter(|(have, _)| !have.is_empty()).collect();
    have.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    let free = counted.free.into_iter().rev().collect();
    let shortfall = counted.shortfall.map(|(resource, needed)| Shortfall { resource, needed, free });
    Because { reason, what, need, have, nodes, shortfall }
}
