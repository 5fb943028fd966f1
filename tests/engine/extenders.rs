//! Attempts with extenders against what kube-scheduler decided with the same answers of extenders. Each pod is tried by
//! a scheduler of its own, as upstream's generator decides each on the cluster before it.

use crate::support::{recorded, vectors_of, version_of};
use bayplan::cluster::extender::wire;
use bayplan::config;
use bayplan::diag::SourceMap;
use bayplan::engine::TieBreak;
use bayplan::framework::{Answer, ApiCall, CallError, ExtenderAsk, Features, Framework};
use bayplan::model::{KindRow, KubernetesVersion, Object, Time, VersionRow, VersionRows};
use bayplan::plugins;
use bayplan::scheduler::{
    Decision, DecisionRecord, Effect, Input, Options, Profiles, RecordLevel, Scheduler,
};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

const NOW: Time = Time(1_900_000_000_000_000);

fn names(value: &Value) -> BTreeSet<String> {
    value.as_array().into_iter().flatten().map(|name| name.as_str().unwrap().to_owned()).collect()
}

/// The profiles of a case.
fn profiles(case: &Value) -> Arc<Profiles> {
    let config = &case["config"];
    // Gates keep pods that are only nominated out of the queue; they hold their room all the same.
    let rows = VersionRows::of(version_of(case)).with(VersionRow::GatedNominations, true);
    let features = Features::under(rows);
    let mut sources = SourceMap::new();
    let id = sources.add("config.json", config.to_string());
    let (config, complaints) = config::read(sources.get(id).unwrap());
    assert!(complaints.is_empty(), "{complaints:#?}");
    let made =
        config.frameworks(&plugins::registry_with(features), id).unwrap_or_else(|said| panic!("{said:#?}"));
    let extenders = config.shared_extenders();
    let asking = |framework| {
        Arc::new(Arc::<Framework>::into_inner(framework).unwrap().with_extenders(extenders.clone()))
    };
    Arc::new(Profiles { frameworks: made.frameworks.into_iter().map(asking).collect(), revision: 1 })
}

fn object(value: &Value) -> Option<Object> {
    let row = KindRow::named(value["apiVersion"].as_str().unwrap(), value["kind"].as_str().unwrap())?;
    Some((row.from_value)(Arc::new(value.clone())).unwrap())
}

/// What the recorded extender answered to this question.
fn answer(case: &Value, profiles: &Profiles, at: u16, ask: &ExtenderAsk) -> Result<Answer, CallError> {
    let extender = profiles.frameworks[0].extenders().get(at).unwrap().clone();
    let url = extender.url.trim_end_matches('/').to_owned();
    let number: u64 = url.rsplit('/').next().unwrap().parse().unwrap();
    let nodes: BTreeSet<String> = match ask {
        ExtenderAsk::Filter { nodes, .. } | ExtenderAsk::Prioritize { nodes, .. } => {
            nodes.iter().map(|name| name.to_string()).collect()
        }
        ExtenderAsk::Preempt { candidates, .. } => {
            candidates.iter().map(|candidate| candidate.node.to_string()).collect()
        }
        ExtenderAsk::Bind { .. } => panic!("no extender of a case binds"),
    };
    let (verb, read): (_, fn(&[u8]) -> _) = match ask {
        ExtenderAsk::Filter { .. } => (&extender.filter_verb, wire::filtered),
        ExtenderAsk::Prioritize { .. } => (&extender.prioritize_verb, wire::scores),
        _ => (&extender.preempt_verb, wire::victims),
    };
    let of_request = |request: &Value| -> BTreeSet<String> {
        let items = request["Nodes"]["items"].as_array().into_iter().flatten();
        let items = items.map(|node| node["metadata"]["name"].as_str().unwrap().to_owned());
        let keys = |key: &str| -> Vec<String> {
            request[key].as_object().into_iter().flatten().map(|(name, _)| name.clone()).collect()
        };
        let candidates: Vec<String> = [keys("NodeNameToVictims"), keys("NodeNameToMetaVictims")].concat();
        names(&request["NodeNames"]).into_iter().chain(items).chain(candidates).collect()
    };
    let victims = |request: &Value| -> BTreeSet<(String, String)> {
        let mut all = BTreeSet::new();
        for key in ["NodeNameToVictims", "NodeNameToMetaVictims"] {
            for (node, victims) in request[key].as_object().into_iter().flatten() {
                for pod in victims["Pods"].as_array().into_iter().flatten() {
                    let uid = pod["UID"].as_str().or(pod["metadata"]["uid"].as_str()).unwrap();
                    all.insert((node.clone(), uid.to_owned()));
                }
            }
        }
        all
    };
    let same = |exchange: &&Value| {
        let request = &exchange["request"];
        exchange["extender"].as_u64() == Some(number)
            && exchange["verb"] == verb.as_str()
            && request["Pod"]["metadata"]["name"] == ask.pod().name.as_str()
            && of_request(request) == nodes
            && (request["NodeNames"].is_array() || request["NodeNameToMetaVictims"].is_object())
                == extender.node_cache_capable
    };
    let exchanges = case["exchanges"].as_array().into_iter().flatten();
    let found = exchanges.filter(same).collect::<Vec<_>>();
    let Some(exchange) = found.first() else {
        let message = format!("no recorded question of {verb} to {url} about {nodes:?}");
        return Err(CallError::Unknown(message));
    };
    if let ExtenderAsk::Preempt { candidates, .. } = ask {
        let ours = candidates.iter().flat_map(|candidate| {
            candidate.pods.iter().map(|pod| (candidate.node.to_string(), pod.uid.to_string()))
        });
        assert_eq!(ours.collect::<BTreeSet<_>>(), victims(&exchange["request"]), "{}", case["name"]);
    }
    if exchange["status"] != 200 {
        let message = format!("failed {verb} with extender at URL {url}/{verb}, code {}", exchange["status"]);
        return Err(CallError::Refused { code: 500, reason: String::new(), message });
    }
    let refused = |message| CallError::Refused { code: 200, reason: String::new(), message };
    read(exchange["response"].to_string().as_bytes()).map(Answer::Extender).map_err(refused)
}

/// One attempt for a pod.
fn attempt(case: &Value, profiles: &Arc<Profiles>, objects: &[Value], pod: &Value) -> DecisionRecord {
    let options = Options {
        records: RecordLevel::Nodes,
        tie_break: TieBreak::Name,
        longest_wait: None,
        ..Options::default()
    };
    let mut scheduler = Scheduler::new(options);
    let mut out = Vec::new();
    for input in [Input::Profiles(profiles.clone()), Input::Lead(true), Input::Synced] {
        scheduler.step(input, NOW, &mut out);
    }
    for value in objects {
        let mut value = value.clone();
        if value["kind"] == "Pod" && value["spec"]["nodeName"].is_null() {
            // A pod that is only nominated is not tried.
            value["spec"]["schedulingGates"] = serde_json::json!([{"name": "held"}]);
        }
        if let Some(object) = object(&value) {
            scheduler.step(Input::Upserted(object), NOW, &mut out);
        }
    }
    if let Some(object) = object(pod) {
        scheduler.step(Input::Upserted(object), NOW, &mut out);
    }
    assert!(scheduler.wants_cycle(), "{} {}", case["name"], pod["metadata"]["name"]);
    out.clear();
    scheduler.step(Input::Cycle, NOW, &mut out);
    loop {
        let decided = out.iter().find_map(|effect| match effect {
            Effect::Decided(record) => Some((**record).clone()),
            _ => None,
        });
        if let Some(record) = decided {
            return record;
        }
        let calls: Vec<_> = std::mem::take(&mut out);
        let mut answered = false;
        for effect in calls {
            if let Effect::Call(ticket, ApiCall::Extender { at, ask }) = effect {
                answered = true;
                let said = answer(case, profiles, at, &ask);
                scheduler.step(Input::Reply(ticket, said), NOW, &mut out);
            }
        }
        assert!(answered, "{}: the attempt stands still", case["name"]);
    }
}

/// A message with its reasons sorted: upstream has some of them, and the errors of several nodes, in any order.
fn sorted(message: &str) -> String {
    let mut parts: Vec<&str> = message.split(", ").map(|part| part.trim_matches(['[', ']', '.'])).collect();
    parts.sort_unstable();
    parts.join(", ")
}

fn compare(case: &Value, wrong: &mut Vec<String>) -> usize {
    let profiles = profiles(case);
    let mut objects = case["objects"].as_array().unwrap().clone();
    let turn = |object: &Value| match object["kind"].as_str() {
        Some("Namespace") => 0,
        Some("Node") => 1,
        Some("Pod") => 3,
        _ => 2,
    };
    objects.sort_by_key(turn);
    let mut compared = 0;
    for (pod, expected) in
        case["pending"].as_array().unwrap().iter().zip(case["decisions"].as_array().unwrap())
    {
        compared += 1;
        let record = attempt(case, &profiles, &objects, pod);
        let place = format!("{} {}", case["name"], expected["pod"]);
        let mut same = |what: &str, ours: String, theirs: String| {
            if ours != theirs {
                wrong.push(format!("{place} {what}:\n  ours     {ours}\n  upstream {theirs}"));
            }
        };
        // Upstream takes nodes that an extender sends back whole as nodes without pods; we read their names.
        let rebuilt = case["exchanges"].as_array().into_iter().flatten().any(|exchange| {
            let nodes = |of: &str| !exchange[of]["Nodes"].is_null();
            exchange["request"]["Pod"]["metadata"]["name"] == pod["metadata"]["name"]
                && exchange["verb"] == "filter"
                && nodes("response")
                && (nodes("request") || exchange["response"]["NodeNames"].is_null())
        });
        let text = |key: &str| expected[key].as_str().unwrap_or_default().to_owned();
        let listed = |names: &[bayplan::model::Symbol]| {
            format!("{:?}", names.iter().map(|name| name.to_string()).collect::<BTreeSet<_>>())
        };
        match &record.decision {
            Decision::Error { message } => same("error", message.clone(), text("error")),
            Decision::Unschedulable { message, nominated } => {
                same("error", String::new(), text("error"));
                same("message", sorted(message), sorted(&text("message")));
                let node = nominated.as_ref().map(|node| node.to_string()).unwrap_or_default();
                same("nominated", node, text("nominated"));
                // Upstream evicts no pod that is being deleted.
                let is_ending = |name: &str| {
                    let named = objects
                        .iter()
                        .find(|object| object["kind"] == "Pod" && object["metadata"]["name"] == name);
                    named.is_some_and(|pod| !pod["metadata"]["deletionTimestamp"].is_null())
                };
                let victims = record.preemption.iter().flat_map(|of| &of.victims);
                let victims = victims.filter(|pod| !is_ending(&pod.name));
                let victims: BTreeSet<String> =
                    victims.map(|pod| format!("{}/{}", pod.namespace, pod.name)).collect();
                same("victims", format!("{victims:?}"), format!("{:?}", names(&expected["victims"])));
                let plugins = format!("{:?}", names(&expected["unschedulablePlugins"]));
                same("plugins", listed(&record.unschedulable_plugins), plugins);
            }
            Decision::Placed { .. } if rebuilt => same("error", String::new(), text("error")),
            Decision::Placed { node, best, .. } => {
                same("error", String::new(), text("error"));
                same("chosen", node.to_string(), text("chosen"));
                same("best", listed(best), format!("{:?}", names(&expected["best"])));
            }
        }
        let detail = record.detail.unwrap_or_default();
        let refused: BTreeMap<String, String> = detail
            .nodes
            .iter()
            .filter_map(|node| Some((node.name.to_string(), node.refused.as_ref()?)))
            .map(|(name, (plugin, status))| {
                let plugin = if plugin.as_str() == "Extender" { "" } else { plugin.as_str() };
                let reasons: BTreeSet<&str> = status.reasons().filter(|reason| !reason.is_empty()).collect();
                (name, format!("{} {plugin} {reasons:?}", status.code.name()))
            })
            .collect();
        for (name, of) in expected["rejected"].as_object().into_iter().flatten() {
            let reasons: BTreeSet<String> = names(&of["reasons"]);
            let reasons: BTreeSet<&String> = reasons.iter().filter(|reason| !reason.is_empty()).collect();
            let plugin = of["plugin"].as_str().unwrap_or_default();
            let theirs = format!("{} {plugin} {reasons:?}", of["code"].as_str().unwrap());
            let known = detail.nodes.iter().any(|node| node.name.as_str() == name);
            if known && !matches!(record.decision, Decision::Error { .. }) {
                same(&format!("refusal of {name}"), refused.get(name).cloned().unwrap_or_default(), theirs);
            }
        }
        for node in &detail.nodes {
            let theirs = expected["total"][node.name.as_str()].as_i64();
            if let Some((total, theirs)) = node.total.filter(|_| !rebuilt).zip(theirs) {
                same(&format!("total of {}", node.name), total.to_string(), theirs.to_string());
            }
        }
        if let Some(chosen) = expected["chosen"].as_str() {
            let mut pod = pod.clone();
            pod["spec"]["nodeName"] = chosen.into();
            objects.push(pod);
        }
    }
    compared
}

fn all(name: &str, cases: &[Value]) {
    let mut wrong = Vec::new();
    let compared: usize = cases.iter().map(|case| compare(case, &mut wrong)).sum();
    println!("{name}: {} cases, {compared} decisions, {} mismatches", cases.len(), wrong.len());
    let shown = std::env::var("BAYPLAN_MISMATCHES").ok().and_then(|text| text.parse().ok()).unwrap_or(8);
    wrong.iter().take(shown).for_each(|one| println!("{one}"));
    assert!(compared > 0 && wrong.is_empty(), "{} mismatches", wrong.len());
}

#[test]
fn attempts_with_extenders_end_as_those_of_kube_scheduler() {
    for version in KubernetesVersion::ALL {
        all("extenders", &recorded(version, "extenders-more"));
    }
}

#[test]
#[ignore = "needs further vectors in BAYPLAN_VECTORS"]
fn further_attempts_with_extenders_end_as_those_of_kube_scheduler() {
    let folder = std::path::PathBuf::from(std::env::var("BAYPLAN_VECTORS").unwrap());
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        if name.starts_with("extenders") && name.ends_with(".jsonl.gz") {
            all(&name, &vectors_of(&path));
        }
    }
}
