//! Recorded expressions with the variables of their file.

use super::run::run;
use super::tally::{Outcome, Tally, fault, said, same};
use bayplan::lang::cel::{Environment, compile};
use bayplan::lang::eval::tagged::{tagged, typed};
use bayplan::lang::types::Type;
use bayplan::lang::types::value::Value;
use serde_json::Value as Json;

/// What the order decides in which Go goes through a map, which differs from one evaluation to the next. Ours
/// is the order of the keys.
const BY_ORDER_OF_KEYS: [&str; 1] = ["m.map(k, k + '=' + m[k]).isSorted()"];

/// Compares the lines of a file. Its first line declares the variables; without one they are those of the
/// first recorded file.
pub(super) fn compare(file: &str, lines: &[Json]) -> Tally {
    let mut tally = Tally::new(file.rsplit('/').next().unwrap_or(file));
    let others = super::lines(super::RECORDED[0]);
    let first = lines.first().filter(|line| line.get("vars").is_some()).unwrap_or(&others[0]);
    let (environment, values) = variables(first);
    for line in lines {
        if let Some(expression) = line["expr"].as_str() {
            tally.add(expression, outcome(expression, line, &environment, &values));
        }
    }
    tally
}

fn variables(first: &Json) -> (Environment, Vec<Value<'static>>) {
    // The first recorded file does not say that `o` is dyn.
    let dynamic = first.get("dyn").cloned().unwrap_or_else(|| serde_json::json!(["o"]));
    let dynamic: Vec<&str> = dynamic.as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect();
    let (mut types, mut values) = (Vec::new(), Vec::new());
    for (name, json) in first["vars"].as_object().unwrap() {
        let (ty, value) = typed(json);
        types.push((name.as_str(), if dynamic.contains(&name.as_str()) { Type::Dyn } else { ty }));
        values.push(value);
    }
    (Environment::kubernetes(types.iter().map(|(name, ty)| (*name, ty.clone()))), values)
}

fn outcome(expression: &str, line: &Json, environment: &Environment, values: &[Value<'static>]) -> Outcome {
    let strict = std::env::var("BAYPLAN_CEL_STRICT").is_ok();
    match compared(expression, line, environment, values) {
        Outcome::Failed(here) if strict => Outcome::Failed(here),
        Outcome::Failed(here) => match DIFFERENCES.iter().find(|(_, _, shows)| shows(line, &here)) {
            Some((why, ..)) => Outcome::Excluded(why),
            None => Outcome::Failed(here),
        },
        outcome => outcome,
    }
}

fn compared(expression: &str, line: &Json, environment: &Environment, values: &[Value<'static>]) -> Outcome {
    if BY_ORDER_OF_KEYS.contains(&expression) {
        return Outcome::Excluded("the order of a Go map decides");
    }
    let program = match (compile(expression, environment), line.get("compileError")) {
        (Ok(program), None) => program,
        (Err(_), Some(_)) => return Outcome::Passed,
        (Err(errors), None) => return Outcome::Failed(format!("is refused: {}", said(&errors))),
        (Ok(program), Some(why)) => {
            return Outcome::Failed(format!("compiles as {}; upstream: {why}", program.type_name()));
        }
    };
    if line["type"].as_str() != Some(program.type_name()) {
        return Outcome::Failed(format!("has type {}; upstream: {}", program.type_name(), line["type"]));
    }
    let value = run(&program, values);
    match (fault(&value), line.get("value")) {
        (Some(_), None) => Outcome::Passed,
        (Some(why), Some(value)) => Outcome::Failed(format!("stops: {why}; upstream: {value}")),
        (None, None) => Outcome::Failed(format!("is {}; upstream stops: {}", tagged(&value), line["error"])),
        (None, Some(wanted)) if same(&tagged(&value), wanted) => Outcome::Passed,
        (None, Some(wanted)) => Outcome::Failed(format!("is {}; upstream: {wanted}", tagged(&value))),
    }
}

/// The differences from upstream that are meant, or that are mistakes of upstream: what, why, and how a line shows it.
type Difference = (&'static str, &'static str, fn(&Json, &str) -> bool);

/// A table of the differences.
pub(super) fn differences() -> String {
    let order = "| the order of a Go map decides | Go goes through a map in another order each time; here it is the order of the keys. |";
    let rows = DIFFERENCES.iter().map(|(what, why, _)| format!("| {what} | {why} |\n"));
    format!("| difference | in words |\n|---|---|\n{}{order}\n", rows.collect::<String>())
}

const DIFFERENCES: &[Difference] = &[
    (
        "a sum of quantities may have 38 digits",
        "`quantity('1e100').add(quantity('1n'))` has 110 digits upstream. Here what lies below the 38th digit is rounded up.",
        |line, here| {
            let there = line["value"]["quantity"].as_str().unwrap_or("");
            let digits = there.bytes().take_while(|byte| byte.is_ascii_digit() || *byte == b'-').count();
            digits > 38 && here.starts_with("is {\"quantity\":")
        },
    ),
    (
        "upstream counts what an expression costs",
        "Kubernetes stops an expression that costs more than 1,000,000 units, by estimates of its own. Here the steps that \
         are taken are counted; a `flatten` that is too deep for Kubernetes is an error here, too.",
        |line, _| line["error"] == "operation cancelled: actual cost limit exceeded",
    ),
];
