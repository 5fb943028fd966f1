//! The JSON schema of policy documents, from the table of their fields. `bayplan schema` prints it.

use bayplan_lang::language::documents::{DOCUMENT, FieldDef, Form, MOST_WEIGHT, ObjectDef, Shape};
use serde_json::{Map, Value, json};

/// The schema of `kind: SchedulingPolicy`, draft 2020-12.
pub fn document_schema() -> Value {
    let mut defs = Map::new();
    let mut schema = object(&DOCUMENT, &mut defs);
    if let Some(fields) = schema.as_object_mut() {
        fields.insert("$schema".to_owned(), json!("https://json-schema.org/draft/2020-12/schema"));
        fields.insert("title".to_owned(), json!(DOCUMENT.name));
        fields.insert("$defs".to_owned(), Value::Object(defs));
    }
    schema
}

fn object(of: &'static ObjectDef, defs: &mut Map<String, Value>) -> Value {
    let mut properties = Map::new();
    for field in of.fields {
        let mut value = shape(field, defs);
        if let Some(value) = value.as_object_mut() {
            value.insert("description".to_owned(), json!(field.doc));
        }
        properties.insert(field.name.to_owned(), value);
    }
    let required: Vec<&str> = of
        .fields
        .iter()
        .filter(|field| field.needed && !of.is_of_a_form(field.name))
        .map(|field| field.name)
        .collect();
    let mut schema = json!({
        "type": "object", "additionalProperties": false, "properties": properties, "required": required,
    });
    if !of.forms.is_empty() {
        let forms: Vec<Value> = of.forms.iter().map(|form| one_form(of, form)).collect();
        if let Some(schema) = schema.as_object_mut() {
            schema.insert("oneOf".to_owned(), Value::Array(forms));
        }
    }
    schema
}

/// A form: what it needs, and without the fields of the others.
fn one_form(of: &ObjectDef, form: &Form) -> Value {
    let needed: Vec<&str> = of
        .fields
        .iter()
        .filter(|field| field.needed && form.fields.contains(&field.name))
        .map(|field| field.name)
        .collect();
    let others: Vec<Value> = of
        .fields
        .iter()
        .filter(|field| !of.takes(form, field.name))
        .map(|field| json!({ "required": [field.name] }))
        .collect();
    json!({ "required": needed, "not": { "anyOf": others } })
}

fn shape(field: &FieldDef, defs: &mut Map<String, Value>) -> Value {
    let expression = || json!({ "type": ["string", "boolean", "number"] });
    match field.shape {
        Shape::Expression => expression(),
        Shape::Reason | Shape::Text | Shape::Type => json!({ "type": "string" }),
        Shape::Identifier => json!({ "type": "string", "pattern": "^[A-Za-z_][A-Za-z0-9_]*$" }),
        Shape::Name => json!({ "type": "string", "pattern": "^[A-Za-z][A-Za-z0-9_-]*$" }),
        Shape::Bool => json!({ "type": "boolean" }),
        Shape::Whole(least, most) => json!({ "type": "integer", "minimum": least, "maximum": most }),
        Shape::Weight => json!({ "type": ["integer", "string"], "minimum": 1, "maximum": MOST_WEIGHT }),
        Shape::Duration => json!({ "type": "string" }),
        Shape::Word(words) => json!({ "enum": words }),
        Shape::Value => json!({}),
        Shape::Object(of) => reference(of, defs),
        Shape::List(of) => json!({ "type": ["array", "null"], "items": reference(of, defs) }),
        Shape::WordOr(words, of) => json!({ "anyOf": [{ "enum": words }, reference(of, defs)] }),
        Shape::Expressions => json!({ "type": "object", "additionalProperties": expression() }),
        Shape::Fields => {
            defs.entry("fields").or_insert_with(|| {
                let inner = json!({ "anyOf": [expression(), { "$ref": "#/$defs/fields" }] });
                json!({ "type": "object", "minProperties": 1, "additionalProperties": inner })
            });
            json!({ "$ref": "#/$defs/fields" })
        }
        Shape::Texts => json!({ "type": "object", "additionalProperties": { "type": "string" } }),
        // The reader refuses it by name.
    }
}

fn reference(of: &'static ObjectDef, defs: &mut Map<String, Value>) -> Value {
    let name = of.name.replace(['`', ' '], "-").replace("--", "-").trim_matches('-').to_owned();
    if !defs.contains_key(&name) {
        defs.insert(name.clone(), Value::Null);
        let schema = object(of, defs);
        defs.insert(name.clone(), schema);
    }
    json!({ "$ref": format!("#/$defs/{name}") })
}
