//! [`Reads`]: what an expression looks at, and in which direction more of it helps.
//!
//! Derived by `lang::check` from the typed tree; the policy plugin turns it into the framework's reads and
//! queueing hints, `plan` prints it, and the derived resolvability of reasons follows from it.

use crate::lang::language::fields::FieldId;
use crate::lang::syntax::ast::Text;
use crate::lang::typed::GroupId;
use std::collections::{BTreeMap, BTreeSet};

/// All that is looked at, without repetition, in a fixed order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reads {
    /// Fields by path, with the direction that helps.
    pub paths: BTreeMap<ReadPath, Polarity>,
    /// `now()` or a function that reads the clock.
    pub clock: bool,
    /// Groups.
    pub groups: BTreeSet<GroupId>,
    /// Of the paths those of members by which groups are kept: all members have the same value there.
    pub keys: BTreeSet<ReadPath>,
}

impl Reads {
    /// Adds what another part looks at.
    pub fn merge(&mut self, more: &Reads) {
        for (path, polarity) in &more.paths {
            let known = self.paths.entry(path.clone());
            known.and_modify(|known| *known = known.join(*polarity)).or_insert(*polarity);
        }
        self.clock |= more.clock;
        self.groups.extend(&more.groups);
        self.keys.extend(more.keys.iter().cloned());
    }
}

/// A field that is looked at, from the object whose change moves it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ReadPath {
    /// Whose field.
    pub of: ReadOf,
    /// Which; none where the object itself is asked for (`nodes.size()`).
    pub field: Option<FieldId>,
    /// The label key, annotation key, resource or path below `spec` that is named; none where all are looked
    /// at.
    pub key: Option<Text>,
}

/// Whose field is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ReadOf {
    /// The pod being scheduled.
    Pod,
    /// Its namespace.
    Namespace,
    /// The node asked about.
    Node,
    /// Pods on the node asked about.
    NodePods,
    /// Any node.
    Nodes,
    /// Any pod.
    Pods,
    /// Nominated pods.
    Nominated,
    /// Members of a group.
    Group,
}

/// What more of a number, or truth of a condition, does to the outcome that is wanted (the pod passes, the
/// wait ends, the score grows).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Polarity {
    /// More helps.
    Up,
    /// Less helps.
    Down,
    /// Any change may help.
    Any,
}

impl Polarity {
    /// Of the opposite outcome.
    pub fn flip(self) -> Self {
        match self {
            Polarity::Up => Polarity::Down,
            Polarity::Down => Polarity::Up,
            Polarity::Any => Polarity::Any,
        }
    }

    /// Of two uses of the same field.
    pub fn join(self, other: Self) -> Self {
        if self == other { self } else { Polarity::Any }
    }
}
