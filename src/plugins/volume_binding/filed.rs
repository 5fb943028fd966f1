//! [`Filed`]: the volumes that a claim may take, found by a label that their affinity requires, so that a node does not
//! look at every volume.

use super::capacities::filed_under;
use super::groups::{Distinctions, Keys};
use super::matching::{Candidates, reaches};
use bayplan_model::{DomainColumn, Labels, PersistentVolume, Symbol};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::sync::Arc;

/// Positions of candidates by the value of a label, ascending.
type Positions<'a> = FxHashMap<&'a Symbol, SmallVec<[u32; 2]>>;

/// A label key with its column.
pub(super) struct Key {
    column: Arc<DomainColumn>,
}

impl Key {
    pub(super) fn new(column: Arc<DomainColumn>) -> Self {
        Self { column }
    }

    /// The value of the node of a row.
    pub(super) fn value(&self, row: usize) -> Option<&Symbol> {
        self.column.value(self.column.get(row)?)
    }
}

/// The candidates of a claim, found by a label of the node.
pub(super) struct Filed<'a> {
    candidates: &'a Candidates,
    /// Positions in [`Candidates::free`] by the values that the affinity requires of a key, ascending.
    by_label: SmallVec<[(&'a Symbol, Key, Positions<'a>); 1]>,
    /// Positions of the other candidates, ascending.
    rest: Vec<u32>,
}

impl<'a> Filed<'a> {
    pub(super) fn of(
        candidates: &'a Candidates,
        keys: &mut Keys<'a>,
        distinctions: &mut Distinctions<'a>,
    ) -> Self {
        let mut filed = Self { candidates, by_label: SmallVec::new(), rest: Vec::new() };
        for (at, volume) in candidates.free.iter().enumerate() {
            filed.file(at as u32, volume, keys, distinctions);
        }
        for volume in &candidates.reserved {
            let terms = volume.affinity.iter().flat_map(|affinity| affinity.terms.iter());
            terms.flat_map(|term| &term.expressions).for_each(|of| distinctions.requirement(of));
        }
        for (key, _, positions) in &filed.by_label {
            distinctions.values(key, positions.keys().copied());
        }
        filed
    }

    fn file(
        &mut self,
        at: u32,
        volume: &'a PersistentVolume,
        keys: &mut Keys<'a>,
        distinctions: &mut Distinctions<'a>,
    ) {
        let Some(affinity) = &volume.affinity else { return self.rest.push(at) };
        let usable = || affinity.terms.iter().filter(|term| term.error.is_none() && !term.is_empty());
        if usable().any(|term| filed_under(&term.expressions).is_none()) {
            usable().flat_map(|term| &term.expressions).for_each(|of| distinctions.requirement(of));
            return self.rest.push(at);
        }
        for term in usable() {
            let Some((key, values)) = filed_under(&term.expressions) else { continue };
            if term.expressions.len() > 1 {
                term.expressions.iter().for_each(|of| distinctions.requirement(of));
            }
            let known = self.by_label.iter().position(|(known, ..)| *known == key);
            let place = known.unwrap_or_else(|| {
                self.by_label.push((key, Key::new(keys.column(key)), FxHashMap::default()));
                self.by_label.len() - 1
            });
            let Some((.., by_value)) = self.by_label.get_mut(place) else { continue };
            for value in values {
                let list = by_value.entry(value).or_default();
                if list.last() != Some(&at) {
                    list.push(at);
                }
            }
        }
    }

    /// The first candidate ([`Candidates::first`]) for the node of a row with these labels.
    pub(super) fn first(
        &self,
        row: usize,
        labels: &Labels,
        is_taken: impl Fn(&PersistentVolume) -> bool,
    ) -> Option<&'a PersistentVolume> {
        if let Some(reserved) = self.candidates.reserved.iter().find(|volume| !is_taken(volume)) {
            return Some(&**reserved).filter(|volume| reaches(volume, labels));
        }
        let volume = |at: &u32| self.candidates.free.get(*at as usize).map(|volume| (*at, &**volume));
        let first = |list: &[u32]| {
            list.iter().filter_map(volume).find(|(_, volume)| !is_taken(volume) && reaches(volume, labels))
        };
        let by_label = self.by_label.iter().filter_map(|(_, key, by_value)| {
            let list = by_value.get(key.value(row)?)?;
            first(list)
        });
        by_label.chain(first(&self.rest)).min_by_key(|(at, _)| *at).map(|(_, volume)| volume)
    }
}
