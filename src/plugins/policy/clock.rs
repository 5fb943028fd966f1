//! When time alone may change the decision on a pod: the first instant at which a condition that
//! reads the clock turns over. The framework calls it when a pod begins to wait.

use super::PolicyPlugin;
use bayplan_framework::Handle;
use bayplan_lang::analysis::clock::{next_change, next_change_of, next_minute, parts_of_time, reads_clock};
use bayplan_lang::analysis::stage::depends;
use bayplan_lang::eval::context::EvalContext;
use bayplan_lang::language::fields::Eviction;
use bayplan_lang::typed::reads::{ReadOf, ReadPath, RuleReads};
use bayplan_lang::typed::{Body, Expr, Point, Policy, Rules, Statement, Victim};
use bayplan_model::{NodeInfo, Time};

/// How many conditions are evaluated for a pod, one for each node and for each pod that may be evicted; beyond it the next
/// full minute is used.
const EVALUATIONS: usize = 20_000;

/// How many parts of conditions are evaluated for a pod; beyond it the next full minute is used.
const WORK: u64 = 250_000;

/// The conditions of a policy that read the clock.
pub(super) struct Clocked {
    /// Of gates, and those that decide whether the policy applies.
    gates: Vec<Expr>,
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
fn changed_by_evictions(reads: &RuleReads) -> bool {
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
    pub(super) fn of(rules: Rules<'_>) -> Self {
        let policy = rules.policy;
        let (gates, pod, nodes, permit, victims) = Default::default();
        let mut all =
            Self { gates, pod, nodes, permit, of_chosen_node: false, victims, of_simulations: false };
        for rule in rules.iter() {
            let is_simulated = matches!(rule.body, Body::Victim(_) | Body::EvictionGuard(_))
                && rule.reads(policy).any(|reads| reads.clock && changed_by_evictions(reads));
            if let Body::Victim(of) = &rule.body {
                let condition = rules.condition(rule, Statement::Victim(of));
                let condition = condition.as_deref().unwrap_or(&of.condition);
                if reads_clock(policy, condition) {
                    match parts_of_time(policy, condition) {
                        Some(parts) => all.pod.extend(parts.into_iter().cloned()),
                        None => {
                            all.victims.push(Victim { condition: condition.clone(), ..of.clone() });
                            all.of_simulations |= is_simulated;
                        }
                    }
                }
                continue;
            }
            for statement in rules.statements(rule) {
                // The duration of a wait is computed when it begins.
                let value = match statement {
                    Statement::Missing(..) | Statement::Only(_) => statement.value(),
                    _ => None,
                };
                let condition = rules.condition(rule, statement);
                for expr in condition.as_deref().into_iter().chain(value) {
                    if !reads_clock(policy, expr) {
                        continue;
                    }
                    all.of_simulations |= is_simulated && parts_of_time(policy, expr).is_none();
                    if matches!(rule.point(), Point::Applies | Point::PreEnqueue) {
                        all.gates.push(expr.clone());
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

/// The first instant at which one of the conditions of a policy turns over, everything else as it is.
struct Turns<'p> {
    policy: &'p Policy,
    work: u64,
    first: Option<Time>,
}

impl Turns<'_> {
    fn note(&mut self, at: Option<Time>) {
        self.first = [self.first, at].into_iter().flatten().min();
    }

    /// Of some conditions.
    fn of(&mut self, context: EvalContext<'_>, conditions: &[Expr]) {
        for condition in conditions {
            let turn = next_change(self.policy, context, condition, &mut self.work);
            self.note(turn);
        }
    }

    /// Of conditions on nodes.
    fn of_nodes(&mut self, context: EvalContext<'_>, conditions: &[Expr]) {
        let evaluations = conditions.len().saturating_mul(context.snapshot.node_count());
        self.on_nodes(context, evaluations, |turns, node| turns.of(context.on(node), conditions));
    }

    /// Of conditions about pods that may be evicted.
    fn of_victims(&mut self, context: EvalContext<'_>, rules: &[Victim]) {
        let evaluations = rules.len().saturating_mul(context.snapshot.pod_count());
        self.on_nodes(context, evaluations, |turns, node| {
            for (rule, pod) in rules.iter().flat_map(|rule| node.pods().map(move |pod| (rule, pod))) {
                let turn = next_change_of(turns.policy, context.on(node), rule, pod, &mut turns.work);
                turns.note(turn);
            }
        });
    }

    /// Of all nodes, or the next full minute if that is too much.
    fn on_nodes(
        &mut self,
        context: EvalContext<'_>,
        evaluations: usize,
        on: impl Fn(&mut Self, NodeInfo<'_>),
    ) {
        if evaluations == 0 {
            return;
        }
        let mut nodes = context.snapshot.nodes();
        while evaluations <= EVALUATIONS && self.work <= WORK {
            let Some(node) = nodes.next() else { return };
            on(self, node);
        }
        self.note(Some(next_minute(context.now)));
    }
}

impl PolicyPlugin {
    /// The first instant of monotonic time at which one of the conditions turns over, everything else
    /// as it is. What is evaluated is added to `work`.
    pub(super) fn next_turn(&self, h: &Handle<'_>, work: &mut u64) -> Option<Time> {
        let of = &self.clocked;
        if of.is_empty() {
            return None;
        }
        let mut context = EvalContext::new(h.pod, h.snapshot, h.now);
        context.queued = super::queued(h);
        let placed = context.placement(h.pod).and_then(|(node, _)| h.snapshot.node(node));
        let mut turns = Turns { policy: &self.compiled.policy, work: 1, first: None };
        if h.gated {
            turns.of(context, &of.gates);
        } else if let Some(node) = placed {
            turns.of(context.on(node), &of.permit);
        } else {
            turns.of(context, &of.pod);
            turns.of_nodes(context, &of.nodes);
            turns.of_victims(context, &of.victims);
            if of.of_chosen_node || of.of_simulations {
                // The node is not chosen yet, and simulations are not repeated here: evaluate again soon.
                turns.note(Some(next_minute(context.now)));
            }
        }
        *work += turns.work;
        turns.first.map(|wall| h.snapshot.monotonic(wall))
    }
}
