//! Whether a slice or a device is for a node.
//!
//! Source: `structured/internal/incubating/pools_incubating.go`, `NodeMatches`.

use bayplan_model::Node;
use bayplan_model::objects::devices::NodeChoice;
use bayplan_model::objects::selectors::{Expression, NodeSelector};
use std::fmt::Write;

/// Whether the choice takes in the node. One that chooses nothing takes in none. `Err`: the selector is not valid.
pub(crate) fn chooses(choice: &NodeChoice, node: &Node) -> Result<bool, String> {
    if !choice.node_name.is_empty() {
        return Ok(choice.node_name == node.name);
    }
    if choice.all_nodes {
        return Ok(true);
    }
    let Some(nodes) = &choice.node_selector else { return Ok(false) };
    if let Some(error) = &nodes.selector.error {
        let selector = printed(&nodes.written);
        return Err(format!("failed to parse node selector {selector}: {error}"));
    }
    Ok(nodes.selector.terms.iter().any(|term| term.matches(&node.name, &node.labels)))
}

/// Whether there is a choice at all.
pub(crate) fn is_made(choice: &NodeChoice) -> bool {
    !choice.node_name.is_empty() || choice.all_nodes || choice.node_selector.is_some()
}

/// As Go prints the object.
fn printed(selector: &NodeSelector) -> String {
    let list = |name: &str, of: &[Expression]| {
        let mut text = format!("{name}:[]NodeSelectorRequirement{{");
        for Expression { key, operator, values } in of {
            let values: Vec<&str> = values.iter().flatten().map(|value| value.as_str()).collect();
            let values = values.join(" ");
            let _ =
                write!(text, "NodeSelectorRequirement{{Key:{key},Operator:{operator},Values:[{values}],}},");
        }
        text.push_str("},");
        text
    };
    let terms = selector.node_selector_terms.iter().map(|term| {
        let expressions = list("MatchExpressions", &term.match_expressions);
        format!("NodeSelectorTerm{{{expressions}{}}},", list("MatchFields", &term.match_fields))
    });
    format!("&NodeSelector{{NodeSelectorTerms:[]NodeSelectorTerm{{{}}},}}", terms.collect::<String>())
}
