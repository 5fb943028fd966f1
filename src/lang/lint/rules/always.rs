//! The lint `always`: a condition with one outcome for every pod and node.

use crate::diag::codes;
use crate::lang::lint::Lint;

/// The row of the table.
pub static LINT: Lint = Lint {
    code: &codes::ALWAYS,
    bad: r#"/// A policy.
policy a { filter f { require node.free.cpu >= 0 else "x" } }"#,
    good: r#"/// A policy.
policy a { filter f { require node.free.cpu > 0 else "x" } }"#,
    check: None,
};
