//! The lint `missing-doc`: a policy without a doc comment.

use crate::syntax::ast::{Dialect, File, ItemKind};
use bayplan_diag::{Diagnostic, codes};

/// Reports every policy of the file that has no doc comment.
pub(super) fn check(file: &File, found: &mut Vec<Diagnostic>) {
    for item in &file.items {
        if let (ItemKind::Policy(policy), None) = (&item.kind, &item.doc) {
            found.push(
                Diagnostic::new(
                    &codes::MISSING_DOC,
                    policy.name.span,
                    format!("the policy `{}` does not say what it is for", policy.name.text),
                )
                .with_help(match policy.dialect {
                    Dialect::Policy => "write a `///` comment above it: explanations show it first",
                    Dialect::Cel => "write a `#` comment above the document: explanations show it first",
                }),
            );
        }
    }
}
