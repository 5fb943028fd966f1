//! The types of documents, from the text that YAML decodes. They are written as in the policy language.

use super::remap::Move;
use crate::syntax::ast::TypeExpr;
use crate::syntax::build::Builder;
use crate::syntax::grammar::{Grammar, Rule};
use crate::syntax::nodes::Nodes;
use crate::syntax::tokens;
use bayplan_diag::{Diagnostic, SourceId, SourceMap, codes};
use pest::Parser as _;

/// Reads a type. `at` is the place of a byte of `text` in the document.
pub(super) fn parse(
    text: &str,
    source: SourceId,
    at: &dyn Fn(usize) -> usize,
) -> (Option<TypeExpr>, Vec<Diagnostic>) {
    let mut sources = SourceMap::new();
    let id = sources.add("type", text);
    let Some(own) = sources.get(id) else { return (None, Vec::new()) };
    let found = tokens::scan(text);
    let mut said = Vec::new();
    let mut declared = None;
    if found.too_deep.is_none()
        && let Ok(pairs) = Grammar::parse(Rule::type_, text)
    {
        let nodes = Nodes::of(text, pairs);
        let whole = nodes
            .root()
            .is_some_and(|root| text.get(root.end()..).is_some_and(|rest| rest.trim().is_empty()));
        if let Some(root) = nodes.root().filter(|_| whole) {
            declared = Builder::new(own, &found, &mut said).type_(root).ok();
        }
    }
    if declared.is_none() && said.is_empty() {
        let message = format!("`{text}` is not a type");
        let help =
            "types are `int`, `float`, `string`, `bool`, `cpu`, `bytes`, `duration`, `list<string>`, …";
        said.push(Diagnostic::new(&codes::BAD_DOCUMENT, own.span(), message).with_help(help));
    }
    let moved = Move { source, at };
    declared.iter_mut().for_each(|declared| moved.type_expr(declared));
    said.iter_mut().for_each(|said| moved.diagnostic(said));
    (declared, said)
}
