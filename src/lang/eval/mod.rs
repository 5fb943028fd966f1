//! The reference evaluator: it defines what a policy means. Slow and obvious; `codegen` must agree
//! with it.
//!
//! The two evaluators share tables, not code: values and numbers (`lang/types`), the getter of each field and the
//! body of each function, which are rows with tests of their own. Operators, comparisons, loops, lookups and groups
//! are implemented twice, so that the property test compares two implementations.

pub mod amounts;
pub mod budget;
pub(crate) mod cel_cost;
pub mod collections;
pub mod constant;
pub mod context;
mod devices;
pub mod exempt;
pub(super) mod getters;
pub mod interpret;
pub mod ledgers;
mod limits;
pub mod looked;
pub mod meaning;
pub mod memos;
pub mod operations;
pub mod shards;
pub mod tagged;
pub mod trace;
