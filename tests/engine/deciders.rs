//! On random clusters, pods, profiles and changes: both deciders decide the same, every plugin answers a range as it
//! answers node by node, and no plugin looks at what it does not say it reads.

use crate::support::affinity::{namespaces, with_affinity};
use crate::support::spreading::{add_selecting_objects, with_spread};
use bayplan::config;
use bayplan::diag::SourceMap;
use bayplan::engine::{Decider, Plain, Scan, Selected, TieBreak};
use bayplan::framework::{Cycle, FitError, Framework, PluginId, Recorder, Scale, Status, Verdicts};
use bayplan::lang::codegen::groups::GroupIndex;
use bayplan::model::{
    Change, IndexKey, Kinds, Namespace, Node, NodeId, NodeSet, Placement, PodInfo, Snapshot, Symbol, Time,
    Want,
};
use bayplan::plugins::policy::{ExemptPods, PolicyPlugin};
use bayplan::plugins::{self, ImageHolders};
use bayplan::testing::{Random, namespace, node, pod};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;

const CLASSES: [&str; 3] = ["ssd", "hdd", "nvme"];
const IMAGES: [&str; 4] = ["web:1", "db:2", "tool:1", "main:1"];

fn random_node(r: &mut Random, name: &str) -> Arc<Node> {
    let mut made = node(name).cpu(r.of(&["1", "2", "4", "8"])).memory(r.of(&["2Gi", "4Gi", "9Gi"]));
    if r.one_in(12) {
        // Nothing of a resource, and more than floats hold exactly.
        made = made.cpu(r.of(&["0", "8"])).memory(r.of(&["0", "80Ti", "7Ei"]));
    }
    made = made.pods([1, 3, 110][r.below(3)]);
    if !r.one_in(4) {
        made = made.zone(r.of(&["a", "b", "c"]));
    }
    if !r.one_in(3) {
        made = made.label("disk", r.of(&CLASSES));
    }
    if r.one_in(3) {
        made = made.label("rank", &r.below(9).to_string());
    }
    for key in ["dedicated", "spot"] {
        if r.one_in(4) {
            let effect = r.of(&["NoSchedule", "PreferNoSchedule", "NoExecute", "PreferNoSchedule"]);
            made = made.taint(key, r.of(&["", "x"]), effect);
        }
    }
    if r.one_in(6) {
        made = made.unschedulable();
    }
    if r.one_in(3) {
        made = made.resource("example.com/gpu", &r.below(4).to_string());
    }
    for image in IMAGES {
        if r.one_in(3) {
            made = made.image(image, 40_000_000 * (1 + r.below(30) as i64));
        }
    }
    made.build()
}

fn random_pod(r: &mut Random, name: &str) -> Arc<PodInfo> {
    let mut made = pod(name).image(r.of(&IMAGES)).priority(r.below(3) as i32);
    if !r.one_in(4) {
        made = made.cpu(r.of(&["100m", "400m", "1", "3", "9"]));
    }
    if !r.one_in(4) {
        made = made.memory(r.of(&["100Mi", "900Mi", "3Gi"]));
    }
    if r.one_in(4) {
        made = made.request("example.com/gpu", r.of(&["1", "2", "5"]));
    }
    if r.one_in(5) {
        made = made.container(json!({"name": "second", "image": r.of(&IMAGES)}));
    }
    if r.one_in(4) {
        made = made.host_port_of(r.of(&["TCP", "UDP"]), r.of(&["", "10.0.0.1"]), 80);
    }
    if r.one_in(3) {
        made = made.toleration(r.of(&["dedicated", "spot", ""]), "Exists", "", "");
    }
    if r.one_in(4) {
        made = made.toleration("dedicated", "Equal", r.of(&["", "x"]), r.of(&["", "NoSchedule"]));
    }
    if r.one_in(5) {
        made = made.node_selector("disk", r.of(&CLASSES));
    }
    if r.one_in(4) {
        let operator = r.of(&["In", "NotIn", "Exists", "DoesNotExist"]);
        let values: &[&str] = if operator.ends_with("In") { &["ssd", "nvme"] } else { &[] };
        made = made.require_node("disk", operator, values);
    }
    if r.one_in(8) {
        made = made.require_node("rank", r.of(&["Gt", "Lt"]), &["4"]);
    }
    if r.one_in(12) {
        let name = format!("n{}", r.below(12));
        made = made.node_term(
            json!({"matchFields": [{"key": "metadata.name", "operator": "In", "values": [name]}]}),
        );
    }
    for _ in 0..r.below(3) {
        made = made.prefer_node(1 + r.below(90) as i32, "disk", "In", &[r.of(&CLASSES)]);
    }
    if r.one_in(2) {
        made = made.label("team", r.of(&["x", "y"]));
    }
    if r.one_in(9) {
        made = made.nominated(&format!("n{}", r.below(12)));
    }
    if r.one_in(5) {
        made = with_affinity(r, made);
    }
    if r.one_in(4) {
        made = with_spread(r, made);
    }
    made.build()
}

/// Profiles that differ in strategy, weights, arguments, plugins and sampling.
fn profiles() -> Vec<Value> {
    let args = |name: &str, args: Value| json!([{"name": name, "args": args}]);
    let resources =
        json!([{"name": "cpu", "weight": 3}, {"name": "memory"}, {"name": "example.com/gpu", "weight": 5}]);
    let fit = |strategy: Value| json!({"pluginConfig": args("NodeResourcesFit", json!({"scoringStrategy": strategy}))});
    vec![
        json!({}),
        fit(json!({"type": "MostAllocated", "resources": resources})),
        fit(json!({
            "type": "RequestedToCapacityRatio", "resources": resources,
            "requestedToCapacityRatio": {"shape": [
                {"utilization": 0, "score": 2}, {"utilization": 40, "score": 10}, {"utilization": 100, "score": 0},
            ]},
        })),
        json!({"pluginConfig": args("NodeResourcesFit", json!({"ignoredResources": ["example.com/gpu"]}))}),
        json!({"pluginConfig": args("NodeAffinity", json!({"addedAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
                {"matchExpressions": [{"key": "disk", "operator": "Exists"}]},
            ]},
            "preferredDuringSchedulingIgnoredDuringExecution": [
                {"weight": 7, "preference": {"matchExpressions": [{"key": "rank", "operator": "Gt", "values": ["3"]}]}},
            ],
        }}))}),
        json!({"pluginConfig": args("NodeResourcesBalancedAllocation", json!({"resources": [
            {"name": "cpu"}, {"name": "memory"}, {"name": "example.com/gpu"},
        ]}))}),
        json!({"plugins": {
            "multiPoint": {"disabled": [{"name": "TaintToleration"}, {"name": "NodeResourcesFit"}]},
            "score": {"enabled": [{"name": "ImageLocality", "weight": 9}]},
        }}),
        json!({"plugins": {"score": {"disabled": [{"name": "*"}]}}}),
        json!({"percentageOfNodesToScore": 30}),
        json!({"pluginConfig": args("PodTopologySpread", json!({"defaultingType": "List", "defaultConstraints": [
            {"maxSkew": 2, "topologyKey": "disk", "whenUnsatisfiable": "DoNotSchedule", "nodeTaintsPolicy": "Honor"},
            {"maxSkew": 1, "topologyKey": "topology.kubernetes.io/zone", "whenUnsatisfiable": "ScheduleAnyway"},
        ]}))}),
        json!({"pluginConfig": args("InterPodAffinity", json!({
            "hardPodAffinityWeight": 70, "ignorePreferredTermsOfExistingPods": true,
        }))}),
    ]
}

/// Policies of which a profile may have any.
const POLICIES: [&str; 8] = [
    r#"policy disks { applies when has(pod.labels["team"])
        filter kind { require node.labels["disk"] in ["ssd", "nvme"] else "{node.name} is too slow"
                      reject "is tainted" when node.taints.exists(t, t.key == "spot") } }"#,
    r#"policy few { group team = p in pods where p.labels["team"] == pod.labels["team"]
        applies when has(pod.labels["team"])
        prefilter { reject "team is full" when team.count(m, m.placed) > 9 }
        filter even { require team.count(m, m.placed && m.node.zone == node.zone) <= 2 else "zone has enough" } }"#,
    r#"policy fast { prefer 5 when node.labels["disk"] == "nvme"
        score rank weight 3 normalize minmax { give int(node.labels["rank"]) ?? 0 } }"#,
    r#"policy near { group team = p in pods where p.labels["team"] == pod.labels["team"]
        score near weight 2 normalize max { give team.count(m, m.node.name == node.name) } }"#,
    r#"policy narrow { prefilter { only nodes ["n0", "n1", "n2", "n3", "n5"] when pod.priority == 2 } }"#,
    r#"policy room { filter room { require node.free.cpu > pod.requests.cpu + 500m else "keeps {node.free.cpu}" }
        score free normalize max reversed { give node.free.memory when !node.unschedulable; give none } }"#,
    r#"policy alone { filter alone { reject "a neighbour is of the team"
        when node.pods.exists(p, p.labels["team"] == pod.labels["team"] && p.priority > pod.priority) } }"#,
    r#"policy zones { filter zones { require nodes.filter(n, n.zone == node.zone).sum(n, n.free.cpu) > 2cpu
        else "its zone is full" } }"#,
];

fn framework(profile: &Value) -> Arc<Framework> {
    framework_with(profile, &[])
}

/// A profile that has these policies besides.
fn framework_with(profile: &Value, policies: &[&str]) -> Arc<Framework> {
    let mut registry = plugins::registry();
    for text in policies {
        for policy in crate::support::policies::compile(text).iter() {
            let plugin = PolicyPlugin::new(policy.clone(), ExemptPods::default());
            registry.add_plugin(Arc::new(plugin)).unwrap();
        }
    }
    let config = json!({
        "apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration", "profiles": [profile],
    });
    let mut sources = SourceMap::new();
    let id = sources.add("config.json", config.to_string());
    let (config, complaints) = config::read(sources.get(id).unwrap());
    assert!(complaints.is_empty(), "{complaints:#?}");
    let made = config.frameworks(&registry, id);
    made.unwrap_or_else(|complaints| panic!("{complaints:#?}")).frameworks[0].clone()
}

fn random_change(r: &mut Random, s: &mut Snapshot, nodes: usize) {
    let name = format!("n{}", r.below(nodes));
    let pod_name = format!("p{}", r.below(nodes * 2));
    match r.below(10) {
        0 | 1 => s.apply(Change::NodeUpserted { node: random_node(r, &name) }),
        2 if r.one_in(3) => s.apply(Change::NodeRemoved { name: Symbol::new(&name) }),
        3 => s.apply(Change::PodRemoved { pod: random_pod(r, &pod_name).key.clone() }),
        4 => {
            let node = s.node_by_name(&Symbol::new(&name));
            s.apply(Change::Nominated { pod: random_pod(r, &pod_name), node });
        }
        5 if r.one_in(2) => s.want(&[Want::Label(Symbol::new(r.of(&["disk", "rank"])))]),
        _ => {
            if let Some(node) = s.node_by_name(&Symbol::new(&name)) {
                s.apply(Change::PodPlaced { pod: random_pod(r, &pod_name), node, how: Placement::Bound });
            }
        }
    }
}

fn random_cluster(r: &mut Random, framework: &Framework, nodes: usize) -> Snapshot {
    let mut s = Snapshot::default();
    for (key, index) in framework.plugins().iter().flat_map(|plugin| plugin.indexes()) {
        s.add_index(key, index);
    }
    for namespace in namespaces() {
        s.apply(Change::NamespaceUpserted { namespace });
    }
    add_selecting_objects(r, &mut s);
    for at in 0..nodes {
        s.apply(Change::NodeUpserted { node: random_node(r, &format!("n{at}")) });
    }
    for _ in 0..nodes * 3 {
        random_change(r, &mut s, nodes);
    }
    s
}

/// All that a decision says.
#[derive(Default, PartialEq, Debug)]
struct Account {
    feasible: Vec<NodeId>,
    refused: BTreeMap<NodeId, Status>,
    error: Option<Status>,
    pre_filter: Option<String>,
    message: String,
    plugins: Vec<PluginId>,
    evaluated: usize,
    scores: Vec<PluginScores>,
    totals: Vec<(NodeId, i64)>,
    selected: Option<Selected>,
    best: Vec<NodeId>,
}

/// A plugin's raw and normalised score of each node.
type PluginScores = (PluginId, Vec<(NodeId, i64, i64)>);

#[derive(Default)]
struct Seen {
    wants_scores: bool,
    scores: Vec<PluginScores>,
    totals: Vec<(NodeId, i64)>,
}

impl Recorder for Seen {
    fn wants_scores(&self) -> bool {
        self.wants_scores
    }
    fn scored(&mut self, plugin: PluginId, _: i64, on: &NodeSet, raw: &[i64], scale: Scale) {
        let score = |node: NodeId| (node, raw[node.row()], scale.apply(raw[node.row()]));
        let scores = on.iter().map(score).collect();
        self.scores.push((plugin, scores));
    }
    fn totals(&mut self, on: &NodeSet, totals: &[i64]) {
        self.totals = on.iter().map(|node| (node, totals[node.row()])).collect();
    }
}

fn decide(
    decider: &mut dyn Decider,
    pod: &Arc<PodInfo>,
    framework: &Arc<Framework>,
    s: &Snapshot,
    wants_scores: bool,
    draw: u64,
) -> Account {
    let mut cycle = Cycle::new(pod.clone(), framework.clone(), Time(0));
    let mut seen = Seen { wants_scores, ..Seen::default() };
    let mut account = Account::default();
    match decider.filter(&mut cycle, s, &mut seen) {
        Ok(feasible) => {
            account.feasible = feasible.nodes.iter().collect();
            match decider.score(&mut cycle, &feasible, s, &mut seen) {
                Ok(()) => {
                    let extra: Vec<(NodeId, i64)> =
                        account.feasible.iter().take(1).map(|n| (*n, 3)).collect();
                    let extra = if draw.is_multiple_of(2) { extra } else { Vec::new() };
                    let tie = if draw.is_multiple_of(5) { TieBreak::Name } else { TieBreak::Seeded };
                    account.selected = decider.select(&cycle, &feasible, s, &extra, tie, draw, &mut seen);
                    account.best = decider.best().iter().collect();
                }
                Err(status) => account.error = Some(status),
            }
        }
        Err(status) => account.error = Some(status),
    }
    account.refused = cycle.diagnosis.nodes.iter().map(|(node, status)| (node, status.clone())).collect();
    account.pre_filter = cycle.diagnosis.pre_filter_message.clone();
    account.message = FitError { all_nodes: s.node_count(), diagnosis: &cycle.diagnosis }.to_string();
    account.plugins = cycle.diagnosis.unschedulable_plugins.iter().collect();
    account.evaluated = cycle.diagnosis.evaluated;
    account.scores = seen.scores;
    account.totals = seen.totals;
    account
}

#[test]
fn a_scan_decides_as_the_definition() {
    let profiles = profiles();
    let (mut decisions, mut placed) = (0, 0);
    for seed in 0..90 {
        let mut r = Random(seed);
        // Half of them with policies.
        let policies: Vec<&str> = POLICIES.into_iter().filter(|_| seed >= 45 && r.one_in(3)).collect();
        let framework = &framework_with(&profiles[(seed as usize) % profiles.len()], &policies);
        let sampled = framework.percentage_of_nodes_to_score.is_some();
        let most = if r.one_in(4) { 150 } else { 40 };
        let nodes = if sampled { 160 } else { 3 + r.below(most) };
        let mut s = random_cluster(&mut r, framework, nodes);
        let (mut plain, mut scan) = (Plain::new(), Scan::new());
        for at in 0..8 {
            let pod = random_pod(&mut r, &format!("new{at}"));
            let (wants, draw) = (r.one_in(2), r.below(1000) as u64);
            let by_plain = decide(&mut plain, &pod, framework, &s, wants, draw);
            let by_scan = decide(&mut scan, &pod, framework, &s, wants, draw);
            assert_eq!(by_plain, by_scan, "seed {seed}, pod {at}");
            decisions += 1;
            if let Some(selected) = &by_scan.selected {
                placed += 1;
                assert!(by_scan.feasible.contains(&selected.node));
                s.apply(Change::PodPlaced { pod, node: selected.node, how: Placement::Assumed });
            }
            random_change(&mut r, &mut s, nodes);
        }
        let kept = s.index::<ImageHolders>(&ImageHolders::key()).cloned();
        let keys: Vec<IndexKey> = s.index_keys().cloned().collect();
        let groups: Vec<_> =
            keys.into_iter().map(|key| (key.clone(), s.index::<GroupIndex>(&key).cloned())).collect();
        s.rebuild_indexes();
        assert_eq!(kept.as_ref(), s.index::<ImageHolders>(&ImageHolders::key()), "seed {seed}");
        for (key, kept) in groups {
            assert_eq!(kept.as_ref(), s.index::<GroupIndex>(&key), "seed {seed}");
        }
    }
    println!("deciders: {decisions} decisions, {placed} placed");
    assert!(placed > 200 && decisions - placed > 80, "{placed} of {decisions}");
}

/// A plugin's answers for every node of a set: refusal and raw score.
type Answers = BTreeMap<NodeId, (Option<Status>, Option<i64>)>;

fn answers(
    framework: &Arc<Framework>,
    at: usize,
    pod: &Arc<PodInfo>,
    s: &Snapshot,
    nodes: &NodeSet,
) -> Answers {
    let id = PluginId(at as u16);
    let plugin = &framework.plugins()[at];
    let mut cycle = Cycle::new(pod.clone(), framework.clone(), Time(0));
    // What PreFilter said of the plugin itself belongs to its answers.
    let _ = framework.run_pre_filter(&mut cycle, s, &mut bayplan::framework::Silent);
    let h = cycle.handle(s).for_plugin(id);
    let mut found = Answers::new();
    for node in nodes.iter().filter_map(|id| s.node(id)) {
        let refusal = plugin.filter().and_then(|filter| filter.filter(&h, node).err());
        let score = plugin.score().map(|score| score.score(&h, node).unwrap());
        found.insert(node.id(), (refusal, score));
    }
    found
}

#[test]
fn a_range_is_answered_as_its_nodes() {
    let frameworks: Vec<Arc<Framework>> = profiles().iter().map(framework).collect();
    let (mut refusals, mut scores) = (0, 0);
    for seed in 0..36 {
        let mut r = Random(1000 + seed);
        let framework = &frameworks[(seed as usize) % frameworks.len()];
        let s = random_cluster(&mut r, framework, 90);
        for at in 0..3 {
            let pod = random_pod(&mut r, &format!("new{at}"));
            let nodes: NodeSet = s.columns().alive().iter().filter(|_| !r.one_in(3)).collect();
            for (at, plugin) in framework.plugins().iter().enumerate() {
                let one_by_one = answers(framework, at, &pod, &s, &nodes);
                let cycle = Cycle::new(pod.clone(), framework.clone(), Time(0));
                let h = cycle.handle(&s).for_plugin(PluginId(at as u16));
                if let Some(filter) = plugin.filter() {
                    let mut verdicts = Verdicts::default();
                    filter.filter_range(&h, &nodes, &mut verdicts);
                    let refused: BTreeMap<NodeId, Status> = verdicts
                        .refused()
                        .map(|(node, status)| (node, verdicts.statuses()[status as usize].clone()))
                        .collect();
                    assert_eq!(refused.len(), verdicts.refused().count(), "{} refuses twice", plugin.name());
                    for (node, (refusal, _)) in &one_by_one {
                        assert_eq!(refused.get(node), refusal.as_ref(), "seed {seed} {}", plugin.name());
                        refusals += usize::from(refusal.is_some());
                        let mut violations = Vec::new();
                        filter.violations(&h, s.node(*node).unwrap(), &mut violations);
                        assert_eq!(violations.is_empty(), refusal.is_none(), "seed {seed} {}", plugin.name());
                    }
                    assert!(refused.keys().all(|node| nodes.contains(*node)), "{}", plugin.name());
                }
                if let Some(score) = plugin.score() {
                    let mut by_range = vec![-7; s.columns().room()];
                    score.score_range(&h, &nodes, &mut by_range).unwrap();
                    for (node, (_, score)) in &one_by_one {
                        assert_eq!(Some(by_range[node.row()]), *score, "seed {seed} {}", plugin.name());
                        scores += usize::from(*score != Some(0));
                    }
                }
            }
        }
    }
    println!("ranges: {refusals} refusals, {scores} scores");
    assert!(refusals > 600 && scores > 3_000);
}

/// Something that changes in one respect, and what it moves.
type Mutation = (&'static str, Kinds, fn(&mut Snapshot, NodeId));

fn update(s: &mut Snapshot, id: NodeId, change: impl Fn(&mut Node)) {
    let mut node = (**s.node(id).unwrap().node()).clone();
    change(&mut node);
    s.apply(Change::NodeUpserted { node: Arc::new(node) });
}

fn mutations() -> Vec<Mutation> {
    vec![
        ("labels", Kinds::LABELS, |s, id| {
            let other = node("x").label("disk", "tape").label("rank", "7").build();
            update(s, id, |node| node.labels = other.labels.clone());
        }),
        ("annotations", Kinds::ANNOTATIONS, |s, id| {
            let other = node("x").annotation("a", "b").build();
            update(s, id, |node| node.annotations = other.annotations.clone());
        }),
        ("taints", Kinds::TAINTS, |s, id| {
            let other =
                node("x").taint("other", "", "NoSchedule").taint("more", "", "PreferNoSchedule").build();
            update(s, id, |node| node.taints = other.taints.clone());
        }),
        ("unschedulable", Kinds::UNSCHEDULABLE, |s, id| {
            update(s, id, |node| node.unschedulable = !node.unschedulable)
        }),
        ("allocatable", Kinds::ALLOCATABLE, |s, id| {
            update(s, id, |node| node.allocatable.milli_cpu = 77);
        }),
        ("images", Kinds::IMAGES, |s, id| {
            let other = node("x").image("main:1", 900_000_000).image("web:1", 900_000_000).build();
            update(s, id, |node| node.images = other.images.clone());
        }),
        ("conditions", Kinds::CONDITIONS, |s, id| {
            let other = node("x").not_ready().build();
            update(s, id, |node| node.conditions = other.conditions.clone());
        }),
        ("features", Kinds::FEATURES, |s, id| {
            update(s, id, |node| node.declared_features = Box::new([Symbol::new("f")]));
        }),
        ("pods", Kinds::PODS_REQUESTS.with(Kinds::PODS_OTHER), |s, node| {
            let pod = pod("extra").cpu("300m").memory("200Mi").label("a", "b").build();
            s.apply(Change::PodPlaced { pod, node, how: Placement::Bound });
        }),
        ("ports", Kinds::PODS_PORTS.with(Kinds::PODS_REQUESTS).with(Kinds::PODS_OTHER), |s, node| {
            let pod = pod("extra").host_port(80).build();
            s.apply(Change::PodPlaced { pod, node, how: Placement::Bound });
        }),
        ("nominations", Kinds::NOMINATED, |s, node| {
            let pod = pod("extra").cpu("1").priority(99).build();
            s.apply(Change::Nominated { pod, node: Some(node) });
        }),
        ("pending pods", Kinds::PENDING_PODS, |s, _| {
            s.apply(Change::PodPending { pod: pod("extra").build() });
        }),
        ("namespaces", Kinds::NAMESPACES, |s, _| {
            let namespace: Arc<Namespace> = namespace("default").build();
            s.apply(Change::NamespaceUpserted { namespace });
        }),
        ("number of nodes", Kinds::NODES.with(Kinds::LIFE), |s, _| {
            s.apply(Change::NodeUpserted { node: node("one-more").build() });
        }),
    ]
}

#[test]
fn plugins_look_at_nothing_but_what_they_say_they_read() {
    let frameworks: Vec<Arc<Framework>> = profiles().iter().map(framework).collect();
    let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
    for seed in 0..27 {
        let mut r = Random(5000 + seed);
        let framework = &frameworks[(seed as usize) % frameworks.len()];
        let s = random_cluster(&mut r, framework, 12);
        let nodes = s.columns().alive().clone();
        for at in 0..3 {
            let pod = random_pod(&mut r, &format!("new{at}"));
            for (what, kinds, mutate) in mutations() {
                let mut changed = s.clone();
                for id in nodes.iter() {
                    mutate(&mut changed, id);
                }
                for (at, plugin) in framework.plugins().iter().enumerate() {
                    let before = answers(framework, at, &pod, &s, &nodes);
                    let after = answers(framework, at, &pod, &changed, &nodes);
                    if before == after {
                        continue;
                    }
                    assert!(
                        plugin.reads().kinds.intersects(kinds),
                        "seed {seed}: {} looks at {what}, and does not say so",
                        plugin.name()
                    );
                    *seen.entry(what).or_default() += 1;
                }
            }
        }
    }
    println!("reads: {seen:?}");
    // Each respect that some plugin reads was seen to matter, or the test would show nothing.
    for what in
        ["labels", "taints", "unschedulable", "allocatable", "images", "pods", "ports", "number of nodes"]
    {
        assert!(seen.contains_key(what), "{what} never mattered");
    }
}
