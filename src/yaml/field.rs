//! [`Field`]: the strict way to read a [`Tree`]. Unknown fields and values of the wrong type are
//! collected as [`FieldError`]s with their places, so that one pass reports every mistake.

use super::tree::{At, Tree, TreeValue};
use bayplan_diag::suggest::nearest;

/// What is wrong with a field.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FieldError {
    /// The path of the field, such as `scoringStrategy.resources[0].weight`; empty for the root.
    pub path: String,
    /// Where it was written.
    pub at: At,
    /// What is wrong, in upstream's words where upstream reports it.
    pub message: String,
    /// What to do.
    pub help: Option<String>,
}

impl FieldError {
    /// This error with what to do about it.
    pub fn with_help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
}

impl std::fmt::Display for FieldError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.path.as_str() {
            "" => f.write_str(&self.message),
            path => write!(f, "`{path}`: {}", self.message),
        }
    }
}

/// A value with the path of its field. Each method reads one type and collects errors.
#[derive(Clone, Debug)]
pub struct Field<'t> {
    /// The value.
    pub tree: &'t Tree,
    /// The field.
    pub path: String,
}

impl<'t> Field<'t> {
    /// The root of a tree.
    pub fn root(tree: &'t Tree) -> Self {
        Self { tree, path: String::new() }
    }

    /// An error at this value.
    pub fn error(&self, message: impl Into<String>) -> FieldError {
        FieldError { path: self.path.clone(), at: self.tree.at, message: message.into(), help: None }
    }

    fn wanted<T>(&self, what: &str, errors: &mut Vec<FieldError>) -> Option<T> {
        errors.push(self.error(format!("expected {what}, found {}", self.tree.kind())));
        None
    }

    /// A text.
    pub fn string(&self, errors: &mut Vec<FieldError>) -> Option<&'t str> {
        match &self.tree.value {
            TreeValue::String(text) => Some(text),
            _ => self.wanted("a text", errors),
        }
    }

    /// A boolean.
    pub fn bool(&self, errors: &mut Vec<FieldError>) -> Option<bool> {
        match self.tree.value {
            TreeValue::Bool(value) => Some(value),
            _ => self.wanted("`true` or `false`", errors),
        }
    }

    /// A whole number.
    pub fn int(&self, errors: &mut Vec<FieldError>) -> Option<i64> {
        match self.tree.value {
            TreeValue::Int(value) => Some(value),
            _ => self.wanted("a whole number", errors),
        }
    }

    /// A number.
    pub fn number(&self, errors: &mut Vec<FieldError>) -> Option<f64> {
        match self.tree.value {
            TreeValue::Int(value) => Some(value as f64),
            TreeValue::Float(value) => Some(value),
            _ => self.wanted("a number", errors),
        }
    }

    /// The elements of a list; none for `null`.
    pub fn list(&self, errors: &mut Vec<FieldError>) -> Vec<Field<'t>> {
        match &self.tree.value {
            TreeValue::List(values) => values
                .iter()
                .enumerate()
                .map(|(at, tree)| Field { tree, path: format!("{}[{at}]", self.path) })
                .collect(),
            TreeValue::Null => Vec::new(),
            _ => {
                let _: Option<()> = self.wanted("a list", errors);
                Vec::new()
            }
        }
    }

    /// A map whose keys are `known`; every other key is an error.
    pub fn object(&self, known: &[&str], errors: &mut Vec<FieldError>) -> Fields<'t> {
        match &self.tree.value {
            TreeValue::Map(entries) => {
                for entry in entries.iter().filter(|entry| !known.contains(&entry.key.as_str())) {
                    errors.push(FieldError {
                        path: self.child(&entry.key),
                        at: entry.key_at,
                        message: format!("unknown field `{}`", entry.key),
                        help: Some(known_fields(&entry.key, known)),
                    });
                }
            }
            TreeValue::Null => {}
            _ => {
                let _: Option<()> = self.wanted("a map", errors);
            }
        }
        Fields(self.clone())
    }

    fn child(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }
}

/// Help for an unknown field: the nearest known one, and all of them.
fn known_fields(unknown: &str, known: &[&str]) -> String {
    if known.is_empty() {
        return String::from("no field is known here");
    }
    let names: Vec<String> = known.iter().map(|name| format!("`{name}`")).collect();
    let all = format!("the fields known here are {}", names.join(", "));
    match nearest(unknown, known.iter().copied()) {
        Some(near) => format!("did you mean `{near}`? {all}"),
        None => all,
    }
}

/// The fields of a map.
#[derive(Clone, Debug)]
pub struct Fields<'t>(Field<'t>);

impl<'t> Fields<'t> {
    /// A field; `None` when it is not there or `null`.
    pub fn get(&self, name: &str) -> Option<Field<'t>> {
        let tree = self.0.tree.get(name)?;
        Some(Field { tree, path: self.0.child(name) })
    }

    /// A field, or the map itself when the field is missing: the place of errors about it.
    pub fn place(&self, name: &str) -> Field<'t> {
        self.get(name).unwrap_or_else(|| Field { tree: self.0.tree, path: self.0.child(name) })
    }
}
