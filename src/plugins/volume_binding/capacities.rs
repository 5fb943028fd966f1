//! [`Capacities`]: the CSIStorageCapacity objects of one storage class, found by a label that a node must have.

use super::groups::{Distinctions, Keys};
use bayplan_model::{CsiStorageCapacity, LabelSelector, Labels, SelectorOperator, Symbol};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A capacity that some node may use.
#[derive(Clone, PartialEq, Debug)]
struct Entry {
    /// The largest volume in bytes.
    limit: i64,
    capacity: Arc<CsiStorageCapacity>,
    /// Whether a node with the label that it is filed under has all that its selector requires.
    alone: bool,
}

/// Capacities of one storage class.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct Capacities {
    /// By namespace and name.
    all: BTreeMap<(Symbol, Symbol), Arc<CsiStorageCapacity>>,
    /// Those whose selector requires one of some values under a label key, by key and value, ordered like `all`.
    by_label: BTreeMap<Symbol, FxHashMap<Symbol, Vec<Entry>>>,
    /// Those whose selector requires no value, ordered like `all`.
    rest: Vec<Entry>,
}

/// The selector of a capacity that some node may use, with the limit.
fn usable(capacity: &CsiStorageCapacity) -> Option<(&LabelSelector, i64)> {
    let Some(Ok(selector)) = &capacity.topology else { return None };
    Some((selector, capacity.limit()?))
}

fn place(capacity: &CsiStorageCapacity) -> (Symbol, Symbol) {
    (capacity.metadata.namespace.clone(), capacity.metadata.name.clone())
}

/// The label key and its values under which a selector is filed: of the first requirement with the fewest values.
pub(super) fn filed_under(requirements: &[bayplan_model::Requirement]) -> Option<(&Symbol, &[Symbol])> {
    let required = requirements.iter().filter(|requirement| requirement.operator == SelectorOperator::In);
    let fewest = required.min_by_key(|requirement| requirement.values.len())?;
    Some((&fewest.key, &fewest.values))
}

impl Capacities {
    pub(super) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// All of them, by namespace and name.
    pub(super) fn all(&self) -> impl Iterator<Item = &Arc<CsiStorageCapacity>> {
        self.all.values()
    }

    pub(super) fn add(&mut self, capacity: &Arc<CsiStorageCapacity>) {
        self.all.insert(place(capacity), capacity.clone());
        let Some((selector, limit)) = usable(capacity) else { return };
        let insert = |list: &mut Vec<Entry>, entry: Entry| {
            let at = list.partition_point(|other| place(&other.capacity) < place(&entry.capacity));
            list.insert(at, entry);
        };
        let filed = filed_under(&selector.requirements);
        let alone = selector.requirements.len() == usize::from(filed.is_some());
        let entry = Entry { limit, capacity: capacity.clone(), alone };
        let Some((key, values)) = filed else { return insert(&mut self.rest, entry) };
        let by_value = self.by_label.entry(key.clone()).or_default();
        for value in values {
            insert(by_value.entry(value.clone()).or_default(), entry.clone());
        }
    }

    pub(super) fn remove(&mut self, capacity: &CsiStorageCapacity) {
        let own = place(capacity);
        self.all.remove(&own);
        let Some((selector, _)) = usable(capacity) else { return };
        let Some((key, values)) = filed_under(&selector.requirements) else {
            return self.rest.retain(|entry| place(&entry.capacity) != own);
        };
        let Some(by_value) = self.by_label.get_mut(key) else { return };
        for value in values {
            if let Some(list) = by_value.get_mut(value) {
                list.retain(|entry| place(&entry.capacity) != own);
                if list.is_empty() {
                    by_value.remove(value);
                }
            }
        }
        if by_value.is_empty() {
            self.by_label.remove(key);
        }
    }

    /// The definition: whether some capacity that a node with these labels can use holds a volume of this many bytes.
    pub(super) fn suffice(&self, bytes: i64, labels: &Labels) -> bool {
        self.first(bytes, labels).is_some()
    }

    /// The definition: the first capacity by namespace and name that suffices. Upstream takes any.
    pub(super) fn first(&self, bytes: i64, labels: &Labels) -> Option<&CsiStorageCapacity> {
        let suffices = |capacity: &&Arc<CsiStorageCapacity>| {
            usable(capacity).is_some_and(|(selector, limit)| limit >= bytes && selector.matches(labels))
        };
        self.all.values().find(suffices).map(|capacity| &**capacity)
    }

    /// The first capacity that suffices ([`Capacities::first`]), by the values of the node under [`Capacities::keys`].
    pub(super) fn first_by<'v>(
        &self,
        bytes: i64,
        values: impl Iterator<Item = Option<&'v Symbol>>,
        labels: &Labels,
    ) -> Option<&CsiStorageCapacity> {
        let enough = |entry: &&Entry| entry.limit >= bytes && (entry.alone || matches(entry, labels));
        let filed = self
            .by_label
            .values()
            .zip(values)
            .filter_map(|(by_value, value)| by_value.get(value?)?.iter().find(enough));
        let first = filed.chain(self.rest.iter().find(enough)).min_by_key(|entry| place(&entry.capacity));
        first.map(|entry| &*entry.capacity)
    }

    /// The keys of the labels by which capacities are found.
    pub(super) fn keys(&self) -> impl Iterator<Item = &Symbol> {
        self.by_label.keys()
    }

    /// Distinguishes nodes for which [`Capacities::suffice`] differs for this many bytes.
    pub(super) fn distinguish<'a>(
        &'a self,
        bytes: i64,
        keys: &mut Keys<'a>,
        distinctions: &mut Distinctions<'a>,
    ) {
        for (key, by_value) in &self.by_label {
            let column = keys.column(key);
            let mut passes = vec![false; column.len()];
            let mut note = |number: usize, list: &'a [Entry]| {
                for entry in list.iter().filter(|entry| entry.limit >= bytes) {
                    match usable(&entry.capacity).filter(|_| !entry.alone) {
                        Some((selector, _)) => {
                            selector.requirements.iter().for_each(|of| distinctions.requirement(of));
                        }
                        None => passes[number] = true,
                    }
                }
            };
            if by_value.len() <= column.len() {
                for (value, list) in by_value {
                    column.number(value).into_iter().for_each(|number| note(number, list));
                }
            } else {
                for number in 0..column.len() {
                    let list = column.value(number).and_then(|value| by_value.get(value));
                    list.into_iter().for_each(|list| note(number, list));
                }
            }
            distinctions.passing(column, passes);
        }
        for entry in self.rest.iter().filter(|entry| entry.limit >= bytes) {
            let requirements = usable(&entry.capacity).map(|(selector, _)| &*selector.requirements);
            requirements.into_iter().flatten().for_each(|of| distinctions.requirement(of));
        }
    }

    /// Whether the capacities suffice ([`Capacities::suffice`]), by the values of the node under [`Capacities::keys`].
    pub(super) fn suffice_by<'v>(
        &self,
        bytes: i64,
        values: impl Iterator<Item = Option<&'v Symbol>>,
        labels: &Labels,
    ) -> bool {
        let enough = |entry: &Entry| entry.limit >= bytes && (entry.alone || matches(entry, labels));
        let found = self.by_label.values().zip(values).any(|(by_value, value)| {
            let filed = value.and_then(|value| by_value.get(value));
            filed.is_some_and(|list| list.iter().any(enough))
        });
        found || self.rest.iter().any(enough)
    }
}

fn matches(entry: &Entry, labels: &Labels) -> bool {
    usable(&entry.capacity).is_some_and(|(selector, _)| selector.matches(labels))
}
