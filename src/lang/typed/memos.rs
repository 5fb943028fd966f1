//! [`Memo`]: a value remembered by key, for a time.

use super::Expr;
use crate::syntax::ast::Text;
use crate::types::Type;
use bayplan_diag::Span;
use bayplan_model::{Duration, IndexKey};

/// `memo NAME: T by K ttl D`
///
/// Its name stands for the value last remembered for the key of the pod of the context; absent when there is none, or
/// when its time is over.
#[derive(Clone, Debug)]
pub struct Memo {
    /// Its name.
    pub name: Text,
    /// The doc comment.
    pub doc: Option<Text>,
    /// The type of the value, which may also be absent.
    pub ty: Type,
    /// The key of the pod, which has a value.
    pub key: Expr,
    /// How long a value is remembered: constant, a duration. [`Memo::keeps_for`] is its value.
    pub ttl: Expr,
    /// How long a value is remembered; with 0 nothing is. `analysis::memos` derives it.
    pub keeps_for: Duration,
    /// The key of its index in the snapshot: `eval::memos::index_keys`.
    pub index: IndexKey,
    /// Its name in the text.
    pub span: Span,
}
