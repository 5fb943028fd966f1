//! Values of CEL where statements want those of the policy language.

use super::ExprLanguage;
use crate::check::Checker;
use crate::typed::{Expr, ExprKind, Operation};
use crate::types::value::{Cel, Constant, FaultKind, Value};
use crate::types::{CelType, Type};
use bayplan_model::Time;

impl Checker<'_> {
    /// A duration or an instant in the form of the policy language, where it is a field, a memo, a constant of
    /// whole microseconds, or a choice between such values; any other value as it is.
    pub(in crate::check) fn of_policy_form(&self, expr: Expr) -> Expr {
        let form = match &expr.ty {
            Type::Cel(CelType::Duration) => Type::Duration,
            Type::Cel(CelType::Timestamp) => Type::Time,
            _ => return expr,
        };
        let Expr { kind, ty, range, span } = expr;
        let same = |kind: ExprKind| Expr { kind, ty: ty.clone(), range, span };
        match kind {
            ExprKind::Dynamic(Operation::Exact(_), mut inner) if inner.len() == 1 => inner.remove(0),
            ExprKind::Conditional(condition, then, otherwise) => {
                let (then, otherwise) = (self.of_policy_form(*then), self.of_policy_form(*otherwise));
                let ty = if then.ty == form && otherwise.ty == form { form } else { ty };
                let kind = ExprKind::Conditional(condition, Box::new(then), Box::new(otherwise));
                Expr { kind, ty, range, span }
            }
            ExprKind::Coalesce(value, otherwise) => {
                match self.coalesce_of_policy_form(&value, &otherwise, &form) {
                    Some(kind) => Expr { kind, ty: form, range, span },
                    None => same(ExprKind::Coalesce(value, otherwise)),
                }
            }
            kind => {
                let expr = same(kind);
                match self.constant_of_cel(&expr).as_ref().and_then(in_microseconds) {
                    Some(value) => {
                        let range = super::super::expr::constant_range(&value, &form);
                        Expr { kind: ExprKind::Constant(value), ty: form, range, span }
                    }
                    None => expr,
                }
            }
        }
    }

    /// `a ?? b`, where both have the form of the policy language.
    fn coalesce_of_policy_form(&self, value: &Expr, otherwise: &Expr, form: &Type) -> Option<ExprKind> {
        let ExprKind::Dynamic(Operation::Exact(_), inner) = &value.kind else { return None };
        let [inner] = inner.as_slice() else { return None };
        let otherwise = self.of_policy_form(otherwise.clone());
        let fits = inner.ty == form.clone().optional() && otherwise.ty == *form;
        fits.then(|| ExprKind::Coalesce(Box::new(inner.clone()), Box::new(otherwise)))
    }

    /// Durations or instants that are compared, in the form of the policy language where both have it.
    pub(super) fn both_of_policy_form(&self, left: Expr, right: Expr) -> (Expr, Expr) {
        if !matches!(left.ty, Type::Cel(CelType::Duration | CelType::Timestamp)) {
            return (left, right);
        }
        let (a, b) = (self.of_policy_form(left.clone()), self.of_policy_form(right.clone()));
        if a.ty == b.ty && !matches!(a.ty, Type::Cel(_)) { (a, b) } else { (left, right) }
    }

    /// The value of a let with `missing`: absent where an optional is empty, and where CEL has an error.
    pub(in crate::check) fn that_may_be_missing(&mut self, expr: Expr) -> Expr {
        if self.dialect == ExprLanguage::Policy {
            return expr;
        }
        let Type::CelOptional(held) = &expr.ty else {
            return if self.numbering().may_fail(&expr) { self.valid(expr) } else { expr };
        };
        let (ty, span, may_fail) = ((**held).clone().optional(), expr.span, self.numbering().may_fail(&expr));
        let held = self.make(ExprKind::Dynamic(Operation::Held, vec![expr]), ty.clone(), span);
        match may_fail {
            true => self.make(ExprKind::Dynamic(Operation::Valid, vec![held]), ty, span),
            false => held,
        }
    }

    /// `p.labels["job"] == pod.labels["job"]` in the condition of a group: a pod whose path is absent is in no
    /// group, as in the policy language.
    pub(in crate::check) fn key_that_may_be_absent(&self, expr: Expr) -> Expr {
        if self.dialect == ExprLanguage::Policy {
            return expr;
        }
        let Expr { kind, ty, range, span } = expr;
        let plain = |side: Expr| match side.kind {
            ExprKind::Dynamic(
                Operation::Demand(FaultKind::NoSuchKey | FaultKind::NoSuchField),
                mut inner,
            ) if inner.len() == 1 => inner.remove(0),
            kind => Expr { kind, ..side },
        };
        let kind = match kind {
            ExprKind::Equal(left, right) => ExprKind::Equal(Box::new(plain(*left)), Box::new(plain(*right))),
            kind => kind,
        };
        Expr { kind, ty, range, span }
    }
}

/// A constant duration or instant in microseconds, if it has no part of one.
fn in_microseconds(value: &Constant) -> Option<Constant> {
    match value {
        Value::Cel(Cel::Duration(nanoseconds)) => {
            (nanoseconds % 1000 == 0).then_some(Value::Int(nanoseconds / 1000))
        }
        Value::Cel(Cel::Instant(at)) if at.nanoseconds % 1000 == 0 => {
            let seconds = at.seconds.checked_mul(1_000_000)?;
            Some(Value::Time(Time(seconds.checked_add(i64::from(at.nanoseconds / 1000))?)))
        }
        _ => None,
    }
}
