//! The lint `hides-name`: a macro's variable that hides a name.

use crate::diag::codes;
use crate::lang::lint::Lint;

/// The row of the table.
pub static LINT: Lint = Lint { code: &codes::HIDES_NAME, check: None };
