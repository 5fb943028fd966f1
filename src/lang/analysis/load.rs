//! What policies cost together, counted: steps for one pod, and expressions that are kept in memory.
//! The loader of `run` refuses the newest object beyond the limits, and `lint` reports it.

use super::cost::{Costs, MOST_STEPS, Size};
use crate::diag::with_commas;
use crate::lang::language::limits::{MOST_EXPRESSIONS_OF_ALL, MOST_STEPS_OF_ALL};
use crate::lang::typed::{Expr, Policy, walk};

/// What policies cost.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Load {
    /// Steps for one pod.
    pub steps: u128,
    /// Expressions.
    pub expressions: u128,
}

impl Load {
    /// What all policies of a scheduler may cost together.
    pub const MOST: Self = Self { steps: MOST_STEPS_OF_ALL, expressions: MOST_EXPRESSIONS_OF_ALL };

    /// What a policy costs on a cluster of a size. Rules that a comment allows to be costly count no
    /// steps, as in the limit of one policy.
    pub fn of(policy: &Policy, size: Size) -> Self {
        let costs = Costs::new(policy, size);
        let steps = policy.rules().map(|rule| costs.rule(rule).steps).filter(|steps| *steps <= MOST_STEPS);
        let mut expressions = 0u128;
        policy.for_each_expr(&mut |whole| count(whole, &mut expressions));
        Self { steps: steps.fold(0, u128::saturating_add), expressions }
    }

    /// Both together.
    pub fn plus(self, other: Self) -> Self {
        Self {
            steps: self.steps.saturating_add(other.steps),
            expressions: self.expressions.saturating_add(other.expressions),
        }
    }

    /// What exceeds a limit, in words.
    pub fn beyond(self, limit: Self) -> Option<String> {
        let over = |number: u128, limit: u128, what: &str| {
            let (shown, most) = (with_commas(number), with_commas(limit));
            (number > limit).then(|| format!("{shown} {what}, and at most {most} are possible"))
        };
        over(self.steps, limit.steps, "steps for one pod")
            .or_else(|| over(self.expressions, limit.expressions, "expressions"))
    }
}

fn count(expr: &Expr, number: &mut u128) {
    *number += 1;
    walk::each_part(expr, &mut |part| count(part, number));
}
