//! Recorded expressions with the variables of their file, in the environment of Kubernetes and in that of policies.

use super::run::run;
use super::tally::{Outcome, Tally, fault, said, same};
use bayplan::lang::analysis::faults::may_fail;
use bayplan::lang::cel::{Environment, compile};
use bayplan::lang::eval::tagged::{tagged, typed};
use bayplan::lang::language::environments::{ROWS, RowDef};
use bayplan::lang::types::Type;
use bayplan::lang::types::value::Value;
use serde_json::Value as Json;

/// What the order decides in which Go goes through a map, which differs from one evaluation to the next. Ours
/// is the order of the keys.
const BY_ORDER_OF_KEYS: [&str; 1] = ["m.map(k, k + '=' + m[k]).isSorted()"];

/// Makes an environment of variables.
pub(super) type Make = fn(&[(&str, Type)]) -> Environment;

/// The environment of Kubernetes.
pub(super) fn kubernetes(types: &[(&str, Type)]) -> Environment {
    Environment::kubernetes(types.iter().cloned())
}

/// The environment of policies.
pub(super) fn policies(types: &[(&str, Type)]) -> Environment {
    Environment::policy(types.iter().cloned())
}

/// Compares the lines of a file.
pub(super) fn compare(file: &str, lines: &[Json], make: Make) -> Tally {
    let mut tally = Tally::new(file.rsplit('/').next().unwrap_or(file));
    let (environment, values) = variables(lines, make);
    for line in lines {
        if let Some(expression) = line["expr"].as_str() {
            tally.add(expression, outcome(expression, line, &environment, &values));
        }
    }
    tally
}

/// How many expressions of a file compile, and of how many it is proved that they cannot fail.
pub(super) fn proved(lines: &[Json], make: Make) -> (usize, usize) {
    let (environment, _) = variables(lines, make);
    let expressions = lines.iter().filter_map(|line| line["expr"].as_str());
    let programs: Vec<_> = expressions.filter_map(|text| compile(text, &environment).ok()).collect();
    let proved = programs.iter().filter(|program| {
        let (policy, expr) = program.parts();
        !may_fail(policy, expr)
    });
    (programs.len(), proved.count())
}

/// The first line of a file declares the variables; without one they are those of the first recorded file.
fn variables(lines: &[Json], make: Make) -> (Environment, Vec<Value<'static>>) {
    let others = super::lines(super::RECORDED[0]);
    let first = lines.first().filter(|line| line.get("vars").is_some()).unwrap_or(&others[0]);
    // The first recorded file does not say that `o` is dyn.
    let dynamic = first.get("dyn").cloned().unwrap_or_else(|| serde_json::json!(["o"]));
    let dynamic: Vec<&str> = dynamic.as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect();
    let (mut types, mut values) = (Vec::new(), Vec::new());
    for (name, json) in first["vars"].as_object().unwrap() {
        let (ty, value) = typed(json);
        types.push((name.as_str(), if dynamic.contains(&name.as_str()) { Type::Dyn } else { ty }));
        values.push(value);
    }
    (make(&types), values)
}

fn outcome(expression: &str, line: &Json, environment: &Environment, values: &[Value<'static>]) -> Outcome {
    let strict = std::env::var("BAYPLAN_CEL_STRICT").is_ok();
    match compared(expression, line, environment, values) {
        Outcome::Failed(here) if strict => Outcome::Failed(here),
        Outcome::Failed(here) => match DIFFERENCES.iter().find(|(_, _, shows)| shows(line, &here)) {
            Some((why, ..)) => Outcome::Excluded(why),
            None => {
                row(expression, line, environment, values).map_or(Outcome::Failed(here), Outcome::Excluded)
            }
        },
        outcome => outcome,
    }
}

/// The row of the environment without which the verdict is that of Kubernetes; the first of two where it takes both.
fn row(
    expression: &str,
    line: &Json,
    environment: &Environment,
    values: &[Value<'static>],
) -> Option<&'static str> {
    let agrees = |environment: &Environment| {
        matches!(compared(expression, line, environment, values), Outcome::Passed)
    };
    let one = ROWS.iter().find(|def| agrees(&environment.without(def.row)));
    let with_another = |def: &&RowDef| {
        let environment = environment.without(def.row);
        ROWS.iter().any(|other| agrees(&environment.without(other.row)))
    };
    one.or_else(|| ROWS.iter().find(with_another)).map(|def| def.name)
}

/// The table of the rows.
pub(super) fn rows() -> String {
    let mark = |has: bool| if has { "yes" } else { "" };
    let row = |def: &RowDef| {
        format!("| {} | {} | {} | {} |\n", def.name, mark(def.policies), mark(def.devices), def.doc)
    };
    let rows: String = ROWS.iter().map(row).collect();
    format!("| row | policies | devices | in words |\n|---|---|---|---|\n{rows}")
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
