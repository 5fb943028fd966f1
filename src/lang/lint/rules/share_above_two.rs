//! The lint `share-above-two`: a share compared with a large number.

use crate::diag::codes;
use crate::lang::lint::Lint;

/// The row of the table.
pub static LINT: Lint = Lint {
    code: &codes::SHARE_ABOVE_TWO,
    bad: r#"/// A policy.
policy a { filter f { require share(node.free.cpu, node.allocatable.cpu) > 80 else "x" } }"#,
    good: r#"/// A policy.
policy a { filter f { require share(node.free.cpu, node.allocatable.cpu) > 80% else "x" } }"#,
    check: None,
};
