//! The lint `unused`: a declaration that nothing uses.

use crate::diag::codes;
use crate::lang::lint::Lint;

/// The row of the table.
pub static LINT: Lint = Lint {
    code: &codes::UNUSED,
    bad: r#"/// A policy.
policy a { filter f { let a = pod.priority require node.ready else "x" } }"#,
    good: r#"/// A policy.
policy a { filter f { let a = pod.priority require a > 3 else "x" } }"#,
    check: None,
};
