//! [`Expr`]: a typed expression. `walk.rs` visits its parts.

use super::operation::Operation;
use super::{DefId, GroupId, KindId, LedgerId, LetId, MacroKind, MemoId, ParamId, SlotId, SourceId};
use crate::language::fields::FieldId;
use crate::language::functions::{FunctionId, Prepared};
use crate::syntax::ast::Text;
use crate::types::Type;
use crate::types::range::{Range, Relation};
use crate::types::value::Constant;
use bayplan_diag::Span;
use std::sync::Arc;

/// A typed expression.
#[derive(Clone, Debug)]
pub struct Expr {
    /// What it is.
    pub kind: ExprKind,
    /// Its type.
    pub ty: Type,
    /// Its values, where it is a number.
    pub range: Range,
    /// Where it was written.
    pub span: Span,
}

/// Names that are always there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Root {
    /// The pod being scheduled.
    Pod,
    /// Its namespace.
    Namespace,
    /// The node that is evaluated.
    Node,
    /// All nodes.
    Nodes,
    /// All pods but finished ones.
    Pods,
    /// The nominated pods.
    Nominated,
}

impl Root {
    /// As it is written.
    pub fn word(self) -> &'static str {
        match self {
            Root::Pod => "pod",
            Root::Namespace => "ns",
            Root::Node => "node",
            Root::Nodes => "nodes",
            Root::Pods => "pods",
            Root::Nominated => "nominated",
        }
    }
}

/// Which objects of a kind are looked up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LookUp {
    /// The kind.
    pub kind: KindId,
    /// How they are found.
    pub by: LookUpBy,
}

/// How objects are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LookUpBy {
    /// `objects(K)`: all of them, ordered by namespace and name.
    All,
    /// `lookup(K, name)`, `lookup(K, namespace, name)`: the one of this name; absent where there is none.
    Name,
    /// `x.owner(K)`: the controller of x, if it is of this kind and has the UID that x names; absent where it is not.
    Owner,
}

/// The kinds of typed expressions.
///
/// A missing value is `Value::Absent`. An operand whose type is not optional always has a value.
#[derive(Clone, Debug)]
pub enum ExprKind {
    /// A constant. `none` is `Value::Absent`.
    Constant(Constant),
    /// An argument of the policy.
    Param(ParamId),
    /// A let; evaluated where it is used.
    Let(LetId),
    /// A variable of a macro, or a parameter of a def.
    Slot(SlotId),
    /// `pod`, `node`, …
    Root(Root),
    /// The pods of a group.
    Group(GroupId),
    /// The sum of a ledger under a key; 0 or empty where there is none.
    Ledger(LedgerId, Box<Expr>),
    /// What a memo remembers for the key of the pod being scheduled; absent if nothing.
    Memo(MemoId),
    /// What the node of this name used over the window of a source; absent without samples, and when they are too old.
    Source(SourceId, Box<Expr>),
    /// `now()`
    Now,
    /// Objects of a kind that are looked up.
    LookUp(LookUp, Vec<Expr>),
    /// A field with a row. An absent object has absent fields.
    Field(Box<Expr>, FieldId),
    /// A field of a structure of the API, by its name in JSON; also `spec`, `status`, `metadata`
    /// themselves. JSON that does not fit the type is absent.
    ApiField(Box<Expr>, Text),
    /// A field of a record.
    RecordField(Box<Expr>, usize),
    /// An element of a list, the value of a key of a map; absent where there is none.
    Index(Box<Expr>, Box<Expr>),
    /// The amount of a resource; 0 where it is not named, and absent when the resources are.
    Resource(Box<Expr>, Box<Expr>),
    /// The operand, of type `T?`, is proved to be present here.
    Present(Box<Expr>),
    /// An int or count as a float.
    Widen(Box<Expr>),
    /// `has(E)`, `E != none`. For an amount of resources: whether it is named.
    Has(Box<Expr>),
    /// `!E`
    Not(Box<Expr>),
    /// `-E`; stops at the end of the range.
    Negate(Box<Expr>),
    /// `A && B`
    And(Box<Expr>, Box<Expr>),
    /// `A || B`
    Or(Box<Expr>, Box<Expr>),
    /// `A == B`, never true where a side is absent; both sides have one type but for `?`.
    Equal(Box<Expr>, Box<Expr>),
    /// `A < B` and so on; both sides have one type.
    Compare(CompareOp, Box<Expr>, Box<Expr>),
    /// `A in B`: an element of a list or set, a key of a map, a name in resources. False where a
    /// side is absent.
    In(Box<Expr>, Box<Expr>),
    /// `A + B` and so on. Operands and result by the table at [`ArithmeticOp`].
    Arithmetic(ArithmeticOp, Box<Expr>, Box<Expr>),
    /// `C ? A : B`
    Conditional(Box<Expr>, Box<Expr>, Box<Expr>),
    /// `A ?? B`: B where A is absent.
    Coalesce(Box<Expr>, Box<Expr>),
    /// `[a, b]`; with the flag, an absent value is omitted (`[?a]`).
    List(Vec<(Expr, bool)>),
    /// `{k: v}`; with the flag, an absent value is omitted (`{?k: v}`). A later key replaces an
    /// equal earlier one.
    Map(Vec<(Expr, Expr, bool)>),
    /// A record: values in the order of the type's fields.
    Record(Vec<Expr>),
    /// A function of the table, with what was prepared from constant arguments.
    Call(FunctionId, Vec<Expr>, Arc<Prepared>),
    /// A def.
    CallDef(DefId, Vec<Expr>),
    /// A macro.
    Macro(Box<Macro>),
    /// An operation of CEL whose outcome the values decide.
    Dynamic(Operation, Vec<Expr>),
}

/// `< <= > >=`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CompareOp {
    /// `<`
    Less,
    /// `<=`
    LessEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterEqual,
}

impl CompareOp {
    /// The relation that the comparison asks for.
    pub(crate) fn relation(self) -> Relation {
        match self {
            CompareOp::Less => Relation::Less,
            CompareOp::LessEqual => Relation::LessEqual,
            CompareOp::Greater => Relation::Greater,
            CompareOp::GreaterEqual => Relation::GreaterEqual,
        }
    }
}

/// Arithmetic. Every result that leaves its 64 bits stops at the end; floats stay finite.
///
/// | operands | result |
/// |---|---|
/// | `int op int`, `uint op uint`, `float op float` | the same; `/` and `%` of whole numbers cut toward 0, and are absent for a divisor of 0 where the result is `T?`; so is float `/` |
/// | unit `+ -` same unit | the unit |
/// | unit `* /` int or float, int or float `*` unit | the unit, cut toward 0 to a whole base unit; `/` absent for 0 where `T?` |
/// | count `*` float, float `*` count, count `/` float | `float` (the count is widened) |
/// | unit `/` same unit | `float`, absent for 0 where `T?` |
/// | time `-` time, time `+ -` duration, duration `+` time | duration, time |
/// | resources `+ -` resources | key by key |
/// | string, blob, list `+` the same | joined |
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ArithmeticOp {
    /// `+`
    Add,
    /// `-`
    Subtract,
    /// `*`
    Multiply,
    /// `/`
    Divide,
    /// `%`
    Remainder,
}

impl ArithmeticOp {
    /// Whether the right operand divides.
    pub(crate) fn divides(self) -> bool {
        matches!(self, ArithmeticOp::Divide | ArithmeticOp::Remainder)
    }
}

/// A macro: an expression evaluated for the elements of a collection.
#[derive(Clone, Debug)]
pub struct Macro {
    /// Which.
    pub kind: MacroKind,
    /// What it goes over: a list, a set, the keys of a map, the names of resources.
    pub over: Expr,
    /// The element (the key of a map, the index of a list in the forms with two variables).
    pub slot: SlotId,
    /// The second variable: the value of a map, the element of a list.
    pub second: Option<SlotId>,
    /// Which elements; all where it is missing.
    pub condition: Option<Expr>,
    /// What is computed of each; missing where the elements themselves are meant.
    pub body: Option<Expr>,
}
