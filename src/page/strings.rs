//! [`Strings`]: texts of columns, each once.

use rustc_hash::FxHashMap;

/// Texts by their places.
#[derive(Clone, Debug, Default)]
pub struct Strings {
    places: FxHashMap<String, i64>,
    texts: Vec<String>,
}

impl Strings {
    /// The place of a text.
    pub fn place(&mut self, text: &str) -> i64 {
        if let Some(place) = self.places.get(text) {
            return *place;
        }
        let place = i64::try_from(self.texts.len()).unwrap_or(-1);
        self.texts.push(text.to_owned());
        self.places.insert(text.to_owned(), place);
        place
    }

    /// The place of a text; -1 for an empty one.
    pub(crate) fn place_of_some(&mut self, text: &str) -> i64 {
        if text.is_empty() { -1 } else { self.place(text) }
    }

    /// The texts in the order of their places.
    pub fn into_texts(self) -> Vec<String> {
        self.texts
    }
}
