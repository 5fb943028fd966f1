//! Lists, sets and maps. Order and equality are those of `Value`; sorts are stable.

use super::{Absence, Dialects, FunctionDef, Grows, Influence, Prepared, Presence, Work};
use crate::types::Ty;
use crate::types::arithmetic;
use crate::types::range::Range;
use crate::types::value::{Ordered, Value};
use std::cmp::Ordering;
use std::collections::BTreeSet;

const BASE: FunctionDef = FunctionDef { method: true, ..FunctionDef::BASE };
const L: Ty = Ty::List(&Ty::Var('t'));
const ORDERED: Ty = Ty::List(&Ty::Ordered('t'));
const NUMBERS: Ty = Ty::List(&Ty::Number('t'));
const M: Ty = Ty::Map(&Ty::Var('k'), &Ty::Var('v'));
const T: Ty = Ty::Var('t');

/// The longest list that is computed.
const RANGE: i64 = 100_000;

const fn sized(name: &'static str, method: bool, params: &'static [Ty]) -> FunctionDef {
    FunctionDef {
        name,
        method,
        params,
        names: &["of"],
        result: Ty::Int,
        influence: &[Influence::Raises],
        counts_elements: true,
        range: Some(size_range),
        body: |args, _| match args {
            [of] => Value::Int(of.size().unwrap_or(0) as i64),
            _ => Value::Absent,
        },
        doc: "the number of elements of a list, or of entries of a map",
        examples: &[],
        ..BASE
    }
}

pub(super) const DISTINCT: FunctionDef = FunctionDef {
    name: "distinct",
    work: Work::Sorts,
    params: &[L],
    names: &["list"],
    result: L,
    body: |args, _| items(args, |items| Value::set(items.iter().cloned())),
    doc: "the elements without duplicates, in the order of first appearance",
    examples: &[("[1, 2, 1].distinct()", "[1, 2]")],
    ..BASE
};

pub(super) const FLATTEN: FunctionDef = FunctionDef {
    name: "flatten",
    grows: Grows::Flattens,
    params: &[Ty::List(&L)],
    names: &["lists"],
    result: L,
    body: |args, _| {
        items(args, |items| {
            let inner = items.iter().filter_map(|item| item.elements());
            Value::list(inner.flat_map(|list| list.into_owned()))
        })
    },
    doc: "the elements of all lists, joined into one list",
    examples: &[("[[1], [2, 3]].flatten()", "[1, 2, 3]")],
    ..BASE
};

pub(super) const INDEX_OF: FunctionDef = FunctionDef {
    name: "indexOf",
    params: &[L, T],
    names: &["list", "element"],
    result: Ty::Int,
    range: Some(|_| Range::whole(-1, i32::MAX as i128)),
    body: |args, _| match args {
        [list, wanted] => list.elements().map_or(Value::Absent, |list| {
            Value::Int(list.iter().position(|item| item.equals(wanted)).map_or(-1, |at| at as i64))
        }),
        _ => Value::Absent,
    },
    doc: "the index of the first element that equals the argument; -1 if there is none",
    examples: &[("[\"a\", \"b\"].indexOf(\"b\")", "1"), ("[1].indexOf(2)", "-1")],
    ..BASE
};

pub(super) const LAST_INDEX_OF: FunctionDef = FunctionDef {
    name: "lastIndexOf",
    body: |args, _| match args {
        [list, wanted] => list.elements().map_or(Value::Absent, |list| {
            Value::Int(list.iter().rposition(|item| item.equals(wanted)).map_or(-1, |at| at as i64))
        }),
        _ => Value::Absent,
    },
    doc: "the index of the last element that equals the argument; -1 if there is none",
    examples: &[("[1, 2, 1].lastIndexOf(1)", "2")],
    ..INDEX_OF
};

/// What the rows of `sets` share.
const SETS: FunctionDef = FunctionDef {
    work: Work::Sorts,
    method: false,
    params: &[L, L],
    names: &["list", "other"],
    result: Ty::Bool,
    ..BASE
};

pub(super) const SETS_CONTAINS: FunctionDef = FunctionDef {
    name: "sets.contains",
    names: &["list", "part"],
    body: |args, _| {
        two(args, |a, b| {
            let all = set(a);
            Value::Bool(b.iter().all(|item| all.contains(&Ordered(item.clone()))))
        })
    },
    doc: "true if the list has every element of `part`",
    examples: &[("sets.contains([1, 2], [1])", "true"), ("sets.contains([1], [2])", "false")],
    ..SETS
};

pub(super) const SETS_INTERSECTS: FunctionDef = FunctionDef {
    name: "sets.intersects",
    body: |args, _| {
        two(args, |a, b| {
            let all = set(a);
            Value::Bool(b.iter().any(|item| all.contains(&Ordered(item.clone()))))
        })
    },
    doc: "true if the lists have an element in common",
    examples: &[("sets.intersects([1, 2], [2])", "true")],
    ..SETS
};

pub(super) const SETS_EQUIVALENT: FunctionDef = FunctionDef {
    name: "sets.equivalent",
    body: |args, _| two(args, |a, b| Value::Bool(set(a) == set(b))),
    doc: "true if the lists have the same elements; order and duplicates do not matter",
    examples: &[("sets.equivalent([1, 2], [2, 1, 1])", "true")],
    ..SETS
};

/// The family's rows.
pub(crate) static FUNCTIONS: &[FunctionDef] = &[
    FunctionDef { examples: &[("[1, 2].size()", "2")], ..sized("size", true, &[L]) },
    FunctionDef { examples: &[("{\"a\": 1}.size()", "1")], ..sized("size", true, &[M]) },
    FunctionDef {
        examples: &[("resources({\"cpu\": \"1\", \"memory\": \"1Gi\"}).size()", "2")],
        ..sized("size", true, &[Ty::Resources])
    },
    FunctionDef { examples: &[("size([1, 2])", "2")], ..sized("size", false, &[L]) },
    FunctionDef { examples: &[("size({\"a\": 1})", "1")], ..sized("size", false, &[M]) },
    FunctionDef { examples: &[("[1, 2].count()", "2")], ..sized("count", true, &[L]) },
    FunctionDef {
        name: "first",
        params: &[L],
        names: &["list"],
        result: T,
        absent: Absence::Maybe,
        body: |args, _| items(args, |items| Value::optional(items.first().cloned())),
        doc: "the first element; absent if the list is empty",
        examples: &[("[3, 4].first()", "3"), ("[3].drop(1).first()", "none")],
        ..BASE
    },
    FunctionDef {
        name: "last",
        params: &[L],
        names: &["list"],
        result: T,
        absent: Absence::Maybe,
        body: |args, _| items(args, |items| Value::optional(items.last().cloned())),
        doc: "the last element; absent if the list is empty",
        examples: &[("[3, 4].last()", "4")],
        ..BASE
    },
    FunctionDef {
        name: "present",
        presence: Some(Presence::Compacts),
        params: &[Ty::List(&Ty::Optional(&Ty::Var('t')))],
        names: &["list"],
        result: L,
        body: |args, _| items(args, |items| Value::list(items.iter().filter(|i| !i.is_absent()).cloned())),
        doc: "the elements that have a value, in their order",
        examples: &[("[int(\"1\"), none].present()", "[1]")],
        ..BASE
    },
    FunctionDef {
        name: "take",
        grows: Grows::Takes(1),
        params: &[L, Ty::Int],
        names: &["list", "n"],
        result: L,
        body: |args, _| match args {
            [list, Value::Int(n)] => {
                let n = usize::try_from(*n).unwrap_or(0);
                list.elements().map_or(Value::Absent, |l| Value::list(l.iter().take(n).cloned()))
            }
            _ => Value::Absent,
        },
        doc: "the first n elements; the whole list if it is shorter",
        examples: &[("[1, 2, 3].take(2)", "[1, 2]"), ("[1].take(5)", "[1]")],
        ..BASE
    },
    FunctionDef {
        name: "drop",
        params: &[L, Ty::Int],
        names: &["list", "n"],
        result: L,
        body: |args, _| match args {
            [list, Value::Int(n)] => {
                let n = usize::try_from(*n).unwrap_or(0);
                list.elements().map_or(Value::Absent, |l| Value::list(l.iter().skip(n).cloned()))
            }
            _ => Value::Absent,
        },
        doc: "the list without its first n elements",
        examples: &[("[1, 2, 3].drop(2)", "[3]")],
        ..BASE
    },
    FunctionDef {
        name: "slice",
        dialects: Dialects::ALL,
        grows: Grows::Takes(2),
        params: &[L, Ty::Int, Ty::Int],
        names: &["list", "from", "to"],
        result: L,
        absent: Absence::Maybe,
        body: |args, _| match args {
            [list, Value::Int(from), Value::Int(to)] => {
                let Some(list) = list.elements() else { return Value::Absent };
                match (usize::try_from(*from), usize::try_from(*to)) {
                    (Ok(from), Ok(to)) if from <= to && to <= list.len() => {
                        Value::list(list[from..to].iter().cloned())
                    }
                    _ => Value::Absent,
                }
            }
            _ => Value::Absent,
        },
        doc: "the elements from index `from` up to, but not including, index `to`; absent if an \
              index is out of bounds",
        examples: &[("[1, 2, 3].slice(1, 3)", "[2, 3]")],
        ..BASE
    },
    FunctionDef {
        name: "union",
        work: Work::Sorts,
        grows: Grows::Adds,
        params: &[L, L],
        names: &["list", "other"],
        result: L,
        body: |args, _| two(args, |a, b| Value::set(a.iter().chain(b).cloned())),
        doc: "the elements of both lists without duplicates, in the order of first appearance",
        examples: &[("[1, 2].union([2, 3])", "[1, 2, 3]")],
        ..BASE
    },
    FunctionDef {
        name: "minus",
        work: Work::Sorts,
        params: &[L, L],
        names: &["list", "other"],
        result: L,
        body: |args, _| {
            two(args, |a, b| {
                let other = set(b);
                Value::list(a.iter().filter(|item| !other.contains(&Ordered((*item).clone()))).cloned())
            })
        },
        doc: "the elements that are not in the other list, in their order",
        examples: &[("[1, 2, 3].minus([2])", "[1, 3]")],
        ..BASE
    },
    FunctionDef {
        name: "intersect",
        work: Work::Sorts,
        params: &[L, L],
        names: &["list", "other"],
        result: L,
        body: |args, _| {
            two(args, |a, b| {
                let other = set(b);
                Value::set(a.iter().filter(|item| other.contains(&Ordered((*item).clone()))).cloned())
            })
        },
        doc: "the elements that both lists have, without duplicates, in the order of the first \
              list",
        examples: &[("[3, 2, 1].intersect([1, 3])", "[3, 1]")],
        ..BASE
    },
    DISTINCT,
    FLATTEN,
    FunctionDef {
        name: "reverse",
        dialects: Dialects::ALL,
        params: &[L],
        names: &["list"],
        result: L,
        body: |args, _| items(args, |items| Value::list(items.iter().rev().cloned())),
        doc: "the elements in reverse order",
        examples: &[("[1, 2].reverse()", "[2, 1]")],
        ..BASE
    },
    FunctionDef {
        name: "sort",
        work: Work::Sorts,
        params: &[ORDERED],
        names: &["list"],
        result: ORDERED,
        body: |args, _| {
            items(args, |items| {
                let mut sorted = items.to_vec();
                sorted.sort_by(Value::order);
                Value::list(sorted)
            })
        },
        doc: "the elements in ascending order; the sort is stable",
        examples: &[("[2, 1].sort()", "[1, 2]")],
        ..BASE
    },
    FunctionDef {
        name: "isSorted",
        params: &[ORDERED],
        names: &["list"],
        result: Ty::Bool,
        body: |args, _| {
            items(args, |items| Value::Bool(items.windows(2).all(|w| w[0].order(&w[1]) != Ordering::Greater)))
        },
        doc: "true if the elements are in ascending order",
        examples: &[("[1, 2, 2].isSorted()", "true"), ("[2, 1].isSorted()", "false")],
        ..BASE
    },
    FunctionDef {
        name: "sum",
        influence: &[Influence::Raises],
        params: &[NUMBERS],
        names: &["list"],
        result: Ty::Number('t'),
        sums: true,
        body: |args, prepared| {
            let zero = if let Prepared::Zero(zero) = prepared { zero } else { &Value::Int(0) };
            items(args, |items| items.iter().fold(zero.clone(), |sum, item| add(&sum, item)))
        },
        doc: "the sum of the elements; 0 for an empty list",
        examples: &[
            ("[1, 2].sum()", "3"),
            ("[1cpu, 500m].sum()", "1500m"),
            ("[0.5].sum()", "0.5"),
            ("string([].sum())", "\"0\""),
            ("[1u].drop(1).sum()", "0u"),
        ],
        ..BASE
    },
    FunctionDef {
        name: "min",
        influence: &[Influence::Raises],
        params: &[ORDERED],
        names: &["list"],
        result: Ty::Ordered('t'),
        absent: Absence::Maybe,
        body: |args, _| items(args, |items| extreme(items, Ordering::Less)),
        doc: "the smallest element; absent if the list is empty",
        examples: &[("[2, 1].min()", "1")],
        ..BASE
    },
    FunctionDef {
        name: "max",
        influence: &[Influence::Raises],
        params: &[ORDERED],
        names: &["list"],
        result: Ty::Ordered('t'),
        absent: Absence::Maybe,
        body: |args, _| items(args, |items| extreme(items, Ordering::Greater)),
        doc: "the largest element; absent if the list is empty",
        examples: &[("[2, 1].max()", "2")],
        ..BASE
    },
    INDEX_OF,
    LAST_INDEX_OF,
    FunctionDef {
        name: "lists.range",
        grows: Grows::Counts,
        method: false,
        params: &[Ty::Int],
        names: &["n"],
        result: Ty::List(&Ty::Int),
        demand: Some(|ranges| match ranges.first().and_then(|n| n.ends()) {
            Some((_, most)) if most <= RANGE as f64 => Ok(()),
            _ => Err((0, "`lists.range` needs a number that is known to be at most 100,000")),
        }),
        body: |args, _| match args {
            [Value::Int(n)] => Value::list((0..(*n).min(RANGE)).map(Value::Int)),
            _ => Value::Absent,
        },
        doc: "the ints from 0 up to, but not including, n; the compiler must be able to prove that \
              n is at most 100,000",
        examples: &[("lists.range(3)", "[0, 1, 2]"), ("lists.range(-1).size()", "0")],
        ..BASE
    },
    SETS_CONTAINS,
    SETS_INTERSECTS,
    SETS_EQUIVALENT,
];

fn size_range(_: &[Range]) -> Range {
    Range::whole(0, i128::from(i32::MAX))
}

/// A sum with one more number: a float if one of the two is one.
fn add<'a>(sum: &Value<'a>, item: &Value<'a>) -> Value<'a> {
    match (sum, item) {
        (Value::Int(sum), Value::Int(item)) => Value::Int(sum.saturating_add(*item)),
        (Value::Uint(sum), Value::Uint(item)) => Value::Uint(sum.saturating_add(*item)),
        (sum, item) => match (sum.as_float(), item.as_float()) {
            (Some(sum), Some(item)) => Value::Float(arithmetic::finite(sum + item)),
            _ => sum.clone(),
        },
    }
}

/// The first element that no other comes before (`Less`) or after (`Greater`).
fn extreme<'a>(items: &[Value<'a>], which: Ordering) -> Value<'a> {
    let better = |best: &'_ Value<'a>, item: &Value<'a>| item.order(best) == which;
    let best = items.iter().reduce(|best, item| if better(best, item) { item } else { best });
    Value::optional(best.cloned())
}

fn items<'a>(args: &[Value<'a>], f: impl Fn(&[Value<'a>]) -> Value<'a>) -> Value<'a> {
    match args {
        [list] => list.elements().map_or(Value::Absent, |items| f(&items)),
        _ => Value::Absent,
    }
}

fn two<'a>(args: &[Value<'a>], f: impl Fn(&[Value<'a>], &[Value<'a>]) -> Value<'a>) -> Value<'a> {
    match args {
        [a, b] => match (a.elements(), b.elements()) {
            (Some(a), Some(b)) => f(&a, &b),
            _ => Value::Absent,
        },
        _ => Value::Absent,
    }
}

fn set<'a>(items: &[Value<'a>]) -> BTreeSet<Ordered<'a>> {
    items.iter().cloned().map(Ordered).collect()
}
