//! [`VolumeIndex`]: what the plugin looks up by storage class: volumes that a claim may take, and storage capacities.

use super::capacities::Capacities;
use bayplan_model::{
    ApiObject, CsiStorageCapacity, Delta, Feeds, Index, IndexKey, Moves, ObjectMeta, PersistentVolume,
    Quantity, Snapshot, Symbol, downcast,
};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The order in which volumes are tried: smallest first, then by name.
type Rank = (Quantity, Symbol);

/// Volumes and capacities of one storage class.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct Class {
    /// Volumes without a claim.
    free: BTreeMap<Rank, Arc<PersistentVolume>>,
    /// Volumes that are bound to a claim or reserved for it, by namespace and name of the claim, in order.
    reserved: FxHashMap<(Symbol, Symbol), BTreeMap<Rank, Arc<PersistentVolume>>>,
    pub(super) capacities: Capacities,
}

/// Volumes and storage capacities by storage class. Objects in it may be of an earlier version that differs in nothing that is
/// read.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct VolumeIndex {
    classes: FxHashMap<Symbol, Arc<Class>>,
}

impl Class {
    fn is_empty(&self) -> bool {
        self.free.is_empty() && self.reserved.is_empty() && self.capacities.is_empty()
    }

    fn volumes_like(&mut self, volume: &PersistentVolume) -> &mut BTreeMap<Rank, Arc<PersistentVolume>> {
        match &volume.claim {
            None => &mut self.free,
            Some(claim) => self.reserved.entry((claim.namespace.clone(), claim.name.clone())).or_default(),
        }
    }

    /// Volumes without a claim that hold at least this much, smallest first.
    pub(super) fn free(&self, least: Quantity) -> impl Iterator<Item = &Arc<PersistentVolume>> {
        self.free.range((least, Symbol::default())..).map(|(_, volume)| volume)
    }

    /// Volumes that name a claim of this namespace and name, smallest first.
    pub(super) fn reserved(&self, claim: &ObjectMeta) -> impl Iterator<Item = &Arc<PersistentVolume>> {
        let key = (claim.namespace.clone(), claim.name.clone());
        self.reserved.get(&key).into_iter().flat_map(BTreeMap::values)
    }
}

fn rank(volume: &PersistentVolume) -> Rank {
    (volume.capacity, volume.metadata.name.clone())
}

impl VolumeIndex {
    /// Its key. All profiles share it.
    pub fn key() -> IndexKey {
        IndexKey(Symbol::new("VolumeBinding"))
    }

    /// The volumes and capacities of a class.
    pub(super) fn class(&self, name: &Symbol) -> Option<&Class> {
        self.classes.get(name).map(|class| &**class)
    }

    fn edit(&mut self, name: &Symbol, edit: impl FnOnce(&mut Class)) {
        let class = self.classes.entry(name.clone()).or_default();
        let class = Arc::make_mut(class);
        edit(class);
        if class.is_empty() {
            self.classes.remove(name);
        }
    }

    fn add(&mut self, object: &Arc<dyn ApiObject>) {
        if let Some(volume) = downcast::<PersistentVolume>(object.as_ref()) {
            let volume = Arc::new(volume.clone());
            self.edit(&volume.class.clone(), |class| {
                class.volumes_like(&volume).insert(rank(&volume), volume);
            });
        } else if let Some(capacity) = downcast::<CsiStorageCapacity>(object.as_ref()) {
            let capacity = Arc::new(capacity.clone());
            self.edit(&capacity.class.clone(), |class| class.capacities.add(&capacity));
        }
    }

    fn remove(&mut self, object: &dyn ApiObject) {
        if let Some(volume) = downcast::<PersistentVolume>(object) {
            self.edit(&volume.class, |class| {
                let volumes = class.volumes_like(volume);
                volumes.remove(&rank(volume));
                if let (true, Some(claim)) = (volumes.is_empty(), &volume.claim) {
                    class.reserved.remove(&(claim.namespace.clone(), claim.name.clone()));
                }
            });
        } else if let Some(capacity) = downcast::<CsiStorageCapacity>(object) {
            self.edit(&capacity.class, |class| class.capacities.remove(capacity));
        }
    }
}

impl Index for VolumeIndex {
    fn feeds(&self) -> Feeds {
        Feeds::OBJECTS
    }

    fn apply(&mut self, delta: &Delta<'_>, _: &Snapshot, _: &mut Moves) {
        let Some(object) = &delta.object else { return };
        if let Some(before) = &object.before {
            self.remove(before.as_ref());
        }
        if let Some(after) = &object.after {
            self.add(after);
        }
    }

    fn rebuild(&mut self, snapshot: &Snapshot) {
        self.classes.clear();
        for volume in snapshot.objects::<PersistentVolume>() {
            self.edit(&volume.class, |class| {
                class.volumes_like(volume).insert(rank(volume), volume.clone());
            });
        }
        for capacity in snapshot.objects::<CsiStorageCapacity>() {
            self.edit(&capacity.class, |class| class.capacities.add(capacity));
        }
    }

    fn fork(&self) -> Box<dyn Index> {
        Box::new(self.clone())
    }
}
