//! Derives what statements read, in which direction a change helps, and whether evicting pods can
//! help. `owners.rs` tells whose objects a value holds, `walk.rs` goes over the expressions of a
//! statement, `direction.rs` has the directions of operands and arguments.

mod direction;
mod owners;
mod walk;

use crate::diag::{Diagnostic, codes};
use crate::lang::language::fields::Eviction;
use crate::lang::syntax::ast::Resolvable;
use crate::lang::typed::reads::{Polarity, ReadOf, Reads};
use crate::lang::typed::{
    Act, Check, Expr, Ledger, LedgerId, Point, Policy, PrefilterStatement, Reason, Rule, RuleMut, Statement,
};
use walk::Walk;

/// Fills in the reads of all statements, and whether evicting pods can help where they refuse.
pub fn derive(policy: &mut Policy, diagnostics: &mut Vec<Diagnostic>) {
    let found: Vec<Reads> = policy.rules().flat_map(|rule| reads_of(policy, rule)).collect();
    let only_add: Vec<bool> = policy.ledgers.iter().map(Ledger::only_adds).collect();
    for ((reads, reason), found) in policy.rules_mut().flat_map(places).zip(found) {
        if let Some(reason) = reason {
            derive_reason(reason, eviction_helps(&found, &only_add), diagnostics);
        }
        *reads = found;
    }
}

/// The reads of a rule's statements, or of the whole rule where it keeps them as one.
fn reads_of(policy: &Policy, rule: Rule<'_>) -> Vec<Reads> {
    let up_if = |up| if up { Polarity::Up } else { Polarity::Down };
    match rule {
        // Kept of the whole policy: see `deciding`.
        Rule::Applies(_) | Rule::Mode(..) | Rule::Except(..) | Rule::Guard(_) => return Vec::new(),
        Rule::Ledger(ledger) => return vec![of_ledger(policy, ledger)],
        Rule::Queue(queue) => {
            let mut walk = Walk::new(policy);
            queue.keys.iter().for_each(|key| walk.expr(&key.value, up_if(key.descending)));
            return vec![walk.done()];
        }
        Rule::Score(score) => {
            let mut walk = Walk::new(policy);
            for give in &score.gives {
                give.when.iter().for_each(|when| walk.expr(when, Polarity::Any));
                give.value.iter().for_each(|value| walk.expr(value, up_if(!score.reversed)));
            }
            return vec![walk.done()];
        }
        _ => {}
    }
    let of_statement = |statement: Statement<'_>| {
        let mut walk = Walk::new(policy);
        if let Statement::Only(only) = statement {
            walk.expr(&only.nodes, Polarity::Any);
        }
        statement.written().for_each(|value| walk.expr(value, Polarity::Any));
        if let Statement::Victim(of) = statement {
            walk.bind_victim(of.slot);
        }
        if let Statement::Act(Act { does, .. }) = statement {
            does.group().iter().for_each(|group| walk.group(*group, Polarity::Any));
        }
        let holding_helps = match statement {
            Statement::Check(check) => !check.refuses_when,
            Statement::Only(_) => false,
            Statement::Victim(of) => !of.protects,
            _ => true,
        };
        statement.condition().iter().for_each(|condition| walk.expr(condition, up_if(holding_helps)));
        walk.done()
    };
    rule.statements().map(of_statement).collect()
}

/// What the entries of a ledger are made of: of placed pods, their namespaces and nodes.
fn of_ledger(policy: &Policy, ledger: &Ledger) -> Reads {
    let mut walk = Walk::new(policy);
    let adds = ledger.adds.iter().flat_map(|add| add.when.iter().chain([&add.value]));
    let guards = ledger.guards.iter().map(|guard| &policy[*guard].value);
    let parts = [&ledger.key].into_iter().chain(adds).chain(guards).chain(policy.chooses_by());
    parts.for_each(|part| walk.expr(part, Polarity::Any));
    walk.done()
}

/// Where the reads of [`reads_of`] are kept, in its order, each with the reason that depends on
/// them.
fn places(rule: RuleMut<'_>) -> Vec<(&mut Reads, Option<&mut Reason>)> {
    fn check(of: &mut Check) -> (&mut Reads, Option<&mut Reason>) {
        (&mut of.reads, Some(&mut of.reason))
    }
    match rule {
        RuleMut::Ledger(of) => vec![(&mut of.reads, None)],
        RuleMut::Gate(of) => vec![check(of)],
        RuleMut::Queue(of) => vec![(&mut of.reads, None)],
        RuleMut::Score(of) => vec![(&mut of.reads, None)],
        RuleMut::Filter(of) => of.checks.iter_mut().map(check).collect(),
        RuleMut::Prefilter(of) => {
            let statements = of.statements.iter_mut().map(|statement| match statement {
                PrefilterStatement::Check(of) => check(of),
                PrefilterStatement::Only(of) => (&mut of.reads, None),
            });
            statements.collect()
        }
        RuleMut::Reserve(of) => {
            let writes = of.writes.iter_mut().map(|of| (&mut of.reads, None));
            of.checks.iter_mut().map(check).chain(writes).collect()
        }
        // Whether evictions help does not matter where they are decided.
        RuleMut::Eviction(of) => vec![(&mut of.reads, None)],
        RuleMut::Victim(of) => vec![(&mut of.reads, None)],
        RuleMut::Acts(of) => of.acts.iter_mut().map(|act| (&mut act.reads, act.does.reason_mut())).collect(),
        RuleMut::Permit(of) => {
            let waits = of.waits.iter_mut().map(|of| (&mut of.reads, Some(&mut of.reason)));
            of.checks.iter_mut().map(check).chain(waits).collect()
        }
    }
}

/// The reads of a condition, whichever direction helps.
pub fn reads_of_condition(policy: &Policy, condition: &Expr) -> Reads {
    let mut walk = Walk::new(policy);
    walk.expr(condition, Polarity::Any);
    walk.done()
}

/// The reads of `applies when` and of lets with `missing`, which decide whether the policy applies.
pub(in crate::lang) fn deciding(policy: &Policy) -> Reads {
    let mut walk = Walk::new(policy);
    let of_rule = |rule: &Rule<'_>| match rule {
        Rule::Except(of, _) => of.rule.is_some(),
        Rule::Mode(_, of) => of.is_some(),
        _ => false,
    };
    let deciding = policy.rules_at(Point::Applies).filter(|rule| !of_rule(rule));
    for statement in deciding.flat_map(Rule::statements) {
        let looked_at = statement.condition().or(statement.value());
        looked_at.iter().for_each(|expr| walk.expr(expr, Polarity::Any));
    }
    walk.done()
}

fn derive_reason(reason: &mut Reason, derived: bool, diagnostics: &mut Vec<Diagnostic>) {
    reason.derived = derived;
    reason.resolvable = reason.written.map_or(reason.derived, Resolvable::helps);
    if let Some(written) = reason.written
        && written.helps() != reason.derived
        && !reason.derived
    {
        diagnostics.push(
            Diagnostic::new(
                &codes::WRONG_RESOLVABILITY,
                reason.span,
                "evicting pods changes nothing that this reads",
            )
            .with_help("remove `resolvable`: the pod would evict others without effect"),
        );
    }
}

/// Whether something is read in a direction in which evicting pods from the node can help. `only_add` says of each
/// ledger whether no pod lowers its sums.
fn eviction_helps(reads: &Reads, only_add: &[bool]) -> bool {
    let lowers = |ledger: LedgerId| only_add.get(ledger.index()).copied().unwrap_or(false);
    let by_ledgers =
        reads.ledgers.iter().any(|(ledger, polarity)| !lowers(*ledger) || *polarity != Polarity::Up);
    by_ledgers
        || !reads.groups.is_empty()
        || reads.paths.iter().any(|(path, polarity)| {
            let on_pods = matches!(path.of, ReadOf::NodePods | ReadOf::Pods | ReadOf::Group);
            match path.field.map(|field| field.def().eviction) {
                // The collection itself: fewer pods after an eviction.
                None => on_pods && *polarity != Polarity::Up,
                Some(Eviction::None) => false,
                Some(Eviction::Raises) => path.of != ReadOf::Pod && *polarity != Polarity::Down,
                Some(Eviction::Lowers) => path.of != ReadOf::Pod && *polarity != Polarity::Up,
                Some(Eviction::Changes) => path.of != ReadOf::Pod,
            }
        })
}
