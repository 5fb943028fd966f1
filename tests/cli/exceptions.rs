//! Commands on exceptions: in a policy, in another file, and in another ConfigMap than their policy.

use crate::support::command::{Folder, bayplan_in, folder};
use jiff::{Timestamp, ToSpan, tz::TimeZone};
use serde_json::Value;

const POLICY: &str = "\
/// Keeps pods off the nodes of other teams.
policy nodes {
  filter own {
    except until 2099-06-30 because \"OPS-130: shared runners\" when pod.labels[\"app\"] == \"runner\"
    require node.labels[\"team\"] == pod.labels[\"team\"] else \"node(s) of another team\"
  }
}
";
const ELSEWHERE: &str =
    "except nodes until 2099-01-31 because \"OPS-2: the web moves\" when pod.labels[\"app\"] == \"web\"\n";
const CLUSTER: &str = "\
apiVersion: v1
kind: Node
metadata: {name: n, labels: {team: blue}}
status: {allocatable: {cpu: '4', memory: 8Gi, pods: '10'}}
---
apiVersion: v1
kind: Pod
metadata: {name: web, namespace: default, labels: {app: web}}
spec: {containers: [{name: c, image: i}]}
---
apiVersion: v1
kind: Pod
metadata: {name: runner, namespace: default, labels: {app: runner}}
spec: {containers: [{name: c, image: i}]}
---
apiVersion: v1
kind: Pod
metadata: {name: other, namespace: default, labels: {app: other}}
spec: {containers: [{name: c, image: i}]}
";

fn json(folder: &Folder, arguments: &[&str]) -> Value {
    let ended = bayplan_in(folder, &[arguments, &["-o", "json"]].concat());
    serde_json::from_str(&ended.out).unwrap_or_else(|error| panic!("{error}: {}{}", ended.out, ended.err))
}

/// A day that many days from now.
fn day(from_now: i64) -> String {
    let today = Timestamp::now().to_zoned(TimeZone::UTC).date();
    (today + from_now.days()).to_string()
}

/// The codes that lint reports, with file and line.
fn findings(folder: &Folder) -> Vec<(String, u64, String)> {
    let ended = bayplan_in(folder, &["lint", ".", "--format", "json"]);
    let json: Value = serde_json::from_str(&ended.out).unwrap();
    let text = |of: &Value| of.as_str().unwrap().to_owned();
    let all = json["diagnostics"].as_array().unwrap().iter();
    all.map(|of| (text(&of["file"]), of["start"]["line"].as_u64().unwrap(), text(&of["code"]))).collect()
}

/// The commands say of a ConfigMap for exceptions what the scheduler does: a policy in it is refused.
#[test]
fn a_config_map_for_exceptions_has_no_policy() {
    let map = |label: &str, key: &str, text: &str| {
        let text: String = text.lines().map(|line| format!("    {line}\n")).collect();
        format!(
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: x, labels: {{bayplan.dev/policy: {label}}}}}\n\
             data:\n  {key}: |\n{text}"
        )
    };
    let document = "apiVersion: bayplan.dev/v1\nkind: SchedulingPolicy\nmetadata: {name: evil}\nspec:\n  prefer:\n  - weight: 1\n    when: node.name == \"n\"\n";
    let spread = "policy\n  evil {\n  prefer 1 when node.name == \"n\"\n}\n";
    let both = format!("{ELSEWHERE}{POLICY}");
    for (key, text) in [("a.bay", POLICY), ("a.bay", &both), ("a.bay", spread), ("a.yaml", document)] {
        let folder = folder(&[("map.yaml", &map("exceptions", key, text)), ("cluster.yaml", CLUSTER)]);
        for command in [
            &["lint", "map.yaml"][..],
            &["plan", "map.yaml"],
            &["dry-run", "--cluster", "cluster.yaml", "--policies", "map.yaml"],
        ] {
            let ended = bayplan_in(&folder, command);
            let said = ended.out + &ended.err;
            assert_ne!(ended.status, 0, "{command:?} {text}: {said}");
            assert!(
                said.contains("may hold exceptions alone") && said.contains("BP0503"),
                "{command:?} {text}: {said}"
            );
        }
        let other = map("\"true\"", key, text);
        let folder = crate::support::command::folder(&[
            ("map.yaml", &other),
            ("nodes.bay", if text == POLICY || text == both { "" } else { POLICY }),
        ]);
        let ended = bayplan_in(&folder, &["lint", "map.yaml"]);
        assert!(!ended.out.contains("BP0503"), "{}", ended.out);
    }
    // Exceptions, also those that mention policies.
    let speaks = format!("// This policy has two exceptions.\n{ELSEWHERE}")
        .replace("the web", "policy nodes: the web");
    let folder = folder(&[("map.yaml", &map("exceptions", "a.bay", &speaks)), ("nodes.bay", POLICY)]);
    let ended = bayplan_in(&folder, &["lint", "."]);
    assert!(!ended.out.contains("BP0503"), "{}", ended.out);
}

#[test]
fn an_exception_of_another_file_joins_its_policy_in_every_command() {
    let at = folder(&[("a.bay", POLICY), ("b.bay", ELSEWHERE), ("cluster.yaml", CLUSTER)]);
    let ran = ["--policies", ".", "--cluster", "cluster.yaml"];
    let placed = json(&at, &[&["dry-run"][..], &ran].concat());
    let node = |name: &str| {
        let pods = placed["decisions"].as_array().unwrap();
        let pod = pods.iter().find(|pod| pod["pod"].as_str().unwrap().ends_with(name)).unwrap();
        pod["node"].as_str().unwrap().to_owned()
    };
    assert_eq!([node("web"), node("runner"), node("other")], ["n", "n", ""], "{placed:#}");

    let explained = |pod: &str| json(&at, &[&["explain", pod][..], &ran].concat())["exceptions"].clone();
    let web = serde_json::json!([
        {"rule": "nodes", "until": "2099-01-31", "because": "OPS-2: the web moves", "place": "b.bay:1"}
    ]);
    let runner = serde_json::json!([
        {"rule": "nodes/own", "until": "2099-06-30", "because": "OPS-130: shared runners", "place": "a.bay:4"}
    ]);
    assert_eq!((explained("web"), explained("runner")), (web, runner));
    assert!(explained("other").as_array().is_none_or(Vec::is_empty));
    let shown = bayplan_in(&at, &[&["explain", "web"][..], &ran].concat()).out;
    assert!(shown.contains("LEFT ALONE BY") && shown.contains("OPS-2: the web moves"), "{shown}");

    let plan = json(&at, &["plan", "a.bay", "b.bay"]);
    let planned: Vec<(Option<&str>, &str)> = plan["policies"][0]["exceptions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|of| (of["rule"].as_str(), of["until"].as_str().unwrap()))
        .collect();
    assert_eq!(planned, [(None, "2099-01-31"), (Some("own"), "2099-06-30")]);
}

#[test]
fn an_exception_of_another_config_map_joins_its_policy() {
    let map = |name: &str, key: &str, text: &str| {
        let lines: String = text.lines().map(|line| format!("    {line}\n")).collect();
        format!(
            "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}, labels: {{bayplan.dev/policy: \"\"}}}}\ndata:\n  {key}: |\n{lines}"
        )
    };
    let maps = format!("{CLUSTER}{}{}", map("rules", "a.bay", POLICY), map("old", "b.bay", ELSEWHERE));
    let at = folder(&[("all.yaml", &maps)]);
    let explained = json(&at, &["explain", "web", "--cluster", "all.yaml"]);
    assert_eq!(explained["node"].as_str(), Some("n"), "{explained:#}");
    assert_eq!(explained["exceptions"][0]["because"], "OPS-2: the web moves", "{explained:#}");
}

#[test]
fn lint_reports_ends_that_are_none() {
    let far = |day: &str| format!("except nodes until {day} because \"for ever\"\n");
    let allowed = "// bayplan: allow(exception-ends) because it is known\n";
    let (last, next, later) = (far("9999-12-31"), far("2500-01-01"), far(&day(360 * 20)));
    let elsewhere = format!("{last}{next}{later}{allowed}{last}");
    let at = folder(&[("a.bay", POLICY), ("b.bay", &elsewhere)]);
    let expected: Vec<_> = [1, 2].map(|line| ("b.bay".to_owned(), line, "BP0453".to_owned())).into();
    assert_eq!(findings(&at), expected);
    let said = bayplan_in(&at, &["lint", "."]);
    let text = format!("{}{}", said.out, said.err);
    assert!(text.contains("an exception that ends in more than 100 years has no end"), "{text}");
}

#[test]
fn lint_reports_ends_and_exceptions_without_effect() {
    let (over, soon, later) = (day(-1), day(3), day(30));
    let elsewhere = format!(
        "except nodes until {over} because \"over\"\nexcept nodes until {soon} because \"ends soon\"\nexcept nodes until {later} because \"later\"\n// bayplan: allow(exception-ends) because it is known\nexcept nodes until {soon} because \"allowed\"\nexcept nodez until {later} because \"no such policy\"\nexcept nodes/owm until {later} because \"no such rule\"\n// bayplan: allow(exception-without-effect) because its policy comes later\nexcept later until {later} because \"allowed\"\n"
    );
    let at = folder(&[("a.bay", POLICY), ("b.bay", &elsewhere)]);
    let expected = [(1, "BP0453"), (2, "BP0453"), (6, "BP0454"), (7, "BP0454")];
    let expected: Vec<_> =
        expected.map(|(line, code)| ("b.bay".to_owned(), line, code.to_owned())).into_iter().collect();
    assert_eq!(findings(&at), expected);
    let said = bayplan_in(&at, &["lint", "."]);
    let text = format!("{}{}", said.out, said.err);
    for wanted in [
        "the exception is over",
        "the exception ends in 3 days",
        "did you mean `nodes`?",
        "did you mean `nodes/own`?",
    ] {
        assert!(text.contains(wanted), "{wanted}: {text}");
    }
}

#[test]
fn a_mistake_in_an_exception_is_reported_in_its_file_and_never_in_the_policy() {
    let wrong = "except nodes until 2099-01-31 because \"x\" when pod.labls[\"app\"] == \"web\"\nexcept nodes until 2099-01-31 because \"no node is known\" when node.ready\nexcept nodes until 2099-13-31 because \"no such day\"\n";
    let at = folder(&[("a.bay", POLICY), ("b.bay", wrong)]);
    let expected = [(1, "BP0101"), (2, "BP0205"), (3, "BP0112")];
    let expected: Vec<_> =
        expected.map(|(line, code)| ("b.bay".to_owned(), line, code.to_owned())).into_iter().collect();
    assert_eq!(findings(&at), expected);
}

#[test]
fn explain_writes_an_exception_with_an_end_and_a_reason() {
    let at = folder(&[("a.bay", POLICY), ("cluster.yaml", CLUSTER)]);
    let ran = ["explain", "other", "--policies", "a.bay", "--cluster", "cluster.yaml"];
    let told = json(&at, &ran);
    let helps = told["wouldHelp"].as_array().unwrap();
    let number = |whose: &str| (helps.iter().position(|of| of["whose"] == whose).unwrap() + 1).to_string();
    let (policy, pod) = (number("policy"), number("pod"));
    assert_eq!(helps[policy.parse::<usize>().unwrap() - 1]["what"], "except this pod from nodes/own");
    let line = |more: &[&str]| {
        let fix = json(&at, &[&ran, &["--fix", &policy][..], more].concat());
        fix["policies"][0]["line"].as_str().unwrap().to_owned()
    };
    let condition = "when pod.namespace == \"default\" && pod.name == \"other\"";
    assert_eq!(
        line(&[]),
        format!("except own until {} because \"default/other is not placed otherwise\" {condition}", day(30))
    );
    assert_eq!(
        line(&["--until", "2099-01-31", "--because", "OPS-3: \"moves\""]),
        format!("except own until 2099-01-31 because \"OPS-3: \\\"moves\\\"\" {condition}")
    );
    assert_eq!(
        line(&["--until", "2099-01-31", "--because", "two\nlines"]),
        format!("except own until 2099-01-31 because \"two\\nlines\" {condition}")
    );
    for (number, flags, error) in [
        (&policy, ["--until", "2020-01-31"], "`--until 2020-01-31` is over"),
        (&policy, ["--until", "soon"], "`--until soon` is not a day; write one as "),
        (&policy, ["--because", ""], "`--because` says nothing"),
        (&pod, ["--until", "2099-01-31"], "is not an exception"),
    ] {
        let ended = bayplan_in(&at, &[&ran[..], &["--fix", number][..], &flags[..]].concat());
        assert!(ended.status != 0 && ended.err.contains(error), "{flags:?}: {}{}", ended.out, ended.err);
    }
    let ended = bayplan_in(&at, &[&ran[..], &["--until", "2099-01-31"][..]].concat());
    assert!(ended.err.contains("--fix"), "{}", ended.err);
}
