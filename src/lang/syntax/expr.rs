//! Expressions: the grammar's flat chains folded by precedence, paths, calls, literals and templates.
//!
//! Called by `build`. The grammar has no precedence; the table is `BinaryOp::precedence`.

use super::build::{Builder, Built, Node};
use super::nodes::Nodes;
use super::{Grammar, MAX_OPERATORS, Rule, literal};
use crate::syntax::ast::*;
use bayplan_diag::{Diagnostic, Span, codes};
use pest::Parser as _;

impl<'a> Builder<'a> {
    /// A separate expression; its operators are counted from 0.
    pub(super) fn expression(&mut self, pair: Node<'_>) -> Built<Expr> {
        self.operators = 0;
        self.expr(pair)
    }

    /// The only expression of a text.
    pub(super) fn whole_expression(&mut self, nodes: &Nodes<'_>) -> Option<Expr> {
        let expr = nodes.root()?.parts().find(|pair| pair.rule() == Rule::expr)?;
        self.expression(expr).ok()
    }

    /// One more operator; too many are refused before the tree becomes deep.
    fn operator(&mut self, at: Span) -> Built<()> {
        self.operators += 1;
        if self.operators <= MAX_OPERATORS {
            return Ok(());
        }
        let message = format!("more than {MAX_OPERATORS} operators in one expression");
        let help = Some("name parts of the expression with `let`".to_owned());
        self.refuse(&codes::TOO_LARGE, at, message, help)
    }

    /// `chain ? chain : chain ? …`
    fn expr(&mut self, pair: Node<'_>) -> Built<Expr> {
        let span = self.place(&pair);
        let mut chains = Vec::new();
        let mut chain = Chain::default();
        for part in pair.parts() {
            match part.rule() {
                Rule::unary => {
                    let operand = self.unary(part)?;
                    chain.operands.push(operand);
                }
                Rule::opt => {
                    self.operator(self.place(&part))?;
                    chains.extend(std::mem::take(&mut chain).finish());
                }
                Rule::colon => chains.extend(std::mem::take(&mut chain).finish()),
                rule => {
                    if let Some(op) = binary_op(rule) {
                        let op_span = self.place(&part);
                        self.operator(op_span)?;
                        chain.push(op, op_span);
                    }
                }
            }
        }
        chains.extend(chain.finish());
        // folded from the right: the last chain is the last `:`
        let mut result = self.need(chains.pop(), span)?;
        while let Some(then) = chains.pop() {
            let condition = self.need(chains.pop(), span)?;
            let span = condition.span.to(result.span);
            let kind = ExprKind::Conditional(Box::new(Conditional { condition, then, otherwise: result }));
            result = Expr { kind, span };
        }
        Ok(result)
    }

    /// `!`, `-`, an operand, its fields and indices.
    fn unary(&mut self, pair: Node<'_>) -> Built<Expr> {
        let whole = self.place(&pair);
        let mut prefixes: Vec<(UnaryOp, Span)> = Vec::new();
        let mut parts = pair.parts().peekable();
        while let Some(op) = parts.peek().and_then(|part| match part.rule() {
            Rule::bang => Some(UnaryOp::Not),
            Rule::minus => Some(UnaryOp::Minus),
            _ => None,
        }) {
            if let Some(part) = parts.next() {
                let span = self.place(&part);
                self.operator(span)?;
                prefixes.push((op, span));
            }
        }
        let mut first = parts.next();
        if first.as_ref().is_some_and(|part| part.rule() == Rule::root) {
            first = parts.next();
        }
        let first = self.need(first, whole)?;
        let number = is_number(first.rule());
        let alone = parts.peek().is_none();
        let mut expr = if number {
            // a minus before the number is its sign: the least int has no other way. As in CEL, `-5.f()` is `(-5).f()`
            let signs = prefixes.iter().rev().take_while(|(op, _)| *op == UnaryOp::Minus).count();
            let unsigned = first.text().ends_with(['u', 'U']);
            let minus = signs > 0 && (alone || (signs == 1 && !unsigned));
            let mut span = self.place(&first);
            let value = self.number(&first, minus)?;
            if let Some((_, sign)) = minus.then(|| prefixes.pop()).flatten() {
                span = sign.to(span);
            }
            Expr { kind: ExprKind::Literal(value), span }
        } else if first.rule() == Rule::ident {
            let name = self.name(&first);
            match parts.next_if(|part| part.rule() == Rule::args) {
                Some(args) => {
                    let span = name.span.to(self.place(&args));
                    self.operator(name.span)?;
                    let args = self.args(args)?;
                    Expr { kind: ExprKind::Call(Call { function: name, args }), span }
                }
                None => Expr { kind: ExprKind::Name(name.text), span: name.span },
            }
        } else {
            self.primary(first)?
        };
        for part in parts {
            let at = self.place(&part);
            self.operator(at.at_start())?;
            expr = match part.rule() {
                Rule::member => self.member(expr, part)?,
                Rule::index => self.index(expr, part)?,
                _ => expr,
            };
        }
        while let Some((op, span)) = prefixes.pop() {
            let span = span.to(expr.span);
            expr = Expr { kind: ExprKind::Unary(Box::new(Unary { op, operand: expr })), span };
        }
        Ok(expr)
    }

    fn primary(&mut self, pair: Node<'_>) -> Built<Expr> {
        let span = self.place(&pair);
        let kind = match pair.rule() {
            Rule::string => ExprKind::Literal(Literal::String(self.string(&pair)?.text)),
            Rule::bytes => ExprKind::Literal(self.blob(&pair)?),
            Rule::true_ => ExprKind::Literal(Literal::Bool(true)),
            Rule::false_ => ExprKind::Literal(Literal::Bool(false)),
            Rule::null_ => ExprKind::Literal(Literal::Null),
            Rule::none_ => ExprKind::Literal(Literal::None),
            Rule::list => self.list(pair)?,
            Rule::map => return self.map_expression(pair),
            _ => {
                let inner = pair.parts().find(|part| part.rule() == Rule::expr);
                let inner = self.need(inner, span)?;
                ExprKind::Paren(Box::new(self.expr(inner)?))
            }
        };
        Ok(Expr { kind, span })
    }

    /// `.field`, `.?field`, `.method(…)`
    fn member(&mut self, object: Expr, pair: Node<'_>) -> Built<Expr> {
        let whole = self.place(&pair);
        let mut optional = false;
        let mut field = None;
        let mut args = None;
        let mut end = whole;
        for part in pair.parts() {
            match part.rule() {
                Rule::opt => optional = true,
                Rule::field | Rule::quoted => {
                    end = self.place(&part);
                    field = Some(self.name(&part));
                }
                Rule::args => {
                    end = self.place(&part);
                    args = Some(self.args(part)?);
                }
                _ => {}
            }
        }
        let field = self.need(field, whole)?;
        // in back quotes any word is a field
        let bare = self.text.get(field.span.range()) == Some(&*field.text);
        if bare && matches!(&*field.text, "true" | "false" | "null" | "in") {
            let message = format!("`{}` is a reserved word and no field", field.text);
            let help = Some(format!("write `[\"{}\"]`", field.text));
            return self.refuse(&codes::RESERVED_NAME, field.span, message, help);
        }
        let span = object.span.to(end);
        if optional && args.is_some() {
            let help = Some("write `.` before a method, or `.optMap(v, …)` after the field".to_owned());
            return self.refuse(&codes::SYNTAX, field.span, "`.?` takes a field, not a method", help);
        }
        let kind = match args {
            Some(args) => ExprKind::Method(Box::new(MethodCall { object, method: field, args })),
            None => {
                self.label_key(&object, &field)?;
                ExprKind::Field(Box::new(FieldAccess { object, field, optional }))
            }
        };
        Ok(Expr { kind, span })
    }

    /// `node.labels.a.b`: a label is a string and has no fields, so a key with dots was meant.
    fn label_key(&mut self, object: &Expr, field: &Name) -> Built<()> {
        let ExprKind::Field(label) = &object.kind else { return Ok(()) };
        let ExprKind::Field(map) = &label.object.kind else { return Ok(()) };
        let on_object = match &map.object.kind {
            ExprKind::Name(_) => true,
            ExprKind::Field(outer) => &*outer.field.text == "metadata",
            _ => false,
        };
        if !on_object || !matches!(&*map.field.text, "labels" | "annotations") {
            return Ok(());
        }
        let start = label.field.span.start as usize;
        let rest = self.text.get(start..self.limit).unwrap_or("");
        let end =
            rest.find(|c: char| !c.is_ascii_alphanumeric() && !"._-/".contains(c)).unwrap_or(rest.len());
        let mut key = rest.get(..end).unwrap_or("").trim_end_matches(['.', '-', '/']);
        if rest.get(key.len()..).is_some_and(|behind| behind.starts_with('(')) {
            key = key.rsplit_once('.').map_or(key, |(before, _)| before);
        }
        let path = self.text.get(label.object.span.range()).unwrap_or("");
        let quote = super::quote_at(self.text, start);
        let right = format!("{path}[{quote}{key}{quote}]");
        let span = self.span(label.object.span.start as usize, start + key.len());
        let span = Span { end: span.end.max(field.span.start), ..span };
        self.diagnostics.push(
            Diagnostic::new(&codes::LABEL_KEY_BRACKETS, span, "a label key with `.` or `/` goes in brackets")
                .with_help(format!("write `{right}`"))
                .with_fix(format!("write `{right}`"), span, right.clone()),
        );
        self.failed = true;
        Err(super::build::Failed)
    }

    /// `[i]`, `[?i]`
    fn index(&mut self, object: Expr, pair: Node<'_>) -> Built<Expr> {
        let whole = self.place(&pair);
        let mut optional = false;
        let mut index = None;
        for part in pair.parts() {
            match part.rule() {
                Rule::opt => optional = true,
                Rule::expr => index = Some(self.expr(part)?),
                _ => {}
            }
        }
        let index = self.need(index, whole)?;
        let span = object.span.to(whole);
        Ok(Expr { kind: ExprKind::Index(Box::new(IndexAccess { object, index, optional })), span })
    }

    fn args(&mut self, pair: Node<'_>) -> Built<Vec<Arg>> {
        let mut args = Vec::new();
        for arg in pair.parts().filter(|part| part.rule() == Rule::arg) {
            let span = self.place(&arg);
            let mut name = None;
            let mut value = None;
            for part in arg.parts() {
                match part.rule() {
                    Rule::ident => name = Some(self.name(&part)),
                    Rule::expr => value = Some(self.expr(part)?),
                    _ => {}
                }
            }
            args.push(Arg { name, value: self.need(value, span)? });
        }
        Ok(args)
    }

    fn list(&mut self, pair: Node<'_>) -> Built<ExprKind> {
        let mut elements = Vec::new();
        for elem in pair.parts().filter(|part| part.rule() == Rule::elem) {
            let span = self.place(&elem);
            let mut optional = false;
            let mut value = None;
            for part in elem.parts() {
                match part.rule() {
                    Rule::opt => optional = true,
                    Rule::expr => value = Some(self.expr(part)?),
                    _ => {}
                }
            }
            elements.push(Element { value: self.need(value, span)?, optional });
        }
        Ok(ExprKind::List(elements))
    }

    pub(super) fn map_expression(&mut self, pair: Node<'_>) -> Built<Expr> {
        let span = self.place(&pair);
        let mut entries = Vec::new();
        for entry in pair.parts().filter(|part| part.rule() == Rule::entry) {
            let span = self.place(&entry);
            let mut optional = false;
            let mut sides = Vec::with_capacity(2);
            for part in entry.parts() {
                match part.rule() {
                    Rule::opt => optional = true,
                    Rule::expr => sides.push(self.expr(part)?),
                    _ => {}
                }
            }
            let value = self.need(sides.pop(), span)?;
            entries.push(Entry { key: self.need(sides.pop(), span)?, value, optional });
        }
        Ok(Expr { kind: ExprKind::Map(entries), span })
    }

    // ---- literals

    pub(super) fn number(&mut self, pair: &Node<'_>, negative: bool) -> Built<Literal> {
        let text = pair.text();
        let value = match pair.rule() {
            Rule::duration => literal::duration(text, negative),
            Rule::quantity => literal::quantity(text, negative),
            Rule::percent => literal::percent(text, negative),
            Rule::float => literal::float(text, negative),
            _ => literal::int(text, negative),
        };
        match value {
            Ok(value) => Ok(value),
            Err(wrong) => {
                let span = self.place(pair);
                self.refuse(&codes::BAD_NUMBER, span, wrong.message, wrong.help)
            }
        }
    }

    pub(super) fn string(&mut self, pair: &Node<'_>) -> Built<StringLiteral> {
        let text = pair.text();
        let (raw, start, end) = literal::content(text);
        let body = text.get(start..end).unwrap_or("");
        let span = self.place(pair);
        let value = if raw { Ok(literal::raw(body)) } else { literal::unescape(body) };
        match value {
            Ok(value) => Ok(StringLiteral { text: Text::from(value), span }),
            Err(escape) => self.bad_escape(body, span.start as usize + start, escape),
        }
    }

    fn blob(&mut self, pair: &Node<'_>) -> Built<Literal> {
        let text = pair.text();
        let (raw, start, end) = literal::content(text);
        let body = text.get(start..end).unwrap_or("");
        let span = self.place(pair);
        let value = if raw { Ok(literal::raw(body).into_bytes()) } else { literal::unescape_bytes(body) };
        match value {
            Ok(value) => Ok(Literal::Blob(value.into())),
            Err(escape) => self.bad_escape(body, span.start as usize + start, escape),
        }
    }

    fn bad_escape<T>(&mut self, body: &str, base: usize, (start, end): (usize, usize)) -> Built<T> {
        let mut end = end.min(body.len());
        while end < body.len() && !body.is_char_boundary(end) {
            end += 1;
        }
        let text = body.get(start..end).unwrap_or("\\");
        let message = format!("`{text}` is not an escape");
        let help = "write `\\\\` for a backslash, or put `r` before the quote".to_owned();
        let span = self.span(base + start, base + end);
        self.refuse(&codes::BAD_ESCAPE, span, message, Some(help))
    }

    /// A text in double quotes with `{path}` in it.
    pub(super) fn template(&mut self, pair: &Node<'_>) -> Built<Template> {
        let span = self.place(pair);
        let text = pair.text();
        let body = text.get(1..text.len().saturating_sub(1)).unwrap_or("");
        let base = span.start as usize + 1;
        let mut parts = Vec::new();
        let mut plain = String::new();
        let mut at = 0;
        while let Some(rest) = body.get(at..).filter(|rest| !rest.is_empty()) {
            let next = rest.find(['{', '}', '\\']).unwrap_or(rest.len());
            plain.push_str(rest.get(..next).unwrap_or(""));
            at += next;
            let rest = body.get(at..).unwrap_or("");
            let mut chars = rest.chars();
            match (chars.next(), chars.next()) {
                (Some(brace @ ('{' | '}')), Some(second)) if brace == second => {
                    plain.push(brace);
                    at += 2;
                }
                (Some('{'), _) => {
                    if !plain.is_empty() {
                        let segment = std::mem::take(&mut plain);
                        parts.push(TemplatePart::Text(Text::from(segment)));
                    }
                    let Some(close) = rest.find('}') else {
                        let span = self.span(base + at, base + at + 1);
                        let help = Some("write `{{` for a brace".to_owned());
                        return self.refuse(&codes::UNCLOSED, span, "`{` begins a path and has no `}`", help);
                    };
                    let hole = self.hole(base + at, base + at + close + 1)?;
                    parts.push(TemplatePart::Hole(hole));
                    at += close + 1;
                }
                (Some('\\'), Some(_)) => {
                    let end = rest.find(['{', '}']).unwrap_or(rest.len());
                    let end = if end < 2 { rest.chars().take(2).map(char::len_utf8).sum() } else { end };
                    let segment = rest.get(..end).unwrap_or("");
                    match literal::unescape(segment) {
                        Ok(segment) => plain.push_str(&segment),
                        Err(escape) => return self.bad_escape(segment, base + at, escape),
                    }
                    at += end;
                }
                (Some(other), _) => {
                    plain.push(other);
                    at += other.len_utf8();
                }
                (None, _) => break,
            }
        }
        if !plain.is_empty() {
            parts.push(TemplatePart::Text(Text::from(plain)));
        }
        Ok(Template { parts, span })
    }

    /// `{path}`, from brace to brace.
    fn hole(&mut self, start: usize, end: usize) -> Built<Expr> {
        let whole = self.span(start, end);
        let inside = self.text.get(start + 1..end.saturating_sub(1)).unwrap_or("");
        let help = || Some("`{node.name}` shows a value; write `{{` for a brace".to_owned());
        let Ok(pairs) = Grammar::parse(Rule::hole, inside) else {
            let message = format!("`{{{inside}}}` is not a path");
            return self.refuse(&codes::SYNTAX, whole, message, help());
        };
        let kept = (self.base, self.limit);
        (self.base, self.limit) = (start + 1, end.saturating_sub(1));
        let expr = self.whole_expression(&Nodes::of(inside, pairs));
        (self.base, self.limit) = kept;
        match expr {
            Some(expr) if is_path(&expr) => Ok(expr),
            Some(_) => {
                let message = format!("`{{{inside}}}` is not a path");
                let help = Some(
                    "a text may hold names, fields and indices only; other values go to `with { … }`"
                        .to_owned(),
                );
                self.refuse(&codes::SYNTAX, whole, message, help)
            }
            None => Err(super::build::Failed),
        }
    }
}

/// A name, its fields, and its indices that are literals or paths.
pub(super) fn is_path(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Name(_) => true,
        ExprKind::Field(access) => is_path(&access.object),
        ExprKind::Index(access) => {
            is_path(&access.object)
                && (matches!(access.index.kind, ExprKind::Literal(_)) || is_path(&access.index))
        }
        _ => false,
    }
}

fn is_number(rule: Rule) -> bool {
    matches!(rule, Rule::duration | Rule::quantity | Rule::percent | Rule::float | Rule::int)
}

fn binary_op(rule: Rule) -> Option<BinaryOp> {
    Some(match rule {
        Rule::or => BinaryOp::Or,
        Rule::and => BinaryOp::And,
        Rule::eq => BinaryOp::Eq,
        Rule::ne => BinaryOp::Ne,
        Rule::le => BinaryOp::Le,
        Rule::ge => BinaryOp::Ge,
        Rule::lt => BinaryOp::Lt,
        Rule::gt => BinaryOp::Gt,
        Rule::k_in => BinaryOp::In,
        Rule::k_matches => BinaryOp::Matches,
        Rule::coalesce => BinaryOp::Coalesce,
        Rule::plus => BinaryOp::Add,
        Rule::minus => BinaryOp::Sub,
        Rule::star => BinaryOp::Mul,
        Rule::slash => BinaryOp::Div,
        Rule::percent_op => BinaryOp::Rem,
        _ => return None,
    })
}

/// Operands and operators that wait for a looser operator: what a weaker one closes is folded.
#[derive(Default)]
struct Chain {
    operands: Vec<Expr>,
    operators: Vec<(BinaryOp, Span)>,
}

impl Chain {
    /// The next operator; its left operand has been pushed.
    fn push(&mut self, op: BinaryOp, span: Span) {
        while let Some((before, _)) = self.operators.last() {
            let tighter = before.precedence() > op.precedence()
                || (before.precedence() == op.precedence() && !op.groups_right());
            if !tighter {
                break;
            }
            self.fold();
        }
        self.operators.push((op, span));
    }

    /// Folds the last operator and its two operands.
    fn fold(&mut self) {
        let Some((op, op_span)) = self.operators.pop() else { return };
        let (Some(right), Some(left)) = (self.operands.pop(), self.operands.pop()) else { return };
        let span = left.span.to(right.span);
        let kind = ExprKind::Binary(Box::new(Binary { op, op_span, left, right }));
        self.operands.push(Expr { kind, span });
    }

    fn finish(mut self) -> Option<Expr> {
        while !self.operators.is_empty() {
            self.fold();
        }
        self.operands.pop()
    }
}
