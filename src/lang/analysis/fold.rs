//! Folding: constants in the place of expressions that need no pod, node or clock.
//!
//! Runs after the checker, so that all later stages see values. What would be larger than a computed text or
//! list may be stays as it is; `cost` refuses it.

use crate::lang::eval::constant::{Tables, constant};
use crate::lang::typed::walk;
use crate::lang::typed::{Expr, ExprKind, Policy};

/// Puts constants in the place of the expressions of a policy that are made of constants only.
pub fn fold(policy: &mut Policy) {
    let (params, lets, defs) = (policy.params.clone(), policy.lets.clone(), policy.defs.clone());
    let tables = Tables { params: &params, lets: &lets, defs: &defs };
    policy.for_each_expr_mut(&mut |expr| fold_expr(expr, tables));
}

fn fold_expr(expr: &mut Expr, tables: Tables<'_>) {
    if matches!(expr.kind, ExprKind::Constant(_)) {
        return;
    }
    if let Some(value) = constant(expr, tables) {
        expr.kind = ExprKind::Constant(value);
        return;
    }
    walk::each_part_mut(expr, &mut |part| fold_expr(part, tables));
}
