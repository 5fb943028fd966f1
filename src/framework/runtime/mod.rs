//! [`Framework`]: the plugins of a profile in their order, and the loops that run them. This file defines what a
//! status code means at each extension point. It works on one node or one plugin; `engine` walks the nodes.
//!
//! Source: `pkg/scheduler/framework/runtime/framework.go`.

mod chosen;
mod counting;
mod extenders;
mod framework;
mod left_alone;
mod post_filter;
mod preemption;
mod probe;
mod runner;
mod simulation;

pub use extenders::Extenders;
pub use framework::{Acting, Cycle, Framework, MAX_PERMIT_WAIT, NominatedTry};
pub use post_filter::{PostFilterAnswer, PostFilterWait};
pub use runner::Runner;
