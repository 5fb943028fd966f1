//! `format`: a string whose verbs are replaced by the values of a list. Kubernetes has the second version of cel-go's
//! string functions, which writes numbers for people.

use super::conversions::text_of;
use super::{METHOD, refused, type_name};
use crate::language::functions::format::{fixed as grouped, hex, scientific as superscript};
use crate::language::functions::strings::quoted_for_print;
use crate::language::functions::{Absence, FunctionDef, Grows};
use crate::types::Ty;
use crate::types::value::{Cel, Value};
use std::fmt::Write;

/// The family's rows.
pub(in super::super) static FUNCTIONS: &[FunctionDef] = &[FunctionDef {
    name: "format",
    params: &[Ty::String, Ty::List(&Ty::Dyn)],
    names: &["text", "values"],
    result: Ty::String,
    absent: Absence::Maybe,
    grows: Grows::Formats,
    body: |args, _| formatted(args),
    doc: "the string with the values of the list in place of its verbs, in order: `%s` (any value), `%d` (int), \
          `%f` and `%.2f` (double), `%e` (scientific notation), `%b` (binary), `%o` (octal), `%x` and `%X` \
          (hexadecimal); `%%` is a percent sign; an error if a value is missing or has another type",
    examples: &[
        ("'%s is %d'.format(['x', 3])", "'x is 3'"),
        ("'%.1f%%'.format([12345.678])", "'12,345.7%'"),
        ("'%x %b %o'.format([255, 5, 8])", "'ff 101 10'"),
    ],
    ..METHOD
}];

/// Digits after the point that a float can have; those after them are zeros.
const DIGITS: usize = 1100;
/// The largest precision that Go takes.
const MOST_DIGITS: usize = 1_000_000;
/// Lists within each other that are written.
const DEEPEST: usize = 200;

fn formatted<'a>(args: &[Value<'a>]) -> Value<'a> {
    let (Some(text), Some(values)) =
        (args.first().and_then(Value::as_str), args.get(1).and_then(Value::elements))
    else {
        return super::no_overload("format", args);
    };
    match replaced(text, &values) {
        Ok(text) => Value::text(text),
        Err(why) => refused(why),
    }
}

fn replaced(text: &str, values: &[Value<'_>]) -> Result<String, String> {
    let mut out = String::with_capacity(text.len());
    let mut values = values.iter();
    let mut rest = text;
    while let Some((plain, behind)) = rest.split_once('%') {
        out.push_str(plain);
        if let Some(behind) = behind.strip_prefix('%') {
            out.push('%');
            rest = behind;
            continue;
        }
        let value = values.next().ok_or("there are more verbs than values")?;
        let (digits, behind) = precision(behind)?;
        let mut letters = behind.chars();
        let verb = letters.next().ok_or("the string ends after a `%`")?;
        write_value(verb, digits, value, &mut out)?;
        rest = letters.as_str();
    }
    out.push_str(rest);
    Ok(out)
}

/// `.3` before a verb.
fn precision(text: &str) -> Result<(Option<usize>, &str), String> {
    let Some(behind) = text.strip_prefix('.') else { return Ok((None, text)) };
    let length = behind.bytes().take_while(u8::is_ascii_digit).count();
    let (digits, rest) = behind.split_at_checked(length).unwrap_or((behind, ""));
    let digits: usize = digits.parse().map_err(|_| "`%.` needs a number after the point".to_owned())?;
    if digits > MOST_DIGITS {
        return Err(format!("`%.{digits}` has more than {MOST_DIGITS} digits"));
    }
    Ok((Some(digits), rest))
}

fn write_value(verb: char, digits: Option<usize>, value: &Value<'_>, out: &mut String) -> Result<(), String> {
    let digits = digits.unwrap_or(6);
    let unfit = || format!("`%{verb}` does not take a {}", type_name(value).unwrap_or("value of this type"));
    let written = match (verb, value) {
        ('s', value) => shown(value, DEEPEST)?,
        ('d', Value::Int(x)) => x.to_string(),
        ('d', Value::Uint(x)) => x.to_string(),
        ('f' | 'e', value) => float(verb, digits, value).ok_or_else(unfit)?,
        ('b', Value::Bool(truth)) => u8::from(*truth).to_string(),
        ('b', value) => radix(value, |bits| format!("{bits:b}")).ok_or_else(unfit)?,
        ('o', value) => radix(value, |bits| format!("{bits:o}")).ok_or_else(unfit)?,
        ('x' | 'X', Value::Blob(bytes)) => hex(bytes, verb == 'X'),
        ('x' | 'X', value) if value.as_str().is_some() => {
            hex(value.as_str().unwrap_or("").as_bytes(), verb == 'X')
        }
        ('x', value) => radix(value, |bits| format!("{bits:x}")).ok_or_else(unfit)?,
        ('X', value) => radix(value, |bits| format!("{bits:X}")).ok_or_else(unfit)?,
        ('d', _) => return Err(unfit()),
        _ => return Err(format!("`%{verb}` is not a verb")),
    };
    out.push_str(&written);
    Ok(())
}

/// A whole number with its sign, the size written by `write`.
fn radix(value: &Value<'_>, write: fn(u64) -> String) -> Option<String> {
    match value {
        Value::Int(x) => Some(format!("{}{}", if *x < 0 { "-" } else { "" }, write(x.unsigned_abs()))),
        Value::Uint(x) => Some(write(*x)),
        _ => None,
    }
}

/// `%f` and `%e`; `None` for values that they do not take.
fn float(verb: char, digits: usize, value: &Value<'_>) -> Option<String> {
    let x = match value {
        Value::Float(x) => *x,
        value => match value.as_str()? {
            "NaN" => f64::NAN,
            "Infinity" => f64::INFINITY,
            "-Infinity" => f64::NEG_INFINITY,
            _ => return None,
        },
    };
    Some(match x {
        _ if x.is_nan() => padded("NaN", verb, digits),
        _ if x.is_infinite() => padded(if x > 0.0 { "∞" } else { "-∞" }, verb, digits),
        _ if verb == 'e' => superscript(x, digits),
        _ => grouped_at_least(x, digits),
    })
}

/// Kubernetes' version keeps the number of zeros in 8 bits: above 255, zeros at the end are cut off and counted again.
fn grouped_at_least(x: f64, digits: usize) -> String {
    let text = grouped(x, digits.min(DIGITS));
    if digits < 256 {
        return text;
    }
    let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
    let fraction = format!("{:0<least$}", fraction.trim_end_matches('0'), least = digits % 256);
    if fraction.is_empty() { whole.to_owned() } else { format!("{whole}.{fraction}") }
}

/// The number of `%.Ne` is a width in Kubernetes' version.
fn padded(text: &str, verb: char, width: usize) -> String {
    let missing = if verb == 'e' { width.saturating_sub(text.chars().count()) } else { 0 };
    format!("{}{text}", " ".repeat(missing))
}

/// A value as `%s` writes it.
fn shown(value: &Value<'_>, depth: usize) -> Result<String, String> {
    if value.elements().is_some() || value.entries().is_some() {
        return collection(value, depth);
    }
    match value {
        Value::Null => Ok("null".to_owned()),
        Value::TypeName(name) => Ok(name.as_str().to_owned()),
        value => match text_of(value) {
            Some(Ok(text)) => Ok(text),
            Some(Err(_)) => Err("the bytes are not valid UTF-8".to_owned()),
            None => Err(format!("`%s` does not take a {}", type_name(value).unwrap_or("value of this type"))),
        },
    }
}

/// A value inside of a list or map: as a literal.
fn inside(value: &Value<'_>, depth: usize) -> Result<String, String> {
    Ok(match value {
        Value::Float(x) if x.is_nan() => "\"NaN\"".to_owned(),
        Value::Float(x) if x.is_infinite() => if *x > 0.0 { "\"+Inf\"" } else { "\"-Inf\"" }.to_owned(),
        Value::Float(x) => format!("{x:.6}"),
        Value::Cel(Cel::Duration(_)) => format!("duration(\"{}\")", shown(value, depth)?),
        Value::Cel(Cel::Instant(_)) => format!("timestamp(\"{}\")", shown(value, depth)?),
        Value::Blob(_) => format!("b{}", quoted_for_print(&shown(value, depth)?)),
        value if value.as_str().is_some() => quoted_for_print(value.as_str().unwrap_or("")),
        value => shown(value, depth)?,
    })
}

/// Whether the formatter knows how to write a key.
fn is_map_key(key: &Value<'_>) -> bool {
    matches!(key, Value::Bool(_) | Value::Int(_) | Value::Uint(_)) || key.as_str().is_some()
}

fn collection(value: &Value<'_>, depth: usize) -> Result<String, String> {
    let depth = depth.checked_sub(1).ok_or("the list has too many lists within each other")?;
    if let Some(items) = value.elements() {
        let items: Result<Vec<String>, String> = items.iter().map(|item| inside(item, depth)).collect();
        return Ok(format!("[{}]", items?.join(", ")));
    }
    let mut pairs = Vec::new();
    for (key, value) in value.entries().unwrap_or_default().iter() {
        if !is_map_key(key) {
            let of = type_name(key).unwrap_or("this type");
            return Err(format!("`%s` does not take a map with a key of type {of}"));
        }
        pairs.push((inside(key, depth)?, inside(value, depth)?));
    }
    // By the key as text: 10 comes before 2.
    pairs.sort_by(|a, b| a.0.cmp(&b.0));
    let mut text = String::from("{");
    for (at, (key, value)) in pairs.iter().enumerate() {
        let _ = write!(text, "{}{key}:{value}", if at > 0 { ", " } else { "" });
    }
    text.push('}');
    Ok(text)
}
