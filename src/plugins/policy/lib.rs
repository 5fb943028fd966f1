//! The rules of a policy as a plugin with the policy's name, at every extension point that the
//! policy uses.
//!
//! Loading policies calls [`plugins`]; the framework calls the rest. `lang` defines what a
//! statement means. This folder evaluates statements at their extension points, and turns the
//! results into statuses, scores and waits:
//!
//! - `attempt.rs`: the beginning of an attempt (PreFilter), and gates (PreEnqueue)
//! - `filter.rs`, `preempt.rs`, `score.rs`, `permit.rs`, `queue.rs`: one extension point each
//! - `counting`: what rules that do not decide would have done
//! - `clock.rs`: when time alone changes a decision
//! - `waits.rs`: the pods that wait at permit; `pod_inputs.rs`: which of them share a decision;
//!   `distance.rs`: how many members must change before a condition over a group can hold
//! - `left_alone.rs`: the exceptions that hold for a pod, for explanations
//! - `remedies.rs`: edits that may help against a refusal, for explanations
//! - `events.rs`: what the policy reads, and the events it registers for; `hints.rs`: whether an
//!   event helps a refused pod; `ledger_reads.rs`, `memo_reads.rs`: the sums of ledgers and the memos that rules read

#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

mod attempt;
mod clock;
mod counting;
mod distance;
mod events;
mod failure;
mod faults;
mod filter;
mod hints;
mod left_alone;
mod ledger_reads;
mod memo_reads;
mod numbers;
mod patches;
mod permit;
mod plugin;
mod pod_inputs;
mod preempt;
mod queue;
mod reserve;
mod remedies;
mod score;
mod waits;
mod writes;

pub use bayplan_lang::eval::exempt::{ExemptPods, Exemption, daemon_set_named_by, why_exempt};
pub use events::registrations;
pub use plugin::{PolicyPlugin, of_profile, plugins};
use plugin::{queued, refusal, refusal_of};
pub use waits::Waits;
