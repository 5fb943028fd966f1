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

/// A part without words before it.
pub(super) const fn part(key: &'static str, kind: PartKind) -> PartDef {
    PartDef { key, before: "", kind }
}

/// A part with words before it.
pub(super) const fn after(before: &'static str, key: &'static str, kind: PartKind) -> PartDef {
    PartDef { key, before, kind }
}

/// A condition.
pub(super) const WHEN: PartDef = after("when", "when", PartKind::Expression);
/// The reason where a condition does not hold.
pub(super) const ELSE: PartDef = after("else", "else", PartKind::Reason);
/// The variable `v`, a pod that may be evicted.
pub(super) const THE_POD: PartDef = part("v", PartKind::Variable("v"));
