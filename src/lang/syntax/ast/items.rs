//! A file and its items. A `def`, a `type` and an `except` are also statements of a policy.

use super::expressions::Expr;
use super::names::{Allow, Broken, Comment, Doc, Name, StringLiteral};
use super::statements::Statement;
use super::types::{FieldDecl, TypeExpr};
use crate::syntax::document::Scalar;
use bayplan_diag::{SourceId, Span};

/// A file: `use`, `type`, `def` and `policy` items.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct File {
    /// The text it was read from.
    pub source: SourceId,
    /// In the order of the text.
    pub items: Vec<Item>,
    /// All comments, in the order of the text, doc comments included.
    pub comments: Vec<Comment>,
    /// All `// bayplan: allow(…)` comments.
    pub allows: Vec<Allow>,
    /// The YAML scalars with expressions; none in the policy language.
    pub scalars: Vec<Scalar>,
}

impl File {
    /// The policies of the file, in the order of the text.
    pub fn policies(&self) -> impl Iterator<Item = &Policy> {
        self.items.iter().filter_map(|item| match &item.kind {
            ItemKind::Policy(policy) => Some(policy),
            _ => None,
        })
    }
}

/// An item of a file.
#[derive(Clone, Debug, PartialEq)]
pub struct Item {
    /// The `///` comment above it.
    pub doc: Option<Doc>,
    /// What it is.
    pub kind: ItemKind,
    /// From its first word to its last mark; comments before it are outside.
    pub span: Span,
}

/// The kinds of items.
#[derive(Clone, Debug, PartialEq)]
pub enum ItemKind {
    /// `use "file.bay"`
    Use(StringLiteral),
    /// `type NAME = {f: T}`
    Type(TypeItem),
    /// `def f(a: T) = E`
    Def(Def),
    /// `policy NAME { … }`
    Policy(Policy),
    /// `except policy/rule until … because … when …` of its own; not built.
    Except(Except),
    /// Could not be read; what it would have declared, if that could.
    Broken(Broken),
}

/// `policy NAME [version 1] { … }`
#[derive(Clone, Debug, PartialEq)]
pub struct Policy {
    /// Its name, which is its plugin's name.
    pub name: Name,
    /// The language version that it asks for.
    pub version: Option<(u64, Span)>,
    /// In the order of the text.
    pub statements: Vec<Statement>,
    /// The language of its expressions.
    pub dialect: Dialect,
    /// What an expression that fails does, where the rule has no word of its own. Always `Reject` in the policy language,
    /// whose expressions do not fail.
    pub on_error: OnError,
    /// Where an expression that may fail is an error: `strict: true`.
    pub strict: Option<Span>,
}

/// The language of the expressions of a policy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// The policy language, whose expressions do not fail.
    #[default]
    Policy,
    /// CEL, whose expressions may end with an error.
    Cel,
}

/// What happens when an expression of CEL ends with an error.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum OnError {
    /// The rule refuses, or gives no value.
    #[default]
    Reject,
    /// The rule is left out.
    Ignore,
    /// The attempt ends with an error.
    Error,
}

impl OnError {
    /// Each with its word in documents.
    pub const WORDS: [(&'static str, OnError); 3] =
        [("reject", OnError::Reject), ("ignore", OnError::Ignore), ("error", OnError::Error)];
}

/// `def f(a: T, …) [: T] = E`
#[derive(Clone, Debug, PartialEq)]
pub struct Def {
    /// Its name.
    pub name: Name,
    /// Its parameters.
    pub parameters: Vec<FieldDecl>,
    /// The declared type of its result.
    pub result: Option<TypeExpr>,
    /// What it stands for.
    pub body: Expr,
}

/// `type NAME = T`
#[derive(Clone, Debug, PartialEq)]
pub struct TypeItem {
    /// Its name.
    pub name: Name,
    /// What it names.
    pub value: TypeExpr,
}

/// `except [policy/rule] until DATE because "…" [when E]`
#[derive(Clone, Debug, PartialEq)]
pub struct Except {
    /// The rule, for an exception outside of it.
    pub target: Option<Name>,
    /// The date, as written.
    pub until: Name,
    /// Why.
    pub because: StringLiteral,
    /// For which pods.
    pub when: Option<Expr>,
}

impl Except {
    /// The policy that an exception outside of policies is about, and the rule of it; `None` inside of one.
    pub fn about(&self) -> Option<(&str, Option<&str>)> {
        let target = &*self.target.as_ref()?.text;
        Some(target.split_once('/').map_or((target, None), |(policy, rule)| (policy, Some(rule))))
    }
}
