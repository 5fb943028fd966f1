//! Counting: which rules refuse how many nodes, alone and together. Every division adds up to all nodes.

use super::{Explanation, Refusal};
use serde::Serialize;
use std::collections::BTreeMap;

/// Nodes that are refused by exactly these rules.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeSetCount {
    /// The rules, in the order in which they are asked.
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
    /// What is lacking; empty when the reason says it.
    pub what: String,
    /// What is needed.
    pub need: String,
    /// What is there, with the number of nodes; most frequent first.
    pub have: Vec<(String, usize)>,
    /// How many nodes have this reason.
    pub nodes: usize,
}

/// Fills in everything that is counted from `per_node`.
pub(super) fn count(explanation: &mut Explanation) {
    // Rules in the order in which they are asked: the order of their first appearance on any node is not it when
    // nodes differ, so places are taken from the longest prefix seen.
    let mut order: Vec<&str> = Vec::new();
    for node in &explanation.per_node {
        let mut after = 0;
        for refusal in &node.refusals {
            match order.iter().position(|rule| *rule == refusal.rule) {
                Some(at) => after = at + 1,
                None => {
                    order.insert(after, &refusal.rule);
                    after += 1;
                }
            }
        }
    }
    let place_in_order = |rule: &str| order.iter().position(|other| *other == rule).unwrap_or(usize::MAX);
    let mut sets: BTreeMap<Vec<usize>, usize> = BTreeMap::new();
    let mut rules: BTreeMap<usize, (RuleCount, Reasons)> = BTreeMap::new();
    for node in explanation.per_node.iter().filter(|node| !node.refusals.is_empty()) {
        let mut set: Vec<usize> = node.refusals.iter().map(|refusal| place_in_order(&refusal.rule)).collect();
        set.sort_unstable();
        set.dedup();
        for rule in &set {
            let of_rule: Vec<&Refusal> =
                node.refusals.iter().filter(|refusal| place_in_order(&refusal.rule) == *rule).collect();
            let Some(first) = of_rule.first() else { continue };
            let (count, reasons) = rules.entry(*rule).or_insert_with(|| {
                let count = RuleCount {
                    rule: first.rule.clone(),
                    place: first.place.clone(),
                    refuses: 0,
                    alone: 0,
                    because: Vec::new(),
                };
                (count, BTreeMap::new())
            });
            count.refuses += 1;
            count.alone += usize::from(set.len() == 1);
            for refusal in of_rule {
                let key = (refusal.reason.clone(), refusal.what.clone(), refusal.need.clone());
                *reasons.entry(key).or_default().entry(refusal.have.clone()).or_default() += 1;
            }
        }
        *sets.entry(set).or_default() += 1;
    }
    let mut left = explanation.per_node.len();
    for (rule, name) in order.iter().enumerate() {
        let stopped: usize =
            sets.iter().filter(|(set, _)| set.first() == Some(&rule)).map(|(_, nodes)| *nodes).sum();
        if stopped > 0 {
            left -= stopped;
            explanation.funnel.push(((*name).to_owned(), left));
        }
    }
    let order: Vec<String> = order.into_iter().map(str::to_owned).collect();
    let names: Vec<&str> = order.iter().map(String::as_str).collect();
    explanation.conflicts = super::conflicts::conflicts(&explanation.per_node, &names);
    explanation.sets = sets
        .into_iter()
        .map(|(set, nodes)| NodeSetCount {
            rules: set.iter().filter_map(|at| order.get(*at)).map(|rule| (*rule).to_owned()).collect(),
            nodes,
        })
        .collect();
    explanation.sets.sort_by(|a, b| b.nodes.cmp(&a.nodes).then_with(|| a.rules.cmp(&b.rules)));
    explanation.rules = rules
        .into_values()
        .map(|(mut count, reasons)| {
            count.because = reasons.into_iter().map(because).collect();
            count.because.sort_by(|a, b| b.nodes.cmp(&a.nodes).then_with(|| a.reason.cmp(&b.reason)));
            count
        })
        .collect();
    explanation.rules.sort_by(|a, b| {
        b.alone.cmp(&a.alone).then(b.refuses.cmp(&a.refuses)).then_with(|| a.rule.cmp(&b.rule))
    });
}

/// Reason, what is lacking, what is needed.
type ReasonKey = (String, String, String);

/// For each reason, what nodes have, with the number of nodes.
type Reasons = BTreeMap<ReasonKey, BTreeMap<String, usize>>;

fn because(((reason, what, need), have): (ReasonKey, BTreeMap<String, usize>)) -> Because {
    let nodes = have.values().sum();
    let mut have: Vec<(String, usize)> = have.into_iter().filter(|(have, _)| !have.is_empty()).collect();
    have.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    Because { reason, what, need, have, nodes }
}
