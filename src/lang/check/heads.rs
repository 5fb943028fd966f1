//! The heads of rules: their names, and the modes that the text gives them. The statements of a block that have modes of
//! their own become several rules, each with one mode.

use super::modes::RuleModes;
use crate::syntax::ast::{self, StatementKind, Text};
use crate::typed::{Body, Check, Head, Permit, Policy, Wait};
use bayplan_diag::Span;

/// The head of a statement's rule.
pub(super) fn head_of(statement: &ast::Statement, modes: &RuleModes, policy: &Policy) -> Head {
    let name = match &statement.kind {
        StatementKind::Filter(of) => of.name.text.clone(),
        StatementKind::Score(of) => of.name.text.clone(),
        StatementKind::Queue(_) => Text::from("queue"),
        kind => Text::from(kind.id().map_or("", |id| id.def().words)),
    };
    let (mode, guard) = modes.of(statement.span, policy);
    Head { name, doc: statement.doc.as_ref().map(|doc| doc.text.clone()), mode, guard, span: statement.span }
}

/// The head of a rule about evictions.
pub(super) fn head_of_eviction(span: Span, body: &Body, modes: &RuleModes, policy: &Policy) -> Head {
    let name = match body {
        Body::Never(_) => "never",
        Body::Victim(of) => of.word(),
        Body::EvictionGuard(_) => "guard",
        _ => "preempt",
    };
    let (mode, guard) = modes.of(span, policy);
    Head { mode, guard, ..Head::of(name, span) }
}

/// The statements of a block in runs that share a mode, each with its head.
pub(super) fn runs<T>(
    head: &Head,
    statements: Vec<T>,
    place: impl Fn(&T) -> Span,
    modes: &RuleModes,
    policy: &Policy,
) -> Vec<(Head, Vec<T>)> {
    let mut runs: Vec<(Head, Vec<T>)> = Vec::new();
    for statement in statements {
        let (mode, guard) = modes.of(place(&statement), policy);
        let shares = |of: &Head| {
            of.mode == mode && of.guard.iter().map(|leave| leave.by).eq(guard.iter().map(|leave| leave.by))
        };
        match runs.last_mut().filter(|(head, _)| shares(head)) {
            Some((_, run)) => run.push(statement),
            None => runs.push((Head { mode, guard, ..head.clone() }, vec![statement])),
        }
    }
    if runs.is_empty() {
        runs.push((head.clone(), Vec::new()));
    }
    runs
}

/// A statement of `permit`.
pub(super) enum OfPermit {
    Check(Check),
    Wait(Wait),
}

impl OfPermit {
    /// Those of a block: checks are evaluated before waits.
    pub(super) fn all(of: Permit) -> Vec<Self> {
        let checks = of.checks.into_iter().map(Self::Check);
        checks.chain(of.waits.into_iter().map(Self::Wait)).collect()
    }

    pub(super) fn span(&self) -> Span {
        match self {
            Self::Check(of) => of.span,
            Self::Wait(of) => of.span,
        }
    }

    pub(super) fn together(statements: Vec<Self>) -> Permit {
        let mut permit = Permit { checks: Vec::new(), waits: Vec::new() };
        for statement in statements {
            match statement {
                Self::Check(of) => permit.checks.push(of),
                Self::Wait(of) => permit.waits.push(of),
            }
        }
        permit
    }
}
