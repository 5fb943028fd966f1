//! `filter`: every statement must accept the node; the first that refuses, in the order of the
//! text, gives the node's status. The range form scans columns. Violations come from the trace of
//! the reference evaluator.

use super::attempt::Attempt;
use super::{PolicyPlugin, numbers, refusal_of};
use bayplan_framework::{Filter, Handle, Status, TimedPoint, Verdicts, Violation};
use bayplan_lang::analysis::stage::depends;
use bayplan_lang::codegen::{ColumnScan, CompiledCheck, Env};
use bayplan_lang::eval::context::EvalContext;
use bayplan_lang::eval::trace::{Reach, Tracer};
use bayplan_lang::syntax::ast::OnError;
use bayplan_lang::typed::{Check, Expr, ExprKind, Point, Policy, Rule, Statement};
use bayplan_lang::types::value::Fault;
use bayplan_model::{NodeId, NodeInfo, NodeSet, bits};

impl PolicyPlugin {
    /// The checks of all filters, with the numbers of their rules.
    fn checks(&self) -> impl Iterator<Item = (u16, &CompiledCheck)> {
        let filters = self.compiled.statements.filters.iter().enumerate();
        filters.flat_map(|(at, filter)| filter.checks.iter().map(move |check| (numbers::filter(at), check)))
    }

    /// The number of the rule of a filter.
    fn number_of(&self, rule: &Rule) -> u16 {
        let at = self.compiled.statements.filters.iter().position(|filter| filter.span == rule.span());
        at.map_or(0, numbers::filter)
    }

    /// The refusal of a check.
    fn refused(&self, (rule, check): (u16, &CompiledCheck), context: EvalContext<'_>) -> Status {
        let status = refusal_of(&self.compiled, check, context);
        status.whatever_the_node(check.no_node_helps()).of_rule(rule)
    }

    /// The status of a node for which a check failed.
    fn failed_check(&self, (rule, check): (u16, &CompiledCheck), fault: &Fault) -> Status {
        let status = self.failed(rule, check.on_error, fault, check.reason().derived);
        status.whatever_the_node(check.no_node_helps())
    }

    /// The attempt, if the policy's filters apply to the pod.
    fn filtering<'a>(&self, h: &Handle<'a>) -> Option<&'a Attempt> {
        h.state::<Attempt>().filter(|attempt| attempt.applies && attempt.refuses)
    }
}

impl Filter for PolicyPlugin {
    fn filter(&self, h: &Handle, node: NodeInfo) -> Result<(), Status> {
        let Some(attempt) = self.filtering(h) else { return Ok(()) };
        let context = self.context(h, Some(attempt)).on(node);
        let mut env = Env::new(&self.compiled.policy, context, &attempt.registers);
        for (rule, check) in self.checks() {
            let refused = self.timed(h, TimedPoint::Filter, rule, || check.refuses(&mut env));
            self.note_ignored(h, &mut env, rule);
            if refused {
                return Err(match env.failed.take() {
                    Some(fault) => self.failed_check((rule, check), &fault),
                    None => self.refused((rule, check), context),
                });
            }
        }
        Ok(())
    }

    fn filter_range(&self, h: &Handle, nodes: &NodeSet, out: &mut Verdicts) {
        let Some(attempt) = self.filtering(h) else { return };
        let context = self.context(h, Some(attempt));
        let inputs = &self.compiled.statements.inputs;
        let mut scan = ColumnScan::new(&self.compiled.policy, inputs, context, &attempt.registers);
        // The numbers of constant reasons, in the order of the checks; assigned on first use.
        let mut numbers: smallvec::SmallVec<[Option<u32>; 8]> = self.checks().map(|_| None).collect();
        let mut failed = numbers.clone();
        for (word, mask) in nodes.words().iter().copied().enumerate() {
            let mut open = mask;
            let numbers = numbers.iter_mut().zip(failed.iter_mut());
            for ((rule, check), (number, failed)) in self.checks().zip(numbers) {
                if open == 0 {
                    break;
                }
                let refused =
                    self.timed(h, TimedPoint::Filter, rule, || check.refused(&mut scan, word, open));
                self.note_ignored(h, &mut scan.env, rule);
                open &= !refused;
                if refused == 0 {
                    continue;
                }
                let mut refused = refused;
                for (row, fault) in std::mem::take(&mut scan.failed) {
                    let mut status = || out.status(self.failed_check((rule, check), &fault));
                    // A refusal by error has the same text on all nodes.
                    let status = match check.on_error {
                        OnError::Reject => *failed.get_or_insert_with(status),
                        OnError::Ignore | OnError::Error => status(),
                    };
                    out.refuse(NodeId::from_row(row), status);
                    refused &= !(1 << (row % 64));
                }
                if check.constant.is_some() {
                    let number =
                        *number.get_or_insert_with(|| out.status(self.refused((rule, check), context)));
                    out.refuse_rows(word, refused, number);
                    continue;
                }
                for bit in bits(refused) {
                    let id = NodeId::from_row(word * 64 + bit);
                    let of_node = h.snapshot.node(id).map_or(context, |node| context.on(node));
                    let status = out.status(self.refused((rule, check), of_node));
                    out.refuse(id, status);
                }
            }
        }
    }

    fn violations(&self, h: &Handle, node: NodeInfo, out: &mut Vec<Violation>) {
        let Some(attempt) = self.filtering(h) else { return };
        let context = self.explained(h, Some(attempt)).on(node);
        let mut tracer = Tracer::new(self.compiled.rules(), Point::Filter, context);
        while let Some(finding) = tracer.next() {
            if let Statement::Check(check) = finding.statement
                && finding.decides
                && finding.reach != Reach::Unproven
            {
                let of = match tracer.fault(&finding) {
                    Some(fault) => Violation {
                        reason: self.text_of_failed(self.number_of(finding.rule), check.on_error, &fault),
                        have: self.compiled.described(&fault),
                        ..Violation::default()
                    },
                    None => violation(&self.compiled.policy, &mut tracer, check),
                };
                out.push(Violation {
                    rule: finding.rule.name().to_owned(),
                    place: self.compiled.place(check.span).to_owned(),
                    ..of
                });
            }
        }
    }
}

/// A refusal with its values: the details that the author named, else both sides of the comparison
/// that decided.
fn violation(policy: &Policy, tracer: &mut Tracer<'_, '_>, check: &Check) -> Violation {
    let mut of = Violation { reason: tracer.evaluator.reason(&check.reason), ..Violation::default() };
    if !check.reason.details.is_empty() {
        let details = tracer.details(&check.reason).into_iter();
        of.have = details.map(|(name, value)| format!("{name}: {value}")).collect::<Vec<_>>().join(", ");
        return of;
    }
    let Some((left, right)) = check.condition.as_ref().and_then(sides) else { return of };
    let is_of_the_node = |side: &Expr| depends(policy, side, &mut Vec::new()).node;
    let (have, need) =
        if is_of_the_node(left) || !is_of_the_node(right) { (left, right) } else { (right, left) };
    of.need = tracer.evaluator.shown_value(need);
    of.have = tracer.evaluator.shown_value(have);
    of
}

/// Both sides of a comparison, negations removed.
fn sides(condition: &Expr) -> Option<(&Expr, &Expr)> {
    match &condition.kind {
        ExprKind::Not(inner) => sides(inner),
        ExprKind::Compare(_, left, right) | ExprKind::Equal(left, right) | ExprKind::In(left, right) => {
            Some((left, right))
        }
        _ => None,
    }
}
