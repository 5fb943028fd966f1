//! The lint `wait-without-for`: a wait on a group that is each pod's own.

use crate::diag::codes;
use crate::lang::lint::Lint;

/// The row of the table.
pub static LINT: Lint = Lint {
    code: &codes::WAIT_WITHOUT_FOR,
    bad: r#"/// A policy.
policy a { group g = p in pods where p.namespace == pod.namespace permit { wait 1min until g.count() > 3 else "x" } }"#,
    good: r#"/// A policy.
policy a { group g = p in pods where p.namespace == pod.namespace permit { wait 1min for g until g.count() > 3 else "x" } }"#,
    check: None,
};
