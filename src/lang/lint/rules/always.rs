//! The lint `always`: a condition with one outcome for every pod and node.

use crate::diag::codes;
use crate::lang::lint::Lint;

/// The row of the table.
pub static LINT: Lint = Lint { code: &codes::ALWAYS, check: None };
