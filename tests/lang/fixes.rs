//! What a message offers holds: every fix compiles when it is applied, and help for usual mistakes leads to
//! an expression that compiles.

use bayplan::diag::{Diagnostic, Fix, SourceMap};
use bayplan::lang;
use std::path::Path;

fn said(text: &str) -> Vec<Diagnostic> {
    let mut sources = SourceMap::new();
    let id = sources.add("fixed.bay", text);
    lang::compile(sources.get(id).unwrap()).1
}

fn applied(text: &str, fix: &Fix) -> String {
    let mut edits: Vec<_> = fix.edits.iter().collect();
    edits.sort_by_key(|edit| std::cmp::Reverse(edit.span.start));
    let mut text = text.to_owned();
    for edit in edits {
        text.replace_range(edit.span.range(), &edit.text);
    }
    text
}

/// Mistakes of the parser: what it cannot read the checker does not see.
fn of_the_parser(said: &Diagnostic) -> bool {
    said.is_error() && said.code.id.starts_with("BP00")
}

/// What is wrong with a fix, if anything: its mistake is still there, or there are new ones.
fn judge(text: &str, before: &[Diagnostic], mistake: &Diagnostic, fix: &Fix) -> Option<String> {
    let fixed = applied(text, fix);
    let after = said(&fixed);
    let count =
        |of: &[Diagnostic], what: fn(&Diagnostic) -> bool| of.iter().filter(|said| what(said)).count();
    // What has a mistake is of unknown type, so that mistakes elsewhere may show once it is corrected.
    let written = fix.edits.iter().map(|edit| edit.span.start..edit.span.start + edit.text.len() as u32);
    let written: Vec<_> = written.collect();
    let at_the_fix = |said: &&Diagnostic| {
        said.is_error() && written.iter().any(|at| said.span.start < at.end && at.start < said.span.end)
    };
    let fewer = if of_the_parser(mistake) {
        // Once it is read, the checker may find more.
        count(&after, of_the_parser) < count(before, of_the_parser)
    } else if mistake.is_error() {
        count(&after, Diagnostic::is_error) < count(before, Diagnostic::is_error)
            || !after.iter().any(|said| at_the_fix(&said))
    } else {
        count(&after, Diagnostic::is_error) <= count(before, Diagnostic::is_error)
            && after.len() < before.len()
    };
    let told = |of: &[Diagnostic]| {
        of.iter().map(|said| format!("    {} {}\n", said.code.id, said.message)).collect::<String>()
    };
    (!fewer).then(|| format!("{}: {}\n{fixed}\n{}", mistake.message, fix.message, told(&after)))
}

#[test]
fn every_fix_of_the_recorded_mistakes_compiles() {
    let mut wrong = String::new();
    let mut fixes = 0;
    for folder in ["tests/lang/syntax_errors", "tests/lang/check_errors"] {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_none_or(|ending| ending != "bay") {
                continue;
            }
            let Ok(text) = std::fs::read_to_string(&path) else { continue };
            let before = said(&text);
            for mistake in &before {
                for fix in &mistake.fixes {
                    fixes += 1;
                    if let Some(why) = judge(&text, &before, mistake, fix) {
                        wrong.push_str(&format!("---- {}: {why}\n", path.display()));
                    }
                }
            }
        }
    }
    assert!(fixes > 25, "{fixes} fixes");
    assert!(wrong.is_empty(), "{wrong}");
}

/// A condition that is wrong, what the help offers in its place, and the condition with it.
const CONDITIONS: &[(&str, &str, &str)] = &[
    ("node.cpu > 1cpu", "node.free.cpu", "node.free.cpu > 1cpu"),
    ("node.cpu > 1cpu", "node.requested.cpu", "node.requested.cpu > 1cpu"),
    ("node.memory > 1Gi", "node.allocatable.memory", "node.allocatable.memory > 1Gi"),
    ("pod.cpu > 1cpu", "pod.requests.cpu", "pod.requests.cpu > 1cpu"),
    ("node.labels.contains(\"x\")", "\"x\" in node.labels", "\"x\" in node.labels"),
    ("!node.labels.contains(\"x\")", "(\"x\" in node.labels)", "!(\"x\" in node.labels)"),
    (
        "node.labels[\"slots\"] > 4",
        "(int(node.labels[\"slots\"]) ?? 0) > 4",
        "(int(node.labels[\"slots\"]) ?? 0) > 4",
    ),
    (
        "4 < node.labels[\"slots\"]",
        "4 < (int(node.labels[\"slots\"]) ?? 0)",
        "4 < (int(node.labels[\"slots\"]) ?? 0)",
    ),
    (
        "node.labels[\"room\"] >= 2Gi",
        "(as_bytes(node.labels[\"room\"]) ?? 0) >= 2Gi",
        "(as_bytes(node.labels[\"room\"]) ?? 0) >= 2Gi",
    ),
    (
        "pod.requests.nvidia.com/gpu > 0",
        "pod.requests[\"nvidia.com/gpu\"]",
        "pod.requests[\"nvidia.com/gpu\"] > 0",
    ),
    ("pod.ownerReferences[0].kind == \"Job\"", "pod.owner.kind == \"Job\"", "pod.owner.kind == \"Job\""),
    ("pod.serviceAccount == \"ci\"", "pod.service_account", "pod.service_account == \"ci\""),
    ("weekday == 1", "now().getDayOfWeek(\"Europe/Berlin\")", "now().getDayOfWeek(\"Europe/Berlin\") == 1"),
    (
        "now > 8",
        "within(now(), \"Mon-Fri 08:00-18:00\", \"Europe/Berlin\")",
        "within(now(), \"Mon-Fri 08:00-18:00\", \"Europe/Berlin\")",
    ),
    (
        "now() > time(\"2026-01-01\")",
        "time(\"2026-01-01T00:00:00Z\")",
        "now() > time(\"2026-01-01T00:00:00Z\")",
    ),
    (
        "now() > time(\"2026-1-5 10:00\")",
        "time(\"2026-01-05T10:00:00Z\")",
        "now() > time(\"2026-01-05T10:00:00Z\")",
    ),
    ("node.free.memory > \"10 GB\"", "`10G` or `10Gi`", "node.free.memory > 10G"),
    ("node.free.memory > \"10 Gi\"", "write `10Gi`", "node.free.memory > 10Gi"),
    ("node.free.memory > as_bytes(\"4GB\")", "`4G` or `4Gi`", "node.free.memory > as_bytes(\"4Gi\")"),
    ("node.free.cpu > as_cpu(\"2 cores\")", "as_cpu(\"2\")", "node.free.cpu > as_cpu(\"2\")"),
    ("node.age > duration(\"1d\")", "duration(\"24h\")", "node.age > duration(\"24h\")"),
    (
        "float(node.free.cpu) > 0.5",
        "share(node.free.cpu, node.allocatable.cpu)",
        "share(node.free.cpu, node.allocatable.cpu) > 0.5",
    ),
    ("int(pod.requests.memory) > 5", "pod.requests.memory.value()", "pod.requests.memory.value() > 5"),
    ("node.free.memory > 4000000000", "`4000000000B`", "node.free.memory > 4000000000B"),
    ("hour > 8", "now().getHours(\"Europe/Berlin\")", "now().getHours(\"Europe/Berlin\") > 8"),
];

#[test]
fn help_for_usual_mistakes_compiles() {
    let policy = |condition: &str| {
        format!("/// A.\npolicy a {{\n  filter f {{\n    require {condition} else \"no\"\n  }}\n}}\n")
    };
    let mut wrong = String::new();
    for (typed, offered, replaced) in CONDITIONS {
        let text = policy(typed);
        let errors: Vec<_> = said(&text).into_iter().filter(Diagnostic::is_error).collect();
        let offers =
            errors.iter().filter(|said| said.help.as_ref().is_some_and(|help| help.contains(offered)));
        if errors.len() != 1 || offers.count() != 1 {
            let told: Vec<_> = errors.iter().map(|said| (&said.message, &said.help)).collect();
            wrong.push_str(&format!("{typed}: {offered} is not what is said: {told:?}\n"));
        }
        for mistake in &errors {
            for fix in &mistake.fixes {
                wrong.extend(judge(&text, &errors, mistake, fix));
            }
        }
        for said in said(&policy(replaced)).iter().filter(|said| said.is_error()) {
            wrong.push_str(&format!("{replaced}: {}\n", said.message));
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}

/// Statements that are wrong, and a part of the help; their fixes compile.
const STATEMENTS: &[(&str, &str)] = &[
    ("filter f { deny \"no\" if !node.ready }", "reject"),
    ("filter { require node.ready else \"no\" }", "filter NAME"),
    ("filter f { reject \"node is \"bad\" now\" when !node.ready }", "\\\""),
    ("filter f { reject \"node is \"very bad\" now\" when !node.ready }", "\\\""),
    (
        "filter f {\n    let x = 1cpu\n    x = x + 1cpu\n    require node.free.cpu > x else \"no\"\n  }",
        "a let is set once",
    ),
    (
        "filter f {\n    let x = 1cpu\n    x += 1cpu\n    require node.free.cpu > x else \"no\"\n  }",
        "a let is set once",
    ),
    ("let x = 1cpu\n  x = 2cpu\n  filter f { require node.free.cpu > x else \"no\" }", "a let is set once"),
    ("applies to all pods\n  for p in node.pods { reject \"no\" }", "l.exists(x, …)"),
    ("filter f {\n    let x = 1cpu\n    return node.free.cpu > x\n  }", "give E when C"),
    ("filter f { if !node.ready { reject \"no\" } }", "put the condition last"),
];

#[test]
fn help_for_usual_mistakes_in_statements_names_the_way_out() {
    let mut wrong = String::new();
    for (typed, offered) in STATEMENTS {
        let text = format!("/// A.\npolicy a {{\n  {typed}\n}}\n");
        let errors: Vec<_> = said(&text).into_iter().filter(Diagnostic::is_error).collect();
        if !errors.iter().any(|said| said.help.as_ref().is_some_and(|help| help.contains(offered))) {
            let told: Vec<_> = errors.iter().map(|said| (&said.message, &said.help)).collect();
            wrong.push_str(&format!("{typed}: {offered} is not what is said: {told:?}\n"));
        }
        for mistake in &errors {
            for fix in &mistake.fixes {
                wrong.extend(judge(&text, &errors, mistake, fix));
            }
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}
