//! Names and types: turns the untyped tree into the typed one and reports every mistake.
//!
//! Checking never fails. A part with a mistake has the type `Unknown`, about which nothing more is reported,
//! and a policy with a mistake is left out of the result. `scope` resolves names and what a statement sees,
//! `unfold` bounds the size of a policy with its lets and defs written out, `statements`, `scores`, `waits`,
//! `patches`, `preempt`, `groups` and `ledgers` check statements, the other files expressions; `facts` holds what conditions have shown, under the
//! numbers of `numbering`.

// A value that does not fit is handed back whole; boxing it would cost more than it saves.
#![allow(clippy::result_large_err)]

mod acts;
mod applies;
mod arguments;
mod blocks;
mod calls;
mod checker;
mod comparisons;
mod corrections;
mod declarations;
pub mod exceptions;
pub mod dialect;
mod expr;
mod facts;
mod fields;
mod groups;
mod heads;
mod look_ups;
mod ledgers;
mod macros;
mod meant;
mod memos;
mod numbering;
mod operators;
mod modes;
mod outcome;
mod overloads;
mod patches;
mod preempt;
mod reasons;
mod scope;
mod sources;
mod scores;
mod statements;
mod types;
mod unfold;
mod unknown_calls;
mod waits;
mod writes;

pub use arguments::Argument;
pub use arguments::of_yaml;
pub use checker::{Arguments, Input, check, check_expression};
use checker::{Checker, Texts};
pub(crate) use checker::{check_cel, check_for_any_arguments};
