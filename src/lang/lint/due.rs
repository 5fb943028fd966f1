//! The lints `mode-due` and `exception-ends`: the day until which a mode was meant is over, and an exception ends soon, is
//! over, or has an end that is far away. They need the present instant, so commands that know it call [`due`] beside the
//! other lints. Comments are applied before: a day that one allows is forgotten.

use crate::typed::{Exception, Policy, Until};
use bayplan_diag::{Diagnostic, codes};
use bayplan_model::{Duration, Time};

/// How long before its end an exception is reported.
const EARLY: Duration = Duration::from_seconds(14 * DAY);

/// An end that lies further ahead is not meant as one.
const NO_END: Duration = Duration::from_seconds(100 * 365 * DAY);

/// Seconds of a day.
const DAY: i64 = 86_400;

/// Every day as if it were over, for comments to allow.
pub(super) fn suppose(policies: &[Policy], diagnostics: &mut Vec<Diagnostic>) {
    for policy in policies {
        diagnostics.extend(policy.modes.until.iter().map(of_mode));
        diagnostics.extend(policy.exceptions.iter().map(|of| of_exception(of, of.end)));
    }
}

/// Takes the supposed findings back, and forgets the days that a comment allows.
pub(super) fn settle(policies: &mut [Policy], diagnostics: &mut Vec<Diagnostic>) {
    for policy in policies {
        let stands = |until: &Until| {
            diagnostics.iter().any(|said| *said.code == codes::MODE_DUE && said.span == until.span)
        };
        policy.modes.until.retain(stands);
        for of in &mut policy.exceptions {
            of.reported =
                diagnostics.iter().any(|said| *said.code == codes::EXCEPTION_ENDS && said.span == of.day);
        }
    }
    diagnostics.retain(|said| *said.code != codes::MODE_DUE && *said.code != codes::EXCEPTION_ENDS);
}

/// The modes of a policy whose day is over, and the exceptions that end soon or in effect never.
pub fn due(policy: &Policy, now: Time) -> Vec<Diagnostic> {
    let modes = policy.modes.until.iter().filter(|until| until.end <= now).map(of_mode);
    let exceptions =
        policy.exceptions.iter().filter(|of| of.reported && (of.end <= now + EARLY || of.end > now + NO_END));
    modes.chain(exceptions.map(|of| of_exception(of, now))).collect()
}

fn of_mode(until: &Until) -> Diagnostic {
    let message = format!("the mode `{}` was meant until this day, which is over", until.mode.word());
    let help = "decide: write `mode enforce`, take the rule out, or write a later day; the mode does not change by itself";
    Diagnostic::new(&codes::MODE_DUE, until.span, message).with_help(help)
}

fn of_exception(of: &Exception, now: Time) -> Diagnostic {
    if of.end <= now {
        let message = "the exception is over, and has no effect";
        let help = "remove it; if its pods still need it, write a later day and why";
        return Diagnostic::new(&codes::EXCEPTION_ENDS, of.day, message).with_help(help);
    }
    if of.end > now + NO_END {
        let message = "an exception that ends in more than 100 years has no end";
        let help = "write what always holds into the rule, or the day on which you will look at it again";
        return Diagnostic::new(&codes::EXCEPTION_ENDS, of.day, message).with_help(help);
    }
    let days = (of.end - now).0 / (DAY * 1_000_000);
    let when = match days {
        0 => "within a day".to_owned(),
        1 => "in one day".to_owned(),
        days => format!("in {days} days"),
    };
    let help = "from then on the rule is for these pods again: change them, or write a later day and why";
    Diagnostic::new(&codes::EXCEPTION_ENDS, of.day, format!("the exception ends {when}")).with_help(help)
}
