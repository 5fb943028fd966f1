//! Scores: whether two give every pod and node the same value.

use crate::formula::{Formula, Formulas};
use crate::groups::Group;
use crate::outcome::Outcome;
use crate::search::{End, Search};
use crate::verdict::{Unproved, Verdict};
use crate::witness::{Differs, Leaves, Witness, of_assignments};
use bayplan_lang::eval::context::EvalContext;
use bayplan_lang::eval::interpret::Evaluator;
use bayplan_lang::syntax::ast::OnError;
use bayplan_lang::typed::{Expr, Give, Policy, Statement};
use bayplan_lang::types::value::Value;
use bayplan_model::PodInfo;
use std::sync::Arc;

/// How many assignments are tried as a witness.
const MOST_ASSIGNMENTS: usize = 48;

/// How many pairs of values are searched for a witness.
const MOST_PAIRS: usize = 24;

/// Which value is given.
struct Given {
    /// Holds where this one is.
    when: Formula,
    /// `None`: no value.
    value: Option<Expr>,
}

/// Compares two scores whose weights and forms are the same.
pub(crate) fn compare(
    old: &Group<'_>,
    new: &Group<'_>,
    formulas: &mut Formulas<'_>,
    real: &dyn Fn(&Differs<'_>) -> Option<Witness>,
) -> Verdict {
    let givens = [given(old, 0, formulas), given(new, 1, formulas)];
    if formulas.is_too_large() {
        return Verdict::Unknown(Unproved::TooLarge);
    }
    formulas.divide();
    let [olds, news] = givens;
    let values = |side: usize, given: &[Given], formulas: &mut Formulas<'_>| -> Vec<Option<u64>> {
        given.iter().map(|of| of.value.as_ref().map(|value| formulas.meaning(side, value))).collect()
    };
    let (before, after) = (values(0, &olds, formulas), values(1, &news, formulas));
    let differs = |context: EvalContext<'_>, _: Option<&Arc<PodInfo>>| {
        let (old, new) = (value(old, context), value(new, context));
        old.as_ref().map(|(_, shown)| shown) != new.as_ref().map(|(_, shown)| shown)
    };
    let exprs = |given: &[Given], side: usize| {
        given.iter().filter_map(|of| of.value.clone()).map(|of| (side, of)).collect::<Vec<_>>()
    };
    let (old_values, new_values) = (exprs(&olds, 0), exprs(&news, 1));
    let all = old_values.iter().chain(&new_values).map(|(side, expr)| (*side, expr));
    let leaves = Leaves::of(formulas, [None, None], all);
    let (mut proved, mut tried) = (true, 0);
    for (old_given, before) in olds.iter().zip(&before) {
        for (new_given, after) in news.iter().zip(&after) {
            if before == after || tried > MOST_PAIRS {
                continue;
            }
            let search = Search::new(formulas, &old_given.when, &new_given.when);
            let (end, assignments) = search.some((Outcome::True, Outcome::True), MOST_ASSIGNMENTS);
            let witness = of_assignments(formulas, &assignments, ([None, None], &leaves), &differs);
            if let Some(witness) = witness {
                let witness = real(&differs).unwrap_or(witness);
                return Verdict::Different(Box::new(witness));
            }
            if end != End::Complete || !assignments.is_empty() {
                proved = false;
                tried += 1;
            }
        }
    }
    match (proved, proved.then_some(()).map_or_else(|| real(&differs), |()| None)) {
        (true, _) => Verdict::Same,
        (false, Some(witness)) => Verdict::Different(Box::new(witness)),
        (false, None) => Verdict::Unknown(Unproved::NoWitness(formulas.opaque())),
    }
}

/// The values that a score can give, each with when it does; the last one is none.
fn given(group: &Group<'_>, side: usize, formulas: &mut Formulas<'_>) -> Vec<Given> {
    let part = group.part();
    let truth = || Formula::Constant(Outcome::True);
    let mut open = part
        .narrows()
        .map(|of| formulas.translate(side, of).settled(false))
        .collect::<Vec<_>>()
        .into_iter()
        .fold(truth(), Formula::and);
    for let_ in part.policy.lets.iter().filter(|of| of.missing.is_some()) {
        open = open.and(formulas.is_present(side, &let_.value).settled(false));
    }
    let mut all = Vec::new();
    let mut nothing = open.clone().not();
    for rule in &group.rules {
        for leave in part.guard(rule) {
            let holds = formulas.translate(side, &leave.holds).settled(false);
            nothing = nothing.or(open.clone().and(holds.clone()));
            open = open.and(holds.not());
        }
        for statement in part.statements(rule) {
            let Statement::Give(Give { value, when, .. }) = statement else { continue };
            let condition = when.as_ref().map_or_else(truth, |when| formulas.translate(side, when));
            let here = open.clone().and(condition.clone().settled(false));
            let values = value.as_ref().map(|value| formulas.values(side, value));
            for (when, value) in values.unwrap_or_else(|| vec![(truth(), None)]) {
                let when = here.clone().and(when);
                match value {
                    None => nothing = nothing.or(when),
                    value => all.push(Given { when, value }),
                }
            }
            // A fault leaves the node out.
            let failed = condition.clone().settled(true).and(condition.clone().settled(false).not());
            nothing = nothing.or(open.clone().and(failed));
            open = open.and(condition.settled(true).not());
        }
    }
    all.push(Given { when: nothing.or(open), value: None });
    all
}

/// The value that a score gives before it is normalized, with the text of it; `None`: none.
pub(crate) fn value(group: &Group<'_>, context: EvalContext<'_>) -> Option<(Value<'static>, String)> {
    let part = group.part();
    let policy: &Policy = part.policy;
    let mut evaluator = Evaluator::new(policy, context);
    let applies = part.narrows().all(|condition| evaluator.holds(condition));
    let missing = |evaluator: &mut Evaluator<'_, '_>| {
        let mut lets = policy.lets.iter().filter(|of| of.missing.is_some());
        lets.any(|of| evaluator.value(&of.value).is_absent())
    };
    if !applies || missing(&mut evaluator) {
        return None;
    }
    for rule in &group.rules {
        if evaluator.leaves_alone(part, rule) {
            continue;
        }
        for statement in part.statements(rule) {
            let Statement::Give(give) = statement else { continue };
            let holds = give.when.as_ref().map(|when| evaluator.value(when));
            match holds {
                Some(value) if value.is_fault() => return None,
                Some(value) if !value.holds() => continue,
                _ => {}
            }
            let value = evaluator.value(give.value.as_ref()?);
            if value.is_absent() || value.is_fault() {
                return None;
            }
            let shown = value.to_string();
            return Some((Value::text(shown.clone()), shown));
        }
    }
    None
}

/// What differs in how values become a score.
pub(crate) fn form(old: &Group<'_>, new: &Group<'_>) -> Vec<String> {
    let of = |group: &Group<'_>| group.rules.first().and_then(|rule| rule.score()).cloned();
    let (Some(old), Some(new)) = (of(old), of(new)) else { return Vec::new() };
    let mut said = Vec::new();
    if old.weight != new.weight {
        said.push(format!("weight {}, now {}", old.weight, new.weight));
    }
    if old.normalize != new.normalize || old.reversed != new.reversed {
        said.push("values become scores in another way".to_owned());
    }
    if (old.on_error == OnError::Error) != (new.on_error == OnError::Error) {
        said.push("another `onError`".to_owned());
    }
    said
}
