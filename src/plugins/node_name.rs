//! Refuses every node but the one the pod names in `spec.nodeName`: since 1.37 at PreFilter already.
//!
//! Source: `pkg/scheduler/framework/plugins/nodename/node_name.go`.

use bayplan_framework::{
    ActionType, ArgsError, EnqueueExtensions, EventRegistration, Features, Filter, Handle, Plugin, PreFilter,
    PreFilterOutcome, Reads, StateSlot, Status, Tree, Verdicts, Violation,
};
use bayplan_model::{NodeInfo, NodeSet, VersionRow};
use std::sync::Arc;

const REASON: &str = "node(s) didn't match the requested node name";

pub(super) fn new(args: &Tree, features: Features) -> Result<Arc<dyn Plugin>, Vec<ArgsError>> {
    super::without_args(args, NodeName { narrows: features.has(VersionRow::NodeNameFirst) })
}

struct NodeName {
    /// Whether PreFilter leaves the named node alone.
    narrows: bool,
}

impl Plugin for NodeName {
    fn name(&self) -> &str {
        "NodeName"
    }
    fn reads(&self) -> Reads {
        Reads::default()
    }
    bayplan_framework::serves!(Filter, EnqueueExtensions);
    fn pre_filter(&self) -> Option<&dyn PreFilter> {
        self.narrows.then_some(self as &dyn PreFilter)
    }
}

impl PreFilter for NodeName {
    fn pre_filter(&self, h: &Handle, _: &mut StateSlot) -> Result<PreFilterOutcome, Status> {
        let Some(wanted) = &h.pod.node_name else { return Ok(PreFilterOutcome::AllNodes) };
        let mut only = NodeSet::with_rows(h.snapshot.columns().rows());
        if let Some(node) = h.snapshot.node_by_name(wanted) {
            only.insert(node);
        }
        Ok(PreFilterOutcome::Only(only))
    }
}

impl Filter for NodeName {
    fn filter(&self, h: &Handle, node: NodeInfo) -> Result<(), Status> {
        match &h.pod.node_name {
            Some(wanted) if wanted != node.name() => Err(Status::unresolvable(REASON)),
            _ => Ok(()),
        }
    }

    fn filter_range(&self, h: &Handle, nodes: &NodeSet, out: &mut Verdicts) {
        let Some(wanted) = &h.pod.node_name else { return };
        let wanted = h.snapshot.node_by_name(wanted);
        let status = out.status(Status::unresolvable(REASON));
        let mut others = nodes.clone();
        if let Some(wanted) = wanted {
            others.remove(wanted);
        }
        for (word, rows) in others.words().iter().enumerate() {
            out.refuse_rows(word, *rows, status);
        }
    }

    fn violations(&self, h: &Handle, node: NodeInfo, out: &mut Vec<Violation>) {
        if let Some(wanted) = h.pod.node_name.as_ref().filter(|wanted| *wanted != node.name()) {
            out.push(Violation {
                reason: REASON.to_owned(),
                what: String::from("node name"),
                need: wanted.to_string(),
                have: node.name().to_string(),
                ..Violation::default()
            });
        }
    }
}

impl EnqueueExtensions for NodeName {
    fn events(&self) -> Vec<EventRegistration> {
        vec![super::nodes(ActionType::ADD)]
    }
}

#[cfg(test)]
mod tests {
    use super::super::trial::{Trial, map};
    use bayplan_model::KubernetesVersion;
    use bayplan_model::testing::{node, pod};

    #[test]
    fn only_the_named_node_fits() {
        let nodes = || vec![node("a").object(), node("b").object()];
        let newer = Trial::of("NodeName", nodes());
        assert_eq!(newer.refused(&pod("p").build()), map::<&str, _>([]));
        assert_eq!(newer.refused(&pod("p").on("a").build()), map([("b", "left out by PreFilter")]));
        let trial = Trial::in_version(KubernetesVersion::V1_36, "NodeName", nodes());
        let text = "UnschedulableAndUnresolvable: node(s) didn't match the requested node name";
        assert_eq!(trial.refused(&pod("p").build()), map::<&str, _>([]));
        assert_eq!(trial.refused(&pod("p").on("a").build()), map([("b", text)]));
        assert_eq!(trial.refused(&pod("p").on("gone").build()), map([("a", text), ("b", text)]));
    }
}
