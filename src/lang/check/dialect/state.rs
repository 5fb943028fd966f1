//! [`CelState`]: what the checker knows of an expression of CEL beyond what it knows of every expression.

use super::{Doubts, Inference};

/// The state of checking CEL.
#[derive(Debug, Default)]
pub(in crate::check) struct CelState {
    /// Types that are inferred from their uses.
    pub(super) inference: Inference,
    /// What is known of the values of an expression.
    pub(super) doubts: Doubts,
    /// The first slots are variables that a caller binds: their number.
    pub(super) bindings: usize,
    /// How many calls of `format` are around the expression.
    pub(super) formatting: u32,
}
