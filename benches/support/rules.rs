//! The same conditions in the policy language and in CEL, with the nodes and the pod that they are asked about, and
//! texts of many policies.

use super::policy_in;
use bayplan::diag::SourceMap;
use bayplan::framework::Framework;
use bayplan::lang::compile;
use bayplan::model::{Change, Placement, PodInfo, Snapshot, Symbol, Want};
use bayplan::plugins::policy::PolicyPlugin;
use bayplan::testing::{node, pod};
use std::fmt::Write as _;
use std::sync::Arc;

/// The language of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Language {
    /// The policy language.
    Policy,
    /// CEL in a document.
    Cel,
}

/// A condition about a pod and a node.
pub(crate) struct Predicate {
    pub(crate) name: &'static str,
    /// It cannot fail; both languages have this text.
    pub(crate) proved: &'static str,
    /// As people write it without tests: in CEL it may end with an error.
    pub(crate) may_fail: Option<&'static str>,
    /// For the evaluator of the crate `cel`, which has no `percent` and knows amounts as whole numbers.
    pub(crate) interpreted: Option<&'static str>,
}

/// The conditions of `support::FOUR_TERMS` with tests for the labels, as CEL needs them.
pub(crate) const FOUR_TERMS: Predicate = Predicate {
    name: "a rule of four terms",
    proved: r#""tier" in node.labels && "tier" in pod.labels && node.labels["tier"] == pod.labels["tier"] && "zone" in node.labels && node.labels["zone"] != "c" && node.free.cpu >= pod.requests.cpu && node.free.memory > 2 * pod.requests.memory"#,
    may_fail: Some(
        r#"node.labels["tier"] == pod.labels["tier"] && node.labels["zone"] != "c" && node.free.cpu >= pod.requests.cpu && node.free.memory > 2 * pod.requests.memory"#,
    ),
    interpreted: None,
};

/// A label beside an amount, amounts, a list, a label of some nodes, two lists, and the arithmetic of a score.
pub(crate) const PREDICATES: [Predicate; 6] = [
    Predicate {
        name: "label and cpu",
        proved: r#""tier" in node.labels && node.labels["tier"] == "gold" && node.free.cpu >= pod.requests.cpu"#,
        may_fail: Some(r#"node.labels["tier"] == "gold" && node.free.cpu >= pod.requests.cpu"#),
        interpreted: None,
    },
    Predicate {
        name: "cpu that is left",
        proved: "node.allocatable.cpu - node.requested.cpu >= pod.requests.cpu",
        may_fail: None,
        interpreted: None,
    },
    Predicate {
        name: "label in a list",
        proved: r#""zone" in node.labels && node.labels["zone"] in ["a", "b"]"#,
        may_fail: Some(r#"node.labels["zone"] in ["a", "b"]"#),
        interpreted: None,
    },
    Predicate {
        name: "label of every other node, and the name",
        proved: r#"has(node.labels.team) && node.labels.team == "ml" && node.name.startsWith("node-00")"#,
        may_fail: Some(r#"node.labels.team == "ml" && node.name.startsWith("node-00")"#),
        interpreted: None,
    },
    Predicate {
        name: "taints and tolerations",
        proved: "node.taints.all(t, pod.tolerations.exists(o, o.key == t.key && o.effect == t.effect))",
        may_fail: Some(
            r#"node.taints.all(t, pod.tolerations.exists(o, o.key == t.key && (o.effect == t.effect || node.labels["team"] == "ml")))"#,
        ),
        interpreted: None,
    },
    Predicate {
        name: "arithmetic of a score",
        proved: "percent(node.requested.cpu, node.allocatable.cpu) < 80",
        may_fail: Some("node.requested.cpu / node.allocatable.cpu < 0.8"),
        interpreted: Some("node.requested.cpu * 100u / node.allocatable.cpu < 80u"),
    },
];

/// Whole numbers in labels, which nothing proves.
pub(crate) const NUMBERS_IN_LABELS: &str =
    r#"int(node.labels["cores"]) * 1000 - int(node.labels["used"]) >= 3000"#;

/// A policy with these conditions as filters.
pub(crate) fn text(language: Language, name: &str, conditions: &[String]) -> String {
    let mut text = match language {
        Language::Policy => format!("/// Filters.\npolicy {name} {{\n"),
        Language::Cel => format!(
            "# Filters.\napiVersion: bayplan.dev/v1\nkind: SchedulingPolicy\nmetadata: {{name: {name}}}\nspec:\n  filters:\n"
        ),
    };
    for (at, condition) in conditions.iter().enumerate() {
        // Two lists are compared for every node, which is more than the limit of a policy.
        let allowed =
            condition.contains(".exists(").then_some("bayplan: allow(too-costly) because it is measured");
        match (language, allowed) {
            (Language::Policy, Some(allowed)) => writeln!(text, "  // {allowed}"),
            (Language::Cel, Some(allowed)) => writeln!(text, "  # {allowed}"),
            _ => Ok(()),
        }
        .unwrap();
        match language {
            Language::Policy => {
                writeln!(text, "  filter f{at} {{ require {condition} else \"node(s) refused by {at}\" }}")
                    .unwrap();
            }
            Language::Cel => {
                writeln!(text, "  - name: f{at}\n    expression: >-\n      {condition}\n    reason: node(s) refused by {at}")
                    .unwrap();
            }
        }
    }
    if language == Language::Policy {
        text.push('}');
    }
    text
}

/// A policy with this condition as a plugin.
pub(crate) fn rule(language: Language, condition: &str) -> PolicyPlugin {
    policy_in(file(language), &text(language, "measured", &[condition.to_owned()]))
}

fn file(language: Language) -> &'static str {
    match language {
        Language::Policy => "bench.bay",
        Language::Cel => "bench.yaml",
    }
}

/// The texts of policies with ten rules each. No two rules of them are the same.
pub(crate) fn policies_of_ten_rules(language: Language, count: usize) -> Vec<String> {
    let rule = |at: usize| match at % 5 {
        0 => format!(r#""tier-{at}" in node.labels && node.labels["tier-{at}"] == "gold""#),
        1 => format!(r#"node.free.cpu >= pod.requests.cpu && node.name != "node-{at}""#),
        2 => format!(r#"!("zone-{at}" in node.labels) || node.labels["zone-{at}"] in ["a", "b", "c"]"#),
        3 => format!(r#"node.taints.all(t, t.key != "key-{at}" || t.effect == "NoSchedule")"#),
        _ => {
            let name = ["cpu", "memory"][at / 5 % 2];
            format!("percent(node.requested.{name}, node.allocatable.{name}) < {}", 1 + at % 97)
        }
    };
    (0..count)
        .map(|policy| {
            let rules: Vec<String> = (0..10).map(|at| rule(policy * 10 + at)).collect();
            text(language, &format!("policy-{policy}").replace('-', "_"), &rules)
        })
        .collect()
}

/// Everything that `lint` says about texts.
pub(crate) fn lint(language: Language, texts: &[String]) -> usize {
    let mut said = 0;
    for text in texts {
        let mut sources = SourceMap::new();
        let id = sources.add(file(language), text.as_str());
        let (policies, diagnostics) = compile(sources.get(id).unwrap());
        assert_eq!(policies.len(), 1, "{diagnostics:?}");
        said += diagnostics.len();
    }
    said
}

/// Nodes with 15 labels and two taints each, no two alike.
pub(crate) fn nodes(count: usize, framework: &Framework) -> Snapshot {
    let mut snapshot = Snapshot::default();
    for (key, index) in framework.plugins().iter().flat_map(|plugin| plugin.indexes()) {
        snapshot.add_index(key, index);
    }
    for at in 0..count {
        let name = format!("node-{at:06}");
        let mut made = node(&name)
            .cpu(["8", "16", "32", "64"][at % 4])
            .memory(["32Gi", "64Gi", "128Gi"][at % 3])
            .label("zone", ["a", "b", "c"][at / 4 % 3])
            .label("tier", ["gold", "silver"][at / 2 % 2])
            .label("cores", ["8", "16", "32", "64"][at % 4])
            .label("used", &(at % 9000).to_string())
            .taint("dedicated", ["ml", "batch"][at / 3 % 2], "NoSchedule")
            .taint("busy", &format!("{at}"), "PreferNoSchedule");
        if at % 2 == 0 {
            made = made.label("team", ["ml", "web"][at / 2 % 3 % 2]);
        }
        for other in 0..10 {
            made = made.label(&format!("example.com/label-{other}"), &format!("value-{}", at + other));
        }
        snapshot.apply(Change::NodeUpserted { node: made.build() });
        let node = snapshot.row_by_name(&Symbol::new(&name)).unwrap();
        let pod = pod(&format!("running-{at}")).cpu(&format!("{}m", at * 37 % 8000)).memory("1Gi").build();
        snapshot.apply(Change::PodPlaced { pod, node, how: Placement::Bound });
    }
    for key in framework.plugins().iter().flat_map(|plugin| plugin.reads().label_keys) {
        snapshot.want(&[Want::Label(key)]);
    }
    snapshot
}

/// A pod with six labels and three tolerations.
pub(crate) fn asking_pod() -> Arc<PodInfo> {
    let mut made = pod("new").cpu("250m").memory("1Gi").label("tier", "gold");
    for other in 0..5 {
        made = made.label(&format!("label-{other}"), "value");
    }
    made.toleration("dedicated", "Equal", "ml", "NoSchedule")
        .toleration("busy", "Exists", "", "PreferNoSchedule")
        .toleration("spare", "Exists", "", "NoExecute")
        .build()
}
