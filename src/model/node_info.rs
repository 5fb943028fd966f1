//! [`NodeInfo`]: one node with the pods on it, as filters and scorers see it, and [`Overlay`]: pods added and
//! removed on top for one simulation.

use super::bit_set::{BitSet, Row};
use super::node::Node;
use super::node_set::NodeId;
use super::pod::{HostPort, PodInfo};
use super::resource::Resource;
use super::snapshot::{NodeRow, Snapshot};
use super::sums::Sums;
use super::symbol::Symbol;
use super::time::Time;
use std::sync::Arc;

/// A node and what is on it. A view: copying it costs nothing.
#[derive(Clone, Copy)]
pub struct NodeInfo<'a> {
    snapshot: &'a Snapshot,
    row: &'a NodeRow,
    id: NodeId,
    overlay: Option<&'a Overlay>,
}

/// The place of a pod in the row of its node.
#[derive(Clone, Copy, Debug)]
struct Place(u32);

impl Row for Place {
    #[inline]
    fn row(self) -> usize {
        self.0 as usize
    }

    #[inline]
    fn from_row(row: usize) -> Self {
        Self(row as u32)
    }
}

/// Pods added to and removed from one node for a simulation, with their sums.
#[derive(Clone, Debug)]
pub struct Overlay {
    added: Vec<Arc<PodInfo>>,
    /// Pods of the row that are taken off.
    removed: BitSet<Place>,
    sums: Sums,
    /// The host ports of pods added and removed, and whether each is in use after the last of these changes. As in
    /// upstream's `HostPortInfo`, which counts nothing, a removed pod frees its ports even if another pod has them too.
    ports: Vec<(HostPort, bool)>,
}

/// The place of a pod in a row.
fn place(row: &NodeRow, pod: &PodInfo) -> Option<Place> {
    // Most simulations remove and add the very pods of the row: then no other pod is read.
    let same = row.pods.iter().position(|other| std::ptr::eq(&**other, pod));
    let at = same.or_else(|| row.pods.iter().position(|other| other.key == pod.key));
    at.map(Place::from_row)
}

impl Overlay {
    /// An overlay that changes nothing yet.
    pub fn new(of: NodeInfo<'_>) -> Self {
        Self {
            added: of.overlay.map(|overlay| overlay.added.clone()).unwrap_or_default(),
            removed: of.overlay.map(|overlay| overlay.removed.clone()).unwrap_or_default(),
            sums: Sums { requested: of.requested().clone(), nonzero: of.nonzero_requested() },
            ports: of.overlay.map(|overlay| overlay.ports.clone()).unwrap_or_default(),
        }
    }

    fn set_ports(&mut self, of: &PodInfo, used: bool) {
        for port in &of.host_ports {
            match self.ports.iter_mut().find(|(other, _)| other == port) {
                Some((_, now)) => *now = used,
                None => self.ports.push((port.clone(), used)),
            }
        }
    }

    /// Puts a pod onto `node`, the node that the overlay was made for.
    pub fn add(&mut self, node: NodeInfo<'_>, pod: &Arc<PodInfo>) {
        self.sums.add(node.node(), pod);
        self.set_ports(pod, true);
        match place(node.row, pod).filter(|place| self.removed.contains(*place)) {
            Some(place) => self.removed.remove(place),
            None => self.added.push(pod.clone()),
        }
    }

    /// Takes a pod off `node`, the node that the overlay was made for. A pod that is not there changes nothing.
    pub fn remove(&mut self, node: NodeInfo<'_>, pod: &PodInfo) {
        let added = self.added.iter().position(|added| added.key == pod.key);
        let there = || place(node.row, pod).filter(|place| !self.removed.contains(*place));
        match added {
            Some(at) => {
                self.added.swap_remove(at);
            }
            None => match there() {
                Some(place) => self.removed.insert(place),
                None => return,
            },
        }
        if !self.sums.subtract(pod) {
            self.sums = Sums::of(node.node(), node.with_overlay(self).pods());
        }
        self.set_ports(pod, false);
    }
}

impl<'a> NodeInfo<'a> {
    pub(super) fn new(snapshot: &'a Snapshot, row: &'a NodeRow, id: NodeId) -> Self {
        Self { snapshot, row, id, overlay: None }
    }

    /// This node with an overlay on top.
    #[inline]
    pub fn with_overlay<'b>(self, overlay: &'b Overlay) -> NodeInfo<'b>
    where
        'a: 'b,
    {
        NodeInfo { overlay: Some(overlay), ..self }
    }

    /// The row.
    #[inline]
    pub fn id(&self) -> NodeId {
        self.id
    }

    /// The snapshot it belongs to.
    #[inline]
    pub fn snapshot(&self) -> &'a Snapshot {
        self.snapshot
    }

    /// Whether pods are simulated on top.
    #[inline]
    pub fn is_simulated(&self) -> bool {
        self.overlay.is_some()
    }

    /// The node object.
    #[inline]
    pub fn node(&self) -> &'a Arc<Node> {
        &self.row.node
    }

    /// The name.
    #[inline]
    pub fn name(&self) -> &'a Symbol {
        &self.row.node.name
    }

    /// The value of a label.
    #[inline]
    pub fn label(&self, key: &Symbol) -> Option<&'a Symbol> {
        self.row.node.labels.get(key)
    }

    /// What pods may use.
    #[inline]
    pub fn allocatable(&self) -> &'a Resource {
        &self.row.node.allocatable
    }

    /// What the pods on the node request, assumed ones included.
    #[inline]
    pub fn requested(&self) -> &'a Resource {
        match self.overlay {
            Some(overlay) => &overlay.sums.requested,
            None => &self.row.sums.requested,
        }
    }

    /// Requested CPU (millicores) and memory (bytes) with upstream's defaults for containers that name none.
    #[inline]
    pub fn nonzero_requested(&self) -> (i64, i64) {
        self.overlay.map_or(self.row.sums.nonzero, |overlay| overlay.sums.nonzero)
    }

    /// The pods on the node, assumed ones included.
    pub fn pods(&self) -> impl Iterator<Item = &'a Arc<PodInfo>> + use<'a> {
        let overlay = self.overlay;
        let added = overlay.map(|overlay| overlay.added.iter()).into_iter().flatten();
        let is_there = move |at: usize| overlay.is_none_or(|o| !o.removed.contains(Place::from_row(at)));
        let pods = self.row.pods.iter().enumerate().filter(move |(at, _)| is_there(*at));
        pods.map(|(_, pod)| pod).chain(added)
    }

    /// When this scheduler assumed a pod of [`NodeInfo::pods`] here; the outer `None`: the snapshot has it elsewhere. No
    /// other pod is read, and no table of all pods.
    pub fn assumed_at(&self, pod: &PodInfo) -> Option<Option<Time>> {
        let place = self.row.pods.iter().position(|other| std::ptr::eq(&**other, pod))?;
        self.row.assumed_at.get(place).copied()
    }

    /// How many pods are on the node.
    #[inline]
    pub fn pod_count(&self) -> usize {
        let there = self.row.pods.len();
        self.overlay
            .map_or(there, |overlay| (there + overlay.added.len()).saturating_sub(overlay.removed.len()))
    }

    /// Host ports in use on the node.
    pub fn used_ports(&self) -> impl Iterator<Item = &'a HostPort> + use<'a> {
        let changed = self.overlay.map_or(&[][..], |overlay| &overlay.ports);
        let there = (self.row.port_pods > 0).then(|| self.row.pods.iter()).into_iter().flatten();
        let unchanged = move |port: &&HostPort| changed.iter().all(|(other, _)| other != *port);
        let there = there.flat_map(|pod| pod.host_ports.iter()).filter(unchanged);
        there.chain(changed.iter().filter(|(_, used)| *used).map(|(port, _)| port))
    }
}
