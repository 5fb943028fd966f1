//! The language room from outside: fixtures of texts, types, mistakes and values.

use bayplan::diag::{Diagnostic, SourceMap};
use bayplan::lang;
use std::path::{Path, PathBuf};

/// All files of a folder with an ending, in the order of their names.
fn files(folder: &str, ending: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/lang").join(folder);
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
    let size = size.map_or_else(lang::analysis::cost::Size::default, |size| size.parse().unwrap());
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
pub(crate) fn golden(name: &str, got: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/lang").join(name);
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
    let (parsed, mut diagnostics) = lang::syntax::parse_expression(sources.get(id).unwrap());
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
fn constant(text: &str) -> Result<lang::types::value::Constant, String> {
    let (checked, diagnostics, lines) = expression(text);
    if diagnostics.iter().any(|d| d.is_error()) {
        let no_value = diagnostics.iter().all(|d| d.message.ends_with("has no value") || !d.is_error());
        return if no_value { Ok(lang::types::value::Value::Absent) } else { Err(lines) };
    }
    let expr = checked.ok_or("no expression")?;
    let tables = lang::eval::constant::Tables { params: &[], lets: &[], defs: &[] };
    lang::eval::constant::constant(&expr, tables).ok_or_else(|| "no constant".to_owned())
}

/// The pod that examples may read.
const EXAMPLE_POD: &str = r#"{
  "metadata": {"name": "web", "namespace": "shop", "uid": "1"},
  "spec": {"containers": [{"name": "web", "image": "web", "livenessProbe": {"httpGet": {"port": 8080}}}]}
}"#;

/// The value of an expression: a constant, or what it is for [`EXAMPLE_POD`].
fn example(text: &str) -> Result<String, String> {
    if let Ok(value) = constant(text) {
        return Ok(format!("{value:?}"));
    }
    let mut sources = SourceMap::new();
    let id = sources.add("example", text);
    let (parsed, _) = lang::syntax::parse_expression(sources.get(id).unwrap());
    let (checked, _) = lang::check::check_expression(&parsed.ok_or("it does not parse")?, text);
    let (policy, expr) = checked.ok_or_else(|| expression(text).2)?;
    let pod = bayplan::model::PodInfo::from_value(serde_json::from_str(EXAMPLE_POD).unwrap()).unwrap();
    let snapshot = bayplan::model::Snapshot::default();
    let context = lang::eval::context::EvalContext::new(&pod, &snapshot, bayplan::model::Time::default());
    let value = lang::eval::interpret::Evaluator::new(&policy, context).value(&expr);
    Ok(format!("{value:?}"))
}

/// Every row of the tables of functions, macros and forms: how it is written, its text and its examples.
fn documented() -> Vec<(String, &'static str, lang::language::functions::Examples)> {
    use lang::language::{functions, macros};
    let functions = functions::FUNCTIONS.iter().flat_map(|family| family.iter());
    let macros = macros::MACROS.iter().map(|row| (row.signature.to_owned(), row.doc, row.examples));
    let forms = macros::FORMS.iter().map(|row| (row.signature.to_owned(), row.doc, row.examples));
    functions.map(|row| (row.signature(), row.doc, row.examples)).chain(macros).chain(forms).collect()
}

#[test]
fn every_function_macro_and_form_is_described_and_has_an_example() {
    let mut wrong = String::new();
    for (signature, doc, examples) in documented() {
        let plain = doc.len() > 8 && !doc.ends_with('.') && !doc.contains("  ");
        if !plain || examples.is_empty() {
            wrong.push_str(&format!("{signature}: {doc:?}, {} examples\n", examples.len()));
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn examples_have_the_values_that_are_written_beside_them() {
    let mut wrong = String::new();
    for (text, expected) in documented().into_iter().flat_map(|(.., examples)| examples) {
        let (got, wanted) = (example(text), example(expected));
        if got.is_err() || got != wanted {
            wrong.push_str(&format!("{text} is {got:?}, not {expected}: {wanted:?}\n"));
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn every_field_is_described_with_its_source() {
    for row in lang::language::fields::FIELDS {
        let place = format!("{}.{}", row.owner.name(), row.name);
        assert!(row.doc.len() > 8 && !row.doc.ends_with('.'), "{place} has no description");
        assert!(row.source.len() > 4, "{place} has no source");
        // A path of the API that is the whole source is one that Kubernetes has.
        let path = row.source;
        let is_path = ["spec.", "status.", "metadata."].iter().any(|root| path.starts_with(root));
        if is_path && path.chars().all(|c| c.is_ascii_alphanumeric() || ".[]".contains(c)) {
            use lang::language::fields::ObjectType;
            let owner = match row.owner {
                ObjectType::Container | ObjectType::GpuRequest => ObjectType::Pod,
                ObjectType::Taint | ObjectType::Gpu => ObjectType::Node,
                owner => owner,
            };
            let found = lang::language::fields::api::at_path(owner, &path.replace("[]", ""));
            assert!(found.is_some(), "{place}: no field is at {path}");
        }
    }
}

/// `tests/lang/types/*.txt`: expressions, and below each its type and range, or what is said about it.
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

/// `tests/lang/check_errors/*.bay`: policies with one mistake each, and what is said about them in `said.out`.
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

/// What the design's text writes inline: in a policy, these compile without an error.
#[test]
fn samples_of_the_text_of_the_design_compile() {
    let statements = [
        "applies to all pods when pod.namespace == \"a\"",
        "applies when pod.requests[\"nvidia.com/gpu\"] > 0",
        "gate \"no\" when pod.labels[\"a\"] == \"b\"",
        "gate \"late\" when !within(now(), \"Mon-Fri 08:00-18:00, Sat 08:00-12:00\", \"Europe/Berlin\")",
        "gate \"late\" when now().getHours(\"Europe/Berlin\") > 8",
        "queue by desc pod.priority, asc pod.created",
        "prefilter { reject \"r\" when pod.priority < 0; only nodes [\"a\"] when pod.priority > 1 }",
        "prefilter { reject unresolvable \"r\" with { a: pod.labels[\"x\"] } when pod.priority < 0 }",
        "filter f { require node.ready else \"r {node.name} {{\" }",
        "filter f { reject resolvable \"r\" when node.pods.count() > 3 }",
        "score s { give percent(node.requested.cpu, node.allocatable.cpu) }",
        "score s weight 2 normalize minmax reversed { give none when !node.ready; give node.free.memory }",
        "score s { give 100 * share(node.requested.cpu, node.allocatable.cpu) }",
        "param weights = 5\n  prefer weights when node.ready",
        "param x: int in 1..99 = 40\n  filter f { require node.pods.count() < x else \"r\" }",
        "let a: int? = int(pod.labels[\"a\"])\n  filter f { require node.pods.count() < (a ?? 3) else \"r\" }",
        "let a = pod.labels[\"a\"] missing skip\n  filter f { require node.name == a else \"r\" }",
        "let a = pod.labels[\"a\"] missing reject \"r\"\n  filter f { require node.name == a else \"r\" }",
        "let a = pod.labels[\"a\"] missing error\n  filter f { require node.name == a else \"r\" }",
        "def f(a: node, b: pod?, c: container, d: string?, e: \"Pod\") = a.name == b.name || c.name == d || e.gated\n  \
         filter q { require pod.containers.exists(c, f(node, pod, c, none, pod)) else \"r\" }",
        "type t = {a: int, b: list<string>}\n  param p: t = {\"a\": 1, \"b\": []}\n  filter f { require node.pods.count() < p.a || node.name in p.b else \"r\" }",
        "group g = p in pods where p.namespace == pod.namespace && p.labels[\"a\"] == pod.labels[\"a\"]\n  \
         permit { wait 60s for g until g.count(m, m.placed) > 2 else \"r\" }",
        "permit { reject \"r\" when node.pods.size() > 9; wait 1min until node.pods.size() > 3 else \"r\" }",
    ];
    let conditions = [
        "pod.requests.cpu <= 500m || 2cpu > node.free.cpu || 0.5cpu == pod.requests.cpu",
        "node.free.memory in [4Ki, 4Mi, 4Gi, 4Ti, 4Pi, 4Ei, 5k, 5M, 5G, 5T, 5P, 5E, 100B]",
        "now() - pod.created > 1h30min + 10ms + 5s + 5min + 2h + 1d",
        "pod.requests.fits(node.free) && pod.requests.within(node.capacity)",
        "pod.gpu.count > 0 && node.gpus.exists(g, g.free >= pod.gpu.milli && g.model == \"A100\" && g.capacity == 1000)",
        "node.gpus.sort_by(g, g.free).first().index == 0",
        "has(node.zone) && has(node.region) && node.unschedulable || pod.qos == \"Guaranteed\"",
        "pod.phase == \"Pending\" && pod.attempts > 1 && pod.queued_at < now() && !pod.terminating && !pod.gated",
        "pod.placed || pod.bound || pod.waiting || has(pod.placed_at) || has(pod.nominated) || has(pod.node)",
        "pod.scheduler == \"a\" && pod.uid == \"u\" && node.uid == \"u\" && node.created < now()",
        "(pod.limits.cpu + pod.overhead.cpu) < node.nonzero_requested.cpu && \"cpu\" in pod.requests",
        "has(pod.requests[\"example.com/a\"]) && pod.requests.exists(name, pod.requests[name].value() > 3)",
        "pod.images.union([\"a\"]).minus([\"a\"]).intersect([\"b\"]).take(2).drop(1).size() > 0",
        "node.pods.min(p, p.priority) == 3 || node.pods.max(p, p.priority) == 3 || node.pods.count() == 3",
        "(sqrt(node.pods.count()) + exp(0.5) + abs(-1) + round(1.5) + floor(1.5) + ceil(1.5)) > 3",
        "(ln(pod.priority) ?? 0) + (pow(pod.priority, 0.5) ?? 0) + beta_cdf(0.5, 0.4, 0.1) > 50%",
        "ns.labels[\"a\"] == \"b\" && ns.name == pod.namespace && node.taints.exists(t, t.effect == \"NoSchedule\")",
        "pod.spec.hostNetwork == true && pod.spec.containers[0].name == \"a\" && has(pod.status.startTime)",
        "pod.spec.containers.all(c, c.name.size() > 0) && (node.status.conditions ?? []).all(c, c.type.size() > 0)",
        "as_count(pod.labels[\"n\"]) == 3 && as_cpu(pod.labels[\"n\"]) == 3cpu && as_bytes(pod.labels[\"n\"]) == 3B",
        "pod.metadata.name == pod.name && nodes.size() > 0 && nominated.count(p, p.nominated == node.name) == 0",
    ];
    let mut wrong = String::new();
    let mut ask = |body: &str, sample: &str| {
        let text = format!("/// A policy.\npolicy sample {{\n  {body}\n}}");
        let (policies, _, lines) = said("sample.bay", &text);
        if policies.is_empty() {
            wrong.push_str(&format!("{sample}\n{lines}"));
        }
    };
    for statement in statements {
        ask(statement, statement);
    }
    for condition in conditions {
        ask(&format!("filter f {{ reject \"r\" when {condition} }}"), condition);
    }
    assert!(wrong.is_empty(), "{wrong}");
}
