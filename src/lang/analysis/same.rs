//! Whether two typed expressions are the same, their places and the names of lets and variables
//! aside. Read by the lints, by the lookups of `index.rs`, and by `plan`.
//!
//! Nothing is computed: `a < b` and `b > a` are not the same here.

use crate::analysis::shape::resolve_alias;
use crate::typed::{Expr, ExprKind, Policy, SlotId};
use std::mem::discriminant;

/// Whether two expressions of a policy say the same.
pub fn same(policy: &Policy, left: &Expr, right: &Expr) -> bool {
    Pairs { policy, slots: Vec::new() }.same(left, right)
}

struct Pairs<'p> {
    policy: &'p Policy,
    /// Variables of the left that are those of the right, innermost last.
    slots: Vec<(SlotId, SlotId)>,
}

impl Pairs<'_> {
    fn same(&mut self, left: &Expr, right: &Expr) -> bool {
        let (left, right) = (resolve_alias(self.policy, left), resolve_alias(self.policy, right));
        match (&left.kind, &right.kind) {
            (ExprKind::Constant(a), ExprKind::Constant(b)) => a.equals(b) || a.is_absent() && b.is_absent(),
            (ExprKind::Slot(a), ExprKind::Slot(b)) => {
                let pair = self.slots.iter().rev().find(|(left, right)| left == a || right == b);
                pair.map_or(a == b, |(left, right)| left == a && right == b)
            }
            (ExprKind::Equal(a, b), ExprKind::Equal(c, d)) => {
                self.same(a, c) && self.same(b, d) || self.same(a, d) && self.same(b, c)
            }
            // The values choose what an operation of CEL does.
            (ExprKind::Dynamic(..), _) => false,
            (one, other) if discriminant(one) != discriminant(other) => false,
            _ => left.head() == right.head() && self.same_operands(left, right),
        }
    }

    fn same_operands(&mut self, left: &Expr, right: &Expr) -> bool {
        let (left, right) = (left.operands(), right.operands());
        left.len() == right.len()
            && left.iter().zip(&right).all(|(left, right)| {
                let depth = self.slots.len();
                let binds = left.binds.iter().flatten().zip(right.binds.iter().flatten());
                self.slots.extend(binds.map(|(left, right)| (*left, *right)));
                let same = self.same(left.expr, right.expr);
                self.slots.truncate(depth);
                same
            })
    }
}
