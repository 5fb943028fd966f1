//! What cannot fail in CEL is the tree that the policy language has for the same rule: one closure, one column.

use crate::support::policies::try_compile;
use bayplan::lang::analysis::faults::may_fail;
use bayplan::lang::policy_set::PolicySet;
use bayplan::lang::typed::Point;

/// The tree of the condition of the only rule, without places, and whether it may fail.
fn tree(set: &PolicySet) -> (String, bool) {
    let policy = &set.iter().next().unwrap().policy;
    let condition = policy.checks_at(Point::Filter).next().unwrap().condition.as_ref().unwrap();
    let text = format!("{condition:#?}");
    let spans =
        regex::Regex::new(r"Span \{\s*source: SourceId\(\s*\d+,?\s*\),\s*start: \d+,\s*end: \d+,?\s*\}")
            .unwrap();
    (spans.replace_all(&text, "Span").into_owned(), may_fail(policy, condition))
}

/// A rule in CEL, and the same in the policy language; without the second they are written alike.
const TWINS: &[(&str, &str)] = &[
    ("node.ready", ""),
    ("!node.unschedulable && node.ready", ""),
    ("pod.priority > 100 || node.name == \"a\"", ""),
    ("has(node.labels.team)", "has(node.labels[\"team\"])"),
    ("\"team\" in node.labels", ""),
    ("has(pod.labels.app) && pod.labels.app == \"x\"", ""),
    (
        "has(pod.labels.app) && pod.labels[\"app\"] == \"x\"",
        "has(pod.labels[\"app\"]) && pod.labels[\"app\"] == \"x\"",
    ),
    ("\"app\" in pod.labels && pod.labels[\"app\"] == \"x\"", ""),
    ("!(\"app\" in pod.labels) || pod.labels[\"app\"] == \"x\"", ""),
    ("has(node.labels.zone) && node.labels.zone in [\"a\", \"b\"]", ""),
    ("node.name in [\"a\", \"b\"]", ""),
    ("node.name.startsWith(\"gpu-\")", ""),
    ("node.name.endsWith(\"x\") || node.name.contains(\"-\")", ""),
    ("node.name.matches(\"^gpu-[0-9]+$\")", ""),
    ("size(pod.images) > 0 && pod.images[0] == \"a\"", ""),
    ("pod.images.size() > 0 && pod.images[0].startsWith(\"a\")", ""),
    ("size(node.taints) == 0", ""),
    ("node.taints.all(t, t.effect != \"NoSchedule\")", ""),
    ("node.taints.exists(t, t.key == \"a\" && t.value == \"b\")", ""),
    ("node.taints.exists_one(t, t.key == \"a\")", ""),
    ("node.taints.filter(t, t.key == \"a\").size() < 2", ""),
    ("pod.containers.all(c, c.image.startsWith(\"a/\"))", ""),
    ("pod.containers.map(c, c.name).exists(n, n == \"a\")", ""),
    ("pod.labels.all(k, k.startsWith(\"a\"))", ""),
    ("pod.labels.exists(k, v, v == \"x\")", ""),
    ("pod.priority + 1 > 5", ""),
    ("pod.priority * 2 - 3 > 5", ""),
    ("pod.priority / 2 == 5", "pod.priority / 2 == 5"),
    ("pod.priority % 2 == 0", "pod.priority % 2 == 0"),
    ("node.pods.size() < 10", ""),
    ("node.free.cpu >= pod.requests.cpu", ""),
    ("node.free.cpu > quantity(\"500m\")", "node.free.cpu > 500m"),
    ("node.free.memory >= quantity(\"2Gi\")", "node.free.memory >= 2Gi"),
    ("node.free[\"nvidia.com/gpu\"] > 0", ""),
    ("node.age > duration(\"5m\")", "node.age > 5min"),
    ("pod.age <= duration(\"1h30m\")", "pod.age <= 1h30min"),
    ("duration(\"5m\") < node.age", "5min < node.age"),
    ("node.age == duration(\"5m\")", "node.age == 5min"),
    ("node.created < pod.created", ""),
    ("node.created > timestamp(\"2026-01-02T03:04:05Z\")", "node.created > time(\"2026-01-02T03:04:05Z\")"),
    ("pod.labels[?\"app\"].orValue(\"\") == \"x\"", "(pod.labels[\"app\"] ?? \"\") == \"x\""),
    ("pod.labels.?app.orValue(\"\") == \"x\"", "(pod.labels[\"app\"] ?? \"\") == \"x\""),
    ("(node.ready ? pod.priority : 3) > 1", ""),
    ("node.?zone.orValue(\"\") == \"a\"", "(node.zone ?? \"\") == \"a\""),
    ("has(node.zone) && node.zone == \"a\"", ""),
    ("pod.?priority_class.orValue(\"x\") == \"x\"", "(pod.priority_class ?? \"x\") == \"x\""),
    ("pod.namespace + \"/\" + pod.name == \"a/b\"", ""),
    ("pod.name.lowerAscii() == \"a\"", ""),
    ("pod.name.size() > 3", ""),
    ("nodes.filter(n, n.ready).size() > 3", ""),
    ("pods.exists(p, p.namespace == pod.namespace && p.priority > 3)", ""),
    (
        "pod.priority != 0 ? 100 / pod.priority > 3 : false",
        "pod.priority != 0 ? 100 / pod.priority > 3 : false",
    ),
];

#[test]
fn what_cannot_fail_is_the_tree_of_the_policy_language() {
    let mut wrong = String::new();
    for (cel, language) in TWINS {
        let language = if language.is_empty() { cel } else { language };
        let document = serde_json::json!({"apiVersion": "bayplan.dev/v1", "kind": "SchedulingPolicy",
            "metadata": {"name": "p"},
            "spec": {"appliesToAllPods": true, "filters": [{"name": "f", "expression": cel, "reason": "no"}]}});
        let text =
            format!("policy p {{ applies to all pods filter f {{ require {language} else \"no\" }} }}");
        let (document, text) = (try_compile(&document.to_string()), try_compile(&text));
        match (&document, &text) {
            (Ok(document), Ok(text)) => {
                let ((tree, fails), (twin, _)) = (tree(document), tree(text));
                if fails || tree != twin {
                    let at = tree.lines().zip(twin.lines()).position(|(a, b)| a != b).unwrap_or(0);
                    let of = |tree: &str| {
                        tree.lines()
                            .skip(at.saturating_sub(3))
                            .take(6)
                            .map(str::trim)
                            .collect::<Vec<_>>()
                            .join(" ")
                    };
                    wrong.push_str(&format!("{cel}: may fail: {fails}\n  {}\n  {}\n", of(&tree), of(&twin)));
                }
            }
            (document, text) => {
                let said = |set: &Result<PolicySet, String>| set.as_ref().err().cloned().unwrap_or_default();
                wrong.push_str(&format!("{cel}: {}\n{language}: {}\n", said(document), said(text)));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}
