//! Literals as both languages write them.

use crate::syntax::ast::Literal;
use crate::types::Type;
use crate::types::value::{Constant, Value};

/// A text in double quotes.
pub(super) fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            letter if letter.is_control() => out.push_str(&format!("\\u{:04x}", letter as u32)),
            letter => out.push(letter),
        }
    }
    out.push('"');
    out
}

/// Microseconds, as `90s` or `500ms`.
pub(super) fn duration(microseconds: i64) -> String {
    match microseconds {
        whole if whole % 60_000_000 == 0 && whole != 0 && whole % 3_600_000_000 == 0 => {
            format!("{}h", whole / 3_600_000_000)
        }
        whole if whole % 1_000_000 == 0 => format!("{}s", whole / 1_000_000),
        whole if whole % 1_000 == 0 => format!("{}ms", whole / 1_000),
        part => format!("{}.{:03}ms", part / 1_000, (part % 1_000).abs()),
    }
}

/// Millicores, as `500m` or `2`.
pub(super) fn cpu(millicores: i64) -> String {
    if millicores % 1000 == 0 { (millicores / 1000).to_string() } else { format!("{millicores}m") }
}

/// Bytes with the largest binary suffix that divides them.
pub(super) fn bytes(count: i64) -> String {
    let suffixes = [(1i64 << 40, "Ti"), (1 << 30, "Gi"), (1 << 20, "Mi"), (1 << 10, "Ki")];
    let fits = suffixes.into_iter().find(|(size, _)| count != 0 && count % size == 0);
    fits.map_or_else(|| count.to_string(), |(size, suffix)| format!("{}{suffix}", count / size))
}

fn float(value: f64) -> String {
    format!("{value:?}")
}

fn blob(bytes: &[u8]) -> String {
    let inside: String = bytes.iter().map(|byte| format!("\\x{byte:02x}")).collect();
    format!("b\"{inside}\"")
}

/// A constant amount as a literal of the policy language; `None` for other types.
pub(super) fn amount(value: i64, ty: &Type) -> Option<String> {
    Some(match ty {
        Type::Cpu => in_language(&Literal::Cpu(value)),
        Type::Bytes => in_language(&Literal::Bytes(value)),
        Type::Count => value.to_string(),
        _ => return None,
    })
}

/// A literal of CEL; none for `none`.
pub(super) fn in_cel(literal: &Literal) -> Option<String> {
    Some(match literal {
        Literal::Cpu(value) => format!("quantity(\"{}\")", cpu(*value)),
        Literal::Bytes(value) => format!("quantity(\"{}\")", bytes(*value)),
        Literal::Duration(value) => format!("duration(\"{}\")", duration(*value)),
        Literal::Share(value) => float(*value),
        Literal::None => return None,
        other => in_language(other),
    })
}

/// A literal of the policy language.
pub(super) fn in_language(literal: &Literal) -> String {
    match literal {
        Literal::Bool(value) => value.to_string(),
        Literal::Int(value) => value.to_string(),
        Literal::Uint(value) => format!("{value}u"),
        Literal::Float(value) | Literal::Share(value) => float(*value),
        Literal::Cpu(value) if value % 1000 == 0 => format!("{}cpu", value / 1000),
        Literal::Cpu(value) => format!("{value}m"),
        Literal::Bytes(value) => {
            let text = bytes(*value);
            if text.ends_with('i') { text } else { format!("{text}B") }
        }
        Literal::Duration(value) => duration(*value),
        Literal::String(text) => quoted(text),
        Literal::Blob(bytes) => blob(bytes),
        Literal::Null => "null".to_owned(),
        Literal::None => "none".to_owned(),
    }
}

/// A constant of a type as a literal.
pub(super) fn of_constant(value: &Constant, ty: &Type) -> Option<Literal> {
    Some(match (value, ty) {
        (Value::Bool(value), _) => Literal::Bool(*value),
        (Value::Float(value), _) => Literal::Float(*value),
        (Value::Int(value), Type::Int | Type::Count) => Literal::Int(*value),
        (Value::Int(value), Type::Cpu) => Literal::Cpu(*value),
        (Value::Int(value), Type::Bytes) => Literal::Bytes(*value),
        (Value::Int(value), Type::Duration) => Literal::Duration(*value),
        (text, Type::String) => Literal::String(text.as_str()?.into()),
        _ => return None,
    })
}

/// A literal as a value of YAML, and the type that it needs beside it.
pub(super) fn as_value(literal: &Literal) -> Option<(serde_json::Value, Option<&'static str>)> {
    use serde_json::json;
    Some(match literal {
        Literal::Bool(value) => (json!(value), None),
        Literal::Int(value) => (json!(value), None),
        Literal::Float(value) => (json!(value), None),
        Literal::Share(value) => (json!(value), Some("float")),
        Literal::String(text) => (json!(&**text), None),
        Literal::Duration(value) => (json!(duration(*value)), Some("duration")),
        Literal::Cpu(_) => (json!(in_language(literal)), Some("cpu")),
        Literal::Bytes(_) => (json!(in_language(literal)), Some("bytes")),
        Literal::Uint(_) | Literal::Blob(_) | Literal::Null | Literal::None => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::syntax::literal::with_unit;

    #[test]
    fn amounts_are_read_as_they_were_written() {
        for text in ["90s", "2h", "1500ms", "500m", "2cpu", "4Gi", "100B", "3000B", "-5s", "1Ti", "0s"] {
            let literal = with_unit(text).and_then(Result::ok);
            let again = literal.as_ref().map(in_language).and_then(|text| with_unit(&text)?.ok());
            assert_eq!(literal, again, "{text}");
            let value =
                literal.as_ref().and_then(as_value).and_then(|(value, _)| with_unit(value.as_str()?)?.ok());
            assert_eq!(literal, value, "{text}");
        }
    }

    #[test]
    fn quoted_texts_are_literals() {
        assert_eq!(quoted("a\"b\\\n\u{1}é"), "\"a\\\"b\\\\\\n\\u0001é\"");
        assert_eq!(blob(b"a\xff"), "b\"\\x61\\xff\"");
    }
}
