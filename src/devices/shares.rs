//! Shares of devices that several claims may use, given out in a search; and identifiers for them.

use crate::capacity::Amounts;
use crate::device::Place;
use bayplan_model::{Quantity, Symbol};
use rustc_hash::FxHashMap;

/// The shares of a search, by device. The one removed is always the last one given out of its device.
#[derive(Debug, Default)]
pub(crate) struct Shares(FxHashMap<Place, Vec<Amounts>>);

impl Shares {
    /// What all shares of a device take together; `None` without any.
    pub(crate) fn of(&self, device: Place) -> Option<&Amounts> {
        self.0.get(&device)?.last()
    }

    /// Whether the search gave out shares of a device.
    pub(crate) fn has(&self, device: Place) -> bool {
        self.of(device).is_some()
    }

    /// Gives out a share.
    pub(crate) fn add(&mut self, device: Place, taken: &Amounts) {
        let shares = self.0.entry(device).or_default();
        let mut sum = shares.last().cloned().unwrap_or_default();
        for (name, amount) in taken {
            let known = sum.entry(name.clone()).or_insert(Quantity::ZERO);
            *known = *known + *amount;
        }
        shares.push(sum);
    }

    /// Takes the last share back.
    pub(crate) fn remove(&mut self, device: Place) {
        if let Some(shares) = self.0.get_mut(&device) {
            shares.pop();
        }
    }
}

/// The identifier of a share, of the form of a random UUID. Upstream's are random; these follow from the UID of the claim
/// and the position in its results, so that a decision can be repeated.
pub(crate) fn share_id(claim: &Symbol, position: usize) -> Symbol {
    // FNV-1a of 128 bits.
    let mut hash: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    for byte in claim.bytes().chain([b'/']).chain(position.to_le_bytes()) {
        hash = (hash ^ u128::from(byte)).wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b);
    }
    let version_4 = hash & !(0xf << 76) | 0x4 << 76;
    let uuid = version_4 & !(0x3 << 62) | 0x2 << 62;
    let part = |from: u32, digits: u32| uuid >> (from - digits * 4) & ((1 << (digits * 4)) - 1);
    Symbol::from(format!(
        "{:08x}-{:04x}-{:04x}-{:04x}-{:012x}",
        part(128, 8),
        part(96, 4),
        part(80, 4),
        part(64, 4),
        part(48, 12)
    ))
}
