//! Typed expressions to closures and to scans of columns: what scheduling cycles run.
//!
//! [`Lowering`] turns the expressions of a policy into closures. An expression that depends on the
//! pod alone becomes a *register*: it is computed once per pod, and closures and scans read it. The
//! reference evaluator (`eval`) defines the meaning; both must agree on every program. Statements
//! are put together in `rules.rs`.

mod closures;
mod columns;
mod faults;
pub mod groups;
pub mod ledgers;
pub mod lookups;
mod loops;
mod lowering;
mod memos;
mod operators;
mod acts;
mod preempt;
mod rules;
pub mod scores;
mod steady;
mod values;

pub use acts::{CompiledAct, CompiledActs, CompiledDoes, CompiledEntry, CompiledTarget};
pub use closures::{BoolFn, FloatFn, IntFn, ValueFn};
pub use columns::{ColumnInputs, ColumnScan, RangeBool, RangeNumber};
pub use lowering::{Env, Lowering, Register, compute};
pub use preempt::{CompiledPreempt, CompiledVictim};
pub use rules::{
    CompiledCheck, CompiledFilter, CompiledKey, CompiledOnly, CompiledPermit, CompiledPrefilter,
    CompiledReserve, CompiledScore, CompiledWait, CompiledWrite, RequiredLet, Statements, lower,
};
pub use steady::Answers;
