//! The lint `whole-division`: a division of whole numbers where a fraction is wanted.

use crate::diag::codes;
use crate::lang::lint::Lint;

/// The row of the table.
pub static LINT: Lint = Lint { code: &codes::WHOLE_DIVISION, check: None };
