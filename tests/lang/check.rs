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
fn holidays_of_a_profile_are_dates() {
    let text = "/// A policy.\npolicy a {\n  param holidays: list<string> = []\n  gate \"not now\" when !within(now(), \
                \"Mon-Fri 08:00-18:00\", \"Europe/Berlin\", holidays)\n}";
    let (said, values) = with_arguments(text, serde_json::json!({"holidays": ["2026-12-25"]}));
    assert_eq!((&*said, &*values), ("", "holidays=[\"2026-12-25\"] "));
    let (said, _) = with_arguments(text, serde_json::json!({"holidays": ["2026-12-25", "2026-13-01"]}));
    assert!(said.contains("`2026-13-01` is not a date: the calendar has no such day"), "{said}");
    let days = |count: usize| vec!["2026-12-25"; count];
    assert_eq!(with_arguments(text, serde_json::json!({"holidays": days(1_000)})).0, "");
    let (said, _) = with_arguments(text, serde_json::json!({"holidays": days(1_001)}));
    assert!(said.contains("a list of holidays has at most 1000 dates, and this has 1001"), "{said}");
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
    assert_eq!(bad(serde_json::json!({"n": "3"})), "1:1 error[BP0120] `n` is `int`: `\"3\"` is a text");
    assert_eq!(
        bad(serde_json::json!({"patiense": "3s"})),
        "1:1 error[BP0120] the policy has no param `patiense`"
    );
    // No argument is infinite or NaN.
    for share in ["inf%", "-inf%", "NaN%", "nan%", "infinity%", "1e400%", "inf", "NaN"] {
        assert_eq!(
            bad(serde_json::json!({"part": share})),
            format!("1:1 error[BP0120] `part` is `float`: `{share}` is a text and no number")
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

/// A let that the queue reads too is checked without what the policy narrows: its default is needed there.
#[test]
fn a_default_is_needless_only_where_nothing_needs_it() {
    let said = |text: &str| {
        let (policies, diagnostics, _) = said("p.bay", text);
        assert_eq!(policies.len(), 1, "{diagnostics:?}");
        diagnostics.into_iter().map(|said| said.code.id).filter(|id| *id == "BP0405").collect::<Vec<_>>()
    };
    let policy = |more: &str| {
        format!(
            "/// A.\npolicy p {{\n  let tier = pod.labels[\"tier\"] ?? \"none\"\n  applies when has(pod.labels[\"tier\"])\n  {more}\n  \
             filter g {{ require node.labels[\"tier\"] == tier else \"node(s) of another tier\" }}\n}}\n"
        )
    };
    assert_eq!(said(&policy("")), ["BP0405"]);
    assert_eq!(said(&policy("queue by tier, pod.priority")), [""; 0]);
    assert_eq!(
        said(&policy(
            "memo m: bool by tier ttl 1h\n  prefilter { reject \"rests\" when m ?? false }\n  after failure { remember m = true }"
        )),
        [""; 0]
    );
    let def = "queue by own(pod), pod.priority\n  def own(p: pod): string = p.labels[\"tier\"] ?? \"x\"";
    assert_eq!(said(&policy(def)), ["BP0405"]);
}

/// What `applies when` says of a call is known of the call, and of what it reads.
#[test]
fn calls_are_narrowed() {
    let compiles = |declared: &str, condition: &str| {
        let text = format!(
            "/// A.\npolicy p {{\n  {declared}\n  filter f {{ require {condition} else \"no\" }}\n}}\n"
        );
        let (policies, ..) = said("p.bay", &text);
        policies.len() == 1
    };
    let tier = "def tier(): string? = pod.labels[\"tier\"]\n  def of(key: string): string? = pod.labels[key]\n  \
                def has_tier(): bool = has(pod.labels[\"tier\"])\n  def has_label(key: string): bool = has(pod.labels[key])\n  ";
    let right = [
        ("applies when has(tier())", "tier().size() > 3"),
        ("applies when has(tier())", "pod.labels[\"tier\"].size() > 3"),
        ("applies when has(pod.labels[\"tier\"])", "tier().size() > 3"),
        ("applies when has(of(\"tier\"))", "of(\"tier\").size() > 3"),
        ("applies when has(of(\"tier\"))", "pod.labels[\"tier\"].size() > 3"),
        ("applies when has_tier()", "pod.labels[\"tier\"].size() > 3"),
        ("applies when has_label(\"tier\")", "of(\"tier\").size() > 3"),
        ("applies when pod.gated", "has(tier()) && tier().size() > 3"),
        ("applies when pod.gated", "has_tier() && tier().size() > 3"),
    ];
    let wrong = [
        ("applies when pod.gated", "tier().size() > 3"),
        ("applies when has(of(\"team\"))", "of(\"tier\").size() > 3"),
        ("applies when !has_tier()", "tier().size() > 3"),
        ("applies when has_label(\"team\")", "tier().size() > 3"),
        ("applies when has_tier() || pod.gated", "tier().size() > 3"),
    ];
    for (applies, condition) in right {
        assert!(compiles(&format!("{tier}{applies}"), condition), "{applies}: {condition}");
    }
    for (applies, condition) in wrong {
        assert!(!compiles(&format!("{tier}{applies}"), condition), "{applies}: {condition}");
    }
}

/// Two policies of one text mean different things where a kind that they look up has other types: their digests differ, so
/// that what one of them refused is tried again.
#[test]
fn the_schema_of_a_kind_is_a_part_of_what_a_policy_means() {
    let text = "policy p { let desk = lookup(\"example.com/v1/Desk\", \"default\", \"a\")\n\
                filter f { require has(desk.spec.room) else \"no\" } }";
    let hash = |ty: &str| {
        let definition = serde_json::json!({"spec": {"group": "example.com", "scope": "Namespaced",
            "names": {"kind": "Desk", "plural": "desks"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {"type": "object",
                "properties": {"spec": {"type": "object", "properties": {"room": {"type": ty}}}}}}}]}});
        let mut schemas = lang::schemas::Schemas::default();
        schemas.add_definition(&definition).unwrap();
        let mut sources = SourceMap::new();
        let id = sources.add("p.bay", text);
        let size = lang::analysis::cost::Size::default();
        let given = lang::Given {
            size,
            schemas: &schemas,
            arguments: &|_| Vec::new(),
            sources: None,
            exceptions: None,
        };
        let (mut policies, said) = lang::compile_given(sources.get(id).unwrap(), given);
        assert_eq!(policies.len(), 1, "{said:?}");
        lang::policy_set::CompiledPolicy::new(policies.remove(0), &sources).hash
    };
    assert_eq!(hash("string"), hash("string"));
    assert_ne!(hash("string"), hash("integer"));
}
