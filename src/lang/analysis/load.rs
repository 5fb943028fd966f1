//! What policies cost together, counted: steps for one pod, and expressions that are kept in memory.
//! The loader of `run` refuses the newest object beyond the limits, and `lint` reports it.

use super::cost::{Costs, MOST_STEPS, Size};
use crate::diag::with_commas;
use crate::lang::language::limits::{MOST_EXPRESSIONS_OF_ALL, MOST_PATTERN_BYTES_OF_ALL, MOST_STEPS_OF_ALL};
use crate::lang::typed::{DefId, Expr, ExprKind, LetId, Policy, walk};
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
        let steps = policy.rules().map(|rule| costs.rule(rule).steps).filter(|steps| *steps <= MOST_STEPS);
        let mut written = WrittenOut { policy, lets: FxHashMap::default(), defs: FxHashMap::default() };
        let (mut expressions, mut patterns) = (0u128, 0u128);
        policy.for_each_expr(&mut |whole| {
            expressions = expressions.saturating_add(written.parts(whole));
            patterns = patterns.saturating_add(pattern_bytes(whole));
        });
        Self { steps: steps.fold(0, u128::saturating_add), expressions, patterns }
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

/// Counts expressions with their lets and defs written out.
struct WrittenOut<'p> {
    policy: &'p Policy,
    lets: FxHashMap<LetId, u128>,
    defs: FxHashMap<DefId, u128>,
}

impl WrittenOut<'_> {
    fn parts(&mut self, expr: &Expr) -> u128 {
        let policy = self.policy;
        let named = match &expr.kind {
            ExprKind::Let(id) => {
                let known = self.lets.get(id).copied();
                let parts = known.unwrap_or_else(|| self.parts(&policy[*id].value));
                self.lets.insert(*id, parts);
                parts
            }
            ExprKind::CallDef(id, _) => {
                let known = self.defs.get(id).copied();
                let parts = known.unwrap_or_else(|| self.parts(&policy[*id].body));
                self.defs.insert(*id, parts);
                parts
            }
            _ => 0,
        };
        let mut all = named.saturating_add(1);
        walk::each_part(expr, &mut |part| all = all.saturating_add(self.parts(part)));
        all
    }
}

/// Bytes of the patterns of an expression; a pattern is kept once, wherever its let or def is named.
fn pattern_bytes(expr: &Expr) -> u128 {
    let mut all = match &expr.kind {
        ExprKind::Call(_, _, prepared) => u128::from(prepared.bytes()),
        _ => 0,
    };
    walk::each_part(expr, &mut |part| all = all.saturating_add(pattern_bytes(part)));
    all
}
