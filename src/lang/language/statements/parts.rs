//! [`PartDef`]: the parts of a statement, with the words before them in the policy language and the fields of documents
//! that hold them. The builders of both languages read statements by these rows, and `convert` writes them.
//!
//! Not here: statements that one of the languages writes in a form of its own, such as `score` with its head and block.

/// A part of a statement.
#[derive(Debug)]
pub struct PartDef {
    /// Its field in documents.
    pub key: &'static str,
    /// The words before it in the policy language; of a flag, the words that it is.
    pub before: &'static str,
    /// What it is.
    pub kind: PartKind,
}

/// What a part of a statement is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartKind {
    /// An expression whose value is there.
    Expression,
    /// An expression whose value may be absent: an optional of CEL.
    Optional,
    /// A duration, or an expression.
    Duration,
    /// A whole number, or the name of a constant.
    Weight,
    /// A map of keys and values.
    Map,
    /// A reason, with its details.
    Reason,
    /// The name that the statement declares.
    Declared,
    /// The name of something declared elsewhere.
    Name,
    /// The name of an object that is written or that an event is about.
    Object,
    /// The variable of the pod in the expressions of the statement. Documents have no field for it: it is this one.
    Variable(&'static str),
    /// A day such as `2027-01-31`, as it is written.
    Day,
    /// A plain text.
    Text,
    /// A text in which `{path}` is replaced.
    Template,
    /// A type.
    Type,
    /// Words that are written or not.
    Flag,
    /// One of two words, of which the first is meant where a document has none.
    Word([&'static str; 2]),
}

const fn part(key: &'static str, kind: PartKind) -> PartDef {
    PartDef { key, before: "", kind }
}

const fn after(before: &'static str, key: &'static str, kind: PartKind) -> PartDef {
    PartDef { key, before, kind }
}

const WHEN: PartDef = after("when", "when", PartKind::Expression);
const ELSE: PartDef = after("else", "else", PartKind::Reason);
const THE_POD: PartDef = part("v", PartKind::Variable("v"));

pub(super) const GATE: &[PartDef] = &[part("reason", PartKind::Reason), WHEN];
pub(super) const PREFER: &[PartDef] = &[part("weight", PartKind::Weight), WHEN];
pub(super) const GROUP: &[PartDef] = &[
    part("name", PartKind::Declared),
    after("=", "p", PartKind::Variable("p")),
    after("in pods where", "expression", PartKind::Expression),
];
pub(super) const MEMO: &[PartDef] = &[
    part("name", PartKind::Declared),
    after(":", "type", PartKind::Type),
    after("by", "by", PartKind::Expression),
    after("ttl", "ttl", PartKind::Duration),
];
pub(super) const EXCEPT: &[PartDef] = &[
    part("rule", PartKind::Name),
    after("until", "until", PartKind::Day),
    after("because", "because", PartKind::Text),
    WHEN,
];
pub(super) const REQUIRE: &[PartDef] = &[part("require", PartKind::Expression), ELSE];
pub(super) const REJECT: &[PartDef] = &[part("reject", PartKind::Reason), WHEN];
pub(super) const ONLY: &[PartDef] = &[part("onlyNodes", PartKind::Expression), WHEN];
pub(super) const GIVE: &[PartDef] = &[part("value", PartKind::Expression), WHEN];
pub(super) const VICTIM: &[PartDef] = &[
    THE_POD,
    after("to all pods", "toAllPods", PartKind::Flag),
    after("when", "victim", PartKind::Expression),
];
pub(super) const PROTECT: &[PartDef] = &[THE_POD, after("when", "protect", PartKind::Expression)];
pub(super) const NEVER: &[PartDef] = &[part("never", PartKind::Reason), WHEN];
pub(super) const GUARD: &[PartDef] = &[part("guard", PartKind::Expression), ELSE];
pub(super) const WAIT: &[PartDef] = &[
    part("wait", PartKind::Duration),
    after("for", "for", PartKind::Name),
    after("until", "until", PartKind::Expression),
    ELSE,
];
pub(super) const ANNOTATE: &[PartDef] =
    &[part("annotate", PartKind::Object), part("set", PartKind::Map), WHEN];
pub(super) const LABEL: &[PartDef] = &[part("label", PartKind::Object), part("set", PartKind::Map), WHEN];
pub(super) const PATCH: &[PartDef] = &[part("patch", PartKind::Object), part("fields", PartKind::Map), WHEN];
pub(super) const EVENT: &[PartDef] = &[
    part("event", PartKind::Object),
    part("type", PartKind::Word(["normal", "warning"])),
    part("reason", PartKind::Text),
    part("text", PartKind::Template),
    WHEN,
];
pub(super) const REMEMBER: &[PartDef] =
    &[part("remember", PartKind::Name), after("=", "value", PartKind::Optional), WHEN];
pub(super) const RELEASE: &[PartDef] =
    &[part("release", PartKind::Name), part("reason", PartKind::Reason), WHEN];
pub(super) const ACTIVATE: &[PartDef] = &[part("activate", PartKind::Name), WHEN];
