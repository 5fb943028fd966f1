//! What policies and configurations name: texts that they have, and patterns that names must keep so that decisions stay.

use bayplan_yaml as yaml;
use regex::Regex;
use serde_json::Value;
use std::collections::BTreeSet;
use std::sync::LazyLock;

/// Texts that stay, and patterns.
#[derive(Clone, Debug, Default)]
pub struct Named {
    words: BTreeSet<String>,
    /// Beginnings of texts.
    prefixes: BTreeSet<String>,
    /// Ends of texts.
    suffixes: BTreeSet<String>,
    /// Parts of texts.
    parts: BTreeSet<String>,
    expressions: Vec<Regex>,
}

/// The part of a name that stays.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Kept {
    Prefix(String),
    Suffix(String),
    Part(String),
}

impl Kept {
    /// The part with an anonymous name in place of the rest.
    pub(super) fn around(&self, plain: &str) -> String {
        match self {
            Self::Prefix(part) => format!("{part}{plain}"),
            Self::Suffix(part) => format!("{plain}{part}"),
            Self::Part(part) => format!("{plain}{part}{plain}"),
        }
    }

    /// The part as people read it.
    pub(super) fn shown(&self) -> String {
        match self {
            Self::Prefix(part) => format!("{part}…"),
            Self::Suffix(part) => format!("…{part}"),
            Self::Part(part) => format!("…{part}…"),
        }
    }
}

/// Literals of texts in either language.
static LITERAL: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r#"(?:(\w+)\(\s*)?(?:"((?:[^"\\\n]|\\.)*)"|'((?:[^'\\\n]|\\.)*)')"#).ok());

impl Named {
    /// Adds what a text of policies names.
    pub fn text(&mut self, text: &str) {
        let Some(literal) = &*LITERAL else { return };
        for found in literal.captures_iter(text) {
            let word = found.get(2).or(found.get(3)).map_or("", |word| word.as_str());
            let word = word.replace("\\\\", "\\");
            if word.is_empty() {
                continue;
            }
            match found.get(1).map_or("", |function| function.as_str()) {
                "startsWith" | "starts_with" => drop(self.prefixes.insert(word)),
                "endsWith" | "ends_with" => drop(self.suffixes.insert(word)),
                "contains" => drop((self.words.insert(word.clone()), self.parts.insert(word))),
                "matches" | "find" | "findAll" => self.expressions.extend(Regex::new(&word)),
                _ => drop(self.words.insert(word)),
            }
        }
        // Without quotes: kinds, params and the values of documents.
        let words = text.split(|c: char| !c.is_alphanumeric() && !matches!(c, '.' | '-' | '_' | '/'));
        self.words.extend(words.filter(|word| word.contains('/') || word.contains('.')).map(str::to_owned));
    }

    /// Adds what a configuration names: every text of it.
    pub fn configuration(&mut self, text: &str) {
        fn texts(value: &Value, words: &mut BTreeSet<String>) {
            match value {
                Value::String(text) => drop(words.insert(text.clone())),
                Value::Array(items) => items.iter().for_each(|item| texts(item, words)),
                Value::Object(fields) => fields.iter().for_each(|(key, value)| {
                    words.insert(key.clone());
                    texts(value, words);
                }),
                _ => {}
            }
        }
        let documents = yaml::values(text, false).unwrap_or_default();
        documents
            .iter()
            .filter_map(|document| document.get("profiles"))
            .for_each(|of| texts(of, &mut self.words));
    }

    /// Adds a text.
    pub fn word(&mut self, word: &str) {
        self.words.insert(word.to_owned());
    }

    /// Whether a text stays whole.
    pub(super) fn has(&self, text: &str) -> bool {
        self.words.contains(text) || self.expressions.iter().any(|of| of.is_match(text))
    }

    /// The part of a text that stays; the longest one.
    pub(super) fn kept_of(&self, text: &str) -> Option<Kept> {
        let longest = |all: &BTreeSet<String>, is: &dyn Fn(&str) -> bool| {
            all.iter().filter(|part| is(part)).max_by_key(|part| part.len()).cloned()
        };
        let prefix = longest(&self.prefixes, &|part| text.starts_with(part)).map(Kept::Prefix);
        let suffix = || longest(&self.suffixes, &|part| text.ends_with(part)).map(Kept::Suffix);
        prefix.or_else(suffix).or_else(|| longest(&self.parts, &|part| text.contains(part)).map(Kept::Part))
    }
}
