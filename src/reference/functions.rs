//! Functions: those of the policy language as one page, those of CEL as another, and the overloads of one name.

use super::page::{Page, sentence};
use super::topics::Found;
use bayplan_diag::suggest::nearest;
use bayplan_lang::language::functions::{self, Examples};
use bayplan_lang::language::macros::{self, FORMS};
use std::collections::BTreeMap;

/// One way to call a name: a function, a method, a macro or a form.
struct Call {
    signature: String,
    doc: &'static str,
    examples: Examples,
}

/// Calls by name, in the order of the alphabet.
type Calls = BTreeMap<&'static str, Vec<Call>>;

/// Every call of the policy language.
fn of_policies() -> Calls {
    let forms = FORMS.iter().map(|row| (row.name, row.signature.to_owned(), row.doc, row.examples));
    let macros = macros::of_policies().map(|row| (row.name, row.signature.to_owned(), row.doc, row.examples));
    let functions = functions::of_policies();
    let functions = functions.map(|row| (row.name, row.signature(), row.doc, row.examples));
    by_name(forms.chain(macros).chain(functions))
}

/// Every function and method of CEL as Kubernetes has it. What macros call under another name is left out.
fn of_cel() -> Calls {
    let rows = functions::FUNCTIONS.iter().flat_map(|family| family.iter());
    let rows = rows.filter(|row| row.dialects.kubernetes && !row.name.starts_with('@'));
    by_name(rows.map(|row| (row.name, in_cel(&row.signature()), row.doc, row.examples)))
}

/// A signature with the names that CEL has for types; what may be absent is an error there.
fn in_cel(signature: &str) -> String {
    let words = [("float", "double"), ("blob", "bytes"), ("<", "("), (">", ")")];
    let text = words.iter().fold(signature.to_owned(), |text, (ours, cel)| text.replace(ours, cel));
    text.trim_end_matches('?').to_owned()
}

fn by_name(rows: impl Iterator<Item = (&'static str, String, &'static str, Examples)>) -> Calls {
    let mut calls = Calls::new();
    for (name, signature, doc, examples) in rows {
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
    sections(&mut page, of_policies());
    page
}

/// Every function and method of CEL.
pub(super) fn cel_page() -> Page {
    let mut page = Page::new("Functions of CEL");
    page.text(
        "Functions and methods of CEL in policy documents and in `eval --cel`: those of Kubernetes 1.36. Macros \
         (`all`, `exists`, `map`, `optMap`, `sortBy`, …) and operators are those of cel-go. In a policy, the \
         functions of the policy language can be called too. An error stops the expression unless `&&`, `||`, `? :` \
         or a macro does not need its value. Where a description says that a result is absent, CEL has an error.",
    );
    page.text(
        "Macros are expanded as in cel-go: `o.optMap(x, e)` is `o.hasValue() ? optional.of(cel.bind(x, o.value(), e)) \
         : optional.none()`, and `optFlatMap` the same without `optional.of`. As the branch of a choice such an \
         optional is made anew from the plain value that it holds, in `eval --cel` and in selectors of devices: an \
         optional of a quantity, address, URL or version then holds an error, and one of a type a string. In a policy \
         it holds the value of `e`.",
    );
    page.text(
        "The difference of two times is a duration, which holds 292 years, and times of objects may be further apart: \
         `now() - node.created > duration(\"10m\")` may end with an error, and `may-fail` says so. `node.age` and \
         `pod.age` are the same durations and never fail. Of an optional that cannot fail itself, `o.hasValue() && …` \
         proves `o.value()`, also where `appliesWhen` says it.",
    );
    sections(&mut page, of_cel());
    page
}

fn sections(page: &mut Page, calls: Calls) {
    for (name, calls) in calls {
        page.section_at(format!("`{name}`"), name.to_lowercase().replace('.', "-"));
        describe(page, &calls);
    }
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

/// The page of one name of the policy language.
pub(super) fn look_up(word: &str) -> Found {
    found(word, of_policies())
}

/// The page of one name of CEL.
pub(super) fn look_up_in_cel(word: &str) -> Found {
    found(word, of_cel())
}

fn found(word: &str, calls: Calls) -> Found {
    let name = word.trim_end_matches("()").trim_start_matches('.');
    let Some(found) = calls.get(name) else {
        return Found::Unknown { near: nearest(name, calls.keys().copied()).map(str::to_owned) };
    };
    let mut page = Page::new(name);
    describe(&mut page, found);
    Found::Page(page)
}
