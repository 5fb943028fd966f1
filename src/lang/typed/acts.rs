//! [`Acts`]: what a policy does before and after the binding, and after an attempt that failed. Each act is a row of [`Does`]; a further one is a variant there, its
//! check in `check::acts`, its closure in `codegen::acts`, and what the plugin makes of it.

use super::reads::RuleReads;
use super::{Expr, GroupId, MemoId, Point, Reason, WriteEntry};
use crate::syntax::ast::{Text, WriteVerb};
use crate::types::ObjectKind;
use bayplan_diag::Span;
use bayplan_model::KINDS;
use std::sync::Arc;

/// `before bind { … }`, `after bind { … }`, `after failure { … }`
#[derive(Clone, Debug)]
pub struct Acts {
    /// When they are carried out.
    pub point: Point,
    /// In the order of the text.
    pub acts: Vec<Act>,
}

/// An act with its condition.
#[derive(Clone, Debug)]
pub struct Act {
    /// What is done.
    pub does: Does,
    /// Evaluated first; without one, always.
    pub when: Option<Expr>,
    /// What condition and values read.
    pub reads: RuleReads,
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
    /// `annotate X {…}`, `label X {…}`, `patch X {…}`
    Write(Target, WriteVerb, Vec<WriteEntry>),
    /// `event X normal "R" "text"`
    Event(Target, EventOf),
}

/// An event, beside what it is about.
#[derive(Clone, Debug)]
pub struct EventOf {
    /// It is a warning.
    pub warning: bool,
    /// Its reason: a word.
    pub reason: Text,
    /// Its text.
    pub text: Reason,
}

/// The object that an act is about.
#[derive(Clone, Debug)]
pub enum Target {
    /// The pod.
    Pod,
    /// The chosen node.
    Node,
    /// An object that is looked up; while it is absent nothing is done.
    Object(Expr, Arc<ObjectKind>),
}

/// The field manager of what a policy writes with `patch`.
pub fn field_manager(policy: &str) -> String {
    format!("bayplan/{policy}")
}

/// Kinds that the scheduler writes for its own work. A policy that writes them can undo it, so the operator allows it kind
/// by kind.
pub const OWN_KINDS: [&str; 3] = ["PersistentVolume", "PersistentVolumeClaim", "ResourceClaim"];

impl Target {
    /// The kind, if it is one of [`OWN_KINDS`].
    pub(crate) fn own_kind(&self) -> Option<&'static str> {
        let Target::Object(_, kind) = self else { return None };
        // In any version of its group.
        let row = KINDS.iter().find(|row| (row.group, row.name) == (kind.name.group(), kind.name.kind()))?;
        OWN_KINDS.into_iter().find(|own| row.name == *own)
    }

    /// The object, where it is looked up.
    pub fn expr(&self) -> Option<&Expr> {
        match self {
            Target::Object(expr, _) => Some(expr),
            Target::Pod | Target::Node => None,
        }
    }
}

impl std::fmt::Display for Target {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Target::Pod => f.write_str("the pod"),
            Target::Node => f.write_str("the node"),
            Target::Object(_, kind) => write!(f, "`{}`", kind.name),
        }
    }
}

impl Acts {
    /// Whether it may refuse waiting pods.
    pub fn releases(&self) -> bool {
        self.acts.iter().any(|act| matches!(act.does, Does::Release(..)))
    }
}

impl Does {
    /// The kind that it writes, if it is one of [`OWN_KINDS`].
    pub fn writes_own_kind(&self) -> Option<&'static str> {
        match self {
            Does::Write(target, ..) => target.own_kind(),
            _ => None,
        }
    }

    /// The object that it is about.
    pub fn target(&self) -> Option<&Target> {
        match self {
            Does::Write(target, ..) | Does::Event(target, _) => Some(target),
            Does::Release(..) | Does::Activate(_) | Does::Remember(..) => None,
        }
    }

    /// What is computed for it, beside conditions and reasons.
    pub fn values(&self) -> impl Iterator<Item = &Expr> {
        let (entries, text) = match self {
            Does::Write(_, _, entries) => (entries.as_slice(), None),
            Does::Event(_, event) => (&[][..], Some(&event.text)),
            Does::Release(..) | Does::Activate(_) | Does::Remember(..) => (&[][..], None),
        };
        let target = self.target().and_then(Target::expr);
        let holes = text.into_iter().flat_map(Reason::holes);
        let written = entries.iter().map(|entry| &entry.value);
        target.into_iter().chain(written).chain(self.value()).chain(holes)
    }

    /// The first word in the text.
    pub fn word(&self) -> &'static str {
        match self {
            Does::Release(..) => "release",
            Does::Activate(_) => "activate",
            Does::Remember(..) => "remember",
            Does::Write(_, verb, _) => verb.word(),
            Does::Event(..) => "event",
        }
    }

    /// The group whose members it concerns.
    pub fn group(&self) -> Option<GroupId> {
        match self {
            Does::Release(group, _) | Does::Activate(group) => Some(*group),
            Does::Remember(..) => None,
            Does::Write(..) | Does::Event(..) => None,
        }
    }

    /// Why it refuses pods, where it does.
    pub fn reason(&self) -> Option<&Reason> {
        match self {
            Does::Release(_, reason) => Some(reason),
            Does::Activate(_) | Does::Remember(..) | Does::Write(..) | Does::Event(..) => None,
        }
    }

    /// What it remembers.
    pub fn value(&self) -> Option<&Expr> {
        match self {
            Does::Remember(_, value) => Some(value),
            Does::Release(..) | Does::Activate(_) | Does::Write(..) | Does::Event(..) => None,
        }
    }

    /// [`Does::reason`], to change.
    pub(crate) fn reason_mut(&mut self) -> Option<&mut Reason> {
        match self {
            Does::Release(_, reason) => Some(reason),
            Does::Activate(_) | Does::Remember(..) | Does::Write(..) | Does::Event(..) => None,
        }
    }
}
