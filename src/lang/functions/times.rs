//! Rows.

use super::FunctionDef;

/// The family's rows.
pub static FUNCTIONS: &[FunctionDef] = &[];
