//! Nodes, and pods without a node, as the API server gave them, for extenders that want whole objects. They are kept
//! only while such an extender is configured: [`Whole`] decodes an object into the scheduler's and keeps its text
//! beside it, `informers` writes what the watches show, and `ask` puts it into questions.

use crate::inputs::objects::{Extended, OfKind, Slim};
use crate::inputs::watch::Watched;
use bayplan_model::objects::projection::Projection;
use bayplan_model::{Kind, Object, ObjectError, ObjectKey, PodInfo, Seen, Symbol};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use std::sync::{Arc, PoisonError, RwLock};

/// The JSON of an object, without `kind`, `apiVersion` and `managedFields`.
pub(crate) type Text = Arc<[u8]>;

/// Kind, namespace and name.
type Place = (Kind, Symbol, Symbol);

/// The kept objects. An object may be older or newer than what the scheduler knows.
#[derive(Debug, Default)]
pub struct RawObjects {
    /// Whether nodes are kept; pods always are.
    nodes: bool,
    /// The UID and the text of each.
    kept: RwLock<FxHashMap<Place, (Symbol, Text)>>,
}

impl RawObjects {
    /// Nothing is kept yet. Nodes are kept for extenders that do not know them.
    pub(crate) fn new(nodes: bool) -> Self {
        Self { nodes, kept: RwLock::default() }
    }

    /// Whether objects of a kind are kept.
    pub(crate) fn keeps(&self, kind: &Kind) -> bool {
        *kind == Kind::Pod || *kind == Kind::Node && self.nodes
    }

    /// The text of an object; `None` when it is not kept, or when its UID is another one.
    pub(crate) fn get(&self, key: &ObjectKey) -> Option<Text> {
        let kept = self.kept.read().unwrap_or_else(PoisonError::into_inner);
        let (uid, text) = kept.get(&place(key))?;
        (key.uid.is_empty() || uid == &key.uid).then(|| text.clone())
    }

    /// A list replaces all objects of its kind.
    pub(crate) fn listed(
        &self,
        kind: &Kind,
        all: impl Iterator<Item = (Object, Option<Text>)>,
    ) -> Vec<Object> {
        let mut kept = self.kept.write().unwrap_or_else(PoisonError::into_inner);
        kept.retain(|(of, ..), _| of != kind);
        all.map(|(object, text)| {
            if let Some(text) = text.filter(|_| is_kept(&object)) {
                let key = object.key();
                kept.insert(place(&key), (key.uid, text));
            }
            object
        })
        .collect()
    }

    /// An object was added or changed. A pod that got a node is dropped.
    pub(crate) fn changed(&self, object: &Object, text: Option<Text>) {
        let key = object.key();
        let mut kept = self.kept.write().unwrap_or_else(PoisonError::into_inner);
        match text.filter(|_| is_kept(object)) {
            Some(text) => kept.insert(place(&key), (key.uid, text)),
            None => kept.remove(&place(&key)),
        };
    }

    /// An object was deleted.
    pub(crate) fn deleted(&self, key: &ObjectKey) {
        self.kept.write().unwrap_or_else(PoisonError::into_inner).remove(&place(key));
    }
}

fn place(key: &ObjectKey) -> Place {
    (key.kind.clone(), key.namespace.clone(), key.name.clone())
}

fn is_kept(object: &Object) -> bool {
    match object {
        Object::Pod(pod) => pod.node_name.is_none(),
        _ => true,
    }
}

/// Text of an object for extenders: the API server's fields without those that Go's types do not write.
pub(crate) fn text_of(mut object: Value) -> Text {
    if let Some(fields) = object.as_object_mut() {
        fields.shift_remove("kind");
        fields.shift_remove("apiVersion");
        if let Some(metadata) = fields.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.shift_remove("managedFields");
        }
    }
    // A JSON value always serializes.
    serde_json::to_vec(&object).unwrap_or_default().into()
}

/// A slim object with its whole text beside it.
#[derive(Clone, Debug)]
pub(crate) struct Whole<T> {
    object: Extended<T>,
    text: Text,
    /// Whether policies read further fields.
    read: bool,
}

impl<'de, T: OfKind> Deserialize<'de> for Whole<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let object = Value::deserialize(from)?;
        let text = text_of(object.clone());
        let object = Extended::deserialize(object).map_err(serde::de::Error::custom)?;
        Ok(Self { object, text, read: true })
    }
}

impl<T: OfKind> Watched for Whole<T> {
    fn resource_version(&self) -> &str {
        self.object.resource_version()
    }

    fn keep(&mut self, projection: &Projection) {
        self.read = !projection.fields.is_empty();
        self.object.keep(projection);
    }
}

impl<T: OfKind> Slim for Whole<T> {
    fn parse(&self) -> Result<Seen, ObjectError> {
        let seen = self.object.parse()?;
        if self.read {
            return Ok(seen);
        }
        let object = match seen.object {
            Object::Pod(pod) => Object::Pod(Arc::new(PodInfo { raw: None, ..Arc::unwrap_or_clone(pod) })),
            Object::Node(node) => {
                let mut node = Arc::unwrap_or_clone(node);
                node.raw = None;
                Object::Node(Arc::new(node))
            }
            other => other,
        };
        Ok(Seen { object, ..seen })
    }

    fn key(&self) -> ObjectKey {
        self.object.key()
    }

    fn text(&self) -> Option<Text> {
        Some(self.text.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bayplan_model::objects::pod;
    use bayplan_model::testing::{node, pod as pod_maker};

    fn whole(text: &str) -> Whole<pod::Pod> {
        let mut whole: Whole<pod::Pod> = serde_json::from_str(text).unwrap();
        whole.keep(&Projection::default());
        whole
    }

    #[test]
    fn the_text_is_what_the_api_server_gave() {
        let whole = whole(
            r#"{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a","namespace":"n","uid":"u","managedFields":[{}],
            "annotations":{"a":"1"}},"spec":{"hostname":"h","containers":[{"name":"c"}]},"status":{"future":1}}"#,
        );
        let text = String::from_utf8(whole.text().unwrap().to_vec()).unwrap();
        assert_eq!(
            text,
            r#"{"metadata":{"name":"a","namespace":"n","uid":"u","annotations":{"a":"1"}},"spec":{"hostname":"h","containers":[{"name":"c"}]},"status":{"future":1}}"#
        );
        let Ok(Object::Pod(pod)) = whole.parse().map(|seen| seen.object) else { panic!("no pod") };
        assert!(pod.raw.is_none() && pod.name.as_str() == "a");
    }

    #[test]
    fn pods_are_kept_until_they_have_a_node() {
        let raw = RawObjects::new(false);
        assert!(raw.keeps(&Kind::Pod) && !raw.keeps(&Kind::Node) && RawObjects::new(true).keeps(&Kind::Node));
        let text = || Some(Text::from(*b"{}"));
        let key = pod_maker("a").uid("u").object().key();
        raw.changed(&pod_maker("a").uid("u").object(), text());
        assert!(raw.get(&key).is_some());
        assert!(raw.get(&ObjectKey { uid: "other".into(), ..key.clone() }).is_none());
        raw.changed(&pod_maker("a").uid("u").on("n1").object(), text());
        assert!(raw.get(&key).is_none());
        raw.listed(&Kind::Pod, [(pod_maker("a").uid("u").object(), text())].into_iter());
        raw.listed(&Kind::Node, [(node("n1").object(), text())].into_iter());
        assert!(raw.get(&key).is_some() && raw.get(&node("n1").object().key()).is_some());
        raw.listed(&Kind::Pod, std::iter::empty());
        assert!(raw.get(&key).is_none() && raw.get(&node("n1").object().key()).is_some());
        raw.deleted(&node("n1").object().key());
        assert!(raw.get(&node("n1").object().key()).is_none());
    }
}
