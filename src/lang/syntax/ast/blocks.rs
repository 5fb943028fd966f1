//! Blocks of statements, and the statements that only a block may hold.

use super::expressions::Expr;
use super::items::{Except, OnError};
use super::names::{Broken, Doc, Name, StringLiteral, Template};
use super::statements::{Let, Mode, Reason};
use crate::language::statements::{PartKind, StatementId};
use bayplan_diag::Span;

/// `{ … }` after a statement.
#[derive(Clone, Debug, PartialEq)]
pub struct Block {
    /// In the order of the text. The parser lets only those in that the block may hold.
    pub statements: Vec<BlockStatement>,
    /// From `{` to `}`.
    pub span: Span,
}

/// A statement of a block.
#[derive(Clone, Debug, PartialEq)]
pub struct BlockStatement {
    /// The `///` comment above it.
    pub doc: Option<Doc>,
    /// What it is.
    pub kind: BlockKind,
    /// From its first word to its last mark.
    pub span: Span,
    /// What an expression of it that fails does, where it says so.
    pub on_error: Option<(OnError, Span)>,
    /// How far it may go; documents alone say it of one statement of a block.
    pub mode: Option<Mode>,
}

/// The statements of blocks.
#[derive(Clone, Debug, PartialEq)]
pub enum BlockKind {
    /// `let NAME = E`, in every block.
    Let(Let),
    /// `require E else "r"`, in `filter`.
    Require(Require),
    /// `reject "r" when E`, in `filter`, `prefilter`, `permit`, `reserve`.
    Reject(Reject),
    /// `only nodes E when C`, in `prefilter`.
    Only(Only),
    /// `give E when C`, in `score`.
    Give(Give),
    /// `wait D for G until E else "r"`, in `permit`.
    Wait(Wait),
    /// `mode …`, of the whole rule; in `prefilter`, `filter`, `score`, `permit`, `preempt`.
    Mode(Mode),
    /// `except until … because … when …`; not built.
    Except(Except),
    /// `victim v [to all pods] when E`, in `preempt`.
    Victim(Victim),
    /// `protect v when E`, in `preempt`.
    Protect(Victim),
    /// `never "r" when E`, in `preempt`.
    Never(Reject),
    /// `guard E else "r"`, in `preempt`.
    Guard(Require),
    /// `add E when C`, in `ledger`; not built.
    Add(Give),
    /// `annotate`, `label` or `patch`.
    Write(Write),
    /// `event X normal "R" "text" when C`; not built.
    Event(Event),
    /// `remember M = E when C`, after an attempt.
    Remember(Remember),
    /// `release G "r" when C`, after a failed attempt.
    Release(Release),
    /// `activate G when C`, after an attempt.
    Activate(Activate),
    /// Could not be read.
    Broken(Broken),
}

impl BlockKind {
    /// Its row in the table of statements; none for what could not be read.
    pub fn id(&self) -> Option<StatementId> {
        Some(match self {
            BlockKind::Let(_) => StatementId::Let,
            BlockKind::Require(_) => StatementId::Require,
            BlockKind::Reject(_) => StatementId::Reject,
            BlockKind::Only(_) => StatementId::Only,
            BlockKind::Give(_) => StatementId::Give,
            BlockKind::Wait(_) => StatementId::Wait,
            BlockKind::Mode(_) => StatementId::Mode,
            BlockKind::Except(_) => StatementId::Except,
            BlockKind::Victim(_) => StatementId::Victim,
            BlockKind::Protect(_) => StatementId::Protect,
            BlockKind::Never(_) => StatementId::Never,
            BlockKind::Guard(_) => StatementId::Guard,
            BlockKind::Add(_) => StatementId::Add,
            BlockKind::Write(write) => write.verb.id(),
            BlockKind::Event(_) => StatementId::Event,
            BlockKind::Remember(_) => StatementId::Remember,
            BlockKind::Release(_) => StatementId::Release,
            BlockKind::Activate(_) => StatementId::Activate,
            BlockKind::Broken(_) => return None,
        })
    }
}

/// `require E [else "r"]` and `guard E else "r"`
#[derive(Clone, Debug, PartialEq)]
pub struct Require {
    /// What must hold.
    pub condition: Expr,
    /// The message for the owner of the pod.
    pub reason: Option<Reason>,
}

/// `reject "r" [when E]` and `never "r" when E`
#[derive(Clone, Debug, PartialEq)]
pub struct Reject {
    /// The message for the owner of the pod.
    pub reason: Reason,
    /// Always, when it is missing.
    pub when: Option<Expr>,
}

/// `only nodes E [when C]`
#[derive(Clone, Debug, PartialEq)]
pub struct Only {
    /// A list of node names.
    pub nodes: Expr,
    /// Always, when it is missing.
    pub when: Option<Expr>,
}

/// `give E [when C]` and `add E [when C]`
#[derive(Clone, Debug, PartialEq)]
pub struct Give {
    /// The value.
    pub value: Expr,
    /// Always, when it is missing.
    pub when: Option<Expr>,
}

/// `wait D [for G] until E else "r"`
#[derive(Clone, Debug, PartialEq)]
pub struct Wait {
    /// How long at most.
    pub patience: Expr,
    /// The group that waits together.
    pub group: Option<Name>,
    /// What is waited for.
    pub until: Expr,
    /// The message for the owner of the pod when it did not happen.
    pub reason: Reason,
}

/// `victim v [to all pods] when E`, `protect v when E`
#[derive(Clone, Debug, PartialEq)]
pub struct Victim {
    /// The variable for the pod in the condition.
    pub variable: Name,
    /// The place of `to all pods`: also the pods that policies leave alone.
    pub to_all_pods: Option<Span>,
    /// Which pods.
    pub when: Expr,
}

/// `annotate X {…}`, `label X {…}`, `patch X {…}`
#[derive(Clone, Debug, PartialEq)]
pub struct Write {
    /// Which of the three.
    pub verb: WriteVerb,
    /// `pod`, `node` or a name of an object.
    pub object: Name,
    /// A map.
    pub value: Expr,
    /// Always, when it is missing.
    pub when: Option<Expr>,
}

/// The three ways of writing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteVerb {
    /// Annotations.
    Annotate,
    /// Labels.
    Label,
    /// Any part of the object.
    Patch,
}

/// What the statements of a verb write.
struct VerbRow {
    /// The statement.
    id: StatementId,
    /// What one entry of its map is called.
    noun: &'static str,
    /// The map of `metadata` that has the entries; none: they may be anywhere in the object.
    map: Option<&'static str>,
}

impl WriteVerb {
    /// Every verb.
    const ALL: [WriteVerb; 3] = [WriteVerb::Annotate, WriteVerb::Label, WriteVerb::Patch];

    /// The one place that says what a verb is.
    fn row(self) -> VerbRow {
        let (id, noun, map) = match self {
            WriteVerb::Annotate => (StatementId::Annotate, "annotation", Some("annotations")),
            WriteVerb::Label => (StatementId::Label, "label", Some("labels")),
            WriteVerb::Patch => (StatementId::Patch, "field", None),
        };
        VerbRow { id, noun, map }
    }

    /// The verb of a statement that has one.
    pub(super) fn of(id: StatementId) -> Option<WriteVerb> {
        WriteVerb::ALL.into_iter().find(|verb| verb.id() == id)
    }

    /// Its statement.
    pub(crate) fn id(self) -> StatementId {
        self.row().id
    }

    /// Its word in both languages.
    pub fn word(self) -> &'static str {
        self.id().def().words
    }

    /// What one of the entries that it writes is called: `annotation`.
    pub(crate) fn noun(self) -> &'static str {
        self.row().noun
    }

    /// The map of `metadata` that it writes to: `annotations`. None: any field of the object.
    pub(crate) fn map(self) -> Option<&'static str> {
        self.row().map
    }

    /// The field of documents for its map.
    pub(super) fn value_key(self) -> &'static str {
        let parts = self.id().def().parts.iter();
        parts.filter(|part| part.kind == PartKind::Map).map(|part| part.key).next().unwrap_or_default()
    }
}

/// `event X normal|warning "Reason" "text" [when C]`
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// The object that the event is about.
    pub object: Name,
    /// `warning` was written.
    pub warning: bool,
    /// The reason of the event.
    pub reason: StringLiteral,
    /// Its text.
    pub text: Template,
    /// Always, when it is missing.
    pub when: Option<Expr>,
}

/// `remember M = E [when C]`
#[derive(Clone, Debug, PartialEq)]
pub struct Remember {
    /// The memo.
    pub memo: Name,
    /// What it remembers.
    pub value: Expr,
    /// Always, when it is missing.
    pub when: Option<Expr>,
}

/// `release G "r" [when C]`
#[derive(Clone, Debug, PartialEq)]
pub struct Release {
    /// The group.
    pub group: Name,
    /// Why.
    pub reason: Reason,
    /// Always, when it is missing.
    pub when: Option<Expr>,
}

/// `activate G [when C]`
#[derive(Clone, Debug, PartialEq)]
pub struct Activate {
    /// The group.
    pub group: Name,
    /// Always, when it is missing.
    pub when: Option<Expr>,
}
