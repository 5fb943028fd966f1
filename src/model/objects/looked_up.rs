//! [`LookedUp`]: an object of a kind that policies look up, with only what they read.
//!
//! A kind of the table that policies look up too is kept twice: as its struct for plugins, and as this for policies.
//!
//! `Kind::LookedUp` has no row in the table. Only the paths that `lang/analysis/keeps.rs` derives are kept and
//! compared, and an event of an object helps a pod if its policy reads a path that differs. Types come from
//! `lang/language/fields/kinds.txt`, from CustomResourceDefinitions (`lang/schemas`) or from the API server
//! (`cluster/inputs/kinds.rs`).

use super::super::labels::{Annotations, Labels};
use super::super::merge_patch::merge;
use super::super::metadata_change::MetadataChange;
use super::super::pod::OwnerReference;
use super::super::time::Time;
use super::metadata::{Metadata, ObjectMeta};
use super::projection::{Fields, Projection};
use super::{ApiObject, Kind, KindName, ObjectError, decode};
use serde_json::Value;
use std::any::Any;
use std::sync::Arc;

/// An object of any kind, as far as policies read it. Two versions that differ in nothing that is kept are equal.
#[derive(Clone, Debug)]
pub struct LookedUp {
    kind: KindName,
    metadata: ObjectMeta,
    created: Option<Time>,
    fields: Arc<Value>,
}

impl PartialEq for LookedUp {
    fn eq(&self, other: &Self) -> bool {
        self.kind == other.kind
            && self.metadata == other.metadata
            && self.created == other.created
            && self.fields == other.fields
    }
}

impl LookedUp {
    /// The parts of an object that `keep` names. Fails when the object has no usable metadata.
    pub fn new(kind: &KindName, object: Value, keep: &Projection) -> Result<Self, ObjectError> {
        let metadata: Metadata = match object.get("metadata") {
            Some(metadata) => decode(metadata).map_err(|error| {
                let path = match error.path.is_empty() {
                    true => "metadata".to_owned(),
                    false => format!("metadata.{}", error.path),
                };
                ObjectError { path, ..error }
            })?,
            None => Metadata::default(),
        };
        let mut kept = ObjectMeta::name_of(&metadata)?;
        let keeps = |name: &str| keeps(&keep.fields, name);
        if keeps("labels") {
            kept.labels = metadata.labels.clone();
        }
        if keeps("ownerReferences") {
            kept.owners = metadata.owners();
        }
        kept.annotations = metadata.annotations.clone();
        kept.annotations.retain(|key, _| keep.annotations.keeps(key));
        let created = if keeps("creationTimestamp") { metadata.created()? } else { None };
        let mut fields = keep.fields.of(object);
        if let Some(metadata) = fields.get_mut("metadata").and_then(Value::as_object_mut) {
            // They are part of every update, and no decision is made by them.
            for name in ["managedFields", "resourceVersion", "generation"] {
                metadata.remove(name);
            }
        }
        Ok(Self { kind: kind.clone(), metadata: kept, created, fields: Arc::new(fields) })
    }

    /// This object with fewer fields: those that `keep` names.
    pub fn projected(&self, keep: &Projection) -> Self {
        let mut less = self.clone();
        let keeps = |name: &str| keeps(&keep.fields, name);
        if !keeps("labels") {
            less.metadata.labels = Labels::default();
        }
        if !keeps("ownerReferences") {
            less.metadata.owners = Box::default();
        }
        if !keeps("creationTimestamp") {
            less.created = None;
        }
        less.metadata.annotations.retain(|key, _| keep.annotations.keeps(key));
        less.fields = Arc::new(keep.fields.of((*self.fields).clone()));
        less
    }

    /// The object with other annotations and labels.
    pub fn changed(&self, change: &MetadataChange) -> Self {
        let mut changed = self.clone();
        changed.metadata.annotations = change.annotations_of(&self.metadata.annotations);
        changed.metadata.labels = change.labels_of(&self.metadata.labels);
        changed
    }

    /// The object after a merge patch. `None`: the patch changes metadata beside annotations and labels.
    pub fn merged(&self, patch: &Value) -> Option<Self> {
        let mut changed = self.changed(&MetadataChange::of_patch(patch)?);
        let mut fields = (*self.fields).clone();
        merge(&mut fields, patch);
        changed.fields = Arc::new(fields);
        Some(changed)
    }

    /// The kind.
    pub fn kind_name(&self) -> &KindName {
        &self.kind
    }

    /// The labels that are kept.
    pub fn labels(&self) -> &Labels {
        &self.metadata.labels
    }

    /// The annotations that are kept.
    pub fn annotations(&self) -> &Annotations {
        &self.metadata.annotations
    }

    /// When it was created, if that is kept.
    pub fn created(&self) -> Option<Time> {
        self.created
    }

    /// The owners that are kept.
    pub fn owners(&self) -> &[OwnerReference] {
        &self.metadata.owners
    }

    /// The fields that are kept, as the API has them.
    pub fn fields(&self) -> &Value {
        &self.fields
    }
}

/// Whether a field of the metadata is kept.
fn keeps(fields: &Fields, name: &str) -> bool {
    match fields {
        Fields::All => true,
        Fields::Only(fields) => match fields.get("metadata") {
            Some(Fields::All) => true,
            Some(Fields::Only(fields)) => fields.contains_key(name),
            None => false,
        },
    }
}

impl ApiObject for LookedUp {
    fn kind(&self) -> Kind {
        Kind::LookedUp(self.kind.clone())
    }

    fn metadata(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn shared(self: Arc<Self>) -> Arc<dyn Any + Send + Sync> {
        Arc::new(self)
    }

    fn differs(&self, old: &dyn ApiObject) -> bool {
        old.as_any().downcast_ref::<Self>().is_none_or(|old| self != old)
    }

    fn refutes(&self, _: &dyn ApiObject) -> bool {
        false
    }

    fn contents(&self) -> String {
        self.fields.to_string()
    }

    fn at_version(&self, version: Box<str>) -> Arc<dyn ApiObject> {
        let mut copy = self.clone();
        copy.metadata.version = version;
        Arc::new(copy)
    }
}

/// The object as one that policies look up; `None` when it is of a kind of the table.
pub fn looked_up(object: &dyn ApiObject) -> Option<&LookedUp> {
    object.as_any().downcast_ref()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use serde_json::json;

    fn machine(spec: Value) -> Value {
        json!({
            "metadata": {
                "name": "vm", "namespace": "n", "uid": "u", "resourceVersion": "7", "labels": {"a": "1"},
                "annotations": {"k": "v", "other": "long"}, "creationTimestamp": "2026-01-01T00:00:00Z",
                "ownerReferences": [{"apiVersion": "g.io/v1", "kind": "Owner", "name": "o", "uid": "x", "controller": true}],
                "managedFields": [{}],
            },
            "spec": spec,
        })
    }

    fn keep(paths: &[&[&str]], keys: &[&str]) -> Projection {
        let mut keep = Projection::default();
        paths.iter().for_each(|path| keep.fields.add(path));
        keys.iter().for_each(|key| keep.annotations.add(key));
        keep
    }

    #[test]
    fn only_what_is_read_is_kept_and_compared() {
        let kind = KindName::parse("g.io/v1/Machine").unwrap();
        let of = |spec: Value, keep: &Projection| LookedUp::new(&kind, machine(spec), keep).unwrap();
        let some = keep(&[&["spec", "size"], &["metadata", "labels"]], &["k"]);
        let object = of(json!({"size": 3, "rest": "x"}), &some);
        assert_eq!(*object.fields(), json!({"metadata": {"labels": {"a": "1"}}, "spec": {"size": 3}}));
        assert_eq!((object.annotations().get("k"), object.annotations().get("other")), (Some("v"), None));
        assert_eq!((object.labels().iter().len(), object.owners().len(), object.created()), (1, 0, None));
        assert!(!object.differs(&of(json!({"size": 3, "rest": "y"}), &some)), "nobody reads it");
        assert!(object.differs(&of(json!({"size": 4}), &some)));
        let all = of(json!({"size": 3, "rest": "x"}), &Projection::everything());
        assert_eq!((all.owners().len(), all.created().is_some()), (1, true));
        assert_eq!(all.fields()["metadata"].get("managedFields"), None);
        assert_eq!(all.projected(&some), object);
        assert_eq!(all.key().kind, Kind::LookedUp(kind.clone()));
        let error = LookedUp::new(&kind, json!({"metadata": {"name": "a", "labels": 3}}), &some).unwrap_err();
        assert_eq!(error.path, "metadata.labels");
        assert!(LookedUp::new(&kind, json!({}), &some).is_err());
    }
}
