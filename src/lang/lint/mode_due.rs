//! The lint `mode-due`: the day until which a mode was meant is over. It needs the present instant, so commands that know
//! it call this beside the other lints.

use crate::diag::{Diagnostic, codes};
use crate::lang::typed::Policy;
use crate::model::Time;

/// The modes of a policy whose day is over.
pub fn due(policy: &Policy, now: Time) -> Vec<Diagnostic> {
    let over = policy.modes.until.iter().filter(|until| until.end <= now);
    let said = over.map(|until| {
        let message = format!("the mode `{}` was meant until this day, which is over", until.mode.word());
        let help = "decide: write `mode enforce`, take the rule out, or write a later day; the mode does not change by itself";
        Diagnostic::new(&codes::MODE_DUE, until.span, message).with_help(help)
    });
    said.collect()
}
