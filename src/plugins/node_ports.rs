//! Refuses nodes where a host port of the pod is taken.
//!
//! Source: `pkg/scheduler/framework/plugins/nodeports/node_ports.go`.

use bayplan_framework::{
    ActionType, ArgsError, ClusterEvent, Edit, EnqueueExtensions, EventRegistration, Features, Filter,
    Handle, Plugin, PreFilter, PreFilterOutcome, QueueingHint, Reads, StateSlot, Status, Tree, Verdicts,
    Violation,
};
use bayplan_model::{HostPort, Kinds, NodeInfo, NodeSet};
use std::sync::Arc;

const REASON: &str = "node(s) didn't have free ports for the requested pod ports";
const ANY_ADDRESS: &str = "0.0.0.0";

pub(super) fn new(args: &Tree, _: Features) -> Result<Arc<dyn Plugin>, Vec<ArgsError>> {
    super::without_args(args, NodePorts)
}

struct NodePorts;

/// Whether two host ports cannot be on one node.
fn conflict(a: &HostPort, b: &HostPort) -> bool {
    a.port == b.port
        && a.protocol == b.protocol
        && (a.ip == b.ip || a.ip == ANY_ADDRESS || b.ip == ANY_ADDRESS)
}

/// `8080/TCP`, with the address where one is given.
fn text(port: &HostPort) -> String {
    let address = if port.ip == ANY_ADDRESS { String::new() } else { format!(" on {}", port.ip) };
    format!("{}/{}{address}", port.port, port.protocol)
}

impl Plugin for NodePorts {
    fn name(&self) -> &str {
        "NodePorts"
    }
    fn reads(&self) -> Reads {
        Reads::of(Kinds::PODS_PORTS)
    }
    bayplan_framework::serves!(PreFilter, Filter, EnqueueExtensions);
    fn remedies(&self, h: &Handle, node: Option<NodeInfo>) -> Vec<Edit> {
        let Some(node) = node else { return Vec::new() };
        let taken = |wanted: &&HostPort| node.used_ports().any(|used| conflict(wanted, used));
        let ports = h.pod.host_ports.iter().filter(taken).cloned().map(Edit::DropHostPort);
        ports.chain([Edit::PodsEnd]).collect()
    }
}

impl PreFilter for NodePorts {
    fn pre_filter(&self, h: &Handle, _: &mut StateSlot) -> Result<PreFilterOutcome, Status> {
        Ok(if h.pod.host_ports.is_empty() { PreFilterOutcome::Skip } else { PreFilterOutcome::AllNodes })
    }
}

impl Filter for NodePorts {
    fn filter(&self, h: &Handle, node: NodeInfo) -> Result<(), Status> {
        let taken = |used: &HostPort| h.pod.host_ports.iter().any(|wanted| conflict(wanted, used));
        if node.used_ports().any(taken) { Err(Status::unschedulable(REASON)) } else { Ok(()) }
    }

    fn filter_range(&self, h: &Handle, nodes: &NodeSet, out: &mut Verdicts) {
        if h.pod.host_ports.is_empty() {
            return;
        }
        // Few nodes have pods with host ports; all others are free.
        let mut used = h.snapshot.columns().host_ports().clone();
        used.intersect(nodes);
        let status = out.status(Status::unschedulable(REASON));
        for node in used.iter().filter_map(|id| h.snapshot.node(id)) {
            if Filter::filter(self, h, node).is_err() {
                out.refuse(node.id(), status);
            }
        }
    }

    fn violations(&self, h: &Handle, node: NodeInfo, out: &mut Vec<Violation>) {
        for wanted in &h.pod.host_ports {
            for pod in node.pods() {
                if let Some(used) = pod.host_ports.iter().find(|used| conflict(wanted, used)) {
                    let same = used == wanted;
                    let used = if same { String::new() } else { format!("{} ", text(used)) };
                    out.push(Violation {
                        reason: REASON.to_owned(),
                        what: String::from("host port"),
                        need: text(wanted),
                        have: format!("{used}used by {}", pod.full_name()),
                        ..Violation::default()
                    });
                }
            }
        }
    }
}

impl EnqueueExtensions for NodePorts {
    fn events(&self) -> Vec<EventRegistration> {
        vec![super::pods(ActionType::DELETE), super::nodes(ActionType::ADD)]
    }

    fn hint(&self, h: &Handle, event: &ClusterEvent) -> QueueingHint {
        let (Some(gone), None) = super::pod_change(event) else { return QueueingHint::Queue };
        let held = gone.node_name.is_some() || gone.nominated_node.is_some();
        let freed = |used: &HostPort| h.pod.host_ports.iter().any(|wanted| conflict(wanted, used));
        if held && gone.host_ports.iter().any(freed) { QueueingHint::Queue } else { QueueingHint::Skip }
    }
}

#[cfg(test)]
mod tests {
    use super::super::trial::{Trial, map};
    use bayplan_model::testing::{node, pod};

    #[test]
    fn a_port_is_taken_by_protocol_and_address() {
        let used = pod("used").host_port_of("TCP", "10.0.0.1", 80).on("a").object();
        let trial = Trial::of("NodePorts", vec![node("a").object(), node("b").object(), used]);
        let refused = |protocol, ip, port| {
            !trial.refused(&pod("p").host_port_of(protocol, ip, port).build()).is_empty()
        };
        assert!(refused("TCP", "10.0.0.1", 80));
        assert!(refused("TCP", "", 80), "no address means every address");
        assert!(refused("", "0.0.0.0", 80), "the default protocol is TCP");
        assert!(!refused("TCP", "10.0.0.2", 80));
        assert!(!refused("UDP", "10.0.0.1", 80));
        assert!(!refused("TCP", "10.0.0.1", 81));
        let text = "Unschedulable: node(s) didn't have free ports for the requested pod ports";
        assert_eq!(trial.refused(&pod("p").host_port(80).build()), map([("a", text)]));
        assert_eq!(trial.refused(&pod("p").build()), map::<&str, _>([]));
    }
}
