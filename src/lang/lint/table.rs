//! [`LINTS`]: every lint, and the file that finds it.
//!
//! What a lint means and why, its name, its level and its examples are in its row of `diag::codes`.

use crate::diag::{Code, codes};

/// A row of the table.
#[derive(Debug)]
pub struct Lint {
    /// Its code: name, level, what it reports and why, a bad and a good example.
    pub code: &'static Code,
    /// The file that finds it, below `src/lang`.
    pub found_in: &'static str,
}

/// Every lint.
pub static LINTS: &[Lint] = &[
    Lint { code: &codes::ALWAYS, found_in: "check/outcome.rs" },
    Lint { code: &codes::CONTRADICTION, found_in: "lint/contradiction.rs" },
    Lint { code: &codes::UNUSED, found_in: "check/declarations.rs" },
    Lint { code: &codes::UNREACHABLE_GIVE, found_in: "check/scores.rs" },
    Lint { code: &codes::NEVER_ABSENT, found_in: "check/operators.rs" },
    Lint { code: &codes::COALESCE_ARITHMETIC, found_in: "check/operators.rs" },
    Lint { code: &codes::WHOLE_DIVISION, found_in: "check/comparisons.rs" },
    Lint { code: &codes::MISSING_REASON, found_in: "check/blocks.rs" },
    Lint { code: &codes::REASON_NAMES_OBJECT, found_in: "check/reasons.rs" },
    Lint { code: &codes::CONSTANT_SCORE, found_in: "check/scores.rs" },
    Lint { code: &codes::HIDES_NAME, found_in: "check/scope.rs" },
    Lint { code: &codes::WAIT_WITHOUT_FOR, found_in: "check/waits.rs" },
    Lint { code: &codes::CANNOT_BE_FILED, found_in: "analysis/preconditions.rs" },
    Lint { code: &codes::WRONG_RESOLVABILITY, found_in: "analysis/reads/mod.rs" },
    Lint { code: &codes::MISSING_DOC, found_in: "lint/missing_doc.rs" },
    Lint { code: &codes::UNUSED_ALLOW, found_in: "lint/allow.rs" },
    Lint { code: &codes::PERCENT_AND_SHARE, found_in: "lint/percent_and_share.rs" },
    Lint { code: &codes::SCORE_IN_ZERO_TO_ONE, found_in: "check/scores.rs" },
    Lint { code: &codes::QUADRATIC_RULE, found_in: "analysis/cost/refuse.rs" },
    Lint { code: &codes::SHADOWED_RULE, found_in: "lint/shadow.rs" },
    Lint { code: &codes::DUPLICATE_RULE, found_in: "lint/shadow.rs" },
    Lint { code: &codes::ALL_ANNOTATIONS, found_in: "analysis/keeps.rs" },
    Lint { code: &codes::TEXT_DIRECTION, found_in: "lint/text_direction.rs" },
    Lint { code: &codes::MAY_FAIL, found_in: "analysis/faults.rs" },
    Lint { code: &codes::BOTH_ABSENT, found_in: "lint/both_absent.rs" },
    Lint { code: &codes::RESTS_ON_MEMO, found_in: "lint/rests_on_memo.rs" },
    Lint { code: &codes::GATE_ALONE, found_in: "lint/gate_alone.rs" },
    Lint { code: &codes::WRITTEN_ALREADY, found_in: "lint/written_already.rs" },
    Lint { code: &codes::LATE_BY_NODE, found_in: "lint/late_by_node.rs" },
    Lint { code: &codes::UNKNOWN_VALUE, found_in: "lint/closed_values.rs" },
    Lint { code: &codes::OWN_KIND, found_in: "lint/own_kind.rs" },
    Lint { code: &codes::QUEUE_NOT_COUNTED, found_in: "check/modes.rs" },
    Lint { code: &codes::MODE_DUE, found_in: "lint/due.rs" },
    Lint { code: &codes::EXCEPTION_ENDS, found_in: "lint/due.rs" },
    Lint { code: &codes::EXCEPTION_WITHOUT_EFFECT, found_in: "check/exceptions.rs" },
    Lint { code: &codes::VICTIM_WITHOUT_BOUND, found_in: "lint/any_victim.rs" },
];
