//! [`Simulation`]: a copy of one node with pods added and removed, and a fork of the cycle state.

use super::cycle_state::CycleState;
use super::handle::Handle;
use super::runtime::Framework;
use super::status::Status;
use crate::model::{NodeInfo, Overlay, PodInfo};
use std::sync::Arc;

/// One node to try changes on.
pub struct Simulation<'s> {
    framework: &'s Framework,
    handle: Handle<'s>,
    node: NodeInfo<'s>,
    state: CycleState,
    overlay: Overlay,
}

impl<'s> Simulation<'s> {
    /// `node` as it is, with a fork of the attempt's state.
    pub fn new(framework: &'s Framework, handle: Handle<'s>, node: NodeInfo<'s>) -> Self {
        Self { framework, handle, node, state: handle.cycle.clone(), overlay: Overlay::new(node) }
    }

    /// Takes a pod off the node.
    pub fn remove_pod(&mut self, pod: &PodInfo) -> Result<(), Status> {
        self.overlay.remove(self.node, pod);
        let node = self.node.with_overlay(&self.overlay);
        self.framework.run_pre_filter_extensions(&mut self.state, self.handle, pod, node, false)
    }

    /// Puts a pod onto the node.
    pub fn add_pod(&mut self, pod: &Arc<PodInfo>) -> Result<(), Status> {
        self.overlay.add(self.node, pod);
        let node = self.node.with_overlay(&self.overlay);
        self.framework.run_pre_filter_extensions(&mut self.state, self.handle, pod, node, true)
    }

    /// Whether the pod fits as things are simulated, without and with the pods that are promised to the node
    /// (upstream's `RunFilterPluginsWithNominatedPods`).
    pub fn fits(&self) -> Result<(), Status> {
        let handle = Handle { cycle: &self.state, ..self.handle };
        self.framework.filter_with_nominated(handle, self.node.with_overlay(&self.overlay))
    }

    /// Whether the pod passes all filters as things are simulated, promised pods left out.
    pub fn passes(&self) -> Result<(), Status> {
        let handle = Handle { cycle: &self.state, ..self.handle };
        self.framework.filter_node(handle, self.node.with_overlay(&self.overlay))
    }
}
