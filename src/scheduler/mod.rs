//! Queue, cache and the cycles: `Scheduler::step(input, now, &mut effects)`. No clock, no network, no tasks.

#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

mod io;

pub use io::{
    Decision, DecisionDetail, DecisionRecord, Effect, Input, NodeDetail, PluginScore, Profiles, RecordLevel,
};
