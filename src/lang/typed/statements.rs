//! [`Statement`]: one statement of a rule, with its condition, value and reason, whatever the rule is.

use super::{
    Act, Add, Check, Does, Expr, Give, Ledger, Let, Missing, Only, PrefilterStatement, QueueKey, Reason,
    ReasonPart, Victim, Wait, Write,
};
use bayplan_diag::Span;

/// A statement of a rule.
#[derive(Clone, Copy, Debug)]
pub enum Statement<'p> {
    /// A conjunct of `applies when`.
    Condition(&'p Expr),
    /// A `let` with `missing`, and what its absence means.
    Missing(&'p Let, &'p Missing),
    /// `reject … when`, `require`, or a gate.
    Check(&'p Check),
    /// The key of a ledger.
    LedgerKey(&'p Ledger),
    /// `add`
    Add(&'p Add),
    /// A key of `queue by`.
    Key(&'p QueueKey),
    /// `only nodes`
    Only(&'p Only),
    /// `give`
    Give(&'p Give),
    /// `annotate`, `label`
    Write(&'p Write),
    /// `wait`
    Wait(&'p Wait),
    /// `victim` or `protect`
    Victim(&'p Victim),
    /// What is done after an attempt.
    Act(&'p Act),
}

impl<'p> Statement<'p> {
    /// Of a `let`, if it has `missing`.
    pub(super) fn missing(of: &'p Let) -> Option<Self> {
        of.missing.as_ref().map(|missing| Statement::Missing(of, missing))
    }

    /// A statement of `prefilter`.
    pub(super) fn of_prefilter(of: &'p PrefilterStatement) -> Self {
        match of {
            PrefilterStatement::Check(of) => Statement::Check(of),
            PrefilterStatement::Only(of) => Statement::Only(of),
        }
    }

    /// The condition, which is evaluated first.
    pub fn condition(self) -> Option<&'p Expr> {
        match self {
            Statement::Condition(condition) => Some(condition),
            Statement::Check(of) => of.condition.as_ref(),
            Statement::Only(of) => of.when.as_ref(),
            Statement::Give(of) => of.when.as_ref(),
            Statement::Write(of) => of.when.as_ref(),
            Statement::Wait(of) => Some(&of.until),
            Statement::Add(of) => of.when.as_ref(),
            Statement::Act(of) => of.when.as_ref(),
            Statement::Victim(of) => Some(&of.condition),
            Statement::Missing(..) | Statement::Key(_) | Statement::LedgerKey(_) => None,
        }
    }

    /// The value: of a `let`, a key, an `add` or a `give`, the names of nodes, how long to wait.
    pub fn value(self) -> Option<&'p Expr> {
        match self {
            Statement::Missing(of, _) => Some(&of.value),
            Statement::LedgerKey(of) => Some(&of.key),
            Statement::Add(of) => Some(&of.value),
            Statement::Key(of) => Some(&of.value),
            Statement::Only(of) => Some(&of.nodes),
            Statement::Give(of) => of.value.as_ref(),
            Statement::Wait(of) => Some(&of.patience),
            Statement::Condition(_)
            | Statement::Check(_)
            | Statement::Write(_)
            | Statement::Victim(_)
            | Statement::Act(_) => None,
        }
    }

    /// The values that it writes, beside [`Statement::value`].
    pub fn written(self) -> impl Iterator<Item = &'p Expr> {
        let (entries, does) = match self {
            Statement::Write(of) => (of.entries.as_slice(), None),
            Statement::Act(of) => (&[][..], Some(&of.does)),
            _ => (&[][..], None),
        };
        entries.iter().map(|entry| &entry.value).chain(does.into_iter().flat_map(Does::values))
    }

    /// Why it refuses, where it can.
    pub fn reason(self) -> Option<&'p Reason> {
        match self {
            Statement::Check(of) => Some(&of.reason),
            Statement::Wait(of) => Some(&of.reason),
            Statement::Act(of) => of.does.reason(),
            Statement::Missing(_, Missing::Reject(reason)) => Some(reason),
            _ => None,
        }
    }

    /// Where it is written.
    pub fn span(self) -> Span {
        match self {
            Statement::Condition(of) => of.span,
            Statement::Missing(of, _) => of.span,
            Statement::Check(of) => of.span,
            Statement::LedgerKey(of) => of.key.span,
            Statement::Add(of) => of.span,
            Statement::Key(of) => of.value.span,
            Statement::Only(of) => of.span,
            Statement::Give(of) => of.span,
            Statement::Write(of) => of.span,
            Statement::Wait(of) => of.span,
            Statement::Victim(of) => of.span,
            Statement::Act(of) => of.span,
        }
    }
}

impl Reason {
    /// The values that its text shows.
    pub(crate) fn holes(&self) -> impl Iterator<Item = &Expr> {
        self.parts.iter().filter_map(|part| match part {
            ReasonPart::Hole(hole) => Some(hole),
            ReasonPart::Text(_) => None,
        })
    }
}
