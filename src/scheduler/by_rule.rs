//! [`ByRule`]: what each rule of a policy did, for metrics: refusals, faults, and what rules that do not decide would have
//! done.

use super::blame::RuleRefusals;
use super::counting::WouldByRule;
use super::faults::FaultsByRule;
use bayplan_framework::Framework;

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
