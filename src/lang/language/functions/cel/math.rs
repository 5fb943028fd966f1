//! cel-go's functions of numbers, which Kubernetes leaves out.

use super::comparisons::compare;
use super::{no_overload, overflow, refused, row};
use crate::lang::language::functions::{Absence, Body, Dialects, Examples, FunctionDef, Prepared};
use crate::lang::types::Ty;
use crate::lang::types::value::{FaultKind, Value};
use std::cmp::Ordering;

const fn function(
    name: &'static str,
    params: &'static [Ty],
    result: Ty,
    body: Body,
    doc: &'static str,
    examples: Examples,
) -> FunctionDef {
    let row = row(name, params, result, body, doc, examples);
    FunctionDef { dialects: Dialects::SPECIFICATION, names: &["x", "y"], ..row }
}

const fn greatest(params: &'static [Ty], result: Ty) -> FunctionDef {
    let doc = "the greatest of the numbers; an error if one is NaN and compared, or for an empty list";
    let body: Body = |args, _| extreme("math.greatest", args, Ordering::Less);
    function("math.greatest", params, result, body, doc, &[("math.greatest(1, 2.0, 3u)", "3u")])
}

const fn least(params: &'static [Ty], result: Ty) -> FunctionDef {
    let doc = "the least of the numbers; an error if one is NaN and compared, or for an empty list";
    let body: Body = |args, _| extreme("math.least", args, Ordering::Greater);
    function("math.least", params, result, body, doc, &[("math.least([1, 2])", "1")])
}

const fn rounded(name: &'static str, body: Body, doc: &'static str, examples: Examples) -> FunctionDef {
    function(name, &[Ty::Float], Ty::Float, body, doc, examples)
}

const fn is(name: &'static str, body: Body, doc: &'static str, examples: Examples) -> FunctionDef {
    function(name, &[Ty::Float], Ty::Bool, body, doc, examples)
}

/// NaN has no order, and an empty list no number.
const fn partial(def: FunctionDef) -> FunctionDef {
    FunctionDef { absent: Absence::Maybe, ..def }
}

/// Three numbers and more.
const fn repeated(def: FunctionDef) -> FunctionDef {
    FunctionDef { repeats: true, names: &["x", "y", "z"], ..def }
}

/// The overloads of `math.greatest` and `math.least`, one for the numbers of each type, alone, in pairs and in lists.
macro_rules! extremes {
    ($make:expr) => {
        &[
            $make(&[Ty::Float], Ty::Float),
            $make(&[Ty::Int], Ty::Int),
            $make(&[Ty::Uint], Ty::Uint),
            partial($make(&[Ty::Float, Ty::Float], Ty::Float)),
            $make(&[Ty::Int, Ty::Int], Ty::Int),
            $make(&[Ty::Uint, Ty::Uint], Ty::Uint),
            $make(&[Ty::Int, Ty::Uint], Ty::Dyn),
            partial($make(&[Ty::Int, Ty::Float], Ty::Dyn)),
            partial($make(&[Ty::Float, Ty::Int], Ty::Dyn)),
            partial($make(&[Ty::Float, Ty::Uint], Ty::Dyn)),
            $make(&[Ty::Uint, Ty::Int], Ty::Dyn),
            partial($make(&[Ty::Uint, Ty::Float], Ty::Dyn)),
            partial($make(&[Ty::List(&Ty::Float)], Ty::Float)),
            partial($make(&[Ty::List(&Ty::Int)], Ty::Int)),
            partial($make(&[Ty::List(&Ty::Uint)], Ty::Uint)),
            partial(repeated($make(&[Ty::Float, Ty::Float, Ty::Float], Ty::Float))),
            repeated($make(&[Ty::Int, Ty::Int, Ty::Int], Ty::Int)),
            repeated($make(&[Ty::Uint, Ty::Uint, Ty::Uint], Ty::Uint)),
            partial(repeated($make(&[Ty::Dyn, Ty::Dyn, Ty::Dyn], Ty::Dyn))),
        ]
    };
}

/// `math.greatest`
pub(in super::super) static GREATEST: &[FunctionDef] = extremes!(greatest);
/// `math.least`
pub(in super::super) static LEAST: &[FunctionDef] = extremes!(least);

const fn bits(
    name: &'static str,
    params: &'static [Ty],
    body: Body,
    doc: &'static str,
    examples: Examples,
) -> FunctionDef {
    FunctionDef { result: params[0], ..function(name, params, Ty::Int, body, doc, examples) }
}

const INTS: &[Ty] = &[Ty::Int, Ty::Int];
const UINTS: &[Ty] = &[Ty::Uint, Ty::Uint];
const UINT_INT: &[Ty] = &[Ty::Uint, Ty::Int];
const AND: &str = "the bits that both numbers have";
const OR: &str = "the bits that one of the numbers has";
const XOR: &str = "the bits that exactly one of the numbers has";
const LEFT: &str = "the bits moved up by y places, 0 from the 64th place on; an error below 0";
const RIGHT: &str = "the bits moved down by y places, zeros from above; an error below 0";

/// The functions of bits.
pub(in super::super) static BITS: &[FunctionDef] = &[
    bits("math.bitAnd", INTS, bit_and, AND, &[("math.bitAnd(3, 6)", "2")]),
    bits("math.bitAnd", UINTS, bit_and, AND, &[("math.bitAnd(3u, 6u)", "2u")]),
    bits("math.bitOr", INTS, bit_or, OR, &[("math.bitOr(1, 2)", "3")]),
    bits("math.bitOr", UINTS, bit_or, OR, &[("math.bitOr(1u, 2u)", "3u")]),
    bits("math.bitXor", INTS, bit_xor, XOR, &[("math.bitXor(3, 1)", "2")]),
    bits("math.bitXor", UINTS, bit_xor, XOR, &[("math.bitXor(3u, 1u)", "2u")]),
    partial(bits("math.bitShiftLeft", INTS, shift_left, LEFT, &[("math.bitShiftLeft(1, 2)", "4")])),
    partial(bits("math.bitShiftLeft", UINT_INT, shift_left, LEFT, &[("math.bitShiftLeft(1u, 2)", "4u")])),
    partial(bits("math.bitShiftRight", INTS, shift_right, RIGHT, &[("math.bitShiftRight(8, 2)", "2")])),
    partial(bits("math.bitShiftRight", UINT_INT, shift_right, RIGHT, &[("math.bitShiftRight(8u, 2)", "2u")])),
];

/// The family's other rows.
pub(in super::super) static FUNCTIONS: &[FunctionDef] = &[
    rounded(
        "math.ceil",
        |args, _| of_float("math.ceil", args, f64::ceil),
        "the smallest whole number at or above x",
        &[("math.ceil(1.2)", "2.0")],
    ),
    rounded(
        "math.floor",
        |args, _| of_float("math.floor", args, f64::floor),
        "the largest whole number at or below x",
        &[("math.floor(1.2)", "1.0")],
    ),
    rounded(
        "math.round",
        |args, _| of_float("math.round", args, f64::round),
        "the nearest whole number; halves away from 0",
        &[("math.round(-1.5)", "-2.0")],
    ),
    rounded(
        "math.trunc",
        |args, _| of_float("math.trunc", args, f64::trunc),
        "x without digits after the point",
        &[("math.trunc(-1.5)", "-1.0")],
    ),
    is(
        "math.isInf",
        |args, _| test("math.isInf", args, f64::is_infinite),
        "true for both infinities",
        &[("math.isInf(1.0 / 0.0)", "true")],
    ),
    is(
        "math.isNaN",
        |args, _| test("math.isNaN", args, f64::is_nan),
        "true for NaN",
        &[("math.isNaN(0.0 / 0.0)", "true")],
    ),
    is(
        "math.isFinite",
        |args, _| test("math.isFinite", args, f64::is_finite),
        "true unless x is infinite or NaN",
        &[("math.isFinite(1.0)", "true")],
    ),
    function(
        "math.abs",
        &[Ty::Float],
        Ty::Float,
        |args, _| of_float("math.abs", args, f64::abs),
        "x without its sign",
        &[("math.abs(-1.5)", "1.5")],
    ),
    partial(function(
        "math.abs",
        &[Ty::Int],
        Ty::Int,
        |args, _| match args {
            [Value::Int(x)] => x.checked_abs().map_or_else(|| overflow("`math.abs`"), Value::Int),
            _ => no_overload("math.abs", args),
        },
        "x without its sign; an error for the smallest int",
        &[("math.abs(-1)", "1")],
    )),
    function(
        "math.abs",
        &[Ty::Uint],
        Ty::Uint,
        |args, _| args.first().cloned().unwrap_or(Value::Absent),
        "x itself",
        &[("math.abs(1u)", "1u")],
    ),
    function("math.sign", &[Ty::Float], Ty::Float, sign, SIGN, &[("math.sign(-1.5)", "-1.0")]),
    function("math.sign", &[Ty::Int], Ty::Int, sign, SIGN, &[("math.sign(-2)", "-1")]),
    function("math.sign", &[Ty::Uint], Ty::Uint, sign, SIGN, &[("math.sign(2u)", "1u")]),
    function("math.sqrt", &[Ty::Float], Ty::Float, sqrt, SQRT, &[("math.sqrt(2.25)", "1.5")]),
    function("math.sqrt", &[Ty::Int], Ty::Float, sqrt, SQRT, &[("math.sqrt(4)", "2.0")]),
    function("math.sqrt", &[Ty::Uint], Ty::Float, sqrt, SQRT, &[("math.sqrt(4u)", "2.0")]),
    function("math.bitNot", &[Ty::Int], Ty::Int, bit_not, BIT_NOT, &[("math.bitNot(0)", "-1")]),
    function(
        "math.bitNot",
        &[Ty::Uint],
        Ty::Uint,
        bit_not,
        BIT_NOT,
        &[("math.bitNot(0u)", "18446744073709551615u")],
    ),
];

const SIGN: &str = "-1, 0 or 1 of the type of x; NaN for NaN";
const SQRT: &str = "the square root as a double; NaN below 0";
const BIT_NOT: &str = "every bit the other way round";

fn of_float<'a>(name: &str, args: &[Value<'a>], body: fn(f64) -> f64) -> Value<'a> {
    match args {
        [Value::Float(x)] => Value::Float(body(*x)),
        _ => no_overload(name, args),
    }
}

fn test<'a>(name: &str, args: &[Value<'a>], body: fn(f64) -> bool) -> Value<'a> {
    match args {
        [Value::Float(x)] => Value::Bool(body(*x)),
        _ => no_overload(name, args),
    }
}

fn sign<'a>(args: &[Value<'a>], _: &Prepared) -> Value<'a> {
    match args {
        [Value::Float(x)] if *x == 0.0 => Value::Float(0.0),
        [Value::Float(x)] if x.is_nan() => Value::Float(*x),
        [Value::Float(x)] => Value::Float(x.signum()),
        [Value::Int(x)] => Value::Int(x.signum()),
        [Value::Uint(x)] => Value::Uint(u64::from(*x > 0)),
        _ => no_overload("math.sign", args),
    }
}

fn sqrt<'a>(args: &[Value<'a>], _: &Prepared) -> Value<'a> {
    match args.first().and_then(Value::as_float) {
        Some(x) => Value::Float(x.sqrt()),
        None => no_overload("math.sqrt", args),
    }
}

fn bit_not<'a>(args: &[Value<'a>], _: &Prepared) -> Value<'a> {
    match args {
        [Value::Int(x)] => Value::Int(!x),
        [Value::Uint(x)] => Value::Uint(!x),
        _ => no_overload("math.bitNot", args),
    }
}

fn bit_and<'a>(args: &[Value<'a>], _: &Prepared) -> Value<'a> {
    combined("math.bitAnd", args, |a, b| a & b)
}

fn bit_or<'a>(args: &[Value<'a>], _: &Prepared) -> Value<'a> {
    combined("math.bitOr", args, |a, b| a | b)
}

fn bit_xor<'a>(args: &[Value<'a>], _: &Prepared) -> Value<'a> {
    combined("math.bitXor", args, |a, b| a ^ b)
}

fn shift_left<'a>(args: &[Value<'a>], _: &Prepared) -> Value<'a> {
    shifted("math.bitShiftLeft", args, u64::checked_shl)
}

fn shift_right<'a>(args: &[Value<'a>], _: &Prepared) -> Value<'a> {
    shifted("math.bitShiftRight", args, u64::checked_shr)
}

fn combined<'a>(name: &str, args: &[Value<'a>], body: fn(u64, u64) -> u64) -> Value<'a> {
    match args {
        [Value::Int(a), Value::Int(b)] => {
            Value::Int(body(a.cast_unsigned(), b.cast_unsigned()).cast_signed())
        }
        [Value::Uint(a), Value::Uint(b)] => Value::Uint(body(*a, *b)),
        _ => no_overload(name, args),
    }
}

fn shifted<'a>(name: &str, args: &[Value<'a>], body: fn(u64, u32) -> Option<u64>) -> Value<'a> {
    let by = |by: &i64| u32::try_from(*by).unwrap_or(64);
    match args {
        [_, Value::Int(places)] if *places < 0 => refused(format!("`{name}` by {places}, which is negative")),
        [Value::Int(x), Value::Int(places)] => {
            Value::Int(body(x.cast_unsigned(), by(places)).unwrap_or(0).cast_signed())
        }
        [Value::Uint(x), Value::Int(places)] => Value::Uint(body(*x, by(places)).unwrap_or(0)),
        _ => no_overload(name, args),
    }
}

/// The first number that is not `worse` than another.
fn extreme<'a>(name: &str, args: &[Value<'a>], worse: Ordering) -> Value<'a> {
    let listed = args.first().filter(|_| args.len() == 1).and_then(Value::elements);
    let numbers = listed.as_deref().unwrap_or(args);
    let Some((first, rest)) = numbers.split_first() else {
        return refused(format!("`{name}` of an empty list"));
    };
    let mut best = first;
    for number in rest {
        match compare(best, number) {
            Some(order) if order == worse => best = number,
            Some(_) => {}
            None if matches!(best, Value::Float(x) if x.is_nan())
                || matches!(number, Value::Float(x) if x.is_nan()) =>
            {
                return Value::fault(FaultKind::BadArgument, "NaN has no order");
            }
            None => return no_overload(name, &[best.clone(), number.clone()]),
        }
    }
    match best {
        Value::Int(_) | Value::Uint(_) | Value::Float(_) => best.clone(),
        other => no_overload(name, std::slice::from_ref(other)),
    }
}
