//! The `cel` crate as a parser, and its tree as an [`Expr`]: the only file that knows the crate.
//!
//! Called by `cel::parse` for a text within the limits. The crate has cel-go's grammar and gives one token of each node
//! (the operator, the `.` of a field, the `(` of a call, `[`, `{`); the tokens and brackets of the text give the rest
//! of its range. `&&` and `||` come as balanced trees and are laid left; brackets become `Paren`.

use super::Place;
use super::tokens::Tokens;
use crate::syntax::ast::*;
use bayplan_diag::Span;
use cel::common::ast::{self as tree, EntryExpr, IdedExpr, LiteralValue, SourceInfo, operators as op};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// Levels of `? :` and brackets together, as in the API server.
pub(super) const MAX_LEVELS: u16 = 250;

/// Mistakes after which the crate stops.
const MAX_MISTAKES: u32 = 10;

/// Errors of the crate that are kept.
const MAX_ERRORS: usize = 100;

/// Why the crate has no tree.
#[derive(Debug)]
pub(super) enum Refused {
    /// Its errors, by the byte of the text where each is.
    Errors(Vec<Mistake>),
    /// It panicked, or its tree does not fit the text.
    Broken,
}

/// An error of the crate. Its words are not for people, so only the kind is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Mistake {
    pub(super) at: usize,
    pub(super) kind: MistakeKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MistakeKind {
    /// The token does not fit the grammar.
    Grammar,
    /// A reserved word as a name.
    Reserved,
    /// A number beyond its range.
    Number,
    /// An escape that is none.
    String,
    /// A name in back quotes.
    BackQuote,
    /// More than [`MAX_LEVELS`].
    Levels,
}

/// Parses a text.
pub(super) fn parse(tokens: &Tokens<'_>, place: &Place<'_>) -> Result<(Expr, Vec<(Span, String)>), Refused> {
    let read = || {
        cel::Env::default()
            .parser()
            .max_recursion_depth(MAX_LEVELS)
            .error_recovery_limit(MAX_MISTAKES)
            .parse_with_source_info(tokens.text)
    };
    let (root, info) = catch_unwind(AssertUnwindSafe(read))
        .map_err(|_| Refused::Broken)?
        .map_err(|errors| Refused::Errors(mistakes(tokens.text, &errors.errors)))?;
    let mut layout = Layout { tokens, info, place, messages: Vec::new() };
    let laid = layout.operand(&root, 0).ok_or(Refused::Broken)?;
    let whole = laid.first == 0 && laid.last + 1 == tokens.list.len();
    if whole { Ok((laid.expr, layout.messages)) } else { Err(Refused::Broken) }
}

/// The crate's errors by byte; it counts lines and characters.
fn mistakes(text: &str, errors: &[cel::ParseError]) -> Vec<Mistake> {
    let starts: Vec<usize> =
        std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
    let at = |(line, column): (isize, isize)| {
        let count = |n: isize| usize::try_from(n - 1).unwrap_or(0);
        let start = starts.get(count(line)).copied().unwrap_or(text.len());
        let rest = text.get(start..).unwrap_or("");
        rest.char_indices().nth(count(column)).map_or(text.len(), |(at, _)| start + at)
    };
    let kind = |message: &str| match message {
        _ if message.contains("Recursion limit") => MistakeKind::Levels,
        _ if message.starts_with("reserved identifier") => MistakeKind::Reserved,
        _ if message.starts_with("unsupported syntax") => MistakeKind::BackQuote,
        _ if message.starts_with("invalid string") || message.starts_with("invalid bytes") => {
            MistakeKind::String
        }
        _ if message.starts_with("invalid") => MistakeKind::Number,
        _ => MistakeKind::Grammar,
    };
    // A letter that no token has is an error each.
    errors
        .iter()
        .take(MAX_ERRORS)
        .map(|error| Mistake { at: at(error.pos), kind: kind(&error.msg) })
        .collect()
}

/// A node with its first and last token; both include the prefixes that the crate folded (`!!x`).
struct Laid {
    expr: Expr,
    first: usize,
    last: usize,
}

/// Gives every node its range.
struct Layout<'a> {
    tokens: &'a Tokens<'a>,
    info: SourceInfo,
    place: &'a Place<'a>,
    /// The types of message literals.
    messages: Vec<(Span, String)>,
}

impl Layout<'_> {
    /// An operand that begins with the token `from`: with brackets around it, and with prefixes in pairs.
    fn operand(&mut self, node: &IdedExpr, from: usize) -> Option<Laid> {
        let laid = self.node(node, from)?;
        Some(self.grown(laid, from, true))
    }

    /// What a `.` or `[` follows: prefixes before it belong to the whole, unless brackets are around them.
    fn object(&mut self, node: &IdedExpr, from: usize) -> Option<Laid> {
        let laid = self.node(node, from)?;
        Some(self.grown(laid, from, false))
    }

    /// With the brackets around it, and with the prefixes right before it: with `prefixed` always, else in brackets.
    fn grown(&self, laid: Laid, from: usize, prefixed: bool) -> Laid {
        let mut laid = self.brackets(laid, from);
        loop {
            let mut first = laid.first;
            while first > from && matches!(self.tokens.mark(first - 1), "!" | "-") {
                first -= 1;
            }
            let grouped = first > from && self.groups(first - 1, laid.last);
            if first == laid.first || !(prefixed || grouped) {
                return laid;
            }
            laid.first = first;
            laid = self.brackets(laid, from);
        }
    }

    /// Whether the token is the bracket of a group that ends after `last`.
    fn groups(&self, open: usize, last: usize) -> bool {
        let around = self.tokens.mark(open) == "(" && !self.tokens.opens_call(open);
        around && self.tokens.partner(open) == Some(last + 1)
    }

    /// Wraps a node in the brackets around it.
    fn brackets(&self, mut laid: Laid, from: usize) -> Laid {
        while let Some(open) =
            laid.first.checked_sub(1).filter(|open| *open >= from && self.groups(*open, laid.last))
        {
            laid = self.laid(ExprKind::Paren(Box::new(laid.expr)), open, laid.last + 1);
        }
        laid
    }

    fn laid(&self, kind: ExprKind, first: usize, last: usize) -> Laid {
        Laid { expr: Expr { kind, span: self.span(first, last) }, first, last }
    }

    /// From the beginning of a token to the end of another.
    fn span(&self, first: usize, last: usize) -> Span {
        let byte = |at: usize, of: fn(&crate::syntax::tokens::Token) -> usize| {
            self.tokens.token(at).map_or(self.tokens.text.len(), of)
        };
        self.place.span(byte(first, |token| token.start), byte(last, |token| token.end))
    }

    fn name(&self, at: usize) -> Name {
        Name { text: self.tokens.text_of(at).trim_matches('`').into(), span: self.span(at, at) }
    }

    fn token_of(&self, id: u64) -> Option<usize> {
        let (start, _) = self.info.offset_for(id)?;
        self.tokens.at_byte(start as usize)
    }

    fn node(&mut self, node: &IdedExpr, from: usize) -> Option<Laid> {
        let at = self.token_of(node.id)?;
        match &node.expr {
            tree::Expr::Ident(name) => {
                let first = at.checked_sub(usize::from(name.starts_with('.')))?;
                Some(self.laid(ExprKind::Name(name.as_str().into()), first, at))
            }
            tree::Expr::Literal(value) => {
                let (value, negative) = literal(value);
                // The sign of 0 is gone: a single minus before it is its sign, two are folded.
                let zero = value == Literal::Int(0) && self.minuses(from, at) == 1;
                let first = at.checked_sub(usize::from(negative || zero))?;
                Some(self.laid(ExprKind::Literal(value), first, at))
            }
            tree::Expr::Select(select) => self.field(&select.operand, at, from, false),
            tree::Expr::Call(call) => self.call(node, call, at, from),
            tree::Expr::List(list) => {
                let mut next = at + 1;
                let mut elements = Vec::with_capacity(list.elements.len());
                for (index, element) in list.elements.iter().enumerate() {
                    let optional = list.optional_indices.contains(&index);
                    let value = self.operand(element, next + usize::from(optional))?;
                    next = value.last + 2;
                    elements.push(Element { value: value.expr, optional });
                }
                Some(self.laid(ExprKind::List(elements), at, self.tokens.partner(at)?))
            }
            tree::Expr::Map(map) => {
                let mut next = at + 1;
                let mut entries = Vec::with_capacity(map.entries.len());
                for entry in &map.entries {
                    let EntryExpr::MapEntry(entry) = &entry.expr else { return None };
                    let key = self.operand(&entry.key, next + usize::from(entry.optional))?;
                    let value = self.operand(&entry.value, key.last + 2)?;
                    next = value.last + 2;
                    entries.push(Entry { key: key.expr, value: value.expr, optional: entry.optional });
                }
                Some(self.laid(ExprKind::Map(entries), at, self.tokens.partner(at)?))
            }
            tree::Expr::Struct(message) => {
                let words = message.type_name.split('.').count() * 2 - 1;
                let first = at.checked_sub(words)?;
                let name = (first..at).map(|at| self.tokens.text_of(at)).collect();
                self.messages.push((self.span(first, at - 1), name));
                Some(self.laid(ExprKind::Map(Vec::new()), first, self.tokens.partner(at)?))
            }
            tree::Expr::Unspecified | tree::Expr::Comprehension(_) => None,
        }
    }

    /// How many minuses precede a token, in an operand that begins with the token `from`.
    fn minuses(&self, from: usize, at: usize) -> usize {
        (from..at).rev().take_while(|before| self.tokens.mark(*before) == "-").count()
    }

    fn call(&mut self, node: &IdedExpr, call: &tree::CallExpr, at: usize, from: usize) -> Option<Laid> {
        if let Some(target) = &call.target {
            let object = self.object(target, from)?;
            let (first, last) = (object.first, self.tokens.partner(at)?);
            let args = self.args(&call.args, at)?;
            let method = MethodCall { object: object.expr, method: self.name(at.checked_sub(1)?), args };
            return Some(self.laid(ExprKind::Method(Box::new(method)), first, last));
        }
        match (call.func_name.as_str(), call.args.as_slice()) {
            (op::LOGICAL_AND, _) => self.chain(node, &call.func_name, BinaryOp::And, from),
            (op::LOGICAL_OR, _) => self.chain(node, &call.func_name, BinaryOp::Or, from),
            (op::LOGICAL_NOT, [operand]) => self.unary(UnaryOp::Not, operand, at),
            (op::NEGATE, [operand]) => self.unary(UnaryOp::Minus, operand, at),
            (op::CONDITIONAL, [condition, then, otherwise]) => {
                let condition = self.operand(condition, from)?;
                let then = self.operand(then, at + 1)?;
                let otherwise = self.operand(otherwise, then.last + 2)?;
                let (first, last) = (condition.first, otherwise.last);
                let (condition, then, otherwise) = (condition.expr, then.expr, otherwise.expr);
                let kind = ExprKind::Conditional(Box::new(Conditional { condition, then, otherwise }));
                Some(self.laid(kind, first, last))
            }
            (op::OPT_SELECT, [object, _]) => self.field(object, at, from, true),
            (name @ (op::INDEX | op::OPT_INDEX), [object, index]) => {
                let optional = name == op::OPT_INDEX;
                let object = self.object(object, from)?;
                let index = self.operand(index, at + 1 + usize::from(optional))?.expr;
                let (first, last) = (object.first, self.tokens.partner(at)?);
                let access = IndexAccess { object: object.expr, index, optional };
                Some(self.laid(ExprKind::Index(Box::new(access)), first, last))
            }
            (name, [left, right]) if let Some(op) = binary(name) => {
                let left = self.operand(left, from)?;
                self.binary(left, op, at, right)
            }
            (name, args) => {
                let dot = usize::from(name.starts_with('.'));
                let first = at.checked_sub(1 + dot)?;
                let function = Name { text: name.into(), span: self.span(first, at - 1) };
                let args = self.args(args, at)?;
                let call = ExprKind::Call(Call { function, args });
                Some(self.laid(call, first, self.tokens.partner(at)?))
            }
        }
    }

    /// The arguments after the `(` at `open`.
    fn args(&mut self, args: &[IdedExpr], open: usize) -> Option<Vec<Arg>> {
        let mut next = open + 1;
        let mut out = Vec::with_capacity(args.len());
        for arg in args {
            let value = self.operand(arg, next)?;
            next = value.last + 2;
            out.push(Arg { name: None, value: value.expr });
        }
        Some(out)
    }

    fn field(&mut self, object: &IdedExpr, dot: usize, from: usize, optional: bool) -> Option<Laid> {
        let object = self.object(object, from)?;
        let (first, last) = (object.first, dot + 1 + usize::from(optional));
        let access = FieldAccess { object: object.expr, field: self.name(last), optional };
        Some(self.laid(ExprKind::Field(Box::new(access)), first, last))
    }

    /// The crate folds prefixes: an odd number of them is one.
    fn unary(&mut self, op: UnaryOp, operand: &IdedExpr, at: usize) -> Option<Laid> {
        let sign = self.tokens.mark(at);
        let mut from = at + 1;
        while self.tokens.mark(from) == sign {
            from += 1;
        }
        let operand = self.operand(operand, from)?;
        let last = operand.last;
        Some(self.laid(ExprKind::Unary(Box::new(Unary { op, operand: operand.expr })), at, last))
    }

    fn binary(&mut self, left: Laid, op: BinaryOp, at: usize, right: &IdedExpr) -> Option<Laid> {
        let right = self.operand(right, at + 1)?;
        let (first, last) = (left.first, right.last);
        let binary = Binary { op, op_span: self.span(at, at), left: left.expr, right: right.expr };
        Some(self.laid(ExprKind::Binary(Box::new(binary)), first, last))
    }

    /// `a && b && c` from a balanced tree to one that leans to the left.
    fn chain(&mut self, node: &IdedExpr, name: &str, op: BinaryOp, from: usize) -> Option<Laid> {
        let inside = self.tokens.inside(self.token_of(node.id)?);
        let (mut terms, mut signs) = (Vec::new(), Vec::new());
        self.flatten(node, name, inside, &mut terms, &mut signs)?;
        let mut terms = terms.into_iter();
        let mut left = self.operand(terms.next()?, from)?;
        for (sign, term) in signs.into_iter().zip(terms) {
            left = self.binary(left, op, sign, term)?;
        }
        Some(left)
    }

    /// The terms and operators of a chain; one in brackets of its own is a term.
    fn flatten<'n>(
        &self,
        node: &'n IdedExpr,
        name: &str,
        inside: Option<usize>,
        terms: &mut Vec<&'n IdedExpr>,
        signs: &mut Vec<usize>,
    ) -> Option<()> {
        let at = self.token_of(node.id)?;
        match &node.expr {
            tree::Expr::Call(call) if call.func_name == name && self.tokens.inside(at) == inside => {
                let [left, right] = call.args.as_slice() else { return None };
                self.flatten(left, name, inside, terms, signs)?;
                signs.push(at);
                self.flatten(right, name, inside, terms, signs)?;
            }
            _ => terms.push(node),
        }
        Some(())
    }
}

/// A literal, and whether a minus before it is a part of it.
fn literal(value: &LiteralValue) -> (Literal, bool) {
    match value {
        LiteralValue::Boolean(value) => (Literal::Bool(*value.inner()), false),
        LiteralValue::Int(value) => (Literal::Int(*value.inner()), *value.inner() < 0),
        LiteralValue::UInt(value) => (Literal::Uint(*value.inner()), false),
        LiteralValue::Double(value) => (Literal::Float(*value.inner()), value.inner().is_sign_negative()),
        LiteralValue::String(value) => (Literal::String(value.inner().into()), false),
        LiteralValue::Bytes(value) => (Literal::Blob(Arc::from(value.inner())), false),
        LiteralValue::Null => (Literal::Null, false),
    }
}

fn binary(name: &str) -> Option<BinaryOp> {
    Some(match name {
        op::EQUALS => BinaryOp::Eq,
        op::NOT_EQUALS => BinaryOp::Ne,
        op::LESS_EQUALS => BinaryOp::Le,
        op::GREATER_EQUALS => BinaryOp::Ge,
        op::LESS => BinaryOp::Lt,
        op::GREATER => BinaryOp::Gt,
        op::IN => BinaryOp::In,
        op::ADD => BinaryOp::Add,
        op::SUBSTRACT => BinaryOp::Sub,
        op::MULTIPLY => BinaryOp::Mul,
        op::DIVIDE => BinaryOp::Div,
        op::MODULO => BinaryOp::Rem,
        _ => return None,
    })
}
