//! Labels, annotations, and label selectors that are parsed once and matched often.

use super::symbol::Symbol;

/// Labels of an object, ordered by key.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Labels(Box<[(Symbol, Symbol)]>);

impl Labels {
    /// The value of `key`.
    pub fn get(&self, key: &Symbol) -> Option<&Symbol> {
        self.0.iter().find(|(k, _)| k == key).map(|(_, value)| value)
    }

    /// Pairs in the order of their keys.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&Symbol, &Symbol)> {
        self.0.iter().map(|(key, value)| (key, value))
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl FromIterator<(Symbol, Symbol)> for Labels {
    fn from_iter<I: IntoIterator<Item = (Symbol, Symbol)>>(pairs: I) -> Self {
        let mut pairs: Vec<_> = pairs.into_iter().collect();
        pairs.sort_by(|a, b| a.0.cmp(&b.0));
        pairs.dedup_by(|later, earlier| {
            let same = later.0 == earlier.0;
            if same {
                earlier.1 = later.1.clone();
            }
            same
        });
        Self(pairs.into_boxed_slice())
    }
}

/// Annotations of an object, ordered by key. Values are not interned: they may be long and are rarely compared.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Annotations(Box<[(Symbol, std::sync::Arc<str>)]>);

impl Annotations {
    /// The value of `key`.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.0.iter().find(|(k, _)| k.as_str() == key).map(|(_, value)| &**value)
    }

    /// Pairs in the order of their keys.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&Symbol, &std::sync::Arc<str>)> {
        self.0.iter().map(|(key, value)| (key, value))
    }
}

impl FromIterator<(Symbol, std::sync::Arc<str>)> for Annotations {
    fn from_iter<I: IntoIterator<Item = (Symbol, std::sync::Arc<str>)>>(pairs: I) -> Self {
        let mut pairs: Vec<_> = pairs.into_iter().collect();
        pairs.sort_by(|a, b| a.0.cmp(&b.0));
        Self(pairs.into_boxed_slice())
    }
}

/// How a requirement compares the value of its key.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum SelectorOperator {
    /// The value is one of the values.
    In,
    /// The value is none of the values, or there is no value.
    NotIn,
    /// The key is there.
    Exists,
    /// The key is not there.
    DoesNotExist,
    /// The value, an integer, is greater than the one given. Node selectors only.
    Gt,
    /// The value, an integer, is less than the one given. Node selectors only.
    Lt,
}

/// One requirement of a selector.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Requirement {
    /// The label key.
    pub key: Symbol,
    /// How its value is compared.
    pub operator: SelectorOperator,
    /// What it is compared with; ordered, without duplicates.
    pub values: Box<[Symbol]>,
    /// The integer of `Gt` and `Lt`.
    pub number: i64,
}

/// Why a selector cannot be used; the text is upstream's.
#[derive(Clone, PartialEq, Eq, Hash, Debug, thiserror::Error)]
#[error("{0}")]
pub struct SelectorError(pub std::sync::Arc<str>);

/// A `metav1.LabelSelector`, parsed. The empty selector matches everything; an absent one is `None` where it stands.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct LabelSelector {
    /// All must hold; ordered by key.
    pub requirements: Box<[Requirement]>,
}
