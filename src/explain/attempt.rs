//! One attempt on a frozen snapshot: PreFilter once, then any filter on any node, in any order; then Reserve and Permit
//! on nodes that may be chosen.

use bayplan_engine::{Decider, Scan, TieBreak};
use bayplan_framework::{Acting, Cycle, Edit, Feasible, Framework, PluginId, Silent, Status};
use bayplan_model::{Change, NodeId, NodeInfo, NodeSet, Placement, PodInfo, Snapshot, Time};
use std::sync::Arc;

/// On how many of the nodes that may be chosen Reserve and Permit run.
pub(super) const NODES_CHOSEN: usize = 64;

pub(super) struct Attempt<'a> {
    pub(super) cycle: Cycle,
    pub(super) snapshot: &'a Snapshot,
    /// The nodes that PreFilter left, or its refusal.
    left: Result<Option<NodeSet>, Status>,
}

impl<'a> Attempt<'a> {
    /// Runs PreFilter.
    pub(super) fn new(
        framework: &Arc<Framework>,
        snapshot: &'a Snapshot,
        pod: &Arc<PodInfo>,
        now: Time,
    ) -> Self {
        let mut cycle = Cycle::new(pod.clone(), framework.clone(), now);
        let left = framework.run_pre_filter(&mut cycle, snapshot, &mut Silent);
        Self { cycle, snapshot, left }
    }

    /// The refusal of PreFilter.
    pub(super) fn refused(&self) -> Option<&Status> {
        self.left.as_ref().err()
    }

    /// The plugins whose PreFilter left a node out.
    pub(super) fn left_out_by(&self, node: NodeId) -> Vec<PluginId> {
        match &self.left {
            Ok(Some(left)) if !left.contains(node) => {
                self.cycle.diagnosis.unschedulable_plugins.iter().collect()
            }
            _ => Vec::new(),
        }
    }

    /// Whether a node passes PreFilter and every filter, also beside the pods that are nominated to it.
    pub(super) fn fits(&self, id: NodeId) -> bool {
        let Ok(left) = &self.left else { return false };
        if left.as_ref().is_some_and(|left| !left.contains(id)) {
            return false;
        }
        let Some(node) = self.snapshot.node(id) else { return false };
        self.cycle.framework.filter_with_nominated(self.cycle.handle(self.snapshot), node).is_ok()
    }

    /// The nodes that it fits, in row order.
    pub(super) fn all_that_fit(&self) -> Vec<NodeId> {
        self.snapshot.nodes().map(|node| node.id()).filter(|id| self.fits(*id)).collect()
    }

    /// Whether a plugin may still refuse the pod, or make it wait, once a node is chosen.
    pub(super) fn may_be_refused_late(&self) -> bool {
        let Cycle { state, framework, .. } = &self.cycle;
        let filters = |id: PluginId| framework.plugin(id).is_some_and(|plugin| plugin.filter().is_some());
        let points = framework.points();
        points.reserve.iter().chain(&points.permit).any(|id| !state.ignores(*id, filters(*id)))
    }

    /// Reserve and Permit on a node: the plugins that make the pod wait there, or the refusal.
    pub(super) fn chosen(&self, id: NodeId) -> Result<Vec<PluginId>, Status> {
        self.choose(id).2
    }

    /// What Reserve and Permit on a node answer, with the cluster and the attempt afterwards.
    fn choose(&self, id: NodeId) -> (Snapshot, Cycle, Result<Vec<PluginId>, Status>) {
        let mut world = self.snapshot.fork();
        let mut cycle = self.cycle.clone();
        let (pod, how) = (cycle.pod.clone(), Placement::Assumed);
        world.apply(Change::PodPlaced { pod: pod.clone(), node: id, how });
        world.apply(Change::PodAssumed { pod: pod.key.clone(), at: cycle.now });
        let framework = cycle.framework.clone();
        let (now, mut acts, mut next_ticket) = (cycle.now, Vec::new(), 0);
        // What plugins do there is done to the fork, or not at all.
        let mut acting = Acting { snapshot: &mut world, now, acts: &mut acts, next_ticket: &mut next_ticket };
        let ended = framework
            .run_reserve(&mut cycle, id, &mut acting)
            .and_then(|()| framework.run_permit(&mut cycle, id, &mut acting))
            .map(|waits| waits.into_iter().map(|(plugin, _)| plugin).collect());
        (world, cycle, ended)
    }

    /// The plugins that make the pod wait at Permit in an attempt that chooses among these nodes; `None` when it is
    /// refused on one of the best, any of which may be drawn.
    pub(super) fn ends(&self, feasible: &[NodeId]) -> Option<Vec<PluginId>> {
        let best = self.best(feasible)?;
        let mut waits: Vec<PluginId> = Vec::new();
        for node in best.iter().take(NODES_CHOSEN) {
            for plugin in self.chosen(*node).ok()? {
                if !waits.contains(&plugin) {
                    waits.push(plugin);
                }
            }
        }
        Some(waits)
    }

    /// The nodes with the highest score among these.
    pub(super) fn best(&self, feasible: &[NodeId]) -> Option<Vec<NodeId>> {
        if let [_] | [] = feasible {
            return (!feasible.is_empty()).then(|| feasible.to_vec());
        }
        let mut cycle = self.cycle.clone();
        let feasible = Feasible { nodes: feasible.iter().copied().collect() };
        let mut decider = Scan::new();
        decider.score(&mut cycle, &feasible, self.snapshot, &mut Silent).ok()?;
        decider.select(&cycle, &feasible, self.snapshot, &[], TieBreak::Name, 0, &mut Silent)?;
        Some(decider.best().iter().collect())
    }

    /// Edits that may help against the refusals of a node, in the order of the plugins that refuse; with `late` also those
    /// of Reserve and Permit.
    pub(super) fn remedies(&self, node: NodeInfo<'_>, late: bool) -> Vec<Edit> {
        let framework = &self.cycle.framework;
        let mut edits = Vec::new();
        for id in self.refusing(node) {
            let Some(plugin) = framework.plugin(id) else { continue };
            let handle = self.cycle.handle(self.snapshot).for_plugin(id);
            edits.extend(plugin.remedies(&handle, Some(node)));
        }
        if late
            && let (world, cycle, Err(status)) = self.choose(node.id())
            && let (Some(plugin), Some(node)) = (framework.plugin(status.plugin), world.node(node.id()))
        {
            edits.extend(plugin.remedies(&cycle.handle(&world).for_plugin(status.plugin), Some(node)));
        }
        edits
    }

    /// The plugins that refuse a node, in the order in which they run.
    fn refusing(&self, node: NodeInfo<'_>) -> Vec<PluginId> {
        let mut refusing = self.left_out_by(node.id());
        for id in &self.cycle.framework.points().filter {
            if self.cycle.state.skip_filter.contains(*id) || refusing.contains(id) {
                continue;
            }
            let filter = self.cycle.framework.plugin(*id).and_then(|plugin| plugin.filter());
            let handle = self.cycle.handle(self.snapshot).for_plugin(*id);
            if filter.is_some_and(|filter| filter.filter(&handle, node).is_err()) {
                refusing.push(*id);
            }
        }
        refusing
    }
}
