//! Deserializers for the slim types of this folder: lists and maps may be `null`, amounts may be numbers.

use super::super::labels::{Annotations, Labels};
use super::super::quantity::{Quantity, QuantityError};
use super::super::symbol::Symbol;
use super::ObjectError;
use super::projection::MOST_KEPT;
use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

/// Reads a field; `null` is the default.
pub fn or_default<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(from: D) -> Result<T, D::Error> {
    Option::<T>::deserialize(from).map(Option::unwrap_or_default)
}

/// A quantity as an object gives it. An invalid one is kept, so that the error can name its place.
#[derive(Clone, PartialEq, Debug)]
pub enum Amount {
    /// Well formed.
    Good(Quantity),
    /// What was written, and what is wrong with it.
    Bad(Box<str>, QuantityError),
}

impl Amount {
    fn read(text: &str) -> Self {
        match Quantity::parse(text.trim()) {
            Ok(quantity) => Self::Good(quantity),
            Err(error) => Self::Bad(text.into(), error),
        }
    }

    /// The amount at `path`, or what is wrong with it.
    pub fn quantity(&self, path: &str) -> Result<Quantity, ObjectError> {
        match self {
            Self::Good(quantity) => Ok(*quantity),
            Self::Bad(text, error) => Err(ObjectError::new(path, &**text, error.to_string())),
        }
    }
}

impl<'de> Deserialize<'de> for Amount {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Amounts;
        impl Visitor<'_> for Amounts {
            type Value = Amount;
            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("a quantity, such as 500m or 1Gi")
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Amount, E> {
                Ok(Amount::read(text))
            }
            fn visit_i64<E: Error>(self, number: i64) -> Result<Amount, E> {
                Ok(Amount::Good(Quantity::from_value(number)))
            }
            fn visit_u64<E: Error>(self, number: u64) -> Result<Amount, E> {
                Ok(match i64::try_from(number) {
                    Ok(number) => Amount::Good(Quantity::from_value(number)),
                    Err(_) => Amount::read(&number.to_string()),
                })
            }
            fn visit_f64<E: Error>(self, number: f64) -> Result<Amount, E> {
                Ok(Amount::read(&number.to_string()))
            }
            fn visit_unit<E: Error>(self) -> Result<Amount, E> {
                Ok(Amount::Good(Quantity::ZERO))
            }
        }
        from.deserialize_any(Amounts)
    }
}

/// Amounts by resource name, in the order written.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct ResourceList(pub Vec<(Symbol, Amount)>);

impl ResourceList {
    /// Takes from `other` the amounts of those names that `counts` and that are not here.
    pub(crate) fn fill_from(&mut self, other: &Self, counts: impl Fn(&str) -> bool) {
        for (name, amount) in other.0.iter().filter(|(name, _)| counts(name)) {
            if !self.0.iter().any(|(known, _)| known == name) {
                self.0.push((name.clone(), amount.clone()));
            }
        }
    }
}

impl ResourceList {
    /// The amount of one resource in the list at `path`; `None` when the list does not name it.
    pub fn quantity(&self, name: &str, path: &str) -> Result<Option<Quantity>, ObjectError> {
        let named = self.0.iter().rfind(|(key, _)| key.as_str() == name);
        named.map(|(_, amount)| amount.quantity(&format!("{path}.{name}"))).transpose()
    }
}

impl<'de> Deserialize<'de> for ResourceList {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(Pairs("a map from resource names to quantities", PhantomData)).map(Self)
    }
}

/// Reads a map as a list of pairs; `null` is the empty list.
struct Pairs<V>(&'static str, PhantomData<V>);

impl<'de, V: Deserialize<'de>> Visitor<'de> for Pairs<V> {
    type Value = Vec<(Symbol, V)>;
    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(self.0)
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut pairs = Vec::with_capacity(map.size_hint().unwrap_or(4).min(64));
        while let Some(pair) = map.next_entry()? {
            pairs.push(pair);
        }
        Ok(pairs)
    }
    fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
        Ok(Vec::new())
    }
}

impl<'de> Deserialize<'de> for Labels {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let pairs: Vec<(Symbol, Option<Symbol>)> =
            from.deserialize_any(Pairs("a map from label keys to values", PhantomData))?;
        Ok(pairs.into_iter().map(|(key, value)| (key, value.unwrap_or_default())).collect())
    }
}

impl<'de> Deserialize<'de> for Annotations {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let pairs: Vec<(Symbol, Option<Arc<str>>)> =
            from.deserialize_any(Pairs("a map from annotation keys to values", PhantomData))?;
        let pairs = pairs.into_iter().map(|(key, value)| (key, value.unwrap_or_else(|| Arc::from(""))));
        let mut annotations: Annotations = pairs.collect();
        // What is too long to be kept counts for what the API server takes.
        annotations.retain(|_, value| value.len() <= MOST_KEPT);
        Ok(annotations)
    }
}
