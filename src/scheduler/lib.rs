//! The scheduler as a state machine: `Scheduler::step(input, now, &mut effects)`, with queue, cache, scheduling and
//! binding cycles. It has no clock, network or tasks: drivers (`cluster`, `dry_run`, the simulation of the tests)
//! deliver inputs and carry out effects.
//!
//! ```text
//! watch ─► Input::Upserted ─► cache ► Change ► columns, indexes, log
//!                          └► ClusterEvent ► queue.move_all
//! Input::Cycle ─► queue.pop ─► cycle: PreFilter ► Filter ► PreScore ► Score ► select
//!                                     assume ► Reserve ► Permit ─► binding
//! binding:        wait at Permit ► PreBind tasks ► Bind ► (resolve) ► PostBind
//!                 failure: Unreserve (all, reverse) ► forget ► AssignedPodDelete for the others ► requeue
//! ```

#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

mod after_bind;
mod after_binds;
mod attempt;
mod bind;
mod binding;
mod binding_cycle;
mod bindings;
mod blame;
mod by_rule;
mod cache;
mod calls;
mod counting;
mod cycle;
mod decided;
mod detail;
mod evict;
mod evictions;
mod failure;
mod faults;
mod fnv;
mod guard;
mod holders;
mod interested;
mod io;
mod leave;
mod machine;
mod mark_judge;
pub mod memory;
mod note;
mod objects;
mod options;
mod permit;
mod permit_wait;
mod post_filter;
mod preempt_verb;
mod queue;
mod readiness;
mod refusal;
mod reload;
mod surroundings;
mod suspended;
mod unsure;
mod verify;
mod view;
mod wants;

pub use blame::Waiting;
pub use cache::PodState;
pub use faults::RuleErrors;
pub use io::{
    Decision, DecisionDetail, DecisionRecord, Effect, Input, NodeDetail, PluginScore, PreemptionRecord,
    Profiles, RecordLevel,
};
use machine::Deferred;
pub use machine::Scheduler;
pub use options::{DeciderKind, Options};
pub use queue::QueuePlace;
pub use view::{BindingView, Stage};
