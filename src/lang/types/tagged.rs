//! Values of memos as JSON with their types, for files that another process reads, and back.

use super::Type;
use super::value::{Constant, Value};
use bayplan_model::Time;
use serde_json::{Value as Json, json};

/// A value as JSON: texts and truth values as they are, all others under the name of their type. `None` for a value that
/// has no such form.
pub fn to_tagged(value: &Value<'_>) -> Option<Json> {
    let all = |items: &[Value<'_>]| items.iter().map(to_tagged).collect::<Option<Vec<Json>>>();
    Some(match value {
        Value::Absent => Json::Null,
        Value::Null => json!({"null": true}),
        Value::Bool(truth) => json!(truth),
        Value::Int(number) => json!({"int": number}),
        Value::Uint(number) => json!({"uint": number}),
        Value::Float(number) => json!({"float": number}),
        Value::Time(time) => json!({"time": time.to_rfc3339_exactly()}),
        Value::String(text) => json!(text.as_str()),
        Value::List(items) => json!({"list": all(items)?}),
        Value::Record(fields) => json!({"record": all(fields)?}),
        Value::Map(entries) => {
            let entries = entries.iter().map(|(key, value)| Some([to_tagged(key)?, to_tagged(value)?]));
            json!({"map": entries.collect::<Option<Vec<_>>>()?})
        }
        _ => return None,
    })
}

/// The value of this type that such JSON is; `None` for any other.
pub fn of_tagged(json: &Json, ty: &Type) -> Option<Constant> {
    of_nested(json, 0).filter(|value| fits(value, ty))
}

/// Whether a value is one of the type, of those that have a form as JSON.
fn fits(value: &Constant, ty: &Type) -> bool {
    match (ty, value) {
        (Type::Optional(inner), value) => value.is_absent() || fits(value, inner),
        (Type::Bool, Value::Bool(_))
        | (Type::Uint, Value::Uint(_))
        | (Type::Float, Value::Float(_))
        | (
            Type::Int | Type::Cpu | Type::Bytes | Type::Duration | Type::Count | Type::Amount(_),
            Value::Int(_),
        )
        | (Type::String, Value::String(_))
        | (Type::Time, Value::Time(_))
        | (Type::Null, Value::Null) => true,
        (Type::List(of) | Type::Set(of), Value::List(items)) => items.iter().all(|item| fits(item, of)),
        (Type::Map(key, of), Value::Map(entries)) => entries.iter().all(|(k, v)| fits(k, key) && fits(v, of)),
        (Type::Record(record), Value::Record(fields)) => {
            record.fields.len() == fields.len()
                && record.fields.iter().zip(fields.iter()).all(|((_, ty), value)| fits(value, ty))
        }
        _ => false,
    }
}

/// Deeper values are none of a memo.
const DEEPEST: usize = 16;

fn of_nested(json: &Json, depth: usize) -> Option<Constant> {
    if depth > DEEPEST {
        return None;
    }
    let all = |items: &Json| -> Option<Vec<Constant>> {
        items.as_array()?.iter().map(|item| of_nested(item, depth + 1)).collect()
    };
    let (tag, value) = match json {
        Json::Null => return Some(Value::Absent),
        Json::Bool(truth) => return Some(Value::Bool(*truth)),
        Json::String(text) => return Some(Value::text(text.as_str())),
        Json::Object(fields) if fields.len() == 1 => fields.iter().next()?,
        _ => return None,
    };
    Some(match tag.as_str() {
        "null" => Value::Null,
        "int" => Value::Int(value.as_i64()?),
        "uint" => Value::Uint(value.as_u64()?),
        "float" => Value::Float(value.as_f64().filter(|number| number.is_finite())?),
        "time" => Value::Time(Time::parse(value.as_str()?)?),
        "list" => Value::List(all(value)?.into()),
        "record" => Value::Record(all(value)?.into()),
        "map" => {
            let pair = |pair: &Json| -> Option<(Constant, Constant)> {
                match &all(pair)?[..] {
                    [key, value] => Some((key.clone(), value.clone())),
                    _ => None,
                }
            };
            Value::map(value.as_array()?.iter().map(pair).collect::<Option<Vec<_>>>()?)
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::value::Ordered;
    use std::sync::Arc;

    #[test]
    fn a_value_comes_back_as_it_was_and_only_in_its_type() {
        let of = |ty: Type| Arc::new(ty);
        let text = Value::text("\u{202e}\n");
        for (value, ty) in [
            (Value::Absent, Type::Optional(of(Type::Int))),
            (Value::Null, Type::Null),
            (Value::Bool(true), Type::Bool),
            (Value::Int(i64::MIN), Type::Bytes),
            (Value::Uint(u64::MAX), Type::Uint),
            (Value::Float(0.1), Type::Float),
            (Value::Time(Time(1_700_000_000_000_001)), Type::Time),
            (text.clone(), Type::String),
            (Value::list([Value::Int(1)]), Type::List(of(Type::Int))),
            (Value::map([(text.clone(), Value::Uint(1))]), Type::Map(of(Type::String), of(Type::Uint))),
        ] {
            let json = to_tagged(&value).unwrap();
            let read: Json = serde_json::from_str(&json.to_string()).unwrap();
            let back = of_tagged(&read, &ty).unwrap();
            assert!(Ordered(back) == Ordered(value), "{json}");
            assert!(of_tagged(&read, &Type::Resources).is_none() && of_tagged(&read, &Type::Blob).is_none());
        }
        assert!(of_tagged(&json!({"int": 1}), &Type::String).is_none());
        assert!(of_tagged(&json!({"list": [{"int": 1}]}), &Type::List(of(Type::String))).is_none());
    }

    #[test]
    fn other_json_is_no_value() {
        let mut deep = json!({"list": []});
        (0..100).for_each(|_| deep = json!({"list": [deep.take()]}));
        for json in [
            json!(1),
            json!([]),
            json!({}),
            json!({"int": 1.5}),
            json!({"int": "1"}),
            json!({"map": [[1]]}),
            deep,
        ] {
            assert!(of_nested(&json, 0).is_none());
        }
    }
}
