//! Lists: Kubernetes' functions of lists, and those of cel-go that compare elements or whose results differ from the
//! policy language's.

use super::comparisons::{compare, equal, has_order};
use super::{DURATION, TIMESTAMP, no_overload, overflow, refused, row, type_name};
use crate::language::functions::{
    Absence, Body, Dialects, Examples, FunctionDef, Grows, Influence, Work, collections,
};
use crate::types::Ty;
use crate::types::value::{Cel, FaultKind, Value};
use std::cmp::Ordering;
use std::sync::Arc;

const T: Ty = Ty::Var('t');
const L: Ty = Ty::List(&T);
const DYNS: Ty = Ty::List(&Ty::Dyn);

/// The longest list that `lists.range` makes: a longer one exceeds the cost that Kubernetes allows an expression.
const LONGEST: i64 = 1_000_000;
/// Up to this length Go sorts by insertion.
const SHORT: usize = 12;

/// A method of a list of one type, for each type with an order.
macro_rules! of_ordered {
    ($make:expr) => {
        of_ordered!(
            $make, Ty::Int, Ty::Uint, Ty::Float, Ty::Bool, DURATION, TIMESTAMP, Ty::String, Ty::Blob
        )
    };
    ($make:expr, $($ty:expr),*) => {
        &[$($make(&[Ty::List(&$ty)], $ty)),*]
    };
}

const fn is_sorted(params: &'static [Ty], _: Ty) -> FunctionDef {
    let doc = "true if the elements are in ascending order";
    method(
        "isSorted",
        params,
        Ty::Bool,
        |args, _| items("isSorted", args, sorted),
        doc,
        &[("[1, 2, 2].isSorted()", "true"), ("[2, 1].isSorted()", "false")],
    )
}

const fn min(params: &'static [Ty], result: Ty) -> FunctionDef {
    let doc = "the smallest element; an error for an empty list";
    let body: Body = |args, _| items("min", args, |list| extreme("min", list, Ordering::Greater));
    FunctionDef {
        absent: Absence::Maybe,
        influence: &[Influence::Raises],
        ..method("min", params, result, body, doc, &[("[2, 1].min()", "1")])
    }
}

const fn max(params: &'static [Ty], result: Ty) -> FunctionDef {
    let doc = "the largest element; an error for an empty list";
    let body: Body = |args, _| items("max", args, |list| extreme("max", list, Ordering::Less));
    FunctionDef {
        absent: Absence::Maybe,
        influence: &[Influence::Raises],
        ..method("max", params, result, body, doc, &[("[2, 1].max()", "2")])
    }
}

/// `isSorted`
pub(in super::super) static IS_SORTED: &[FunctionDef] = of_ordered!(is_sorted);
/// `min`
pub(in super::super) static MIN: &[FunctionDef] = of_ordered!(min);
/// `max`
pub(in super::super) static MAX: &[FunctionDef] = of_ordered!(max);

const fn sum(params: &'static [Ty], result: Ty, body: Body, examples: Examples) -> FunctionDef {
    let doc = "the sum of the elements, 0 for an empty list; an error if it leaves the range";
    FunctionDef {
        absent: Absence::Maybe,
        influence: &[Influence::Raises],
        sums: true,
        ..method("sum", params, result, body, doc, examples)
    }
}

const fn method(
    name: &'static str,
    params: &'static [Ty],
    result: Ty,
    body: Body,
    doc: &'static str,
    examples: Examples,
) -> FunctionDef {
    FunctionDef { method: true, names: &["list"], ..row(name, params, result, body, doc, examples) }
}

const fn sort(params: &'static [Ty], result: Ty) -> FunctionDef {
    FunctionDef {
        work: Work::Sorts,
        counted_by: Some(0),
        checks_elements: true,
        ..method(
            "sort",
            params,
            result,
            |args, _| items("sort", args, |list| by_keys(list, list)),
            "the elements in ascending order",
            &[("[2, 1].sort()", "[1, 2]")],
        )
    }
}

const fn sort_by(params: &'static [Ty]) -> FunctionDef {
    FunctionDef {
        work: Work::Sorts,
        names: &["list", "keys"],
        ..method(
            "@sortByAssociatedKeys",
            params,
            L,
            |args, _| match args {
                [list, keys] => match (list.elements(), keys.elements()) {
                    (Some(list), Some(keys)) => by_keys(&list, &keys),
                    _ => no_overload("sortBy", args),
                },
                _ => no_overload("sortBy", args),
            },
            "the elements in the order of the keys at their places; what the macro `sortBy` becomes",
            &[],
        )
    }
}

/// The family's rows.
pub(in super::super) static FUNCTIONS: &[FunctionDef] = &[
    sum(&[Ty::List(&Ty::Int)], Ty::Int, |args, _| summed(args, Value::Int(0)), &[("[1, 2].sum()", "3")]),
    sum(&[Ty::List(&Ty::Uint)], Ty::Uint, |args, _| summed(args, Value::Uint(0)), &[("[1u].sum()", "1u")]),
    sum(
        &[Ty::List(&Ty::Float)],
        Ty::Float,
        |args, _| summed(args, Value::Float(0.0)),
        &[("[0.5].sum()", "0.5")],
    ),
    sum(
        &[Ty::List(&DURATION)],
        DURATION,
        |args, _| summed(args, Value::Cel(Cel::Duration(0))),
        &[("[duration('1m'), duration('1s')].sum()", "duration('61s')")],
    ),
    sort(&[Ty::List(&Ty::Int)], Ty::List(&Ty::Int)),
    sort(&[Ty::List(&Ty::Uint)], Ty::List(&Ty::Uint)),
    sort(&[Ty::List(&Ty::Float)], Ty::List(&Ty::Float)),
    sort(&[Ty::List(&Ty::Bool)], Ty::List(&Ty::Bool)),
    sort(&[Ty::List(&DURATION)], Ty::List(&DURATION)),
    sort(&[Ty::List(&TIMESTAMP)], Ty::List(&TIMESTAMP)),
    sort(&[Ty::List(&Ty::String)], Ty::List(&Ty::String)),
    sort(&[Ty::List(&Ty::Blob)], Ty::List(&Ty::Blob)),
    sort_by(&[L, Ty::List(&Ty::Int)]),
    sort_by(&[L, Ty::List(&Ty::Uint)]),
    sort_by(&[L, Ty::List(&Ty::Float)]),
    sort_by(&[L, Ty::List(&Ty::Bool)]),
    sort_by(&[L, Ty::List(&DURATION)]),
    sort_by(&[L, Ty::List(&TIMESTAMP)]),
    sort_by(&[L, Ty::List(&Ty::String)]),
    sort_by(&[L, Ty::List(&Ty::Blob)]),
    FunctionDef {
        examples: &[("['a', 'b'].indexOf('b')", "1"), ("[1].indexOf(2)", "-1")],
        ..collections::INDEX_OF.in_cel(|args, _| {
            position("indexOf", args, |list, wanted| list.iter().position(|item| same(item, wanted)))
        })
    },
    collections::LAST_INDEX_OF.in_cel(|args, _| {
        position("lastIndexOf", args, |list, wanted| list.iter().rposition(|item| same(item, wanted)))
    }),
    FunctionDef {
        checks_elements: true,
        ..collections::FLATTEN.in_cel(|args, _| items("flatten", args, |list| flattened(list, 1)))
    },
    FunctionDef {
        absent: Absence::Maybe,
        grows: Grows::Flattens,
        checks_elements: true,
        counted_by: Some(1),
        names: &["list", "depth"],
        ..method(
            "flatten",
            &[DYNS, Ty::Int],
            DYNS,
            |args, _| match args {
                [_, Value::Int(depth)] if *depth < 0 => refused("the depth of `flatten` is negative"),
                [list, Value::Int(depth)] if list.size().is_some_and(|size| costs_too_much(size, *depth)) => {
                    super::stopped("`flatten` costs more than Kubernetes allows an expression")
                }
                [list, Value::Int(depth)] => list
                    .elements()
                    .map_or_else(|| no_overload("flatten", args), |list| flattened(&list, *depth)),
                _ => no_overload("flatten", args),
            },
            "the list with the elements of its lists, and of theirs, down to the depth, in their place; an error if \
             the depth is negative",
            &[("[[1, [2]], [3]].flatten(2)", "[1, 2, 3]")],
        )
    },
    FunctionDef {
        counted_by: Some(0),
        ..collections::DISTINCT.in_cel(|args, _| items("distinct", args, distinct))
    },
    method(
        "first",
        &[L],
        Ty::CelOptional(&T),
        |args, _| items("first", args, |list| Value::Optional(list.first().cloned().map(Arc::new))),
        "the first element as an optional, which is empty if the list is",
        &[("[3, 4].first()", "optional.of(3)"), ("[].first()", "optional.none()")],
    ),
    method(
        "last",
        &[L],
        Ty::CelOptional(&T),
        |args, _| items("last", args, |list| Value::Optional(list.last().cloned().map(Arc::new))),
        "the last element as an optional, which is empty if the list is",
        &[("[3, 4].last()", "optional.of(4)")],
    ),
    FunctionDef {
        absent: Absence::Unless(|ranges| {
            ranges.first().and_then(|n| n.ends()).is_some_and(|(_, most)| most <= LONGEST as f64)
        }),
        dialects: Dialects::OLDER_CEL,
        grows: Grows::Counts,
        names: &["n"],
        ..row(
            "lists.range",
            &[Ty::Int],
            Ty::List(&Ty::Int),
            |args, _| match args {
                [Value::Int(n)] if *n > LONGEST => {
                    Value::fault(FaultKind::TooManySteps, "`lists.range` makes at most 1,000,000 elements")
                }
                [Value::Int(n)] => Value::list((0..*n).map(Value::Int)),
                _ => no_overload("lists.range", args),
            },
            "the ints from 0 up to, but not including, n; an error above 1,000,000",
            &[("lists.range(3)", "[0, 1, 2]")],
        )
    },
    FunctionDef {
        absent: Absence::Maybe,
        dialects: Dialects::NEWER_DEVICES,
        grows: Grows::Counts,
        names: &["n"],
        ..row(
            "lists.range",
            &[Ty::Int],
            Ty::List(&Ty::Int),
            |args, _| match args {
                [Value::Int(n)] if *n < 0 => {
                    refused(format!("lists.range: size must be non-negative, got {n}"))
                }
                [Value::Int(n)] if *n > LONGEST => {
                    refused(format!("lists.range: size {n} exceeds maximum allowed ({LONGEST})"))
                }
                [Value::Int(n)] => Value::list((0..*n).map(Value::Int)),
                _ => no_overload("lists.range", args),
            },
            "the ints from 0 up to, but not including, n; an error below 0 and above 1,000,000",
            &[("lists.range(3)", "[0, 1, 2]")],
        )
    },
];

fn same(left: &Value<'_>, right: &Value<'_>) -> bool {
    equal(left, right).unwrap_or(false)
}

/// Calls `body` with the elements of the only argument.
fn items<'a>(name: &str, args: &[Value<'a>], body: impl Fn(&[Value<'a>]) -> Value<'a>) -> Value<'a> {
    match args {
        [list] => list.elements().map_or_else(|| no_overload(name, args), |list| body(&list)),
        _ => no_overload(name, args),
    }
}

fn position<'a>(
    name: &str,
    args: &[Value<'a>],
    find: impl Fn(&[Value<'a>], &Value<'a>) -> Option<usize>,
) -> Value<'a> {
    match args {
        [list, wanted] => match list.elements() {
            Some(list) => Value::Int(find(&list, wanted).map_or(-1, |at| at as i64)),
            None => no_overload(name, args),
        },
        _ => no_overload(name, args),
    }
}

/// The first element that has no order, if there is one.
fn unordered<'a>(name: &str, list: &[Value<'_>]) -> Option<Value<'a>> {
    list.iter().find(|item| !has_order(item)).map(|item| no_overload(name, std::slice::from_ref(item)))
}

/// Pairs without an order with each other do not count.
fn sorted<'a>(list: &[Value<'a>]) -> Value<'a> {
    let mut before: Option<&Value<'a>> = None;
    for item in list {
        if !has_order(item) {
            return no_overload("isSorted", std::slice::from_ref(item));
        }
        if before.is_some_and(|before| compare(before, item) == Some(Ordering::Greater)) {
            return Value::Bool(false);
        }
        before = Some(item);
    }
    Value::Bool(true)
}

/// The first element that is not `worse` than another.
fn extreme<'a>(name: &str, list: &[Value<'a>], worse: Ordering) -> Value<'a> {
    if let Some(fault) = unordered(name, list) {
        return fault;
    }
    let better = |best: &Value<'a>, item: &Value<'a>| compare(best, item) == Some(worse);
    let best = list.iter().reduce(|best, item| if better(best, item) { item } else { best });
    best.cloned().unwrap_or_else(|| refused(format!("`{name}` of an empty list")))
}

fn summed<'a>(args: &[Value<'a>], zero: Value<'a>) -> Value<'a> {
    items("sum", args, |list| {
        let mut sum = zero.clone();
        for item in list {
            let next = match (&sum, item) {
                (Value::Int(sum), Value::Int(item)) => sum.checked_add(*item).map(Value::Int),
                (Value::Uint(sum), Value::Uint(item)) => sum.checked_add(*item).map(Value::Uint),
                (Value::Float(sum), Value::Float(item)) => Some(Value::Float(sum + item)),
                _ => match super::add(&sum, item) {
                    Some(next) => Some(next),
                    None => return no_overload("sum", std::slice::from_ref(item)),
                },
            };
            sum = match next {
                Some(next) if next.is_fault() => return next,
                Some(next) => next,
                None => return overflow("the sum"),
            };
        }
        sum
    })
}

/// Kubernetes counts the depth for each element.
fn costs_too_much(size: usize, depth: i64) -> bool {
    size as f64 * depth as f64 > LONGEST as f64
}

fn flattened<'a>(list: &[Value<'a>], depth: i64) -> Value<'a> {
    fn collect<'a>(list: &[Value<'a>], depth: i64, into: &mut Vec<Value<'a>>) {
        for item in list {
            match item.elements().filter(|_| depth > 0) {
                Some(inner) => collect(&inner, depth - 1, into),
                None => into.push(item.clone()),
            }
        }
    }
    let mut all = Vec::new();
    collect(list, depth, &mut all);
    Value::list(all)
}

fn distinct<'a>(list: &[Value<'a>]) -> Value<'a> {
    let mut kept: Vec<Value<'a>> = Vec::new();
    for item in list {
        if !kept.iter().any(|other| same(item, other)) {
            kept.push(item.clone());
        }
    }
    Value::list(kept)
}

/// The elements in the order of the keys at their places.
fn by_keys<'a>(list: &[Value<'a>], keys: &[Value<'a>]) -> Value<'a> {
    if list.len() != keys.len() {
        return refused("`sortBy` needs a key for each element");
    }
    let Some(first) = keys.first() else { return Value::list([]) };
    if !has_order(first) {
        return no_overload("sort", std::slice::from_ref(first));
    }
    if keys.iter().any(|key| type_name(key) != type_name(first)) {
        return refused("the elements to sort have more than one type");
    }
    let less = |a: usize, b: usize| compare(&keys[a], &keys[b]) == Some(Ordering::Less);
    let mut places: Vec<usize> = (0..list.len()).collect();
    sort_places(&mut places, &less);
    Value::list(places.into_iter().map(|at| list[at].clone()))
}

/// A stable sort for an order that NaN may spoil: short lists by insertion, as Go does it, long ones by merging.
fn sort_places(places: &mut [usize], less: &impl Fn(usize, usize) -> bool) {
    if places.len() > SHORT {
        let (left, right) = places.split_at_mut(places.len() / 2);
        sort_places(left, less);
        sort_places(right, less);
        let (left, right) = (left.to_vec(), right.to_vec());
        let (mut left, mut right) = (left.into_iter().peekable(), right.into_iter().peekable());
        for place in places {
            let from_right = match (left.peek(), right.peek()) {
                (Some(a), Some(b)) => less(*b, *a),
                (a, _) => a.is_none(),
            };
            *place = if from_right { right.next() } else { left.next() }.unwrap_or(*place);
        }
        return;
    }
    for end in 1..places.len() {
        let mut at = end;
        while at > 0 && less(places[at], places[at - 1]) {
            places.swap(at, at - 1);
            at -= 1;
        }
    }
}
