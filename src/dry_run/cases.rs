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

use super::because::{Asked, Because};
use super::coverage::Witness;
use super::{Options, PodReport, Report, Standing, World, place, run_watched};
use crate::diag::{Diagnostic, SourceId, SourceMap, Span, codes};
use crate::lang::eval::coverage::Coverage;
use crate::lang::policy_set::PolicySet;
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
    /// What was expected.
    pub expected: String,
    /// What came.
    pub got: String,
    /// The rules that made the difference, with their values.
    pub because: Vec<Because>,
    /// The expectation.
    pub span: Span,
}

/// What cases are run on.
pub struct Bench<'a> {
    /// The text of the cases.
    pub sources: &'a SourceMap,
    /// The cluster of the file.
    pub cluster: &'a World,
    /// The profiles with the policies in them.
    pub profiles: &'a Arc<Profiles>,
    /// The policies among the plugins.
    pub policies: &'a PolicySet,
    /// The objects of the files that cases mention.
    pub pod_file: &'a dyn Fn(&str) -> Option<Value>,
}

/// What became of a case.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Ended {
    /// What did not come as expected; nothing when the case passed.
    pub mismatches: Vec<Mismatch>,
    /// Every pod with every rule on every node, where that was asked for.
    pub account: Vec<(String, Vec<Because>)>,
}

/// Names the field that was meant, where the message says which fields there are.
fn with_near_field(said: Diagnostic) -> Diagnostic {
    let near = said.message.split_once("unknown field `").and_then(|(_, rest)| {
        let (word, rest) = rest.split_once('`')?;
        let (_, names) = rest.split_once("expected ")?;
        let names = names.trim_start_matches("one of ").split(", ").map(|name| name.trim_matches('`'));
        crate::diag::suggest::nearest(word, names).map(str::to_owned)
    });
    match near {
        Some(near) => said.with_help(format!("did you mean `{near}`?")),
        None => said,
    }
}

/// Reads a file of tests.
pub fn read(sources: &SourceMap, file: SourceId) -> Result<CaseFile, Box<Diagnostic>> {
    let text = sources.get(file).map(|source| source.shared_text()).unwrap_or_default();
    let options = serde_saphyr::options! { budget: None, strict_booleans: true };
    let read: Result<CaseFile, _> = serde_saphyr::from_str_with_options(&text, options);
    let mut cases = read.map_err(|error| {
        let said = bad_yaml(file, &text, &error);
        let message = said.message.replace("the file is no YAML: ", "the test cannot be read: ");
        Box::new(with_near_field(Diagnostic::new(&codes::BAD_TEST, said.span, message)))
    })?;
    cases.source = Some(file);
    for (at, case) in cases.cases.iter().enumerate() {
        let wrong = match (&case.pod, case.pods.is_empty()) {
            (Some(_), false) => Some("a case has `pod` or `pods`, not both"),
            (None, true) => Some("a case needs a `pod`, or `pods`"),
            _ => None,
        };
        let bad = |message: String, path: String| {
            Box::new(with_near_field(Diagnostic::new(&codes::BAD_TEST, span(file, &text, &path), message)))
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

    /// The name of a case, where it is written.
    pub fn place(&self, sources: &SourceMap, at: usize) -> Span {
        let Some(file) = self.source else { return Span::default() };
        let text = sources.get(file).map(|source| source.shared_text()).unwrap_or_default();
        span(file, &text, &format!("cases[{at}].name"))
    }

    /// Runs one of the cases. What it asks of the policies is noted in `coverage`. `Err` when the case itself is wrong.
    pub fn run_case(
        &self,
        at: usize,
        bench: &Bench,
        coverage: &mut Coverage,
        account: bool,
    ) -> Result<Ended, Box<Diagnostic>> {
        let Some((case, file)) = self.cases.get(at).zip(self.source) else { return Ok(Ended::default()) };
        let text = bench.sources.get(file).map(|source| source.shared_text()).unwrap_or_default();
        let bad = |message: String, path: &str| {
            let path = format!("cases[{at}].{path}");
            Box::new(with_near_field(Diagnostic::new(&codes::BAD_TEST, span(file, &text, &path), message)))
        };
        let mut world = bench.cluster.clone();
        // Pods of the cluster that wait are no part of the test.
        world.pending.clear();
        for (place, pod) in case.pod.iter().chain(&case.pods).enumerate() {
            let path = if case.pod.is_some() { String::from("pod") } else { format!("pods[{place}]") };
            let pod = read_pod(pod, bench.pod_file).map_err(|message| bad(message, &path))?;
            world.add(crate::model::Object::Pod(Arc::new(pod)));
        }
        world.add_missing_namespaces();
        let mut witness = Witness::new(bench.policies, bench.profiles, coverage);
        let report = run_watched(&world, bench.profiles.clone(), &Options::default(), Some(&mut witness));
        let now = crate::model::Time(report.elapsed.0);
        witness.ended(report.scheduler.fork(), now, &world.pending);
        let mut ended = Ended::default();
        for (name, expect) in expectations(case) {
            let path = name.map_or_else(|| String::from("expect"), |name| format!("expect.{name}"));
            let expect = Expect::deserialize(expect).map_err(|error| bad(error.to_string(), &path))?;
            let of = report.pods.iter().find(|pod| name.is_none_or(|name| pod.pod.name.as_str() == name));
            let Some(pod) = of else { return Err(bad(String::from("the case has no such pod"), &path)) };
            if pod.standing == Standing::NotOurs {
                let message = format!("nobody serves `{}`", pod.pod.scheduler_name);
                let names = bench.profiles.frameworks.iter().map(|of| of.scheduler_name.as_str());
                let near = crate::diag::suggest::nearest(&pod.pod.scheduler_name, names);
                let said = bad(message, if case.pod.is_some() { "pod.schedulerName" } else { "pods" });
                let help = near.map(|near| format!("did you mean `{near}`?"));
                return Err(Box::new(Diagnostic { help, ..*said }));
            }
            if let Some((field, message, help)) = nameless(&expect, pod, &world, bench) {
                let said = bad(message, &format!("{path}.{field}"));
                return Err(Box::new(Diagnostic { help, ..*said }));
            }
            compare(
                &expect,
                &Seen { pod, witness: &witness, policies: bench.policies },
                &mut |field, wrong| {
                    let path = format!("cases[{at}].{path}.{field}");
                    ended.mismatches.push(Mismatch { span: span(file, &text, &path), ..wrong });
                },
            );
        }
        if let Some(wrong) = order(&case.order, &report) {
            let span = span(file, &text, &format!("cases[{at}].order"));
            ended.mismatches.push(Mismatch { span, ..wrong });
        }
        if account {
            let told = report.pods.iter().map(|pod| {
                let seen = Seen { pod, witness: &witness, policies: bench.policies };
                let all = seen.at_first().or(seen.at_end()).map(|asked| asked.all()).unwrap_or_default();
                (format!("{}: {}", pod.pod.name, stands(pod)), all)
            });
            ended.account = told.collect();
        }
        Ok(ended)
    }
}

/// A name in an expectation that nothing has: the field, what is wrong, and what may be meant.
/// Such a case can neither fail nor pass.
fn nameless(
    expect: &Expect,
    pod: &PodReport,
    world: &World,
    bench: &Bench,
) -> Option<(String, String, Option<String>)> {
    let nodes: Vec<&str> = world
        .objects
        .iter()
        .filter_map(|object| match object {
            crate::model::Object::Node(node) => Some(node.name.as_str()),
            _ => None,
        })
        .collect();
    let near = |name: &str, known: &[&str]| {
        let near = crate::diag::suggest::nearest(name, known.iter().copied());
        near.map(|near| format!("did you mean `{near}`?"))
    };
    let wanted = expect.node.iter().map(|name| ("node".to_owned(), name));
    let scored = expect.scores.keys().map(|name| (format!("scores.{name}"), name));
    for (field, name) in wanted.chain(scored) {
        if !nodes.contains(&name.as_str()) {
            let near = near(name, &nodes);
            return Some((field, format!("no node of the cluster is called `{name}`"), near));
        }
    }
    let scores: Vec<String> = bench
        .policies
        .iter()
        .flat_map(|policy| {
            let own = policy.policy.scores.iter();
            own.flat_map(|score| [score.name.to_string(), format!("{}/{}", policy.name(), score.name)])
        })
        .collect();
    let known: Vec<&str> = scores.iter().map(String::as_str).collect();
    for (node, of_node) in &expect.scores {
        if let Some(name) = of_node.keys().find(|name| !known.contains(&name.as_str())) {
            let near = near(name, &known);
            return Some((format!("scores.{node}.{name}"), format!("no policy has a score `{name}`"), near));
        }
    }
    let framework = bench.profiles.get(&pod.pod.scheduler_name);
    let plugins = framework.map(|framework| framework.plugins()).unwrap_or_default();
    let names: Vec<&str> = plugins.iter().map(|plugin| plugin.name()).collect();
    for (field, by) in [("waits", &expect.waits), ("gated", &expect.gated)] {
        if let Some(YesOr::By(name)) = by
            && !names.contains(&name.as_str())
        {
            let near = near(name, &names);
            return Some((field.to_owned(), format!("no policy or plugin is called `{name}`"), near));
        }
    }
    None
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
        Standing::Bound(node) => node.to_string(),
        Standing::Waiting { message } => format!("waits: {message}"),
        Standing::Gated { by } => format!("is kept out of the queue by {by}"),
        Standing::Failing { message } => format!("the attempt fails: {message}"),
        Standing::AtPermit { node, .. } => format!("waits at permit for {node}"),
        Standing::NotOurs => {
            format!("is not ours: no profile is called `{}`", pod.pod.scheduler_name)
        }
        Standing::Terminating => String::from("is being deleted"),
    }
}

/// One pod of a case with what was seen of it.
struct Seen<'a> {
    pod: &'a PodReport,
    witness: &'a Witness<'a>,
    policies: &'a PolicySet,
}

impl<'a> Seen<'a> {
    fn at_first(&self) -> Option<Asked<'a>> {
        Asked::of(self.pod, self.policies, self.witness.first.get(&self.pod.pod.key), false)
    }

    fn at_last(&self) -> Option<Asked<'a>> {
        Asked::of(self.pod, self.policies, self.witness.last.get(&self.pod.pod.key), true)
    }

    fn at_end(&self) -> Option<Asked<'a>> {
        Asked::of(self.pod, self.policies, self.witness.end.as_ref(), true)
    }

    fn wrong(&self, expected: String, because: Vec<Because>) -> Mismatch {
        Mismatch { expected, got: stands(self.pod), because, span: Span::default() }
    }
}

fn compare(expect: &Expect, seen: &Seen, differ: &mut dyn FnMut(&str, Mismatch)) {
    let pod = seen.pod;
    let detail = pod.decisions.first().and_then(|decision| decision.detail.as_ref());
    if let Some(node) = &expect.node
        && !matches!(&pod.standing, Standing::Bound(at) if at.as_str() == node)
    {
        let because = seen.at_last().map(|asked| match &pod.standing {
            Standing::Bound(chosen) => {
                let refused = asked.refused(node);
                if refused.is_empty() { asked.outscored(node, chosen) } else { refused }
            }
            Standing::Gated { .. } => asked.gates(),
            _ => asked.refused(node),
        });
        let gated = matches!(pod.standing, Standing::Gated { .. });
        let because = because.or_else(|| seen.at_end().filter(|_| gated).map(|asked| asked.gates()));
        differ("node", seen.wrong(node.clone(), because.unwrap_or_default()));
    }
    match &expect.unschedulable {
        None => {}
        Some(Refused::Yes(expected)) if matches!(pod.standing, Standing::Waiting { .. }) == *expected => {}
        Some(Refused::Yes(expected)) => {
            let word = if *expected { "waits" } else { "does not wait" };
            let because = seen.at_last().map(|asked| match &pod.standing {
                Standing::Bound(node) => asked.let_in(node),
                _ => pod_refusals(&asked),
            });
            differ("unschedulable", seen.wrong(word.to_owned(), because.unwrap_or_default()));
        }
        Some(Refused::With(reason)) => {
            if let Some(wrong) = refused(reason, seen, detail) {
                differ("unschedulable", wrong);
            }
        }
    }
    for (node, scores) in &expect.scores {
        for (name, expected) in scores {
            let came = score(detail, node, name);
            if came == Some(*expected) {
                continue;
            }
            let because = seen.at_first().map(|asked| asked.score(node, name)).unwrap_or_default();
            let got = came.map_or_else(|| String::from("none"), |came| came.to_string());
            let expected = format!("{name} {expected} on {node}");
            let wrong = Mismatch { expected, got, because, span: Span::default() };
            differ(&format!("scores.{node}.{name}"), wrong);
        }
    }
    if let Some(expected) = &expect.waits {
        let by: Vec<&str> = pod
            .waited
            .iter()
            .flat_map(|waited| waited.plugins.iter().map(|(name, _)| name.as_str()))
            .collect();
        let (holds, word) = match expected {
            YesOr::Yes(yes) => (
                *yes == pod.waited.is_some(),
                if *yes { "waits at permit".to_owned() } else { "does not wait at permit".to_owned() },
            ),
            YesOr::By(name) => (by.contains(&name.as_str()), format!("waits at permit for {name}")),
        };
        if !holds {
            let mut got = match &by[..] {
                [] => String::from("waits at permit for nobody"),
                some => format!("waits at permit for {}", some.join(", ")),
            };
            got.push_str(&match &pod.standing {
                Standing::Bound(node) => format!(", placed on {node}"),
                Standing::AtPermit { .. } => String::new(),
                _ => format!(", {}", stands(pod)),
            });
            let node = pod.waited.as_ref().map(|waited| &waited.node).or(match &pod.standing {
                Standing::Bound(node) | Standing::AtPermit { node, .. } => Some(node),
                _ => None,
            });
            let because = seen.at_end().map(|asked| asked.waits(node.map(|node| node.as_str())));
            let because = because.filter(|_| node.is_some()).unwrap_or_default();
            differ("waits", Mismatch { expected: word, got, because, span: Span::default() });
        }
    }
    if let Some(expected) = &expect.gated {
        let by = match &pod.standing {
            Standing::Gated { by } => Some(by.as_str()),
            _ => None,
        };
        let (holds, word) = match expected {
            YesOr::Yes(true) => (by.is_some(), "is kept out of the queue".to_owned()),
            YesOr::Yes(false) => (by.is_none(), "is let into the queue".to_owned()),
            YesOr::By(name) => (by == Some(name.as_str()), format!("is kept out of the queue by {name}")),
        };
        if !holds {
            let because = seen.at_end().map(|asked| asked.gates()).unwrap_or_default();
            differ("gated", seen.wrong(word, because));
        }
    }
}

/// Why each node refuses the pod; of many nodes the first three.
fn pod_refusals(asked: &Asked) -> Vec<Because> {
    asked.nodes.iter().flat_map(|node| asked.refused(&node.name)).take(3).collect()
}

/// Whether the pod was refused for a reason, by as many nodes as expected.
fn refused(expected: &Reason, seen: &Seen, detail: Option<&DecisionDetail>) -> Option<Mismatch> {
    let pod = seen.pod;
    let reason = &expected.reason;
    let nodes = detail.map(|detail| detail.nodes.as_slice()).unwrap_or_default();
    let gives = |node: &&crate::scheduler::NodeDetail| {
        let refused = node.refused.as_ref();
        refused.is_some_and(|(_, status)| status.reasons().any(|known| known == reason))
    };
    let count = nodes.iter().filter(gives).count();
    // A refusal after a node was chosen has no nodes; it is in the text.
    let said = matches!(&pod.standing, Standing::Waiting { message } if message.contains(reason));
    let on = |nodes: usize| if nodes == 1 { "on 1 node".to_owned() } else { format!("on {nodes} nodes") };
    let words = match expected.nodes {
        Some(nodes) => format!("waits, {}: {reason}", on(nodes)),
        None => format!("waits: {reason}"),
    };
    if let Standing::Bound(node) = &pod.standing {
        let because = seen.at_last().map(|asked| asked.passed(node, reason)).unwrap_or_default();
        return Some(seen.wrong(words, because));
    }
    let as_expected = match expected.nodes {
        None => said || count > 0,
        Some(nodes) => nodes == count,
    };
    if as_expected {
        return None;
    }
    let because = seen.at_first().map(|asked| asked.one_without(reason)).unwrap_or_default();
    let mut wrong = seen.wrong(words, because);
    if expected.nodes.is_some() {
        wrong.got = format!("{} {}", on(count), wrong.got);
    }
    Some(wrong)
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

fn order(expected: &[String], report: &Report) -> Option<Mismatch> {
    if expected.is_empty() {
        return None;
    }
    let tried: Vec<&str> = report
        .tried
        .iter()
        .filter_map(|at| report.pods.get(*at))
        .map(|pod| pod.pod.name.as_str())
        .filter(|name| expected.iter().any(|expected| expected == name))
        .collect();
    let words = |names: &[&str]| format!("tried in the order {}", names.join(", "));
    let wanted: Vec<&str> = expected.iter().map(String::as_str).collect();
    (tried != wanted).then(|| Mismatch {
        expected: words(&wanted),
        got: words(&tried),
        because: Vec::new(),
        span: Span::default(),
    })
}
