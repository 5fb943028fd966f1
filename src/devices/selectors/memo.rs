//! [`Memo`]: compiled expressions, and verdicts about devices.

use super::compile::Selector;
use crate::device::DeviceOf;
use bayplan_model::Symbol;
use bayplan_model::objects::devices::Device;
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// Expressions that are remembered. When there are more, the half that was used longest ago is forgotten.
const MOST_SELECTORS: usize = 4096;
/// Verdicts that are remembered. When there are more, all are forgotten.
const MOST_ANSWERS: usize = 16 << 20;
/// From so many slices on, those that are gone are looked for.
const FEW_SLICES: usize = 256;

/// What a selector says of a device. Errors are not remembered: in Filter they end the attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answer {
    Unknown,
    Selected,
    NotSelected,
}

/// A compiled expression.
#[derive(Debug)]
struct Known {
    /// Numbers are given once, so that the verdicts of a forgotten expression are never those of another one.
    number: u64,
    selector: Arc<Selector>,
    /// When it was last asked for.
    used: u64,
}

/// What is known of the devices of a slice.
#[derive(Debug)]
struct Judged {
    driver: Symbol,
    /// Kept, so that their address is that of no other devices.
    devices: Arc<[Arc<Device>]>,
    /// By number of the expression and position of the device.
    answers: Vec<(u64, Box<[Answer]>)>,
}

/// Expressions and verdicts, each of a bounded number.
#[derive(Debug, Default)]
pub(super) struct Memo {
    selectors: FxHashMap<Arc<str>, Known>,
    /// By address.
    slices: FxHashMap<usize, Judged>,
    answers: usize,
    /// How often expressions were looked for.
    asked: u64,
    /// At this number of slices those that are gone are looked for.
    sweep_at: usize,
}

fn address(devices: &Arc<[Arc<Device>]>) -> usize {
    devices.as_ptr().addr()
}

impl Memo {
    /// A compiled expression, and its number.
    pub(super) fn selector(&mut self, expression: &Arc<str>) -> Option<(u64, Arc<Selector>)> {
        self.asked += 1;
        let known = self.selectors.get_mut(expression)?;
        known.used = self.asked;
        Some((known.number, known.selector.clone()))
    }

    /// Remembers an expression, unless another thread did.
    pub(super) fn remember_selector(
        &mut self,
        expression: &Arc<str>,
        selector: Arc<Selector>,
    ) -> (u64, Arc<Selector>) {
        if let Some(known) = self.selector(expression) {
            return known;
        }
        if self.selectors.len() >= MOST_SELECTORS {
            let mut used: Vec<u64> = self.selectors.values().map(|known| known.used).collect();
            let (_, middle, _) = used.select_nth_unstable(MOST_SELECTORS / 2);
            let middle = *middle;
            self.selectors.retain(|_, known| known.used > middle);
        }
        let (number, used) = (self.asked, self.asked);
        self.selectors.insert(expression.clone(), Known { number, selector: selector.clone(), used });
        (number, selector)
    }

    /// Whether the expression of a number selects a device, if that is known.
    pub(super) fn answer(&self, number: u64, device: &DeviceOf<'_>) -> Option<bool> {
        let judged = self.slices.get(&address(&device.slice.devices))?;
        if judged.driver != device.pool().driver {
            return None;
        }
        let at = judged.answers.binary_search_by_key(&number, |(number, _)| *number).ok()?;
        match judged.answers.get(at)?.1.get(device.at)? {
            Answer::Unknown => None,
            Answer::Selected => Some(true),
            Answer::NotSelected => Some(false),
        }
    }

    /// Remembers what an expression says of a device.
    pub(super) fn remember(&mut self, number: u64, device: &DeviceOf<'_>, selected: bool) {
        if self.answers >= MOST_ANSWERS {
            self.slices.clear();
            self.answers = 0;
        }
        if self.slices.len() >= self.sweep_at.max(FEW_SLICES) {
            self.slices.retain(|_, judged| Arc::strong_count(&judged.devices) > 1);
            self.answers = self.slices.values().map(|of| of.answers.len() * of.devices.len()).sum();
            self.sweep_at = self.slices.len() * 2;
        }
        let (driver, devices) = (&device.pool().driver, &device.slice.devices);
        let new = || Judged { driver: driver.clone(), devices: devices.clone(), answers: Vec::new() };
        let judged = self.slices.entry(address(devices)).or_insert_with(new);
        if judged.driver != *driver {
            self.answers -= judged.answers.len() * judged.devices.len();
            *judged = new();
        }
        let at = match judged.answers.binary_search_by_key(&number, |(number, _)| *number) {
            Ok(at) => at,
            Err(at) => {
                judged.answers.insert(at, (number, vec![Answer::Unknown; devices.len()].into()));
                self.answers += devices.len();
                at
            }
        };
        if let Some(answer) = judged.answers.get_mut(at).and_then(|(_, answers)| answers.get_mut(device.at)) {
            *answer = if selected { Answer::Selected } else { Answer::NotSelected };
        }
    }
}
