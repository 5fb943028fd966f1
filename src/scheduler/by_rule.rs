//! [`ByRule`]: what each rule of a policy did, for metrics: refusals, faults, and what rules that do not decide would have
//! done.

use super::blame::{RuleRefusals, has_rule};
use super::faults::FaultsByRule;
use bayplan_framework::{Framework, Would, WouldEffect};
use bayplan_model::Symbol;
use std::collections::BTreeMap;

/// Counts by policy and rule.
#[derive(Clone, Default, Debug)]
pub(crate) struct ByRule {
    pub(super) refusals: RuleRefusals,
    pub(super) errors: FaultsByRule,
    pub(super) would: WouldByRule,
}

impl ByRule {
    /// Forgets the rules of plugins that no profile has.
    pub(super) fn keep<'a>(&mut self, frameworks: impl Iterator<Item = &'a Framework> + Clone) {
        self.refusals.keep(frameworks.clone());
        self.errors.keep(frameworks.clone());
        self.would.keep(frameworks);
    }
}

/// How often each rule would have done what to a decision, by policy, rule and effect.
#[derive(Clone, Default, Debug)]
pub(super) struct WouldByRule(BTreeMap<(Symbol, Symbol), BTreeMap<WouldEffect, u64>>);

impl WouldByRule {
    /// Policy, rule, effect, count.
    pub(super) fn all(&self) -> impl Iterator<Item = (&Symbol, &Symbol, WouldEffect, u64)> {
        self.0.iter().flat_map(|((policy, rule), by)| {
            by.iter().map(move |(effect, count)| (policy, rule, *effect, *count))
        })
    }

    pub(super) fn count(&mut self, would: &[Would]) {
        for of in would {
            let rule = (of.policy.clone(), of.rule.clone());
            *self.0.entry(rule).or_default().entry(of.effect).or_default() += 1;
        }
    }

    /// Forgets the rules of plugins that no profile has, and of those whose rules all decide.
    pub(super) fn keep<'a>(&mut self, frameworks: impl Iterator<Item = &'a Framework> + Clone) {
        let counts = |framework: &Framework, policy: &str| {
            framework.counting().any(|(id, _)| framework.plugin_name(id) == policy)
        };
        self.0.retain(|rule, _| frameworks.clone().any(|of| counts(of, &rule.0) && has_rule(of, rule)));
    }
}
