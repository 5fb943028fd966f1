//! [`Simulation`]: a copy of one node with pods added and removed, and a fork of the cycle state.

use super::cycle_state::CycleState;
use super::handle::Handle;
use super::preemption::{AppliedRules, Verdict};
use super::runtime::Framework;
use super::status::Status;
use bayplan_model::{NodeInfo, Overlay, PodInfo};
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
    /// (upstream's `RunFilterPluginsWithNominatedPods`). Refusals of PreFilter are evaluated again.
    pub fn fits(&self) -> Result<(), Status> {
        let (handle, node) = self.view();
        self.framework.pre_filter_again(handle, node)?;
        self.framework.filter_with_nominated(handle, node)
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
        self.framework.pre_filter_again(handle, node)?;
        self.framework.filter_node(handle, node)?;
        rules.guard(handle, node)?;
        Ok(true)
    }

    /// Whether the pod passes all filters as things are simulated, promised pods left out.
    pub fn passes(&self) -> Result<(), Status> {
        let handle = Handle { cycle: &self.state, ..self.handle };
        self.framework.filter_node(handle, self.node.with_overlay(&self.overlay))
    }
}
