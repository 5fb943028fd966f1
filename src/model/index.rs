//! [`Index`]: the state of a plugin between attempts. The snapshot keeps it and feeds it every change.

use super::changes::{Delta, Moves};
use super::snapshot::Snapshot;
use super::symbol::Symbol;
use std::any::Any;

/// Names an index of a snapshot: the plugin instance it belongs to and, where it has several, which.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct IndexKey(pub Symbol);

/// State derived from the objects of a snapshot. [`Index::rebuild`] defines it; [`Index::apply`] must agree.
pub trait Index: Any + Send + Sync + std::fmt::Debug {
    /// Applies a change that `snapshot` has applied already. Changes of the index itself go to `moved` and from there
    /// to the log.
    fn apply(&mut self, delta: &Delta<'_>, snapshot: &Snapshot, moved: &mut Moves);
    /// Clears the index and derives it from `snapshot`.
    fn rebuild(&mut self, snapshot: &Snapshot);
    /// A copy, made when a forked snapshot is written to.
    fn fork(&self) -> Box<dyn Index>;
}
