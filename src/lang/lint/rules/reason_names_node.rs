//! The lint `reason-names-node`: a reason that names a node or a pod.

use crate::diag::codes;
use crate::lang::lint::Lint;

/// The row of the table.
pub static LINT: Lint = Lint {
    code: &codes::REASON_NAMES_OBJECT,
    bad: r#"/// A policy.
policy a { filter f { reject "no GPU on {node.name}" when !node.ready } }"#,
    good: r#"/// A policy.
policy a { filter f { reject "node(s) without GPU" with { node: node.name } when !node.ready } }"#,
    check: None,
};
