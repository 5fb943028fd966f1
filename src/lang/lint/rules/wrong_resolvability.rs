//! The lint `wrong-resolvability`: `resolvable` against what is read.

use crate::diag::codes;
use crate::lang::lint::Lint;

/// The row of the table.
pub static LINT: Lint = Lint {
    code: &codes::WRONG_RESOLVABILITY,
    bad: r#"/// A policy.
policy a { filter f { reject resolvable "x" when !node.ready } }"#,
    good: r#"/// A policy.
policy a { filter f { reject resolvable "x" when node.free.cpu < pod.requests.cpu } }"#,
    check: None,
};
