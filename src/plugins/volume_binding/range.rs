//! The form of Filter for many nodes. It must agree with [`find`](super::find).
//!
//! The affinities of bound volumes are compared over label columns, a word of 64 nodes at a time. Volumes without a claim
//! are found by a label that their affinity requires, so that a node does not look at every volume.

use super::capacities::filed_under;
use super::claims::{Claims, DelayedClaim};
use super::find::{Conflicts, bound_conflict, order, provisioning_conflict};
use super::index::VolumeIndex;
use super::matching::{Candidates, reaches};
use crate::framework::{Handle, Status, Verdicts};
use crate::model::{
    Columns, Labels, NodeId, NodeSet, PersistentVolume, PersistentVolumeClaim, PodInfo, Quantity,
    Requirement, Snapshot, StorageClass, Symbol, TopologyTerm, bits, rows_where,
};
use crate::plugins::volumes::migration::InTree;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// The values of a label key by row.
type Column<'a> = &'a [Option<Symbol>];

/// How many volumes of a class tell which labels their affinity is on. Those of one class are mostly alike.
const SAMPLED: usize = 8;

/// The label keys that decide about the claims of a pod.
pub(super) fn label_keys(pod: &PodInfo, snapshot: &Snapshot, mut tell: impl FnMut(&Symbol)) {
    let index = snapshot.index::<VolumeIndex>(&VolumeIndex::key());
    let mut of_volume = |volume: &PersistentVolume| {
        let terms = volume.affinity.iter().flat_map(|affinity| affinity.terms.iter());
        terms.flat_map(|term| term.expressions.iter()).for_each(|requirement| tell(&requirement.key));
    };
    let cluster = Symbol::default();
    for (_, name, _) in pod.claims() {
        let Some(claim) = snapshot.object::<PersistentVolumeClaim>(&pod.namespace, &name) else { continue };
        if !claim.volume.is_empty() {
            snapshot
                .object::<PersistentVolume>(&cluster, &claim.volume)
                .into_iter()
                .for_each(|of| of_volume(of));
        } else if let Some(class) = index.and_then(|index| index.class(&claim.class)) {
            class.free(Quantity::ZERO).take(SAMPLED).for_each(|of| of_volume(of));
        }
    }
    for (_, name, _) in pod.claims() {
        let Some(claim) = snapshot.object::<PersistentVolumeClaim>(&pod.namespace, &name) else { continue };
        if claim.volume.is_empty() {
            let class = index.and_then(|index| index.class(&claim.class));
            class.into_iter().flat_map(|class| class.capacities.keys()).for_each(&mut tell);
            let class = snapshot.object::<StorageClass>(&cluster, &claim.class);
            let terms = class.into_iter().flat_map(|class| class.allowed_topologies.iter());
            terms.flat_map(|term| term.requirements.iter()).for_each(|(key, _)| tell(key));
        }
    }
}

/// Rows of a word with their conflict.
type Conflicting = SmallVec<[(Conflicts, u64); 4]>;

/// Refuses nodes.
pub(super) fn filter(h: &Handle, claims: &Claims, nodes: &NodeSet, out: &mut Verdicts) {
    let bound = Bound::of(h, claims);
    let delayed = Delayed::of(h, &claims.delayed);
    let mut statuses = Statuses::default();
    for (word, rows) in nodes.words().iter().copied().enumerate().filter(|(_, rows)| *rows != 0) {
        let conflicting = match &bound {
            Some(bound) => bound.conflicting(word, rows),
            None => singly(h, claims, word, rows, out),
        };
        for (conflict, rows) in conflicting {
            let Some(delayed) = &delayed else {
                statuses.refuse(out, word, rows, conflict);
                continue;
            };
            for bit in bits(rows) {
                match delayed.conflict(h, word * 64 + bit) {
                    Ok(other) => statuses.refuse(out, word, 1 << bit, conflict.with(other)),
                    Err(error) => {
                        let status = out.status(Status::error(error));
                        out.refuse_rows(word, 1 << bit, status);
                    }
                }
            }
        }
    }
}

/// The rows of a word by the conflict of bound claims, node by node. Rows whose check fails are refused and left out.
fn singly(h: &Handle, claims: &Claims, word: usize, rows: u64, out: &mut Verdicts) -> Conflicting {
    let mut conflicting = Conflicting::new();
    for bit in bits(rows) {
        let Some(node) = h.snapshot.node(NodeId::from_row(word * 64 + bit)) else { continue };
        match bound_conflict(h.snapshot, claims, node.node()) {
            Ok(conflict) => match conflicting.iter_mut().find(|(known, _)| *known == conflict) {
                Some((_, rows)) => *rows |= 1 << bit,
                None => conflicting.push((conflict, 1 << bit)),
            },
            Err(error) => {
                let status = out.status(Status::error(error));
                out.refuse_rows(word, 1 << bit, status);
            }
        }
    }
    conflicting
}

/// The numbers of the statuses of conflicts.
#[derive(Default)]
struct Statuses([Option<u32>; Conflicts::COMBINATIONS]);

impl Statuses {
    fn refuse(&mut self, out: &mut Verdicts, word: usize, rows: u64, conflicts: Conflicts) {
        let Some(known) = self.0.get_mut(usize::from(conflicts.0)).filter(|_| !conflicts.is_none()) else {
            return;
        };
        let status = *known.get_or_insert_with(|| out.status(conflicts.status()));
        out.refuse_rows(word, rows, status);
    }
}

/// The affinities of bound volumes over columns.
struct Bound<'a> {
    /// `None` ends the list: a volume that does not exist.
    volumes: SmallVec<[Option<Affinity<'a>>; 2]>,
}

/// A term of an affinity over columns: all requirements must hold.
type Term<'a> = SmallVec<[(Column<'a>, &'a Requirement); 2]>;

/// One affinity over columns: any term must hold.
struct Affinity<'a> {
    terms: SmallVec<[Term<'a>; 1]>,
}

impl<'a> Bound<'a> {
    /// `None`: some affinity depends on the node's CSINode, or on a label without a column.
    fn of(h: &Handle<'a>, claims: &'a Claims) -> Option<Self> {
        let columns = h.snapshot.columns();
        let mut volumes = SmallVec::new();
        for bound in &claims.bound {
            let Some(volume) = &bound.volume else {
                volumes.push(None);
                break;
            };
            if InTree::of_volume(&volume.source).is_some() {
                return None;
            }
            if let Some(affinity) = Affinity::of(volume, columns)? {
                volumes.push(Some(affinity));
            }
        }
        Some(Self { volumes })
    }

    /// The rows of a word by their conflict.
    fn conflicting(&self, word: usize, mut rows: u64) -> Conflicting {
        let mut conflicting = Conflicting::new();
        for volume in &self.volumes {
            let (conflict, kept) = match volume {
                None => (Conflicts::GONE, 0),
                Some(affinity) => (Conflicts::AFFINITY, affinity.matching(word, rows)),
            };
            conflicting.push((conflict, rows & !kept));
            rows = kept;
        }
        conflicting.push((Conflicts::NONE, rows));
        conflicting
    }
}

impl<'a> Affinity<'a> {
    /// `Some(None)`: the volume is for every node. `None`: a label has no column.
    fn of(volume: &'a PersistentVolume, columns: &'a Columns) -> Option<Option<Self>> {
        let Some(affinity) = &volume.affinity else { return Some(None) };
        let mut terms = SmallVec::new();
        for term in affinity.terms.iter().filter(|term| term.error.is_none() && !term.is_empty()) {
            let mut requirements = SmallVec::new();
            for requirement in &term.expressions {
                requirements.push((columns.label(&requirement.key)?, requirement));
            }
            terms.push(requirements);
        }
        Some(Some(Self { terms }))
    }

    fn matching(&self, word: usize, rows: u64) -> u64 {
        let mut matching = 0;
        for term in &self.terms {
            let mut left = rows & !matching;
            for (column, requirement) in term {
                if left != 0 {
                    left &= rows_where(column, word, |value| requirement.holds(value.as_ref()));
                }
            }
            matching |= left;
        }
        matching
    }
}

/// A label key with its column, if there is one.
struct Key<'a> {
    key: &'a Symbol,
    column: Option<Column<'a>>,
}

impl<'a> Key<'a> {
    fn of(key: &'a Symbol, columns: &'a Columns) -> Self {
        Self { key, column: columns.label(key) }
    }

    fn value(&self, row: usize, labels: impl Fn() -> Option<&'a Labels>) -> Option<&'a Symbol> {
        match self.column {
            Some(column) => column.get(row)?.as_ref(),
            None => labels()?.get(self.key),
        }
    }
}

/// Positions of candidates by the value of a label, ascending.
type Positions<'a> = FxHashMap<&'a Symbol, SmallVec<[u32; 2]>>;

/// The candidates of a claim, found by a label of the node.
struct Filed<'a> {
    candidates: &'a Candidates,
    /// Positions in [`Candidates::free`] by the values that the affinity requires of a key, ascending.
    by_label: SmallVec<[(Key<'a>, Positions<'a>); 1]>,
    /// Positions of the other candidates, ascending.
    rest: Vec<u32>,
}

impl<'a> Filed<'a> {
    fn of(candidates: &'a Candidates, columns: &'a Columns) -> Self {
        let mut filed = Self { candidates, by_label: SmallVec::new(), rest: Vec::new() };
        for (at, volume) in candidates.free.iter().enumerate() {
            filed.file(at as u32, volume, columns);
        }
        filed
    }

    fn file(&mut self, at: u32, volume: &'a PersistentVolume, columns: &'a Columns) {
        let Some(affinity) = &volume.affinity else { return self.rest.push(at) };
        let usable = || affinity.terms.iter().filter(|term| term.error.is_none() && !term.is_empty());
        if usable().any(|term| filed_under(&term.expressions).is_none()) {
            return self.rest.push(at);
        }
        for (key, values) in usable().filter_map(|term| filed_under(&term.expressions)) {
            let known = self.by_label.iter().position(|(known, _)| known.key == key);
            let place = known.unwrap_or_else(|| {
                self.by_label.push((Key::of(key, columns), FxHashMap::default()));
                self.by_label.len() - 1
            });
            let Some((_, by_value)) = self.by_label.get_mut(place) else { continue };
            for value in values {
                let list = by_value.entry(value).or_default();
                if list.last() != Some(&at) {
                    list.push(at);
                }
            }
        }
    }

    /// The same as [`Candidates::first`], for the node of a row.
    fn first(
        &self,
        row: usize,
        labels: impl Fn() -> Option<&'a Labels> + Copy,
        is_taken: impl Fn(&PersistentVolume) -> bool,
    ) -> Option<&'a PersistentVolume> {
        let reaches = |volume: &PersistentVolume| {
            volume.affinity.is_none() || labels().is_some_and(|labels| reaches(volume, labels))
        };
        if let Some(reserved) = self.candidates.reserved.iter().find(|volume| !is_taken(volume)) {
            return Some(&**reserved).filter(|volume| reaches(volume));
        }
        let volume = |at: &u32| self.candidates.free.get(*at as usize).map(|volume| (*at, &**volume));
        let first = |list: &[u32]| {
            list.iter().filter_map(volume).find(|(_, volume)| !is_taken(volume) && reaches(volume))
        };
        let by_label = self.by_label.iter().filter_map(|(key, by_value)| {
            let list = by_value.get(key.value(row, labels)?)?;
            first(list)
        });
        by_label.chain(first(&self.rest)).min_by_key(|(at, _)| *at).map(|(_, volume)| volume)
    }
}

/// A topology: labels with the values that are allowed.
type Topology<'a> = Vec<(Key<'a>, &'a [Symbol])>;

/// What decides about one claim on a node.
struct Claim<'a> {
    of: &'a DelayedClaim,
    filed: Filed<'a>,
    /// The keys by which capacities are found; empty where they do not matter.
    capacity_keys: SmallVec<[Key<'a>; 1]>,
    /// The topologies that the class allows, with the columns of their keys.
    topologies: SmallVec<[Topology<'a>; 1]>,
}

/// The delayed claims of a pod.
struct Delayed<'a> {
    claims: SmallVec<[Claim<'a>; 1]>,
    /// The order in which claims take volumes.
    order: SmallVec<[usize; 4]>,
    /// Claims with a selected node.
    pinned: SmallVec<[usize; 4]>,
    index: Option<&'a VolumeIndex>,
}

impl<'a> Delayed<'a> {
    /// `None`: there is no delayed claim.
    fn of(h: &Handle<'a>, delayed: &'a [DelayedClaim]) -> Option<Self> {
        if delayed.is_empty() {
            return None;
        }
        let columns = h.snapshot.columns();
        let index = h.snapshot.index::<VolumeIndex>(&VolumeIndex::key());
        let claims = delayed.iter().map(|of| {
            let class = index.and_then(|index| index.class(&of.claim.class)).filter(|_| of.bytes.is_some());
            let keys = class.into_iter().flat_map(|class| class.capacities.keys());
            let term = |term: &'a TopologyTerm| {
                let requirements = term.requirements.iter();
                requirements.map(|(key, values)| (Key::of(key, columns), &**values)).collect()
            };
            Claim {
                of,
                filed: Filed::of(&of.candidates, columns),
                capacity_keys: keys.map(|key| Key::of(key, columns)).collect(),
                topologies: of.class.allowed_topologies.iter().map(term).collect(),
            }
        });
        let is_pinned = |at: &usize| delayed.get(*at).is_some_and(|of| of.claim.selected_node.is_some());
        Some(Self {
            claims: claims.collect(),
            order: order(delayed).into(),
            pinned: (0..delayed.len()).filter(is_pinned).collect(),
            index,
        })
    }

    /// The conflict of the node of a row.
    fn conflict(&self, h: &Handle<'a>, row: usize) -> Result<Conflicts, String> {
        let node = || h.snapshot.node(NodeId::from_row(row)).map(|node| node.node());
        let labels = || node().map(|node| &node.labels);
        for at in &self.pinned {
            let selected = self.claims.get(*at).and_then(|claim| claim.of.claim.selected_node.as_ref());
            if node().map(|node| &node.name) != selected {
                return Ok(Conflicts::NO_VOLUME);
            }
        }
        let mut taken: SmallVec<[&PersistentVolume; 4]> = SmallVec::new();
        let mut provisioned: SmallVec<[usize; 4]> = self.pinned.clone();
        for at in &self.order {
            let Some(claim) = self.claims.get(*at) else { continue };
            if let Some(error) = &claim.of.candidates.error {
                return Err(error.to_string());
            }
            let is_taken = |volume: &PersistentVolume| {
                taken.iter().any(|other| other.metadata.name == volume.metadata.name)
            };
            match claim.filed.first(row, labels, is_taken) {
                Some(volume) => taken.push(volume),
                None => provisioned.push(*at),
            }
        }
        let conflict = |at: &usize| self.claims.get(*at)?.provisioning_conflict(self.index, row, labels);
        Ok(provisioned.iter().find_map(conflict).unwrap_or(Conflicts::NONE))
    }
}

impl<'a> Claim<'a> {
    fn provisioning_conflict(
        &self,
        index: Option<&'a VolumeIndex>,
        row: usize,
        labels: impl Fn() -> Option<&'a Labels> + Copy,
    ) -> Option<Conflicts> {
        let topologies = &self.topologies;
        let holds = |(key, values): &(Key<'a>, &[Symbol])| {
            key.value(row, labels).is_some_and(|value| values.contains(value))
        };
        let allows = || {
            topologies.is_empty() || topologies.iter().any(|term| !term.is_empty() && term.iter().all(holds))
        };
        let has_capacity = |bytes: i64| {
            let class = index.and_then(|index| index.class(&self.of.claim.class));
            let values = self.capacity_keys.iter().map(|key| key.value(row, labels));
            class.is_some_and(|class| class.capacities.suffice_by(bytes, values, labels))
        };
        provisioning_conflict(self.of, allows, has_capacity)
    }
}
