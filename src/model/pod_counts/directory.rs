//! [`Directory`]: finds the selectors that may match a pod by the pod's labels.

use crate::labels::{Labels, Requirement, SelectorOperator};
use crate::symbol::Symbol;
use rustc_hash::FxHashMap;

/// Items filed under a label that their selector requires.
#[derive(Clone, Debug)]
pub(super) struct Directory<T> {
    /// By label key, then by value. An item whose selector takes several values is filed under each; a pod has one of
    /// them, so it meets the item once.
    by_label: FxHashMap<Symbol, FxHashMap<Symbol, Vec<T>>>,
    /// Items whose selector requires no value of any label.
    others: Vec<T>,
}

impl<T> Default for Directory<T> {
    fn default() -> Self {
        Self { by_label: FxHashMap::default(), others: Vec::new() }
    }
}

impl<T: Clone + PartialEq> Directory<T> {
    /// Files an item under the requirement that shares its labels with the fewest other items.
    pub(super) fn add<'a>(&mut self, item: T, requirements: impl Iterator<Item = &'a Requirement>) {
        let met = |of: &Requirement, value: &Symbol| {
            self.by_label.get(&of.key).and_then(|values| values.get(value)).map_or(0, Vec::len)
        };
        let shared = |of: &&Requirement| of.values.iter().map(|value| 1 + met(of, value)).sum::<usize>();
        let chosen = requirements.filter(|of| of.operator == SelectorOperator::In).min_by_key(shared);
        let Some(chosen) = chosen else {
            self.others.push(item);
            return;
        };
        let values = self.by_label.entry(chosen.key.clone()).or_default();
        for value in &chosen.values {
            values.entry(value.clone()).or_default().push(item.clone());
        }
    }

    /// Removes an item that was added with these requirements.
    pub(super) fn remove<'a>(&mut self, item: &T, requirements: impl Iterator<Item = &'a Requirement>) {
        for of in requirements.filter(|of| of.operator == SelectorOperator::In) {
            let Some(values) = self.by_label.get_mut(&of.key) else { continue };
            for value in &of.values {
                if let Some(items) = values.get_mut(value) {
                    items.retain(|other| other != item);
                    if items.is_empty() {
                        values.remove(value);
                    }
                }
            }
            if values.is_empty() {
                self.by_label.remove(&of.key);
            }
        }
        self.others.retain(|other| other != item);
    }

    /// The items that may match an object with these labels, each once.
    pub(super) fn candidates<'d>(&'d self, labels: &'d Labels) -> impl Iterator<Item = &'d T> {
        let labels = (!self.by_label.is_empty()).then(|| labels.iter()).into_iter().flatten();
        let filed = labels.filter_map(|(key, value)| self.by_label.get(key)?.get(value));
        filed.flatten().chain(&self.others)
    }
}
