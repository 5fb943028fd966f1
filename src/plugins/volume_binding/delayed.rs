//! [`Delayed`]: what decides about delayed claims on many nodes. Each group of nodes that are alike gets one answer, by
//! the check of one of its nodes.

use super::capacities::Capacities;
use super::claims::DelayedClaim;
use super::filed::{Filed, Key};
use super::find::{Conflicts, order, pinned, provisioning_conflict};
use super::groups::{Distinctions, Groups, Keys};
use super::index::VolumeIndex;
use super::range::Conflicting;
use bayplan_framework::Handle;
use bayplan_model::{Labels, NodeId, PersistentVolume, Snapshot, Symbol, bits};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// So many answers are kept in a list, more in a map.
const LISTED: u64 = 1 << 16;

/// A topology: labels with the values that are allowed.
type Topology<'a> = SmallVec<[(Key, &'a [Symbol]); 1]>;

/// What decides about one claim on a node.
struct Claim<'a> {
    of: &'a DelayedClaim,
    filed: Filed<'a>,
    /// The capacities of its class, where they matter.
    capacities: Option<&'a Capacities>,
    /// The keys by which capacities are found.
    capacity_keys: SmallVec<[Key; 1]>,
    /// The topologies that the class allows.
    topologies: SmallVec<[Topology<'a>; 1]>,
}

/// The delayed claims of a pod.
pub(super) struct Delayed<'a> {
    snapshot: &'a Snapshot,
    claims: SmallVec<[Claim<'a>; 1]>,
    /// The order in which claims take volumes.
    order: SmallVec<[usize; 4]>,
    /// Claims with a selected node.
    pinned: SmallVec<[usize; 4]>,
    groups: Groups,
    answers: Answers,
}

/// Conflicts by the number of a group.
enum Answers {
    List(Vec<Option<Conflicts>>),
    Map(FxHashMap<u64, Conflicts>),
}

impl Answers {
    fn get(&self, group: u64) -> Option<Conflicts> {
        match self {
            Self::List(list) => list.get(group as usize).copied().flatten(),
            Self::Map(map) => map.get(&group).copied(),
        }
    }

    fn set(&mut self, group: u64, answer: Conflicts) {
        match self {
            Self::List(list) => {
                if let Some(entry) = list.get_mut(group as usize) {
                    *entry = Some(answer);
                }
            }
            Self::Map(map) => {
                map.insert(group, answer);
            }
        }
    }
}

impl<'a> Delayed<'a> {
    /// `None`: there is no delayed claim.
    pub(super) fn of(h: &Handle<'a>, delayed: &'a [DelayedClaim]) -> Option<Self> {
        if delayed.is_empty() {
            return None;
        }
        let index = h.snapshot.index::<VolumeIndex>(&VolumeIndex::key());
        let (mut keys, mut distinctions) = (Keys::new(h.snapshot), Distinctions::new());
        let claims = delayed.iter().map(|of| Claim::of(of, index, &mut keys, &mut distinctions)).collect();
        let groups = distinctions.groups(&mut keys);
        let answers = match groups.count() {
            Some(count) if count <= LISTED => Answers::List(vec![None; count as usize]),
            _ => Answers::Map(FxHashMap::default()),
        };
        Some(Self {
            snapshot: h.snapshot,
            claims,
            order: order(delayed).into(),
            pinned: pinned(delayed).into(),
            groups,
            answers,
        })
    }

    /// The rows of a word by their conflict. `Err`: the search fails on some rows (the last ones named), and the others
    /// have no volume.
    pub(super) fn conflicting(&mut self, word: usize, rows: u64) -> Result<Conflicting, (String, u64, u64)> {
        let mut selected = rows;
        for at in &self.pinned {
            let node = self.claims.get(*at).and_then(|claim| claim.of.claim.selected_node.as_ref());
            let row = node.and_then(|name| self.snapshot.row_by_name(name));
            selected &= row.filter(|row| row.row() / 64 == word).map_or(0, |row| 1 << (row.row() % 64));
        }
        let asked = self.order.iter().filter_map(|at| self.claims.get(*at));
        if let Some(error) = asked.filter_map(|claim| claim.of.candidates.error.as_ref()).next()
            && selected != 0
        {
            return Err((error.to_string(), rows & !selected, selected));
        }
        let mut found = [0; Conflicts::COMBINATIONS];
        found[usize::from(Conflicts::NO_VOLUME.0)] = rows & !selected;
        for bit in bits(selected) {
            let row = word * 64 + bit;
            let group = self.groups.of(row);
            let conflict = self.answers.get(group).unwrap_or_else(|| {
                let conflict = self.conflict(row);
                self.answers.set(group, conflict);
                conflict
            });
            found[usize::from(conflict.0) % Conflicts::COMBINATIONS] |= 1 << bit;
        }
        let with_rows = found.iter().enumerate().filter(|(_, rows)| **rows != 0);
        Ok(with_rows.map(|(conflict, rows)| (Conflicts(conflict as u8), *rows)).collect())
    }

    /// The conflict of the node of a row that the claims with a selected node have selected.
    fn conflict(&self, row: usize) -> Conflicts {
        let Some(node) = self.snapshot.node(NodeId::from_row(row)) else { return Conflicts::NONE };
        let labels = &node.node().labels;
        let mut taken: SmallVec<[&PersistentVolume; 4]> = SmallVec::new();
        let mut provisioned: SmallVec<[usize; 4]> = self.pinned.clone();
        for at in &self.order {
            let Some(claim) = self.claims.get(*at) else { continue };
            let is_taken = |volume: &PersistentVolume| {
                taken.iter().any(|other| other.metadata.name == volume.metadata.name)
            };
            match claim.filed.first(row, labels, is_taken) {
                Some(volume) => taken.push(volume),
                None => provisioned.push(*at),
            }
        }
        let conflict = |at: &usize| self.claims.get(*at)?.provisioning_conflict(row, labels);
        provisioned.iter().find_map(conflict).unwrap_or(Conflicts::NONE)
    }
}

impl<'a> Claim<'a> {
    fn of(
        of: &'a DelayedClaim,
        index: Option<&'a VolumeIndex>,
        keys: &mut Keys<'a>,
        distinctions: &mut Distinctions<'a>,
    ) -> Self {
        let class = index.and_then(|index| index.class(&of.claim.class));
        let capacities = class.filter(|_| of.bytes.is_some()).map(|class| &class.capacities);
        if let (Some(capacities), Some(bytes)) = (capacities, of.bytes) {
            capacities.distinguish(bytes, keys, distinctions);
        }
        let mut topologies = SmallVec::new();
        for term in &of.class.allowed_topologies {
            let requirements = term.requirements.iter().map(|(key, values)| {
                distinctions.values(key, values.iter());
                (Key::new(keys.column(key)), &**values)
            });
            topologies.push(requirements.collect());
        }
        let capacity_keys = capacities.into_iter().flat_map(Capacities::keys);
        Self {
            of,
            filed: Filed::of(&of.candidates, keys, distinctions),
            capacity_keys: capacity_keys.map(|key| Key::new(keys.column(key))).collect(),
            capacities,
            topologies,
        }
    }

    fn provisioning_conflict(&self, row: usize, labels: &Labels) -> Option<Conflicts> {
        let topologies = &self.topologies;
        let holds =
            |(key, values): &(Key, &[Symbol])| key.value(row).is_some_and(|value| values.contains(value));
        let allows = || {
            topologies.is_empty() || topologies.iter().any(|term| !term.is_empty() && term.iter().all(holds))
        };
        let has_capacity = |bytes: i64| {
            let values = self.capacity_keys.iter().map(|key| key.value(row));
            self.capacities.is_some_and(|capacities| capacities.suffice_by(bytes, values, labels))
        };
        provisioning_conflict(self.of, allows, has_capacity)
    }
}
