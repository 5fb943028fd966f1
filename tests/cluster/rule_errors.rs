//! Rules in CEL that end with an error on a real API server: what each `onError` does at each statement, the metric, and
//! the Event about the policy's object.

use crate::scheduler_process::{SchedulerProcess, Setup};
use crate::support::{ControlPlane, objects, wait_until};
use crate::workload::Workload;
use serde_json::Value;
use serde_json::json;
use std::time::Duration;

const SOON: Duration = Duration::from_secs(30);
const STATEMENTS: [&str; 5] = ["filter", "prefilter", "score", "gate", "applies"];
const ON_ERROR: [&str; 3] = ["reject", "ignore", "error"];

/// A policy for the pods with the label `case`, of which one statement fails.
fn document(statement: &str, on_error: &str) -> String {
    let case = format!("{statement}-{on_error}");
    let own = format!("pod.labels[?\"case\"].orValue(\"\") == \"{case}\"");
    let fails = "pod.labels[\"team\"] == \"a\"";
    let applies = if statement == "applies" { format!("{own} && {fails}") } else { own };
    let body = match statement {
        "filter" => format!("filters: [{{name: f, rules: [{{reject: no, when: '{fails}'}}]}}]"),
        "prefilter" => format!("prefilter: [{{reject: no, when: '{fails}'}}]"),
        "score" => String::from("scores: [{name: s, expression: 'node.labels[\"rank\"] == \"1\" ? 5 : 6'}]"),
        "gate" => format!("gates: [{{reason: no, when: '{fails}'}}]"),
        _ => String::from("filters: [{name: f, rules: [{reject: no, when: '!node.ready'}]}]"),
    };
    format!(
        "apiVersion: bayplan.dev/v1\nkind: SchedulingPolicy\nmetadata: {{name: {case}}}\nspec:\n  onError: {on_error}\n  \
         appliesWhen: '{applies}'\n  {body}\n"
    )
}

/// Whether the pod of a case is placed in spite of the error.
fn passes(statement: &str, on_error: &str) -> bool {
    on_error == "ignore" || (statement, on_error) == ("score", "reject")
}

fn rule_of(statement: &str) -> &str {
    match statement {
        "filter" => "f",
        "score" => "s",
        "applies" => "applies when",
        other => other,
    }
}

#[test]
fn each_on_error_does_what_it_says_and_is_counted_and_told() {
    let plane = ControlPlane::shared();
    let load = Workload::new(plane, "errors", 2);
    let space = load.namespace.as_str();
    let cases: Vec<(&str, &str)> =
        STATEMENTS.iter().flat_map(|of| ON_ERROR.map(|on_error| (*of, on_error))).collect();
    // Each document has seven lines.
    let text: Vec<String> = cases.iter().map(|(of, on_error)| document(of, on_error)).collect();
    let text = text.join("---\n");
    let label = [("bayplan.dev/policy", "")];
    plane.create(&[objects::config_map(space, "errors", &label, &[("errors.yaml", &text)])]);
    let ours = SchedulerProcess::start(plane, &Setup::new(&load.scheduler).policies_from(space));
    let name = |(statement, on_error): &(&str, &str)| format!("{statement}-{on_error}");
    let pods = cases.iter().map(|case| {
        let mut pod = load.pod(&name(case), "10m");
        pod["metadata"]["labels"] = json!({ "case": name(case) });
        pod
    });
    plane.create(&pods.collect::<Vec<_>>());

    for case in &cases {
        let (statement, on_error) = *case;
        let pod = name(case);
        if passes(statement, on_error) {
            wait_until(&format!("{pod} is bound"), SOON, || plane.node_of(space, &pod).is_some());
            continue;
        }
        let said = match on_error {
            "error" => String::from("no such key: pod.labels[\"team\"]"),
            _ => format!("{pod}/{}: evaluation error", rule_of(statement)),
        };
        let said =
            if statement == "score" { String::from("no such key: node.labels[\"rank\"]") } else { said };
        let has = |event: &Value| event["note"].as_str().is_some_and(|note| note.contains(&said));
        wait_until(&format!("an event of {pod} says {said}"), SOON, || {
            plane.events_about(space, &pod).iter().any(has)
        });
        assert_eq!(plane.node_of(space, &pod), None, "{pod}");
    }

    let metrics = plane.get_from(&ours.url(), "/metrics").expect("its metrics");
    for case in &cases {
        let sample =
            format!("bayplan_rule_errors_total{{policy=\"{}\",rule=\"{}\"}} ", name(case), rule_of(case.0));
        let counted = metrics.lines().find_map(|line| line.strip_prefix(&sample)?.parse::<u64>().ok());
        assert!(counted.is_some_and(|count| count > 0), "{sample}{counted:?}");
    }

    let told = || {
        let events = plane.events_about(space, "errors");
        events.into_iter().filter(|event| event["reason"] == "PolicyRuleFailed").collect::<Vec<_>>()
    };
    wait_until("an event about the policies", SOON, || !told().is_empty());
    let events = told();
    // Faster than once a minute there is no further one, although rules go on failing.
    assert_eq!(events.len(), 1, "{events:?}");
    let (event, note) = (&events[0], events[0]["note"].as_str().unwrap());
    assert_eq!((&event["type"], &event["action"]), (&json!("Warning"), &json!("Evaluate")));
    let places = note.lines().filter_map(|line| line.split("errors.yaml:").nth(1)?.split(':').next());
    let places: Vec<usize> = places.map(|line| line.parse().unwrap()).collect();
    assert!(!places.is_empty() && note.contains("no such key: "), "{note}");
    for line in places {
        let line = text.lines().nth(line - 1).unwrap();
        assert!(line.contains("[\"team\"]") || line.contains("[\"rank\"]"), "{note}: {line}");
    }
}
