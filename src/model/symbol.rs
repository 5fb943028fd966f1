//! [`Symbol`]: an interned string. Label keys and values, names, resource names, images and reasons are symbols,
//! so that comparing and hashing them is one machine word. The table behind them counts references and frees
//! unused entries, so label values of short-lived pods do not grow it without end.

use std::cell::Cell;
use std::hash::BuildHasher;

/// An interned string: equal texts are equal words. Orders by text.
///
/// Symbols are made when objects and policies are parsed, and only compared in a scheduling cycle.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Symbol(string_cache::DefaultAtom);

impl Symbol {
    /// Interns `text`.
    pub fn new(text: &str) -> Self {
        Self(string_cache::DefaultAtom::from(text))
    }

    /// The text.
    #[inline]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether the text is empty.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl From<&str> for Symbol {
    fn from(text: &str) -> Self {
        Self::new(text)
    }
}

impl From<String> for Symbol {
    fn from(text: String) -> Self {
        Self(string_cache::DefaultAtom::from(text))
    }
}

impl std::ops::Deref for Symbol {
    type Target = str;
    #[inline]
    fn deref(&self) -> &str {
        &self.0
    }
}

impl PartialEq<str> for Symbol {
    #[inline]
    fn eq(&self, other: &str) -> bool {
        &*self.0 == other
    }
}

impl PartialEq<&str> for Symbol {
    #[inline]
    fn eq(&self, other: &&str) -> bool {
        &*self.0 == *other
    }
}

impl std::fmt::Display for Symbol {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::fmt::Debug for Symbol {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?}", &*self.0)
    }
}

/// Texts up to this length are held in the word itself and need no table.
const INLINE: usize = 7;
/// Texts that are remembered on each thread; a power of two.
const LATELY: usize = 4_096;

thread_local! {
    /// The texts that objects were made of lately, by their hash. The table of all texts has chains that grow with the
    /// number of pods; label keys, images and the like are met with every pod and are found here instead.
    static READ_LATELY: Cell<Vec<Symbol>> = const { Cell::new(Vec::new()) };
}

fn read_lately(text: &str) -> Symbol {
    if text.len() <= INLINE {
        return Symbol::new(text);
    }
    let mut lately = READ_LATELY.take();
    if lately.is_empty() {
        lately.resize(LATELY, Symbol::default());
    }
    let slot = (rustc_hash::FxBuildHasher.hash_one(text) >> 32) as usize % LATELY;
    let symbol = match lately.get_mut(slot) {
        Some(known) => {
            if known.as_str() != text {
                *known = Symbol::new(text);
            }
            known.clone()
        }
        None => Symbol::new(text),
    };
    READ_LATELY.set(lately);
    symbol
}

impl<'de> serde::Deserialize<'de> for Symbol {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl serde::de::Visitor<'_> for Visitor {
            type Value = Symbol;
            fn expecting(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
                f.write_str("a string")
            }
            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Symbol, E> {
                Ok(read_lately(text))
            }
            fn visit_unit<E: serde::de::Error>(self) -> Result<Symbol, E> {
                Ok(Symbol::default())
            }
        }
        deserializer.deserialize_str(Visitor)
    }
}

impl serde::Serialize for Symbol {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}
