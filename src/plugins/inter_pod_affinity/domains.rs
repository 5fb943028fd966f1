//! Domains of a topology key, and sums by domain. A domain is a distinct value of a node label; nodes without the
//! label are in none.

use crate::model::{NodeId, Snapshot, Symbol, rows_where};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// The number of a node that has no value under the key.
const NO_DOMAIN: u32 = u32::MAX;

/// The domain of each row, by number.
#[derive(Clone, Debug)]
pub(super) struct Domains {
    of_row: Arc<Vec<u32>>,
    count: usize,
}

impl Domains {
    /// The domains of a key over the living nodes.
    fn of(key: &Symbol, snapshot: &Snapshot) -> Self {
        let mut numbers: FxHashMap<&Symbol, u32> = FxHashMap::default();
        let mut of_row = vec![NO_DOMAIN; snapshot.columns().room()];
        for node in snapshot.nodes() {
            let (Some(value), Some(place)) = (node.label(key), of_row.get_mut(node.id().row())) else {
                continue;
            };
            let next = numbers.len() as u32;
            *place = *numbers.entry(value).or_insert(next);
        }
        Self { of_row: Arc::new(of_row), count: numbers.len() }
    }

    /// The domain of a row.
    fn at(&self, node: NodeId) -> usize {
        self.of_row.get(node.row()).map_or(usize::MAX, |number| *number as usize)
    }
}

/// A sum for each domain of one key.
#[derive(Clone, Debug)]
pub(super) struct Sums {
    /// The topology key.
    pub(super) key: Symbol,
    domains: Domains,
    sums: Vec<i64>,
}

impl Sums {
    fn new(key: &Symbol, snapshot: &Snapshot) -> Self {
        let domains = Domains::of(key, snapshot);
        Self { key: key.clone(), sums: vec![0; domains.count], domains }
    }

    /// The sum of a node's domain; 0 for a node in none.
    pub(super) fn at(&self, node: NodeId) -> i64 {
        self.sums.get(self.domains.at(node)).copied().unwrap_or(0)
    }

    /// How many domains have another sum than 0.
    pub(super) fn nonzero(&self) -> usize {
        self.sums.iter().filter(|sum| **sum != 0).count()
    }

    /// The rows of a word that are in a domain.
    pub(super) fn rows_in_a_domain(&self, word: usize) -> u64 {
        rows_where(&self.domains.of_row, word, |number| *number != NO_DOMAIN)
    }

    /// The rows of a word whose domain has a sum above 0.
    pub(super) fn rows_above_zero(&self, word: usize) -> u64 {
        let above_zero = |number: &u32| self.sums.get(*number as usize).is_some_and(|sum| *sum > 0);
        rows_where(&self.domains.of_row, word, above_zero)
    }

    /// Adds the sum of each row's domain to the 64 entries of a word.
    pub(super) fn add_to(&self, word: usize, out: &mut [i64; 64]) {
        let Some(numbers) = crate::model::block(&self.domains.of_row, word) else { return };
        for (out, number) in out.iter_mut().zip(numbers) {
            *out = out.saturating_add(self.sums.get(*number as usize).copied().unwrap_or(0));
        }
    }
}

/// Sums that are being added up, for each topology key that a term names.
pub(super) struct Tally<'s> {
    snapshot: &'s Snapshot,
    keys: Vec<Sums>,
    /// Whether anything was added to a domain, be it 0.
    touched: bool,
}

impl<'s> Tally<'s> {
    pub(super) fn new(snapshot: &'s Snapshot) -> Self {
        Self { snapshot, keys: Vec::new(), touched: false }
    }

    /// The place of a key.
    pub(super) fn key(&mut self, key: &Symbol) -> usize {
        self.keys.iter().position(|of| of.key == *key).unwrap_or_else(|| {
            self.keys.push(Sums::new(key, self.snapshot));
            self.keys.len() - 1
        })
    }

    /// Adds to the domain that a node is in by the key at a place.
    pub(super) fn add(&mut self, key: usize, node: NodeId, amount: i64) {
        let Some(of) = self.keys.get_mut(key) else { return };
        if let Some(sum) = of.sums.get_mut(of.domains.at(node)) {
            *sum = sum.saturating_add(amount);
            self.touched = true;
        }
    }

    /// The sums by key, and whether anything was added to a domain, be it 0.
    pub(super) fn finish(self) -> (Vec<Sums>, bool) {
        (self.keys, self.touched)
    }
}
