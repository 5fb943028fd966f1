//! One view of an expression: its [`head`](Expr::head), which is all of it but its operands, and its
//! [`operands`](Expr::operands), in the order of evaluation, each with the variables that it binds.
//!
//! Code that compares expressions, or does one thing for all kinds but a few, uses the view, so that a new kind needs its arms
//! here and in the evaluators alone.

use super::operation::Operation;
use super::walk::each_part;
use super::{
    ArithmeticOp, CompareOp, DefId, Expr, ExprKind, GroupId, LedgerId, LetId, LookUp, MacroKind, MemoId,
    ParamId, Root, SlotId, SourceId,
};
use crate::language::fields::FieldId;
use crate::language::functions::FunctionId;
use crate::syntax::ast::Text;
use crate::types::Type;
use crate::types::value::Value;
use smallvec::SmallVec;
use std::mem::{Discriminant, discriminant};

/// All of an expression but its operands. Two expressions with one head and equal operands have equal values.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum ExprHead {
    /// A constant, by its kind and how it is written.
    Constant(Discriminant<Value<'static>>, Box<str>),
    /// An argument of the policy.
    Param(ParamId),
    /// A let.
    Let(LetId),
    /// A variable.
    Slot(SlotId),
    /// `pod`, `node`, …
    Root(Root),
    /// The pods of a group.
    Group(GroupId),
    /// The sum of a ledger.
    Ledger(LedgerId),
    /// What a memo remembers.
    Memo(MemoId),
    /// What a node used.
    Source(SourceId),
    /// `now()`
    Now,
    /// Objects that are looked up.
    LookUp(LookUp),
    /// A field with a row.
    Field(FieldId),
    /// A field of a structure of the API.
    ApiField(Text),
    /// A field of a record.
    RecordField(usize),
    /// `a[b]`
    Index,
    /// The amount of a resource.
    Resource,
    /// The operand, which is there.
    Present,
    /// A whole number as a float.
    Widen,
    /// `has`; of an amount of resources it asks for the name.
    Has(bool),
    /// `!`
    Not,
    /// `-`
    Negate,
    /// `&&`
    And,
    /// `||`
    Or,
    /// `==`
    Equal,
    /// `<` and so on.
    Compare(CompareOp),
    /// `in`
    In,
    /// `+` and so on, with the types of both operands and of the result: they decide between whole and exact division.
    Arithmetic(ArithmeticOp, Box<[Type; 3]>),
    /// `? :`
    Conditional,
    /// `??`
    Coalesce,
    /// A list: which elements may be left out.
    List(Box<[bool]>),
    /// A map: which entries may be left out.
    Map(Box<[bool]>),
    /// A record.
    Record,
    /// A function.
    Call(FunctionId),
    /// A def.
    CallDef(DefId),
    /// A macro: how many variables it has, whether a condition and a body, and the type of its value.
    Macro(MacroKind, usize, bool, bool, Type),
    /// An operation of CEL.
    Dynamic(Operation),
}

/// An operand of an expression.
#[derive(Clone, Copy, Debug)]
pub struct Operand<'e> {
    /// The operand.
    pub expr: &'e Expr,
    /// The variables that the expression binds in it, the outermost first.
    pub binds: [Option<SlotId>; 2],
}

impl Expr {
    /// All of it but its operands.
    pub fn head(&self) -> ExprHead {
        match &self.kind {
            ExprKind::Constant(value) => ExprHead::Constant(discriminant(value), value.to_string().into()),
            ExprKind::Param(id) => ExprHead::Param(*id),
            ExprKind::Let(id) => ExprHead::Let(*id),
            ExprKind::Slot(slot) => ExprHead::Slot(*slot),
            ExprKind::Root(root) => ExprHead::Root(*root),
            ExprKind::Group(id) => ExprHead::Group(*id),
            ExprKind::Ledger(id, _) => ExprHead::Ledger(*id),
            ExprKind::Memo(id) => ExprHead::Memo(*id),
            ExprKind::Source(id, _) => ExprHead::Source(*id),
            ExprKind::Now => ExprHead::Now,
            ExprKind::LookUp(which, _) => ExprHead::LookUp(*which),
            ExprKind::Field(_, field) => ExprHead::Field(*field),
            ExprKind::ApiField(_, name) => ExprHead::ApiField(name.clone()),
            ExprKind::RecordField(_, at) => ExprHead::RecordField(*at),
            ExprKind::Index(..) => ExprHead::Index,
            ExprKind::Resource(..) => ExprHead::Resource,
            ExprKind::Present(_) => ExprHead::Present,
            ExprKind::Widen(_) => ExprHead::Widen,
            ExprKind::Has(inner) => ExprHead::Has(matches!(inner.kind, ExprKind::Resource(..))),
            ExprKind::Not(_) => ExprHead::Not,
            ExprKind::Negate(_) => ExprHead::Negate,
            ExprKind::And(..) => ExprHead::And,
            ExprKind::Or(..) => ExprHead::Or,
            ExprKind::Equal(..) => ExprHead::Equal,
            ExprKind::Compare(op, ..) => ExprHead::Compare(*op),
            ExprKind::In(..) => ExprHead::In,
            ExprKind::Arithmetic(op, left, right) => {
                let types = [&left.ty, &right.ty, &self.ty].map(|ty| ty.present().clone());
                ExprHead::Arithmetic(*op, Box::new(types))
            }
            ExprKind::Conditional(..) => ExprHead::Conditional,
            ExprKind::Coalesce(..) => ExprHead::Coalesce,
            ExprKind::List(elements) => {
                ExprHead::List(elements.iter().map(|(_, optional)| *optional).collect())
            }
            ExprKind::Map(entries) => ExprHead::Map(entries.iter().map(|(.., optional)| *optional).collect()),
            ExprKind::Record(_) => ExprHead::Record,
            ExprKind::Call(function, ..) => ExprHead::Call(*function),
            ExprKind::CallDef(id, _) => ExprHead::CallDef(*id),
            ExprKind::Macro(of) => {
                let variables = 1 + usize::from(of.second.is_some());
                let (condition, body) = (of.condition.is_some(), of.body.is_some());
                ExprHead::Macro(of.kind, variables, condition, body, self.ty.present().clone())
            }
            ExprKind::Dynamic(operation, _) => ExprHead::Dynamic(operation.clone()),
        }
    }

    /// Its operands, in the order of evaluation. Lets, defs and groups are not entered.
    pub(crate) fn operands(&self) -> SmallVec<[Operand<'_>; 3]> {
        let mut operands: SmallVec<[Operand<'_>; 3]> = SmallVec::new();
        each_part(self, &mut |expr| operands.push(Operand { expr, binds: [None, None] }));
        if let ExprKind::Macro(of) = &self.kind {
            // The variables are bound in all but what the macro goes over.
            for operand in operands.iter_mut().skip(1) {
                operand.binds = [Some(of.slot), of.second];
            }
        }
        operands
    }

    /// The first of them.
    pub(crate) fn first_operand(&self) -> Option<&Expr> {
        let mut first = None;
        each_part(self, &mut |part| first = first.or(Some(part)));
        first
    }
}
