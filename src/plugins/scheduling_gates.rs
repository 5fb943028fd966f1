//! Keeps a pod out of the queue while `spec.schedulingGates` names gates.
//!
//! Source: `pkg/scheduler/framework/plugins/schedulinggates/scheduling_gates.go`.

use bayplan_framework::{
    ActionType, ArgsError, ClusterEvent, EnqueueExtensions, EventRegistration, Features, Handle, Plugin,
    PreEnqueue, QueueingHint, Reads, Status, Tree,
};
use std::sync::Arc;

pub(super) fn new(args: &Tree, _: Features) -> Result<Arc<dyn Plugin>, Vec<ArgsError>> {
    super::without_args(args, SchedulingGates)
}

struct SchedulingGates;

impl Plugin for SchedulingGates {
    fn name(&self) -> &str {
        "SchedulingGates"
    }
    fn reads(&self) -> Reads {
        Reads::default()
    }
    bayplan_framework::serves!(PreEnqueue, EnqueueExtensions);
}

impl PreEnqueue for SchedulingGates {
    fn pre_enqueue(&self, h: &Handle) -> Result<(), Status> {
        if h.pod.scheduling_gates.is_empty() {
            return Ok(());
        }
        let gates: Vec<&str> = h.pod.scheduling_gates.iter().map(|gate| gate.as_str()).collect();
        Err(Status::unresolvable(format!("waiting for scheduling gates: [{}]", gates.join(" "))))
    }
}

impl EnqueueExtensions for SchedulingGates {
    fn events(&self) -> Vec<EventRegistration> {
        vec![super::pods(ActionType::UPDATE_POD_SCHEDULING_GATES_ELIMINATED)]
    }

    fn hint(&self, h: &Handle, event: &ClusterEvent) -> QueueingHint {
        match super::pod_change(event) {
            (_, Some(pod)) if pod.key == h.pod.key => QueueingHint::Queue,
            _ => QueueingHint::Skip,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::trial::Trial;
    use bayplan_model::testing::pod;

    #[test]
    fn gates_keep_the_pod_out_and_are_named_in_the_order_of_the_pod() {
        let trial = Trial::of("SchedulingGates", Vec::new());
        assert_eq!(trial.gate(&pod("p").build()), None);
        let gated = pod("p").gate("b").gate("a").build();
        assert_eq!(trial.gate(&gated).as_deref(), Some("waiting for scheduling gates: [b a]"));
    }
}
