//! The lint `missing-doc`: a policy without a doc comment.

use crate::diag::{Diagnostic, codes};
use crate::lang::lint::Lint;
use crate::lang::syntax::ast::{File, ItemKind};

/// The row of the table.
pub static LINT: Lint = Lint { code: &codes::MISSING_DOC, check: Some(check) };

fn check(file: &File, found: &mut Vec<Diagnostic>) {
    for item in &file.items {
        if let (ItemKind::Policy(policy), None) = (&item.kind, &item.doc) {
            found.push(
                Diagnostic::new(
                    &codes::MISSING_DOC,
                    policy.name.span,
                    format!("the policy `{}` does not say what it is for", policy.name.text),
                )
                .with_help("a `///` comment above it: it stands first in every explanation"),
            );
        }
    }
}
