//! Columns of node labels. A column exists for each key that a pod, plugin or policy wants. Wants are counted, and
//! the 64 columns that lost their last holder most recently are kept. No plugin depends on a column: without one, it
//! reads the labels of the nodes.

use crate::model::labels::Labels;
use crate::model::symbol::Symbol;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What the snapshot keeps for plugins while it has a holder
/// ([`Snapshot::want`](crate::model::Snapshot::want)).
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Want {
    /// The column of a node label key.
    Label(Symbol),
}

/// The values of a label key by row.
type Values = Arc<Vec<Option<Symbol>>>;

/// A wanted key.
#[derive(Clone, Debug, Default)]
struct LabelColumn {
    /// `None`: there was no room for it.
    values: Option<Values>,
    holders: u32,
    /// The turn at which its last holder left; orders the columns without a holder.
    left: u64,
}

/// The columns of node labels by key.
#[derive(Clone, Debug, Default)]
pub(in crate::model) struct LabelColumns {
    columns: FxHashMap<Symbol, LabelColumn>,
    /// Columns without a holder, in the order in which they lost it.
    lingering: BTreeMap<u64, Symbol>,
    turn: u64,
    /// How many columns have values.
    made: usize,
}

impl LabelColumns {
    /// Columns that are kept without a holder.
    pub(in crate::model) const LINGERING: usize = 64;
    /// Entries of all columns together, 8 bytes each: 64 MiB. The first 64 columns are made whatever their size.
    const MOST_ENTRIES: usize = 8 << 20;

    /// The values of a key.
    pub(super) fn get(&self, key: &Symbol) -> Option<&[Option<Symbol>]> {
        self.columns.get(key)?.values.as_ref().map(|values| values.as_slice())
    }

    /// The keys that have a column, ordered.
    pub(super) fn keys(&self) -> Vec<&Symbol> {
        let mut keys: Vec<&Symbol> =
            self.columns.iter().filter(|(_, column)| column.values.is_some()).map(|(key, _)| key).collect();
        keys.sort();
        keys
    }

    /// How many keys have a holder.
    pub(super) fn held(&self) -> usize {
        self.columns.len() - self.lingering.len()
    }

    /// How many columns are kept without a holder.
    pub(super) fn lingering(&self) -> usize {
        self.lingering.len()
    }

    /// Counts a holder of a key. Makes the column from `values` if there is none and there is room for it.
    pub(in crate::model) fn want(
        &mut self,
        key: &Symbol,
        room: usize,
        values: impl FnOnce() -> Vec<Option<Symbol>>,
    ) {
        let column = self.columns.entry(key.clone()).or_default();
        if column.holders == 0 {
            self.lingering.remove(&column.left);
        }
        column.holders += 1;
        if column.values.is_some() || !self.has_room(room) {
            return;
        }
        let mut values = values();
        values.resize(room, None);
        if let Some(column) = self.columns.get_mut(key) {
            column.values = Some(Arc::new(values));
            self.made += 1;
        }
    }

    /// Whether one more column may be made, after columns without a holder have gone where necessary.
    fn has_room(&mut self, room: usize) -> bool {
        let full = |made: usize| made >= Self::LINGERING && (made + 1) * room > Self::MOST_ENTRIES;
        while full(self.made) && self.drop_oldest() {}
        !full(self.made)
    }

    /// Ends one count of a key.
    pub(in crate::model) fn unwant(&mut self, key: &Symbol) {
        let Some(column) = self.columns.get_mut(key) else { return };
        if column.holders == 0 {
            return;
        }
        column.holders -= 1;
        if column.holders > 0 {
            return;
        }
        if column.values.is_none() {
            self.columns.remove(key);
            return;
        }
        self.turn += 1;
        column.left = self.turn;
        self.lingering.insert(self.turn, key.clone());
        while self.lingering.len() > Self::LINGERING && self.drop_oldest() {}
        if self.columns.capacity() > 1_024.max(8 * self.columns.len()) {
            self.columns.shrink_to_fit();
        }
    }

    fn drop_oldest(&mut self) -> bool {
        let Some((_, key)) = self.lingering.pop_first() else { return false };
        if self.columns.remove(&key).is_some_and(|column| column.values.is_some()) {
            self.made -= 1;
        }
        true
    }

    /// Writes the labels of a row: the columns of the keys whose value differs, and no other.
    pub(super) fn set(&mut self, row: usize, before: &Labels, now: &Labels) {
        let gone = before.iter().filter(|(key, _)| now.get(key).is_none()).map(|(key, _)| (key, None));
        let set = now.iter().filter(|(key, value)| before.get(key) != Some(value));
        for (key, value) in gone.chain(set.map(|(key, value)| (key, Some(value)))) {
            if let Some(values) = self.columns.get_mut(key).and_then(|column| column.values.as_mut()) {
                super::set(values, row, value.cloned());
            }
        }
    }

    /// Makes all columns `room` entries long.
    pub(super) fn grow(&mut self, room: usize) {
        self.columns
            .values_mut()
            .filter_map(|column| column.values.as_mut())
            .for_each(|values| super::longer(values, room));
    }

    /// Whether nothing is kept.
    pub(super) fn is_empty(&self) -> bool {
        self.columns.is_empty()
    }
}

#[cfg(test)]
mod tests {
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
        assert_eq!((columns.held(), columns.lingering(), columns.made), (0, 64, 64));
    }

    #[test]
    fn columns_are_bounded_and_a_want_without_room_is_counted_without_one() {
        let room = LabelColumns::MOST_ENTRIES / 100;
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
        (0..65).for_each(|number| wide.want(&key(number), LabelColumns::MOST_ENTRIES, Vec::new));
        assert_eq!(wide.keys().len(), 64);
    }
}
