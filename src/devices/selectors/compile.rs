//! [`Selector`]: a compiled expression, or why it is refused.

use super::refusals;
use bayplan_lang::cel::{self, Environment, Program};
use bayplan_lang::types::value::{Cel, Constant, Fault, FaultKind, Value};
use bayplan_model::{VersionRow, VersionRows};

/// Cost units that an evaluation may take (`resourcev1.CELSelectorExpressionMaxCost`).
const MOST_COST: u64 = 1_000_000;

/// What an expression is.
#[derive(Debug)]
pub(super) enum Selector {
    /// It can be run.
    Program(Compiled),
    /// Its mistake, as upstream says it.
    Refused(String),
}

/// A program whose result is a truth, or something that is known when it is run.
#[derive(Debug)]
pub(super) struct Compiled {
    program: Program,
    /// `startsWith`, `endsWith`, `matches` and `includes` cost what they do in 1.37.
    newer_costs: bool,
}

impl Selector {
    /// Compiles an expression.
    pub(super) fn compile(text: &str, environment: &Environment, rows: VersionRows) -> Self {
        let program = match cel::compile(text, environment) {
            Ok(program) => program,
            Err(said) => return Self::Refused(refusals::text(text, &said)),
        };
        let unknown = if rows.has(VersionRow::SelectorAttributes) { "dyn" } else { "google.protobuf.Any" };
        let ty = program.type_name();
        if ty != "bool" && ty != unknown {
            // cel-go writes `any` in short, but as a parameter of another type.
            let ty = if ty == "google.protobuf.Any" { "any" } else { ty };
            return Self::Refused(format!("must evaluate to bool or the unknown type, not {ty}"));
        }
        Self::Program(Compiled { program, newer_costs: rows.has(VersionRow::SelectorCosts) })
    }
}

impl Compiled {
    /// Whether the expression is true of a device.
    pub(super) fn answer(&self, device: Constant) -> Result<bool, String> {
        match &self.program.run_within(&[device], MOST_COST, self.newer_costs).0 {
            Value::Bool(truth) => Ok(*truth),
            Value::Cel(Cel::Fault(fault)) => Err(said(fault)),
            other => Err(not_a_truth(cel::type_name(other))),
        }
    }
}

#[cfg(test)]
impl Compiled {
    /// What the evaluation costs.
    pub(super) fn cost(&self, device: Constant) -> u64 {
        self.program.run_within(&[device], MOST_COST, self.newer_costs).1
    }
}

/// The error of an evaluation in the words of cel-go.
fn said(fault: &Fault) -> String {
    match fault.kind {
        FaultKind::TooManySteps => "operation cancelled: actual cost limit exceeded".to_owned(),
        FaultKind::NoSuchOverload if fault.message.starts_with(cel::GOES_OVER) => {
            let ty = fault.message.rsplit(' ').next().unwrap_or_default();
            format!("got '{}', expected iterable type", go_type(ty))
        }
        FaultKind::NoSuchOverload if !fault.message.starts_with("no such overload") => {
            "no such overload".to_owned()
        }
        _ => fault.message.to_string(),
    }
}

/// The type of Go that holds values of a type of CEL.
fn go_type(ty: &str) -> &str {
    match ty {
        "int" => "types.Int",
        "uint" => "types.Uint",
        "double" => "types.Double",
        "bool" => "types.Bool",
        "string" => "types.String",
        "bytes" => "types.Bytes",
        "null_type" => "types.Null",
        "optional_type" => "*types.Optional",
        "google.protobuf.Timestamp" => "types.Timestamp",
        "google.protobuf.Duration" => "types.Duration",
        "kubernetes.Semver" => "cel.Semver",
        "kubernetes.Quantity" => "cel.Quantity",
        other => other,
    }
}

/// The error of a result that has no truth.
fn not_a_truth(ty: &str) -> String {
    let why = match ty {
        "string" => "unsupported native conversion from string to 'bool'".to_owned(),
        "kubernetes.Semver" => "type conversion error from 'Semver' to 'bool'".to_owned(),
        "list" => "type conversion error from 'list' to 'bool'".to_owned(),
        other => format!("unsupported type conversion from '{other}' to bool"),
    };
    format!("CEL result of type {ty} could not be converted to bool: {why}")
}
