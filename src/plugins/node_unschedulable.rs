//! Refuses nodes with `spec.unschedulable`, unless the pod tolerates the taint of that meaning.
//!
//! Source: `pkg/scheduler/framework/plugins/nodeunschedulable/node_unschedulable.go`.

use bayplan_framework::{
    ActionType, ArgsError, CORDONED, ClusterEvent, Edit, EnqueueExtensions, EventRegistration, Features,
    Filter, Handle, Plugin, PreFilter, QueueingHint, Reads, Status, Tree, Verdicts, Violation,
};
use bayplan_model::{Effect, Kinds, NodeInfo, NodeSet, PodInfo, Symbol, Taint, VersionRow};
use std::sync::Arc;

const REASON: &str = "node(s) were unschedulable";

pub(super) fn new(args: &Tree, features: Features) -> Result<Arc<dyn Plugin>, Vec<ArgsError>> {
    let taint = Taint { key: Symbol::new(CORDONED), value: Symbol::default(), effect: Effect::NoSchedule };
    super::without_args(args, NodeUnschedulable { taint, listed: features.has(VersionRow::NodeNameFirst) })
}

struct NodeUnschedulable {
    taint: Taint,
    /// Whether profiles have it at PreFilter, where it does nothing.
    listed: bool,
}

impl NodeUnschedulable {
    fn tolerated_by(&self, pod: &PodInfo) -> bool {
        pod.tolerations.iter().any(|toleration| toleration.tolerates(&self.taint, false))
    }
}

impl Plugin for NodeUnschedulable {
    fn name(&self) -> &str {
        "NodeUnschedulable"
    }
    fn reads(&self) -> Reads {
        Reads::of(Kinds::UNSCHEDULABLE)
    }
    bayplan_framework::serves!(Filter, EnqueueExtensions);
    fn pre_filter(&self) -> Option<&dyn PreFilter> {
        self.listed.then_some(&super::listed::Listed as &dyn PreFilter)
    }
    fn remedies(&self, h: &Handle, node: Option<NodeInfo>) -> Vec<Edit> {
        let Some(node) = node.filter(|_| !self.tolerated_by(h.pod)) else { return Vec::new() };
        let tainted = node.node().taints.iter().any(|taint| taint.key == *CORDONED);
        vec![Edit::Uncordon { tainted }, Edit::Tolerate(self.taint.clone())]
    }
}

impl Filter for NodeUnschedulable {
    fn filter(&self, h: &Handle, node: NodeInfo) -> Result<(), Status> {
        if node.node().unschedulable && !self.tolerated_by(h.pod) {
            return Err(Status::unresolvable(REASON));
        }
        Ok(())
    }

    fn filter_range(&self, h: &Handle, nodes: &NodeSet, out: &mut Verdicts) {
        let closed = h.snapshot.columns().unschedulable();
        if closed.is_empty() || self.tolerated_by(h.pod) {
            return;
        }
        let status = out.status(Status::unresolvable(REASON));
        for (at, (asked, closed)) in nodes.words().iter().zip(closed.words()).enumerate() {
            out.refuse_rows(at, asked & closed, status);
        }
    }

    fn violations(&self, h: &Handle, node: NodeInfo, out: &mut Vec<Violation>) {
        if Filter::filter(self, h, node).is_err() {
            out.push(Violation {
                reason: REASON.to_owned(),
                what: String::from("spec.unschedulable"),
                need: format!("a toleration of {CORDONED}:NoSchedule"),
                have: String::from("true"),
                ..Violation::default()
            });
        }
    }
}

impl EnqueueExtensions for NodeUnschedulable {
    fn events(&self) -> Vec<EventRegistration> {
        vec![
            super::nodes(ActionType::ADD.with(ActionType::UPDATE_NODE_TAINT)),
            super::pods(ActionType::UPDATE_POD_TOLERATION),
        ]
    }

    fn hint(&self, h: &Handle, event: &ClusterEvent) -> QueueingHint {
        let helps = match (super::node_change(event), super::pod_change(event)) {
            ((old, Some(new)), _) => !new.unschedulable && old.is_none_or(|old| old.unschedulable),
            (_, (_, Some(pod))) => pod.key == h.pod.key && self.tolerated_by(pod),
            _ => false,
        };
        if helps { QueueingHint::Queue } else { QueueingHint::Skip }
    }
}

#[cfg(test)]
mod tests {
    use super::super::trial::{Trial, map};
    use bayplan_model::testing::{node, pod};
    use serde_json::json;

    #[test]
    fn a_cordoned_node_takes_only_pods_that_tolerate_its_taint() {
        let cordoned = node("cordoned").set("spec.unschedulable", json!(true)).object();
        let trial = Trial::of("NodeUnschedulable", vec![node("open").object(), cordoned]);
        let text = "UnschedulableAndUnresolvable: node(s) were unschedulable";
        assert_eq!(trial.refused(&pod("p").build()), map([("cordoned", text)]));
        let key = "node.kubernetes.io/unschedulable";
        let tolerates = |effect| trial.refused(&pod("p").toleration(key, "Exists", "", effect).build());
        assert_eq!(tolerates("NoSchedule"), map::<&str, _>([]));
        assert_eq!(tolerates(""), map::<&str, _>([]));
        assert_eq!(tolerates("NoExecute"), map([("cordoned", text)]));
    }
}
