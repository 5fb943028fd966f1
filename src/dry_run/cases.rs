//! Tests of policies (`*.test.yaml`): pods, a cluster, and what is expected of them. Read strictly: a word that is not
//! known is a mistake, so that a typing error cannot make a test pass. Files are read by `cli`, which hands their
//! texts in; a case is decided by an ordinary dry run.
//!
//! ```yaml
//! policies: [gpu.bay]          # files beside this one
//! cluster: cluster.yaml
//! cases:
//! - name: a job without free GPUs waits
//!   pod: {name: train, requests: {nvidia.com/gpu: 8}}     # in short, in full, or a file
//!   expect: {unschedulable: {reason: Insufficient nvidia.com/gpu, nodes: 3}}
//! - name: two members are no gang of three
//!   pods: [{name: a, labels: {gang: x}}, {name: b, labels: {gang: x}}]
//!   order: [a, b]              # in which they are tried
//!   expect: {a: {waits: gangs}, b: {waits: true}}
//! ```
//!
//! Of a pod may be expected: `node`, `unschedulable` (`true`, or `reason` and the number of `nodes` that give it),
//! `scores` (a node's single scores of policies, before their weights), `waits` at Permit and `gated` (`true`, `false`,
//! or the name of the policy).

use super::{Options, PodReport, Report, Standing, World, place, run};
use crate::diag::{Diagnostic, SourceId, SourceMap, Span, codes};
use crate::lang::sources::bad_yaml;
use crate::model::PodInfo;
use crate::scheduler::{DecisionDetail, Profiles};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A file of tests.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CaseFile {
    /// Files with the policies under test, beside this one.
    #[serde(default)]
    pub policies: Vec<String>,
    /// A file with the cluster, beside this one.
    pub cluster: String,
    /// A KubeSchedulerConfiguration, beside this one.
    #[serde(default)]
    pub config: Option<String>,
    /// What is tested.
    pub cases: Vec<Case>,
    /// Where this was read.
    #[serde(skip)]
    source: Option<SourceId>,
}

/// One test.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// What it shows.
    pub name: String,
    /// The pod: in short, in full, or the name of a file.
    #[serde(default)]
    pod: Option<Value>,
    /// Several pods, tried together.
    #[serde(default)]
    pods: Vec<Value>,
    /// The order in which pods are first tried.
    #[serde(default)]
    order: Vec<String>,
    /// Of the pod; with several pods, by their names.
    expect: Value,
}

/// What is expected of a pod.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Expect {
    #[serde(default)]
    node: Option<String>,
    #[serde(default)]
    unschedulable: Option<Refused>,
    #[serde(default)]
    scores: BTreeMap<String, BTreeMap<String, i64>>,
    #[serde(default)]
    waits: Option<YesOr>,
    #[serde(default)]
    gated: Option<YesOr>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
enum YesOr {
    Yes(bool),
    By(String),
}

#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
enum Refused {
    Yes(bool),
    With(Reason),
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Reason {
    reason: String,
    #[serde(default)]
    nodes: Option<usize>,
}

/// A pod in short.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct ShortPod {
    #[serde(default = "unnamed")]
    name: String,
    #[serde(default = "default_namespace")]
    namespace: String,
    #[serde(default)]
    labels: Map<String, Value>,
    #[serde(default)]
    annotations: Map<String, Value>,
    #[serde(default)]
    requests: Map<String, Value>,
    #[serde(default)]
    limits: Map<String, Value>,
    #[serde(default)]
    image: Option<String>,
    #[serde(default)]
    priority: Option<i32>,
    #[serde(default)]
    node_selector: Map<String, Value>,
    #[serde(default)]
    tolerations: Vec<Value>,
    #[serde(default)]
    scheduler_name: Option<String>,
    #[serde(default)]
    scheduling_gates: Vec<String>,
    /// The node it runs on already.
    #[serde(default)]
    node: Option<String>,
}

fn unnamed() -> String {
    String::from("pod")
}

fn default_namespace() -> String {
    String::from("default")
}

/// What did not come as expected.
#[derive(Clone, PartialEq, Debug)]
pub struct Mismatch {
    /// What was expected, and what came.
    pub message: String,
    /// The expectation.
    pub span: Span,
}

/// Reads a file of tests.
pub fn read(sources: &SourceMap, file: SourceId) -> Result<CaseFile, Box<Diagnostic>> {
    let text = sources.get(file).map(|source| source.shared_text()).unwrap_or_default();
    let options = serde_saphyr::options! { budget: None, strict_booleans: true };
    let read: Result<CaseFile, _> = serde_saphyr::from_str_with_options(&text, options);
    let mut cases = read.map_err(|error| {
        let said = bad_yaml(file, &text, &error);
        let message = said.message.replace("the file is no YAML: ", "the test cannot be read: ");
        Box::new(Diagnostic::new(&codes::BAD_TEST, said.span, message))
    })?;
    cases.source = Some(file);
    for (at, case) in cases.cases.iter().enumerate() {
        let wrong = match (&case.pod, case.pods.is_empty()) {
            (Some(_), false) => Some("a case has `pod` or `pods`, not both"),
            (None, true) => Some("a case needs a `pod`, or `pods`"),
            _ => None,
        };
        let bad = |message: String, path: String| {
            Box::new(Diagnostic::new(&codes::BAD_TEST, span(file, &text, &path), message))
        };
        if let Some(wrong) = wrong {
            return Err(bad(wrong.to_owned(), format!("cases[{at}].name")));
        }
        for (name, expect) in expectations(case) {
            if let Err(error) = Expect::deserialize(expect) {
                let path = match name {
                    Some(name) => format!("cases[{at}].expect.{name}"),
                    None => format!("cases[{at}].expect"),
                };
                return Err(bad(format!("the expectation cannot be read: {error}"), path));
            }
        }
    }
    Ok(cases)
}

fn span(file: SourceId, text: &str, path: &str) -> Span {
    let range = place::find(text, 0, path);
    Span::new(file, range.start, range.end)
}

/// What is expected of each pod, with the pod's name where there are several.
fn expectations(case: &Case) -> Vec<(Option<&str>, &Value)> {
    match (&case.expect, &case.pod) {
        (Value::Object(by_name), None) => {
            by_name.iter().map(|(name, expect)| (Some(name.as_str()), expect)).collect()
        }
        (expect, _) => vec![(None, expect)],
    }
}

impl CaseFile {
    /// The names of files with pods that cases mention, each once.
    pub fn pod_files(&self) -> Vec<&str> {
        let all = self.cases.iter().flat_map(|case| case.pod.iter().chain(&case.pods));
        let mut names: Vec<&str> = all.filter_map(Value::as_str).collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// Runs one of the cases on the cluster. `pod_file` gives the objects of a file that a case mentions. Nothing comes
    /// back when all is as expected; `Err` when the case itself is wrong.
    pub fn run_case(
        &self,
        sources: &SourceMap,
        at: usize,
        cluster: &World,
        profiles: &Arc<Profiles>,
        pod_file: &dyn Fn(&str) -> Option<Value>,
    ) -> Result<Vec<Mismatch>, Box<Diagnostic>> {
        let Some((case, file)) = self.cases.get(at).zip(self.source) else { return Ok(Vec::new()) };
        let text = sources.get(file).map(|source| source.shared_text()).unwrap_or_default();
        let bad = |message: String, path: &str| {
            let path = format!("cases[{at}].{path}");
            Box::new(Diagnostic::new(&codes::BAD_TEST, span(file, &text, &path), message))
        };
        let mut world = cluster.clone();
        // Pods of the cluster that wait are no part of the test.
        world.pending.clear();
        for (place, pod) in case.pod.iter().chain(&case.pods).enumerate() {
            let path = if case.pod.is_some() { String::from("pod") } else { format!("pods[{place}]") };
            let pod = read_pod(pod, pod_file).map_err(|message| bad(message, &path))?;
            world.add(crate::model::Object::Pod(Arc::new(pod)));
        }
        world.add_missing_namespaces();
        let report = run(&world, profiles.clone(), &Options::default());
        let mut mismatches = Vec::new();
        let mut differ = |path: &str, message: Option<String>| {
            let path = format!("cases[{at}].{path}");
            mismatches.extend(message.map(|message| Mismatch { message, span: span(file, &text, &path) }));
        };
        for (name, expect) in expectations(case) {
            let path = name.map_or_else(|| String::from("expect"), |name| format!("expect.{name}"));
            let expect = Expect::deserialize(expect).map_err(|error| bad(error.to_string(), &path))?;
            let of = report.pods.iter().find(|pod| name.is_none_or(|name| pod.pod.name.as_str() == name));
            let Some(pod) = of else { return Err(bad(String::from("the case has no such pod"), &path)) };
            compare(&expect, pod, &mut |field, message| differ(&format!("{path}.{field}"), message));
        }
        if !case.order.is_empty() {
            differ("order", order(&case.order, &report));
        }
        Ok(mismatches)
    }
}

fn read_pod(value: &Value, pod_file: &dyn Fn(&str) -> Option<Value>) -> Result<PodInfo, String> {
    let full = match value {
        Value::String(name) => pod_file(name).ok_or_else(|| format!("there is no pod in `{name}`"))?,
        Value::Object(object) if object.contains_key("spec") || object.contains_key("metadata") => {
            value.clone()
        }
        _ => {
            let short =
                ShortPod::deserialize(value).map_err(|error| format!("the pod cannot be read: {error}"))?;
            let gates: Vec<Value> = short.scheduling_gates.iter().map(|name| json!({"name": name})).collect();
            let main = json!({
                "name": "main",
                "image": short.image.as_deref().unwrap_or("main"),
                "resources": {"requests": short.requests, "limits": short.limits},
            });
            json!({
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {
                    "name": short.name,
                    "namespace": short.namespace,
                    "labels": short.labels,
                    "annotations": short.annotations,
                },
                "spec": {
                    "containers": [main],
                    "priority": short.priority,
                    "nodeSelector": short.node_selector,
                    "tolerations": short.tolerations,
                    "schedulerName": short.scheduler_name,
                    "schedulingGates": gates,
                    "nodeName": short.node,
                },
                "status": {"phase": "Pending"},
            })
        }
    };
    PodInfo::from_value(Arc::new(full)).map_err(|error| format!("`{}`: {}", error.path, error.reason))
}

/// Where a pod stands, in words.
fn stands(pod: &PodReport) -> String {
    match &pod.standing {
        Standing::Bound(node) => format!("the pod is placed on `{node}`"),
        Standing::Waiting { message } => format!("the pod waits: {message}"),
        Standing::Gated { by } => format!("the pod is kept out of the queue by `{by}`"),
        Standing::Failing { message } => format!("the attempt fails: {message}"),
        Standing::AtPermit { node, .. } => format!("the pod waits at permit for `{node}`"),
        Standing::NotOurs => String::from("no profile serves the pod's `schedulerName`"),
        Standing::Terminating => String::from("the pod is being deleted"),
    }
}

fn compare(expect: &Expect, pod: &PodReport, differ: &mut dyn FnMut(&str, Option<String>)) {
    let detail = pod.decisions.first().and_then(|decision| decision.detail.as_ref());
    if let Some(node) = &expect.node {
        let there = matches!(&pod.standing, Standing::Bound(at) if at.as_str() == node);
        differ("node", (!there).then(|| format!("expected on `{node}`; {}", stands(pod))));
    }
    match &expect.unschedulable {
        None => {}
        Some(Refused::Yes(expected)) => {
            let waits = matches!(pod.standing, Standing::Waiting { .. });
            let word = if *expected { "to wait" } else { "not to wait" };
            differ(
                "unschedulable",
                (waits != *expected).then(|| format!("expected {word}; {}", stands(pod))),
            );
        }
        Some(Refused::With(reason)) => differ("unschedulable", refused(reason, pod, detail)),
    }
    for (node, scores) in &expect.scores {
        for (name, expected) in scores {
            let came = score(detail, node, name);
            let text = came.map_or_else(|| String::from("there is none"), |came| came.to_string());
            let wrong =
                (came != Some(*expected)).then(|| format!("expected {name} {expected} for `{node}`; {text}"));
            differ(&format!("scores.{node}.{name}"), wrong);
        }
    }
    if let Some(expected) = &expect.waits {
        let by: Vec<&str> = pod
            .waited
            .iter()
            .flat_map(|waited| waited.plugins.iter().map(|(name, _)| name.as_str()))
            .collect();
        let holds = match expected {
            YesOr::Yes(yes) => *yes == pod.waited.is_some(),
            YesOr::By(name) => by.contains(&name.as_str()),
        };
        let text =
            if by.is_empty() { String::from("it waits for nobody") } else { format!("it waits for {by:?}") };
        differ("waits", (!holds).then(|| format!("at permit {text}; {}", stands(pod))));
    }
    if let Some(expected) = &expect.gated {
        let by = match &pod.standing {
            Standing::Gated { by } => Some(by.as_str()),
            _ => None,
        };
        let holds = match expected {
            YesOr::Yes(yes) => *yes == by.is_some(),
            YesOr::By(name) => by == Some(name.as_str()),
        };
        differ("gated", (!holds).then(|| stands(pod)));
    }
}

/// Whether the pod was refused for a reason, by as many nodes as expected.
fn refused(expected: &Reason, pod: &PodReport, detail: Option<&DecisionDetail>) -> Option<String> {
    let nodes = detail.map(|detail| detail.nodes.as_slice()).unwrap_or_default();
    let gives = |node: &&crate::scheduler::NodeDetail| {
        let refused = node.refused.as_ref();
        refused.is_some_and(|(_, status)| status.reasons().any(|reason| reason == expected.reason))
    };
    let count = nodes.iter().filter(gives).count();
    // A refusal after a node was chosen has no nodes; it is in the text.
    let said = matches!(&pod.standing, Standing::Waiting { message } if message.contains(&expected.reason));
    let placed = matches!(pod.standing, Standing::Bound(_));
    match expected.nodes {
        _ if placed => Some(format!("expected to wait; {}", stands(pod))),
        None if said || count > 0 => None,
        Some(nodes) if nodes == count => None,
        Some(nodes) => {
            Some(format!("expected {nodes} nodes to say `{}`, {count} do; {}", expected.reason, stands(pod)))
        }
        None => Some(format!("nobody says `{}`; {}", expected.reason, stands(pod))),
    }
}

/// The single score of a policy for a node, by `SCORE` or `POLICY/SCORE`.
fn score(detail: Option<&DecisionDetail>, node: &str, name: &str) -> Option<i64> {
    let node = detail?.nodes.iter().find(|of| of.name.as_str() == node)?;
    let named = |of: &&crate::scheduler::PluginScore| {
        of.parts.iter().find_map(|part| {
            let whole = format!("{}/{}", of.plugin, part.name);
            (part.name.as_str() == name || whole == name).then_some(part.score)
        })
    };
    node.scores.iter().find_map(|of| named(&of))
}

fn order(expected: &[String], report: &Report) -> Option<String> {
    let tried: Vec<&str> = report
        .tried
        .iter()
        .filter_map(|at| report.pods.get(*at))
        .map(|pod| pod.pod.name.as_str())
        .filter(|name| expected.iter().any(|expected| expected == name))
        .collect();
    (tried != *expected).then(|| format!("the pods were tried in the order {}", tried.join(", ")))
}
