//! Scenarios on the real API server whose outcomes are those of the real kube-scheduler: places up to ties, conditions,
//! nominations, deletions and events. A file of `cases` is a group of scenarios (`data.rs`); what kube-scheduler did is
//! recorded beside it. `make test-scenarios` runs kube-scheduler again and compares.
//!
//! `BAYPLAN_SCENARIO=NAME,NAME` runs the scenarios whose names hold one of them. `BAYPLAN_RECORD=write make test-scenarios` records,
//! with `BAYPLAN_GROUP=NAME` only the files whose names hold NAME.

mod api;
mod data;
mod look;
mod run;

use crate::support::binaries::as_said;
use data::{Group, Recorded, record, recorded};
use run::{Stage, Who};
use serde_json::Value;
use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

/// The API server of all scenarios of this process; a group has it alone.
fn stage() -> MutexGuard<'static, Stage> {
    static STAGE: OnceLock<Mutex<Stage>> = OnceLock::new();
    STAGE.get_or_init(|| Mutex::new(Stage::new())).lock().unwrap_or_else(PoisonError::into_inner)
}

fn only() -> String {
    std::env::var("BAYPLAN_SCENARIO").unwrap_or_default()
}

/// What we are expected to do: what kube-scheduler did, but for the differences on purpose.
fn expected(group: &Group, name: &str) -> Recorded {
    let mut all = recorded(name);
    for scenario in &group.scenarios {
        for difference in &scenario.differs {
            let look = all.get_mut(&scenario.name).and_then(|steps| steps.get_mut(difference.step - 1));
            let parent = difference
                .at
                .rsplit_once('/')
                .and_then(|(parent, field)| Some((look?.pointer_mut(parent)?, field)));
            let (parent, field) =
                parent.unwrap_or_else(|| panic!("{}: {} is not recorded", scenario.name, difference.at));
            parent[field] = said(&difference.is);
        }
    }
    all
}

/// What is written of us, in the words of the version that the tests run with.
fn said(is: &Value) -> Value {
    match is {
        Value::String(text) => as_said(text).into(),
        Value::Array(all) => all.iter().map(said).collect(),
        other => other.clone(),
    }
}

/// The lines in which two looks differ.
fn difference(scenario: &str, expected: &[Value], seen: &[Value]) -> String {
    let mut said = String::new();
    for at in 0..expected.len().max(seen.len()) {
        let [expected, seen] = [expected, seen].map(|all| lines("", all.get(at).unwrap_or(&Value::Null)));
        let of = |mark: &str, lines: Vec<&String>| -> String {
            lines.iter().map(|line| format!("\n    {mark} {line}")).collect()
        };
        let (missing, more) =
            (expected.difference(&seen).collect::<Vec<_>>(), seen.difference(&expected).collect::<Vec<_>>());
        if !missing.is_empty() || !more.is_empty() {
            said += &format!("\n{scenario}, step {}:{}{}", at + 1, of("-", missing), of("+", more));
        }
    }
    said
}

fn lines(path: &str, value: &Value) -> BTreeSet<String> {
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            fields.iter().flat_map(|(key, value)| lines(&format!("{path}/{key}"), value)).collect()
        }
        Value::Array(items) if !items.is_empty() => {
            items.iter().flat_map(|value| lines(&format!("{path}[]"), value)).collect()
        }
        value => BTreeSet::from([format!("{path}: {value}")]),
    }
}

fn compared(name: &str, who: Who) {
    let group = Group::read(name);
    let expected = match who {
        Who::Bayplan => expected(&group, name),
        Who::KubeScheduler => recorded(name),
    };
    let seen = stage().run(&group, who, Some(&expected), &only());
    let none = Vec::new();
    let said: String = seen
        .iter()
        .map(|(scenario, seen)| difference(scenario, expected.get(scenario).unwrap_or(&none), seen))
        .collect();
    assert!(said.is_empty(), "{name}: `-` is kube-scheduler's, `+` was seen{said}");
}

#[test]
fn filters() {
    compared("filters", Who::Bayplan);
}

#[test]
fn affinity() {
    compared("affinity", Who::Bayplan);
}

#[test]
fn configurations() {
    compared("configurations", Who::Bayplan);
}

#[test]
fn devices() {
    compared("devices", Who::Bayplan);
}

#[test]
fn preemption() {
    compared("preemption", Who::Bayplan);
}

#[test]
fn queueing() {
    compared("queueing", Who::Bayplan);
}

#[test]
fn spreading() {
    compared("spreading", Who::Bayplan);
}

#[test]
fn volumes() {
    compared("volumes", Who::Bayplan);
}

#[test]
fn every_file_of_scenarios_is_recorded() {
    for name in Group::names() {
        let (group, recorded) = (Group::read(&name), recorded(&name));
        for scenario in group.scenarios {
            let steps = recorded.get(&scenario.name).map_or(0, Vec::len);
            assert_eq!(steps, scenario.steps.len(), "{name}: steps of {}", scenario.name);
        }
    }
}

/// With BAYPLAN_RECORD it writes what kube-scheduler does.
#[test]
#[ignore = "the real kube-scheduler; `make test-scenarios`"]
fn kube_scheduler_does_what_is_recorded() {
    let group = std::env::var("BAYPLAN_GROUP").unwrap_or_default();
    for name in Group::names().into_iter().filter(|name| name.contains(&group)) {
        if std::env::var_os("BAYPLAN_RECORD").is_none() {
            compared(&name, Who::KubeScheduler);
            continue;
        }
        let mut all = recorded(&name);
        let group = Group::read(&name);
        all.extend(stage().run(&group, Who::KubeScheduler, None, &only()));
        all.retain(|scenario, _| group.scenarios.iter().any(|it| it.name == *scenario));
        record(&name, &all);
    }
}
