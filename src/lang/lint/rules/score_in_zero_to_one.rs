//! The lint `score-in-zero-to-one`: a score that lies in 0 to 1.

use crate::diag::codes;
use crate::lang::lint::Lint;

/// The row of the table.
pub static LINT: Lint = Lint { code: &codes::SCORE_IN_ZERO_TO_ONE, check: None };
