//! [`Intent`]: what one field manager wants of an object, for server-side apply; [`Write`]: one write of a policy, or
//! for one.
//!
//! All that the field manager `bayplan/POLICY` wants of an object, or of its status, is one intent, and so one call
//! for each object, part and block. It has the UID: server-side apply would make an object again that is gone.

use super::calls::{ApiCall, ObjectPart};
use super::patch_body::PatchBody;
use bayplan_model::{Kind, MetadataChange, ObjectKey, Symbol};
use serde_json::{Map, Value, json};

/// All that a field manager wants of an object, or of its status. What it wanted before and wants no more is removed,
/// unless another manager wants it too.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Intent {
    /// The field manager.
    pub manager: Symbol,
    /// The fields, from the top of the object; never its identity.
    pub fields: Map<String, Value>,
}

impl Intent {
    /// The body of the request: the fields, and which object they are of. With its UID, so that an object that is gone is
    /// not made again.
    pub fn json(&self, of: &ObjectKey) -> Value {
        let mut fields = Value::Object(self.fields.clone());
        let (version, kind) = match &of.kind {
            Kind::LookedUp(name) => (name.api_version().to_owned(), name.kind()),
            kind => kind.row().map(|row| (row.api_version(), row.name)).unwrap_or_default(),
        };
        fields["apiVersion"] = json!(version);
        fields["kind"] = json!(kind);
        fields["metadata"]["name"] = json!(of.name.as_str());
        for (field, value) in [("namespace", &of.namespace), ("uid", &of.uid)] {
            if !value.is_empty() {
                fields["metadata"][field] = json!(value.as_str());
            }
        }
        fields
    }

    /// The annotations and labels that it wants.
    fn metadata(&self) -> MetadataChange {
        let part = |name: &str| {
            let part = self.fields.get("metadata").and_then(|metadata| metadata.get(name)?.as_object());
            part.into_iter().flatten().filter_map(|(key, value)| Some((Symbol::new(key), value.as_str()?)))
        };
        MetadataChange {
            annotations: part("annotations").map(|(key, value)| (key, Some(value.into()))).collect(),
            labels: part("labels").map(|(key, value)| (key, Some(Symbol::new(value)))).collect(),
        }
    }

    /// Takes the fields of a further intent of the same manager in.
    fn join(&mut self, other: &Self) {
        let mut fields = Value::Object(std::mem::take(&mut self.fields));
        bayplan_model::merge(&mut fields, &Value::Object(other.fields.clone()));
        if let Value::Object(fields) = fields {
            self.fields = fields;
        }
    }
}

/// One write to an object.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Write {
    /// The object.
    pub of: ObjectKey,
    /// Which part of it.
    pub part: ObjectPart,
    /// What is written.
    pub body: PatchBody,
}

impl Write {
    /// Annotations and labels of an object.
    pub fn metadata(of: ObjectKey, change: MetadataChange) -> Self {
        Self { of, part: ObjectPart::Object, body: PatchBody::Metadata(change) }
    }

    /// The removal of a mark from a bound pod. `written`: its work is done.
    pub fn mark_gone(of: ObjectKey, mark: Symbol, written: bool) -> Self {
        Self { of, part: ObjectPart::Status, body: PatchBody::MarkGone { mark, written } }
    }

    /// Takes a later write in, if one call can make both. Returns whether it can.
    pub fn take_in(&mut self, later: &Self) -> bool {
        if (&self.of, self.part) != (&later.of, later.part) {
            return false;
        }
        match (&mut self.body, &later.body) {
            (PatchBody::Metadata(change), PatchBody::Metadata(later)) => change.then(later.clone()),
            (PatchBody::Apply(intent), PatchBody::Apply(later)) if intent.manager == later.manager => {
                intent.join(later);
            }
            _ => return false,
        }
        true
    }

    /// Why the API server would refuse it, whatever the object has; `None` if it may take it.
    pub fn problem(&self) -> Option<String> {
        let of_change = match self.of.kind {
            Kind::Pod => MetadataChange::problem_on_pod,
            _ => MetadataChange::problem,
        };
        let problem = match &self.body {
            PatchBody::Metadata(change) => of_change(change),
            PatchBody::Apply(intent) => of_change(&intent.metadata()),
            _ => None,
        };
        problem.map(|why| format!("writing to {:?}: {why}", self.of.name.as_str()))
    }

    /// The call that makes it.
    pub fn call(self) -> ApiCall {
        ApiCall::Patch { of: self.of, part: self.part, version: None, body: self.body }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bayplan_model::KindName;

    fn intent(fields: Value) -> Intent {
        let Value::Object(fields) = fields else { panic!() };
        Intent { manager: "bayplan/p".into(), fields }
    }

    fn write(part: ObjectPart, fields: Value) -> Write {
        let of = ObjectKey {
            kind: Kind::LookedUp(KindName::parse("example.com/v1/Request").unwrap_or_else(|| panic!())),
            namespace: "shop".into(),
            name: "a".into(),
            uid: "u-1".into(),
        };
        Write { of, part, body: PatchBody::Apply(intent(fields)) }
    }

    #[test]
    fn an_intent_names_its_object_with_its_uid() {
        let write = write(ObjectPart::Status, json!({"status": {"node": "n1"}}));
        let wanted = json!({
            "apiVersion": "example.com/v1", "kind": "Request",
            "metadata": {"name": "a", "namespace": "shop", "uid": "u-1"}, "status": {"node": "n1"},
        });
        assert_eq!(write.body.json(&write.of, None, ""), wanted);
        let of = ObjectKey { kind: Kind::Node, namespace: "".into(), name: "n1".into(), uid: "".into() };
        let labels = json!({"metadata": {"labels": {"a": "b"}}});
        let wanted = json!({
            "apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1", "labels": {"a": "b"}},
        });
        assert_eq!(intent(labels).json(&of), wanted);
    }

    #[test]
    fn patches_of_one_part_of_an_object_are_one_intent() {
        let mut first = write(ObjectPart::Object, json!({"spec": {"a": 1, "b": {"c": 2}}}));
        assert!(first.take_in(&write(ObjectPart::Object, json!({"spec": {"b": {"d": 3}}}))));
        assert_eq!(first.body, PatchBody::Apply(intent(json!({"spec": {"a": 1, "b": {"c": 2, "d": 3}}}))));
        assert!(!first.take_in(&write(ObjectPart::Status, json!({}))));
        let labels = Write::metadata(first.of.clone(), MetadataChange::default());
        assert!(!first.take_in(&labels));
    }
}
