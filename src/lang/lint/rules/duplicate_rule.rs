//! The lint `duplicate-rule`: a rule that is there twice.

use crate::diag::codes;
use crate::lang::lint::Lint;

/// The row of the table.
pub static LINT: Lint = Lint { code: &codes::DUPLICATE_RULE, check: None };
