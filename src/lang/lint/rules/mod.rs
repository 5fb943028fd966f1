//! The table of lints, one file each.

mod always;
mod contradiction;
mod unused;
mod unreachable_give;
mod never_absent;
mod coalesce_arithmetic;
mod whole_division;
mod missing_reason;
mod reason_names_node;
mod constant_score;
mod hides_name;
mod wait_without_for;
mod cannot_be_filed;
mod wrong_resolvability;
mod missing_doc;
mod unused_allow;
mod share_above_two;
mod score_in_zero_to_one;
mod quadratic_rule;
mod shadowed_rule;
mod duplicate_rule;
pub(super) mod text_direction;

use super::Lint;

/// Every lint.
pub static LINTS: &[&Lint] = &[
    &always::LINT,
    &contradiction::LINT,
    &unused::LINT,
    &unreachable_give::LINT,
    &never_absent::LINT,
    &coalesce_arithmetic::LINT,
    &whole_division::LINT,
    &missing_reason::LINT,
    &reason_names_node::LINT,
    &constant_score::LINT,
    &hides_name::LINT,
    &wait_without_for::LINT,
    &cannot_be_filed::LINT,
    &wrong_resolvability::LINT,
    &missing_doc::LINT,
    &unused_allow::LINT,
    &share_above_two::LINT,
    &score_in_zero_to_one::LINT,
    &quadratic_rule::LINT,
    &shadowed_rule::LINT,
    &duplicate_rule::LINT,
    &text_direction::LINT,
];
