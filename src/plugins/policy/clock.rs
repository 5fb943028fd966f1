//! When time alone may change the decision on a pod: the first instant at which a condition that
//! reads the clock turns over. The framework calls it when a pod begins to wait.

use super::PolicyPlugin;
use crate::framework::Handle;
use crate::lang::analysis::clock::{next_change, next_change_of, next_minute, parts_of_time, reads_clock};
use crate::lang::analysis::stage::depends;
use crate::lang::eval::context::EvalContext;
use crate::lang::language::fields::Eviction;
use crate::lang::typed::reads::{ReadOf, ReadPath, Reads};
use crate::lang::typed::{Expr, Point, Policy, Rule, Statement, Victim};
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
    /// Whether what the clock changes in one of these depends on the chosen node.
    of_chosen_node: bool,
    /// Of preemption, evaluated for each pod on each node.
    victims: Vec<Victim>,
    /// Whether a condition about evictions reads the clock and what evictions change: then parts may count that are not
    /// evaluated while the pods are there.
    of_simulations: bool,
}

/// Whether evictions change what a rule reads, beside the pod that may be evicted.
fn changed_by_evictions(reads: &Reads) -> bool {
    let changes = |path: &ReadPath| match (path.of, path.field) {
        (ReadOf::Pod | ReadOf::Namespace, _) => false,
        // A field of the pod that may be evicted.
        (ReadOf::NodePods, Some(_)) => false,
        (_, None) => true,
        (_, Some(field)) => field.def().eviction != Eviction::None,
    };
    !reads.groups.is_empty() || reads.paths.keys().any(changes)
}

impl Clocked {
    pub(super) fn of(policy: &Policy) -> Self {
        let (pod, nodes, permit, victims) = Default::default();
        let mut all = Self { pod, nodes, permit, of_chosen_node: false, victims, of_simulations: false };
        for rule in policy.rules() {
            if matches!(rule, Rule::Victim(_) | Rule::EvictionGuard(_)) {
                all.of_simulations |= rule.reads().any(|reads| reads.clock && changed_by_evictions(reads));
            }
            if let Rule::Victim(of) = rule {
                all.victims.extend(reads_clock(policy, &of.condition).then(|| of.clone()));
                continue;
            }
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
                        Point::QueueSort
                        | Point::Score
                        | Point::PreBind
                        | Point::PostBind
                        | Point::Failure => {}
                        Point::Reserve | Point::Permit => {
                            all.permit.push(expr.clone());
                            match parts_of_time(policy, expr) {
                                Some(parts) => all.pod.extend(parts.into_iter().cloned()),
                                None => all.of_chosen_node = true,
                            }
                        }
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
        // What reads the clock in simulations is in one of these lists too.
        self.pod.is_empty() && self.nodes.is_empty() && self.permit.is_empty() && self.victims.is_empty()
    }
}

impl PolicyPlugin {
    /// The first instant at which one of the conditions about pods that may be evicted turns over.
    fn next_turn_of_victims(&self, context: EvalContext<'_>) -> Option<Time> {
        let policy = &self.compiled.policy;
        let evaluations = self.clocked.victims.len().saturating_mul(context.snapshot.pod_count());
        if evaluations == 0 {
            return None;
        }
        if evaluations > EVALUATIONS {
            return Some(next_minute(context.now));
        }
        let on_nodes = context.snapshot.nodes().flat_map(|node| node.pods().map(move |pod| (node, pod)));
        let turns = on_nodes.flat_map(|(node, pod)| {
            let of = move |rule| next_change_of(policy, context.on(node), rule, pod);
            self.clocked.victims.iter().filter_map(of)
        });
        turns.min()
    }

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
        // The node is not chosen yet, so conditions on it are evaluated again soon.
        let of_permit = self.clocked.of_chosen_node.then(|| next_minute(context.now));
        let of_nodes = match self.clocked.nodes.len().saturating_mul(h.snapshot.node_count()) {
            0 => None,
            few if few <= EVALUATIONS => {
                h.snapshot.nodes().filter_map(|node| turns(context.on(node), &self.clocked.nodes)).min()
            }
            _ => Some(next_minute(context.now)),
        };
        let of_victims = self.next_turn_of_victims(context);
        let simulated = self.clocked.of_simulations.then(|| next_minute(context.now));
        [of_pod, of_permit, of_nodes, of_victims, simulated].into_iter().flatten().min().map(monotonic)
    }
}
