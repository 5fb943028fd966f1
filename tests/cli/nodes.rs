//! `--nodes`, which keeps all profiles to some nodes: what dry runs and explanations say of the others, and mistakes.

use crate::support::command::{bayplan, folder};

const CLUSTER: &str = "\
{apiVersion: v1, kind: Node, metadata: {name: ours, labels: {pool: gpu}}, status: {allocatable: {cpu: 1, memory: 8Gi, pods: 9}}}
---
{apiVersion: v1, kind: Node, metadata: {name: theirs, labels: {pool: web}}, status: {allocatable: {cpu: 8, memory: 8Gi, pods: 9}}}
---
{apiVersion: v1, kind: Pod, metadata: {name: big}, spec: {containers: [{name: c, resources: {requests: {cpu: 4}}}]}}
";

#[test]
fn other_nodes_are_refused_with_the_selector_and_the_next_command_has_it() {
    let folder = folder(&[("cluster.yaml", CLUSTER)]);
    let file = folder.join("cluster.yaml");
    let file = file.to_str().unwrap();
    let free = bayplan(&["dry-run", "--cluster", file]);
    assert!(free.out.contains("theirs"), "{}{}", free.out, free.err);
    for selector in ["pool=gpu", "pool in (gpu, ml),!spot"] {
        let kept = bayplan(&["dry-run", "--cluster", file, "--nodes", selector]);
        assert!(kept.out.contains("node(s) didn't match scheduler-enforced node affinity"), "{}", kept.out);
        let next = format!(
            "--nodes {}",
            if selector.contains(' ') { "'pool in (gpu, ml),!spot'" } else { selector }
        );
        assert!(kept.out.contains(&next), "{next}: {}", kept.out);
    }
    let explained =
        bayplan(&["explain", "big", "--node", "theirs", "--cluster", file, "--nodes", "pool=gpu"]);
    for words in ["scheduler-enforced node affinity", "label pool", "gpu", "web"] {
        assert!(explained.out.contains(words), "{words}: {}{}", explained.out, explained.err);
    }
}

#[test]
fn a_selector_that_cannot_be_read_is_named_with_the_way_out() {
    for command in ["dry-run", "run", "explain"] {
        let ended = bayplan(&[command, "--nodes", "pool is gpu"]);
        assert_eq!(ended.status, 2, "{}", ended.err);
        for words in ["'pool is gpu'", "--nodes <SELECTOR>", "write `KEY=VALUE`"] {
            assert!(ended.err.contains(words), "{command}: {words}: {}", ended.err);
        }
    }
}

#[test]
fn a_profile_without_the_plugin_is_refused_at_its_place() {
    let config = "\
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: default-scheduler
- schedulerName: free
  plugins: {filter: {disabled: [{name: NodeAffinity}]}}
";
    let folder = folder(&[("cluster.yaml", CLUSTER), ("config.yaml", config)]);
    let [cluster, config] = ["cluster.yaml", "config.yaml"].map(|name| folder.join(name));
    let [cluster, config] = [&cluster, &config].map(|path| path.to_str().unwrap());
    let refused = bayplan(&["dry-run", "--cluster", cluster, "--config", config, "--nodes", "pool=gpu"]);
    for words in
        ["the plugin `NodeAffinity`, which `free` disables", "config.yaml:5", "enable `NodeAffinity`"]
    {
        assert!(refused.err.contains(words), "{words}: {}", refused.err);
    }
    assert_ne!(refused.status, 0);
    assert_eq!(bayplan(&["dry-run", "--cluster", cluster, "--config", config]).status, 0);
}
