//! Strings: CEL's string functions but those with patterns, for both languages. Indexes count code points.

use super::notation::text;
use super::{Absence, Dialects, FunctionDef, Grows, Influence, LooksFor, Prepared};
use crate::types::Ty;
use crate::types::range::Range;
use crate::types::value::{FaultKind, Value};
use std::fmt::Write;
use std::sync::LazyLock;

const BASE: FunctionDef = FunctionDef { method: true, dialects: Dialects::ALL, ..FunctionDef::BASE };
const S: Ty = Ty::String;

/// The size of the largest text. Texts of files may be longer; numbers about them stop here.
const LONGEST: i64 = 1 << 20;

/// The size of a text in the policy language, as a method.
const SIZE: FunctionDef = FunctionDef {
    name: "size",
    dialects: Dialects::POLICY,
    influence: &[Influence::Raises],
    counts_elements: true,
    params: &[S],
    names: &["text"],
    result: Ty::Int,
    range: Some(|_| Range::whole(0, LONGEST as i128)),
    body: length,
    doc: "the number of Unicode code points",
    examples: &[("\"äb\".size()", "2")],
    ..BASE
};

/// The family's rows.
pub(crate) static FUNCTIONS: &[FunctionDef] = &[
    SIZE,
    FunctionDef { method: false, examples: &[("size(\"abc\")", "3")], ..SIZE },
    FunctionDef {
        name: "contains",
        params: &[S, S],
        names: &["text", "part"],
        result: Ty::Bool,
        body: |args, _| both(args, |a, b| Value::Bool(a.contains(b))),
        looks_for: Some(LooksFor::Anywhere),
        doc: "true if the string contains `part`",
        examples: &[("\"abc\".contains(\"b\")", "true"), ("\"abc\".contains(\"x\")", "false")],
        ..BASE
    },
    FunctionDef {
        name: "startsWith",
        params: &[S, S],
        names: &["text", "prefix"],
        result: Ty::Bool,
        body: |args, _| both(args, |a, b| Value::Bool(a.starts_with(b))),
        looks_for: Some(LooksFor::Beginning),
        doc: "true if the string starts with `prefix`",
        examples: &[("\"abc\".startsWith(\"ab\")", "true")],
        ..BASE
    },
    FunctionDef {
        name: "endsWith",
        params: &[S, S],
        names: &["text", "suffix"],
        result: Ty::Bool,
        body: |args, _| both(args, |a, b| Value::Bool(a.ends_with(b))),
        looks_for: Some(LooksFor::End),
        doc: "true if the string ends with `suffix`",
        examples: &[("\"abc\".endsWith(\"bc\")", "true")],
        ..BASE
    },
    FunctionDef {
        name: "lowerAscii",
        params: &[S],
        names: &["text"],
        result: S,
        body: |args, _| one(args, |a| Value::text(a.to_ascii_lowercase())),
        doc: "the string with ASCII letters in lower case",
        examples: &[("\"AbÄ\".lowerAscii()", "\"abÄ\"")],
        ..BASE
    },
    FunctionDef {
        name: "upperAscii",
        params: &[S],
        names: &["text"],
        result: S,
        body: |args, _| one(args, |a| Value::text(a.to_ascii_uppercase())),
        doc: "the string with ASCII letters in upper case",
        examples: &[("\"ab\".upperAscii()", "\"AB\"")],
        ..BASE
    },
    FunctionDef {
        name: "trim",
        params: &[S],
        names: &["text"],
        result: S,
        body: |args, _| one(args, |a| Value::text(a.trim())),
        doc: "the string without white space at its start and end",
        examples: &[("\" a \".trim()", "\"a\"")],
        ..BASE
    },
    FunctionDef {
        name: "reverse",
        dialects: Dialects::POLICY,
        params: &[S],
        names: &["text"],
        result: S,
        body: |args, _| one(args, |a| Value::text(a.chars().rev().collect::<String>())),
        doc: "the string with its code points in reverse order",
        examples: &[("\"abc\".reverse()", "\"cba\"")],
        ..BASE
    },
    FunctionDef {
        name: "split",
        grows: Grows::Parts,
        params: &[S, S],
        names: &["text", "separator"],
        result: Ty::List(&S),
        body: |args, _| both(args, |a, b| Value::list(pieces(a, b).into_iter().map(Value::text))),
        doc: "the parts between the separators; with an empty separator, the code points one by \
              one",
        examples: &[("\"a,b\".split(\",\")", "[\"a\", \"b\"]"), ("\"ab\".split(\"\")", "[\"a\", \"b\"]")],
        ..BASE
    },
    FunctionDef {
        name: "split",
        grows: Grows::Parts,
        params: &[S, S, Ty::Int],
        names: &["text", "separator", "most"],
        result: Ty::List(&S),
        body: |args, _| match args {
            [a, b, Value::Int(most)] => match (text(a), text(b)) {
                (Some(a), Some(b)) => {
                    let all = pieces(a, b);
                    let keep = if *most < 0 { all.len() } else { (*most as usize).min(all.len()) };
                    if keep == 0 {
                        return Value::list([]);
                    }
                    let mut parts: Vec<String> = all[..keep - 1].to_vec();
                    parts.push(all[keep - 1..].join(b));
                    Value::list(parts.into_iter().map(Value::text))
                }
                _ => Value::Absent,
            },
            _ => Value::Absent,
        },
        doc: "at most `most` parts, the last of which holds the rest; all parts if `most` is \
              negative",
        examples: &[("\"a,b,c\".split(\",\", 2)", "[\"a\", \"b,c\"]")],
        ..BASE
    },
    FunctionDef {
        name: "join",
        grows: Grows::Joins,
        params: &[Ty::List(&S)],
        names: &["texts"],
        result: S,
        body: |args, _| match args {
            [list] => joined(list, ""),
            _ => Value::Absent,
        },
        doc: "the strings joined without a separator",
        examples: &[("[\"a\", \"b\"].join()", "\"ab\"")],
        ..BASE
    },
    FunctionDef {
        name: "join",
        grows: Grows::Joins,
        params: &[Ty::List(&S), S],
        names: &["texts", "separator"],
        result: S,
        body: |args, _| match args {
            [list, separator] => joined(list, text(separator).unwrap_or("")),
            _ => Value::Absent,
        },
        doc: "the strings joined with the separator between them",
        examples: &[("[\"a\", \"b\"].join(\"-\")", "\"a-b\"")],
        ..BASE
    },
    FunctionDef {
        name: "replace",
        grows: Grows::Replaces,
        params: &[S, S, S],
        names: &["text", "old", "new"],
        result: S,
        body: |args, _| match args {
            [a, b, c] => match (text(a), text(b), text(c)) {
                (Some(a), Some(b), Some(c)) => Value::text(a.replace(b, c)),
                _ => Value::Absent,
            },
            _ => Value::Absent,
        },
        doc: "the string with every `old` replaced by `new`",
        examples: &[("\"aba\".replace(\"a\", \"x\")", "\"xbx\"")],
        ..BASE
    },
    FunctionDef {
        name: "indexOf",
        params: &[S, S],
        names: &["text", "part"],
        result: Ty::Int,
        range: Some(|_| Range::whole(-1, LONGEST as i128)),
        body: |args, _| both(args, |a, b| place(a.find(b).map(|at| a[..at].chars().count()))),
        doc: "the index of the first code point of the first `part`; -1 if the string does not \
              contain it",
        examples: &[("\"abc\".indexOf(\"c\")", "2"), ("\"abc\".indexOf(\"x\")", "-1")],
        ..BASE
    },
    FunctionDef {
        name: "lastIndexOf",
        params: &[S, S],
        names: &["text", "part"],
        result: Ty::Int,
        range: Some(|_| Range::whole(-1, LONGEST as i128)),
        body: |args, _| both(args, |a, b| place(a.rfind(b).map(|at| a[..at].chars().count()))),
        doc: "the index of the first code point of the last `part`; -1 if the string does not \
              contain it",
        examples: &[("\"abcabc\".lastIndexOf(\"b\")", "4")],
        ..BASE
    },
    FunctionDef {
        name: "indexOf",
        params: &[S, S, Ty::Int],
        names: &["text", "part", "from"],
        result: Ty::Int,
        absent: FROM,
        body: |args, _| match args {
            [a, b, Value::Int(from)] => match (text(a), text(b)) {
                (Some(a), Some(b)) => index_of(a, b, *from),
                _ => Value::Absent,
            },
            _ => Value::Absent,
        },
        doc: "the index of the first `part` at or after index `from`; -1 if there is none; absent \
              if `from` is negative",
        examples: &[("\"abca\".indexOf(\"a\", 1)", "3"), ("\"abc\".indexOf(\"a\", 9)", "-1")],
        ..BASE
    },
    FunctionDef {
        name: "lastIndexOf",
        params: &[S, S, Ty::Int],
        names: &["text", "part", "from"],
        result: Ty::Int,
        absent: FROM,
        body: |args, _| match args {
            [a, b, Value::Int(from)] => match (text(a), text(b)) {
                (Some(a), Some(b)) => last_index_of(a, b, *from),
                _ => Value::Absent,
            },
            _ => Value::Absent,
        },
        doc: "the index of the last `part` at or before index `from`; -1 if there is none; absent \
              if `from` is negative",
        examples: &[("\"abcabc\".lastIndexOf(\"b\", 3)", "1")],
        ..BASE
    },
    FunctionDef {
        name: "strings.quote",
        grows: Grows::Escapes,
        method: false,
        params: &[S],
        names: &["text"],
        result: S,
        body: |args, _| one(args, |a| Value::text(quoted(a))),
        doc: "the string in double quotes, with quotes, backslashes and control characters escaped",
        examples: &[("strings.quote(\"a\\\"b\")", "r'\"a\\\"b\"'")],
        ..BASE
    },
    FunctionDef {
        name: "charAt",
        params: &[S, Ty::Int],
        names: &["text", "at"],
        result: S,
        absent: Absence::Maybe,
        body: |args, _| match args {
            [a, Value::Int(at)] => {
                let (Some(a), Ok(at)) = (text(a), usize::try_from(*at)) else { return Value::Absent };
                if at == a.chars().count() {
                    return Value::text("");
                }
                Value::optional(a.chars().nth(at).map(|c| Value::text(c.to_string())))
            }
            _ => Value::Absent,
        },
        doc: "the code point at an index, or the empty string at the end; absent if the index is \
              out of bounds",
        examples: &[("\"abc\".charAt(1)", "\"b\"")],
        ..BASE
    },
    FunctionDef {
        name: "substring",
        params: &[S, Ty::Int],
        names: &["text", "from"],
        result: S,
        absent: Absence::Maybe,
        body: |args, _| match args {
            [a, Value::Int(from)] => {
                let Some(a) = text(a) else { return Value::Absent };
                part(a, *from, a.chars().count() as i64)
            }
            _ => Value::Absent,
        },
        doc: "the part from index `from` to the end; absent if the index is out of bounds",
        examples: &[("\"abc\".substring(1)", "\"bc\"")],
        ..BASE
    },
    FunctionDef {
        name: "substring",
        grows: Grows::Takes(2),
        params: &[S, Ty::Int, Ty::Int],
        names: &["text", "from", "to"],
        result: S,
        absent: Absence::Maybe,
        body: |args, _| match args {
            [a, Value::Int(from), Value::Int(to)] => text(a).map_or(Value::Absent, |a| part(a, *from, *to)),
            _ => Value::Absent,
        },
        doc: "the part from index `from` up to, but not including, index `to`; absent if an index \
              is out of bounds",
        examples: &[("\"abc\".substring(0, 2)", "\"ab\"")],
        ..BASE
    },
    FunctionDef {
        name: "replace",
        grows: Grows::Replaces,
        params: &[S, S, S, Ty::Int],
        names: &["text", "old", "new", "most"],
        result: S,
        body: |args, _| match args {
            [a, b, c, Value::Int(most)] => match (text(a), text(b), text(c)) {
                (Some(a), Some(b), Some(c)) if *most >= 0 => {
                    Value::text(a.replacen(b, c, usize::try_from(*most).unwrap_or(usize::MAX)))
                }
                (Some(a), Some(b), Some(c)) => Value::text(a.replace(b, c)),
                _ => Value::Absent,
            },
            _ => Value::Absent,
        },
        doc: "the string with the first `most` occurrences of `old` replaced by `new`; all if \
              `most` is negative",
        examples: &[("\"aba\".replace(\"a\", \"x\", 1)", "\"xba\"")],
        ..BASE
    },
    FunctionDef {
        name: "size",
        dialects: Dialects::POLICY,
        influence: &[Influence::Raises],
        counts_elements: true,
        params: &[Ty::Blob],
        names: &["bytes"],
        result: Ty::Int,
        range: Some(|_| Range::whole(0, LONGEST as i128)),
        body: |args, _| match args {
            [Value::Blob(bytes)] => Value::Int((bytes.len() as i64).min(LONGEST)),
            _ => Value::Absent,
        },
        doc: "the number of bytes",
        examples: &[("b\"abc\".size()", "3")],
        ..BASE
    },
];

fn one<'a>(args: &[Value<'a>], f: impl Fn(&str) -> Value<'static>) -> Value<'a> {
    match args {
        [a] => text(a).map_or(Value::Absent, f),
        _ => Value::Absent,
    }
}

fn both<'a>(args: &[Value<'a>], f: impl Fn(&str, &str) -> Value<'static>) -> Value<'a> {
    match args {
        [a, b] => match (text(a), text(b)) {
            (Some(a), Some(b)) => f(a, b),
            _ => Value::Absent,
        },
        _ => Value::Absent,
    }
}

fn length<'a>(args: &[Value<'a>], _: &Prepared) -> Value<'a> {
    one(args, |a| place(Some(a.chars().count())))
}

/// A number of code points, or -1 for none.
fn place<'a>(at: Option<usize>) -> Value<'a> {
    Value::Int(at.map_or(-1, |at| (at as i64).min(LONGEST)))
}

/// A place below 0 is an error in CEL.
const FROM: Absence = Absence::Unless(|ranges| ranges.last().is_some_and(|from| from.is_positive_or_zero()));

pub(super) fn index_of(a: &str, b: &str, from: i64) -> Value<'static> {
    if b.is_empty() {
        return Value::Int(from);
    }
    let Ok(at) = usize::try_from(from) else { return Value::Absent };
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let found = a.windows(b.len()).enumerate().skip(at).find(|(_, window)| *window == b);
    Value::Int(found.map_or(-1, |(at, _)| at as i64))
}

pub(super) fn last_index_of(a: &str, b: &str, from: i64) -> Value<'static> {
    if b.is_empty() {
        return Value::Int(from);
    }
    let Ok(at) = usize::try_from(from) else { return Value::Absent };
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    if at >= a.len() {
        return Value::Int(-1);
    }
    let found = a.windows(b.len()).enumerate().take(at + 1).rfind(|(_, window)| *window == b);
    Value::Int(found.map_or(-1, |(at, _)| at as i64))
}

/// In double quotes, as a literal.
pub(super) fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '\u{7}' => quoted.push_str("\\a"),
            '\u{8}' => quoted.push_str("\\b"),
            '\u{c}' => quoted.push_str("\\f"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            '\u{b}' => quoted.push_str("\\v"),
            '\\' => quoted.push_str("\\\\"),
            '"' => quoted.push_str("\\\""),
            other => quoted.push(other),
        }
    }
    quoted.push('"');
    quoted
}

/// In double quotes, as Go's `strconv.Quote` writes it: what cannot be printed is a number.
pub(super) fn quoted_for_print(text: &str) -> String {
    // What Go counts as printable: letters, marks, numbers, punctuation, symbols and the space.
    static PRINTED: LazyLock<Option<regex::Regex>> =
        LazyLock::new(|| regex::Regex::new("^[\\pL\\pM\\pN\\pP\\pS ]$").ok());
    let mut out = String::from("\"");
    for c in text.chars() {
        let mut buffer = [0; 4];
        let letter: &str = c.encode_utf8(&mut buffer);
        let written = quoted(letter);
        if written.len() > letter.len() + 2 {
            out.push_str(written.get(1..written.len() - 1).unwrap_or(""));
        } else if PRINTED.as_ref().is_none_or(|printed| printed.is_match(letter)) {
            out.push(c);
        } else {
            let number = u32::from(c);
            let _ = match number {
                0..=0x7F => write!(out, "\\x{number:02x}"),
                0x80..=0xFFFF => write!(out, "\\u{number:04x}"),
                _ => write!(out, "\\U{number:08x}"),
            };
        }
    }
    out.push('"');
    out
}

fn pieces(a: &str, separator: &str) -> Vec<String> {
    if separator.is_empty() {
        a.chars().map(|c| c.to_string()).collect()
    } else {
        a.split(separator).map(str::to_owned).collect()
    }
}

fn joined<'a>(list: &Value<'a>, separator: &str) -> Value<'a> {
    let Some(items) = list.elements() else { return Value::Absent };
    // In CEL, elements after the first may be of any type.
    match items.iter().map(text).collect::<Option<Vec<&str>>>() {
        Some(texts) => Value::text(texts.join(separator)),
        None => Value::fault(FaultKind::NoSuchOverload, "`join` needs a list of strings"),
    }
}

fn part(a: &str, from: i64, to: i64) -> Value<'static> {
    let length = a.chars().count() as i64;
    if from < 0 || to > length || from > to {
        return Value::Absent;
    }
    Value::text(a.chars().skip(from as usize).take((to - from) as usize).collect::<String>())
}
