//! Searches from a place in a string, as the specification has them: a place behind the end is an error.

use super::{METHOD, no_overload, refused};
use crate::lang::language::functions::strings::{index_of, last_index_of};
use crate::lang::language::functions::{Absence, Body, Dialects, Examples, FunctionDef};
use crate::lang::types::Ty;
use crate::lang::types::value::Value;

const fn from(name: &'static str, body: Body, doc: &'static str, examples: Examples) -> FunctionDef {
    FunctionDef {
        name,
        dialects: Dialects::SPECIFICATION,
        params: &[Ty::String, Ty::String, Ty::Int],
        names: &["text", "part", "from"],
        result: Ty::Int,
        absent: Absence::Maybe,
        body,
        doc,
        examples,
        ..METHOD
    }
}

/// The family's rows.
pub(in super::super) static FUNCTIONS: &[FunctionDef] = &[
    from(
        "indexOf",
        |args, _| found("indexOf", args, index_of),
        "the index of the first `part` at or after index `from`; -1 if the string has none; an error if `from` is not \
         an index of the string",
        &[("'abca'.indexOf('a', 1)", "3")],
    ),
    from(
        "lastIndexOf",
        |args, _| found("lastIndexOf", args, last_index_of),
        "the index of the last `part` at or before index `from`; -1 if the string has none; an error if `from` is not \
         an index of the string",
        &[("'abcabc'.lastIndexOf('b', 3)", "1")],
    ),
];

fn found<'a>(name: &str, args: &[Value<'a>], find: fn(&str, &str, i64) -> Value<'static>) -> Value<'a> {
    let [text, part, Value::Int(from)] = args else { return no_overload(name, args) };
    let (Some(text), Some(part)) = (text.as_str(), part.as_str()) else { return no_overload(name, args) };
    let behind = usize::try_from(*from).map_or(true, |from| from >= text.chars().count());
    if behind && !part.is_empty() {
        return refused(format!("the string has no index {from}"));
    }
    find(text, part, *from)
}
