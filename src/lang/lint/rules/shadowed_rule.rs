//! The lint `shadowed-rule`: a rule that an earlier one leaves nothing to.

use crate::diag::codes;
use crate::lang::lint::Lint;

/// The row of the table.
pub static LINT: Lint = Lint {
    code: &codes::SHADOWED_RULE,
    bad: r#"/// A policy.
policy a { filter f { require node.ready else "not ready" reject "busy" when !node.ready && node.pods.size() > 50 } }"#,
    good: r#"/// A policy.
policy a { filter f { reject "busy" when !node.ready && node.pods.size() > 50 require node.ready else "not ready" } }"#,
    check: None,
};
