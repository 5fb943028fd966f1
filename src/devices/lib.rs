//! Allocates devices to resource claims, on one node and as pure functions: the structured allocator of Kubernetes.
//!
//! Source: `k8s.io/dynamic-resource-allocation/structured/internal/incubating`, `k8s.io/dynamic-resource-allocation/cel`.

#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

mod allocator;
mod candidate;
mod capacity;
mod constraints;
mod counters;
mod device;
mod features;
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
#[cfg(test)]
mod tests;
mod validate;

pub use allocator::{Allocator, NotAllocated};
pub use device::DeviceOf;
pub use features::AllocatorFeatures;
pub use refusals::{Refusal, Refusals, RefusedDevice};
pub use score::score;
pub use selectors::DeviceSelectors;
pub use selects::{SelectError, Selects};
