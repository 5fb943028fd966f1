//! Fields that every policy wants, from an object's JSON to a decision: controller, tolerations, node selector, service
//! account, age; and loops over labels.

use crate::support::policies::{NOW, attempt, compile, framework, framework_of, snapshot};
use bayplan::diag::{Diagnostic, SourceMap};
use bayplan::framework::Cycle;
use bayplan::lang::analysis::cost::Size;
use bayplan::lang::policy_set::{CompiledPolicy, PolicySet};
use bayplan::model::PodInfo;
use bayplan::testing::{node, pod};
use serde_json::json;
use std::sync::Arc;

/// Whether a condition holds for a pod on a node `n`, created at 11:00.
fn holds(condition: &str, pod: &Arc<PodInfo>) -> bool {
    let text = format!("policy p {{ applies to all pods filter f {{ require {condition} else \"no\" }} }}");
    let framework = framework(&text);
    let of_node = node("n").set("metadata.creationTimestamp", json!("2026-01-05T11:00:00Z")).build();
    attempt(&framework, &snapshot(&framework, vec![of_node], vec![]), pod).reasons.is_empty()
}

#[test]
fn everyday_fields_have_the_values_of_the_object() {
    let of_job = pod("p")
        .created("2026-01-05T11:30:00Z")
        .owner("Job", "train")
        .toleration("gpu", "Equal", "yes", "NoSchedule")
        .toleration("", "Exists", "", "")
        .node_selector("disk", "ssd")
        .set("spec.serviceAccountName", json!("ci"))
        .raw()
        .build();
    let bare = pod("q").created("2026-01-05T11:30:00Z").build();
    for (condition, job, other) in [
        ("pod.owner.kind == \"Job\"", true, false),
        ("has(pod.owner) && pod.owner.name == \"train\"", true, false),
        ("pod.owner == none", false, true),
        ("has(pod.owner) && pod.owner.uid != \"\"", true, false),
        (
            "pod.tolerations.exists(t, t.key == \"gpu\" && t.value == \"yes\" && t.effect == \"NoSchedule\")",
            true,
            false,
        ),
        (
            "pod.tolerations.exists(t, t.operator == \"Exists\" && t.key == \"\" && t.effect == \"\")",
            true,
            false,
        ),
        ("pod.tolerations.size() == 2", true, false),
        ("pod.tolerations.distinct().size() == pod.tolerations.size()", true, true),
        ("pod.node_selector[\"disk\"] == \"ssd\"", true, false),
        ("pod.node_selector.all(k, k == \"disk\")", true, true),
        ("pod.service_account == \"ci\"", true, false),
        ("has(pod.service_account)", true, false),
        ("pod.age == 30min && node.age == 1h", true, true),
        ("pod.age < 30min || node.age > 1h", false, false),
        ("[pod].exists(p, p.owner.kind == \"Job\" && p.age > 29min)", true, false),
        ("(pod.node.age ?? 7s) == 7s", true, true),
    ] {
        assert_eq!((holds(condition, &of_job), holds(condition, &bare)), (job, other), "{condition}");
    }
}

#[test]
fn types_may_name_tolerations_and_owners() {
    let text = "policy p { applies to all pods def wide(t: toleration) = t.key == \"\" \
                def job(o: owner) = o.kind == \"Job\" \
                filter f { reject \"no\" when pod.tolerations.exists(t, wide(t)) || has(pod.owner) && job(pod.owner) } }";
    let framework = framework(text);
    let refused = |pod: &Arc<PodInfo>| {
        !attempt(&framework, &snapshot(&framework, vec![node("n").build()], vec![]), pod).reasons.is_empty()
    };
    assert!(refused(&pod("a").toleration("", "Exists", "", "").build()));
    assert!(refused(&pod("b").owner("Job", "x").build()));
    assert!(!refused(&pod("c").owner("ReplicaSet", "x").build()));
}

#[test]
fn pods_of_one_controller_are_a_group() {
    let framework = framework(
        "policy p { applies to all pods group mates = p in pods where p.owner.uid == pod.owner.uid \
         filter f { reject \"no\" when mates.count(m, m.placed) > 0 } }",
    );
    let placed = pod("a").owner("ReplicaSet", "web").on("n").build();
    let cluster = snapshot(&framework, vec![node("n").build()], vec![placed]);
    let refused = |pod: &Arc<PodInfo>| !attempt(&framework, &cluster, pod).reasons.is_empty();
    assert!(refused(&pod("b").owner("ReplicaSet", "web").build()));
    assert!(!refused(&pod("c").owner("ReplicaSet", "shop").build()));
    assert!(!refused(&pod("d").build()));
}

#[test]
fn time_alone_changes_an_age() {
    for (text, at) in [
        ("gate \"young\" when pod.age < 40min", "2026-01-05T12:10:00Z"),
        ("filter f { reject \"old\" when node.age > 2h }", "2026-01-05T13:00:00Z"),
        ("filter f { require (pod.age + 10min >= 1h) else \"young\" }", "2026-01-05T12:20:00Z"),
    ] {
        let framework = framework(&format!("policy p {{ applies to all pods {text} }}"));
        let of_node = node("n").set("metadata.creationTimestamp", json!("2026-01-05T11:00:00Z")).build();
        let cluster = snapshot(&framework, vec![of_node], vec![]);
        let pod = pod("p").created("2026-01-05T11:30:00Z").build();
        let cycle = Cycle::new(pod, framework.clone(), NOW);
        let next = framework.plugins()[0].next_change(&cycle.handle(&cluster), &mut 0);
        assert_eq!(next, bayplan::model::Time::parse(at), "{text}");
        assert!(framework.plugins()[0].reads().clock, "{text}");
    }
}

/// Policies compiled for objects of a size, or the ids of their mistakes.
fn compiled_for(size: &str, text: &str) -> Result<PolicySet, Vec<&'static str>> {
    let mut sources = SourceMap::new();
    let id = sources.add("sized.bay", text);
    let size: Size = size.parse().unwrap();
    let (typed, said) = bayplan::lang::compile_for(sources.get(id).unwrap(), size, &|_| Vec::new());
    let wrong: Vec<&'static str> =
        said.iter().filter(|it| Diagnostic::is_error(it)).map(|it| it.code.slug).collect();
    if !wrong.is_empty() {
        return Err(wrong);
    }
    Ok(PolicySet::new(typed.into_iter().map(|policy| Arc::new(CompiledPolicy::new(policy, &sources)))))
}

const LOOPS: [&str; 6] = [
    "pod.labels.all(k, node.labels[k] == pod.labels[k])",
    "node.labels.exists(k, k.startsWith(\"example.com/\"))",
    "pod.annotations.exists(k, k.startsWith(\"example.com/\") && k in node.labels)",
    "pod.node_selector.all(k, node.labels[k] == pod.node_selector[k])",
    "ns.labels.exists(k, node.labels[k] == ns.labels[k])",
    "(pod.spec.volumes ?? []).all(v, v.name.startsWith(node.name))",
];

fn filter(condition: &str) -> String {
    format!("/// A.\npolicy p {{ applies to all pods filter f {{ require {condition} else \"no\" }} }}")
}

#[test]
fn loops_over_labels_are_within_the_bound() {
    for condition in LOOPS {
        assert!(compiled_for("nodes=5000", &filter(condition)).is_ok(), "{condition}");
    }
    // Two loops within each other, for every node.
    let nested =
        "pod.labels.all(k, node.labels.exists(l, l.startsWith(k) && node.labels[l] == pod.labels[k]))";
    assert_eq!(compiled_for("labels=60", &filter(nested)).err(), Some(vec!["too-costly"]));
    assert!(compiled_for("labels=10", &filter(nested)).is_ok());
    assert_eq!(compiled_for("labels=4000", &filter(LOOPS[0])).err(), Some(vec!["too-costly"]));
    assert_eq!(compiled_for("terms=9000", &filter(LOOPS[5])).err(), Some(vec!["too-costly"]));
}

#[test]
fn objects_beyond_the_declared_size_are_decided() {
    let labels = (0..400).map(|at| (format!("example.com/l{at}"), "x"));
    let (mut large, mut same, mut other) = (pod("p"), node("same"), node("other"));
    for (key, value) in labels {
        large = large.label(&key, value);
        same = same.label(&key, value);
        other = other.label(&key, if key.ends_with("399") { "y" } else { value });
    }
    let large = large.build();
    let nodes = vec![same.build(), other.build()];
    let set = compiled_for("nodes=10,pods=10,labels=4", &filter(LOOPS[0])).unwrap();
    let framework = framework_of(&set);
    let outcome = attempt(&framework, &snapshot(&framework, nodes, vec![]), &large);
    assert_eq!(outcome.reasons, [("other".to_owned(), "no".to_owned())]);
}

#[test]
fn a_service_account_is_kept_for_policies_that_read_it() {
    let kept = |condition: &str| {
        let set = compile(&filter(condition));
        set.iter().next().unwrap().policy.keeps.pods.fields.paths()
    };
    assert_eq!(kept("pod.service_account == \"ci\""), ["spec.serviceAccountName"]);
    assert_eq!(kept("pod.owner.kind == \"Job\" && pod.tolerations.size() > 0 && pod.age > 1s"), [""; 0]);
}

/// The text after every fix of the lint `both-absent`.
fn fixed(text: &str) -> (usize, String) {
    let mut sources = SourceMap::new();
    let id = sources.add("fixed.bay", text);
    let said = bayplan::lang::compile(sources.get(id).unwrap()).1;
    let mut edits: Vec<_> = said
        .iter()
        .filter(|it| it.code.slug == "both-absent")
        .flat_map(|it| it.fixes.iter().flat_map(|fix| &fix.edits))
        .collect();
    edits.sort_by_key(|edit| std::cmp::Reverse(edit.span.start));
    let mut text = text.to_owned();
    for edit in &edits {
        text.replace_range(edit.span.range(), &edit.text);
    }
    (edits.len(), text)
}

#[test]
fn fixes_of_both_absent_silence_it_and_keep_the_meaning() {
    for statement in [
        "reject \"no\" when node.labels[\"a\"] == pod.labels[\"a\"]",
        "reject \"no\" when (node.labels[\"a\"] == pod.labels[\"a\"]) || node.name == \"x\"",
        "require !(node.labels[\"a\"] == pod.labels[\"a\"]) else \"no\"",
        "require node.labels[\"a\"] != pod.labels[\"a\"] else \"no\"",
        "require (node.labels[\"a\"] != pod.labels[\"a\"]) && node.name != \"x\" else \"no\"",
        "require nodes.count(m, m.labels[\"a\"] == pod.labels[\"a\"]) < 1 else \"no\"",
    ] {
        let before = format!("/// A.\npolicy p {{ applies to all pods filter f {{ {statement} }} }}");
        let (fixes, after) = fixed(&before);
        assert_eq!((fixes, fixed(&after).0), (1, 0), "{after}");
        for (of_node, of_pod) in [
            (None, None),
            (Some("1"), None),
            (None, Some("1")),
            (Some("1"), Some("1")),
            (Some("1"), Some("2")),
        ] {
            let refused = |text: &str| {
                let framework = framework(text);
                let made = of_node.map_or(node("n"), |value| node("n").label("a", value)).build();
                let asked = of_pod.map_or(pod("p"), |value| pod("p").label("a", value)).build();
                attempt(&framework, &snapshot(&framework, vec![made], vec![]), &asked).reasons
            };
            assert_eq!(refused(&before), refused(&after), "{after} {of_node:?} {of_pod:?}");
        }
    }
}
