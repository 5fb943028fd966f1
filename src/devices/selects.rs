//! [`Selects`]: what the allocator asks of selectors.

use crate::device::DeviceOf;
use std::sync::Arc;

/// Evaluates selectors on devices. An allocator asks once per search for a selector of a request and a device; what lasts
/// longer than a search is kept behind this trait.
pub trait Selects {
    /// Whether the device is one that the expression selects.
    fn selects(&self, expression: &Arc<str>, device: &DeviceOf<'_>) -> Result<bool, SelectError>;

    /// A number for an expression, with which [`Selects::selects_by_key`] may answer sooner.
    fn key(&self, _: &Arc<str>) -> u64 {
        0
    }

    /// As [`Selects::selects`], with the number of the expression.
    fn selects_by_key(
        &self,
        (expression, _): (&Arc<str>, u64),
        device: &DeviceOf<'_>,
    ) -> Result<bool, SelectError> {
        self.selects(expression, device)
    }
}

/// Why a selector gives no answer. The text is what follows `CEL compile error: ` or `CEL runtime error: `.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SelectError {
    /// The expression is not one of the language, or its result is not a bool.
    Compile(String),
    /// The evaluation on this device failed.
    Run(String),
}
