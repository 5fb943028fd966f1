//! What policies cost together, counted: steps for one pod, and expressions that are kept in memory.
//! The loader of `run` refuses the newest object beyond the limits, and `lint` reports it.

use super::cost::{Costs, MOST_STEPS, Size};
use crate::language::limits::{MOST_EXPRESSIONS_OF_ALL, MOST_PATTERN_BYTES_OF_ALL, MOST_STEPS_OF_ALL};
use crate::typed::{DefId, Expr, ExprKind, LetId, Policy, Rule, walk};
use bayplan_diag::with_commas;
use rustc_hash::FxHashMap;

/// What policies cost.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Load {
    /// Steps for one pod.
    pub steps: u128,
    /// Expressions with lets, defs and groups written out, as closures have them.
    pub expressions: u128,
    /// Bytes of compiled patterns.
    pub patterns: u128,
}

impl Load {
    /// What all policies of a scheduler may cost together.
    pub const MOST: Self = Self {
        steps: MOST_STEPS_OF_ALL,
        expressions: MOST_EXPRESSIONS_OF_ALL,
        patterns: MOST_PATTERN_BYTES_OF_ALL,
    };

    /// What a policy costs on a cluster of a size. Rules that a comment allows to be costly count no
    /// steps, as in the limit of one policy.
    pub fn of(policy: &Policy, size: Size) -> Self {
        let costs = Costs::new(policy, size);
        let steps =
            policy.rules.iter().map(|rule| costs.rule(rule).steps).filter(|steps| *steps <= MOST_STEPS);
        let mut sizes = Sizes::new(policy);
        policy.for_each_expr(&mut |whole| sizes.add(whole));
        let Sizes { expressions, patterns, .. } = sizes;
        Self { steps: steps.fold(0, u128::saturating_add), expressions, patterns }
    }

    /// The rule of a policy that costs most of what this load has too much of.
    pub fn heaviest(self, policy: &Policy, size: Size, limit: Self) -> Option<&Rule> {
        let costs = Costs::new(policy, size);
        let cost = |rule: &&Rule| {
            let mut sizes = Sizes::new(policy);
            let statements = rule.statements(policy);
            statements
                .flat_map(|of| of.condition().into_iter().chain(of.value()))
                .for_each(|of| sizes.add(of));
            let steps = Some(costs.rule(rule).steps).filter(|steps| *steps <= MOST_STEPS).unwrap_or(0);
            let Sizes { expressions, patterns, .. } = sizes;
            self.of_what_exceeds(Self { steps, expressions, patterns }, limit)
        };
        policy.rules.iter().max_by_key(cost)
    }

    /// How much another load has of what this one has too much of.
    pub fn of_what_exceeds(self, other: Self, limit: Self) -> u128 {
        match (self.steps > limit.steps, self.expressions > limit.expressions) {
            (true, _) => other.steps,
            (false, true) => other.expressions,
            (false, false) => other.patterns,
        }
    }

    /// Both together.
    pub fn plus(self, other: Self) -> Self {
        Self {
            steps: self.steps.saturating_add(other.steps),
            expressions: self.expressions.saturating_add(other.expressions),
            patterns: self.patterns.saturating_add(other.patterns),
        }
    }

    /// What exceeds a limit, in words.
    pub fn beyond(self, limit: Self) -> Option<String> {
        let over = |number: u128, limit: u128, what: &str| {
            let (shown, most) = (with_commas(number), with_commas(limit));
            (number > limit).then(|| format!("{shown} {what}, and at most {most} are possible"))
        };
        over(self.steps, limit.steps, "steps for one pod")
            .or_else(|| {
                over(self.expressions, limit.expressions, "expressions, with lets and defs written out")
            })
            .or_else(|| over(self.patterns, limit.patterns, "bytes of compiled patterns"))
    }
}

/// Counts expressions with their lets and defs written out, and bytes of patterns.
struct Sizes<'p> {
    policy: &'p Policy,
    expressions: u128,
    /// A pattern is kept once, wherever its let or def is named.
    patterns: u128,
    lets: FxHashMap<LetId, u128>,
    defs: FxHashMap<DefId, u128>,
}

impl<'p> Sizes<'p> {
    fn new(policy: &'p Policy) -> Self {
        let (lets, defs) = (FxHashMap::default(), FxHashMap::default());
        Self { policy, expressions: 0, patterns: 0, lets, defs }
    }

    /// Adds a whole expression.
    fn add(&mut self, whole: &Expr) {
        let parts = self.parts(whole);
        self.expressions = self.expressions.saturating_add(parts);
        self.patterns = self.patterns.saturating_add(pattern_bytes(whole));
    }

    fn parts(&mut self, expr: &Expr) -> u128 {
        let policy = self.policy;
        let named = match &expr.kind {
            ExprKind::Let(id) => match self.lets.get(id) {
                Some(known) => *known,
                None => {
                    let parts = self.parts(&policy[*id].value);
                    self.lets.insert(*id, parts);
                    parts
                }
            },
            ExprKind::CallDef(id, _) => match self.defs.get(id) {
                Some(known) => *known,
                None => {
                    let parts = self.parts(&policy[*id].body);
                    self.defs.insert(*id, parts);
                    parts
                }
            },
            _ => 0,
        };
        let mut all = named.saturating_add(1);
        walk::each_part(expr, &mut |part| all = all.saturating_add(self.parts(part)));
        all
    }
}

/// Bytes of the patterns of an expression, lets and defs left out.
fn pattern_bytes(expr: &Expr) -> u128 {
    let mut all = match &expr.kind {
        ExprKind::Call(_, _, prepared) => u128::from(prepared.bytes()),
        _ => 0,
    };
    walk::each_part(expr, &mut |part| all = all.saturating_add(pattern_bytes(part)));
    all
}
