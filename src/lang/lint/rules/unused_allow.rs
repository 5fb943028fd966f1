//! The lint `unused-allow`: a suppression of nothing.

use crate::diag::codes;
use crate::lang::lint::Lint;

/// The row of the table.
pub static LINT: Lint = Lint {
    code: &codes::UNUSED_ALLOW,
    bad: r#"/// A policy.
// bayplan: allow(unused) because it is a test
policy a { filter f { require node.ready else "x" } }"#,
    good: r#"/// A policy.
policy a { filter f { require node.ready else "x" } }"#,
    check: None,
};
