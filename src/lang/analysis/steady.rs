//! What is the same on every node and in every simulation of an attempt: expressions that read nothing that evicting or
//! nominating a pod changes, and not the node. Code generation computes them once for each value of the variables that
//! they read, however many victims are judged (`codegen/steady.rs`).

use super::faults::may_fail;
use super::index::is_key;
use super::same::same;
use super::shape::{constant, resolve_alias};
use crate::language::fields::Eviction;
use crate::typed::{Expr, ExprKind, LedgerId, Macro, MacroKind, Policy, Root, SlotId};
use crate::types::Type;
use crate::types::convert::can_be_kept;

/// What an expression reads of the variables around it, each path once, if its value is the same wherever these are the
/// same. `None` too where it is as cheap to compute as to remember, and where its value cannot be kept.
pub(crate) fn steady_keys<'p>(policy: &'p Policy, expr: &'p Expr) -> Option<Vec<&'p Expr>> {
    let joins = matches!(
        expr.kind,
        ExprKind::And(..) | ExprKind::Or(..) | ExprKind::Not(_) | ExprKind::Conditional(..)
    );
    if joins || !can_be_kept(&expr.ty) {
        return None;
    }
    let mut found = Found::new(policy);
    (found.is_steady(expr) && found.is_long && !may_fail(policy, expr)).then_some(found.keys)
}

/// Whether the value of an expression is the same in every simulation wherever the variables around it are the same.
pub fn is_steady(policy: &Policy, expr: &Expr) -> bool {
    Found { of_keys: false, ..Found::new(policy) }.is_steady(expr)
}

/// `xs.sum(x, ledger[E])` where xs and E are the same in every simulation: the ledger and the key.
pub(crate) fn summed_ledger<'p>(policy: &'p Policy, of: &'p Macro) -> Option<(LedgerId, &'p Expr)> {
    let ExprKind::Ledger(ledger, key) = &resolve_alias(policy, of.body.as_ref()?).kind else { return None };
    if of.kind != MacroKind::Sum || of.second.is_some() || of.condition.is_some() || !can_be_kept(&key.ty) {
        return None;
    }
    let mut found = Found::new(policy);
    let over = found.is_steady(&of.over);
    found.bound.push(of.slot);
    let steady = over && found.is_steady(key) && found.keys.is_empty();
    (steady && !may_fail(policy, &of.over) && !may_fail(policy, key)).then_some((*ledger, &**key))
}

struct Found<'p> {
    policy: &'p Policy,
    /// Paths of variables that are bound outside, each once.
    keys: Vec<&'p Expr>,
    /// Variables that are bound inside.
    bound: Vec<SlotId>,
    /// Something in it takes longer than to find an answer.
    is_long: bool,
    /// Paths of variables have values that can be keys.
    of_keys: bool,
}

impl<'p> Found<'p> {
    fn new(policy: &'p Policy) -> Self {
        Self { policy, keys: Vec::new(), bound: Vec::new(), is_long: false, of_keys: true }
    }

    fn is_steady(&mut self, expr: &'p Expr) -> bool {
        let policy = self.policy;
        if let Some(slot) = variable(policy, expr)
            && !self.bound.contains(&slot)
        {
            if !self.of_keys {
                return true;
            }
            let is_key = is_key(&expr.ty) && !matches!(expr.ty.present(), Type::Object(_));
            if is_key && !self.keys.iter().any(|key| same(policy, key, expr)) {
                self.keys.push(expr);
            }
            return is_key;
        }
        match &expr.kind {
            ExprKind::Group(_)
            | ExprKind::Ledger(..)
            | ExprKind::Root(Root::Node | Root::Pods)
            | ExprKind::Dynamic(..) => false,
            ExprKind::Field(inner, field) => field.def().eviction == Eviction::None && self.is_steady(inner),
            ExprKind::Let(id) => self.inside(&[], &policy[*id].value),
            ExprKind::CallDef(id, args) => {
                let def = &policy[*id];
                args.iter().all(|arg| self.is_steady(arg)) && self.inside(&def.parameters, &def.body)
            }
            _ => {
                self.is_long |= matches!(expr.kind, ExprKind::LookUp(..) | ExprKind::Macro(_));
                expr.operands().into_iter().all(|operand| {
                    let depth = self.bound.len();
                    self.bound.extend(operand.binds.iter().flatten());
                    let steady = self.is_steady(operand.expr);
                    self.bound.truncate(depth);
                    steady
                })
            }
        }
    }

    /// Of a let, or of a def with these parameters: it sees no other variable.
    fn inside(&mut self, parameters: &[SlotId], body: &'p Expr) -> bool {
        let outside = std::mem::replace(&mut self.bound, parameters.to_vec());
        let steady = self.is_steady(body);
        self.bound = outside;
        steady
    }
}

/// The variable at which a path begins.
fn variable(policy: &Policy, expr: &Expr) -> Option<SlotId> {
    match &expr.kind {
        ExprKind::Slot(slot) => Some(*slot),
        ExprKind::Field(inner, field) if field.def().eviction == Eviction::None => variable(policy, inner),
        ExprKind::ApiField(inner, _) | ExprKind::Present(inner) => variable(policy, inner),
        ExprKind::Index(inner, key) | ExprKind::Resource(inner, key) if constant(policy, key).is_some() => {
            variable(policy, inner)
        }
        _ => None,
    }
}
