//! CEL in the language: what compiles has the value that Kubernetes' own CEL gives, by both
//! evaluators.
//!
//! The recorded verdicts are in `tests/conformance/cel-*.jsonl.gz`; `tests/conformance/generator
//! -cel` makes more. What is refused is recorded with what is said in
//! `tests/lang/cel-refused.out`.

use crate::support::policies::NOW;
use bayplan::diag::SourceMap;
use bayplan::lang;
use bayplan::lang::check::Argument;
use bayplan::lang::codegen::{Env, Lowering};
use bayplan::lang::eval::context::EvalContext;
use bayplan::lang::eval::interpret::Evaluator;
use bayplan::lang::types::value::Value;
use bayplan::model::{Change, Snapshot};
use bayplan::testing::{node, pod};
use std::path::Path;

/// Lines of a recorded file of `tests/conformance`.
pub(super) fn recorded(name: &str) -> Vec<serde_json::Value> {
    use std::io::Read;
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/conformance").join(name);
    let mut text = String::new();
    flate2::read::GzDecoder::new(std::fs::File::open(path).unwrap()).read_to_string(&mut text).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Whether a value is the recorded one, which carries its type.
pub(super) fn is_recorded(value: &Value<'_>, recorded: &serde_json::Value) -> bool {
    let (tag, wanted) = recorded.as_object().and_then(|of| of.iter().next()).unwrap();
    let text = wanted.as_str().unwrap_or("");
    match (tag.as_str(), value) {
        ("int", Value::Int(x)) => text == x.to_string(),
        ("uint", Value::Uint(x)) => text == x.to_string(),
        ("double", Value::Float(x)) => {
            text.parse().is_ok_and(|wanted: f64| (wanted - x).abs() <= 1e-12 * wanted.abs())
        }
        // An int is taken where a float is wanted.
        ("double", Value::Int(x)) => text.parse().is_ok_and(|wanted: f64| wanted == *x as f64),
        ("bool", Value::Bool(x)) => wanted.as_bool() == Some(*x) || text == x.to_string(),
        ("string", value) => value.as_str() == Some(text),
        ("null", Value::Null) => true,
        ("list", value) => value.elements().is_some_and(|items| {
            let wanted = wanted.as_array().unwrap();
            items.len() == wanted.len() && items.iter().zip(wanted).all(|(a, b)| is_recorded(a, b))
        }),
        ("map", value) => value.entries().is_some_and(|entries| {
            let wanted = wanted.as_array().unwrap();
            entries.len() == wanted.len()
                && wanted.iter().all(|pair| {
                    entries.iter().any(|(k, v)| is_recorded(k, &pair[0]) && is_recorded(v, &pair[1]))
                })
        }),
        ("optional", Value::Optional(held)) => match held {
            Some(held) => !wanted.is_null() && is_recorded(held, wanted),
            None => wanted.is_null(),
        },
        ("quantity", Value::Quantity(amount)) => {
            bayplan::model::Quantity::parse(text).is_ok_and(|wanted| wanted == amount.amount)
        }
        ("type", Value::TypeName(name)) => name.as_str() == text,
        ("duration", Value::Int(x)) => {
            lang::language::functions::parse_duration(text).is_some_and(|wanted| wanted == *x)
        }
        ("timestamp", Value::Time(at)) => bayplan::model::Time::parse(text) == Some(*at),
        ("bytes", Value::Blob(bytes)) => {
            text == bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>()
        }
        _ => false,
    }
}

/// The params of the recorded expressions: the same variables in every file.
const PARAMS: &str = "param i = 7\n  param j = -3\n  param s = \"hello world\"\n  param e = \"\"\n  \
    param t = true\n  param f = false\n  param d = 2.5\n  param l = [3, 1, 2]\n  param ls = [\"b\", \"a\", \"c\"]\n  \
    param le: list<int> = []\n  param m = {\"zone\": \"z1\", \"tier\": \"gold\"}\n  param n = {\"a\": \"1\"}\n  \
    param o: dyn = {}";

fn json() -> serde_json::Value {
    serde_json::json!({
        "a": {"b": [1, 2, {"c": "x"}]}, "n": null, "num": 5, "str": "5", "q": "1.5Gi"
    })
}

/// What an expression is: its value by the reference evaluator, to which the closure must agree, or
/// what is said.
pub(super) fn asked(expr: &str, with: &mut dyn FnMut(&Value<'_>)) -> Result<(), String> {
    let text = format!(
        "/// A policy.\npolicy v {{\n  {PARAMS}\n  let asked = {expr}\n  \
         filter q {{ require asked == asked else \"x\" }}\n}}"
    );
    let mut sources = SourceMap::new();
    let id = sources.add("cel.bay", text);
    let source = sources.get(id).unwrap();
    let arguments = |_: &str| vec![Argument { name: "o".to_owned(), value: json(), span: source.span() }];
    let (policies, diagnostics) = lang::compile_with(source, &arguments);
    let Some(policy) = policies.first() else {
        let first = diagnostics.iter().find(|d| d.is_error()).unwrap();
        let help = first.help.as_ref().map(|help| format!("; {help}")).unwrap_or_default();
        return Err(format!("{} {}{help}", first.code.id, first.message));
    };
    let asked = policy.lets.iter().find(|of| &*of.name == "asked").unwrap();
    let mut snapshot = Snapshot::default();
    snapshot.apply(Change::NodeUpserted { node: node("n").build() });
    let pod = pod("p").build();
    let context = EvalContext::new(&pod, &snapshot, NOW);
    let value = Evaluator::new(policy, context).value(&asked.value);
    let closure = Lowering::new(policy).value(&asked.value);
    let lowered = closure(&mut Env::new(policy, context, &[]));
    assert_eq!(value, lowered, "evaluator, closure of {expr}");
    with(&value);
    Ok(())
}

/// The value as text, `none`, or `refused: …`.
fn shown(expr: &str) -> String {
    let mut text = String::new();
    match asked(expr, &mut |value| text = value.to_string()) {
        Ok(()) => text,
        Err(why) => format!("refused: {why}"),
    }
}

/// What the order of the keys of a map decides. CEL leaves the order open; here it is that of the keys.
const BY_ORDER_OF_KEYS: [&str; 1] = ["m.map(k, k + '=' + m[k]).isSorted()"];

/// Compares a file; gives how many are the same, and adds what is refused.
fn compare(file: &str, refused: &mut String) -> usize {
    let (mut same, mut wrong) = (0, String::new());
    for case in &recorded(file) {
        let (Some(expr), Some(value)) = (case["expr"].as_str(), case.get("value")) else { continue };
        if BY_ORDER_OF_KEYS.contains(&expr) {
            continue;
        }
        let done = asked(expr, &mut |got| {
            if is_recorded(got, value) {
                same += 1;
            } else {
                wrong.push_str(&format!("{expr} is {got}, in Kubernetes {value}\n"));
            }
        });
        if let Err(why) = done {
            refused.push_str(&format!("{expr}\n    {why}\n"));
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
    same
}

/// What compiles has the value that Kubernetes' own CEL gives, wherever that gives one.
#[test]
fn expressions_of_kubernetes_have_its_values() {
    let mut refused = String::new();
    let recorded = compare("cel-kubernetes-1.36.jsonl.gz", &mut refused);
    let words = compare("cel-words-1.36.jsonl.gz", &mut refused);
    let quantities = compare("cel-quantities-1.36.jsonl.gz", &mut refused);
    println!("{recorded}, {words} and {quantities} the same");
    super::fixtures::golden("cel-refused.out", &refused);
    assert!(recorded >= 585 && words >= 100 && quantities >= 300, "{recorded}, {words}, {quantities}");
}

/// Every row of the table of CEL and the language (the design's 2.4): an expression and what it is
/// here.
#[test]
fn the_language_differs_from_cel_as_its_table_says() {
    let rows: &[(&str, &str)] = &[
        // An absent key: CEL stops with an error.
        ("L['k'] == 'a'", "false"),
        ("L.k == 'a'", "false"),
        ("L['k'] != 'a'", "true"),
        ("L['k'] == L['n']", "false"),
        ("L[?'k'] == L[?'n']", "true"),
        ("m[?'k'] == n[?'k']", "true"),
        ("L['k'].startsWith('a')", "refused: BP0105 the label `k` may be absent"),
        ("(L['k'] ?? \"\").startsWith('a')", "false"),
        ("has(L['k']) && L['k'].startsWith('a')", "false"),
        ("'k' in L && L['k'].startsWith('a')", "false"),
        ("pod.images.size() > 0 && pod.images[0].size() > 1", "true"),
        ("l.size() > 0 && l[0] > 1", "true"),
        ("has(pod.spec.affinity.nodeAffinity)", "false"),
        ("has(L['k'])", "false"),
        ("has(pod.priority_class)", "false"),
        // Divisors that may be 0, and ends of ranges.
        ("1 / pod.priority == none", "true"),
        ("1 % pod.priority == none", "true"),
        ("pod.priority > 0 ? 1 / pod.priority : 9", "9"),
        ("1.0 / pod.priority == none", "true"),
        ("pod.priority + 9223372036854775807", "9223372036854775807"),
        ("1 + 9223372036854775807", "refused: BP0111 the result leaves the range of `int`"),
        ("2u - 3u", "refused: BP0111 the result leaves the range of `uint`"),
        ("(pod.priority + 1e308) * 10.0", "1.7976931348623157e308"),
        ("1e308 * 10.0", "refused: BP0111 the result leaves the range of `float`"),
        // An int is taken for a float.
        ("2 * 1.5", "3.0"),
        ("1 == 1.0", "true"),
        ("[1, 2.0]", "[1.0, 2.0]"),
        ("1 == '1'", "refused: BP0103 cannot compare `int` with `string`"),
        ("null == 0", "refused: BP0113 `null` is a value of JSON"),
        ("t == f == t", "false"),
        ("i < j < 3", "refused: BP0115 a bool cannot be compared with a number; write `i < j && j < 3`"),
        // What CEL lets fail is `T?`, and plain where it is known to work.
        ("L.map(k, 1).min() == none", "true"),
        (
            "L.map(k, 1).min() + 1",
            "refused: BP0105 `pod.labels.map(k, 1).min()` has no value where the list is empty",
        ),
        ("pod.images[0] + ''", "refused: BP0105 `pod.images[0]` may be absent"),
        ("int(pod.name) == none", "true"),
        ("duration(pod.name) ?? 1h", "3600000000"),
        ("pod.name.substring(9) == none", "true"),
        ("L.?k.value() == none", "true"),
        ("duration('1h')", "3600000000"),
        ("int('12') + 1", "13"),
        ("{'a': 1}.a + 1", "2"),
        ("[1, 2][0] + 1", "2"),
        ("duration('x')", "refused: BP0112 `duration('x')` has no value"),
        // Without a known type.
        ("o.num + 1", "refused: BP0114 this has no known type; convert it: `int(o.num) ?? 0`"),
        ("(int(o.num) ?? 0) + 1", "6"),
        ("o.num == 5 && has(o.a.b) && o.a.b[0] == 1 && type(o.str) == string", "true"),
        // Patterns, formats and time zones are constants.
        ("s.matches(pod.name)", "refused: BP0108 the pattern of `matches` is a constant"),
        ("pod.name.format([1])", "refused: BP0108 the text of `format` is a constant"),
        ("pod.created.getHours(pod.name)", "refused: BP0108 the time zone of `getHours` is a constant"),
        (
            "pod.name == null",
            "refused: BP0113 `null` is a value of JSON, not an absent one; write `pod.name == none`",
        ),
        // Spellings.
        ("7% 3", "refused: BP0008 `7%` is a share here; write `7 % …` for the remainder"),
        ("7 % 3", "1"),
        ("l.all(none, true)", "refused:"),
        ("['a'].exists(label, label == \"a\")", "true"),
        ("l.all(when, when > 0)", "true"),
        ("L.`a-b` == none", "true"),
        ("1 /* x */ + 2", "3"),
        ("TestAllTypes{a: 1}", "refused: BP0008 the language has no message literals"),
    ];
    let mut wrong = String::new();
    for (expr, wanted) in rows {
        let got = shown(
            &expr
                .replace("L[", "pod.labels[")
                .replace("L.", "pod.labels.")
                .replace("in L ", "in pod.labels "),
        );
        let fits = if wanted.starts_with("refused:") { got.starts_with(wanted) } else { got == *wanted };
        if !fits {
            wrong.push_str(&format!("{expr} is\n    {got}\nand not\n    {wanted}\n"));
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// Patterns, times and formats that were read otherwise than Kubernetes' CEL reads them.
#[test]
fn patterns_and_times_are_those_of_kubernetes() {
    let rows: &[(&str, &str)] = &[
        (r#""é".matches("^\\w$")"#, "false"),
        (r#""٣".matches("^\\d$")"#, "false"),
        (r#""\u00a0".matches("^\\s$")"#, "false"),
        (r#""\v".matches("^\\s$")"#, "false"),
        (r#""aé".matches("a\\b")"#, "true"),
        (r#""&".matches("[a&&b]")"#, "true"),
        (r#""[b]".matches("^[[a]b]$")"#, "true"),
        (r#""a~~b".find("[~~-]+")"#, "\"~~\""),
        (r#""aé b".findAll("\\w+")"#, "[\"a\", \"b\"]"),
        (r#""K".matches("(?i)^k$")"#, "true"),
        (r#""a".matches("\\<a")"#, "false"),
        (r#""<a".matches("\\<a")"#, "true"),
        (r#""a".matches("\\ha")"#, "refused: BP0112 the pattern does not compile: `\\h` is not an escape"),
        (r#""a".matches("a**")"#, "refused: BP0112 the pattern does not compile: `*` repeats"),
        (r#""a".matches("a{1001}")"#, "refused: BP0112 the pattern does not compile: `{1001}`"),
        (r#""a".matches("(a{100}){11}")"#, "refused: BP0112 the pattern does not compile: with `{11}`"),
        (r#""a".matches("(?x)a")"#, "refused: BP0112 the pattern does not compile: `(?x` is not a group"),
        (r#""a".matches("\\p{Alphabetic}")"#, "refused: BP0112 the pattern does not compile: `\\p{"),
        (r#""a".matches("[b-a]")"#, "refused: BP0112 the pattern does not compile: `b-a` is not a range"),
        (r#""a".matches("(a")"#, "refused: BP0112 the pattern does not compile: a `)` is missing"),
        (r#""a".matches("\\1")"#, "refused: BP0112 the pattern does not compile: `\\1` is not an escape"),
        ("timestamp('9999-12-31T23:59:59Z').getFullYear()", "9999"),
        ("timestamp('9999-12-31T23:59:59Z').getDayOfWeek('UTC')", "5"),
        ("timestamp('9999-12-31T23:59:59Z').getFullYear('Asia/Tokyo')", "10000"),
        ("timestamp('9999-12-31T23:59:59Z') > timestamp('9999-12-31T23:59:58Z')", "true"),
        ("timestamp('9999-12-31T23:59:59Z') + duration('1h')", "9999-12-31T23:59:59.999999Z"),
        ("timestamp('2026-01-02T03:04:05.123Z')", "2026-01-02T03:04:05.123Z"),
        ("timestamp('2026-01-02T03:04:05.0000001Z')", "refused: BP0112"),
        ("duration('1ns')", "refused: BP0112"),
        ("time(pod.name + '2026-01-02T03:04:05.0000001Z') == none", "true"),
        ("'%e %f'.format([-0.0, -0.0])", "\"0.000000×10⁰⁰ 0.000000\""),
        ("uint(2.9) == 2u && double(3u) == 3.0", "true"),
        ("uint(pod.name + '+5') == none", "true"),
    ];
    let mut wrong = String::new();
    for (expr, wanted) in rows {
        let got = shown(expr);
        let fits = if wanted.starts_with("refused:") { got.starts_with(wanted) } else { got == *wanted };
        if !fits {
            wrong.push_str(&format!("{expr} is\n    {got}\nand not\n    {wanted}\n"));
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}
