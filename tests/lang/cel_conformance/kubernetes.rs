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
        "a pattern may have 1 MiB when it is compiled",
        "Go counts the parts of a pattern, not its size. Here a pattern that takes more is refused, as `matches` with it would take memory without bound.",
        |_, here| here.contains("more than 1 MiB when compiled"),
    ),
    (
        "upstream loses an address or URL inside of an optional",
        "`[?x]` and `{?k: x}` with an optional that comes out of `?:`, `optMap` or `optFlatMap` and holds an address, a URL, a version or a quantity: cel-go puts an error into the list or map and goes on. Here it is the error of the whole expression.",
        |line, _| line.to_string().contains("unsupported conversion to ref.Val"),
    ),
    (
        "upstream's value is not of the type that it checked",
        "cel-go believes a type that its value does not have, and goes on.",
        |line, _| {
            line.get("value").is_some_and(|value| !is_of_type(value, line["type"].as_str().unwrap_or("")))
        },
    ),
    (
        "upstream refuses a variable that its macro declares",
        "cel-go computes a list of names of types when it compiles, and then takes the variable for such a name.",
        |line, _| {
            line["compileError"].as_str().is_some_and(|why| why.contains("reference to undefined type"))
        },
    ),
    (
        "upstream counts what an expression costs",
        "Kubernetes stops an expression that costs too much, by estimates of its own: `[[1]].flatten(1000000000)` does. Here \
         the steps that are taken are counted.",
        |line, _| line["error"].as_str().is_some_and(|why| why.contains("cost limit exceeded")),
    ),
    (
        "upstream panics",
        "cel-go panics inside and calls it an internal error, which `||` and `&&` do not absorb.",
        |line, _| line["error"].as_str().is_some_and(|why| why.starts_with("internal error")),
    ),
    (
        "upstream takes the result of `has` for an optional",
        "`has` of an optional as a branch of `?:`.",
        |line, _| {
            line["error"].as_str().is_some_and(|why| why.contains("invalid qualifier type: *types.Optional"))
        },
    ),
    (
        "upstream compares no quantity with the sum of a quantity and an int",
        "A quantity that `add` or `sub` made is of another Go type, which `==` does not know on its right side.",
        |line, _| {
            let expression = line["expr"].as_str().unwrap_or("");
            line["error"] == "no such overload"
                && expression.contains("quantity(")
                && (expression.contains(".add(") || expression.contains(".sub("))
                && expression.contains("==")
        },
    ),
    (
        "upstream looks at a joined or sorted list of `dyn` as at no list",
        "The first overload that fits is taken for the only one.",
        |line, _| {
            let error = line["error"].as_str().unwrap_or("");
            let expression = line["expr"].as_str().unwrap_or("");
            if !expression.contains("dyn(")
                || !(expression.contains("sortBy(") || expression.contains(" + ["))
            {
                return false;
            }
            ["min(list)", "max(list)", "isSorted(list)", "sum(list)", "must be comparable"]
                .iter()
                .any(|of| error.ends_with(of))
        },
    ),
];

/// Whether a tagged value is one of a type in the words of cel-go.
fn is_of_type(value: &Json, ty: &str) -> bool {
    let Some((tag, held)) = value.as_object().and_then(|of| of.iter().next()) else { return true };
    if let Some(inner) = ty.strip_prefix("optional_type(").and_then(|of| of.strip_suffix(')')) {
        return tag == "optional" && (held.is_null() || is_of_type(held, inner));
    }
    if let Some(inner) = ty.strip_prefix("list(").and_then(|of| of.strip_suffix(')')) {
        let items = held.as_array().map(Vec::as_slice).unwrap_or_default();
        return tag == "list" && items.iter().all(|item| is_of_type(item, inner));
    }
    if let Some(inner) = ty.strip_prefix("map(").and_then(|of| of.strip_suffix(')')) {
        let entries = held.as_array().map(Vec::as_slice).unwrap_or_default();
        let Some((key, of)) = inner.split_once(", ") else { return true };
        return tag == "map"
            && entries.iter().all(|pair| is_of_type(&pair[0], key) && is_of_type(&pair[1], of));
    }
    match ty {
        ty if ty.starts_with("type") => tag == "type",
        "bool" | "int" | "uint" | "double" | "string" | "bytes" => tag == ty,
        _ => true,
    }
}
