//! [`Search`]: the rows that make the difference for each pod. Sets of one, two and three rows are tried, added to the old
//! version alone; then rows are taken from all of them for as long as the rest still makes the difference. What may be
//! tried is bounded by the size of the cluster, so that the search takes no longer than the comparison did, or a second.

use super::concerned::Concerned;
use super::decided::{Outcome, Outcomes, Subjects};
use crate::cli::progress::Progress;
use crate::model::{VersionRow, VersionRowKind, VersionRows};
use std::collections::BTreeMap;

/// The rows that make a difference.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Cause {
    /// These, alone, and no smaller set.
    Smallest(Vec<VersionRow>),
    /// These, alone, and none of them can be left out.
    Minimal(Vec<VersionRow>),
    /// One or more of these.
    Among(Vec<VersionRow>),
}

impl Cause {
    /// The rows, in the order of the table.
    pub(super) fn rows(&self) -> &[VersionRow] {
        match self {
            Self::Smallest(rows) | Self::Minimal(rows) | Self::Among(rows) => rows,
        }
    }

    /// What is known of the set.
    pub(super) fn word(&self) -> &'static str {
        match self {
            Self::Smallest(_) => "smallest",
            Self::Minimal(_) => "minimal",
            Self::Among(_) => "among",
        }
    }
}

/// What may be tried beyond what the comparison cost, in units of [`Subjects::work`]: about a second.
const WORK: usize = 50_000_000;
/// The largest sets that are tried one by one.
const LARGEST: usize = 3;

/// The search for causes.
pub(super) struct Search<'s> {
    subjects: &'s Subjects<'s>,
    before: VersionRows,
    after: VersionRows,
    olds: &'s Outcomes,
    news: &'s Outcomes,
    progress: &'s Progress,
    /// Pods without a cause.
    open: Vec<usize>,
    found: BTreeMap<usize, Cause>,
    /// What may still be spent.
    left: usize,
}

impl<'s> Search<'s> {
    /// A search for the causes of the pods that differ. `before` and `after`: the rows of both versions.
    pub(super) fn new(
        subjects: &'s Subjects<'s>,
        (before, after): (VersionRows, VersionRows),
        (olds, news): (&'s Outcomes, &'s Outcomes),
        differ: &[usize],
        progress: &'s Progress,
    ) -> Self {
        let all: Vec<usize> = (0..subjects.len()).collect();
        let left = WORK.max(subjects.work(&all).saturating_mul(2));
        let (open, found) = (differ.to_vec(), BTreeMap::new());
        Self { subjects, before, after, olds, news, progress, open, found, left }
    }

    /// The cause of each pod that differs, by number.
    pub(super) fn run(mut self, concerned: &Concerned) -> anyhow::Result<BTreeMap<usize, Cause>> {
        let retried = self.olds.retried || self.news.retried;
        let may = |row: VersionRow, at: usize| match at < self.subjects.pending() {
            true => concerned.pending(row, retried),
            false => self.subjects.pod(at).is_some_and(|pod| concerned.running(row, pod)),
        };
        let turned =
            VersionRow::ALL.iter().copied().filter(|row| self.before.has(*row) != self.after.has(*row));
        let turned: Vec<VersionRow> = turned.collect();
        let mut rows: Vec<VersionRow> =
            turned.iter().copied().filter(|row| self.open.iter().any(|at| may(*row, *at))).collect();
        // What decides first, then texts, then wake-ups: the likely ones before the search ends.
        rows.sort_by_key(|row| row.def().kind);
        for size in 1..=LARGEST.min(rows.len()) {
            let sets = combinations(&rows, size);
            let mut sets = sets.as_slice();
            while !sets.is_empty() && !self.open.is_empty() {
                let work = self.subjects.work(&self.open).max(1);
                let some = sets.len().min(AT_ONCE).min(self.left / work);
                let Some((now, later)) = sets.split_at_checked(some).filter(|_| some > 0) else {
                    return Ok(self.rest(&rows));
                };
                self.left = self.left.saturating_sub(work.saturating_mul(some));
                self.try_sets(now)?;
                sets = later;
            }
        }
        self.left = WORK / 2;
        for at in self.open.clone() {
            if let Some(cause) = self.minimal(at, &turned, &rows)? {
                self.found.insert(at, cause);
            }
        }
        self.open.retain(|at| !self.found.contains_key(at));
        Ok(self.rest(&rows))
    }

    /// Tries sets of one size.
    fn try_sets(&mut self, sets: &[Vec<VersionRow>]) -> anyhow::Result<()> {
        self.subjects.announce(&self.open, sets.len(), true, self.progress);
        let by: Vec<VersionRows> = sets.iter().map(|rows| self.with(rows)).collect();
        let given = self.subjects.decide_all(&self.open, &by, self.progress)?;
        for (rows, given) in sets.iter().zip(&given) {
            for at in std::mem::take(&mut self.open) {
                match self.explains(given, at) {
                    true => drop(self.found.insert(at, Cause::Smallest(in_order(rows)))),
                    false => self.open.push(at),
                }
            }
        }
        Ok(())
    }

    /// A set from which no row can be taken; `None` when the search would cost too much.
    fn minimal(
        &mut self,
        at: usize,
        turned: &[VersionRow],
        likely: &[VersionRow],
    ) -> anyhow::Result<Option<Cause>> {
        let mut rows = turned.to_vec();
        let only = |of: &[VersionRow], without: VersionRow| {
            of.iter().copied().filter(|row| *row != without).collect::<Vec<_>>()
        };
        if self.suffices(at, likely)? == Some(true) {
            rows = likely.to_vec();
        }
        // The wake-ups first, so that what decides remains.
        let mut order = rows.clone();
        order.sort_by_key(|row| std::cmp::Reverse(row.def().kind));
        for row in order {
            let fewer = only(&rows, row);
            match self.suffices(at, &fewer)? {
                Some(true) => rows = fewer,
                Some(false) => {}
                None => return Ok(None),
            }
        }
        Ok(Some(Cause::Minimal(in_order(&rows))))
    }

    /// Whether a set makes the difference for a pod; `None` when to find out would cost too much.
    fn suffices(&mut self, at: usize, rows: &[VersionRow]) -> anyhow::Result<Option<bool>> {
        let work = self.subjects.work(&[at]);
        let Some(left) = self.left.checked_sub(work) else { return Ok(None) };
        self.left = left;
        self.subjects.announce(&[at], 1, true, self.progress);
        let given = self.subjects.decide_all(&[at], &[self.with(rows)], self.progress)?;
        Ok(given.first().map(|given| self.explains(given, at)))
    }

    /// The old version with these rows of the new one.
    fn with(&self, rows: &[VersionRow]) -> VersionRows {
        rows.iter().fold(self.before, |all, row| all.with(*row, self.after.has(*row)))
    }

    /// Whether the outcome is that of the new version. Where something else is decided, the text may have another cause.
    fn explains(&self, given: &Outcomes, at: usize) -> bool {
        let of = |outcomes: &'s Outcomes| outcomes.pods.get(&at);
        let (Some(given), Some(old), Some(new)) = (given.pods.get(&at), of(self.olds), of(self.news)) else {
            return false;
        };
        let is_new: fn(&Outcome, &Outcome) -> bool =
            if old.is_decided_as(new) { Outcome::is } else { Outcome::is_decided_as };
        is_new(given, new)
    }

    /// The causes, with a vague one for the pods that have none.
    fn rest(mut self, rows: &[VersionRow]) -> BTreeMap<usize, Cause> {
        let among: Vec<VersionRow> =
            rows.iter().copied().filter(|row| row.def().kind <= VersionRowKind::Text).collect();
        for at in self.open {
            self.found.insert(at, Cause::Among(in_order(&among)));
        }
        self.found
    }
}

/// So many sets are tried before those that found a cause leave the search.
const AT_ONCE: usize = 4;

fn in_order(rows: &[VersionRow]) -> Vec<VersionRow> {
    let mut rows = rows.to_vec();
    rows.sort_unstable();
    rows
}

/// All sets of one size, those of the first rows first.
fn combinations(rows: &[VersionRow], size: usize) -> Vec<Vec<VersionRow>> {
    let Some(less) = size.checked_sub(1) else { return vec![Vec::new()] };
    let with = |(at, first): (usize, &VersionRow)| {
        let rest = combinations(rows.get(at + 1..).unwrap_or_default(), less);
        rest.into_iter().map(|rest| std::iter::once(*first).chain(rest).collect()).collect::<Vec<_>>()
    };
    rows.iter().enumerate().flat_map(with).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_of_a_size_come_each_once() {
        let rows = VersionRow::ALL.get(..5).unwrap();
        for (size, count) in [(1, 5), (2, 10), (3, 10)] {
            let mut sets = combinations(rows, size);
            assert!(sets.iter().all(|set| set.len() == size && *set == in_order(set)));
            sets.sort();
            sets.dedup();
            assert_eq!(sets.len(), count);
        }
        assert_eq!(combinations(&rows[..1], 2), Vec::<Vec<VersionRow>>::new());
    }
}
