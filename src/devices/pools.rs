//! The pools of a node: which slices of a pool count there, and whether the pool can be allocated from.
//!
//! Source: `structured/internal/incubating/pools_incubating.go`.

use crate::device::{DeviceOf, Place};
use crate::features::AllocatorFeatures;
use crate::node_choice::{chooses, is_made};
use bayplan_model::objects::devices::{CounterSet, PoolId};
use bayplan_model::{DeviceIndex, Node, PoolUse, ResourceSlice, Symbol, VersionRow};
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::Arc;

/// A slice, as the index keeps it.
pub(crate) type Slice<'a> = &'a Arc<ResourceSlice>;

/// Whether devices of a pool may be allocated.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum PoolState {
    /// They may.
    Whole,
    /// Slices are missing: its driver is about to write them.
    Incomplete,
    /// Its slices contradict each other.
    Invalid,
}

/// A pool, as a node sees it.
#[derive(Clone, Debug)]
pub(crate) struct Pool<'a> {
    /// Which pool.
    pub(crate) id: &'a PoolId,
    /// Whether its devices may be allocated; without devices otherwise.
    pub(crate) state: PoolState,
    /// Its slices with devices for the node, by name.
    pub(crate) slices: Vec<Slice<'a>>,
    /// Its slices with devices for other nodes only; where slices of the node are all of the pool, they are none.
    pub(crate) elsewhere: Vec<Slice<'a>>,
    /// What devices of the pool share.
    pub(crate) counters: FxHashMap<&'a Symbol, &'a CounterSet>,
    /// What is allocated of its devices.
    pub(crate) used: Option<&'a PoolUse>,
}

impl<'a> Pool<'a> {
    /// The device at a place of this pool.
    pub(crate) fn device(&self, place: Place) -> Option<DeviceOf<'a>> {
        let slice = self.slices.get(place.slice as usize)?;
        Some(DeviceOf { slice, device: slice.devices.get(place.device as usize)? })
    }

    fn has_binding_conditions(&self) -> bool {
        let mut devices = self.slices.iter().flat_map(|slice| slice.devices.iter());
        devices.any(|device| !device.binding_conditions.is_empty())
    }
}

/// The first place from `from` on that has a device of a pool that may be allocated.
pub(crate) fn place_from(pools: &[Pool<'_>], from: Place) -> Option<Place> {
    let mut at = from;
    loop {
        let pool = pools.get(at.pool as usize)?;
        match pool.slices.get(at.slice as usize) {
            Some(slice) if (at.device as usize) < slice.devices.len() => return Some(at),
            Some(_) => at = Place { slice: at.slice + 1, device: 0, ..at },
            None => at = Place { pool: at.pool + 1, slice: 0, device: 0 },
        }
    }
}

/// Finds the pools of a node.
pub(crate) struct Gather<'a, 'n> {
    pub(crate) index: &'a DeviceIndex,
    pub(crate) features: &'n AllocatorFeatures,
    pub(crate) node: &'n Node,
}

impl<'a> Gather<'a, '_> {
    /// The pools, in the order in which they are tried: those without binding conditions first, then by driver and name.
    pub(crate) fn pools(&self) -> Result<Vec<Pool<'a>>, String> {
        let mut slices = Vec::new();
        self.keep(self.index.slices_of(&self.node.name), &mut slices)?;
        self.keep(self.index.slices_of_no_node(), &mut slices)?;
        if self.features.counters_everywhere() {
            let others = self.index.counter_slices_of_nodes();
            self.keep(others.filter(|slice| slice.nodes.node_name != self.node.name), &mut slices)?;
        }
        slices.sort_unstable_by(|a, b| {
            let newest_first = || b.generation.cmp(&a.generation);
            a.pool.cmp(&b.pool).then_with(newest_first).then_with(|| a.metadata.name.cmp(&b.metadata.name))
        });
        let mut pools = Vec::new();
        for of_pool in slices.chunk_by(|a, b| a.pool == b.pool) {
            let newest = of_pool.first().map(|slice| slice.generation);
            let end = of_pool.partition_point(|slice| Some(slice.generation) == newest);
            pools.extend(self.pool(of_pool.get(..end).unwrap_or_default()));
        }
        pools.sort_by_key(Pool::has_binding_conditions);
        Ok(pools)
    }

    fn keep(&self, from: impl Iterator<Item = Slice<'a>>, slices: &mut Vec<Slice<'a>>) -> Result<(), String> {
        for slice in from {
            if self.counts(slice)? {
                slices.push(slice);
            }
        }
        Ok(())
    }

    /// Whether a slice counts on the node.
    fn counts(&self, slice: &ResourceSlice) -> Result<bool, String> {
        let shares_counters = !slice.shared_counters.is_empty();
        if !self.features.partitionable_devices && (slice.per_device.is_some() || shares_counters) {
            return Ok(false);
        }
        if self.ignores(slice) {
            return Ok(false);
        }
        if shares_counters && self.features.counters_everywhere() {
            return Ok(true);
        }
        let name = &slice.metadata.name;
        if is_made(&slice.nodes) {
            return chooses(&slice.nodes, self.node)
                .map_err(|error| format!("failed to perform node selection for slice {name}: {error}"));
        }
        if slice.per_device != Some(true) {
            // A choice of nodes of a later Kubernetes.
            return Ok(false);
        }
        for device in slice.devices.iter() {
            let fits = chooses(&device.nodes, self.node).map_err(|error| {
                let device = &device.name;
                format!("failed to perform node selection for device {device} in slice {name}: {error}")
            });
            if fits? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether a slice is as if it were not there: its devices have compatibility groups, which are behind a feature gate
    /// that is off.
    fn ignores(&self, slice: &ResourceSlice) -> bool {
        let mut consumed = slice.devices.iter().flat_map(|device| &device.consumes_counters);
        self.features.has(VersionRow::NewDeviceFields)
            && consumed.any(|consumed| !consumed.compatibility_groups.is_empty())
    }

    /// The pool of slices of its newest generation on this node. `None`: elsewhere it has slices of a newer one.
    fn pool(&self, slices: &[Slice<'a>]) -> Option<Pool<'a>> {
        let first = slices.first()?;
        let id = &first.pool;
        let used = self.index.allocated().pool(id);
        let empty = |state| Pool {
            id,
            state,
            slices: Vec::new(),
            elsewhere: Vec::new(),
            counters: FxHashMap::default(),
            used,
        };
        let mut pool = empty(PoolState::Whole);
        let is_whole = |count: usize| i64::try_from(count) == Ok(first.slice_count);
        let mut counters = Vec::new();
        let mut sort = |slice: Slice<'a>, into: &mut Vec<Slice<'a>>| match self.features.partitionable_devices
            && !slice.shared_counters.is_empty()
        {
            true => counters.push(slice),
            false => into.push(slice),
        };
        for slice in slices {
            sort(slice, &mut pool.slices);
        }
        if !is_whole(slices.len()) {
            let mut all = 0;
            for slice in self.index.pool(id) {
                if slice.generation > first.generation {
                    return None;
                }
                if slice.generation < first.generation || self.ignores(slice) {
                    continue;
                }
                all += 1;
                let name = &slice.metadata.name;
                if slices.binary_search_by(|known| known.metadata.name.cmp(name)).is_err() {
                    sort(slice, &mut pool.elsewhere);
                }
            }
            if !is_whole(all) {
                return Some(empty(PoolState::Incomplete));
            }
        }
        let is_valid = has_unique_names(&pool.slices)
            && (!self.features.partitionable_devices
                || add_counters(&counters, &mut pool.counters)
                    && consumes_known(&pool.slices, &pool.counters)
                    && consumes_known(&pool.elsewhere, &pool.counters));
        Some(if is_valid { pool } else { empty(PoolState::Invalid) })
    }
}

fn has_unique_names(slices: &[Slice<'_>]) -> bool {
    let mut names = FxHashSet::default();
    slices.iter().flat_map(|slice| slice.devices.iter()).all(|device| names.insert(&device.name))
}

/// Adds the counter sets of slices. Returns whether their names are unique.
fn add_counters<'a>(slices: &[Slice<'a>], to: &mut FxHashMap<&'a Symbol, &'a CounterSet>) -> bool {
    let mut sets = slices.iter().flat_map(|slice| slice.shared_counters.iter());
    sets.all(|set| to.insert(&set.name, set).is_none())
}

/// Whether the pool has all counters that devices consume.
fn consumes_known(slices: &[Slice<'_>], counters: &FxHashMap<&Symbol, &CounterSet>) -> bool {
    let devices = slices.iter().flat_map(|slice| slice.devices.iter());
    devices.flat_map(|device| &device.consumes_counters).all(|consumed| {
        let set = counters.get(&consumed.counter_set);
        set.is_some_and(|set| consumed.counters.keys().all(|name| set.counters.contains_key(name)))
    })
}
