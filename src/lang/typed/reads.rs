//! [`RuleReads`]: the fields that an expression reads, each with the direction in which a change helps;
//! [`Keeps`]: what a policy reads beyond the slim fields of objects.
//!
//! `analysis::reads` derives them. The policy plugin turns them into the framework's reads and
//! queueing hints, `plan` prints them, and the derived resolvability of reasons follows from them.

use crate::language::fields::{FieldId, Meaning, ObjectType};
use crate::syntax::ast::Text;
use crate::typed::{GroupId, KindId, LedgerId, MemoId};
use bayplan_model::objects::projection::Projection;
use bayplan_model::{KindName, Kinds};
use std::collections::{BTreeMap, BTreeSet};

/// What must be kept of the objects of each kind beside their slim fields.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Keeps {
    /// Of pods.
    pub pods: Projection,
    /// Of nodes.
    pub nodes: Projection,
    /// Of namespaces.
    pub namespaces: Projection,
    /// Of each kind that is looked up.
    pub objects: BTreeMap<KindName, Projection>,
}

impl Keeps {
    /// Keeps also what another policy reads.
    pub fn merge(&mut self, other: &Self) {
        self.pods.merge(&other.pods);
        self.nodes.merge(&other.nodes);
        self.namespaces.merge(&other.namespaces);
        for (kind, projection) in &other.objects {
            self.objects.entry(kind.clone()).or_default().merge(projection);
        }
    }

    /// Of the objects of a type; `None` for types that are parts of an object.
    pub fn of_mut(&mut self, of: ObjectType) -> Option<&mut Projection> {
        match of {
            ObjectType::Pod => Some(&mut self.pods),
            ObjectType::Node => Some(&mut self.nodes),
            ObjectType::Namespace => Some(&mut self.namespaces),
            _ => None,
        }
    }
}

/// Everything that is read, each once, in a fixed order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RuleReads {
    /// Fields by path, with the direction that helps.
    pub paths: BTreeMap<ReadPath, Polarity>,
    /// `now()` or a function that reads the clock.
    pub clock: bool,
    /// Groups.
    pub groups: BTreeSet<GroupId>,
    /// Kinds of objects that are looked up.
    pub objects: BTreeSet<KindId>,
    /// The paths among them that key a group: all members have the same value there.
    pub keys: BTreeSet<ReadPath>,
    /// Ledgers, with the direction in which a change of the sum helps.
    pub ledgers: BTreeMap<LedgerId, Polarity>,
    /// Memos, under the key of the pod being scheduled. What the keys read is among the reads.
    pub memos: BTreeSet<MemoId>,
}

impl RuleReads {
    /// Whether a node that is added could change the result: anything of nodes, of pods on nodes or of nominated pods
    /// is read.
    pub fn depends_on_nodes(&self) -> bool {
        let of_nodes = |path: &ReadPath| {
            !matches!(
                path.of,
                ReadOf::Pod | ReadOf::Namespace | ReadOf::Group | ReadOf::Objects | ReadOf::Metrics
            )
        };
        self.paths.keys().any(of_nodes)
    }

    /// Whether devices or claims of them are read.
    pub fn of_devices(&self) -> bool {
        let of_devices =
            |path: &ReadPath| path.field.is_some_and(|field| field.def().changed_by == Kinds::DEVICES);
        self.paths.keys().any(of_devices)
    }

    /// Whether nothing else than a change of the pod being scheduled changes the result.
    pub fn is_of_pod_alone(&self) -> bool {
        self.paths.keys().all(|path| path.of == ReadOf::Pod)
            && !self.of_devices()
            && !self.clock
            && self.groups.is_empty()
            && self.objects.is_empty()
            && self.ledgers.is_empty()
            && self.memos.is_empty()
    }

    /// Adds the reads of another part.
    pub fn merge(&mut self, more: &RuleReads) {
        for (path, polarity) in &more.paths {
            let known = self.paths.entry(path.clone());
            known.and_modify(|known| *known = known.join(*polarity)).or_insert(*polarity);
        }
        self.clock |= more.clock;
        self.groups.extend(&more.groups);
        self.objects.extend(&more.objects);
        self.keys.extend(more.keys.iter().cloned());
        self.memos.extend(&more.memos);
        for (ledger, polarity) in &more.ledgers {
            let known = self.ledgers.entry(*ledger);
            known.and_modify(|known| *known = known.join(*polarity)).or_insert(*polarity);
        }
    }
}

/// A field that is read, and the object whose change changes it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ReadPath {
    /// Whose field.
    pub of: ReadOf,
    /// The field; none where the object itself is read (`nodes.size()`).
    pub field: Option<FieldId>,
    /// The label key, annotation key, resource or path below `spec`; none where all are read.
    pub key: Option<Text>,
}

impl ReadPath {
    /// Whether it reads labels of the node that is evaluated.
    pub fn is_node_labels(&self) -> bool {
        self.of == ReadOf::Node
            && self.field.is_some_and(|field| field.def().meaning == Some(Meaning::Labels))
    }
}

/// The object whose field is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ReadOf {
    /// The pod being scheduled.
    Pod,
    /// Its namespace.
    Namespace,
    /// The node that is evaluated.
    Node,
    /// Pods on that node.
    NodePods,
    /// Any node.
    Nodes,
    /// Any pod.
    Pods,
    /// Nominated pods.
    Nominated,
    /// Members of a group.
    Group,
    /// Objects that are looked up.
    Objects,
    /// What nodes use, as the metrics API says.
    Metrics,
}

/// The direction in which a number or a condition must change for a better outcome: the pod passes,
/// the wait ends, the score grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Polarity {
    /// More helps.
    Up,
    /// Less helps.
    Down,
    /// Any change may help.
    Any,
}

impl Polarity {
    /// For the opposite outcome.
    pub(crate) fn flip(self) -> Self {
        match self {
            Polarity::Up => Polarity::Down,
            Polarity::Down => Polarity::Up,
            Polarity::Any => Polarity::Any,
        }
    }

    /// For two uses of the same field.
    pub fn join(self, other: Self) -> Self {
        if self == other { self } else { Polarity::Any }
    }
}
