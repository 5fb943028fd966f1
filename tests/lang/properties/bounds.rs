//! No rule takes more steps than its bound, on random programs and random clusters: the reference
//! evaluator counts its steps, and the bound is computed for that evaluator and a cluster of exactly
//! this size.

use super::Random;
use super::evaluators::cluster;
use super::programs::Programs;
use crate::support::policies::{NOW, framework_of, snapshot, try_compile};
use bayplan::lang::analysis::cost::{Costs, EvaluationMode, Size};
use bayplan::lang::eval::context::EvalContext;
use bayplan::lang::eval::interpret::Evaluator;
use bayplan::lang::typed::{Expr, Point, Policy};
use bayplan::model::{PodInfo, Snapshot};

/// The steps of expressions on all nodes, an evaluator for each node.
fn taken(policy: &Policy, parts: &[&Expr], pod: &PodInfo, snapshot: &Snapshot) -> u64 {
    let context = EvalContext::new(pod, snapshot, NOW);
    let of_node = |id| {
        let mut evaluator = Evaluator::new(policy, context.on(snapshot.node(id).unwrap()));
        for part in parts {
            evaluator.value(part);
        }
        evaluator.steps()
    };
    snapshot.columns().alive().iter().map(of_node).sum()
}

#[test]
fn steps_stay_below_their_bound() {
    let (mut rules, mut near, mut seed) = (0, 0, 500_000);
    // The same rules on every machine, however busy it is.
    while rules < 1_000 {
        seed += 1;
        let mut random = Random(seed);
        let (nodes, pods) = cluster(&mut random);
        let text = Programs::new(&mut random).policy();
        let Ok(set) = try_compile(&text) else { continue };
        let Some(policy) = set.iter().next() else { continue };
        let policy = &policy.policy;
        // The pod itself, which is not in the snapshot, counts too.
        let size = Size::of(nodes.len() as u32, pods.len() as u32 + 1);
        let snapshot = snapshot(&framework_of(&set), nodes, pods);
        let subject = bayplan::testing::pod("fresh").label("team", "a").cpu("500m").build();
        let costs = Costs::new(policy, size);
        let checks = policy.checks_at(Point::Filter).filter_map(|check| check.condition.as_ref());
        let gives = policy.scores().flat_map(|(_, score)| &score.gives);
        let parts = checks.chain(gives.flat_map(|give| give.when.iter().chain(&give.value)));
        for part in parts {
            let bound = costs.steps([part], EvaluationMode::Reference);
            let taken = u128::from(taken(policy, &[part], &subject, &snapshot));
            assert!(taken <= bound, "{taken} steps, the bound is {bound}, seed {seed}: {part:#?}\n{text}");
            rules += 1;
            // A bound far above all counted steps would prove nothing.
            near += usize::from(taken * 20 >= bound);
        }
    }
    println!("{rules} rules, {near} of them within a twentieth of their bound");
    assert!(near * 3 > rules, "{near} of {rules} come near their bound");
}
