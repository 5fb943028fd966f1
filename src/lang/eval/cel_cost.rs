//! [`CelCost`]: what an evaluation costs in the units of cel-go, which Kubernetes bounds.
//!
//! An ident, a selection and a constant index cost 1, a call what its arguments and its result say, constants nothing,
//! and a macro what the loop costs that cel-go expands it to. Costs differ from those of cel-go in these cases:
//!
//! - A call of which the compiler knows the value costs nothing. cel-go knows the values of conversions alone.
//! - A macro other than `all` and `exists` ends at its first error. cel-go goes on.
//! - A part of an index that is neither constant nor a name, and formats of which the pattern is long, cost by guess.
//!
//! - Optional selections whose types are known, and some calls of which an argument is an error, differ by a few units.
//!
//! Source: `cel-go/interpreter/runtimecost.go`, `k8s.io/apiserver/pkg/cel/library/cost.go`, `cel-go/ext/lists.go`.

use super::interpret::Observer;
use crate::language::functions::FunctionDef;
use crate::typed::{ArithmeticOp, Expr, ExprKind, Macro, MacroKind, Operation, SlotId};
use crate::types::Type;
use crate::types::value::{Cel, Value};
use smallvec::SmallVec;

/// What making a list costs.
const LIST: u64 = 10;
/// What making a map costs.
const MAP: u64 = 30;

/// Counts the cost of an evaluation up to a limit.
pub(crate) struct CelCost {
    limit: u64,
    /// Functions cost what they do in Kubernetes 1.37.
    newer: bool,
    cost: u64,
    frames: Vec<Frame>,
}

/// An expression that is being evaluated.
struct Frame {
    /// What was counted when it began.
    before: u64,
    /// Its parts that were evaluated, but for those of the loop of a macro.
    parts: SmallVec<[Part; 3]>,
    /// Its loop.
    turns: Option<Turns>,
    /// All of the elements of its first part count.
    traverses: bool,
}

/// The loop of a macro. Parts are known by their addresses.
struct Turns {
    kind: MacroKind,
    condition: Option<usize>,
    body: Option<usize>,
    slot: SlotId,
    /// Its variable was read: a binding that is not read costs nothing.
    is_read: bool,
    /// How often it went round.
    done: u64,
}

/// A part that was evaluated.
#[derive(Clone, Copy)]
struct Part {
    size: u64,
    traversal: u64,
    cost: u64,
    what: What,
}

/// What the cost of a call asks of an argument beside its size.
#[derive(Clone, Copy, PartialEq, Eq)]
enum What {
    Text,
    /// A list whose first element is a text.
    Texts,
    Map,
    Fault,
    Empty,
    /// A value of Kubernetes' libraries.
    OfKubernetes,
    /// A network.
    Network,
    Number(i64),
    Other,
}

fn address(expr: &Expr) -> usize {
    std::ptr::from_ref(expr).addr()
}

impl CelCost {
    /// A count that begins.
    pub(crate) fn new(limit: u64, newer: bool) -> Self {
        Self { limit, newer, cost: 0, frames: Vec::new() }
    }

    /// What the evaluation has cost.
    pub(crate) fn cost(&self) -> u64 {
        self.cost
    }

    fn add(&mut self, cost: u64) {
        self.cost = self.cost.saturating_add(cost);
    }
}

impl Observer for CelCost {
    fn enter(&mut self, expr: &Expr) {
        let turns = match &expr.kind {
            ExprKind::Macro(of) => Some(Turns {
                kind: of.kind,
                condition: of.condition.as_ref().map(address),
                body: of.body.as_ref().map(address),
                slot: of.slot,
                is_read: false,
                done: 0,
            }),
            _ => None,
        };
        let traverses = called(expr).is_some_and(|of| {
            matches!(of.name, "isSorted" | "sum" | "max" | "min" | "indexOf" | "lastIndexOf" | "includes")
        });
        self.frames.push(Frame { before: self.cost, parts: SmallVec::new(), turns, traverses });
    }

    fn leave(&mut self, expr: &Expr, value: &Value<'_>) {
        let Some(frame) = self.frames.pop() else { return };
        if let ExprKind::Slot(slot) = &expr.kind {
            let of_slot = |frame: &&mut Frame| frame.turns.as_ref().is_some_and(|turns| turns.slot == *slot);
            if let Some(turns) =
                self.frames.iter_mut().rev().find(of_slot).and_then(|frame| frame.turns.as_mut())
            {
                turns.is_read = true;
            }
        }
        let own = match &expr.kind {
            ExprKind::Macro(of) => of_macro(of, &frame),
            _ => self.of_expr(expr, &frame.parts, value),
        };
        self.cost = self.cost.saturating_add_signed(own);
        let cost = self.cost.saturating_sub(frame.before);
        let Some(outer) = self.frames.last_mut() else { return };
        let at = address(expr);
        let mut turn = 0;
        match &mut outer.turns {
            Some(turns) if turns.condition == Some(at) => {
                turns.done += 1;
                turn = of_turn(turns.kind, false, value.holds());
            }
            Some(turns) if turns.body == Some(at) => turn = of_turn(turns.kind, true, true),
            _ => {
                let traversal = if outer.traverses && outer.parts.is_empty() { traversal(value) } else { 1 };
                outer.parts.push(Part { size: size(value), traversal, cost, what: what(value) });
            }
        }
        self.add(turn);
    }

    fn stops(&self) -> bool {
        self.cost > self.limit
    }
}

/// The loop around a condition or a body, besides what these cost.
fn of_turn(kind: MacroKind, is_body: bool, holds: bool) -> u64 {
    match (kind, is_body) {
        (MacroKind::All, false) => 3,
        (MacroKind::Exists, false) => 4,
        (MacroKind::ExistsOne, false) if holds => 2,
        (MacroKind::Filter, false) if holds => LIST + 3,
        (MacroKind::Map | MacroKind::SortBy, true) => LIST + 2,
        (MacroKind::TransformMap, true) => 3,
        (MacroKind::TransformMapEntry, true) => 2,
        (MacroKind::OptMap, true) => 1,
        _ => 0,
    }
}

/// What a macro costs beside its turns.
fn of_macro(of: &Macro, frame: &Frame) -> i64 {
    let Some(over) = frame.parts.first() else { return 0 };
    if of.kind == MacroKind::Bind {
        let is_read = frame.turns.as_ref().is_some_and(|turns| turns.is_read);
        return if is_read { 0 } else { -over.cost.cast_signed() };
    }
    if over.what == What::Fault {
        return 0;
    }
    let done = frame.turns.as_ref().map_or(0, |turns| turns.done);
    let early = done < over.size;
    let cost = match of.kind {
        MacroKind::All => 1 + if early { 2 } else { 0 },
        MacroKind::Exists => 1 + if early { 3 } else { 0 },
        MacroKind::ExistsOne => 2,
        MacroKind::Filter | MacroKind::Map | MacroKind::TransformMap | MacroKind::TransformMapEntry => 1,
        MacroKind::SortBy => 3 + of_itself(over),
        // What may be empty is evaluated twice: whether it is, and for what it holds.
        MacroKind::OptMap | MacroKind::OptFlatMap if over.what == What::Empty => 2,
        MacroKind::OptMap | MacroKind::OptFlatMap => 2 + over.cost,
        _ => 0,
    };
    cost.cast_signed()
}

/// The row that an expression calls.
fn called(expr: &Expr) -> Option<&'static FunctionDef> {
    match &expr.kind {
        ExprKind::Call(function, ..) => Some(function.def()),
        ExprKind::Dynamic(Operation::Call(rows), _) => rows.first().map(|row| row.def()),
        _ => None,
    }
}

/// What is inside the checks that the compiler put around an expression.
fn bare(expr: &Expr) -> &Expr {
    match &expr.kind {
        ExprKind::Present(inner) | ExprKind::Widen(inner) => bare(inner),
        ExprKind::Dynamic(
            Operation::Demand(_)
            | Operation::Truth
            | Operation::Iterable
            | Operation::Sortable
            | Operation::Mapping
            | Operation::Optional
            | Operation::Branch
            | Operation::Counted(_)
            | Operation::Hashed
            | Operation::Step { of: None, .. }
            | Operation::Plain
            | Operation::Held
            | Operation::Valid
            | Operation::Exact(_),
            parts,
        ) => parts.first().map_or(expr, bare),
        _ => expr,
    }
}

/// Whether cel-go makes the value before the evaluation.
fn is_constant(expr: &Expr) -> bool {
    match &bare(expr).kind {
        ExprKind::Constant(_) => true,
        ExprKind::List(elements) => {
            elements.iter().all(|(element, optional)| !optional && is_constant(element))
        }
        ExprKind::Map(entries) => {
            entries.iter().all(|(key, value, optional)| !optional && is_constant(key) && is_constant(value))
        }
        ExprKind::Dynamic(Operation::Map(optional), parts) => {
            !optional.contains(&true) && parts.iter().all(is_constant)
        }
        ExprKind::Call(function, args, _) => converts(function.def().name) && args.iter().all(is_constant),
        ExprKind::Dynamic(Operation::Call(rows), args) => {
            rows.first().is_some_and(|row| converts(row.def().name)) && args.iter().all(is_constant)
        }
        _ => false,
    }
}

fn converts(name: &str) -> bool {
    matches!(name, "int" | "uint" | "double" | "string" | "bytes" | "bool" | "duration" | "timestamp")
}

/// Whether it is a name, or selections from one: cel-go evaluates it at once.
fn is_attribute(expr: &Expr) -> bool {
    match &bare(expr).kind {
        ExprKind::Slot(_)
        | ExprKind::RecordField(..)
        | ExprKind::Index(..)
        | ExprKind::ApiField(..)
        | ExprKind::Field(..)
        | ExprKind::Conditional(..) => true,
        ExprKind::Dynamic(operation, _) => matches!(
            operation,
            Operation::Select(_)
                | Operation::OptionalSelect(_)
                | Operation::Index
                | Operation::OptionalIndex
                | Operation::Step { .. }
        ),
        _ => false,
    }
}

/// A tenth of a size, rounded up.
fn tenth(size: u64) -> u64 {
    size.div_ceil(10)
}

/// A pattern in a text.
fn of_pattern(text: u64, pattern: u64) -> u64 {
    tenth(text.saturating_add(1)).saturating_mul(pattern.div_ceil(4))
}

/// Elements compared with each other.
fn of_itself(list: &Part) -> u64 {
    let square = list.size.saturating_mul(list.size);
    let factor =
        if list.what == What::Texts { square.saturating_mul(21) / 10 } else { square.saturating_mul(2) };
    factor.saturating_add(LIST + 1)
}

impl CelCost {
    fn of_expr(&self, expr: &Expr, parts: &[Part], value: &Value<'_>) -> i64 {
        let base = |of: &Expr| i64::from(!is_attribute(of));
        let is_found = is_found(parts, value);
        match &expr.kind {
            _ if is_constant(expr) => 0,
            ExprKind::Slot(_) => 1,
            ExprKind::RecordField(of, _) | ExprKind::ApiField(of, _) | ExprKind::Field(of, _) => 1 + base(of),
            ExprKind::Index(of, key) => i64::from(is_constant(key)) + base(of),
            // The selection that `has` asks about costs nothing.
            ExprKind::Has(_) => -1,
            ExprKind::Not(of) => match &of.kind {
                // It is `a != b`.
                ExprKind::Equal(..) | ExprKind::Dynamic(Operation::Equal, _) if of.span == expr.span => 0,
                _ => 1,
            },
            ExprKind::Negate(_) => 1,
            ExprKind::Equal(..) => of_equal(parts),
            ExprKind::Compare(_, left, _) => of_compare(left, parts),
            ExprKind::In(_, right) => of_in(right, parts),
            ExprKind::Arithmetic(op, left, _) => of_arithmetic(*op, left, parts),
            ExprKind::Conditional(_, then, otherwise) => {
                let holds = parts.first().is_some_and(|part| part.what == What::Number(1));
                let taken = if holds { then } else { otherwise };
                -i64::from(is_attribute(taken) && !matches!(bare(taken).kind, ExprKind::Conditional(..)))
            }
            ExprKind::List(_) => LIST as i64,
            ExprKind::Map(_) => MAP as i64,
            ExprKind::Call(function, args, _) => self.of_call(function.def(), args, parts, value),
            ExprKind::Dynamic(operation, args) => {
                let first = args.first().map_or(0, base);
                let operation = match operation {
                    Operation::Step { of: Some(of), .. } => of,
                    other => other,
                };
                match operation {
                    Operation::Arithmetic(op) => {
                        args.first().map_or(1, |left| of_arithmetic(*op, left, parts))
                    }
                    Operation::Negate => 1,
                    Operation::Equal | Operation::NotEqual => of_equal(parts),
                    Operation::Compare(_) => args.first().map_or(1, |left| of_compare(left, parts)),
                    Operation::In(_) => args.get(1).map_or(1, |right| of_in(right, parts)),
                    Operation::Select(_) | Operation::OptionalSelect(_) => i64::from(is_found) + first,
                    Operation::HasField(_) | Operation::HasValue(_) => first,
                    Operation::Index | Operation::OptionalIndex => {
                        i64::from(args.get(1).is_some_and(is_constant) && is_found) + first
                    }
                    Operation::Map(_) => MAP as i64,
                    Operation::Call(rows) => {
                        rows.first().map_or(1, |row| self.of_call(row.def(), args, parts, value))
                    }
                    _ => 0,
                }
            }
            _ => 0,
        }
    }

    fn of_call(&self, row: &FunctionDef, args: &[Expr], parts: &[Part], value: &Value<'_>) -> i64 {
        if parts.iter().any(|part| part.what == What::Fault) {
            return 1;
        }
        let (first, second) = (parts.first(), parts.get(1));
        let (a, b) = (first.map_or(1, |part| part.size), second.map_or(1, |part| part.size));
        let is_text = first.is_some_and(|part| part.what == What::Text);
        let cost = match row.name {
            "startsWith" | "endsWith" if self.newer => tenth(b),
            "startsWith" | "endsWith" => tenth(a),
            "matches" if row.method || self.newer => of_pattern(a, b),
            "matches" => 1,
            "contains" => tenth(a).saturating_mul(tenth(b)),
            "find" | "findAll" => of_pattern(a, b),
            "includes" if !self.newer => 1,
            "isSorted" | "sum" | "max" | "min" | "indexOf" | "lastIndexOf" | "includes" => {
                first.map_or(0, |part| part.traversal)
            }
            "url" | "lowerAscii" | "upperAscii" | "substring" | "trim" => tenth(a),
            "replace" | "split" | "ip.isCanonical" => a.div_ceil(5),
            "join" => size(value).div_ceil(5),
            "cidr" | "isIP" | "isCIDR" | "quantity" | "isQuantity" | "semver" | "isSemver" => tenth(a),
            "ip" if first.is_some_and(|part| part.what == What::Network) => 1,
            "ip" => tenth(a),
            "containsIP" | "containsCIDR" => {
                let text = if second.is_some_and(|part| part.what == What::Text) { tenth(b) } else { 0 };
                let masked = if row.name == "containsCIDR" { tenth(a) + 1 } else { 0 };
                tenth(a * 2) + masked + text
            }
            "bytes" | "format" | "strings.quote" if is_text => tenth(a),
            "validate" => of_pattern(b, 30),
            "lists.range" | "slice" | "reverse" if !is_text => size(value).saturating_add(LIST + 1),
            "flatten" => {
                let depth = match second.map(|part| part.what) {
                    Some(What::Number(depth)) => depth.max(1).unsigned_abs(),
                    _ => 1,
                };
                a.saturating_mul(depth).saturating_add(LIST + 1)
            }
            // Of a list whose elements are not known cel-go does not know the overload.
            "sort" if args.first().is_some_and(|list| !is_list(list)) => 1,
            "distinct" | "sort" => first.map_or(1, of_itself),
            "@sortByAssociatedKeys" => second.map_or(1, of_itself),
            "sets.contains" | "sets.intersects" => a.saturating_mul(b).saturating_add(1),
            "sets.equivalent" => a.saturating_mul(b).saturating_mul(2).saturating_add(1),
            _ => 1,
        };
        cost.cast_signed()
    }
}

fn of_equal(parts: &[Part]) -> i64 {
    match parts {
        [left, _] if left.what == What::OfKubernetes || left.what == What::Network => 1,
        [left, right] => tenth(left.size.min(right.size)).cast_signed(),
        _ => 1,
    }
}

/// Whether the type says that it is a list, and of what.
fn is_list(expr: &Expr) -> bool {
    match &bare(expr).ty {
        Type::List(of) | Type::Set(of) => !matches!(**of, Type::Dyn | Type::Any),
        _ => false,
    }
}

/// Whether a selection is made: of an error none is, and an optional one that finds nothing costs nothing.
fn is_found(parts: &[Part], value: &Value<'_>) -> bool {
    !matches!(value, Value::Optional(None)) && parts.first().is_none_or(|part| part.what != What::Fault)
}

/// Whether the type of an operand says nothing: cel-go then does not know the overload, which costs 1.
fn is_unknown(expr: &Expr) -> bool {
    matches!(bare(expr).ty, Type::Dyn | Type::Any | Type::Unknown)
}

fn of_compare(left: &Expr, parts: &[Part]) -> i64 {
    match parts {
        _ if is_unknown(left) => 1,
        [left, right] if left.what == What::Text && right.what == What::Text => {
            tenth(left.size.min(right.size)).cast_signed()
        }
        _ => 1,
    }
}

fn of_in(right: &Expr, parts: &[Part]) -> i64 {
    match parts.get(1) {
        _ if is_unknown(right) => 1,
        Some(list) if list.what == What::Map => 1,
        Some(list) if list.size > 0 && is_constant(right) => 0,
        Some(list) => list.size.cast_signed(),
        None => 1,
    }
}

fn of_arithmetic(op: ArithmeticOp, left: &Expr, parts: &[Part]) -> i64 {
    match parts {
        _ if is_unknown(left) => 1,
        [left, right] if op == ArithmeticOp::Add && left.what == What::Text => {
            tenth(left.size.saturating_add(right.size)).cast_signed()
        }
        _ => 1,
    }
}

/// The size of a text in characters, of a list or map in elements; 1 for anything else.
fn size(value: &Value<'_>) -> u64 {
    let size = match value {
        Value::String(text) => text.as_str().chars().count(),
        Value::Blob(bytes) => bytes.len(),
        Value::List(items) => items.len(),
        Value::Record(fields) => fields.len(),
        Value::Optional(Some(held)) => return size(held),
        Value::Cel(Cel::Domains(domains)) => domains.len(),
        Value::Cel(Cel::Ip(address)) => {
            if address.is_ipv4() {
                4
            } else {
                16
            }
        }
        Value::Cel(Cel::Cidr(network)) => usize::from(network.prefix).div_ceil(8),
        Value::Map(entries) => entries.len(),
        _ => 1,
    };
    size as u64
}

/// What it costs to go through a value and all that is in it.
fn traversal(value: &Value<'_>) -> u64 {
    match value {
        Value::String(text) => text.as_str().len() as u64 / 10,
        Value::Blob(bytes) => bytes.len() as u64 / 10,
        Value::List(items) => items.iter().map(traversal).sum(),
        Value::Map(entries) => entries.iter().map(|(key, value)| traversal(key) + traversal(value)).sum(),
        _ => 1,
    }
}

fn what(value: &Value<'_>) -> What {
    match value {
        Value::Bool(truth) => What::Number(i64::from(*truth)),
        Value::Int(number) => What::Number(*number),
        Value::String(_) | Value::Blob(_) => What::Text,
        Value::List(items) if matches!(items.first(), Some(Value::String(_) | Value::Blob(_))) => What::Texts,
        Value::Record(_) | Value::Map(_) | Value::Cel(Cel::Domains(_)) => What::Map,
        Value::Optional(None) => What::Empty,
        Value::Cel(Cel::Fault(_)) => What::Fault,
        Value::Cel(Cel::Cidr(_)) => What::Network,
        Value::Quantity(_) | Value::Cel(Cel::Ip(_) | Cel::Url(_) | Cel::Semver(_) | Cel::Format(_)) => {
            What::OfKubernetes
        }
        _ => What::Other,
    }
}
