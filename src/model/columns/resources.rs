//! Columns of resources. Scalar resources have a column while the entry of any row is not zero.

use super::set;
use crate::resource::Resource;
use crate::symbol::Symbol;
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// One resource over all rows.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ResourceColumn {
    /// Allocatable, in the units of [`Resource`].
    pub allocatable: Arc<Vec<i64>>,
    /// Requested by the pods on the node.
    pub requested: Arc<Vec<i64>>,
}

impl ResourceColumn {
    pub(super) fn grow(&mut self, room: usize) {
        super::longer(&mut self.allocatable, room);
        super::longer(&mut self.requested, room);
    }
}

/// Which part of a [`ResourceColumn`].
#[derive(Clone, Copy)]
pub(super) enum Part {
    Allocatable,
    Requested,
}

impl Part {
    fn of(self, column: &ResourceColumn) -> &Arc<Vec<i64>> {
        match self {
            Part::Allocatable => &column.allocatable,
            Part::Requested => &column.requested,
        }
    }

    fn of_mut(self, column: &mut ResourceColumn) -> &mut Arc<Vec<i64>> {
        match self {
            Part::Allocatable => &mut column.allocatable,
            Part::Requested => &mut column.requested,
        }
    }
}

/// The column of a scalar resource.
#[derive(Clone, Debug, Default)]
struct ScalarColumn {
    column: ResourceColumn,
    /// Entries that are not zero.
    entries: usize,
}

/// The columns of scalar resources by name.
#[derive(Clone, Debug, Default)]
pub(super) struct Scalars(Arc<FxHashMap<Symbol, ScalarColumn>>);

impl Scalars {
    #[inline]
    pub(super) fn get(&self, name: &Symbol) -> Option<&ResourceColumn> {
        self.0.get(name).map(|scalar| &scalar.column)
    }

    /// How many resources have a column.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// The names, in no particular order.
    pub(super) fn names(&self) -> impl Iterator<Item = &Symbol> {
        self.0.keys()
    }

    pub(super) fn grow(&mut self, room: usize) {
        if !self.0.is_empty() {
            Arc::make_mut(&mut self.0).values_mut().for_each(|scalar| scalar.column.grow(room));
        }
    }

    /// Writes the amounts of a row.
    pub(super) fn set(&mut self, row: usize, room: usize, of: &Resource, part: Part) {
        let differs = |(name, scalar): (&Symbol, &ScalarColumn)| {
            part.of(&scalar.column).get(row).is_some_and(|old| *old != of.scalar(name))
        };
        let new = |(name, amount): &(Symbol, i64)| *amount != 0 && !self.0.contains_key(name);
        if !self.0.iter().any(differs) && !of.scalars.iter().any(new) {
            return;
        }
        let scalars = Arc::make_mut(&mut self.0);
        for (name, amount) in &of.scalars {
            if *amount != 0 && !scalars.contains_key(name) {
                let zeros = Arc::new(vec![0; room]);
                let column = ResourceColumn { allocatable: zeros.clone(), requested: zeros };
                scalars.insert(name.clone(), ScalarColumn { column, entries: 0 });
            }
        }
        scalars.retain(|name, scalar| {
            let column = part.of_mut(&mut scalar.column);
            let (old, amount) = (column.get(row).copied().unwrap_or(0), of.scalar(name));
            set(column, row, amount);
            scalar.entries += usize::from(amount != 0);
            scalar.entries -= usize::from(old != 0);
            scalar.entries > 0
        });
    }
}
