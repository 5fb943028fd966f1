//! `patch`: the fields of a statement, as what the field manager of the policy wants of an object.

use bayplan_framework::{Intent, ObjectPart, PatchBody, Write};
use bayplan_lang::codegen::{CompiledEntry, Env};
use bayplan_lang::typed::WriteForm;
use bayplan_lang::typed::acts::field_manager;
use bayplan_lang::types::value::Value;
use bayplan_model::{ObjectKey, Symbol};
use serde_json::{Map, Value as Json, json};

/// What a `patch` writes: of the object, of its status, or of both. A field whose value is absent is left out, and an
/// intent without fields takes away what the policy set before.
pub(super) fn intents(
    of: &ObjectKey,
    policy: &str,
    entries: &[CompiledEntry],
    env: &mut Env<'_, '_>,
) -> Vec<Write> {
    let mut writes = Vec::new();
    for part in [ObjectPart::Object, ObjectPart::Status] {
        let mut its = entries.iter().filter(|entry| part_of(entry) == part).peekable();
        if its.peek().is_none() {
            continue;
        }
        let mut fields = Map::new();
        for entry in its {
            let value = entry.value.as_ref().map(|value| value(env));
            if let Some(value) = value.and_then(|value| json_of(&value, entry.form)) {
                put(&mut fields, entry, value);
            }
        }
        let manager = Symbol::from(field_manager(policy));
        writes.push(Write { of: of.clone(), part, body: PatchBody::Apply(Intent { manager, fields }) });
    }
    writes
}

/// The part of the object that has a field.
fn part_of(entry: &CompiledEntry) -> ObjectPart {
    match entry.within.first().map_or(entry.key.as_str(), |first| first) {
        "status" => ObjectPart::Status,
        _ => ObjectPart::Object,
    }
}

fn put(fields: &mut Map<String, Json>, entry: &CompiledEntry, value: Json) {
    let mut at = fields;
    for name in &entry.within {
        let inner = at.entry(name.to_string()).or_insert_with(|| Json::Object(Map::new()));
        let Json::Object(inner) = inner else { return };
        at = inner;
    }
    at.insert(entry.key.to_string(), value);
}

/// The value of a field; `None` while it is absent.
fn json_of(value: &Value<'_>, form: WriteForm) -> Option<Json> {
    Some(match (form, value) {
        (WriteForm::Millicores, Value::Int(amount)) => json!(format!("{amount}m")),
        (WriteForm::Whole, Value::Int(amount)) => json!(amount.to_string()),
        (_, Value::Bool(truth)) => json!(truth),
        (_, Value::Int(number)) => json!(number),
        (_, Value::Float(number)) => json!(number),
        (_, Value::String(text)) => json!(text.as_str()),
        (_, Value::Time(_) | Value::Cel(_)) => json!(value.to_string()),
        (_, Value::List(items)) => Json::Array(items.iter().filter_map(|item| json_of(item, form)).collect()),
        _ => return None,
    })
}
