//! Functions: all of them as one page, and the overloads of one name.

use super::page::{Page, sentence};
use super::topics::Found;
use crate::diag::suggest::nearest;
use crate::lang::language::functions::{self, Examples};
use crate::lang::language::macros::{FORMS, MACROS};
use std::collections::BTreeMap;

/// One way to call a name: a function, a method, a macro or a form.
struct Call {
    signature: String,
    doc: &'static str,
    examples: Examples,
}

/// Every call by name, in the order of the alphabet.
fn by_name() -> BTreeMap<&'static str, Vec<Call>> {
    let forms = FORMS.iter().map(|row| (row.name, row.signature.to_owned(), row.doc, row.examples));
    let macros = MACROS.iter().map(|row| (row.name, row.signature.to_owned(), row.doc, row.examples));
    let functions = functions::of_policies();
    let functions = functions.map(|row| (row.name, row.signature(), row.doc, row.examples));
    let mut calls: BTreeMap<&str, Vec<Call>> = BTreeMap::new();
    for (name, signature, doc, examples) in forms.chain(macros).chain(functions) {
        calls.entry(name).or_default().push(Call { signature, doc, examples });
    }
    calls
}

/// Every function and method.
pub(super) fn page() -> Page {
    let mut page = Page::new("Functions");
    page.text(
        "Functions, methods and macros of expressions. A macro evaluates its last argument for each \
         element of a collection. A result with a question mark may be absent: give a default with \
         `??`. CEL's functions mean what they mean in Kubernetes.",
    );
    for (name, calls) in by_name() {
        page.section_at(format!("`{name}`"), name.to_lowercase().replace('.', "-"));
        describe(&mut page, &calls);
    }
    page
}

fn describe(page: &mut Page, calls: &[Call]) {
    for call in calls {
        page.example("text", call.signature.clone());
        page.text(sentence(call.doc));
        let code = |text: &str| format!("`{text}`");
        let examples = call.examples.iter().map(|(expression, value)| vec![code(expression), code(value)]);
        page.table(&["expression", "value"], examples);
    }
}

/// The page of one name.
pub(super) fn look_up(word: &str) -> Found {
    let name = word.trim_end_matches("()").trim_start_matches('.');
    let calls = by_name();
    let Some(found) = calls.get(name) else {
        return Found::Unknown { near: nearest(name, calls.keys().copied()).map(str::to_owned) };
    };
    let mut page = Page::new(name);
    describe(&mut page, found);
    Found::Page(page)
}
