//! The lint `duplicate-rule`: a rule that is there twice.

use crate::diag::codes;
use crate::lang::lint::Lint;

/// The row of the table.
pub static LINT: Lint = Lint {
    code: &codes::DUPLICATE_RULE,
    bad: r#"/// A policy.
policy a { filter f { require node.ready else "not ready" } filter g { reject "down" when !node.ready } }"#,
    good: r#"/// A policy.
policy a { filter f { require node.ready else "not ready" } filter g { reject "down" when node.unschedulable } }"#,
    check: None,
};
