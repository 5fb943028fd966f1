//! The lint `gate-alone`: a gate over a ledger without the same condition in `prefilter`.
//!
//! A gate reserves nothing: of many pods that wait, all pass that the sum leaves room for at one moment. Each of their
//! attempts must look again, once the pods before it are counted.

use super::shadow::{Parts, acts_before, covers, refusing};
use crate::typed::{Check, Mode, Point, Policy};
use bayplan_diag::{Diagnostic, Source, Span, codes};

/// The word that a gate begins with.
const WORD: &str = "gate";

/// Reports gates over ledgers that no `prefilter` repeats.
pub(super) fn check(policy: &Policy, source: &Source, diagnostics: &mut Vec<Diagnostic>) {
    let over_ledgers = |gate: &Check| !gate.reads.ledgers.is_empty();
    let of =
        |point| policy.rules_at(point).flat_map(move |rule| rule.checks().map(move |check| (rule, check)));
    let rejects = of(Point::PreFilter).map(|(rule, check)| (rule.head.mode, refusing(policy, rule, check)));
    let rejects: Vec<(Mode, Parts<'_>)> = rejects.collect();
    for (rule, gate) in of(Point::PreEnqueue).filter(|(_, gate)| over_ledgers(gate)) {
        let own = refusing(policy, rule, gate);
        let repeats = |(mode, reject): &(Mode, Parts<'_>)| {
            acts_before(*mode, rule.head.mode) && covers(policy, reject, &own)
        };
        if rejects.iter().any(repeats) {
            continue;
        }
        let ledger = gate.reads.ledgers.keys().next().map(|ledger| &*policy[*ledger].name);
        let message =
            format!("this gate is the only rule that refuses by the ledger `{}`", ledger.unwrap_or_default());
        let help = "a gate reserves nothing, so that several pods may pass at once: reject by the same condition in \
                    `prefilter`";
        let said = Diagnostic::new(&codes::GATE_ALONE, gate.span, message).with_help(help);
        diagnostics.push(match repeated(policy, source, gate.span) {
            Some(text) => said.with_fix("repeat the condition in `prefilter`", gate.span, text),
            None => said,
        });
    }
}

/// The gate with a `prefilter` after it that rejects by the same condition, in the policy language.
fn repeated(policy: &Policy, source: &Source, span: Span) -> Option<String> {
    let text = source.text().get(span.range()).filter(|_| !policy.cel)?;
    let rest = text.strip_prefix(WORD)?;
    Some(format!("{text}\n  prefilter {{ reject{rest} }}"))
}
