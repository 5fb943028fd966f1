//! [`Reads`]: which data of pod, node and cluster a plugin uses. [`Interest`]: which of it concerns one pod. Queueing hints, label columns, re-evaluation of
//! waiting pods and explanations derive from it.

use bayplan_model::{ChangeRecord, Kind, Kinds, Moved, Symbol};
use std::collections::BTreeSet;

/// A kind of object that a plugin reads.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Need {
    /// The kind.
    pub kind: Kind,
    /// Whether the plugin works without: the API server may not serve the kind, or refuse to list it. Nothing is
    /// scheduled before a kind that is not optional has been listed, or is not there because the API server is older than
    /// the kind (`KindRow::since`).
    pub optional: bool,
}

/// What a plugin may read.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Reads {
    /// Kinds of change of nodes and cluster that can change its answer.
    pub kinds: Kinds,
    /// Node label keys that it reads for every pod; a column is kept for each.
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

/// What can change a plugin's answer about one pod, beside the pod itself and time.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Interest {
    /// Kinds of change, of any node or pod.
    pub kinds: Kinds,
    /// Groups of pods, by their number in [`Moved::Group`]; sorted.
    pub groups: Vec<u64>,
}

impl Interest {
    /// The interest of a plugin that does not tell pods apart.
    pub fn of(reads: &Reads) -> Self {
        let kinds = match (reads.all, reads.other_pods) {
            (true, _) => Kinds::ALL,
            (false, true) => reads.kinds.with(Kinds::OF_PODS),
            (false, false) => reads.kinds,
        };
        Self { kinds, groups: Vec::new() }
    }

    /// Whether nothing can change the answer.
    pub fn is_empty(&self) -> bool {
        self.kinds.is_empty() && self.groups.is_empty()
    }

    /// Whether a change can change the answer.
    pub fn takes(&self, change: &ChangeRecord) -> bool {
        match change.what {
            Moved::Group(number) => self.groups.binary_search(&number).is_ok(),
            Moved::Node(_) | Moved::Global => self.kinds.intersects(change.kinds),
        }
    }
}
