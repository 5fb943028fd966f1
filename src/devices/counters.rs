//! Counters that devices of a pool share: what is left of them, and what the devices picked in a search take.
//!
//! Upstream computes what is left once for all nodes of a pod's cycle; here it is computed for each node, from the same
//! slices and allocations.
//!
//! Source: `structured/internal/incubating/allocator_incubating.go`, `checkAvailableCounters`.

use crate::device::DeviceOf;
use crate::pools::Pool;
use bayplan_model::{Quantity, Symbol};
use rustc_hash::FxHashMap;

/// Driver and name of a pool; the driver is left out where pools of one name share their counters.
type Key<'a> = (Option<&'a Symbol>, &'a Symbol);

/// A counter that does not suffice.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct ShortCounter {
    /// The counter set.
    pub(crate) set: Symbol,
    /// The counter.
    pub(crate) name: Symbol,
    /// What devices picked so far and the candidate take together.
    pub(crate) need: Quantity,
    /// What is left beside allocated devices.
    pub(crate) have: Quantity,
}

#[derive(Debug)]
struct Counter<'a> {
    set: &'a Symbol,
    name: &'a Symbol,
    left: Quantity,
    taken: Quantity,
}

impl Counter<'_> {
    fn is_short(&self) -> bool {
        self.left < self.taken
    }
}

/// The counters of a pool.
#[derive(Debug, Default)]
struct OfPool<'a> {
    places: FxHashMap<(&'a Symbol, &'a Symbol), usize>,
    counters: Vec<Counter<'a>>,
    /// How many counters are short: one blocks all devices of the pool that take counters.
    short: usize,
}

impl<'a> OfPool<'a> {
    fn of(pool: &Pool<'a>) -> Self {
        let mut this = Self::default();
        for set in pool.counters.values() {
            for (name, amount) in &set.counters {
                this.places.insert((&set.name, name), this.counters.len());
                this.counters.push(Counter { set: &set.name, name, left: *amount, taken: Quantity::ZERO });
            }
        }
        if let Some(used) = pool.used {
            let slices = pool.slices.iter().chain(&pool.elsewhere);
            let devices = slices.flat_map(|slice| slice.devices.iter());
            let takers = devices.filter(|device| !device.consumes_counters.is_empty());
            for device in takers.filter(|device| used.device(&device.name).is_some()) {
                this.each(device, |counter, amount| counter.left = counter.left - amount);
            }
        }
        this.short = this.counters.iter().filter(|counter| counter.is_short()).count();
        this
    }

    /// Visits the known counters that a device takes.
    fn each(
        &mut self,
        device: &bayplan_model::objects::devices::Device,
        mut visit: impl FnMut(&mut Counter<'a>, Quantity),
    ) {
        for consumed in &device.consumes_counters {
            for (name, amount) in &consumed.counters {
                let place = self.places.get(&(&consumed.counter_set, name));
                if let Some(counter) = place.and_then(|place| self.counters.get_mut(*place)) {
                    visit(counter, *amount);
                }
            }
        }
    }

    /// Adds what a device takes, or takes it back.
    fn change(&mut self, device: &DeviceOf<'_>, give_back: bool) {
        let mut short = self.short;
        self.each(device.device, |counter, amount| {
            let was = counter.is_short();
            counter.taken = counter.taken + if give_back { -amount } else { amount };
            short = short + usize::from(counter.is_short()) - usize::from(was);
        });
        self.short = short;
    }
}

/// The counters of all pools that a search met.
#[derive(Debug)]
pub(crate) struct Counters<'a> {
    by_pool: FxHashMap<Key<'a>, OfPool<'a>>,
    /// Pools of different drivers are different pools.
    by_driver: bool,
}

impl<'a> Counters<'a> {
    pub(crate) fn new(by_driver: bool) -> Self {
        Self { by_pool: FxHashMap::default(), by_driver }
    }

    fn of(&mut self, pool: &Pool<'a>) -> &mut OfPool<'a> {
        let key = (self.by_driver.then_some(&pool.id.driver), &pool.id.name);
        self.by_pool.entry(key).or_insert_with(|| OfPool::of(pool))
    }

    /// Takes what a device takes. `Err`: a counter of the pool does not suffice, and nothing changes.
    pub(crate) fn take(&mut self, pool: &Pool<'a>, device: &DeviceOf<'_>) -> Result<(), ShortCounter> {
        let counters = self.of(pool);
        counters.change(device, false);
        if counters.short == 0 {
            return Ok(());
        }
        let short = counters.counters.iter().filter(|counter| counter.is_short());
        let first = short.min_by_key(|counter| (counter.set, counter.name)).map(|counter| ShortCounter {
            set: counter.set.clone(),
            name: counter.name.clone(),
            need: counter.taken,
            have: counter.left,
        });
        counters.change(device, true);
        first.map_or(Ok(()), Err)
    }

    /// Gives back what a device took.
    pub(crate) fn give_back(&mut self, pool: &Pool<'a>, device: &DeviceOf<'_>) {
        self.of(pool).change(device, true);
    }
}
