//! The form of Filter for many nodes. It must agree with [`find`](super::find).
//!
//! The affinities of bound volumes are compared over columns of topology domains, a word of 64 nodes at a time. Delayed
//! claims are decided once for each group of nodes that are alike (`delayed.rs`).

use super::claims::Claims;
use super::delayed::Delayed;
use super::find::{Conflicts, bound_conflict};
use super::index::VolumeIndex;
use crate::volumes::migration::InTree;
use crate::volumes::rows::LabelRows;
use bayplan_framework::{Handle, Status, Verdicts};
use bayplan_model::{
    NodeId, NodeSet, PersistentVolume, PersistentVolumeClaim, PodInfo, Quantity, Snapshot, StorageClass,
    Symbol, bits,
};
use smallvec::SmallVec;

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
pub(super) type Conflicting = SmallVec<[(Conflicts, u64); 4]>;

/// Refuses nodes.
pub(super) fn filter(h: &Handle, claims: &Claims, nodes: &NodeSet, out: &mut Verdicts) {
    let bound = Bound::of(h, claims);
    let mut delayed = Delayed::of(h, &claims.delayed);
    let mut statuses = Statuses::default();
    for (word, rows) in nodes.words().iter().copied().enumerate().filter(|(_, rows)| *rows != 0) {
        let conflicting = match &bound {
            Some(bound) => bound.conflicting(word, rows),
            None => singly(h, claims, word, rows, out),
        };
        for (conflict, rows) in conflicting.into_iter().filter(|(_, rows)| *rows != 0) {
            let Some(delayed) = &mut delayed else {
                statuses.refuse(out, word, rows, conflict);
                continue;
            };
            match delayed.conflicting(word, rows) {
                Ok(others) => {
                    for (other, rows) in others {
                        statuses.refuse(out, word, rows, conflict.with(other));
                    }
                }
                Err((error, other, rows)) => {
                    statuses.refuse(out, word, other, conflict.with(Conflicts::NO_VOLUME));
                    let status = out.status(Status::error(error));
                    out.refuse_rows(word, rows, status);
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

/// The affinities of bound volumes.
struct Bound {
    /// `None` ends the list: a volume that does not exist.
    volumes: SmallVec<[Option<Affinity>; 2]>,
}

/// A term of an affinity: all requirements must hold.
type Term = SmallVec<[LabelRows; 2]>;

/// One affinity: any term must hold.
struct Affinity {
    terms: SmallVec<[Term; 1]>,
}

impl Bound {
    /// `None`: some affinity depends on the node's CSINode.
    fn of(h: &Handle, claims: &Claims) -> Option<Self> {
        let mut volumes = SmallVec::new();
        for bound in &claims.bound {
            let Some(volume) = &bound.volume else {
                volumes.push(None);
                break;
            };
            if InTree::of_volume(&volume.source).is_some() {
                return None;
            }
            if let Some(affinity) = Affinity::of(volume, h.snapshot) {
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

impl Affinity {
    /// `None`: the volume is for every node.
    fn of(volume: &PersistentVolume, snapshot: &Snapshot) -> Option<Self> {
        let affinity = volume.affinity.as_ref()?;
        let usable = affinity.terms.iter().filter(|term| term.error.is_none() && !term.is_empty());
        let terms = usable.map(|term| {
            let requirements = term.expressions.iter();
            requirements.map(|of| LabelRows::of(snapshot.domains(&of.key), of)).collect()
        });
        Some(Self { terms: terms.collect() })
    }

    fn matching(&self, word: usize, rows: u64) -> u64 {
        let mut matching = 0;
        for term in &self.terms {
            let mut left = rows & !matching;
            for requirement in term {
                if left != 0 {
                    left &= requirement.word(word);
                }
            }
            matching |= left;
        }
        matching
    }
}
