//! One attempt on a frozen snapshot: PreFilter once, then any filter on any node, in any order.

use crate::framework::{Cycle, Framework, PluginId, Silent, Status};
use crate::model::{NodeId, NodeInfo, NodeSet, PodInfo, Snapshot, Time};
use std::sync::Arc;

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

    /// The plugins that refuse a node, in the order in which they run.
    pub(super) fn refusing(&self, node: NodeInfo<'_>) -> Vec<PluginId> {
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
