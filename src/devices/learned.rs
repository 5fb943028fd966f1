//! [`Learned`]: what a search found out about a pool that holds for the next node with the same pool, and for the same
//! claims.

use crate::candidate::Unfit;
use crate::device::{DeviceOf, Place};
use crate::pools::Pool;
use crate::selectable::Unselected;
use rustc_hash::FxHashMap;
use std::rc::Rc;
use std::sync::Arc;

/// Devices one after the other that an alternative never gets, whatever else is picked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Passed {
    /// The first one.
    pub(crate) begin: Place,
    /// The place behind them, in the same pool.
    pub(crate) end: Place,
    /// How many they are.
    pub(crate) count: u64,
}

/// A pool that many nodes have, by its address, and the number of an alternative.
type Key = (usize, u32);

/// What is known of pools that many nodes have.
#[derive(Debug, Default)]
pub(crate) struct Learned {
    /// By slice and device of the first one.
    passed: FxHashMap<(Key, u32, u32), Passed>,
    /// Slices and devices that the mode `All` means.
    all: FxHashMap<Key, Arc<[(u32, u32)]>>,
}

fn key(pool: &Rc<Pool<'_>>, alternative: u32) -> Key {
    (Rc::as_ptr(pool).addr(), alternative)
}

impl Learned {
    /// The devices from a place on that are known to be refused.
    pub(crate) fn passed(&self, pool: &Rc<Pool<'_>>, alternative: u32, from: Place) -> Option<Passed> {
        let known = self.passed.get(&(key(pool, alternative), from.slice, from.device))?;
        let here = |place: Place| Place { pool: from.pool, ..place };
        Some(Passed { begin: from, end: here(known.end), count: known.count })
    }

    /// Takes note of refused devices.
    pub(crate) fn pass(&mut self, pool: &Rc<Pool<'_>>, alternative: u32, passed: Passed) {
        let Place { slice, device, .. } = passed.begin;
        self.passed.insert((key(pool, alternative), slice, device), passed);
    }

    /// The devices of the mode `All`, by slice and device.
    pub(crate) fn all(&self, pool: &Rc<Pool<'_>>, alternative: u32) -> Option<Arc<[(u32, u32)]>> {
        self.all.get(&key(pool, alternative)).cloned()
    }

    /// Takes note of the devices of the mode `All`.
    pub(crate) fn note_all(&mut self, pool: &Rc<Pool<'_>>, alternative: u32, all: Arc<[(u32, u32)]>) {
        self.all.insert(key(pool, alternative), all);
    }
}

/// Whether a device is refused whatever is picked before it, and on every node with the pool. What a share leaves of a
/// device depends on other shares.
pub(crate) fn always(unfit: &Unfit<'_>, device: &DeviceOf<'_>) -> bool {
    match unfit {
        Unfit::Allocated | Unfit::CountersOff => true,
        Unfit::Unselected(why) => *why != Unselected::Node,
        Unfit::Capacity(_) | Unfit::Taint(_) => !device.device.allow_multiple_allocations,
        Unfit::Picked | Unfit::Counter(_) | Unfit::Constraint(_) => false,
    }
}
