//! Decodes objects of the API server into the scheduler's: directly into the slim types, or with
//! further fields beside them if a policy reads these. What no policy reads is dropped as soon as an
//! object is decoded.

use super::watch::{Collection, Watched};
use crate::extender::objects::Text;
use bayplan_model::objects::problems::{Problems, decode_as_far_as_possible};
use bayplan_model::objects::projection::Projection;
use bayplan_model::objects::{Namespace as SlimNamespace, namespace, node, pod};
use bayplan_model::{KINDS, Kind, KindRow, LookedUp, Node, Object, ObjectError, ObjectKey, PodInfo, Seen};
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use std::sync::Arc;

/// A slim object that can be watched and becomes an [`Object`].
pub trait Slim: Watched {
    /// The object as far as it can be read, or why nothing of it can.
    fn parse(&self) -> Result<Seen, ObjectError>;
    /// Its kind, namespace, name and UID.
    fn key(&self) -> ObjectKey;
    /// What the API server gave, for extenders, if it is kept.
    fn text(&self) -> Option<Text> {
        None
    }
}

/// A slim object of one kind.
pub(crate) trait OfKind: Slim {
    /// The kind.
    const KIND: Kind;
    /// The object, of which `problems` are known.
    fn parse_after(&self, problems: Problems) -> Result<Seen, ObjectError>;
}

fn key(kind: Kind, metadata: &bayplan_model::objects::metadata::Metadata) -> ObjectKey {
    ObjectKey {
        kind,
        namespace: metadata.namespace.clone(),
        name: metadata.name.clone(),
        uid: metadata.uid.clone(),
    }
}

/// The key and the resource version of an object, of which nothing else may be readable.
fn key_and_version(kind: Kind, object: &Value) -> (ObjectKey, Box<str>) {
    let metadata = &object["metadata"];
    let text = |name: &str| metadata[name].as_str().unwrap_or_default();
    let (namespace, name, uid) = (text("namespace").into(), text("name").into(), text("uid").into());
    (ObjectKey { kind, namespace, name, uid }, text("resourceVersion").into())
}

macro_rules! slim {
    ($slim:ty, $kind:ident, $read:expr) => {
        impl Watched for $slim {
            fn resource_version(&self) -> &str {
                &self.metadata.resource_version
            }

            fn keep(&mut self, projection: &Projection) {
                self.metadata.annotations.retain(|key, _| projection.annotations.keeps(key));
            }
        }

        impl OfKind for $slim {
            const KIND: Kind = Kind::$kind;

            fn parse_after(&self, mut problems: Problems) -> Result<Seen, ObjectError> {
                let object = Object::$kind(Arc::new($read(self, &mut problems)?));
                Ok(Seen { object, problem: problems.into_first() })
            }
        }

        impl Slim for $slim {
            fn parse(&self) -> Result<Seen, ObjectError> {
                self.parse_after(Problems::default())
            }

            fn key(&self) -> ObjectKey {
                key(Kind::$kind, &self.metadata)
            }
        }
    };
}

slim!(pod::Pod, Pod, PodInfo::read);
slim!(node::Node, Node, Node::read);
slim!(namespace::Namespace, Namespace, |slim, _: &mut Problems| SlimNamespace::from_object(slim));

/// A slim object with fields that policies read beside it. Until [`Watched::keep`] these are all.
#[derive(Clone, Debug)]
pub(crate) struct Extended<T> {
    slim: Result<T, ObjectError>,
    /// What was left out to read it.
    left_out: Option<ObjectError>,
    key: ObjectKey,
    resource_version: Box<str>,
    fields: Value,
}

impl<'de, T: OfKind> Deserialize<'de> for Extended<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let mut fields = Value::deserialize(from)?;
        let (key, resource_version) = key_and_version(T::KIND, &fields);
        let mut problems = Problems::default();
        let slim = decode_as_far_as_possible(&fields, &mut problems);
        let left_out = problems.into_first();
        if let Some(metadata) = fields.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.remove("managedFields");
        }
        Ok(Self { slim, left_out, key, resource_version, fields })
    }
}

impl<T: OfKind> Watched for Extended<T> {
    fn resource_version(&self) -> &str {
        &self.resource_version
    }

    fn keep(&mut self, projection: &Projection) {
        if let Ok(slim) = &mut self.slim {
            slim.keep(projection);
        }
        self.fields = projection.fields.of(std::mem::take(&mut self.fields));
    }
}

impl<T: OfKind> OfKind for Extended<T> {
    const KIND: Kind = T::KIND;

    fn parse_after(&self, mut problems: Problems) -> Result<Seen, ObjectError> {
        self.left_out.iter().for_each(|problem| problems.note_hiding(problem.clone()));
        let Seen { object, problem } = self.slim.as_ref().map_err(Clone::clone)?.parse_after(problems)?;
        let raw = Some(Arc::new(self.fields.clone()));
        let object = match object {
            Object::Pod(pod) => Object::Pod(Arc::new(PodInfo { raw, ..Arc::unwrap_or_clone(pod) })),
            Object::Node(node) => Object::Node(Arc::new(Node { raw, ..Arc::unwrap_or_clone(node) })),
            Object::Namespace(namespace) => {
                let namespace = Arc::unwrap_or_clone(namespace);
                Object::Namespace(Arc::new(SlimNamespace { raw, ..namespace }))
            }
            other => other,
        };
        Ok(Seen { object, problem })
    }
}

impl<T: OfKind> Slim for Extended<T> {
    fn parse(&self) -> Result<Seen, ObjectError> {
        self.parse_after(Problems::default())
    }

    fn key(&self) -> ObjectKey {
        self.key.clone()
    }
}

/// An object of a kind that has no type of its own here: of the table, or one that policies look up.
/// [`Watched::arrived`] reads it as its collection says and drops everything else.
#[derive(Clone, Debug)]
pub(crate) struct OfCollection {
    key: ObjectKey,
    resource_version: Box<str>,
    object: Result<Seen, ObjectError>,
    fields: Value,
}

impl<'de> Deserialize<'de> for OfCollection {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let fields = Value::deserialize(from)?;
        let (key, resource_version) = key_and_version(Kind::Pod, &fields);
        let object = Err(ObjectError::new("", "", "the object belongs to no collection"));
        Ok(Self { key, resource_version, object, fields })
    }
}

impl Watched for OfCollection {
    fn resource_version(&self) -> &str {
        &self.resource_version
    }

    fn arrived(&mut self, of: &Collection) {
        let is_row = |row: &&KindRow| row.plural == of.resource && row.group == of.group;
        if let Some(kind) = &of.looked_up {
            self.key.kind = Kind::LookedUp(kind.clone());
            let object = LookedUp::new(kind, std::mem::take(&mut self.fields), &of.keep);
            self.object = object.map(|object| Object::Other(Arc::new(object)).into());
        } else if let Some(row) = KINDS.iter().find(is_row) {
            self.key.kind = row.kind.clone();
            self.object = row.seen(std::mem::take(&mut self.fields));
        }
    }
}

impl Slim for OfCollection {
    fn parse(&self) -> Result<Seen, ObjectError> {
        self.object.clone()
    }

    fn key(&self) -> ObjectKey {
        self.key.clone()
    }
}

/// Reads one object of a kind, as far as it can be read.
pub(crate) fn parse(kind: &Kind, bytes: &[u8]) -> Result<Object, String> {
    let row = kind.row().ok_or_else(|| format!("no objects of the kind {kind:?} can be read"))?;
    (row.parse)(bytes).map(|seen| seen.object).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inputs::informers;
    use bayplan_model::objects::projection::{AnnotationKeys, Fields};

    const TEXT: &[u8] =
        br#"{"metadata":{"name":"a","namespace":"n","uid":"u","resourceVersion":"7","managedFields":[{}],
        "annotations":{"a":"1","b":"2"}},"spec":{"hostname":"h","subdomain":"s","containers":[]}}"#;

    fn extended(projection: &Projection) -> Arc<PodInfo> {
        let mut whole: Extended<pod::Pod> = serde_json::from_slice(TEXT).unwrap();
        whole.keep(projection);
        let Ok(Object::Pod(pod)) = whole.parse().map(|seen| seen.object) else { panic!("no pod") };
        pod
    }

    #[test]
    fn pods_are_read_slim_or_whole() {
        let Ok(Object::Pod(slim)) = parse(&Kind::Pod, TEXT) else { panic!("no pod") };
        assert!(slim.raw.is_none());
        let whole: Extended<pod::Pod> = serde_json::from_slice(TEXT).unwrap();
        assert_eq!((whole.key(), whole.resource_version()), (Object::Pod(slim.clone()).key(), "7"));
        let whole = extended(&Projection::everything());
        let raw = whole.raw.as_ref().unwrap();
        assert_eq!(raw["spec"]["hostname"], "h");
        assert!(raw["metadata"].get("managedFields").is_none());
        assert_eq!(PodInfo { raw: None, ..(*whole).clone() }, *slim);
    }

    #[test]
    fn only_what_policies_read_is_kept() {
        let mut fields = Fields::default();
        fields.add(&["spec", "hostname"]);
        let annotations = AnnotationKeys::Only(["b".into()].into());
        let pod = extended(&Projection { annotations, fields });
        assert_eq!(**pod.raw.as_ref().unwrap(), serde_json::json!({"spec": {"hostname": "h"}}));
        assert_eq!((pod.annotations.get("a"), pod.annotations.get("b")), (None, Some("2")));
        let mut slim: pod::Pod = serde_json::from_slice(TEXT).unwrap();
        slim.keep(&Projection::default());
        let Ok(Object::Pod(slim)) = slim.parse().map(|seen| seen.object) else { panic!("no pod") };
        assert_eq!(slim.annotations.iter().len(), 0);
    }

    #[test]
    fn an_object_of_the_table_is_read_by_the_row_of_its_collection() {
        let text = br#"{"metadata":{"name":"web","namespace":"n","resourceVersion":"7"},
            "spec":{"selector":{"app":"web"},"ports":[{"port":80}]}}"#;
        let services = informers::collection(&Kind::Service);
        let mut object: OfCollection = serde_json::from_slice(text).unwrap();
        object.arrived(&services);
        assert_eq!((object.key().kind, object.resource_version()), (Kind::Service, "7"));
        assert_eq!(object.fields, Value::Null, "nothing else is kept");
        let Ok(Object::Other(service)) = object.parse().map(|seen| seen.object) else { panic!("no Service") };
        assert_eq!(service.metadata().name.as_str(), "web");
        let text = br#"{"metadata":{"name":"web","namespace":"n"},"spec":{"selector":7}}"#;
        let mut object: OfCollection = serde_json::from_slice(text).unwrap();
        object.arrived(&services);
        let seen = object.parse().unwrap();
        assert_eq!(seen.object.key().name.as_str(), "web");
        assert!(seen.problem.unwrap().path.contains("spec.selector"));
    }

    #[test]
    fn what_cannot_be_read_of_an_object_hides_nothing_else() {
        let text = br#"{"metadata":{"name":"a","labels":3},"spec":{"nodeName":"n1"}}"#;
        let broken: Extended<pod::Pod> = serde_json::from_slice(text).unwrap();
        assert_eq!(broken.key().name.as_str(), "a");
        let Ok(Seen { object: Object::Pod(pod), problem: Some(problem) }) = broken.parse() else {
            panic!("no pod")
        };
        assert_eq!(problem.path, "metadata.labels");
        assert_eq!(pod.node_name.as_ref().unwrap().as_str(), "n1");
        assert_eq!(pod.requests.memory, i64::MAX, "its node counts as full");
        let nameless: Extended<pod::Pod> = serde_json::from_slice(br#"{"metadata":7}"#).unwrap();
        assert!(nameless.parse().is_err());
    }
}
