//! Decodes objects of the API server into the scheduler's: directly into the slim types, or kept
//! whole beside them if a policy reads more fields.

use super::watch::Watched;
use crate::model::objects::{Namespace as SlimNamespace, namespace, node, pod};
use crate::model::{Kind, Node, Object, ObjectKey, PodInfo, Symbol};
use serde_json::Value;
use std::sync::Arc;

/// A slim object that can be watched and becomes an [`Object`].
pub trait Slim: Watched {
    /// Its kind.
    const KIND: Kind;
    /// The parsed object, or the error.
    fn parse(&self) -> Result<Object, String>;
    /// Its kind, namespace, name and UID.
    fn key(&self) -> ObjectKey;
}

fn key(kind: Kind, metadata: &crate::model::objects::metadata::Metadata) -> ObjectKey {
    ObjectKey {
        kind,
        namespace: metadata.namespace.clone(),
        name: metadata.name.clone(),
        uid: metadata.uid.clone(),
    }
}

macro_rules! slim {
    ($slim:ty, $kind:ident, $parsed:ty) => {
        impl Watched for $slim {
            fn resource_version(&self) -> &str {
                &self.metadata.resource_version
            }
        }

        impl Slim for $slim {
            const KIND: Kind = Kind::$kind;

            fn parse(&self) -> Result<Object, String> {
                let parsed = <$parsed>::from_object(self).map_err(|error| error.to_string())?;
                Ok(Object::$kind(Arc::new(parsed)))
            }

            fn key(&self) -> ObjectKey {
                key(Kind::$kind, &self.metadata)
            }
        }
    };
}

slim!(pod::Pod, Pod, PodInfo);
slim!(node::Node, Node, Node);
slim!(namespace::Namespace, Namespace, SlimNamespace);

/// An object kept whole.
#[derive(Clone, Debug, serde::Deserialize)]
#[serde(transparent)]
pub struct Whole<const KIND: u8>(Value);

/// The kinds of [`Whole`], by number.
const KINDS: [Kind; 3] = [Kind::Pod, Kind::Node, Kind::Namespace];

impl<const K: u8> Watched for Whole<K> {
    fn resource_version(&self) -> &str {
        self.0.resource_version()
    }
}

macro_rules! whole {
    ($number:literal, $kind:ident, $parsed:ty) => {
        impl Slim for Whole<$number> {
            const KIND: Kind = Kind::$kind;

            fn parse(&self) -> Result<Object, String> {
                let parsed = <$parsed>::from_value(Arc::new(without_managed_fields(self.0.clone())));
                Ok(Object::$kind(Arc::new(parsed.map_err(|error| error.to_string())?)))
            }

            fn key(&self) -> ObjectKey {
                let text = |name: &str| Symbol::new(self.0["metadata"][name].as_str().unwrap_or_default());
                ObjectKey {
                    kind: KINDS[$number].clone(),
                    namespace: text("namespace"),
                    name: text("name"),
                    uid: text("uid"),
                }
            }
        }
    };
}

whole!(0, Pod, PodInfo);
whole!(1, Node, Node);
whole!(2, Namespace, SlimNamespace);

fn without_managed_fields(mut value: Value) -> Value {
    if let Some(metadata) = value.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("managedFields");
    }
    value
}

/// Parses one object of a kind.
pub fn parse(kind: &Kind, bytes: &[u8]) -> Result<Object, String> {
    fn read<T: Slim>(bytes: &[u8]) -> Result<Object, String> {
        serde_json::from_slice::<T>(bytes).map_err(|error| error.to_string())?.parse()
    }
    match kind {
        Kind::Pod => read::<pod::Pod>(bytes),
        Kind::Node => read::<node::Node>(bytes),
        Kind::Namespace => read::<namespace::Namespace>(bytes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pods_are_read_slim_or_whole() {
        let text = br#"{"metadata":{"name":"a","namespace":"n","uid":"u","resourceVersion":"7","managedFields":[{}]},
            "spec":{"hostname":"h","containers":[]}}"#;
        let Ok(Object::Pod(slim)) = parse(&Kind::Pod, text) else { panic!("no pod") };
        assert!(slim.raw.is_none());
        let whole: Whole<0> = serde_json::from_slice(text).unwrap();
        assert_eq!((whole.key(), whole.resource_version()), (Object::Pod(slim).key(), "7"));
        let Ok(Object::Pod(whole)) = whole.parse() else { panic!("no pod") };
        let raw = whole.raw.as_ref().unwrap();
        assert_eq!(raw["spec"]["hostname"], "h");
        assert!(raw["metadata"].get("managedFields").is_none());
    }
}
