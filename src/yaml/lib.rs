//! The one reader of YAML and JSON. It yields a [`Tree`] in which every value knows its place, or
//! plain JSON values where no place is needed, and typed errors. `config`, `policy_files` and
//! `dry_run` read through it; plugin arguments are trees as well.
//!
//! - `tree.rs`: the tree
//! - `read.rs`: text to a tree, or to values
//! - `documents.rs`: a stream to trees, one for each document
//! - `indentation.rs`: what is wrong with the indentation where the reader stops
//! - `limits.rs`: how much a text may hold
//! - `tags.rs`: `!` where a value begins, in documents with expressions
//! - `templates.rs`: templates of charts, which are not YAML yet
//! - `field.rs`: trees to typed fields, strictly

#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

mod documents;
mod field;
mod indentation;
mod limits;
mod read;
mod tags;
mod templates;
mod tree;

pub use documents::{documents, limited_documents, place};
pub use field::{Field, FieldError, Fields};
pub use read::{Booleans, YamlError, document, values};
pub use tags::{documents_of_expressions, tag};
pub use templates::{template_in, template_of};
pub use tree::{At, Tree, TreeEntry, TreeValue};
