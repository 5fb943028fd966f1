//! The lint `cannot-be-filed`: an `applies when` that every pod is asked.

use crate::diag::codes;
use crate::lang::lint::Lint;

/// The row of the table.
pub static LINT: Lint = Lint {
    code: &codes::CANNOT_BE_FILED,
    bad: r#"/// A policy.
policy a { applies when pod.attempts > 3 filter f { require node.ready else "x" } }"#,
    good: r#"/// A policy.
policy a { applies when pod.namespace == "shop" filter f { require node.ready else "x" } }"#,
    check: None,
};
