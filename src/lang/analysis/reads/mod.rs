//! Derives what statements read, in which direction a change helps, and whether evicting pods can
//! help. `owners.rs` tells whose objects a value holds, `walk.rs` goes over the expressions of a
//! statement, `direction.rs` has the directions of operands and arguments.

mod direction;
mod owners;
mod walk;

use crate::language::fields::Eviction;
use crate::syntax::ast::Resolvable;
use crate::typed::reads::{Polarity, ReadOf, RuleReads};
use crate::typed::{
    Act, Body, Check, Expr, Ledger, LedgerId, Point, Policy, PrefilterStatement, Reason, Rule, Rules,
    Statement,
};
use bayplan_diag::{Diagnostic, codes};
use walk::Walk;

/// Fills in the reads of all statements, and whether evicting pods can help where they refuse.
pub fn derive(policy: &mut Policy, diagnostics: &mut Vec<Diagnostic>) {
    let of_ledgers: Vec<RuleReads> = policy.ledgers.iter().map(|ledger| of_ledger(policy, ledger)).collect();
    let found: Vec<RuleReads> = policy.rules.iter().flat_map(|rule| reads_of(policy, rule)).collect();
    let only_add: Vec<bool> = policy.ledgers.iter().map(Ledger::only_adds).collect();
    for (ledger, found) in policy.ledgers.iter_mut().zip(of_ledgers) {
        ledger.reads = found;
    }
    for ((reads, reason), found) in policy.rules.iter_mut().flat_map(|rule| places(&mut rule.body)).zip(found)
    {
        if let Some(reason) = reason {
            derive_reason(reason, eviction_helps(&found, &only_add), diagnostics);
        }
        *reads = found;
    }
}

/// The reads of a rule's statements, or of the whole rule where it keeps them as one.
fn reads_of(policy: &Policy, rule: &Rule) -> Vec<RuleReads> {
    let up_if = |up| if up { Polarity::Up } else { Polarity::Down };
    match &rule.body {
        // Kept of the whole policy: see `deciding`.
        Body::Applies(_) | Body::Mode(_) | Body::DecidesWhen(_) | Body::Except(_) | Body::Missing(_) => {
            return Vec::new();
        }
        // Kept in the table of ledgers.
        Body::Ledger(_) => return Vec::new(),
        Body::Queue(queue) => {
            let mut walk = Walk::new(policy);
            queue.keys.iter().for_each(|key| walk.expr(&key.value, up_if(key.descending)));
            return vec![walk.done()];
        }
        Body::Score(score) => {
            let mut walk = Walk::new(policy);
            rule.head.guard.iter().for_each(|leave| walk.expr(&leave.holds, Polarity::Any));
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
        // A rule that leaves the pod alone refuses nothing, names no victim and writes nothing.
        let alone_helps = match statement {
            Statement::Victim(of) => of.protects,
            Statement::Write(_) => false,
            _ => true,
        };
        rule.head.guard.iter().for_each(|leave| walk.expr(&leave.holds, up_if(alone_helps)));
        walk.done()
    };
    rule.statements(policy).map(of_statement).collect()
}

/// What the entries of a ledger are made of: of placed pods, their namespaces and nodes.
fn of_ledger(policy: &Policy, ledger: &Ledger) -> RuleReads {
    let mut walk = Walk::new(policy);
    let adds = ledger.adds.iter().flat_map(|add| add.when.iter().chain([&add.value]));
    let required = ledger.required_lets.iter().map(|id| &policy[*id].value);
    let parts = [&ledger.key].into_iter().chain(adds).chain(required).chain(policy.chooses_by());
    parts.for_each(|part| walk.expr(part, Polarity::Any));
    walk.done()
}

/// Where the reads of [`reads_of`] are kept, in its order, each with the reason that depends on
/// them.
fn places(body: &mut Body) -> Vec<(&mut RuleReads, Option<&mut Reason>)> {
    fn check(of: &mut Check) -> (&mut RuleReads, Option<&mut Reason>) {
        (&mut of.reads, Some(&mut of.reason))
    }
    match body {
        Body::Applies(_) | Body::Mode(_) | Body::DecidesWhen(_) | Body::Except(_) | Body::Missing(_) => {
            Vec::new()
        }
        Body::Ledger(_) | Body::Preempt => Vec::new(),
        Body::Gate(of) => vec![check(of)],
        Body::Queue(of) => vec![(&mut of.reads, None)],
        Body::Score(of) => vec![(&mut of.reads, None)],
        Body::Filter(of) => of.checks.iter_mut().map(check).collect(),
        Body::Prefilter(of) => {
            let statements = of.statements.iter_mut().map(|statement| match statement {
                PrefilterStatement::Check(of) => check(of),
                PrefilterStatement::Only(of) => (&mut of.reads, None),
            });
            statements.collect()
        }
        Body::Reserve(of) => {
            let writes = of.writes.iter_mut().map(|of| (&mut of.reads, None));
            of.checks.iter_mut().map(check).chain(writes).collect()
        }
        // Whether evictions help does not matter where they are decided.
        Body::Never(of) | Body::EvictionGuard(of) => vec![(&mut of.reads, None)],
        Body::Victim(of) => vec![(&mut of.reads, None)],
        Body::Acts(of) => of.acts.iter_mut().map(|act| (&mut act.reads, act.does.reason_mut())).collect(),
        Body::Permit(of) => {
            let waits = of.waits.iter_mut().map(|of| (&mut of.reads, Some(&mut of.reason)));
            of.checks.iter_mut().map(check).chain(waits).collect()
        }
    }
}

/// The reads of a condition, whichever direction helps.
pub fn reads_of_condition(policy: &Policy, condition: &Expr) -> RuleReads {
    let mut walk = Walk::new(policy);
    walk.expr(condition, Polarity::Any);
    walk.done()
}

/// The reads of `applies when` and of lets with `missing`, which decide whether the policy applies.
pub(crate) fn deciding(rules: Rules<'_>) -> RuleReads {
    let mut walk = Walk::new(rules.policy);
    let of_rules = |rule: &&Rule| match rule.body {
        Body::Except(id) => rules.policy[id].rule.is_some(),
        Body::DecidesWhen(_) => true,
        _ => false,
    };
    let deciding = rules.at(Point::Applies).filter(|rule| !of_rules(rule));
    for statement in deciding.flat_map(|rule| rules.statements(rule)) {
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
fn eviction_helps(reads: &RuleReads, only_add: &[bool]) -> bool {
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
