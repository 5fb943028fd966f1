//! Replaces expressions that need no pod, node or clock by their values.
//!
//! It runs after the checker, so that all later stages see values. An expression whose value would
//! exceed the limit of a computed text or list is not folded; `cost` refuses it.

use crate::eval::budget::Counter;
use crate::eval::constant::{Known, Tables, constant};
use crate::typed::walk;
use crate::typed::{Expr, ExprKind, Policy};

/// Replaces the expressions of a policy that consist of constants by their values, as far as the effort
/// reaches.
pub fn fold(policy: &mut Policy, effort: &Counter) {
    let (params, lets, defs) = (policy.params.clone(), policy.lets.clone(), policy.defs.clone());
    let known = Known::default();
    let tables = Tables { params: &params, lets: &lets, defs: &defs, effort, known: &known };
    policy.for_each_expr_mut(&mut |expr| {
        let before = effort.spent();
        fold_expr(expr, tables);
        effort.note(before, expr.span);
    });
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
