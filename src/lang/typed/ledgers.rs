//! [`Ledger`]: a sum over the placed pods to which the policy applies, by key.

use super::reads::RuleReads;
use super::{Expr, LetId};
use crate::syntax::ast::Text;
use crate::types::Type;
use bayplan_diag::Span;
use bayplan_model::IndexKey;

/// `ledger NAME: T by K { add E [when C] … }`
///
/// Its expressions read a placed pod (`pod`), its namespace (`ns`), its node (`node`) and objects that are looked up by
/// name or as owner, and nothing else of the cluster.
#[derive(Clone, Debug)]
pub struct Ledger {
    /// Its name.
    pub name: Text,
    /// The doc comment.
    pub doc: Option<Text>,
    /// The type of the sums: `int`, a unit, `resources` or `set<T>`.
    pub ty: Type,
    /// Under which key a pod is counted.
    pub key: Expr,
    /// What a pod adds, in the order of the text: the sum of all whose condition holds.
    pub adds: Vec<Add>,
    /// The lets with `missing` that it uses: a pod for which one is absent is not counted.
    pub required_lets: Vec<LetId>,
    /// Whether it reads the node: a pod on a node that is not known is not counted then.
    pub reads_node: bool,
    /// Whether it, or `applies when`, reads the namespace.
    pub reads_namespace: bool,
    /// Whether it looks objects up: an entry moves with those that it looked up.
    pub reads_objects: bool,
    /// What it reads of placed pods, their namespaces and nodes, and of objects.
    pub reads: RuleReads,
    /// The key of its index in the snapshot: `eval::ledgers::index_keys`.
    pub index: IndexKey,
    /// Its name in the text.
    pub span: Span,
}

/// `add E [when C]`
#[derive(Clone, Debug)]
pub struct Add {
    /// A value of the ledger's type; of a set an element, or a list of elements.
    pub value: Expr,
    /// Evaluated first.
    pub when: Option<Expr>,
    /// The statement.
    pub span: Span,
}

impl Ledger {
    /// Whether no pod lowers a sum.
    pub fn only_adds(&self) -> bool {
        self.ty.is_whole() && self.adds.iter().all(|add| add.value.range.is_positive_or_zero())
    }
}
