//! [`Groups`]: nodes that are alike in the labels that decide about a pod's delayed claims.
//!
//! Claims that wait for a node are decided once for each group.

use bayplan_model::{DomainColumn, Requirement, SelectorOperator, Snapshot, Symbol};
use rustc_hash::FxHashSet;
use smallvec::SmallVec;
use std::sync::Arc;

/// The columns of the label keys that matter, each made at most once.
pub(super) struct Keys<'a> {
    snapshot: &'a Snapshot,
    known: SmallVec<[(&'a Symbol, Arc<DomainColumn>); 2]>,
}

impl<'a> Keys<'a> {
    pub(super) fn new(snapshot: &'a Snapshot) -> Self {
        Self { snapshot, known: SmallVec::new() }
    }

    /// The domains of a key.
    pub(super) fn column(&mut self, key: &'a Symbol) -> Arc<DomainColumn> {
        if let Some((_, column)) = self.known.iter().find(|(known, _)| *known == key) {
            return column.clone();
        }
        let column = self.snapshot.domains(key);
        self.known.push((key, column.clone()));
        column
    }
}

/// The values of a label key that are distinguished.
enum Distinct<'a> {
    /// These, and all others are alike.
    Values(FxHashSet<&'a Symbol>),
    Every,
}

/// Nodes of one class of a key are alike in it.
struct Part {
    column: Arc<DomainColumn>,
    /// By the number of the domain; beyond is class 0.
    classes: Vec<u32>,
    /// How many classes there are.
    count: u64,
}

/// Groups of nodes that are alike, numbered.
pub(super) struct Groups {
    parts: SmallVec<[Part; 2]>,
    /// How many groups there may be; `None`: more than 2^64, and every row is a group.
    count: Option<u64>,
}

/// The distinctions between nodes that decide about the claims of a pod; [`Groups`] follow from them.
pub(super) struct Distinctions<'a> {
    by_key: SmallVec<[(&'a Symbol, Distinct<'a>); 2]>,
    parts: SmallVec<[Part; 2]>,
}

impl<'a> Distinctions<'a> {
    pub(super) fn new() -> Self {
        Self { by_key: SmallVec::new(), parts: SmallVec::new() }
    }

    fn of_key(&mut self, key: &'a Symbol) -> Option<&mut Distinct<'a>> {
        let at = self.by_key.iter().position(|(known, _)| *known == key).unwrap_or_else(|| {
            self.by_key.push((key, Distinct::Values(FxHashSet::default())));
            self.by_key.len() - 1
        });
        self.by_key.get_mut(at).map(|(_, distinct)| distinct)
    }

    /// Distinguishes nodes with these values from each other and from all others.
    pub(super) fn values(&mut self, key: &'a Symbol, values: impl IntoIterator<Item = &'a Symbol>) {
        if let Some(Distinct::Values(known)) = self.of_key(key) {
            known.extend(values);
        }
    }

    /// Distinguishes nodes on which the requirement may hold or not.
    pub(super) fn requirement(&mut self, of: &'a Requirement) {
        match of.operator {
            SelectorOperator::In => self.values(&of.key, &of.values),
            _ => {
                if let Some(distinct) = self.of_key(&of.key) {
                    *distinct = Distinct::Every;
                }
            }
        }
    }

    /// Distinguishes the domains that pass from all others.
    pub(super) fn passing(&mut self, column: Arc<DomainColumn>, passes: Vec<bool>) {
        if passes.contains(&true) {
            let classes = passes.into_iter().map(u32::from).collect();
            self.parts.push(Part { column, classes, count: 2 });
        }
    }

    pub(super) fn groups(self, keys: &mut Keys<'a>) -> Groups {
        let mut parts = self.parts;
        for (key, distinct) in self.by_key {
            let column = keys.column(key);
            let part = match distinct {
                Distinct::Every => {
                    let classes: Vec<u32> = (1..=column.len() as u32).collect();
                    Part { count: classes.len() as u64 + 1, classes, column }
                }
                Distinct::Values(values) => {
                    let mut classes = vec![0; column.len()];
                    let mut count = 0;
                    for number in values.into_iter().filter_map(|value| column.number(value)) {
                        count += 1;
                        classes[number] = count;
                    }
                    Part { count: u64::from(count) + 1, classes, column }
                }
            };
            if part.count > 1 {
                parts.push(part);
            }
        }
        let count = parts.iter().try_fold(1u64, |count, part| count.checked_mul(part.count));
        Groups { parts, count }
    }
}

impl Groups {
    /// How many groups there are at most; their numbers are below. `None`: the rows are the groups.
    pub(super) fn count(&self) -> Option<u64> {
        self.count
    }

    /// The group of a row.
    #[inline]
    pub(super) fn of(&self, row: usize) -> u64 {
        if self.count.is_none() {
            return row as u64;
        }
        self.parts.iter().fold(0, |group, part| {
            let number = part.column.of_row().get(row).copied().unwrap_or(DomainColumn::NONE);
            let class = part.classes.get(number as usize).copied().unwrap_or(0);
            group * part.count + u64::from(class)
        })
    }
}
