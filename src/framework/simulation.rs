//! [`Simulation`]: a copy of one node with pods added and removed, and a fork of the cycle state.

use super::cycle_state::CycleState;
use super::handle::Handle;
use super::preemption::{AppliedRules, Verdict};
use super::status::Status;
use bayplan_model::{NodeInfo, Overlay, PodInfo};
use std::sync::Arc;

/// What a simulation runs of the plugins of a profile.
pub trait NodeFilters {
    /// Tells PreFilter plugins that a pod was added to a node, or taken off it.
    fn pod_changed(
        &self,
        state: &mut CycleState,
        h: Handle,
        pod: &PodInfo,
        node: NodeInfo,
        added: bool,
    ) -> Result<(), Status>;
    /// Evaluates refusals of PreFilter again that pods on the node may have caused.
    fn pre_filter_again(&self, h: Handle, node: NodeInfo) -> Result<(), Status>;
    /// Runs the filters with the pods that are promised to the node, and without.
    fn filter_with_nominated(&self, h: Handle, node: NodeInfo) -> Result<(), Status>;
    /// Runs the filters.
    fn filter_node(&self, h: Handle, node: NodeInfo) -> Result<(), Status>;
}

/// One node to try changes on.
pub struct Simulation<'s> {
    filters: &'s dyn NodeFilters,
    handle: Handle<'s>,
    node: NodeInfo<'s>,
    state: CycleState,
    overlay: Overlay,
}

impl<'s> Simulation<'s> {
    /// `node` as it is, with a fork of the attempt's state.
    pub fn new(filters: &'s dyn NodeFilters, handle: Handle<'s>, node: NodeInfo<'s>) -> Self {
        Self { filters, handle, node, state: handle.cycle.clone(), overlay: Overlay::new(node) }
    }

    /// Takes a pod off the node.
    pub fn remove_pod(&mut self, pod: &PodInfo) -> Result<(), Status> {
        self.overlay.remove(self.node, pod);
        let node = self.node.with_overlay(&self.overlay);
        self.filters.pod_changed(&mut self.state, self.handle, pod, node, false)
    }

    /// Puts a pod onto the node.
    pub fn add_pod(&mut self, pod: &Arc<PodInfo>) -> Result<(), Status> {
        self.overlay.add(self.node, pod);
        let node = self.node.with_overlay(&self.overlay);
        self.filters.pod_changed(&mut self.state, self.handle, pod, node, true)
    }

    /// Whether the pod fits as things are simulated, without and with the pods that are promised to the node
    /// (upstream's `RunFilterPluginsWithNominatedPods`). Refusals of PreFilter are evaluated again.
    pub fn fits(&self) -> Result<(), Status> {
        let (handle, node) = self.view();
        self.filters.pre_filter_again(handle, node)?;
        self.filters.filter_with_nominated(handle, node)
    }

    /// The attempt and the node as things are simulated.
    pub fn view(&self) -> (Handle<'_>, NodeInfo<'_>) {
        let handle = Handle { cycle: &self.state, ..self.handle };
        (handle, self.node.with_overlay(&self.overlay))
    }

    /// Whether the pod fits once pods are gone that another scheduler chose: PreFilter, all filters and the rules about
    /// evictions let it. The pods are judged one after the other, each with the earlier ones gone.
    pub fn fits_without(&mut self, victims: &[&PodInfo], rules: &mut AppliedRules) -> Result<bool, Status> {
        for victim in victims {
            let (handle, node) = self.view();
            if !rules.is_empty() && rules.verdict(handle, node, victim)? != Verdict::Candidate {
                return Ok(false);
            }
            self.remove_pod(victim)?;
        }
        let (handle, node) = self.view();
        self.filters.pre_filter_again(handle, node)?;
        self.filters.filter_node(handle, node)?;
        rules.guard(handle, node)?;
        Ok(true)
    }

    /// Whether the pod passes all filters as things are simulated, promised pods left out.
    pub fn passes(&self) -> Result<(), Status> {
        let handle = Handle { cycle: &self.state, ..self.handle };
        self.filters.filter_node(handle, self.node.with_overlay(&self.overlay))
    }
}
