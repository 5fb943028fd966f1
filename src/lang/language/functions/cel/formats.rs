//! Kubernetes' named formats of strings. Messages are those of `k8s.io/apimachinery` and `k8s.io/kube-openapi`.

use super::{METHOD, no_overload, of_text, row, url_parser};
use crate::language::functions::{Body, FunctionDef};
use crate::types::value::{Cel, Value};
use crate::types::{CelType, Ty};
use std::sync::Arc;

const FORMAT: Ty = Ty::Cel(CelType::Format);

/// A format: its name, and what is wrong with a string that does not have it.
struct Format {
    name: &'static str,
    check: fn(&str) -> Vec<String>,
}

static FORMATS: [Format; 13] = [
    Format { name: "dns1123Label", check: |text| dns_label(text.as_bytes()) },
    Format { name: "dns1123Subdomain", check: |text| subdomain(text.as_bytes(), "characters") },
    Format { name: "dns1035Label", check: |text| dns1035_label(text.as_bytes()) },
    Format { name: "qualifiedName", check: qualified_name },
    Format { name: "dns1123LabelPrefix", check: |text| dns_label(&without_dash(text)) },
    Format { name: "dns1123SubdomainPrefix", check: |text| subdomain(&without_dash(text), "characters") },
    Format { name: "dns1035LabelPrefix", check: |text| dns1035_label(&without_dash(text)) },
    Format { name: "labelValue", check: label_value },
    Format { name: "uri", check: |text| url_parser::check(text).err().into_iter().collect() },
    Format { name: "uuid", check: |text| unless(is_uuid(text), "does not match the UUID format") },
    Format { name: "byte", check: |text| unless(is_base64(text), "invalid base64") },
    Format { name: "date", check: |text| unless(is_date(text), "invalid date") },
    Format { name: "datetime", check: |text| unless(is_datetime(text), "invalid datetime") },
];

const fn named(name: &'static str, body: Body, doc: &'static str) -> FunctionDef {
    row(name, &[], FORMAT, body, doc, &[("format.named('uuid').value() == format.uuid()", "true")])
}

/// The family's rows.
pub(in super::super) static FUNCTIONS: &[FunctionDef] = &[
    FunctionDef {
        name: "validate",
        params: &[FORMAT, Ty::String],
        names: &["format", "text"],
        result: Ty::CelOptional(&Ty::List(&Ty::String)),
        body: validate,
        doc: "what is wrong with a string that does not have the format; empty if it has it",
        examples: &[("format.dns1123Label().validate('my-name').hasValue()", "false")],
        ..METHOD
    },
    row(
        "format.named",
        &[Ty::String],
        Ty::CelOptional(&FORMAT),
        |args, _| {
            of_text("format.named", args, |text| {
                let found = FORMATS.iter().find(|format| format.name == text);
                Value::Optional(found.map(|found| Arc::new(Value::Cel(Cel::Format(found.name)))))
            })
        },
        "the format of a name, or an empty optional",
        &[("format.named('nope').hasValue()", "false")],
    ),
    named("format.dns1123Label", |_, _| format("dns1123Label"), "the format of a label of RFC 1123"),
    named(
        "format.dns1123Subdomain",
        |_, _| format("dns1123Subdomain"),
        "the format of a subdomain of RFC 1123",
    ),
    named("format.dns1035Label", |_, _| format("dns1035Label"), "the format of a label of RFC 1035"),
    named("format.qualifiedName", |_, _| format("qualifiedName"), "the format of the key of a label"),
    named(
        "format.dns1123LabelPrefix",
        |_, _| format("dns1123LabelPrefix"),
        "the format of the beginning of a label of RFC 1123",
    ),
    named(
        "format.dns1123SubdomainPrefix",
        |_, _| format("dns1123SubdomainPrefix"),
        "the format of the beginning of a subdomain of RFC 1123",
    ),
    named(
        "format.dns1035LabelPrefix",
        |_, _| format("dns1035LabelPrefix"),
        "the format of the beginning of a label of RFC 1035",
    ),
    named("format.labelValue", |_, _| format("labelValue"), "the format of the value of a label"),
    named("format.uri", |_, _| format("uri"), "the format of a URL or an absolute path"),
    named("format.uuid", |_, _| format("uuid"), "the format of a UUID"),
    named("format.byte", |_, _| format("byte"), "the format of base64"),
    named("format.date", |_, _| format("date"), "the format of a date of RFC 3339"),
    named("format.datetime", |_, _| format("datetime"), "the format of a date and time of RFC 3339"),
];

fn format<'a>(name: &'static str) -> Value<'a> {
    Value::Cel(Cel::Format(name))
}

fn validate<'a>(args: &[Value<'a>], _: &crate::language::functions::Prepared) -> Value<'a> {
    let (Some(Value::Cel(Cel::Format(name))), Some(text)) =
        (args.first(), args.get(1).and_then(Value::as_str))
    else {
        return no_overload("validate", args);
    };
    let wrong = FORMATS.iter().find(|format| format.name == *name).map(|format| (format.check)(text));
    match wrong.unwrap_or_default() {
        wrong if wrong.is_empty() => Value::Optional(None),
        wrong => Value::Optional(Some(Arc::new(Value::list(wrong.into_iter().map(Value::text))))),
    }
}

fn unless(fits: bool, wrong: &str) -> Vec<String> {
    if fits { Vec::new() } else { vec![wrong.to_owned()] }
}

// ---- names

const LABEL: &str = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
const KEY: &str = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";

/// A message as apimachinery writes it: what is wanted, examples, and the pattern.
fn wanted(what: &str, examples: &[&str], pattern: &str) -> String {
    let examples: Vec<String> = examples.iter().map(|example| format!("'{example}', ")).collect();
    format!("{what} (e.g. {}regex used for validation is '{pattern}')", examples.join(" or "))
}

/// A message if a text has too many bytes.
fn longest(text: &[u8], most: usize, unit: &str) -> Option<String> {
    (text.len() > most).then(|| format!("must be no more than {most} {unit}"))
}

fn is_lower(byte: u8) -> bool {
    byte.is_ascii_lowercase() || byte.is_ascii_digit()
}

/// Whether a text begins and ends with bytes of some kinds, with other kinds between them.
fn is_name(text: &[u8], first: fn(u8) -> bool, inner: fn(u8) -> bool, last: fn(u8) -> bool) -> bool {
    match text {
        [] => false,
        [only] => first(*only),
        [start, middle @ .., end] => first(*start) && middle.iter().all(|byte| inner(*byte)) && last(*end),
    }
}

fn is_label(text: &[u8]) -> bool {
    is_name(text, is_lower, |byte| is_lower(byte) || byte == b'-', is_lower)
}

fn is_subdomain(text: &[u8]) -> bool {
    text.split(|byte| *byte == b'.').all(is_label)
}

fn dns_label(text: &[u8]) -> Vec<String> {
    let mut wrong: Vec<String> = longest(text, 63, "characters").into_iter().collect();
    if !is_label(text) {
        wrong.push(match is_subdomain(text) {
            true => "must not contain dots".to_owned(),
            false => wanted(
                "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start \
                 and end with an alphanumeric character",
                &["my-name", "123-abc"],
                LABEL,
            ),
        });
    }
    wrong
}

fn subdomain(text: &[u8], unit: &str) -> Vec<String> {
    let mut wrong: Vec<String> = longest(text, 253, unit).into_iter().collect();
    if !is_subdomain(text) {
        wrong.push(wanted(
            "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must \
             start and end with an alphanumeric character",
            &["example.com"],
            &format!("{LABEL}(\\.{LABEL})*"),
        ));
    }
    wrong
}

fn dns1035_label(text: &[u8]) -> Vec<String> {
    let mut wrong: Vec<String> = longest(text, 63, "characters").into_iter().collect();
    if !is_name(text, |byte| byte.is_ascii_lowercase(), |byte| is_lower(byte) || byte == b'-', is_lower) {
        wrong.push(wanted(
            "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic \
             character, and end with an alphanumeric character",
            &["my-name", "abc-123"],
            "[a-z]([-a-z0-9]*[a-z0-9])?",
        ));
    }
    wrong
}

/// A prefix may end with `-`, which stands for the letters to come.
fn without_dash(text: &str) -> Vec<u8> {
    match text.as_bytes() {
        [start @ .., _, b'-'] => [start, b"a"].concat(),
        bytes => bytes.to_vec(),
    }
}

fn is_key(text: &[u8]) -> bool {
    let inner = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    is_name(text, |byte| byte.is_ascii_alphanumeric(), inner, |byte| byte.is_ascii_alphanumeric())
}

fn qualified_name(text: &str) -> Vec<String> {
    let shape = || {
        let what = "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an \
                    alphanumeric character";
        wanted(what, &["MyName", "my.name", "123-abc"], KEY)
    };
    let parts: Vec<&str> = text.split('/').collect();
    let (prefix, name) = match parts.as_slice() {
        [name] => (None, *name),
        [prefix, name] => (Some(*prefix), *name),
        _ => {
            let tail = "with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')";
            return vec![format!("a valid label key {} {tail}", shape())];
        }
    };
    let mut wrong = Vec::new();
    match prefix {
        Some("") => wrong.push("prefix part must be non-empty".to_owned()),
        Some(prefix) => {
            wrong.extend(
                subdomain(prefix.as_bytes(), "bytes").into_iter().map(|why| format!("prefix part {why}")),
            );
        }
        None => {}
    }
    if name.is_empty() {
        wrong.push("name part must be non-empty".to_owned());
    } else if let Some(why) = longest(name.as_bytes(), 63, "bytes") {
        wrong.push(format!("name part {why}"));
    }
    if !is_key(name.as_bytes()) {
        wrong.push(format!("name part {}", shape()));
    }
    wrong
}

fn label_value(text: &str) -> Vec<String> {
    let mut wrong: Vec<String> = longest(text.as_bytes(), 63, "bytes").into_iter().collect();
    if !text.is_empty() && !is_key(text.as_bytes()) {
        wrong.push(wanted(
            "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must \
             start and end with an alphanumeric character",
            &["MyValue", "my_value", "12345"],
            &format!("({KEY})?"),
        ));
    }
    wrong
}

// ---- other formats

/// Hexadecimal digits in groups of 8, 4, 4, 4 and 12; each `-` between them may be missing.
fn is_uuid(text: &str) -> bool {
    let mut rest = text.as_bytes();
    for (at, length) in [8, 4, 4, 4, 12].into_iter().enumerate() {
        if at > 0 {
            rest = rest.strip_prefix(b"-").unwrap_or(rest);
        }
        match rest.split_at_checked(length) {
            Some((digits, behind)) if digits.iter().all(u8::is_ascii_hexdigit) => rest = behind,
            _ => return false,
        }
    }
    rest.is_empty()
}

fn is_base64(text: &str) -> bool {
    let plain = text.strip_suffix("==").or_else(|| text.strip_suffix('=')).unwrap_or(text);
    let digit = |byte: u8| byte.is_ascii_alphanumeric() || b"+/".contains(&byte);
    !plain.is_empty() && text.len().is_multiple_of(4) && plain.bytes().all(digit)
}

/// `YYYY-MM-DD`, a day of the calendar from the year 0 on.
fn is_date(text: &str) -> bool {
    let bytes = text.as_bytes();
    let number = |from: usize, to: usize| {
        let digits = bytes.get(from..to).filter(|digits| digits.iter().all(u8::is_ascii_digit))?;
        Some(digits.iter().fold(0u32, |number, digit| number * 10 + u32::from(digit - b'0')))
    };
    let shape = bytes.len() == 10 && bytes.get(4) == Some(&b'-') && bytes.get(7) == Some(&b'-');
    let (Some(year), Some(month), Some(day)) = (number(0, 4), number(5, 7), number(8, 10)) else {
        return false;
    };
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days = match month {
        2 if leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => 0,
    };
    shape && (1..=days).contains(&day)
}

/// A date, `t`, a time with seconds, and `z` or an offset, in any case. What follows a second `t` does not count, and
/// any character may precede the decimals, as in kube-openapi.
fn is_datetime(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    let mut parts = lower.split('t');
    let (Some(date), Some(time)) = (parts.next(), parts.next()) else { return false };
    let bytes = time.as_bytes();
    let two = |at: usize, most: &[u8]| {
        bytes.get(at..at + 2).is_some_and(|digits| digits.iter().all(u8::is_ascii_digit) && digits <= most)
    };
    let clock = two(0, b"23") && two(3, b"59") && two(6, b"59");
    let colons = bytes.get(2) == Some(&b':') && bytes.get(5) == Some(&b':');
    is_date(date) && clock && colons && time.get(8..).is_some_and(is_end_of_time)
}

/// Decimals or none, and `z` or an offset.
fn is_end_of_time(text: &str) -> bool {
    let zone = |text: &str| {
        let offset = text.strip_prefix(['+', '-']).map(str::as_bytes);
        let digits = |offset: &[u8]| matches!(offset, [a, b, b':', c, d] if [a, b, c, d].iter().all(|d| d.is_ascii_digit()));
        text == "z" || offset.is_some_and(digits)
    };
    let mut behind = text.chars();
    let decimals = behind.next().is_some_and(|first| first != '\n').then_some(behind.as_str());
    let decimals = decimals.filter(|rest| rest.starts_with(|digit: char| digit.is_ascii_digit()));
    zone(text)
        || decimals.is_some_and(|rest| zone(rest.trim_start_matches(|digit: char| digit.is_ascii_digit())))
}
