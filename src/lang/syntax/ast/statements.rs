//! The statements of a policy, and the reasons that they give.

use super::blocks::Block;
use super::expressions::{Expr, Literal};
use super::items::{Def, Except, OnError, TypeItem};
use super::names::{Broken, Doc, Name, Template, Text};
use super::types::TypeExpr;
use crate::language::statements::StatementId;
use bayplan_diag::Span;

/// A statement of a policy.
#[derive(Clone, Debug, PartialEq)]
pub struct Statement {
    /// The `///` comment above it.
    pub doc: Option<Doc>,
    /// What it is.
    pub kind: StatementKind,
    /// From its first word to its last mark.
    pub span: Span,
    /// What an expression of it that fails does, where it says so.
    pub on_error: Option<(OnError, Span)>,
    /// How far it may go, where it says so outside of its block.
    pub mode: Option<Mode>,
}

/// The statements of a policy.
#[derive(Clone, Debug, PartialEq)]
pub enum StatementKind {
    /// `applies [to all pods] [when E]`
    Applies(Applies),
    /// `gate "r" when E`
    Gate(Gate),
    /// `queue by [asc|desc] E, …`
    Queue(Vec<QueueKey>),
    /// `prefilter { … }`
    Prefilter(Block),
    /// `filter NAME { … }`
    Filter(Filter),
    /// `score NAME … { … }`
    Score(Score),
    /// `prefer N when E`
    Prefer(Prefer),
    /// `permit { … }`
    Permit(Block),
    /// `let NAME = E`
    Let(Let),
    /// `def f(…) = E`
    Def(Def),
    /// `type NAME = T`
    Type(TypeItem),
    /// `param NAME = E`
    Param(Param),
    /// `group NAME = p in pods where E`
    Group(Group),
    /// `preempt { … }`
    Preempt(Block),
    /// `ledger NAME: T by K { … }`
    Ledger(Ledger),
    /// `memo NAME: T by K ttl D`
    Memo(Memo),
    /// `reserve { … }`
    Reserve(Block),
    /// `before bind { … }`
    BeforeBind(Block),
    /// `after bind { … }`
    AfterBind(Block),
    /// `after failure { … }`
    AfterFailure(Block),
    /// `source NAME = metrics(…)`
    Source(SourceDecl),
    /// `mode …`
    Mode(Mode),
    /// `except until … because … when …`
    Except(Except),
    /// Could not be read.
    Broken(Broken),
}

impl StatementKind {
    /// Its row in the table of statements; none for what could not be read.
    pub fn id(&self) -> Option<StatementId> {
        Some(match self {
            StatementKind::Applies(_) => StatementId::Applies,
            StatementKind::Gate(_) => StatementId::Gate,
            StatementKind::Queue(_) => StatementId::Queue,
            StatementKind::Prefilter(_) => StatementId::Prefilter,
            StatementKind::Filter(_) => StatementId::Filter,
            StatementKind::Score(_) => StatementId::Score,
            StatementKind::Prefer(_) => StatementId::Prefer,
            StatementKind::Permit(_) => StatementId::Permit,
            StatementKind::Let(_) => StatementId::Let,
            StatementKind::Def(_) => StatementId::Def,
            StatementKind::Type(_) => StatementId::Type,
            StatementKind::Param(_) => StatementId::Param,
            StatementKind::Group(_) => StatementId::Group,
            StatementKind::Preempt(_) => StatementId::Preempt,
            StatementKind::Ledger(_) => StatementId::Ledger,
            StatementKind::Memo(_) => StatementId::Memo,
            StatementKind::Reserve(_) => StatementId::Reserve,
            StatementKind::BeforeBind(_) => StatementId::BeforeBind,
            StatementKind::AfterBind(_) => StatementId::AfterBind,
            StatementKind::AfterFailure(_) => StatementId::AfterFailure,
            StatementKind::Source(_) => StatementId::Source,
            StatementKind::Mode(_) => StatementId::Mode,
            StatementKind::Except(_) => StatementId::Except,
            StatementKind::Broken(_) => return None,
        })
    }

    /// The name that expressions use, of a statement that declares one.
    pub(crate) fn declares(&self) -> Option<&Text> {
        match self {
            StatementKind::Param(of) => Some(&of.name.text),
            StatementKind::Let(of) => Some(&of.name.text),
            StatementKind::Group(of) => Some(&of.name.text),
            StatementKind::Ledger(of) => Some(&of.name.text),
            StatementKind::Memo(of) => Some(&of.name.text),
            StatementKind::Source(of) => Some(&of.name.text),
            StatementKind::Def(of) => Some(&of.name.text),
            StatementKind::Type(of) => Some(&of.name.text),
            _ => None,
        }
    }

    /// The block of a statement that has one.
    pub fn block(&self) -> Option<&Block> {
        match self {
            StatementKind::Filter(filter) => Some(&filter.block),
            StatementKind::Score(score) => Some(&score.block),
            StatementKind::Ledger(ledger) => Some(&ledger.block),
            StatementKind::Prefilter(block)
            | StatementKind::Permit(block)
            | StatementKind::Preempt(block)
            | StatementKind::Reserve(block)
            | StatementKind::BeforeBind(block)
            | StatementKind::AfterBind(block)
            | StatementKind::AfterFailure(block) => Some(block),
            _ => None,
        }
    }

    /// The block of a statement that has one, to be completed.
    pub(crate) fn block_mut(&mut self) -> Option<&mut Block> {
        match self {
            StatementKind::Filter(filter) => Some(&mut filter.block),
            StatementKind::Score(score) => Some(&mut score.block),
            StatementKind::Ledger(ledger) => Some(&mut ledger.block),
            StatementKind::Prefilter(block)
            | StatementKind::Permit(block)
            | StatementKind::Preempt(block)
            | StatementKind::Reserve(block)
            | StatementKind::BeforeBind(block)
            | StatementKind::AfterBind(block)
            | StatementKind::AfterFailure(block) => Some(block),
            _ => None,
        }
    }
}

/// `applies [to all pods] [when E]`; one of the two is there.
#[derive(Clone, Debug, PartialEq)]
pub struct Applies {
    /// The place of `to all pods`: also the pods that policies leave alone.
    pub to_all_pods: Option<Span>,
    /// The condition; none means every pod.
    pub when: Option<Expr>,
}

/// `gate "r" when E`
#[derive(Clone, Debug, PartialEq)]
pub struct Gate {
    /// Why the pod stays out of the queue.
    pub reason: Reason,
    /// It stays out while this holds.
    pub when: Expr,
}

/// A key of `queue by`.
#[derive(Clone, Debug, PartialEq)]
pub struct QueueKey {
    /// `desc` was written.
    pub descending: bool,
    /// What is compared.
    pub value: Expr,
}

/// `filter NAME { … }`
#[derive(Clone, Debug, PartialEq)]
pub struct Filter {
    /// Its name, unique in the policy.
    pub name: Name,
    /// Lets, requires and rejects.
    pub block: Block,
}

/// `score NAME [weight N] [normalize M] [reversed] { … }`
#[derive(Clone, Debug, PartialEq)]
pub struct Score {
    /// Its name, unique in the policy.
    pub name: Name,
    /// A whole number or the name of a constant; 1 when it is missing.
    pub weight: Option<Expr>,
    /// How the values of the nodes become 0 to 100; `None` when nothing is written, which means `none`.
    pub normalize: Option<(Normalize, Span)>,
    /// The place of `reversed`.
    pub reversed: Option<Span>,
    /// Lets and gives.
    pub block: Block,
}

/// How the values of the nodes become 0 to 100.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Normalize {
    /// They are already.
    None,
    /// `100 * E / largest`
    Max,
    /// `100 * (E - smallest) / (largest - smallest)`
    MinMax,
}

/// `prefer N when E`
#[derive(Clone, Debug, PartialEq)]
pub struct Prefer {
    /// A whole number or the name of a constant.
    pub weight: Expr,
    /// What is preferred.
    pub when: Expr,
}

/// `let NAME [: T] = E [missing …]`
#[derive(Clone, Debug, PartialEq)]
pub struct Let {
    /// Its name.
    pub name: Name,
    /// The declared type.
    pub declared: Option<TypeExpr>,
    /// What it stands for.
    pub value: Expr,
    /// What happens when the value is absent.
    pub missing: Option<(Missing, Span)>,
}

/// What happens when the value of a let is absent.
#[derive(Clone, Debug, PartialEq)]
pub enum Missing {
    /// The policy does not apply.
    Skip,
    /// The attempt is an error.
    Error,
    /// `prefilter` refuses with this reason.
    Reject(Reason),
}

/// `param NAME [: T] [in a..b] = E`
#[derive(Clone, Debug, PartialEq)]
pub struct Param {
    /// Its name.
    pub name: Name,
    /// The declared type.
    pub declared: Option<TypeExpr>,
    /// The range of its arguments, both ends included.
    pub range: Option<(Bound, Bound)>,
    /// The value when nothing is configured.
    pub default: Expr,
}

/// An end of a param's range.
#[derive(Clone, Debug, PartialEq)]
pub struct Bound {
    /// A number, with its sign.
    pub value: Literal,
    /// With its sign.
    pub span: Span,
}

/// `group NAME = p in pods where E`
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    /// Its name.
    pub name: Name,
    /// The variable for the pod in the condition.
    pub variable: Name,
    /// Which pods are in it.
    pub condition: Expr,
}

/// `ledger NAME: T by K { … }`
#[derive(Clone, Debug, PartialEq)]
pub struct Ledger {
    /// Its name.
    pub name: Name,
    /// The type of its sums.
    pub declared: TypeExpr,
    /// The key.
    pub key: Expr,
    /// Lets and adds.
    pub block: Block,
}

/// `memo NAME: T by K ttl D`
#[derive(Clone, Debug, PartialEq)]
pub struct Memo {
    /// Its name.
    pub name: Name,
    /// The type of the remembered value.
    pub declared: TypeExpr,
    /// The key.
    pub key: Expr,
    /// How long it is remembered.
    pub ttl: Expr,
}

/// `source NAME = E`
#[derive(Clone, Debug, PartialEq)]
pub struct SourceDecl {
    /// Its name.
    pub name: Name,
    /// A call of `metrics`.
    pub value: Expr,
}

/// `mode audit`, `mode enforce when E else warn`, `mode audit until 2027-01-31`
#[derive(Clone, Debug, PartialEq)]
pub struct Mode {
    /// `enforce`, `warn`, `audit`, …
    pub mode: Name,
    /// For which pods.
    pub when: Option<Expr>,
    /// The mode for the others.
    pub otherwise: Option<Name>,
    /// The date until when, as written.
    pub until: Option<Name>,
}

/// `[unresolvable|resolvable] "text" [with { name: E, … }]`
#[derive(Clone, Debug, PartialEq)]
pub struct Reason {
    /// `resolvable` or `unresolvable`, where it was written.
    pub resolvable: Option<(Resolvable, Span)>,
    /// The text, which is a constant unless it has holes.
    pub template: Template,
    /// Values of one node, for explanations.
    pub details: Vec<Detail>,
    /// All of it.
    pub span: Span,
}

/// What was written before a reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resolvable {
    /// `resolvable`: evicting pods may help.
    Yes,
    /// `unresolvable`: it may not.
    No,
}

/// `name: E` in `with { … }`
#[derive(Clone, Debug, PartialEq)]
pub struct Detail {
    /// The word that is shown.
    pub name: Name,
    /// Its value, which may be absent.
    pub value: Expr,
}
