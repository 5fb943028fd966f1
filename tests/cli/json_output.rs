//! JSON output: what the commands print has the fields and types of `reference::SHAPES`, no more and no fewer.

use crate::support::repository;
use bayplan::reference::{SHAPES, Shape};
use serde_json::Value;
use std::collections::BTreeSet;
use std::process::Command;

/// Command lines whose output holds most fields; `{first}` and `{gang}` are the flags of the examples.
const COMMANDS: &[&str] = &[
    "lint tests/lang/syntax_errors tests/lang/check_errors --format json --all",
    "lint tests/lang/syntax_errors/three-mistakes.bay tests/lang/syntax_errors/twice-when.bay --format json",
    "dry-run {first} -o json --all-nodes",
    "dry-run {gang} -o json --all-nodes",
    "dry-run --cluster examples/rollout/cluster.yaml --pods examples/rollout/pods.yaml --policies examples/rollout/1-audit -o json",
    "dry-run --cluster policies/schemas/kubevirt.io.yaml --cluster examples/sticky-node/nodes.yaml --cluster \
     examples/sticky-node/machine.yaml --cluster examples/sticky-node/instance.yaml --pods examples/sticky-node/pod.yaml \
     --policies policies/tutorial/sticky-node.bay --config examples/sticky-node/config.yaml -o json",
    "explain train-c {first} -o json",
    "explain train-a {first} -o json",
    "explain train-c {first} --node gpu-1 -o json",
    "explain train-c {first} --node gpu-3 -o json",
    "explain train-c {first} --fix 1 -o json",
    "explain train-c {first} --fix 2 -o json",
    "explain speech-0 {gang} -o json",
    "explain lonely-0 {gang} -o json",
    "explain p --cluster tests/explain/explanations/gate.yaml --policies tests/explain/explanations/gate.bay -o json",
    "explain --cluster tests/explain/explanations/gate.yaml --policies tests/explain/explanations/gate.bay -o json",
    "explain p --cluster tests/explain/explanations/late.yaml --policies tests/explain/explanations/late.bay --node n1 -o json",
    "explain shop/web-7d4b9c6f5-abcde --cluster tests/explain/explanations/refused-by-kubelet.yaml -o json",
    "explain {first} -o json",
    "explain {gang} -o json",
    "dry-run {first} -o bay-plan",
    "dry-run {gang} -o bay-plan",
    "explain train-c {first} -o bay-plan",
    "explain {gang} -o bay-plan",
    "snapshot {first}",
    "snapshot {first} --reduce train-c --anonymize",
    "snapshot --cluster fuzz/corpus/snapshot/memory",
    "explain --cluster fuzz/corpus/snapshot/memory -o json",
    "diff --kubernetes 1.36..1.37 {first} -o json",
    "diff examples/first/gpu.bay policies/patterns/gpu-placement.bay -o json",
    "diff examples/rollout/1-audit examples/rollout/3-enforce --cluster examples/rollout/cluster.yaml --pods \
     examples/rollout/pods.yaml -o json",
    "test examples -o json",
    "test examples/first/gpu.test.yaml --explain -o json",
    "plan --schema policies/schemas policies -o json",
    "eval 'node.free.cpu >= pod.requests.cpu && node.ready' {node} -o json",
    "version -o json",
];

fn shape(name: &str) -> Option<&'static Shape> {
    SHAPES.iter().find(|shape| shape.name == name)
}

/// The text between two brackets, if they enclose all of it.
fn inside(ty: &str, open: char, close: char) -> Option<&str> {
    ty.strip_prefix(open)?.strip_suffix(close)
}

/// Compares a value with a type; what differs goes into `wrong`, fields that occur into `seen`.
fn compare(value: &Value, ty: &str, place: &str, seen: &mut BTreeSet<String>, wrong: &mut BTreeSet<String>) {
    if let Some(ty) = ty.strip_suffix('?') {
        if !value.is_null() {
            compare(value, ty, place, seen, wrong);
        }
        return;
    }
    let fits = if let Some(of) = inside(ty, '[', ']') {
        let items = value.as_array();
        items.into_iter().flatten().for_each(|item| compare(item, of, place, seen, wrong));
        items.is_some()
    } else if let Some(of) = inside(ty, '{', '}') {
        let entries = value.as_object();
        entries.into_iter().flatten().for_each(|(_, item)| compare(item, of, place, seen, wrong));
        entries.is_some()
    } else if let Some(of) = inside(ty, '(', ')') {
        let (first, second) = of.split_once(", ").unwrap();
        match value.as_array().map(Vec::as_slice) {
            Some([a, b]) => {
                compare(a, first, place, seen, wrong);
                compare(b, second, place, seen, wrong);
                true
            }
            _ => false,
        }
    } else {
        match ty {
            "string" => value.is_string(),
            "int" => value.is_i64() || value.is_u64(),
            "bool" => value.is_boolean(),
            "any" => true,
            name => {
                fields(value, shape(name).unwrap_or_else(|| panic!("{place}: no shape {name}")), seen, wrong);
                value.is_object()
            }
        }
    };
    if !fits {
        wrong.insert(format!("{place} is not `{ty}`: {value}"));
    }
}

fn fields(value: &Value, shape: &Shape, seen: &mut BTreeSet<String>, wrong: &mut BTreeSet<String>) {
    let Some(object) = value.as_object() else { return };
    for (name, value) in object {
        if matches!(name.as_str(), "apiVersion" | "kind") && !shape.printed_by.is_empty() {
            continue;
        }
        let place = format!("{}.{name}", shape.name);
        match shape.fields.iter().find(|(known, ..)| known == name) {
            Some((_, ty, _)) => {
                seen.insert(place.clone());
                compare(value, ty, &place, seen, wrong);
            }
            None => _ = wrong.insert(format!("{place} is not documented: {value}")),
        }
    }
    for (name, ty, _) in shape.fields {
        if !ty.ends_with('?') && !object.contains_key(*name) {
            wrong.insert(format!("{}.{name} is missing", shape.name));
        }
    }
}

#[test]
fn output_has_the_documented_fields() {
    let first = "--cluster examples/first/cluster.yaml --policies examples/first";
    let gang = "--cluster examples/gang/cluster.yaml --policies examples/gang";
    let node = "--cluster examples/first/cluster.yaml --pod train-a --node gpu-1";
    let (mut seen, mut wrong) = (BTreeSet::new(), BTreeSet::new());
    for command in COMMANDS {
        let line = command.replace("{first}", first).replace("{gang}", gang).replace("{node}", node);
        let output = Command::new("sh")
            .args(["-c", &format!("{} {line}", env!("CARGO_BIN_EXE_bayplan"))])
            .current_dir(repository(""))
            .output()
            .unwrap();
        let document: Value = serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|error| panic!("{line}: {error} {}", String::from_utf8_lossy(&output.stderr)));
        assert_eq!(document["apiVersion"], "bayplan.dev/v1", "{line}");
        let kind = document["kind"].as_str().unwrap();
        fields(&document, shape(kind).unwrap_or_else(|| panic!("no shape {kind}")), &mut seen, &mut wrong);
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    // `tests/cluster` compares what needs a cluster.
    let live = [
        "Policies",
        "Policy",
        "PolicyState",
        "PolicyOverride",
        "PolicyRevision",
        "Diagnosis",
        "Installation",
        "CheckState",
        "Finding",
    ];
    let here = SHAPES.iter().filter(|shape| !live.contains(&shape.name));
    let all = here.map(|shape| shape.fields.len()).sum::<usize>();
    assert!(
        seen.len() * 10 > all * 8,
        "only {} of {all} fields occur: the commands show too little",
        seen.len()
    );
}
