//! The lint `late-by-node`: a check of `reserve` or `permit` that reads the node.
//!
//! Both run once a node is chosen. A refusal there ends the attempt: no other node is tried, also where another one would
//! do, and the next attempt may choose the same node again. A filter decides on each node.

use super::shadow::{Parts, acts_before, covers, refusing};
use crate::analysis::stage::depends;
use crate::typed::{Mode, Point, Policy, Rule};
use bayplan_diag::{Diagnostic, Source, codes};

/// Reports checks after the choice of a node that depend on the node and that no filter makes before.
pub(super) fn check(policy: &Policy, source: &Source, diagnostics: &mut Vec<Diagnostic>) {
    let of =
        |point| policy.rules_at(point).flat_map(move |rule| rule.checks().map(move |check| (rule, check)));
    let filters = of(Point::Filter).map(|(rule, check)| (rule.head.mode, refusing(policy, rule, check)));
    let filters: Vec<(Mode, Parts<'_>)> = filters.collect();
    for (rule, check) in of(Point::Reserve).chain(of(Point::Permit)) {
        let Some(condition) = &check.condition else { continue };
        let own = refusing(policy, rule, check);
        let reads_node = depends(policy, condition, &mut Vec::new()).node;
        let decides = |(mode, filter): &(Mode, Parts<'_>)| {
            acts_before(*mode, rule.head.mode) && covers(policy, filter, &own)
        };
        if !reads_node || filters.iter().any(decides) {
            continue;
        }
        let message = format!("`{}` refuses by the node, and no other node is tried then", rule.name());
        let help = match source.text().get(check.span.range()).filter(|_| !policy.cel) {
            Some(text) => {
                let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
                format!(
                    "say it as a filter, which decides on each node: `filter {} {{ {text} }}`",
                    name(rule)
                )
            }
            None => "say it as a filter, which decides on each node: an item of `filters`".to_owned(),
        };
        diagnostics.push(Diagnostic::new(&codes::LATE_BY_NODE, condition.span, message).with_help(help));
    }
}

/// A name for the filter: the name of the rule is a word of the language.
fn name(rule: &Rule) -> String {
    format!("before-{}", rule.name())
}
