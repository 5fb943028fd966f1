//! Lints: what compiles and is probably not meant.
//!
//! Called by `lang::compile`. Lints that look at the tree or at whole policies are here, one file each; those
//! that need types, ranges or narrowing are found by `lang::check` and `lang::analysis` on their way. The row
//! of a lint in `diag::codes` (`BP04…`) has its meaning, level and examples. A comment
//! `// bayplan: allow(slug) because …` silences a lint (`allow.rs`).

mod allow;
mod any_victim;
mod both_absent;
mod closed_values;
mod contradiction;
mod due;
mod gate_alone;
mod late_by_node;
mod missing_doc;
mod percent_and_share;
mod own_kind;
mod rests_on_memo;
mod shadow;
mod text_direction;
pub mod ways_out;
mod without_policy;
mod written_already;

pub use due::due;

use crate::exceptions::Outside;
use crate::syntax::ast::File;
use crate::typed::Policy;
use bayplan_diag::{Diagnostic, Source};

/// Runs the lints that look at the text, the tree or whole policies, and takes out what comments allow.
/// Exceptions from other texts have the comments of theirs.
pub fn lint(
    source: &Source,
    (file, outside): (&File, &Outside),
    policies: &mut [Policy],
    diagnostics: &mut Vec<Diagnostic>,
) {
    text_direction::check(source, diagnostics);
    missing_doc::check(file, diagnostics);
    for policy in policies.iter() {
        shadow::check(policy, diagnostics);
        contradiction::check(policy, diagnostics);
        both_absent::check(policy, source, diagnostics);
        percent_and_share::check(policy, source, diagnostics);
        closed_values::check(policy, diagnostics);
        rests_on_memo::check(policy, diagnostics);
        gate_alone::check(policy, source, diagnostics);
        late_by_node::check(policy, source, diagnostics);
        any_victim::check(policy, diagnostics);
        written_already::check(policy, source, diagnostics);
        own_kind::check(policy, diagnostics);
    }
    due::suppose(policies, diagnostics);
    without_policy::suppose(file, diagnostics);
    allow::apply(file, diagnostics);
    diagnostics.retain(|said| said.span.source == source.id() || !outside.allow(said));
    without_policy::settle(file, diagnostics);
    due::settle(policies, diagnostics);
    diagnostics.sort_by_key(|d| (d.span.source, d.span.start, d.span.end, d.code.id));
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::disallowed_methods)]
mod tests {
    use super::*;
    use bayplan_diag::{SourceMap, codes};
    use bayplan_model::Time;

    /// A day of 2027.
    const TODAY: Time = Time(1_800_000_000_000_000);

    /// The slugs of what is reported about a text, each once.
    fn reported(text: &str) -> Vec<&'static str> {
        reported_in("lint.bay", text)
    }

    fn reported_in(file: &str, text: &str) -> Vec<&'static str> {
        let mut sources = SourceMap::new();
        let id = sources.add(file, text);
        // Small enough for a rule that grows with its square.
        let size = crate::analysis::cost::Size::of(100, 1_000);
        let (policies, mut said) = crate::compile_for(sources.get(id).unwrap(), size, &|_| Vec::new());
        said.extend(policies.iter().flat_map(|policy| due(policy, TODAY)));
        let mut slugs: Vec<&str> = said.iter().map(|said| said.code.slug).collect();
        slugs.dedup();
        slugs
    }

    #[test]
    fn every_lint_speaks_alone_for_its_bad_example_and_none_for_its_good_one() {
        for lint in codes::CODES.iter().filter(|code| code.id.starts_with("BP04")) {
            let slug = lint.slug;
            assert_eq!(reported_in(lint.example_file, lint.bad), [slug], "the bad example of {slug}");
            assert_eq!(reported_in(lint.example_file, lint.good), [""; 0], "the good example of {slug}");
        }
    }

    const RULE: &str = "filter f { require node.ready else \"node(s) not ready\" }";

    #[test]
    fn a_comment_that_allows_no_lint_is_reported() {
        for (allowed, slug) in
            [("not-a-lint", "bad-allow"), ("unknown-field", "bad-allow"), ("unused", "unused-allow")]
        {
            let text =
                format!("/// A.\n// bayplan: allow({allowed}) because it is a test\npolicy a {{ {RULE} }}");
            assert_eq!(reported(&text), [slug], "allow({allowed})");
        }
    }

    #[test]
    fn victims_of_any_priority_are_reported_and_no_others() {
        let said = |condition: &str| {
            reported(&format!(
                "/// A.\npolicy a {{ def lower(p: pod) = p.priority < pod.priority\n\
                 preempt {{ victim v when v.namespace == \"batch\" && ({condition}) }} }}"
            ))
        };
        for bounded in [
            "v.priority < pod.priority",
            "pod.priority > v.priority",
            "!(v.priority >= pod.priority)",
            "v.priority <= 100",
            "v.priority_class == \"batch\"",
            "v.priority_class in [\"batch\", \"trial\"]",
            "v.labels[\"a\"] == \"b\" && v.priority < 10",
            "v.priority < 10 || v.priority_class == \"batch\"",
            "pod.priority > 10 ? v.priority < 10 : v.priority < 0",
            "lower(v)",
        ] {
            assert!(!said(bounded).contains(&"victim-without-bound"), "{bounded}");
        }
        for open in [
            "v.labels[\"a\"] == \"b\"",
            "v.priority > 10",
            "v.priority < 10 || v.labels[\"a\"] == \"b\"",
            "!(v.priority < pod.priority)",
            "v.priority_class != \"system\"",
        ] {
            assert!(said(open).contains(&"victim-without-bound"), "{open}");
        }
    }

    #[test]
    fn conditions_that_exclude_each_other_are_reported() {
        let excluded = [
            "applies when pod.namespace == \"a\" applies when pod.namespace == \"b\"",
            "applies when pod.namespace in [\"a\", \"c\"] && pod.namespace in [\"b\"]",
            "applies when has(pod.labels[\"a\"]) applies when !has(pod.labels[\"a\"])",
            "applies when pod.namespace == \"a\" gate \"x\" when pod.namespace == \"b\"",
            "filter g { reject \"x\" when node.name == \"a\" && node.name == \"b\" }",
        ];
        for statements in excluded {
            let text = format!("/// A.\npolicy a {{ {statements} {RULE} }}");
            let reported = reported(&text);
            assert!(
                reported.contains(&"contradiction") || reported.contains(&"always"),
                "{statements}: {reported:?}"
            );
        }
        let possible = [
            "applies when pod.namespace in [\"a\", \"c\"] applies when pod.namespace == \"c\"",
            "applies when pod.labels[\"a\"] == \"x\" && pod.labels[\"b\"] == \"y\"",
            "applies when pod.namespace == \"a\" || pod.namespace == \"b\"",
            "applies when pod.namespace != \"a\" && pod.namespace != \"b\"",
        ];
        for statements in possible {
            let text = format!("/// A.\npolicy a {{ {statements} {RULE} }}");
            assert!(!reported(&text).contains(&"contradiction"), "{statements}");
        }
    }
}
