//! Broken uses of every kind of statement that keeps state, writes or acts: nineteen of twenty are reported on their
//! line.

use super::faults::{self, Fault, KINDS};
use super::{overlaps, said, shown, wanted};
use bayplan::testing::Random;
use std::collections::BTreeMap;

/// A document with all of them.
const DOCUMENT: &str = include_str!("statements.yaml");

/// The fields of `spec` whose uses are counted.
const STATEMENTS: [&str; 9] = [
    "ledgers",
    "memos",
    "sources",
    "gates",
    "reserve",
    "beforeBind",
    "afterBind",
    "afterFailure",
    "prefilter",
];

/// What a use becomes when it is broken: the field of `spec`, a text below it, and what stands there instead. Each is a
/// mistake.
const BROKEN: &[(&str, &str, &str)] = &[
    ("ledgers", "type: int", "type: double"),
    ("ledgers", "type: cpu", "type: bytes"),
    ("ledgers", "by: pod.namespace", "by: pod.labels[\"team\"]"),
    ("ledgers", "by: pod.namespace", "by: groups.members.count()"),
    ("ledgers", "by: variables.class.name", "by: objects(\"PriorityClass\").size()"),
    ("ledgers", "by: variables.class.name", "by: variables.class"),
    ("ledgers", "value: 1", "value: memos.tries"),
    ("ledgers", "value: pod.requests.cpu", "value: nodes.size()"),
    ("ledgers", "when: pod.priority > 3", "when: now() > pod.created"),
    ("memos", "type: bool", "type: resources"),
    ("memos", "by: pod.namespace", "by: node.name"),
    ("memos", "by: pod.name", "by: pod.labels[\"job\"]"),
    ("memos", "ttl: 10min", "ttl: 10"),
    ("memos", "ttl: 1h", "ttl: pod.name"),
    ("sources", "window: 5min", "window: 5h"),
    ("sources", "window: 5min", "window: 5Gi"),
    ("sources", "maxAge: 2min", "maxAge: 0s"),
    ("gates", "when: ledgers.used[pod.namespace] >= 16", "when: ledgers.usde[pod.namespace] >= 16"),
    ("gates", "when: ledgers.used[pod.namespace] >= 16", "when: ledgers.used[pod.priority] >= 16"),
    ("gates", "when: ledgers.used[pod.namespace] >= 16", "when: ledgers.used >= 16"),
    ("gates", "when: groups.members.count() > 3", "when: nodes.size() > 3"),
    ("gates", "when: groups.members.count() > 3", "when: node.ready"),
    ("prefilter", "when: has(memos.resting) && memos.resting", "when: memos.resting[pod.name]"),
    ("prefilter", "when: has(memos.resting) && memos.resting", "when: has(memos.rests)"),
    (
        "prefilter",
        "ledgers.ranked[variables.class.name] > quantity(\"100m\")",
        "ledgers.ranked[variables.class.name] > quantity(\"1Gi\")",
    ),
    ("reserve", "annotate: pod", "annotate: node"),
    ("reserve", "example.com/node: node.name", "example.com/node: node.pods.count()"),
    ("reserve", "example.com/node: node.name", "example.com/no de: node.name"),
    ("reserve", "when: node.pods.count() >= 100", "when: node.pods"),
    ("beforeBind", "annotate: node", "annotate: nodes"),
    ("beforeBind", "label: class", "label: clas"),
    ("beforeBind", "label: class", "patch: class"),
    ("beforeBind", "example.com/last: pod.name", "example.com/last: pod.priority"),
    ("beforeBind", "example.com/last: pod.name", "example.com/last/name: pod.name"),
    ("beforeBind", "when: pod.priority > 7", "when: pod.priority"),
    ("afterBind", "label: pod", "lable: pod"),
    ("afterBind", "event: pod", "event: members"),
    ("afterBind", "type: normal", "type: fatal"),
    ("afterBind", "reason: Placed", "reason: was placed"),
    ("afterBind", "{node.name}", "{node.nmae}"),
    ("afterBind", "remember: tries", "remember: tires"),
    ("afterBind", "value: 0", "value: '\"none\"'"),
    ("afterBind", "activate: members", "activate: pods"),
    ("afterFailure", "remember: resting", "remember: used"),
    ("afterFailure", "value: true", "value: 3"),
    ("afterFailure", "release: members", "release: member"),
    ("afterFailure", "release: members", "release: resting"),
    ("afterFailure", "activate: members", "activate: load"),
    ("afterFailure", "when: pod.priority > 3", "when: node.ready"),
];

/// The bytes of a field of `spec`.
fn section(name: &str) -> std::ops::Range<usize> {
    let start = DOCUMENT.find(&format!("\n  {name}:\n")).unwrap_or_else(|| panic!("{name}")) + 1;
    let head = DOCUMENT[start..].find('\n').unwrap() + start + 1;
    let is_next = |line: &str| line.starts_with("  ") && !line.starts_with("  -") && !line.starts_with("   ");
    let mut end = head;
    for line in DOCUMENT[head..].split_inclusive('\n') {
        if is_next(line) {
            break;
        }
        end += line.len();
    }
    start..end
}

/// Whether a report is on the line of a mistake.
fn on_its_line(text: &str, said: &[bayplan::diag::Diagnostic], fault: &Fault) -> bool {
    let line = |at: usize| text[..at.min(text.len())].matches('\n').count();
    let wanted = line(fault.range.start)..=line(fault.range.end);
    let has = |span: bayplan::diag::Span| wanted.contains(&line(span.start as usize));
    said.iter().filter(|said| said.is_error()).any(|said| has(said.span))
}

#[test]
fn the_document_has_no_mistake() {
    let (sources, said) = said(DOCUMENT);
    assert!(!said.iter().any(|said| said.is_error()), "{}", shown(&sources, &said));
}

#[test]
fn broken_uses_are_reported_on_their_line() {
    let mut missed = Vec::new();
    for (name, right, wrong) in BROKEN {
        let within = section(name);
        let at = DOCUMENT[within.clone()].find(right).unwrap_or_else(|| panic!("{name}: {right}"));
        let start = within.start + at;
        let mut broken = DOCUMENT.to_owned();
        broken.replace_range(start..start + right.len(), wrong);
        let (sources, said) = said(&broken);
        let fault = Fault { range: start..start + wrong.len(), certain: true };
        if !on_its_line(&broken, &said, &fault) {
            missed.push(format!("{name}: {wrong}\n{}", shown(&sources, &said)));
        }
    }
    let found = BROKEN.len() - missed.len();
    println!("{found} of {} broken uses are reported on their line", BROKEN.len());
    assert!(found * 20 >= BROKEN.len() * 19, "{found} of {}\n{}", BROKEN.len(), missed.join("\n"));
}

#[test]
fn injected_mistakes_overlap_their_report_in_every_statement() {
    let sections = STATEMENTS.map(|name| (name, section(name)));
    let mut counts: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    let mut missed = Vec::new();
    for seed in 0..wanted(600) {
        let mut random = Random(44_000_000 + seed as u64);
        let kind = random.of(KINDS);
        let Some((broken, fault)) = faults::inject(&mut random, DOCUMENT, kind) else { continue };
        let Some((name, _)) = sections.iter().find(|(_, within)| within.contains(&fault.range.start)) else {
            continue;
        };
        let (sources, said) = said(&broken);
        let silent = !said.iter().any(|said| said.is_error());
        if silent && !fault.certain {
            continue;
        }
        let (all, found) = counts.entry(name).or_default();
        *all += 1;
        if overlaps(&said, &fault) {
            *found += 1;
        } else {
            let line = broken[..fault.range.start].matches('\n').count();
            let words = broken.lines().nth(line).unwrap_or_default();
            missed.push(format!("{kind} in {name}, line {}: {words}\n{}", line + 1, shown(&sources, &said)));
        }
    }
    let all: usize = counts.values().map(|(all, _)| all).sum();
    let found: usize = counts.values().map(|(_, found)| found).sum();
    println!("{found} of {all} mistakes overlap their report: {counts:?}");
    assert_eq!(counts.len(), STATEMENTS.len(), "{counts:?}");
    assert!(found * 20 >= all * 19, "{found} of {all}, {counts:?}\n{}", missed.join("\n"));
}
