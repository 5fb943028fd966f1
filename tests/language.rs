//! The language room from outside: fixtures of texts, types, mistakes and values.

use bayplan::diag::{Diagnostic, SourceMap};
use bayplan::lang;
use std::path::{Path, PathBuf};

/// All files of a folder with an ending, in the order of their names.
fn files(folder: &str, ending: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/language").join(folder);
    let mut files: Vec<PathBuf> = std::fs::read_dir(&folder)
        .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == ending))
        .collect();
    files.sort();
    files
}

/// A diagnostic in one line and its help, as goldens have it.
fn line(diagnostic: &Diagnostic, sources: &SourceMap) -> String {
    let (place, _) = sources.places(diagnostic.span);
    let mut text = format!(
        "{}:{} {}[{}] {}\n",
        place.line,
        place.column,
        diagnostic.severity.word(),
        diagnostic.code.id,
        diagnostic.message
    );
    if let Some(help) = &diagnostic.help {
        text.push_str(&format!("    help: {help}\n"));
    }
    text
}

/// What was said about a text.
fn said(name: &str, text: &str) -> (Vec<lang::typed::Policy>, Vec<Diagnostic>, String) {
    let mut sources = SourceMap::new();
    let id = sources.add(name, text);
    // A fixture for a cluster of another size says so in its first line.
    let size = text.lines().next().and_then(|line| line.strip_prefix("// --size "));
    let size = size.map_or_else(lang::cost::Size::default, |size| size.parse().unwrap());
    let (policies, diagnostics) = lang::compile_for(sources.get(id).unwrap(), size, &|_| Vec::new());
    let lines = diagnostics.iter().map(|d| line(d, &sources)).collect();
    (policies, diagnostics, lines)
}

#[test]
fn policies_of_the_design_compile_or_need_what_is_not_built() {
    let mut wrong = String::new();
    for path in files("design", "bay") {
        let text = std::fs::read_to_string(&path).unwrap();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let (policies, diagnostics, lines) = said(&name, &text);
        let errors: Vec<_> = diagnostics.iter().filter(|d| d.is_error()).collect();
        let only_unbuilt = errors.iter().all(|d| d.code.slug == "not-built");
        if !only_unbuilt || errors.is_empty() == policies.is_empty() {
            wrong.push_str(&format!("---- {name}\n{lines}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// What is said about every policy of the design, as one text: a change of a message shows here.
#[test]
fn what_is_said_about_the_policies_of_the_design() {
    let mut all = String::new();
    for path in files("design", "bay") {
        let text = std::fs::read_to_string(&path).unwrap();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let (_, _, lines) = said(&name, &text);
        all.push_str(&format!("---- {name}\n{lines}"));
    }
    golden("design.out", &all);
}

/// Compares with a recorded text; `BAYPLAN_GOLDEN=write` records it.
pub fn golden(name: &str, got: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/language").join(name);
    if std::env::var("BAYPLAN_GOLDEN").is_ok_and(|value| value == "write") {
        std::fs::write(&path, got).unwrap();
        return;
    }
    let wanted = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(got == wanted, "{} differs; BAYPLAN_GOLDEN=write records it:\n{got}", path.display());
}

/// An expression as it would stand in a filter.
fn expression(text: &str) -> (Option<lang::typed::Expr>, Vec<Diagnostic>, String) {
    let mut sources = SourceMap::new();
    let id = sources.add("expression", text);
    let (parsed, mut diagnostics) = lang::dsl::parse_expression(sources.get(id).unwrap());
    let mut checked = None;
    if let Some(parsed) = parsed {
        let (result, found) = lang::check::check_expression(&parsed, text);
        checked = result.map(|(_, expr)| expr);
        diagnostics.extend(found);
    }
    let lines = diagnostics.iter().map(|d| line(d, &sources)).collect();
    (checked, diagnostics, lines)
}

/// The value of an expression of constants; `none` too where the compiler says that there is none.
fn constant(text: &str) -> Result<lang::value::Constant, String> {
    let (checked, diagnostics, lines) = expression(text);
    if diagnostics.iter().any(|d| d.is_error()) {
        let no_value = diagnostics.iter().all(|d| d.message.ends_with("has no value") || !d.is_error());
        return if no_value { Ok(lang::value::Value::Absent) } else { Err(lines) };
    }
    let expr = checked.ok_or("no expression")?;
    let tables = lang::fold::Tables { params: &[], lets: &[], defs: &[] };
    lang::fold::constant(&expr, tables).ok_or_else(|| "no constant".to_owned())
}

#[test]
fn examples_of_functions_have_the_values_that_are_written_beside_them() {
    let mut wrong = String::new();
    let mut count = 0;
    for def in lang::functions::FUNCTIONS.iter().flat_map(|family| family.iter()) {
        for (example, expected) in def.examples {
            count += 1;
            match (constant(example), constant(expected)) {
                (Ok(got), Ok(wanted)) if got == wanted => {}
                (got, wanted) => wrong.push_str(&format!("{example} is {got:?}, not {wanted:?}\n")),
            }
        }
    }
    assert!(count > 100, "{count} examples");
    assert!(wrong.is_empty(), "{wrong}");
}
/// `tests/language/types/*.txt`: expressions, and below each its type and range, or what is said about it.
#[test]
fn expressions_have_the_types_and_mistakes_that_are_written_below_them() {
    for path in files("types", "txt") {
        let text = std::fs::read_to_string(&path).unwrap();
        let mut got = String::new();
        for written in text.lines().filter(|line| !line.starts_with("    ") && !line.is_empty()) {
            got.push_str(written);
            got.push('\n');
            if written.starts_with('#') {
                continue;
            }
            let (checked, _, lines) = expression(written);
            if let Some(expr) = checked {
                let range = match expr.range {
                    lang::range::Range::None => String::new(),
                    range => format!(" {range}"),
                };
                got.push_str(&format!("    {}{range}\n", expr.ty));
            }
            for line in lines.lines() {
                got.push_str(&format!("    {line}\n"));
            }
        }
        golden(&format!("types/{}", path.file_name().unwrap().to_string_lossy()), &got);
    }
}

/// `tests/language/mistakes/*.bay`: policies with one mistake each, and what is said about them in `said.out`.
#[test]
fn mistakes_are_said_as_recorded() {
    let mut all = String::new();
    for path in files("mistakes", "bay") {
        let text = std::fs::read_to_string(&path).unwrap();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let (policies, diagnostics, lines) = said(&name, &text);
        assert!(!diagnostics.is_empty(), "{name}: nothing is said");
        let errors = diagnostics.iter().any(|d| d.is_error());
        assert!(
            !errors || policies.is_empty() || name == "two-policies.bay",
            "{name}: an error, and a policy"
        );
        all.push_str(&format!("---- {name}\n{lines}"));
    }
    golden("mistakes/said.out", &all);
}

/// The grammar of messages: one line, lower case, no full stop, nothing of the machine.
#[test]
fn messages_are_written_alike() {
    let mut wrong = String::new();
    let folders = [("design", "bay"), ("mistakes", "bay")];
    let texts = folders.iter().flat_map(|(folder, ending)| files(folder, ending));
    let mut all: Vec<Diagnostic> = Vec::new();
    for path in texts {
        all.extend(said("x.bay", &std::fs::read_to_string(&path).unwrap()).1);
    }
    for path in files("types", "txt") {
        let text = std::fs::read_to_string(&path).unwrap();
        for written in text.lines().filter(|line| !line.starts_with([' ', '#'])) {
            all.extend(expression(written).1);
        }
    }
    assert!(all.len() > 200);
    for diagnostic in &all {
        let outside: String =
            diagnostic.message.split('`').enumerate().filter(|(at, _)| at % 2 == 0).map(|(_, t)| t).collect();
        let own = ["`", "GPU", "JSON", "CEL"];
        let first = diagnostic.message.chars().next().unwrap_or(' ');
        let bad = diagnostic.message.contains('\n')
            || diagnostic.message.ends_with('.')
            || first.is_uppercase() && !own.iter().any(|word| diagnostic.message.starts_with(word))
            || outside.contains("::")
            || outside.contains("Some(")
            || outside.contains("Option")
            || diagnostic.message.matches('`').count() % 2 == 1
            || diagnostic
                .help
                .as_deref()
                .is_some_and(|help| help.ends_with('.') || help.matches('`').count() % 2 == 1);
        if bad {
            wrong.push_str(&format!("{} / {:?}\n", diagnostic.message, diagnostic.help));
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// What is said about a policy with these arguments, and the values that its params have.
fn with_arguments(text: &str, arguments: serde_json::Value) -> (String, String) {
    let mut sources = SourceMap::new();
    let id = sources.add("a.bay", text);
    let file = sources.add("profile.yaml", "arguments of a profile");
    let span = sources.get(file).unwrap().span();
    let given = |_: &str| {
        let entries = arguments.as_object().unwrap().iter();
        entries
            .map(|(name, value)| lang::check::Argument { name: name.clone(), value: value.clone(), span })
            .collect()
    };
    let (policies, diagnostics) = lang::compile_with(sources.get(id).unwrap(), &given);
    let said = diagnostics.iter().map(|d| line(d, &sources)).collect();
    let params = policies.iter().flat_map(|policy| &policy.params);
    (said, params.map(|param| format!("{}={} ", param.name, param.value)).collect())
}

#[test]
fn arguments_of_a_profile_are_checked_against_the_params_and_the_policy() {
    let text = "/// A policy.\npolicy a {\n  param room = 2cpu\n  param patience = 60s\n  param part = 50%\n  \
        param n: int in 1..9 = 3\n  param seats: map<string, int> = {}\n  \
        filter f { reject \"x\" when node.free.cpu < room || share(node.free.cpu, room) < part || seats[\"a\"] == n }\n  \
        score s { give 100 / n when node.ready }\n  permit { wait patience until node.ready else \"y\" }\n}";
    let good =
        serde_json::json!({"room": "500m", "patience": "1h30m", "part": "30%", "n": 5, "seats": {"a": 8}});
    let (said, values) = with_arguments(text, good);
    // An hour and a half is longer than a pod may wait: said at the argument.
    assert_eq!(said.lines().next().unwrap(), "1:1 error[BP0118] `patience` is longer than 15 minutes");
    assert_eq!(values, "");
    let good =
        serde_json::json!({"room": "500m", "patience": "90s", "part": "30%", "n": 5, "seats": {"a": 8}});
    let (said, values) = with_arguments(text, good);
    assert_eq!(said, "");
    assert_eq!(values, "room=500 patience=90000000 part=0.3 n=5 seats={\"a\": 8} ");
    let bad =
        |arguments: serde_json::Value| with_arguments(text, arguments).0.lines().next().unwrap().to_owned();
    assert_eq!(
        bad(serde_json::json!({"room": 2})),
        "1:1 error[BP0120] `room` is `cpu`: `2` has no unit; write it as a text, `\"500m\"`"
    );
    assert_eq!(bad(serde_json::json!({"n": 10})), "1:1 error[BP0120] `n` is allowed from 1 to 9");
    assert_eq!(bad(serde_json::json!({"n": "3"})), "1:1 error[BP0120] `n` is `int`: `\"3\"` is none");
    assert_eq!(
        bad(serde_json::json!({"patiense": "3s"})),
        "1:1 error[BP0120] the policy has no param `patiense`"
    );
}
