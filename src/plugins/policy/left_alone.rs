//! The exceptions by which the policy, or a rule of it, leaves a pod alone, for explanations.

use super::PolicyPlugin;
use bayplan_framework::{Handle, LeftAlone};
use bayplan_lang::eval::context::EvalContext;
use bayplan_lang::typed::Exception;
use bayplan_model::Symbol;

impl PolicyPlugin {
    /// The exceptions that hold for the pod, if the policy is about it.
    pub(super) fn exceptions_of(&self, h: &Handle<'_>) -> Vec<LeftAlone> {
        let policy = &self.whole.policy;
        if policy.exceptions.is_empty() || self.suspended || self.exempts(h.pod) {
            return Vec::new();
        }
        let mut evaluator = self.whole.evaluator(EvalContext::new(h.pod, h.snapshot, h.now));
        if !policy.applies().iter().all(|condition| evaluator.holds(condition)) {
            return Vec::new();
        }
        let holds = |of: &&Exception| evaluator.holds(&policy[of.holds].value);
        let shown = |of: &Exception| LeftAlone {
            rule: of.rule.as_deref().map(Symbol::new),
            until: of.until.to_string(),
            end: of.end,
            because: of.because.to_string(),
            place: self.whole.place(of.span).to_owned(),
        };
        policy.exceptions.iter().filter(holds).map(shown).collect()
    }
}
