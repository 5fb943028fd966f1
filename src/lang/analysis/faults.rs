//! Which expressions may be a fault: those with an operation of CEL that the checker could not prove.

use crate::lang::typed::walk::any;
use crate::lang::typed::{Expr, ExprKind, Policy};

/// Whether an expression may be a fault, or may hide one of its parts.
pub fn may_fail(policy: &Policy, expr: &Expr) -> bool {
    policy.cel && any(policy, expr, &mut is_source)
}

/// Whether the expression itself can make a fault of operands that are none.
pub fn is_source(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Dynamic(operation, _) => operation.may_fail(),
        ExprKind::Call(function, _, _) => !function.def().dialects.policy,
        _ => false,
    }
}
