//! The untyped tree: what was written, with the place of every part.
//!
//! Built by `lang::syntax`, read by `lang::check` and the lints. Nothing is resolved here: a name is a word,
//! and a number with a unit is its value in base units. What did not parse is present as `Broken`, so that
//! the checker can tell "unknown" from "could not be read".
//!
//! One file per kind of node; users name every node as `ast::X`.

mod blocks;
mod expressions;
mod items;
mod names;
mod parts;
mod statements;
mod types;

pub use blocks::{
    Activate, Block, BlockKind, BlockStatement, Event, Give, Only, Reject, Release, Remember, Require,
    Victim, Wait, Write, WriteVerb,
};
pub use expressions::{
    Arg, Binary, BinaryOp, Call, Conditional, Element, Entry, Expr, ExprKind, FieldAccess, IndexAccess,
    Literal, MethodCall, Unary, UnaryOp,
};
pub use items::{Def, Dialect, Except, File, Item, ItemKind, OnError, Policy, TypeItem};
pub use names::{
    Allow, Broken, Comment, CommentKind, Doc, Name, StringLiteral, Template, TemplatePart, Text,
};
pub(crate) use parts::{Given, Part, Parts};
pub use statements::{
    Applies, Bound, Detail, Filter, Gate, Group, Ledger, Let, Memo, Missing, Mode, Normalize, Param, Prefer,
    QueueKey, Reason, Resolvable, Score, SourceDecl, Statement, StatementKind,
};
pub use types::{FieldDecl, TypeExpr, TypeExprKind};
