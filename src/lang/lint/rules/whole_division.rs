//! The lint `whole-division`: a division of whole numbers where a fraction is wanted.

use crate::diag::codes;
use crate::lang::lint::Lint;

/// The row of the table.
pub static LINT: Lint = Lint {
    code: &codes::WHOLE_DIVISION,
    bad: r#"/// A policy.
policy a { filter f { require pod.priority / 3 > 0.5 else "x" } }"#,
    good: r#"/// A policy.
policy a { filter f { require pod.priority / 3.0 > 0.5 else "x" } }"#,
    check: None,
};
