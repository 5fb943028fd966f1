//! [`AllocatedDevices`]: which devices claims hold, whichever scheduler allocated them and whether or not a slice still
//! lists them.
//!
//! Upstream keeps a plain set, from which the first of two claims with one device takes it; here a device is free when no
//! claim holds it. Neither does an allocation that changes at once leave devices behind.
//!
//! Source: `pkg/scheduler/framework/plugins/dynamicresources/allocateddevices.go`.

use super::newest::{Derived, Revision};
use crate::objects::devices::{AllocatedDevice, Allocation, DeviceId, PoolId};
use crate::objects::{ResourceClaim, ResourceSlice};
use crate::quantity::Quantity;
use crate::symbol::Symbol;
use crate::table::{Placed, Table};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

/// Names a claim.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Holder {
    /// Its namespace.
    pub namespace: Symbol,
    /// Its name.
    pub name: Symbol,
}

impl Holder {
    pub(super) fn of(claim: &ResourceClaim) -> Self {
        Self { namespace: claim.metadata.namespace.clone(), name: claim.metadata.name.clone() }
    }
}

/// What is allocated of a device. Results with `adminAccess` take nothing.
#[derive(Clone, PartialEq, Debug)]
pub struct DeviceUse {
    name: Symbol,
    /// The results that hold it: by claim and position, in its allocation.
    holds: BTreeMap<(Holder, usize), Arc<Allocation>>,
    dedicated: bool,
    shares: BTreeSet<Symbol>,
    consumed: BTreeMap<Symbol, Quantity>,
}

impl Placed for DeviceUse {
    fn place(&self) -> (&Symbol, &Symbol) {
        (&self.name, &self.name)
    }
}

impl DeviceUse {
    fn new(name: Symbol) -> Self {
        let (shares, consumed) = (BTreeSet::new(), BTreeMap::new());
        Self { name, holds: BTreeMap::new(), dedicated: false, shares, consumed }
    }

    /// The name of the device in its pool.
    pub fn name(&self) -> &Symbol {
        &self.name
    }

    /// Whether a claim has it for itself.
    fn is_dedicated(&self) -> bool {
        self.dedicated
    }

    /// The identifiers of its shares.
    pub fn shares(&self) -> &BTreeSet<Symbol> {
        &self.shares
    }

    /// What all shares together take of its capacities; empty when that is nothing.
    pub fn consumed(&self) -> &BTreeMap<Symbol, Quantity> {
        &self.consumed
    }

    /// The claims that hold it, by namespace and name, each once.
    pub fn holders(&self) -> impl Iterator<Item = &Holder> {
        let mut last = None;
        self.holds
            .keys()
            .map(|(holder, _)| holder)
            .filter(move |holder| last.replace(*holder) != Some(*holder))
    }

    fn results(&self) -> impl Iterator<Item = &AllocatedDevice> {
        self.holds.iter().filter_map(|((_, at), allocation)| allocation.devices.results.get(*at))
    }

    /// Derives the sums and sets from the results: sums in the order of claims, so that the format of an amount does not
    /// depend on the order of events.
    fn sum(&mut self) {
        let dedicated = self.results().any(|result| result.share.is_none());
        let shares = self.results().filter_map(|result| result.share.clone()).collect();
        let mut consumed = BTreeMap::new();
        for result in self.results().filter(|result| result.share.is_some()) {
            for (name, amount) in result.consumed_capacity.iter().flatten() {
                let sum: &mut Quantity = consumed.entry(name.clone()).or_insert(Quantity::ZERO);
                *sum = *sum + *amount;
            }
        }
        if consumed.values().all(Quantity::is_zero) {
            consumed.clear();
        }
        (self.dedicated, self.shares, self.consumed) = (dedicated, shares, consumed);
    }
}

/// Who has a device.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Held {
    /// No claim.
    Free,
    /// Claims that share it.
    Shared,
    /// A claim for itself.
    Dedicated,
}

/// Who has the devices of slices: what a search reads of most of them.
#[derive(Clone, Debug)]
pub struct HeldPlaces {
    slices: Vec<Arc<ResourceSlice>>,
    /// By slice and position.
    held: Vec<Box<[Held]>>,
}

impl HeldPlaces {
    fn of(pool: &PoolUse, slices: &[&Arc<ResourceSlice>]) -> Self {
        let of_slice = |slice: &&Arc<ResourceSlice>| {
            slice.devices.iter().map(|device| pool.held(&device.name)).collect()
        };
        Self {
            slices: slices.iter().map(|slice| Arc::clone(slice)).collect(),
            held: slices.iter().map(of_slice).collect(),
        }
    }

    fn is_of(&self, slices: &[&Arc<ResourceSlice>]) -> bool {
        self.slices.len() == slices.len() && self.slices.iter().zip(slices).all(|(a, b)| Arc::ptr_eq(a, b))
    }

    /// Who has the device at a position of a slice, by the position of the slice.
    pub fn at(&self, slice: usize, device: usize) -> Held {
        self.held.get(slice).and_then(|slice| slice.get(device)).copied().unwrap_or(Held::Free)
    }
}

/// What is allocated of the devices of a pool.
#[derive(Clone, PartialEq, Debug)]
pub struct PoolUse {
    id: PoolId,
    devices: Table<DeviceUse>,
    places: Derived<HeldPlaces>,
}

impl Placed for PoolUse {
    fn place(&self) -> (&Symbol, &Symbol) {
        (&self.id.driver, &self.id.name)
    }
}

impl PoolUse {
    fn new(id: PoolId) -> Self {
        Self { id, devices: Table::default(), places: Derived::default() }
    }

    /// Which pool.
    pub fn id(&self) -> &PoolId {
        &self.id
    }

    /// A device, if anything of it is allocated.
    pub fn device(&self, name: &Symbol) -> Option<&DeviceUse> {
        self.devices.get(name, name)
    }

    /// Who has a device.
    pub fn held(&self, name: &Symbol) -> Held {
        match self.device(name) {
            None => Held::Free,
            Some(device) if device.is_dedicated() => Held::Dedicated,
            Some(_) => Held::Shared,
        }
    }

    /// Who has the devices of these slices of the pool. `None`: what is remembered is of other slices, and devices are
    /// to be looked up one by one.
    pub fn places(&self, slices: &[&Arc<ResourceSlice>]) -> Option<&HeldPlaces> {
        Some(self.places.get(|| HeldPlaces::of(self, slices))).filter(|places| places.is_of(slices))
    }

    /// Adds a result of an allocation to a device, or removes it.
    fn edit(&mut self, name: &Symbol, key: (Holder, usize), allocation: Option<&Arc<Allocation>>) {
        self.places = Derived::default();
        let mut device = self.device(name).cloned().unwrap_or_else(|| DeviceUse::new(name.clone()));
        match allocation {
            Some(allocation) => drop(device.holds.insert(key, allocation.clone())),
            None => drop(device.holds.remove(&key)),
        }
        device.sum();
        match device.holds.is_empty() {
            true => drop(self.devices.remove(name, name)),
            false => drop(self.devices.put(device)),
        }
    }

    /// The devices of which something is allocated, by name.
    pub fn devices(&self) -> impl Iterator<Item = &DeviceUse> {
        self.devices.all()
    }
}

/// So many edits are remembered: more than lie between two decisions, unless many pods end at once.
const MOST_EDITS: usize = 64;

/// The last edits, so that who remembers what follows from allocations forgets no more than changed. All are equal: equal
/// values may have come about in other ways.
#[derive(Clone, Default)]
struct Edits {
    now: Revision,
    /// What was before an edit, and the pool that it was about.
    last: Arc<VecDeque<(Revision, PoolId)>>,
}

impl std::fmt::Debug for Edits {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("edits")
    }
}

impl PartialEq for Edits {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Edits {
    fn note(&mut self, pool: PoolId) {
        let last = Arc::make_mut(&mut self.last);
        if last.len() == MOST_EDITS {
            last.pop_front();
        }
        last.push_back((std::mem::take(&mut self.now), pool));
    }

    fn since(&self, revision: &Revision) -> Option<impl Iterator<Item = &PoolId>> {
        let begin = match self.now.is(revision) {
            true => self.last.len(),
            false => self.last.iter().rposition(|(before, _)| before.is(revision))?,
        };
        Some(self.last.iter().skip(begin).map(|(_, pool)| pool))
    }
}

/// What is allocated, by pool and device.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct AllocatedDevices {
    pools: Table<PoolUse>,
    edits: Edits,
}

impl AllocatedDevices {
    /// The pool, if anything of its devices is allocated. Who asks about many devices of a pool asks for it once.
    pub fn pool(&self, pool: &PoolId) -> Option<&PoolUse> {
        self.pools.get(&pool.driver, &pool.name)
    }

    /// The pools of whose devices something is allocated, by driver and name.
    pub fn pools(&self) -> impl Iterator<Item = &PoolUse> {
        self.pools.all()
    }

    /// Names what is allocated now.
    pub fn revision(&self) -> &Revision {
        &self.edits.now
    }

    /// The pools of whose devices an allocation began or ended since then; a pool may come more than once. `None`: that is
    /// not remembered, or was in another fork.
    pub fn edited_since(&self, revision: &Revision) -> Option<impl Iterator<Item = &PoolId>> {
        self.edits.since(revision)
    }

    /// The device, if anything of it is allocated.
    pub fn device(&self, device: &DeviceId) -> Option<&DeviceUse> {
        self.pool(&device.pool)?.device(&device.name)
    }

    /// Whether a claim has the device for itself.
    pub fn is_taken(&self, device: &DeviceId) -> bool {
        self.device(device).is_some_and(DeviceUse::is_dedicated)
    }

    /// Whether anything of the device is allocated: with the feature gate of shared devices off a share counts as the
    /// whole device.
    pub fn has_any(&self, device: &DeviceId) -> bool {
        self.device(device).is_some()
    }

    /// The claims that hold the device, by namespace and name.
    pub fn holders(&self, device: &DeviceId) -> impl Iterator<Item = &Holder> {
        self.device(device).into_iter().flat_map(DeviceUse::holders)
    }

    /// Takes note of a claim.
    pub(super) fn change(&mut self, before: Option<&ResourceClaim>, after: Option<&ResourceClaim>) {
        let of = |claim: Option<&ResourceClaim>| claim.and_then(|claim| claim.allocation.clone());
        let (was, is) = (of(before), of(after));
        if was == is {
            return;
        }
        if let Some((claim, allocation)) = before.zip(was) {
            self.edit(&Holder::of(claim), &allocation, false);
        }
        if let Some((claim, allocation)) = after.zip(is) {
            self.edit(&Holder::of(claim), &allocation, true);
        }
    }

    /// Adds or removes the results of an allocation.
    fn edit(&mut self, holder: &Holder, allocation: &Arc<Allocation>, add: bool) {
        for (at, result) in allocation.devices.results.iter().enumerate() {
            if result.admin_access {
                continue;
            }
            let DeviceId { pool: id, name } = result.id();
            if self.pool(&id).is_none() {
                self.pools.put(PoolUse::new(id.clone()));
            }
            // In place: a pool may have many devices.
            let Some(pool) = self.pools.get_mut(&id.driver, &id.name) else { continue };
            pool.edit(&name, (holder.clone(), at), add.then_some(allocation));
            if pool.devices.len() == 0 {
                self.pools.remove(&id.driver, &id.name);
            }
            self.edits.note(id);
        }
    }
}
