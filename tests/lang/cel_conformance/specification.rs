//! The tests of cel-spec that the CEL of Kubernetes shares.

use super::run::run;
use super::tally::{Outcome, Tally, fault, said, same};
use bayplan::lang::cel::{Environment, compile};
use bayplan::lang::eval::tagged::tagged;
use bayplan::lang::types::Type;
use bayplan::lang::types::cel::{Cel, CelType, Instant};
use bayplan::lang::types::value::Value;
use serde_json::{Value as Json, json};
use std::sync::Arc;

/// A table of the files, in their order.
pub(super) fn compare(tests: &[Json]) -> Vec<Tally> {
    let mut tallies: Vec<(String, Tally)> = Vec::new();
    for test in tests {
        let file = test["file"].as_str().unwrap();
        if tallies.last().is_none_or(|(last, _)| last != file) {
            tallies.push((file.to_owned(), Tally::new(file)));
        }
        let expression = text(&test["expr"][0]);
        let name = format!("{file}/{}: {expression}", test["name"][0].as_str().unwrap_or(""));
        tallies.last_mut().unwrap().1.add(&name, outcome(test, &expression));
    }
    tallies.into_iter().map(|(_, tally)| tally).collect()
}

fn outcome(test: &Json, expression: &str) -> Outcome {
    let (environment, values) = environment(test);
    let program = match compile(expression, &environment) {
        Ok(program) => program,
        // Without a checker the parser alone can refuse.
        Err(_) if test.get("eval_error").is_some() => return Outcome::Passed,
        Err(errors) => return Outcome::Failed(format!("is refused: {}", said(&errors))),
    };
    let typed = test.get("typed_result").map(|typed| &typed[0]);
    let deduced = typed.and_then(|typed| typed.get("deduced_type")).map(|ty| type_name(&ty[0]));
    if let Some(wanted) = deduced
        && wanted != program.type_name()
    {
        return Outcome::Failed(format!("has type {}; wanted: {wanted}", program.type_name()));
    }
    if test.get("check_only").is_some() {
        return Outcome::Passed;
    }
    let value = run(&program, &values);
    let result = typed.and_then(|typed| typed.get("result")).or(test.get("value"));
    let wanted = match (test.get("eval_error"), result) {
        (Some(_), _) => {
            return match fault(&value) {
                Some(_) => Outcome::Passed,
                None => Outcome::Failed(format!("is {}; wanted: {}", tagged(&value), test["eval_error"][0])),
            };
        }
        (None, Some(result)) => recorded(&result[0]),
        // A test that says nothing wants true.
        (None, None) => json!({"bool": true}),
    };
    match fault(&value) {
        Some(why) => Outcome::Failed(format!("stops: {why}; wanted: {wanted}")),
        None if same(&tagged(&value), &wanted) => Outcome::Passed,
        None => Outcome::Failed(format!("is {}; wanted: {wanted}", tagged(&value))),
    }
}

/// The environment of a test, and the values of its variables.
fn environment(test: &Json) -> (Environment, Vec<Value<'static>>) {
    let list = |key: &str| test.get(key).and_then(Json::as_array).cloned().unwrap_or_default();
    let mut variables: Vec<(String, Type)> = list("type_env")
        .iter()
        .filter(|declared| declared.get("ident").is_some())
        .map(|declared| (text(&declared["name"][0]), ty(&declared["ident"][0]["type"][0])))
        .collect();
    let bindings: Vec<(String, Value<'static>)> = list("bindings")
        .iter()
        .map(|binding| (text(&binding["key"][0]), value(&binding["value"][0]["value"][0])))
        .collect();
    for (name, _) in &bindings {
        if !variables.iter().any(|(known, _)| known == name) {
            variables.push((name.clone(), Type::Dyn));
        }
    }
    let values = variables.iter().map(|(name, _)| {
        let bound = bindings.iter().find(|(bound, _)| bound == name);
        bound.map_or_else(|| Value::Absent, |(_, value)| value.clone())
    });
    let values = values.collect();
    let types = variables.iter().map(|(name, ty)| (name.as_str(), ty.clone()));
    (Environment::kubernetes(types), values)
}

/// A text of the file: bytes that are no UTF-8 stand in hexadecimal digits.
fn text(json: &Json) -> String {
    match json.as_str() {
        Some(text) => text.to_owned(),
        None => String::from_utf8_lossy(&bytes(json)).into_owned(),
    }
}

fn bytes(json: &Json) -> Vec<u8> {
    match json.get("$bytes_hex").and_then(Json::as_str) {
        Some(digits) => {
            let pairs = digits.as_bytes().chunks(2);
            pairs.map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
        }
        None => json.as_str().unwrap().as_bytes().to_vec(),
    }
}

/// A value of the text format as the recorded verdicts have it.
fn recorded(json: &Json) -> Json {
    let (kind, held) = json.as_object().unwrap().iter().next().unwrap();
    let of = &held[0];
    match kind.as_str() {
        "int64_value" => json!({"int": text(of)}),
        "uint64_value" => json!({"uint": text(of)}),
        "double_value" => json!({"double": text(of)}),
        "string_value" => json!({"string": text(of)}),
        "bytes_value" => {
            let digits: String = bytes(of).iter().map(|byte| format!("{byte:02x}")).collect();
            json!({"bytes": digits})
        }
        "bool_value" => json!({"bool": text(of) == "true"}),
        "null_value" => json!({"null": true}),
        "type_value" => json!({"type": text(of)}),
        "list_value" => {
            let items = of.get("values").and_then(Json::as_array).cloned().unwrap_or_default();
            json!({"list": items.iter().map(recorded).collect::<Vec<_>>()})
        }
        "map_value" => {
            let entries = of.get("entries").and_then(Json::as_array).cloned().unwrap_or_default();
            let pair = |entry: &Json| json!([recorded(&entry["key"][0]), recorded(&entry["value"][0])]);
            json!({"map": entries.iter().map(pair).collect::<Vec<_>>()})
        }
        "object_value" => tagged(&object(of)),
        other => panic!("{other}"),
    }
}

/// A duration or a timestamp.
fn object(json: &Json) -> Value<'static> {
    let (name, of) = json.as_object().unwrap().iter().next().unwrap();
    let number = |key: &str| of[0].get(key).map_or(0, |number| text(&number[0]).parse::<i64>().unwrap());
    let (seconds, nanoseconds) = (number("seconds"), number("nanos"));
    let value = match name.rsplit('.').next().unwrap().trim_end_matches(']') {
        "Duration" => Cel::Duration(seconds * 1_000_000_000 + nanoseconds),
        "Timestamp" => Cel::Instant(Arc::new(Instant::utc(seconds, nanoseconds as u32))),
        other => panic!("{other}"),
    };
    Value::Cel(value)
}

/// The value of a variable.
fn value(json: &Json) -> Value<'static> {
    let (kind, held) = json.as_object().unwrap().iter().next().unwrap();
    let of = &held[0];
    match kind.as_str() {
        "int64_value" => Value::Int(text(of).parse().unwrap()),
        "uint64_value" => Value::Uint(text(of).parse().unwrap()),
        "double_value" => Value::Float(text(of).parse().unwrap()),
        "string_value" => Value::text(text(of)),
        "bytes_value" => Value::Blob(Arc::from(bytes(of))),
        "bool_value" => Value::Bool(text(of) == "true"),
        "null_value" => Value::Null,
        "list_value" => Value::list(of["values"].as_array().unwrap().iter().map(value)),
        "map_value" => {
            let entries = of["entries"].as_array().unwrap();
            Value::map(entries.iter().map(|entry| (value(&entry["key"][0]), value(&entry["value"][0]))))
        }
        "object_value" => object(of),
        other => panic!("{other}"),
    }
}

/// A declared type.
fn ty(json: &Json) -> Type {
    let (kind, held) = json.as_object().unwrap().iter().next().unwrap();
    let of = &held[0];
    match kind.as_str() {
        "primitive" => match text(of).as_str() {
            "BOOL" => Type::Bool,
            "INT64" => Type::Int,
            "UINT64" => Type::Uint,
            "DOUBLE" => Type::Float,
            "STRING" => Type::String,
            "BYTES" => Type::Blob,
            other => panic!("{other}"),
        },
        "list_type" => Type::List(Arc::new(ty(&of["elem_type"][0]))),
        "map_type" => Type::Map(Arc::new(ty(&of["key_type"][0])), Arc::new(ty(&of["value_type"][0]))),
        "null" => Type::Null,
        "dyn" => Type::Dyn,
        "message_type" if text(of) == "google.protobuf.Duration" => Type::Cel(CelType::Duration),
        other => panic!("{other}"),
    }
}

/// The name of a type in the words of cel-go.
fn type_name(json: &Json) -> String {
    let (kind, held) = json.as_object().unwrap().iter().next().unwrap();
    let of = &held[0];
    let primitive = |name: &str| name.to_lowercase().replace("64", "");
    match kind.as_str() {
        "primitive" => primitive(&text(of)),
        "wrapper" => format!("wrapper({})", primitive(&text(of))),
        "null" => "null_type".to_owned(),
        "dyn" => "dyn".to_owned(),
        "list_type" => format!("list({})", type_name(&of["elem_type"][0])),
        "map_type" => {
            format!("map({}, {})", type_name(&of["key_type"][0]), type_name(&of["value_type"][0]))
        }
        "abstract_type" => {
            let parameters: Vec<String> =
                of["parameter_types"].as_array().unwrap().iter().map(type_name).collect();
            format!("{}({})", text(&of["name"][0]), parameters.join(", "))
        }
        "well_known" => match text(of).as_str() {
            "DURATION" => "google.protobuf.Duration".to_owned(),
            "TIMESTAMP" => "google.protobuf.Timestamp".to_owned(),
            other => other.to_lowercase(),
        },
        "message_type" => text(of),
        other => panic!("{other}"),
    }
}
