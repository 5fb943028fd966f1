//! Rules over columns: conditions and scores asked of 64 nodes at a time, with a closure only where no column answers.
//!
//! A [`Pass`] is one walk over the nodes for one pod. Conditions yield a word of 64 truths; `&&` asks its right side only
//! of the nodes that are left, as the closures do. Nothing is allocated per node.

use super::{Env, Lowering};
use crate::lang::analysis::shape;
pub use crate::lang::analysis::shape::Part;
use crate::lang::codegen::closures::{BoolFn, FloatFn, IntFn, is_plain_float, is_plain_whole};
use crate::lang::eval::context::EvalContext;
use crate::lang::language::functions::Vector;
use crate::lang::typed::{ArithmeticOp, CompareOp, Expr, ExprKind, Policy};
use crate::lang::types::Type;
use crate::lang::types::arithmetic;
use crate::lang::types::value::{Constant, Value};
use crate::model::{NodeId, Symbol, bits, pack, rows_where};
use rustc_hash::FxHashSet;

/// A condition over 64 nodes.
pub enum RangeBool {
    /// The same for all nodes.
    Constant(bool),
    /// Of the pod.
    Register(usize),
    /// `node.labels[key] == text`; of a column and an operand of the pass.
    LabelEquals(usize, usize),
    /// `node.labels[key] in texts`
    LabelIn(usize, usize),
    /// `has(node.labels[key])`
    LabelHas(usize),
    /// `node.unschedulable`
    Unschedulable,
    /// `!c`
    Not(Box<RangeBool>),
    /// `a && b`
    And(Box<RangeBool>, Box<RangeBool>),
    /// `a || b`
    Or(Box<RangeBool>, Box<RangeBool>),
    /// Whole numbers compared.
    Compare(CompareOp, RangeNumber, RangeNumber),
    /// Whole numbers are equal.
    Equal(RangeNumber, RangeNumber),
    /// Floats compared.
    CompareFloat(CompareOp, RangeFloat, RangeFloat),
    /// Asked node by node.
    Closure(BoolFn),
}

/// A whole number over 64 nodes.
pub enum RangeNumber {
    /// The same for all nodes.
    Constant(i64),
    /// Of the pod.
    Register(usize),
    /// An amount of the node.
    Column(Part, usize),
    /// `a + b`
    Add(Box<RangeNumber>, Box<RangeNumber>),
    /// `a - b`
    Subtract(Box<RangeNumber>, Box<RangeNumber>),
    /// `a * b`
    Multiply(Box<RangeNumber>, Box<RangeNumber>),
    /// `percent(a, b)`
    Percent(Box<RangeNumber>, Box<RangeNumber>),
    /// Asked node by node.
    Closure(IntFn),
}

/// A float over 64 nodes.
pub enum RangeFloat {
    /// The same for all nodes.
    Constant(f64),
    /// Of the pod.
    Register(usize),
    /// A whole number as a float.
    Widen(RangeNumber),
    /// `a / b ?? c` of two amounts of one unit.
    Ratio(RangeNumber, RangeNumber, f64),
    /// `share(a, b)`
    Share(RangeNumber, RangeNumber),
    /// `a + b`
    Add(Box<RangeFloat>, Box<RangeFloat>),
    /// `a - b`
    Subtract(Box<RangeFloat>, Box<RangeFloat>),
    /// `a * b`
    Multiply(Box<RangeFloat>, Box<RangeFloat>),
    /// Asked node by node.
    Closure(FloatFn),
}

/// What the leaves of a rule read; resolved once per pass.
#[derive(Default, Debug)]
pub struct Leaves {
    labels: Vec<Symbol>,
    resources: Vec<Symbol>,
    operands: Vec<Operand>,
}

/// What a label is compared with.
#[derive(Debug)]
enum Operand {
    Constant(Constant),
    Register(usize),
}

/// An operand, ready to be compared with a label column.
enum Wanted {
    One(Option<Symbol>),
    Many(FxHashSet<Symbol>),
}

/// The columns of a label or resource; nodes are asked when nobody keeps the label.
enum LabelColumn<'a> {
    Kept(&'a [Option<Symbol>]),
    Asked(Symbol),
}

/// A column by words of rows.
type Blocks<'a> = &'a [[i64; 64]];

/// One walk over the nodes for one pod.
pub struct Pass<'a, 'e> {
    /// For closures.
    pub env: Env<'a, 'e>,
    labels: Vec<LabelColumn<'a>>,
    /// Allocatable and requested, by words of rows.
    resources: Vec<(Blocks<'a>, Blocks<'a>)>,
    operands: Vec<Wanted>,
}

impl<'a, 'e> Pass<'a, 'e> {
    /// Finds the columns that `leaves` name.
    pub fn new(
        policy: &Policy,
        leaves: &Leaves,
        context: EvalContext<'a>,
        registers: &'e [Constant],
    ) -> Self {
        let columns = context.snapshot.columns();
        let labels = leaves.labels.iter().map(|key| match columns.label(key) {
            Some(column) => LabelColumn::Kept(column),
            None => LabelColumn::Asked(key.clone()),
        });
        let resources = leaves.resources.iter().map(|name| match columns.resource(name) {
            Some(column) => (column.allocatable.as_chunks().0, column.requested.as_chunks().0),
            None => (&[][..], &[][..]),
        });
        let operands = leaves.operands.iter().map(|operand| {
            let value = match operand {
                Operand::Constant(constant) => constant,
                Operand::Register(at) => registers.get(*at).unwrap_or(&Value::Absent),
            };
            match value.elements() {
                Some(items) => {
                    Wanted::Many(items.iter().filter_map(|item| item.as_str().map(Symbol::new)).collect())
                }
                None => match value.entries() {
                    Some(entries) => Wanted::Many(
                        entries.iter().filter_map(|(key, _)| key.as_str().map(Symbol::new)).collect(),
                    ),
                    None => Wanted::One(value.as_str().map(Symbol::new)),
                },
            }
        });
        Self {
            labels: labels.collect(),
            resources: resources.collect(),
            operands: operands.collect(),
            env: Env::new(policy, context, registers),
        }
    }

    /// The rows of `word` in `mask` for which `test` holds of the label's value.
    fn label(&self, at: usize, word: usize, mask: u64, test: impl Fn(Option<&Symbol>) -> bool) -> u64 {
        match self.labels.get(at) {
            Some(LabelColumn::Kept(column)) => mask & rows_where(column, word, |value| test(value.as_ref())),
            Some(LabelColumn::Asked(key)) => {
                let mut truths = 0;
                for bit in bits(mask) {
                    let node = self.env.context.snapshot.node(NodeId::from_row(word * 64 + bit));
                    truths |= u64::from(test(node.and_then(|node| node.label(key)))) << bit;
                }
                truths
            }
            None => 0,
        }
    }

    /// Turns to a row for a closure; false when there is no such row.
    fn turn_to(&mut self, row: usize) -> bool {
        match self.env.context.snapshot.node(NodeId::from_row(row)) {
            Some(node) => {
                self.env.turn_to(node);
                true
            }
            None => false,
        }
    }
}

impl RangeBool {
    /// The rows of `word` in `mask` for which the condition holds.
    pub fn test(&self, pass: &mut Pass<'_, '_>, word: usize, mask: u64) -> u64 {
        match self {
            RangeBool::Constant(true) => mask,
            RangeBool::Constant(false) => 0,
            RangeBool::Register(at) => {
                if pass.env.registers.get(*at).is_some_and(Value::holds) {
                    mask
                } else {
                    0
                }
            }
            RangeBool::LabelEquals(label, operand) => match pass.operands.get(*operand) {
                Some(Wanted::One(Some(wanted))) => pass.label(*label, word, mask, |v| v == Some(wanted)),
                _ => 0,
            },
            RangeBool::LabelIn(label, operand) => match pass.operands.get(*operand) {
                Some(Wanted::Many(wanted)) => {
                    pass.label(*label, word, mask, |value| value.is_some_and(|v| wanted.contains(v)))
                }
                _ => 0,
            },
            RangeBool::LabelHas(label) => pass.label(*label, word, mask, |value| value.is_some()),
            RangeBool::Unschedulable => {
                let set = pass.env.context.snapshot.columns().unschedulable();
                set.words().get(word).copied().unwrap_or(0) & mask
            }
            RangeBool::Not(inner) => mask & !inner.test(pass, word, mask),
            RangeBool::And(left, right) => match left.test(pass, word, mask) {
                0 => 0,
                rest => right.test(pass, word, rest),
            },
            RangeBool::Or(left, right) => {
                let held = left.test(pass, word, mask);
                match mask & !held {
                    0 => held,
                    rest => held | right.test(pass, word, rest),
                }
            }
            RangeBool::Compare(op, left, right) => {
                let (mut a, mut b) = ([0; 64], [0; 64]);
                let a = left.block(pass, word, mask, &mut a);
                if let Some(number) = right.single(pass) {
                    return mask & compare_to(*op, a, number);
                }
                mask & compare(*op, a, right.block(pass, word, mask, &mut b))
            }
            RangeBool::Equal(left, right) => {
                let (mut a, mut b) = ([0; 64], [0; 64]);
                let a = left.block(pass, word, mask, &mut a);
                mask & pairs(a, right.block(pass, word, mask, &mut b), |a, b| a == b)
            }
            RangeBool::CompareFloat(op, left, right) => {
                let (mut a, mut b) = ([0.0; 64], [0.0; 64]);
                left.fill(pass, word, mask, &mut a);
                right.fill(pass, word, mask, &mut b);
                mask & compare(*op, &a, &b)
            }
            RangeBool::Closure(condition) => {
                let mut truths = 0;
                for bit in bits(mask) {
                    if pass.turn_to(word * 64 + bit) {
                        truths |= u64::from(condition(&mut pass.env)) << bit;
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
    fn single(&self, pass: &Pass<'_, '_>) -> Option<i64> {
        match self {
            RangeNumber::Constant(number) => Some(*number),
            RangeNumber::Register(at) => {
                Some(pass.env.registers.get(*at).and_then(Value::as_int).unwrap_or(0))
            }
            _ => None,
        }
    }

    /// The numbers of the rows of `word`: those of a column as they stand there, others written to `out`.
    fn block<'o, 'a: 'o>(
        &self,
        pass: &mut Pass<'a, '_>,
        word: usize,
        mask: u64,
        out: &'o mut [i64; 64],
    ) -> &'o [i64; 64] {
        let column = match self {
            RangeNumber::Column(Part::Allocatable, at) => pass.resources.get(*at).map(|(has, _)| *has),
            RangeNumber::Column(Part::Requested, at) => pass.resources.get(*at).map(|(_, used)| *used),
            _ => None,
        };
        if let Some(block) = column.and_then(|column| column.get(word)) {
            return block;
        }
        self.fill(pass, word, mask, out);
        out
    }

    /// Writes the numbers of the rows of `word`; those outside `mask` are anything.
    pub fn fill(&self, pass: &mut Pass<'_, '_>, word: usize, mask: u64, out: &mut [i64; 64]) {
        match self {
            RangeNumber::Constant(number) => out.fill(*number),
            RangeNumber::Register(at) => {
                out.fill(pass.env.registers.get(*at).and_then(Value::as_int).unwrap_or(0));
            }
            RangeNumber::Column(part, at) => {
                let column = pass.resources.get(*at);
                match column.and_then(|(has, used)| Some((has.get(word)?, used.get(word)?))) {
                    // No node has any of it.
                    None => out.fill(0),
                    Some((has, used)) => match part {
                        Part::Allocatable => *out = *has,
                        Part::Requested => *out = *used,
                        Part::Free => free(has, used, out),
                    },
                }
            }
            RangeNumber::Add(left, right) => {
                combine(left, right, pass, word, mask, out, i64::saturating_add);
            }
            RangeNumber::Subtract(left, right) => {
                combine(left, right, pass, word, mask, out, i64::saturating_sub);
            }
            RangeNumber::Multiply(left, right) => {
                combine(left, right, pass, word, mask, out, i64::saturating_mul);
            }
            RangeNumber::Percent(left, right) => {
                combine(left, right, pass, word, mask, out, arithmetic::percent);
            }
            RangeNumber::Closure(number) => {
                for bit in bits(mask) {
                    if pass.turn_to(word * 64 + bit) {
                        out[bit] = number(&mut pass.env);
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
        // Amounts of at least 0 do not go beyond the numbers when one is taken from another.
        rows.for_each(|(out, (has, used))| *out = (has - used).max(0));
    } else {
        rows.for_each(|(out, (has, used))| *out = has.saturating_sub(*used).max(0));
    }
}

fn combine(
    left: &RangeNumber,
    right: &RangeNumber,
    pass: &mut Pass<'_, '_>,
    word: usize,
    mask: u64,
    out: &mut [i64; 64],
    op: impl Fn(i64, i64) -> i64,
) {
    let mut b = [0; 64];
    left.fill(pass, word, mask, out);
    right.fill(pass, word, mask, &mut b);
    for (out, b) in out.iter_mut().zip(&b) {
        *out = op(*out, *b);
    }
}

impl RangeFloat {
    /// Writes the floats of the rows of `word`; those outside `mask` are anything.
    pub fn fill(&self, pass: &mut Pass<'_, '_>, word: usize, mask: u64, out: &mut [f64; 64]) {
        match self {
            RangeFloat::Constant(number) => out.fill(*number),
            RangeFloat::Register(at) => {
                out.fill(pass.env.registers.get(*at).and_then(Value::as_float).unwrap_or(0.0));
            }
            RangeFloat::Widen(number) => {
                let mut whole = [0; 64];
                number.fill(pass, word, mask, &mut whole);
                for (out, whole) in out.iter_mut().zip(&whole) {
                    *out = *whole as f64;
                }
            }
            RangeFloat::Ratio(left, right, otherwise) => {
                quotient(left, right, pass, word, mask, out, |a, b| {
                    arithmetic::ratio(a, b).unwrap_or(*otherwise)
                });
            }
            RangeFloat::Share(left, right) => quotient(left, right, pass, word, mask, out, arithmetic::share),
            RangeFloat::Add(left, right) => float(left, right, pass, word, mask, out, |a, b| a + b),
            RangeFloat::Subtract(left, right) => float(left, right, pass, word, mask, out, |a, b| a - b),
            RangeFloat::Multiply(left, right) => float(left, right, pass, word, mask, out, |a, b| a * b),
            RangeFloat::Closure(number) => {
                for bit in bits(mask) {
                    if pass.turn_to(word * 64 + bit) {
                        out[bit] = number(&mut pass.env);
                    }
                }
            }
        }
    }
}

fn quotient(
    left: &RangeNumber,
    right: &RangeNumber,
    pass: &mut Pass<'_, '_>,
    word: usize,
    mask: u64,
    out: &mut [f64; 64],
    op: impl Fn(i64, i64) -> f64,
) {
    let (mut a, mut b) = ([0; 64], [0; 64]);
    left.fill(pass, word, mask, &mut a);
    right.fill(pass, word, mask, &mut b);
    for (out, (a, b)) in out.iter_mut().zip(a.iter().zip(&b)) {
        *out = op(*a, *b);
    }
}

fn float(
    left: &RangeFloat,
    right: &RangeFloat,
    pass: &mut Pass<'_, '_>,
    word: usize,
    mask: u64,
    out: &mut [f64; 64],
    op: impl Fn(f64, f64) -> f64,
) {
    let mut b = [0.0; 64];
    left.fill(pass, word, mask, out);
    right.fill(pass, word, mask, &mut b);
    for (out, b) in out.iter_mut().zip(&b) {
        *out = arithmetic::finite(op(*out, *b));
    }
}

impl Lowering<'_> {
    /// A condition over columns.
    pub fn range_bool(&mut self, expr: &Expr, leaves: &mut Leaves) -> RangeBool {
        if let Some(constant) = shape::constant(self.policy, expr) {
            return RangeBool::Constant(constant.holds());
        }
        if let Some(register) = self.register(expr) {
            return RangeBool::Register(register);
        }
        if shape::is_node_unschedulable(self.policy, expr) {
            return RangeBool::Unschedulable;
        }
        let policy = self.policy;
        match &shape::resolve_alias(policy, expr).kind {
            ExprKind::Not(inner) => RangeBool::Not(Box::new(self.range_bool(inner, leaves))),
            ExprKind::And(left, right) => RangeBool::And(
                Box::new(self.range_bool(left, leaves)),
                Box::new(self.range_bool(right, leaves)),
            ),
            ExprKind::Or(left, right) => RangeBool::Or(
                Box::new(self.range_bool(left, leaves)),
                Box::new(self.range_bool(right, leaves)),
            ),
            ExprKind::Has(inner) => match shape::node_label(policy, inner) {
                Some(key) => RangeBool::LabelHas(leaves.label(key)),
                None => RangeBool::Closure(self.bool(expr)),
            },
            ExprKind::Equal(left, right) if is_plain_whole(left) && is_plain_whole(right) => {
                RangeBool::Equal(self.range_number(left, leaves), self.range_number(right, leaves))
            }
            ExprKind::Equal(left, right) => {
                for (label, other) in [(left, right), (right, left)] {
                    if let Some(key) = shape::node_label(policy, label)
                        && *other.ty.present() == Type::String
                        && let Some(operand) = self.operand(other, leaves)
                    {
                        return RangeBool::LabelEquals(leaves.label(key), operand);
                    }
                }
                RangeBool::Closure(self.bool(expr))
            }
            ExprKind::In(element, container) => {
                if let Some(key) = shape::node_label(policy, element)
                    && let Some(operand) = self.operand(container, leaves)
                {
                    return RangeBool::LabelIn(leaves.label(key), operand);
                }
                if shape::is_node_labels(policy, container)
                    && let Some(key) = shape::constant_text(policy, element)
                {
                    return RangeBool::LabelHas(leaves.label(key));
                }
                RangeBool::Closure(self.bool(expr))
            }
            ExprKind::Compare(op, left, right) if is_plain_whole(left) && is_plain_whole(right) => {
                RangeBool::Compare(*op, self.range_number(left, leaves), self.range_number(right, leaves))
            }
            ExprKind::Compare(op, left, right) if is_plain_float(left) && is_plain_float(right) => {
                RangeBool::CompareFloat(*op, self.range_float(left, leaves), self.range_float(right, leaves))
            }
            _ => RangeBool::Closure(self.bool(expr)),
        }
    }

    /// What a label is compared with: a constant or a register of text or of texts.
    fn operand(&mut self, expr: &Expr, leaves: &mut Leaves) -> Option<usize> {
        let operand = match shape::constant(self.policy, expr) {
            Some(constant) => Operand::Constant(constant),
            None => Operand::Register(self.register(expr)?),
        };
        leaves.operands.push(operand);
        Some(leaves.operands.len() - 1)
    }

    /// A whole number that is there, over columns.
    pub fn range_number(&mut self, expr: &Expr, leaves: &mut Leaves) -> RangeNumber {
        let policy = self.policy;
        if let Some(number) = shape::constant(policy, expr).and_then(|constant| constant.as_int()) {
            return RangeNumber::Constant(number);
        }
        if let Some(register) = self.register(expr) {
            return RangeNumber::Register(register);
        }
        if let Some((part, name)) = shape::node_resource(policy, expr) {
            return RangeNumber::Column(part, leaves.resource(name));
        }
        match &shape::resolve_alias(policy, expr).kind {
            ExprKind::Arithmetic(op, left, right) if is_plain_whole(left) && is_plain_whole(right) => {
                let make = match op {
                    ArithmeticOp::Add => RangeNumber::Add,
                    ArithmeticOp::Subtract => RangeNumber::Subtract,
                    ArithmeticOp::Multiply => RangeNumber::Multiply,
                    _ => return RangeNumber::Closure(self.int(expr)),
                };
                let left = Box::new(self.range_number(left, leaves));
                make(left, Box::new(self.range_number(right, leaves)))
            }
            ExprKind::Call(function, args, _) => match (function.def().vector, args.as_slice()) {
                (Some(Vector::Percent), [part, of]) if is_plain_whole(part) && is_plain_whole(of) => {
                    let part = Box::new(self.range_number(part, leaves));
                    RangeNumber::Percent(part, Box::new(self.range_number(of, leaves)))
                }
                _ => RangeNumber::Closure(self.int(expr)),
            },
            _ => RangeNumber::Closure(self.int(expr)),
        }
    }

    /// A float that is there, over columns.
    pub fn range_float(&mut self, expr: &Expr, leaves: &mut Leaves) -> RangeFloat {
        let policy = self.policy;
        if let Some(number) = shape::constant(policy, expr).and_then(|constant| constant.as_float()) {
            return RangeFloat::Constant(number);
        }
        if let Some(register) = self.register(expr) {
            return RangeFloat::Register(register);
        }
        match &shape::resolve_alias(policy, expr).kind {
            ExprKind::Widen(inner) if is_plain_whole(inner) => {
                RangeFloat::Widen(self.range_number(inner, leaves))
            }
            ExprKind::Coalesce(quotient, otherwise) => {
                if let ExprKind::Arithmetic(ArithmeticOp::Divide, left, right) =
                    &shape::resolve_alias(policy, quotient).kind
                    && left.ty.is_unit()
                    && right.ty.is_unit()
                    && let Some(otherwise) = shape::constant(policy, otherwise).and_then(|c| c.as_float())
                {
                    let left = self.range_number(left, leaves);
                    return RangeFloat::Ratio(left, self.range_number(right, leaves), otherwise);
                }
                RangeFloat::Closure(self.float(expr))
            }
            ExprKind::Arithmetic(op, left, right) if is_plain_float(left) && is_plain_float(right) => {
                let make = match op {
                    ArithmeticOp::Add => RangeFloat::Add,
                    ArithmeticOp::Subtract => RangeFloat::Subtract,
                    ArithmeticOp::Multiply => RangeFloat::Multiply,
                    _ => return RangeFloat::Closure(self.float(expr)),
                };
                let left = Box::new(self.range_float(left, leaves));
                make(left, Box::new(self.range_float(right, leaves)))
            }
            ExprKind::Call(function, args, _) => match (function.def().vector, args.as_slice()) {
                (Some(Vector::Share), [part, of]) if is_plain_whole(part) && is_plain_whole(of) => {
                    let part = self.range_number(part, leaves);
                    RangeFloat::Share(part, self.range_number(of, leaves))
                }
                _ => RangeFloat::Closure(self.float(expr)),
            },
            _ => RangeFloat::Closure(self.float(expr)),
        }
    }
}

impl Leaves {
    fn label(&mut self, key: Symbol) -> usize {
        place(&mut self.labels, key)
    }

    fn resource(&mut self, name: Symbol) -> usize {
        place(&mut self.resources, name)
    }

    /// The label keys that are read by column.
    pub fn label_keys(&self) -> &[Symbol] {
        &self.labels
    }
}

fn place(list: &mut Vec<Symbol>, item: Symbol) -> usize {
    match list.iter().position(|other| *other == item) {
        Some(at) => at,
        None => {
            list.push(item);
            list.len() - 1
        }
    }
}
