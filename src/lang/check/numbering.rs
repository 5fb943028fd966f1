//! Value numbers: two expressions with one number have the same value in one evaluation.
//!
//! Expressions have no side effects, so the number follows from the kind of an expression and the numbers of
//! its parts. A variable is identified by its declaration, not by its name. `facts` keeps what conditions
//! show under these numbers, and the unit of `r[name]` with a computed name is the number of the name.

use super::Checker;
use crate::eval::constant::{Tables, constant};
use crate::language::functions::{self, Presence};
use crate::typed::{DefId, Expr, ExprHead, ExprKind, LetId, Operation, SlotId};
use bayplan_diag::Span;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// Most parts of an expression with a number, so that long expressions are not walked again and again.
const MOST_PARTS: u32 = 64;

/// The number of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct ValueId(pub u32);

/// The head of an expression with the numbers of its operands.
#[derive(Clone, PartialEq, Eq, Hash)]
enum Key {
    Parts(ExprHead, SmallVec<[ValueId; 2]>),
    /// A let of the policy, by its declaration: one value in both fact scopes.
    Let(Span),
    BlockLet(LetId),
    /// The variable of a macro inside the expression, counted from the innermost one.
    Bound(usize),
    /// A call of a def, by its declaration: one meaning in both fact scopes.
    CallDef(Span, Box<[ValueId]>),
    /// The number of elements of a list or map, or of characters of a text.
    Size(ValueId),
    /// An expression without a number of its own: equal to nothing else.
    Other(u32),
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
            Key::Parts(ExprHead::Slot(slot), _) => vec![*slot],
            Key::Size(of) => self.slots(*of).to_vec(),
            Key::Parts(_, parts) => parts.iter().flat_map(|part| self.slots(*part)).copied().collect(),
            Key::CallDef(_, parts) => parts.iter().flat_map(|part| self.slots(*part)).copied().collect(),
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
        let params = if self.values.any_arguments { &[][..] } else { &self.declared.params };
        let known = if self.values.any_arguments { &self.values.known_for_any } else { &self.values.known };
        let tables = Tables { params, lets: &self.declared.lets, defs: &self.declared.defs, effort, known };
        Numbering {
            numbers: &mut self.values.numbers,
            lets: &self.values.let_numbers,
            tables,
            given: Vec::new(),
        }
    }

    /// Whether a value depends on one of these variables.
    pub(super) fn depends_on(&self, of: ValueId, slots: &[SlotId]) -> bool {
        self.values.numbers.slots(of).iter().any(|slot| slots.contains(slot))
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
        Some(self.intern(ExprHead::Index, vec![map, key]))
    }

    /// The number of the size of a list, map or text.
    pub(super) fn number_of_size(&mut self, of: ValueId) -> ValueId {
        self.numbers.number(Key::Size(of))
    }

    /// The number of `o.value()` of an optional.
    pub(super) fn number_of_held(&mut self, optional: &Expr) -> Option<ValueId> {
        let row = functions::with_presence(Presence::Takes)?;
        let optional = self.number(optional)?;
        Some(self.intern(ExprHead::Call(row), vec![optional]))
    }

    fn intern(&mut self, head: ExprHead, parts: impl Into<SmallVec<[ValueId; 2]>>) -> ValueId {
        self.numbers.number(Key::Parts(head, parts.into()))
    }

    fn number_of(&mut self, expr: &Expr, walk: &mut Walk) -> Option<ValueId> {
        walk.parts += 1;
        if walk.parts > MOST_PARTS {
            return None;
        }
        match &expr.kind {
            ExprKind::Present(inner) => self.number_of(inner, walk),
            ExprKind::Dynamic(Operation::Demand(_), inner) => match inner.as_slice() {
                [inner] => self.number_of(inner, walk),
                _ => None,
            },
            // The values choose what an operation of CEL does.
            ExprKind::Dynamic(..) => None,
            ExprKind::Let(id) => self.lets.get(id.index()).copied(),
            ExprKind::Slot(slot) => {
                if let Some((_, given)) = self.given.iter().rev().find(|(of, _)| of == slot) {
                    return *given;
                }
                Some(match walk.bound.iter().rev().position(|bound| bound == slot) {
                    Some(at) => self.numbers.number(Key::Bound(at)),
                    None => self.intern(expr.head(), Vec::new()),
                })
            }
            ExprKind::Index(object, index) | ExprKind::Resource(object, index) => {
                let parts = [self.number_of(object, walk)?, self.number_of_index(index, walk)?];
                Some(self.intern(expr.head(), parts))
            }
            ExprKind::Call(function, args, _) if args.len() == 1 && function.def().counts_elements => {
                let of = self.number_of(args.first()?, walk)?;
                Some(self.number_of_size(of))
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
                Some(self.numbers.number(Key::CallDef(of.span, parts?.into())))
            }
            _ => {
                let mut parts: SmallVec<[ValueId; 2]> = SmallVec::new();
                for operand in expr.operands() {
                    let depth = walk.bound.len();
                    walk.bound.extend(operand.binds.iter().flatten());
                    parts.push(self.number_of(operand.expr, walk)?);
                    walk.bound.truncate(depth);
                }
                Some(self.intern(expr.head(), parts))
            }
        }
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
                let constant = Expr { kind: ExprKind::Constant(value), ..index.clone() };
                Some(self.intern(constant.head(), Vec::new()))
            }
            None => self.number_of(index, walk),
        }
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
