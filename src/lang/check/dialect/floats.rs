//! Which floats of CEL are finite for certain: their arithmetic and comparisons are those of the policy language, in
//! which no float is infinite or NaN.

use crate::check::Checker;
use crate::typed::{Expr, ExprKind, MacroKind, Operation};
use crate::types::Type;
use crate::types::value::Value;

impl Checker<'_> {
    /// Whether every float that the expression gives, or that its elements give, is finite.
    pub(super) fn is_finite(&self, expr: &Expr) -> bool {
        if !super::has_float(expr.ty.present()) {
            return true;
        }
        match &expr.kind {
            ExprKind::Constant(Value::Float(value)) => value.is_finite(),
            ExprKind::Param(_)
            | ExprKind::Field(..)
            | ExprKind::ApiField(..)
            | ExprKind::Widen(_)
            | ExprKind::Resource(..) => true,
            ExprKind::Let(id) => {
                self.declared.lets.get(id.index()).is_some_and(|of| self.is_finite(&of.value))
            }
            ExprKind::Negate(of) | ExprKind::Present(of) => self.is_finite(of),
            ExprKind::Dynamic(Operation::Demand(_), of) => of.iter().all(|of| self.is_finite(of)),
            // The checker makes it of finite floats only, and the result stops at the largest float.
            ExprKind::Arithmetic(_, left, right) => self.is_finite(left) && self.is_finite(right),
            ExprKind::Conditional(_, left, right) | ExprKind::Coalesce(left, right) => {
                self.is_finite(left) && self.is_finite(right)
            }
            ExprKind::List(items) => items.iter().all(|(item, _)| self.is_finite(item)),
            ExprKind::Call(function, args, _) => {
                let def = function.def();
                // `double(x)` of an int; of a text it may be `Infinity`.
                let converts = def.makes_float()
                    && args.iter().all(|arg| matches!(arg.ty.present(), Type::Int | Type::Uint));
                converts || def.dialects.policy && args.iter().all(|arg| self.is_finite(arg))
            }
            ExprKind::Macro(of) if matches!(of.kind, MacroKind::Sum | MacroKind::Min | MacroKind::Max) => {
                of.body.as_ref().is_some_and(|body| self.is_finite(body))
            }
            _ => false,
        }
    }
}
