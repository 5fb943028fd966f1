//! The lint `coalesce-arithmetic`: arithmetic to the right of `??`.

use crate::diag::codes;
use crate::lang::lint::Lint;

/// The row of the table.
pub static LINT: Lint = Lint {
    code: &codes::COALESCE_ARITHMETIC,
    bad: r#"/// A policy.
policy a { filter f { require int(pod.labels["n"]) ?? 0 + 1 > 3 else "x" } }"#,
    good: r#"/// A policy.
policy a { filter f { require (int(pod.labels["n"]) ?? 0) + 1 > 3 else "x" } }"#,
    check: None,
};
