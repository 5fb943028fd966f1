//! Value numbers: two expressions with one number have the same value in one evaluation.
//!
//! Expressions have no side effects, so the number follows from the kind of an expression and the numbers of
//! its parts. A variable is identified by its declaration, not by its name. `facts` keeps what conditions
//! show under these numbers, and the unit of `r[name]` with a computed name is the number of the name.

use super::Checker;
use crate::diag::Span;
use crate::lang::eval::constant::{Tables, constant};
use crate::lang::language::fields::FieldId;
use crate::lang::language::functions::{self, FunctionId, Presence};
use crate::lang::syntax::ast::Text;
use crate::lang::typed::{
    ArithmeticOp, CompareOp, DefId, Expr, ExprKind, GroupId, LedgerId, LetId, LookUp, MacroKind, MemoId,
    Operation, ParamId, Root, SlotId, SourceId,
};
use crate::lang::types::Type;
use crate::lang::types::value::Value;
use rustc_hash::FxHashMap;
use std::mem::{Discriminant, discriminant};

/// Most parts of an expression with a number, so that long expressions are not walked again and again.
const MOST_PARTS: u32 = 64;

/// The number of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct ValueId(pub u32);

/// The kind of an expression with the numbers of its parts.
#[derive(Clone, PartialEq, Eq, Hash)]
enum Key {
    Constant(Discriminant<Value<'static>>, String),
    Param(ParamId),
    /// A let of the policy, by its declaration: one value in both fact scopes.
    Let(Span),
    BlockLet(LetId),
    Slot(SlotId),
    /// The variable of a macro inside the expression, counted from the innermost one.
    Bound(usize),
    Root(Root),
    Group(GroupId),
    Memo(MemoId),
    Now,
    Field(ValueId, FieldId),
    ApiField(ValueId, Text),
    RecordField(ValueId, usize),
    Parts(Shape, Box<[ValueId]>),
    /// An expression without a number of its own: the same as nothing else.
    Other(u32),
}

/// The kind of an expression that is made of parts.
#[derive(Clone, PartialEq, Eq, Hash)]
enum Shape {
    Index,
    Resource,
    Widen,
    /// `has`; of an amount of resources it asks for the name.
    Has(bool),
    Not,
    Negate,
    And,
    Or,
    Equal,
    Compare(CompareOp),
    In,
    /// The types decide between whole and exact division.
    Arithmetic(ArithmeticOp, Box<[Type; 3]>),
    Conditional,
    Coalesce,
    Ledger(LedgerId),
    Source(SourceId),
    List(Box<[bool]>),
    Map(Box<[bool]>),
    Record,
    Call(FunctionId),
    LookUp(LookUp),
    /// By the declaration of the def: one meaning in both fact scopes.
    CallDef(Span),
    /// With how many variables, and whether it has a condition and a body.
    Macro(MacroKind, usize, bool, bool, Type),
    /// The number of elements of a list or map, or of characters of a text.
    Size,
}

/// The numbers of a policy.
#[derive(Default)]
pub(super) struct Numbers {
    known: FxHashMap<Key, ValueId>,
    /// The variables that each value depends on.
    slots: Vec<Box<[SlotId]>>,
    others: u32,
}

impl Numbers {
    fn number(&mut self, key: Key) -> ValueId {
        if let Some(known) = self.known.get(&key) {
            return *known;
        }
        let mut slots: Vec<SlotId> = match &key {
            Key::Slot(slot) => vec![*slot],
            Key::Field(of, _) | Key::ApiField(of, _) | Key::RecordField(of, _) => self.slots(*of).to_vec(),
            Key::Parts(_, parts) => parts.iter().flat_map(|part| self.slots(*part)).copied().collect(),
            _ => Vec::new(),
        };
        slots.sort_unstable_by_key(|slot| slot.0);
        slots.dedup();
        let id = ValueId(self.slots.len() as u32);
        self.slots.push(slots.into());
        self.known.insert(key, id);
        id
    }

    /// The variables that a value depends on.
    pub(super) fn slots(&self, of: ValueId) -> &[SlotId] {
        self.slots.get(of.0 as usize).map_or(&[], |slots| slots)
    }
}

/// A walk over one expression.
struct Walk {
    /// Variables of macros inside the expression, innermost last.
    bound: Vec<SlotId>,
    parts: u32,
}

/// Numbers the expressions of a policy.
pub(super) struct Numbering<'c> {
    numbers: &'c mut Numbers,
    /// The numbers of the lets.
    lets: &'c [ValueId],
    pub(super) tables: Tables<'c>,
    /// What the parameters of the defs around stand for.
    given: Vec<(SlotId, Option<ValueId>)>,
}

impl Checker<'_> {
    /// What numbers expressions.
    pub(super) fn numbering(&mut self) -> Numbering<'_> {
        let effort = &self.budget.constants;
        let params = if self.any_arguments { &[][..] } else { &self.params };
        let known = if self.any_arguments { &self.known_for_any } else { &self.known };
        let tables = Tables { params, lets: &self.lets, defs: &self.defs, effort, known };
        Numbering { numbers: &mut self.numbers, lets: &self.let_numbers, tables, given: Vec::new() }
    }

    /// Whether a value depends on one of these variables.
    pub(super) fn depends_on(&self, of: ValueId, slots: &[SlotId]) -> bool {
        self.numbers.slots(of).iter().any(|slot| slots.contains(slot))
    }
}

impl Numbering<'_> {
    /// The number of an expression's value, as an int or as a float; `None` for a long expression.
    pub(super) fn number(&mut self, expr: &Expr) -> Option<ValueId> {
        let expr = match &expr.kind {
            ExprKind::Widen(inner) => inner,
            _ => expr,
        };
        self.number_of(expr, &mut Walk { bound: Vec::new(), parts: 0 })
    }

    /// The number of an expression's value; one of its own for a long expression.
    pub(super) fn number_or_new(&mut self, expr: &Expr) -> ValueId {
        self.number(expr).unwrap_or_else(|| {
            self.numbers.others += 1;
            let other = Key::Other(self.numbers.others);
            self.numbers.number(other)
        })
    }

    /// The number that a let has: that of its value, so that facts about one are facts about the other.
    /// `declared` is the place of its name where it is a let of the policy that has one.
    pub(super) fn number_of_let(&mut self, declared: Option<Span>, id: LetId, value: &Expr) -> ValueId {
        let mut walk = Walk { bound: Vec::new(), parts: 0 };
        self.number_of(value, &mut walk).unwrap_or_else(|| {
            let key = declared.map_or(Key::BlockLet(id), Key::Let);
            self.numbers.number(key)
        })
    }

    /// The number of the entry `key` of a map.
    pub(super) fn number_of_entry(&mut self, map: &Expr, key: &Expr) -> Option<ValueId> {
        let mut walk = Walk { bound: Vec::new(), parts: 0 };
        let map = self.number_of(map, &mut walk)?;
        let key = self.number_of_index(key, &mut walk)?;
        Some(self.intern(Shape::Index, vec![map, key]))
    }

    /// The number of the size of a list, map or text.
    pub(super) fn number_of_size(&mut self, of: ValueId) -> ValueId {
        self.intern(Shape::Size, vec![of])
    }

    /// The number of `o.value()` of an optional.
    pub(super) fn number_of_held(&mut self, optional: &Expr) -> Option<ValueId> {
        let row = functions::with_presence(Presence::Takes)?;
        let optional = self.number(optional)?;
        Some(self.intern(Shape::Call(row), vec![optional]))
    }

    fn intern(&mut self, shape: Shape, parts: Vec<ValueId>) -> ValueId {
        self.numbers.number(Key::Parts(shape, parts.into()))
    }

    fn number_of(&mut self, expr: &Expr, walk: &mut Walk) -> Option<ValueId> {
        walk.parts += 1;
        if walk.parts > MOST_PARTS {
            return None;
        }
        let key = match &expr.kind {
            ExprKind::Present(inner) => return self.number_of(inner, walk),
            ExprKind::Dynamic(Operation::Demand(_), inner) => match inner.as_slice() {
                [inner] => return self.number_of(inner, walk),
                _ => return None,
            },
            ExprKind::Let(id) => return self.lets.get(id.index()).copied(),
            ExprKind::Constant(value) => Key::Constant(discriminant(value), value.to_string()),
            ExprKind::Param(id) => Key::Param(*id),
            ExprKind::Slot(slot) => {
                if let Some((_, given)) = self.given.iter().rev().find(|(of, _)| of == slot) {
                    return *given;
                }
                match walk.bound.iter().rev().position(|bound| bound == slot) {
                    Some(at) => Key::Bound(at),
                    None => Key::Slot(*slot),
                }
            }
            ExprKind::Root(root) => Key::Root(*root),
            ExprKind::Group(group) => Key::Group(*group),
            ExprKind::Memo(memo) => Key::Memo(*memo),
            ExprKind::Now => Key::Now,
            ExprKind::Field(object, field) => Key::Field(self.number_of(object, walk)?, *field),
            ExprKind::ApiField(object, name) => Key::ApiField(self.number_of(object, walk)?, name.clone()),
            ExprKind::RecordField(object, at) => Key::RecordField(self.number_of(object, walk)?, *at),
            ExprKind::Macro(_) => return self.number_of_macro(expr, walk),
            ExprKind::Index(object, index) => {
                let parts = vec![self.number_of(object, walk)?, self.number_of_index(index, walk)?];
                Key::Parts(Shape::Index, parts.into())
            }
            ExprKind::Resource(object, name) => {
                let parts = vec![self.number_of(object, walk)?, self.number_of_index(name, walk)?];
                Key::Parts(Shape::Resource, parts.into())
            }
            ExprKind::CallDef(def, args) => {
                let of = self.tables.defs.get(def.index())?;
                let parts: Vec<Option<ValueId>> =
                    args.iter().map(|part| self.number_of(part, walk)).collect();
                // A def that is a path is the path of what it is given.
                if is_path(&of.body) {
                    return self.with_given(*def, parts, |this, body| this.number_of(body, walk));
                }
                let parts: Option<Vec<ValueId>> = parts.into_iter().collect();
                Key::Parts(Shape::CallDef(of.span), parts?.into())
            }
            _ => {
                let (shape, parts) = shape_of(expr)?;
                let parts: Option<Vec<ValueId>> =
                    parts.into_iter().map(|part| self.number_of(part, walk)).collect();
                Key::Parts(shape, parts?.into())
            }
        };
        Some(self.numbers.number(key))
    }

    /// Looks at the body of a def whose parameters stand for values with these numbers.
    pub(super) fn with_given<R>(
        &mut self,
        def: DefId,
        args: Vec<Option<ValueId>>,
        look: impl FnOnce(&mut Self, &Expr) -> Option<R>,
    ) -> Option<R> {
        let of = self.tables.defs.get(def.index())?;
        let outer = self.given.len();
        self.given.extend(of.parameters.iter().copied().zip(args));
        let seen = look(self, &of.body);
        self.given.truncate(outer);
        seen
    }

    /// An index after its object. What is made of constants is the constant.
    fn number_of_index(&mut self, index: &Expr, walk: &mut Walk) -> Option<ValueId> {
        match constant(index, self.tables) {
            Some(value) => {
                let key = Key::Constant(discriminant(&value), value.to_string());
                Some(self.numbers.number(key))
            }
            None => self.number_of(index, walk),
        }
    }

    fn number_of_macro(&mut self, expr: &Expr, walk: &mut Walk) -> Option<ValueId> {
        let ExprKind::Macro(of) = &expr.kind else { return None };
        let mut parts = vec![self.number_of(&of.over, walk)?];
        let depth = walk.bound.len();
        walk.bound.push(of.slot);
        walk.bound.extend(of.second);
        for part in of.condition.iter().chain(&of.body) {
            parts.push(self.number_of(part, walk)?);
        }
        walk.bound.truncate(depth);
        let variables = 1 + usize::from(of.second.is_some());
        let (condition, body) = (of.condition.is_some(), of.body.is_some());
        let shape = Shape::Macro(of.kind, variables, condition, body, expr.ty.present().clone());
        Some(self.intern(shape, parts))
    }
}

/// A name, its fields, and entries under constant keys and names.
fn is_path(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Root(_) | ExprKind::Slot(_) | ExprKind::Constant(_) | ExprKind::Param(_) => true,
        ExprKind::Present(of)
        | ExprKind::Field(of, _)
        | ExprKind::ApiField(of, _)
        | ExprKind::RecordField(of, _) => is_path(of),
        ExprKind::Index(of, key) | ExprKind::Resource(of, key) => is_path(of) && is_path(key),
        _ => false,
    }
}

/// The kind of an expression, and its parts.
fn shape_of(expr: &Expr) -> Option<(Shape, Vec<&Expr>)> {
    fn one(shape: Shape, part: &Expr) -> Option<(Shape, Vec<&Expr>)> {
        Some((shape, vec![part]))
    }
    fn two<'e>(shape: Shape, left: &'e Expr, right: &'e Expr) -> Option<(Shape, Vec<&'e Expr>)> {
        Some((shape, vec![left, right]))
    }
    match &expr.kind {
        ExprKind::Widen(inner) => one(Shape::Widen, inner),
        ExprKind::Has(inner) => one(Shape::Has(matches!(inner.kind, ExprKind::Resource(..))), inner),
        ExprKind::Ledger(id, key) => one(Shape::Ledger(*id), key),
        ExprKind::Source(id, key) => one(Shape::Source(*id), key),
        ExprKind::Not(inner) => one(Shape::Not, inner),
        ExprKind::Negate(inner) => one(Shape::Negate, inner),
        ExprKind::And(left, right) => two(Shape::And, left, right),
        ExprKind::Or(left, right) => two(Shape::Or, left, right),
        ExprKind::Equal(left, right) => two(Shape::Equal, left, right),
        ExprKind::Compare(op, left, right) => two(Shape::Compare(*op), left, right),
        ExprKind::In(left, right) => two(Shape::In, left, right),
        ExprKind::Arithmetic(op, left, right) => {
            let types = [&left.ty, &right.ty, &expr.ty].map(|ty| ty.present().clone());
            two(Shape::Arithmetic(*op, Box::new(types)), left, right)
        }
        ExprKind::Conditional(condition, then, otherwise) => {
            Some((Shape::Conditional, vec![condition, then, otherwise]))
        }
        ExprKind::Coalesce(left, right) => two(Shape::Coalesce, left, right),
        ExprKind::List(elements) => {
            let shape = Shape::List(elements.iter().map(|(_, optional)| *optional).collect());
            Some((shape, elements.iter().map(|(element, _)| element).collect()))
        }
        ExprKind::Map(entries) => {
            let shape = Shape::Map(entries.iter().map(|(_, _, optional)| *optional).collect());
            Some((shape, entries.iter().flat_map(|(key, value, _)| [key, value]).collect()))
        }
        ExprKind::Record(values) => Some((Shape::Record, values.iter().collect())),
        ExprKind::Call(function, args, _) => match args.as_slice() {
            [of] if function.def().counts_elements => one(Shape::Size, of),
            _ => Some((Shape::Call(*function), args.iter().collect())),
        },
        ExprKind::LookUp(which, args) => Some((Shape::LookUp(*which), args.iter().collect())),
        _ => None,
    }
}
