//! The lint `rests-on-memo`: a `require` that holds because of what a memo remembers.
//!
//! A restart, or another leader, begins without memos. A `reject` lets more pods pass then, until the memo is
//! remembered again; a `require` refuses every pod until then.

use crate::typed::{Check, Policy, Rule};
use bayplan_diag::{Diagnostic, codes};

/// Reports requirements that rest on memos.
pub(super) fn check(policy: &Policy, diagnostics: &mut Vec<Diagnostic>) {
    if policy.memos.is_empty() {
        return;
    }
    let requires = |check: &&Check| !check.refuses_when;
    for check in policy.rules.iter().flat_map(Rule::checks).filter(requires) {
        let (Some(memo), Some(condition)) = (check.reads.memos.first(), &check.condition) else { continue };
        let memo = &policy[*memo];
        let message = format!("this requires what the memo `{}` remembers", memo.name);
        diagnostics.push(
            Diagnostic::new(&codes::RESTS_ON_MEMO, condition.span, message)
                .with_place(memo.span, "a restart forgets it")
                .with_help(
                    "write `reject … when` for what is to be refused while it is remembered, or keep it in an \
                     annotation",
                ),
        );
    }
}
