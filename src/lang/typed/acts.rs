//! [`Acts`]: what a policy does after an attempt. Each act is a row of [`Does`]; a further one is a variant there, its
//! check in `check::acts`, its closure in `codegen::acts`, and what the plugin makes of it.

use super::reads::Reads;
use super::{Expr, GroupId, MemoId, Point, Reason};
use crate::diag::Span;

/// `after failure { … }`
#[derive(Clone, Debug)]
pub struct Acts {
    /// When they are carried out.
    pub point: Point,
    /// In the order of the text.
    pub acts: Vec<Act>,
    /// The statement.
    pub span: Span,
}

/// An act with its condition.
#[derive(Clone, Debug)]
pub struct Act {
    /// What is done.
    pub does: Does,
    /// Evaluated first; without one, always.
    pub when: Option<Expr>,
    /// What condition and values read.
    pub reads: Reads,
    /// The statement.
    pub span: Span,
}

/// What an act does.
#[derive(Clone, Debug)]
pub enum Does {
    /// `release G "r"`: refuses the waiting members of a group.
    Release(GroupId, Reason),
    /// `activate G`: tries the unschedulable members of a group again.
    Activate(GroupId),
    /// `remember M = E`: sets a memo under the pod's key; an absent value forgets it.
    Remember(MemoId, Expr),
}

impl Acts {
    /// The words of the statement.
    pub fn words(&self) -> &'static str {
        "after failure"
    }

    /// Whether it may refuse waiting pods.
    pub fn releases(&self) -> bool {
        self.acts.iter().any(|act| matches!(act.does, Does::Release(..)))
    }
}

impl Does {
    /// The first word in the text.
    pub fn word(&self) -> &'static str {
        match self {
            Does::Release(..) => "release",
            Does::Activate(_) => "activate",
            Does::Remember(..) => "remember",
        }
    }

    /// The group whose members it concerns.
    pub fn group(&self) -> Option<GroupId> {
        match self {
            Does::Release(group, _) | Does::Activate(group) => Some(*group),
            Does::Remember(..) => None,
        }
    }

    /// Why it refuses pods, where it does.
    pub fn reason(&self) -> Option<&Reason> {
        match self {
            Does::Release(_, reason) => Some(reason),
            Does::Activate(_) | Does::Remember(..) => None,
        }
    }

    /// What it remembers.
    pub fn value(&self) -> Option<&Expr> {
        match self {
            Does::Remember(_, value) => Some(value),
            Does::Release(..) | Does::Activate(_) => None,
        }
    }

    /// [`Does::reason`], to change.
    pub fn reason_mut(&mut self) -> Option<&mut Reason> {
        match self {
            Does::Release(_, reason) => Some(reason),
            Does::Activate(_) | Does::Remember(..) => None,
        }
    }
}
