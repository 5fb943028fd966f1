//! Conditions and numbers over columns, computed for the 64 rows of a word.

use super::{ColumnScan, RangeBool, RangeFloat, RangeNumber, ResourceAmount, Wanted};
use crate::typed::CompareOp;
use crate::types::arithmetic;
use crate::types::value::Value;
use bayplan_model::{bits, pack};

impl RangeBool {
    /// The rows of `word` in `mask` for which the condition holds.
    pub fn test(&self, scan: &mut ColumnScan<'_, '_>, word: usize, mask: u64) -> u64 {
        match self {
            RangeBool::Constant(true) => mask,
            RangeBool::Constant(false) => 0,
            RangeBool::Register(at) => {
                if scan.env.registers.get(*at).is_some_and(Value::holds) {
                    mask
                } else {
                    0
                }
            }
            RangeBool::LabelEquals(label, operand) => match scan.operands.get(*operand) {
                Some(Wanted::One(Some(wanted))) => scan.label(*label, word, mask, |v| v == Some(wanted)),
                _ => 0,
            },
            RangeBool::LabelIn(label, operand) => match scan.operands.get(*operand) {
                Some(Wanted::Many(wanted)) => {
                    scan.label(*label, word, mask, |value| value.is_some_and(|v| wanted.contains(v)))
                }
                _ => 0,
            },
            RangeBool::LabelHas(label) => scan.label(*label, word, mask, |value| value.is_some()),
            RangeBool::Unschedulable => {
                let set = scan.env.context.snapshot.columns().unschedulable();
                set.words().get(word).copied().unwrap_or(0) & mask
            }
            RangeBool::Not(inner) => mask & !inner.test(scan, word, mask),
            RangeBool::And(left, right) => match left.test(scan, word, mask) {
                0 => 0,
                rest => right.test(scan, word, rest),
            },
            RangeBool::Or(left, right) => {
                let held = left.test(scan, word, mask);
                match mask & !held {
                    0 => held,
                    rest => held | right.test(scan, word, rest),
                }
            }
            RangeBool::Compare(op, left, right) => {
                let (mut a, mut b) = ([0; 64], [0; 64]);
                let a = left.block(scan, word, mask, &mut a);
                if let Some(number) = right.single(scan) {
                    return mask & compare_to(*op, a, number);
                }
                mask & compare(*op, a, right.block(scan, word, mask, &mut b))
            }
            RangeBool::Equal(left, right) => {
                let (mut a, mut b) = ([0; 64], [0; 64]);
                let a = left.block(scan, word, mask, &mut a);
                mask & pairs(a, right.block(scan, word, mask, &mut b), |a, b| a == b)
            }
            RangeBool::CompareFloat(op, left, right) => {
                let (mut a, mut b) = ([0.0; 64], [0.0; 64]);
                left.fill(scan, word, mask, &mut a);
                right.fill(scan, word, mask, &mut b);
                mask & compare(*op, &a, &b)
            }
            RangeBool::ByLabels(condition) => {
                let mut truths = 0;
                for bit in bits(mask) {
                    let row = word * 64 + bit;
                    truths |= condition.value(scan, row, |of, env| u64::from(of(env))) << bit;
                    scan.keep_fault(row);
                }
                truths
            }
            RangeBool::Closure(condition) => {
                let mut truths = 0;
                for bit in bits(mask) {
                    if scan.turn_to(word * 64 + bit) {
                        truths |= u64::from(condition(&mut scan.env)) << bit;
                        scan.keep_fault(word * 64 + bit);
                    }
                }
                truths
            }
        }
    }
}

fn compare<T: PartialOrd + Copy>(op: CompareOp, a: &[T; 64], b: &[T; 64]) -> u64 {
    match op {
        CompareOp::Less => pairs(a, b, |a, b| a < b),
        CompareOp::LessEqual => pairs(a, b, |a, b| a <= b),
        CompareOp::Greater => pairs(a, b, |a, b| a > b),
        CompareOp::GreaterEqual => pairs(a, b, |a, b| a >= b),
    }
}

fn compare_to<T: PartialOrd + Copy>(op: CompareOp, a: &[T; 64], b: T) -> u64 {
    match op {
        CompareOp::Less => each(a, |a| a < b),
        CompareOp::LessEqual => each(a, |a| a <= b),
        CompareOp::Greater => each(a, |a| a > b),
        CompareOp::GreaterEqual => each(a, |a| a >= b),
    }
}

fn each<T: Copy>(a: &[T; 64], test: impl Fn(T) -> bool) -> u64 {
    let mut flags = [0; 64];
    for (flag, a) in flags.iter_mut().zip(a) {
        *flag = u8::from(test(*a));
    }
    pack(&flags)
}

fn pairs<T: Copy>(a: &[T; 64], b: &[T; 64], test: impl Fn(T, T) -> bool) -> u64 {
    let mut flags = [0; 64];
    for (flag, (a, b)) in flags.iter_mut().zip(a.iter().zip(b)) {
        *flag = u8::from(test(*a, *b));
    }
    pack(&flags)
}

impl RangeNumber {
    /// The number, where it is the same for all nodes.
    fn single(&self, scan: &ColumnScan<'_, '_>) -> Option<i64> {
        match self {
            RangeNumber::Constant(number) => Some(*number),
            RangeNumber::Register(at) => {
                Some(scan.env.registers.get(*at).and_then(Value::as_int).unwrap_or(0))
            }
            _ => None,
        }
    }

    /// The numbers of the rows of `word`: a column in place, others written to `out`.
    fn block<'o, 'a: 'o>(
        &self,
        scan: &mut ColumnScan<'a, '_>,
        word: usize,
        mask: u64,
        out: &'o mut [i64; 64],
    ) -> &'o [i64; 64] {
        let column = match self {
            RangeNumber::Column(ResourceAmount::Allocatable, at) => {
                scan.resources.get(*at).map(|(has, _)| *has)
            }
            RangeNumber::Column(ResourceAmount::Requested, at) => {
                scan.resources.get(*at).map(|(_, used)| *used)
            }
            _ => None,
        };
        if let Some(block) = column.and_then(|column| column.get(word)) {
            return block;
        }
        self.fill(scan, word, mask, out);
        out
    }

    /// Writes the numbers of the rows of `word`; those outside `mask` are anything.
    pub fn fill(&self, scan: &mut ColumnScan<'_, '_>, word: usize, mask: u64, out: &mut [i64; 64]) {
        match self {
            RangeNumber::Constant(number) => out.fill(*number),
            RangeNumber::Register(at) => {
                out.fill(scan.env.registers.get(*at).and_then(Value::as_int).unwrap_or(0));
            }
            RangeNumber::Column(part, at) => {
                let column = scan.resources.get(*at);
                match column.and_then(|(has, used)| Some((has.get(word)?, used.get(word)?))) {
                    // No node has any of it.
                    None => out.fill(0),
                    Some((has, used)) => match part {
                        ResourceAmount::Allocatable => *out = *has,
                        ResourceAmount::Requested => *out = *used,
                        ResourceAmount::Free => free(has, used, out),
                    },
                }
            }
            RangeNumber::Add(left, right) => {
                combine(left, right, scan, word, mask, out, i64::saturating_add);
            }
            RangeNumber::Subtract(left, right) => {
                combine(left, right, scan, word, mask, out, i64::saturating_sub);
            }
            RangeNumber::Multiply(left, right) => {
                combine(left, right, scan, word, mask, out, i64::saturating_mul);
            }
            RangeNumber::Percent(left, right) => {
                combine(left, right, scan, word, mask, out, arithmetic::percent);
            }
            RangeNumber::ByLabels(number) => {
                for bit in bits(mask) {
                    out[bit] = number.value(scan, word * 64 + bit, |of, env| of(env) as u64) as i64;
                }
            }
            RangeNumber::Closure(number) => {
                for bit in bits(mask) {
                    if scan.turn_to(word * 64 + bit) {
                        out[bit] = number(&mut scan.env);
                    }
                }
            }
        }
    }
}

/// What is left of each node's amount, at least 0.
fn free(has: &[i64; 64], used: &[i64; 64], out: &mut [i64; 64]) {
    let rows = out.iter_mut().zip(has.iter().zip(used));
    if has.iter().zip(used).fold(0, |all, (has, used)| all | has | used) >= 0 {
        // The difference of two amounts that are at least 0 does not overflow.
        rows.for_each(|(out, (has, used))| *out = (has - used).max(0));
    } else {
        rows.for_each(|(out, (has, used))| *out = has.saturating_sub(*used).max(0));
    }
}

fn combine(
    left: &RangeNumber,
    right: &RangeNumber,
    scan: &mut ColumnScan<'_, '_>,
    word: usize,
    mask: u64,
    out: &mut [i64; 64],
    op: impl Fn(i64, i64) -> i64,
) {
    let mut b = [0; 64];
    left.fill(scan, word, mask, out);
    right.fill(scan, word, mask, &mut b);
    for (out, b) in out.iter_mut().zip(&b) {
        *out = op(*out, *b);
    }
}

impl RangeFloat {
    /// Writes the floats of the rows of `word`; those outside `mask` are anything.
    pub fn fill(&self, scan: &mut ColumnScan<'_, '_>, word: usize, mask: u64, out: &mut [f64; 64]) {
        match self {
            RangeFloat::Constant(number) => out.fill(*number),
            RangeFloat::Register(at) => {
                out.fill(scan.env.registers.get(*at).and_then(Value::as_float).unwrap_or(0.0));
            }
            RangeFloat::Widen(number) => {
                let mut whole = [0; 64];
                number.fill(scan, word, mask, &mut whole);
                for (out, whole) in out.iter_mut().zip(&whole) {
                    *out = *whole as f64;
                }
            }
            RangeFloat::Ratio(left, right, otherwise) => {
                quotient(left, right, scan, word, mask, out, |a, b| {
                    arithmetic::ratio(a, b).unwrap_or(*otherwise)
                });
            }
            RangeFloat::Share(left, right) => quotient(left, right, scan, word, mask, out, arithmetic::share),
            RangeFloat::Add(left, right) => float(left, right, scan, word, mask, out, |a, b| a + b),
            RangeFloat::Subtract(left, right) => float(left, right, scan, word, mask, out, |a, b| a - b),
            RangeFloat::Multiply(left, right) => float(left, right, scan, word, mask, out, |a, b| a * b),
            RangeFloat::ByLabels(number) => {
                for bit in bits(mask) {
                    let bits = number.value(scan, word * 64 + bit, |of, env| of(env).to_bits());
                    out[bit] = f64::from_bits(bits);
                }
            }
            RangeFloat::Closure(number) => {
                for bit in bits(mask) {
                    if scan.turn_to(word * 64 + bit) {
                        out[bit] = number(&mut scan.env);
                    }
                }
            }
        }
    }
}

fn quotient(
    left: &RangeNumber,
    right: &RangeNumber,
    scan: &mut ColumnScan<'_, '_>,
    word: usize,
    mask: u64,
    out: &mut [f64; 64],
    op: impl Fn(i64, i64) -> f64,
) {
    let (mut a, mut b) = ([0; 64], [0; 64]);
    left.fill(scan, word, mask, &mut a);
    right.fill(scan, word, mask, &mut b);
    for (out, (a, b)) in out.iter_mut().zip(a.iter().zip(&b)) {
        *out = op(*a, *b);
    }
}

fn float(
    left: &RangeFloat,
    right: &RangeFloat,
    scan: &mut ColumnScan<'_, '_>,
    word: usize,
    mask: u64,
    out: &mut [f64; 64],
    op: impl Fn(f64, f64) -> f64,
) {
    let mut b = [0.0; 64];
    left.fill(scan, word, mask, out);
    right.fill(scan, word, mask, &mut b);
    for (out, b) in out.iter_mut().zip(&b) {
        *out = arithmetic::finite(op(*out, *b));
    }
}
