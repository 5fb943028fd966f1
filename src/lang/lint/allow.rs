//! `// bayplan: allow(slug) because …`: takes out the findings that comments allow, and reports comments that
//! allow nothing or name what no comment can allow.

use crate::syntax::ast::{File, Name};
use bayplan_diag::{Code, Diagnostic, Severity, codes, suggest};

/// Takes out what comments allow, and reports the comments that allow nothing.
pub(super) fn apply(file: &File, diagnostics: &mut Vec<Diagnostic>) {
    // With mistakes in the file not everything has been checked, so an unused comment may have a use.
    let broken = diagnostics.iter().any(|said| said.is_error() && !can_be_allowed(said.code));
    let mut found = Vec::new();
    for comment in &file.allows {
        for slug in &comment.slugs {
            let code = match codes::find(&slug.text) {
                Some(code) if can_be_allowed(code) => code,
                Some(code) => {
                    found.push(an_error(slug, code));
                    continue;
                }
                None => {
                    found.push(unknown(slug));
                    continue;
                }
            };
            let Some(target) = comment.target else { continue };
            let before = diagnostics.len();
            diagnostics.retain(|said| !(said.code == code && target.contains(said.span)));
            if diagnostics.len() == before && !broken {
                found.push(
                    Diagnostic::new(
                        &codes::UNUSED_ALLOW,
                        slug.span,
                        format!("`{}` reports nothing here", slug.text),
                    )
                    .with_help("remove the comment"),
                );
            }
        }
    }
    diagnostics.append(&mut found);
}

/// Whether a comment can allow it: every lint, and the limit of what a rule may cost.
fn can_be_allowed(code: &'static Code) -> bool {
    code.severity != Severity::Error || *code == codes::TOO_COSTLY
}

fn an_error(slug: &Name, code: &Code) -> Diagnostic {
    let message = format!("`{}` is an error, and no comment allows an error", slug.text);
    let help = format!("correct what {} reports, and remove the comment", code.id);
    Diagnostic::new(&codes::BAD_ALLOW, slug.span, message).with_help(help)
}

fn unknown(slug: &Name) -> Diagnostic {
    let allowed = codes::CODES.iter().filter(|code| can_be_allowed(code)).map(|code| code.slug);
    let diagnostic =
        Diagnostic::new(&codes::BAD_ALLOW, slug.span, format!("no lint is called `{}`", slug.text));
    match suggest::nearest(&slug.text, allowed) {
        Some(near) => diagnostic.with_help(format!("did you mean `{near}`?")),
        None => diagnostic.with_help("name a lint by its code, which is printed in brackets, or by its name; `bayplan help codes` has both"),
    }
}
