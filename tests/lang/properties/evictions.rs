//! `victim`, `protect` and `guard`: closures agree with the reference evaluator on random conditions and clusters, in
//! both languages, in several simulations of one attempt.

use super::Random;
use super::evaluators::cluster;
use super::programs::{Programs, Ty};
use crate::support::policies::{NOW, framework_of, snapshot, try_compile};
use bayplan::diag::SourceMap;
use bayplan::lang::analysis::cost::Size;
use bayplan::lang::codegen::{Answers, CompiledPrefilter, CompiledVictim, Env};
use bayplan::lang::eval::context::{EvalContext, MovedPods};
use bayplan::lang::eval::trace::Tracer;
use bayplan::lang::policy_set::CompiledPolicy;
use bayplan::lang::typed::{Body, PrefilterStatement};
use bayplan::model::{NodeId, PodInfo, Snapshot};
use bayplan::testing::pod;
use std::sync::Arc;

/// What rules read that no simulation changes, and what only simulations change.
const SHARED: &str = r#"  ledger used: resources by pod.namespace { add pod.requests }
  ledger on: cpu by node.name { add pod.requests.cpu }
  def alike(t: string) = nodes.count(n, n.labels["team"] == t || n.zone == t)
  def placed(n: string) = pods.count(p, p.placed && p.namespace == n)
  let twice = ["default", "other", "default"].sum(n, used[n])
"#;

/// A policy with random rules about evictions.
fn policy(random: &mut Random) -> String {
    let shared = random.one_in(2);
    let mut programs = Programs::new(random);
    let guard = programs.expr(Ty::Bool, 2);
    let nodes = std::mem::take(&mut programs.nodes);
    let reject = programs.expr(Ty::Bool, 2);
    programs.nodes = nodes;
    programs.pods.push("v".into());
    let [victim, protect] = [(); 2].map(|()| programs.expr(Ty::Bool, 3));
    let (declared, more) = match shared {
        true => (SHARED, "|| alike(v.labels[\"team\"] ?? \"\") > placed(v.namespace)"),
        false => ("", ""),
    };
    let sums = match shared {
        true => {
            "    reject \"s\" when nodes.sum(n, on[n.name]) > 2500m\n    reject \"t\" when !twice.fits(pod.requests)\n"
        }
        false => "",
    };
    format!(
        "policy random {{\n  param limit = 3\n  param key = \"team\"\n  group mates = m in pods where m.namespace == \
         pod.namespace && m.labels[\"job\"] == pod.labels[\"job\"]\n{declared}  prefilter {{\n    reject \"r\" when \
         {reject}\n{sums}  }}\n  preempt {{\n    victim v when v.priority < 50 && {victim} {more}\n    protect v when \
         {protect} || v.priority > 90\n    guard {guard} else \"r\"\n  }}\n}}\n"
    )
}

/// The policy as a document; `None`: it has no twin.
fn twin(text: &str) -> Option<String> {
    let mut sources = SourceMap::new();
    let id = sources.add("p.bay", text);
    let source = sources.get(id).unwrap();
    bayplan::lang::convert::convert_for(source, Size::of(20, 20)).ok()
}

/// Compares every rule in one simulation of an attempt, with what the attempt keeps and without.
fn agree(policy: &CompiledPolicy, context: EvalContext<'_>, answers: &Answers, text: &str) -> usize {
    [None, Some(answers)].map(|answers| agree_with(policy, context, answers, text)).iter().sum()
}

fn agree_with(
    policy: &CompiledPolicy,
    context: EvalContext<'_>,
    answers: Option<&Answers>,
    text: &str,
) -> usize {
    let preempt = policy.statements.preempt.as_ref().unwrap();
    let mut compared = 0;
    for victim in context.pods() {
        let mut env = Env::simulating(&policy.policy, context, answers);
        let mut any = |rules: &[CompiledVictim]| rules.iter().any(|rule| rule.holds(&mut env, victim));
        for (protects, rules) in [(false, &preempt.victims), (true, &preempt.protects)] {
            let wanted =
                Tracer::of_victim(policy.rules(), protects, victim, context).any(|found| found.decides);
            assert_eq!(any(rules), wanted, "{} {protects}\n{text}", victim.name);
            compared += 1;
        }
    }
    let mut env = Env::simulating(&policy.policy, context, answers);
    let refuses = preempt.guards.iter().any(|guard| guard.refuses(&mut env));
    let wanted = Tracer::of_guards(policy.rules(), context).any(|found| found.decides);
    assert_eq!(refuses, wanted, "{text}");
    let written = policy.policy.rules.iter().flat_map(|rule| match &rule.body {
        Body::Prefilter(of) => of.statements.as_slice(),
        _ => &[],
    });
    for (statement, written) in policy.statements.prefilters.iter().zip(written) {
        let (CompiledPrefilter::Check(check), PrefilterStatement::Check(written)) = (statement, written)
        else {
            continue;
        };
        let condition = written.condition.as_ref().unwrap();
        if check.may_fail {
            continue;
        }
        let mut env = Env::simulating(&policy.policy, context, answers);
        let wanted = policy.evaluator(context).holds(condition) == written.refuses_when;
        assert_eq!(check.refuses(&mut env), wanted, "{:?}\n{text}", written.reason);
        compared += 1;
    }
    compared + 1
}

/// Some pods are taken away, and some that have no node are put onto one.
fn moved(random: &mut Random, cluster: &Snapshot, pods: &[Arc<PodInfo>]) -> MovedPods {
    let mut moved = MovedPods::default();
    for of in pods.iter().filter(|of| !of.is_finished()) {
        match cluster.pod(&of.key).and_then(|entry| entry.placed) {
            Some(_) if random.one_in(3) => moved.remove(of),
            None if random.one_in(3) => {
                let nodes: Vec<NodeId> = cluster.nodes().map(|node| node.id()).collect();
                moved.add(of, random.of(&nodes));
            }
            _ => {}
        }
    }
    moved
}

#[test]
fn closures_agree_with_the_reference_evaluator_in_all_simulations_of_an_attempt() {
    let (mut compared, mut twins, mut shared, mut seed) = (0, 0, 0, 0);
    while compared < 60_000 {
        seed += 1;
        let mut random = Random(seed);
        let (nodes, pods) = cluster(&mut random);
        let text = policy(&mut random);
        let documents = twin(&text);
        twins += usize::from(documents.is_some());
        for text in [Some(text), documents].into_iter().flatten() {
            let Ok(set) = try_compile(&text) else { continue };
            let framework = framework_of(&set);
            let cluster = snapshot(&framework, nodes.clone(), pods.clone());
            let me = pod("me").label("job", "a").cpu("500m").build();
            let policy = set.iter().next().unwrap();
            shared += usize::from(!policy.policy.ledgers.is_empty());
            let answers = Answers::default();
            for simulation in 0..3 {
                let moved = match simulation {
                    0 => MovedPods::default(),
                    _ => moved(&mut random, &cluster, &pods),
                };
                for node in cluster.nodes() {
                    let context =
                        EvalContext { moved: &moved, ..EvalContext::new(&me, &cluster, NOW) }.on(node);
                    compared += agree(policy, context, &answers, &text);
                }
            }
        }
    }
    assert!(twins > 20, "{twins} twins");
    assert!(shared > 20, "{shared} policies with ledgers");
}
