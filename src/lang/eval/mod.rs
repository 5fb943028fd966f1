//! The reference evaluator: it defines what a policy means. Slow and obvious; `codegen` must agree
//! with it.

pub mod budget;
pub mod constant;
pub mod context;
pub(super) mod getters;
pub mod interpret;
mod limits;
pub mod operations;
pub mod tagged;
pub mod trace;
