//! Columns of node labels. A column exists for each key that a pod, plugin or policy wants. Wants are counted, and
//! the 64 columns that lost their last holder most recently are kept. No plugin depends on a column: without one, it
//! reads the labels of the nodes.
//!
//! Pods of our profiles without a node (`Plugin::wants`), plugins and policies (`Reads::label_keys`) want keys. All
//! columns together have a limit, since tenants name labels freely.

use crate::held::Held;
use crate::labels::Labels;
use crate::symbol::Symbol;
use std::sync::Arc;

/// The values of a label key by row.
type Values = Arc<Vec<Option<Symbol>>>;

/// The columns of node labels by key.
#[derive(Clone, Debug, Default)]
pub(crate) struct LabelColumns(Held<Symbol, Values>);

impl LabelColumns {
    /// The values of a key.
    #[inline]
    pub(super) fn get(&self, key: &Symbol) -> Option<&[Option<Symbol>]> {
        self.0.get(key).map(|values| values.as_slice())
    }

    /// The keys that have a column, ordered.
    pub(super) fn keys(&self) -> Vec<&Symbol> {
        super::ordered(self.0.iter())
    }

    /// How many keys have a holder.
    pub(super) fn held(&self) -> usize {
        self.0.held()
    }

    /// How many columns are kept without a holder.
    pub(super) fn lingering(&self) -> usize {
        self.0.lingering()
    }

    /// Counts a holder of a key. Makes the column from `values` if there is none and there is room for it.
    pub(crate) fn want(&mut self, key: &Symbol, room: usize, values: impl FnOnce() -> Vec<Option<Symbol>>) {
        if self.0.hold(key) && super::has_room(&mut self.0, room) {
            let mut values = values();
            values.resize(room, None);
            self.0.set(key, Arc::new(values));
        }
    }

    /// Ends one count of a key.
    pub(crate) fn unwant(&mut self, key: &Symbol) {
        self.0.release(key);
    }

    /// Writes the labels of a row: the columns of the keys whose value differs, and no other.
    pub(super) fn set(&mut self, row: usize, before: &Labels, now: &Labels) {
        for (key, value) in super::changed_labels(before, now) {
            if let Some(values) = self.0.get_mut(key) {
                super::set(values, row, value.cloned());
            }
        }
    }

    /// Makes all columns `room` entries long.
    pub(super) fn grow(&mut self, room: usize) {
        self.0.values_mut().for_each(|values| super::longer(values, room));
    }

    /// Whether nothing is kept.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::super::MOST_ENTRIES;
    use super::*;

    fn key(number: usize) -> Symbol {
        Symbol::from(format!("key-{number}"))
    }

    fn column(rows: usize) -> Vec<Option<Symbol>> {
        vec![Some(Symbol::new("v")); rows]
    }

    #[test]
    fn a_column_lives_while_it_has_a_holder_and_the_last_64_linger() {
        let mut columns = LabelColumns::default();
        for number in 0..100 {
            columns.want(&key(number), 64, || column(3));
            columns.want(&key(number), 64, || panic!("it exists"));
        }
        (0..100).for_each(|number| columns.unwant(&key(number)));
        assert_eq!((columns.held(), columns.lingering()), (100, 0), "each has one holder left");
        (0..100).for_each(|number| columns.unwant(&key(number)));
        assert_eq!((columns.held(), columns.lingering()), (0, 64));
        assert!(columns.get(&key(35)).is_none() && columns.get(&key(36)).is_some());
        // A lingering column is used again, and then is the last that goes.
        columns.want(&key(36), 64, || panic!("it lingers"));
        columns.unwant(&key(36));
        columns.want(&key(200), 64, || column(3));
        columns.unwant(&key(200));
        assert!(columns.get(&key(37)).is_none() && columns.get(&key(36)).is_some());
        columns.unwant(&key(36));
        columns.unwant(&key(999));
        assert_eq!((columns.held(), columns.lingering(), columns.0.made()), (0, 64, 64));
    }

    #[test]
    fn columns_are_bounded_and_a_want_without_room_is_counted_without_one() {
        let room = MOST_ENTRIES / 100;
        let mut columns = LabelColumns::default();
        for number in 0..200 {
            columns.want(&key(number), room, || column(1));
        }
        assert_eq!((columns.held(), columns.keys().len()), (200, 100));
        assert!(columns.get(&key(150)).is_none());
        (100..200).for_each(|number| columns.unwant(&key(number)));
        assert_eq!((columns.held(), columns.lingering()), (100, 0));
        // A column without a holder gives way to a key that has one.
        columns.unwant(&key(0));
        columns.want(&key(300), room, || column(1));
        assert!(columns.get(&key(0)).is_none() && columns.get(&key(300)).is_some());
        // The first columns are made however many nodes there are.
        let mut wide = LabelColumns::default();
        (0..65).for_each(|number| wide.want(&key(number), MOST_ENTRIES, Vec::new));
        assert_eq!(wide.keys().len(), 64);
    }
}
