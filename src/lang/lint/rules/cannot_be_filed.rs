//! The lint `cannot-be-filed`: an `applies when` that every pod is asked.

use crate::diag::codes;
use crate::lang::lint::Lint;

/// The row of the table.
pub static LINT: Lint = Lint { code: &codes::CANNOT_BE_FILED, check: None };
