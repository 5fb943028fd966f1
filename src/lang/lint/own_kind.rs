//! The lint `own-kind`: a policy that writes objects which the scheduler writes for its own work.
//!
//! `run` loads it only if the operator allows the kind, which no text of a policy can tell.

use crate::typed::Policy;
use bayplan_diag::{Diagnostic, codes};

/// Reports writes to kinds of the scheduler's own.
pub(super) fn check(policy: &Policy, diagnostics: &mut Vec<Diagnostic>) {
    for act in policy.acts().flat_map(|acts| &acts.acts) {
        let Some(kind) = act.does.writes_own_kind() else { continue };
        let message = format!("policies do not write `{kind}` unless the operator allows it");
        let help = format!(
            "the scheduler writes these objects itself: `bayplan run` loads the policy with `--policy-writes {kind}` only"
        );
        diagnostics.push(Diagnostic::new(&codes::OWN_KIND, act.span, message).with_help(help));
    }
}
