//! When time alone may change what the policy says of a pod: the first instant at which a condition that reads the clock
//! turns over. Asked when a pod begins to wait.

use super::PolicyPlugin;
use crate::framework::Handle;
use crate::lang::analysis::clock::{next_change, next_minute, reads_clock};
use crate::lang::analysis::stage::depends;
use crate::lang::eval::context::EvalContext;
use crate::lang::typed::{Expr, Point, Policy, Statement};
use crate::model::Time;

/// Conditions that look at the node are solved for each node, as long as that takes no more evaluations than this; else
/// the next full minute is taken.
const EVALUATIONS: usize = 1_000;

/// What a policy asks with the clock in it.
pub(super) struct Clocked {
    /// Before a node is chosen, of the pod.
    pod: Vec<Expr>,
    /// Before a node is chosen, of each node.
    nodes: Vec<Expr>,
    /// At permit.
    permit: Vec<Expr>,
}

impl Clocked {
    pub(super) fn of(policy: &Policy) -> Self {
        let mut all = Self { pod: Vec::new(), nodes: Vec::new(), permit: Vec::new() };
        for rule in policy.rules() {
            for statement in rule.statements() {
                // How long a wait lasts is decided when it begins; scores and keys refuse no pod.
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
                        Point::Permit => all.permit.push(expr.clone()),
                        _ if depends(policy, expr, &mut Vec::new()).node => all.nodes.push(expr.clone()),
                        _ => all.pod.push(expr.clone()),
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
    /// The first instant at which one of the conditions turns over, everything else as it is.
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
        if let Some(node) = placed {
            return turns(context.on(node), &self.clocked.permit);
        }
        let of_pod = turns(context, &self.clocked.pod);
        // Which node it will be is not known: whatever looks at it is looked at again soon.
        let of_permit = (!self.clocked.permit.is_empty()).then(|| next_minute(h.now));
        let of_nodes = match self.clocked.nodes.len().saturating_mul(h.snapshot.node_count()) {
            0 => None,
            few if few <= EVALUATIONS => {
                h.snapshot.nodes().filter_map(|node| turns(context.on(node), &self.clocked.nodes)).min()
            }
            _ => Some(next_minute(h.now)),
        };
        [of_pod, of_permit, of_nodes].into_iter().flatten().min()
    }
}
