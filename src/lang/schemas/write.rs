//! Writes kinds as the CustomResourceDefinitions from which they can be read again: a file of a whole cluster has them, since
//! its policies compile only where their kinds are known.

use super::Schemas;
use crate::types::range::Range;
use crate::types::{ObjectKind, SchemaField, Structure, Type};
use bayplan_model::KindName;
use serde_json::{Map, Value, json};

impl Schemas {
    /// The definitions of the kinds of these names, as far as they are known here; a kind without the name of its resource
    /// is left out.
    pub fn definitions<'n>(&self, names: impl IntoIterator<Item = &'n KindName>) -> Vec<Value> {
        names.into_iter().filter_map(|name| self.get(name)).filter_map(|kind| definition(kind)).collect()
    }
}

fn definition(kind: &ObjectKind) -> Option<Value> {
    let (plural, group) = (kind.plural.as_deref()?, kind.name.group());
    let scope = if kind.namespaced.unwrap_or(true) { "Namespaced" } else { "Cluster" };
    let mut version = json!({"name": kind.name.version(), "served": true, "storage": true});
    if let Some(fields) = &kind.fields {
        version["schema"] = json!({"openAPIV3Schema": structure(fields)});
    }
    Some(json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.{group}")},
        "spec": {
            "group": group, "scope": scope, "names": {"kind": kind.name.kind(), "plural": plural},
            "versions": [version],
        },
    }))
}

fn structure(of: &Structure) -> Value {
    let properties: Map<String, Value> =
        of.fields().iter().map(|field| (field.name.to_string(), property(field))).collect();
    let required: Vec<&str> = of
        .fields()
        .iter()
        .filter(|field| !matches!(field.ty, Type::Optional(_)))
        .map(|field| &*field.name)
        .collect();
    let mut schema = json!({"type": "object", "properties": properties});
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    if of.open {
        schema["x-kubernetes-preserve-unknown-fields"] = json!(true);
    }
    schema
}

fn property(field: &SchemaField) -> Value {
    let mut schema = value(&field.ty);
    if let (Range::Whole { lo, hi, .. }, Some("integer")) = (field.range, schema["type"].as_str()) {
        let bound = |bound: i128| i64::try_from(bound).ok();
        (schema["minimum"], schema["maximum"]) = (json!(bound(lo)), json!(bound(hi)));
    }
    if !field.values.is_empty() {
        let of_elements = schema.get("items").is_some();
        let place = if of_elements { &mut schema["items"] } else { &mut schema };
        place["enum"] = json!(field.values);
    }
    schema
}

fn value(of: &Type) -> Value {
    match of.present() {
        Type::Bool => json!({"type": "boolean"}),
        Type::Int => json!({"type": "integer"}),
        Type::Float => json!({"type": "number"}),
        Type::String => json!({"type": "string"}),
        Type::Time => json!({"type": "string", "format": "date-time"}),
        Type::List(of) => json!({"type": "array", "items": value(of)}),
        Type::Map(_, of) => json!({"type": "object", "additionalProperties": value(of)}),
        Type::Structure(of) => structure(of),
        _ => json!({}),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn what_is_written_is_read_as_the_same_kind() {
        let written = json!({
            "kind": "CustomResourceDefinition",
            "spec": {
                "group": "g.io", "scope": "Cluster", "names": {"kind": "Gang", "plural": "gangs"},
                "versions": [{"name": "v1", "schema": {"openAPIV3Schema": {"type": "object", "properties": {
                    "spec": {"type": "object", "required": ["size"], "properties": {
                        "size": {"type": "integer", "minimum": 1, "format": "int32"},
                        "share": {"type": "number"}, "on": {"type": "boolean"}, "at": {"type": "string", "format": "date-time"},
                        "class": {"type": "string", "enum": ["a", "b"]},
                        "names": {"type": "array", "items": {"type": "string", "enum": ["x"]}},
                        "amounts": {"type": "object", "additionalProperties": {"type": "integer"}},
                        "port": {"x-kubernetes-int-or-string": true},
                        "open": {"type": "object", "properties": {}, "x-kubernetes-preserve-unknown-fields": true},
                    }},
                }}}}],
            },
        });
        let mut first = Schemas::default();
        first.add_definition(&written).unwrap();
        let name = KindName::parse("g.io/v1/Gang").unwrap();
        let again = first.definitions([&name]);
        let mut second = Schemas::default();
        again.iter().for_each(|definition| second.add_definition(definition).unwrap());
        assert_eq!(first, second, "{again:#?}");
        let values = |of: &Schemas| {
            let fields = of.get(&name).unwrap().fields.clone().unwrap();
            let Type::Structure(spec) = fields.field("spec").unwrap().ty.present().clone() else {
                panic!("no structure")
            };
            spec.fields().iter().map(|field| field.values.clone()).collect::<Vec<_>>()
        };
        assert_eq!(values(&first), values(&second));
    }
}
