//! Rules by number: how long one takes, and what a fault of one in CEL becomes: a refusal by error, the error of the
//! attempt, or a count.

use super::{PolicyPlugin, numbers};
use bayplan_framework::{Handle, RuleFault, Status, TimedPoint};
use bayplan_lang::codegen::Env;
use bayplan_lang::eval::trace::reason_of_fault;
use bayplan_lang::syntax::ast::OnError;
use bayplan_lang::types::value::Fault;
use bayplan_model::Symbol;
use std::sync::Arc;

impl PolicyPlugin {
    /// The number of a score, by its place in the text.
    pub(super) fn number_of_score(&self, at: usize) -> u16 {
        numbers::filter(self.compiled.statements.filters.len() + at)
    }

    /// Evaluates a rule, timed in the attempts of a sample.
    #[inline]
    pub(super) fn timed<T>(
        &self,
        h: &Handle<'_>,
        point: TimedPoint,
        rule: u16,
        evaluate: impl FnOnce() -> T,
    ) -> T {
        let Some(times) = &h.cycle.rule_times else { return evaluate() };
        let since = times.mark();
        let done = evaluate();
        times.add(self.compiled.name(), &self.rule_name(rule), point, since);
        done
    }

    fn rule_name(&self, rule: u16) -> Symbol {
        let at = usize::from(rule).checked_sub(1);
        at.and_then(|at| self.rules.get(at)).cloned().unwrap_or_default()
    }

    /// The fault of a rule as the scheduler reports it.
    pub(super) fn fault_of(&self, rule: u16, fault: &Fault) -> Arc<RuleFault> {
        Arc::new(RuleFault {
            rule: self.rule_name(rule),
            place: self.compiled.place(fault.span).into(),
            message: self.compiled.described(fault).into(),
        })
    }

    /// Notes the fault that a rule was told to ignore, if there is one.
    pub(super) fn note_ignored(&self, h: &Handle<'_>, env: &mut Env<'_, '_>, rule: u16) {
        if let Some(fault) = env.ignored.take() {
            let name = self.rule_name(rule);
            h.pass_over(|known| known.rule == name, || self.fault_of(rule, &fault));
        }
    }

    /// The text of the status after a fault of a rule.
    pub(super) fn text_of_failed(&self, rule: u16, on_error: OnError, fault: &Fault) -> String {
        reason_of_fault(
            self.compiled.name(),
            &self.rule_name(rule),
            on_error,
            &self.compiled.described(fault),
        )
    }

    /// The status after a fault of a rule. Evicting pods may help a refusal by error, unless nothing that the rule
    /// reads depends on them.
    pub(super) fn failed(&self, rule: u16, on_error: OnError, fault: &Fault, resolvable: bool) -> Status {
        let text = self.text_of_failed(rule, on_error, fault);
        let status = match (on_error, resolvable) {
            (OnError::Error, _) => Status::error(text),
            (_, true) => Status::unschedulable(text),
            (_, false) => Status::unresolvable(text),
        };
        status.of_rule(rule).because(self.fault_of(rule, fault))
    }
}
