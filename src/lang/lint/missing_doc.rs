//! The lint `missing-doc`: a policy without a doc comment.

use crate::diag::{Diagnostic, codes};
use crate::lang::syntax::ast::{File, ItemKind};

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
                .with_help("write a `///` comment above it: explanations show it first"),
            );
        }
    }
}
