//! The structures of the Kubernetes API below `spec`, `status` and `metadata`: names and types of their
//! fields.

use crate::lang::types::ApiType;

/// The name of a structure, as messages and hover text write it.
pub fn name(_of: ApiType) -> &'static str {
    "object"
}
