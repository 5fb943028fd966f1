//! The lint `victim-without-bound`: a `victim` whose condition says nothing of the pod's priority.
//!
//! Where priorities name the victims, a pod never evicts one that may evict it again. A rule that names pods of any
//! priority gives that up: two pods may evict each other in turns, as often as their controllers make them anew.

use crate::language::fields::Meaning;
use crate::typed::{CompareOp, Expr, ExprKind, Policy, SlotId, Victim, walk};
use bayplan_diag::{Diagnostic, codes};

/// Reports `victim` without a bound on priority.
pub(super) fn check(policy: &Policy, diagnostics: &mut Vec<Diagnostic>) {
    let victims = policy.victims();
    for victim in victims.filter(|of| !of.protects && !is_bounded(policy, of)) {
        let message = "this names pods of any priority, also those that may evict the pod in turn";
        let help = "compare the priority: `… && v.priority < pod.priority`";
        diagnostics.push(Diagnostic::new(&codes::VICTIM_WITHOUT_BOUND, victim.span, message).with_help(help));
    }
}

fn is_bounded(policy: &Policy, victim: &Victim) -> bool {
    Search { policy, left: 1_000 }.bounds(victim.slot, &victim.condition, true)
}

struct Search<'p> {
    policy: &'p Policy,
    /// How many parts may still be looked at; a larger condition counts as bounded.
    left: u32,
}

impl Search<'_> {
    /// Whether an expression that is `true`, or `false`, says that the priority of the pod is at most something.
    fn bounds(&mut self, pod: SlotId, of: &Expr, is: bool) -> bool {
        if self.left == 0 {
            return true;
        }
        self.left -= 1;
        match &of.kind {
            ExprKind::Not(inner) => self.bounds(pod, inner, !is),
            ExprKind::And(left, right) | ExprKind::Or(left, right) => {
                let both = matches!(of.kind, ExprKind::And(..)) != is;
                let first = self.bounds(pod, left, is);
                if both == first { self.bounds(pod, right, is) } else { first }
            }
            ExprKind::Conditional(condition, then, otherwise) => {
                (self.bounds(pod, condition, true) || self.bounds(pod, then, is))
                    && (self.bounds(pod, condition, false) || self.bounds(pod, otherwise, is))
            }
            ExprKind::Compare(op, left, right) => {
                let below = matches!(op, CompareOp::Less | CompareOp::LessEqual) == is;
                if below { is_rank(pod, left) } else { is_rank(pod, right) }
            }
            ExprKind::Equal(left, right) => is && (is_rank(pod, left) || is_rank(pod, right)),
            ExprKind::In(element, _) => is && is_rank(pod, element),
            ExprKind::CallDef(id, args) => {
                let def = &self.policy[*id];
                let given = def.parameters.iter().zip(args);
                let given: Vec<SlotId> =
                    given.filter(|(_, arg)| is_slot(pod, arg)).map(|(parameter, _)| *parameter).collect();
                given.into_iter().any(|parameter| self.bounds(parameter, &def.body, is))
            }
            // What CEL decides by the values may compare it.
            ExprKind::Dynamic(_, parts) => parts.iter().any(|part| mentions(pod, part)),
            _ => false,
        }
    }
}

fn is_slot(pod: SlotId, of: &Expr) -> bool {
    matches!(&of.kind, ExprKind::Slot(slot) if *slot == pod)
}

/// Whether an expression is the priority of the pod, or names its class.
fn is_rank(pod: SlotId, of: &Expr) -> bool {
    match &of.kind {
        ExprKind::Field(of, field) => is_slot(pod, of) && field.def().meaning == Some(Meaning::Priority),
        ExprKind::Present(inner) | ExprKind::Widen(inner) | ExprKind::Coalesce(inner, _) => {
            is_rank(pod, inner)
        }
        _ => false,
    }
}

/// Whether an expression reads the priority of the pod.
fn mentions(pod: SlotId, of: &Expr) -> bool {
    is_rank(pod, of) || walk::parts(of).into_iter().any(|part| mentions(pod, part))
}
