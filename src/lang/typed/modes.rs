//! [`Mode`]: how far a policy and its rules may go, and the parts of a policy by it: the rules that decide, and those that
//! only count what they would have done.
//!
//! A policy whose rules do not all decide is lowered in parts, each a policy of the same declarations, so that rules
//! that only count cannot change a decision. The condition of a rule that decides for some pods is a hidden `let`.
//! Indexes are those of the whole policy: a ledger is kept in every mode.

use super::exceptions::Leave;
use super::{Expr, ExprKind, LetId, Missing, Policy, PrefilterStatement, Rule};
use crate::diag::Span;
use crate::lang::syntax::ast::OnError;
use crate::lang::types::Type;
use crate::lang::types::range::Range;
use crate::model::Time;
use rustc_hash::FxHashMap;

/// How far a policy or a rule may go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Mode {
    /// It decides.
    #[default]
    Enforce,
    /// It is counted, and the pod's owner gets an event.
    Warn,
    /// It is counted.
    Audit,
    /// It is compiled only.
    Off,
}

impl Mode {
    /// Each with its word.
    pub const WORDS: [(&'static str, Mode); 4] =
        [("enforce", Mode::Enforce), ("warn", Mode::Warn), ("audit", Mode::Audit), ("off", Mode::Off)];

    /// The mode of a word.
    pub fn of(word: &str) -> Option<Mode> {
        Self::WORDS.into_iter().find(|(known, _)| *known == word).map(|(_, mode)| mode)
    }

    /// Its word.
    pub fn word(self) -> &'static str {
        Self::WORDS.into_iter().find(|(_, mode)| *mode == self).map_or("", |(word, _)| word)
    }

    /// Whether the rule is evaluated after the decision.
    pub fn counts(self) -> bool {
        matches!(self, Mode::Warn | Mode::Audit)
    }
}

/// The modes of a policy and of its rules.
#[derive(Clone, Debug, Default)]
pub struct Modes {
    /// That of the policy, for rules without their own.
    pub policy: Mode,
    /// Those that rules say themselves, by the place of the rule; of `prefilter`, `permit` and `preempt` by the place of each
    /// statement inside.
    pub rules: FxHashMap<Span, Mode>,
    /// The pods to which the policy applies in this mode. In a ledger every pod counts.
    pub when: Option<Expr>,
    /// Its mode for the other pods.
    pub otherwise: Mode,
    /// The rules that decide for some pods. Their mode in `rules` is `enforce`.
    pub canaries: Vec<Canary>,
    /// The days until which modes are meant. A mode does not change by itself.
    pub until: Vec<Until>,
}

/// `mode enforce when E else M` of a rule.
#[derive(Clone, Debug)]
pub struct Canary {
    /// The hidden `let` of `E`, which holds for the pods for which the rule decides.
    pub holds: LetId,
    /// Whether the rule decides for a pod: the value of that `let`.
    pub decides: Expr,
    /// The mode for the other pods.
    pub otherwise: Mode,
    /// The places of the rule, as in [`Modes::rules`].
    pub rules: Vec<Span>,
}

/// The day until which a mode is meant.
#[derive(Clone, Copy, Debug)]
pub struct Until {
    /// The mode.
    pub mode: Mode,
    /// The end of the day in UTC.
    pub end: Time,
    /// The day in the text.
    pub span: Span,
}

impl Modes {
    /// The mode of the rule at a place.
    pub fn of(&self, rule: Span) -> Mode {
        self.rules.get(&rule).copied().unwrap_or(self.policy)
    }

    /// What says for which pods the rule at a place decides; `None`: its mode is the same for all.
    pub fn canary(&self, rule: Span) -> Option<&Canary> {
        self.canaries.iter().find(|canary| canary.rules.contains(&rule))
    }

    /// Whether every rule decides.
    pub fn all_enforce(&self) -> bool {
        self.when.is_none()
            && self.canaries.is_empty()
            && self.policy == Mode::Enforce
            && self.rules.values().all(|mode| *mode == Mode::Enforce)
    }
}

impl Canary {
    /// Of the rule at some places, with the hidden `let` of its condition, and where that is.
    pub fn new((holds, span): (LetId, Span), otherwise: Mode, rules: Vec<Span>) -> Self {
        let decides =
            Expr { kind: ExprKind::Let(holds), ty: Type::Bool, range: Range::of(&Type::Bool), span };
        Self { holds, decides, otherwise, rules }
    }
}

/// The places of a rule, as in [`Modes::rules`]; none where it has no mode of its own.
fn places(rule: Rule<'_>) -> Vec<Span> {
    match rule {
        Rule::Applies(_)
        | Rule::Mode(..)
        | Rule::Except(..)
        | Rule::Ledger(_)
        | Rule::Guard(_)
        | Rule::Queue(_)
        | Rule::Reserve(_)
        | Rule::Acts(_) => Vec::new(),
        Rule::Prefilter(_) | Rule::Permit(_) => rule.statements().map(|statement| statement.span()).collect(),
        _ => vec![rule.span()],
    }
}

/// The place of a negation is not that of the condition: traces tell them apart.
fn negated(condition: &Expr) -> Expr {
    let (ty, range, span) = (condition.ty.clone(), condition.range, condition.span.at_end());
    Expr { kind: ExprKind::Not(Box::new(condition.clone())), ty, range, span }
}

impl Policy {
    /// The rules that decide. `before bind`, `after bind`, `after failure`, `reserve` and `queue by` have the mode of the
    /// policy.
    pub fn deciding(&self) -> Policy {
        let mut part = self.part(|span| self.modes.of(span) == Mode::Enforce);
        for canary in &self.modes.canaries {
            let other = negated(&canary.decides);
            part.leave(&Leave::when(other), &|span| canary.rules.contains(&span));
        }
        if !self.orders_queue() {
            part.queue = None;
        }
        if self.modes.policy == Mode::Enforce {
            return part;
        }
        part.acts.clear();
        part.reserves.clear();
        // After a fault of `applies when` these rules leave the pod alone: the policy must not refuse it.
        part.on_error = OnError::Ignore;
        // A value that is absent refuses in the mode of the policy. The rules that decide cannot do without it.
        for of in &mut part.lets {
            of.missing = of.missing.take().map(|_| Missing::Skip);
        }
        part
    }

    /// The conditions for which the policy and rules have their mode, and whose they are: of the policy where it is `None`.
    pub fn mode_conditions(&self) -> impl Iterator<Item = (&Expr, Option<&Canary>)> {
        let of_rules = self.modes.canaries.iter().map(|of| (&self[of.holds].value, Some(of)));
        self.modes.when.iter().map(|when| (when, None)).chain(of_rules)
    }

    /// The modes of a rule; several where the statements of a block say theirs. Ledgers, and what narrows the policy, have
    /// none: they are the same whatever the rules may do.
    pub fn modes_of(&self, rule: Rule<'_>) -> Vec<Mode> {
        let mut modes: Vec<Mode> = match rule {
            Rule::Guard(_) | Rule::Queue(_) | Rule::Reserve(_) | Rule::Acts(_) => vec![self.modes.policy],
            _ => places(rule).into_iter().map(|span| self.modes.of(span)).collect(),
        };
        modes.dedup();
        modes
    }

    /// Those that say for which pods a rule decides.
    pub fn canaries_of(&self, rule: Rule<'_>) -> Vec<&Canary> {
        let mut canaries: Vec<&Canary> =
            places(rule).into_iter().filter_map(|span| self.modes.canary(span)).collect();
        canaries.dedup_by_key(|canary| canary.holds);
        canaries
    }

    /// The names under which the rules of a part are counted.
    pub fn counted_names(&self) -> Vec<&str> {
        let mut names = Vec::new();
        names.extend((!self.applies.is_empty()).then_some("applies when"));
        names.extend(self.lets.iter().any(|of| of.missing.is_some()).then_some("missing"));
        names.extend((!self.gates.is_empty()).then_some("gate"));
        names.extend((!self.prefilters.is_empty()).then_some("prefilter"));
        names.extend(self.filters.iter().map(|filter| &*filter.name));
        names.extend(self.scores.iter().map(|score| &*score.name));
        names.extend(self.preempt.is_some().then_some("preempt"));
        names.extend((!self.reserves.is_empty()).then_some("reserve"));
        names.extend((!self.permits.is_empty()).then_some("permit"));
        names
    }

    /// Whether it orders the queue.
    pub fn orders_queue(&self) -> bool {
        self.queue.is_some() && self.modes.policy == Mode::Enforce && self.modes.when.is_none()
    }

    /// The rules that count what they would have done: those that count for every pod, and those that decide for some pods
    /// and count for the others.
    pub fn counting(&self) -> impl Iterator<Item = Policy> {
        let mut always = self.part(|span| self.modes.of(span).counts());
        always.modes.when = None;
        always.modes.canaries.clear();
        let others = self.modes.when.as_ref().map(|when| {
            let mut others = self.part(|span| self.modes.of(span) == Mode::Enforce);
            others.modes.when = Some(negated(when));
            others.modes.policy = self.modes.otherwise;
            others
        });
        let of_rules = self.modes.canaries.iter().filter_map(|canary| {
            let mut part = self.part(|span| canary.rules.contains(&span));
            part.modes.when = Some(negated(&self[canary.holds].value));
            part.modes.canaries.clear();
            part.modes.rules.extend(canary.rules.iter().map(|span| (*span, canary.otherwise)));
            // What refuses the pod before its rules does so in the mode of the policy.
            part.counts(Mode::Off)
        });
        let always = always.counts(self.modes.policy);
        let others = others.and_then(|others| others.counts(self.modes.otherwise));
        always.into_iter().chain(others).chain(of_rules)
    }

    /// A part without what is never counted; `None` when nothing is left. `mode` is that of the part.
    fn counts(self, mode: Mode) -> Option<Policy> {
        let mut part = self;
        part.acts.clear();
        part.queue = None;
        for reserve in &mut part.reserves {
            reserve.writes.clear();
        }
        let mut refuses_absent = false;
        if mode.counts() {
            refuses_absent =
                part.lets.iter().any(|of| matches!(of.missing, Some(Missing::Reject(_) | Missing::Error)));
        } else {
            part.reserves.clear();
            part.on_error = OnError::Ignore;
            for of in &mut part.lets {
                of.missing = of.missing.take().map(|_| Missing::Skip);
            }
        }
        let counts = refuses_absent
            || part.preempt.is_some()
            || !part.gates.is_empty()
            || !part.prefilters.is_empty()
            || !part.filters.is_empty()
            || !part.scores.is_empty()
            || part.reserves.iter().any(|reserve| !reserve.checks.is_empty())
            || !part.permits.is_empty();
        counts.then_some(part)
    }

    /// The policy with the rules that are wanted, by their places. Declarations stay, and with them the ids that expressions
    /// have.
    fn part(&self, wants: impl Fn(Span) -> bool) -> Policy {
        let mut part = self.clone();
        part.gates.retain(|gate| wants(gate.span));
        for prefilter in &mut part.prefilters {
            prefilter.statements.retain(|statement| match statement {
                PrefilterStatement::Check(of) => wants(of.span),
                PrefilterStatement::Only(of) => wants(of.span),
            });
        }
        part.prefilters.retain(|prefilter| !prefilter.statements.is_empty());
        part.filters.retain(|filter| wants(filter.span));
        part.scores.retain(|score| wants(score.span));
        for permit in &mut part.permits {
            permit.checks.retain(|check| wants(check.span));
            permit.waits.retain(|wait| wants(wait.span));
        }
        part.permits.retain(|permit| !permit.checks.is_empty() || !permit.waits.is_empty());
        if let Some(preempt) = &mut part.preempt {
            preempt.nevers.retain(|check| wants(check.span));
            preempt.victims.retain(|victim| wants(victim.span));
            preempt.guards.retain(|check| wants(check.span));
        }
        // A block without statements still makes the policy a plugin that evicts.
        let wrote = self.preempt.as_ref().is_some_and(|of| !of.is_empty());
        if wrote && part.preempt.as_ref().is_some_and(super::Preempt::is_empty) {
            part.preempt = None;
        }
        part
    }
}
