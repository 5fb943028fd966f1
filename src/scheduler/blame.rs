//! Which plugins and rules refuse pods, for metrics: counted once per refused attempt, from its
//! diagnosis, so that a cycle does nothing per node for it.

use bayplan_framework::{Blame, Diagnosis, Framework, Plugin, PluginId, Status};
use bayplan_model::Symbol;
use std::collections::BTreeMap;

/// The number of attempts in which each rule refused a node, by policy and rule. As many entries as
/// the policies in service have rules.
#[derive(Clone, Default, Debug)]
pub(super) struct RuleRefusals(BTreeMap<(Symbol, Symbol), u64>);

impl RuleRefusals {
    /// Policy, rule, count.
    pub(super) fn all(&self) -> impl Iterator<Item = (&Symbol, &Symbol, u64)> {
        self.0.iter().map(|((policy, rule), count)| (policy, rule, *count))
    }

    /// Counts a refused attempt; returns what refused the pod: the statuses of nodes, without them the status of
    /// PreFilter, without it `last`, the status of the attempt.
    pub(super) fn count(
        &mut self,
        framework: &Framework,
        diagnosis: &Diagnosis,
        last: &Status,
    ) -> Option<Blame> {
        let mut refusals = diagnosis.nodes.histogram();
        let of_nodes = !refusals.is_empty();
        if !of_nodes {
            refusals.push((diagnosis.nodes.absent().unwrap_or(last), 1));
        }
        let mut by_plugin = BTreeMap::new();
        let mut rules = Vec::new();
        let last_in_tree = last_in_tree(framework);
        let mut by_policy_alone = false;
        for (status, nodes) in refusals {
            *by_plugin.entry(status.plugin).or_insert(0usize) += nodes;
            let Some(plugin) = framework.plugin(status.plugin) else { continue };
            let Some(rule) = rule_of(plugin, status.rule) else { continue };
            // A node has the status of the first filter that refused it.
            by_policy_alone |=
                of_nodes && last_in_tree.is_none_or(|last| place(framework, status.plugin) > Some(last));
            let rule = (Symbol::new(plugin.name()), rule);
            if !rules.contains(&rule) {
                rules.push(rule);
            }
        }
        for rule in &rules {
            *self.0.entry(rule.clone()).or_default() += 1;
        }
        // The first of several plugins with as many nodes.
        let most = by_plugin.iter().max_by_key(|(plugin, nodes)| (**nodes, std::cmp::Reverse(**plugin)))?;
        let plugin = framework.plugin(*most.0)?;
        let sole_rule = if rules.len() == 1 { rules.pop() } else { None };
        Some(Blame { plugin: Symbol::new(plugin.name()), sole_rule, by_policy_alone })
    }

    /// Forgets the rules of plugins that no profile has.
    pub(super) fn keep<'a>(&mut self, frameworks: impl Iterator<Item = &'a Framework> + Clone) {
        self.0.retain(|rule, _| frameworks.clone().any(|framework| has_rule(framework, rule)));
    }
}

/// Whether a framework has a policy with this rule.
pub(super) fn has_rule(framework: &Framework, (policy, rule): &(Symbol, Symbol)) -> bool {
    let found = framework.plugins().iter().find(|plugin| plugin.name() == policy.as_str());
    found.and_then(|plugin| plugin.rule_plugin()).is_some_and(|of| of.rules().contains(rule))
}

/// The place of a plugin among the filters of its profile.
fn place(framework: &Framework, plugin: PluginId) -> Option<usize> {
    framework.points().filter.iter().position(|id| *id == plugin)
}

/// The place of the last filter that is not a policy.
fn last_in_tree(framework: &Framework) -> Option<usize> {
    let in_tree = |id: &PluginId| framework.plugin(*id).is_some_and(|plugin| plugin.rule_plugin().is_none());
    framework.points().filter.iter().rposition(in_tree)
}

fn rule_of(plugin: &dyn Plugin, number: u16) -> Option<Symbol> {
    plugin.rule_plugin()?.rules().get(usize::from(number).checked_sub(1)?).cloned()
}

/// The pods that wait, for metrics.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Waiting {
    /// Pods that were refused, by the plugin that refused most nodes.
    pub refused: BTreeMap<Symbol, usize>,
    /// Pods that a PreEnqueue plugin keeps out of the queue, by plugin.
    pub gated: BTreeMap<Symbol, usize>,
    /// Pods that have a node and wait at Permit, and pods that were refused there.
    pub at_permit: usize,
    /// Pods that wait by policies alone: some node has room for them by every in-tree filter, and they have none in
    /// prospect by an eviction.
    pub by_policies_alone: usize,
    /// Pods that one rule alone keeps waiting, by policy and rule.
    pub by_one_rule: BTreeMap<(Symbol, Symbol), usize>,
}
