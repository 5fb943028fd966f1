//! Slices by pool and by node.

use super::newest::{Derived, NewestSlices, Revision};
use crate::labels::Labels;
use crate::objects::ResourceSlice;
use crate::objects::devices::{Device, PoolId};
use crate::symbol::Symbol;
use crate::table::{Placed, Table};
use std::collections::BTreeMap;
use std::sync::Arc;

type ByName = BTreeMap<Symbol, Arc<ResourceSlice>>;

/// A pool and its slices.
#[derive(Clone, PartialEq, Debug)]
pub struct PoolSlices {
    id: PoolId,
    slices: ByName,
    newest: Derived<NewestSlices>,
}

impl PoolSlices {
    /// Which pool.
    pub fn id(&self) -> &PoolId {
        &self.id
    }

    /// Its slices, by name, of every generation.
    pub fn slices(&self) -> impl Iterator<Item = &Arc<ResourceSlice>> {
        self.slices.values()
    }

    /// Those of the highest generation: drivers have withdrawn the devices of lower ones.
    pub(super) fn newest(&self) -> &NewestSlices {
        self.newest.get(|| NewestSlices::of(self.slices.values()))
    }

    fn new(id: PoolId) -> Self {
        Self { id, slices: ByName::new(), newest: Derived::default() }
    }
}

impl Placed for PoolSlices {
    fn place(&self) -> (&Symbol, &Symbol) {
        (&self.id.driver, &self.id.name)
    }
}

/// The slices that name a node.
#[derive(Clone, PartialEq, Debug)]
struct NodeSlices {
    node: Symbol,
    slices: ByName,
    /// By driver and name of the pool.
    pools: Derived<Vec<NewestSlices>>,
}

impl NodeSlices {
    fn new(node: Symbol) -> Self {
        Self { node, slices: ByName::new(), pools: Derived::default() }
    }

    fn pools(&self) -> &[NewestSlices] {
        self.pools.get(|| {
            let mut by_pool: BTreeMap<&PoolId, Vec<&Arc<ResourceSlice>>> = BTreeMap::new();
            self.slices.values().for_each(|slice| by_pool.entry(&slice.pool).or_default().push(slice));
            by_pool.into_values().map(|slices| NewestSlices::of(slices.into_iter())).collect()
        })
    }
}

impl Placed for NodeSlices {
    fn place(&self) -> (&Symbol, &Symbol) {
        (&self.node, &self.node)
    }
}

impl Placed for Arc<ResourceSlice> {
    fn place(&self) -> (&Symbol, &Symbol) {
        (&self.metadata.namespace, &self.metadata.name)
    }
}

/// All slices.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct Slices {
    pools: Table<PoolSlices>,
    by_node: Table<NodeSlices>,
    elsewhere: Table<Arc<ResourceSlice>>,
    /// Those that name a node and have shared counters.
    counters: Table<Arc<ResourceSlice>>,
    revision: Derived<Revision>,
}

impl Slices {
    pub(super) fn pool(&self, pool: &PoolId) -> Option<&PoolSlices> {
        self.pools.get(&pool.driver, &pool.name)
    }

    pub(super) fn pools(&self) -> impl Iterator<Item = &PoolSlices> {
        self.pools.all()
    }

    pub(super) fn of_node(&self, node: &Symbol) -> impl Iterator<Item = &Arc<ResourceSlice>> {
        self.by_node.get(node, node).into_iter().flat_map(|node| node.slices.values())
    }

    pub(super) fn pools_of_node(&self, node: &Symbol) -> &[NewestSlices] {
        self.by_node.get(node, node).map(NodeSlices::pools).unwrap_or_default()
    }

    pub(super) fn of_no_node(&self) -> impl Iterator<Item = &Arc<ResourceSlice>> {
        self.elsewhere.all()
    }

    pub(super) fn counters_of_nodes(&self) -> impl Iterator<Item = &Arc<ResourceSlice>> {
        self.counters.all()
    }

    /// Whether no slice of its pool has a higher generation.
    fn is_newest(&self, slice: &ResourceSlice) -> bool {
        self.pool(&slice.pool).is_none_or(|pool| pool.newest().generation() == slice.generation)
    }

    /// The devices that a node of this name with these labels reaches: slices that name it come first.
    pub(super) fn reached_by(
        &self,
        node: &Symbol,
        labels: &Labels,
    ) -> Vec<(&Arc<ResourceSlice>, &Arc<Device>)> {
        let mut reached = Vec::new();
        for slice in self.of_node(node).chain(self.of_no_node()) {
            let each = slice.per_device == Some(true);
            if !each && !slice.nodes.reaches(node, labels) || !self.is_newest(slice) {
                continue;
            }
            let devices = slice.devices.iter().filter(|device| !each || device.nodes.reaches(node, labels));
            reached.extend(devices.map(|device| (slice, device)));
        }
        reached
    }

    pub(super) fn revision(&self) -> &Revision {
        self.revision.get(Revision::default)
    }

    pub(super) fn change(&mut self, before: Option<&ResourceSlice>, after: Option<Arc<ResourceSlice>>) {
        self.revision = Derived::default();
        if let Some(before) = before {
            self.remove(before);
        }
        if let Some(after) = after {
            self.add(after);
        }
    }

    fn add(&mut self, slice: Arc<ResourceSlice>) {
        let (id, name, node) = (&slice.pool, &slice.metadata.name, &slice.nodes.node_name);
        if self.pool(id).is_none() {
            self.pools.put(PoolSlices::new(id.clone()));
        }
        // In place: a pool may have many slices.
        if let Some(pool) = self.pools.get_mut(&id.driver, &id.name) {
            pool.slices.insert(name.clone(), slice.clone());
            pool.newest = Derived::default();
        }
        if node.is_empty() {
            self.elsewhere.put(slice);
            return;
        }
        if self.by_node.get(node, node).is_none() {
            self.by_node.put(NodeSlices::new(node.clone()));
        }
        if let Some(of_node) = self.by_node.get_mut(node, node) {
            of_node.slices.insert(name.clone(), slice.clone());
            of_node.pools = Derived::default();
        }
        if !slice.shared_counters.is_empty() {
            self.counters.put(slice);
        }
    }

    fn remove(&mut self, slice: &ResourceSlice) {
        let (id, name, node) = (&slice.pool, &slice.metadata.name, &slice.nodes.node_name);
        if let Some(pool) = self.pools.get_mut(&id.driver, &id.name) {
            pool.slices.remove(name);
            pool.newest = Derived::default();
            if pool.slices.is_empty() {
                self.pools.remove(&id.driver, &id.name);
            }
        }
        if !slice.shared_counters.is_empty() {
            self.counters.remove(&slice.metadata.namespace, name);
        }
        if node.is_empty() {
            self.elsewhere.remove(&slice.metadata.namespace, name);
        } else if let Some(of_node) = self.by_node.get_mut(node, node) {
            of_node.slices.remove(name);
            of_node.pools = Derived::default();
            if of_node.slices.is_empty() {
                self.by_node.remove(node, node);
            }
        }
    }
}
