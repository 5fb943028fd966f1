//! The lint `coalesce-arithmetic`: arithmetic to the right of `??`.

use crate::diag::codes;
use crate::lang::lint::Lint;

/// The row of the table.
pub static LINT: Lint = Lint { code: &codes::COALESCE_ARITHMETIC, check: None };
