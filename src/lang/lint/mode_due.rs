//! The lint `mode-due`: the day until which a mode was meant is over. It needs the present instant, so commands that know
//! it call [`due`] beside the other lints. Comments are applied before: a day that one allows is forgotten.

use crate::diag::{Diagnostic, codes};
use crate::lang::typed::{Policy, Until};
use crate::model::Time;

/// Every day as if it were over, for comments to allow.
pub(super) fn suppose(policies: &[Policy], diagnostics: &mut Vec<Diagnostic>) {
    let all = policies.iter().flat_map(|policy| &policy.modes.until);
    diagnostics.extend(all.map(finding));
}

/// Takes the supposed findings back, and forgets the days that a comment allows.
pub(super) fn settle(policies: &mut [Policy], diagnostics: &mut Vec<Diagnostic>) {
    for policy in policies {
        let stands = |until: &Until| {
            diagnostics.iter().any(|said| *said.code == codes::MODE_DUE && said.span == until.span)
        };
        policy.modes.until.retain(stands);
    }
    diagnostics.retain(|said| *said.code != codes::MODE_DUE);
}

/// The modes of a policy whose day is over.
pub fn due(policy: &Policy, now: Time) -> Vec<Diagnostic> {
    policy.modes.until.iter().filter(|until| until.end <= now).map(finding).collect()
}

fn finding(until: &Until) -> Diagnostic {
    let message = format!("the mode `{}` was meant until this day, which is over", until.mode.word());
    let help = "decide: write `mode enforce`, take the rule out, or write a later day; the mode does not change by itself";
    Diagnostic::new(&codes::MODE_DUE, until.span, message).with_help(help)
}
