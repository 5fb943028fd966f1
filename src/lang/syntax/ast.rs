//! The untyped tree: what was written, with the place of every part.
//!
//! Built by `lang::syntax`, read by `lang::check` and the lints. Nothing is resolved here: a name is a word, and
//! a number with a unit is its value in base units. What did not parse is present as `Broken`, so that the
//! checker can tell "unknown" from "could not be read".
//!
//! Why so long: one type per kind of statement and expression, in the order of the grammar, and no logic.

use crate::diag::{SourceId, Span};
use crate::lang::language::statements::StatementId;
use std::sync::Arc;

/// Text of names and strings; a copy is a count.
pub type Text = Arc<str>;

/// A word with its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Name {
    /// The word; without the back quotes of a quoted field.
    pub text: Text,
    /// Where it stands.
    pub span: Span,
}

/// A file: `use`, `type`, `def` and `policy` items.
#[derive(Clone, Debug, PartialEq)]
pub struct File {
    /// The text it was read from.
    pub source: SourceId,
    /// In the order of the text.
    pub items: Vec<Item>,
    /// All comments, in the order of the text, doc comments included.
    pub comments: Vec<Comment>,
    /// All `// bayplan: allow(…)` comments.
    pub allows: Vec<Allow>,
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
    /// `use "file.bay"`; not built.
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

/// The `///` lines above an item or a statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Doc {
    /// Its lines without `///` and one blank, joined by line ends.
    pub text: Text,
    /// From the first `///` to the end of the last line.
    pub span: Span,
}

/// A comment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Comment {
    /// How it is written.
    pub kind: CommentKind,
    /// With its marks, without the line end.
    pub span: Span,
}

/// How a comment is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommentKind {
    /// `// …`
    Line,
    /// `/// …`
    Doc,
    /// `/* … */`
    Block,
}

/// `// bayplan: allow(slug, …) because …`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Allow {
    /// The slugs or codes that are allowed.
    pub slugs: Vec<Name>,
    /// The text behind `because`; none when it is missing.
    pub because: Option<Text>,
    /// The comment.
    pub span: Span,
    /// The item or statement that it belongs to: the one it ends the line of, else the next one below.
    pub target: Option<Span>,
}

/// A part that could not be read. Its mistake has been reported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    /// The word it began with, as in `let`; empty when it had none.
    pub word: Text,
    /// The name it would have declared, if that could be read: known to exist, of unknown type.
    pub declares: Option<Name>,
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
}

/// A statement of a policy.
#[derive(Clone, Debug, PartialEq)]
pub struct Statement {
    /// The `///` comment above it.
    pub doc: Option<Doc>,
    /// What it is.
    pub kind: StatementKind,
    /// From its first word to its last mark.
    pub span: Span,
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
    /// `preempt { … }`; not built.
    Preempt(Block),
    /// `ledger NAME: T by K { … }`; not built.
    Ledger(Ledger),
    /// `memo NAME: T by K ttl D`; not built.
    Memo(Memo),
    /// `reserve { … }`; not built.
    Reserve(Block),
    /// `before bind { … }`; not built.
    BeforeBind(Block),
    /// `after bind { … }`; not built.
    AfterBind(Block),
    /// `after failure { … }`; not built.
    AfterFailure(Block),
    /// `source NAME = metrics(…)`; not built.
    Source(SourceDecl),
    /// `mode …`; not built.
    Mode(Mode),
    /// `except until … because … when …`; not built.
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
    pub fn block_mut(&mut self) -> Option<&mut Block> {
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

/// `{ … }` behind a statement.
#[derive(Clone, Debug, PartialEq)]
pub struct Block {
    /// In the order of the text. The parser lets only those in that the block may hold.
    pub statements: Vec<BlockStatement>,
    /// From `{` to `}`.
    pub span: Span,
}

/// A statement of a block.
#[derive(Clone, Debug, PartialEq)]
pub struct BlockStatement {
    /// The `///` comment above it.
    pub doc: Option<Doc>,
    /// What it is.
    pub kind: BlockKind,
    /// From its first word to its last mark.
    pub span: Span,
}

/// The statements of blocks.
#[derive(Clone, Debug, PartialEq)]
pub enum BlockKind {
    /// `let NAME = E`, in every block.
    Let(Let),
    /// `require E else "r"`, in `filter`.
    Require(Require),
    /// `reject "r" when E`, in `filter`, `prefilter`, `permit`, `reserve`.
    Reject(Reject),
    /// `only nodes E when C`, in `prefilter`.
    Only(Only),
    /// `give E when C`, in `score`.
    Give(Give),
    /// `wait D for G until E else "r"`, in `permit`.
    Wait(Wait),
    /// `mode …`, in `filter`, `score`, `permit`; not built.
    Mode(Mode),
    /// `except until … because … when …`; not built.
    Except(Except),
    /// `victim v when E`, in `preempt`; not built.
    Victim(Victim),
    /// `protect v when E`, in `preempt`; not built.
    Protect(Victim),
    /// `never "r" when E`, in `preempt`; not built.
    Never(Reject),
    /// `guard E else "r"`, in `preempt`; not built.
    Guard(Require),
    /// `add E when C`, in `ledger`; not built.
    Add(Give),
    /// `annotate`, `label` or `patch`; not built.
    Write(Write),
    /// `event X normal "R" "text" when C`; not built.
    Event(Event),
    /// `remember M = E when C`; not built.
    Remember(Remember),
    /// `release G "r" when C`; not built.
    Release(Release),
    /// `activate G when C`; not built.
    Activate(Activate),
    /// Could not be read.
    Broken(Broken),
}

impl BlockKind {
    /// Its row in the table of statements; none for what could not be read.
    pub fn id(&self) -> Option<StatementId> {
        Some(match self {
            BlockKind::Let(_) => StatementId::Let,
            BlockKind::Require(_) => StatementId::Require,
            BlockKind::Reject(_) => StatementId::Reject,
            BlockKind::Only(_) => StatementId::Only,
            BlockKind::Give(_) => StatementId::Give,
            BlockKind::Wait(_) => StatementId::Wait,
            BlockKind::Mode(_) => StatementId::Mode,
            BlockKind::Except(_) => StatementId::Except,
            BlockKind::Victim(_) => StatementId::Victim,
            BlockKind::Protect(_) => StatementId::Protect,
            BlockKind::Never(_) => StatementId::Never,
            BlockKind::Guard(_) => StatementId::Guard,
            BlockKind::Add(_) => StatementId::Add,
            BlockKind::Write(write) => match write.verb {
                WriteVerb::Annotate => StatementId::Annotate,
                WriteVerb::Label => StatementId::Label,
                WriteVerb::Patch => StatementId::Patch,
            },
            BlockKind::Event(_) => StatementId::Event,
            BlockKind::Remember(_) => StatementId::Remember,
            BlockKind::Release(_) => StatementId::Release,
            BlockKind::Activate(_) => StatementId::Activate,
            BlockKind::Broken(_) => return None,
        })
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

/// `require E [else "r"]` and `guard E else "r"`
#[derive(Clone, Debug, PartialEq)]
pub struct Require {
    /// What must hold.
    pub condition: Expr,
    /// The message for the owner of the pod.
    pub reason: Option<Reason>,
}

/// `reject "r" [when E]` and `never "r" when E`
#[derive(Clone, Debug, PartialEq)]
pub struct Reject {
    /// The message for the owner of the pod.
    pub reason: Reason,
    /// Always, when it is missing.
    pub when: Option<Expr>,
}

/// `only nodes E [when C]`
#[derive(Clone, Debug, PartialEq)]
pub struct Only {
    /// A list of node names.
    pub nodes: Expr,
    /// Always, when it is missing.
    pub when: Option<Expr>,
}

/// `give E [when C]` and `add E [when C]`
#[derive(Clone, Debug, PartialEq)]
pub struct Give {
    /// The value.
    pub value: Expr,
    /// Always, when it is missing.
    pub when: Option<Expr>,
}

/// `wait D [for G] until E else "r"`
#[derive(Clone, Debug, PartialEq)]
pub struct Wait {
    /// How long at most.
    pub patience: Expr,
    /// The group that waits together.
    pub group: Option<Name>,
    /// What is waited for.
    pub until: Expr,
    /// The message for the owner of the pod when it did not happen.
    pub reason: Reason,
}

/// `victim v when E`, `protect v when E`
#[derive(Clone, Debug, PartialEq)]
pub struct Victim {
    /// The variable for the pod in the condition.
    pub variable: Name,
    /// Which pods.
    pub when: Expr,
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

/// `annotate X {…}`, `label X {…}`, `patch X {…}`
#[derive(Clone, Debug, PartialEq)]
pub struct Write {
    /// Which of the three.
    pub verb: WriteVerb,
    /// `pod`, `node` or a name of an object.
    pub object: Name,
    /// A map.
    pub value: Expr,
    /// Always, when it is missing.
    pub when: Option<Expr>,
}

/// The three ways of writing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteVerb {
    /// Annotations.
    Annotate,
    /// Labels.
    Label,
    /// Any part of the object.
    Patch,
}

/// `event X normal|warning "Reason" "text" [when C]`
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// The object that the event is about.
    pub object: Name,
    /// `warning` was written.
    pub warning: bool,
    /// The reason of the event.
    pub reason: StringLiteral,
    /// Its text.
    pub text: Template,
    /// Always, when it is missing.
    pub when: Option<Expr>,
}

/// `remember M = E [when C]`
#[derive(Clone, Debug, PartialEq)]
pub struct Remember {
    /// The memo.
    pub memo: Name,
    /// What it remembers.
    pub value: Expr,
    /// Always, when it is missing.
    pub when: Option<Expr>,
}

/// `release G "r" [when C]`
#[derive(Clone, Debug, PartialEq)]
pub struct Release {
    /// The group.
    pub group: Name,
    /// Why.
    pub reason: Reason,
    /// Always, when it is missing.
    pub when: Option<Expr>,
}

/// `activate G [when C]`
#[derive(Clone, Debug, PartialEq)]
pub struct Activate {
    /// The group.
    pub group: Name,
    /// Always, when it is missing.
    pub when: Option<Expr>,
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

/// A text in double quotes in which `{path}` is replaced.
#[derive(Clone, Debug, PartialEq)]
pub struct Template {
    /// Texts and holes in turn; a template without holes has at most one part, a text.
    pub parts: Vec<TemplatePart>,
    /// With its quotes.
    pub span: Span,
}

impl Template {
    /// The text, if it has no interpolation.
    pub fn constant(&self) -> Option<Text> {
        match self.parts.as_slice() {
            [] => Some(Text::from("")),
            [TemplatePart::Text(text)] => Some(text.clone()),
            _ => None,
        }
    }
}

/// A part of a template.
#[derive(Clone, Debug, PartialEq)]
pub enum TemplatePart {
    /// As it is; escapes and `{{` are resolved.
    Text(Text),
    /// A path: names, fields and indices.
    Hole(Expr),
}

/// A string that is not an expression, as in `use "file.bay"`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StringLiteral {
    /// Its value.
    pub text: Text,
    /// With its quotes.
    pub span: Span,
}

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

/// An expression.
#[derive(Clone, Debug, PartialEq)]
pub struct Expr {
    /// What it is.
    pub kind: ExprKind,
    /// From its first token to its last.
    pub span: Span,
}

/// The kinds of expressions.
#[derive(Clone, Debug, PartialEq)]
pub enum ExprKind {
    /// A number, string, …
    Literal(Literal),
    /// A name; CEL's leading dot (`.x`) is dropped.
    Name(Text),
    /// `(E)`; kept for `fmt` and for lints that speak of brackets.
    Paren(Box<Expr>),
    /// `f(a, …)`
    Call(Call),
    /// `E.f(a, …)`
    Method(Box<MethodCall>),
    /// `E.f`, `E.?f`
    Field(Box<FieldAccess>),
    /// `E[i]`, `E[?i]`
    Index(Box<IndexAccess>),
    /// `!E`, `-E`
    Unary(Box<Unary>),
    /// `A op B`
    Binary(Box<Binary>),
    /// `C ? A : B`
    Conditional(Box<Conditional>),
    /// `[a, ?b]`
    List(Vec<Element>),
    /// `{k: v, ?k: v}`
    Map(Vec<Entry>),
}

/// `f(a, …)`
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// The function's name.
    pub function: Name,
    /// Its arguments.
    pub args: Vec<Arg>,
}

/// `E.f(a, …)`
#[derive(Clone, Debug, PartialEq)]
pub struct MethodCall {
    /// What it is called on; a name in front of a dot may also be a namespace, as in `math.greatest`.
    pub object: Expr,
    /// The method's name.
    pub method: Name,
    /// Its arguments.
    pub args: Vec<Arg>,
}

/// An argument.
#[derive(Clone, Debug, PartialEq)]
pub struct Arg {
    /// `name:` in front of it, as in `metrics(window: 5min)`.
    pub name: Option<Name>,
    /// Its value.
    pub value: Expr,
}

/// `E.f`
#[derive(Clone, Debug, PartialEq)]
pub struct FieldAccess {
    /// What has the field.
    pub object: Expr,
    /// The field's name.
    pub field: Name,
    /// `.?` was written.
    pub optional: bool,
}

/// `E[i]`
#[derive(Clone, Debug, PartialEq)]
pub struct IndexAccess {
    /// A list or a map.
    pub object: Expr,
    /// The index or key.
    pub index: Expr,
    /// `[?` was written.
    pub optional: bool,
}

/// `!E`, `-E`; a minus before a number is a part of the number.
#[derive(Clone, Debug, PartialEq)]
pub struct Unary {
    /// Which.
    pub op: UnaryOp,
    /// Of what.
    pub operand: Expr,
}

/// Prefix operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum UnaryOp {
    /// `!`
    Not,
    /// `-`
    Minus,
}

/// `A op B`
#[derive(Clone, Debug, PartialEq)]
pub struct Binary {
    /// Which.
    pub op: BinaryOp,
    /// The operator itself.
    pub op_span: Span,
    /// Left of it.
    pub left: Expr,
    /// Right of it.
    pub right: Expr,
}

/// Operators between two operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BinaryOp {
    /// `||`
    Or,
    /// `&&`
    And,
    /// `==`
    Eq,
    /// `!=`
    Ne,
    /// `<=`
    Le,
    /// `>=`
    Ge,
    /// `<`
    Lt,
    /// `>`
    Gt,
    /// `in`
    In,
    /// `matches`
    Matches,
    /// `??`
    Coalesce,
    /// `+`
    Add,
    /// `-`
    Sub,
    /// `*`
    Mul,
    /// `/`
    Div,
    /// `%`
    Rem,
}

impl BinaryOp {
    /// As it is written.
    pub fn symbol(self) -> &'static str {
        match self {
            BinaryOp::Or => "||",
            BinaryOp::And => "&&",
            BinaryOp::Eq => "==",
            BinaryOp::Ne => "!=",
            BinaryOp::Le => "<=",
            BinaryOp::Ge => ">=",
            BinaryOp::Lt => "<",
            BinaryOp::Gt => ">",
            BinaryOp::In => "in",
            BinaryOp::Matches => "matches",
            BinaryOp::Coalesce => "??",
            BinaryOp::Add => "+",
            BinaryOp::Sub => "-",
            BinaryOp::Mul => "*",
            BinaryOp::Div => "/",
            BinaryOp::Rem => "%",
        }
    }

    /// How strongly it binds; larger is stronger. Precedence of the language, loosest first:
    /// `||`, `&&`, comparisons, `??`, `+ -`, `* / %`.
    pub fn precedence(self) -> u8 {
        match self {
            BinaryOp::Or => 1,
            BinaryOp::And => 2,
            BinaryOp::Eq
            | BinaryOp::Ne
            | BinaryOp::Le
            | BinaryOp::Ge
            | BinaryOp::Lt
            | BinaryOp::Gt
            | BinaryOp::In
            | BinaryOp::Matches => 3,
            BinaryOp::Coalesce => 4,
            BinaryOp::Add | BinaryOp::Sub => 5,
            BinaryOp::Mul | BinaryOp::Div | BinaryOp::Rem => 6,
        }
    }

    /// Whether `a op b op c` is `a op (b op c)`.
    pub fn groups_right(self) -> bool {
        self == BinaryOp::Coalesce
    }
}

/// `C ? A : B`
#[derive(Clone, Debug, PartialEq)]
pub struct Conditional {
    /// Which of the two.
    pub condition: Expr,
    /// When it holds.
    pub then: Expr,
    /// When it does not.
    pub otherwise: Expr,
}

/// An element of a list.
#[derive(Clone, Debug, PartialEq)]
pub struct Element {
    /// Its value.
    pub value: Expr,
    /// `?` was written: left out when it is absent.
    pub optional: bool,
}

/// An entry of a map.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// The key, an expression.
    pub key: Expr,
    /// The value.
    pub value: Expr,
    /// `?` was written: left out when it is absent.
    pub optional: bool,
}

/// A literal; numbers with units are in base units.
#[derive(Clone, Debug, PartialEq)]
pub enum Literal {
    /// `true`, `false`
    Bool(bool),
    /// `12`, `-12`, `0x1f`
    Int(i64),
    /// `7u`
    Uint(u64),
    /// `1.5`, `1e3`; always finite.
    Float(f64),
    /// `500m`, `2cpu`: millicores.
    Cpu(i64),
    /// `4Gi`, `100B`: bytes.
    Bytes(i64),
    /// `1h30min`: microseconds.
    Duration(i64),
    /// `50%`: 0.5.
    Share(f64),
    /// A string, escapes resolved.
    String(Text),
    /// CEL's `b"…"`.
    Blob(Arc<[u8]>),
    /// CEL's `null`.
    Null,
    /// `none`: the absent value.
    None,
}
