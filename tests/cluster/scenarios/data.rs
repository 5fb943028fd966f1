//! A scenario as data: the files of `cases`. What kube-scheduler of a version did is in a folder of the version beside
//! them.
//!
//! A file has a configuration and scenarios that run under it one after the other on one API server, each with nodes
//! and a namespace of its own. A scenario creates its objects, waits until the scheduler has seen them, and makes its
//! steps; after each step `look.rs` says what is looked at.

use crate::support::binaries::kubernetes;
use serde::Deserialize;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A file of `cases`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Group {
    /// The end of the KubeSchedulerConfiguration, from `profiles:` on; `${EXTENDER}` is the URL of the extender.
    #[serde(default)]
    pub config: String,
    pub scenarios: Vec<Scenario>,
}

/// One scenario.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Scenario {
    /// Its name and the name of its namespace.
    pub name: String,
    /// What it shows.
    #[serde(rename = "shows")]
    pub _shows: String,
    /// The only version that it is of.
    #[serde(default)]
    pub only: Option<String>,
    /// Another configuration than the one of the file.
    #[serde(default)]
    pub config: Option<String>,
    /// What the extender answers.
    #[serde(default)]
    pub extender: Extender,
    /// What there is before the first step.
    #[serde(default)]
    pub given: Step,
    pub steps: Vec<Step>,
    /// Nodes between which the place of a pod is a tie. A name that ends with `*` stands for the pods that begin so.
    #[serde(default)]
    pub ties: BTreeMap<String, Vec<String>>,
    /// Pods per value of a node label are counted instead of their places: pods that begin with the name, and the key.
    #[serde(default)]
    pub counts: BTreeMap<String, String>,
    /// Where we differ from kube-scheduler on purpose.
    #[serde(default)]
    pub differs: Vec<Difference>,
}

/// A difference on purpose.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Difference {
    /// The only version of which it is.
    #[serde(default)]
    pub only: Option<String>,
    /// The step, from 1.
    pub step: usize,
    /// A JSON pointer into what is looked at.
    pub at: String,
    /// What is there with us; nothing: there is nothing.
    #[serde(default)]
    pub is: Value,
    /// The reason.
    #[serde(rename = "because")]
    pub _because: String,
}

/// What is done at once.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Step {
    /// What it does, in words.
    #[serde(default)]
    pub does: String,
    /// Namespaces and their labels.
    #[serde(default)]
    pub namespaces: BTreeMap<String, Map<String, Value>>,
    /// Objects of other kinds, as the API takes them. `apiVersion` and the namespace may be left out; `<uid of NAME>`
    /// stands for the UID of a pod.
    #[serde(default)]
    pub objects: Vec<Value>,
    #[serde(default)]
    pub nodes: Vec<NodeData>,
    #[serde(default)]
    pub pods: Vec<PodData>,
    #[serde(default)]
    pub change: Vec<Change>,
    /// Objects as `KIND/NAME`.
    #[serde(default)]
    pub delete: Vec<String>,
    /// Seconds in which nothing may happen afterwards.
    #[serde(default)]
    pub quiet: f64,
    /// After how many seconds in which nothing happens the step has ended when it is recorded, also while a pod is
    /// undecided.
    #[serde(default)]
    pub ends: Option<f64>,
}

/// A merge patch, with `<uid of NAME>` as in objects.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Change {
    /// The object as `KIND/NAME`.
    pub of: String,
    pub to: Value,
    /// Whether it changes the status.
    #[serde(default)]
    pub status: bool,
    /// Whether it resizes a pod.
    #[serde(default)]
    pub resize: bool,
}

/// A Ready node.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct NodeData {
    pub name: String,
    /// How many there are, named `NAME-0` and so on; nothing: one with the name alone.
    #[serde(default)]
    pub times: Option<usize>,
    /// 4 CPUs, 8Gi of memory and 110 pods unless stated otherwise.
    #[serde(default)]
    pub capacity: BTreeMap<String, String>,
    #[serde(default)]
    pub zone: String,
    #[serde(default)]
    pub labels: Map<String, Value>,
    /// As `KEY=VALUE:EFFECT`.
    #[serde(default)]
    pub taints: Vec<String>,
    /// Merged into the object.
    #[serde(default)]
    pub more: Value,
}

/// A pod of one container.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PodData {
    pub name: String,
    /// Further pods that are alike.
    #[serde(default)]
    pub alike: Vec<String>,
    #[serde(default)]
    pub namespace: String,
    /// The node that it runs on already.
    #[serde(default)]
    pub on: Option<String>,
    #[serde(default)]
    pub requests: BTreeMap<String, String>,
    /// A PriorityClass of `api.rs`.
    #[serde(default)]
    pub class: Option<String>,
    #[serde(default)]
    pub labels: Map<String, Value>,
    /// Claims that it mounts.
    #[serde(default)]
    pub claims: Vec<String>,
    /// Merged into the specification.
    #[serde(default)]
    pub spec: Value,
    /// Merged into the metadata.
    #[serde(default)]
    pub metadata: Value,
}

/// What the extender answers.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Extender {
    /// Nodes that it refuses, and why.
    #[serde(default)]
    pub refuses: BTreeMap<String, String>,
    /// Nodes that it refuses whatever is preempted, and why.
    #[serde(default)]
    pub never: BTreeMap<String, String>,
    #[serde(default)]
    pub scores: BTreeMap<String, i64>,
    /// Nodes whose pods it does not let a preemption evict.
    #[serde(default)]
    pub spares: Vec<String>,
    /// An error instead of an answer to `filter`.
    #[serde(default)]
    pub error: String,
    /// Another status of HTTP.
    #[serde(default)]
    pub status: Option<u16>,
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cluster/scenarios/cases")
}

impl Group {
    /// The names of all files.
    pub(crate) fn names() -> Vec<String> {
        let files = std::fs::read_dir(folder()).expect("the folder of scenarios");
        let names = files.map(|file| file.expect("a file").file_name().to_string_lossy().into_owned());
        let mut names: Vec<String> =
            names.filter_map(|name| Some(name.strip_suffix(".yaml")?.to_owned())).collect();
        names.sort();
        names
    }

    /// The scenarios of a file, those for the version that the tests run with.
    #[track_caller]
    pub(crate) fn read(name: &str) -> Self {
        let text =
            std::fs::read_to_string(folder().join(format!("{name}.yaml"))).expect("a file of scenarios");
        let mut group: Self =
            serde_saphyr::from_str(&text).unwrap_or_else(|error| panic!("{name}.yaml: {error}"));
        let is_tested = |only: &Option<String>| only.as_ref().is_none_or(|only| *only == kubernetes());
        group.scenarios.retain(|scenario| is_tested(&scenario.only));
        for scenario in &mut group.scenarios {
            scenario.differs.retain(|difference| is_tested(&difference.only));
        }
        group
    }
}

/// What kube-scheduler did: for each scenario what was seen after each step.
pub(crate) type Recorded = BTreeMap<String, Vec<Value>>;

/// Where that is, for the version that the tests run with.
fn recording(name: &str) -> PathBuf {
    folder().join(kubernetes()).join(format!("{name}.json"))
}

pub(crate) fn recorded(name: &str) -> Recorded {
    match std::fs::read_to_string(recording(name)) {
        Ok(text) => serde_json::from_str(&text).expect("what kube-scheduler did"),
        Err(_) => Recorded::new(),
    }
}

pub(crate) fn record(name: &str, all: &Recorded) {
    let text = serde_json::to_string_pretty(all).expect("JSON") + "\n";
    std::fs::write(recording(name), text).expect("writing what kube-scheduler did");
}
