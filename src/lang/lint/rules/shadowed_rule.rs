//! The lint `shadowed-rule`: a rule that an earlier one leaves nothing to.

use crate::diag::codes;
use crate::lang::lint::Lint;

/// The row of the table.
pub static LINT: Lint = Lint { code: &codes::SHADOWED_RULE, check: None };
