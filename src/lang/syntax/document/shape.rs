//! Compares a document with the table of fields: unknown fields, values of the wrong type, fields that are missing
//! or do not belong together. Reports every mistake; what is right is read by `read` afterwards.

use super::place::Places;
use crate::language::documents::{Form, ObjectDef, Shape};
use bayplan_diag::suggest::Effort;
use bayplan_diag::{Diagnostic, Span, codes};
use bayplan_yaml::{At, Tree, TreeEntry, TreeValue};

/// The checker of one document.
pub(super) struct Checker<'a> {
    pub(super) places: Places<'a>,
    pub(super) said: &'a mut Vec<Diagnostic>,
    /// Keys that are misspelt, with what they are read as.
    pub(super) renamed: Vec<(At, &'static str)>,
    /// For misspelt fields.
    pub(super) suggestions: Effort,
}

impl Checker<'_> {
    /// A mistake at a place.
    fn wrong(&mut self, span: Span, message: impl Into<String>, help: impl Into<String>) {
        let help = help.into();
        let said = Diagnostic::new(&codes::BAD_DOCUMENT, span, message);
        self.said.push(if help.is_empty() { said } else { said.with_help(help) });
    }

    fn wanted(&mut self, tree: &Tree, what: &str, help: &str) {
        let span = self.places.head(tree);
        self.wrong(span, format!("expected {what}, found {}", tree.kind()), help);
    }

    /// A map with known fields. `name` is the field that holds it.
    pub(super) fn object(&mut self, tree: &Tree, of: &'static ObjectDef) {
        let TreeValue::Map(entries) = &tree.value else {
            return self.wanted(tree, &format!("the fields of {}", of.phrase("a")), "");
        };
        let form = self.form(tree, entries, of);
        let mut misspelt = Vec::new();
        for entry in entries {
            match of.field(&entry.key) {
                None => {
                    let Some((near, spelling)) = self.unknown(entry, entries, of) else { continue };
                    misspelt.push(near);
                    if let Some(field) = of.field(near).filter(|_| spelling) {
                        self.renamed.push((entry.key_at, near));
                        self.value(entry, field.shape);
                    }
                }
                Some(field) => {
                    // A second form has been reported.
                    if let Some(form) = form
                        && !of.takes(form, &entry.key)
                        && !of.keys().any(|key| key == entry.key)
                    {
                        let key = self.places.key(entry);
                        let first = form.key();
                        let message = format!("`{}` does not belong to `{first}`", entry.key);
                        let taken = of.fields.iter().filter(|field| of.takes(form, field.name));
                        self.wrong(
                            key,
                            message,
                            listed("the fields beside it are", taken.map(|field| field.name)),
                        );
                    }
                    self.value(entry, field.shape);
                }
            }
        }
        let absent = |name: &str| !entries.iter().any(|entry| entry.key == name);
        let missing = of.fields.iter().filter(|field| {
            let in_form = form.is_some_and(|form| form.fields.contains(&field.name));
            field.needed && (in_form || !of.is_of_a_form(field.name)) && absent(field.name)
        });
        for field in missing.filter(|field| !misspelt.contains(&field.name)) {
            let span = self.places.head(tree);
            let message = format!("{} has no `{}`", of.phrase("the"), field.name);
            self.wrong(span, message, format!("`{}`: {}", field.name, lower(field.doc)));
        }
        if form.is_none() && !of.forms.is_empty() && !of.keys().any(|key| misspelt.contains(&key)) {
            let span = self.places.head(tree);
            let keys: Vec<String> = of.keys().map(|key| format!("`{key}`")).collect();
            self.wrong(
                span,
                format!("the {} has no {}", of.name, keys.join(" and no ")),
                "write one of them",
            );
        }
    }

    /// The form that a map has; a second one is a mistake.
    fn form(&mut self, tree: &Tree, entries: &[TreeEntry], of: &'static ObjectDef) -> Option<&'static Form> {
        let has = |form: &&Form| entries.iter().any(|entry| entry.key == form.key());
        let mut found = of.forms.iter().filter(has);
        let (first, second) = (found.next()?, found.next());
        if let Some(second) = second.map(Form::key) {
            let entry = entries.iter().find(|entry| entry.key == second);
            let span = entry.map_or_else(|| self.places.head(tree), |entry| self.places.key(entry));
            let one = first.key();
            let message = format!("{} has `{one}` and `{second}`", of.phrase("the"));
            self.wrong(span, message, "keep one of them");
        }
        Some(first)
    }

    /// An unknown field; gives the field that it may be meant for, and whether it is that one misspelt.
    fn unknown(
        &mut self,
        entry: &TreeEntry,
        entries: &[TreeEntry],
        of: &'static ObjectDef,
    ) -> Option<(&'static str, bool)> {
        let names = || of.fields.iter().map(|field| field.name);
        let free = |name: &&str| {
            self.suggestions.spend(entries.len()) && !entries.iter().any(|other| other.key == **name)
        };
        let near = self.suggestions.nearest(&entry.key, names().filter(free));
        let spelling = near.is_some();
        let near = near.or_else(|| foreign(&entry.key, of).filter(|name| free(name)));
        let near = near.and_then(|near| of.field(near)).map(|field| field.name);
        let span = self.places.key(entry);
        let message = format!("{} has no field `{}`", of.phrase("a"), entry.key);
        let said = Diagnostic::new(&codes::BAD_DOCUMENT, span, message);
        self.said.push(match near {
            Some(near) => said.with_help(format!("did you mean `{near}`?")).with_fix(
                format!("write `{near}`"),
                self.places.word(entry.key_at),
                near,
            ),
            None => said.with_help(listed("its fields are", names())),
        });
        near.map(|near| (near, spelling))
    }

    fn value(&mut self, entry: &TreeEntry, shape: Shape) {
        let tree = &entry.value;
        if matches!(tree.value, TreeValue::Null) && !matches!(shape, Shape::List(_) | Shape::Value) {
            let key = self.places.key(entry);
            return self.wrong(key, format!("`{}` is empty", entry.key), "write a value, or remove it");
        }
        match shape {
            Shape::Expression | Shape::Duration => self.scalar(tree, "an expression"),
            Shape::Weight => self.scalar(tree, "a whole number"),
            Shape::Reason | Shape::Text | Shape::Type => self.text(tree),
            Shape::Identifier => self.name(tree, false),
            Shape::Name => self.name(tree, true),
            Shape::Bool if !matches!(tree.value, TreeValue::Bool(_)) => {
                self.wanted(tree, "`true` or `false`", "");
            }
            Shape::Whole(..) if !matches!(tree.value, TreeValue::Int(_)) => {
                self.wanted(tree, "a whole number", "");
            }
            Shape::Bool | Shape::Whole(..) | Shape::Value => {}
            Shape::Word(words) => self.word(tree, words),
            Shape::WordOr(words, of) => match tree.value {
                TreeValue::Map(_) => self.object(tree, of),
                _ => self.word(tree, words),
            },
            Shape::Object(of) => self.object(tree, of),
            Shape::List(of) => match &tree.value {
                TreeValue::List(items) => items.iter().for_each(|item| self.object(item, of)),
                TreeValue::Null => {}
                _ => {
                    let help = format!("write each {} as an item, with a dash before it", of.name);
                    self.wanted(tree, "a list", &help);
                }
            },
            Shape::Expressions => self.map_of(tree, "expressions"),
            Shape::Fields => self.fields(tree),
            Shape::Texts => self.map_of(tree, "texts"),
        }
    }

    /// A map of expressions and of further such maps.
    fn fields(&mut self, tree: &Tree) {
        let TreeValue::Map(entries) = &tree.value else {
            return self.wanted(tree, "a map of fields", "");
        };
        for entry in entries {
            match &entry.value.value {
                TreeValue::Map(_) => self.fields(&entry.value),
                _ => self.scalar(&entry.value, "an expression"),
            }
        }
    }

    fn map_of(&mut self, tree: &Tree, what: &str) {
        let TreeValue::Map(entries) = &tree.value else {
            return self.wanted(tree, &format!("a map of {what}"), "");
        };
        for entry in entries {
            if what == "texts" { self.text(&entry.value) } else { self.scalar(&entry.value, "an expression") }
        }
    }

    fn scalar(&mut self, tree: &Tree, what: &str) {
        let help = match tree.value {
            TreeValue::String(_) | TreeValue::Bool(_) | TreeValue::Int(_) | TreeValue::Float(_) => return,
            TreeValue::Map(_) | TreeValue::List(_) => {
                "quote it: `'…'`; YAML reads brackets at its beginning, and `: ` in it, as its own"
            }
            TreeValue::Null => "",
        };
        self.wanted(tree, what, help);
    }

    fn text(&mut self, tree: &Tree) {
        if !matches!(tree.value, TreeValue::String(_)) {
            let help = match tree.value {
                TreeValue::Bool(_) | TreeValue::Int(_) | TreeValue::Float(_) => "quote it: `\"…\"`",
                _ => "",
            };
            self.wanted(tree, "a text", help);
        }
    }

    fn name(&mut self, tree: &Tree, dashes: bool) {
        let TreeValue::String(name) = &tree.value else { return self.text(tree) };
        let mut letters = name.chars();
        let begins = letters.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_' && !dashes);
        let letter = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-' && dashes;
        if !begins || !letters.all(letter) || dashes && name.ends_with('-') {
            let span = self.places.head(tree);
            let allowed = if dashes {
                "a name has letters, digits, `_`, and `-` between them, and begins with a letter"
            } else {
                "a name of expressions has letters, digits and `_`, and begins with no digit"
            };
            self.wrong(span, format!("`{name}` is not a name"), allowed);
        }
    }

    fn word(&mut self, tree: &Tree, words: &[&str]) {
        let all = words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ");
        let TreeValue::String(word) = &tree.value else {
            return self.wanted(tree, &format!("one of {all}"), "");
        };
        if words.contains(&word.as_str()) {
            return;
        }
        let span = self.places.head(tree);
        let wanted = if words.len() == 1 { format!("write {all}") } else { format!("write one of {all}") };
        let message = format!("`{word}` is not known here");
        match self.suggestions.nearest(word, words.iter().copied()) {
            Some(near) => {
                let said = Diagnostic::new(&codes::BAD_DOCUMENT, span, message);
                let said = said.with_help(format!("did you mean `{near}`? {wanted}"));
                self.said.push(match self.places.plain(tree) {
                    true => said.with_fix(format!("write `{near}`"), span, near),
                    false => said,
                });
            }
            None => self.wrong(span, message, wanted),
        }
    }
}

/// What other YAML of policies calls a field: admission policies, our own language, other statements of ours.
fn foreign(name: &str, of: &ObjectDef) -> Option<&'static str> {
    let meant: &[&str] = match name {
        "matchConditions" | "applies" | "appliesIf" | "match" => &["appliesWhen"],
        "validations" | "filter" | "rules" => &["filters", "expression"],
        "score" | "prioritize" | "priorities" => &["scores"],
        "gate" => &["gates"],
        "let" | "lets" | "vars" | "variable" => &["variables"],
        "param" | "parameters" | "args" => &["params"],
        "group" => &["groups"],
        "ledger" | "quota" | "sums" => &["ledgers"],
        "memo" => &["memos"],
        "source" | "metrics" => &["sources"],
        "max_age" => &["maxAge"],
        "key" => &["by"],
        "add" | "amounts" => &["adds", "value"],
        "queue" | "queueSort" | "orderBy" => &["queueBy"],
        "failurePolicy" => &["onError"],
        "message" | "messageExpression" => &["reason", "else", "reject"],
        "condition" | "if" => &["when", "expression", "require"],
        "expr" | "cel" | "value" | "where" => &["expression", "value"],
        "give" => &["value", "gives"],
        "else" => &["reason"],
        "reason" => &["else", "reject"],
        "require" => &["expression"],
        "when" => &["appliesWhen", "expression", "until"],
        _ => &[],
    };
    meant.iter().find_map(|meant| of.field(meant)).map(|field| field.name)
}

fn listed<'n>(before: &str, names: impl Iterator<Item = &'n str>) -> String {
    let names: Vec<String> = names.map(|name| format!("`{name}`")).collect();
    format!("{before} {}", names.join(", "))
}

/// A sentence of the table as a part of another one.
fn lower(sentence: &str) -> String {
    let sentence = sentence.trim_end_matches('.');
    let mut letters = sentence.chars();
    match letters.next() {
        Some(first) => first.to_lowercase().chain(letters).collect(),
        None => String::new(),
    }
}
