//! The lint `constant-score`: a score that is the same for every node.

use crate::diag::codes;
use crate::lang::lint::Lint;

/// The row of the table.
pub static LINT: Lint = Lint { code: &codes::CONSTANT_SCORE, check: None };
