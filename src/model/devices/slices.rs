//! Slices by pool and by node.

use crate::labels::Labels;
use crate::objects::ResourceSlice;
use crate::objects::devices::{Device, PoolId};
use crate::symbol::Symbol;
use crate::table::{Placed, Table};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::sync::Arc;

type ByName = BTreeMap<Symbol, Arc<ResourceSlice>>;

/// A pool and its slices.
#[derive(Clone, PartialEq, Debug)]
pub struct PoolSlices {
    id: PoolId,
    slices: ByName,
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

    /// The highest generation of its slices: drivers have withdrawn the devices of lower ones.
    fn newest(&self) -> i64 {
        self.slices.values().map(|slice| slice.generation).max().unwrap_or_default()
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

    pub(super) fn of_no_node(&self) -> impl Iterator<Item = &Arc<ResourceSlice>> {
        self.elsewhere.all()
    }

    pub(super) fn counters_of_nodes(&self) -> impl Iterator<Item = &Arc<ResourceSlice>> {
        self.counters.all()
    }

    /// Whether no slice of its pool has a higher generation. `newest` keeps the answers of earlier calls.
    fn is_newest<'i>(&'i self, slice: &'i ResourceSlice, newest: &mut FxHashMap<&'i PoolId, i64>) -> bool {
        let of_pool = || self.pool(&slice.pool).map_or(slice.generation, PoolSlices::newest);
        *newest.entry(&slice.pool).or_insert_with(of_pool) == slice.generation
    }

    /// The devices that a node of this name with these labels reaches: slices that name it come first.
    pub(super) fn reached_by(
        &self,
        node: &Symbol,
        labels: &Labels,
    ) -> Vec<(&Arc<ResourceSlice>, &Arc<Device>)> {
        let mut newest = FxHashMap::default();
        let mut reached = Vec::new();
        for slice in self.of_node(node).chain(self.of_no_node()) {
            let each = slice.per_device == Some(true);
            if !each && !slice.nodes.reaches(node, labels) || !self.is_newest(slice, &mut newest) {
                continue;
            }
            let devices = slice.devices.iter().filter(|device| !each || device.nodes.reaches(node, labels));
            reached.extend(devices.map(|device| (slice, device)));
        }
        reached
    }

    pub(super) fn change(&mut self, before: Option<&ResourceSlice>, after: Option<Arc<ResourceSlice>>) {
        if let Some(before) = before {
            self.remove(before);
        }
        if let Some(after) = after {
            self.add(after);
        }
    }

    fn add(&mut self, slice: Arc<ResourceSlice>) {
        let name = &slice.metadata.name;
        let mut pool = self
            .pool(&slice.pool)
            .cloned()
            .unwrap_or_else(|| PoolSlices { id: slice.pool.clone(), slices: ByName::new() });
        pool.slices.insert(name.clone(), slice.clone());
        self.pools.put(pool);
        let node = &slice.nodes.node_name;
        if node.is_empty() {
            self.elsewhere.put(slice);
            return;
        }
        let mut of_node = self
            .by_node
            .get(node, node)
            .cloned()
            .unwrap_or_else(|| NodeSlices { node: node.clone(), slices: ByName::new() });
        of_node.slices.insert(name.clone(), slice.clone());
        self.by_node.put(of_node);
        if !slice.shared_counters.is_empty() {
            self.counters.put(slice);
        }
    }

    fn remove(&mut self, slice: &ResourceSlice) {
        let (pool, name) = (&slice.pool, &slice.metadata.name);
        if let Some(mut known) = self.pool(pool).cloned() {
            known.slices.remove(name);
            match known.slices.is_empty() {
                true => drop(self.pools.remove(&pool.driver, &pool.name)),
                false => drop(self.pools.put(known)),
            }
        }
        if !slice.shared_counters.is_empty() {
            self.counters.remove(&slice.metadata.namespace, name);
        }
        let node = &slice.nodes.node_name;
        if node.is_empty() {
            self.elsewhere.remove(&slice.metadata.namespace, name);
        } else if let Some(mut known) = self.by_node.get(node, node).cloned() {
            known.slices.remove(name);
            match known.slices.is_empty() {
                true => drop(self.by_node.remove(node, node)),
                false => drop(self.by_node.put(known)),
            }
        }
    }
}
