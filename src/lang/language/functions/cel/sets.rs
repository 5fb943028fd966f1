//! Lists as sets.

use super::comparisons::contains;
use super::no_overload;
use crate::language::functions::{FunctionDef, collections};
use crate::types::value::Value;

/// The family's rows.
pub(in super::super) static FUNCTIONS: &[FunctionDef] = &[
    collections::SETS_CONTAINS.in_cel(|args, _| two("sets.contains", args, has_all)),
    collections::SETS_EQUIVALENT
        .in_cel(|args, _| two("sets.equivalent", args, |a, b| has_all(a, b) && has_all(b, a))),
    collections::SETS_INTERSECTS
        .in_cel(|args, _| two("sets.intersects", args, |a, b| a.iter().any(|item| contains(b, item)))),
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
