//! Selectors of devices: whether a device matches, with the device as a ResourceSlice has it.

use super::run::run;
use super::tally::{Outcome, Tally};
use bayplan::devices::{DeviceOf, DeviceSelectors, SelectError, Selects};
use bayplan::lang::cel::{Environment, compile};
use bayplan::lang::types::cel::{Cel, PreRelease, Semver};
use bayplan::lang::types::value::ExactQuantity;
use bayplan::lang::types::value::Value;
use bayplan::model::{KubernetesVersion, ResourceSlice, Typed, VersionRows};
use serde_json::Value as Json;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Compares the lines of a file of a version.
pub(super) fn compare(file: &str, lines: &[Json]) -> Tally {
    let mut tally = Tally::new(file.rsplit('/').next().unwrap_or(file));
    let version = if file.contains("1.36") { KubernetesVersion::V1_36 } else { KubernetesVersion::V1_37 };
    let rows = VersionRows::of(version);
    let (environment, selectors) = (Environment::device(rows), DeviceSelectors::new(rows));
    for line in lines {
        let expression = line["expr"].as_str().unwrap();
        tally.add(&format!("{expression}   [{}]", line["device"]), outcome(expression, line, &selectors));
        // What is near the limit of costs is for one evaluator alone.
        let is_cheap = line["cost"].as_u64().is_some_and(|cost| cost < 10_000);
        if is_cheap && let Ok(program) = compile(expression, &environment) {
            run(&program, &[device(line)]);
        }
    }
    tally
}

fn outcome(expression: &str, line: &Json, selectors: &DeviceSelectors) -> Outcome {
    let written = serde_json::json!({
        "metadata": {"name": "s"},
        "spec": {"driver": line["driver"], "pool": {"name": "p"}, "devices": [line["device"]]},
    });
    let written: <ResourceSlice as Typed>::Slim = serde_json::from_value(written).unwrap();
    let slice = Arc::new(ResourceSlice::from_object(&written).unwrap());
    let of = DeviceOf::new(&slice, 0).unwrap();
    let expression: Arc<str> = expression.into();
    let here = selectors.selects(&expression, &of);
    assert_eq!(selectors.selects(&expression, &of), here, "what is remembered: {expression}");
    match (&here, line.get("compileError"), line["matches"].as_bool()) {
        // Not all mistakes are found in the order of cel-go: `BAYPLAN_CEL_TEXTS` prints what is said otherwise.
        (Err(SelectError::Compile(why)), Some(there), _) => {
            if std::env::var_os("BAYPLAN_CEL_TEXTS").is_some() && there != why.as_str() {
                println!("{expression}\n  ours {why:?}\n  upstream {there}");
            }
            Outcome::Passed
        }
        (Err(SelectError::Compile(why)), None, _) => Outcome::Failed(format!("is refused: {why}")),
        (_, Some(why), _) => Outcome::Failed(format!("compiles; upstream: {why}")),
        (Err(SelectError::Run(why)), None, None) => {
            // Texts that are the same for all expressions.
            let there = line["error"].as_str().unwrap();
            let exact =
                ["attribute ", "no such key: ", "operation cancelled", "division by zero", "'includes'"];
            match exact.iter().any(|start| there.starts_with(start)) && why != there {
                true => Outcome::Failed(format!("says {why:?}; upstream: {there:?}")),
                false => Outcome::Passed,
            }
        }
        (Ok(here), None, Some(there)) if *here == there => Outcome::Passed,
        (here, None, there) => Outcome::Failed(format!("is {here:?}; upstream: {there:?} {}", line["error"])),
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
        ("ints" | "bools" | "strings" | "versions", Json::Array(items)) => {
            let kind = kind.trim_end_matches('s');
            Value::list(items.iter().map(|item| attribute(&serde_json::json!({ kind: item }))))
        }
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
