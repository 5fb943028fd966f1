//! The lint `unreachable-give`: a `give` behind one that always holds.

use crate::diag::codes;
use crate::lang::lint::Lint;

/// The row of the table.
pub static LINT: Lint = Lint { code: &codes::UNREACHABLE_GIVE, check: None };
