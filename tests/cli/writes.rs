//! What policies write: shown by `dry-run`, expected by tests of policies, with the events about the pod.

use crate::support::command::{bayplan_in, folder};
use serde_json::Value;

const POLICY: &str = "\
/// Marks what runs where.
policy marks {
  reserve {
    annotate pod {\"example.com/rank\": \"1\"}
  }
  before bind {
    label pod {\"example.com/zone\": node.labels[\"zone\"]}
  }
  after bind {
    annotate node {\"example.com/last\": pod.name}
    event pod normal \"Marked\" \"runs in {node.name}\"
  }
}
";

const CASES: &str = "\
policies: [marks.bay]
nodes:
- {name: n1, labels: {zone: a}}
cases:
- name: the pod and its node are marked
  pod: {name: p}
  expect:
    node: n1
    writes:
      pod: {labels: {example.com/zone: a}, annotations: {example.com/rank: 1}}
      Node/n1: {annotations: {example.com/last: p}}
    events: {Marked: runs in n1, Scheduled: n1, FailedScheduling: null}
";

#[test]
fn tests_expect_what_is_written_and_the_events() {
    let at = folder(&[("marks.bay", POLICY), ("m.test.yaml", CASES)]);
    let ended = bayplan_in(&at, &["test", "m.test.yaml"]);
    assert_eq!(ended.status, 0, "{}{}", ended.out, ended.err);
    for (from, to, said) in [
        ("example.com/zone: a}", "example.com/zone: b}", "got       pod: {"),
        (
            "Node/n1: {annotations: {example.com/last: p}}",
            "Node/n1: {}",
            "expected  Node/n1: nothing is written",
        ),
        ("Node/n1: {annotations", "Node/n2: {annotations", "Node/n2: nothing is written; written are "),
        ("Marked: runs in n1", "Marked: runs in n2", "got       Marked: runs in n1"),
        ("Marked: runs in n1", "Moved: x", "no event Moved; its events are "),
        ("Marked: runs in n1", "Marked: null", "expected  no event Marked"),
    ] {
        std::fs::write(at.join("m.test.yaml"), CASES.replace(from, to)).unwrap();
        let ended = bayplan_in(&at, &["test", "m.test.yaml"]);
        assert!(ended.status == 1 && ended.out.contains(said), "{to}: {}{}", ended.out, ended.err);
    }
}

#[test]
fn a_dry_run_shows_what_would_be_written() {
    let cluster = "apiVersion: v1\nkind: Node\nmetadata: {name: n1, labels: {zone: a}}\nstatus: {allocatable: {cpu: '4', \
                   memory: 8Gi, pods: '10'}}\n---\napiVersion: v1\nkind: Pod\nmetadata: {name: p, namespace: default}\n\
                   spec: {containers: [{name: c, image: i}]}\n";
    let at = folder(&[("marks.bay", POLICY), ("c.yaml", cluster)]);
    let flags = ["dry-run", "--cluster", "c.yaml", "--policies", "marks.bay"];
    let ended = bayplan_in(&at, &flags);
    let rows = "WOULD WRITE INTO  WHAT\nPod/default/p     label example.com/zone=a, annotation example.com/rank=1\nNode/n1           annotation example.com/last=p\n";
    assert!(ended.out.contains(rows), "{}", ended.out);
    let ended = bayplan_in(&at, &[&flags[..], &["-o", "json"]].concat());
    let json: Value = serde_json::from_str(&ended.out).unwrap();
    assert_eq!(json["writes"][1]["fields"]["annotations"]["example.com/last"], "p", "{json}");
    // A policy that writes nothing adds no table.
    std::fs::write(
        at.join("marks.bay"),
        "policy none {\n  filter any { require pod.name != \"x\" else \"x\" }\n}\n",
    )
    .unwrap();
    assert!(!bayplan_in(&at, &flags).out.contains("WRITTEN"));
}
