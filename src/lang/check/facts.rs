//! Narrowing: what earlier conditions show about a path at the place of an expression.
//!
//! A path is a name, its fields, and its indices that are constants, names or paths. Facts are a stack: what
//! was learnt inside a part of an expression or block is forgotten at its end.

use super::Checker;
use crate::lang::language::functions::Absence;
use crate::lang::typed::{CompareOp, Expr, ExprKind, MacroKind, SlotId};
use crate::lang::types::range::{Range, Relation};
use crate::lang::types::value::Value;
use crate::lang::types::{Ty, Type};
use std::fmt::Write;

/// What is known.
#[derive(Clone, Default)]
pub(super) struct Facts(Vec<Fact>);

#[derive(Clone, PartialEq)]
enum Fact {
    /// The path has a value.
    Present(String),
    /// The numbers at the path lie in this range.
    Range(String, Range),
    /// The list, map or text at the path has at least so many elements.
    Size(String, i128),
}

impl Facts {
    pub(super) fn mark(&self) -> usize {
        self.0.len()
    }

    pub(super) fn forget(&mut self, mark: usize) {
        self.0.truncate(mark);
    }

    fn is_present(&self, key: &str) -> bool {
        self.0.iter().any(|fact| matches!(fact, Fact::Present(path) if path == key))
    }

    fn size(&self, key: &str) -> i128 {
        self.0
            .iter()
            .filter_map(|fact| match fact {
                Fact::Size(path, least) if path == key => Some(*least),
                _ => None,
            })
            .max()
            .unwrap_or(0)
    }
}

impl Checker<'_> {
    /// An expression with its known facts: present where a condition tested it, its range cut.
    pub(super) fn narrowed(&self, mut expr: Expr) -> Expr {
        if self.frame.facts.0.is_empty() || !(expr.ty.is_optional() || expr.range != Range::None) {
            return expr;
        }
        let Some(key) = self.key(&expr) else { return expr };
        for fact in &self.frame.facts.0 {
            if let Fact::Range(path, range) = fact
                && *path == key
            {
                expr.range = expr.range.intersect(*range);
            }
        }
        if expr.ty.is_optional() && (self.frame.facts.is_present(&key) || self.has_element(&expr)) {
            return self.present(expr);
        }
        expr
    }

    /// `l[2]` where `size(l) > 2` is known.
    fn has_element(&self, expr: &Expr) -> bool {
        let ExprKind::Index(list, index) = &expr.kind else { return false };
        if !matches!(list.ty.present(), Type::List(_)) {
            return false;
        }
        let (Some(Value::Int(at)), Some(key)) = (self.constant(index), self.key(list)) else { return false };
        at >= 0 && self.frame.facts.size(&key) > i128::from(at)
    }

    /// Marks an expression as proved to have a value.
    pub(super) fn present(&self, expr: Expr) -> Expr {
        let Type::Optional(inner) = &expr.ty else { return expr };
        let ty = (**inner).clone();
        Expr { ty, range: expr.range, span: expr.span, kind: ExprKind::Present(Box::new(expr)) }
    }

    /// The path of an expression as a text; equal texts are the same path.
    pub(super) fn key(&self, expr: &Expr) -> Option<String> {
        let mut key = String::new();
        self.write_key(expr, &mut key).then_some(key)
    }

    fn write_key(&self, expr: &Expr, key: &mut String) -> bool {
        match &expr.kind {
            ExprKind::Root(root) => {
                key.push_str(root.word());
                true
            }
            ExprKind::Slot(slot) => write!(key, "${}", slot.0).is_ok(),
            ExprKind::Group(group) => write!(key, "group{}", group.0).is_ok(),
            ExprKind::Let(id) => {
                key.push_str(&self.let_keys[id.index()]);
                true
            }
            ExprKind::Present(inner) | ExprKind::Widen(inner) => self.write_key(inner, key),
            ExprKind::Field(object, field) => {
                let known = self.write_key(object, key);
                key.push('.');
                key.push_str(field.def().name);
                known
            }
            ExprKind::ApiField(object, name) => self.write_key(object, key) && write!(key, ".{name}").is_ok(),
            ExprKind::RecordField(object, at) => self.write_key(object, key) && write!(key, ".#{at}").is_ok(),
            ExprKind::Index(object, index) | ExprKind::Resource(object, index) => {
                self.write_key(object, key) && self.write_index(index, key)
            }
            ExprKind::Call(function, args, _) => match args.as_slice() {
                [of] if function.def().counts_elements => {
                    key.push_str("size ");
                    self.write_key(of, key)
                }
                _ => false,
            },
            _ => false,
        }
    }

    /// An index behind its object: a constant, or a path.
    fn write_index(&self, index: &Expr, key: &mut String) -> bool {
        key.push('[');
        let done = match self.constant(index) {
            Some(constant) => write!(key, "{constant}").is_ok(),
            None => self.write_key(index, key),
        };
        key.push(']');
        done
    }

    /// Learns what follows when a condition has this outcome.
    pub(super) fn assume(&mut self, condition: &Expr, truth: bool) {
        let mut facts = Vec::new();
        self.learn(condition, truth, &mut facts);
        self.frame.facts.0.extend(facts);
    }

    /// The slot holds a key of the map.
    pub(super) fn known_key(&mut self, map: &Expr, slot: SlotId) {
        if let Some(key) = self.key(map) {
            self.frame.facts.0.push(Fact::Present(format!("{key}[${}]", slot.0)));
        }
    }

    fn learn(&self, condition: &Expr, truth: bool, facts: &mut Vec<Fact>) {
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
                self.learn(&self.lets[id.index()].value, truth, facts);
            }
            ExprKind::Has(inner) if truth => self.learn_present(inner, facts),
            ExprKind::Equal(left, right) if truth => self.learn_equal(left, right, facts),
            ExprKind::Equal(left, right) => self.learn_unequal(left, right, facts),
            ExprKind::Compare(op, left, right) => {
                let op = match (op, truth) {
                    (CompareOp::Less, true) | (CompareOp::GreaterEqual, false) => Relation::Less,
                    (CompareOp::LessEqual, true) | (CompareOp::Greater, false) => Relation::LessEqual,
                    (CompareOp::Greater, true) | (CompareOp::LessEqual, false) => Relation::Greater,
                    (CompareOp::GreaterEqual, true) | (CompareOp::Less, false) => Relation::GreaterEqual,
                };
                self.cut(left, op, right.range, facts);
                self.cut(right, op.mirrored(), left.range, facts);
            }
            ExprKind::In(element, collection) if truth => self.learn_member(element, collection, facts),
            ExprKind::Macro(of) if truth && matches!(of.kind, MacroKind::Exists | MacroKind::ExistsOne) => {
                self.learn_size(&of.over, 1, facts);
            }
            _ => {}
        }
    }

    /// `left == right` holds.
    fn learn_equal(&self, left: &Expr, right: &Expr, facts: &mut Vec<Fact>) {
        self.learn_present(left, facts);
        self.learn_present(right, facts);
        self.cut(left, Relation::Equal, right.range, facts);
        self.cut(right, Relation::Equal, left.range, facts);
        if let Some(Value::List(items)) = self.constant(right)
            && !items.is_empty()
        {
            self.learn_size(left, items.len() as i128, facts);
        }
    }

    /// `left == right` does not hold.
    fn learn_unequal(&self, left: &Expr, right: &Expr, facts: &mut Vec<Fact>) {
        if !left.ty.is_optional() && !right.ty.is_optional() {
            self.cut(left, Relation::NotEqual, right.range, facts);
            self.cut(right, Relation::NotEqual, left.range, facts);
            let empty = match self.constant(right) {
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
    fn learn_member(&self, element: &Expr, collection: &Expr, facts: &mut Vec<Fact>) {
        self.learn_present(element, facts);
        self.learn_present(collection, facts);
        match collection.ty.present() {
            Type::Map(..) | Type::Resources => {
                let mut key = String::new();
                if self.write_key(collection, &mut key) && self.write_index(element, &mut key) {
                    facts.push(Fact::Present(key));
                }
            }
            Type::List(_) | Type::Set(_) => {
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

    /// A path has a value, and so has everything it leads through.
    fn learn_present(&self, expr: &Expr, facts: &mut Vec<Fact>) {
        match &expr.kind {
            ExprKind::Present(inner) | ExprKind::Widen(inner) => return self.learn_present(inner, facts),
            // What conversions and methods make of an absent value is absent, unless they take it as CEL's optional.
            ExprKind::Call(function, args, _) => {
                let def = function.def();
                if let (Some(Ty::Optional(_)), Some(arg)) = (def.params.first(), args.first())
                    && !matches!(def.absent, Absence::Taken)
                {
                    self.learn_present(arg, facts);
                }
                return;
            }
            _ => {}
        }
        if expr.ty.is_optional()
            && let Some(key) = self.key(expr)
        {
            facts.push(Fact::Present(key));
        }
        match &expr.kind {
            ExprKind::Let(id) => {
                let value = &self.lets[id.index()].value;
                if !matches!(value.kind, ExprKind::Let(_)) {
                    self.learn_present(value, facts);
                }
            }
            ExprKind::Field(object, _)
            | ExprKind::ApiField(object, _)
            | ExprKind::RecordField(object, _)
            | ExprKind::Resource(object, _) => self.learn_present(object, facts),
            ExprKind::Index(object, index) => {
                self.learn_present(object, facts);
                self.learn_present(index, facts);
                if let (Type::List(_), Some(Value::Int(at))) = (object.ty.present(), self.constant(index)) {
                    self.learn_size(object, i128::from(at) + 1, facts);
                }
            }
            _ => {}
        }
    }

    fn learn_size(&self, of: &Expr, least: i128, facts: &mut Vec<Fact>) {
        if let Some(key) = self.key(of) {
            facts.push(Fact::Range(format!("size {key}"), Range::whole(least, i128::from(i64::MAX))));
            facts.push(Fact::Size(key, least));
        }
    }

    /// Cuts the range of a path by a comparison with a range.
    fn cut(&self, expr: &Expr, op: Relation, bound: Range, facts: &mut Vec<Fact>) {
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
        let Some(key) = self.key(inner) else { return };
        if let ExprKind::Call(_, args, _) = &inner.kind
            && let (Range::Whole { lo, .. }, [of]) = (cut, args.as_slice())
            && let Some(list) = self.key(of)
        {
            facts.push(Fact::Size(list, lo));
        }
        facts.push(Fact::Range(key, cut));
    }
}

/// What two outcomes teach alike.
fn common(fact: Fact, other: &[Fact]) -> Option<Fact> {
    match &fact {
        Fact::Present(_) => other.contains(&fact).then_some(fact),
        Fact::Range(path, range) => other.iter().find_map(|fact| match fact {
            Fact::Range(path2, range2) if path2 == path => {
                Some(Fact::Range(path.clone(), range.union(*range2)))
            }
            _ => None,
        }),
        Fact::Size(path, least) => other.iter().find_map(|fact| match fact {
            Fact::Size(path2, least2) if path2 == path => Some(Fact::Size(path.clone(), *least.min(least2))),
            _ => None,
        }),
    }
}
