//! What `explain` suggests, against brute force: on small clusters every change of the objects'
//! JSON, alone and in pairs, is made and the pod is decided on again. Every suggestion works as it
//! is printed, no smaller one is missed, and without any one requirement of a conflict some node
//! would do.

use bayplan::config::SchedulerConfig;
use bayplan::diag::{SourceId, SourceMap};
use bayplan::dry_run::{self, Options, PodReport, Standing};
use bayplan::explain::changes::{Question, TRIALS, that_help};
use bayplan::explain::except::{Exception, Terms};
use bayplan::explain::{Explanation, Suggestions, explain, unplaced};
use bayplan::framework::{Exempted, Framework, Plugin};
use bayplan::lang::policy_set::{CompiledPolicy, PolicySet};
use bayplan::model::{PodInfo, Snapshot, Time};
use bayplan::plugins::policy::{ExemptPods, PolicyPlugin};
use bayplan::scheduler::Profiles;
use bayplan::testing::Random;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

const RULES: [(&str, &str); 2] = [
    ("team", "require node.labels[\"team\"] == pod.labels[\"team\"] else \"node(s) of another team\""),
    ("calm", "reject \"node(s) that are loud\" when node.labels[\"loud\"] == \"true\""),
];

/// Rules about parts of the objects that suggestions change.
const OF_OBJECTS: [(&str, &str); 14] = [
    ("tolerates", "reject \"no\" when size(pod.spec.tolerations ?? []) > 0"),
    (
        "tolerates-gpu",
        "reject \"no\" when pod.tolerations.exists(t, t.key == \"gpu\" && t.operator == \"Equal\")",
    ),
    ("selects", "require has(pod.spec.nodeSelector[\"disk\"]) else \"no\""),
    (
        "selects-ssd",
        "reject \"no\" when pod.node_selector[\"disk\"] == \"ssd\" && has(node.labels[\"loud\"])",
    ),
    ("large", "require pod.containers.exists(c, c.requests.cpu >= 3cpu) else \"no\""),
    ("written", "reject \"no\" when pod.spec.containers.exists(c, c.resources.requests[\"cpu\"] == \"1\")"),
    ("burstable", "require pod.qos == \"Burstable\" && pod.requests.memory >= 1Gi else \"no\""),
    (
        "affinity",
        "require has(pod.spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution) \
         || node.allocatable.cpu > 3cpu else \"no\"",
    ),
    (
        "ports",
        "require pod.spec.containers.exists(c, (c.ports ?? []).exists(p, has(p.hostPort))) else \"no\"",
    ),
    ("labelled", "reject \"no\" when pod.metadata.labels[\"team\"] == \"vision\""),
    ("tainted", "reject \"no\" when node.spec.taints == none && node.labels[\"team\"] == \"shop\""),
    (
        "cordoned",
        "require !has(node.spec.unschedulable) || size(pod.spec.tolerations ?? []) == 0 else \"no\"",
    ),
    ("node-labels", "require node.metadata.labels[\"team\"] == pod.metadata.labels[\"team\"] else \"no\""),
    (
        "gate",
        "gate \"no\" when size(pod.spec.tolerations ?? []) > 0 || pod.metadata.labels[\"team\"] == \"1\"",
    ),
];

/// Rules after the choice of a node.
pub(super) const LATE: [(&str, &str); 6] = [
    ("late-vision", "reserve { reject \"no share\" when node.labels[\"team\"] != \"vision\" }"),
    ("late-loud", "permit { reject \"loud\" when node.labels[\"loud\"] == \"true\" }"),
    ("late-audio", "reserve { reject \"not for audio\" when pod.labels[\"team\"] == \"audio\" }"),
    ("late-crowd", "permit { reject \"crowded\" when node.pods.count() > 1 }"),
    ("late-cpu", "reserve { reject \"too large\" when pod.requests.cpu > 3cpu }"),
    ("late-wait", "permit { wait 1min until pod.tolerations.exists(t, t.key == \"gpu\") else \"late\" }"),
];

/// A cluster as text, with the rules that are in force.
#[derive(Clone)]
pub(super) struct Cluster {
    pub(super) nodes: Vec<Value>,
    running: Vec<Value>,
    pod: Value,
    pub(super) rules: Vec<&'static str>,
}

/// The text of the policy with these rules.
fn text_of(rules: &[&str]) -> String {
    let filters: Vec<String> = RULES
        .iter()
        .chain(&OF_OBJECTS)
        .chain(&LATE)
        .filter(|(name, _)| rules.contains(name))
        .map(|(name, text)| match ["gate", "reserve", "permit"].iter().any(|word| text.starts_with(word)) {
            true => format!("{text}\n"),
            false => format!("filter {name} {{ {text} }}\n"),
        })
        .collect();
    format!("/// Rules.\npolicy home {{\n{}}}\n", filters.concat())
}

fn policies(text: String) -> PolicySet {
    let mut sources = SourceMap::new();
    let id = sources.add("home.bay", text);
    let (typed, said) = bayplan::lang::compile(sources.get(id).unwrap());
    assert!(!said.iter().any(bayplan::diag::Diagnostic::is_error), "{said:?}");
    PolicySet::new(typed.into_iter().map(|policy| Arc::new(CompiledPolicy::new(policy, &sources))))
}

fn framework(set: &PolicySet) -> Arc<Framework> {
    let mut registry = bayplan::plugins::registry();
    for compiled in set.iter() {
        let plugin: Arc<dyn Plugin> = Arc::new(PolicyPlugin::new(compiled.clone(), ExemptPods::default()));
        registry.add_policy(compiled.name(), false, move |_| Ok(plugin.clone())).unwrap();
    }
    SchedulerConfig::default().frameworks(&registry, SourceId(0)).unwrap().frameworks.remove(0)
}

/// Everything that a decision needs.
pub(super) struct Decided {
    framework: Arc<Framework>,
    policies: PolicySet,
    rules: Vec<&'static str>,
    snapshot: Snapshot,
    pod: Arc<PodInfo>,
    pub(super) explanation: Explanation,
    gated: bool,
    pub(super) report: PodReport,
}

/// Frameworks by their rules: making one takes longer than a decision.
#[derive(Default)]
pub(super) struct Bench(BTreeMap<Vec<&'static str>, (PolicySet, Arc<Framework>)>);

impl Bench {
    fn with(&mut self, rules: &[&'static str]) -> (PolicySet, Arc<Framework>) {
        let made = self.0.entry(rules.to_vec()).or_insert_with(|| {
            let set = policies(text_of(rules));
            let framework = framework(&set);
            (set, framework)
        });
        made.clone()
    }

    pub(super) fn decide(&mut self, cluster: &Cluster) -> Decided {
        let mut objects = cluster.nodes.clone();
        objects.extend(cluster.running.iter().cloned());
        objects.push(cluster.pod.clone());
        objects.iter_mut().for_each(without_empty);
        let mut sources = SourceMap::new();
        let id = sources.add("c.json", json!({"kind": "List", "items": objects}).to_string());
        let loaded = dry_run::load(&mut sources, &[id]);
        assert!(!loaded.has_errors(), "{:?}", loaded.diagnostics);
        let (policies, framework) = self.with(&cluster.rules);
        let profiles = Arc::new(Profiles { frameworks: vec![framework.clone()], revision: 1 });
        let report = dry_run::run(&loaded.world, profiles, &Options::default());
        let pod = report.pods[0].pod.clone();
        let snapshot = unplaced(&report.scheduler.fork(), &pod);
        let mut explanation = explain(&framework, &snapshot, &pod, Time(0));
        let gated = matches!(report.pods[0].standing, Standing::Gated { .. });
        if gated {
            explanation.fits.clear();
        }
        let report = report.pods[0].clone();
        let rules = cluster.rules.clone();
        Decided { gated, framework, policies, rules, snapshot, pod, explanation, report }
    }

    fn fits(&mut self, cluster: &Cluster) -> BTreeSet<String> {
        self.decide(cluster).explanation.fits.into_iter().collect()
    }
}

/// Drops what the API server leaves out of objects: empty lists, and `unschedulable: false`.
fn without_empty(object: &mut Value) {
    let spec = object["spec"].as_object_mut().unwrap();
    let empty = |value: &Value| *value == json!(false) || value.as_array().is_some_and(Vec::is_empty);
    spec.retain(|_, value| !empty(value));
    for container in spec.get_mut("containers").and_then(Value::as_array_mut).into_iter().flatten() {
        container.as_object_mut().unwrap().retain(|_, value| !empty(value));
    }
}

pub(super) fn pick<'a, T>(random: &mut Random, of: &'a [T]) -> &'a T {
    &of[random.below(of.len())]
}

pub(super) fn random_cluster(random: &mut Random) -> Cluster {
    let mut nodes = Vec::new();
    let mut running = Vec::new();
    for at in 0..3 + random.below(3) {
        let name = format!("n{at}");
        let mut labels = json!({"kubernetes.io/hostname": name});
        for (key, values) in
            [("team", ["shop", "vision", ""]), ("disk", ["ssd", "hdd", ""]), ("loud", ["true", "", ""])]
        {
            match *pick(random, &values) {
                "" => {}
                value => labels[key] = json!(value),
            }
        }
        let taints = match random.below(4) {
            0 => json!([{"key": "dedicated", "value": "batch", "effect": "NoSchedule"}]),
            1 => json!([{"key": "gpu", "effect": "NoExecute"}]),
            _ => json!([]),
        };
        let cpu = 2 + random.below(5);
        nodes.push(json!({
            "apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels},
            "spec": {"unschedulable": random.below(6) == 0, "taints": taints},
            "status": {"allocatable": {
                "cpu": cpu.to_string(), "memory": pick(random, &["4Gi", "8Gi"]), "pods": "10",
            }},
        }));
        if random.below(2) == 0 {
            let ports = if random.below(3) == 0 {
                json!([{"containerPort": 80, "hostPort": 8080}])
            } else {
                json!([])
            };
            running.push(json!({
                "apiVersion": "v1", "kind": "Pod", "metadata": {"name": format!("r{at}"), "namespace": "default"},
                "spec": {"nodeName": name, "containers": [{"name": "c", "image": "x", "ports": ports, "resources": {
                    "requests": {"cpu": "1", "memory": "1Gi"},
                }}]},
            }));
        }
    }
    let selector =
        if random.below(2) == 0 { json!({"disk": pick(random, &["ssd", "nvme", "sdd"])}) } else { json!({}) };
    let affinity = if random.below(4) == 0 {
        let terms = json!([{"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]}]);
        json!({"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}})
    } else {
        json!({})
    };
    let ports =
        if random.below(3) == 0 { json!([{"containerPort": 80, "hostPort": 8080}]) } else { json!([]) };
    let pod = json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": "p", "namespace": "default", "labels": {"team": pick(random, &["shop", "vision", "audio"])}},
        "spec": {"nodeSelector": selector, "affinity": affinity, "containers": [
            {"name": "c", "image": "x", "ports": ports, "resources": {"requests": {
                "cpu": (1 + random.below(6)).to_string(), "memory": pick(random, &["1Gi", "5Gi"]),
            }}},
        ]},
    });
    Cluster { nodes, running, pod, rules: vec!["team", "calm"] }
}

/// A change of the objects, as a program would make it that knows nothing of ours.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Brute {
    Request(&'static str, String),
    Tolerate(String, String, String),
    NoSelector(String),
    Selector(String, String),
    PodLabel(String, Option<String>),
    NoAffinity,
    NoPorts,
    Label(String, Option<String>),
    Untaint(String),
    Uncordon,
    Except(Option<&'static str>),
    Ends,
}

impl Brute {
    pub(super) fn of_node(&self) -> bool {
        matches!(self, Brute::Label(..) | Brute::Untaint(_) | Brute::Uncordon | Brute::Ends)
    }

    /// What kind of change it is: amounts and values of labels apart.
    fn kind(&self) -> String {
        match self {
            Brute::Request(resource, _) => format!("request {resource}"),
            Brute::Tolerate(key, ..) => format!("tolerate {key}"),
            Brute::NoSelector(key) => format!("no selector {key}"),
            Brute::Selector(key, _) => format!("selector {key}"),
            Brute::PodLabel(key, _) => format!("pod label {key}"),
            Brute::NoAffinity => "no affinity".into(),
            Brute::NoPorts => "no ports".into(),
            Brute::Label(key, _) => format!("label {key}"),
            Brute::Untaint(key) => format!("untaint {key}"),
            Brute::Uncordon => "uncordon".into(),
            Brute::Except(None) => "except home".into(),
            Brute::Except(Some(rule)) => format!("except home/{rule}"),
            Brute::Ends => "ends".into(),
        }
    }

    pub(super) fn apply(&self, cluster: &mut Cluster, node: usize) {
        let spec = &mut cluster.pod["spec"];
        match self {
            Brute::Request(resource, amount) => {
                spec["containers"][0]["resources"]["requests"][*resource] = json!(amount);
            }
            Brute::Tolerate(key, value, effect) => {
                if spec["tolerations"].is_null() {
                    spec["tolerations"] = json!([]);
                }
                let more = json!({"key": key, "operator": "Equal", "value": value, "effect": effect});
                spec["tolerations"].as_array_mut().unwrap().push(more);
            }
            Brute::NoSelector(key) => {
                spec["nodeSelector"].as_object_mut().unwrap().remove(key);
            }
            Brute::Selector(key, value) => spec["nodeSelector"][key] = json!(value),
            Brute::PodLabel(key, value) => {
                let labels = cluster.pod["metadata"]["labels"].as_object_mut().unwrap();
                match value {
                    Some(value) => drop(labels.insert(key.clone(), json!(value))),
                    None => drop(labels.remove(key)),
                }
            }
            Brute::NoAffinity => spec["affinity"] = json!({}),
            Brute::NoPorts => spec["containers"][0]["ports"] = json!([]),
            Brute::Label(key, value) => {
                let labels = cluster.nodes[node]["metadata"]["labels"].as_object_mut().unwrap();
                match value {
                    Some(value) => drop(labels.insert(key.clone(), json!(value))),
                    None => drop(labels.remove(key)),
                }
            }
            Brute::Untaint(key) => {
                let taints = cluster.nodes[node]["spec"]["taints"].as_array_mut().unwrap();
                taints.retain(|taint| taint["key"] != json!(key));
            }
            Brute::Uncordon => cluster.nodes[node]["spec"]["unschedulable"] = json!(false),
            Brute::Except(None) => cluster.rules.clear(),
            Brute::Except(Some(rule)) => {
                let of_rule =
                    |known: &str| LATE.iter().any(|(name, text)| *name == known && text.starts_with(rule));
                cluster.rules.retain(|known| known != rule && !of_rule(known));
            }
            Brute::Ends => {
                let name = cluster.nodes[node]["metadata"]["name"].clone();
                cluster.running.retain(|pod| pod["spec"]["nodeName"] != name);
            }
        }
    }

    /// The change that a printed proposal is about.
    pub(super) fn read(text: &str, effects: &BTreeMap<String, String>) -> Self {
        let words: Vec<&str> = text.split(' ').collect();
        let pair = |word: &str| word.split_once('=').map(|(key, value)| (key.to_owned(), value.to_owned()));
        match words[..] {
            ["request", amount, resource, "instead", "of", _] => {
                Brute::Request(if resource == "cpu" { "cpu" } else { "memory" }, amount.to_owned())
            }
            ["tolerate", taint] => {
                let (taint, effect) = taint.rsplit_once(':').unwrap();
                let (key, value) = pair(taint).unwrap_or((taint.to_owned(), String::new()));
                Brute::Tolerate(key, value, effect.to_owned())
            }
            ["leave", term, "out", "of", "the", "node", "selector"] => {
                Brute::NoSelector(pair(term).unwrap().0)
            }
            ["use", to, "instead", "of", _, "in", "the", "node", "selector"] => {
                let (key, value) = pair(to).unwrap();
                Brute::Selector(key, value)
            }
            ["set", "the", "label", term] => {
                let (key, value) = pair(term).unwrap();
                Brute::PodLabel(key, Some(value))
            }
            ["remove", "the", "label", key] => Brute::PodLabel(key.to_owned(), None),
            ["leave", "out", "the", "required", "node", "affinity"] => Brute::NoAffinity,
            ["use", "no", "host", "port", "8080/TCP"] => Brute::NoPorts,
            ["label", .., term] => {
                let (key, value) = pair(term).unwrap();
                Brute::Label(key, Some(value))
            }
            ["remove", "the", "label", key, ..] => Brute::Label(key.to_owned(), None),
            ["remove", "the", "taint", taint, ..] => {
                let taint = taint.rsplit_once(':').unwrap().0;
                let key = pair(taint).map_or(taint.to_owned(), |(key, _)| key);
                assert!(effects.contains_key(&key), "{text}");
                Brute::Untaint(key)
            }
            ["uncordon", ..] => Brute::Uncordon,
            ["except", "this", "pod", "from", "home"] => Brute::Except(None),
            ["except", "this", "pod", "from", of] => {
                let rule = of.strip_prefix("home/").unwrap();
                let all = RULES.iter().chain(&OF_OBJECTS).map(|(name, _)| *name).chain(["reserve", "permit"]);
                Brute::Except(all.into_iter().find(|name| *name == rule))
            }
            ["until", ..] => Brute::Ends,
            _ => panic!("no proposal that can be tried: {text}"),
        }
    }
}

/// Every change that might help, from the objects alone.
fn all_changes(cluster: &Cluster, decided: &Decided) -> Vec<Brute> {
    let mut found = BTreeSet::new();
    for info in decided.snapshot.nodes() {
        let cpu = info.allocatable().milli_cpu - info.requested().milli_cpu;
        let memory = info.allocatable().memory - info.requested().memory;
        if cpu > 0 && cpu < decided.pod.requests.milli_cpu {
            found.insert(Brute::Request("cpu", format!("{cpu}m")));
        }
        if memory > 0 && memory < decided.pod.requests.memory {
            found.insert(Brute::Request("memory", memory.to_string()));
        }
    }
    for node in &cluster.nodes {
        for taint in node["spec"]["taints"].as_array().unwrap() {
            let text = |key: &str| taint[key].as_str().unwrap_or_default().to_owned();
            found.insert(Brute::Tolerate(text("key"), text("value"), text("effect")));
            found.insert(Brute::Untaint(text("key")));
        }
        if node["spec"]["unschedulable"] == true {
            found.insert(Brute::Uncordon);
            let cordoned = "node.kubernetes.io/unschedulable".to_owned();
            found.insert(Brute::Tolerate(cordoned, String::new(), "NoSchedule".into()));
        }
    }
    for (key, value) in cluster.pod["spec"]["nodeSelector"].as_object().unwrap() {
        found.insert(Brute::NoSelector(key.clone()));
        // The misspelt value is near to both that nodes may have.
        if value == "sdd" {
            found.extend(["ssd", "hdd"].map(|value| Brute::Selector(key.clone(), value.into())));
        }
        found.insert(Brute::Label(key.clone(), value.as_str().map(str::to_owned)));
    }
    found.extend([Brute::NoAffinity, Brute::NoPorts, Brute::Ends]);
    for (key, values) in [("team", vec!["shop", "vision", "audio"]), ("loud", vec!["1"])] {
        found.insert(Brute::Label(key.into(), None));
        found.extend(values.into_iter().map(|value| Brute::Label(key.into(), Some(value.into()))));
    }
    let teams = [None, Some("shop"), Some("vision"), Some("audio"), Some("1"), Some("true")];
    found.extend(teams.map(|team| Brute::PodLabel("team".into(), team.map(str::to_owned))));
    found.insert(Brute::Except(None));
    found.extend(cluster.rules.iter().map(|rule| Brute::Except(Some(rule))));
    found.into_iter().collect()
}

/// The nodes that a set of changes opens; changes of a node are made on each node alone.
fn opens(bench: &mut Bench, cluster: &Cluster, set: &[Brute]) -> BTreeSet<String> {
    if !set.iter().any(Brute::of_node) {
        let mut changed = cluster.clone();
        set.iter().for_each(|change| change.apply(&mut changed, 0));
        return bench.fits(&changed);
    }
    let mut opened = BTreeSet::new();
    for node in 0..cluster.nodes.len() {
        let mut changed = cluster.clone();
        set.iter().for_each(|change| change.apply(&mut changed, node));
        let name = cluster.nodes[node]["metadata"]["name"].as_str().unwrap().to_owned();
        if bench.fits(&changed).contains(&name) {
            opened.insert(name);
        }
    }
    opened
}

type Kinds = BTreeSet<String>;

/// The smallest sets of changes that help, by their kinds, with the nodes they open; amounts of
/// requests are the largest that open a node.
fn smallest(
    bench: &mut Bench,
    cluster: &Cluster,
    all: &[Brute],
) -> (usize, BTreeMap<Kinds, BTreeSet<String>>) {
    let mut found: BTreeMap<Kinds, BTreeSet<String>> = BTreeMap::new();
    let mut note = |set: &[Brute], opened: BTreeSet<String>| {
        if !opened.is_empty() {
            found.entry(set.iter().map(Brute::kind).collect()).or_default().extend(opened);
        }
    };
    for change in all {
        let opened = opens(bench, cluster, std::slice::from_ref(change));
        note(std::slice::from_ref(change), opened);
    }
    if !found.is_empty() {
        return (1, found);
    }
    let mut note = |set: &[Brute], opened: BTreeSet<String>| {
        if !opened.is_empty() {
            found.entry(set.iter().map(Brute::kind).collect()).or_default().extend(opened);
        }
    };
    for (at, one) in all.iter().enumerate() {
        for two in all.iter().skip(at + 1).filter(|two| two.kind() != one.kind()) {
            let set = [one.clone(), two.clone()];
            let opened = opens(bench, cluster, &set);
            note(&set, opened);
        }
    }
    (2, found)
}

pub(super) fn ask(decided: &Decided) -> Suggestions {
    let excepting = |from: &[Exempted]| {
        let [from] = from else { panic!("{from:?}") };
        assert_eq!(from.policy.as_str(), "home");
        let compiled = decided.policies.get("home").unwrap();
        let mut sources = SourceMap::new();
        let id = sources.add("home.bay", text_of(&decided.rules));
        let terms = Terms::usual(&decided.pod, Time(0));
        let exception = Exception { from, pod: &decided.pod, terms: &terms };
        let (text, _) = exception.written_into(sources.get(id).unwrap(), &compiled.policy).unwrap();
        Some(framework(&policies(text)))
    };
    let Decided { framework, snapshot, pod, .. } = decided;
    let question = Question { framework, snapshot, pod, now: Time(0), trials: TRIALS, excepting: &excepting };
    that_help(&decided.explanation, &question)
}

/// How many of a resource a quantity is, in its base unit.
fn milli(amount: &str) -> i64 {
    bayplan::model::Quantity::parse(amount).unwrap().milli_value()
}

#[test]
fn what_helps_is_what_brute_force_finds() {
    let mut bench = Bench::default();
    let mut seen = [0usize; 3];
    let seeds = std::env::var("BAYPLAN_SEEDS").ok().and_then(|seeds| seeds.parse().ok()).unwrap_or(24);
    for seed in 0..seeds {
        let cluster = random_cluster(&mut Random(seed));
        let decided = bench.decide(&cluster);
        if !decided.explanation.fits.is_empty() {
            continue;
        }
        let found = ask(&decided);
        assert!(!found.cut_short, "seed {seed}");
        conflicts_are_minimal(&mut bench, &cluster, &decided, seed);
        let all = all_changes(&cluster, &decided);
        let (size, mut expected) = smallest(&mut bench, &cluster, &all);
        seen[if expected.is_empty() { 0 } else { size }] += 1;
        let effects: BTreeMap<String, String> = all
            .iter()
            .filter_map(|change| match change {
                Brute::Tolerate(key, _, effect) => Some((key.clone(), effect.clone())),
                _ => None,
            })
            .collect();
        let mut told: BTreeMap<Kinds, BTreeSet<String>> = BTreeMap::new();
        for help in &found.helps {
            assert_eq!(help.steps.len(), size, "seed {seed}: {}", help.what);
            let set: Vec<Brute> = help.steps.iter().map(|step| Brute::read(&step.what, &effects)).collect();
            let nodes: BTreeSet<String> = help.nodes.iter().cloned().collect();
            // As it is printed it opens these nodes, and no others. Labels have other values on
            // other nodes.
            let opened = opens(&mut bench, &cluster, &set);
            let labels = set.iter().any(|change| matches!(change, Brute::Label(..)));
            assert!(
                nodes.is_subset(&opened) && (labels || opened == nodes),
                "seed {seed}: {help:?} {opened:?}"
            );
            // The amount is the largest that helps: a larger one opens no node.
            if let [Brute::Request(resource, amount)] = &set[..] {
                let largest = all.iter().filter(|change| {
                    let Brute::Request(other, larger) = change else { return false };
                    other == resource && milli(larger) > milli(amount)
                });
                for larger in largest {
                    assert!(
                        opens(&mut bench, &cluster, std::slice::from_ref(larger)).is_empty(),
                        "seed {seed}"
                    );
                }
            }
            told.entry(set.iter().map(Brute::kind).collect()).or_default().extend(nodes);
        }
        without_wider_exceptions(&cluster, &mut expected, &told);
        // Two corrections of a spelling are enough.
        let respells = |kinds: &Kinds| kinds.iter().any(|kind| kind.starts_with("selector"));
        let corrections = found.helps.iter().filter(|help| help.what.contains("instead of disk=")).count();
        expected.retain(|kinds, _| !respells(kinds) || corrections < 2 || told.contains_key(kinds));
        let kinds = |of: &BTreeMap<Kinds, BTreeSet<String>>| of.keys().cloned().collect::<Vec<_>>();
        assert_eq!(kinds(&told), kinds(&expected), "seed {seed}: {:#?}", found.helps);
        for (kinds, nodes) in &told {
            let some = kinds.iter().any(|kind| is_chosen(kind));
            let some = some || corrections == 2 && respells(kinds);
            let all = &expected[kinds];
            assert!(if some { nodes.is_subset(all) } else { nodes == all }, "seed {seed}: {kinds:?}");
        }
    }
    assert!(seen.iter().all(|count| *count > 1), "none, one, two: {seen:?}");
}

/// Of amounts the largest is printed, of a pod's labels those that open nodes of their own.
fn is_chosen(kind: &str) -> bool {
    kind.starts_with("request") || kind.starts_with("pod label")
}

/// An exception from all of the policy is worth a line only where one from a rule opens fewer nodes; of amounts and
/// labels that are chosen only those that are `told` are compared.
fn without_wider_exceptions(
    cluster: &Cluster,
    found: &mut BTreeMap<Kinds, BTreeSet<String>>,
    told: &BTreeMap<Kinds, BTreeSet<String>>,
) {
    let all = found.clone();
    found.retain(|kinds, nodes| {
        let chosen = kinds.iter().any(|kind| is_chosen(kind));
        let narrower = |rule: &&'static str| {
            let narrow = |kind: &String| match kind.as_str() {
                "except home" => format!("except home/{rule}"),
                _ => kind.clone(),
            };
            let narrow: Kinds = kinds.iter().map(narrow).collect();
            if narrow == *kinds {
                return false;
            }
            all.get(&narrow).is_some_and(|opened| nodes.is_subset(opened))
                || chosen && told.contains_key(&narrow) && !told.contains_key(kinds)
        };
        !cluster.rules.iter().any(narrower)
    });
}

#[test]
fn suggestions_hold_where_policies_read_the_objects() {
    let mut bench = Bench::default();
    let (mut asked, mut helped) = (0, 0);
    let seeds = std::env::var("BAYPLAN_SEEDS").ok().and_then(|seeds| seeds.parse().ok()).unwrap_or(60);
    for seed in 0..seeds {
        let mut random = Random(1_000 + seed);
        let mut cluster = random_cluster(&mut random);
        cluster.rules = (0..3).map(|_| pick(&mut random, &OF_OBJECTS).0).collect();
        cluster.rules.sort_unstable();
        cluster.rules.dedup();
        let decided = bench.decide(&cluster);
        if decided.gated || !decided.explanation.fits.is_empty() {
            continue;
        }
        asked += 1;
        let taints = cluster.nodes.iter().flat_map(|node| node["spec"]["taints"].as_array().unwrap());
        let effects = taints
            .map(|taint| (taint["key"].as_str().unwrap().to_owned(), String::new()))
            .collect::<BTreeMap<_, _>>();
        for help in &ask(&decided).helps {
            helped += 1;
            let set: Vec<Brute> = help.steps.iter().map(|step| Brute::read(&step.what, &effects)).collect();
            let opened = opens(&mut bench, &cluster, &set);
            let nodes: BTreeSet<String> = help.nodes.iter().cloned().collect();
            assert!(nodes.is_subset(&opened), "seed {seed} {:?}: {help:?} {opened:?}", cluster.rules);
        }
    }
    assert!(asked > seeds / 4 && helped > asked, "{asked} asked, {helped} suggestions");
}

/// The nodes that meet a requirement: all other rules are left out, and all other resources of the
/// request.
fn meet(bench: &mut Bench, cluster: &Cluster, rule: &str, what: &str) -> BTreeSet<String> {
    let mut alone = cluster.clone();
    if !what.is_empty() {
        let requests = alone.pod["spec"]["containers"][0]["resources"]["requests"].as_object_mut().unwrap();
        requests.retain(|resource, _| resource == what);
    }
    let (plugin, filter) = rule.split_once('/').unwrap_or((rule, ""));
    alone.rules.retain(|known| *known == filter);
    let decided = bench.decide(&alone);
    let of = &decided.framework;
    let mut points = of.points().clone();
    points.filter.retain(|id| of.plugin_name(*id) == plugin);
    let only = Arc::new(Framework::new(of.scheduler_name.clone(), of.plugins().to_vec(), points));
    explain(&only, &decided.snapshot, &decided.pod, Time(0)).fits.into_iter().collect()
}

fn conflicts_are_minimal(bench: &mut Bench, cluster: &Cluster, decided: &Decided, seed: u64) {
    let conflicts = &decided.explanation.conflicts;
    assert!(!conflicts.is_empty(), "seed {seed}: no node fits, so something conflicts");
    for conflict in conflicts {
        let meet: Vec<BTreeSet<String>> = conflict
            .requirements
            .iter()
            .map(|requirement| {
                let meet = meet(bench, cluster, &requirement.rule, &requirement.what);
                assert_eq!(meet.len(), requirement.meet, "seed {seed}: {requirement:?}");
                meet
            })
            .collect();
        let all_met = |without: Option<usize>| {
            cluster.nodes.iter().any(|node| {
                let name = node["metadata"]["name"].as_str().unwrap();
                meet.iter().enumerate().all(|(at, meet)| Some(at) == without || meet.contains(name))
            })
        };
        assert!(!all_met(None), "seed {seed}: {conflict:?}");
        for left_out in 0..meet.len() {
            assert!(all_met(Some(left_out)), "seed {seed}: {conflict:?} holds without {left_out}");
        }
    }
}
