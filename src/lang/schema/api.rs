//! The structures of the Kubernetes API below `spec`, `status` and `metadata`: names and types of their
//! fields.

use super::ObjectType;
use crate::lang::range::Range;
use crate::lang::types::{ApiType, Type};

/// The name of a structure, as messages and hover text write it.
pub fn name(_of: ApiType) -> &'static str {
    "object"
}

/// `spec`, `status` or `metadata` of an object.
pub fn root(_owner: ObjectType, _name: &str) -> Option<(Type, Range)> {
    None
}

/// The names that [`root`] knows.
pub fn roots(_owner: ObjectType) -> impl Iterator<Item = &'static str> {
    std::iter::empty()
}

/// The type and range of a field of a structure; `T?` where the field may be missing.
pub fn field(_of: ApiType, _name: &str) -> Option<(Type, Range)> {
    None
}

/// The names of the fields of a structure, as JSON has them.
pub fn fields(_of: ApiType) -> Vec<String> {
    Vec::new()
}
