//! [`Exception`]: pods that a policy, or one of its rules, leaves alone up to the end of a day.
//!
//! An exception is a hidden `let` that holds for these pods until then. [`Policy::except`] writes it into the conditions of
//! what it is about, so that whatever evaluates or analyses a condition knows it.
//!
//! A condition `c` becomes `!E && c`, one that must be true `E || c`, so that hints, bounds, clocks, ledgers and both
//! evaluators know nothing of exceptions. In `preempt` an exception is about the pod that preempts: where it applies,
//! the statements name no victims.

use super::{Check, Expr, ExprKind, Give, LetId, Policy, PrefilterStatement, Unless};
use crate::diag::Span;
use crate::lang::syntax::ast::Text;
use crate::lang::types::Type;
use crate::lang::types::range::Range;
use crate::model::Time;

/// `except until DATE because "…" [when E]`
#[derive(Clone, Debug)]
pub struct Exception {
    /// The rule that leaves the pods alone; `None`: the whole policy does, and its ledgers.
    pub rule: Option<Text>,
    /// The day as it is written.
    pub until: Text,
    /// The end of the day in UTC.
    pub end: Time,
    /// Why it was made.
    pub because: Text,
    /// Holds while the exception does: `E && now() < end`.
    pub holds: LetId,
    /// The condition in the text; without one it is about every pod.
    pub when: Option<Span>,
    /// No comment allows that it ends.
    pub reported: bool,
    /// The day in the text.
    pub day: Span,
    /// The statement.
    pub span: Span,
}

/// The rule of a policy that an exception is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Excepted {
    /// All of the policy.
    Policy,
    /// A filter or score, by its name.
    Named(Span),
    /// All `prefilter`, or the one at a place.
    Prefilters(Option<Span>),
    /// All `reserve`, or the one at a place.
    Reserves(Option<Span>),
    /// All `permit`, or the one at a place.
    Permits(Option<Span>),
    /// The statements of all `preempt`, or of the one at a place.
    Preempts(Option<Span>),
    /// All gates.
    Gates,
}

impl Excepted {
    /// The rule of a policy with this name: of a filter or score its own, of a block its word.
    pub fn named(policy: &Policy, name: &str) -> Option<Self> {
        let filters = policy.filters.iter().map(|of| (&of.name, of.span));
        let mut named = filters.chain(policy.scores.iter().map(|of| (&of.name, of.span)));
        let own = named.find(|(of, _)| ***of == *name).map(|(_, span)| Self::Named(span));
        own.or_else(|| words(policy).find(|(word, _)| *word == name).map(|(_, about)| about))
    }

    /// The names that [`Excepted::named`] knows.
    pub fn names(policy: &Policy) -> Vec<&str> {
        let mut names: Vec<&str> = policy.filters.iter().map(|of| &*of.name).collect();
        names.extend(policy.scores.iter().map(|of| &*of.name));
        names.extend(words(policy).map(|(word, _)| word));
        names
    }
}

/// The words of the policy's rules that have no name.
fn words(policy: &Policy) -> impl Iterator<Item = (&'static str, Excepted)> {
    let all = [
        ("gate", Excepted::Gates, policy.gates.is_empty()),
        ("prefilter", Excepted::Prefilters(None), policy.prefilters.is_empty()),
        ("reserve", Excepted::Reserves(None), policy.reserves.is_empty()),
        ("permit", Excepted::Permits(None), policy.permits.is_empty()),
        ("preempt", Excepted::Preempts(None), policy.preempt.is_none()),
    ];
    all.into_iter().filter(|(_, _, is_empty)| !is_empty).map(|(word, about, _)| (word, about))
}

fn bool_at(kind: ExprKind, span: Span) -> Expr {
    Expr { kind, ty: Type::Bool, range: Range::of(&Type::Bool), span }
}

impl Policy {
    /// What narrows the policy: `applies when`, and no exception of all of it.
    pub fn narrows(&self) -> impl Iterator<Item = &Expr> {
        self.applies.iter().chain(&self.unless)
    }

    /// The conditions that choose the pods of the policy: what narrows it, without the ends of exceptions.
    pub fn chooses_by(&self) -> impl Iterator<Item = &Expr> {
        let whole = self.exceptions.iter().filter(|of| of.rule.is_none());
        self.applies.iter().chain(whole.filter_map(|of| self.excepted_pods(of)))
    }

    /// The ends of the exceptions of all of the policy, the first one first.
    pub fn ends(&self) -> Vec<Time> {
        let whole = self.exceptions.iter().filter(|of| of.rule.is_none());
        let mut ends: Vec<Time> = whole.map(|of| of.end).collect();
        ends.sort_unstable();
        ends.dedup();
        ends
    }

    /// The condition of an exception; `None`: it is about every pod.
    pub fn excepted_pods(&self, exception: &Exception) -> Option<&Expr> {
        match &self[exception.holds].value.kind {
            ExprKind::And(when, _) => Some(when),
            _ => None,
        }
    }

    /// Whether an expression says that a rule leaves the pod alone: by an exception, or because it decides for other pods.
    fn leaves_alone(&self, expr: &Expr) -> bool {
        let excepts = |id: LetId| self.exceptions.iter().any(|of| of.holds == id);
        let decides = |id: LetId| self.modes.canaries.iter().any(|of| of.holds == id);
        match &expr.kind {
            ExprKind::Let(id) => excepts(*id),
            ExprKind::Not(inner) => matches!(inner.kind, ExprKind::Let(id) if decides(id)),
            _ => false,
        }
    }

    /// A condition as it was written, without what leaves pods alone; `None`: nothing was written.
    pub fn written<'p>(&self, condition: &'p Expr) -> Option<&'p Expr> {
        match &condition.kind {
            ExprKind::Not(inner) if self.leaves_alone(inner) => None,
            _ if self.leaves_alone(condition) => None,
            ExprKind::Or(left, right) if self.leaves_alone(left) => self.written(right),
            ExprKind::And(left, right) => match &left.kind {
                ExprKind::Not(inner) if self.leaves_alone(inner) => self.written(right),
                _ => Some(condition),
            },
            _ => Some(condition),
        }
    }

    /// What leaves pods alone in a condition, each as the expression that says whether it does.
    pub fn exceptions_in<'p>(&self, mut condition: &'p Expr) -> Vec<&'p Expr> {
        let mut found = Vec::new();
        loop {
            let (exception, rest) = match &condition.kind {
                ExprKind::Or(left, right) => (&**left, Some(right)),
                ExprKind::And(left, right) => match &left.kind {
                    ExprKind::Not(inner) => (&**inner, Some(right)),
                    _ => return found,
                },
                ExprKind::Not(inner) if self.leaves_alone(inner) => (&**inner, None),
                _ => (condition, None),
            };
            if !self.leaves_alone(exception) {
                return found;
            }
            found.push(exception);
            match rest {
                Some(rest) => condition = rest,
                None => return found,
            }
        }
    }

    /// Lets what an exception is about leave its pods alone.
    pub fn except(&mut self, exception: Exception, about: Excepted) {
        let leave = Leave::when(bool_at(ExprKind::Let(exception.holds), exception.span));
        self.exceptions.push(exception);
        let is = |wanted: Option<Span>, span: Span| wanted.is_none_or(|wanted| wanted == span);
        match about {
            Excepted::Policy => self.unless.push(leave.not()),
            Excepted::Named(rule) => self.leave(&leave, &|span| span == rule),
            Excepted::Prefilters(at) => {
                let of = self.prefilters.iter_mut().filter(|of| is(at, of.span));
                of.flat_map(|of| &mut of.statements).for_each(|statement| leave.prefilter(statement));
            }
            Excepted::Gates => self.gates.iter_mut().for_each(|gate| leave.check(gate)),
            Excepted::Reserves(at) => {
                for reserve in self.reserves.iter_mut().filter(|of| is(at, of.span)) {
                    reserve.checks.iter_mut().for_each(|check| leave.check(check));
                    for write in &mut reserve.writes {
                        write.when = Some(leave.and_not(write.when.take(), write.span));
                    }
                }
            }
            Excepted::Permits(at) => {
                for permit in self.permits.iter_mut().filter(|of| is(at, of.span)) {
                    permit.checks.iter_mut().for_each(|check| leave.check(check));
                    permit.waits.iter_mut().for_each(|wait| leave.holds_or(&mut wait.until));
                }
            }
            Excepted::Preempts(at) => {
                self.leave_evictions(&leave, &|span| at.is_none_or(|block| block.contains(span)));
            }
        }
    }

    /// Lets rules leave pods alone, by their places as [`Modes::rules`](super::Modes::rules) has them.
    pub(super) fn leave(&mut self, leave: &Leave, is: &dyn Fn(Span) -> bool) {
        self.gates.iter_mut().filter(|of| is(of.span)).for_each(|gate| leave.check(gate));
        let prefilters = self.prefilters.iter_mut().flat_map(|of| &mut of.statements);
        for statement in prefilters {
            let span = match statement {
                PrefilterStatement::Check(of) => of.span,
                PrefilterStatement::Only(of) => of.span,
            };
            if is(span) {
                leave.prefilter(statement);
            }
        }
        let filters = self.filters.iter_mut().filter(|of| is(of.span));
        filters.flat_map(|of| &mut of.checks).for_each(|check| leave.check(check));
        for score in self.scores.iter_mut().filter(|of| is(of.span)) {
            let when = Some(leave.holds.clone());
            score.gives.insert(0, Give { value: None, when, span: leave.holds.span });
        }
        for permit in &mut self.permits {
            permit.checks.iter_mut().filter(|of| is(of.span)).for_each(|check| leave.check(check));
            let waits = permit.waits.iter_mut().filter(|of| is(of.span));
            waits.for_each(|wait| leave.holds_or(&mut wait.until));
        }
        self.leave_evictions(leave, is);
    }

    /// Writes the exception into the statements of `preempt`: the pods are those that preempt.
    fn leave_evictions(&mut self, leave: &Leave, is: &dyn Fn(Span) -> bool) {
        let Some(preempt) = &mut self.preempt else { return };
        let checks = preempt.nevers.iter_mut().chain(&mut preempt.guards);
        checks.filter(|of| is(of.span)).for_each(|check| leave.check(check));
        for victim in preempt.victims.iter_mut().filter(|of| is(of.span)) {
            victim.condition = leave.and_not(Some(victim.condition.clone()), victim.span);
        }
        let statements: Vec<Span> = preempt.statements().filter(|span| is(*span)).collect();
        if !statements.is_empty() {
            preempt.unless.push(Unless { holds: leave.holds.clone(), statements });
        }
    }
}

/// Writes into conditions which pods are left alone. The whole has the place of what was written.
pub(super) struct Leave {
    holds: Expr,
}

impl Leave {
    /// The pods for which a condition holds.
    pub(super) fn when(holds: Expr) -> Self {
        Self { holds }
    }

    fn prefilter(&self, statement: &mut PrefilterStatement) {
        match statement {
            PrefilterStatement::Check(check) => self.check(check),
            PrefilterStatement::Only(only) => {
                only.when = Some(self.and_not(only.when.take(), only.span));
            }
        }
    }

    fn not(&self) -> Expr {
        bool_at(ExprKind::Not(Box::new(self.holds.clone())), self.holds.span)
    }

    /// `!exception && written`
    fn and_not(&self, written: Option<Expr>, span: Span) -> Expr {
        match written {
            None => Expr { span, ..self.not() },
            Some(written) => {
                let span = written.span;
                bool_at(ExprKind::And(Box::new(self.not()), Box::new(written)), span)
            }
        }
    }

    /// `exception || written`
    fn holds_or(&self, condition: &mut Expr) {
        let span = condition.span;
        let written = std::mem::replace(condition, self.holds.clone());
        *condition = bool_at(ExprKind::Or(Box::new(self.holds.clone()), Box::new(written)), span);
    }

    fn check(&self, check: &mut Check) {
        match &mut check.condition {
            Some(condition) if !check.refuses_when => self.holds_or(condition),
            condition => *condition = Some(self.and_not(condition.take(), check.span)),
        }
    }
}
