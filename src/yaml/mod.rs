//! The one reader of YAML and JSON. It yields a [`Tree`] in which every value knows its place, or
//! plain JSON values where no place is needed, and typed errors. `config`, `policy_files` and
//! `dry_run` read through it; plugin arguments are trees as well.
//!
//! - `tree.rs`: the tree
//! - `read.rs`: text to trees or values
//! - `field.rs`: trees to typed fields, strictly

#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

mod field;
mod read;
mod tree;

pub use field::{Field, FieldError, Fields};
pub use read::{Booleans, YamlError, document, documents, limited_documents, place, values};
pub use tree::{At, Tree, TreeEntry, TreeValue};
