//! The lint `wait-without-for`: a wait on a group that is each pod's own.

use crate::diag::codes;
use crate::lang::lint::Lint;

/// The row of the table.
pub static LINT: Lint = Lint { code: &codes::WAIT_WITHOUT_FOR, check: None };
