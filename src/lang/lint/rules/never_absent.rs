//! The lint `never-absent`: a default for what is never absent.

use crate::diag::codes;
use crate::lang::lint::Lint;

/// The row of the table.
pub static LINT: Lint = Lint { code: &codes::NEVER_ABSENT, check: None };
