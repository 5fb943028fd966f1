//! The lint `quadratic-rule`: a rule that grows with the square of the cluster; found by `lang::analysis::cost`.

use crate::diag::codes;
use crate::lang::lint::Lint;

/// The row of the table.
pub static LINT: Lint = Lint { code: &codes::QUADRATIC_RULE, check: None };
