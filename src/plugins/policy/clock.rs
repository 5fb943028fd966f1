//! When time alone may change the decision on a pod: the first instant at which a condition that
//! reads the clock turns over. The framework calls it when a pod begins to wait.

use super::PolicyPlugin;
use crate::framework::Handle;
use crate::lang::analysis::clock::{next_change, next_minute, parts_of_time, reads_clock};
use crate::lang::analysis::stage::depends;
use crate::lang::eval::context::EvalContext;
use crate::lang::typed::{Expr, Point, Policy, Statement};
use crate::model::Time;

/// The most evaluations of conditions that read the node, one for each node; beyond it the next
/// full minute is used.
const EVALUATIONS: usize = 1_000;

/// The conditions of a policy that read the clock.
pub(super) struct Clocked {
    /// Before a node is chosen, evaluated once for the pod; of conditions on nodes the parts that read
    /// the clock and no node.
    pod: Vec<Expr>,
    /// Before a node is chosen, evaluated for each node.
    nodes: Vec<Expr>,
    /// Once a node is chosen: at reserve and permit.
    permit: Vec<Expr>,
}

impl Clocked {
    pub(super) fn of(policy: &Policy) -> Self {
        let mut all = Self { pod: Vec::new(), nodes: Vec::new(), permit: Vec::new() };
        for rule in policy.rules() {
            for statement in rule.statements() {
                // The duration of a wait is computed when it begins.
                let value = match statement {
                    Statement::Guard(_) | Statement::Only(_) => statement.value(),
                    _ => None,
                };
                for expr in statement.condition().into_iter().chain(value) {
                    if !reads_clock(policy, expr) {
                        continue;
                    }
                    match rule.point() {
                        Point::QueueSort | Point::Score => {}
                        Point::Reserve | Point::Permit => all.permit.push(expr.clone()),
                        _ if !depends(policy, expr, &mut Vec::new()).node => all.pod.push(expr.clone()),
                        // What is the same for all nodes is computed once.
                        _ => match parts_of_time(policy, expr) {
                            Some(parts) => all.pod.extend(parts.into_iter().cloned()),
                            None => all.nodes.push(expr.clone()),
                        },
                    }
                }
            }
        }
        all
    }

    fn is_empty(&self) -> bool {
        self.pod.is_empty() && self.nodes.is_empty() && self.permit.is_empty()
    }
}

impl PolicyPlugin {
    /// The first instant of monotonic time at which one of the conditions turns over, everything else
    /// as it is.
    pub(super) fn next_turn(&self, h: &Handle<'_>) -> Option<Time> {
        if self.clocked.is_empty() {
            return None;
        }
        let policy = &self.compiled.policy;
        let mut context = EvalContext::new(h.pod, h.snapshot, h.now);
        context.queued = super::queued(h);
        let placed = context.placement(h.pod).and_then(|(node, _)| h.snapshot.node(node));
        let turns = |context: EvalContext<'_>, all: &[Expr]| {
            all.iter().filter_map(|condition| next_change(policy, context, condition)).min()
        };
        let monotonic = |wall: Time| h.snapshot.monotonic(wall);
        if let Some(node) = placed {
            return turns(context.on(node), &self.clocked.permit).map(monotonic);
        }
        let of_pod = turns(context, &self.clocked.pod);
        // The node is not chosen yet, so conditions of the permit are evaluated again soon.
        let of_permit = (!self.clocked.permit.is_empty()).then(|| next_minute(context.now));
        let of_nodes = match self.clocked.nodes.len().saturating_mul(h.snapshot.node_count()) {
            0 => None,
            few if few <= EVALUATIONS => {
                h.snapshot.nodes().filter_map(|node| turns(context.on(node), &self.clocked.nodes)).min()
            }
            _ => Some(next_minute(context.now)),
        };
        [of_pod, of_permit, of_nodes].into_iter().flatten().min().map(monotonic)
    }
}
