//! The lint `unused-allow`: a suppression of nothing.

use crate::diag::codes;
use crate::lang::lint::Lint;

/// The row of the table.
pub static LINT: Lint = Lint { code: &codes::UNUSED_ALLOW, check: None };
