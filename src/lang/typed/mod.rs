//! The typed tree: what a policy means, with nothing left to resolve.
//!
//! Made by `lang::check`, made smaller by `lang::analysis::fold`, read by the lints, the reference evaluator, the
//! lowering and `plan`. Every expression has its type, its range where it is a number, and its place. Names
//! are ids of the policy's tables; a def is called, a let is referred to; a macro's variable and a def's
//! parameter are slots.

pub mod reads;
pub mod walk;

use super::types::Type;
use crate::diag::Span;
use crate::lang::language::fields::FieldId;
use crate::lang::language::functions::{FunctionId, Prepared};
pub use crate::lang::language::macros::MacroKind;
use crate::lang::syntax::ast::{Normalize, Resolvable, Text};
use crate::lang::typed::reads::Reads;
use crate::lang::types::range::Range;
use crate::lang::types::value::Constant;
use std::sync::Arc;

/// A checked file. Types and defs of the file are resolved into the policies that use them.
#[derive(Clone, Debug, Default)]
pub struct File {
    /// The policies that have no mistake, in the order of the text.
    pub policies: Vec<Policy>,
}

/// A checked policy.
#[derive(Clone, Debug)]
pub struct Policy {
    /// Its name, which is its plugin's name.
    pub name: Text,
    /// The doc comment.
    pub doc: Option<Text>,
    /// All of it.
    pub span: Span,
    /// Its name.
    pub name_span: Span,
    /// `applies to all pods`: also the pods that policies leave alone.
    pub to_all_pods: bool,
    /// `applies when`, cut at `&&`: a pod for which one is false skips the policy. Reads `pod` and `ns` only.
    pub applies: Vec<Expr>,
    /// Conjuncts of `applies` that the policy can be filed under; a pod that has none of them skips it.
    pub filings: Vec<Filing>,
    /// Arguments.
    pub params: Vec<Param>,
    /// All lets, of the policy and of its blocks. A let that is used where narrowing does not hold (`queue
    /// by`, `applies when`) is there twice.
    pub lets: Vec<Let>,
    /// Defs of the policy and those of the file that it uses; typed once, called by id.
    pub defs: Vec<Def>,
    /// Groups.
    pub groups: Vec<Group>,
    /// Variables of macros and groups, parameters of defs. There is no recursion, so each has one place.
    pub slots: Vec<Slot>,
    /// `gate`
    pub gates: Vec<Check>,
    /// `queue by`
    pub queue: Option<Queue>,
    /// `prefilter`, in the order of the text.
    pub prefilters: Vec<Prefilter>,
    /// `filter`, in the order of the text.
    pub filters: Vec<Filter>,
    /// `score` and `prefer`, in the order of the text.
    pub scores: Vec<Score>,
    /// `permit`
    pub permits: Vec<Permit>,
}

/// Index into [`Policy::params`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ParamId(pub u32);
/// Index into [`Policy::lets`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LetId(pub u32);
/// Index into [`Policy::defs`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DefId(pub u32);
/// Index into [`Policy::groups`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct GroupId(pub u32);
/// Index into [`Policy::slots`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SlotId(pub u32);

/// An argument of the policy: a constant of the instance.
#[derive(Clone, Debug)]
pub struct Param {
    /// Its name.
    pub name: Text,
    /// The doc comment.
    pub doc: Option<Text>,
    /// Its type.
    pub ty: Type,
    /// What arguments may be, where `in a..b` says it, in base units.
    pub allowed: Option<Range>,
    /// The argument, or the default.
    pub value: Constant,
    /// The default.
    pub default: Constant,
    /// Where it is declared.
    pub span: Span,
}

/// A name for an expression.
#[derive(Clone, Debug)]
pub struct Let {
    /// Its name.
    pub name: Text,
    /// What it stands for. `Optional` where `missing` is given.
    pub value: Expr,
    /// What happens when the value is absent; then references are `Present`.
    pub missing: Option<Missing>,
    /// Of the policy, and not of a block: computed once per pod unless it reads `node` through a def.
    pub of_policy: bool,
    /// Where it is declared.
    pub span: Span,
}

/// What happens when the value of a let is absent, in each evaluation that uses it.
#[derive(Clone, Debug)]
pub enum Missing {
    /// The policy does not apply.
    Skip,
    /// The attempt is an error.
    Error,
    /// `prefilter` refuses.
    Reject(Reason),
}

/// A def: called with values for its slots.
#[derive(Clone, Debug)]
pub struct Def {
    /// Its name.
    pub name: Text,
    /// Its parameters.
    pub parameters: Vec<SlotId>,
    /// Its body.
    pub body: Expr,
    /// Where it is declared.
    pub span: Span,
}

/// A variable of a macro or group, or a parameter of a def.
#[derive(Clone, Debug)]
pub struct Slot {
    /// Its name.
    pub name: Text,
    /// Its type.
    pub ty: Type,
    /// Where it is declared.
    pub span: Span,
}

/// `group NAME = p in pods where E`
#[derive(Clone, Debug)]
pub struct Group {
    /// Its name.
    pub name: Text,
    /// The pod that is asked for.
    pub slot: SlotId,
    /// The conjuncts `p.path == pod.path`: the key by which it is kept. Never empty.
    pub keys: Vec<GroupKey>,
    /// The conjuncts that are none of these.
    pub rest: Vec<Expr>,
    /// All conjuncts are equalities of the same path on both sides: who is in whose group is mutual.
    pub mutual: bool,
    /// Where it is declared.
    pub span: Span,
}

/// `p.path == pod.path`
#[derive(Clone, Debug)]
pub struct GroupKey {
    /// Over the group's slot.
    pub member: Expr,
    /// Over `pod`.
    pub pod: Expr,
}

/// A conjunct of `applies when` that the policy can be filed under.
#[derive(Clone, Debug)]
pub enum Filing {
    /// `path == constant`, `path in [constants]`
    Equals {
        /// A field, label or annotation of the pod, or a label of its namespace.
        path: Expr,
        /// Any of these.
        values: Vec<Constant>,
    },
    /// `has(path)`, `path != none`
    Has(Expr),
    /// `pod.requests[c] > 0`
    Requests(Text),
}

/// A condition that refuses, in a filter, prefilter, gate or permit.
#[derive(Clone, Debug)]
pub struct Check {
    /// The condition; none: it always refuses.
    pub condition: Option<Expr>,
    /// `true`: refuses when the condition holds (`reject … when`). `false`: when it does not (`require`).
    pub refuses_when: bool,
    /// Why.
    pub reason: Reason,
    /// What it reads, with the direction that lets the pod pass.
    pub reads: Reads,
    /// The doc comment.
    pub doc: Option<Text>,
    /// The statement.
    pub span: Span,
}

/// Why a pod is refused.
#[derive(Clone, Debug)]
pub struct Reason {
    /// Texts and holes in turn; a constant reason is one text.
    pub parts: Vec<ReasonPart>,
    /// Whether evicting pods from the node may help: as written, else as derived.
    pub resolvable: bool,
    /// As derived from what is read.
    pub derived: bool,
    /// As written.
    pub written: Option<Resolvable>,
    /// `with { name: E }`; values may be absent.
    pub details: Vec<(Text, Expr)>,
    /// All of it.
    pub span: Span,
}

/// A part of a reason.
#[derive(Clone, Debug)]
pub enum ReasonPart {
    /// As it is.
    Text(Text),
    /// A value; an absent one is shown as `none`.
    Hole(Expr),
}

impl Reason {
    /// The text of a constant reason.
    pub fn constant(&self) -> Option<&Text> {
        match self.parts.as_slice() {
            [ReasonPart::Text(text)] => Some(text),
            _ => None,
        }
    }
}

/// `queue by`
#[derive(Clone, Debug)]
pub struct Queue {
    /// From the first to the last.
    pub keys: Vec<QueueKey>,
    /// What they read.
    pub reads: Reads,
    /// The statement.
    pub span: Span,
}

/// A key of `queue by`.
#[derive(Clone, Debug)]
pub struct QueueKey {
    /// Larger first.
    pub descending: bool,
    /// Never absent.
    pub value: Expr,
}

/// `prefilter { … }`
#[derive(Clone, Debug)]
pub struct Prefilter {
    /// In the order of the text; lets are in [`Policy::lets`].
    pub statements: Vec<PrefilterStatement>,
    /// The statement.
    pub span: Span,
}

/// A statement of a prefilter.
#[derive(Clone, Debug)]
pub enum PrefilterStatement {
    /// `reject`
    Check(Check),
    /// `only nodes`
    Only(Only),
}

/// `only nodes E [when C]`
#[derive(Clone, Debug)]
pub struct Only {
    /// `list<string>` or `list<string?>`; absent ones are left out.
    pub nodes: Expr,
    /// Looked at first.
    pub when: Option<Expr>,
    /// What both read.
    pub reads: Reads,
    /// The statement.
    pub span: Span,
}

/// `filter NAME { … }`
#[derive(Clone, Debug)]
pub struct Filter {
    /// Its name.
    pub name: Text,
    /// The doc comment.
    pub doc: Option<Text>,
    /// In the order of the text; lets are in [`Policy::lets`].
    pub checks: Vec<Check>,
    /// The statement.
    pub span: Span,
}

/// `score NAME … { … }`, or `prefer N when E`
#[derive(Clone, Debug)]
pub struct Score {
    /// Its name; `prefer-1` and so on for `prefer`.
    pub name: Text,
    /// The doc comment.
    pub doc: Option<Text>,
    /// At least 1.
    pub weight: i64,
    /// How the values of the nodes become 0 to 100.
    pub normalize: Normalize,
    /// 100 minus that.
    pub reversed: bool,
    /// The first whose condition holds; no match leaves the node out.
    pub gives: Vec<Give>,
    /// It was written as `prefer`.
    pub prefer: bool,
    /// What all of it reads.
    pub reads: Reads,
    /// The statement.
    pub span: Span,
}

/// `give E [when C]`
#[derive(Clone, Debug)]
pub struct Give {
    /// A number or an amount with a unit; `None` is `give none`.
    pub value: Option<Expr>,
    /// Looked at first.
    pub when: Option<Expr>,
    /// The statement.
    pub span: Span,
}

/// `permit { … }`
#[derive(Clone, Debug)]
pub struct Permit {
    /// `reject`, in the order of the text.
    pub checks: Vec<Check>,
    /// `wait`, in the order of the text; all must be satisfied.
    pub waits: Vec<Wait>,
    /// The statement.
    pub span: Span,
}

/// `wait D [for G] until E else "r"`
#[derive(Clone, Debug)]
pub struct Wait {
    /// A duration; cut to 15 minutes when it is longer.
    pub patience: Expr,
    /// The group that waits together.
    pub group: Option<GroupId>,
    /// What is waited for.
    pub until: Expr,
    /// Why it was refused when it did not happen.
    pub reason: Reason,
    /// What `until` reads.
    pub reads: Reads,
    /// The statement.
    pub span: Span,
}

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
    /// The node asked about.
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

/// The kinds of typed expressions.
///
/// What may be absent is evaluated to `Value::Absent`; every operation whose operand is not optional in the
/// tree is given a value.
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
    /// `now()`
    Now,
    /// A field with a row. An absent object has absent fields.
    Field(Box<Expr>, FieldId),
    /// A field of a structure of the API, by its name in JSON; also `spec`, `status`, `metadata` themselves.
    /// JSON that does not fit the type is absent.
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
    /// `A in B`: an element of a list or set, a key of a map, a name in resources. False where a side is
    /// absent.
    In(Box<Expr>, Box<Expr>),
    /// `A + B` and so on. Operands and result by the table at [`ArithmeticOp`].
    Arithmetic(ArithmeticOp, Box<Expr>, Box<Expr>),
    /// `C ? A : B`
    Conditional(Box<Expr>, Box<Expr>, Box<Expr>),
    /// `A ?? B`: B where A is absent.
    Coalesce(Box<Expr>, Box<Expr>),
    /// `[a, b]`; the flag says that an absent value is left out (`[?a]`).
    List(Vec<(Expr, bool)>),
    /// `{k: v}`; the flag says that an absent value is left out (`{?k: v}`). A later key replaces an earlier.
    Map(Vec<(Expr, Expr, bool)>),
    /// A record: values in the order of the type's fields.
    Record(Vec<Expr>),
    /// A function of the table, with what was prepared from constant arguments.
    Call(FunctionId, Vec<Expr>, Arc<Prepared>),
    /// A def.
    CallDef(DefId, Vec<Expr>),
    /// A macro.
    Macro(Box<Macro>),
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
