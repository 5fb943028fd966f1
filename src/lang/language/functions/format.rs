//! `format`: a constant string whose verbs are replaced by the values of a list, as in Kubernetes'
//! CEL. The checker knows the type of the value for each verb.

use super::notation::{go_float, written};
use super::{FunctionDef, Prepared};
use crate::types::show::plain_text;
use crate::types::value::Value;
use crate::types::{Ty, Type};
use std::fmt::Write;

/// Most digits after the point.
const DIGITS: usize = 100;

/// A part of the text.
#[derive(Clone, Debug, PartialEq)]
pub enum Piece {
    /// As it is; `%%` is a percent sign.
    Text(String),
    /// The next value, written by a clause.
    Value(Clause),
}

/// How a value is written.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Clause {
    /// `%s`: any value.
    Any,
    /// `%d`: a whole number.
    Decimal,
    /// `%f`: with this many digits after the point, and commas between thousands.
    Fixed(usize),
    /// `%e`: one digit before the point and six after it; the number in `%.Ne` is a width, as in
    /// Kubernetes.
    Scientific(usize),
    /// `%b`
    Binary,
    /// `%o`
    Octal,
    /// `%x`, `%X`: of a text or bytes, byte by byte.
    Hex(bool),
}

impl Clause {
    /// As it is written.
    pub fn text(self) -> &'static str {
        match self {
            Clause::Any => "%s",
            Clause::Decimal => "%d",
            Clause::Fixed(_) => "%f",
            Clause::Scientific(_) => "%e",
            Clause::Binary => "%b",
            Clause::Octal => "%o",
            Clause::Hex(false) => "%x",
            Clause::Hex(true) => "%X",
        }
    }

    /// The type as which a value is written; `None` if the verb does not take it. An int can be a
    /// float.
    pub fn takes(self, ty: &Type) -> Option<Type> {
        let whole = matches!(ty, Type::Int | Type::Uint | Type::Count);
        let fits = match self {
            Clause::Any => is_shown(ty),
            Clause::Decimal | Clause::Octal => whole,
            Clause::Fixed(_) | Clause::Scientific(_) => {
                return matches!(ty, Type::Float | Type::Int | Type::Count).then_some(Type::Float);
            }
            Clause::Binary => whole || *ty == Type::Bool,
            Clause::Hex(_) => whole || matches!(ty, Type::String | Type::Blob),
        };
        fits.then(|| ty.clone())
    }

    /// What it takes, for the message.
    pub fn wants(self) -> &'static str {
        match self {
            Clause::Any => "a number, a text, a bool, a time, or a list or map of them",
            Clause::Decimal | Clause::Octal => "an int",
            Clause::Fixed(_) | Clause::Scientific(_) => "a float",
            Clause::Binary => "an int or a bool",
            Clause::Hex(_) => "an int, a text or bytes",
        }
    }
}

fn is_shown(ty: &Type) -> bool {
    match ty {
        Type::List(of) | Type::Set(of) => is_shown(of),
        Type::Map(key, value) => is_shown(key) && is_shown(value),
        Type::Null | Type::Time | Type::TypeName | Type::Resources | Type::Never => true,
        ty => ty.is_numeric() || ty.is_ordered(),
    }
}

/// The parts of a format string.
pub fn parse(text: &str) -> Result<Vec<Piece>, String> {
    let mut pieces = Vec::new();
    let mut plain = String::new();
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        if c != '%' {
            plain.push(c);
            continue;
        }
        let mut next = rest.next();
        if next == Some('%') {
            plain.push('%');
            continue;
        }
        let mut digits = None;
        if next == Some('.') {
            let mut written = String::new();
            next = rest.next();
            while let Some(digit) = next.filter(char::is_ascii_digit) {
                written.push(digit);
                next = rest.next();
            }
            let number: usize =
                written.parse().map_err(|_| "`%.` needs a number after the point".to_owned())?;
            if number > DIGITS {
                return Err(format!("`%.{number}` has more than {DIGITS} digits"));
            }
            digits = Some(number);
        }
        let clause = match next {
            Some('s') => Clause::Any,
            Some('d') => Clause::Decimal,
            Some('f') => Clause::Fixed(digits.unwrap_or(6)),
            Some('e') => Clause::Scientific(digits.unwrap_or(6)),
            Some('b') => Clause::Binary,
            Some('o') => Clause::Octal,
            Some('x') => Clause::Hex(false),
            Some('X') => Clause::Hex(true),
            Some(other) => return Err(format!("`%{other}` is not a verb")),
            None => return Err("the text ends after a `%`".to_owned()),
        };
        if !plain.is_empty() {
            pieces.push(Piece::Text(std::mem::take(&mut plain)));
        }
        pieces.push(Piece::Value(clause));
    }
    if !plain.is_empty() {
        pieces.push(Piece::Text(plain));
    }
    Ok(pieces)
}

/// The family's rows.
pub static FUNCTIONS: &[FunctionDef] = &[FunctionDef {
    name: "format",
    grows: super::Grows::Formats,
    method: true,
    params: &[Ty::String, Ty::List(&Ty::Var('t'))],
    names: &["text", "values"],
    result: Ty::String,
    body: |args, prepared| match prepared {
        Prepared::Format(pieces, types) => {
            let mut values = args.iter().skip(1).zip(types.iter());
            let mut text = String::new();
            for piece in pieces.iter() {
                match piece {
                    Piece::Text(plain) => text.push_str(plain),
                    Piece::Value(clause) => {
                        if let Some((value, ty)) = values.next() {
                            write_value(*clause, value, ty, &mut text);
                        }
                    }
                }
            }
            Value::text(text)
        }
        _ => Value::Absent,
    },
    doc: "the constant string with the values of the list in place of its verbs, in order: `%s` (any \
          value), `%d` (int), `%f` and `%.2f` (float), `%e` (scientific notation), `%b` (binary), `%o` \
          (octal), `%x` and `%X` (hexadecimal); `%%` is a percent sign",
    examples: &[
        ("\"%s is %d\".format([\"x\", 3])", "\"x is 3\""),
        ("\"%.1f%%\".format([12345.678])", "\"12,345.7%\""),
        ("\"%s\".format([[\"a\", \"b\"]])", "r'[\"a\", \"b\"]'"),
        ("\"%x %b %o\".format([255, 5, 8])", "\"ff 101 10\""),
        ("\"%e\".format([12345.678])", "\"1.234568×10⁰⁴\""),
    ],
    ..FunctionDef::BASE
}];

fn write_value(clause: Clause, value: &Value<'_>, ty: &Type, text: &mut String) {
    let sign = |value: &Value<'_>| matches!(value, Value::Int(x) if *x < 0).then_some("-").unwrap_or("");
    let bits = |value: &Value<'_>| match value {
        Value::Int(x) => x.unsigned_abs(),
        Value::Uint(x) => *x,
        _ => 0,
    };
    let _ = match (clause, value) {
        (Clause::Any, value) => {
            text.push_str(&shown(value, ty, false));
            Ok(())
        }
        (Clause::Decimal, Value::Int(x)) => write!(text, "{x}"),
        (Clause::Decimal, Value::Uint(x)) => write!(text, "{x}"),
        (Clause::Fixed(digits), value) => {
            text.push_str(&fixed(value.as_float().unwrap_or(0.0), digits));
            Ok(())
        }
        (Clause::Scientific(width), value) => {
            text.push_str(&scientific(value.as_float().unwrap_or(0.0), width));
            Ok(())
        }
        (Clause::Binary, Value::Bool(truth)) => write!(text, "{}", u8::from(*truth)),
        (Clause::Binary, value) => write!(text, "{}{:b}", sign(value), bits(value)),
        (Clause::Octal, value) => write!(text, "{}{:o}", sign(value), bits(value)),
        (Clause::Hex(upper), Value::Blob(bytes)) => {
            text.push_str(&hex(bytes, upper));
            Ok(())
        }
        (Clause::Hex(upper), value) if value.as_str().is_some() => {
            text.push_str(&hex(value.as_str().unwrap_or("").as_bytes(), upper));
            Ok(())
        }
        (Clause::Hex(true), value) => write!(text, "{}{:X}", sign(value), bits(value)),
        (Clause::Hex(false), value) => write!(text, "{}{:x}", sign(value), bits(value)),
        _ => Ok(()),
    };
}

/// The number; CEL writes the zero below 0 without its sign.
fn unsigned_zero(x: f64) -> f64 {
    if x == 0.0 { 0.0 } else { x }
}

pub(super) fn hex(bytes: &[u8], upper: bool) -> String {
    bytes.iter().map(|b| if upper { format!("{b:02X}") } else { format!("{b:02x}") }).collect()
}

/// Digits with a comma before every three and this many after the point; halves are rounded to
/// even.
pub(super) fn fixed(x: f64, digits: usize) -> String {
    let x = unsigned_zero(x);
    let plain = format!("{x:.digits$}");
    let (sign, plain) = plain.strip_prefix('-').map_or(("", plain.as_str()), |rest| ("-", rest));
    let (whole, fraction) = plain.split_once('.').map_or((plain, None), |(a, b)| (a, Some(b)));
    let mut text = sign.to_owned();
    for (at, digit) in whole.chars().enumerate() {
        if at > 0 && (whole.len() - at) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    if let Some(fraction) = fraction {
        text.push('.');
        text.push_str(fraction);
    }
    text
}

pub(super) fn scientific(x: f64, width: usize) -> String {
    let x = unsigned_zero(x);
    let plain = format!("{x:.6e}");
    let (digits, exponent) = plain.split_once('e').unwrap_or((&plain, "0"));
    let (sign, exponent) = exponent.strip_prefix('-').map_or(("", exponent), |rest| ("⁻", rest));
    let small = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
    let exponent: String = format!("{exponent:0>2}")
        .chars()
        .filter_map(|digit| digit.to_digit(10).and_then(|digit| small.get(digit as usize)))
        .collect();
    format!("{:>width$}", format!("{digits}×10{sign}{exponent}"))
}

/// A value as `%s` writes it; inside of a list or map as a literal.
fn shown(value: &Value<'_>, ty: &Type, inside: bool) -> String {
    let ty = ty.present();
    match value {
        Value::Float(x) if inside => format!("{x:.6}"),
        Value::Float(x) => go_float(*x),
        Value::Time(_) | Value::Int(_) if matches!(ty, Type::Time | Type::Duration) => {
            let text = written(value, ty);
            match (inside, ty) {
                (false, _) => text,
                (true, Type::Time) => format!("timestamp(\"{text}\")"),
                (true, _) => format!("duration(\"{text}\")"),
            }
        }
        Value::Blob(bytes) if inside => {
            format!("b{}", super::strings::quoted_for_print(&String::from_utf8_lossy(bytes)))
        }
        Value::Blob(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        Value::Null => "null".to_owned(),
        value if value.as_str().is_some() => {
            let text = value.as_str().unwrap_or("");
            if inside { super::strings::quoted_for_print(text) } else { text.to_owned() }
        }
        Value::Uint(x) => x.to_string(),
        Value::Resources(_) => plain_text(value, ty),
        value if value.elements().is_some() => {
            let of = ty.element().unwrap_or(Type::Unknown);
            let items = value.elements().unwrap_or_default();
            let items: Vec<String> = items.iter().map(|item| shown(item, &of, true)).collect();
            format!("[{}]", items.join(", "))
        }
        value if value.entries().is_some() => {
            let (key, of) = match ty {
                Type::Map(key, of) => ((**key).clone(), (**of).clone()),
                _ => (Type::Unknown, Type::Unknown),
            };
            let entries = value.entries().unwrap_or_default();
            let mut pairs: Vec<(String, String)> =
                entries.iter().map(|(k, v)| (shown(k, &key, true), shown(v, &of, true))).collect();
            // By the key as text, as in Kubernetes: 10 comes before 2.
            pairs.sort_by(|a, b| a.0.cmp(&b.0));
            let pairs: Vec<String> = pairs.into_iter().map(|(k, v)| format!("{k}:{v}")).collect();
            format!("{{{}}}", pairs.join(", "))
        }
        value => plain_text(value, ty),
    }
}
