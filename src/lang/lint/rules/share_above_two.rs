//! The lint `share-above-two`: a share compared with a large number.

use crate::diag::codes;
use crate::lang::lint::Lint;

/// The row of the table.
pub static LINT: Lint = Lint { code: &codes::SHARE_ABOVE_TWO, check: None };
