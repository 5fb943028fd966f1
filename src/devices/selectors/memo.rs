//! [`Memo`]: compiled expressions, and verdicts about devices.

use super::compile::Selector;
use crate::selects::SelectError;
use bayplan_model::Symbol;
use bayplan_model::objects::devices::Device;
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// Expressions that are remembered. When there are more, the half that was used longest ago is forgotten.
const MOST_SELECTORS: usize = 4096;
/// Verdicts that are remembered. When there are more, all are forgotten.
const MOST_ANSWERS: usize = 4 << 20;
/// From so many devices on, those that no slice has are looked for.
const FEW_DEVICES: usize = 1024;

/// What a selector says of a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// True.
    Selected,
    /// False.
    NotSelected,
    /// An error of the evaluation.
    Failed(Arc<str>),
}

impl Answer {
    /// As the allocator asks for it.
    pub(super) fn into_result(self) -> Result<bool, SelectError> {
        match self {
            Self::Selected => Ok(true),
            Self::NotSelected => Ok(false),
            Self::Failed(why) => Err(SelectError::Run(why.as_ref().to_owned())),
        }
    }
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

/// What is known of a device.
#[derive(Debug)]
struct Judged {
    driver: Symbol,
    /// Kept, so that its address is that of no other device.
    device: Arc<Device>,
    /// By number of the expression.
    answers: Vec<(u64, Answer)>,
}

/// Expressions and verdicts, each of a bounded number.
#[derive(Debug, Default)]
pub(super) struct Memo {
    selectors: FxHashMap<Arc<str>, Known>,
    /// By address.
    devices: FxHashMap<usize, Judged>,
    answers: usize,
    /// How often expressions were looked for.
    asked: u64,
    /// At this number of devices those that are gone are looked for.
    sweep_at: usize,
}

fn address(device: &Arc<Device>) -> usize {
    Arc::as_ptr(device).addr()
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

    /// What the expression of a number says of a device, if that is known.
    pub(super) fn answer(&self, number: u64, driver: &Symbol, device: &Arc<Device>) -> Option<Answer> {
        let judged = self.devices.get(&address(device)).filter(|judged| judged.driver == *driver)?;
        let at = judged.answers.binary_search_by_key(&number, |(number, _)| *number).ok()?;
        judged.answers.get(at).map(|(_, answer)| answer.clone())
    }

    /// Remembers what an expression says of a device.
    pub(super) fn remember(&mut self, number: u64, driver: &Symbol, device: &Arc<Device>, answer: Answer) {
        if self.answers >= MOST_ANSWERS {
            self.devices.clear();
            self.answers = 0;
        }
        if self.devices.len() >= self.sweep_at.max(FEW_DEVICES) {
            self.devices.retain(|_, judged| Arc::strong_count(&judged.device) > 1);
            self.answers = self.devices.values().map(|judged| judged.answers.len()).sum();
            self.sweep_at = self.devices.len() * 2;
        }
        let new = || Judged { driver: driver.clone(), device: device.clone(), answers: Vec::new() };
        let judged = self.devices.entry(address(device)).or_insert_with(new);
        if judged.driver != *driver {
            self.answers -= judged.answers.len();
            *judged = new();
        }
        // Another thread may have been as fast.
        if let Err(at) = judged.answers.binary_search_by_key(&number, |(number, _)| *number) {
            judged.answers.insert(at, (number, answer));
            self.answers += 1;
        }
    }
}
