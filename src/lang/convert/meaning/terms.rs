//! [`Terms`]: expressions by what they mean, whatever language says it. Two expressions that have one term have one value
//! wherever none of them is a fault: what CEL says with optionals, `has` and conditions, the policy language says by what
//! may be absent, and both become the same term here.
//!
//! Terms are shared: equal ones have one number, so that lets and defs that are written out cost nothing. A let is its value,
//! and a variable of a macro is known by how many macros are inside its own.

use crate::types::Type;
use crate::types::value::{Cel, Value};
use rustc_hash::FxHashMap;

/// A term, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Term(usize);

/// What an expression is, and its parts.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Node {
    label: String,
    parts: Vec<Term>,
}

/// All terms of two policies that are compared.
#[derive(Default)]
pub(super) struct Terms {
    nodes: Vec<Node>,
    /// How many macros are in each other at most.
    heights: Vec<usize>,
    numbers: FxHashMap<Node, Term>,
    fresh: usize,
}

/// No value.
pub(super) const ABSENT: &str = "absent";
pub(super) const EQUAL: &str = "equal";
/// Of optionals of CEL, of which two empty ones are equal.
pub(super) const EQUAL_OPTIONALS: &str = "equal optionals";
/// What every macro begins with.
pub(super) const MACRO: &str = "macro ";
/// What every call begins with that has no value where an argument has none.
pub(super) const CALL: &str = "call ";
const FALSE: &str = "bool false";
const TRUE: &str = "bool true";

impl Terms {
    fn node(&self, of: Term) -> (&str, &[Term]) {
        self.nodes.get(of.0).map_or(("", &[]), |node| (&*node.label, &*node.parts))
    }

    /// Its label.
    pub(super) fn label(&self, of: Term) -> &str {
        self.node(of).0
    }

    /// How many there are: what the comparison took.
    pub(super) fn len(&self) -> usize {
        self.nodes.len()
    }

    pub(super) fn leaf(&mut self, label: impl Into<String>) -> Term {
        self.make(label, Vec::new())
    }

    /// The term of these parts.
    pub(super) fn make(&mut self, label: impl Into<String>, mut parts: Vec<Term>) -> Term {
        let label = label.into();
        if matches!(&*label, EQUAL | EQUAL_OPTIONALS) {
            parts.sort();
        }
        let inside = parts.iter().filter_map(|part| self.heights.get(part.0)).max().copied().unwrap_or(0);
        let height = inside + usize::from(label.starts_with(MACRO));
        let node = Node { label, parts };
        if let Some(known) = self.numbers.get(&node) {
            return *known;
        }
        let made = Term(self.nodes.len());
        self.nodes.push(node.clone());
        self.heights.push(height);
        self.numbers.insert(node, made);
        made
    }

    /// A variable that nothing else has, until [`Terms::bind`] gives it its place.
    pub(super) fn fresh(&mut self) -> Term {
        self.fresh += 1;
        let label = format!("free {}", self.fresh);
        self.leaf(label)
    }

    /// The parts of a macro, with its variables by their place.
    pub(super) fn bind(&mut self, variables: &[Term], parts: Vec<Term>) -> Vec<Term> {
        let height = parts.iter().filter_map(|part| self.heights.get(part.0)).max().copied().unwrap_or(0);
        let mut known: FxHashMap<Term, Term> = FxHashMap::default();
        for (at, variable) in variables.iter().enumerate() {
            let bound = self.leaf(format!("bound {height} {at}"));
            known.insert(*variable, bound);
        }
        parts.into_iter().map(|part| self.replaced(part, &mut known)).collect()
    }

    fn replaced(&mut self, of: Term, known: &mut FxHashMap<Term, Term>) -> Term {
        if let Some(made) = known.get(&of) {
            return *made;
        }
        let (label, parts) = self.node(of);
        let (label, parts) = (label.to_owned(), parts.to_vec());
        let made = match parts.is_empty() {
            true => of,
            false => {
                let parts = parts.into_iter().map(|part| self.replaced(part, known)).collect();
                self.make(label, parts)
            }
        };
        known.insert(of, made);
        made
    }

    pub(super) fn bool(&mut self, value: bool) -> Term {
        self.leaf(if value { TRUE } else { FALSE })
    }

    /// A constant. Amounts and durations are whole numbers in the unit of the policy language.
    pub(super) fn constant(&mut self, value: &Value<'_>) -> Term {
        match value {
            Value::Absent => self.leaf(ABSENT),
            Value::Bool(value) => self.bool(*value),
            Value::Int(value) => self.leaf(format!("int {value}")),
            Value::Uint(value) => self.leaf(format!("uint {value}")),
            Value::Float(value) => self.float(*value),
            Value::Cel(Cel::Duration(long)) if long % 1000 == 0 => self.leaf(format!("int {}", long / 1000)),
            Value::Cel(Cel::Instant(at)) if at.nanoseconds % 1000 == 0 => {
                let rest = i128::from(at.nanoseconds / 1000);
                let micros = i128::from(at.seconds) * 1_000_000 + rest;
                self.leaf(format!("time {micros}"))
            }
            Value::Time(at) => self.leaf(format!("time {}", at.0)),
            Value::List(items) => {
                let parts: Vec<Term> = items.iter().map(|item| self.constant(item)).collect();
                self.list(parts.into_iter().map(|part| (part, false)).collect())
            }
            Value::Map(entries) => {
                let mut parts = Vec::new();
                for (key, value) in entries.iter() {
                    parts.push((self.constant(key), self.constant(value), false));
                }
                self.map(parts)
            }
            text if let Some(text) = text.as_str() => self.leaf(format!("text {text}")),
            other => self.leaf(format!("{:?} {other}", std::mem::discriminant(other))),
        }
    }

    fn float(&mut self, value: f64) -> Term {
        self.leaf(format!("float {:?}", value + 0.0))
    }

    /// A list, with the elements that are left out while they are absent.
    pub(super) fn list(&mut self, elements: Vec<(Term, bool)>) -> Term {
        let flags: String = elements.iter().map(|(_, left_out)| if *left_out { '?' } else { '.' }).collect();
        self.make(format!("list {flags}"), elements.into_iter().map(|(part, _)| part).collect())
    }

    /// A map, in the same way.
    pub(super) fn map(&mut self, entries: Vec<(Term, Term, bool)>) -> Term {
        let flags: String =
            entries.iter().map(|(_, _, left_out)| if *left_out { '?' } else { '.' }).collect();
        self.make(
            format!("map {flags}"),
            entries.into_iter().flat_map(|(key, value, _)| [key, value]).collect(),
        )
    }

    pub(super) fn widen(&mut self, of: Term) -> Term {
        let number = self.label(of).strip_prefix("int ").and_then(|number| number.parse::<i64>().ok());
        match number {
            Some(number) => self.float(number as f64),
            None => self.make("widen", vec![of]),
        }
    }

    pub(super) fn negate(&mut self, of: Term) -> Term {
        let label = self.label(of);
        if let Some(number) = label.strip_prefix("int ").and_then(|number| number.parse::<i64>().ok()) {
            return self.leaf(format!("int {}", number.saturating_neg()));
        }
        if let Some(number) = label.strip_prefix("float ").and_then(|number| number.parse::<f64>().ok()) {
            return self.float(-number);
        }
        self.make("negate", vec![of])
    }

    pub(super) fn has(&mut self, of: Term) -> Term {
        if self.label(of) == ABSENT { self.bool(false) } else { self.make("has", vec![of]) }
    }

    pub(super) fn not(&mut self, of: Term) -> Term {
        match self.node(of) {
            ("not", [inner]) => *inner,
            (TRUE, _) => self.bool(false),
            (FALSE, _) => self.bool(true),
            _ => self.make("not", vec![of]),
        }
    }

    /// `&&`, with what it tests only so that another side has a value left out: that side is false without it.
    pub(super) fn and(&mut self, sides: Vec<Term>) -> Term {
        let mut all = Vec::new();
        for side in sides {
            match self.node(side) {
                ("and", parts) => all.extend_from_slice(parts),
                (TRUE, _) => {}
                _ => all.push(side),
            }
        }
        let tested: Vec<Term> = all.iter().filter_map(|side| self.tested(*side)).collect();
        for side in &mut all {
            if let (EQUAL_OPTIONALS, [a, b]) = self.node(*side)
                && (tested.contains(a) || tested.contains(b))
            {
                let parts = vec![*a, *b];
                *side = self.make(EQUAL, parts);
            }
        }
        let needed = |side: &Term| {
            let tested = self.tested(*side);
            !tested
                .is_some_and(|of| all.iter().any(|other| other != side && self.is_false_without(*other, of)))
        };
        let left: Vec<Term> = all.iter().copied().filter(needed).collect();
        match left.as_slice() {
            [] => self.bool(true),
            [one] => *one,
            _ => self.make("and", left),
        }
    }

    pub(super) fn or(&mut self, sides: Vec<Term>) -> Term {
        let mut all = Vec::new();
        for side in sides {
            match self.node(side) {
                ("or", parts) => all.extend_from_slice(parts),
                _ => all.push(side),
            }
        }
        match all.as_slice() {
            [one] => *one,
            _ => self.make("or", all),
        }
    }

    /// What `has` asks for.
    fn tested(&self, of: Term) -> Option<Term> {
        match self.node(of) {
            ("has", [of]) => Some(*of),
            _ => None,
        }
    }

    /// Whether a condition does not hold where a value is absent.
    pub(super) fn is_false_without(&self, condition: Term, value: Term) -> bool {
        let (label, parts) = self.node(condition);
        let compares = label == EQUAL || label == "in" || label.starts_with("compare ");
        compares && parts.iter().any(|part| self.is_absent_without(*part, value))
            || self.is_absent_without(condition, value)
    }

    /// Whether a term is absent where a value is.
    fn is_absent_without(&self, of: Term, value: Term) -> bool {
        if of == value {
            return true;
        }
        let (label, parts) = self.node(of);
        let goes_on = matches!(label, "index" | "resource" | "widen" | "negate")
            || ["field ", "api ", "record ", "arithmetic ", CALL]
                .iter()
                .any(|begin| label.starts_with(begin));
        goes_on && parts.iter().any(|part| self.is_absent_without(*part, value))
    }

    pub(super) fn choice(&mut self, condition: Term, then: Term, otherwise: Term) -> Term {
        if self.asks_for_divisor(condition, then) {
            return match self.label(otherwise) == ABSENT {
                true => then,
                false => self.coalesce(then, otherwise),
            };
        }
        // `has(x) ? x : d`
        if let Some(tested) = self.tested(condition) {
            if tested == then {
                return self.coalesce(then, otherwise);
            }
            if self.label(otherwise) == ABSENT && self.is_absent_without(then, tested) {
                return then;
            }
        }
        self.make("choice", vec![condition, then, otherwise])
    }

    /// `b != 0` in front of `a / b`, which has no value otherwise.
    fn asks_for_divisor(&self, condition: Term, then: Term) -> bool {
        let ("not", [equal]) = self.node(condition) else { return false };
        let ("arithmetic Divide" | "arithmetic Remainder", [_, divisor]) = self.node(then) else {
            return false;
        };
        let (EQUAL, [a, b]) = self.node(*equal) else { return false };
        let zero = |of: &Term| matches!(self.label(*of), "int 0" | "uint 0" | "float 0.0");
        a == divisor && zero(b) || b == divisor && zero(a)
    }

    pub(super) fn coalesce(&mut self, value: Term, otherwise: Term) -> Term {
        let label = self.label(value);
        if label == ABSENT {
            return otherwise;
        }
        if self.label(otherwise) == ABSENT {
            return value;
        }
        // A comparison is false where an operand is absent.
        let compares = matches!(label, EQUAL | "in" | "has" | "not" | "and" | "or" | TRUE | FALSE)
            || label.starts_with("compare ");
        if compares && self.label(otherwise) == FALSE {
            return value;
        }
        self.make("coalesce", vec![value, otherwise])
    }

    /// The elements of a list that are there.
    pub(super) fn present(&mut self, list: Term, may_be_absent: bool) -> Term {
        if may_be_absent { self.make("present", vec![list]) } else { list }
    }
}

/// Whether an expression of this type may have no value, in one language or the other.
pub(super) fn may_be_absent(ty: &Type) -> bool {
    ty.is_optional() || matches!(ty, Type::CelOptional(_))
}
