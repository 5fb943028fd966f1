//! `==`, `in`, groups, lookups, sets and order mean the same by one value: for every kind of value that a pod
//! has, on random pods, among them amounts of 0 and what is absent.

use super::Random;
use super::evaluators::cluster;
use super::narrowing::{by_closures, by_columns, verdict};
use crate::support::policies::{framework_of, snapshot, try_compile};

/// Values of a pod `p`, and whether they may be absent.
const VALUES: [(&str, bool); 20] = [
    ("p.requests", false),
    ("p.limits", false),
    ("p.overhead", false),
    ("p.labels", false),
    ("p.annotations", false),
    ("p.containers", false),
    ("p.images", false),
    ("p.gpu", false),
    ("p.priority", false),
    ("p.created", false),
    ("p.name", false),
    ("p.qos", false),
    ("p.gated", false),
    ("p.requests[\"nvidia.com/gpu\"]", false),
    ("p.labels[\"team\"]", true),
    ("p.annotations[\"size\"]", true),
    ("p.priority_class", true),
    ("p.containers[0]", true),
    ("p.node", true),
    ("p.metadata.labels", true),
];

/// Conditions that hold whatever the pods are, with `V` for the value of `p`, `Q` for that of `q`, and `P` for
/// that of the pod itself.
const LAWS: [&str; 8] = [
    "pods.count(p, V == P) == pods.count(p, P == V)",
    "pods.count(p, V == P) == pods.count(p, V in [P])",
    "pods.count(p, V == P) == pods.count(p, [V] == [P])",
    "pods.count(p, V == P) == pods.count(p, has(V) && !(V != P))",
    "!has(P) || pods.count(p, V == P) == pods.map(p, has(V), V).size() - pods.map(p, has(V), V).minus([P].present()).size()",
    "!has(P) || (pods.count(p, V == P) > 0) == sets.contains(pods.map(p, has(V), V), [P].present())",
    "pods.map(p, has(V), V).distinct().all(x, pods.map(p, has(V), V).distinct().count(y, x == y) == 1)",
    "pods.map(p, has(V), V).distinct().size() == pods.map(p, has(V), V).union(pods.map(p, has(V), V)).size()",
];

/// Values by which pods can be grouped.
const GROUPED: [&str; 14] = [
    "p.requests",
    "p.limits",
    "p.overhead",
    "p.labels",
    "p.annotations",
    "p.images",
    "p.priority",
    "p.created",
    "p.gated",
    "p.labels[\"team\"]",
    "p.annotations[\"size\"]",
    "p.priority_class",
    "p.gpu.count",
    "p.metadata.labels",
];

fn of(value: &str, pod: &str) -> String {
    format!("{pod}{}", value.strip_prefix('p').unwrap_or(value))
}

#[test]
fn one_value_is_one_value_everywhere() {
    // `BAYPLAN_PROGRAMS` raises it.
    let asked = std::env::var("BAYPLAN_PROGRAMS").ok();
    let wanted: u64 = asked.and_then(|text| text.parse().ok()).unwrap_or(150);
    let mut equal = 0;
    for seed in 7_000_000..7_000_000 + wanted {
        let mut random = Random(seed);
        let (nodes, pods) = cluster(&mut random);
        let (value, absent) = random.of(&VALUES);
        let (text, law) = match random.below(3) {
            0 => {
                let value = random.of(&GROUPED);
                let mine = of(value, "pod");
                let law = format!("g.count() == pods.count(p, {value} == {mine})");
                (
                    format!(
                        "policy p {{ applies to all pods group g = p in pods where {value} == {mine} filter f {{ require {law} else \"x\" }} }}"
                    ),
                    law,
                )
            }
            _ => {
                let mut law = random.of(&LAWS).replace('V', value).replace('P', &of(value, "pod"));
                if !absent {
                    let (there, mine) = (format!("has({value})"), format!("has({})", of(value, "pod")));
                    law = law.replace(&there, "true").replace(&mine, "true").replace(".present()", "");
                }
                (format!("policy p {{ applies to all pods filter f {{ require {law} else \"x\" }} }}"), law)
            }
        };
        let set = match try_compile(&text) {
            Ok(set) => set,
            // Sets of long texts take many steps.
            Err(mistakes) if mistakes.starts_with("BP0121") => continue,
            Err(mistakes) => panic!("{mistakes}\n{text}"),
        };
        let policy = set.iter().next().unwrap();
        let snapshot = snapshot(&framework_of(&set), nodes, pods.clone());
        for pod in pods.iter().filter(|pod| !["Succeeded", "Failed"].contains(&pod.phase.as_str())) {
            let verdicts = verdict(policy, &snapshot, pod);
            assert!(verdicts.iter().all(Option::is_none), "seed {seed}, pod {}: {law}", pod.name);
            assert_eq!(by_closures(policy, &snapshot, pod), verdicts, "closures, seed {seed}: {law}");
            assert_eq!(by_columns(policy, &snapshot, pod), verdicts, "columns, seed {seed}: {law}");
            equal += verdicts.len();
        }
    }
    assert!(equal > wanted as usize, "{equal} verdicts");
}
