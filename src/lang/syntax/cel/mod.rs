//! CEL expressions: text to the tree of the policy language.
//!
//! Called for the expressions of a `SchedulingPolicy`, for `eval --cel` and for device selectors. `tokens` cuts the text,
//! `parse` reads it with the `cel` crate and gives every node its place, `mistakes` explains what cannot be read, `write` gives the text of a tree.
//! Every place goes through the caller's map to the document that has the expression.

mod mistakes;
mod parse;
mod tokens;
mod write;

use crate::syntax::MAX_OPERATORS;
use crate::syntax::ast::Expr;
use crate::syntax::tokens::MAX_DEPTH;
use bayplan_diag::{Diagnostic, SourceId, Span, codes};
use mistakes::Text;
use parse::Refused;
use tokens::Tokens;
pub use write::{NotInCel, write};

/// Bytes that an expression may have.
pub(crate) const MAX_BYTES: usize = 16 << 10;

/// An expression as far as it could be read.
#[derive(Clone, Debug, PartialEq)]
pub struct Parsed {
    /// None when it could not be read; then there is an error among the diagnostics.
    pub expr: Option<Expr>,
    /// What is wrong.
    pub diagnostics: Vec<Diagnostic>,
}

/// The text's place in its document.
struct Place<'a> {
    source: SourceId,
    at: &'a dyn Fn(usize) -> usize,
}

impl Place<'_> {
    fn span(&self, start: usize, end: usize) -> Span {
        Span::new(self.source, (self.at)(start), (self.at)(end))
    }
}

/// Reads an expression of Kubernetes' CEL. `text` is the expression itself, `at` maps a byte of it (or its end) to the
/// byte of `source` that it comes from. Never fails and never panics.
pub fn parse(text: &str, source: SourceId, at: &dyn Fn(usize) -> usize) -> Parsed {
    let place = Place { source, at };
    let refused = |said: Diagnostic| Parsed { expr: None, diagnostics: vec![said] };
    if text.len() > MAX_BYTES {
        let message = format!("the expression has {} bytes, and the limit is {MAX_BYTES}", text.len());
        let said = Diagnostic::new(&codes::TOO_LARGE, place.span(0, 0), message);
        return refused(said.with_help("move parts of it to `variables`"));
    }
    let tokens = Tokens::of(text);
    if let Some(said) = too_large(&tokens, &place) {
        return refused(said);
    }
    let written = Text { tokens: &tokens, place: &place };
    let diagnostics = match parse::parse(&tokens, &place) {
        Ok((expr, messages)) => {
            let mut said: Vec<Diagnostic> = messages.into_iter().map(message_literal).collect();
            said.extend(mistakes::familiar::accepted(written));
            if said.is_empty() {
                return Parsed { expr: Some(expr), diagnostics: said };
            }
            said
        }
        Err(Refused::Errors(found)) => mistakes::explain(written, &found),
        Err(Refused::Broken) => mistakes::explain(written, &[]),
    };
    Parsed { expr: None, diagnostics }
}

/// What of it is too much for the parser.
fn too_large(tokens: &Tokens<'_>, place: &Place<'_>) -> Option<Diagnostic> {
    let (at, message, label) = match (tokens.too_deep, tokens.too_many) {
        (Some(at), _) => (at, format!("more than {MAX_DEPTH} levels of brackets"), "this one is too deep"),
        (_, Some(at)) => (
            at,
            format!("more than {MAX_OPERATORS} operators in one expression"),
            "this is the first too many",
        ),
        _ => return None,
    };
    let span = tokens.token(at).map(|token| place.span(token.start, token.end))?;
    let said = Diagnostic::new(&codes::TOO_LARGE, span, message);
    Some(said.with_label(label).with_help("move parts of it to `variables`"))
}

/// `T{f: v}`
fn message_literal((span, name): (Span, String)) -> Diagnostic {
    if name.starts_with("google.protobuf.") {
        let message = format!("`{name}` is unknown: protobuf messages are not supported");
        return Diagnostic::new(&codes::FOREIGN_WORD, span, message).with_help(
            "numbers and texts need no wrapper; `duration(\"1h\")` and `timestamp(\"…\")` make durations and times",
        );
    }
    Diagnostic::new(&codes::FOREIGN_WORD, span, "no message types are declared")
        .with_help("a map is written `{\"key\": value}`, without a type before it")
}
