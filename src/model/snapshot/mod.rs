//! [`Snapshot`]: the cluster as an attempt sees it. [`Snapshot::apply`] is the only way to modify its objects.
//!
//! `pods.rs` writes pods and nominations, `rows.rs` nodes and their rows, `objects.rs` objects of all other kinds,
//! `indexes.rs` keeps the plugins' indexes, `counts.rs` what holders ask for and counts of pods.

mod counts;
mod indexes;
mod objects;
mod pods;
mod rows;
mod state;

pub use objects::{Assumption, at_or_above};
pub use pods::PodEntry;
pub(super) use state::NodeRow;
pub use state::{Kept, Snapshot};
