//! The bound of the language: the most steps that each rule of a policy takes for one pod on a
//! cluster of a declared size, and the rules that are refused because of it.
//!
//! Compiling calls [`check`], and `plan` uses [`Costs`]. Bounds come from the typed tree, the field
//! table (how large a value may be) and the table of functions (how long each takes), and follow
//! what code generation makes of a rule. They are bounds, not estimates: no cluster of the size,
//! with values within the tables, takes more. `steps.rs` defines a step; a property test holds the
//! steps of the reference evaluator against its bound.
//!
//! Code generation does not count them while it lowers: a policy beyond the limit is refused before code is made of it,
//! `plan` and `--size` compute bounds for clusters of several sizes, and the reference evaluator has bounds too. What both
//! must agree on, when a part is computed, they take from `analysis::{stage, index}`.

mod calls;
mod collections;
mod expr;
mod extent;
mod limits;
mod refuse;
mod size;
mod steps;
mod walk;

pub use refuse::{check, is_refused};
pub use size::Size;
pub use walk::EvaluationMode;

use crate::typed::{Body, Expr, Point, Policy, Reason, Rule, Statement};
use bayplan_diag::Span;
use steps::{PartitionBy, Steps, Summation};
use walk::{Cost, Walk};

/// Most steps of a rule for one pod.
pub(crate) const MOST_STEPS: u128 = 10_000_000;
/// Most steps of a rule about evictions for one pod: they are evaluated only when no node fits.
pub(crate) const MOST_STEPS_OF_EVICTIONS: u128 = 10 * MOST_STEPS;
/// Most steps of all rules of a policy for one pod together. Rules above the limit of one rule,
/// which a comment may lift, are not counted.
pub(crate) const MOST_STEPS_TOGETHER: u128 = 10 * MOST_STEPS;
/// Most bytes of computed texts and places that a computed list keeps, for each node and pod of the
/// cluster: room for a place and two names. Never less than [`LEAST_KEPT`].
pub(crate) const MOST_KEPT_EACH: u128 = 640;
/// What a computed list may keep on the smallest cluster, in bytes.
pub(crate) const LEAST_KEPT: u128 = 64 << 20;

/// A computed text or list that may grow beyond its limit.
#[derive(Clone, Debug)]
pub struct TooLarge {
    /// What computes it.
    pub span: Span,
    /// How large it may become.
    pub number: u128,
    /// How large it may be.
    pub limit: u128,
    /// What is too large.
    pub what: Large,
}

/// What may be too large.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Large {
    /// A text, in bytes.
    Text,
    /// A list, in elements.
    List,
    /// The places of a list or table and the texts made for it, in bytes.
    Kept,
}

/// What a rule costs.
#[derive(Clone, Debug)]
pub struct RuleCost {
    /// Steps for one pod at most.
    pub steps: u128,
    /// It grows with the square of the cluster: nodes times nodes, nodes times pods or pods times
    /// pods.
    pub quadratic: bool,
    /// The most expensive part, where one takes most of it.
    pub heaviest: Option<Span>,
    /// That part visits long texts, and not many elements.
    pub of_texts: bool,
    /// Texts and lists beyond their limits.
    pub too_large: Vec<TooLarge>,
}

/// How often a rule is evaluated for a pod.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Times {
    /// As its mode says.
    Once,
    /// For every node once more.
    ForNodes,
    /// For every pod of every node: each may be a victim.
    ForPodsOfNodes,
}

/// Most steps of a rule for one pod.
pub fn most_steps(rule: &Rule) -> u128 {
    match rule.point() {
        Point::PostFilter => MOST_STEPS_OF_EVICTIONS,
        _ => MOST_STEPS,
    }
}

/// The costs of the rules of a policy.
#[derive(Clone, Copy)]
pub struct Costs<'p> {
    policy: &'p Policy,
    size: Size,
}

impl<'p> Costs<'p> {
    /// Of a policy, on a cluster of a size.
    pub fn new(policy: &'p Policy, size: Size) -> Self {
        Self { policy, size }
    }

    /// Of a rule: for all nodes together where it is evaluated for each of them.
    pub fn rule(&self, rule: &'p Rule) -> RuleCost {
        let guard = || rule.head.guard.iter().map(|leave| &leave.holds);
        let parts = rule.statements(self.policy).flat_map(|statement| {
            let shown = match statement {
                Statement::Check(_) | Statement::Act(_) => statement.reason().map(Reason::holes),
                _ => None,
            };
            let parts = statement.condition().into_iter().chain(statement.value()).chain(statement.written());
            parts.chain(shown.into_iter().flatten()).chain(guard())
        });
        let mode = match rule.point() {
            Point::Filter | Point::Score => EvaluationMode::PerNode,
            _ => EvaluationMode::PerPod,
        };
        let times = match rule.body {
            Body::Victim(_) => Times::ForPodsOfNodes,
            Body::EvictionGuard(_) => Times::ForNodes,
            _ => Times::Once,
        };
        self.times(parts, mode, times)
    }

    /// The most steps that an evaluator takes for expressions in a mode: for all nodes together, or
    /// for one pod.
    pub fn steps(&self, parts: impl IntoIterator<Item = &'p Expr>, mode: EvaluationMode) -> u128 {
        self.of(parts, mode).steps
    }

    fn of(&self, parts: impl IntoIterator<Item = &'p Expr>, mode: EvaluationMode) -> RuleCost {
        self.times(parts, mode, Times::Once)
    }

    fn times(
        &self,
        parts: impl IntoIterator<Item = &'p Expr>,
        mode: EvaluationMode,
        times: Times,
    ) -> RuleCost {
        let mut walk = Walk::new(self.policy, self.size, mode);
        let mut here = Cost::default();
        for part in parts {
            let (cost, extent) = walk.expr(part);
            here.add(cost, self.size, &walk.shares);
            // A reason writes it as a text.
            here.steps.add(&extent.walk());
        }
        let per_node = std::mem::take(&mut walk.per_node);
        here.add(per_node, self.size, &walk.shares);
        here.steps = here.steps.plus_number(1);
        if times == Times::ForPodsOfNodes {
            let pods = walk.pods_on(PartitionBy::Node);
            here.steps = here.steps.times(&pods);
            if let Some(part) = &mut here.heaviest {
                part.steps = part.steps.times(&pods);
            }
        }
        let mut all = match (mode, times) {
            (EvaluationMode::PerPod, Times::Once) => here,
            _ => here.for_each(&Steps::nodes(), PartitionBy::Node, Summation::AddUp, &walk.shares),
        };
        let once = std::mem::take(&mut walk.once);
        all.add(once, self.size, &walk.shares);
        RuleCost {
            steps: all.steps.at(self.size, &walk.shares),
            quadratic: all.steps.degree() > 1,
            of_texts: all.heaviest.as_ref().is_some_and(|part| part.of_texts),
            heaviest: all.heaviest.map(|part| part.span),
            too_large: walk.too_large,
        }
    }
}
