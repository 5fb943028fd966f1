//! A tree as the text of a CEL expression, with the brackets that it needs.
//!
//! Called by `bayplan convert`. Brackets of the tree are kept; a tree that was made and not read has none, so they are
//! added by precedence. What CEL cannot say, such as a unit, is listed with its place.

use crate::syntax::ast::*;
use bayplan_diag::Span;

/// A part of a tree that CEL has no text for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotInCel {
    /// The part.
    pub span: Span,
    /// What it is, as in "an amount with a unit".
    pub what: &'static str,
}

/// Writes an expression on one line. Reading the text gives the same tree but for places and added brackets.
///
/// # Errors
/// Every part that CEL has no text for, in the order of the text.
pub fn write(expr: &Expr) -> Result<String, Vec<NotInCel>> {
    let mut writer = Writer { out: String::new(), refused: Vec::new() };
    writer.expr(expr, Level::Choice);
    if writer.refused.is_empty() { Ok(writer.out) } else { Err(writer.refused) }
}

/// How strongly an expression binds, loosest first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Level {
    Choice,
    Or,
    And,
    Relation,
    Sum,
    Product,
    Prefix,
    Operand,
}

impl Level {
    fn of(expr: &Expr) -> Self {
        match &expr.kind {
            ExprKind::Conditional(_) => Level::Choice,
            ExprKind::Binary(binary) => Level::of_operator(binary.op),
            ExprKind::Unary(_) => Level::Prefix,
            _ => Level::Operand,
        }
    }

    fn of_operator(op: BinaryOp) -> Self {
        match op {
            BinaryOp::Or => Level::Or,
            BinaryOp::And => Level::And,
            BinaryOp::Add | BinaryOp::Sub => Level::Sum,
            BinaryOp::Mul | BinaryOp::Div | BinaryOp::Rem => Level::Product,
            _ => Level::Relation,
        }
    }

    /// The next stronger one.
    fn above(self) -> Self {
        match self {
            Level::Choice => Level::Or,
            Level::Or => Level::And,
            Level::And => Level::Relation,
            Level::Relation => Level::Sum,
            Level::Sum => Level::Product,
            Level::Product => Level::Prefix,
            Level::Prefix | Level::Operand => Level::Operand,
        }
    }
}

struct Writer {
    out: String,
    refused: Vec<NotInCel>,
}

impl Writer {
    fn text(&mut self, text: &str) {
        self.out.push_str(text);
    }

    fn refuse(&mut self, span: Span, what: &'static str) {
        self.refused.push(NotInCel { span, what });
    }

    /// An expression in a place that takes this level or a stronger one.
    fn expr(&mut self, expr: &Expr, least: Level) {
        if Level::of(expr) >= least {
            return self.bare(expr);
        }
        self.text("(");
        self.bare(expr);
        self.text(")");
    }

    fn bare(&mut self, expr: &Expr) {
        match &expr.kind {
            ExprKind::Literal(literal) => self.literal(literal, expr.span),
            ExprKind::Name(name) => self.text(name),
            ExprKind::Paren(inner) => {
                self.text("(");
                self.bare(inner);
                self.text(")");
            }
            ExprKind::Call(call) => {
                self.text(&call.function.text);
                self.args(&call.args);
            }
            ExprKind::Method(call) => {
                self.expr(&call.object, Level::Operand);
                self.field(&call.method, ".");
                self.args(&call.args);
            }
            ExprKind::Field(access) => {
                self.expr(&access.object, Level::Operand);
                self.field(&access.field, if access.optional { ".?" } else { "." });
            }
            ExprKind::Index(access) => {
                self.expr(&access.object, Level::Operand);
                self.text(if access.optional { "[?" } else { "[" });
                self.expr(&access.index, Level::Choice);
                self.text("]");
            }
            ExprKind::Unary(unary) => self.unary(unary),
            ExprKind::Binary(binary) => self.binary(binary),
            ExprKind::Conditional(choice) => {
                self.expr(&choice.condition, Level::Or);
                self.text(" ? ");
                self.expr(&choice.then, Level::Or);
                self.text(" : ");
                self.expr(&choice.otherwise, Level::Choice);
            }
            ExprKind::List(elements) => {
                self.text("[");
                for (at, element) in elements.iter().enumerate() {
                    self.separator(at, element.optional);
                    self.expr(&element.value, Level::Choice);
                }
                self.text("]");
            }
            ExprKind::Map(entries) => {
                self.text("{");
                for (at, entry) in entries.iter().enumerate() {
                    self.separator(at, entry.optional);
                    self.expr(&entry.key, Level::Choice);
                    self.text(": ");
                    self.expr(&entry.value, Level::Choice);
                }
                self.text("}");
            }
        }
    }

    fn separator(&mut self, at: usize, optional: bool) {
        self.text(if at > 0 { ", " } else { "" });
        self.text(if optional { "?" } else { "" });
    }

    fn unary(&mut self, unary: &Unary) {
        let mark = match unary.op {
            UnaryOp::Not => "!",
            UnaryOp::Minus => "-",
        };
        self.text(mark);
        // A minus before a number would become a part of it.
        let number = unary.op == UnaryOp::Minus && begins_with_number(&unary.operand);
        if number {
            self.text("(");
            self.bare(&unary.operand);
            self.text(")");
        } else {
            self.expr(&unary.operand, Level::Operand);
        }
    }

    fn binary(&mut self, binary: &Binary) {
        let level = Level::of_operator(binary.op);
        self.expr(&binary.left, level);
        match binary.op {
            BinaryOp::Coalesce => self.refuse(binary.op_span, "the operator `??`"),
            BinaryOp::Matches => self.refuse(binary.op_span, "the operator `matches`"),
            _ => {}
        }
        self.text(" ");
        self.text(binary.op.symbol());
        self.text(" ");
        self.expr(&binary.right, level.above());
    }

    fn args(&mut self, args: &[Arg]) {
        self.text("(");
        for (at, arg) in args.iter().enumerate() {
            self.separator(at, false);
            if let Some(name) = &arg.name {
                self.refuse(name.span, "an argument with a name");
            }
            self.expr(&arg.value, Level::Choice);
        }
        self.text(")");
    }

    fn field(&mut self, name: &Name, mark: &str) {
        let letters = |text: &str| text.bytes().all(|byte| byte == b'_' || byte.is_ascii_alphanumeric());
        let begins = name.text.bytes().next().is_some_and(|byte| !byte.is_ascii_digit());
        if !begins || !letters(&name.text) || matches!(&*name.text, "in" | "true" | "false" | "null") {
            self.refuse(name.span, "a field in back quotes");
        }
        self.text(mark);
        self.text(&name.text);
    }

    fn literal(&mut self, literal: &Literal, span: Span) {
        match literal {
            Literal::Bool(value) => self.text(if *value { "true" } else { "false" }),
            Literal::Int(value) => self.text(&value.to_string()),
            Literal::Uint(value) => self.text(&format!("{value}u")),
            Literal::Float(value) => self.text(&format!("{value:?}")),
            Literal::Null => self.text("null"),
            Literal::String(value) => self.string(value),
            Literal::Blob(value) => self.blob(value),
            Literal::Cpu(_) | Literal::Bytes(_) => self.refuse(span, "an amount with a unit"),
            Literal::Duration(_) => self.refuse(span, "a duration with a unit"),
            Literal::Share(_) => self.refuse(span, "a share with `%`"),
            Literal::None => self.refuse(span, "the literal `none`"),
        }
    }

    fn string(&mut self, value: &str) {
        self.text("\"");
        for letter in value.chars() {
            match letter {
                '"' => self.text("\\\""),
                '\\' => self.text("\\\\"),
                '\n' => self.text("\\n"),
                '\r' => self.text("\\r"),
                '\t' => self.text("\\t"),
                _ if letter.is_control() => self.text(&format!("\\u{:04x}", u32::from(letter))),
                _ => self.out.push(letter),
            }
        }
        self.text("\"");
    }

    fn blob(&mut self, value: &[u8]) {
        self.text("b\"");
        for byte in value {
            match byte {
                b'"' | b'\\' => self.text(&format!("\\{}", char::from(*byte))),
                b' '..=b'~' => self.out.push(char::from(*byte)),
                _ => self.text(&format!("\\x{byte:02x}")),
            }
        }
        self.text("\"");
    }
}

/// Whether the text of an operand begins with an int or float.
fn begins_with_number(expr: &Expr) -> bool {
    let mut expr = expr;
    loop {
        expr = match &expr.kind {
            ExprKind::Literal(Literal::Int(_) | Literal::Float(_)) => return true,
            ExprKind::Method(call) => &call.object,
            ExprKind::Field(access) => &access.object,
            ExprKind::Index(access) => &access.object,
            _ => return false,
        };
    }
}
