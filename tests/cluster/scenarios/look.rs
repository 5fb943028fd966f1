//! What users and tools can see after a step: pods that changed with their places, conditions, nominations, deletions, events, and what happened to
//! claims, volumes and claims of devices. Names that a scheduler draws are masked, ties as the scenario says.

use super::api::Objects;
use super::data::Scenario;
use regex::Regex;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// What is looked at, for one scenario.
pub(crate) struct Looker<'a> {
    pub objects: &'a Objects,
    pub scenario: &'a Scenario,
    /// What was there after the step before.
    pub before: Option<Look>,
}

/// One look.
#[derive(Clone, PartialEq)]
pub(crate) struct Look {
    /// What is compared.
    pub shown: Value,
    /// All pods.
    pods: BTreeMap<String, Value>,
    /// All claims of devices.
    devices: BTreeMap<String, Value>,
    /// All events so far.
    events: BTreeSet<String>,
    /// Whether every pod has a node or a condition.
    pub decided: bool,
}

impl Looker<'_> {
    fn namespaces(&self) -> Vec<String> {
        let steps = std::iter::once(&self.scenario.given).chain(&self.scenario.steps);
        let others = steps.flat_map(|step| step.namespaces.keys().cloned());
        std::iter::once(self.scenario.name.clone()).chain(others).collect()
    }

    pub(crate) fn look(&self) -> Look {
        let (mut pods, mut events, mut claims) = (BTreeMap::new(), BTreeSet::new(), BTreeMap::new());
        let (mut decided, mut places, mut devices) = (true, Vec::new(), BTreeMap::new());
        for namespace in self.namespaces() {
            for pod in self.objects.list(&format!("/api/v1/namespaces/{namespace}/pods")) {
                let name = text(&pod["metadata"]["name"]);
                let is_nominated = pod["status"]["nominatedNodeName"].is_string();
                decided &= pod["spec"]["nodeName"].is_string()
                    || is_nominated
                    || !pod["status"]["conditions"].is_null();
                places.push((name.clone(), text(&pod["spec"]["nodeName"])));
                pods.insert(name.clone(), self.pod(&name, &pod));
            }
            for event in self.objects.list(&format!("/apis/events.k8s.io/v1/namespaces/{namespace}/events")) {
                if event["regarding"]["kind"] == "Pod" {
                    events.insert(self.event(&event));
                }
            }
            for claim in self.objects.list(&format!("/api/v1/namespaces/{namespace}/persistentvolumeclaims"))
            {
                claims.insert(text(&claim["metadata"]["name"]), claim_shown(&claim));
            }
            for claim in
                self.objects.list(&format!("/apis/resource.k8s.io/v1/namespaces/{namespace}/resourceclaims"))
            {
                let name = without_suffix(&text(&claim["metadata"]["name"]));
                devices.insert(name, self.devices_shown(&claim));
            }
        }
        let (mut before, mut said, mut had) = (&BTreeMap::new(), &BTreeSet::new(), &BTreeMap::new());
        if let Some(look) = &self.before {
            (before, said, had) = (&look.pods, &look.events, &look.devices);
        }
        let changed = those_that_changed(before, &pods);
        let gone: Vec<&String> = before.keys().filter(|name| !pods.contains_key(*name)).collect();
        let mut shown = json!({"pods": changed, "events": events.difference(said).collect::<Vec<_>>()});
        if !gone.is_empty() {
            shown["gone"] = json!(gone);
        }
        if !claims.is_empty() {
            shown["claims"] = json!(claims);
        }
        let mut changed = those_that_changed(had, &devices);
        changed
            .extend(had.keys().filter(|name| !devices.contains_key(*name)).map(|name| (name, &Value::Null)));
        if !changed.is_empty() {
            shown["devices"] = json!(changed);
        }
        let volumes = self.objects.list("/api/v1/persistentvolumes");
        if !volumes.is_empty() {
            let volumes: BTreeMap<String, String> = volumes
                .iter()
                .map(|it| (text(&it["metadata"]["name"]), text(&it["spec"]["claimRef"]["name"])))
                .collect();
            shown["volumes"] = json!(volumes);
        }
        if !self.scenario.counts.is_empty() {
            shown["counts"] = self.counts(&places);
        }
        Look { shown, pods, devices, events, decided }
    }

    fn pod(&self, name: &str, pod: &Value) -> Value {
        let mut shown = Map::new();
        if let Some(node) = pod["spec"]["nodeName"].as_str() {
            shown.insert("node".to_owned(), json!(self.masked(name, node)));
        }
        if let Some(node) = pod["status"]["nominatedNodeName"].as_str().filter(|node| !node.is_empty()) {
            shown.insert("nominated".to_owned(), json!(self.masked(name, node)));
        }
        for condition in pod["status"]["conditions"].as_array().into_iter().flatten() {
            let said = ["status", "reason", "message"].map(|field| text(&condition[field]));
            let said: Vec<String> = said.into_iter().filter(|part| !part.is_empty()).collect();
            let said = self.masked(name, &said.join(": "));
            shown.insert(text(&condition["type"]), json!(said));
        }
        if let Some(claim) = pod["status"]["extendedResourceClaimStatus"].as_object() {
            let mut claim = claim.clone();
            claim.insert(
                "resourceClaimName".to_owned(),
                json!(without_suffix(&text(&claim["resourceClaimName"]))),
            );
            shown.insert("extendedResourceClaimStatus".to_owned(), json!(claim));
        }
        if pod["metadata"]["deletionTimestamp"].is_string() {
            shown.insert("deleted".to_owned(), json!(true));
        }
        Value::Object(shown)
    }

    /// A claim of devices: what a scheduler writes, and what drivers say.
    fn devices_shown(&self, claim: &Value) -> Value {
        let (metadata, status) = (&claim["metadata"], &claim["status"]);
        let allocation = &status["allocation"];
        let items = |of: &Value| of.as_array().cloned().unwrap_or_default();
        let results: Vec<String> = items(&allocation["devices"]["results"]).into_iter().map(result).collect();
        // A set: an update appends to it, a patch of one item puts it first.
        let reserved: BTreeSet<String> = items(&status["reservedFor"])
            .iter()
            .map(|of| ["resource", "name", "uid"].map(|field| text(&of[field])).join(" "))
            .collect();
        let conditions: Vec<String> = items(&status["devices"])
            .iter()
            .flat_map(|device| items(&device["conditions"]).into_iter().map(|it| (device.clone(), it)))
            .map(|(device, it)| [&device["device"], &it["type"], &it["status"]].map(text).join(" "))
            .collect();
        let mut shown = Map::new();
        for (key, value) in [
            ("results", &json!(results)),
            ("config", &allocation["devices"]["config"]),
            ("nodes", &allocation["nodeSelector"]["nodeSelectorTerms"]),
            ("has time", &json!(allocation["allocationTimestamp"].is_string())),
            ("reserved", &json!(reserved)),
            ("finalizers", &metadata["finalizers"]),
            ("conditions", &json!(conditions)),
            ("deleted", &json!(metadata["deletionTimestamp"].is_string())),
        ] {
            if !matches!(value, Value::Null | Value::Bool(false))
                && value.as_array().is_none_or(|all| !all.is_empty())
            {
                shown.insert(key.to_owned(), value.clone());
            }
        }
        // A claim that a scheduler made.
        if !metadata["annotations"].is_null() {
            for (key, value) in [
                ("annotations", &metadata["annotations"]),
                ("owners", &metadata["ownerReferences"]),
                ("spec", &claim["spec"]),
            ] {
                shown.insert(key.to_owned(), value.clone());
            }
        }
        let said = self.objects.without_uids(&Value::Object(shown).to_string());
        serde_json::from_str(&said).expect("JSON")
    }

    /// An event without its related object: kube-scheduler 1.36 means to name the preemptor of an evicted pod there, but
    /// its recorder does not know the type. We name it; `preemption.rs` checks that.
    fn event(&self, event: &Value) -> String {
        let name = text(&event["regarding"]["name"]);
        let [kind, reason, action, note] =
            ["type", "reason", "action", "note"].map(|field| text(&event[field]));
        format!("{name}: {kind} {reason} {action}: {}", self.masked(&name, &note))
    }

    /// How many pods each value of a label has: the values themselves are a tie.
    fn counts(&self, places: &[(String, String)]) -> Value {
        let nodes = self.objects.list("/api/v1/nodes");
        let label = |node: &str, key: &str| {
            let node = nodes.iter().find(|it| it["metadata"]["name"] == node);
            node.map(|it| text(&it["metadata"]["labels"][key])).unwrap_or_default()
        };
        let mut all = Map::new();
        for (prefix, key) in &self.scenario.counts {
            let mut per_value: BTreeMap<String, usize> =
                nodes.iter().map(|it| (text(&it["metadata"]["labels"][key]), 0)).collect();
            for (_, node) in places.iter().filter(|(pod, node)| pod.starts_with(prefix) && !node.is_empty()) {
                *per_value.entry(label(node, key)).or_default() += 1;
            }
            let mut counts: Vec<usize> = per_value.into_values().collect();
            counts.sort_unstable();
            all.insert(prefix.clone(), json!(counts));
        }
        Value::Object(all)
    }

    /// A text about a pod without what differs from run to run.
    fn masked(&self, pod: &str, said: &str) -> String {
        let mut said = without_suffix(&self.objects.without_uids(said));
        for (name, nodes) in &self.scenario.ties {
            if name == pod || name.strip_suffix('*').is_some_and(|prefix| pod.starts_with(prefix)) {
                let any = Regex::new(&format!(r"\b({})\b", nodes.join("|"))).expect("names of nodes");
                said = any.replace_all(&said, format!("<{}>", nodes.join("|"))).into_owned();
            }
        }
        said
    }
}

/// Those that are new or other than before.
fn those_that_changed<'a>(
    before: &'a BTreeMap<String, Value>,
    now: &'a BTreeMap<String, Value>,
) -> BTreeMap<&'a String, &'a Value> {
    now.iter().filter(|(name, it)| before.get(*name) != Some(it)).collect()
}

fn claim_shown(claim: &Value) -> Value {
    let mut shown = Map::new();
    for (field, value) in [
        ("volume", &claim["spec"]["volumeName"]),
        ("selected node", &claim["metadata"]["annotations"]["volume.kubernetes.io/selected-node"]),
    ] {
        if value.is_string() {
            shown.insert(field.to_owned(), value.clone());
        }
    }
    Value::Object(shown)
}

/// A device that a claim has, with what else is said of it.
fn result(mut result: Value) -> String {
    let mut said = String::new();
    for (field, end) in [("request", ": "), ("driver", "/"), ("pool", "/"), ("device", "")] {
        said += &format!("{}{end}", text(&result[field]));
    }
    let Some(others) = result.as_object_mut() else { return said };
    others.retain(|field, _| !["request", "driver", "pool", "device"].contains(&field.as_str()));
    if let Some(share) = others.get_mut("shareID") {
        *share = json!("<drawn>");
    }
    if others.is_empty() { said } else { format!("{said} {}", json!(others)) }
}

/// A text without what completes the names of claims for extended resources.
fn without_suffix(said: &str) -> String {
    let drawn = Regex::new(r"(-extended-resources-)[a-z0-9]{5}\b").expect("names of claims");
    drawn.replace_all(said, "${1}*").into_owned()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
