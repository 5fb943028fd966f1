//! `size`. The order of the overloads is cel-go's, which takes the first where the type of the argument is open.

use super::{METHOD, no_overload};
use crate::language::functions::{Examples, FunctionDef, Influence};
use crate::types::Ty;
use crate::types::range::Range;
use crate::types::value::Value;

const L: Ty = Ty::List(&Ty::Var('t'));
const M: Ty = Ty::Map(&Ty::Var('k'), &Ty::Var('v'));

const fn sized(method: bool, params: &'static [Ty], doc: &'static str, examples: Examples) -> FunctionDef {
    FunctionDef {
        name: "size",
        method,
        params,
        names: &["of"],
        result: Ty::Int,
        influence: &[Influence::Raises],
        counts_elements: true,
        range: Some(|_| Range::whole(0, i128::from(i64::MAX))),
        body: |args, _| match args.first().and_then(Value::size) {
            Some(size) => Value::Int(size as i64),
            None => no_overload("size", args),
        },
        doc,
        examples,
        ..METHOD
    }
}

const BYTES: &str = "the number of bytes";
const ELEMENTS: &str = "the number of elements";
const ENTRIES: &str = "the number of entries";
const CODE_POINTS: &str = "the number of Unicode code points";

/// The family's rows.
pub(in super::super) static FUNCTIONS: &[FunctionDef] = &[
    sized(false, &[Ty::Blob], BYTES, &[("size(b'abc')", "3")]),
    sized(true, &[Ty::Blob], BYTES, &[("b'abc'.size()", "3")]),
    sized(false, &[L], ELEMENTS, &[("size([1, 2])", "2")]),
    sized(true, &[L], ELEMENTS, &[("[1, 2].size()", "2")]),
    sized(false, &[M], ENTRIES, &[("size({'a': 1})", "1")]),
    sized(true, &[M], ENTRIES, &[("{'a': 1}.size()", "1")]),
    sized(false, &[Ty::String], CODE_POINTS, &[("size('äb')", "2")]),
    sized(true, &[Ty::String], CODE_POINTS, &[("'äb'.size()", "2")]),
];
