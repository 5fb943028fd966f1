//! Conditions with one outcome, by the ranges of their parts.

use super::Checker;
use crate::typed::{Expr, ExprKind};
use crate::types::range::Relation;
use crate::types::value::Value;
use bayplan_diag::{Diagnostic, Span, codes};

impl<'a> Checker<'a> {
    /// A finding about a condition with one outcome. Conditions of params and constants are left alone: they
    /// are switches.
    pub(super) fn always(&mut self, condition: &Expr, when_true: &str, when_false: &str) {
        let Some((truth, span)) = self.outcome(condition) else { return };
        let said = |d: &Diagnostic| d.code == &codes::CONTRADICTION && condition.span.contains(d.span);
        if self.diagnostics.iter().any(said) {
            return;
        }
        let consequence = if truth { when_true } else { when_false };
        let word = if truth { "true" } else { "false" };
        self.mistake(&codes::ALWAYS, span, format!("this is always {word}"), consequence);
    }

    /// The only outcome of a condition, from the ranges of its parts.
    pub(super) fn outcome(&self, condition: &Expr) -> Option<(bool, Span)> {
        match &condition.kind {
            ExprKind::Constant(Value::Bool(truth)) => Some((*truth, condition.span)),
            ExprKind::Not(inner) => self.outcome(inner).map(|(truth, _)| (!truth, condition.span)),
            ExprKind::And(left, right) => match (self.outcome(left), self.outcome(right)) {
                (Some((false, span)), _) | (_, Some((false, span))) => Some((false, span)),
                (Some((true, _)), Some((true, _))) => Some((true, condition.span)),
                _ => None,
            },
            ExprKind::Or(left, right) => match (self.outcome(left), self.outcome(right)) {
                (Some((true, span)), _) | (_, Some((true, span))) => Some((true, span)),
                (Some((false, _)), Some((false, _))) => Some((false, condition.span)),
                _ => None,
            },
            ExprKind::Compare(op, left, right) => {
                if self.constant(left).is_some() && self.constant(right).is_some() {
                    return None;
                }
                let truth = left.range.outcome(op.relation(), right.range)?;
                Some((truth, condition.span))
            }
            ExprKind::Equal(left, right) => {
                if self.constant(left).is_some() && self.constant(right).is_some() {
                    return None;
                }
                let truth = left.range.outcome(Relation::Equal, right.range)?;
                Some((truth, condition.span))
            }
            _ => None,
        }
    }
}
