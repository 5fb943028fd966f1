//! Our plugins and both deciders against what kube-scheduler of each version decided on the same clusters, and our events and
//! queueing hints against its own.

use crate::support::{recorded, vectors_of, version_of};
use bayplan::config;
use bayplan::diag::SourceMap;
use bayplan::engine::{Decider, Plain, Scan, TieBreak};
use bayplan::framework::{
    Acting, ActionType, Answer, Candidate, ClusterEvent, Cycle, EventObjects, EventResource, Feasible,
    Features, FitError, Framework, PluginId, QueueingHint, Recorder, Scale, Silent, Status, placement_found,
};
use bayplan::model::{
    ApiObject, Change, KindRow, KubernetesVersion, Namespace, Node, NodeId, NodeSet, Object,
    PersistentVolume, PersistentVolumeClaim, Placement, PodInfo, Snapshot, Symbol, Time, VersionRow,
    VersionRows,
};
use bayplan::plugins;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Scores by node and plugin, after normalisation and weight.
#[derive(Default)]
struct Scores {
    by_plugin: Vec<(PluginId, Vec<(NodeId, i64)>)>,
    totals: Vec<(NodeId, i64)>,
}

impl Recorder for Scores {
    fn wants_scores(&self) -> bool {
        true
    }
    fn scored(&mut self, plugin: PluginId, weight: i64, on: &NodeSet, raw: &[i64], scale: Scale) {
        let scores = on.iter().map(|node| (node, scale.apply(raw[node.row()]) * weight)).collect();
        self.by_plugin.push((plugin, scores));
    }
    fn totals(&mut self, on: &NodeSet, totals: &[i64]) {
        self.totals = on.iter().map(|node| (node, totals[node.row()])).collect();
    }
}

pub(super) fn frameworks(config: &Value, version: KubernetesVersion) -> Vec<Arc<Framework>> {
    frameworks_by(config, Features::of(version))
}

fn frameworks_by(config: &Value, features: Features) -> Vec<Arc<Framework>> {
    let mut sources = SourceMap::new();
    let id = sources.add("config.json", config.to_string());
    let (config, complaints) = config::read(sources.get(id).unwrap());
    assert!(complaints.is_empty(), "{complaints:#?}");
    let made = config.frameworks(&plugins::registry_with(features), id);
    made.unwrap_or_else(|complaints| panic!("{complaints:#?}")).frameworks
}

pub(super) fn upsert(snapshot: &mut Snapshot, object: &Value) {
    let value = Arc::new(object.clone());
    match object["kind"].as_str().unwrap() {
        "Node" => {
            let node = Arc::new(Node::from_value(value).unwrap());
            snapshot.apply(Change::NodeUpserted { node });
        }
        "Namespace" => {
            let namespace = Arc::new(Namespace::from_value(value).unwrap());
            snapshot.apply(Change::NamespaceUpserted { namespace });
        }
        "Pod" => place(snapshot, Arc::new(PodInfo::from_value(value).unwrap())),
        _ => {
            if let Some(object) = other(value) {
                snapshot.apply(Change::ObjectSeen { object });
            }
        }
    }
}

/// An object of another kind; `None` when the kind is not in the table.
fn other(value: Arc<Value>) -> Option<Arc<dyn ApiObject>> {
    let row = KindRow::named(value["apiVersion"].as_str().unwrap(), value["kind"].as_str().unwrap())?;
    match (row.from_value)(value).unwrap() {
        Object::Other(object) => Some(object),
        _ => None,
    }
}

fn place(snapshot: &mut Snapshot, pod: Arc<PodInfo>) {
    let node = pod.node_name.as_ref().and_then(|name| snapshot.row_by_name(name));
    match node {
        Some(node) => snapshot.apply(Change::PodPlaced { pod, node, how: Placement::Bound }),
        None => {
            let promised = pod.nominated_node.as_ref().and_then(|name| snapshot.row_by_name(name));
            snapshot.apply(Change::PodPending { pod: pod.clone() });
            if promised.is_some() {
                snapshot.apply(Change::Nominated { pod, node: promised });
            }
        }
    }
}

pub(super) fn cluster(objects: &Value, frameworks: &[Arc<Framework>]) -> Snapshot {
    let mut snapshot = Snapshot::default();
    snapshot.decide_by(frameworks[0].version());
    for plugin in frameworks.iter().flat_map(|framework| framework.plugins()) {
        for (key, index) in plugin.indexes() {
            snapshot.add_index(key, index);
        }
    }
    let objects = objects.as_array().unwrap();
    // Nodes before the pods on them.
    let turn = |object: &Value| match object["kind"].as_str() {
        Some("Namespace") => 0,
        Some("Node") => 1,
        Some("Pod") => 3,
        _ => 2,
    };
    let mut objects: Vec<&Value> = objects.iter().collect();
    objects.sort_by_key(|object| turn(object));
    objects.into_iter().for_each(|object| upsert(&mut snapshot, object));
    snapshot
}

#[derive(Default, Debug)]
pub(super) struct Count {
    pub(super) cases: usize,
    pub(super) decisions: usize,
    pub(super) values: usize,
    pub(super) mismatches: Vec<String>,
}

impl Count {
    pub(super) fn same<T: PartialEq + std::fmt::Debug>(
        &mut self,
        what: impl Fn() -> String,
        ours: &T,
        upstream: &T,
    ) {
        self.values += 1;
        if ours != upstream {
            self.mismatches.push(format!("{}: ours {ours:?}, upstream {upstream:?}", what()));
        }
    }
}

impl Count {
    pub(super) fn tell(&self, name: &str) {
        let Self { cases, decisions, values, mismatches } = self;
        println!(
            "{name}: {cases} cases, {decisions} decisions, {values} values, {} mismatches",
            mismatches.len()
        );
        let shown = std::env::var("BAYPLAN_MISMATCHES").ok().and_then(|text| text.parse().ok()).unwrap_or(5);
        for mismatch in mismatches.iter().take(shown) {
            println!("  {mismatch}");
        }
    }

    pub(super) fn add(&mut self, mut other: Self) {
        self.cases += other.cases;
        self.decisions += other.decisions;
        self.values += other.values;
        self.mismatches.append(&mut other.mismatches);
    }
}

/// Code, plugin and reasons of a refusal; reasons as a set.
type Refusal = (String, String, BTreeSet<String>);

fn refusal(framework: &Framework, status: &Status) -> Refusal {
    let plugin = framework.plugin_name(status.plugin).to_owned();
    (status.code.name().to_owned(), plugin, status.reasons().map(str::to_owned).collect())
}

fn upstream_refusal(of: &Value) -> Refusal {
    let text = |key: &str| of[key].as_str().unwrap_or_default().to_owned();
    let reasons = of["reasons"].as_array().into_iter().flatten();
    (text("code"), text("plugin"), reasons.map(|reason| reason.as_str().unwrap().to_owned()).collect())
}

fn names(value: &Value) -> BTreeSet<String> {
    value.as_array().into_iter().flatten().map(|name| name.as_str().unwrap().to_owned()).collect()
}

/// Compares the decisions of a case.
fn compare(case: &Value, decider: &mut dyn Decider, count: &mut Count) {
    let frameworks = frameworks(&case["config"], version_of(case));
    let mut snapshot = cluster(&case["objects"], &frameworks);
    count.cases += 1;
    for (pod, decision) in
        case["pending"].as_array().unwrap().iter().zip(case["decisions"].as_array().unwrap())
    {
        if count.cases.is_multiple_of(2) {
            // Half of the cases with what plugins want to be kept, half without.
            let pod = PodInfo::from_value(Arc::new(pod.clone())).unwrap();
            let framework = frameworks.iter().find(|f| f.scheduler_name == pod.scheduler_name).unwrap();
            let wants = framework.wants(&pod, &snapshot);
            snapshot.want(&wants);
        }
        compare_decision(case, pod, decision, &frameworks, &snapshot, decider, count);
        if let Some(chosen) = decision["chosen"].as_str() {
            let reserved = reserve(&frameworks, &mut snapshot, pod, chosen);
            let place = format!("{} {}", case["name"], decision["pod"]);
            count.same(|| format!("{place} reserve"), &reserved.map_err(|status| status.message()), &Ok(()));
            let mut pod = pod.clone();
            pod["spec"]["nodeName"] = chosen.into();
            upsert(&mut snapshot, &pod);
        }
    }
}

/// Reserves what a pod needs on its node: the following pods see what is assumed for it.
pub(super) fn reserve(
    frameworks: &[Arc<Framework>],
    snapshot: &mut Snapshot,
    pod: &Value,
    node: &str,
) -> Result<(), Status> {
    let pod = Arc::new(PodInfo::from_value(Arc::new(pod.clone())).unwrap());
    let framework = frameworks.iter().find(|f| f.scheduler_name == pod.scheduler_name).unwrap();
    let node = snapshot.node_by_name(&Symbol::new(node)).unwrap();
    let mut cycle = Cycle::new(pod, framework.clone(), NOW);
    framework.run_pre_filter(&mut cycle, snapshot, &mut Silent)?;
    let (mut acts, mut next_ticket) = (Vec::new(), 0);
    let mut acting = Acting { snapshot, now: NOW, acts: &mut acts, next_ticket: &mut next_ticket };
    framework.run_reserve(&mut cycle, node, &mut acting)
}

/// Adds a pod that was placed to the objects, with what was reserved for it: a volume for its claim, or a node on which one
/// is to be made.
pub(crate) fn add_placed(
    config: &Value,
    objects: &mut Vec<Value>,
    pod: &Value,
    node: &str,
    version: KubernetesVersion,
) {
    let frameworks = frameworks(config, version);
    let mut snapshot = cluster(&Value::from(objects.clone()), &frameworks);
    reserve(&frameworks, &mut snapshot, pod, node).unwrap();
    for object in objects.iter_mut() {
        let symbol = |key: &str| Symbol::new(object["metadata"][key].as_str().unwrap_or_default());
        let (namespace, name) = (symbol("namespace"), symbol("name"));
        match object["kind"].as_str().unwrap() {
            "PersistentVolume" if object["spec"]["claimRef"].is_null() => {
                let volume = snapshot.object::<PersistentVolume>(&namespace, &name).unwrap();
                let Some(claim) = &volume.claim else { continue };
                object["spec"]["claimRef"] = json!({
                    "apiVersion": "v1", "kind": "PersistentVolumeClaim", "namespace": claim.namespace.as_str(),
                    "name": claim.name.as_str(), "uid": claim.uid.as_str(),
                });
            }
            "PersistentVolumeClaim" => {
                let claim = snapshot.object::<PersistentVolumeClaim>(&namespace, &name).unwrap();
                let Some(node) = &claim.selected_node else { continue };
                object["metadata"]["annotations"]["volume.kubernetes.io/selected-node"] =
                    json!(node.as_str());
            }
            _ => {}
        }
    }
    let mut placed = pod.clone();
    placed["spec"]["nodeName"] = node.into();
    objects.push(placed);
}

pub(super) fn compare_decision(
    case: &Value,
    pod: &Value,
    decision: &Value,
    frameworks: &[Arc<Framework>],
    snapshot: &Snapshot,
    decider: &mut dyn Decider,
    count: &mut Count,
) {
    let place = format!("{} {}", case["name"].as_str().unwrap(), decision["pod"].as_str().unwrap());
    let pod = Arc::new(PodInfo::from_value(Arc::new(pod.clone())).unwrap());
    let framework = frameworks.iter().find(|f| f.scheduler_name == pod.scheduler_name).unwrap().clone();
    let mut cycle = Cycle::new(pod, framework.clone(), NOW);
    let mut scores = Scores::default();
    let name = |node: NodeId| snapshot.node(node).unwrap().name().to_string();
    count.decisions += 1;

    let found = decider.filter(&mut cycle, snapshot, &mut scores);
    let upstream = decision["feasible"].as_array().into_iter().flatten();
    let upstream: BTreeSet<String> = upstream.map(|name| name.as_str().unwrap().to_owned()).collect();
    let rejected: BTreeMap<String, Refusal> = decision["rejected"]
        .as_object()
        .into_iter()
        .flatten()
        .map(|(name, of)| (name.clone(), upstream_refusal(of)))
        .collect();
    let ours: BTreeSet<String> = match &found {
        Ok(feasible) => feasible.nodes.iter().map(name).collect(),
        Err(status) => {
            let error = (!status.is_rejected()).then(|| status.message());
            let expected = decision["error"].as_str().map(str::to_owned);
            count.same(
                || format!("{place} error"),
                &error.map(before_mistakes),
                &expected.map(before_mistakes),
            );
            if !status.is_rejected() {
                return;
            }
            BTreeSet::new()
        }
    };
    count.same(|| format!("{place} feasible"), &ours, &upstream);
    for node in snapshot.nodes() {
        let Some(expected) = rejected.get(node.name().as_str()) else { continue };
        let given = cycle.diagnosis.nodes.get(node.id()).map(|status| refusal(&framework, status));
        let what = || format!("{place} refusal of {}", node.name());
        // A PreFilter that refuses the pod stands for every node.
        count.same(what, &given, &Some(expected.clone()));
    }
    let expected = decision["prefilter"].as_str().map(str::to_owned).filter(|text| !text.is_empty());
    count.same(|| format!("{place} prefilter"), &cycle.diagnosis.pre_filter_message, &expected);
    if upstream.is_empty() {
        let plugins = |set: &bayplan::framework::PluginSet| -> BTreeSet<String> {
            set.iter().map(|id| framework.plugin_name(id).to_owned()).collect()
        };
        let ours = plugins(&cycle.diagnosis.unschedulable_plugins);
        count.same(|| format!("{place} plugins"), &ours, &names(&decision["unschedulablePlugins"]));
        let ours = plugins(&cycle.diagnosis.pending_plugins);
        count.same(|| format!("{place} pending plugins"), &ours, &names(&decision["pendingPlugins"]));
        return compare_refusal(&place, &mut cycle, decision, snapshot, count);
    }

    let nodes = upstream.iter().map(|name| snapshot.node_by_name(&Symbol::new(name)).unwrap()).collect();
    let feasible = Feasible { nodes };
    let scored = decider.score(&mut cycle, &feasible, snapshot, &mut scores);
    let expected = decision["error"].as_str().map(str::to_owned);
    let error = scored.as_ref().err().map(|status| status.message());
    count.same(|| format!("{place} error"), &error, &expected);
    if scored.is_err() || expected.is_some() {
        return;
    }
    let mut ours: BTreeMap<(String, String), i64> = BTreeMap::new();
    for (plugin, by_node) in &scores.by_plugin {
        for (node, score) in by_node {
            ours.insert((name(*node), framework.plugin_name(*plugin).to_owned()), *score);
        }
    }
    let mut seen = 0usize;
    // A profile without scorers has totals only.
    for (node, by_plugin) in decision["scores"].as_object().into_iter().flatten() {
        for (plugin, score) in by_plugin.as_object().unwrap() {
            seen += 1;
            let key = (node.clone(), plugin.clone());
            // Since 1.37 it scores also pods without claims, all nodes alike.
            if plugin == "VolumeBinding" && score == 0 && !ours.contains_key(&key) {
                seen -= 1;
                continue;
            }
            count.same(|| format!("{place} score {key:?}"), &ours.get(&key).copied(), &score.as_i64());
        }
    }
    count.same(|| format!("{place} number of scores"), &ours.len(), &seen);
    for (node, total) in &scores.totals {
        let what = || format!("{place} total of {}", name(*node));
        count.same(what, &Some(*total), &decision["total"][name(*node)].as_i64());
    }
    let selected = decider.select(&cycle, &feasible, snapshot, &[], TieBreak::Name, 0, &mut scores).unwrap();
    let best: BTreeSet<String> = decider.best().iter().map(name).collect();
    count.same(|| format!("{place} best"), &best, &names(&decision["best"]));
    let chosen = decision["chosen"].as_str();
    count.same(|| format!("{place} chosen"), &Some(name(selected.node).as_str()), &chosen);
}

/// A text up to the mistakes of an expression of CEL, which are said in words of ours.
fn before_mistakes(text: String) -> String {
    let end = text.find("CEL compile error:").unwrap_or(text.len());
    text.chars().take(end).collect()
}

/// The message, the nomination and the victims of a pod that fits nowhere.
fn compare_refusal(place: &str, cycle: &mut Cycle, decision: &Value, snapshot: &Snapshot, count: &mut Count) {
    let framework = cycle.framework.clone();
    let text = |key: &str| decision[key].as_str().unwrap_or_default().to_owned();
    let message = |cycle: &Cycle| {
        FitError { all_nodes: snapshot.node_count(), diagnosis: &cycle.diagnosis }.to_string()
    };
    let mut answer = framework.run_post_filter(cycle, snapshot);
    // What plugins write succeeds.
    while let Some(wait) = &mut answer.waits {
        if wait.answered(Ok(Answer::Done)) {
            answer = framework.resume_post_filter(cycle, snapshot, answer);
        }
    }
    let found = decision["nominated"]
        .as_str()
        .filter(|_| snapshot.version_rows().has(VersionRow::FoundPlacementText));
    let said = found.map(|node| {
        // Those that are being deleted already count, and are not recorded as victims.
        let candidate = answer.candidates.iter().find(|candidate| *candidate.name == *node);
        placement_found(&Symbol::new(node), candidate.map_or(0, |of| of.victims.len()))
    });
    cycle.diagnosis.post_filter_message =
        Some(said.unwrap_or(answer.message)).filter(|text| !text.is_empty());
    count.same(|| format!("{place} message"), &message(cycle), &text("message"));
    for candidate in &answer.candidates {
        let lets_in = lets_in_without_victims(cycle, candidate, snapshot);
        count.same(|| format!("{place} fits on {} without its victims", candidate.name), &lets_in, &true);
    }
    let best = Candidate::best(&answer.candidates, NOW);
    // Upstream takes any of those that are equally good.
    let theirs = answer.candidates.iter().find(|candidate| candidate.name.as_str() == text("nominated"));
    let equal = theirs.zip(best).is_some_and(|(theirs, ours)| {
        Candidate::best(&[theirs.clone(), ours.clone()], NOW).map(|best| &best.name) == Some(&theirs.name)
    });
    let chosen = if equal { theirs } else { best };
    let name = chosen.map(|candidate| candidate.name.to_string()).unwrap_or_default();
    count.same(|| format!("{place} nominated"), &name, &text("nominated"));
    let victims = chosen.into_iter().flat_map(|candidate| &candidate.victims);
    // Pods that are being deleted already are not deleted again.
    let victims = victims.filter(|pod| !pod.is_terminating());
    let victims: BTreeSet<String> = victims.map(|pod| pod.full_name()).collect();
    count.same(|| format!("{place} victims"), &victims, &names(&decision["victims"]));
}

/// Whether a pod fits on a node once the victims are gone. Not for victims that are being deleted, nor for a pod with
/// claims: upstream's dry runs differ there.
fn lets_in_without_victims(of: &Cycle, candidate: &Candidate, snapshot: &Snapshot) -> bool {
    let has_claims = of.pod.claims().next().is_some();
    if has_claims || candidate.victims.iter().any(|pod| pod.is_terminating()) {
        return true;
    }
    let mut after = snapshot.fork();
    for pod in &candidate.victims {
        after.apply(Change::PodRemoved { pod: pod.key.clone() });
    }
    let mut cycle = Cycle::new(of.pod.clone(), of.framework.clone(), NOW);
    let left = of.framework.run_pre_filter(&mut cycle, &after, &mut Silent);
    let node = after.node(candidate.node).unwrap();
    let left_in = left.is_ok_and(|left| left.is_none_or(|left| left.contains(candidate.node)));
    left_in && of.framework.filter_with_nominated(cycle.handle(&after), node).is_ok()
}

/// The instant of the attempts: after every start of a pod.
pub(super) const NOW: Time = Time(1_900_000_000_000_000);

/// What a cluster comes to for one pod: the nodes that are equally good, else the node that preemption finds with the pods
/// that are evicted there.
#[derive(Default, PartialEq, Eq, Debug)]
pub(crate) struct Outcome {
    pub(crate) best: BTreeSet<String>,
    pub(crate) victims: BTreeSet<String>,
}

impl Outcome {
    /// As kube-scheduler recorded it.
    pub(crate) fn recorded(decision: &Value) -> Self {
        Self { best: names(&decision["best"]), victims: names(&decision["victims"]) }
    }

    /// As these rows decide.
    pub(crate) fn decided(config: &Value, objects: &Value, pod: &Value, rows: VersionRows) -> Self {
        let frameworks = frameworks_by(config, Features::under(rows));
        let snapshot = cluster(objects, &frameworks);
        let pod = Arc::new(PodInfo::from_value(Arc::new(pod.clone())).unwrap());
        let framework = frameworks.iter().find(|f| f.scheduler_name == pod.scheduler_name).unwrap().clone();
        let mut cycle = Cycle::new(pod, framework.clone(), NOW);
        let mut decider = Scan::new();
        let found = decider.filter(&mut cycle, &snapshot, &mut Silent);
        let Some(feasible) = found.ok().filter(|feasible| !feasible.nodes.is_empty()) else {
            let answer = framework.run_post_filter(&cycle, &snapshot);
            let best = Candidate::best(&answer.candidates, NOW);
            let victims = best.into_iter().flat_map(|of| &of.victims).filter(|pod| !pod.is_terminating());
            return Self { victims: victims.map(|pod| pod.full_name()).collect(), ..Self::default() };
        };
        decider.score(&mut cycle, &feasible, &snapshot, &mut Silent).unwrap();
        decider.select(&cycle, &feasible, &snapshot, &[], TieBreak::Name, 0, &mut Silent).unwrap();
        let name = |node: NodeId| snapshot.node(node).unwrap().name().to_string();
        Self { best: decider.best().iter().map(name).collect(), ..Self::default() }
    }
}

/// Files of decisions of both versions. Those with `-more`, and those below them, come from `tests/conformance/generator`.
pub(crate) const FAMILIES: &[&str] = &[
    "basic",
    "resources",
    "strategies",
    "taints",
    "nodeaffinity",
    "ports",
    "images",
    "profiles",
    "spread",
    "interpod",
    "preempt",
    "volumes",
    "mixed",
    "scale",
    "basic-more",
    "resources-more",
    "strategies-more",
    "taints-more",
    "nodeaffinity-more",
    "ports-more",
    "images-more",
    "profiles-more",
    "spread-more",
    "defaults",
    "interpod-more",
    "preempt-more",
    "mixed-more",
    "volumes-more",
    "capacity",
    "ephemeral",
    "attach",
    "imagevolumes",
    "resized",
    "drivers",
    "namespaces",
];

fn family(name: &str, cases: &[Value], decider: &mut dyn Decider) -> Count {
    let mut count = Count::default();
    for case in cases {
        compare(case, decider, &mut count);
    }
    count.tell(name);
    count
}

fn families(mut decider: impl Decider) {
    for version in KubernetesVersion::ALL {
        let mut all = Count::default();
        for name in FAMILIES {
            all.add(family(name, &recorded(version, name), &mut decider));
        }
        all.tell(&format!("all of {version}"));
        assert_eq!(all.mismatches.len(), 0, "{:#?}", &all.mismatches[..all.mismatches.len().min(20)]);
        assert!(all.cases >= 1_300 && all.decisions >= 7_000 && all.values >= 350_000, "{all:?}");
    }
}

/// Cases that `tests/conformance/generator` made, in the folder that `BAYPLAN_VECTORS` names.
#[test]
#[ignore = "needs BAYPLAN_VECTORS"]
fn further_decisions_and_hints_agree() {
    let folder = std::env::var("BAYPLAN_VECTORS").expect("a folder with *.jsonl.gz");
    let mut paths: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    // `extenders.rs` compares attempts that ask extenders, `scheduler/outcomes.rs` what becomes of a pod, `devices.rs` decisions
    // about devices with what is written between them.
    let is_other = |path: &std::path::Path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with("extenders") || name.starts_with("outcomes") || name.contains("devices")
    };
    paths.retain(|path| path.to_string_lossy().ends_with(".jsonl.gz") && !is_other(path));
    paths.sort();
    let mut all = Count::default();
    for path in paths {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let cases = vectors_of(&path);
        if cases.iter().any(|case| !case["changes"].is_null()) {
            let count = hints(&cases);
            count.tell(&name);
            all.add(count);
        } else {
            all.add(family(&format!("{name} plain"), &cases, &mut Plain::new()));
            all.add(family(&format!("{name} scan"), &cases, &mut Scan::new()));
        }
    }
    all.tell("all");
    assert_eq!(all.mismatches.len(), 0);
}

#[test]
fn decisions_agree_when_asked_plainly() {
    families(Plain::new());
}

#[test]
fn decisions_agree_when_asked_by_ranges() {
    families(Scan::new());
}

fn classes(case: &Value) -> impl Iterator<Item = &Value> {
    case["objects"].as_array().unwrap().iter().filter(|object| object["kind"] == "DeviceClass")
}

/// Whether another class of devices of the case stands for the same extended resource.
fn shares_resource(case: &Value, class: &Value) -> bool {
    let resource = &class["spec"]["extendedResourceName"];
    let is_other = |of: &Value| of["metadata"]["name"] != class["metadata"]["name"];
    class["kind"] == "DeviceClass"
        && resource.is_string()
        && classes(case).any(|of| is_other(of) && of["spec"]["extendedResourceName"] == *resource)
}

/// Whether the pod requests the resource that is named after a class which came after the class that stands for its
/// extended resource. Upstream then does not know the class at all. That is so after a start, which lists classes by name,
/// and not where the classes came in the order of their creation; we know it always (`model/devices/classes.rs`).
pub(super) fn requests_ousted_class(case: &Value, pod: &Value) -> bool {
    let mut first: BTreeMap<&str, (&str, &str)> = BTreeMap::new();
    let pod = pod["spec"].to_string();
    classes(case).any(|class| {
        let metadata = &class["metadata"];
        let (Some(resource), Some(created), Some(name)) = (
            class["spec"]["extendedResourceName"].as_str(),
            metadata["creationTimestamp"].as_str(),
            metadata["name"].as_str(),
        ) else {
            return false;
        };
        match first.get(resource) {
            Some((newest, known)) if (created, *known) < (*newest, name) => {
                pod.contains(&format!("\"deviceclass.resource.kubernetes.io/{name}\""))
            }
            _ => {
                first.insert(resource, (created, name));
                false
            }
        }
    })
}

pub(super) fn hints(cases: &[Value]) -> Count {
    let config = serde_json::json!({
        "apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration",
    });
    let by_version = KubernetesVersion::ALL.map(|version| (version, frameworks(&config, version)));
    let mut count = Count::default();
    for case in cases {
        let of_case = by_version.iter().find(|(version, _)| *version == version_of(case));
        let frameworks = &of_case.unwrap().1;
        let framework = &frameworks[0];
        count.cases += 1;
        let place = case["name"].as_str().unwrap_or_default();
        if requests_ousted_class(case, &case["pod"]) {
            continue;
        }
        let snapshot = cluster(&case["objects"], frameworks);
        let pod = Arc::new(PodInfo::from_value(Arc::new(case["pod"].clone())).unwrap());
        let cycle = Cycle::new(pod, framework.clone(), Time(0));
        for change in case["changes"].as_array().unwrap() {
            let object = |side: &str| (!change[side].is_null()).then(|| Arc::new(change[side].clone()));
            let (old, new) = (object("old"), object("new"));
            let Some(any) = new.as_ref().or(old.as_ref()) else { continue };
            let events = match any["kind"].as_str().unwrap() {
                "Pod" => {
                    let read = |value: Option<Arc<Value>>| {
                        value.map(|value| Arc::new(PodInfo::from_value(value).unwrap()))
                    };
                    let (old, new) = (read(old), read(new));
                    let version = snapshot.version_rows();
                    let own = new.as_ref().or(old.as_ref()).is_some_and(|of| of.uid == cycle.pod.uid);
                    let events = ClusterEvent::of_pod(old.as_ref(), new.as_ref(), version).into_iter();
                    // 1.36 sends the events of every pod without a node as if it were the waiting one.
                    let for_others = !own && version.has(VersionRow::OwnPodEvents);
                    events.map(|event| if for_others { event.for_others() } else { event }).collect()
                }
                "Node" => {
                    let read = |value: Option<Arc<Value>>| {
                        value.map(|value| Arc::new(Node::from_value(value).unwrap()))
                    };
                    ClusterEvent::of_node(read(old).as_ref(), read(new).as_ref())
                }
                _ => {
                    let (old, new) = (old.and_then(other), new.and_then(other));
                    let Some(kind) = new.as_ref().or(old.as_ref()).map(|object| object.kind()) else {
                        continue;
                    };
                    let event = ClusterEvent::of_object(old.as_ref(), new.as_ref());
                    // Upstream has an event also for an update that changed nothing that is read; its hints must agree.
                    let unchanged = || {
                        let objects = EventObjects::Object { old: old.clone(), new: new.clone() };
                        ClusterEvent::of(EventResource::of(&kind).unwrap(), ActionType::UPDATE_OTHER, objects)
                    };
                    vec![event.unwrap_or_else(unchanged)]
                }
            };
            count.decisions += 1;
            let labels: Vec<String> = events.iter().map(|event| event.label().into_owned()).collect();
            let expected: Vec<String> = change["events"]
                .as_array()
                .unwrap()
                .iter()
                .map(|label| label.as_str().unwrap().to_owned())
                .collect();
            count.same(|| format!("{place} events"), &labels, &expected);
            for event in &events {
                let label = event.label().into_owned();
                let plugins = framework.plugins().iter().enumerate();
                for (at, plugin) in plugins {
                    let hint = framework.hint(PluginId(at as u16), cycle.handle(&snapshot), event);
                    let hint = hint.map(|hint| match hint {
                        QueueingHint::Queue => "Queue",
                        QueueingHint::Skip => "QueueSkip",
                    });
                    let expected = change["hints"][&label][plugin.name()].as_str();
                    count.same(|| format!("{place} {label} {}", plugin.name()), &hint, &expected);
                }
            }
            // The generator takes the change back, and upstream then knows fewer classes than before.
            if [&change["old"], &change["new"]].into_iter().any(|class| shares_resource(case, class)) {
                break;
            }
        }
    }
    count
}

#[test]
fn events_and_hints_agree() {
    for version in KubernetesVersion::ALL {
        let mut count = Count::default();
        for name in ["hints", "hints-more", "hints-pods", "hints-volumes"] {
            count.add(hints(&recorded(version, name)));
        }
        count.tell(&format!("hints of {version}"));
        assert_eq!(count.mismatches.len(), 0, "{:#?}", &count.mismatches[..count.mismatches.len().min(20)]);
        assert!(count.cases >= 750 && count.decisions >= 6_500 && count.values >= 80_000, "{count:?}");
    }
}
