//! [`Reads`]: which data of pod, node and cluster a plugin uses. Queueing hints, label columns, re-evaluation of
//! waiting pods and explanations derive from it.

use crate::model::{Kinds, Symbol};
use std::collections::BTreeSet;

/// Whether more of something helps a pod or hurts it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Polarity {
    /// More of it can only help.
    Helps,
    /// More of it can only hurt.
    Hurts,
    /// Either.
    Both,
}

/// What a plugin may read.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Reads {
    /// Kinds of change of nodes and cluster that can change its answer.
    pub kinds: Kinds,
    /// Node label keys, when it reads labels of known keys only; a column is kept for each.
    pub label_keys: BTreeSet<Symbol>,
    /// Whether it reads labels of keys that are not known beforehand.
    pub any_label: bool,
    /// Whether it reads other pods than those on the node.
    pub other_pods: bool,
    /// Whether it reads the clock.
    pub clock: bool,
    /// Whether it may read anything.
    pub all: bool,
}

impl Reads {
    /// Reads of `kinds` and nothing else of the cluster.
    pub fn of(kinds: Kinds) -> Self {
        Self { kinds, ..Self::default() }
    }
}
