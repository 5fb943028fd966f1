//! The distinct taint lists of all rows, found by hash and counted by row. A list that no row has is freed, and its
//! number is used again, so that a pass over the lists costs by what nodes have now.

use crate::taints::Taint;
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Names a distinct list of taints; 0 is the empty list.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct TaintSetId(pub u32);

/// A list of taints that rows have. A number that no row uses has the empty list.
#[derive(Clone, Debug)]
pub struct TaintSet {
    taints: Arc<[Taint]>,
    keeps_pods_away: bool,
    prefers_no_pods: bool,
    /// Rows that have it; not counted for the empty list.
    rows: u32,
}

impl TaintSet {
    fn new(taints: &Arc<[Taint]>) -> Self {
        Self {
            taints: taints.clone(),
            keeps_pods_away: taints.iter().any(|taint| taint.effect.keeps_pods_away()),
            prefers_no_pods: taints.iter().any(|taint| !taint.effect.keeps_pods_away()),
            rows: 0,
        }
    }

    /// The taints, in the order of the node.
    #[inline]
    pub fn taints(&self) -> &[Taint] {
        &self.taints
    }

    /// Whether a taint has the effect `NoSchedule` or `NoExecute`.
    #[inline]
    pub fn keeps_pods_away(&self) -> bool {
        self.keeps_pods_away
    }

    /// Whether a taint has the effect `PreferNoSchedule`.
    #[inline]
    pub fn prefers_no_pods(&self) -> bool {
        self.prefers_no_pods
    }
}

/// All lists in use.
#[derive(Clone, Debug)]
pub(super) struct TaintSets {
    sets: Vec<TaintSet>,
    numbers: FxHashMap<Arc<[Taint]>, u32>,
    /// Numbers below the length of `sets` that no row uses.
    free: BTreeSet<u32>,
    none: Arc<[Taint]>,
}

impl Default for TaintSets {
    fn default() -> Self {
        let none: Arc<[Taint]> = Arc::from([]);
        Self { sets: vec![TaintSet::new(&none)], numbers: FxHashMap::default(), free: BTreeSet::new(), none }
    }
}

impl TaintSets {
    /// The lists by number.
    #[inline]
    pub(super) fn all(&self) -> &[TaintSet] {
        &self.sets
    }

    /// How many lists are in use, without the empty one.
    pub(super) fn in_use(&self) -> usize {
        self.numbers.len()
    }

    /// Whether the list of this number is `taints`.
    pub(super) fn is(&self, id: TaintSetId, taints: &[Taint]) -> bool {
        self.sets.get(id.0 as usize).is_some_and(|set| *set.taints == *taints)
    }

    /// The number of a list for one more row.
    pub(super) fn take(&mut self, taints: &Arc<[Taint]>) -> TaintSetId {
        if taints.is_empty() {
            return TaintSetId(0);
        }
        let number = match self.numbers.get(taints) {
            Some(number) => *number,
            None => {
                // The lowest number first, so that the list of numbers becomes short again.
                let number = self.free.pop_first().unwrap_or(self.sets.len() as u32);
                match self.sets.get_mut(number as usize) {
                    Some(free) => *free = TaintSet::new(taints),
                    None => self.sets.push(TaintSet::new(taints)),
                }
                self.numbers.insert(taints.clone(), number);
                number
            }
        };
        if let Some(set) = self.sets.get_mut(number as usize) {
            set.rows += 1;
        }
        TaintSetId(number)
    }

    /// A row gives its list up.
    pub(super) fn leave(&mut self, id: TaintSetId) {
        let Some(set) = self.sets.get_mut(id.0 as usize).filter(|set| set.rows > 0) else { return };
        set.rows -= 1;
        if set.rows > 0 {
            return;
        }
        let gone = std::mem::replace(set, TaintSet::new(&self.none));
        self.numbers.remove(&gone.taints);
        self.free.insert(id.0);
        while let Some(last) = self.sets.len().checked_sub(1)
            && self.free.remove(&(last as u32))
        {
            self.sets.pop();
        }
        if self.numbers.capacity() > 1_024.max(8 * self.numbers.len()) {
            self.numbers.shrink_to_fit();
            self.sets.shrink_to_fit();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Effect, Symbol};

    fn taint(key: usize, effect: Effect) -> Arc<[Taint]> {
        Arc::from([Taint { key: Symbol::from(format!("t{key}")), value: Symbol::default(), effect }])
    }

    #[test]
    fn a_list_is_freed_with_its_last_row_and_its_number_is_used_again() {
        let mut sets = TaintSets::default();
        let [a, b, c] = [0, 1, 2].map(|key| taint(key, Effect::NoSchedule));
        assert_eq!([&a, &b, &a, &c].map(|taints| sets.take(taints).0), [1, 2, 1, 3]);
        sets.leave(TaintSetId(1));
        assert!(sets.is(TaintSetId(1), &a) && sets.in_use() == 3, "another row has it");
        sets.leave(TaintSetId(1));
        assert!(sets.all()[1].taints().is_empty() && sets.in_use() == 2);
        assert_eq!(sets.take(&taint(9, Effect::PreferNoSchedule)), TaintSetId(1));
        assert!(sets.all()[1].prefers_no_pods() && !sets.all()[1].keeps_pods_away());
        [3, 1, 2].into_iter().for_each(|number| sets.leave(TaintSetId(number)));
        sets.leave(TaintSetId(0));
        assert_eq!((sets.all().len(), sets.in_use(), sets.free.len()), (1, 0, 0));
    }
}
