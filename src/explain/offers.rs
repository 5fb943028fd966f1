//! The things of one node among which plugins choose for a pod, such as devices, each with what became of it.

use crate::attempt::Attempt;
use crate::pod::unbound;
use bayplan_framework::{Framework, Offer};
use bayplan_model::{NodeInfo, PodInfo, Snapshot, Time};
use std::sync::Arc;

/// What a node of the snapshot offers to a pod that is on no node. Empty where the pod is refused before nodes are evaluated.
pub fn offers(
    framework: &Arc<Framework>,
    snapshot: &Snapshot,
    pod: &PodInfo,
    now: Time,
    node: NodeInfo<'_>,
) -> Vec<Offer> {
    let attempt = Attempt::new(framework, snapshot, &unbound(&Arc::new(pod.clone())), now);
    let mut offers = Vec::new();
    if attempt.refused().is_some() {
        return offers;
    }
    let cycle = &attempt.cycle;
    for id in &framework.points().filter {
        let filter = framework.plugin(*id).and_then(|plugin| plugin.filter());
        if let Some(filter) = filter.filter(|_| !cycle.state.skip_filter.contains(*id)) {
            filter.offers(&cycle.handle(attempt.snapshot).for_plugin(*id), node, &mut offers);
        }
    }
    offers
}
