//! From policy text to typed closures: parse, check, lint, fold, stage, lower. Pure.
//!
//! Called by `plugins::policy`, `dry_run` and `cli`. Nothing here knows of plugins, queues or clusters.

#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

pub mod ast;
pub mod dsl;
pub mod sources;
pub mod types;
pub mod range;
pub mod schema;
pub mod value;
pub mod arith;
pub mod functions;
pub mod reads;
pub mod typed;
pub mod context;
pub mod convert;
pub mod getters;
pub mod interpret;
pub mod groups;
pub mod scores;
pub mod lower;
pub mod policy_set;
pub mod account;
