//! Arguments of params that are not of the type of the param, and what was probably meant: `"50"` for `50%`, `red` for a
//! list with one name. Every suggestion is read by `arguments::of_yaml` before it is made.

use super::arguments::of_yaml;
use super::meant::texts_meant;
use crate::language::functions::Conversion;
use crate::types::Type;
use serde_json::Value as Json;

/// What to write in the place of an argument; empty where nothing is near. `share`: the param is written in percent.
pub(super) fn help(name: &str, given: &Json, ty: &Type, share: bool) -> String {
    let meant = corrected(given, ty, share);
    let written: Vec<String> = meant.iter().map(|meant| format!("`{}`", in_yaml(meant))).collect();
    match (ty.present(), given) {
        _ if written.is_empty() => match ty.present() {
            Type::List(_) | Type::Set(_) if !given.is_array() => format!("`{name}` is a list: `[…]`"),
            Type::Map(..) | Type::Record(_) | Type::Resources if !given.is_object() => {
                format!("`{name}` is a map: `{{key: value}}`")
            }
            _ => String::new(),
        },
        (Type::List(_) | Type::Set(_), given) if !given.is_array() => {
            format!("`{name}` is a list: {}", written.join(" or "))
        }
        _ => format!("did you mean {}?", written.join(" or ")),
    }
}

/// What kind of value was given.
pub(super) fn kind(given: &Json) -> &'static str {
    match given {
        Json::Null => "nothing",
        Json::Bool(_) => "a boolean",
        Json::Number(_) => "a number",
        Json::String(_) => "a text",
        Json::Array(_) => "a list",
        Json::Object(_) => "a map",
    }
}

/// A value as YAML has it: amounts need no quotes there.
fn in_yaml(value: &Json) -> String {
    match value {
        Json::String(text) if text.starts_with(|c: char| c.is_ascii_digit()) && !is_number(text) => {
            text.clone()
        }
        other => other.to_string(),
    }
}

fn is_number(text: &str) -> bool {
    text.parse::<f64>().is_ok()
}

/// The values of a type that a value is probably meant to be.
fn corrected(given: &Json, ty: &Type, share: bool) -> Vec<Json> {
    if of_yaml(given, ty).is_ok() {
        return vec![given.clone()];
    }
    let mut made = match (ty.present(), given) {
        (Type::List(of) | Type::Set(of), Json::Array(items)) => {
            each(items.iter().map(|item| corrected(item, of, share)))
        }
        (Type::List(of) | Type::Set(of), Json::String(text)) if text.contains(',') => {
            let parts = text.split(',').map(|part| Json::from(part.trim()));
            each(parts.map(|part| corrected(&part, of, share)))
        }
        (Type::List(of) | Type::Set(of), Json::Bool(_) | Json::Number(_) | Json::String(_)) => {
            corrected(given, of, share).into_iter().map(|one| Json::Array(vec![one])).collect()
        }
        (Type::Int | Type::Count | Type::Uint, Json::String(text)) => {
            text.trim().parse::<i64>().map(Json::from).into_iter().collect()
        }
        (Type::Float, Json::String(text)) => float(text, share),
        (Type::Bool, Json::String(text)) => match text.to_ascii_lowercase().as_str() {
            "true" | "yes" | "on" => vec![Json::Bool(true)],
            "false" | "no" | "off" => vec![Json::Bool(false)],
            _ => Vec::new(),
        },
        (Type::String, Json::Bool(_) | Json::Number(_)) => vec![Json::String(given.to_string())],
        (Type::Cpu | Type::Bytes, Json::String(text)) => texts(texts_meant(Conversion::Quantity, text)),
        (Type::Duration, Json::String(text)) => {
            // Minutes are `min`, since `m` is millicores.
            let minutes = |meant: String| if meant.ends_with('m') { format!("{meant}in") } else { meant };
            texts(texts_meant(Conversion::Duration, text).into_iter().map(minutes).collect())
        }
        (Type::Time, Json::String(text)) => texts(texts_meant(Conversion::Time, text)),
        _ => Vec::new(),
    };
    made.retain(|made| of_yaml(made, ty).is_ok());
    made
}

/// A number in quotes. Where the param is a share, more than 1 is in percent.
fn float(text: &str, share: bool) -> Vec<Json> {
    let bare = text.trim().trim_end_matches('%').trim_end();
    let Some(number) = bare.parse::<f64>().ok().filter(|number| number.is_finite()) else {
        return Vec::new();
    };
    if bare.len() < text.trim().len() || share && number > 1.0 {
        return vec![Json::String(format!("{bare}%"))];
    }
    serde_json::from_str(bare).into_iter().collect()
}

fn texts(texts: Vec<String>) -> Vec<Json> {
    texts.into_iter().map(Json::String).collect()
}

/// A list of values, where each of them has one correction.
fn each(items: impl Iterator<Item = Vec<Json>>) -> Vec<Json> {
    let one = |found: Vec<Json>| <[Json; 1]>::try_from(found).ok().map(|[one]| one);
    items.map(one).collect::<Option<Vec<Json>>>().map(Json::Array).into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_suggested_is_of_the_type() {
        let texts = Type::String.list();
        for (given, ty, share, said) in [
            (json!("50"), Type::Float, true, "did you mean `50%`?"),
            (json!("0.5"), Type::Float, true, "did you mean `0.5`?"),
            (json!("50"), Type::Float, false, "did you mean `50`?"),
            (json!("half"), Type::Float, true, ""),
            (json!("red"), texts.clone(), false, "`p` is a list: `[\"red\"]`"),
            (json!("red, blue"), texts.clone(), false, "`p` is a list: `[\"red\",\"blue\"]`"),
            (json!(["red", 1]), texts.clone(), false, "did you mean `[\"red\",\"1\"]`?"),
            (json!({"a": 1}), texts, false, "`p` is a list: `[…]`"),
            (json!("3"), Type::Int.list(), false, "`p` is a list: `[3]`"),
            (json!("3"), Type::Int, false, "did you mean `3`?"),
            (json!("three"), Type::Int, false, ""),
            (json!(3), Type::String, false, "did you mean `\"3\"`?"),
            (json!("yes"), Type::Bool, false, "did you mean `true`?"),
            (json!("4 GB"), Type::Bytes, false, "did you mean `4G` or `4Gi`?"),
            (json!("4 GiB"), Type::Bytes, false, "did you mean `4Gi`?"),
            (json!("2 cores"), Type::Cpu, false, "did you mean `\"2\"`?"),
            (json!("5 minutes"), Type::Duration, false, "did you mean `5min`?"),
            (json!("soon"), Type::Duration, false, ""),
            (json!("2026-01-01"), Type::Time, false, "did you mean `2026-01-01T00:00:00Z`?"),
            (
                json!("red"),
                Type::Map(Type::String.into(), Type::Int.into()),
                false,
                "`p` is a map: `{key: value}`",
            ),
        ] {
            assert_eq!(help("p", &given, &ty, share), said, "{given} {ty}");
        }
    }
}
