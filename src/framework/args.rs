//! Arguments of plugins: a tree whose every value knows where it was written, and the strict way to read it.
//! `config` makes the tree from YAML or JSON and turns the places into diagnostics; plugins read it when they are
//! built. Nothing here knows of files.

/// A stretch of the text that a value was read from, in bytes. Empty for values nobody wrote.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct At {
    /// First byte.
    pub start: usize,
    /// Byte behind the last.
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

    /// The value of a key. `None` when this is no map, or the key is not there or `null`.
    pub fn get(&self, key: &str) -> Option<&Tree> {
        let TreeValue::Map(entries) = &self.value else { return None };
        let entry = entries.iter().find(|entry| entry.key == key)?;
        (!matches!(entry.value.value, TreeValue::Null)).then_some(&entry.value)
    }

    /// What kind of value it is, for complaints.
    pub fn kind(&self) -> &'static str {
        match self.value {
            TreeValue::Null => "nothing",
            TreeValue::Bool(_) => "a truth value",
            TreeValue::Int(_) => "a whole number",
            TreeValue::Float(_) => "a number",
            TreeValue::String(_) => "a text",
            TreeValue::List(_) => "a list",
            TreeValue::Map(_) => "a map",
        }
    }

    /// The same as JSON, without the places. Numbers that JSON cannot write are `null`.
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

/// A complaint about an argument.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ArgsError {
    /// The field, such as `scoringStrategy.resources[0].weight`; empty for the arguments as a whole.
    pub path: String,
    /// Where it was written.
    pub at: At,
    /// What is wrong; upstream's words where it has some.
    pub message: String,
    /// What to do.
    pub help: Option<String>,
}

impl ArgsError {
    /// The same with what to do about it.
    pub fn with_help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
}

impl std::fmt::Display for ArgsError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.path.as_str() {
            "" => f.write_str(&self.message),
            path => write!(f, "`{path}`: {}", self.message),
        }
    }
}

/// A value together with the name of the field it stands in; reads it strictly and gathers complaints.
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

    /// A complaint about this value.
    pub fn error(&self, message: impl Into<String>) -> ArgsError {
        ArgsError { path: self.path.clone(), at: self.tree.at, message: message.into(), help: None }
    }

    fn wanted<T>(&self, what: &str, errors: &mut Vec<ArgsError>) -> Option<T> {
        errors.push(self.error(format!("expected {what}, found {}", self.tree.kind())));
        None
    }

    /// A text.
    pub fn string(&self, errors: &mut Vec<ArgsError>) -> Option<&'t str> {
        match &self.tree.value {
            TreeValue::String(text) => Some(text),
            _ => self.wanted("a text", errors),
        }
    }

    /// A truth value.
    pub fn bool(&self, errors: &mut Vec<ArgsError>) -> Option<bool> {
        match self.tree.value {
            TreeValue::Bool(value) => Some(value),
            _ => self.wanted("`true` or `false`", errors),
        }
    }

    /// A whole number.
    pub fn int(&self, errors: &mut Vec<ArgsError>) -> Option<i64> {
        match self.tree.value {
            TreeValue::Int(value) => Some(value),
            _ => self.wanted("a whole number", errors),
        }
    }

    /// A number.
    pub fn number(&self, errors: &mut Vec<ArgsError>) -> Option<f64> {
        match self.tree.value {
            TreeValue::Int(value) => Some(value as f64),
            TreeValue::Float(value) => Some(value),
            _ => self.wanted("a number", errors),
        }
    }

    /// The elements of a list; none for `null`.
    pub fn list(&self, errors: &mut Vec<ArgsError>) -> Vec<Field<'t>> {
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

    /// A map whose keys are `known`; every other key is a complaint.
    pub fn object(&self, known: &[&str], errors: &mut Vec<ArgsError>) -> Fields<'t> {
        match &self.tree.value {
            TreeValue::Map(entries) => {
                for entry in entries.iter().filter(|entry| !known.contains(&entry.key.as_str())) {
                    errors.push(ArgsError {
                        path: self.child(&entry.key),
                        at: entry.key_at,
                        message: format!("unknown field `{}`", entry.key),
                        help: Some(match known {
                            [] => String::from("no field is known here"),
                            _ => format!("the fields known here are {}", quoted(known)),
                        }),
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

fn quoted(names: &[&str]) -> String {
    let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    names.join(", ")
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

    /// A field, or the map itself where the field is not there: the place of complaints about what is missing.
    pub fn place(&self, name: &str) -> Field<'t> {
        self.get(name).unwrap_or_else(|| Field { tree: self.0.tree, path: self.0.child(name) })
    }
}
