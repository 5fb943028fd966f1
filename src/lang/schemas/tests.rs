//! Tests of schemas: what they give types to, and how far hostile ones are read.

#![allow(clippy::unwrap_used)]

use super::*;
use crate::types::Type;
use crate::types::range::Range;
use serde_json::json;

fn definition(schema: Value) -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "machines.g.io"},
        "spec": {
            "group": "g.io", "scope": "Namespaced", "names": {"kind": "Machine", "plural": "machines"},
            "versions": [
                {"name": "v1", "served": true, "schema": {"openAPIV3Schema": schema}},
                {"name": "v0", "served": false},
            ],
        },
    })
}

fn machine(schema: Value) -> Arc<ObjectKind> {
    let mut schemas = Schemas::default();
    schemas.add_definition(&definition(schema)).unwrap();
    assert_eq!(schemas.names().map(KindName::as_str).collect::<Vec<_>>(), ["g.io/v1/Machine"]);
    schemas.get(&KindName::parse("g.io/v1/Machine").unwrap()).unwrap().clone()
}

/// The type at a path of fields, as it is written.
fn at(kind: &ObjectKind, path: &str) -> String {
    let mut structure = kind.fields.clone().unwrap();
    let mut found = None;
    for name in path.split('.') {
        let field = structure.field(name).unwrap().clone();
        if let Type::Structure(inner) = field.ty.present() {
            structure = inner.clone();
        }
        found = Some(field.ty);
    }
    found.unwrap().to_string()
}

#[test]
fn a_definition_gives_types() {
    let kind = machine(json!({"type": "object", "properties": {
        "metadata": {"type": "object"},
        "spec": {"type": "object", "required": ["size", "maybe"], "properties": {
            "size": {"type": "integer", "format": "int32", "minimum": 1},
            "maybe": {"type": "integer", "nullable": true},
            "share": {"type": "number"},
            "names": {"type": "array", "items": {"type": "string"}},
            "labels": {"type": "object", "additionalProperties": {"type": "string"}},
            "port": {"x-kubernetes-int-or-string": true},
            "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
            "until": {"type": "string", "format": "date-time"},
        }},
    }}));
    assert_eq!((kind.plural.as_deref(), kind.namespaced), (Some("machines"), Some(true)));
    assert!(kind.fields.as_ref().unwrap().field("metadata").is_none());
    for (path, ty) in [
        ("spec", "Machine.spec?"),
        ("spec.size", "int"),
        ("spec.maybe", "int?"),
        ("spec.share", "float?"),
        ("spec.names", "list<string>?"),
        ("spec.labels", "map<string, string>?"),
        ("spec.port", "dyn"),
        ("spec.free", "dyn"),
        ("spec.until", "time?"),
    ] {
        assert_eq!(at(&kind, path), ty, "{path}");
    }
    let Type::Structure(spec) = kind.fields.as_ref().unwrap().field("spec").unwrap().ty.present().clone()
    else {
        panic!("no structure")
    };
    assert_eq!(spec.field("size").unwrap().range, Range::whole(1, i128::from(i32::MAX)));
}

#[test]
fn definitions_without_fields_or_with_too_many_are_read_as_far_as_they_go() {
    for schema in [
        json!({}),
        json!({"type": "object"}),
        json!({"type": "object", "properties": {"kind": {}}}),
        json!(3),
    ] {
        assert_eq!(machine(schema.clone()).fields, None, "{schema}");
    }
    let mut many = serde_json::Map::new();
    for number in 0..1_000_000 {
        many.insert(format!("f{number}"), json!({"type": "string"}));
    }
    let kind =
        machine(json!({"type": "object", "properties": {"spec": {"type": "object", "properties": many}}}));
    let Type::Structure(spec) = kind.fields.as_ref().unwrap().field("spec").unwrap().ty.present().clone()
    else {
        panic!("no structure")
    };
    assert!(spec.open && spec.fields().len() <= 10_000, "{}", spec.fields().len());
    let mut deep = json!({"type": "string"});
    for _ in 0..100 {
        deep = json!({"type": "object", "properties": {"a": deep}});
    }
    assert!(machine(deep).fields.is_some());
}

#[test]
fn references_are_followed_and_circles_end() {
    let name = KindName::parse("g.io/v1/Machine").unwrap();
    let others = json!({
        "Spec": {"type": "object", "properties": {"size": {"type": "integer"}, "again": {"$ref": "#/components/schemas/Spec"}}},
        "Loop": {"$ref": "#/components/schemas/Loop"},
    });
    let schema = json!({"type": "object", "properties": {
        "spec": {"allOf": [{"$ref": "#/components/schemas/Spec"}], "default": {}},
        "loop": {"$ref": "#/components/schemas/Loop"},
        "gone": {"$ref": "#/components/schemas/None"},
    }});
    let fields = fields_of_described(&name, &schema, &others).unwrap();
    let kind = ObjectKind { fields: Some(fields), ..ObjectKind::unknown(name) };
    assert_eq!(
        (at(&kind, "spec.size").as_str(), at(&kind, "spec.again.again.size").as_str()),
        ("int?", "int?")
    );
    assert_eq!((at(&kind, "loop").as_str(), at(&kind, "gone").as_str()), ("dyn", "dyn"));
}

#[test]
fn what_the_api_server_refuses_is_refused() {
    let mut wrong = definition(json!({}));
    wrong["spec"]["scope"] = json!("Everywhere");
    assert!(Schemas::default().add_definition(&wrong).unwrap_err().contains("Everywhere"));
    for path in ["group", "names", "versions", "scope"] {
        let mut wrong = definition(json!({}));
        wrong["spec"].as_object_mut().unwrap().remove(path);
        assert!(Schemas::default().add_definition(&wrong).is_err(), "{path}");
    }
}
