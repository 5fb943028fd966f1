//! Rules over columns: conditions and scores for 64 nodes at a time.
//!
//! A [`ColumnScan`] goes over the nodes once for one pod. A condition yields a word of 64 bits;
//! `&&` evaluates its right side only for the nodes that are left, as the closures do. Nothing is
//! allocated for a node. What no column answers is a closure that runs node by node.

mod by_labels;
mod fill;
mod lower;

use super::Env;
use crate::codegen::closures::{BoolFn, FloatFn, IntFn};
use crate::eval::context::EvalContext;
use crate::typed::{CompareOp, Policy};
use crate::types::value::{Constant, Fault, Value};
use bayplan_model::{NodeId, Symbol, bits, rows_where};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;
use std::sync::Arc;

pub(super) use crate::analysis::shape::ResourceAmount;
pub(super) use by_labels::ByLabels;

/// A condition over 64 nodes.
pub enum RangeBool {
    /// One bool for all nodes.
    Constant(bool),
    /// A register of the pod.
    Register(usize),
    /// `node.labels[key] == text`; of a column and an operand of the scan.
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
    /// Computed once for each value of some labels.
    ByLabels(ByLabels<BoolFn>),
    /// Computed node by node.
    Closure(BoolFn),
}

/// A whole number over 64 nodes.
pub enum RangeNumber {
    /// One whole number for all nodes.
    Constant(i64),
    /// A register of the pod.
    Register(usize),
    /// An amount of the node.
    Column(ResourceAmount, usize),
    /// `a + b`
    Add(Box<RangeNumber>, Box<RangeNumber>),
    /// `a - b`
    Subtract(Box<RangeNumber>, Box<RangeNumber>),
    /// `a * b`
    Multiply(Box<RangeNumber>, Box<RangeNumber>),
    /// `percent(a, b)`
    Percent(Box<RangeNumber>, Box<RangeNumber>),
    /// Computed once for each value of some labels.
    ByLabels(ByLabels<IntFn>),
    /// Computed node by node.
    Closure(IntFn),
}

/// A float over 64 nodes.
pub enum RangeFloat {
    /// One float for all nodes.
    Constant(f64),
    /// A register of the pod.
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
    /// Computed once for each value of some labels.
    ByLabels(ByLabels<FloatFn>),
    /// Computed node by node.
    Closure(FloatFn),
}

/// The columns and operands that a rule reads; resolved once per scan.
#[derive(Default, Debug)]
pub struct ColumnInputs {
    labels: Vec<Symbol>,
    resources: Vec<Symbol>,
    operands: Vec<Operand>,
    /// How many closures are computed once for each value of labels.
    by_labels: usize,
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

/// The column of a label, or its key if the snapshot keeps no column for it.
enum LabelColumn<'a> {
    Kept(&'a [Option<Symbol>]),
    NotKept(Symbol),
}

/// The values of a few labels of one node.
type LabelValues<'a> = SmallVec<[Option<&'a Symbol>; 2]>;

/// A column by words of rows.
type Blocks<'a> = &'a [[i64; 64]];

/// One scan of the nodes for one pod.
pub struct ColumnScan<'a, 'e> {
    /// For closures.
    pub env: Env<'a, 'e>,
    labels: Vec<LabelColumn<'a>>,
    /// Allocatable and requested, by words of rows.
    resources: Vec<(Blocks<'a>, Blocks<'a>)>,
    operands: Vec<Wanted>,
    /// What closures gave for the values of labels, by the number of the closure.
    by_labels: Vec<FxHashMap<LabelValues<'a>, u64>>,
    /// Nodes for which a statement failed, by row, since they were last taken.
    pub failed: Vec<(usize, Arc<Fault>)>,
}

impl<'a, 'e> ColumnScan<'a, 'e> {
    /// Finds the columns that `inputs` name.
    pub fn new(
        policy: &Policy,
        inputs: &ColumnInputs,
        context: EvalContext<'a>,
        registers: &'e [Constant],
    ) -> Self {
        let columns = context.snapshot.columns();
        let labels = inputs.labels.iter().map(|key| match columns.label(key) {
            Some(column) => LabelColumn::Kept(column),
            None => LabelColumn::NotKept(key.clone()),
        });
        let resources = inputs.resources.iter().map(|name| match columns.resource(name) {
            Some(column) => (column.allocatable.as_chunks().0, column.requested.as_chunks().0),
            None => (&[][..], &[][..]),
        });
        let operands = inputs.operands.iter().map(|operand| {
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
            by_labels: vec![FxHashMap::default(); inputs.by_labels],
            env: Env::new(policy, context, registers),
            failed: Vec::new(),
        }
    }

    /// Keeps the fault that made a statement fail for the node of a row.
    pub(super) fn keep_fault(&mut self, row: usize) {
        if let Some(fault) = self.env.failed.take() {
            self.failed.push((row, fault));
        }
    }

    /// The rows of `word` in `mask` for which `test` holds of the label's value.
    fn label(&self, at: usize, word: usize, mask: u64, test: impl Fn(Option<&Symbol>) -> bool) -> u64 {
        match self.labels.get(at) {
            Some(LabelColumn::Kept(column)) => mask & rows_where(column, word, |value| test(value.as_ref())),
            Some(LabelColumn::NotKept(key)) => {
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

    /// Turns to a row for a closure; false if there is no such row.
    pub(super) fn turn_to(&mut self, row: usize) -> bool {
        match self.env.context.snapshot.node(NodeId::from_row(row)) {
            Some(node) => {
                self.env.turn_to(node);
                true
            }
            None => false,
        }
    }
}

impl ColumnInputs {
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
