//! A pool as nodes see it: which of its slices count there, and whether it can be allocated from.
//!
//! Source: `structured/internal/incubating/pools_incubating.go`.

use crate::device::{DeviceOf, Place};
use crate::features::AllocatorFeatures;
use bayplan_model::objects::devices::{CounterSet, PoolId};
use bayplan_model::{
    DeviceIndex, DeviceUse, Held, HeldPlaces, NewestSlices, PoolUse, ResourceSlice, Symbol, VersionRow,
};
use rustc_hash::{FxHashMap, FxHashSet};
use std::cmp::Ordering;
use std::rc::Rc;
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
    /// Who has each device of `slices`, if that is remembered.
    pub(crate) held: Option<&'a HeldPlaces>,
    /// Whether one of its devices has binding conditions.
    pub(crate) has_binding_conditions: bool,
    /// Whether other nodes may have the same pool, with the same devices. Then it lives as long as the [`Gather`], so that
    /// its address names it.
    ///
    /// [`Gather`]: crate::gather::Gather
    pub(crate) is_common: bool,
}

impl<'a> Pool<'a> {
    /// The device at a place of this pool.
    pub(crate) fn device(&self, place: Place) -> Option<DeviceOf<'a>> {
        let slice = self.slices.get(place.slice as usize)?;
        DeviceOf::new(slice, place.device as usize)
    }

    /// Who has the device at a place of this pool.
    pub(crate) fn held(&self, place: Place, device: &DeviceOf<'_>) -> Held {
        let Some(used) = self.used else { return Held::Free };
        match self.held {
            Some(held) => held.at(place.slice as usize, place.device as usize),
            None => used.held(&device.device.name),
        }
    }

    /// What is allocated of the device at a place of this pool.
    pub(crate) fn used(&self, place: Place, device: &DeviceOf<'_>) -> Option<&'a DeviceUse> {
        match self.held(place, device) {
            Held::Free => None,
            Held::Shared | Held::Dedicated => self.used?.device(&device.device.name),
        }
    }
}

/// The first place from `from` on that has a device of a pool that may be allocated.
pub(crate) fn place_from(pools: &[Rc<Pool<'_>>], from: Place) -> Option<Place> {
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

/// Makes pools of slices.
#[derive(Clone, Copy)]
pub(crate) struct Making<'a> {
    pub(crate) index: &'a DeviceIndex,
    pub(crate) features: AllocatorFeatures,
}

impl<'a> Making<'a> {
    /// Whether a slice is as if it were not there, whatever the node: a feature that it needs is off, or its devices have
    /// compatibility groups, which are behind a feature gate that is off.
    pub(crate) fn leaves_out(&self, slice: &ResourceSlice) -> bool {
        let partitions = slice.per_device.is_some() || !slice.shared_counters.is_empty();
        !self.features.partitionable_devices && partitions || self.ignores(slice)
    }

    fn ignores(&self, slice: &ResourceSlice) -> bool {
        let mut consumed = slice.devices.iter().flat_map(|device| &device.consumes_counters);
        self.features.has(VersionRow::NewDeviceFields)
            && consumed.any(|consumed| !consumed.compatibility_groups.is_empty())
    }

    fn empty(&self, id: &'a PoolId, state: PoolState) -> Pool<'a> {
        Pool {
            id,
            state,
            slices: Vec::new(),
            elsewhere: Vec::new(),
            counters: FxHashMap::default(),
            used: self.index.allocated().pool(id),
            held: None,
            has_binding_conditions: false,
            is_common: false,
        }
    }

    /// The pool of those slices that count on a node, when no feature concerns them: what is known of them is enough.
    /// `None`: it is not enough. `Some(None)`: elsewhere the pool has slices of a newer generation.
    pub(crate) fn plain(&self, of: &'a NewestSlices) -> Option<Option<Pool<'a>>> {
        let (first, id) = (of.slices().first()?, of.id()?);
        let is_whole = |count: usize| i64::try_from(count) == Ok(first.slice_count);
        if !of.is_plain() {
            return None;
        }
        let mut state = PoolState::Whole;
        if !is_whole(of.slices().len()) {
            let all = self.index.newest(id)?;
            if all.generation() > first.generation {
                return Some(None);
            }
            if !all.is_plain() {
                return None;
            }
            if !is_whole(all.slices().len()) {
                state = PoolState::Incomplete;
            }
        }
        if state == PoolState::Whole && !of.has_unique_names() {
            state = PoolState::Invalid;
        }
        let mut pool = self.empty(id, state);
        if state == PoolState::Whole {
            pool.slices.extend(of.slices());
            pool.held = pool.used.and_then(|used| used.places(&pool.slices));
            pool.has_binding_conditions = of.has_binding_conditions();
        }
        Some(Some(pool))
    }

    /// The pool of slices that count on a node, in the order of [`order`]; all are of this pool. `None`: elsewhere it has
    /// slices of a newer generation.
    pub(crate) fn pool(&self, slices: &[Slice<'a>]) -> Option<Pool<'a>> {
        let first = slices.first()?;
        let end = slices.partition_point(|slice| slice.generation == first.generation);
        let slices = slices.get(..end).unwrap_or_default();
        let id = &first.pool;
        let mut pool = self.empty(id, PoolState::Whole);
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
                return Some(self.empty(id, PoolState::Incomplete));
            }
        }
        let is_valid = has_unique_names(&pool.slices)
            && (!self.features.partitionable_devices
                || add_counters(&counters, &mut pool.counters)
                    && consumes_known(&pool.slices, &pool.counters)
                    && consumes_known(&pool.elsewhere, &pool.counters));
        if !is_valid {
            return Some(self.empty(id, PoolState::Invalid));
        }
        let mut devices = pool.slices.iter().flat_map(|slice| slice.devices.iter());
        pool.has_binding_conditions = devices.any(|device| !device.binding_conditions.is_empty());
        Some(pool)
    }
}

/// The order of slices: by pool, the newest generation first, then by name.
pub(crate) fn order(a: &Slice<'_>, b: &Slice<'_>) -> Ordering {
    let newest_first = || b.generation.cmp(&a.generation);
    a.pool.cmp(&b.pool).then_with(newest_first).then_with(|| a.metadata.name.cmp(&b.metadata.name))
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
