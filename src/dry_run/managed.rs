//! [`Managed`]: which field manager wants what of the objects of an API server in memory.
//!
//! Source of the rules: `sigs.k8s.io/structured-merge-diff`, `merge/update.go`, for intents without lists of maps.

use bayplan_framework::{Intent, ObjectPart};
use bayplan_model::{Kind, Symbol, merge};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// The kind, namespace and name of an object.
type Place = (Kind, Symbol, Symbol);

/// The intents in force, by object; of each manager one for the object and one for its status.
#[derive(Clone, Debug, Default)]
pub(super) struct Managed(BTreeMap<Place, Vec<(ObjectPart, Intent)>>);

impl Managed {
    /// The merge patch that brings an object from the manager's intent before to this one. Fields that the intent takes from
    /// other managers are theirs no longer.
    pub(super) fn apply(&mut self, place: Place, part: ObjectPart, intent: &Intent) -> Value {
        let all = self.0.entry(place).or_default();
        let is_own = |(of, other): &(ObjectPart, Intent)| *of == part && other.manager == intent.manager;
        let before = all.iter().position(is_own).map(|at| all.remove(at).1.fields).unwrap_or_default();
        for (_, other) in all.iter_mut() {
            without(&mut other.fields, &intent.fields);
        }
        let mut gone = before;
        without(&mut gone, &intent.fields);
        for (_, other) in all.iter() {
            without(&mut gone, &other.fields);
        }
        let mut patch = Value::Object(gone);
        removed(&mut patch);
        merge(&mut patch, &Value::Object(intent.fields.clone()));
        all.push((part, intent.clone()));
        patch
    }

    /// An object is gone.
    pub(super) fn forget(&mut self, place: &Place) {
        self.0.remove(place);
    }
}

/// Takes the fields of one map out of another one.
fn without(from: &mut Map<String, Value>, fields: &Map<String, Value>) {
    for (name, field) in fields {
        match (from.get_mut(name), field) {
            (Some(Value::Object(from)), Value::Object(fields)) => without(from, fields),
            _ => {
                from.remove(name);
            }
        }
    }
}

/// A merge patch that removes each field.
fn removed(fields: &mut Value) {
    match fields {
        Value::Object(fields) => fields.values_mut().for_each(removed),
        leaf => *leaf = Value::Null,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn intent(manager: &str, fields: Value) -> Intent {
        let Value::Object(fields) = fields else { panic!() };
        Intent { manager: manager.into(), fields }
    }

    #[test]
    fn a_field_goes_with_the_last_intent_that_has_it() {
        let place: Place = (Kind::Node, "".into(), "n1".into());
        let mut managed = Managed::default();
        let mut object = json!({"spec": {"kept": true}});
        let mut apply = |manager: &str, fields: Value| {
            merge(&mut object, &managed.apply(place.clone(), ObjectPart::Object, &intent(manager, fields)));
            object.clone()
        };
        apply("a", json!({"spec": {"x": 1, "y": {"z": 2}}}));
        let shared = apply("b", json!({"spec": {"x": 5}}));
        assert_eq!(shared, json!({"spec": {"kept": true, "x": 5, "y": {"z": 2}}}));
        // `b` has taken `x` from `a`, so that it stays when `a` leaves it out.
        assert_eq!(apply("a", json!({})), json!({"spec": {"kept": true, "x": 5, "y": {}}}));
        assert_eq!(
            apply("b", json!({"spec": {"w": [1]}})),
            json!({"spec": {"kept": true, "y": {}, "w": [1]}})
        );
    }
}
