//! `victim`, `protect` and `guard`: closures agree with the reference evaluator on random conditions and clusters, in
//! both languages, with pods of the cluster taken away.

use super::Random;
use super::evaluators::cluster;
use super::programs::{Programs, Ty};
use crate::support::policies::{NOW, framework_of, snapshot, try_compile};
use bayplan::diag::SourceMap;
use bayplan::lang::analysis::cost::Size;
use bayplan::lang::codegen::{CompiledVictim, Env};
use bayplan::lang::eval::context::{EvalContext, Moved};
use bayplan::lang::eval::trace::Tracer;
use bayplan::lang::policy_set::CompiledPolicy;
use bayplan::testing::pod;

/// A policy with random rules about evictions.
fn policy(random: &mut Random) -> String {
    let mut programs = Programs::new(random);
    let guard = programs.expr(Ty::Bool, 2);
    programs.pods.push("v".into());
    let [victim, protect] = [(); 2].map(|()| programs.expr(Ty::Bool, 3));
    format!(
        "policy random {{\n  param limit = 3\n  param key = \"team\"\n  group mates = m in pods where m.namespace == \
         pod.namespace && m.labels[\"job\"] == pod.labels[\"job\"]\n  preempt {{\n    victim v when v.priority < 50 && \
         {victim}\n    protect v when {protect} || v.priority > 90\n    guard {guard} else \"r\"\n  }}\n}}\n"
    )
}

/// The policy as a document; `None`: it has no twin.
fn twin(text: &str) -> Option<String> {
    let mut sources = SourceMap::new();
    let id = sources.add("p.bay", text);
    let source = sources.get(id).unwrap();
    let (policies, _) = bayplan::lang::compile_for(source, Size::of(20, 20), &|_| Vec::new());
    bayplan::lang::convert::convert(source, &policies).ok()
}

fn agree(policy: &CompiledPolicy, context: EvalContext<'_>, text: &str) -> usize {
    let preempt = policy.statements.preempt.as_ref().unwrap();
    let mut compared = 0;
    for victim in context.pods() {
        let any = |rules: &[CompiledVictim]| {
            let mut env = Env::new(&policy.policy, context, &[]);
            rules.iter().any(|rule| rule.holds(&mut env, victim))
        };
        for (protects, rules) in [(false, &preempt.victims), (true, &preempt.protects)] {
            let wanted =
                Tracer::of_victim(&policy.policy, protects, victim, context).any(|found| found.decides);
            assert_eq!(any(rules), wanted, "{} {protects}\n{text}", victim.name);
            compared += 1;
        }
    }
    let mut env = Env::new(&policy.policy, context, &[]);
    let refuses = preempt.guards.iter().any(|guard| guard.refuses(&mut env));
    let wanted = Tracer::of_guards(&policy.policy, context).any(|found| found.decides);
    assert_eq!(refuses, wanted, "{text}");
    compared + 1
}

#[test]
fn closures_agree_with_the_reference_evaluator() {
    let (mut compared, mut twins, mut seed) = (0, 0, 0);
    while compared < 30_000 {
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
            let me = pod("me").label("job", "a").build();
            let mut moved = Moved::default();
            for gone in &pods {
                if random.one_in(4) && gone.node_name.is_some() {
                    moved.remove(gone);
                }
            }
            for node in cluster.nodes() {
                let context = EvalContext { moved: &moved, ..EvalContext::new(&me, &cluster, NOW) }.on(node);
                compared += agree(set.iter().next().unwrap(), context, &text);
            }
        }
    }
    assert!(twins > 20, "{twins} twins");
}
