//! The lint `hides-name`: a macro's variable that hides a name.

use crate::diag::codes;
use crate::lang::lint::Lint;

/// The row of the table.
pub static LINT: Lint = Lint {
    code: &codes::HIDES_NAME,
    bad: r#"/// A policy.
policy a { filter f { require node.pods.all(pod, pod.priority > 3) else "x" } }"#,
    good: r#"/// A policy.
policy a { filter f { require node.pods.all(p, p.priority > 3) else "x" } }"#,
    check: None,
};
