//! The lint `quadratic-rule`: a rule that grows with the square of the cluster; found by `lang::analysis::cost`.

use crate::diag::codes;
use crate::lang::lint::Lint;

/// The row of the table.
pub static LINT: Lint = Lint {
    code: &codes::QUADRATIC_RULE,
    bad: r#"/// A policy.
policy a { score emptier normalize max { give nodes.count(n, n.free.cpu < node.free.cpu) } }"#,
    good: r#"/// A policy.
policy a { score roomy normalize max { give nodes.count(n, n.zone == node.zone) } }"#,
    check: None,
};
