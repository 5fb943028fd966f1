//! [`Exception`]: pods that a policy, or one of its rules, leaves alone up to the end of a day.
//!
//! An exception is a hidden `let` that holds for these pods until then. [`Policy::except`] puts it into the guards of the
//! rules that it is about. In `preempt` an exception is about the pod that preempts: where it applies, the rule names no
//! victims.

use super::guard::{Leave, condition_at};
use super::{Body, ExceptionId, Expr, ExprKind, Head, LetId, Policy, Rule};
use crate::syntax::ast::Text;
use bayplan_diag::Span;
use bayplan_model::Time;

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

/// The rules of a policy that an exception is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Excepted {
    /// All of the policy.
    Policy,
    /// The rules of the statement at a place.
    At(Span),
    /// All rules that are called by this word.
    All(&'static str),
}

impl Excepted {
    /// The rules of a policy with this name: of a filter or score its own, of a block its word.
    pub fn named(policy: &Policy, name: &str) -> Option<Self> {
        let own = policy.rules.iter().find(|rule| has_own_name(rule) && rule.name() == name);
        let words = || policy.rules.iter().filter_map(word).find(|word| *word == name);
        own.map(|rule| Self::At(rule.span())).or_else(|| words().map(Self::All))
    }

    /// The names that [`Excepted::named`] knows, each once.
    pub fn names(policy: &Policy) -> Vec<&str> {
        let own = policy.rules.iter().filter(|rule| has_own_name(rule)).map(Rule::name);
        let mut words: Vec<&str> = policy.rules.iter().filter_map(word).collect();
        words.dedup();
        own.chain(words).collect()
    }

    fn is_about(self, rule: &Rule) -> bool {
        match self {
            Self::Policy => false,
            Self::At(span) => (has_own_name(rule) || word(rule).is_some()) && span.contains(rule.span()),
            Self::All(all) => word(rule) == Some(all),
        }
    }
}

fn has_own_name(rule: &Rule) -> bool {
    matches!(rule.body, Body::Filter(_) | Body::Score(_))
}

/// The word by which exceptions call a rule that has no name of its own.
fn word(rule: &Rule) -> Option<&'static str> {
    match rule.body {
        Body::Gate(_) => Some("gate"),
        Body::Prefilter(_) => Some("prefilter"),
        Body::Reserve(_) => Some("reserve"),
        Body::Permit(_) => Some("permit"),
        Body::Preempt | Body::Never(_) | Body::Victim(_) | Body::EvictionGuard(_) => Some("preempt"),
        _ => None,
    }
}

impl Policy {
    /// What narrows the policy: `applies when`, and no exception of all of it.
    pub fn narrows(&self) -> impl Iterator<Item = &Expr> {
        self.applies().iter().chain(&self.unless)
    }

    /// The conditions that choose the pods of the policy: what narrows it, without the ends of exceptions.
    pub(crate) fn chooses_by(&self) -> impl Iterator<Item = &Expr> {
        let whole = self.exceptions.iter().filter(|of| of.rule.is_none());
        self.applies().iter().chain(whole.filter_map(|of| self.excepted_pods(of)))
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
    pub(crate) fn excepted_pods(&self, exception: &Exception) -> Option<&Expr> {
        match &self[exception.holds].value.kind {
            ExprKind::And(when, _) => Some(when),
            _ => None,
        }
    }

    /// Lets what an exception is about leave its pods alone.
    pub fn except(&mut self, exception: Exception, about: Excepted) {
        let (id, span) = (ExceptionId(self.exceptions.len() as u32), exception.span);
        let leave = Leave::by_exception(id, (exception.holds, span));
        self.exceptions.push(exception);
        if about == Excepted::Policy {
            self.unless.push(condition_at(span, ExprKind::Not(Box::new(leave.holds.clone()))));
        }
        for rule in self.rules.iter_mut().filter(|rule| about.is_about(rule)) {
            rule.head.guard.push(leave.clone());
        }
        self.add_rule(Head::of("except", span), Body::Except(id));
    }
}
