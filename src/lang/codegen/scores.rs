//! Raw values of nodes to scores from 0 to 100: the normalizations of `score`, and their only
//! rounding.
//!
//! `plugins::policy` and `explain` call it. On whole numbers, `max` is kube-scheduler's
//! DefaultNormalizeScore, bit for bit.

use crate::syntax::ast::Normalize;
use crate::types::arithmetic;
use bayplan_model::{NodeId, NodeSet, bits};
use std::ops::{Div, Mul, Sub};

/// A raw value.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Raw {
    /// Of a score that has whole numbers only.
    Whole(i64),
    /// Of any other.
    Float(f64),
}

/// Raw values of nodes, by row. Nodes without a value are left out.
#[derive(Clone, PartialEq, Debug)]
pub struct Column {
    values: Values,
    given: NodeSet,
}

#[derive(Clone, PartialEq, Debug)]
enum Values {
    Whole(Vec<i64>),
    Float(Vec<f64>),
}

impl Column {
    /// For `rows` rows, no node has a value yet.
    pub fn new(whole: bool, rows: usize) -> Self {
        let values = if whole { Values::Whole(vec![0; rows]) } else { Values::Float(vec![0.0; rows]) };
        Self { values, given: NodeSet::with_rows(rows) }
    }

    /// Gives a node a value.
    pub fn put(&mut self, node: NodeId, raw: Raw) {
        match raw {
            Raw::Whole(number) => self.put_whole(node, number),
            Raw::Float(number) => self.put_float(node, number),
        }
    }

    /// Gives a node a whole number.
    pub(crate) fn put_whole(&mut self, node: NodeId, number: i64) {
        match &mut self.values {
            Values::Whole(values) => write(values, node, number),
            Values::Float(values) => write(values, node, number as f64),
        }
        self.given.insert(node);
    }

    /// Gives a node a float.
    pub(crate) fn put_float(&mut self, node: NodeId, number: f64) {
        match &mut self.values {
            Values::Whole(values) => write(values, node, arithmetic::cut(number)),
            Values::Float(values) => write(values, node, number),
        }
        self.given.insert(node);
    }

    /// Gives nodes of one word of rows whole numbers.
    pub(crate) fn put_wholes(&mut self, word: usize, rows: u64, numbers: &[i64; 64]) {
        for bit in bits(rows) {
            self.put_whole(NodeId::from_row(word * 64 + bit), numbers[bit]);
        }
    }

    /// Gives nodes of one word of rows floats.
    pub(crate) fn put_floats(&mut self, word: usize, rows: u64, numbers: &[f64; 64]) {
        for bit in bits(rows) {
            self.put_float(NodeId::from_row(word * 64 + bit), numbers[bit]);
        }
    }

    /// The raw value of a node; `None` when it is left out.
    pub fn get(&self, node: NodeId) -> Option<Raw> {
        if !self.given.contains(node) {
            return None;
        }
        match &self.values {
            Values::Whole(values) => values.get(node.row()).copied().map(Raw::Whole),
            Values::Float(values) => values.get(node.row()).copied().map(Raw::Float),
        }
    }

    /// Scores of 0 to 100 by row; nodes that are left out have 0 and do not move the extremes.
    pub fn normalized(&self, normalize: Normalize, reversed: bool) -> Vec<i64> {
        match &self.values {
            Values::Whole(values) => {
                let of = |row: NodeId| values.get(row.row()).copied().unwrap_or(0);
                let numbers = || self.given.iter().map(of);
                let (least, most) = (numbers().min().unwrap_or(0), numbers().max().unwrap_or(0));
                self.each(values.len(), |row| {
                    let score = whole(of(row), least, most, normalize);
                    if reversed { 100 - score } else { score }
                })
            }
            Values::Float(values) => {
                let of = |row: NodeId| values.get(row.row()).copied().unwrap_or(0.0);
                let numbers = || self.given.iter().map(of);
                let least = numbers().fold(f64::INFINITY, f64::min);
                let most = numbers().fold(f64::NEG_INFINITY, f64::max);
                self.each(values.len(), |row| {
                    let score = float(of(row), least, most, normalize);
                    arithmetic::score(if reversed { 100.0 - score } else { score }).clamp(0, 100)
                })
            }
        }
    }

    fn each(&self, rows: usize, score: impl Fn(NodeId) -> i64) -> Vec<i64> {
        let mut scores = vec![0; rows];
        for node in self.given.iter() {
            write(&mut scores, node, score(node));
        }
        scores
    }
}

fn write<T: Copy>(values: &mut [T], node: NodeId, value: T) {
    if let Some(place) = values.get_mut(node.row()) {
        *place = value;
    }
}

/// A score of whole numbers. 128 bits are exact and slow; most amounts do not need them.
fn whole(value: i64, least: i64, most: i64, normalize: Normalize) -> i64 {
    const SMALL: i64 = i64::MAX / 400;
    if least >= -SMALL && most <= SMALL {
        return scaled(value, least, most, normalize).clamp(0, 100);
    }
    scaled(i128::from(value), i128::from(least), i128::from(most), normalize).clamp(0, 100) as i64
}

/// A score before it is clamped, in numbers that hold 200 times every amount.
fn scaled<N>(value: N, least: N, most: N, normalize: Normalize) -> N
where
    N: Copy + Ord + From<i8> + Sub<Output = N> + Mul<Output = N> + Div<Output = N>,
{
    let (zero, hundred) = (N::from(0), N::from(100));
    match normalize {
        Normalize::None => value,
        Normalize::Max if most <= zero => zero,
        Normalize::Max => hundred * value / most,
        Normalize::MinMax if most == least => zero,
        Normalize::MinMax => hundred * (value - least) / (most - least),
    }
}

fn float(value: f64, least: f64, most: f64, normalize: Normalize) -> f64 {
    match normalize {
        Normalize::None => value,
        Normalize::Max if most <= 0.0 => 0.0,
        Normalize::Max => 100.0 * (value / most),
        Normalize::MinMax if most == least => 0.0,
        // Halves, where the distance of two floats lies beyond the largest float. Of the smallest floats
        // there are no halves.
        Normalize::MinMax => match most - least {
            distance if distance.is_finite() => 100.0 * ((value - least) / distance),
            _ => 100.0 * ((value / 2.0 - least / 2.0) / (most / 2.0 - least / 2.0)),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(values: &[Option<i64>]) -> Column {
        let mut column = Column::new(true, values.len());
        for (row, value) in values.iter().enumerate() {
            if let Some(value) = value {
                column.put_whole(NodeId::from_row(row), *value);
            }
        }
        column
    }

    #[test]
    fn max_is_upstreams_default_normalizer() {
        let of = column(&[Some(1), Some(3), None, Some(2)]);
        assert_eq!(of.normalized(Normalize::Max, false), [33, 100, 0, 66]);
        assert_eq!(of.normalized(Normalize::Max, true), [67, 0, 0, 34]);
        assert_eq!(column(&[Some(0), Some(0)]).normalized(Normalize::Max, true), [100, 100]);
    }

    #[test]
    fn minmax_spreads_and_equal_nodes_get_nothing() {
        let of = column(&[Some(-10), Some(0), Some(10), None]);
        assert_eq!(of.normalized(Normalize::MinMax, false), [0, 50, 100, 0]);
        assert_eq!(of.normalized(Normalize::MinMax, true), [100, 50, 0, 0]);
        assert_eq!(column(&[Some(5), Some(5)]).normalized(Normalize::MinMax, false), [0, 0]);
        assert_eq!(column(&[Some(i64::MIN), Some(i64::MAX)]).normalized(Normalize::MinMax, false), [0, 100]);
    }

    #[test]
    fn floats_are_rounded_once() {
        let mut of = Column::new(false, 2);
        of.put_float(NodeId::from_row(0), 29.000_000_000_000_004);
        of.put_float(NodeId::from_row(1), 28.999_999_999_999_996);
        assert_eq!(of.normalized(Normalize::None, false), [29, 29]);
        assert_eq!(of.normalized(Normalize::None, true), [71, 71]);
        of.put_float(NodeId::from_row(0), f64::MIN);
        of.put_float(NodeId::from_row(1), f64::MAX);
        assert_eq!(of.normalized(Normalize::MinMax, false), [0, 100]);
    }

    #[test]
    fn the_smallest_differences_spread_nodes() {
        for (least, most) in [(0.0, 5e-324), (-5e-324, 0.0), (5e-324, 1e-323), (1.0, 1.0 + f64::EPSILON)] {
            let mut of = Column::new(false, 2);
            of.put_float(NodeId::from_row(0), least);
            of.put_float(NodeId::from_row(1), most);
            assert_eq!(of.normalized(Normalize::MinMax, false), [0, 100], "{least} {most}");
            assert_eq!(of.normalized(Normalize::MinMax, true), [100, 0], "{least} {most}");
        }
    }

    /// Floats of every size, with both signs.
    fn any_float() -> impl proptest::strategy::Strategy<Value = f64> {
        use proptest::prelude::*;
        prop_oneof![
            any::<f64>().prop_filter("finite", |number| number.is_finite()),
            (0..200u64).prop_map(f64::from_bits),
            (0..200u64).prop_map(|bits| -f64::from_bits(bits)),
            (0..200u64).prop_map(|bits| f64::from_bits(f64::MAX.to_bits() - bits)),
            (0..200u64).prop_map(|bits| -f64::from_bits(f64::MAX.to_bits() - bits)),
            -3.0..3.0f64,
        ]
    }

    proptest::proptest! {
        /// A better value never scores less, the best node has 100 and the worst 0.
        #[test]
        fn any_floats_are_spread_in_their_order(
            numbers in proptest::collection::vec(any_float(), 1..6),
            max in proptest::bool::ANY,
        ) {
            let normalize = if max { Normalize::Max } else { Normalize::MinMax };
            let numbers: Vec<f64> = numbers.into_iter().map(|x| if max { x.abs() } else { x }).collect();
            let mut of = Column::new(false, numbers.len());
            for (row, number) in numbers.iter().enumerate() {
                of.put_float(NodeId::from_row(row), *number);
            }
            let scores = of.normalized(normalize, false);
            let least = numbers.iter().copied().fold(f64::INFINITY, f64::min);
            let most = numbers.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let spread = if max { most > 0.0 } else { most > least };
            for (a, x) in scores.iter().zip(&numbers) {
                proptest::prop_assert!((0..=100).contains(a));
                proptest::prop_assert!(!spread || *x != most || *a == 100, "{numbers:?} {scores:?}");
                proptest::prop_assert!(max || *x != least || *a == 0, "{numbers:?} {scores:?}");
                for (b, y) in scores.iter().zip(&numbers) {
                    proptest::prop_assert!(x > y || a <= b, "{numbers:?} {scores:?}");
                }
            }
        }
    }
}
