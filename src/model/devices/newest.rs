//! [`NewestSlices`]: what decisions ask of the slices of a pool again and again, and what changes with them alone; and
//! [`Revision`], by which they see that nothing changed.

use crate::objects::ResourceSlice;
use crate::objects::devices::PoolId;
use rustc_hash::FxHashSet;
use std::sync::{Arc, OnceLock};

/// What follows from the value that has it, and is found out when it is first asked for. Two of them are equal: they are
/// parts of equal values.
#[derive(Clone)]
pub(super) struct Derived<T>(OnceLock<T>);

impl<T> std::fmt::Debug for Derived<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("derived")
    }
}

impl<T> Default for Derived<T> {
    fn default() -> Self {
        Self(OnceLock::new())
    }
}

impl<T> PartialEq for Derived<T> {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl<T> Derived<T> {
    pub(super) fn get(&self, make: impl FnOnce() -> T) -> &T {
        self.0.get_or_init(make)
    }
}

/// Names a state, so that who remembers what follows from it sees whether it is the same: no other state has it, in forks
/// neither.
#[derive(Clone, Debug, Default)]
pub struct Revision(Arc<()>);

impl Revision {
    /// Whether both name one state.
    pub fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

/// Slices of one pool: those of the highest generation among the given ones.
#[derive(Clone, Debug)]
pub struct NewestSlices {
    slices: Vec<Arc<ResourceSlice>>,
    is_plain: bool,
    has_unique_names: bool,
    has_binding_conditions: bool,
}

impl NewestSlices {
    /// Of slices of one pool, by name.
    pub(super) fn of<'s>(all: impl Iterator<Item = &'s Arc<ResourceSlice>> + Clone) -> Self {
        let newest = all.clone().map(|slice| slice.generation).max();
        let slices: Vec<_> = all.filter(|slice| Some(slice.generation) == newest).cloned().collect();
        let devices = || slices.iter().flat_map(|slice| slice.devices.iter());
        let mut names = FxHashSet::default();
        Self {
            is_plain: slices
                .iter()
                .all(|slice| slice.per_device.is_none() && slice.shared_counters.is_empty())
                && devices().all(|device| device.consumes_counters.is_empty()),
            has_unique_names: devices().all(|device| names.insert(&device.name)),
            has_binding_conditions: devices().any(|device| !device.binding_conditions.is_empty()),
            slices,
        }
    }

    /// The pool.
    pub fn id(&self) -> Option<&PoolId> {
        self.slices.first().map(|slice| &slice.pool)
    }

    /// The generation.
    pub fn generation(&self) -> i64 {
        self.slices.first().map(|slice| slice.generation).unwrap_or_default()
    }

    /// The slices, by name.
    pub fn slices(&self) -> &[Arc<ResourceSlice>] {
        &self.slices
    }

    /// Whether no feature gate concerns them: they have no counters, and do not choose nodes for each device.
    pub fn is_plain(&self) -> bool {
        self.is_plain
    }

    /// Whether no two devices have the same name.
    pub fn has_unique_names(&self) -> bool {
        self.has_unique_names
    }

    /// Whether a device has binding conditions.
    pub fn has_binding_conditions(&self) -> bool {
        self.has_binding_conditions
    }
}
