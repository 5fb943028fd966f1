//! The lint `reason-names-node`: a reason that names a node or a pod.

use crate::diag::codes;
use crate::lang::lint::Lint;

/// The row of the table.
pub static LINT: Lint = Lint { code: &codes::REASON_NAMES_OBJECT, check: None };
