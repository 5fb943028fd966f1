//! [`DomainColumn`]: the topology domain of each node by a dense number.

use crate::held::Held;
use crate::labels::Labels;
use crate::symbol::Symbol;
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// The topology domains of a node label key: each distinct value has a number, small enough to index an array of
/// [`DomainColumn::len`] entries. The number of a value that no node has is used again.
#[derive(Clone, Debug, Default)]
pub struct DomainColumn {
    of_row: Vec<u32>,
    values: Vec<Symbol>,
    nodes: Vec<u32>,
    numbers: FxHashMap<Symbol, u32>,
    /// Numbers below `len` that no node has.
    free: Vec<u32>,
}

impl DomainColumn {
    /// What a row without the label has for a number.
    pub const NONE: u32 = u32::MAX;

    pub(crate) fn with_room(room: usize) -> Self {
        Self { of_row: vec![Self::NONE; room], ..Self::default() }
    }

    /// The number of each row's domain; [`DomainColumn::NONE`] for a node without the label and for a row without a
    /// living node. As long as all columns: the rows, up to a whole word of 64.
    #[inline]
    pub fn of_row(&self) -> &[u32] {
        &self.of_row
    }

    /// The number of a row's domain.
    #[inline]
    pub fn get(&self, row: usize) -> Option<usize> {
        self.of_row.get(row).filter(|number| **number != Self::NONE).map(|number| *number as usize)
    }

    /// One more than the highest number of a domain.
    #[inline]
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Whether no node has the label.
    pub fn is_empty(&self) -> bool {
        self.numbers.is_empty()
    }

    /// The label value of a domain; empty for a number that no node has.
    #[inline]
    pub fn value(&self, number: usize) -> Option<&Symbol> {
        self.values.get(number)
    }

    /// The number of the domain with this value.
    #[inline]
    pub fn number(&self, value: &Symbol) -> Option<usize> {
        self.numbers.get(value).map(|number| *number as usize)
    }

    /// How many living nodes each domain has; 0 for a number that is free.
    #[inline]
    pub fn nodes(&self) -> &[u32] {
        &self.nodes
    }

    /// Writes the value of a row.
    pub(crate) fn set(&mut self, row: usize, value: Option<&Symbol>) {
        let Some(before) = self.of_row.get(row).copied() else { return };
        if before != Self::NONE {
            self.leave(before);
        }
        let now = value.map_or(Self::NONE, |value| self.enter(value));
        if let Some(number) = self.of_row.get_mut(row) {
            *number = now;
        }
    }

    fn enter(&mut self, value: &Symbol) -> u32 {
        let number = match self.numbers.get(value) {
            Some(number) => *number,
            None => {
                let number = self.free.pop().unwrap_or_else(|| {
                    self.values.push(Symbol::default());
                    self.nodes.push(0);
                    (self.values.len() - 1) as u32
                });
                if let Some(at) = self.values.get_mut(number as usize) {
                    *at = value.clone();
                }
                self.numbers.insert(value.clone(), number);
                number
            }
        };
        if let Some(nodes) = self.nodes.get_mut(number as usize) {
            *nodes += 1;
        }
        number
    }

    fn leave(&mut self, number: u32) {
        let Some(nodes) = self.nodes.get_mut(number as usize) else { return };
        *nodes -= 1;
        if *nodes > 0 {
            return;
        }
        if let Some(value) = self.values.get_mut(number as usize) {
            self.numbers.remove(&std::mem::take(value));
        }
        self.free.push(number);
        if self.numbers.is_empty() {
            // Nothing is left: the numbers begin anew.
            *self = Self { of_row: std::mem::take(&mut self.of_row), ..Self::default() };
        }
    }

    fn grow(&mut self, room: usize) {
        self.of_row.resize(room.max(self.of_row.len()), Self::NONE);
    }
}

/// The columns of domains by label key, counted as those of labels are.
#[derive(Clone, Debug, Default)]
pub(crate) struct DomainColumns(Held<Symbol, Arc<DomainColumn>>);

impl DomainColumns {
    #[inline]
    pub(super) fn get(&self, key: &Symbol) -> Option<&Arc<DomainColumn>> {
        self.0.get(key)
    }

    /// The keys that have a column, ordered.
    #[cfg(any(test, feature = "testing"))]
    pub(super) fn keys(&self) -> Vec<&Symbol> {
        super::ordered(self.0.iter())
    }

    /// How many keys have a holder, and how many columns are kept without one.
    pub(super) fn kept(&self) -> (usize, usize) {
        (self.0.held(), self.0.lingering())
    }

    /// Counts a holder of a key. Makes the column if there is none and there is room for it.
    pub(crate) fn want(&mut self, key: &Symbol, room: usize, column: impl FnOnce() -> DomainColumn) {
        if self.0.hold(key) && super::has_room(&mut self.0, room) {
            self.0.set(key, Arc::new(column()));
        }
    }

    /// Ends one count of a key.
    pub(crate) fn unwant(&mut self, key: &Symbol) {
        self.0.release(key);
    }

    /// Writes the labels of a row: the columns of the keys whose value differs, and no other.
    pub(super) fn set(&mut self, row: usize, before: &Labels, now: &Labels) {
        for (key, value) in super::changed_labels(before, now) {
            if let Some(column) = self.0.get_mut(key) {
                Arc::make_mut(column).set(row, value);
            }
        }
    }

    /// Makes all columns `room` entries long.
    pub(super) fn grow(&mut self, room: usize) {
        self.0.values_mut().for_each(|column| Arc::make_mut(column).grow(room));
    }

    /// Whether nothing is kept.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_domain_lives_while_a_node_has_its_value() {
        let mut random = crate::testing::Random(3);
        let mut column = DomainColumn::with_room(64);
        let mut labels: Vec<Option<Symbol>> = vec![None; 64];
        for step in 0..4_000 {
            let row = random.below(64);
            // Every value goes now and then.
            let value = (step % 1_000 < 900 && !random.one_in(3))
                .then(|| Symbol::from(format!("zone-{}", random.below(20))));
            column.set(row, value.as_ref());
            labels[row] = value;
            let distinct: std::collections::BTreeSet<_> = labels.iter().flatten().collect();
            assert!(column.len() <= 20 && column.numbers.len() == distinct.len());
            assert_eq!(column.len(), distinct.len() + column.free.len());
            for (row, label) in labels.iter().enumerate() {
                let found = column.get(row).map(|number| column.values[number].clone());
                assert_eq!(found, *label);
            }
            for value in distinct {
                let nodes = labels.iter().flatten().filter(|other| *other == value).count();
                assert_eq!(column.number(value).map(|number| column.nodes[number] as usize), Some(nodes));
            }
        }
        (0..64).for_each(|row| column.set(row, None));
        assert!(column.is_empty());
        assert_eq!(column.len(), 0);
    }
}
