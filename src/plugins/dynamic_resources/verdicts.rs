//! [`Verdicts`]: which nodes serve claims like those of an earlier pod, and how well. Most pods ask for what pods before them
//! asked for, and between two of them the devices of one node change: only there the search runs again.
//!
//! What a node gives follows from the requests and constraints of the claims, the classes, the slices, and what is allocated.
//! Slices that are not for one named node, counters and rules of taints reach further: with those nothing is remembered.

use super::state::State;
use bayplan_devices::AllocatorFeatures;
use bayplan_model::objects::devices::{ClaimConstraint, ClaimRequest, RequestKind};
use bayplan_model::{DeviceClass, DeviceIndex, NewestSlices, NodeInfo, Revision, Snapshot, Symbol};
use std::sync::Arc;
// What is remembered changes no verdict; forks may share it.
#[allow(clippy::disallowed_types)]
use std::sync::{Mutex, MutexGuard};

/// So many kinds of claims are remembered; with more, the one that was used longest ago is forgotten.
const MOST_KINDS: usize = 16;

/// What is remembered: kinds of claims, the last used one last.
#[derive(Default)]
#[allow(clippy::disallowed_types)]
pub(super) struct Verdicts(Mutex<Vec<Kind>>);

/// What a claim asks for.
type Wants = (Arc<[ClaimRequest]>, Arc<[ClaimConstraint]>);

/// Whether a node serves claims.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Serves {
    /// It does not.
    Not,
    /// It does, with alternatives that are so good: `bayplan_devices::score`.
    WithScore(i64),
}

/// Claims that get the same devices on the same nodes.
struct Kind {
    /// Of each claim.
    wants: Vec<Wants>,
    /// Those that the requests name, in their order.
    classes: Vec<Arc<DeviceClass>>,
    /// The slices and allocations from which the verdicts follow.
    slices: Revision,
    allocated: Revision,
    /// By row: the name of the node, and whether it serves them. Another node may have the row later.
    nodes: Vec<Option<(Symbol, Serves)>>,
}

impl Kind {
    fn is_of(&self, wants: &[Wants], classes: &[Arc<DeviceClass>]) -> bool {
        let are_same = self.classes.len() == classes.len()
            && self.classes.iter().zip(classes).all(|(a, b)| Arc::ptr_eq(a, b));
        are_same && self.wants == wants
    }

    /// Forgets the nodes whose devices may have changed.
    fn catch_up(&mut self, snapshot: &Snapshot, index: &DeviceIndex) {
        let edited = index.allocated().edited_since(&self.allocated);
        match edited.filter(|_| self.slices.is(index.slices_revision())) {
            None => self.nodes.clear(),
            Some(pools) => {
                for slice in pools.flat_map(|pool| index.pool(pool)) {
                    let row = snapshot.row_by_name(&slice.nodes.node_name);
                    if let Some(known) = row.and_then(|row| self.nodes.get_mut(row.row())) {
                        *known = None;
                    }
                }
            }
        }
        (self.slices, self.allocated) =
            (index.slices_revision().clone(), index.allocated().revision().clone());
    }
}

/// What is remembered of the claims of a pod.
pub(super) struct Remembered<'a> {
    kinds: MutexGuard<'a, Vec<Kind>>,
    index: &'a DeviceIndex,
}

impl<'a> Remembered<'a> {
    /// `None`: it would not be true, nothing is to be allocated, or another thread uses it.
    pub(super) fn of(
        verdicts: &'a Verdicts,
        (snapshot, index, features): (&Snapshot, &'a DeviceIndex, AllocatorFeatures),
        state: &State,
    ) -> Option<Self> {
        let reaches_further = index.slices_of_no_node().next().is_some()
            || index.counter_slices_of_nodes().next().is_some()
            || features.taint_rules && index.has_taint_rules();
        if reaches_further || state.to_allocate().next().is_none() {
            return None;
        }
        let claims = || state.to_allocate().map(|of| &of.claim);
        let wants: Vec<_> =
            claims().map(|claim| (claim.requests.clone(), claim.constraints.clone())).collect();
        let named = claims().flat_map(|claim| claim.requests.iter()).flat_map(class_names);
        let classes = named.map(|name| snapshot.object::<DeviceClass>(&Symbol::default(), name).cloned());
        let classes: Vec<_> = classes.collect::<Option<_>>()?;
        let mut kinds = verdicts.0.try_lock().ok()?;
        let mut kind = match kinds.iter().position(|kind| kind.is_of(&wants, &classes)) {
            Some(at) => kinds.remove(at),
            None => Kind {
                wants,
                classes,
                slices: Revision::default(),
                allocated: Revision::default(),
                nodes: Vec::new(),
            },
        };
        kind.catch_up(snapshot, index);
        if kinds.len() == MOST_KINDS {
            kinds.remove(0);
        }
        kinds.push(kind);
        Some(Self { kinds, index })
    }

    /// Whether the node serves the claims, if that is known.
    pub(super) fn serves(&self, node: &NodeInfo) -> Option<Serves> {
        let (name, serves) = self.kinds.last()?.nodes.get(node.id().row())?.as_ref()?;
        (name == node.name()).then_some(*serves)
    }

    /// Notes whether the node serves the claims.
    pub(super) fn note(&mut self, node: &NodeInfo, serves: Serves) {
        // Devices that choose their nodes look at labels too.
        if !self.index.pools_of(node.name()).iter().all(NewestSlices::is_plain) {
            return;
        }
        let Some(kind) = self.kinds.last_mut() else { return };
        let row = node.id().row();
        if kind.nodes.len() <= row {
            kind.nodes.resize(row + 1, None);
        }
        if let Some(known) = kind.nodes.get_mut(row) {
            *known = Some((node.name().clone(), serves));
        }
    }
}

/// The classes that a request names.
fn class_names(request: &ClaimRequest) -> Vec<&Symbol> {
    match request.kind() {
        RequestKind::Exactly(exactly) => vec![&exactly.device.device_class_name],
        RequestKind::FirstAvailable(all) => all.iter().map(|of| &of.device.device_class_name).collect(),
        RequestKind::Unknown => Vec::new(),
    }
}
