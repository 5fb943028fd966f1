//! The errors and warnings about the costs of rules.

use super::{Costs, Large, MOST_STEPS, MOST_STEPS_TOGETHER, RuleCost, Size, most_steps};
use crate::language::fields::{PARTS, PartDef};
use crate::typed::{Body, Policy, Rule};
use bayplan_diag::{Diagnostic, codes, with_commas};

/// Reports rules that may take too many steps on a cluster of this size, texts and lists that may
/// become too large, and rules that grow with the square of the cluster. False if a text or list
/// may become too large: such a policy is never loaded.
pub fn check(policy: &Policy, size: Size, diagnostics: &mut Vec<Diagnostic>) -> bool {
    let costs = Costs::new(policy, size);
    let mut fits = true;
    let mut together = 0u128;
    let mut asked = 0;
    for rule in &policy.rules {
        let name = match &rule.body {
            Body::Gate(_)
            | Body::Prefilter(_)
            | Body::Reserve(_)
            | Body::Permit(_)
            | Body::EvictionGuard(_) => {
                format!("the {}", rule.name())
            }
            Body::Never(_) | Body::Victim(_) | Body::Acts(_) => format!("the rule `{}`", rule.name()),
            Body::Queue(_) => "`queue by`".to_owned(),
            Body::Ledger(_) => format!("the ledger `{}`", rule.name()),
            _ => format!("`{}`", rule.name()),
        };
        let cost = costs.rule(rule);
        let too_many = cost.steps > most_steps(rule);
        asked += usize::from(too_many);
        let declared =
            if too_many && asked <= MOST_ASKED { smaller_objects(policy, rule, size) } else { None };
        if cost.steps <= MOST_STEPS {
            together = together.saturating_add(cost.steps);
        }
        fits &= cost.too_large.is_empty();
        judge(&name, rule, policy.cel, cost, size, declared, diagnostics);
    }
    if together > MOST_STEPS_TOGETHER {
        let message = format!(
            "the rules of `{}` together may take {} steps for one pod on {} nodes with {} pods",
            policy.name,
            with_commas(together),
            with_commas(size.nodes.into()),
            with_commas(size.pods.into())
        );
        let help = format!(
            "make several policies of it; `// bayplan: allow(too-costly) because …` lifts the limit of {}",
            with_commas(MOST_STEPS_TOGETHER)
        );
        diagnostics.push(Diagnostic::new(&codes::TOO_COSTLY, policy.name_span, message).with_help(help));
    }
    fits
}

/// Whether a policy has a rule that may take too many steps, and no comment allows it.
pub fn is_refused(policy: &Policy, diagnostics: &[Diagnostic]) -> bool {
    diagnostics.iter().any(|said| said.code == &codes::TOO_COSTLY && policy.span.contains(said.span))
}

/// The part of objects whose number makes a rule too costly: with few of them it would not be.
fn smaller_objects(policy: &Policy, rule: &Rule, size: Size) -> Option<&'static str> {
    let fits =
        |row: &&PartDef| Costs::new(policy, size.with(row.part, FEW)).rule(rule).steps <= most_steps(rule);
    PARTS.iter().find(fits).map(|row| row.name)
}

/// How many parts are few.
const FEW: u32 = 4;

/// Of how many refused rules it is computed.
const MOST_ASKED: usize = 8;

/// The findings about a rule. They are placed at the rule, so that a comment above it can lift
/// them; the expensive part may be in a let or def elsewhere.
fn judge(
    name: &str,
    rule: &Rule,
    cel: bool,
    cost: RuleCost,
    size: Size,
    declared: Option<&str>,
    diagnostics: &mut Vec<Diagnostic>,
) {
    let (span, most) = (rule.span(), most_steps(rule));
    for large in &cost.too_large {
        let (number, limit) = (with_commas(large.number), with_commas(large.limit));
        let (message, help) = match large.what {
            Large::Text => (
                format!("this text may have {number} bytes"),
                format!(
                    "computed text is limited to {limit} bytes; shorten its parts with `substring(0, n)`"
                ),
            ),
            Large::List => (
                format!("this list may have {number} elements"),
                format!("a computed list is limited to {limit} elements; shorten its parts with `take(n)`"),
            ),
            Large::Kept => (
                format!("this may keep {number} bytes of texts and lists"),
                format!(
                    "the limit is {limit} bytes; shorten the texts with `substring(0, n)`, or keep fewer of them"
                ),
            ),
        };
        let found = Diagnostic::new(&codes::VALUE_TOO_LARGE, large.span, message).with_help(help);
        if !diagnostics.contains(&found) {
            diagnostics.push(found);
        }
    }
    if cost.steps <= most && !cost.quadratic {
        return;
    }
    let place = |diagnostic: Diagnostic, label: &str| match cost.heaviest {
        Some(part) if part == diagnostic.span => diagnostic.with_label(label),
        Some(part) => diagnostic.with_place(part, label),
        None => diagnostic,
    };
    let own = cost.heaviest.filter(|part| span.contains(*part)).unwrap_or(span);
    let steps = with_commas(cost.steps);
    let (nodes, pods) = (with_commas(size.nodes.into()), with_commas(size.pods.into()));
    let of_objects =
        declared.map(|part| format!("the bound assumes many {part}; lower it with `--size {part}=N`"));
    let cheaper = if let Some(of_objects) = &of_objects {
        of_objects
    } else if cost.of_texts {
        "an annotation may have 262,144 bytes and a label 63: match a label, or once per pod"
    } else if cel {
        "compare a field of an element with a field of the node by `==` to get a lookup, if neither side can be an \
         error: `s.?node.?labels[?\"rack\"] == node.labels[?\"rack\"]`; a ledger `by: [pod.namespace, node.labels[?\"rack\"].orValue(\"\")]` \
         counts pods by what they and their node are, a `group` keeps pods by a value, `take(n)` bounds a collection"
    } else {
        "compare a field of an element with a field of the node by `==` to get a lookup; a `ledger` counts pods by what \
         they and their node are, a `group` keeps pods by a value, `take(n)` bounds a collection"
    };
    if cost.steps > most {
        let message = format!("{name} may take {steps} steps for one pod on {nodes} nodes with {pods} pods");
        let limit = with_commas(most);
        let help = format!("{cheaper}; `// bayplan: allow(too-costly) because …` lifts the limit of {limit}");
        diagnostics.push(
            place(Diagnostic::new(&codes::TOO_COSTLY, own, message), "most of them here").with_help(help),
        );
    } else if cost.quadratic {
        let message = format!(
            "{name} grows with the square of the cluster: {steps} steps on {nodes} nodes with {pods} pods"
        );
        let label = "for each node or pod, all of these";
        diagnostics
            .push(place(Diagnostic::new(&codes::QUADRATIC_RULE, own, message), label).with_help(cheaper));
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::typed::Point;
    use bayplan_diag::SourceMap;

    /// The policies of a text and its diagnostics.
    fn compiled(text: &str, size: Size) -> (Vec<Policy>, Vec<Diagnostic>) {
        let mut sources = SourceMap::new();
        let id = sources.add("cost.bay", text);
        crate::compile_for(sources.get(id).unwrap(), size, &|_| Vec::new())
    }

    /// The steps of `score s normalize minmax { give VALUE }`.
    fn steps(value: &str, size: Size) -> u128 {
        let text = format!(
            "policy p {{ group mates = p in pods where p.namespace == pod.namespace
               // bayplan: allow(too-costly) because it is looked at
               score s normalize minmax {{ give {value} }} }}"
        );
        let (policies, said) = compiled(&text, size);
        let policy = policies.first().unwrap_or_else(|| panic!("{said:?}"));
        let score = policy.rules_at(Point::Score).next().unwrap();
        Costs::new(policy, size).rule(score).steps
    }

    const SMALL: Size = Size::of(500, 10_000);
    const LARGE: Size = Size::of(1_000, 20_000);

    #[test]
    fn lookups_and_parts_of_nodes_grow_with_the_cluster_and_not_with_its_square() {
        let linear = [
            "node.free.cpu",
            "nodes.filter(n, n.zone == node.zone).sum(n, n.free.cpu)",
            "nodes.filter(n, n.zone == node.zone && n.ready).sum(n, n.pods.count(p, p.gated))",
            "pods.count(p, p.node.zone == node.zone && p.priority > 3)",
            "nominated.count(p, p.nominated == node.name)",
            "node.pods.count(p, p.labels[\"a\"] == pod.labels[\"a\"])",
            "mates.count(p, p.placed)",
            "nodes.sum(n, n.pods.size())",
            "pods.count(p, nodes.exists(n, n.name == p.nominated))",
            "node.name in mates.map(p, p.node.name).present() ? 1 : 0",
        ];
        for value in linear {
            let (small, large) = (steps(value, SMALL), steps(value, LARGE));
            assert!(large <= 2 * small, "{small} steps, then {large}: {value}");
            assert!(
                steps(value, Size::default()) <= MOST_STEPS,
                "{} steps: {value}",
                steps(value, Size::default())
            );
        }
        let square = [
            "nodes.count(n, n.free.cpu < node.free.cpu)",
            "mates.count(p, p.priority < node.pods.size())",
            "nodes.filter(n, n.zone == node.zone && n.free.cpu < node.free.cpu).size()",
        ];
        for value in square {
            let (small, large) = (steps(value, SMALL), steps(value, LARGE));
            assert!(large > 3 * small, "{small} steps, then {large}: {value}");
            assert!(steps(value, Size::default()) > MOST_STEPS, "{value}");
        }
    }

    #[test]
    fn long_texts_count() {
        let of_label = steps("(node.labels[\"a\"] ?? \"\").matches(\"x+y\") ? 1 : 0", SMALL);
        let of_annotation = steps("(node.annotations[\"a\"] ?? \"\").matches(\"x+y\") ? 1 : 0", SMALL);
        assert!(of_annotation > 10 * of_label, "{of_label} and {of_annotation}");
    }

    const COSTLY: &str = "score s normalize max { give nodes.count(n, n.free.cpu < node.free.cpu) }";

    #[test]
    fn what_is_too_costly_is_left_out_unless_a_comment_lifts_the_limit() {
        let (policies, said) = compiled(&format!("policy p {{ {COSTLY} }}"), Size::default());
        assert!(
            policies.is_empty() && said.iter().any(|said| said.code == &codes::TOO_COSTLY && said.is_error())
        );
        let lifted =
            format!("policy p {{\n// bayplan: allow(too-costly) because our clusters are small\n{COSTLY} }}");
        let (policies, said) = compiled(&lifted, Size::default());
        assert!(policies.len() == 1 && !said.iter().any(Diagnostic::is_error), "{said:?}");
        assert!(!said.iter().any(|said| said.code == &codes::UNUSED_ALLOW), "{said:?}");
        let (policies, said) = compiled(&lifted, Size::of(50, 50));
        assert!(policies.len() == 1 && said.iter().any(|said| said.code == &codes::UNUSED_ALLOW), "{said:?}");
    }
}
