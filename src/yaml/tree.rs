//! [`Tree`]: a YAML or JSON value in which every part knows its place in the text. Made by
//! `read`; configurations, test files, ConfigMaps and plugin arguments are read from it.

/// A range of bytes of the text that a value was read from. Empty for defaults.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct At {
    /// First byte.
    pub start: usize,
    /// Byte after the last.
    pub end: usize,
}

/// A value with its place.
#[derive(Clone, Debug, Default)]
pub struct Tree {
    /// Where it was written.
    pub at: At,
    /// What was written.
    pub value: TreeValue,
}

/// What was written.
#[derive(Clone, Debug, Default)]
pub enum TreeValue {
    /// `null`, or nothing.
    #[default]
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A whole number of 64 bits.
    Int(i64),
    /// Another number.
    Float(f64),
    /// A text.
    String(String),
    /// A list.
    List(Vec<Tree>),
    /// A map in the order in which it was written.
    Map(Vec<TreeEntry>),
}

/// An entry of a map.
#[derive(Clone, Debug)]
pub struct TreeEntry {
    /// The key.
    pub key: String,
    /// Where the key was written.
    pub key_at: At,
    /// The value.
    pub value: Tree,
}

impl Tree {
    /// Whether the same was written, wherever it was.
    pub fn same(&self, other: &Tree) -> bool {
        match (&self.value, &other.value) {
            (TreeValue::Null, TreeValue::Null) => true,
            (TreeValue::Bool(a), TreeValue::Bool(b)) => a == b,
            (TreeValue::Int(a), TreeValue::Int(b)) => a == b,
            (TreeValue::Float(a), TreeValue::Float(b)) => a == b,
            (TreeValue::String(a), TreeValue::String(b)) => a == b,
            (TreeValue::List(a), TreeValue::List(b)) => {
                a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.same(b))
            }
            (TreeValue::Map(a), TreeValue::Map(b)) => {
                let matches = |a: &TreeEntry| b.iter().any(|b| a.key == b.key && a.value.same(&b.value));
                a.len() == b.len() && a.iter().all(matches)
            }
            _ => false,
        }
    }

    /// The value of a key. `None` when this is not a map, or the key is missing or `null`.
    pub fn get(&self, key: &str) -> Option<&Tree> {
        let TreeValue::Map(entries) = &self.value else { return None };
        let entry = entries.iter().find(|entry| entry.key == key)?;
        (!matches!(entry.value.value, TreeValue::Null)).then_some(&entry.value)
    }

    /// The text, if this is one.
    pub fn as_str(&self) -> Option<&str> {
        match &self.value {
            TreeValue::String(text) => Some(text),
            _ => None,
        }
    }

    /// The value at `path` (`spec.containers[0].image`), or the nearest one around it. A key may
    /// hold dots: the longest key that fits wins. `[key]` selects a key as well.
    pub fn find(&self, path: &str) -> &Tree {
        let mut found = self;
        let mut rest = path;
        while let Some((next, after)) = found.step(rest) {
            found = next;
            rest = after;
        }
        found
    }

    /// One step of a path: the value it leads to, and the rest of the path.
    fn step<'p>(&self, path: &'p str) -> Option<(&Tree, &'p str)> {
        if path.is_empty() {
            return None;
        }
        let path = path.strip_prefix('.').unwrap_or(path);
        match &self.value {
            TreeValue::List(items) => {
                let (number, after) = path.strip_prefix('[')?.split_once(']')?;
                Some((items.get(number.parse::<usize>().ok()?)?, after))
            }
            TreeValue::Map(entries) => {
                let fits = |entry: &'_ TreeEntry| {
                    let bracketed = path.strip_prefix('[').and_then(|path| path.strip_prefix(&*entry.key));
                    let after = match bracketed.and_then(|after| after.strip_prefix(']')) {
                        Some(after) => after,
                        None => path.strip_prefix(&*entry.key)?,
                    };
                    (after.is_empty() || after.starts_with(['.', '['])).then_some(after)
                };
                let fitting = entries.iter().filter_map(|entry| Some((entry, fits(entry)?)));
                fitting.max_by_key(|(entry, _)| entry.key.len()).map(|(entry, after)| (&entry.value, after))
            }
            _ => None,
        }
    }

    /// The place to underline: all of a scalar, of anything larger the first word or bracket.
    pub fn head(&self, text: &str) -> At {
        let At { start, end } = self.at;
        let start = text.floor_char_boundary(start.min(text.len()));
        let line = text.get(start..).and_then(|rest| rest.lines().next()).unwrap_or("");
        let long = match self.value {
            TreeValue::List(_) | TreeValue::Map(_) if line.starts_with(['{', '[']) => 1,
            TreeValue::List(_) | TreeValue::Map(_) => line.find([' ', ':', ',']).unwrap_or(line.len()),
            _ => text.floor_char_boundary(end.min(text.len())).saturating_sub(start).min(line.len()),
        };
        At { start, end: start + line.get(..long).unwrap_or("").trim_end().len() }
    }

    /// What kind of value it is, for messages.
    pub fn kind(&self) -> &'static str {
        match self.value {
            TreeValue::Null => "nothing",
            TreeValue::Bool(_) => "a boolean",
            TreeValue::Int(_) => "a whole number",
            TreeValue::Float(_) => "a number",
            TreeValue::String(_) => "a text",
            TreeValue::List(_) => "a list",
            TreeValue::Map(_) => "a map",
        }
    }

    /// The tree as JSON, without the places. Numbers that JSON cannot write are `null`.
    pub fn to_json(&self) -> serde_json::Value {
        match &self.value {
            TreeValue::Null => serde_json::Value::Null,
            TreeValue::Bool(value) => (*value).into(),
            TreeValue::Int(value) => (*value).into(),
            TreeValue::Float(value) => (*value).into(),
            TreeValue::String(value) => value.as_str().into(),
            TreeValue::List(values) => values.iter().map(Tree::to_json).collect(),
            TreeValue::Map(entries) => {
                entries.iter().map(|entry| (entry.key.clone(), entry.value.to_json())).collect()
            }
        }
    }
}
