//! What the operations of CEL do with values: the overload is the one that the values fit, and what has no
//! value is a fault.
//!
//! Like the bodies of functions, it is the one definition that the reference evaluator and the closures both
//! call; recorded verdicts of Kubernetes' own CEL are what it is tested against.

use crate::language::functions::{FunctionId, Prepared, cel};
use crate::typed::{ArithmeticOp, CompareOp, Operation};
use crate::types::value::{Cel, Fault, FaultKind, Instant, Value};
use crate::types::{CelType, Ty, Type};
use smallvec::SmallVec;
use std::cmp::Ordering;
use std::sync::Arc;

/// What the fault of a macro over something else begins with; the name of the type follows.
pub const GOES_OVER: &str = "a macro goes over a list or a map, this is of the type ";

/// The operands of an operation, in order; few are held without an allocation.
pub(crate) type Operands<'a> = SmallVec<[Value<'a>; 4]>;

/// The value of an operation; operands are neither faults nor, but for [`Operation::Demand`], absent.
pub(crate) fn operate<'a>(operation: &Operation, args: Operands<'a>) -> Value<'a> {
    if let Operation::Demand(kind) = operation {
        let value = args.into_iter().next().unwrap_or(Value::Absent);
        return if value.is_absent() { missing(*kind) } else { value };
    }
    let args: Operands<'a> = args.into_iter().map(settled).collect();
    match (operation, args.as_slice()) {
        (Operation::Truth, [value @ Value::Bool(_)]) => value.clone(),
        (Operation::Iterable, [value]) if is_collection(value) => value.clone(),
        (Operation::Iterable, [value]) => {
            Value::fault(FaultKind::NoSuchOverload, format!("{GOES_OVER}{}", kind_name(value)))
        }
        (Operation::Mapping, [value]) if value.entries().is_some() => value.clone(),
        (Operation::Sortable, [value @ Value::List(_)]) => value.clone(),
        (Operation::Counted(true), [value]) if value.elements().is_some() => value.clone(),
        (Operation::Counted(false), [value @ Value::Int(_)]) => value.clone(),
        (Operation::Counted(list), [value]) => {
            let wanted = if *list { "list" } else { "whole number" };
            cel::stopped(format!("a {wanted} is expected, this is a value of type {}", kind_name(value)))
        }
        (Operation::Optional, [value @ Value::Optional(_)]) => value.clone(),
        (Operation::Branch, [Value::Optional(Some(held))]) => Value::Optional(Some(Arc::new(anew(held)))),
        (Operation::Branch, [value]) => value.clone(),
        (Operation::Plain, [Value::Optional(Some(held))]) => anew(held),
        (Operation::Plain, [Value::TypeName(name)]) => Value::text(name.as_str()),
        (Operation::Plain, [value]) => value.clone(),
        (Operation::Held, [Value::Optional(held)]) => Value::optional(held.as_deref().cloned()),
        (Operation::Exact(ty), [value]) => exact(ty, value),
        (Operation::Arithmetic(op), [a, b]) => arithmetic(*op, a, b),
        (Operation::Negate, [Value::Int(number)]) => match number.checked_neg() {
            Some(number) => Value::Int(number),
            None => overflow(),
        },
        (Operation::Negate, [Value::Float(number)]) => Value::Float(-number),
        (Operation::Negate, [value @ Value::Cel(Cel::Duration(_))]) => {
            cel::negate(value).unwrap_or_else(|| no_overload(&args))
        }
        (Operation::Equal, [a, b]) => cel::equal(a, b).map_or_else(|fault| fault, Value::Bool),
        // A fault between two values is a difference, as in cel-go.
        (Operation::NotEqual, [a, b]) => Value::Bool(!cel::equal(a, b).unwrap_or(false)),
        (Operation::Compare(op), [a, b]) => compare(*op, a, b),
        (Operation::In(is_variable), [a, b]) => is_in(a, b, *is_variable),
        (Operation::Select(name), [object]) => select(object, &Value::text(name.clone()), false),
        (Operation::OptionalSelect(name), [object]) => select(object, &Value::text(name.clone()), true),
        (Operation::HasField(name), [object]) => has_field(object, name),
        (Operation::Hashed, [value]) if cel::has_no_hash(value) => no_hash(value),
        (Operation::Hashed, [value]) => value.clone(),
        (Operation::HasValue(name), [object @ Value::Optional(_)]) => {
            select(object, &Value::text(name.clone()), true)
        }
        (Operation::HasValue(name), [object]) => has_field(object, name),
        (Operation::Step { of: None, asks }, [element]) => step(element.clone(), *asks),
        (Operation::Step { of: Some(_), .. }, [Value::Optional(_), ..]) => of_step(operation, args),
        (Operation::Step { of: Some(of), asks }, _) => step(operate(of, args), *asks),
        (Operation::Index, [object, index]) => select(object, index, false),
        (Operation::OptionalIndex, [object, index]) => select(object, index, true),
        (Operation::Map(optional), parts) => map(optional, parts),
        (Operation::Call(rows), args) => call(rows, args),
        (_, args) => no_overload(args),
    }
}

/// The selection of a step.
fn of_step<'a>(operation: &Operation, args: Operands<'a>) -> Value<'a> {
    match operation {
        Operation::Step { of: Some(of), .. } => operate(of, args),
        _ => no_overload(&args),
    }
}

/// A field or an element that is read further: an optional has no parts there.
fn step(element: Value<'_>, asks: bool) -> Value<'_> {
    match element {
        Value::Optional(_) if asks => Value::Optional(None),
        Value::Optional(_) => missing(FaultKind::NoSuchKey),
        other => other,
    }
}

/// A fault as cel-go has it where it stops in the middle of an evaluation.
pub fn stopping(fault: &Fault) -> Fault {
    Fault { kind: FaultKind::Stopped, ..fault.clone() }
}

/// What `a.or(b)` or `a.orValue(b)` (`held`) is without `b`; `None` where `a` is empty.
pub fn or_else<'a>(value: Value<'a>, held: bool) -> Option<Value<'a>> {
    match value {
        Value::Optional(Some(of)) if held => Some(Value::clone(&of)),
        Value::Optional(Some(of)) => Some(Value::Optional(Some(of))),
        Value::Optional(None) => None,
        other => Some(other),
    }
}

/// The fault of a value that is demanded and absent.
pub fn missing<'a>(kind: FaultKind) -> Value<'a> {
    Value::fault(kind, demanded(kind))
}

/// The value of CEL for the plain value of Go that another one stands for: a name for a type, a fault for the types of
/// Kubernetes, which cel-go cannot convert.
fn anew<'a>(value: &Value<'a>) -> Value<'a> {
    match value {
        Value::Optional(None) => Value::Null,
        Value::Optional(Some(held)) => anew(held),
        Value::TypeName(name) => Value::text(name.to_string()),
        Value::Quantity(_) => unconverted("*resource.Quantity", value),
        Value::Cel(Cel::Ip(_)) => unconverted("netip.Addr", value),
        Value::Cel(Cel::Cidr(_)) => unconverted("netip.Prefix", value),
        Value::Cel(Cel::Url(_)) => unconverted("*url.URL", value),
        Value::Cel(Cel::Semver(_)) => unconverted("semver.Version", value),
        Value::Cel(Cel::Fault(fault)) => unconverted("*errors.errorString", &fault.message),
        other => other.clone(),
    }
}

/// The fault in the words of cel-go, which shows it as the value of the optional.
fn unconverted<'a>(of: &str, value: impl std::fmt::Display) -> Value<'a> {
    Value::fault(FaultKind::BadArgument, format!("unsupported conversion to ref.Val: ({of}){value}"))
}

/// The message about a value that is missing.
fn demanded(kind: FaultKind) -> &'static str {
    match kind {
        FaultKind::NoSuchKey => "no such key",
        FaultKind::NoSuchField => "no such field",
        FaultKind::IndexOutOfBounds => "the list has no element with this index",
        FaultKind::DivisionByZero => "division by zero",
        _ => "the function has no value for these arguments",
    }
}

fn overflow<'a>() -> Value<'a> {
    Value::fault(FaultKind::Overflow, "the result leaves the range of its type")
}

fn no_overload<'a>(args: &[Value<'_>]) -> Value<'a> {
    let types: Vec<&str> = args.iter().map(|arg| kind_name(arg)).collect();
    Value::fault(
        FaultKind::NoSuchOverload,
        format!("the operation is not defined for {}", types.join(" and ")),
    )
}

/// The name of the type of a value, for people.
fn kind_name(value: &Value<'_>) -> &'static str {
    cel::type_name(value).unwrap_or("an object")
}

/// JSON as values of CEL, in which `null` is a value.
pub fn settled(value: Value<'_>) -> Value<'_> {
    match value {
        Value::Json(serde_json::Value::Null) => Value::Null,
        Value::Json(serde_json::Value::Array(items)) => {
            Value::list(items.iter().map(|item| settled(Value::Json(item))))
        }
        Value::Json(serde_json::Value::Object(fields)) => {
            Value::map(fields.iter().map(|(name, of)| (Value::borrowed(name), settled(Value::Json(of)))))
        }
        other => other.plain(),
    }
}

fn is_collection(value: &Value<'_>) -> bool {
    matches!(value, Value::List(_)) || value.entries().is_some()
}

/// A field of the cluster in the form that CEL has it in.
fn exact<'a>(ty: &Type, value: &Value<'a>) -> Value<'a> {
    match (ty, value) {
        (Type::Cel(CelType::Duration), Value::Int(microseconds)) => {
            Value::Cel(Cel::Duration(microseconds.saturating_mul(1000)))
        }
        (Type::Cel(CelType::Timestamp), Value::Time(at)) => {
            let (seconds, rest) = (at.0.div_euclid(1_000_000), at.0.rem_euclid(1_000_000));
            Value::Cel(Cel::Instant(Arc::new(Instant::utc(seconds, rest as u32 * 1000))))
        }
        _ => value.clone(),
    }
}

fn arithmetic<'a>(op: ArithmeticOp, a: &Value<'a>, b: &Value<'a>) -> Value<'a> {
    let divides = matches!(op, ArithmeticOp::Divide | ArithmeticOp::Remainder);
    match (a, b) {
        (Value::Int(_), Value::Int(0)) | (Value::Uint(_), Value::Uint(0)) if divides => {
            Value::fault(FaultKind::DivisionByZero, "division by zero")
        }
        (Value::Int(a), Value::Int(b)) => {
            let result = match op {
                ArithmeticOp::Add => a.checked_add(*b),
                ArithmeticOp::Subtract => a.checked_sub(*b),
                ArithmeticOp::Multiply => a.checked_mul(*b),
                ArithmeticOp::Divide => a.checked_div(*b),
                ArithmeticOp::Remainder => a.checked_rem(*b),
            };
            result.map_or_else(overflow, Value::Int)
        }
        (Value::Uint(a), Value::Uint(b)) => {
            let result = match op {
                ArithmeticOp::Add => a.checked_add(*b),
                ArithmeticOp::Subtract => a.checked_sub(*b),
                ArithmeticOp::Multiply => a.checked_mul(*b),
                ArithmeticOp::Divide => a.checked_div(*b),
                ArithmeticOp::Remainder => a.checked_rem(*b),
            };
            result.map_or_else(overflow, Value::Uint)
        }
        (Value::Float(a), Value::Float(b)) if op != ArithmeticOp::Remainder => Value::Float(match op {
            ArithmeticOp::Add => a + b,
            ArithmeticOp::Subtract => a - b,
            ArithmeticOp::Multiply => a * b,
            _ => a / b,
        }),
        (Value::String(a), Value::String(b)) if op == ArithmeticOp::Add => {
            Value::text(format!("{}{}", a.as_str(), b.as_str()))
        }
        (Value::Blob(a), Value::Blob(b)) if op == ArithmeticOp::Add => {
            Value::Blob(a.iter().chain(b.iter()).copied().collect())
        }
        (Value::List(a), Value::List(b)) if op == ArithmeticOp::Add => {
            Value::List(a.iter().chain(b.iter()).cloned().collect())
        }
        (Value::Cel(_), Value::Cel(_)) if matches!(op, ArithmeticOp::Add | ArithmeticOp::Subtract) => {
            let made = if op == ArithmeticOp::Add { cel::add(a, b) } else { cel::subtract(a, b) };
            made.unwrap_or_else(|| no_overload(&[a.clone(), b.clone()]))
        }
        _ => no_overload(&[a.clone(), b.clone()]),
    }
}

/// `<` and so on of CEL.
fn compare<'a>(op: CompareOp, a: &Value<'a>, b: &Value<'a>) -> Value<'a> {
    let Some(order) = cel::compare(a, b) else { return no_overload(&[a.clone(), b.clone()]) };
    Value::Bool(match op {
        CompareOp::Less => order == Ordering::Less,
        CompareOp::LessEqual => order != Ordering::Greater,
        CompareOp::Greater => order == Ordering::Greater,
        CompareOp::GreaterEqual => order != Ordering::Less,
    })
}

/// `a in b` of CEL. Go looks up what it cannot hash in no map, but in a variable, whose keys are texts.
fn is_in<'a>(a: &Value<'a>, b: &Value<'a>, is_variable: bool) -> Value<'a> {
    match b {
        Value::List(items) => Value::Bool(items.iter().any(|item| cel::equal(a, item).unwrap_or(false))),
        Value::Map(entries) if !is_variable && !entries.is_empty() && cel::has_no_hash(a) => no_hash(a),
        map if map.entries().is_some() => Value::Bool(cel::entry(map, a).is_some()),
        _ => no_overload(&[a.clone(), b.clone()]),
    }
}

/// cel-go stops.
fn no_hash<'a>(key: &Value<'_>) -> Value<'a> {
    cel::stopped(format!("a value of type {} is not a key of a map", kind_name(key)))
}

/// The element of a list at an index of any type of numbers.
fn element<'a>(items: &[Value<'a>], index: &Value<'_>) -> Result<Option<Value<'a>>, Value<'a>> {
    let at = match index {
        Value::Int(at) => usize::try_from(*at).ok(),
        Value::Uint(at) => usize::try_from(*at).ok(),
        Value::Float(at) if at.trunc() == *at => (0.0..9e15).contains(at).then_some(*at as usize),
        _ => {
            let message = format!("a list has no element at {}", kind_name(index));
            return Err(Value::fault(FaultKind::NoSuchOverload, message));
        }
    };
    Ok(at.and_then(|at| items.get(at)).cloned())
}

/// Whether something may have an element at this value.
fn is_key(key: &Value<'_>) -> bool {
    matches!(key, Value::Bool(_) | Value::Int(_) | Value::Uint(_) | Value::Float(_)) || key.as_str().is_some()
}

/// `a.f` and `a[i]`, and their optional forms; of an optional the result is an optional.
fn select<'a>(object: &Value<'a>, key: &Value<'_>, optional: bool) -> Value<'a> {
    let (target, optional) = match object {
        Value::Optional(None) => return Value::Optional(None),
        Value::Optional(Some(held)) => (&**held, true),
        other => (other, optional),
    };
    if target.is_fault() {
        return target.clone();
    }
    if !is_key(key) {
        let message = format!("nothing has an element at a value of type {}", kind_name(key));
        return Value::fault(FaultKind::NoSuchOverload, message);
    }
    let (value, missing) = match target {
        Value::List(items) => match element(items, key) {
            Ok(value) => (value, FaultKind::IndexOutOfBounds),
            Err(fault) => return fault,
        },
        // A device has every domain.
        Value::Cel(Cel::Domains(_)) if let Some(name) = key.as_str() => {
            (Some(target.key(name)), FaultKind::NoSuchKey)
        }
        map if map.entries().is_some() => (cel::entry(map, key), FaultKind::NoSuchKey),
        // A value without parts has none, as in cel-go.
        _ if optional => return Value::Optional(None),
        _ => return no_such_key(&key.as_str().map_or_else(|| key.to_string(), str::to_owned)),
    };
    match (value, optional) {
        (value, true) => Value::Optional(value.map(Arc::new)),
        (Some(value), false) => value,
        (None, false) => {
            let shown = key.as_str().map_or_else(|| key.to_string(), str::to_owned);
            let message = match missing {
                FaultKind::NoSuchKey => format!("no such key: {shown}"),
                _ => format!("index out of bounds: {shown}"),
            };
            Value::fault(missing, message)
        }
    }
}

fn has_field<'a>(object: &Value<'a>, name: &str) -> Value<'a> {
    match object {
        Value::Optional(None) => Value::Bool(false),
        Value::Optional(Some(held)) if held.is_fault() => Value::clone(held),
        Value::Optional(Some(held)) => has_field(held, name),
        map if map.entries().is_some() => Value::Bool(cel::entry(map, &Value::borrowed(name)).is_some()),
        list @ Value::List(_) => no_overload(std::slice::from_ref(list)),
        _ => Value::Bool(false),
    }
}

/// A map from keys and values in turn: a later key replaces an equal earlier one, and an empty optional removes it.
fn map<'a>(optional: &[bool], parts: &[Value<'a>]) -> Value<'a> {
    let mut entries: Vec<(Value<'a>, Value<'a>)> = Vec::with_capacity(optional.len());
    for (pair, optional) in parts.chunks_exact(2).zip(optional) {
        let [key, value] = pair else { continue };
        if cel::has_no_hash(key) {
            return no_hash(key);
        }
        if let Some(known) = entries.iter().position(|(known, _)| cel::same_key(known, key)) {
            entries.remove(known);
        }
        if !(*optional && value.is_absent()) {
            // Go finds no key that is NaN.
            let is_nan = matches!(key, Value::Float(x) if x.is_nan());
            entries.push((key.clone(), if is_nan { no_such_key("NaN") } else { value.clone() }));
        }
    }
    ordered(entries)
}

fn no_such_key<'a>(key: &str) -> Value<'a> {
    Value::fault(FaultKind::NoSuchKey, format!("no such key: {key}"))
}

/// A map whose keys differ.
fn ordered<'a>(mut entries: Vec<(Value<'a>, Value<'a>)>) -> Value<'a> {
    entries.sort_by(|left, right| left.0.order(&right.0));
    Value::Map(entries.into())
}

/// A map of entries whose keys must differ.
pub fn unique<'a>(entries: Vec<(Value<'a>, Value<'a>)>) -> Value<'a> {
    if let Some((key, _)) = entries.iter().find(|(key, _)| cel::has_no_hash(key)) {
        return no_hash(key);
    }
    let made = ordered(entries);
    let sorted = made.entries().unwrap_or_default();
    // Keys that are the same are beside each other, among others that have the same order.
    let alike = |at: usize| {
        let Some((key, _)) = sorted.get(at) else { return false };
        let rest = sorted.iter().skip(at + 1).take_while(|(next, _)| next.order(key) == Ordering::Equal);
        rest.into_iter().any(|(next, _)| cel::same_key(key, next))
    };
    match (0..sorted.len()).any(alike) {
        true => Value::fault(FaultKind::BadArgument, "two entries of a map have the same key"),
        false => made.clone(),
    }
}

/// A call of the first row that the arguments fit.
fn call<'a>(rows: &[FunctionId], args: &[Value<'a>]) -> Value<'a> {
    let chosen = rows.iter().find(|id| {
        let params = id.def().params;
        let count = params.len() == args.len() || id.def().repeats && args.len() >= params.len();
        let param = |at: usize| params.get(at).or(params.last());
        let deep = !id.def().checks_elements;
        count && args.iter().enumerate().all(|(at, arg)| param(at).is_some_and(|ty| fits(ty, arg, deep)))
    });
    let Some(row) = chosen else { return no_overload(args) };
    outcome((row.def().body)(args, &Prepared::Nothing))
}

/// The result of a function's body: absent is a fault.
pub fn outcome(value: Value<'_>) -> Value<'_> {
    match value {
        Value::Absent => Value::fault(FaultKind::BadArgument, demanded(FaultKind::BadArgument)),
        value => value,
    }
}

/// Whether a value is one of a row's type. Of lists and maps the first element counts, as in cel-go.
fn fits(ty: &Ty, value: &Value<'_>, deep: bool) -> bool {
    match (ty, value) {
        (Ty::Var(_) | Ty::Dyn, _) => true,
        (Ty::Bool, Value::Bool(_))
        | (Ty::Int, Value::Int(_))
        | (Ty::Uint, Value::Uint(_))
        | (Ty::Float, Value::Float(_))
        | (Ty::String, Value::String(_))
        | (Ty::Blob, Value::Blob(_))
        | (Ty::Null, Value::Null)
        | (Ty::TypeName, Value::TypeName(_))
        | (Ty::Quantity, Value::Quantity(_)) => true,
        (Ty::Cel(want), Value::Cel(of)) => of.ty() == Some(*want),
        (Ty::Optional(inner), value) => fits(inner, value, deep),
        (Ty::CelOptional(_), Value::Optional(_)) => true,
        (Ty::List(of), Value::List(items)) => !deep || items.first().is_none_or(|item| fits(of, item, deep)),
        (Ty::Map(key, of), value) => value.entries().is_some_and(|entries| {
            !deep || entries.first().is_none_or(|(k, v)| fits(key, k, deep) && fits(of, v, deep))
        }),
        _ => false,
    }
}
