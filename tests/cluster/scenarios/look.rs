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
            for claim in self.objects.list(&format!("/apis/resource.k8s.io/v1/namespaces/{namespace}/resourceclaims"))
            {
                let name = without_suffix(&text(&claim["metadata"]["name"]));
                devices.insert(name, self.devices_shown(&claim));
            }
        }
        let (mut before, mut said) = (&BTreeMap::new(), &BTreeSet::new());
        if let Some(look) = &self.before {
            (before, said) = (&look.pods, &look.events);
        }
        let changed: BTreeMap<&String, &Value> =
            pods.iter().filter(|(name, pod)| before.get(*name) != Some(pod)).collect();
        let gone: Vec<&String> = before.keys().filter(|name| !pods.contains_key(*name)).collect();
        let mut shown = json!({"pods": changed, "events": events.difference(said).collect::<Vec<_>>()});
        if !gone.is_empty() {
            shown["gone"] = json!(gone);
        }
        if !claims.is_empty() {
            shown["claims"] = json!(claims);
        }
        if !devices.is_empty() {
            shown["devices"] = json!(devices);
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
        Look { shown, pods, events, decided }
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
            claim.insert("resourceClaimName".to_owned(), json!(without_suffix(&text(&claim["resourceClaimName"]))));
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
        let mut shown = Map::new();
        let mut show = |key: &str, value: &Value| {
            if !value.is_null() {
                let said = self.objects.without_uids(&value.to_string());
                shown.insert(key.to_owned(), serde_json::from_str(&said).expect("JSON"));
            }
        };
        let mut results = allocation["devices"]["results"].clone();
        for result in results.as_array_mut().into_iter().flatten() {
            if result["shareID"].is_string() {
                result["shareID"] = json!("<drawn>");
            }
        }
        show("results", &results);
        show("config", &allocation["devices"]["config"]);
        show("nodes", &allocation["nodeSelector"]["nodeSelectorTerms"]);
        if allocation["allocationTimestamp"].is_string() {
            show("has time", &json!(true));
        }
        show("reservedFor", &status["reservedFor"]);
        show("finalizers", &metadata["finalizers"]);
        // A claim that a scheduler made.
        if metadata["generateName"].is_string() || !metadata["annotations"].is_null() {
            show("annotations", &metadata["annotations"]);
            show("owners", &metadata["ownerReferences"]);
            show("spec", &claim["spec"]);
        }
        let conditions: Vec<String> = status["devices"]
            .as_array()
            .into_iter()
            .flatten()
            .flat_map(|device| {
                let of = text(&device["device"]);
                let all = device["conditions"].as_array().cloned().unwrap_or_default();
                all.into_iter().map(move |it| format!("{of}: {} {}", text(&it["type"]), text(&it["status"])))
            })
            .collect();
        if !conditions.is_empty() {
            show("conditions", &json!(conditions));
        }
        if metadata["deletionTimestamp"].is_string() {
            show("deleted", &json!(true));
        }
        Value::Object(shown)
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

/// A text without what completes the names of claims for extended resources.
fn without_suffix(said: &str) -> String {
    let drawn = Regex::new(r"(-extended-resources-)[a-z0-9]{5}\b").expect("names of claims");
    drawn.replace_all(said, "${1}*").into_owned()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
