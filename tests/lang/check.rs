//! Types of expressions, mistakes in policies and arguments of profiles: what the compiler says,
//! and how it words it.

use super::fixtures::{expression, files, golden, line, said};
use bayplan::diag::{Diagnostic, SourceMap};
use bayplan::lang;

/// `tests/lang/types/*.txt`: expressions, and below each its type and range, or what is said about
/// it.
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
                    lang::types::range::Range::None => String::new(),
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

/// `tests/lang/check_errors/*.bay`: policies with one mistake each, and what is said about them in
/// `said.out`.
#[test]
fn mistakes_are_said_as_recorded() {
    let mut all = String::new();
    for path in files("check_errors", "bay") {
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
    golden("check_errors/said.out", &all);
}

/// The grammar of messages: one line, lower case, no full stop, nothing of the machine.
#[test]
fn messages_are_written_alike() {
    let mut wrong = String::new();
    let folders = [("design", "bay"), ("check_errors", "bay")];
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
    let bytes = "/// A policy.\npolicy a { param d = 1s param b = 1Gi param c = 1cpu filter f { reject \"x\" when \
                 node.free.memory < b && node.free.cpu < c && now() - pod.created < d } }";
    // A text means what it means in a policy.
    for (name, text, value) in [
        ("d", "1d", "d=86400000000"),
        ("d", "1h30min", "d=5400000000"),
        ("d", "250ms", "d=250000"),
        ("d", "1.5h", "d=5400000000"),
        ("b", "4Gi", "b=4294967296"),
        ("b", "100B", "b=100"),
        ("b", "1024", "b=1024"),
        ("c", "500m", "c=500"),
        ("c", "0.5cpu", "c=500"),
        ("c", "2", "c=2000"),
    ] {
        let (said, values) = with_arguments(bytes, serde_json::json!({name: text}));
        assert!(said.is_empty() && values.contains(value), "{text}: {said}{values}");
    }
    for (name, text, why) in [
        ("d", "5m", "`5m` is an amount of cpu; minutes are written `5min`"),
        ("d", "90m", "`90m` is an amount of cpu; minutes are written `90min`"),
        ("d", "4Gi", "`4Gi` is a number of bytes"),
        ("b", "500m", "`500m` is an amount of cpu"),
        ("b", "0.3Ki", "`0.3Ki` is not a whole number of bytes"),
        ("c", "30%", "`30%` is a share"),
        ("c", "5min", "`5min` is a duration"),
    ] {
        let said = with_arguments(bytes, serde_json::json!({name: text})).0;
        assert!(said.contains(why), "{text}: {said}");
    }
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
    // No argument is infinite or NaN.
    for share in ["inf%", "-inf%", "NaN%", "nan%", "infinity%", "1e400%", "inf", "NaN"] {
        assert_eq!(
            bad(serde_json::json!({"part": share})),
            format!("1:1 error[BP0120] `part` is `float`: `{share}` is none")
        );
    }
}

/// The ends of a param's range are exact, also beyond the digits of a float.
#[test]
fn ranges_of_params_are_exact() {
    let text = "/// A policy.\npolicy a {\n  param n: int in 0..9007199254740993 = 3\n  \
        score s normalize max { give n when node.ready\n    give 0 }\n}";
    let said = |n: i64| with_arguments(text, serde_json::json!({ "n": n })).0;
    assert_eq!(said(9_007_199_254_740_993), "");
    assert!(said(9_007_199_254_740_994).contains("`n` is allowed from 0 to 9007199254740993"));
}
