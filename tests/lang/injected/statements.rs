//! Broken uses of every kind of statement that keeps state, writes or acts: nineteen of twenty are reported on their
//! line.

use super::faults::{self, Fault, KINDS};
use super::{overlaps, said, shown, wanted};
use bayplan::diag::SourceMap;
use bayplan::lang;
use bayplan::testing::Random;
use std::collections::BTreeMap;

/// A document with all of them.
const DOCUMENT: &str = include_str!("statements.yaml");

/// The fields of `spec` whose uses are counted.
const STATEMENTS: [&str; 13] = [
    "mode",
    "enforceWhen",
    "modeUntil",
    "ledgers",
    "memos",
    "sources",
    "gates",
    "reserve",
    "beforeBind",
    "afterBind",
    "afterFailure",
    "prefilter",
    "exceptions",
];

/// What a use becomes when it is broken: the field of `spec`, a text below it, and what stands there instead. Each is a
/// mistake.
const BROKEN: &[(&str, &str, &str)] = &[
    ("mode", "mode: audit", "mode: audited"),
    ("mode", "mode: audit", "mode: [audit]"),
    ("mode", "mode: audit", "mdoe: audit"),
    ("enforceWhen", "sample(pod.name, 0.1)", "sample(pod.name)"),
    ("enforceWhen", "sample(pod.name, 0.1)", "sample(pod.priority, 0.1)"),
    ("enforceWhen", "sample(pod.name, 0.1)", "sampel(pod.name, 0.1)"),
    ("enforceWhen", "sample(pod.name, 0.1)", "node.ready"),
    ("enforceWhen", "sample(pod.name, 0.1)", "pod.priority"),
    ("modeUntil", "2027-01-31", "2027-02-31"),
    ("modeUntil", "2027-01-31", "tomorrow"),
    ("gates", "mode: warn", "mode: wran"),
    ("prefilter", "mode: warn", "mode: warn until 2027-01-31"),
    ("prefilter", "mode: warn", "mode: true"),
    ("gates", "mode: warn", "enforceWhen: node.ready"),
    ("gates", "mode: warn", "enforceWhen: pod.priority"),
    ("gates", "mode: warn", "enforceWhen: sampel(pod.name, 0.1)"),
    ("gates", "mode: warn", "modeUntil: \"2027-01-31\""),
    ("prefilter", "mode: warn", "enforceWhen: pod.priority > 1"),
    ("prefilter", "mode: warn", "enforceWehn: pod.priority > 1"),
    ("beforeBind", "patch: node", "patch: nodes"),
    ("beforeBind", "patch: node", "pacth: node"),
    ("beforeBind", "spec:", "sepc:"),
    ("beforeBind", "unschedulable: pod.priority > 8", "unschedulabel: pod.priority > 8"),
    ("beforeBind", "unschedulable: pod.priority > 8", "unschedulable: pod.priority"),
    ("beforeBind", "unschedulable: pod.priority > 8", "unschedulable: null"),
    ("beforeBind", "unschedulable: pod.priority > 8", "unschedulable: {}"),
    ("beforeBind", "unschedulable: pod.priority > 8", "taints: '[node]'"),
    ("beforeBind", "example.com/slots: \"\\\"1\\\"\"", "example.com/slots: node.pods.count()"),
    ("beforeBind", "capacity:", "capcity:"),
    ("afterBind", "patch: class", "patch: members"),
    ("afterBind", "example.com/pod: pod.name", "bayplan.dev/pod: pod.name"),
    ("afterBind", "example.com/pod: pod.name", "example.com/pod: pod.priority"),
    ("afterBind", "annotations:", "finalizers:"),
    ("afterBind", "description: pod.namespace", "descripton: pod.namespace"),
    ("afterBind", "description: pod.namespace", "description: pod.labels"),
    ("afterBind", "description: pod.namespace", "kind: pod.namespace"),
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
    ("exceptions", "until: 2099-01-31", "until: 2099-02-31"),
    ("exceptions", "until: 2099-01-31", "until: next year"),
    ("exceptions", "until: 2099-01-31", "utnil: 2099-01-31"),
    ("exceptions", "until: 2099-01-31", "until: [2099-01-31]"),
    ("exceptions", "because: 'OPS-1: it moves'", "becuase: 'OPS-1: it moves'"),
    ("exceptions", "because: 'OPS-1: it moves'", "because: [OPS-1]"),
    ("exceptions", "rule: prefilter", "rule: prefliter"),
    ("exceptions", "rule: prefilter", "rules: [prefilter]"),
    ("exceptions", "rule: prefilter", "rule: gates"),
    ("exceptions", "pod.priority > 7", "pod.priority"),
    ("exceptions", "pod.priority > 7", "pod.prioritiy > 7"),
    ("exceptions", "pod.priority > 7", "node.ready"),
    ("exceptions", "pod.priority > 7", "priority > 7"),
];

/// A policy, and an exception from it beside it.
const BESIDE: &str = "except teams/own until 2099-01-31 because \"OPS-1: it moves\" when pod.labels[\"old\"] == \"yes\"\n\
                      /// Keeps teams apart.\npolicy teams {\n  param most = 3\n  filter own { require \
                      node.pods.count() < most else \"node(s) full\" }\n}\n";

/// What a part of it becomes when it is broken.
const BROKEN_BESIDE: &[(&str, &str)] = &[
    ("except teams/own", "except teams own"),
    ("except teams/own", "except teams/own/all"),
    ("except teams/own", "except"),
    ("except teams/own", "except from teams/own"),
    ("except teams/own", "exception teams/own"),
    ("until 2099-01-31", "until 2099-01-32"),
    ("until 2099-01-31", "until \"2099-01-31\""),
    ("until 2099-01-31", "until tomorrow"),
    ("until 2099-01-31 ", ""),
    ("until 2099-01-31", "until"),
    ("because \"OPS-1: it moves\" ", ""),
    ("because \"OPS-1: it moves\"", "because it moves"),
    ("because \"OPS-1: it moves\"", "because \"OPS-1: it moves"),
    ("because \"OPS-1: it moves\"", "because"),
    ("when pod.labels", "if pod.labels"),
    ("when pod.labels", "unless pod.labels"),
    ("pod.labels[\"old\"] == \"yes\"", "pod.labels[\"old\"]"),
    ("pod.labels[\"old\"] == \"yes\"", "pod.labls[\"old\"] == \"yes\""),
    ("pod.labels[\"old\"] == \"yes\"", "node.labels[\"old\"] == \"yes\""),
    ("pod.labels[\"old\"] == \"yes\"", "pod.priority > most"),
    ("pod.labels[\"old\"] == \"yes\"", "pod.labels[\"old\"] = \"yes\""),
    ("pod.labels[\"old\"] == \"yes\"", ""),
];

/// The bytes of a field of `spec`.
fn section(name: &str) -> std::ops::Range<usize> {
    if let Some(at) = DOCUMENT.find(&format!("\n  {name}: ")) {
        let end = DOCUMENT[at + 1..].find('\n').unwrap() + at + 2;
        return at + 1..end;
    }
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

/// A policy that uses a file, and the files that there are.
const USING: &str = "use \"lib/half.bay\"\n/// Keeps half of each node free.\npolicy half-empty {\n  filter free { require \
                     node.requested.cpu <= half(node) else \"node(s) half full\" }\n}\n";
const FILES: [(&str, &str); 5] = [
    ("rules/lib/half.bay", "def half(n: node): cpu = n.allocatable.cpu / 2\n"),
    (
        "rules/lib/twice.bay",
        "def half(n: node): cpu = n.allocatable.cpu * 2\ndef half(n: node): cpu = 1cpu\n",
    ),
    ("rules/lib/circle.bay", "use \"../a.bay\"\ndef half(n: node): cpu = 1cpu\n"),
    (
        "rules/lib/policy.bay",
        "/// A policy.\npolicy of-lib { filter f { require node.ready else \"no\" } }\n",
    ),
    ("rules/lib/text.txt", "def half(n: node): cpu = 1cpu\n"),
];

/// What a part of it becomes when it is broken.
const BROKEN_FILES: &[(&str, &str)] = &[
    ("use \"lib/half.bay\"", "use \"lib/hafl.bay\""),
    ("use \"lib/half.bay\"", "use lib/half.bay"),
    ("use \"lib/half.bay\"", "use \"lib/half.bay"),
    ("use \"lib/half.bay\"", "use half from \"lib/half.bay\""),
    ("use \"lib/half.bay\"", "use \"lib/half.bay\" as half"),
    ("use \"lib/half.bay\"", "use \"\""),
    ("use \"lib/half.bay\"", "use"),
    ("use \"lib/half.bay\"", "use \"half.bay\""),
    ("use \"lib/half.bay\"", "use \"/rules/lib/half.bay\""),
    ("use \"lib/half.bay\"", "use \"../../lib/half.bay\""),
    ("use \"lib/half.bay\"", "use \"lib\""),
    ("use \"lib/half.bay\"", "use \"https://example.com/half.bay\""),
    ("use \"lib/half.bay\"", "use \"lib/circle.bay\""),
    ("use \"lib/half.bay\"", "use \"a.bay\""),
    ("use \"lib/half.bay\"", "import \"lib/half.bay\""),
    ("use \"lib/half.bay\"", "include \"lib/half.bay\""),
    ("use \"lib/half.bay\"", "use \"lib/half.bay\" \"lib/policy.bay\""),
    ("half(node)", "hafl(node)"),
    ("half(node)", "half()"),
    ("half(node)", "half(pod)"),
    ("half(node)", "lib.half(node)"),
    ("half(node)", "half(node, 2)"),
];

#[test]
fn broken_uses_of_files_are_reported_on_their_line() {
    let said_of = |text: &str| {
        let mut sources = SourceMap::new();
        let id = sources.add("rules/a.bay", text);
        FILES.iter().for_each(|(name, text)| {
            sources.add(*name, *text);
        });
        let given = lang::Given {
            size: Default::default(),
            schemas: &Default::default(),
            arguments: &|_| Vec::new(),
            sources: Some(&sources),
            exceptions: None,
        };
        let said = lang::compile_given(sources.get(id).unwrap(), given).1;
        let said: Vec<_> = said.into_iter().filter(|said| said.span.source == id).collect();
        (sources, said)
    };
    let (sources, said) = said_of(USING);
    assert!(said.is_empty(), "{}", shown(&sources, &said));
    report_broken(USING, BROKEN_FILES, said_of);
}

/// At least nineteen of twenty broken parts of a text are reported on their line.
fn report_broken(
    text: &str,
    broken_parts: &[(&str, &str)],
    said_of: impl Fn(&str) -> (SourceMap, Vec<bayplan::diag::Diagnostic>),
) {
    let mut missed = Vec::new();
    for (right, wrong) in broken_parts {
        let start = text.find(right).unwrap_or_else(|| panic!("{right}"));
        let broken = text.replacen(right, wrong, 1);
        let (sources, said) = said_of(&broken);
        let fault = Fault { range: start..start + wrong.len(), certain: true };
        if !on_its_line(&broken, &said, &fault) {
            missed.push(format!("{wrong}\n{}", shown(&sources, &said)));
        }
    }
    let (all, found) = (broken_parts.len(), broken_parts.len() - missed.len());
    println!("{found} of {all} broken parts are reported on their line");
    assert!(found * 20 >= all * 19, "{found} of {all}\n{}", missed.join("\n"));
}

#[test]
fn broken_exceptions_beside_policies_are_reported_on_their_line() {
    let said_of = |text: &str| {
        let mut sources = SourceMap::new();
        let id = sources.add("a.bay", text);
        let said = lang::compile(sources.get(id).unwrap()).1;
        (sources, said)
    };
    let (sources, said) = said_of(BESIDE);
    assert!(said.is_empty(), "{}", shown(&sources, &said));
    report_broken(BESIDE, BROKEN_BESIDE, said_of);
}
