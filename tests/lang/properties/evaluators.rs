//! Closures and column scans agree with the reference evaluator, and nothing panics, on random programs
//! and random clusters with fields missing at random.

use super::Random;
use super::programs::Programs;
use crate::support::policies::{NOW, framework_of, measure, snapshot, try_compile};
use bayplan::framework::Framework;
use bayplan::lang::codegen::scores::Raw;
use bayplan::lang::codegen::{ColumnScan, CompiledDoes, Env, compute};
use bayplan::lang::eval::context::EvalContext;
use bayplan::lang::eval::interpret::Evaluator;
use bayplan::lang::policy_set::CompiledPolicy;
use bayplan::lang::typed::{Body, Does, Point, Rule, Statement};
use bayplan::lang::types::value::Value;
use bayplan::model::{Node, NodeId, PodInfo, Snapshot};
use bayplan::testing::{node, pod};
use std::sync::Arc;

/// A random cluster: nodes and pods with labels, annotations, resources and placements missing at
/// random.
pub(super) fn cluster(random: &mut Random) -> (Vec<Arc<Node>>, Vec<Arc<PodInfo>>) {
    let values = ["a", "b", "shop", "true", "3", "1e400"];
    let nodes = (0..1 + random.below(9)).map(|at| {
        let mut of = node(&format!("n{at}")).cpu(&random.below(9).to_string());
        if !random.one_in(3) {
            of = of.memory(&format!("{}Gi", random.below(64)));
        }
        if random.one_in(2) {
            of = of.resource("nvidia.com/gpu", &random.below(9).to_string());
        }
        for key in ["team", "tier", "zone", "size"] {
            if random.one_in(2) {
                of = of.label(key, random.of(&values));
            }
        }
        if random.one_in(2) {
            of = of.zone(random.of(&values));
        }
        if random.one_in(4) {
            of = of.unschedulable();
        }
        if random.one_in(4) {
            of = of.not_ready();
        }
        of.build()
    });
    let nodes: Vec<_> = nodes.collect();
    let pods = (0..random.below(10)).map(|at| {
        let mut of = pod(&format!("p{at}")).priority(random.below(200) as i32 - 100);
        if random.one_in(3) {
            of = of.namespace("other");
        }
        for key in ["team", "tier", "zone", "job", "size"] {
            if random.one_in(2) {
                of = of.label(key, random.of(&values));
            }
            if random.one_in(4) {
                of = of.annotation(key, random.of(&values));
            }
        }
        if random.one_in(2) {
            of = of.cpu(&format!("{}m", 100 * random.below(20)));
        }
        if random.one_in(2) {
            of = of.memory(&format!("{}Mi", random.below(900)));
        }
        if random.one_in(3) {
            of = of.request("nvidia.com/gpu", &random.below(4).to_string());
        }
        if random.one_in(3) {
            of = of.annotation("alibabacloud.com/gpu-milli", random.of(&["300", "1000", "-5", "x"]));
        }
        if random.one_in(3) {
            of = of.annotation("alibabacloud.com/gpu-index", random.of(&["0", "1-2", "9", ""]));
        }
        if random.one_in(2) {
            of = of.raw();
        }
        if random.one_in(3) {
            of = of.created("2026-01-02T03:04:05Z");
        }
        if random.one_in(6) {
            of = of.gate("wait");
        }
        if random.one_in(8) {
            of = of.phase("Succeeded");
        }
        if random.one_in(2) {
            of = of.on(&format!("n{}", random.below(6)));
        }
        of.build()
    });
    let pods = pods.collect();
    (nodes, pods)
}

/// How many evaluations are made, the same number on every machine; `BAYPLAN_EVALUATIONS` raises it.
fn wanted() -> usize {
    let asked = std::env::var("BAYPLAN_EVALUATIONS").ok();
    asked.and_then(|text| text.parse().ok()).unwrap_or(200_000)
}

#[test]
fn closures_and_columns_agree_with_the_reference_evaluator() {
    let wanted = wanted();
    let (mut evaluations, mut compiled, mut refused) = (0, 0, 0);
    // Programs that looked elements up, and that remembered answers.
    let (mut looked_up, mut remembered) = (0, 0);
    let mut of_parts = 0;
    let mut why = Vec::new();
    let mut seed = 1;
    while evaluations < wanted {
        seed += 1;
        let mut random = Random(seed);
        let (nodes, pods) = cluster(&mut random);
        for _ in 0..4 {
            let text = Programs::new(&mut random).policy();
            let set = match try_compile(&text) {
                Ok(set) => set,
                Err(mistake) => {
                    refused += 1;
                    why.push(mistake);
                    continue;
                }
            };
            compiled += 1;
            let framework = framework_of(&set);
            let policy = set.iter().next().unwrap();
            let agreed = agree(policy, &framework, &nodes, &pods, &text, seed, &mut random);
            evaluations += agreed.evaluations;
            looked_up += usize::from(agreed.looked_up > 0);
            remembered += usize::from(agreed.remembered > 0);
            // The rules that decide, and those that count, where not all decide for every pod.
            let parts = [policy.decides()].into_iter().chain(policy.counts());
            for part in parts.filter(|_| !policy.counts().is_empty()) {
                of_parts += 1;
                evaluations += agree(part, &framework, &nodes, &pods, &text, seed, &mut random).evaluations;
            }
        }
    }
    why.sort();
    why.dedup();
    println!(
        "{evaluations} evaluations of {compiled} programs, {refused} programs refused; {looked_up} looked elements up, \
         {remembered} remembered answers"
    );
    assert!(of_parts > compiled / 10, "{of_parts} parts of {compiled} programs");
    assert!(looked_up > compiled / 10, "{looked_up} of {compiled} programs looked elements up");
    assert!(remembered > compiled / 20, "{remembered} of {compiled} programs remembered answers");
    for mistake in why.iter().take(20) {
        println!("  {mistake}");
    }
    assert!(
        compiled > refused,
        "most random programs are well typed: {refused} of {} are not: {why:#?}",
        compiled + refused
    );
}

/// Both evaluators on a random cluster and policy.
pub(crate) fn agree_on_seed(seed: u64) {
    let mut random = Random(seed);
    let (nodes, pods) = cluster(&mut random);
    let text = Programs::new(&mut random).policy();
    let Ok(set) = try_compile(&text) else { return };
    let framework = framework_of(&set);
    if let Some(policy) = set.iter().next() {
        agree(policy, &framework, &nodes, &pods, &text, seed, &mut random);
    }
}

/// Seeds far from those above, as the fuzz target has them.
#[test]
fn any_seed_agrees() {
    (1..100u64).for_each(|seed| agree_on_seed(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15)));
}

fn agree(
    policy: &CompiledPolicy,
    framework: &Framework,
    nodes: &[Arc<Node>],
    pods: &[Arc<PodInfo>],
    text: &str,
    seed: u64,
    random: &mut Random,
) -> Agreed {
    let mut snapshot = snapshot(framework, nodes.to_vec(), pods.to_vec());
    super::memos::fill(random, &policy.policy, &mut snapshot);
    measure(framework, &mut snapshot);
    if random.one_in(2) {
        // Without columns of labels, and without indexes of groups.
        let keys: Vec<_> = snapshot.index_keys().cloned().collect();
        for key in keys {
            snapshot.remove_index(&key);
        }
    }
    let fresh = pod("fresh").label("team", "a").cpu("500m").build();
    let mut subjects: Vec<Arc<PodInfo>> =
        pods.iter().filter(|pod| pod.node_name.is_none()).take(3).cloned().collect();
    subjects.push(fresh);
    let mut all = Agreed::default();
    for subject in subjects {
        let of = agree_on(policy, &snapshot, &subject, text, seed);
        all.evaluations += of.evaluations;
        all.looked_up += of.looked_up;
        all.remembered += of.remembered;
    }
    all
}

/// What was evaluated, and how much of it by tables.
#[derive(Default)]
struct Agreed {
    evaluations: usize,
    looked_up: u64,
    remembered: usize,
}

fn agree_on(policy: &CompiledPolicy, snapshot: &Snapshot, pod: &PodInfo, text: &str, seed: u64) -> Agreed {
    let context = EvalContext::new(pod, snapshot, NOW);
    let of = &policy.statements;
    let registers = compute(&policy.policy, &of.registers, context);
    let alive = snapshot.columns().alive().clone();
    let mut evaluations = 0;
    let mut scan = ColumnScan::new(&policy.policy, &of.inputs, context, &registers);
    let rules = policy.rules();
    assert_eq!(of.filters.len(), rules.at(Point::Filter).count());
    for (filter, rule) in of.filters.iter().zip(rules.at(Point::Filter)) {
        for (check, typed) in filter.checks.iter().zip(rule.checks()) {
            let mut ranged = Vec::new();
            for (word, mask) in alive.words().iter().copied().enumerate() {
                ranged.push(check.refused(&mut scan, word, mask));
            }
            for id in alive.iter() {
                let context = context.on(snapshot.node(id).unwrap());
                let mut evaluator = Evaluator::new(&policy.policy, context);
                let defined = evaluator.refuses(rules, rule, typed);
                let mut env = Env::new(&policy.policy, context, &registers);
                let closure = check.refuses(&mut env);
                let column = ranged[id.row() / 64] >> (id.row() % 64) & 1 == 1;
                assert_eq!(
                    (closure, column),
                    (defined, defined),
                    "closure, column against reference: pod {}, node {}, seed {seed}\n{:#?}\n{text}",
                    pod.name,
                    snapshot.node(id).unwrap().name(),
                    typed.condition.as_ref().map(|condition| evaluator.tree(condition)),
                );
                evaluations += 3;
            }
        }
    }
    assert_eq!(of.scores.len(), rules.at(Point::Score).count());
    for (score, rule) in of.scores.iter().zip(rules.at(Point::Score)) {
        let column = score.raw_range(&mut scan, &alive);
        for id in alive.iter() {
            let context = context.on(snapshot.node(id).unwrap());
            let defined = raw(policy, rule, context, score.whole);
            let mut env = Env::new(&policy.policy, context, &registers);
            let closure = score.raw(&mut env);
            assert_eq!(
                closure,
                defined,
                "score {}, pod {}, row {}, seed {seed}\n{text}",
                score.name,
                pod.name,
                id.row()
            );
            assert_eq!(
                column.get(id),
                defined,
                "column of {}, pod {}, row {}, seed {seed}\n{text}",
                score.name,
                pod.name,
                id.row()
            );
            evaluations += 3;
        }
        let scores = column.normalized(score.normalize, score.reversed);
        assert!(scores.iter().all(|score| (0..=100).contains(score)), "{scores:?}");
    }
    for (reserve, rule) in of.reserves.iter().zip(rules.at(Point::Reserve)) {
        let Body::Reserve(typed) = &rule.body else { panic!() };
        for id in alive.iter() {
            let context = context.on(snapshot.node(id).unwrap());
            let mut evaluator = Evaluator::new(&policy.policy, context);
            let mut env = Env::new(&policy.policy, context, &[]);
            for (check, typed) in reserve.checks.iter().zip(&typed.checks) {
                let defined = evaluator.refuses(rules, rule, typed);
                assert_eq!(
                    check.refuses(&mut env),
                    defined,
                    "reserve, pod {}, seed {seed}\n{text}",
                    pod.name
                );
                evaluations += 1;
            }
            for (write, typed) in reserve.writes.iter().zip(&typed.writes) {
                let defined = !evaluator.leaves_alone(rules, rule)
                    && typed.when.as_ref().is_none_or(|when| evaluator.holds(when));
                let closure = write.when.as_ref().is_none_or(|when| when(&mut env));
                assert_eq!(closure, defined, "write, pod {}, seed {seed}\n{text}", pod.name);
                for ((key, value), typed) in write.entries.iter().zip(&typed.entries) {
                    let (closure, defined) = (value(&mut env), evaluator.value(&typed.value));
                    assert_eq!(closure, defined, "key {key}, pod {}, seed {seed}\n{text}", pod.name);
                    evaluations += 1;
                }
            }
        }
    }
    let acts = [
        (Point::PreBind, &of.acts.before_bind),
        (Point::PostBind, &of.acts.after_bind),
        (Point::Failure, &of.acts.after_failure),
    ];
    for (point, acts) in acts {
        let typed = rules.at(point).flat_map(|rule| rules.statements(rule));
        let typed = typed.filter_map(|statement| match statement {
            Statement::Act(act) => Some(act),
            _ => None,
        });
        let typed: Vec<_> = typed.collect();
        assert_eq!(acts.len(), typed.len());
        // Those of a failure see no node.
        let nodes = alive.iter().filter(|_| point != Point::Failure).map(|id| snapshot.node(id));
        for node in nodes.chain([None]) {
            let context = node.map_or(context, |node| context.on(node));
            if node.is_none() && point != Point::Failure {
                continue;
            }
            let mut evaluator = Evaluator::new(&policy.policy, context);
            let mut env = Env::new(&policy.policy, context, &[]);
            for (act, typed) in acts.iter().zip(&typed) {
                let what = || format!("{}, pod {}, seed {seed}\n{text}", typed.does.word(), pod.name);
                let defined = typed.when.as_ref().is_none_or(|when| evaluator.holds(when));
                assert_eq!(act.holds(&mut env), defined, "{}", what());
                evaluations += 1;
                if let (CompiledDoes::Remember(_, fast), Some(slow)) = (&act.does, typed.does.value()) {
                    let (fast, slow) = (fast(&mut env), evaluator.value(slow));
                    let same = fast.is_absent() && slow.is_absent() || fast.equals(&slow);
                    assert!(same, "{fast:?} and {slow:?}, {}", what());
                }
                let (CompiledDoes::Write(_, _, entries), Does::Write(_, _, own)) = (&act.does, &typed.does)
                else {
                    continue;
                };
                for (entry, own) in entries.iter().zip(own) {
                    assert_eq!(entry.value.is_none(), own.removes, "{}", what());
                    let Some(value) = &entry.value else { continue };
                    let (closure, defined) = (value(&mut env), evaluator.value(&own.value));
                    assert_eq!(closure, defined, "{}", what());
                    evaluations += 1;
                }
            }
        }
    }
    let tables = &scan.env.tables;
    Agreed { evaluations, looked_up: tables.visited, remembered: tables.remembered() }
}

/// The raw value by the reference evaluator.
fn raw(policy: &CompiledPolicy, rule: &Rule, context: EvalContext<'_>, whole: bool) -> Option<Raw> {
    let mut evaluator = Evaluator::new(&policy.policy, context);
    if evaluator.leaves_alone(policy.rules(), rule) {
        return None;
    }
    let score = rule.score()?;
    for give in &score.gives {
        if give.when.as_ref().is_none_or(|when| evaluator.holds(when)) {
            return match evaluator.value(give.value.as_ref()?) {
                Value::Int(number) if whole => Some(Raw::Whole(number)),
                value => value.as_float().map(Raw::Float),
            };
        }
    }
    None
}

#[test]
fn rows_beyond_one_word_are_answered_alike() {
    let text = r#"
        policy many {
          filter f {
            require node.labels["team"] == pod.labels["team"] || node.free.cpu > 2cpu else "no"
            reject "later" when node.labels["team"] in ["x", "y"] && !has(node.labels["zone"])
          }
          score s normalize max { give node.free.memory when node.ready; give 0 }
        }
    "#;
    let set = try_compile(text).unwrap();
    let framework = framework_of(&set);
    let mut random = Random(7);
    let nodes: Vec<_> = (0..200)
        .map(|at| {
            let mut of = node(&format!("n{at}"))
                .cpu(&random.below(5).to_string())
                .memory(&format!("{}Gi", random.below(9)));
            if random.one_in(2) {
                of = of.label("team", random.of(&["x", "y", "z"]));
            }
            if random.one_in(3) {
                of = of.label("zone", "a");
            }
            of.build()
        })
        .collect();
    let snapshot = snapshot(&framework, nodes, vec![]);
    assert_eq!(snapshot.columns().alive().iter().last(), Some(NodeId::from_row(199)));
    let subject = pod("p").label("team", "x").build();
    agree_on(set.iter().next().unwrap(), &snapshot, &subject, text, 0);
}
