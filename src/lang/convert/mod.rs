//! Policies from the policy language to documents and back, for `bayplan convert`.
//!
//! A policy is converted from its tree, with the types of its checked form where the two languages differ: of the form in
//! which no constant was folded, so that it is right for every value of a param. What was written is read again and
//! compared with the policy. What has no twin, or would mean something else, is a [`NoTwin`]; the caller writes nothing
//! then.
//!
//! - `expressions.rs` writes expressions in either language, `literals.rs` their literals
//! - `absent.rs` says in CEL what the policy language means where a value may be absent
//! - `document.rs` writes documents, `yaml.rs` their scalars; `language.rs` writes the policy language
//! - `remarks.rs` keeps comments with the statements below them
//! - `meaning` compares what was written with its policy

mod absent;
mod conversion;
mod document;
mod expressions;
mod language;
mod literals;
mod meaning;
mod remarks;
mod yaml;

use conversion::Types;
pub use conversion::{Converted, NoTwin, convert_for, convert_given};
