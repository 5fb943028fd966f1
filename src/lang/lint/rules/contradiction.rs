//! The lint `contradiction`: conditions that exclude each other.

use crate::diag::codes;
use crate::lang::lint::Lint;

/// The row of the table.
pub static LINT: Lint = Lint { code: &codes::CONTRADICTION, check: None };
