//! The typed tree: what a policy means, with nothing left to resolve.
//!
//! `lang::check` makes it and `lang::analysis` folds its constants. Lints, the reference evaluator,
//! code generation and `plan` read it, through the visitor in `visit.rs`. Every expression has a
//! type, a place, and a range if it is a number. Names are ids of the policy's tables; variables of
//! macros and parameters of defs are slots.

pub mod acts;
mod exceptions;
mod expr;
mod guard;
mod ids;
mod ledgers;
mod memos;
mod modes;
mod policy;
mod sources;
pub mod operation;
mod parts;
mod preempt;
pub mod reads;
mod rules;
mod statements;
mod view;
mod visit;
pub mod walk;

pub use crate::language::macros::MacroKind;
pub use acts::{Act, Acts, Does, EventOf, Target};
pub use exceptions::{Excepted, Exception};
pub use expr::{ArithmeticOp, CompareOp, Expr, ExprKind, LookUp, LookUpBy, Macro, Root};
pub use guard::{Leave, LeftBy};
pub use ids::{DefId, ExceptionId, GroupId, KindId, LedgerId, LetId, MemoId, ParamId, SlotId, SourceId};
pub use ledgers::{Add, Ledger};
pub use memos::Memo;
pub use modes::{Mode, Modes, Until};
pub use operation::Operation;
pub use parts::{PolicyPart, Rules};
pub use policy::{
    Check, Def, Filter, Give, Group, GroupKey, Let, Missing, Only, Param, Permit, Policy, Prefilter,
    PrefilterStatement, Queue, QueueKey, Reason, ReasonPart, Reserve, Score, Slot, Wait, Write, WriteEntry,
    WriteForm,
};
pub use preempt::Victim;
pub use rules::{Body, Head, Point, Rule};
pub use sources::Source;
pub use statements::Statement;
pub use view::{ExprHead, Operand};
