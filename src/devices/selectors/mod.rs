//! [`DeviceSelectors`]: selectors of devices in CEL, compiled once and run once for each device.
//!
//! A verdict depends on nothing but the expression, the driver and the device, and devices of slices never change: a
//! changed slice has new ones. So a verdict that was forgotten costs time and changes nothing, and a lock suffices.
//!
//! Source: `k8s.io/dynamic-resource-allocation/cel`.

mod compile;
mod convert;
mod memo;
mod refusals;
#[cfg(test)]
mod tests;

use crate::device::DeviceOf;
use crate::selects::{SelectError, Selects};
use bayplan_lang::cel::Environment;
use bayplan_model::{VersionRow, VersionRows};
use compile::Selector;
use memo::Memo;
// What is behind the lock is a memo of a pure function: a thread that waits for it or not gets the same.
#[allow(clippy::disallowed_types)]
use std::sync::Mutex;
use std::sync::{Arc, PoisonError};

/// Evaluates selectors as kube-scheduler of a version does.
///
/// It remembers up to 4,096 expressions and some sixteen million verdicts, of a byte each.
#[derive(Debug)]
pub struct DeviceSelectors {
    environment: Environment,
    rows: VersionRows,
    /// Whether `device.allowMultipleAllocations` is what the device says.
    knows_sharing: bool,
    #[allow(clippy::disallowed_types)]
    memo: Mutex<Memo>,
}

impl DeviceSelectors {
    /// Selectors of a version, none compiled.
    pub fn new(rows: VersionRows) -> Self {
        let environment = Environment::device(rows);
        Self { environment, rows, knows_sharing: true, memo: Default::default() }
    }

    /// Selectors as scores of nodes evaluate them: `device.allowMultipleAllocations` is false.
    ///
    /// Source: `pkg/scheduler/framework/plugins/noderesources/resource_allocation.go`, `deviceMatchesClass`.
    pub fn of_scores(rows: VersionRows) -> Self {
        Self { knows_sharing: false, ..Self::new(rows) }
    }

    /// Whether attributes may be lists.
    fn knows_lists(&self) -> bool {
        self.rows.has(VersionRow::SelectorAttributes)
    }

    fn with_memo<T>(&self, work: impl FnOnce(&mut Memo) -> T) -> T {
        work(&mut self.memo.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The compiled expression, and its number in the memo.
    fn selector(&self, expression: &Arc<str>) -> (u64, Arc<Selector>) {
        if let Some(known) = self.with_memo(|memo| memo.selector(expression)) {
            return known;
        }
        let made = Arc::new(Selector::compile(expression, &self.environment, self.rows));
        self.with_memo(|memo| memo.remember_selector(expression, made))
    }
}

impl Selects for DeviceSelectors {
    fn selects(&self, expression: &Arc<str>, device: &DeviceOf<'_>) -> Result<bool, SelectError> {
        self.selects_by_key((expression, self.key(expression)), device)
    }

    fn key(&self, expression: &Arc<str>) -> u64 {
        self.selector(expression).0
    }

    fn selects_by_key(
        &self,
        (expression, key): (&Arc<str>, u64),
        device: &DeviceOf<'_>,
    ) -> Result<bool, SelectError> {
        if let Some(known) = self.with_memo(|memo| memo.answer(key, device)) {
            return Ok(known);
        }
        // Its number is another one if it was forgotten.
        let (number, selector) = self.selector(expression);
        let program = match &*selector {
            Selector::Program(program) => program,
            Selector::Refused(why) => return Err(SelectError::Compile(why.clone())),
        };
        let driver = &device.pool().driver;
        let value = convert::device(driver, device.device, self.knows_sharing, self.knows_lists());
        let selected = value.and_then(|value| program.answer(value)).map_err(SelectError::Run)?;
        self.with_memo(|memo| memo.remember(number, device, selected));
        Ok(selected)
    }
}
