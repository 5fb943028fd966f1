//! Parts of statements from the values of YAML: expressions, names, reasons with their templates, types and
//! constants.

use super::names::{Resolver, Uses};
use super::read::Reader;
use super::scalars::Scalar;
use super::types;
use crate::syntax::ast::*;
use crate::syntax::cel;
use crate::syntax::expr::is_path;
use crate::syntax::literal;
use bayplan_diag::{Diagnostic, Embedded, Span, codes};
use bayplan_yaml::{Tree, TreeEntry, TreeValue};

/// A value, and whether it is inside of brackets of YAML.
#[derive(Clone, Copy)]
pub(super) struct Node<'t> {
    pub(super) tree: &'t Tree,
    pub(super) flow: bool,
}

impl<'t> Node<'t> {
    /// A part of it, in a text.
    pub(super) fn inner(self, tree: &'t Tree, text: &str) -> Node<'t> {
        let opens = text.get(self.tree.at.start..).is_some_and(|rest| rest.starts_with(['{', '[']));
        Node { tree, flow: self.flow || opens }
    }
}

/// The decoded text of a scalar, with the places of its bytes.
pub(super) struct Decoded {
    pub(super) text: String,
    embedded: Embedded,
    start: usize,
    end: usize,
}

impl Decoded {
    /// The place of a byte in the document. Where the two texts cannot be aligned, the scalar as a whole.
    pub(super) fn at(&self, offset: usize) -> usize {
        match self.embedded.is_aligned() {
            true => self.embedded.outer(u32::try_from(offset).unwrap_or(u32::MAX)) as usize,
            false if offset == 0 => self.start,
            false => self.end,
        }
    }
}

impl Reader<'_> {
    /// The value of a field of a map; none where it is missing or empty.
    pub(super) fn get<'t>(&self, node: Node<'t>, name: &str) -> Option<Node<'t>> {
        Some(node.inner(node.tree.get(name)?, self.text()))
    }

    /// A field of a map with its key.
    pub(super) fn entry<'t>(&self, node: Node<'t>, name: &str) -> Option<&'t TreeEntry> {
        let TreeValue::Map(entries) = &node.tree.value else { return None };
        entries.iter().find(|entry| entry.key == name)
    }

    /// The elements of a list.
    pub(super) fn items<'t>(&self, node: Node<'t>) -> Vec<Node<'t>> {
        match &node.tree.value {
            TreeValue::List(items) => items.iter().map(|item| node.inner(item, self.text())).collect(),
            _ => Vec::new(),
        }
    }

    /// The text of a scalar. Numbers, `true` and `false` are as the document has them.
    fn decoded(&self, node: Node<'_>) -> Option<Decoded> {
        let at = node.tree.at;
        let raw = self.text().get(at.start..at.end)?;
        let text = match &node.tree.value {
            TreeValue::String(text) => text.clone(),
            TreeValue::Bool(_) | TreeValue::Int(_) | TreeValue::Float(_) => raw.trim().to_owned(),
            _ => return None,
        };
        let embedded = Embedded::new(self.text(), at.start..at.end, &text);
        Some(Decoded { text, embedded, start: at.start, end: at.end })
    }

    fn keep(&mut self, node: Node<'_>, decoded: &Decoded) {
        let span = self.places.span(node.tree.at);
        let text = self.places.source.text();
        self.scalars.push(Scalar::new(text, &decoded.text, span, node.flow, &decoded.embedded));
    }

    /// An expression, with the names of the policy resolved.
    pub(super) fn expression(&mut self, node: Node<'_>) -> Option<Expr> {
        let decoded = self.decoded(node)?;
        self.keep(node, &decoded);
        if decoded.text.trim().is_empty() {
            let span = self.places.head(node.tree);
            self.say(Diagnostic::new(&codes::BAD_DOCUMENT, span, "the expression is empty"));
            return None;
        }
        let kept = self.scalars.len() - 1;
        let expr = self.parsed(&decoded.text, &|offset| decoded.at(offset))?;
        if let Some(scalar) = self.scalars.get_mut(kept) {
            scalar.read(&expr);
        }
        Some(expr)
    }

    fn parsed(&mut self, text: &str, at: &dyn Fn(usize) -> usize) -> Option<Expr> {
        let parsed = cel::parse(text, self.places.source.id(), at);
        self.said.extend(parsed.diagnostics);
        let mut expr = parsed.expr?;
        Resolver::new(&self.names, &mut self.said, &mut self.uses).expr(&mut expr);
        Some(expr)
    }

    /// What an expression that is read next uses, taken apart from what was read before.
    pub(super) fn uses_of<R>(&mut self, read: impl FnOnce(&mut Self) -> R) -> (R, Uses) {
        let outer = std::mem::take(&mut self.uses);
        let result = read(self);
        (result, std::mem::replace(&mut self.uses, outer))
    }

    /// A duration such as `60s`, or an expression.
    pub(super) fn duration(&mut self, node: Node<'_>) -> Option<Expr> {
        let decoded = self.decoded(node)?;
        match literal::with_unit(decoded.text.trim()) {
            Some(Ok(value @ Literal::Duration(_))) => {
                Some(Expr { kind: ExprKind::Literal(value), span: self.places.head(node.tree) })
            }
            _ => self.expression(node),
        }
    }

    /// A name, of something that is declared or meant.
    pub(super) fn name(&self, node: Node<'_>) -> Option<Name> {
        let decoded = self.decoded(node)?;
        let (start, end) = (decoded.at(0), decoded.at(decoded.text.len()));
        Some(Name { text: Text::from(decoded.text), span: Span::new(self.places.source.id(), start, end) })
    }

    /// `reason` with the fields beside it: `with` and `resolvable` of the same map.
    pub(super) fn reason(&mut self, around: Node<'_>, key: &str) -> Option<Reason> {
        let node = self.get(around, key)?;
        let template = self.template(node)?;
        let resolvable = self.entry(around, "resolvable").and_then(|entry| match entry.value.value {
            TreeValue::Bool(true) => Some((Resolvable::Yes, self.places.entry(entry))),
            TreeValue::Bool(false) => Some((Resolvable::No, self.places.entry(entry))),
            _ => None,
        });
        let mut details = Vec::new();
        if let Some(with) = self.get(around, "with")
            && let TreeValue::Map(entries) = &with.tree.value
        {
            for entry in entries {
                let name = Name { text: Text::from(entry.key.as_str()), span: self.places.key(entry) };
                let value = self.expression(with.inner(&entry.value, self.text()))?;
                details.push(Detail { name, value });
            }
        }
        let span = template.span;
        Some(Reason { resolvable, template, details, span })
    }

    /// A text in which `{path}` is replaced.
    pub(super) fn template(&mut self, node: Node<'_>) -> Option<Template> {
        let decoded = self.decoded(node)?;
        let TreeValue::String(_) = node.tree.value else { return None };
        self.keep(node, &decoded);
        let text = decoded.text.as_str();
        let id = self.places.source.id();
        let (mut parts, mut plain, mut at) = (Vec::new(), String::new(), 0);
        while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
            let next = rest.find(['{', '}']).unwrap_or(rest.len());
            plain.push_str(rest.get(..next).unwrap_or(""));
            at += next;
            let rest = rest.get(next..).unwrap_or("");
            let mut letters = rest.chars();
            match (letters.next(), letters.next()) {
                (Some(brace), Some(second)) if brace == second => {
                    plain.push(brace);
                    at += 2;
                }
                (Some('{'), _) => {
                    if !plain.is_empty() {
                        parts.push(TemplatePart::Text(Text::from(std::mem::take(&mut plain))));
                    }
                    let Some(close) = rest.find('}') else {
                        let span = Span::new(id, decoded.at(at), decoded.at(at + 1));
                        let said =
                            Diagnostic::new(&codes::UNCLOSED, span, "`{` begins a path and has no `}`");
                        self.say(said.with_help("write `{{` for a brace"));
                        return None;
                    };
                    let inside = rest.get(1..close).unwrap_or("");
                    let from = at + 1;
                    let whole = Span::new(id, decoded.at(at), decoded.at(at + close + 1));
                    parts.push(TemplatePart::Hole(
                        self.hole(inside, whole, &|offset| decoded.at(from + offset))?,
                    ));
                    at += close + 1;
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
        Some(Template { parts, span: self.places.head(node.tree) })
    }

    /// The path of a `{path}`.
    fn hole(&mut self, inside: &str, whole: Span, at: &dyn Fn(usize) -> usize) -> Option<Expr> {
        let before = self.said.len();
        let expr = if inside.trim().is_empty() { None } else { self.parsed(inside, at) };
        match expr {
            Some(expr) if is_path(&expr) => Some(expr),
            _ => {
                self.said.truncate(before);
                let message = format!("`{{{inside}}}` is not a path");
                let help = "a text may hold names, fields and indices; other values go to `with`, and `{{` is a brace";
                self.say(Diagnostic::new(&codes::SYNTAX, whole, message).with_help(help));
                None
            }
        }
    }

    /// A type.
    pub(super) fn declared(&mut self, node: Node<'_>) -> Option<TypeExpr> {
        let decoded = self.decoded(node)?;
        let at = |offset| decoded.at(offset);
        let (declared, said) = types::parse(&decoded.text, self.places.source.id(), &at);
        self.said.extend(said);
        declared
    }

    /// A value as a constant. Texts are amounts, durations and times where the type says so.
    pub(super) fn constant(&mut self, node: Node<'_>, declared: Option<&TypeExpr>) -> Option<Expr> {
        let span = self.places.head(node.tree);
        let kind = match &node.tree.value {
            TreeValue::Null => ExprKind::Literal(Literal::None),
            TreeValue::Bool(value) => ExprKind::Literal(Literal::Bool(*value)),
            TreeValue::Int(value) => ExprKind::Literal(Literal::Int(*value)),
            TreeValue::Float(value) if value.is_finite() => ExprKind::Literal(Literal::Float(*value)),
            TreeValue::Float(_) => {
                self.say(Diagnostic::new(&codes::BAD_NUMBER, span, "this is not a finite number"));
                return None;
            }
            TreeValue::String(text) => self.text_constant(text, span, declared)?,
            TreeValue::List(_) => {
                let of = match declared.map(|declared| &declared.kind) {
                    Some(TypeExprKind::List(of) | TypeExprKind::Set(of)) => Some(&**of),
                    _ => None,
                };
                let items = self.items(node).into_iter();
                let items =
                    items.map(|item| Some(Element { value: self.constant(item, of)?, optional: false }));
                ExprKind::List(items.collect::<Option<Vec<_>>>()?)
            }
            TreeValue::Map(entries) => {
                let mut made = Vec::new();
                for entry in entries {
                    let of = match declared.map(|declared| &declared.kind) {
                        Some(TypeExprKind::Map(_, of)) => Some(&**of),
                        Some(TypeExprKind::Record(fields)) => fields
                            .iter()
                            .find(|field| *field.name.text == *entry.key)
                            .map(|field| &field.declared),
                        _ => None,
                    };
                    let key = ExprKind::Literal(Literal::String(Text::from(entry.key.as_str())));
                    let key = Expr { kind: key, span: self.places.key(entry) };
                    let value = self.constant(node.inner(&entry.value, self.text()), of)?;
                    made.push(Entry { key, value, optional: false });
                }
                ExprKind::Map(made)
            }
        };
        Some(Expr { kind, span })
    }

    fn text_constant(&mut self, text: &str, span: Span, declared: Option<&TypeExpr>) -> Option<ExprKind> {
        let string = || ExprKind::Literal(Literal::String(Text::from(text)));
        let Some(TypeExprKind::Name(name)) = declared.map(|declared| &declared.kind) else {
            return Some(string());
        };
        match &*name.text {
            "cpu" | "bytes" | "duration" | "float" | "double" => match literal::with_unit(text) {
                Some(Ok(value)) => Some(ExprKind::Literal(value)),
                Some(Err(message)) => {
                    self.say(Diagnostic::new(&codes::BAD_NUMBER, span, message));
                    None
                }
                None => Some(string()),
            },
            "time" => {
                let function = Name { text: Text::from("timestamp"), span };
                let value = Expr { kind: string(), span };
                Some(ExprKind::Call(Call { function, args: vec![Arg { name: None, value }] }))
            }
            _ => Some(string()),
        }
    }
}
