//! Expressions: operators, calls, fields, lists, maps and literals.

use super::names::{Name, Text};
use bayplan_diag::Span;
use std::sync::Arc;

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
    /// A name. In a CEL expression a leading dot is a part of it (`.x`); the policy language drops it.
    Name(Text),
    /// `(E)`; kept for `fmt` and for lints about brackets.
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

impl MethodCall {
    /// Whether the argument at a place is a plain name, as a variable of a macro is.
    pub fn is_name(&self, at: usize) -> bool {
        let arg = self.args.get(at);
        arg.is_some_and(|arg| arg.name.is_none() && matches!(arg.value.kind, ExprKind::Name(_)))
    }
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

/// `!E`, `-E`; a minus before a number is a part of the number, also in `-5.f()`.
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
    pub(crate) fn groups_right(self) -> bool {
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
