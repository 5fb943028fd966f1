//! Values of memos as JSON with their types, for files that another process reads, and back.

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

/// The value of such JSON; `None` for any other.
pub fn of_tagged(json: &Json) -> Option<Constant> {
    of_nested(json, 0)
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

    #[test]
    fn a_value_comes_back_as_it_was() {
        let text = Value::text("\u{202e}\n");
        for value in [
            Value::Absent,
            Value::Null,
            Value::Bool(true),
            Value::Int(i64::MIN),
            Value::Uint(u64::MAX),
            Value::Float(0.1),
            Value::Time(Time(1_700_000_000_000_001)),
            text.clone(),
            Value::list([Value::Int(1), text.clone()]),
            Value::Record(vec![Value::Absent, Value::Bool(false)].into()),
            Value::map([(text.clone(), Value::Uint(1)), (Value::text("a"), Value::Float(2.0))]),
        ] {
            let json = to_tagged(&value).unwrap();
            let read: Json = serde_json::from_str(&json.to_string()).unwrap();
            let back = of_tagged(&read).unwrap();
            assert!(Ordered(back) == Ordered(value), "{json}");
        }
    }

    #[test]
    fn other_json_is_no_value() {
        let mut deep = json!({"list": []});
        (0..1_000).for_each(|_| deep = json!({"list": [deep.take()]}));
        let others = [
            json!(1),
            json!([]),
            json!({}),
            json!({"int": 1.5}),
            json!({"int": "1"}),
            json!({"map": [[1]]}),
            deep,
        ];
        for json in others {
            assert!(of_tagged(&json).is_none());
        }
    }
}
