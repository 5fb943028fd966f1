//! `preempt`: which pods may be evicted for the pod.

use super::reads::Reads;
use super::{Check, Expr, SlotId};
use crate::diag::Span;
use crate::lang::syntax::ast::{OnError, Text};

/// The statements of all `preempt { … }` of a policy.
#[derive(Clone, Debug, Default)]
pub struct Preempt {
    /// `never`, in the order of the text.
    pub nevers: Vec<Check>,
    /// `victim` and `protect`, in the order of the text.
    pub victims: Vec<Victim>,
    /// `guard`, in the order of the text.
    pub guards: Vec<Check>,
    /// Which pods statements leave alone. Their conditions say so too.
    pub unless: Vec<Unless>,
}

/// The pods for which some statements of `preempt` say nothing.
#[derive(Clone, Debug)]
pub struct Unless {
    /// Whether the pod that preempts is such a pod.
    pub holds: Expr,
    /// The places of the statements.
    pub statements: Vec<Span>,
}

impl Preempt {
    /// The places of its statements.
    pub fn statements(&self) -> impl Iterator<Item = Span> {
        let victims = self.victims.iter().map(|victim| victim.span);
        victims.chain(self.nevers.iter().chain(&self.guards).map(|check| check.span))
    }

    /// What says that the statement at a place leaves the pod that preempts alone.
    pub fn leaves_alone(&self, statement: Span) -> impl Iterator<Item = &Expr> {
        let of = self.unless.iter().filter(move |unless| unless.statements.contains(&statement));
        of.map(|unless| &unless.holds)
    }

    /// Whether it has no statement.
    pub fn is_empty(&self) -> bool {
        self.nevers.is_empty() && self.victims.is_empty() && self.guards.is_empty()
    }
}

/// `victim v [to all pods] when E`, `protect v when E`
#[derive(Clone, Debug)]
pub struct Victim {
    /// It is `protect`.
    pub protects: bool,
    /// A `victim` also of the pods that policies leave alone, of DaemonSets, and static ones.
    pub to_all_pods: bool,
    /// The variable for the pod that may be evicted.
    pub slot: SlotId,
    /// Whether the pod may, or must not, be evicted.
    pub condition: Expr,
    /// What the condition reads, with the direction in which more pods may be evicted.
    pub reads: Reads,
    /// What a fault of the condition does. Whatever it says, such a pod may not be evicted.
    pub on_error: OnError,
    /// The doc comment.
    pub doc: Option<Text>,
    /// The statement.
    pub span: Span,
}

impl Victim {
    /// Its word.
    pub fn word(&self) -> &'static str {
        if self.protects { "protect" } else { "victim" }
    }
}
