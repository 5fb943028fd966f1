//! Operators of closures: chosen by the static types of the operands when a rule is lowered, so
//! that a closure does not look at the kinds of its values again.
//!
//! The reference evaluator has an implementation of its own, which goes by the values; the property
//! test `closures_and_columns_agree_with_the_reference_evaluator` compares the two. What both share
//! is what a number and a value are: `types/arithmetic.rs` and `types/equality.rs`.

use crate::typed::{ArithmeticOp, CompareOp};
use crate::types::value::Value;
use crate::types::{Type, arithmetic};
use bayplan_model::{Resource, Time};
use std::cmp::Ordering;
use std::sync::Arc;

/// Combines two values.
pub(super) type Binary = for<'a> fn(Value<'a>, Value<'a>) -> Value<'a>;
/// Changes a value.
pub(super) type Unary = for<'a> fn(Value<'a>) -> Value<'a>;

/// What an operand is, as far as the choice of an operator depends on it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Operand {
    /// `int`: a whole number without a unit.
    Whole,
    /// `count`: divides exactly, and is a plain number beside a float.
    Count,
    /// An amount that stays whole beside a float.
    Amount,
    Uint,
    Float,
    Time,
    Resources,
    Text,
    Bytes,
    List,
    Other,
}

impl Operand {
    fn of(ty: &Type) -> Self {
        match ty.present() {
            Type::Int => Operand::Whole,
            Type::Count => Operand::Count,
            Type::Cpu | Type::Bytes | Type::Duration | Type::Amount(_) => Operand::Amount,
            Type::Uint => Operand::Uint,
            Type::Float => Operand::Float,
            Type::Time => Operand::Time,
            Type::Resources => Operand::Resources,
            Type::String => Operand::Text,
            Type::Blob => Operand::Bytes,
            Type::List(_) | Type::Set(_) => Operand::List,
            _ => Operand::Other,
        }
    }

    fn is_whole(self) -> bool {
        matches!(self, Operand::Whole | Operand::Count | Operand::Amount)
    }

    fn has_unit(self) -> bool {
        matches!(self, Operand::Count | Operand::Amount)
    }
}

/// Whether amounts of a type stay whole beside a float.
pub(super) fn is_amount(ty: &Type) -> bool {
    Operand::of(ty) == Operand::Amount
}

/// The operator between operands of two types; the result is absent if an operand is.
pub(super) fn arithmetic(op: ArithmeticOp, left: &Type, right: &Type) -> Binary {
    use Operand::{Amount, Bytes, Count, Float, List, Resources, Text, Time, Uint, Whole};
    match (Operand::of(left), Operand::of(right)) {
        (left, right) if left.is_whole() && right.is_whole() => {
            whole(op, left.has_unit() && right.has_unit())
        }
        (Uint, Uint) => uint(op),
        (Float | Whole | Count, Float | Whole | Count) => float(op),
        (Amount, Float) => scaled(op),
        (Float, Amount) if op == ArithmeticOp::Multiply => {
            |a, b| combined(b.as_int(), a.as_float(), arithmetic::scale, Value::Int)
        }
        (Float, Amount) => float(op),
        (Time, _) | (_, Time) => instant(op, Operand::of(left), Operand::of(right)),
        (Resources, Resources) => resources(op),
        (Text, Text) if op == ArithmeticOp::Add => joined_text,
        (Bytes, Bytes) if op == ArithmeticOp::Add => joined_bytes,
        (List, List) if op == ArithmeticOp::Add => joined_list,
        _ => |_, _| Value::Absent,
    }
}

/// A value of two that are there.
fn combined<'a, A, B, R>(
    a: Option<A>,
    b: Option<B>,
    op: impl FnOnce(A, B) -> R,
    made: impl FnOnce(R) -> Value<'a>,
) -> Value<'a> {
    match (a, b) {
        (Some(a), Some(b)) => made(op(a, b)),
        _ => Value::Absent,
    }
}

fn integer(value: &Value<'_>) -> Option<i64> {
    if let Value::Int(number) = value { Some(*number) } else { None }
}

/// What may have no value.
fn maybe<'a>(number: Option<i64>) -> Value<'a> {
    number.map_or(Value::Absent, Value::Int)
}

fn maybe_float<'a>(number: Option<f64>) -> Value<'a> {
    number.map_or(Value::Absent, Value::Float)
}

/// Whole numbers; two amounts with a unit divide to a share.
fn whole(op: ArithmeticOp, units: bool) -> Binary {
    match op {
        ArithmeticOp::Add => |a, b| combined(integer(&a), integer(&b), i64::saturating_add, Value::Int),
        ArithmeticOp::Subtract => |a, b| combined(integer(&a), integer(&b), i64::saturating_sub, Value::Int),
        ArithmeticOp::Multiply => |a, b| combined(integer(&a), integer(&b), i64::saturating_mul, Value::Int),
        ArithmeticOp::Divide if units => {
            |a, b| combined(integer(&a), integer(&b), arithmetic::ratio, maybe_float)
        }
        ArithmeticOp::Divide => |a, b| combined(integer(&a), integer(&b), arithmetic::div, maybe),
        ArithmeticOp::Remainder => |a, b| combined(integer(&a), integer(&b), arithmetic::rem, maybe),
    }
}

fn uint(op: ArithmeticOp) -> Binary {
    fn both<'a>(a: &Value<'a>, b: &Value<'a>, op: fn(u64, u64) -> Option<u64>) -> Value<'a> {
        match (a, b) {
            (Value::Uint(a), Value::Uint(b)) => op(*a, *b).map_or(Value::Absent, Value::Uint),
            _ => Value::Absent,
        }
    }
    match op {
        ArithmeticOp::Add => |a, b| both(&a, &b, |a, b| Some(a.saturating_add(b))),
        ArithmeticOp::Subtract => |a, b| both(&a, &b, |a, b| Some(a.saturating_sub(b))),
        ArithmeticOp::Multiply => |a, b| both(&a, &b, |a, b| Some(a.saturating_mul(b))),
        ArithmeticOp::Divide => |a, b| both(&a, &b, u64::checked_div),
        ArithmeticOp::Remainder => |a, b| both(&a, &b, u64::checked_rem),
    }
}

/// Floats, and whole numbers beside a float.
fn float(op: ArithmeticOp) -> Binary {
    match op {
        ArithmeticOp::Add => {
            |a, b| combined(a.as_float(), b.as_float(), |a, b| arithmetic::finite(a + b), Value::Float)
        }
        ArithmeticOp::Subtract => {
            |a, b| combined(a.as_float(), b.as_float(), |a, b| arithmetic::finite(a - b), Value::Float)
        }
        ArithmeticOp::Multiply => {
            |a, b| combined(a.as_float(), b.as_float(), |a, b| arithmetic::finite(a * b), Value::Float)
        }
        ArithmeticOp::Divide => {
            |a, b| combined(a.as_float(), b.as_float(), arithmetic::div_float, maybe_float)
        }
        ArithmeticOp::Remainder => |_, _| Value::Absent,
    }
}

/// An amount times or by a float.
fn scaled(op: ArithmeticOp) -> Binary {
    match op {
        ArithmeticOp::Multiply => |a, b| combined(a.as_int(), b.as_float(), arithmetic::scale, Value::Int),
        ArithmeticOp::Divide => |a, b| combined(a.as_int(), b.as_float(), arithmetic::scale_down, maybe),
        _ => |_, _| Value::Absent,
    }
}

/// The distance of two instants, and instants that are moved by a duration.
fn instant(op: ArithmeticOp, left: Operand, right: Operand) -> Binary {
    fn moved<'a>(at: &Value<'a>, by: &Value<'a>, to: fn(i64, i64) -> i64) -> Value<'a> {
        match (at, by) {
            (Value::Time(at), Value::Int(by)) => Value::Time(Time(to(at.0, *by)).in_calendar()),
            _ => Value::Absent,
        }
    }
    match (op, left, right) {
        (ArithmeticOp::Subtract, Operand::Time, Operand::Time) => |a, b| match (a, b) {
            (Value::Time(a), Value::Time(b)) => Value::Int((a - b).0),
            _ => Value::Absent,
        },
        (ArithmeticOp::Add, Operand::Time, _) => |a, b| moved(&a, &b, i64::saturating_add),
        (ArithmeticOp::Subtract, Operand::Time, _) => |a, b| moved(&a, &b, i64::saturating_sub),
        (ArithmeticOp::Add, _, Operand::Time) => |a, b| moved(&b, &a, i64::saturating_add),
        _ => |_, _| Value::Absent,
    }
}

fn resources(op: ArithmeticOp) -> Binary {
    fn both<'a>(a: &Value<'a>, b: &Value<'a>, op: fn(&mut Resource, &Resource)) -> Value<'a> {
        match (a, b) {
            (Value::Resources(a), Value::Resources(b)) => {
                let mut result = Resource::clone(a);
                op(&mut result, b);
                Value::resources(result)
            }
            _ => Value::Absent,
        }
    }
    match op {
        ArithmeticOp::Add => |a, b| both(&a, &b, Resource::add),
        _ => |a, b| both(&a, &b, Resource::sub),
    }
}

fn joined_text<'a>(a: Value<'a>, b: Value<'a>) -> Value<'a> {
    match (a.as_str(), b.as_str()) {
        (Some(a), Some(b)) => {
            let mut text = String::with_capacity(a.len() + b.len());
            text.push_str(a);
            text.push_str(b);
            Value::text(text)
        }
        _ => Value::Absent,
    }
}

fn joined_bytes<'a>(a: Value<'a>, b: Value<'a>) -> Value<'a> {
    match (a, b) {
        (Value::Blob(a), Value::Blob(b)) => Value::Blob(Arc::from([&*a, &*b].concat())),
        _ => Value::Absent,
    }
}

fn joined_list<'a>(a: Value<'a>, b: Value<'a>) -> Value<'a> {
    match (a.elements(), b.elements()) {
        (Some(a), Some(b)) => Value::List(Arc::from([&*a, &*b].concat())),
        _ => Value::Absent,
    }
}

/// The minus sign before a value of a type.
pub(super) fn negate(ty: &Type) -> Unary {
    match Operand::of(ty) {
        Operand::Float => |value| value.as_float().map_or(Value::Absent, |number| Value::Float(-number)),
        operand if operand.is_whole() => {
            |value| integer(&value).map_or(Value::Absent, |number| Value::Int(number.saturating_neg()))
        }
        _ => |_| Value::Absent,
    }
}

/// A whole number as a float; other values stay.
pub(super) fn widen(value: Value<'_>) -> Value<'_> {
    match value.as_float() {
        Some(number) => Value::Float(number),
        None => value,
    }
}

/// `<`, `<=`, `>`, `>=` of two values; false if one is absent.
pub(super) fn holds(op: CompareOp, left: &Value<'_>, right: &Value<'_>) -> bool {
    let order = left.order(right);
    let holds = match op {
        CompareOp::Less => order.is_lt(),
        CompareOp::LessEqual => order.is_le(),
        CompareOp::Greater => order.is_gt(),
        CompareOp::GreaterEqual => order.is_ge(),
    };
    holds && !left.is_absent() && !right.is_absent()
}

/// Adds up values of one type as a macro computes them, from left to right.
pub(super) enum Sum {
    Whole(i64),
    Uint(u64),
    Float(f64),
    Resources(Resource),
}

impl Sum {
    /// The sum of nothing.
    pub(crate) fn of(ty: &Type) -> Self {
        match ty.present() {
            Type::Float => Sum::Float(0.0),
            Type::Uint => Sum::Uint(0),
            Type::Resources => Sum::Resources(Resource::default()),
            _ => Sum::Whole(0),
        }
    }

    /// Adds one value; absent ones count as nothing.
    pub(crate) fn add(&mut self, value: &Value<'_>) {
        match (self, value) {
            (Sum::Whole(sum), value) => *sum = sum.saturating_add(value.as_int().unwrap_or(0)),
            (Sum::Uint(sum), Value::Uint(number)) => *sum = sum.saturating_add(*number),
            (Sum::Float(sum), value) => {
                *sum = arithmetic::finite(*sum + value.as_float().unwrap_or(0.0));
            }
            (Sum::Resources(sum), Value::Resources(amounts)) => sum.add(amounts),
            _ => {}
        }
    }

    /// What was added up.
    pub(crate) fn value<'a>(self) -> Value<'a> {
        match self {
            Sum::Whole(sum) => Value::Int(sum),
            Sum::Uint(sum) => Value::Uint(sum),
            Sum::Float(sum) => Value::Float(sum),
            Sum::Resources(sum) => Value::resources(sum),
        }
    }
}

/// Keeps the first of the smallest (`Less`) or largest (`Greater`) values.
pub(super) struct Extreme<'a> {
    which: Ordering,
    best: Option<Value<'a>>,
}

impl<'a> Extreme<'a> {
    /// Of nothing yet.
    pub(crate) fn new(which: Ordering) -> Self {
        Self { which, best: None }
    }

    /// Looks at one more value.
    pub(crate) fn look(&mut self, value: Value<'a>) {
        match &self.best {
            Some(best) if value.order(best) != self.which => {}
            _ => self.best = Some(value),
        }
    }

    /// The best value; absent if there was none.
    pub(crate) fn value(self) -> Value<'a> {
        Value::optional(self.best)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::eval::interpret;
    use crate::types::Type;

    /// Values of a type, the ends of its range among them.
    fn values(ty: &Type) -> Vec<Value<'static>> {
        let whole = [0, 1, -1, 7, -7, 1000, i64::MAX, i64::MIN];
        let mut values: Vec<Value<'static>> = match ty {
            Type::Float => [0.0, -0.0, 1.0, -7.0, 0.3, 1e300, f64::MAX, f64::MIN].map(Value::Float).into(),
            Type::Uint => [0, 1, 7, u64::MAX].map(Value::Uint).into(),
            Type::Time => [0, 1, i64::MAX, i64::MIN].map(|at| Value::Time(Time(at))).into(),
            Type::String => ["", "a", "b", "ab"].map(Value::text).into(),
            Type::Blob => [&b""[..], b"a", b"ab"].map(|bytes| Value::Blob(bytes.into())).into(),
            Type::Bool => [false, true].map(Value::Bool).into(),
            Type::List(_) => [&[][..], &[1], &[1, 2]]
                .map(|items: &[i64]| Value::list(items.iter().copied().map(Value::Int)))
                .into(),
            Type::Resources => [(0, 0), (1, 2), (i64::MAX, 1)]
                .map(|(milli_cpu, memory)| {
                    Value::resources(Resource { milli_cpu, memory, ..Resource::default() })
                })
                .into(),
            _ => whole.map(Value::Int).into(),
        };
        values.push(Value::Absent);
        values
    }

    fn types() -> [Type; 13] {
        [
            Type::Int,
            Type::Count,
            Type::Cpu,
            Type::Bytes,
            Type::Duration,
            Type::Uint,
            Type::Float,
            Type::Time,
            Type::String,
            Type::Blob,
            Type::Bool,
            Type::Resources,
            Type::Int.list(),
        ]
    }

    #[test]
    fn operators_agree_with_the_reference_evaluator_for_all_types() {
        const OPERATORS: [ArithmeticOp; 5] = [
            ArithmeticOp::Add,
            ArithmeticOp::Subtract,
            ArithmeticOp::Multiply,
            ArithmeticOp::Divide,
            ArithmeticOp::Remainder,
        ];
        for (left, right) in types().iter().flat_map(|left| types().map(|right| (left.clone(), right))) {
            for (a, b) in values(&left).iter().flat_map(|a| values(&right).into_iter().map(move |b| (a, b))) {
                for op in OPERATORS {
                    let got = arithmetic(op, &left, &right)(a.clone(), b.clone());
                    let wanted = interpret::arithmetic(op, &left, &right, a.clone(), b.clone());
                    assert_eq!(got, wanted, "{op:?} of {left} {a} and {right} {b}");
                }
            }
        }
    }

    #[test]
    fn comparisons_and_signs_agree_with_the_reference_evaluator() {
        let all = [CompareOp::Less, CompareOp::LessEqual, CompareOp::Greater, CompareOp::GreaterEqual];
        for ty in types() {
            for a in values(&ty) {
                for b in values(&ty) {
                    for op in all {
                        assert_eq!(
                            holds(op, &a, &b),
                            interpret::compare(op, &a, &b),
                            "{op:?} of {a} and {b}"
                        );
                    }
                }
                assert_eq!(widen(a.clone()), interpret::widen(a.clone()), "{a} as a float");
                if ty.is_numeric() && ty != Type::Uint {
                    assert_eq!(negate(&ty)(a.clone()), interpret::negate(a.clone()), "minus {a}");
                }
            }
        }
    }
}
