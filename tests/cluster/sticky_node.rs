//! A policy that keeps virtual machines on their nodes, on a real API server with custom kinds: the pod of a machine that is made again, a right that
//! is granted later, a scheduler that is killed between binding and write, a machine that is gone.

use crate::scheduler_process::{SchedulerProcess, Setup};
use crate::support::{ControlPlane, objects, wait_until};
use crate::workload::Workload;
use serde_json::{Value, json};
use std::time::Duration;

const SOON: Duration = Duration::from_secs(60);
const KEY: &str = "example.com/sticky-node";
const POLICY: &str = include_str!("../../policies/tutorial/sticky-node.bay");
const MARK: &str = "after-bind.bayplan.dev/sticky-node";

fn definition(group: &str, kind: &str) -> Value {
    let plural = format!("{}s", kind.to_lowercase());
    let schema = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.{group}")},
        "spec": {
            "group": group, "scope": "Namespaced",
            "names": {
                "kind": kind, "listKind": format!("{kind}List"), "plural": plural,
                "singular": kind.to_lowercase(),
            },
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}}],
        },
    })
}

/// Grants a service account rights on the group of the machines.
fn grant(plane: &ControlPlane, space: &str, account: &str, rules: &Value) {
    let rbac = "rbac.authorization.k8s.io";
    let subjects = json!([{"kind": "ServiceAccount", "name": account, "namespace": space}]);
    let name = format!("{space}-{account}");
    plane.create(&[
        json!({
            "apiVersion": format!("{rbac}/v1"), "kind": "ClusterRole", "metadata": {"name": name}, "rules": rules,
        }),
        json!({
            "apiVersion": format!("{rbac}/v1"), "kind": "ClusterRoleBinding", "metadata": {"name": name},
            "roleRef": {"apiGroup": rbac, "kind": "ClusterRole", "name": name}, "subjects": subjects,
        }),
    ]);
}

struct Machines<'a> {
    plane: &'a ControlPlane,
    space: &'a str,
    group: String,
}

impl Machines<'_> {
    fn object(&self, kind: &str, name: &str) -> Value {
        let resource = format!("{}s.{}", kind.to_lowercase(), self.group);
        self.plane.get_json([&resource, name, "--namespace", self.space])
    }

    /// A machine with its instance.
    fn create(&self, name: &str) {
        let of = |kind: &str, owners: Value| {
            json!({
                "apiVersion": format!("{}/v1", self.group), "kind": kind,
                "metadata": {"name": name, "namespace": self.space, "ownerReferences": owners},
            })
        };
        self.plane.create(&[of("VirtualMachine", json!([]))]);
        let owner = self.owner("VirtualMachine", name);
        self.plane.create(&[of("VirtualMachineInstance", json!([owner]))]);
    }

    fn owner(&self, kind: &str, name: &str) -> Value {
        let uid = self.object(kind, name)["metadata"]["uid"].clone();
        json!({
            "apiVersion": format!("{}/v1", self.group), "kind": kind, "name": name, "uid": uid, "controller": true,
        })
    }

    fn pod(&self, load: &Workload, machine: &str) {
        let mut pod = load.pod(machine, "10m");
        pod["metadata"]["ownerReferences"] = json!([self.owner("VirtualMachineInstance", machine)]);
        self.plane.create(&[pod]);
    }

    fn home(&self, machine: &str) -> Option<String> {
        let vm = self.object("VirtualMachine", machine);
        vm["metadata"]["annotations"][KEY].as_str().map(str::to_owned)
    }

    fn is_marked(&self, pod: &str) -> bool {
        let pod = self.plane.get_json(["pod", pod, "--namespace", self.space]);
        pod["metadata"]["annotations"][MARK].is_string()
    }
}

#[test]
fn machines_stay_on_their_nodes_whatever_fails() {
    let plane = ControlPlane::shared();
    let load = Workload::new(plane, "sticky", 3);
    let space = load.namespace.as_str();
    let group = format!("{space}.example.com");
    let machines = Machines { plane, space, group: group.clone() };
    plane.create(&["VirtualMachine", "VirtualMachineInstance"].map(|kind| definition(&group, kind)));
    let text = POLICY.replace("kubevirt.io", &group);
    let policy =
        objects::config_map(space, "sticky", &[("bayplan.dev/policy", "")], &[("sticky-node.bay", &text)]);
    let account = json!({
        "apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "bayplan", "namespace": space},
    });
    plane.create(&[policy, account]);
    let groups =
        ["", "apps", "policy", "storage.k8s.io", "resource.k8s.io", "coordination.k8s.io", "events.k8s.io"];
    let look_up = json!({"apiGroups": [group], "resources": ["*"], "verbs": ["list", "watch"]});
    grant(
        plane,
        space,
        "bayplan",
        &json!([{"apiGroups": groups, "resources": ["*"], "verbs": ["*"]}, look_up]),
    );
    let account = plane.kubeconfig_of_service_account(space, "bayplan");
    let setup = Setup::new(&load.scheduler).policies_from(space).kubeconfig(account);
    let setup = setup.flag(format!("--policy-service-account={space}/bayplan-policies"));
    let ours = SchedulerProcess::start(plane, &setup);
    let verdict = || {
        let map = plane.get_json(["configmap", "sticky", "--namespace", space]);
        map["metadata"]["annotations"]["bayplan.dev/verdict"].as_str().unwrap_or_default().to_owned()
    };
    wait_until("the policy serves", SOON, || verdict() == "Serving");

    // The right to write is missing: the pod is bound, and says what is left to do.
    machines.create("one");
    machines.pod(&load, "one");
    wait_until("the pod is bound", SOON, || plane.node_of(space, "one").is_some());
    wait_until("the missing right is an event", SOON, || {
        let events = plane.events_about(space, "one");
        let failed = |event: &&Value| event["reason"] == "AfterBindFailed";
        events.iter().find(failed).is_some_and(|event| event["note"].to_string().contains("forbidden"))
    });
    assert!(machines.is_marked("one") && machines.home("one").is_none());
    assert!(ours.said().contains("bind a role with this rule to the service account"), "{}", ours.said());

    // The scheduler is killed between binding and write. The right is granted, and the next one writes.
    drop(ours);
    grant(
        plane,
        space,
        "bayplan-policies",
        &json!([{"apiGroups": [group], "resources": ["virtualmachines"], "verbs": ["patch"]}]),
    );
    assert!(machines.is_marked("one") && machines.home("one").is_none());
    let _next = SchedulerProcess::start(plane, &setup);
    let node = plane.node_of(space, "one").unwrap();
    wait_until("the machine has its home", SOON, || machines.home("one").as_deref() == Some(&node));
    wait_until("nothing is left to do", SOON, || !machines.is_marked("one"));

    // Its pods go back there, as often as they are made again.
    for _ in 0..3 {
        plane.delete_pod(space, "one");
        machines.pod(&load, "one");
        wait_until("the pod is bound again", SOON, || plane.node_of(space, "one").is_some());
        assert_eq!(plane.node_of(space, "one").unwrap(), node);
        wait_until("the mark goes", SOON, || !machines.is_marked("one"));
    }

    // A machine that is there no more: its pod runs, and nothing is left to do.
    machines.create("gone");
    let resource = format!("virtualmachines.{group}");
    plane.kubectl_ok(["delete", &resource, "gone", "--namespace", space]);
    machines.pod(&load, "gone");
    wait_until("the pod is bound", SOON, || plane.node_of(space, "gone").is_some());
    wait_until("no mark stays", SOON, || !machines.is_marked("gone"));
    assert_eq!(machines.home("one").as_deref(), Some(node.as_str()));
    for kind in ["virtualmachineinstances", "virtualmachines"] {
        plane.kubectl_ok(["delete", "crd", &format!("{kind}.{group}")]);
    }
}
