//! The lint `unreachable-give`: a `give` behind one that always holds.

use crate::diag::codes;
use crate::lang::lint::Lint;

/// The row of the table.
pub static LINT: Lint = Lint {
    code: &codes::UNREACHABLE_GIVE,
    bad: r#"/// A policy.
policy a { score s { give 10 give 20 when node.ready } }"#,
    good: r#"/// A policy.
policy a { score s { give 20 when node.ready give 10 } }"#,
    check: None,
};
