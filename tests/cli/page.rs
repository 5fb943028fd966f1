//! The bay plan: its numbers are those of `dry-run` and `explain`, and an anonymous one names nothing.

use crate::support::repository;
use serde_json::Value;
use std::process::Command;

const FIRST: &str = "--cluster examples/first/cluster.yaml --policies examples/first";
const GANG: &str = "--cluster examples/gang/cluster.yaml --policies examples/gang";

fn printed(line: &str) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_bayplan"))
        .args(line.split(' '))
        .current_dir(repository(""))
        .output()
        .unwrap();
    assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn json(line: &str) -> Value {
    serde_json::from_str(&printed(line)).unwrap()
}

/// The texts of a column.
fn texts<'a>(plan: &'a Value, column: &Value) -> Vec<&'a str> {
    let text = |at: &Value| match usize::try_from(at.as_i64().unwrap()) {
        Ok(at) => plan["strings"][at].as_str().unwrap(),
        Err(_) => "",
    };
    column.as_array().unwrap().iter().map(text).collect()
}

/// Namespace and name of each row of pods.
fn names(plan: &Value) -> Vec<String> {
    let namespaces = texts(plan, &plan["pods"]["namespace"]);
    let names = plan["pods"]["name"].as_array().unwrap().iter();
    namespaces.iter().zip(names).map(|(of, name)| format!("{of}/{}", name.as_str().unwrap())).collect()
}

#[test]
fn pods_end_where_dry_run_says() {
    for flags in [FIRST, GANG] {
        let (plan, told) =
            (json(&format!("dry-run {flags} -o bay-plan")), json(&format!("dry-run {flags} -o json")));
        assert_eq!(plan["totals"], told["totals"], "{flags}");
        let (names, states) = (names(&plan), texts(&plan, &plan["pods"]["state"]));
        let messages = texts(&plan, &plan["pods"]["message"]);
        for (row, decision) in told["decisions"].as_array().unwrap().iter().enumerate() {
            assert_eq!(names[row], decision["pod"], "{flags}");
            assert_eq!(states[row], decision["state"], "{flags}");
            assert_eq!(messages[row], decision["message"], "{flags}");
            let node = plan["pods"]["node"][row].as_u64().map(|at| at as usize);
            let node = node.map_or("", |at| plan["nodes"]["name"][at].as_str().unwrap());
            assert_eq!(node, decision["node"], "{flags}");
        }
    }
}

#[test]
fn causes_and_examples_are_those_of_explain() {
    for flags in [FIRST, GANG] {
        let (plan, told) =
            (json(&format!("explain {flags} -o bay-plan")), json(&format!("explain {flags} -o json")));
        let names = names(&plan);
        let causes = told["causes"].as_array().unwrap();
        assert_eq!(plan["causes"].as_array().unwrap().len(), causes.len(), "{flags}");
        for (at, cause) in causes.iter().enumerate() {
            let made = &plan["causes"][at];
            assert_eq!((&made["cause"], &made["pods"]), (&cause["cause"], &cause["pods"]), "{flags}");
            let rows = plan["pods"]["cause"].as_array().unwrap().iter();
            let of_cause = rows.filter(|row| row.as_i64() == i64::try_from(at).ok()).count();
            assert_eq!(made["pods"].as_u64(), Some(of_cause as u64), "{flags}");
        }
        for of in plan["explained"].as_array().unwrap() {
            let pod = &names[of["pod"].as_u64().unwrap() as usize];
            let one = json(&format!("explain {pod} {flags} -o json"));
            for field in ["verdict", "sets", "nodes", "funnel", "conflicts"] {
                assert_eq!(of[field], one[field], "{pod}: {field}");
            }
            let rules = one["rules"].as_array().unwrap().iter();
            let counts = rules.map(|rule| (&rule["rule"], &rule["refuses"], &rule["alone"]));
            let made = of["rules"].as_array().unwrap().iter();
            let made = made.map(|rule| (&rule["rule"], &rule["refuses"], &rule["alone"]));
            assert!(counts.eq(made), "{pod}");
            for (node, reasons) in
                one["perNode"].as_array().unwrap().iter().zip(of["perNode"].as_array().unwrap())
            {
                let reasons = of["reasons"][reasons.as_u64().unwrap() as usize].as_array().unwrap();
                let refusals = reasons.iter().map(|at| &of["refusals"][at.as_u64().unwrap() as usize]);
                assert!(refusals.eq(node["refusals"].as_array().unwrap()), "{pod} on {}", node["name"]);
            }
        }
    }
}

#[test]
fn a_pod_that_was_named_has_the_patches_of_its_suggestions() {
    let plan = json(&format!("explain train-c {FIRST} -o bay-plan"));
    let focus = plan["focus"].as_u64().unwrap();
    let explained = plan["explained"].as_array().unwrap().iter().find(|of| of["pod"].as_u64() == Some(focus));
    let helps = explained.unwrap()["wouldHelp"].as_array().unwrap();
    assert_eq!(helps.len(), 3);
    for (at, help) in helps.iter().enumerate().filter(|(_, help)| help["whose"] != "wait") {
        assert_eq!(help["patch"], printed(&format!("explain train-c {FIRST} --fix {}", at + 1)));
    }
}

#[test]
fn scores_add_up_to_their_totals() {
    let plan = json(&format!("dry-run {FIRST} -o bay-plan"));
    let placed = plan["decisions"].as_array().unwrap();
    assert_eq!(Some(placed.len() as u64), plan["totals"]["placed"].as_u64());
    for node in placed.iter().flat_map(|of| of["nodes"].as_array().unwrap()) {
        let parts = node["by"].as_array().unwrap().iter().map(|by| by[1].as_i64().unwrap());
        assert_eq!(Some(parts.sum::<i64>()), node["total"].as_i64());
    }
}

#[test]
fn an_anonymous_bay_plan_names_nothing() {
    let text = printed(&format!("explain speech-0 {GANG} -o bay-plan --anonymize"));
    for name in ["speech", "vision", "lonely", "gpu-1", "gang", "job", "members", "examples"] {
        assert!(!text.contains(name), "{name}");
    }
}

#[test]
fn flags_that_the_page_needs_none_of_are_refused() {
    for (line, word) in [
        (format!("explain train-c {FIRST} -o html --fix 1"), "leave out `--fix`"),
        (format!("explain train-c {FIRST} -o svg --node gpu-1"), "leave out `--node`"),
        (format!("dry-run {FIRST} --anonymize"), "`--anonymize` is for `-o html`"),
    ] {
        let output = Command::new(env!("CARGO_BIN_EXE_bayplan"))
            .args(line.split(' '))
            .current_dir(repository(""))
            .output()
            .unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(2) && errors.contains(word), "{line}: {errors}");
    }
}
