//! Watches that the API server refuses or that bring nothing: the scheduler lists again where a watch
//! cannot be continued, and decides nothing on a cache that is too old.

use crate::scheduler_process::{SchedulerProcess, Setup};
use crate::support::http_proxy::{HttpProxy, Rule};
use crate::support::{ControlPlane, User, objects, wait_until};
use crate::workload::Workload;
use http::Method;
use serde_json::json;
use std::time::Duration;

const SOON: Duration = Duration::from_secs(60);

#[test]
fn a_watch_that_is_refused_for_other_reasons_than_rights_is_listed_again() {
    let plane = ControlPlane::shared();
    let load = Workload::new(plane, "refused", 1);
    let proxy = HttpProxy::start(&plane.url());
    let watch = "/api/v1/nodes?watch=true";
    proxy.rule(Rule::fails(Method::GET, watch, 403, "Forbidden", "nodes is forbidden").times(1));
    proxy.rule(Rule::fails(Method::GET, watch, 500, "InternalError", "an error on the server").times(1));
    let message = "Too large resource version: 1000000, current: 5";
    proxy.rule(Rule::fails(Method::GET, watch, 504, "Timeout", message).times(1));
    let kubeconfig = plane.kubeconfig_at(&proxy.url(), &User::new("admin", &[]).token());
    let ours = SchedulerProcess::start(plane, &Setup::new(&load.scheduler).kubeconfig(kubeconfig));
    let lists = || proxy.seen(&Method::GET, "/api/v1/nodes?limit=").len();
    wait_until("all three answers were given", SOON, || {
        proxy.seen(&Method::GET, watch).iter().filter(|seen| seen.ruled.is_some()).count() == 3
    });
    wait_until("it lists after 500 and after 504", SOON, || lists() >= 3);
    assert_eq!(lists(), 3, "it does not list after 403");
    let said = ours.said();
    assert!(said.contains("cannot watch: ") && said.contains("nodes is forbidden"), "{said}");
    assert!(said.contains("watch failed, listing again"), "{said}");
    // The watch works again: a label that comes later lets a pod in.
    let mut pod = load.pod("labelled", "10m");
    pod["spec"]["nodeSelector"]["later"] = json!("yes");
    plane.create(&[pod]);
    std::thread::sleep(Duration::from_secs(1));
    let node = plane.get_json(["nodes", "-l", &format!("node-group={}", load.namespace)]);
    let node = node["items"][0]["metadata"]["name"].as_str().unwrap().to_owned();
    plane.kubectl_ok(["label", "node", &node, "later=yes"]);
    load.wait_bound(1, SOON);
}

#[test]
fn a_list_of_namespaces_that_fails_for_a_while_lets_no_pod_pass_a_policy_that_reads_them() {
    let plane = ControlPlane::shared();
    let load = Workload::new(plane, "unlisted", 1);
    plane.kubectl_ok(["label", "namespace", &load.namespace, "closed=yes"]);
    let text = "policy closed {\n  gate \"closed\" when ns.labels[\"closed\"] == \"yes\"\n}\n";
    let label = [("bayplan.dev/policy", "")];
    plane.create(&[objects::config_map(&load.namespace, "closed", &label, &[("policy.bay", text)])]);
    load.create_pods(1, "10m");
    let proxy = HttpProxy::start(&plane.url());
    let list = "/api/v1/namespaces?limit=";
    proxy.rule(Rule::fails(Method::GET, list, 500, "InternalError", "an error on the server").times(4));
    let kubeconfig = plane.kubeconfig_at(&proxy.url(), &User::new("admin", &[]).token());
    let setup = Setup::new(&load.scheduler).policies_from(&load.namespace).kubeconfig(kubeconfig);
    let ours = SchedulerProcess::start(plane, &setup);
    assert_eq!(proxy.seen(&Method::GET, list).len(), 5, "it is ready with the list");
    std::thread::sleep(Duration::from_secs(2));
    assert_eq!(load.bound(), 0, "{}", ours.daemon.log_tail(20));
    plane.kubectl_ok(["label", "namespace", &load.namespace, "closed-"]);
    load.wait_bound(1, SOON);
}

#[test]
fn nothing_is_scheduled_while_a_watch_is_too_old() {
    let plane = ControlPlane::start();
    let load = Workload::new(&plane, "old", 1);
    // In a quiet cluster an API server sends a bookmark about once a minute. Without the other plugins nothing needs
    // the kinds whose objects do not change here.
    let config = plane.folder().join("few-kinds.yaml");
    let text = format!(
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nleaderElection: {{leaderElect: \
         false}}\nprofiles:\n- schedulerName: {}\n  plugins:\n    multiPoint:\n      disabled: [{{name: '*'}}]\n      \
         enabled: [{{name: PrioritySort}}, {{name: NodeUnschedulable}}, {{name: DefaultBinder}}]\n",
        load.scheduler
    );
    std::fs::write(&config, text).unwrap();
    let setup = Setup::new(&load.scheduler).config(config).flag("--watch-max-age=8s");
    let ours = SchedulerProcess::start(&plane, &setup);
    load.create_pods(1, "10m");
    load.wait_bound(1, SOON);
    wait_until("it is not ready", SOON, || plane.get_from(&ours.url(), "/readyz").is_none());
    wait_until("it says why", SOON, || ours.said().contains("nothing is scheduled until it is up to date"));
    assert_eq!(plane.get_from(&ours.url(), "/livez").as_deref(), Some("ok"), "it lives");
    // The watch of pods is up to date, and that of nodes is not.
    load.create_pods(1, "10m");
    std::thread::sleep(Duration::from_secs(3));
    assert_eq!(load.bound(), 1, "it decides nothing");
    let node = plane.get_json(["nodes"])["items"][0]["metadata"]["name"].as_str().unwrap().to_owned();
    plane.create(&[json!({
        "apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": "quiet", "namespace": load.namespace},
        "spec": {
            "selector": {"matchLabels": {"app": "quiet"}},
            "template": {
                "metadata": {"labels": {"app": "quiet"}},
                "spec": {"containers": [{"name": "c", "image": "example.com/c"}]},
            },
        },
    })]);
    // Policies spare pods of DaemonSets, so that these are always watched.
    let touch = |value: usize| {
        let touched = format!("touched={value}");
        plane.kubectl_ok(["annotate", "node", &node, &touched, "--overwrite"]);
        let space = load.namespace.as_str();
        plane.kubectl_ok(["annotate", "daemonset", "quiet", "--namespace", space, &touched, "--overwrite"]);
        load.create_pods(1, "10m");
    };
    let mut touched = 0;
    wait_until("it decides again", SOON, || {
        touched += 1;
        touch(touched);
        load.bound() >= 2
    });
}
