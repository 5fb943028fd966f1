//! Expressions in YAML scalars: the place of each byte in the document, and how a fix is written there.
//!
//! A fix is made for the expression. In the document its new text needs the escapes of the scalar's style; a fix
//! that cannot be written in the scalar as it is, is not offered.

use crate::diag::{Diagnostic, Edit, Embedded, Span};

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
    /// The document has its value byte by byte.
    verbatim: bool,
    aligned: bool,
}

impl Scalar {
    pub(super) fn new(text: &str, span: Span, flow: bool, embedded: &Embedded) -> Self {
        let start = span.start as usize;
        let style = match text.as_bytes().get(start) {
            Some(b'"') => Style::Double,
            Some(b'\'') => Style::Single,
            _ if is_block(text, start) => Style::Block,
            _ => Style::Plain { flow },
        };
        Scalar { span, style, verbatim: embedded.is_verbatim(), aligned: embedded.is_aligned() }
    }

    /// The new text of an edit as this scalar writes it; none if it cannot.
    fn written(&self, document: &str, edit: &Edit) -> Option<String> {
        let new = edit.text.as_str();
        if !self.aligned || new.contains(['\n', '\r', '\t']) {
            return None;
        }
        match self.style {
            Style::Block => Some(new.to_owned()),
            // Beside escapes it is not known which quotes of the new text are already escaped.
            Style::Single if !self.verbatim && new.contains('\'') => None,
            Style::Single => Some(new.replace('\'', "''")),
            Style::Double if !self.verbatim && new.contains(['"', '\\']) => None,
            Style::Double => Some(new.replace('\\', "\\\\").replace('"', "\\\"")),
            Style::Plain { flow } => {
                let mut value = document.get(self.span.start as usize..edit.span.start as usize)?.to_owned();
                value.push_str(new);
                value.push_str(document.get(edit.span.end as usize..self.span.end as usize)?);
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
pub fn settle_fixes(document: &str, scalars: &[Scalar], diagnostics: &mut [Diagnostic]) {
    let mut scalars: Vec<&Scalar> = scalars.iter().collect();
    scalars.sort_by_key(|scalar| scalar.span.start);
    let around = |span: Span| {
        let at = scalars.partition_point(|scalar| scalar.span.start <= span.start);
        let scalar = at.checked_sub(1).and_then(|at| scalars.get(at))?;
        scalar.span.contains(span).then_some(*scalar)
    };
    for diagnostic in diagnostics {
        diagnostic.fixes.retain_mut(|fix| {
            fix.edits.iter_mut().all(|edit| match around(edit.span) {
                Some(scalar) => match scalar.written(document, edit) {
                    Some(written) => {
                        edit.text = written;
                        true
                    }
                    None => false,
                },
                // Keys and words outside of expressions are written as they are.
                None => edit.text.bytes().all(|byte| byte.is_ascii_alphanumeric()),
            })
        });
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
