//! Calling only the plugins whose preconditions a pod meets gives the same results, in the same order,
//! as calling every plugin, on random policies and pods.

use super::Random;
use crate::support::policies::{NOW, compile, framework_of};
use bayplan::framework::{Cycle, Framework, PluginId, Points, PreFilterOutcome, Silent, StateSlot, Status};
use bayplan::model::{PodInfo, Snapshot, Symbol};
use bayplan::testing::pod;
use std::sync::Arc;

const CONDITIONS: [&str; 10] = [
    r#"pod.labels["app"] == "web""#,
    r#"pod.labels["app"] in ["db", "web"]"#,
    r#"has(pod.labels["tier"])"#,
    r#"pod.namespace == "shop""#,
    r#"pod.namespace in ["shop", "bank"]"#,
    r#"has(pod.annotations["example.com/batch"])"#,
    r#"pod.requests["example.com/gpu"] > 0"#,
    r#"pod.requests.cpu > 0"#,
    r#"pod.priority > 1"#,
    r#"pod.labels["app"] != "db""#,
];

/// Policies that apply to pods of one or two properties, some of them never refusing, scoring or
/// gating.
fn text(r: &mut Random, policies: usize) -> String {
    let statement = [
        "filter f { require node.free.cpu > 1cpu else \"no\" }",
        "score s normalize max { give node.free.cpu }",
        "filter f { require node.free.cpu > 1cpu else \"no\" } score s normalize max { give node.free.cpu }",
        "prefilter { reject \"not this pod\" when pod.priority > 0 }",
        "gate \"not yet\" when pod.priority > 0",
    ];
    let policy = |at: usize| {
        let mut wanted = r.of(&CONDITIONS).to_owned();
        if r.one_in(2) {
            wanted = format!("{wanted} && {}", r.of(&CONDITIONS));
        }
        let applies = if r.one_in(6) { String::new() } else { format!("applies when {wanted}") };
        format!("policy p{at:03} {{ {applies} {} }}\n", r.of(&statement))
    };
    (0..policies).map(policy).collect()
}

fn random_pod(r: &mut Random) -> Arc<PodInfo> {
    let mut made = pod("new").priority(r.below(3) as i32);
    if !r.one_in(3) {
        made = made.namespace(r.of(&["shop", "bank", "kube-system", "default"]));
    }
    if !r.one_in(3) {
        made = made.label("app", r.of(&["web", "db", "other"]));
    }
    if r.one_in(2) {
        made = made.label("tier", "gold");
    }
    if r.one_in(3) {
        made = made.annotation("example.com/batch", "yes");
    }
    if r.one_in(2) {
        made = made.cpu("100m");
    }
    if r.one_in(3) {
        made = made.request("example.com/gpu", "1");
    }
    made.build()
}

/// The outcome of every plugin's PreFilter, in the order of the point, up to the first that refuses.
fn ask_each(framework: &Arc<Framework>, cycle: &Cycle, s: &Snapshot) -> (Vec<PluginId>, Option<Status>) {
    let mut spoke = Vec::new();
    for id in &framework.points().pre_filter {
        let point = framework.plugin(*id).and_then(|plugin| plugin.pre_filter()).unwrap();
        match point.pre_filter(&cycle.handle(s).for_plugin(*id), &mut StateSlot::default()) {
            Ok(PreFilterOutcome::Skip) => {}
            Ok(_) => spoke.push(*id),
            Err(status) => return (spoke, Some(status.by(*id))),
        }
    }
    (spoke, None)
}

#[test]
fn who_is_asked_is_who_would_speak() {
    let (mut spoke, mut passed_over, mut refused) = (0, 0, 0);
    for seed in 0..60 {
        let mut r = Random(seed);
        let policies = [3, 20, 90][r.below(3)];
        let given = framework_of(&compile(&text(&mut r, policies)));
        // Each extension point has its own order.
        let mut points: Points = given.points().clone();
        points.filter.reverse();
        points.score.reverse();
        let framework = Arc::new(Framework::new(Symbol::new("x"), given.plugins().to_vec(), points));
        let s = Snapshot::default();
        for _ in 0..12 {
            let pod = random_pod(&mut r);
            let mut cycle = Cycle::new(pod.clone(), framework.clone(), NOW);
            let (each, refusal) = ask_each(&framework, &cycle, &s);
            let ran = framework.run_pre_filter(&mut cycle, &s, &mut Silent);
            assert_eq!(ran.err(), refusal, "seed {seed}");
            if refusal.is_none() {
                let filters = framework.points().filter.iter().copied();
                let wanted: Vec<PluginId> = filters.filter(|id| each.contains(id)).collect();
                let asked: Vec<PluginId> = framework.filters(&cycle.state).collect();
                assert_eq!(asked, wanted, "seed {seed}, {}", pod.full_name());
                spoke += asked.len();
                passed_over += framework.points().filter.len() - asked.len();
            } else {
                refused += 1;
            }
            let mut gates = framework.points().pre_enqueue.iter().map(|id| {
                let point = framework.plugin(*id).and_then(|plugin| plugin.pre_enqueue()).unwrap();
                point.pre_enqueue(&cycle.handle(&s).for_plugin(*id)).map_err(|status| status.by(*id))
            });
            let gated = gates.find_map(Result::err);
            assert_eq!(framework.run_pre_enqueue(cycle.handle(&s)).err(), gated, "seed {seed}");
        }
    }
    assert!(spoke > 500 && passed_over > 1_000 && refused > 50, "{spoke} {passed_over} {refused}");
}
