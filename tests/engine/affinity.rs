//! InterPodAffinity on random clusters: refusals and scores by their definition over all pairs of pods, and the
//! PreFilter extensions against PreFilter on the changed cluster.

use crate::support::affinity::{affinity, namespaces, refusal, score, with_affinity};
use bayplan::framework::{
    Code, Cycle, Feasible, Features, Framework, Make, Plugin, PluginId, Points, ScorePlugin, Silent,
    Simulation, Status, Tree,
};
use bayplan::model::{
    Change, KubernetesVersion, Node, NodeId, Placement, PodInfo, Snapshot, Symbol, Time, VersionRows,
};
use bayplan::plugins::IN_TREE;
use bayplan::testing::{Random, namespace, node, pod};
use std::sync::Arc;

/// The plugin alone, at all its extension points.
fn framework() -> Arc<Framework> {
    let row = IN_TREE.iter().find(|row| row.name == "InterPodAffinity").unwrap();
    let Make::Built(new) = row.make else { panic!("it is built") };
    let plugin: Arc<dyn Plugin> = new(&Tree::default(), Features::default()).ok().unwrap();
    let id = PluginId(0);
    let points = Points {
        pre_filter: vec![id],
        filter: vec![id],
        pre_score: vec![id],
        score: vec![ScorePlugin { plugin: id, weight: 1 }],
        ..Points::default()
    };
    Arc::new(Framework::new(Symbol::new("default-scheduler"), vec![plugin], points))
}

fn random_node(r: &mut Random, name: &str) -> Arc<Node> {
    let mut made = node(name);
    if !r.one_in(5) {
        made = made.zone(r.of(&["a", "b", "c"]));
    }
    if !r.one_in(3) {
        made = made.label("disk", r.of(&["ssd", "hdd"]));
    }
    made.build()
}

/// A cluster that keeps what the plugin wants for a pod half of the time.
fn random_cluster(r: &mut Random, framework: &Framework, new: &PodInfo) -> Snapshot {
    let mut s = Snapshot::default();
    for namespace in namespaces() {
        s.apply(Change::NamespaceUpserted { namespace });
    }
    let nodes = 1 + r.below(12);
    for at in 0..nodes {
        s.apply(Change::NodeUpserted { node: random_node(r, &format!("n{at}")) });
    }
    if r.one_in(2) {
        let wants = framework.wants(new, &s);
        s.want(&wants);
    }
    for at in 0..r.below(2 * nodes) {
        let node = s.node_by_name(&Symbol::from(format!("n{}", r.below(nodes)))).unwrap();
        let pod = with_affinity(r, pod(&format!("p{at}"))).build();
        s.apply(Change::PodPlaced { pod, node, how: Placement::Bound });
        if r.one_in(6) {
            let name = format!("n{}", r.below(nodes));
            s.apply(Change::NodeUpserted { node: random_node(r, &name) });
        }
    }
    if r.one_in(4) {
        let labelled = namespace("one").label("team", r.of(&["x", "y"])).build();
        s.apply(Change::NamespaceUpserted { namespace: labelled });
    }
    if r.one_in(4) {
        // Pods of a node that is gone count nowhere.
        s.apply(Change::NodeRemoved { name: Symbol::new("n0") });
    }
    s
}

fn found(status: &Status) -> (Code, String) {
    (status.code, status.message())
}

#[test]
fn refusals_and_scores_follow_from_pairs_of_pods() {
    let framework = framework();
    let (mut refused, mut passed, mut scored) = (0, 0, 0);
    for seed in 0..1500 {
        let mut r = Random(seed);
        let pod = with_affinity(&mut r, pod("new")).build();
        let mut s = random_cluster(&mut r, &framework, &pod);
        s.decide_by(VersionRows::of(r.of(&KubernetesVersion::ALL)));
        let mut cycle = Cycle::new(pod.clone(), framework.clone(), Time(0));
        if let Err(status) = framework.run_pre_filter(&mut cycle, &s, &mut Silent) {
            assert!(affinity(&pod).invalid.is_some() && status.message().starts_with("parsing pod: "));
            continue;
        }
        let handle = cycle.handle(&s).for_plugin(PluginId(0));
        for node in s.nodes() {
            let given = framework.filter_node(handle, node).err().as_ref().map(found);
            let expected = refusal(&s, &pod, node).map(|(code, reason)| (code, reason.to_owned()));
            assert_eq!(given, expected, "seed {seed}, node {}", node.name());
            *if given.is_some() { &mut refused } else { &mut passed } += 1;
        }
        let feasible = Feasible { nodes: s.columns().alive().clone() };
        framework.run_pre_score(&mut cycle, &s, &feasible).unwrap();
        let handle = cycle.handle(&s).for_plugin(PluginId(0));
        let scorer = framework.scorers(&cycle.state).next();
        for node in s.nodes() {
            let given = scorer.as_ref().map_or(0, |(_, scorer)| scorer.score(&handle, node).unwrap());
            let expected = score(&s, &pod, node);
            assert_eq!(given, expected, "seed {seed}, node {}", node.name());
            scored += usize::from(given != 0);
        }
    }
    println!("pairs: {refused} refused, {passed} passed, {scored} scored");
    assert!(refused > 1_000 && passed > 1_000 && scored > 1_000);
}

/// PreFilter and Filter of one node on a cluster; whether PreFilter skipped the plugin.
fn verdict(
    framework: &Arc<Framework>,
    s: &Snapshot,
    pod: &Arc<PodInfo>,
    on: NodeId,
) -> (Option<(Code, String)>, bool) {
    let mut cycle = Cycle::new(pod.clone(), framework.clone(), Time(0));
    framework.run_pre_filter(&mut cycle, s, &mut Silent).unwrap();
    let refusal = framework.filter_node(cycle.handle(s), s.node(on).unwrap()).err();
    (refusal.as_ref().map(found), cycle.state.skip_filter.contains(PluginId(0)))
}

#[test]
fn a_simulation_decides_as_prefilter_on_the_changed_cluster() {
    let framework = framework();
    let (mut changes, mut turned) = (0, 0);
    for seed in 0..3000 {
        let mut r = Random(10_000 + seed);
        let new = with_affinity(&mut r, pod("new")).build();
        let s = random_cluster(&mut r, &framework, &new);
        let nodes: Vec<NodeId> = s.nodes().map(|node| node.id()).collect();
        if affinity(&new).invalid.is_some() || nodes.is_empty() {
            continue;
        }
        let on = nodes[r.below(nodes.len())];
        let mut cycle = Cycle::new(new.clone(), framework.clone(), Time(0));
        framework.run_pre_filter(&mut cycle, &s, &mut Silent).unwrap();
        let skipped = cycle.state.skip_filter.contains(PluginId(0));
        let mut changed = s.fork();
        let mut simulation = Simulation::new(&*framework, cycle.handle(&s), s.node(on).unwrap());
        let mut there: Vec<Arc<PodInfo>> = s.node(on).unwrap().pods().cloned().collect();
        let before = simulation.passes().err().as_ref().map(found);
        let mut gone: Vec<Arc<PodInfo>> = Vec::new();
        for at in 0..1 + r.below(5) {
            match r.below(3) {
                0 if !there.is_empty() => {
                    let pod = there.swap_remove(r.below(there.len()));
                    simulation.remove_pod(&pod).unwrap();
                    changed.apply(Change::PodRemoved { pod: pod.key.clone() });
                    gone.push(pod);
                }
                1 if !gone.is_empty() => {
                    let pod = gone.swap_remove(r.below(gone.len()));
                    simulation.add_pod(&pod).unwrap();
                    changed.apply(Change::PodPlaced { pod: pod.clone(), node: on, how: Placement::Bound });
                    there.push(pod);
                }
                _ => {
                    let pod = with_affinity(&mut r, pod(&format!("more{at}"))).build();
                    simulation.add_pod(&pod).unwrap();
                    changed.apply(Change::PodPlaced { pod: pod.clone(), node: on, how: Placement::Bound });
                    there.push(pod);
                }
            }
            let simulated = simulation.passes().err().as_ref().map(found);
            let (expected, skips) = verdict(&framework, &changed, &new, on);
            if skipped {
                // Upstream skips the plugin for the whole attempt, whatever a simulation adds.
                assert_eq!(simulated, None);
            } else {
                assert!(!skips || expected.is_none());
                assert_eq!(simulated, expected, "seed {seed}, change {at}");
                changes += 1;
                turned += usize::from(simulated != before);
            }
        }
    }
    println!("simulations: {changes} changes, {turned} turned the verdict");
    assert!(changes > 2_000 && turned > 200);
}
