//! Semantic versions, as the library blang/semver v4 reads them.

use super::{METHOD, no_overload, partial, row};
use crate::language::functions::{Body, Examples, FunctionDef, Prepared};
use crate::types::range::Range;
use crate::types::value::{Cel, FaultKind, PreRelease, Semver, Value};
use crate::types::{CelType, Ty};
use std::cmp::Ordering;
use std::sync::Arc;

const V: Ty = Ty::Cel(CelType::Semver);

const fn method(
    name: &'static str,
    params: &'static [Ty],
    result: Ty,
    body: Body,
    doc: &'static str,
    examples: Examples,
) -> FunctionDef {
    FunctionDef { name, params, names: &["version", "other"], result, body, doc, examples, ..METHOD }
}

/// The family's rows.
pub(in super::super) static FUNCTIONS: &[FunctionDef] = &[
    partial(
        "semver",
        &[Ty::String],
        V,
        semver,
        "the semantic version that a string holds; an error if it holds none",
        &[("semver('1.2.3').minor()", "2")],
    ),
    FunctionDef {
        names: &["text", "normalize"],
        ..partial(
            "semver",
            &[Ty::String, Ty::Bool],
            V,
            semver,
            "the semantic version that a string holds; with `normalize`, a leading `v` and leading zeros are \
             dropped, and `1.2` is `1.2.0`",
            &[("semver('v01.2', true) == semver('1.2.0')", "true")],
        )
    },
    row(
        "isSemver",
        &[Ty::String],
        Ty::Bool,
        |args, _| with_text("isSemver", args, |version| Value::Bool(version.is_ok())),
        "true if a string is a semantic version",
        &[("isSemver('1.2.3-rc.1')", "true"), ("isSemver('v1.2')", "false")],
    ),
    FunctionDef {
        names: &["text", "normalize"],
        ..row(
            "isSemver",
            &[Ty::String, Ty::Bool],
            Ty::Bool,
            |args, _| with_text("isSemver", args, |version| Value::Bool(version.is_ok())),
            "true if a string is a semantic version, with `normalize` after it is normalized",
            &[("isSemver('v1.2', true)", "true")],
        )
    },
    method(
        "isGreaterThan",
        &[V, V],
        Ty::Bool,
        |args, _| compared("isGreaterThan", args, |order| Value::Bool(order.is_gt())),
        "true if the version comes after the other; build metadata does not count",
        &[("semver('1.2.3').isGreaterThan(semver('1.2.3-rc.1'))", "true")],
    ),
    method(
        "isLessThan",
        &[V, V],
        Ty::Bool,
        |args, _| compared("isLessThan", args, |order| Value::Bool(order.is_lt())),
        "true if the version comes before the other; build metadata does not count",
        &[("semver('1.2.3').isLessThan(semver('1.10.0'))", "true")],
    ),
    FunctionDef {
        range: Some(|_| Range::whole(-1, 1)),
        ..method(
            "compareTo",
            &[V, V],
            Ty::Int,
            |args, _| compared("compareTo", args, |order| Value::Int(order as i64)),
            "-1 if the version comes before the other, 1 if it comes after it, 0 if they are equal",
            &[("semver('1.0.0').compareTo(semver('1.0.0+build'))", "0")],
        )
    },
    method(
        "major",
        &[V],
        Ty::Int,
        |args, _| number("major", args, |of| of.major),
        "the major version",
        &[("semver('1.2.3').major()", "1")],
    ),
    method(
        "minor",
        &[V],
        Ty::Int,
        |args, _| number("minor", args, |of| of.minor),
        "the minor version",
        &[("semver('1.2.3').minor()", "2")],
    ),
    method(
        "patch",
        &[V],
        Ty::Int,
        |args, _| number("patch", args, |of| of.patch),
        "the patch version",
        &[("semver('1.2.3').patch()", "3")],
    ),
];

fn semver<'a>(args: &[Value<'a>], _: &Prepared) -> Value<'a> {
    with_text("semver", args, |version| match version {
        Ok(version) => Value::Cel(Cel::Semver(Arc::new(version))),
        Err(why) => Value::fault(FaultKind::BadConversion, why),
    })
}

/// Calls `body` with the version that the first argument holds; the second says whether it is normalized.
fn with_text<'a>(
    name: &str,
    args: &[Value<'a>],
    body: impl Fn(Result<Semver, String>) -> Value<'a>,
) -> Value<'a> {
    let (text, normalize) = match args {
        [text] => (text, false),
        [text, Value::Bool(normalize)] => (text, *normalize),
        _ => return no_overload(name, args),
    };
    match text.as_str() {
        Some(text) if normalize => body(normalized(text).and_then(|text| parse(&text))),
        Some(text) => body(parse(text)),
        None => no_overload(name, args),
    }
}

fn compared<'a>(name: &str, args: &[Value<'a>], body: fn(Ordering) -> Value<'static>) -> Value<'a> {
    match args {
        [Value::Cel(Cel::Semver(a)), Value::Cel(Cel::Semver(b))] => body(a.order(b)),
        _ => no_overload(name, args),
    }
}

fn number<'a>(name: &str, args: &[Value<'a>], part: fn(&Semver) -> u64) -> Value<'a> {
    match args {
        // Numbers above the largest int wrap around, as in Kubernetes.
        [Value::Cel(Cel::Semver(of))] => Value::Int(part(of).cast_signed()),
        _ => no_overload(name, args),
    }
}

/// The text without a leading `v` and leading zeros, with three numbers.
fn normalized(text: &str) -> Result<String, String> {
    let text = text.strip_prefix('v').unwrap_or(text);
    let mut parts: Vec<String> = text.splitn(3, '.').map(str::to_owned).collect();
    for part in parts.iter_mut().filter(|part| part.len() > 1) {
        let rest = part.trim_start_matches('0');
        let zero = if rest.starts_with(|first: char| first.is_ascii_digit()) { "" } else { "0" };
        *part = format!("{zero}{rest}");
    }
    if parts.len() < 3 {
        if parts.last().is_some_and(|last| last.contains(['+', '-'])) {
            return Err(format!("{text:?} is a short version with a pre-release or build metadata"));
        }
        parts.resize(3, "0".to_owned());
    }
    Ok(parts.join("."))
}

/// Reads a version, with the errors of the library.
pub(crate) fn parse(text: &str) -> Result<Semver, String> {
    if text.is_empty() {
        return Err("Version string empty".to_owned());
    }
    let mut parts = text.splitn(3, '.');
    let (Some(major), Some(minor), Some(rest)) = (parts.next(), parts.next(), parts.next()) else {
        return Err("No Major.Minor.Patch elements found".to_owned());
    };
    let (major, minor) = (number_of("Major", major)?, number_of("Minor", minor)?);
    let (rest, build) = rest.split_once('+').map_or((rest, None), |(rest, build)| (rest, Some(build)));
    let (patch, pre) = rest.split_once('-').map_or((rest, None), |(patch, pre)| (patch, Some(pre)));
    let mut version = Semver { major, minor, patch: number_of("Patch", patch)?, ..Semver::default() };
    for identifier in pre.into_iter().flat_map(|pre| pre.split('.')) {
        version.pre_release.push(match identifier {
            "" => return Err("Prerelease is empty".to_owned()),
            digits if is_digits(digits) && has_leading_zeros(digits) => {
                return Err(format!(
                    "Numeric PreRelease version must not contain leading zeroes {}",
                    quoted(digits)
                ));
            }
            digits if is_digits(digits) => PreRelease::Number(whole(digits)?),
            text if is_identifier(text) => PreRelease::Text(text.to_owned()),
            text => return Err(format!("Invalid character(s) found in prerelease {}", quoted(text))),
        });
    }
    for identifier in build.into_iter().flat_map(|build| build.split('.')) {
        match identifier {
            "" => return Err("Build meta data is empty".to_owned()),
            text if !is_identifier(text) => {
                return Err(format!("Invalid character(s) found in build meta data {}", quoted(text)));
            }
            text => version.build.push(text.to_owned()),
        }
    }
    Ok(version)
}

/// One of the three numbers.
fn number_of(which: &str, digits: &str) -> Result<u64, String> {
    if !is_digits(digits) {
        let which = which.to_lowercase();
        return Err(format!("Invalid character(s) found in {which} number {}", quoted(digits)));
    }
    if has_leading_zeros(digits) {
        return Err(format!("{which} number must not contain leading zeroes {}", quoted(digits)));
    }
    whole(digits)
}

/// As Go reads an unsigned number.
fn whole(digits: &str) -> Result<u64, String> {
    let why = if digits.is_empty() { "invalid syntax" } else { "value out of range" };
    digits.parse().map_err(|_| format!("strconv.ParseUint: parsing {}: {why}", quoted(digits)))
}

/// A text as Go quotes it, where it has letters and the signs of ASCII.
fn quoted(text: &str) -> String {
    format!("{text:?}")
}

fn is_digits(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit())
}

fn has_leading_zeros(digits: &str) -> bool {
    digits.len() > 1 && digits.starts_with('0')
}

fn is_identifier(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}
