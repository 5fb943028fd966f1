//! What preemption came to for a pod that waits: one line below the tables.

use crate::cli::output::count;

/// The reason of a node all of whose possible victims policies protect, before their names.
const PROTECTED_BY: &str = "node(s) with pods protected by ";

/// Says why evictions make no room for a pod of this priority, from the text of its event. `named`: policies say which
/// pods may be evicted, and not priorities. `None`: preemption was not tried, or the pod has no priority and no node has
/// pods that could go.
///
/// Source of the texts: `pkg/scheduler/framework/preemption/preemption.go`.
pub(super) fn line(message: &str, priority: i32, named: bool) -> Option<String> {
    let (_, told) = message.split_once("preemption: ")?;
    let told = told.strip_suffix('.').unwrap_or(told);
    let Some((_, list)) = told.split_once(" nodes are available: ") else {
        return (priority > 0 || named).then(|| format!("Preemption is not tried: {}.", not_tried(told)));
    };
    let mut parts: Vec<String> = Vec::new();
    let mut tells = priority > 0 || named;
    for (nodes, reason) in counted(list) {
        let nodes_have = if nodes == 1 { "node has" } else { "nodes have" };
        let nodes_still = if nodes == 1 { "node still does" } else { "nodes still do" };
        let nodes_word = if nodes == 1 { "node" } else { "nodes" };
        let nodes = count(nodes);
        if let Some(policies) = reason.strip_prefix(PROTECTED_BY) {
            tells = true;
            parts.push(format!("{nodes} {nodes_have} only pods that {policies} protects"));
            continue;
        }
        parts.push(match reason.as_str() {
            "No preemption victims found for incoming pod" if named => {
                format!("{nodes} {nodes_have} no pods that may be evicted")
            }
            "No preemption victims found for incoming pod" => {
                format!("{nodes} {nodes_have} no pods of a priority below {priority}")
            }
            "Preemption is not helpful for scheduling" => {
                format!("evictions do not change what refuses {nodes} {nodes_word}")
            }
            _ if named => {
                format!("{nodes} {nodes_still} not fit without the pods that may be evicted: {reason}")
            }
            _ => {
                tells = true;
                format!("{nodes} {nodes_still} not fit without the pods below {priority}: {reason}")
            }
        });
    }
    tells.then(|| format!("Preemption does not help: {}.", parts.join("; ")))
}

fn not_tried(told: &str) -> &str {
    match told.strip_prefix("not eligible due to ") {
        Some("preemptionPolicy=Never.") | Some("preemptionPolicy=Never") => {
            "the pod has `preemptionPolicy: Never`"
        }
        Some("a terminating pod on the nominated node") => "pods on its nominated node are ending already",
        Some(other) => other,
        None => told,
    }
}

/// The counts and reasons of a list: `1 Insufficient cpu, 2 ...`. A reason may have a comma itself.
fn counted(list: &str) -> Vec<(usize, String)> {
    let mut all: Vec<(usize, String)> = Vec::new();
    for part in list.split(", ") {
        let begins = part.split_once(' ').and_then(|(nodes, reason)| Some((nodes.parse().ok()?, reason)));
        match (begins, all.last_mut()) {
            (Some((nodes, reason)), _) => all.push((nodes, reason.to_owned())),
            (None, Some((_, reason))) => {
                reason.push_str(", ");
                reason.push_str(part);
            }
            (None, None) => {}
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_outcome_is_said_in_words() {
        let of = |told: &str| line(&format!("0/4 nodes are available: 4 no. preemption: {told}"), 10, false);
        let list = "0/4 nodes are available: 1 Insufficient cpu, 2 No preemption victims found for incoming pod, \
                    1 Preemption is not helpful for scheduling.";
        assert_eq!(
            of(list).unwrap(),
            "Preemption does not help: 1 node still does not fit without the pods below 10: Insufficient cpu; 2 nodes \
             have no pods of a priority below 10; evictions do not change what refuses 1 node."
        );
        assert_eq!(
            of("not eligible due to preemptionPolicy=Never.").unwrap(),
            "Preemption is not tried: the pod has `preemptionPolicy: Never`."
        );
        assert_eq!(line("0/4 nodes are available: 4 Insufficient cpu.", 10, false), None);
        let usual = "preemption: 0/4 nodes are available: 4 No preemption victims found for incoming pod.";
        assert_eq!(line(usual, 0, false), None);
        assert_eq!(
            line(usual, 0, true).unwrap(),
            "Preemption does not help: 4 nodes have no pods that may be evicted."
        );
        assert_eq!(
            of("0/4 nodes are available: 4 node(s) with pods protected by spare.").unwrap(),
            "Preemption does not help: 4 nodes have only pods that spare protects."
        );
        assert_eq!(of("trial pods wait").unwrap(), "Preemption is not tried: trial pods wait.");
    }
}
