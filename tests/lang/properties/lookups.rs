//! A lookup by a value of the node costs as many steps as there are nodes, however many have the same
//! value.

use crate::support::policies::{NOW, compile, framework_of, snapshot};
use bayplan::lang::analysis::stage::{Stage, stage};
use bayplan::lang::codegen::{ColumnScan, compute};
use bayplan::lang::eval::context::EvalContext;
use bayplan::model::{Node, PodInfo};
use bayplan::testing::{node, pod};
use std::sync::Arc;

const NODES: usize = 300;

/// Nodes in `racks` racks.
fn nodes(racks: usize) -> Vec<Arc<Node>> {
    let of = |at: usize| node(&format!("n{at}")).cpu("8").label("rack", &format!("r{}", at % racks));
    (0..NODES).map(|at| of(at).build()).collect()
}

/// A pod on every node.
fn pods() -> Vec<Arc<PodInfo>> {
    (0..NODES).map(|at| pod(&format!("p{at}")).label("job", "a").on(&format!("n{at}")).build()).collect()
}

/// How many elements the rules of a policy visit for one pod.
fn looked_at(text: &str, racks: usize) -> u64 {
    let set = compile(text);
    let policy = set.iter().next().unwrap();
    let snapshot = snapshot(&framework_of(&set), nodes(racks), pods());
    let subject = pod("fresh").label("job", "a").build();
    let context = EvalContext::new(&subject, &snapshot, NOW);
    let of = &policy.statements;
    let registers = compute(&policy.policy, &of.registers, context);
    let mut scan = ColumnScan::new(&policy.policy, &of.inputs, context, &registers);
    let alive = snapshot.columns().alive().clone();
    for check in of.filters.iter().flat_map(|filter| &filter.checks) {
        for (word, mask) in alive.words().iter().copied().enumerate() {
            check.refused(&mut scan, word, mask);
        }
    }
    for score in &of.scores {
        score.raw_range(&mut scan, &alive);
    }
    scan.env.tables.visited
}

/// Rules about the nodes or pods that are like the node. Each visits a collection once to index it by
/// value, and every element once more for the answer of its value.
const LINEAR: [&str; 6] = [
    "score s normalize max { give nodes.filter(n, n.labels[key] == node.labels[key]).sum(n, n.free.cpu) }",
    "score s normalize minmax { give nodes.filter(n, n.labels[key] == node.labels[key]).map(n, n.free.cpu).max() ?? 0cpu }",
    "score s normalize max { give nodes.count(n, n.ready && node.labels[key] == n.labels[key]) }",
    "filter f { require nodes.all(n, n.labels[key] != node.labels[key] || n.free.cpu > 1cpu) else \"full\" }",
    "filter f { reject \"taken\" when pods.exists(p, p.node.labels[key] == node.labels[key] && p.priority > 100) }",
    "score s normalize max { give pods.filter(p, p.node == node).size() }",
];

#[test]
fn lookups_are_linear_in_nodes() {
    for rule in LINEAR {
        let text = format!("policy p {{ let key = \"rack\" {rule} }}");
        for racks in [1, 20, NODES] {
            let looked_at = looked_at(&text, racks);
            // The pod itself is one of `pods`.
            let most = 2 * (NODES as u64 + 1);
            assert!(
                (NODES as u64..=most).contains(&looked_at),
                "{looked_at} elements of {NODES} in {racks} racks: {rule}"
            );
        }
    }
}

#[test]
fn plan_calls_them_index() {
    let all = LINEAR.iter().filter(|rule| rule.starts_with("score"));
    for rule in all {
        let set = compile(&format!("policy p {{ let key = \"rack\" {rule} }}"));
        let policy = &set.iter().next().unwrap().policy;
        let value = policy.scores().next().unwrap().1.gives[0].value.as_ref().unwrap();
        assert_eq!(stage(policy, value), Stage::Index, "{rule}");
    }
}
