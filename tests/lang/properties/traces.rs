//! The trace of the reference evaluator has the order in which the policy plugin evaluates: on
//! random policies and clusters, the first statement that decides in the trace is the one whose
//! reason the plugin gives, at PreEnqueue, PreFilter and Filter.

use super::Random;
use super::evaluators::cluster;
use super::programs::{Programs, Ty};
use crate::support::policies::{NOW, framework_of, snapshot, try_compile};
use bayplan::framework::{Cycle, PluginId};
use bayplan::lang::eval::context::EvalContext;
use bayplan::lang::eval::trace::{Finding, Reach, trace};
use bayplan::lang::typed::{Point, Rules, Statement};

/// A policy in which every statement that refuses has a reason of its own.
fn text(random: &mut Random) -> String {
    let mut condition = |of_node: bool| {
        let mut programs = Programs::new(random);
        if !of_node {
            programs.nodes.clear();
        }
        programs.expr(Ty::Bool, 2)
    };
    let applies = condition(false);
    let of_pod: Vec<String> = (0..4).map(|_| condition(false)).collect();
    let of_node: Vec<String> = (0..4).map(|_| condition(true)).collect();
    let mut text = String::from(
        "policy random {\n  param limit = 3\n  param key = \"team\"\n  group mates = m in pods where \
         m.namespace == pod.namespace && m.labels[\"job\"] == pod.labels[\"job\"]\n",
    );
    if random.one_in(3) {
        text.push_str(&format!("  applies when {applies}\n"));
    }
    if random.one_in(3) {
        text.push_str("  let wanted = pod.labels[\"size\"] missing reject \"no size\"\n");
        text.push_str("  gate \"sized\" when wanted == \"shop\"\n");
    }
    text.push_str(&format!("  gate \"g0\" when {}\n  gate \"g1\" when {}\n", of_pod[0], of_pod[1]));
    text.push_str(&format!(
        "  prefilter {{ reject \"p0\" when {} reject \"p1\" when {} }}\n",
        of_pod[2], of_pod[3]
    ));
    for filter in 0..2 {
        text.push_str(&format!(
            "  filter f{filter} {{\n    require {} else \"f{filter}0\"\n    reject \"f{filter}1\" when {}\n  }}\n",
            of_node[2 * filter],
            of_node[2 * filter + 1]
        ));
    }
    text.push_str("}\n");
    text
}

/// The reason of the first statement that decides, if it has one; whether any decides.
fn first(rules: Rules<'_>, point: Point, context: EvalContext<'_>) -> (Option<String>, bool) {
    let found = trace(rules, point, context);
    let decides = |of: &Finding<'_>| of.decides && of.reach == Reach::Evaluated;
    let first = found.iter().find(|of| decides(&of.finding));
    // After the first, the plugin evaluates nothing more.
    if let Some(at) = found.iter().position(|of| of.finding.decides) {
        assert!(found[..=at].iter().all(|of| of.finding.reach == Reach::Evaluated));
        assert!(found[at + 1..].iter().all(|of| of.finding.reach != Reach::Evaluated));
    }
    let reason = first.filter(|of| !matches!(of.finding.statement, Statement::Condition(_)));
    (reason.and_then(|of| of.reason.clone()), first.is_some())
}

#[test]
fn the_first_statement_that_decides_in_a_trace_is_the_one_whose_reason_the_plugin_gives() {
    let mut refused = std::collections::BTreeMap::<String, u32>::new();
    for seed in 40_000..40_400 {
        let mut random = Random(seed);
        let (nodes, pods) = cluster(&mut random);
        let Ok(set) = try_compile(&text(&mut random)) else { continue };
        let framework = framework_of(&set);
        let snapshot = snapshot(&framework, nodes, pods.clone());
        let Some(compiled) = set.iter().next() else { continue };
        let (rules, plugin, id) = (compiled.rules(), &framework.plugins()[0], PluginId(0));
        for pod in pods.iter().filter(|pod| pod.node_name.is_none()) {
            let mut cycle = Cycle::new(pod.clone(), framework.clone(), NOW);
            let context = EvalContext::new(pod, &snapshot, NOW);
            let (absent, skipped) = first(rules, Point::Applies, context);

            let gate = plugin.pre_enqueue().unwrap();
            let said = gate.pre_enqueue(&cycle.handle(&snapshot).for_plugin(id)).err();
            let expected = if skipped { None } else { first(rules, Point::PreEnqueue, context).0 };
            assert_eq!(said.map(|status| status.message()), expected, "seed {seed}, gate");
            refused.extend(expected.map(|reason| (reason, 1)));

            let mut slot = cycle.state.slot_mut(id).clone();
            let point = plugin.pre_filter().unwrap();
            let said = point.pre_filter(&cycle.handle(&snapshot).for_plugin(id), &mut slot).err();
            *cycle.state.slot_mut(id) = slot;
            let expected = if skipped { absent.clone() } else { first(rules, Point::PreFilter, context).0 };
            assert_eq!(said.map(|status| status.message()), expected, "seed {seed}, prefilter");
            if let Some(reason) = expected {
                refused.insert(reason, 1);
                continue;
            }
            for node in snapshot.nodes() {
                let filter = plugin.filter().unwrap();
                let said = filter.filter(&cycle.handle(&snapshot).for_plugin(id), node).err();
                let expected = if skipped { None } else { first(rules, Point::Filter, context.on(node)).0 };
                assert_eq!(said.map(|status| status.message()), expected, "seed {seed}, filter");
                refused.extend(expected.map(|reason| (reason, 1)));
            }
        }
    }
    // Every statement refused somewhere, so every place in the order was tried.
    let seen: Vec<&str> = refused.keys().map(String::as_str).collect();
    let all = ["f00", "f01", "f10", "f11", "g0", "g1", "no size", "p0", "p1", "sized"];
    assert_eq!(seen, all);
}
