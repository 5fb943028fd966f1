//! From YAML or JSON to a [`Tree`] whose values know their places. Called by [`super::read`] alone.

use crate::framework::{At, Tree, TreeEntry, TreeValue};
use serde::Deserialize;
use serde::de::{Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_saphyr::{Location, Spanned};

/// Why a text is no YAML: what is wrong, and where.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct YamlError {
    pub(super) message: String,
    pub(super) at: At,
}

/// Reads one document. An empty one is `null`.
pub(super) fn parse(text: &str) -> Result<Tree, YamlError> {
    if text.trim().is_empty() {
        return Ok(Tree::default());
    }
    let options = serde_saphyr::options! { budget: None };
    match serde_saphyr::from_str_with_options::<Spanned<Value>>(text, options) {
        Ok(root) => Ok(tree(root)),
        Err(error) => {
            let at = error.location().map(at).unwrap_or_default();
            let message = error.without_snippet().to_string();
            let message = message.lines().next().unwrap_or_default().trim_end_matches('.').to_owned();
            Err(YamlError { message, at })
        }
    }
}

fn at(location: Location) -> At {
    let span = location.span();
    let start = span.byte_offset().unwrap_or(0) as usize;
    At { start, end: start + span.byte_len().unwrap_or(0) as usize }
}

fn tree(spanned: Spanned<Value>) -> Tree {
    Tree { at: at(spanned.referenced), value: spanned.value.0 }
}

struct Value(TreeValue);

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AnyValue).map(Value)
    }
}

struct AnyValue;

impl<'de> Visitor<'de> for AnyValue {
    type Value = TreeValue;

    fn expecting(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.write_str("a value")
    }
    fn visit_bool<E>(self, value: bool) -> Result<TreeValue, E> {
        Ok(TreeValue::Bool(value))
    }
    fn visit_i64<E>(self, value: i64) -> Result<TreeValue, E> {
        Ok(TreeValue::Int(value))
    }
    fn visit_u64<E: Error>(self, value: u64) -> Result<TreeValue, E> {
        Ok(i64::try_from(value).map_or(TreeValue::Float(value as f64), TreeValue::Int))
    }
    fn visit_f64<E>(self, value: f64) -> Result<TreeValue, E> {
        Ok(TreeValue::Float(value))
    }
    fn visit_str<E>(self, value: &str) -> Result<TreeValue, E> {
        Ok(TreeValue::String(value.to_owned()))
    }
    fn visit_unit<E>(self) -> Result<TreeValue, E> {
        Ok(TreeValue::Null)
    }
    fn visit_none<E>(self) -> Result<TreeValue, E> {
        Ok(TreeValue::Null)
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<TreeValue, A::Error> {
        let mut values = Vec::new();
        while let Some(value) = list.next_element::<Spanned<Value>>()? {
            values.push(tree(value));
        }
        Ok(TreeValue::List(values))
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<TreeValue, A::Error> {
        let mut entries = Vec::new();
        while let Some(key) = map.next_key::<Spanned<String>>()? {
            let value = tree(map.next_value::<Spanned<Value>>()?);
            entries.push(TreeEntry { key_at: at(key.referenced), key: key.value, value });
        }
        Ok(TreeValue::Map(entries))
    }
}
