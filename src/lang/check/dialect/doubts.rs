//! Doubts: where the values of an expression need not be of its checked type.
//!
//! cel-go believes what it infers. `dyn([1]) + ['a']` has type `list(string)`, `dyn(x).orValue(1)` has type `int`, and
//! an optional of a type that goes through `?:` holds a string. What is made of such a value is decided by the value:
//! the nodes of the policy language, which trust the types, are for expressions without doubt.

use super::is_static;
use crate::check::Checker;
use crate::syntax::ast::Text;
use crate::typed::operation::{each_exposed_part, is_source};
use crate::typed::{Expr, SlotId};
use crate::types::Type;
use bayplan_diag::Span;
use rustc_hash::FxHashSet;

/// Whether parts of an expression are in doubt, and which variables are.
#[derive(Debug, Default)]
pub(in crate::check) struct Doubts {
    /// Of the expression that is being checked; `None` outside of expressions.
    here: Option<bool>,
    slots: FxHashSet<SlotId>,
    /// Variables of macros that were read before their type was known.
    reads: Vec<(Text, Span, Type)>,
}

impl Doubts {
    /// Begins an expression, which is a part of another one.
    pub(super) fn enter(&mut self) -> Option<bool> {
        self.here.replace(false)
    }

    /// Ends it: what a part is doubted for, the whole is, too.
    pub(super) fn leave(&mut self, outer: Option<bool>) {
        let inner = self.here == Some(true);
        self.here = outer.map(|outer| outer || inner);
    }

    /// Remembers a variable whose type is open.
    pub(super) fn read(&mut self, name: &str, span: Span, ty: Type) {
        self.reads.push((Text::from(name), span, ty));
    }

    /// What was remembered, at the end of a whole expression.
    pub(super) fn reads(&mut self) -> Vec<(Text, Span, Type)> {
        if self.here.is_none() { std::mem::take(&mut self.reads) } else { Vec::new() }
    }

    /// Doubts the expression that is being checked.
    pub(super) fn doubt(&mut self) {
        self.here = self.here.map(|_| true);
    }

    /// Doubts a variable: its values may be of another type than its own, or faults.
    pub(super) fn doubt_slot(&mut self, slot: SlotId) {
        self.slots.insert(slot);
    }

    /// Whether a variable is in doubt.
    pub(super) fn is_doubted(&self, slot: SlotId) -> bool {
        self.slots.contains(&slot)
    }

    /// Whether a part of the expression is in doubt.
    pub(super) fn any(&self) -> bool {
        self.here == Some(true)
    }
}

impl Checker<'_> {
    /// Whether the values of a part of the expression are known to be of its type.
    pub(super) fn is_sure(&self, ty: &Type) -> bool {
        is_static(ty) && !self.cel.doubts.any()
    }

    /// Doubts a result that is of a known type although parts that give it are not.
    pub(super) fn doubt_unless_sure<'t>(&mut self, result: &Type, mut parts: impl Iterator<Item = &'t Type>) {
        if is_static(result) && !parts.all(is_static) {
            self.cel.doubts.doubt();
        }
    }
}

/// Whether what an expression of this type is used for decides its type.
pub(super) fn is_open(ty: &Type) -> bool {
    match ty {
        Type::Variable(_) => true,
        Type::List(of) | Type::Set(of) | Type::CelOptional(of) => is_open(of),
        Type::Map(key, value) => is_open(key) || is_open(value),
        _ => false,
    }
}

/// Whether the value of an expression may be a fault.
pub(super) fn can_fail(expr: &Expr) -> bool {
    let mut found = is_source(expr);
    each_exposed_part(expr, &mut |part| found = found || can_fail(part));
    found
}
