//! The plugins of a profile, as simulations run them.

use super::Framework;
use crate::cycle_state::CycleState;
use crate::handle::Handle;
use crate::simulation::NodeFilters;
use crate::status::Status;
use bayplan_model::{NodeInfo, PodInfo};

impl NodeFilters for Framework {
    fn pod_changed(
        &self,
        state: &mut CycleState,
        h: Handle,
        pod: &PodInfo,
        node: NodeInfo,
        added: bool,
    ) -> Result<(), Status> {
        self.run_pre_filter_extensions(state, h, pod, node, added)
    }

    fn pre_filter_again(&self, h: Handle, node: NodeInfo) -> Result<(), Status> {
        Framework::pre_filter_again(self, h, node)
    }

    fn filter_with_nominated(&self, h: Handle, node: NodeInfo) -> Result<(), Status> {
        Framework::filter_with_nominated(self, h, node)
    }

    fn filter_node(&self, h: Handle, node: NodeInfo) -> Result<(), Status> {
        Framework::filter_node(self, h, node)
    }
}
