//! Sums by topology domain: by the distinct values of a node label. Nodes without the label are in no domain.

use bayplan_model::{DomainColumn, NodeId, Snapshot, Symbol, block, rows_where};
use std::sync::Arc;

/// A sum for each domain of one key.
#[derive(Clone, Debug)]
pub(super) struct Sums {
    /// The topology key.
    pub(super) key: Symbol,
    domains: Arc<DomainColumn>,
    sums: Vec<i64>,
}

impl Sums {
    fn new(key: &Symbol, snapshot: &Snapshot) -> Self {
        let domains = snapshot.domains(key);
        Self { key: key.clone(), sums: vec![0; domains.len()], domains }
    }

    /// The sum of a node's domain; 0 for a node in none.
    pub(super) fn at(&self, node: NodeId) -> i64 {
        let number = self.domains.get(node.row());
        number.and_then(|number| self.sums.get(number)).copied().unwrap_or(0)
    }

    /// How many domains have another sum than 0.
    pub(super) fn nonzero(&self) -> usize {
        self.sums.iter().filter(|sum| **sum != 0).count()
    }

    /// The rows of a word that are in a domain.
    pub(super) fn rows_in_a_domain(&self, word: usize) -> u64 {
        rows_where(self.domains.of_row(), word, |number| *number != DomainColumn::NONE)
    }

    /// The rows of a word whose domain has a sum above 0.
    pub(super) fn rows_above_zero(&self, word: usize) -> u64 {
        let above_zero = |number: &u32| self.sums.get(*number as usize).is_some_and(|sum| *sum > 0);
        rows_where(self.domains.of_row(), word, above_zero)
    }

    /// Adds the sum of each row's domain to the 64 entries of a word.
    pub(super) fn add_to(&self, word: usize, out: &mut [i64; 64]) {
        let Some(numbers) = block(self.domains.of_row(), word) else { return };
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

    /// Where amounts are added to the domains of the key at a place.
    pub(super) fn adder(&mut self, key: usize) -> Option<Adder<'_>> {
        let of = self.keys.get_mut(key)?;
        Some(Adder { of_row: of.domains.of_row(), sums: &mut of.sums, touched: &mut self.touched })
    }

    /// The sums ordered by key, and whether anything was added to a domain, be it 0.
    pub(super) fn finish(mut self) -> (Vec<Sums>, bool) {
        self.keys.sort_by(|a, b| a.key.cmp(&b.key));
        (self.keys, self.touched)
    }
}

/// Adds amounts to the domains of one key.
pub(super) struct Adder<'t> {
    of_row: &'t [u32],
    sums: &'t mut [i64],
    touched: &'t mut bool,
}

impl Adder<'_> {
    /// Adds to the domain that a node is in.
    #[inline]
    pub(super) fn add(&mut self, node: NodeId, amount: i64) {
        // A node without the label has a number beyond all domains.
        if let Some(number) = self.of_row.get(node.row())
            && let Some(sum) = self.sums.get_mut(*number as usize)
        {
            *sum = sum.saturating_add(amount);
            *self.touched = true;
        }
    }
}
