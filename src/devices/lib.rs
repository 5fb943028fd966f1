//! Allocates devices to resource claims, on one node and as pure functions: the structured allocator of Kubernetes.
//!
//! Start with [`Allocator`]: it finds the pools of a node (`gather.rs`, `pools.rs`), tests the claims (`validate.rs`), searches
//! (`search.rs`, one device at a time in `candidate.rs`) and keeps what it found (`solution.rs`), which is written as the
//! status of claims for the chosen node (`result.rs`).
//!
//! These faults of upstream are not followed: quantities of cached objects that 1.36 changes while it counts, a share that
//! 1.36 forgets when a negative amount takes it to zero, and a step of zero, on which both stop.
//!
//! Source: `k8s.io/dynamic-resource-allocation/structured/internal/incubating`, `k8s.io/dynamic-resource-allocation/cel`.

#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

mod allocator;
mod candidate;
mod capacity;
mod claims;
mod constraints;
mod context;
mod counters;
mod device;
mod features;
mod gather;
mod learned;
mod node_choice;
mod pools;
mod refusals;
mod request;
mod result;
mod result_config;
mod score;
mod search;
mod selectable;
mod selectors;
mod selects;
mod shares;
mod solution;
mod tally;
#[cfg(test)]
mod tests;
mod validate;

pub use allocator::{Allocator, NotAllocated};
pub use claims::Claims;
pub use device::DeviceOf;
pub use features::AllocatorFeatures;
pub use refusals::{Refusal, Refusals, RefusedDevice};
pub use score::score;
pub use selectors::DeviceSelectors;
pub use selects::{SelectError, Selects};
pub use solution::Solution;
pub use tally::ClassTally;
