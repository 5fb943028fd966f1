//! Functions: all of them as one page, and the overloads of one name.

use super::page::Page;
use super::topics::Found;
use crate::diag::suggest::nearest;
use crate::lang::language::functions::{FUNCTIONS, FunctionDef};
use std::collections::BTreeMap;

/// The rows by name, in the order of the alphabet.
fn by_name() -> BTreeMap<&'static str, Vec<&'static FunctionDef>> {
    let mut rows: BTreeMap<&str, Vec<&FunctionDef>> = BTreeMap::new();
    for row in FUNCTIONS.iter().flat_map(|family| family.iter()) {
        rows.entry(row.name).or_default().push(row);
    }
    rows
}

/// Every function and method.
pub(super) fn page() -> Page {
    let mut page = Page::new("Functions");
    page.text(
        "Functions and methods of expressions. A result with a question mark may be absent: give a \
         default with `??`. CEL's functions mean what they mean in Kubernetes.",
    );
    for (name, rows) in by_name() {
        describe(&mut page, name, &rows);
    }
    page
}

fn describe(page: &mut Page, name: &str, rows: &[&FunctionDef]) {
    page.section_at(format!("`{name}`"), anchor(name));
    for row in rows {
        page.example("text", row.signature());
        page.text(row.doc);
        if !row.examples.is_empty() {
            let examples = row.examples.iter().map(|(expression, value)| vec![code(expression), code(value)]);
            page.table(&["expression", "value"], examples);
        }
    }
}

fn code(text: &str) -> String {
    format!("`{text}`")
}

fn anchor(name: &str) -> String {
    name.to_lowercase().replace('.', "-")
}

/// The page of one name.
pub(super) fn look_up(word: &str) -> Found {
    let name = word.trim_end_matches("()").trim_start_matches('.');
    let rows = by_name();
    let Some(found) = rows.get(name) else {
        return Found::Unknown { near: nearest(name, rows.keys().copied()).map(str::to_owned) };
    };
    let mut page = Page::new(name);
    describe(&mut page, name, found);
    page.blocks.remove(0);
    Found::Page(page)
}
