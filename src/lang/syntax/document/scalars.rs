//! Expressions in YAML scalars: the place of each byte in the document, and how a fix is written there.
//!
//! A fix is made for the expression. In the document its new text needs the escapes of the scalar's style. A scalar
//! without quotes gets them where its new value needs them; a fix that cannot be written in another one is not
//! offered.

use crate::syntax::ast::{Expr, Text};
use bayplan_diag::{Diagnostic, Edit, Embedded, Fix, Span};
use std::sync::Arc;

/// How a scalar is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Style {
    /// Without quotes; `flow` inside of brackets of YAML.
    Plain { flow: bool },
    /// `'…'`
    Single,
    /// `"…"`, and texts of JSON.
    Double,
    /// `|` and `>`
    Block,
}

/// A scalar with an expression.
#[derive(Clone, Debug, PartialEq)]
pub struct Scalar {
    span: Span,
    style: Style,
    /// What it says.
    value: Text,
    /// The tree of the expression, with the places of the document; none if it cannot be read.
    tree: Option<Arc<Expr>>,
    /// The document has its value byte by byte.
    verbatim: bool,
    aligned: bool,
}

/// Whether the new texts of edits are those of the expression, or have parts of the document in them with the escapes
/// that they have there.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Words {
    OfExpression,
    OfDocument,
}

impl Scalar {
    pub(super) fn new(text: &str, value: &str, span: Span, flow: bool, embedded: &Embedded) -> Self {
        let start = span.start as usize;
        let style = match text.as_bytes().get(start) {
            Some(b'"') => Style::Double,
            Some(b'\'') => Style::Single,
            _ if is_block(text, start) => Style::Block,
            _ => Style::Plain { flow },
        };
        let (verbatim, aligned) = (embedded.is_verbatim(), embedded.is_aligned());
        Scalar { span, style, value: Text::from(value), tree: None, verbatim, aligned }
    }

    /// Keeps the tree of its expression.
    pub(super) fn read(&mut self, tree: &Expr) {
        self.tree = Some(Arc::new(tree.clone()));
    }

    /// The tree, where the document has the expression byte by byte.
    pub(crate) fn verbatim(&self) -> Option<&Expr> {
        self.tree.as_deref().filter(|_| self.verbatim)
    }

    /// Where it is in the document.
    pub fn span(&self) -> Span {
        self.span
    }

    /// What it says.
    pub fn value(&self) -> &str {
        &self.value
    }

    /// Its bytes in the document beside those of its value; none if the two cannot be laid side by side.
    pub fn embedded(&self, document: &str) -> Option<Embedded> {
        self.aligned.then(|| Embedded::new(document, self.span.range(), &self.value))
    }

    /// The new text of an edit as this scalar writes it; none if it cannot.
    fn written(&self, document: &str, edit: &Edit, words: Words) -> Option<String> {
        let new = edit.text.as_str();
        if !self.aligned || new.contains(['\n', '\r', '\t']) {
            return None;
        }
        match self.style {
            Style::Block => Some(new.to_owned()),
            // Beside escapes it is not known which quotes of the new text are already escaped.
            Style::Single if words == Words::OfDocument && !self.verbatim && new.contains('\'') => None,
            Style::Single => Some(new.replace('\'', "''")),
            Style::Double if words == Words::OfDocument && !self.verbatim && new.contains(['"', '\\']) => {
                None
            }
            Style::Double => Some(new.replace('\\', "\\\\").replace('"', "\\\"")),
            Style::Plain { flow } => {
                let value = self.with(document, std::slice::from_ref(edit))?;
                stays_plain(&value, flow).then(|| new.to_owned())
            }
        }
    }
}

/// Whether a text without quotes is read as itself.
fn stays_plain(value: &str, flow: bool) -> bool {
    let indicator = value.starts_with([
        '[', ']', '{', '}', ',', '#', '&', '*', '!', '|', '>', '\'', '"', '%', '@', '`', ' ', '?', ':', '-',
    ]);
    let broken = value.contains(": ") || value.contains(" #") || value.ends_with([':', ' ']);
    let word = matches!(value, "" | "null" | "~" | "Null" | "NULL");
    !(indicator || broken || word || flow && value.contains(['[', ']', '{', '}', ',']))
}

/// Whether the content of a block scalar begins at a place: alone on its line, below a line that ends with `|` or
/// `>` and what may follow them.
fn is_block(text: &str, start: usize) -> bool {
    let before = text.get(..start).unwrap_or("");
    let Some(line) = before.rfind('\n') else { return false };
    if !before.get(line..).unwrap_or("x").trim().is_empty() {
        return false;
    }
    let above = before.get(..line).unwrap_or("");
    let header = above.trim_end().rsplit('\n').next().unwrap_or("");
    let header = header.split(" #").next().unwrap_or("").trim_end();
    let header = header.trim_end_matches(|c: char| c.is_ascii_digit() || c == '+' || c == '-');
    header.ends_with(['|', '>']) && header.trim_end_matches(['|', '>']).ends_with([' ', '\t'])
}

/// Writes the fixes of diagnostics as the scalars of a document need it, and takes out those that cannot be
/// written.
pub(crate) fn settle_fixes(document: &str, scalars: &[Scalar], diagnostics: &mut [Diagnostic]) {
    let mut sorted: Vec<&Scalar> = scalars.iter().collect();
    sorted.sort_by_key(|scalar| scalar.span.start);
    for diagnostic in diagnostics {
        diagnostic.fixes.retain_mut(|fix| settle(document, &sorted, fix));
    }
}

/// Writes one fix; false if it cannot be written.
fn settle(document: &str, sorted: &[&Scalar], fix: &mut Fix) -> bool {
    let around = |span: Span| {
        let at = sorted.partition_point(|scalar| scalar.span.start <= span.start);
        let scalar = at.checked_sub(1).and_then(|at| sorted.get(at))?;
        scalar.span.contains(span).then_some(*scalar)
    };
    let first = fix.edits.first().and_then(|edit| around(edit.span));
    if let Some(scalar) = first
        && fix.edits.iter().all(|edit| scalar.span.contains(edit.span))
    {
        return scalar.settle(document, fix, Words::OfDocument);
    }
    fix.edits.iter_mut().all(|edit| match around(edit.span) {
        Some(scalar) => match scalar.written(document, edit, Words::OfDocument) {
            Some(written) => {
                edit.text = written;
                true
            }
            None => false,
        },
        // Keys and words outside of expressions are written as they are.
        None => edit.text.bytes().all(|byte| byte.is_ascii_alphanumeric()),
    })
}

impl Scalar {
    /// Writes a fix of this expression whose new texts are those of the expression; none if it cannot be written.
    pub fn fix(&self, document: &str, mut fix: Fix) -> Option<Fix> {
        self.settle(document, &mut fix, Words::OfExpression).then_some(fix)
    }

    /// Writes a fix with all of its edits in this scalar; false if it cannot be written.
    fn settle(&self, document: &str, fix: &mut Fix, words: Words) -> bool {
        if let Style::Plain { flow } = self.style {
            // Each edit may be right alone and the value with all of them wrong.
            let Some(value) = self.with(document, &fix.edits) else { return false };
            if !stays_plain(&value, flow) {
                if !self.verbatim {
                    return false;
                }
                let text = format!("'{}'", value.replace('\'', "''"));
                fix.edits = vec![Edit { span: self.span, text }];
            }
            return true;
        }
        let written = fix.edits.iter().map(|edit| self.written(document, edit, words));
        let Some(written) = written.collect::<Option<Vec<String>>>() else { return false };
        fix.edits.iter_mut().zip(written).for_each(|(edit, written)| edit.text = written);
        true
    }

    /// The bytes of a scalar without quotes with edits; none if it cannot have them.
    fn with(&self, document: &str, edits: &[Edit]) -> Option<String> {
        let mut edits: Vec<&Edit> = edits.iter().collect();
        edits.sort_by_key(|edit| (edit.span.start, edit.span.end));
        let (mut value, mut at) = (String::new(), self.span.start as usize);
        for edit in edits {
            if !self.aligned || edit.text.contains(['\n', '\r', '\t']) {
                return None;
            }
            value.push_str(document.get(at..edit.span.start as usize)?);
            value.push_str(&edit.text);
            at = edit.span.end as usize;
        }
        value.push_str(document.get(at..self.span.end as usize)?);
        Some(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plain_text_stays_plain_only_without_marks_of_yaml() {
        for (value, block, flow) in [
            ("node.ready", true, true),
            ("has(a[\"k\"]) && b", true, false),
            ("a ? b : c", false, false),
            ("[a].b", false, false),
            ("!a", false, false),
            ("a #b", false, false),
        ] {
            assert_eq!(stays_plain(value, false), block, "{value}");
            assert_eq!(stays_plain(value, true), flow, "{value}");
        }
    }

    #[test]
    fn the_content_of_a_block_is_known_by_the_line_above() {
        for (text, block) in [
            ("a: |\n  x", true),
            ("a: >-\n\n  x", true),
            ("a: |2 # note\n   x", true),
            ("a:\n  x", false),
            ("a: b >\n", false),
            ("x", false),
        ] {
            assert_eq!(is_block(text, text.find('x').unwrap_or(0)), block, "{text:?}");
        }
    }
}
