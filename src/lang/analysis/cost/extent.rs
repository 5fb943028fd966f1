//! [`Extent`]: how large a value can be, from the field table, the constants of the policy and the
//! operations on them.

use super::Size;
use super::steps::Steps;
use crate::language::fields::{API_TEXT_SIZE, CountedPart, FieldDef, KEY_SIZE};
use crate::language::limits::NUMBER_TEXT;
use crate::types::value::Value;
use crate::types::{Ty, Type};
use std::sync::Arc;

/// How many bytes of text a step covers.
pub(crate) const BYTES_PER_STEP: u64 = 1024;
/// How many entries of a map a step covers.
pub(crate) const ENTRIES_PER_STEP: u128 = 64;
/// Names of resources of one object: what its map of amounts has.
const RESOURCES: u128 = 64;
/// Bytes of a place in a list.
const PLACE: u128 = 32;

/// How large a value can be.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Extent {
    /// A number, a bool, an object: nothing to visit.
    Plain,
    /// A text.
    Text {
        /// Bytes at most.
        most: u64,
        /// Bytes that count for time: of parts of one text each may be long, and not all.
        share: u64,
        /// It is computed, and not a part of the cluster or of the policy.
        made: bool,
    },
    /// A list, a set, or a map (of its values, with keys).
    Many {
        /// How many elements or entries.
        count: Steps,
        /// Each of them.
        of: Arc<Extent>,
        /// The keys of a map.
        key: Option<Arc<Extent>>,
        /// Its elements are nodes, none of them twice.
        nodes: bool,
    },
}

impl Extent {
    /// A text of so many bytes.
    pub(super) fn text(most: u64) -> Self {
        Extent::Text { most, share: most, made: false }
    }

    /// A computed text of so many bytes.
    pub(super) fn made(most: u64) -> Self {
        Extent::Text { most, share: most, made: true }
    }

    /// A list of so many.
    pub(super) fn list(count: Steps, of: Extent) -> Self {
        Extent::Many { count, of: Arc::new(of), key: None, nodes: false }
    }

    /// A map of so many entries.
    pub(super) fn map(count: Steps, key: Extent, of: Extent) -> Self {
        Extent::Many { count, of: Arc::new(of), key: Some(Arc::new(key)), nodes: false }
    }

    /// The largest value of a type where nothing else is known.
    pub(super) fn of_type(ty: &Type, size: Size) -> Self {
        let some = || Steps::new(u128::from(size.of_object(CountedPart::Terms)));
        match ty.present() {
            Type::String | Type::Blob | Type::Dyn => Extent::text(u64::from(API_TEXT_SIZE)),
            Type::CelOptional(of) => Extent::of_type(of, size),
            Type::List(of) | Type::Set(of) => Extent::list(some(), Extent::of_type(of, size)),
            Type::Map(key, of) => Extent::map(some(), Extent::of_type(key, size), Extent::of_type(of, size)),
            Type::Resources => {
                Extent::map(Steps::new(RESOURCES), Extent::text(u64::from(KEY_SIZE)), Extent::Plain)
            }
            _ => Extent::Plain,
        }
    }

    /// A constant, as large as it is.
    pub(super) fn of_constant(value: &Value<'_>) -> Self {
        if let Some(text) = value.as_str() {
            return Extent::text(text.len() as u64);
        }
        if let Some(items) = value.elements() {
            let of = items.iter().map(Extent::of_constant).reduce(|a, b| a.or(&b)).unwrap_or(Extent::Plain);
            return Extent::list(Steps::new(items.len() as u128), of);
        }
        if let Some(entries) = value.entries() {
            let key = entries.iter().map(|(key, _)| Extent::of_constant(key)).reduce(|a, b| a.or(&b));
            let of = entries.iter().map(|(_, of)| Extent::of_constant(of)).reduce(|a, b| a.or(&b));
            let count = Steps::new(entries.len() as u128);
            return Extent::map(count, key.unwrap_or(Extent::Plain), of.unwrap_or(Extent::Plain));
        }
        match value {
            Value::Blob(bytes) => Extent::text(bytes.len() as u64),
            Value::Optional(Some(of)) => Extent::of_constant(of),
            Value::Record(fields) => {
                fields.iter().map(Extent::of_constant).reduce(|a, b| a.or(&b)).unwrap_or(Extent::Plain)
            }
            _ => Extent::Plain,
        }
    }

    /// A field, by its row.
    pub(super) fn of_field(def: &FieldDef, declared: Size) -> Self {
        let size = def.part.map_or(def.size, |part| declared.of_object(part));
        let (size, text) = (u64::from(size), u64::from(def.text));
        let ty = match def.ty {
            Ty::Optional(inner) => *inner,
            ty => ty,
        };
        let count = Steps::new(u128::from(size));
        match ty {
            Ty::String => Extent::text(size),
            Ty::List(Ty::String) => Extent::list(count, Extent::text(text)),
            Ty::List(_) => Extent::list(count, Extent::Plain),
            Ty::Map(..) => Extent::map(count, Extent::text(u64::from(KEY_SIZE)), Extent::text(text)),
            Ty::Resources => Extent::map(count, Extent::text(text), Extent::Plain),
            _ => Extent::Plain,
        }
    }

    /// As large as either.
    pub(super) fn or(&self, other: &Extent) -> Self {
        match (self, other) {
            (Extent::Plain, other) | (other, Extent::Plain) => other.clone(),
            (
                Extent::Text { most: a, share: c, made },
                Extent::Text { most: b, share: d, made: other_made },
            ) => Extent::Text { most: *a.max(b), share: *c.max(d), made: *made || *other_made },
            (
                Extent::Many { count: a, of, key, nodes },
                Extent::Many { count: b, of: other, key: other_key, nodes: other_nodes },
            ) => Extent::Many {
                count: a.or(b),
                of: Arc::new(of.or(other)),
                key: match (key, other_key) {
                    (Some(a), Some(b)) => Some(Arc::new(a.or(b))),
                    (a, b) => a.clone().or_else(|| b.clone()),
                },
                nodes: *nodes && *other_nodes,
            },
            // JSON, which may be either.
            (Extent::Text { .. }, many) | (many, Extent::Text { .. }) => many.clone(),
        }
    }

    /// One taken out of several, which may be the longest of them.
    pub(super) fn alone(self) -> Self {
        match self {
            Extent::Text { most, made, .. } => Extent::Text { most, share: most, made },
            other => other,
        }
    }

    /// Whether it contains computed texts.
    fn is_made(&self) -> bool {
        match self {
            Extent::Plain => false,
            Extent::Text { made, .. } => *made,
            Extent::Many { of, key, .. } => of.is_made() || key.as_ref().is_some_and(|key| key.is_made()),
        }
    }

    /// The text that is an element of it, or it itself; at least as long as a number.
    pub(super) fn as_text(&self) -> Self {
        let most = self.bytes().max(NUMBER_TEXT);
        Extent::Text { most, share: most, made: self.is_made() }
    }

    /// How many elements or entries.
    pub(super) fn count(&self) -> Steps {
        match self {
            Extent::Many { count, .. } => count.clone(),
            _ => Steps::default(),
        }
    }

    /// An element of a list, a value of a map.
    pub(super) fn element(&self) -> Extent {
        match self {
            Extent::Many { of, .. } => (**of).clone(),
            // A part of JSON is at most as large as the whole.
            other => other.clone(),
        }
    }

    /// A key of a map.
    pub(super) fn key(&self) -> Extent {
        match self {
            Extent::Many { key: Some(key), .. } => (**key).clone(),
            _ => Extent::Plain,
        }
    }

    /// Bytes of a text at most.
    pub(super) fn bytes(&self) -> u64 {
        match self {
            Extent::Text { most, .. } => *most,
            Extent::Plain => NUMBER_TEXT,
            Extent::Many { of, .. } => of.bytes(),
        }
    }

    /// Bytes of the text that `format` and `strings.quote` make of it: with quotes, escapes
    /// (`\\u0000` at most), and the text between elements.
    pub(super) fn written(&self) -> Steps {
        match self {
            Extent::Plain => Steps::new(u128::from(NUMBER_TEXT)),
            Extent::Text { most, .. } => Steps::new(6 * u128::from(*most) + 2),
            Extent::Many { count, of, key, .. } => {
                let each = of.written().plus_number(4);
                let each = key.as_ref().map_or(each.clone(), |key| each.plus(&key.written()));
                count.times(&each).plus_number(2)
            }
        }
    }

    /// Bytes that it takes to keep it beside the cluster and the policy: places in lists, and texts
    /// that were made. A map of an object, and the parts of a text of the cluster, are part of the
    /// cluster.
    pub(super) fn kept(&self) -> Steps {
        match self {
            Extent::Plain => Steps::default(),
            Extent::Text { share, made, .. } => Steps::new(if *made { u128::from(*share) } else { 0 }),
            Extent::Many { count, of, key, .. } => {
                let is_part = key.is_some() || matches!(**of, Extent::Text { share: 1, made: false, .. });
                let each = of.kept().plus_number(if is_part { 0 } else { PLACE });
                count.times(&key.as_ref().map_or(each.clone(), |key| each.plus(&key.kept())))
            }
        }
    }

    /// The steps of visiting it once.
    pub(super) fn walk(&self) -> Steps {
        match self {
            Extent::Plain => Steps::default(),
            Extent::Text { share, .. } => Steps::new(u128::from(share / BYTES_PER_STEP)),
            Extent::Many { count, of, key, .. } => {
                let each = of.walk().plus_number(1);
                let each = key.as_ref().map_or(each.clone(), |key| each.plus(&key.walk()));
                count.times(&each)
            }
        }
    }
}
