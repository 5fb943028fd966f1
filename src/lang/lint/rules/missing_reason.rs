//! The lint `missing-reason`: a `require` without a reason.

use crate::diag::codes;
use crate::lang::lint::Lint;

/// The row of the table.
pub static LINT: Lint = Lint { code: &codes::MISSING_REASON, check: None };
