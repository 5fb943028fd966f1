//! Text to tree. Never fails and never panics: the result is a tree and the mistakes of the text.
//!
//! Called by `lang::compile_for` and `bayplan eval`. The grammar reads a correct text in one pass; a text with
//! mistakes is cut into statements by `recovery`, and each is read alone. `lang::check` resolves types and
//! names.
//!
//! `pest` is built without its feature `std`, whose probe of the stack takes a third of the parser's time; so
//! brackets are counted before the parser runs. With the room `cluster` a library turns the feature on.

pub mod ast;
mod build;
pub mod cel;
mod comments;
pub mod document;
mod expr;
mod familiar;
mod grammar;
mod mentions;
pub(crate) mod literal;
mod nodes;
mod recovery;
mod tokens;

use crate::language::limits::MOST_TOKENS;
use crate::syntax::ast::{Expr, File};
use bayplan_diag::{Diagnostic, Form, Source, Span, codes};
use build::Builder;
use grammar::{Grammar, Rule};
pub use mentions::mentioned;
use nodes::Nodes;
use pest::Parser as _;

/// Bytes that a policy file may have.
pub(crate) const MAX_BYTES: usize = 1 << 20;

/// Operators that one expression may have: those between operands, prefixes, `? :`, `.` and brackets.
pub(crate) const MAX_OPERATORS: usize = 1000;

/// How many diagnostics of one file are kept; what follows is counted in the last one.
const MAX_DIAGNOSTICS: usize = 200;

/// Reads a policy file, in the policy language or as documents. The tree has every statement that could be read,
/// and `Broken` for every one that could not; then there is at least one error among the diagnostics.
pub fn parse(source: &Source) -> (File, Vec<Diagnostic>) {
    if source.form() == Form::Document {
        return document::parse(source);
    }
    let text = source.text();
    let mut file = File { source: source.id(), ..File::default() };
    if document::is_document(text) {
        let message = "this is YAML or JSON, not the policy language";
        let help = "give the file or key the ending `.yaml` or `.json`";
        return (
            file,
            vec![Diagnostic::new(&codes::SYNTAX, source.span().at_start(), message).with_help(help)],
        );
    }
    if let Some(diagnostic) = too_long(source) {
        return (file, vec![diagnostic]);
    }
    let found = tokens::scan(text);
    let mut diagnostics = Vec::new();
    if let Some(diagnostic) = found.too_large(source) {
        return (file, vec![diagnostic]);
    }
    let mut builder = Builder::new(source, &found, &mut diagnostics);
    let read = || Grammar::parse(Rule::file, text).map(|pairs| Nodes::of(text, pairs));
    match found.open.is_empty().then(read) {
        Some(Ok(nodes)) => builder.file(&nodes, &mut file),
        Some(Err(error)) => recovery::file(&mut builder, &mut file, Some(&error)),
        None => recovery::file(&mut builder, &mut file, None),
    }
    let safe = builder.failed;
    if safe && !diagnostics.iter().any(Diagnostic::is_error) {
        // a part was dropped and nothing said why: the file must not be loaded without it
        diagnostics.push(Diagnostic::new(
            &codes::SYNTAX,
            source.span().at_start(),
            "a part of the file could not be read",
        ));
    }
    comments::comments(source, &found, &mut file, &mut diagnostics);
    diagnostics.sort_by_key(|diagnostic| (diagnostic.span.start, diagnostic.span.end));
    diagnostics.dedup();
    limit(&mut diagnostics);
    (file, diagnostics)
}

/// Reads one expression, for `eval`. None when it could not be read; then there is an error.
pub fn parse_expression(source: &Source) -> (Option<Expr>, Vec<Diagnostic>) {
    let text = source.text();
    if let Some(diagnostic) = too_long(source) {
        return (None, vec![diagnostic]);
    }
    let found = tokens::scan(text);
    if let Some(diagnostic) = found.too_large(source) {
        return (None, vec![diagnostic]);
    }
    let mut diagnostics = Vec::new();
    let mut builder = Builder::new(source, &found, &mut diagnostics);
    let expr = match Grammar::parse(Rule::hole, text).map(|pairs| Nodes::of(text, pairs)) {
        Ok(nodes) => builder.whole_expression(&nodes),
        Err(error) => {
            let segment = recovery::segments::Segment::whole(&builder, "expression");
            recovery::explain(&mut builder, &segment, &error);
            None
        }
    };
    if expr.is_none() && diagnostics.is_empty() {
        diagnostics.push(Diagnostic::new(&codes::SYNTAX, source.span(), "the expression could not be read"));
    }
    limit(&mut diagnostics);
    (expr, diagnostics)
}

fn too_long(source: &Source) -> Option<Diagnostic> {
    let long = source.text().len();
    (long > MAX_BYTES).then(|| {
        Diagnostic::new(
            &codes::TOO_LARGE,
            Span::new(source.id(), 0, 0),
            format!("the policy file has {long} bytes, and the limit is {MAX_BYTES}"),
        )
        .with_help("split it into several files")
    })
}

impl tokens::Scan {
    /// What of it is too much for the parser.
    fn too_large(&self, source: &Source) -> Option<Diagnostic> {
        if let Some(at) = self.too_deep {
            let message = format!("more than {} levels of brackets", tokens::MAX_DEPTH);
            let said = Diagnostic::new(&codes::TOO_LARGE, Span::new(source.id(), at, at + 1), message);
            return Some(
                said.with_label("this one is too deep").with_help("name parts of the expression with `let`"),
            );
        }
        let first = self.tokens.get(MOST_TOKENS)?;
        let message = format!("more than {} words and marks", bayplan_diag::with_commas(MOST_TOKENS as u128));
        let said =
            Diagnostic::new(&codes::TOO_LARGE, Span::new(source.id(), first.start, first.end), message);
        Some(
            said.with_label("these are the first that are too many").with_help("split it into several files"),
        )
    }
}

fn limit(diagnostics: &mut Vec<Diagnostic>) {
    let more = diagnostics.len().saturating_sub(MAX_DIAGNOSTICS);
    if more == 0 {
        return;
    }
    diagnostics.truncate(MAX_DIAGNOSTICS);
    if let Some(last) = diagnostics.last_mut() {
        last.help = Some(format!("{more} more mistakes of this file are not shown"));
    }
}
/// The mark that begins a string at a place: `'` inside of a text in double quotes, which a `"` would end.
pub(crate) fn quote_at(text: &str, at: usize) -> char {
    let line = text.get(..at).unwrap_or("").rsplit('\n').next().unwrap_or("");
    let (mut inside, mut escaped) = (false, false);
    for mark in line.chars() {
        inside ^= mark == '"' && !escaped;
        escaped = mark == '\\' && !escaped;
    }
    if inside { '\'' } else { '"' }
}
