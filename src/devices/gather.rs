//! [`Gather`]: the pools of nodes, one node after the other. What nodes have in common is found out once.
//!
//! Slices that name a node are found by its name. Of the others, those for all nodes are examined once, and only those that
//! select nodes are evaluated on every node; nodes on which the same slices count share the pools made of them.
//!
//! Source: `structured/internal/incubating/pools_incubating.go`.

use crate::features::AllocatorFeatures;
use crate::node_choice::{chooses, is_made};
use crate::pools::{Making, Pool, PoolState, Slice, order};
use bayplan_model::objects::devices::PoolId;
use bayplan_model::{DeviceIndex, NewestSlices, Node, ResourceSlice};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::rc::Rc;

/// Finds the pools of nodes.
pub(crate) struct Gather<'a> {
    making: Making<'a>,
    /// `None`: no pools were found yet.
    common: Option<Common<'a>>,
    /// What nodes share, by the positions of those slices of [`Common::chosen`] that count.
    shared: FxHashMap<Box<[u32]>, Rc<Shared<'a>>>,
}

/// Slices that may count on many nodes.
struct Common<'a> {
    /// Slices that name no node and count on every node.
    everywhere: Vec<Slice<'a>>,
    /// Slices that name no node and count where they or their devices say.
    chosen: Vec<Slice<'a>>,
    /// Slices that name a node, and count on the others too: they have shared counters.
    counters: BTreeMap<&'a PoolId, Vec<Slice<'a>>>,
    /// The pools of those as other nodes see them, by driver and name: without devices. Where nothing is wrong with a pool,
    /// that is as if it were not there, and it is left out.
    faulty: Vec<Rc<Pool<'a>>>,
}

/// What nodes see of slices that do not name them.
struct Shared<'a> {
    /// The slices that name no node, in their order.
    slices: Vec<Slice<'a>>,
    /// The pools, by driver and name, when no other slice of them counts.
    pools: Vec<Rc<Pool<'a>>>,
}

/// The slices of a pool among slices in their order.
fn of_pool<'s, 'a>(slices: &'s [Slice<'a>], pool: &PoolId) -> &'s [Slice<'a>] {
    let begin = slices.partition_point(|slice| slice.pool < *pool);
    let end = slices.partition_point(|slice| slice.pool <= *pool);
    slices.get(begin..end).unwrap_or_default()
}

impl<'a> Gather<'a> {
    pub(crate) fn new(index: &'a DeviceIndex, features: AllocatorFeatures) -> Self {
        Self { making: Making { index, features }, common: None, shared: FxHashMap::default() }
    }

    /// The pools, in the order in which they are tried: those without binding conditions first, then by driver and name.
    pub(crate) fn pools(&mut self, node: &Node) -> Result<Vec<Rc<Pool<'a>>>, String> {
        let making = self.making;
        let common = self.common.get_or_insert_with(|| Common::of(making));
        let shared = common.shared(node, making, &mut self.shared)?;
        let own = making.index.pools_of(&node.name);
        let mut pools = Vec::with_capacity(own.len() + shared.pools.len());
        let mut others = shared.pools.iter().peekable();
        // The slices that name the node, where what is known of them is not enough.
        let mut named = None;
        for newest in own {
            let Some(id) = newest.id() else { continue };
            while let Some(pool) = others.next_if(|pool| pool.id < id) {
                pools.push(pool.clone());
            }
            others.next_if(|pool| pool.id == id);
            let counters = common.counters.get(id).map(Vec::as_slice).unwrap_or_default();
            let more = of_pool(&shared.slices, id);
            let plain = (more.is_empty() && counters.is_empty()).then(|| making.plain(newest)).flatten();
            let pool = plain.unwrap_or_else(|| {
                let named = named.get_or_insert_with(|| making.named(node));
                let elsewhere = counters.iter().filter(|slice| slice.nodes.node_name != node.name);
                let mut slices: Vec<Slice<'a>> =
                    of_pool(named, id).iter().chain(more).chain(elsewhere).copied().collect();
                slices.sort_unstable_by(order);
                making.pool(&slices)
            });
            pools.extend(pool.map(Rc::new));
        }
        pools.extend(others.cloned());
        pools.sort_by_key(|pool| pool.has_binding_conditions);
        Ok(pools)
    }
}

impl<'a> Making<'a> {
    /// The slices that name a node and count there, in their order.
    fn named(&self, node: &Node) -> Vec<Slice<'a>> {
        let named = self.index.slices_of(&node.name).filter(|slice| !self.leaves_out(slice));
        let mut named: Vec<Slice<'a>> = named.collect();
        named.sort_unstable_by(order);
        named
    }

    /// Pools of slices in their order, which many nodes see.
    fn common(&self, slices: &[Slice<'a>]) -> Vec<Rc<Pool<'a>>> {
        let of_pool = slices.chunk_by(|a, b| a.pool == b.pool);
        let pools = of_pool.filter_map(|of_pool| {
            let newest = of_pool.first().and_then(|first| self.index.newest(&first.pool));
            let mut pool = match newest.filter(|newest| is_all(newest, of_pool)) {
                Some(newest) => self.plain(newest).unwrap_or_else(|| self.pool(of_pool)),
                None => self.pool(of_pool),
            }?;
            pool.is_common = pool.slices.iter().all(|slice| slice.per_device != Some(true));
            Some(Rc::new(pool))
        });
        pools.collect()
    }
}

/// Whether the slices, in their order, begin with all of the newest generation of the pool.
fn is_all(newest: &NewestSlices, slices: &[Slice<'_>]) -> bool {
    let end = slices.partition_point(|slice| slice.generation >= newest.generation());
    end == newest.slices().len()
}

impl<'a> Common<'a> {
    fn of(making: Making<'a>) -> Self {
        let (index, features) = (making.index, making.features);
        let (mut everywhere, mut chosen) = (Vec::new(), Vec::new());
        for slice in index.slices_of_no_node() {
            let newest = index.newest(&slice.pool).filter(|newest| newest.generation() == slice.generation);
            if !newest.is_some_and(NewestSlices::is_plain) && making.leaves_out(slice) {
                continue;
            }
            if slice.nodes.all_nodes || features.counters_everywhere() && !slice.shared_counters.is_empty() {
                everywhere.push(slice);
            } else if is_made(&slice.nodes) || slice.per_device == Some(true) {
                chosen.push(slice);
            }
            // The others have a choice of nodes of a later Kubernetes.
        }
        let mut counters: BTreeMap<&'a PoolId, Vec<Slice<'a>>> = BTreeMap::new();
        if features.counters_everywhere() {
            let slices = index.counter_slices_of_nodes().filter(|slice| !making.leaves_out(slice));
            slices.for_each(|slice| counters.entry(&slice.pool).or_default().push(slice));
            counters.values_mut().for_each(|slices| slices.sort_unstable_by(order));
        }
        let faulty = counters.values().filter_map(|slices| making.pool(slices));
        let faulty = faulty.filter(|pool| pool.state != PoolState::Whole).map(Rc::new).collect();
        Self { everywhere, chosen, counters, faulty }
    }

    /// What the node sees of slices that do not name it.
    fn shared(
        &self,
        node: &Node,
        making: Making<'a>,
        known: &mut FxHashMap<Box<[u32]>, Rc<Shared<'a>>>,
    ) -> Result<Rc<Shared<'a>>, String> {
        let mut counts = Vec::new();
        for (at, slice) in (0..).zip(&self.chosen) {
            if is_chosen(slice, node)? {
                counts.push(at);
            }
        }
        if let Some(known) = known.get(counts.as_slice()) {
            return Ok(known.clone());
        }
        let chosen = counts.iter().filter_map(|at| self.chosen.get(*at as usize));
        let mut slices: Vec<Slice<'a>> = self.everywhere.iter().chain(chosen).copied().collect();
        slices.sort_unstable_by(order);
        let mut with_counters = slices.clone();
        for (id, counters) in &self.counters {
            if !of_pool(&slices, id).is_empty() {
                with_counters.extend(counters);
            }
        }
        with_counters.sort_unstable_by(order);
        let mut pools = making.common(&with_counters);
        pools.extend(self.faulty.iter().filter(|pool| of_pool(&slices, pool.id).is_empty()).cloned());
        pools.sort_by(|a, b| a.id.cmp(b.id));
        let shared = Rc::new(Shared { slices, pools });
        known.insert(counts.into(), shared.clone());
        Ok(shared)
    }
}

/// Whether a slice that names no node is for the node, or one of its devices is.
fn is_chosen(slice: &ResourceSlice, node: &Node) -> Result<bool, String> {
    let name = &slice.metadata.name;
    if is_made(&slice.nodes) {
        return chooses(&slice.nodes, node)
            .map_err(|error| format!("failed to perform node selection for slice {name}: {error}"));
    }
    for device in slice.devices.iter() {
        let fits = chooses(&device.nodes, node).map_err(|error| {
            let device = &device.name;
            format!("failed to perform node selection for device {device} in slice {name}: {error}")
        });
        if fits? {
            return Ok(true);
        }
    }
    Ok(false)
}
