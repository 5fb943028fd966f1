//! The lint `contradiction`: conditions that exclude each other.

use crate::diag::codes;
use crate::lang::lint::Lint;

/// The row of the table.
pub static LINT: Lint = Lint {
    code: &codes::CONTRADICTION,
    bad: r#"/// A policy.
policy a { filter f { reject "x" when pod.priority > 8 && pod.priority < 4 } }"#,
    good: r#"/// A policy.
policy a { filter f { reject "x" when pod.priority > 8 && pod.priority < 40 } }"#,
    check: None,
};
