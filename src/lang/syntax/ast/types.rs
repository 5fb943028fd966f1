//! Types as they are written.

use super::names::{Name, StringLiteral};
use bayplan_diag::Span;

/// A type as it is written.
#[derive(Clone, Debug, PartialEq)]
pub struct TypeExpr {
    /// Without the `?`.
    pub kind: TypeExprKind,
    /// A `?` follows.
    pub optional: bool,
    /// With the `?`.
    pub span: Span,
}

/// Kinds of types as they are written.
#[derive(Clone, Debug, PartialEq)]
pub enum TypeExprKind {
    /// `int`, `node`, `shape`, …
    Name(Name),
    /// A kind of object in quotes.
    Kind(StringLiteral),
    /// `list<T>`
    List(Box<TypeExpr>),
    /// `set<T>`
    Set(Box<TypeExpr>),
    /// `map<K, V>`
    Map(Box<TypeExpr>, Box<TypeExpr>),
    /// `{f: T, …}`
    Record(Vec<FieldDecl>),
}

/// `name: T` of a record or a def.
#[derive(Clone, Debug, PartialEq)]
pub struct FieldDecl {
    /// Its name.
    pub name: Name,
    /// Its type.
    pub declared: TypeExpr,
}
