//! Topology spread on random clusters: decisions equal a slow evaluator that reads pods and nodes one by one, and a
//! simulation on a node equals the same pods on the cluster.

use crate::support::spreading::{KEYS, add_selecting_objects, with_spread};
use bayplan::framework::{
    Code, Cycle, Feasible, Framework, PluginId, Points, Scale, ScorePlugin, Silent, Simulation, Verdicts,
};
use bayplan::model::{
    Change, Effect, LabelSelector, Labels, Node, NodeInfo, NodeSet, Placement, PodInfo, ReplicaSet,
    ReplicationController, Service, Snapshot, SpreadSelector, StatefulSet, Symbol, find_untolerated,
};
use bayplan::testing::{Random, node, pod};
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

const ZONE: &str = "topology.kubernetes.io/zone";
const HOSTNAME: &str = "kubernetes.io/hostname";

fn random_node(r: &mut Random, at: usize) -> Arc<Node> {
    let mut made = node(&format!("n{at}"));
    if r.one_in(10) {
        made = made.label(HOSTNAME, "shared");
    }
    if r.one_in(15) {
        made = made.set("metadata.labels", json!({}));
    }
    if !r.one_in(5) {
        made = made.zone(r.of(&["a", "b", "c", ""]));
    }
    if !r.one_in(4) {
        made = made.label("disk", r.of(&["ssd", "hdd"]));
    }
    if r.one_in(5) {
        made = made.taint("dedicated", "", r.of(&["NoSchedule", "NoExecute", "PreferNoSchedule"]));
    }
    made.build()
}

fn random_pod(r: &mut Random, name: &str) -> Arc<PodInfo> {
    let mut made = with_spread(r, pod(name));
    if r.one_in(4) {
        made = made.node_selector("disk", r.of(&["ssd", "hdd"]));
    }
    if r.one_in(4) {
        made = made.require_node("disk", r.of(&["NotIn", "In"]), &["ssd"]);
    }
    if r.one_in(4) {
        made = made.toleration("dedicated", "Exists", "", "");
    }
    made.build()
}

fn random_cluster(r: &mut Random) -> Snapshot {
    let mut s = Snapshot::default();
    let nodes = 1 + r.below(20);
    for at in 0..nodes {
        s.apply(Change::NodeUpserted { node: random_node(r, at) });
    }
    for at in 0..r.below(nodes * 9) {
        let node = s.row_by_name(&Symbol::from(format!("n{}", r.below(nodes)))).unwrap();
        s.apply(Change::PodPlaced { pod: random_pod(r, &format!("p{at}")), node, how: Placement::Bound });
    }
    if nodes > 3 && r.one_in(3) {
        // Its pods stay.
        s.apply(Change::NodeRemoved { name: Symbol::new("n1") });
    }
    add_selecting_objects(r, &mut s);
    s
}

/// A framework of the plugin alone.
fn framework() -> Arc<Framework> {
    let registry = bayplan::plugins::registry();
    let plugin = registry.get("PodTopologySpread").unwrap().make(&Default::default()).unwrap();
    let Ok(plugin) = plugin else { panic!("it needs arguments") };
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

/// A constraint as the slow evaluator sees it. `selector`: all must match; `None` matches nothing.
struct Rule {
    skew: i64,
    key: Symbol,
    hard: bool,
    selector: Option<Vec<LabelSelector>>,
    min_domains: i64,
    affinity: bool,
    taints: bool,
}

impl Rule {
    fn matches(&self, labels: &Labels) -> bool {
        self.selector.as_ref().is_some_and(|all| all.iter().all(|selector| selector.matches(labels)))
    }

    fn pods_on(&self, node: NodeInfo, pod: &PodInfo) -> i64 {
        if self.selector.as_ref().is_some_and(|all| all.iter().all(LabelSelector::is_empty)) {
            return 0;
        }
        let counts = |other: &&Arc<PodInfo>| {
            other.namespace == pod.namespace && other.deleted.is_none() && self.matches(&other.labels)
        };
        node.pods().filter(counts).count() as i64
    }

    fn admits(&self, node: NodeInfo, pod: &PodInfo) -> bool {
        let matches = matches!(pod.node_affinity.matches(node.name(), &node.node().labels), Ok(true));
        let untolerated =
            find_untolerated(&node.node().taints, &pod.tolerations, Effect::keeps_pods_away, false);
        (!self.affinity || matches) && (!self.taints || untolerated.is_none())
    }
}

/// The constraints for a pod, and whether nodes need all keys to be scored.
fn rules(pod: &PodInfo, s: &Snapshot) -> (Vec<Rule>, bool) {
    let own = pod.constraints.as_ref().map_or(&[][..], |constraints| &constraints.spread);
    if !own.is_empty() {
        let rules = own.iter().map(|of| Rule {
            skew: of.max_skew.into(),
            key: of.topology_key.clone(),
            hard: of.hard,
            selector: match &of.selector {
                SpreadSelector::Of(selector) => Some(vec![selector.clone()]),
                _ => None,
            },
            min_domains: of.min_domains.into(),
            affinity: of.honor_affinity,
            taints: of.honor_taints,
        });
        return (rules.collect(), true);
    }
    let mut merged: BTreeMap<Symbol, Symbol> = BTreeMap::new();
    let services = s.objects::<Service>().filter(|of| of.metadata.namespace == pod.namespace);
    for service in services {
        if service.selector.iter().all(|(key, value)| pod.labels.get(key) == Some(value)) {
            merged.extend(service.selector.iter().map(|(key, value)| (key.clone(), value.clone())));
        }
    }
    let mut more = None;
    if let Some(owner) = pod.owners.iter().find(|owner| owner.controller) {
        match owner.kind.as_str() {
            "ReplicationController" => {
                if let Some(of) = s.object::<ReplicationController>(&pod.namespace, &owner.name) {
                    merged.extend(of.selector.iter().map(|(key, value)| (key.clone(), value.clone())));
                }
            }
            "ReplicaSet" => {
                more = s.object::<ReplicaSet>(&pod.namespace, &owner.name).and_then(|of| of.selector.clone());
            }
            "StatefulSet" => {
                more =
                    s.object::<StatefulSet>(&pod.namespace, &owner.name).and_then(|of| of.selector.clone());
            }
            _ => {}
        }
    }
    let labels: Labels = merged.into_iter().collect();
    let selector = vec![LabelSelector::of_labels(&labels), more.unwrap_or_default()];
    if selector.iter().all(LabelSelector::is_empty) {
        return (Vec::new(), false);
    }
    let default = |skew, key| Rule {
        skew,
        key: Symbol::new(key),
        hard: false,
        selector: Some(selector.clone()),
        min_domains: 1,
        affinity: true,
        taints: false,
    };
    (vec![default(3, HOSTNAME), default(5, ZONE)], false)
}

fn has_all<'r>(node: NodeInfo, mut rules: impl Iterator<Item = &'r Rule>) -> bool {
    rules.all(|rule| node.label(&rule.key).is_some())
}

/// Why a pod may not go to a node.
fn verdict(rules: &[Rule], pod: &PodInfo, s: &Snapshot, node: NodeInfo) -> Option<Code> {
    let hard = || rules.iter().filter(|rule| rule.hard);
    for rule in hard() {
        let mut domains: BTreeMap<&Symbol, i64> = BTreeMap::new();
        for other in s.nodes().filter(|other| has_all(*other, hard()) && rule.admits(*other, pod)) {
            *domains.entry(other.label(&rule.key).unwrap()).or_default() += rule.pods_on(other, pod);
        }
        let Some(value) = node.label(&rule.key) else { return Some(Code::UnschedulableAndUnresolvable) };
        let few = (domains.len() as i64) < rule.min_domains;
        let least = if few { 0 } else { domains.values().min().copied().unwrap_or(0) };
        let count = domains.get(value).copied().unwrap_or(0);
        if count + i64::from(rule.matches(&pod.labels)) - least > rule.skew {
            return Some(Code::Unschedulable);
        }
    }
    None
}

/// The normalised scores of feasible nodes; `None` without soft constraints.
fn scores(rules: &[Rule], all_keys: bool, pod: &PodInfo, s: &Snapshot, on: &NodeSet) -> Option<Vec<i64>> {
    let soft: Vec<&Rule> = rules.iter().filter(|rule| !rule.hard).collect();
    if soft.is_empty() {
        return None;
    }
    let nodes: Vec<NodeInfo> = on.iter().map(|id| s.node(id).unwrap()).collect();
    let scored = |node: &NodeInfo| !all_keys || has_all(*node, soft.iter().copied());
    let value = |node: NodeInfo, key: &Symbol| node.label(key).cloned().unwrap_or_default();
    let raw = |node: &NodeInfo| {
        let mut sum = 0.0;
        for rule in &soft {
            if node.label(&rule.key).is_none() {
                continue;
            }
            let (count, size) = if rule.key == *HOSTNAME {
                (rule.pods_on(*node, pod), nodes.iter().filter(|node| scored(node)).count())
            } else {
                let domains: BTreeSet<Symbol> =
                    nodes.iter().filter(|node| scored(node)).map(|node| value(*node, &rule.key)).collect();
                let here = value(*node, &rule.key);
                let of_domain = s.nodes().filter(|other| {
                    scored(other) && rule.admits(*other, pod) && value(*other, &rule.key) == here
                });
                (of_domain.map(|other| rule.pods_on(other, pod)).sum(), domains.len())
            };
            // Far from a half the platform's logarithm rounds to the same score.
            sum += count as f64 * ((size + 2) as f64).ln() + (rule.skew - 1) as f64;
        }
        sum.round() as i64
    };
    let raw: Vec<Option<i64>> = nodes.iter().map(|node| scored(node).then(|| raw(node))).collect();
    let max = raw.iter().flatten().max().copied().unwrap_or(0);
    let min = raw.iter().flatten().min().copied().unwrap_or(0);
    let normalised = raw.into_iter().map(|raw| match raw {
        None => 0,
        Some(_) if max == 0 => 100,
        Some(raw) => 100 * (max + min - raw) / max,
    });
    Some(normalised.collect())
}

#[test]
fn decisions_are_those_of_a_slow_evaluator() {
    let framework = framework();
    let (mut refused, mut passed, mut scored) = (0, 0, 0);
    for seed in 0..400 {
        let mut r = Random(seed);
        let mut s = random_cluster(&mut r);
        for at in 0..4 {
            let pod = random_pod(&mut r, &format!("new{at}"));
            if r.one_in(2) {
                let wants = framework.wants(&pod, &s);
                s.want(&wants);
            }
            let (rules, all_keys) = rules(&pod, &s);
            let mut cycle = Cycle::new(pod.clone(), framework.clone(), bayplan::model::Time(0));
            framework.run_pre_filter(&mut cycle, &s, &mut Silent).unwrap();
            let h = cycle.handle(&s).for_plugin(PluginId(0));
            let filter = framework.plugins()[0].filter().unwrap();
            let mut verdicts = Verdicts::default();
            let alive = s.columns().alive().clone();
            filter.filter_range(&h, &alive, &mut verdicts);
            let by_range: BTreeMap<_, _> = verdicts
                .refused()
                .map(|(node, status)| (node, verdicts.statuses()[status as usize].code))
                .collect();
            let mut feasible = NodeSet::default();
            for node in s.nodes() {
                let expected = verdict(&rules, &pod, &s, node);
                let given = filter.filter(&h, node).err().map(|status| status.code);
                let place = || format!("seed {seed}, {} on {}: {pod:?}", pod.name, node.name());
                assert_eq!(given, expected, "{}", place());
                assert_eq!(by_range.get(&node.id()).copied(), expected, "{}", place());
                if expected.is_none() && !r.one_in(5) {
                    feasible.insert(node.id());
                }
                refused += usize::from(expected.is_some());
                passed += usize::from(expected.is_none());
            }
            if feasible.is_empty() {
                continue;
            }
            let expected = scores(&rules, all_keys, &pod, &s, &feasible);
            let feasible = Feasible { nodes: feasible };
            framework.run_pre_score(&mut cycle, &s, &feasible).unwrap();
            let h = cycle.handle(&s).for_plugin(PluginId(0));
            let given = framework.scorers(&cycle.state).next().map(|(_, scorer)| {
                let score = |id| scorer.score(&h, s.node(id).unwrap()).unwrap();
                let raw: Vec<i64> = feasible.nodes.iter().map(score).collect();
                let mut by_range = vec![-7; s.columns().room()];
                scorer.score_range(&h, &feasible.nodes, &mut by_range).unwrap();
                let by_range: Vec<i64> = feasible.nodes.iter().map(|id| by_range[id.row()]).collect();
                assert_eq!(by_range, raw, "seed {seed}: {pod:?}");
                let counts = || raw.iter().copied().filter(|score| scorer.normalize().counts(*score));
                let (low, high) = (counts().min().unwrap_or(0), counts().max().unwrap_or(0));
                let scale = Scale::of(scorer.normalize(), low, high);
                raw.iter().map(|raw| scale.apply(*raw)).collect::<Vec<i64>>()
            });
            assert_eq!(given, expected, "seed {seed}, {}: {pod:?}", pod.name);
            scored += usize::from(expected.is_some_and(|scores| scores.iter().any(|score| *score < 100)));
        }
    }
    println!("spreading: {refused} refused, {passed} passed, {scored} scored");
    assert!(refused > 2_000 && passed > 3_000 && scored > 200);
}

#[test]
fn a_simulation_equals_the_same_pods_on_the_cluster() {
    let framework = framework();
    let (mut simulated, mut differs) = (0, 0);
    for seed in 0..1_200 {
        let mut r = Random(90_000 + seed);
        let s = random_cluster(&mut r);
        let mut drawn = (0..20).map(|_| random_pod(&mut r, "new")).collect::<Vec<_>>().into_iter();
        let has_hard = |pod: &Arc<PodInfo>| rules(pod, &s).0.iter().any(|rule| rule.hard);
        let Some(pod) = drawn.find(has_hard) else { continue };
        // On purpose, simulations count pods for the empty selector, and terminating pods.
        let counts_all = rules(&pod, &s)
            .0
            .iter()
            .any(|rule| matches!(rule.selector.as_deref(), Some([one]) if one.is_empty()));
        let alive: Vec<_> = s.columns().alive().iter().collect();
        let Some(id) = r.pick(&alive).copied() else { continue };
        if counts_all {
            continue;
        }
        let mut cycle = Cycle::new(pod.clone(), framework.clone(), bayplan::model::Time(0));
        framework.run_pre_filter(&mut cycle, &s, &mut Silent).unwrap();
        let before = framework.filter_node(cycle.handle(&s), s.node(id).unwrap()).is_ok();
        let mut changed = s.fork();
        let mut simulation = Simulation::new(&*framework, cycle.handle(&s), s.node(id).unwrap());
        let running = s.node(id).unwrap().pods().filter(|other| other.deleted.is_none());
        for other in running.filter(|_| !r.one_in(3)) {
            simulation.remove_pod(other).unwrap();
            changed.apply(Change::PodRemoved { pod: other.key.clone() });
        }
        for at in 0..r.below(4) {
            let mut more = random_pod(&mut r, &format!("more{at}"));
            if r.one_in(2) {
                // A sibling of the new pod.
                let key = more.key.clone();
                more = Arc::new(PodInfo { key, deleted: None, ..PodInfo::clone(&pod) });
            }
            if more.deleted.is_none() {
                simulation.add_pod(&more).unwrap();
                changed.apply(Change::PodPlaced { pod: more, node: id, how: Placement::Assumed });
            }
        }
        let mut cycle = Cycle::new(pod.clone(), framework.clone(), bayplan::model::Time(0));
        framework.run_pre_filter(&mut cycle, &changed, &mut Silent).unwrap();
        let after = framework.filter_node(cycle.handle(&changed), changed.node(id).unwrap()).is_ok();
        assert_eq!(simulation.passes().is_ok(), after, "seed {seed}: {pod:?}");
        simulated += 1;
        differs += usize::from(before != after);
    }
    println!("spreading: {simulated} simulations, {differs} of which changed the verdict");
    assert!(simulated > 300 && differs > 30, "{simulated}, {differs}");
    assert!(KEYS.contains(&ZONE) && KEYS.contains(&HOSTNAME));
}
