//! Selectors of devices: whether a device matches, with the device as a ResourceSlice has it.

use super::run::run;
use super::tally::{Outcome, Tally, fault, said};
use bayplan::lang::cel::{Environment, compile};
use bayplan::lang::types::Type;
use bayplan::lang::types::cel::{Cel, PreRelease, Semver};
use bayplan::lang::types::value::ExactQuantity;
use bayplan::lang::types::value::Value;
use serde_json::Value as Json;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Compares the lines of a file.
pub(super) fn compare(file: &str, lines: &[Json]) -> Tally {
    let mut tally = Tally::new(file.rsplit('/').next().unwrap_or(file));
    let environment = Environment::device(Type::Any);
    for line in lines {
        let expression = line["expr"].as_str().unwrap();
        tally.add(&format!("{expression}   [{}]", line["device"]), outcome(expression, line, &environment));
    }
    tally
}

fn outcome(expression: &str, line: &Json, environment: &Environment) -> Outcome {
    // A selector is a bool, or an attribute, whose type is not known.
    let compiled = compile(expression, environment).map_err(|errors| said(&errors)).and_then(|program| {
        let ty = program.type_name();
        let fits = ["bool", "google.protobuf.Any"].contains(&ty);
        if fits { Ok(program) } else { Err(format!("it is a {ty}")) }
    });
    let program = match (compiled, line.get("compileError")) {
        (Ok(program), None) => program,
        (Err(_), Some(_)) => return Outcome::Passed,
        (Err(errors), None) => return Outcome::Failed(format!("is refused: {errors}")),
        (Ok(program), Some(why)) => {
            return Outcome::Failed(format!("compiles as {}; upstream: {why}", program.type_name()));
        }
    };
    let value = run(&program, &[device(line)]);
    // A result that is no bool is an error.
    let matches = match &value {
        Value::Bool(matches) => Ok(*matches),
        other => Err(fault(other).unwrap_or_else(|| format!("{other} is no bool"))),
    };
    match (matches, line["matches"].as_bool()) {
        (Err(_), None) => Outcome::Passed,
        (Ok(here), Some(there)) if here == there => Outcome::Passed,
        (here, Some(there)) => Outcome::Failed(format!("is {here:?}; upstream: {there}")),
        (Ok(here), None) => Outcome::Failed(format!("is {here}; upstream stops: {}", line["error"])),
    }
}

/// The value of the variable `device`.
fn device(line: &Json) -> Value<'static> {
    let driver = line["driver"].as_str().unwrap();
    let of = &line["device"];
    bayplan::lang::cel::device(
        driver,
        of["allowMultipleAllocations"] == true,
        by_domain(driver, &of["attributes"], attribute),
        by_domain(driver, &of["capacity"], |amount| quantity(&amount["value"])),
    )
}

/// Maps of a domain each; a name without one is in that of the driver.
fn by_domain(
    driver: &str,
    named: &Json,
    value: fn(&Json) -> Value<'static>,
) -> Vec<(Value<'static>, Value<'static>)> {
    let mut domains: BTreeMap<&str, Vec<(Value<'static>, Value<'static>)>> = BTreeMap::new();
    for (name, json) in named.as_object().into_iter().flatten() {
        let (domain, id) = name.split_once('/').unwrap_or((driver, name));
        domains.entry(domain).or_default().push((Value::text(id), value(json)));
    }
    domains.into_iter().map(|(domain, values)| (Value::text(domain), Value::map(values))).collect()
}

fn attribute(json: &Json) -> Value<'static> {
    let (kind, value) = json.as_object().unwrap().iter().next().unwrap();
    match (kind.as_str(), value) {
        ("bool", value) => Value::Bool(value.as_bool().unwrap()),
        ("int", value) => Value::Int(value.as_i64().unwrap()),
        ("string", value) => Value::text(value.as_str().unwrap()),
        ("version", value) => version(value.as_str().unwrap()),
        (other, _) => panic!("{other}"),
    }
}

/// A version that is valid, as the API server sees to.
fn version(text: &str) -> Value<'static> {
    let (text, build) = text.split_once('+').unwrap_or((text, ""));
    let (numbers, pre_release) = text.split_once('-').unwrap_or((text, ""));
    let numbers: Vec<u64> = numbers.split('.').map(|number| number.parse().unwrap()).collect();
    let parts =
        |of: &str| of.split('.').filter(|part| !part.is_empty()).map(str::to_owned).collect::<Vec<_>>();
    let identifier = |part: String| part.parse().map_or(PreRelease::Text(part), PreRelease::Number);
    Value::Cel(Cel::Semver(Arc::new(Semver {
        major: numbers[0],
        minor: numbers[1],
        patch: numbers[2],
        pre_release: parts(pre_release).into_iter().map(identifier).collect(),
        build: parts(build),
    })))
}

fn quantity(json: &Json) -> Value<'static> {
    Value::Quantity(Arc::new(ExactQuantity::parse(json.as_str().unwrap()).unwrap()))
}
