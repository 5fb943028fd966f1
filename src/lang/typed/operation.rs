//! [`Operation`]: what CEL computes from values whose types are known when it is evaluated, or with an outcome
//! that may be a fault.

use super::walk::each_part;
use super::{ArithmeticOp, CompareOp, Expr, ExprKind, Macro, MacroKind};
use crate::language::functions::FunctionId;
use crate::syntax::ast::Text;
use crate::types::Type;
use crate::types::range::Range;
use crate::types::value::FaultKind;
use std::sync::Arc;

/// An operation with the meaning that it has in CEL, chosen by the values of its operands. Where CEL has an
/// error, the result is a fault.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Operation {
    /// The operand, or a fault where it is absent.
    Demand(FaultKind),
    /// The operand, or a fault where it is not a bool.
    Truth,
    /// The operand, or a fault where a macro cannot go over it.
    Iterable,
    /// The operand, or a fault where it is not a list.
    Sortable,
    /// The operand, or a fault where it is not a map.
    Mapping,
    /// The operand, or a fault where it is not an optional.
    Optional,
    /// The operand; an optional is made anew from the plain value that it holds, as cel-go does with a branch of `?:`. Never
    /// fails.
    Branch,
    /// The operand, a list, or a whole number for `false`. Where it is none or a fault the whole evaluation stops, as
    /// cel-go does where it counts what a call costs: nothing absorbs that fault.
    Counted(bool),
    /// The operand. Where Go has no hash of it the whole evaluation stops.
    Hashed,
    /// `has(a.f)` where cel-go reads it as a value, in a branch of `?:` and as an index: of an optional `a.?f`.
    HasValue(Text),
    /// The operand, a field or an element that is read further: an optional there has no parts, unless it comes from an
    /// optional.
    Step {
        /// The operand is the selection itself, which shows what it selects from.
        of: Option<Arc<Operation>>,
        /// What reads it asks whether there is something.
        asks: bool,
    },
    /// The operand as a plain text where it is an optional of one, or a type: what a constant pattern is compared with.
    /// Never fails.
    Plain,
    /// What CEL's optional holds; absent where it is empty, a fault for any other value.
    Held,
    /// `optional.ofValid(a)`, which takes in every fault: the operand, absent where it is one. Never fails.
    Valid,
    /// The operand as a value of CEL: a field of the cluster whose type CEL has in another form. Never fails.
    Exact(Type),
    /// `a + b` and so on; never saturates.
    Arithmetic(ArithmeticOp),
    /// `-a`
    Negate,
    /// `a == b`
    Equal,
    /// `a != b`
    NotEqual,
    /// `a < b` and so on.
    Compare(CompareOp),
    /// `a in b`. `true`: `b` is a variable, or a part of one.
    In(bool),
    /// `a.f`; of an optional an optional.
    Select(Text),
    /// `a.?f`: an optional.
    OptionalSelect(Text),
    /// `has(a.f)`
    HasField(Text),
    /// `a[i]`; of an optional an optional.
    Index,
    /// `a[?i]`: an optional.
    OptionalIndex,
    /// `{k: v, ?k: v}`: keys and values in turn; which values are optionals, of which an empty one is omitted.
    Map(Arc<[bool]>),
    /// `a.or(b)` and `a.orValue(b)` of an optional `a`: `b` is evaluated where `a` is empty. `true`: what `a` holds.
    OrElse(bool),
    /// A call whose overload the values choose from these rows.
    Call(Arc<[FunctionId]>),
}

impl Operation {
    /// Whether some operands make it a fault.
    pub fn may_fail(&self) -> bool {
        !matches!(
            self,
            Operation::Exact(_)
                | Operation::Valid
                | Operation::Branch
                | Operation::Plain
                | Operation::NotEqual
                | Operation::OrElse(_)
                | Operation::Map(_)
        )
    }
}

/// Whether the expression itself can make a fault of operands that are none.
pub(crate) fn is_source(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Dynamic(operation, args) => operation.may_fail() && !is_of_numbers(operation, args),
        // A row of CEL alone says itself why it has no value.
        ExprKind::Call(function, ..) => expr.ty.is_optional() && !function.def().dialects.policy,
        ExprKind::Macro(of) => of.kind == MacroKind::TransformMapEntry && !has_own_keys(of),
        _ => false,
    }
}

/// Calls `f` for the parts whose fault the expression may be: for none of an expression that takes in every fault.
pub(crate) fn each_exposed_part<'e>(expr: &'e Expr, f: &mut dyn FnMut(&'e Expr)) {
    if !matches!(expr.kind, ExprKind::Dynamic(Operation::Valid, _)) {
        each_part(expr, f);
    }
}

/// Whether the operation compares numbers, or computes with floats: such operations never fail. Only NaN has no order:
/// a float whose range is known is not NaN.
fn is_of_numbers(operation: &Operation, args: &[Expr]) -> bool {
    let all = |fits: fn(&Type) -> bool| args.iter().all(|arg| fits(&arg.ty));
    match operation {
        Operation::Equal => all(|ty| matches!(ty, Type::Int | Type::Uint | Type::Float)),
        Operation::Compare(_) => args.iter().all(|arg| match arg.ty {
            Type::Int | Type::Uint => true,
            Type::Float => matches!(arg.range, Range::Real { .. }),
            _ => false,
        }),
        Operation::Arithmetic(op) => *op != ArithmeticOp::Remainder && all(|ty| *ty == Type::Float),
        Operation::Negate => all(|ty| *ty == Type::Float),
        _ => false,
    }
}

/// Whether each entry that the macro makes has the key or index that it is made from: no two are the same.
fn has_own_keys(of: &Macro) -> bool {
    let key = match of.body.as_ref().map(|body| &body.kind) {
        Some(ExprKind::Map(entries)) => match entries.as_slice() {
            [(key, ..)] => key,
            _ => return false,
        },
        Some(ExprKind::Dynamic(Operation::Map(_), parts)) => match parts.as_slice() {
            [key, _] => key,
            _ => return false,
        },
        _ => return false,
    };
    matches!(key.kind, ExprKind::Slot(slot) if slot == of.slot)
}
