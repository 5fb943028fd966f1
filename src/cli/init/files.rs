//! The files of a new repository. Workflow and hooks are those of `examples/ci`, which tests run as they are.

use super::super::output::yaml;
use super::nodes::TestNodes;

/// Where the files are.
pub(super) const PATHS: [&str; 7] = [
    "bayplan.yaml",
    "policies/avoid-nodes.bay",
    "policies/avoid-nodes.test.yaml",
    "policies/kustomization.yaml",
    "snapshot.yaml",
    ".github/workflows/policies.yaml",
    ".pre-commit-config.yaml",
];

const PROJECT: &str = "# What `bayplan lint` and `bayplan test` ask of this repository, here and in CI.
lint:
  deny: [warnings]
test:
  min-coverage: 100
";

const POLICY: &str = "/// Nodes that are being emptied take no new pods.
policy avoid-nodes {
  /// `kubectl label node NAME example.com/avoid=true` begins it, `example.com/avoid-` ends it.
  filter not-avoided {
    reject \"the node is being emptied\" when node.labels[\"example.com/avoid\"] == \"true\"
  }
}
";

const KUSTOMIZATION: &str = "# kubectl apply -k policies
apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
namespace: bayplan-policies
configMapGenerator:
- name: avoid-nodes
  files: [avoid-nodes.bay]
  options: {labels: {bayplan.dev/policy: \"\"}}
generatorOptions: {disableNameSuffixHash: true}
";

/// The files with their texts.
pub(super) fn all(nodes: &TestNodes) -> anyhow::Result<[(&'static str, String); PATHS.len()]> {
    let [project, policy, test, kustomization, snapshot, workflow, hooks] = PATHS;
    Ok([
        (project, PROJECT.to_owned()),
        (policy, POLICY.to_owned()),
        (test, test_of(nodes)),
        (kustomization, KUSTOMIZATION.to_owned()),
        (snapshot, snapshot_of(nodes)?),
        (workflow, include_str!("../../../examples/ci/workflow.yaml").to_owned()),
        (hooks, include_str!("../../../examples/ci/pre-commit-config.yaml").to_owned()),
    ])
}

fn test_of(nodes: &TestNodes) -> String {
    // JSON strings are YAML, whatever a name has in it.
    let quoted = |text: &str| serde_json::Value::from(text).to_string();
    let (node, host) = (quoted(&nodes.name), quoted(&nodes.hostname));
    let tolerates = if nodes.tainted { ", tolerations: [{operator: Exists}]" } else { "" };
    format!(
        "# What the policy promises. Run by: bayplan test policies/
policies: [avoid-nodes.bay]
cluster: ../snapshot.yaml
cases:
- name: a node without the label takes the pod
  pod: {{name: web, nodeSelector: {{kubernetes.io/hostname: {host}}}{tolerates}}}
  expect: {{node: {node}}}
- name: a node that is being emptied takes none
  nodes:
  - {{name: emptied, labels: {{kubernetes.io/hostname: emptied, example.com/avoid: \"true\"}}, allocatable: {{cpu: 4, memory: 8Gi}}}}
  pod: {{name: web, nodeSelector: {{kubernetes.io/hostname: emptied}}}}
  expect: {{unschedulable: {{reason: the node is being emptied, nodes: 1}}}}
"
    )
}

fn snapshot_of(nodes: &TestNodes) -> anyhow::Result<String> {
    let documents: Vec<String> = nodes.objects.iter().map(yaml).collect::<anyhow::Result<_>>()?;
    let head = "# The cluster that tests and the dry run of the workflow decide on. `bayplan help ci` has the command that saves a \
                whole one.\n";
    Ok(format!("{head}{}", documents.join("---\n")))
}
