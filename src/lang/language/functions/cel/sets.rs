//! Lists as sets.

use super::comparisons::contains;
use super::{no_overload, row};
use crate::lang::language::functions::{FunctionDef, Work};
use crate::lang::types::Ty;
use crate::lang::types::value::Value;

const L: Ty = Ty::List(&Ty::Var('t'));

const fn of_two(
    name: &'static str,
    names: &'static [&'static str],
    body: crate::lang::language::functions::Body,
    doc: &'static str,
    examples: crate::lang::language::functions::Examples,
) -> FunctionDef {
    FunctionDef { names, work: Work::Sorts, ..row(name, &[L, L], Ty::Bool, body, doc, examples) }
}

/// The family's rows.
pub(in super::super) static FUNCTIONS: &[FunctionDef] = &[
    of_two(
        "sets.contains",
        &["list", "part"],
        |args, _| two("sets.contains", args, has_all),
        "true if the list has every element of `part`",
        &[("sets.contains([1, 2], [1])", "true"), ("sets.contains([1], [2])", "false")],
    ),
    of_two(
        "sets.equivalent",
        &["list", "other"],
        |args, _| two("sets.equivalent", args, |a, b| has_all(a, b) && has_all(b, a)),
        "true if the lists have the same elements; order and duplicates do not matter",
        &[("sets.equivalent([1, 2], [2, 1, 1])", "true")],
    ),
    of_two(
        "sets.intersects",
        &["list", "other"],
        |args, _| two("sets.intersects", args, |a, b| a.iter().any(|item| contains(b, item))),
        "true if the lists have an element in common",
        &[("sets.intersects([1, 2], [2])", "true")],
    ),
];

fn has_all(list: &[Value<'_>], part: &[Value<'_>]) -> bool {
    part.iter().all(|item| contains(list, item))
}

fn two<'a>(name: &str, args: &[Value<'a>], body: fn(&[Value<'_>], &[Value<'_>]) -> bool) -> Value<'a> {
    match args {
        [a, b] => match (a.elements(), b.elements()) {
            (Some(a), Some(b)) => Value::Bool(body(&a, &b)),
            _ => no_overload(name, args),
        },
        _ => no_overload(name, args),
    }
}
