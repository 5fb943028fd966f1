//! Six conditions asked of 5,000 nodes for one pod: in the policy language, in CEL that cannot fail, in CEL that may
//! fail, and by the evaluator of the crate `cel`, of which Bayplan uses the parser only. Nanoseconds of CPU time per
//! node, medians of rounds that measure all four one after the other. The evaluator of the crate gets a context that is
//! ready for each node. Verdicts are compared first. Prints its figures and fails on nothing but a wrong verdict.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

mod support;

use bayplan::engine::{Decider, Scan};
use bayplan::framework::{Cycle, Silent};
use bayplan::model::{NodeInfo, PodInfo, Resource, Snapshot, Time};
use cel::{Context, Env, Value};
use serde_json::json;
use std::hint::black_box;
use std::sync::Arc;
use support::cpu::{Work, measure, median};
use support::only;
use support::rules::{self, Language, PREDICATES, Predicate};

const NODES: usize = 5_000;
const ROUNDS: usize = 9;
/// CPU time of one measurement in microseconds, about.
const ENOUGH: f64 = 30_000.0;

/// Asks all nodes; and how many of them fit.
fn asking(language: Language, condition: &str) -> (Work, usize) {
    let framework = only(rules::rule(language, condition));
    let (snapshot, pod) = (rules::nodes(NODES, &framework), rules::asking_pod());
    let mut scan = Scan::new();
    let mut ask = move || {
        let mut cycle = Cycle::new(pod.clone(), framework.clone(), Time(0));
        scan.filter(&mut cycle, &snapshot, &mut Silent).map_or(0, |feasible| feasible.nodes.len())
    };
    let fitting = ask();
    (Box::new(move |times| (0..times).for_each(|_| _ = black_box(ask()))), fitting)
}

/// The same by the evaluator of the crate.
fn interpreting(condition: &str) -> (Work, usize) {
    let snapshot = rules::nodes(NODES, &only(rules::rule(Language::Policy, "node.ready")));
    let env = Arc::new(Env::stdlib());
    let program = env.compile(condition).unwrap();
    let pod = pod_of(&rules::asking_pod());
    let contexts: Vec<Context<'static, 'static>> = nodes_of(&snapshot)
        .into_iter()
        .map(|node| {
            let mut context = Context::with_env(env.clone());
            context.add_variable("node", node).unwrap();
            context.add_variable("pod", pod.clone()).unwrap();
            context
        })
        .collect();
    let ask = move || {
        let holds = |context: &&Context<'_, '_>| program.execute(context) == Ok(Value::Bool(true));
        contexts.iter().filter(holds).count()
    };
    let fitting = ask();
    (Box::new(move |times| (0..times).for_each(|_| _ = black_box(ask()))), fitting)
}

fn amounts(of: &Resource) -> serde_json::Value {
    json!({ "cpu": of.milli_cpu, "memory": of.memory })
}

fn nodes_of(snapshot: &Snapshot) -> Vec<serde_json::Value> {
    let one = |node: NodeInfo<'_>| {
        let labels: serde_json::Map<String, serde_json::Value> = node
            .node()
            .labels
            .iter()
            .map(|(key, value)| (key.to_string(), json!(value.to_string())))
            .collect();
        let taints: Vec<serde_json::Value> = node
            .node()
            .taints
            .iter()
            .map(|taint| json!({ "key": taint.key.to_string(), "value": taint.value.to_string(), "effect": taint.effect.name() }))
            .collect();
        let (all, used) = (node.allocatable(), node.requested());
        json!({
            "name": node.name().to_string(),
            "labels": labels,
            "taints": taints,
            "allocatable": amounts(all),
            "requested": amounts(used),
            "free": { "cpu": all.milli_cpu - used.milli_cpu, "memory": all.memory - used.memory },
        })
    };
    snapshot.nodes().map(one).collect()
}

fn pod_of(pod: &PodInfo) -> serde_json::Value {
    let labels: serde_json::Map<String, serde_json::Value> =
        pod.labels.iter().map(|(key, value)| (key.to_string(), json!(value.to_string()))).collect();
    let tolerations: Vec<serde_json::Value> = pod
        .tolerations
        .iter()
        .map(
            |of| json!({ "key": of.key.to_string(), "effect": of.effect.map_or("", |effect| effect.name()) }),
        )
        .collect();
    json!({ "labels": labels, "tolerations": tolerations, "requests": amounts(&pod.requests) })
}

fn main() {
    println!("nanoseconds per node, {NODES} nodes");
    println!(
        "{:<42} {:>10} {:>10} {:>10} {:>12} {:>10}",
        "condition", "policy", "CEL", "may fail", "crate `cel`", "to CEL"
    );
    for Predicate { name, proved, may_fail, interpreted } in &PREDICATES {
        let mut asked = [
            Some(asking(Language::Policy, proved)),
            Some(asking(Language::Cel, proved)),
            may_fail.map(|condition| asking(Language::Cel, condition)),
            Some(interpreting(interpreted.or(*may_fail).unwrap_or(proved))),
        ];
        let fitting: Vec<usize> = asked.iter().flatten().map(|(_, fitting)| *fitting).collect();
        let same = |at: usize| fitting[at] == fitting[at + 1];
        assert!(same(0) && same(fitting.len() - 2), "{name}: {fitting:?}");
        let times: Vec<usize> = asked
            .iter_mut()
            .map(|asked| asked.as_mut().map_or(0, |(work, _)| ((ENOUGH / measure(work, 2)) as usize).max(1)))
            .collect();
        let mut took: Vec<Vec<f64>> = vec![Vec::new(); asked.len()];
        for _ in 0..ROUNDS {
            for (at, (work, _)) in
                asked.iter_mut().enumerate().filter_map(|(at, asked)| Some((at, asked.as_mut()?)))
            {
                took[at].push(measure(work, times[at]) * 1_000.0 / NODES as f64);
            }
        }
        let shown: Vec<Option<f64>> =
            took.into_iter().map(|took| (!took.is_empty()).then(|| median(took))).collect();
        let cell = |at: usize| shown[at].map_or("-".to_owned(), |time| format!("{time:.1}"));
        let ratio = shown[3].unwrap_or(0.0) / shown[2].or(shown[1]).unwrap_or(1.0);
        println!("{name:<42} {:>10} {:>10} {:>10} {:>12} {ratio:>9.0}x", cell(0), cell(1), cell(2), cell(3));
    }
}
