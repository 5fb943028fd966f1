//! Refuses nodes that do not declare a feature that the pod needs (`status.declaredFeatures`).
//!
//! Source: `pkg/scheduler/framework/plugins/nodedeclaredfeatures/nodedeclaredfeatures.go`,
//! `component-helpers/nodedeclaredfeatures` (KEP-5328).

use bayplan_framework::{
    ActionType, ArgsError, ClusterEvent, EnqueueExtensions, EventRegistration, Features, Filter, Gate,
    Handle, Plugin, PreFilter, PreFilterOutcome, QueueingHint, Reads, StateSlot, Status, Tree, Verdicts,
    Violation,
};
use bayplan_model::{ConstraintKinds, Kinds, NodeInfo, NodeSet, PodInfo, PodPrecondition, Symbol};
use std::sync::Arc;

const REASON: &str = "node(s) didn't match Pod's required features";

/// The features that Kubernetes 1.36 knows, ordered by name.
const KNOWN: [&str; 5] = [
    "ExtendWebSocketsToKubelet",
    "InPlacePodLevelResourcesVerticalScaling",
    "InPlacePodVerticalScalingInitContainers",
    "RestartAllContainersOnContainerExits",
    "UserNamespacesHostNetworkSupport",
];

pub(super) fn new(args: &Tree, features: Features) -> Result<Arc<dyn Plugin>, Vec<ArgsError>> {
    super::without_args(args, NodeDeclaredFeatures { enabled: features.on(Gate::NodeDeclaredFeatures) })
}

struct NodeDeclaredFeatures {
    /// Whether the feature gate is on; without it the plugin says nothing.
    enabled: bool,
}

/// The features that a pod needs.
fn required(pod: &PodInfo) -> &[Symbol] {
    pod.constraints.as_ref().map(|constraints| &*constraints.features).unwrap_or_default()
}

/// The known features that a node declares. Upstream takes the list to be ordered: of a list that is not, it may miss
/// the features after one that is out of order.
fn declared(list: &[Symbol]) -> impl Iterator<Item = &'static str> {
    let mut rest = list;
    KNOWN.into_iter().filter(move |known| {
        while let [first, more @ ..] = rest
            && first.as_str() < *known
        {
            rest = more;
        }
        match rest {
            [first, more @ ..] if first.as_str() == *known => {
                rest = more;
                true
            }
            _ => false,
        }
    })
}

/// The features that a pod needs and a node does not declare.
fn missing<'p>(pod: &'p PodInfo, list: &[Symbol]) -> impl Iterator<Item = &'p Symbol> {
    required(pod).iter().filter(|feature| !declared(list).any(|known| known == feature.as_str()))
}

impl Plugin for NodeDeclaredFeatures {
    fn name(&self) -> &str {
        "NodeDeclaredFeatures"
    }
    fn reads(&self) -> Reads {
        Reads::of(Kinds::FEATURES)
    }
    fn precondition(&self) -> Option<PodPrecondition> {
        Some(PodPrecondition::Constraints(ConstraintKinds::NODE_FEATURES))
    }
    bayplan_framework::serves!(PreFilter, Filter, EnqueueExtensions);
}

impl PreFilter for NodeDeclaredFeatures {
    fn pre_filter(&self, h: &Handle, _: &mut StateSlot) -> Result<PreFilterOutcome, Status> {
        let skip = !self.enabled || required(h.pod).is_empty();
        Ok(if skip { PreFilterOutcome::Skip } else { PreFilterOutcome::AllNodes })
    }
}

impl Filter for NodeDeclaredFeatures {
    fn filter(&self, h: &Handle, node: NodeInfo) -> Result<(), Status> {
        match self.enabled && missing(h.pod, &node.node().declared_features).next().is_some() {
            true => Err(Status::unresolvable(REASON)),
            false => Ok(()),
        }
    }

    fn filter_range(&self, h: &Handle, nodes: &NodeSet, out: &mut Verdicts) {
        if !self.enabled || required(h.pod).is_empty() {
            return;
        }
        let status = out.status(Status::unresolvable(REASON));
        // Most nodes declare the same features.
        let mut last: Option<(&[Symbol], bool)> = None;
        for node in nodes.iter().filter_map(|id| h.snapshot.node(id)) {
            let list = &*node.node().declared_features;
            let refused = match last {
                Some((known, refused)) if known == list => refused,
                _ => missing(h.pod, list).next().is_some(),
            };
            last = Some((list, refused));
            if refused {
                out.refuse(node.id(), status);
            }
        }
    }

    fn violations(&self, h: &Handle, node: NodeInfo, out: &mut Vec<Violation>) {
        if !self.enabled {
            return;
        }
        out.extend(missing(h.pod, &node.node().declared_features).map(|feature| Violation {
            reason: REASON.to_owned(),
            what: format!("feature {feature}"),
            need: String::from("declared by the node"),
            have: String::from("not declared"),
            ..Violation::default()
        }));
    }
}

impl EnqueueExtensions for NodeDeclaredFeatures {
    fn events(&self) -> Vec<EventRegistration> {
        if !self.enabled {
            return Vec::new();
        }
        vec![
            super::nodes(ActionType::ADD.with(ActionType::UPDATE_NODE_DECLARED_FEATURE)),
            super::pods(ActionType::UPDATE),
        ]
    }

    fn hint(&self, h: &Handle, event: &ClusterEvent) -> QueueingHint {
        let helps = match (super::node_change(event), super::pod_change(event)) {
            ((old, Some(new)), _) => old.is_none_or(|old| old.declared_features != new.declared_features),
            (_, (Some(old), Some(new))) => new.key == h.pod.key && required(old) != required(new),
            _ => false,
        };
        if helps { QueueingHint::Queue } else { QueueingHint::Skip }
    }
}

#[cfg(test)]
mod tests {
    use super::super::trial::{Trial, map};
    use super::*;
    use bayplan_model::testing::{node, pod};
    use serde_json::json;

    const TEXT: &str = "UnschedulableAndUnresolvable: node(s) didn't match Pod's required features";

    #[test]
    fn a_node_must_declare_what_the_pod_needs() {
        let declares = |name: &str, features: &[&str]| {
            node(name).set("status.declaredFeatures", json!(features)).object()
        };
        let (restart, users) = ("RestartAllContainersOnContainerExits", "UserNamespacesHostNetworkSupport");
        let trial = Trial::of(
            "NodeDeclaredFeatures",
            vec![
                declares("none", &[]),
                declares("users", &["Other", users]),
                declares("both", &[restart, users]),
                // Upstream walks the list as an ordered one.
                declares("unordered", &[users, restart]),
            ],
        );
        assert_eq!(trial.refused(&pod("plain").build()), map::<&str, _>([]));
        let users = pod("users").set("spec.hostNetwork", json!(true)).set("spec.hostUsers", json!(false));
        assert_eq!(trial.refused(&users.build()), map([("none", TEXT)]));
        let rule = json!({"action": "RestartAllContainers", "exitCodes": {"operator": "In", "values": [1]}});
        let containers = json!([{"name": "c", "restartPolicyRules": [rule]}]);
        let restarts = pod("restarts").set("spec.containers", containers);
        assert_eq!(
            trial.refused(&restarts.build()),
            map([("none", TEXT), ("users", TEXT), ("unordered", TEXT)])
        );
    }

    #[test]
    fn without_the_gate_the_plugin_says_nothing() {
        let Ok(plugin) = new(&Tree::default(), Features::default().with(Gate::NodeDeclaredFeatures, false))
        else {
            panic!("no arguments")
        };
        assert!(plugin.enqueue_extensions().unwrap().events().is_empty());
        let registry =
            super::super::registry_with(Features::default().with(Gate::NodeDeclaredFeatures, false));
        assert!(!registry.get("NodeDeclaredFeatures").unwrap().is_default());
        assert!(super::super::registry().get("NodeDeclaredFeatures").unwrap().is_default());
    }
}
