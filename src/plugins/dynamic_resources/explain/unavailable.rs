//! Allocated claims that are of no use on a node.

use super::super::DynamicResources;
use super::super::claims::full_name;
use super::super::conditions;
use super::super::state::reaches;
use bayplan_model::objects::selectors::{Expression, NodeSelector};
use bayplan_model::{NodeInfo, ResourceClaim, Symbol, Time};

/// How many pods are named.
const PODS: usize = 3;

/// What is missing on a node for an allocated claim, what it needs, and what the node has; `None`: nothing.
pub(super) fn words(
    plugin: &DynamicResources,
    claim: &ResourceClaim,
    node: NodeInfo,
    now: Time,
) -> Option<(String, String, String)> {
    if !plugin.is_unavailable(claim, &node, now) {
        return None;
    }
    let name = full_name(claim);
    let allocation = claim.allocation.as_ref()?;
    if !reaches(allocation, &node) {
        let users = users(claim);
        let users = if users.is_empty() { String::from("unused") } else { format!("used by {users}") };
        let need =
            allocation.node_selector.as_ref().map(|nodes| selector(&nodes.written)).unwrap_or_default();
        return Some((format!("claim {name}, allocated and {users}"), need, String::new()));
    }
    Some(match conditions::ready(claim) {
        Err(why) => (format!("claim {name}: its devices cannot be prepared"), String::new(), why),
        Ok(false) if conditions::is_late(claim, plugin.args.binding_timeout, now) => {
            (format!("claim {name}: its devices were not prepared in time"), String::new(), String::new())
        }
        Ok(_) => {
            let declared = node.node().declared_features.iter().map(Symbol::as_str).collect::<Vec<_>>();
            let have = if declared.is_empty() { String::from("none") } else { declared.join(", ") };
            (format!("claim {name}: features of the node"), String::from("DRAOptionalNodeOperations"), have)
        }
    })
}

/// `pods a, b`: who may use a claim. Empty: no pod.
pub(super) fn users(claim: &ResourceClaim) -> String {
    let users = &claim.reserved_for;
    let mut names: Vec<String> = users
        .iter()
        .take(PODS)
        .map(|user| match user.resource.as_str() {
            "pods" => user.name.to_string(),
            resource => format!("{} {}", resource, user.name),
        })
        .collect();
    if users.len() > PODS {
        names.push(format!("{} others", users.len() - PODS));
    }
    match (names.len(), users.iter().all(|user| user.resource == "pods")) {
        (0, _) => String::new(),
        (1, true) => format!("pod {}", names.join("")),
        (_, true) => format!("pods {}", names.join(", ")),
        (_, false) => names.join(", "),
    }
}

/// What an allocation asks of nodes: `node n1`, `zone=a`.
fn selector(selector: &NodeSelector) -> String {
    let one = |of: &Expression| {
        let values: Vec<&str> = of.values.iter().flatten().map(Symbol::as_str).collect();
        let values = values.join(", ");
        match (of.key.as_str(), of.operator.as_str()) {
            ("metadata.name", "In") => format!("node {values}"),
            (key, "In") => format!("{key}={values}"),
            (key, operator) => format!("{key} {operator} {values}").trim_end().to_owned(),
        }
    };
    let terms = selector.node_selector_terms.iter().map(|term| {
        let all = term.match_fields.iter().chain(&term.match_expressions);
        all.map(one).collect::<Vec<_>>().join(" and ")
    });
    terms.collect::<Vec<_>>().join(" or ")
}
