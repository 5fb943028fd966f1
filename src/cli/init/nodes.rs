//! The nodes of the first test: of an example, of a file, or of a live cluster. Of real nodes a few of different shapes are
//! kept, with what decisions read of them.

use super::super::setup::{self, From, Origin};
use super::super::{Output, setup::complain};
use crate::model::Object;
use anyhow::bail;
use serde_json::{Value, json};
use std::path::Path;
#[cfg(feature = "cluster")]
use std::path::PathBuf;

/// How many real nodes are kept.
const KEPT: usize = 5;

/// Where the live cluster is.
#[cfg(feature = "cluster")]
#[derive(clap::Args, Debug)]
pub(super) struct Live {
    /// Kubeconfig of the live cluster [default: the files of `KUBECONFIG`, else `~/.kube/config`].
    #[arg(long, value_name = "FILE", requires = "from_cluster", help_heading = "Live cluster")]
    kubeconfig: Option<PathBuf>,
    /// Context of the kubeconfig [default: the current context].
    #[arg(long, value_name = "NAME", requires = "from_cluster", help_heading = "Live cluster")]
    context: Option<String>,
}

/// Nodes, and the one that takes the pod of the test.
pub(super) struct TestNodes {
    /// All of them, as objects.
    pub objects: Vec<Value>,
    /// The name of the one.
    pub name: String,
    /// Its label `kubernetes.io/hostname`.
    pub hostname: String,
    /// Whether only a pod that tolerates everything may go there.
    pub tainted: bool,
}

/// Three nodes.
pub(super) fn of_example() -> TestNodes {
    let node = |name: &str, cpu: &str, memory: &str| {
        let room = json!({"cpu": cpu, "memory": memory, "pods": "110"});
        json!({
            "apiVersion": "v1", "kind": "Node",
            "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
            "status": {"capacity": room, "allocatable": room, "conditions": [{"type": "Ready", "status": "True"}]},
        })
    };
    let objects =
        vec![node("small-1", "4", "16Gi"), node("small-2", "4", "16Gi"), node("large-1", "32", "256Gi")];
    TestNodes { objects, name: "small-1".into(), hostname: "small-1".into(), tainted: false }
}

/// Nodes of a cluster file.
pub(super) fn of_file(file: &Path, out: &mut Output) -> anyhow::Result<TestNodes> {
    let from = From { cluster: vec![file.to_owned()], ..From::default() };
    chosen(&from, &Origin::Files, out)
}

/// Nodes of a live cluster, of which nothing else is used.
#[cfg(feature = "cluster")]
pub(super) fn of_live(live: &Live, out: &mut Output) -> anyhow::Result<TestNodes> {
    let connection = super::super::live::Connection {
        kubeconfig: live.kubeconfig.clone(),
        context: live.context.clone(),
        impersonate: None,
    };
    // An empty name: no policies are read.
    let from = From { connection, policy_namespaces: vec![String::new()], ..From::default() };
    chosen(&from, &Origin::FilesOrLive, out)
}

/// Some nodes of different shapes.
fn chosen(from: &From, origin: &Origin, out: &mut Output) -> anyhow::Result<TestNodes> {
    let setup = match setup::load(from, origin, out)? {
        Ok(setup) => setup,
        Err(policies) => {
            complain(&policies, out)?;
            bail!("the cluster cannot be read, and nothing was written");
        }
    };
    let nodes = setup.world.objects.iter().filter_map(|object| match object {
        Object::Node(node) => node.raw.as_deref().map(reduced),
        _ => None,
    });
    let mut objects: Vec<Value> = Vec::new();
    for node in nodes.filter(|node| node["metadata"]["labels"]["kubernetes.io/hostname"].is_string()) {
        let shape = |of: &Value| (of["status"]["allocatable"].clone(), of["spec"].clone());
        if objects.len() < KEPT && !objects.iter().any(|known| shape(known) == shape(&node)) {
            objects.push(node);
        }
    }
    let is_open = |of: &&Value| of["spec"] == Value::Null;
    let Some(of) = objects.iter().find(is_open).or(objects.first()) else {
        bail!(
            "the cluster has no node with the label `kubernetes.io/hostname`, and nothing was written: without \
             `--from-cluster` the test has nodes of an example"
        );
    };
    let text = |of: &Value| of.as_str().unwrap_or_default().to_owned();
    let (name, hostname) =
        (text(&of["metadata"]["name"]), text(&of["metadata"]["labels"]["kubernetes.io/hostname"]));
    let tainted = !is_open(&of);
    Ok(TestNodes { objects, name, hostname, tainted })
}

/// What decisions read of a node. Its annotations, addresses and images are not for a repository.
fn reduced(node: &Value) -> Value {
    let mut labels = node["metadata"]["labels"].clone();
    if let Some(labels) = labels.as_object_mut() {
        // The policy that is written reads it.
        labels.remove("example.com/avoid");
    }
    let mut object = json!({
        "apiVersion": "v1", "kind": "Node",
        "metadata": {"name": node["metadata"]["name"], "labels": labels},
        "status": {
            "capacity": node["status"]["capacity"], "allocatable": node["status"]["allocatable"],
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    });
    for field in ["taints", "unschedulable"] {
        if let Some(value) =
            node["spec"].get(field).filter(|value| !value.is_null() && **value != json!(false))
        {
            object["spec"][field] = value.clone();
        }
    }
    object
}
