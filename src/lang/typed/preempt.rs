//! `victim` and `protect` of `preempt`: which pods may be evicted for the pod.

use super::reads::RuleReads;
use super::{Expr, SlotId};
use crate::syntax::ast::{OnError, Text};
use bayplan_diag::Span;

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
    pub reads: RuleReads,
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
