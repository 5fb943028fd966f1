//! The lint `unused`: a declaration that nothing uses.

use crate::diag::codes;
use crate::lang::lint::Lint;

/// The row of the table.
pub static LINT: Lint = Lint { code: &codes::UNUSED, check: None };
