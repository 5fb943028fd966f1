//! [`Str`]: the text of a value, interned where the snapshot has it interned.

use bayplan_model::Symbol;
use std::sync::Arc;

/// A string of the snapshot, interned or not, or a computed one.
#[derive(Clone)]
pub enum Str<'a> {
    /// An interned string of the snapshot, borrowed: a reference count costs more than a
    /// comparison.
    Interned(&'a Symbol),
    /// An interned string with a reference count.
    Symbol(Symbol),
    /// A string of the snapshot, as annotations are.
    Borrowed(&'a str),
    /// A string that was computed, or a constant.
    Text(Arc<str>),
}

impl Str<'_> {
    /// The text itself.
    pub fn as_str(&self) -> &str {
        match self {
            Str::Interned(symbol) => symbol.as_str(),
            Str::Symbol(symbol) => symbol.as_str(),
            Str::Borrowed(text) => text,
            Str::Text(text) => text,
        }
    }

    /// The symbol of an interned text.
    pub(crate) fn interned(&self) -> Option<&Symbol> {
        match self {
            Str::Interned(symbol) => Some(symbol),
            Str::Symbol(symbol) => Some(symbol),
            Str::Borrowed(_) | Str::Text(_) => None,
        }
    }

    /// Whether the texts are equal; interned ones compare by pointer.
    pub fn same(&self, other: &Str<'_>) -> bool {
        match (self.interned(), other.interned()) {
            (Some(left), Some(right)) => left == right,
            _ => self.as_str() == other.as_str(),
        }
    }
}

impl PartialEq for Str<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.same(other)
    }
}

impl<'a> From<&'a str> for Str<'static> {
    fn from(text: &'a str) -> Self {
        Str::Text(Arc::from(text))
    }
}

impl From<String> for Str<'static> {
    fn from(text: String) -> Self {
        Str::Text(Arc::from(text))
    }
}
