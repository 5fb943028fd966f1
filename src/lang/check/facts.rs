//! Narrowing: what earlier conditions show about a value at the place of an expression.
//!
//! Facts are about values by their numbers (`numbering.rs`), so two spellings of one value share them. What was
//! learnt inside a part of an expression or block is forgotten at its end. An element, the value of a key and a
//! field may be absent although there is a place for it: a key in a map or an index below the size shows a value
//! only where the type of the elements has one.

use super::Checker;
use super::numbering::{Numbering, ValueId};
use crate::eval::constant::constant;
use crate::language::functions::{Absence, Presence};
use crate::typed::operation::{each_exposed_part, is_source};
use crate::typed::{CompareOp, Expr, ExprKind, MacroKind, SlotId};
use crate::types::range::{Range, Relation};
use crate::types::value::{Constant, Value};
use crate::types::{Ty, Type};
use rustc_hash::FxHashMap;
use std::rc::Rc;

/// What is known of one value.
#[derive(Clone, Copy, Debug, Default)]
struct KnownFact {
    /// It is there.
    present: bool,
    /// The numbers that it may be.
    range: Option<Range>,
    /// The list, map or text has at least so many elements.
    least: i128,
}

/// What is known.
#[derive(Default)]
pub(super) struct Facts {
    /// What holds in the whole policy.
    policy: Rc<FxHashMap<ValueId, KnownFact>>,
    here: FxHashMap<ValueId, KnownFact>,
    /// What was known in `here` before each change, to take it back.
    before: Vec<(ValueId, Option<KnownFact>)>,
}

/// What holds in the whole policy but `queue by`.
#[derive(Clone, Default)]
pub(super) struct PolicyFacts(Rc<FxHashMap<ValueId, KnownFact>>);

/// One thing that an outcome of a condition shows.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fact {
    /// The value is there.
    Present(ValueId),
    /// The numbers lie in this range.
    Range(ValueId, Range),
    /// The list, map or text has at least so many elements.
    Size(ValueId, i128),
}

impl Facts {
    /// What the policy shows, and nothing more.
    pub(super) fn of_policy(of: &PolicyFacts) -> Self {
        Facts { policy: of.0.clone(), ..Facts::default() }
    }

    /// All that is known, as what holds in the whole policy.
    pub(super) fn into_policy(self) -> PolicyFacts {
        PolicyFacts(Rc::new(self.here))
    }

    pub(super) fn mark(&self) -> usize {
        self.before.len()
    }

    pub(super) fn forget(&mut self, mark: usize) {
        for (of, before) in self.before.drain(mark..).rev() {
            match before {
                Some(known) => self.here.insert(of, known),
                None => self.here.remove(&of),
            };
        }
    }

    fn is_empty(&self) -> bool {
        self.here.is_empty() && self.policy.is_empty()
    }

    fn get(&self, of: ValueId) -> KnownFact {
        self.here.get(&of).or_else(|| self.policy.get(&of)).copied().unwrap_or_default()
    }

    fn add(&mut self, fact: Fact) {
        let of = fact.of();
        let mut known = self.get(of);
        match fact {
            Fact::Present(_) => known.present = true,
            Fact::Range(_, range) => {
                known.range = Some(known.range.map_or(range, |before| before.intersect(range)));
            }
            Fact::Size(_, least) => known.least = known.least.max(least),
        }
        let before = self.here.insert(of, known);
        self.before.push((of, before));
    }
}

impl Fact {
    fn of(self) -> ValueId {
        match self {
            Fact::Present(of) | Fact::Range(of, _) | Fact::Size(of, _) => of,
        }
    }
}

impl Checker<'_> {
    /// An expression with its known facts: present where a condition tested it, its range cut.
    pub(super) fn narrowed(&mut self, mut expr: Expr) -> Expr {
        if self.frame.facts.is_empty() || !(expr.ty.is_optional() || expr.range != Range::None) {
            return expr;
        }
        let Some(number) = self.numbering().number(&expr) else { return expr };
        let known = self.frame.facts.get(number);
        if let Some(range) = known.range {
            expr.range = expr.range.intersect(range);
        }
        if expr.ty.is_optional() && (known.present || self.has_element(&expr)) {
            return self.present(expr);
        }
        expr
    }

    /// `l[2]` where `size(l) > 2` is known, of a list whose elements have a value.
    fn has_element(&mut self, expr: &Expr) -> bool {
        let ExprKind::Index(list, index) = &expr.kind else { return false };
        if !has_elements_with_values(list) || !matches!(list.ty.present(), Type::List(_)) {
            return false;
        }
        let at = self.sure_constant(index);
        let (Some(Value::Int(at)), Some(number)) = (at, self.numbering().number(list)) else { return false };
        at >= 0 && self.frame.facts.get(number).least > i128::from(at)
    }

    /// Marks an expression as proved to have a value.
    pub(super) fn present(&self, expr: Expr) -> Expr {
        let Type::Optional(inner) = &expr.ty else { return expr };
        let ty = (**inner).clone();
        Expr { ty, range: expr.range, span: expr.span, kind: ExprKind::Present(Box::new(expr)) }
    }

    /// Learns what follows when a condition has this outcome.
    pub(super) fn assume(&mut self, condition: &Expr, truth: bool) {
        let mut facts = Vec::new();
        self.numbering().learn(condition, truth, &mut facts);
        for fact in facts {
            self.frame.facts.add(fact);
        }
    }

    /// The slot holds a key of the map.
    pub(super) fn known_key(&mut self, map: &Expr, slot: SlotId) {
        let key = self.make(ExprKind::Slot(slot), Type::Unknown, map.span);
        if has_elements_with_values(map)
            && let Some(entry) = self.numbering().number_of_entry(map, &key)
        {
            self.frame.facts.add(Fact::Present(entry));
        }
    }
}

/// What outcomes of conditions show.
impl Numbering<'_> {
    fn value_of(&self, expr: &Expr) -> Option<Constant> {
        constant(expr, self.tables)
    }

    fn learn(&mut self, condition: &Expr, truth: bool, facts: &mut Vec<Fact>) {
        match &condition.kind {
            ExprKind::Not(inner) => self.learn(inner, !truth, facts),
            ExprKind::And(left, right) | ExprKind::Or(left, right) => {
                let and = matches!(condition.kind, ExprKind::And(..));
                if and == truth {
                    self.learn(left, truth, facts);
                    self.learn(right, truth, facts);
                } else {
                    // One of the two has this outcome: what both teach is known.
                    let (mut a, mut b) = (Vec::new(), Vec::new());
                    self.learn(left, truth, &mut a);
                    self.learn(right, truth, &mut b);
                    facts.extend(a.into_iter().filter_map(|fact| common(fact, &b)));
                }
            }
            ExprKind::Let(id) if condition.ty == Type::Bool => {
                let tables = self.tables;
                self.learn(&tables.lets[id.index()].value, truth, facts);
            }
            ExprKind::CallDef(def, args) if condition.ty == Type::Bool => {
                let args = args.iter().map(|arg| self.number(arg)).collect();
                self.with_given(*def, args, |this, body| {
                    this.learn(body, truth, facts);
                    Some(())
                });
            }
            ExprKind::Has(inner) if truth => self.learn_present(inner, facts),
            // An optional that holds something has a value.
            ExprKind::Call(function, args, _)
                if truth && function.def().presence == Some(Presence::Tests) =>
            {
                if let [optional] = args.as_slice() {
                    self.learn_held(optional, facts);
                }
            }
            ExprKind::Equal(left, right) if truth => self.learn_equal(left, right, facts),
            ExprKind::Equal(left, right) => self.learn_unequal(left, right, facts),
            ExprKind::Compare(op, left, right) => {
                let op = match (op, truth) {
                    (CompareOp::Less, true) | (CompareOp::GreaterEqual, false) => Relation::Less,
                    (CompareOp::LessEqual, true) | (CompareOp::Greater, false) => Relation::LessEqual,
                    (CompareOp::Greater, true) | (CompareOp::LessEqual, false) => Relation::Greater,
                    (CompareOp::GreaterEqual, true) | (CompareOp::Less, false) => Relation::GreaterEqual,
                };
                self.cut_by(left, op, right, facts);
                self.cut_by(right, op.mirrored(), left, facts);
            }
            ExprKind::In(element, collection) if truth => self.learn_member(element, collection, facts),
            ExprKind::Macro(of) if truth && matches!(of.kind, MacroKind::Exists | MacroKind::ExistsOne) => {
                self.learn_size(&of.over, 1, facts);
            }
            _ => {}
        }
    }

    /// An optional of CEL holds something.
    fn learn_held(&mut self, optional: &Expr, facts: &mut Vec<Fact>) {
        facts.extend(self.number_of_held(optional).map(Fact::Present));
        match &optional.kind {
            ExprKind::Call(function, args, _)
                if matches!(function.def().presence, Some(Presence::Wraps | Presence::Catches)) =>
            {
                args.iter().for_each(|of| self.learn_present(of, facts));
            }
            ExprKind::Let(id) => {
                let tables = self.tables;
                self.learn_held(&tables.lets[id.index()].value, facts);
            }
            _ => {}
        }
    }

    /// `left == right` holds.
    fn learn_equal(&mut self, left: &Expr, right: &Expr, facts: &mut Vec<Fact>) {
        self.learn_present(left, facts);
        self.learn_present(right, facts);
        // What equals `optional.of(…)` holds something.
        let holds = Some(Presence::Holds);
        for (optional, other) in [(left, right), (right, left)] {
            let made =
                matches!(&other.kind, ExprKind::Call(function, ..) if function.def().presence == holds);
            if made || matches!(self.value_of(other), Some(Value::Optional(Some(_)))) {
                self.learn_held(optional, facts);
            }
        }
        self.cut_by(left, Relation::Equal, right, facts);
        self.cut_by(right, Relation::Equal, left, facts);
        if let Some(Value::List(items)) = self.value_of(right)
            && !items.is_empty()
        {
            self.learn_size(left, items.len() as i128, facts);
        }
    }

    /// `left == right` does not hold.
    fn learn_unequal(&mut self, left: &Expr, right: &Expr, facts: &mut Vec<Fact>) {
        if !left.ty.is_optional() && !right.ty.is_optional() {
            self.cut_by(left, Relation::NotEqual, right, facts);
            self.cut_by(right, Relation::NotEqual, left, facts);
            let empty = match self.value_of(right) {
                Some(Value::List(items)) => items.is_empty(),
                Some(Value::String(text)) => text.as_str().is_empty(),
                _ => false,
            };
            if empty {
                self.learn_size(left, 1, facts);
            }
        } else if right.range != Range::None && !right.ty.is_optional() {
            // Absent, or another number: where it is present later on, the range holds.
            self.cut(left, Relation::NotEqual, right.range, facts);
        }
    }

    /// `element in collection` holds.
    fn learn_member(&mut self, element: &Expr, collection: &Expr, facts: &mut Vec<Fact>) {
        self.learn_present(element, facts);
        self.learn_present(collection, facts);
        match collection.ty.present() {
            Type::Map(..) if has_elements_with_values(collection) => {
                facts.extend(self.number_of_entry(collection, element).map(Fact::Present));
            }
            Type::List(_) | Type::Set(_) if !self.may_fail(element) => {
                self.learn_size(collection, 1, facts);
                if let ExprKind::List(items) = &collection.kind {
                    let union = items.iter().map(|(item, _)| item.range).reduce(Range::union);
                    if let Some(range) = union {
                        self.cut(element, Relation::Equal, range, facts);
                    }
                }
            }
            _ => {}
        }
    }

    /// A value is there, and so is everything that it is read through.
    fn learn_present(&mut self, expr: &Expr, facts: &mut Vec<Fact>) {
        if let ExprKind::Present(inner) | ExprKind::Widen(inner) = &expr.kind {
            return self.learn_present(inner, facts);
        }
        if expr.ty.is_optional() {
            facts.extend(self.number(expr).map(Fact::Present));
        }
        match &expr.kind {
            ExprKind::Let(id) => {
                let tables = self.tables;
                let value = &tables.lets[id.index()].value;
                if !matches!(value.kind, ExprKind::Let(_)) {
                    self.learn_present(value, facts);
                }
            }
            // Its number is that of the path, or of the call: what it is read through is there too.
            ExprKind::CallDef(def, args) => {
                let args = args.iter().map(|arg| self.number(arg)).collect();
                self.with_given(*def, args, |this, body| {
                    this.learn_present(body, facts);
                    Some(())
                });
            }
            // What conversions and methods make of an absent value is absent, unless they take it as CEL's optional.
            ExprKind::Call(function, args, _) => {
                let def = function.def();
                if let (Some(Ty::Optional(_)), Some(arg)) = (def.params.first(), args.first())
                    && !matches!(def.absent, Absence::Taken)
                {
                    self.learn_present(arg, facts);
                }
            }
            ExprKind::Field(object, _)
            | ExprKind::ApiField(object, _)
            | ExprKind::RecordField(object, _)
            | ExprKind::Resource(object, _) => self.learn_present(object, facts),
            ExprKind::Index(object, index) => {
                self.learn_present(object, facts);
                self.learn_present(index, facts);
                if let (Type::List(_), Some(Value::Int(at))) = (object.ty.present(), self.value_of(index)) {
                    self.learn_size(object, i128::from(at) + 1, facts);
                }
            }
            _ => {}
        }
    }

    fn learn_size(&mut self, of: &Expr, least: i128, facts: &mut Vec<Fact>) {
        if let Some(number) = self.number(of) {
            let size = self.number_of_size(number);
            facts.push(Fact::Range(size, Range::whole(least, i128::from(i64::MAX))));
            facts.push(Fact::Size(number, least));
        }
    }

    /// Whether an expression of CEL may be a fault. The other side of `&&` is evaluated beside a fault too, so that a
    /// comparison with it shows nothing of another value. Of the value that is the fault it may show anything: whatever
    /// reads it is the fault as well.
    pub(in crate::check) fn may_fail(&self, expr: &Expr) -> bool {
        let fails = is_source(expr)
            || match &expr.kind {
                ExprKind::Let(id) => {
                    self.tables.lets.get(id.index()).is_some_and(|of| self.may_fail(&of.value))
                }
                _ => false,
            };
        let mut found = fails;
        each_exposed_part(expr, &mut |part| found = found || self.may_fail(part));
        found
    }

    /// Cuts the range of a value by a comparison with another one.
    fn cut_by(&mut self, expr: &Expr, op: Relation, other: &Expr, facts: &mut Vec<Fact>) {
        if !self.may_fail(other) {
            self.cut(expr, op, other.range, facts);
        }
    }

    /// Cuts the range of a value by a comparison with a range.
    fn cut(&mut self, expr: &Expr, op: Relation, bound: Range, facts: &mut Vec<Fact>) {
        let inner = match &expr.kind {
            ExprKind::Widen(inner) => inner,
            _ => expr,
        };
        if inner.range == Range::None || bound == Range::None {
            return;
        }
        let cut = inner.range.cut(op, bound);
        if cut == inner.range {
            return;
        }
        let Some(number) = self.number(inner) else { return };
        if let ExprKind::Call(function, args, _) = &inner.kind
            && function.def().counts_elements
            && let (Range::Whole { lo, .. }, [of]) = (cut, args.as_slice())
            && let Some(list) = self.number(of)
        {
            facts.push(Fact::Size(list, lo));
        }
        facts.push(Fact::Range(number, cut));
    }
}

/// Whether every element of a list, or every value of a map, is there.
fn has_elements_with_values(collection: &Expr) -> bool {
    match collection.ty.present() {
        Type::List(of) | Type::Set(of) | Type::Map(_, of) => !of.is_optional() && **of != Type::Dyn,
        _ => false,
    }
}

/// What two outcomes teach alike.
fn common(fact: Fact, other: &[Fact]) -> Option<Fact> {
    match fact {
        Fact::Present(_) => other.contains(&fact).then_some(fact),
        Fact::Range(of, range) => other.iter().find_map(|fact| match fact {
            Fact::Range(same, other) if *same == of => Some(Fact::Range(of, range.union(*other))),
            _ => None,
        }),
        Fact::Size(of, least) => other.iter().find_map(|fact| match fact {
            Fact::Size(same, other) if *same == of => Some(Fact::Size(of, least.min(*other))),
            _ => None,
        }),
    }
}
