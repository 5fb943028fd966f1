//! Lints: what is allowed and probably not meant.
//!
//! Those that look at the tree alone are run here; those that need types, ranges and what is known at a place
//! are found by `lang::check` on its way, or in the typed tree (`shadow.rs`, `lang::analysis::cost`). All have a row in [`LINTS`] with an example of each kind, and all can
//! be silenced by `// bayplan: allow(slug) because …`; what a comment silences for nothing is a finding too.

mod rules;
mod shadow;

pub use rules::LINTS;

use crate::diag::{Code, Diagnostic, Severity, Source, codes};
use crate::lang::syntax::ast::File;
use crate::lang::typed::Policy;

/// A lint. What it means and why are in its row of the table of codes.
pub struct Lint {
    /// Its code, with slug, severity and explanation.
    pub code: &'static Code,
    /// What it looks for in the tree; none for those that `lang::check` finds.
    pub check: Option<fn(&File, &mut Vec<Diagnostic>)>,
}

/// Runs the lints that look at the text, the tree or whole policies, and takes out what comments allow.
pub fn lint(source: &Source, file: &File, policies: &[Policy], diagnostics: &mut Vec<Diagnostic>) {
    rules::text_direction::check(source, diagnostics);
    for policy in policies {
        shadow::check(policy, diagnostics);
    }
    for lint in LINTS {
        if let Some(check) = lint.check {
            check(file, diagnostics);
        }
    }
    allow(file, diagnostics);
    diagnostics.sort_by_key(|d| (d.span.source, d.span.start, d.span.end, d.code.id));
}

/// Takes out what comments allow, and says which comments allow nothing.
fn allow(file: &File, diagnostics: &mut Vec<Diagnostic>) {
    let broken = diagnostics.iter().any(|said| said.is_error() && !can_be_allowed(said.code));
    let mut unused = Vec::new();
    for comment in &file.allows {
        let Some(target) = comment.target else { continue };
        for slug in &comment.slugs {
            let Some(code) = codes::find(&slug.text) else { continue };
            let before = diagnostics.len();
            diagnostics.retain(|d| !(d.code == code && can_be_allowed(code) && target.contains(d.span)));
            // Beside mistakes not everything has been looked at.
            if diagnostics.len() == before && !broken && can_be_allowed(code) {
                unused.push(
                    Diagnostic::new(
                        &codes::UNUSED_ALLOW,
                        slug.span,
                        format!("nothing here is `{}`", slug.text),
                    )
                    .with_help("remove the comment"),
                );
            }
        }
    }
    diagnostics.append(&mut unused);
}

/// Whether a comment can allow it: everything but mistakes, and the limit of what a rule may cost.
fn can_be_allowed(code: &'static Code) -> bool {
    code.severity != Severity::Error || *code == codes::TOO_COSTLY
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::diag::SourceMap;

    fn said(text: &str) -> Vec<Diagnostic> {
        let mut sources = SourceMap::new();
        let id = sources.add("lint.bay", text);
        // Small enough for a rule that grows with its square.
        let size = crate::lang::analysis::cost::Size { nodes: 100, pods: 1_000 };
        crate::lang::compile_for(sources.get(id).unwrap(), size, &|_| Vec::new()).1
    }

    #[test]
    fn every_lint_speaks_for_its_bad_example_and_not_for_its_good_one() {
        for lint in LINTS {
            let bad = said(lint.code.bad);
            assert!(bad.iter().any(|d| d.code == lint.code), "{} is silent: {bad:?}", lint.code.slug);
            assert!(!bad.iter().any(Diagnostic::is_error), "{}: {bad:?}", lint.code.slug);
            let good = said(lint.code.good);
            assert!(!good.iter().any(|d| d.code == lint.code), "{} speaks: {good:?}", lint.code.slug);
            assert!(!good.iter().any(Diagnostic::is_error), "{}: {good:?}", lint.code.slug);
        }
    }

    #[test]
    fn every_code_of_a_lint_has_a_row() {
        for code in codes::CODES.iter().filter(|code| code.id.starts_with("BP04")) {
            assert!(LINTS.iter().any(|lint| lint.code == *code), "{} has no row in LINTS", code.slug);
        }
    }
}
