//! Whether two typed expressions are the same, their places and the names of lets and variables
//! aside. Read by the lints, by the lookups of `index.rs`, and by `plan`.
//!
//! Nothing is computed: `a < b` and `b > a` are not the same here.

use crate::lang::analysis::shape::resolve_alias;
use crate::lang::typed::{Expr, ExprKind, Macro, Policy, SlotId};

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
            (ExprKind::Param(a), ExprKind::Param(b)) => a == b,
            (ExprKind::Let(a), ExprKind::Let(b)) => a == b,
            (ExprKind::Slot(a), ExprKind::Slot(b)) => {
                let pair = self.slots.iter().rev().find(|(left, right)| left == a || right == b);
                pair.map_or(a == b, |(left, right)| left == a && right == b)
            }
            (ExprKind::Root(a), ExprKind::Root(b)) => a == b,
            (ExprKind::Group(a), ExprKind::Group(b)) => a == b,
            (ExprKind::Ledger(a, left), ExprKind::Ledger(b, right)) => a == b && self.same(left, right),
            (ExprKind::Memo(a), ExprKind::Memo(b)) => a == b,
            (ExprKind::Source(a, left), ExprKind::Source(b, right)) => a == b && self.same(left, right),
            (ExprKind::Now, ExprKind::Now) => true,
            (ExprKind::LookUp(a, left), ExprKind::LookUp(b, right)) => {
                a == b && left.len() == right.len() && left.iter().zip(right).all(|(a, b)| self.same(a, b))
            }
            (ExprKind::Field(a, left), ExprKind::Field(b, right)) => left == right && self.same(a, b),
            (ExprKind::ApiField(a, left), ExprKind::ApiField(b, right)) => left == right && self.same(a, b),
            (ExprKind::RecordField(a, left), ExprKind::RecordField(b, right)) => {
                left == right && self.same(a, b)
            }
            (ExprKind::Widen(a), ExprKind::Widen(b))
            | (ExprKind::Has(a), ExprKind::Has(b))
            | (ExprKind::Not(a), ExprKind::Not(b))
            | (ExprKind::Negate(a), ExprKind::Negate(b)) => self.same(a, b),
            (ExprKind::Index(a, b), ExprKind::Index(c, d))
            | (ExprKind::Resource(a, b), ExprKind::Resource(c, d))
            | (ExprKind::And(a, b), ExprKind::And(c, d))
            | (ExprKind::Or(a, b), ExprKind::Or(c, d))
            | (ExprKind::In(a, b), ExprKind::In(c, d))
            | (ExprKind::Coalesce(a, b), ExprKind::Coalesce(c, d)) => self.same(a, c) && self.same(b, d),
            (ExprKind::Equal(a, b), ExprKind::Equal(c, d)) => {
                self.same(a, c) && self.same(b, d) || self.same(a, d) && self.same(b, c)
            }
            (ExprKind::Compare(op, a, b), ExprKind::Compare(other, c, d)) => {
                op == other && self.same(a, c) && self.same(b, d)
            }
            (ExprKind::Arithmetic(op, a, b), ExprKind::Arithmetic(other, c, d)) => {
                op == other && self.same(a, c) && self.same(b, d)
            }
            (ExprKind::Conditional(a, b, c), ExprKind::Conditional(d, e, f)) => {
                self.same(a, d) && self.same(b, e) && self.same(c, f)
            }
            (ExprKind::List(a), ExprKind::List(b)) => {
                a.len() == b.len()
                    && a.iter().zip(b).all(|((a, left), (b, right))| left == right && self.same(a, b))
            }
            (ExprKind::Record(a), ExprKind::Record(b)) => self.all(a, b),
            (ExprKind::Map(a), ExprKind::Map(b)) => {
                a.len() == b.len()
                    && a.iter().zip(b).all(|((k, v, left), (l, w, right))| {
                        left == right && self.same(k, l) && self.same(v, w)
                    })
            }
            (ExprKind::Call(left, a, _), ExprKind::Call(right, b, _)) => left == right && self.all(a, b),
            (ExprKind::CallDef(left, a), ExprKind::CallDef(right, b)) => left == right && self.all(a, b),
            (ExprKind::Macro(a), ExprKind::Macro(b)) => self.same_macro(a, b),
            _ => false,
        }
    }

    fn all(&mut self, left: &[Expr], right: &[Expr]) -> bool {
        left.len() == right.len() && left.iter().zip(right).all(|(a, b)| self.same(a, b))
    }

    fn same_macro(&mut self, left: &Macro, right: &Macro) -> bool {
        if left.kind != right.kind
            || left.second.is_some() != right.second.is_some()
            || !self.same(&left.over, &right.over)
        {
            return false;
        }
        let depth = self.slots.len();
        self.slots.push((left.slot, right.slot));
        self.slots.extend(left.second.zip(right.second));
        let mut part = |a: &Option<Expr>, b: &Option<Expr>| match (a, b) {
            (Some(a), Some(b)) => self.same(a, b),
            (None, None) => true,
            _ => false,
        };
        let same = part(&left.condition, &right.condition) && part(&left.body, &right.body);
        self.slots.truncate(depth);
        same
    }
}
