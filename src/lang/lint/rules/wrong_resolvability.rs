//! The lint `wrong-resolvability`: `resolvable` against what is read.

use crate::diag::codes;
use crate::lang::lint::Lint;

/// The row of the table.
pub static LINT: Lint = Lint { code: &codes::WRONG_RESOLVABILITY, check: None };
