//! [`PolicyPart`]: the rules of a policy that act alike for a pod, and [`Rules`], through which evaluators see them. One
//! part decides; the others count what they would have done: for every pod, or for the pods for which rules do not
//! decide.
//!
//! A part chooses among the rules of its policy. Declarations, and with them all ids, are those of the policy.

use super::guard::{Leave, LeftBy, condition_at, negated};
use super::{Body, Expr, ExprKind, Head, LetId, Missing, Mode, Point, Policy, Rule, Statement};
use crate::syntax::ast::OnError;
use std::borrow::Cow;

/// Some rules of a policy.
#[derive(Clone, Debug)]
pub struct PolicyPart {
    /// Their places in [`Policy::rules`].
    rules: Vec<usize>,
    /// The pods that a part counts for, where it does not count for all: a rule of its own.
    mode: Option<Rule>,
    /// It does not decide.
    counts: bool,
    /// The mode of all its rules; `None`: each has its own.
    counts_as: Option<Mode>,
    /// The mode of what refuses pods before the rules are evaluated.
    before: Mode,
    /// What a fault of what narrows the policy does.
    on_error: OnError,
    /// The policy leaves pods alone for which a `let` with `missing` is absent.
    skips_absent: bool,
}

/// The rules of a part of a policy.
#[derive(Clone, Copy, Debug)]
pub struct Rules<'p> {
    /// The policy.
    pub policy: &'p Policy,
    part: &'p PolicyPart,
}

impl PolicyPart {
    /// All rules of a policy, whatever they may do.
    pub fn whole(policy: &Policy) -> Self {
        Self {
            rules: (0..policy.rules.len()).collect(),
            mode: None,
            counts: false,
            counts_as: None,
            before: policy.modes.policy,
            on_error: policy.on_error,
            skips_absent: false,
        }
    }

    /// The rules that decide. `before bind`, `after bind`, `after failure`, `reserve` and `queue by` have the mode of the
    /// policy.
    pub fn deciding(policy: &Policy) -> Self {
        let orders = policy.orders_queue();
        let chosen = |rule: &Rule| match rule.body {
            Body::Queue(_) => orders,
            _ => rule.head.mode == Mode::Enforce,
        };
        let decides = policy.modes.policy == Mode::Enforce;
        Self {
            rules: places(policy, |rule| rule.body.is_of_policy() || chosen(rule)),
            // After a fault of `applies when` these rules leave the pod alone: the policy must not refuse it.
            on_error: if decides { policy.on_error } else { OnError::Ignore },
            // A value that is absent refuses in the mode of the policy. The rules that decide cannot do without it.
            skips_absent: !decides,
            ..Self::whole(policy)
        }
    }

    /// The parts that count: for every pod, and for the pods for which rules do not decide.
    pub fn counting(policy: &Policy) -> impl Iterator<Item = Self> {
        let always = Self::of_mode(policy, |rule| rule.head.mode.counts(), (None, policy.modes.policy));
        let others = policy.decides_when().map(|when| {
            let decides = |rule: &Rule| rule.head.mode == Mode::Enforce;
            Self::of_mode(policy, decides, (Some(when), policy.modes.otherwise))
        });
        let of_rules = policy.rules.iter().filter_map(|rule| match rule.body {
            Body::DecidesWhen(id) => Some(id),
            _ => None,
        });
        let of_rules = of_rules.map(|id| Self::of_others(policy, id));
        [Some(always), others].into_iter().flatten().chain(of_rules).filter(|part| part.says(policy))
    }

    /// Rules that count in the mode of the policy, or of its other pods.
    fn of_mode(
        policy: &Policy,
        wants: impl Fn(&Rule) -> bool,
        (when, before): (Option<&Expr>, Mode),
    ) -> Self {
        let refuses = before.counts();
        Self {
            rules: places(policy, |rule| is_counted(rule, &wants)),
            mode: when.map(others),
            counts: true,
            counts_as: when.map(|_| before),
            before,
            on_error: if refuses { policy.on_error } else { OnError::Ignore },
            skips_absent: !refuses,
        }
    }

    /// Rules that decide for some pods, for the others. What refuses a pod before them does so in the mode of the policy.
    fn of_others(policy: &Policy, decides: LetId) -> Self {
        let leaves = |leave: &Leave| matches!(leave.by, LeftBy::Mode(id, _) if id == decides);
        let of = policy.rules.iter().flat_map(|rule| &rule.head.guard).filter_map(Leave::decides);
        let otherwise = of.into_iter().find(|(id, _)| *id == decides).map(|(_, otherwise)| otherwise);
        Self {
            rules: places(policy, |rule| is_counted(rule, &|rule| rule.head.guard.iter().any(leaves))),
            mode: Some(others(&policy[decides].value)),
            counts: true,
            counts_as: otherwise,
            before: policy.modes.policy,
            on_error: OnError::Ignore,
            skips_absent: true,
        }
    }

    /// Whether anything of it would refuse a pod, move it or evict another.
    fn says(&self, policy: &Policy) -> bool {
        let rules = Rules { policy, part: self };
        let refuses = |of: &Rule| match &of.body {
            Body::Missing(id) => {
                let refuses = |of: &Missing| matches!(of, Missing::Reject(_) | Missing::Error);
                !self.skips_absent && policy[*id].missing.as_ref().is_some_and(refuses)
            }
            Body::Reserve(of) => !of.checks.is_empty(),
            body => !body.is_of_policy(),
        };
        rules.iter().any(refuses)
    }
}

/// The places of rules.
fn places(policy: &Policy, wants: impl Fn(&Rule) -> bool) -> Vec<usize> {
    let rules = policy.rules.iter().enumerate();
    rules.filter(|(_, rule)| wants(rule)).map(|(at, _)| at).collect()
}

/// Whether a rule belongs to a part that counts: what orders or writes is never counted.
fn is_counted(rule: &Rule, wants: &impl Fn(&Rule) -> bool) -> bool {
    match rule.body {
        Body::Mode(_) | Body::DecidesWhen(_) | Body::Queue(_) | Body::Acts(_) => false,
        _ => rule.body.is_of_policy() || wants(rule),
    }
}

/// The pods for which a condition does not hold, as what narrows a part.
fn others(when: &Expr) -> Rule {
    let when = negated(when);
    Rule { head: Head::of("mode", when.span), body: Body::Mode(when) }
}

impl<'p> Rules<'p> {
    /// The rules of a part of its policy.
    pub fn new(policy: &'p Policy, part: &'p PolicyPart) -> Self {
        Self { policy, part }
    }

    /// The rules, in the order in which an attempt evaluates them.
    pub fn iter(self) -> impl Iterator<Item = &'p Rule> {
        let own = self.part.rules.iter().filter_map(move |at| self.policy.rules.get(*at));
        let mode = self.part.mode.as_ref();
        own.clone()
            .take_while(|rule| matches!(rule.body, Body::Applies(_)))
            .chain(mode)
            .chain(own.skip_while(|rule| matches!(rule.body, Body::Applies(_))))
    }

    /// The rules of one extension point.
    pub fn at(self, point: Point) -> impl Iterator<Item = &'p Rule> {
        self.iter().filter(move |rule| rule.point() == point)
    }

    /// The statements of a rule. What a part that counts would write is left out.
    pub fn statements(self, rule: &'p Rule) -> impl Iterator<Item = Statement<'p>> {
        let statements = rule.statements(self.policy).map(move |statement| match statement {
            Statement::Missing(of, _) if self.part.skips_absent => Statement::Missing(of, &Missing::Skip),
            statement => statement,
        });
        statements.filter(move |of| !self.part.counts || !matches!(of, Statement::Write(_)))
    }

    /// The guard of a rule. A part that counts is narrowed to the pods of its rules already.
    pub fn guard(self, rule: &'p Rule) -> impl Iterator<Item = &'p Leave> {
        let counts = self.part.counts;
        rule.head.guard.iter().filter(move |leave| !counts || leave.decides().is_none())
    }

    /// The condition of a statement with the guard of its rule: where the guard holds, it is what lets the pod be. One
    /// expression, so that a scan tests 64 nodes at once, and what reads the pod alone is computed once for it. `None`: there
    /// is neither. What a score gives is not joined: its guard is evaluated first.
    pub fn condition(self, rule: &'p Rule, statement: Statement<'p>) -> Option<Cow<'p, Expr>> {
        let condition = statement.condition().map(Cow::Borrowed);
        let alone = match statement {
            Statement::Check(check) => !check.refuses_when,
            Statement::Wait(_) => true,
            Statement::Only(_) | Statement::Write(_) | Statement::Victim(_) => false,
            _ => return condition,
        };
        let span = condition.as_ref().map_or(rule.span(), |condition| condition.span);
        self.guard(rule).fold(condition, |condition, leave| {
            let holds = Box::new(leave.holds.clone());
            let rest = condition.map(|condition| Box::new(condition.into_owned()));
            let kind = match (alone, rest) {
                (true, rest) => ExprKind::Or(holds, rest?),
                (false, None) => ExprKind::Not(holds),
                (false, Some(rest)) => {
                    ExprKind::And(Box::new(condition_at(leave.holds.span, ExprKind::Not(holds))), rest)
                }
            };
            Some(Cow::Owned(condition_at(span, kind)))
        })
    }

    /// How far a rule of the part may go.
    pub fn mode(self, rule: &Rule) -> Mode {
        self.part.counts_as.unwrap_or(rule.head.mode)
    }

    /// The mode of what refuses pods before the rules are evaluated.
    pub fn mode_before_rules(self) -> Mode {
        self.part.before
    }

    /// What a fault of what narrows the policy does.
    pub fn on_error(self) -> OnError {
        self.part.on_error
    }

    /// What narrows the part: the policy, and the pods for which it has its mode.
    pub fn narrows(self) -> impl Iterator<Item = &'p Expr> {
        let modes = self.iter().filter_map(|rule| match &rule.body {
            Body::Mode(when) => Some(when),
            _ => None,
        });
        self.policy.narrows().chain(modes)
    }

    /// The names under which people know what may refuse a pod, move it or evict another.
    pub fn names(self) -> impl Iterator<Item = &'p str> {
        self.iter().filter_map(|rule| match rule.body {
            Body::Missing(_) => Some("missing"),
            Body::Mode(_) | Body::DecidesWhen(_) | Body::Except(_) | Body::Ledger(_) => None,
            Body::Preempt | Body::Never(_) | Body::Victim(_) | Body::EvictionGuard(_) => Some("preempt"),
            _ => Some(rule.name()),
        })
    }
}
