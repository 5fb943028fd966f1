//! Rules that fail: how often each one did, and its last fault, for metrics and for the events about policies. Counted
//! once per rule and attempt, from the statuses that its faults led to and from those that it passed over.

use super::blame::has_rule;
use bayplan_framework::{Cycle, Framework, PluginId, RuleFault, Status};
use bayplan_model::Symbol;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The faults of a rule.
#[derive(Clone, Debug)]
pub struct RuleErrors {
    /// The policy.
    pub policy: Symbol,
    /// The number of attempts in which the rule failed.
    pub count: u64,
    /// Its last fault.
    pub last: Arc<RuleFault>,
}

/// The faults of each rule, by policy and rule. As many entries as the policies in service have rules.
#[derive(Clone, Default, Debug)]
pub(super) struct FaultsByRule(BTreeMap<(Symbol, Symbol), (u64, Arc<RuleFault>)>);

impl FaultsByRule {
    /// The rules that failed.
    pub(super) fn all(&self) -> impl Iterator<Item = RuleErrors> {
        self.0.iter().map(|((policy, _), (count, last))| RuleErrors {
            policy: policy.clone(),
            count: *count,
            last: last.clone(),
        })
    }

    /// Counts the faults of an attempt until a node was chosen, or none: those that refused nodes, those after which it
    /// went on, and that of `last`, the status that ended it.
    pub(super) fn count(&mut self, cycle: &Cycle, last: Option<&Status>) {
        let nodes = &cycle.diagnosis.nodes;
        let refusals = nodes.histogram().into_iter().map(|(status, _)| status);
        let statuses = refusals.chain(nodes.absent()).chain(last);
        let failed = statuses.filter_map(|status| Some((status.plugin, status.fault()?)));
        self.count_once(
            failed.chain(cycle.state.faults()).map(|(plugin, fault)| named(cycle, plugin, fault)),
        );
    }

    /// Counts the fault of the status that ended an attempt after a node was chosen.
    pub(super) fn count_late(&mut self, cycle: &Cycle, last: &Status) {
        self.count_once(last.fault().map(|fault| named(cycle, last.plugin, fault)).into_iter());
    }

    /// Counts each rule once.
    pub(super) fn count_once(&mut self, faults: impl Iterator<Item = (Symbol, Arc<RuleFault>)>) {
        let mut counted = BTreeMap::new();
        for (policy, fault) in faults {
            counted.entry((policy, fault.rule.clone())).or_insert(fault);
        }
        for (rule, fault) in counted {
            self.0.entry(rule).and_modify(|(_, last)| *last = fault.clone()).or_insert((0, fault)).0 += 1;
        }
    }

    /// Forgets the rules of plugins that no profile has.
    pub(super) fn keep<'a>(&mut self, frameworks: impl Iterator<Item = &'a Framework> + Clone) {
        self.0.retain(|rule, _| frameworks.clone().any(|framework| has_rule(framework, rule)));
    }
}

fn named(cycle: &Cycle, plugin: PluginId, fault: &Arc<RuleFault>) -> (Symbol, Arc<RuleFault>) {
    (Symbol::new(cycle.framework.plugin_name(plugin)), fault.clone())
}
