//! The policy `coscheduling` on a real API server: groups are bound whole or not at all, whatever happens to their pods,
//! to their PodGroup, and to the scheduler.

use crate::scheduler_process::{SchedulerProcess, Setup};
use crate::support::{ControlPlane, objects, wait_until};
use crate::workload::Workload;
use serde_json::{Value, json};
use std::ops::Range;
use std::time::Duration;

const SOON: Duration = Duration::from_secs(60);

const POLICY: &str = include_str!("../../policies/scheduler-plugins/coscheduling.bay");
const KINDS: &str = include_str!("../../policies/schemas/scheduling.x-k8s.io.yaml");

/// Groups of pods on three nodes of 4 CPUs.
struct Groups<'a> {
    plane: &'a ControlPlane,
    load: Workload<'a>,
    setup: Setup,
}

impl<'a> Groups<'a> {
    /// With the params of the policy in other words.
    fn new(plane: &'a ControlPlane, purpose: &str, params: &[(&str, &str)]) -> Self {
        let load = Workload::new(plane, purpose, 3);
        plane.define_kinds(KINDS);
        let mut text = POLICY.to_owned();
        for (default, other) in params {
            assert!(text.contains(default), "{default}");
            text = text.replace(default, other);
        }
        let labels = [("bayplan.dev/policy", "")];
        let policy =
            objects::config_map(&load.namespace, "coscheduling", &labels, &[("coscheduling.bay", &text)]);
        let class = json!({
            "apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass",
            "metadata": {"name": load.namespace}, "value": 10, "preemptionPolicy": "Never",
        });
        plane.create(&[class, policy]);
        wait_until("the class is known", SOON, || {
            let mut pod = load.pod("trial", "1");
            pod["spec"]["priorityClassName"] = json!(load.namespace);
            let args = ["create", "--dry-run=server", "-f", "-"];
            plane.kubectl_with_input(&args, &pod.to_string()).status.success()
        });
        let setup = Setup::new(&load.scheduler).policies_from(&load.namespace);
        Self { plane, load, setup }
    }

    /// A scheduler whose policy serves.
    fn scheduler(&self) -> SchedulerProcess {
        let ours = SchedulerProcess::start(self.plane, &self.setup);
        wait_until("the policy serves", SOON, || {
            let of = ["configmap", "coscheduling", "--namespace", &self.load.namespace];
            self.plane.get_json(of)["metadata"]["annotations"]["bayplan.dev/verdict"] == "Serving"
        });
        ours
    }

    fn create_group(&self, name: &str, least: usize, spec: &Value) {
        let mut group = json!({
            "apiVersion": "scheduling.x-k8s.io/v1alpha1", "kind": "PodGroup",
            "metadata": {"name": name, "namespace": self.load.namespace}, "spec": spec,
        });
        group["spec"]["minMember"] = json!(least);
        self.plane.create(&[group]);
    }

    fn change_group(&self, name: &str, spec: Value) {
        let patch = json!({ "spec": spec }).to_string();
        let space = &self.load.namespace;
        self.plane.kubectl_ok([
            "patch",
            "podgroups.scheduling.x-k8s.io",
            name,
            "--namespace",
            space,
            "--type=merge",
            "-p",
            &patch,
        ]);
    }

    fn delete_group(&self, name: &str) {
        let space = &self.load.namespace;
        self.plane.kubectl_ok(["delete", "podgroups.scheduling.x-k8s.io", name, "--namespace", space]);
    }

    fn member(&self, group: &str, at: usize, cpu: &str) -> Value {
        let pod = self.load.pod(&format!("{group}-{at}"), cpu);
        objects::with_label(pod, "scheduling.x-k8s.io/pod-group", group)
    }

    fn create(&self, group: &str, which: Range<usize>, cpu: &str) {
        let members: Vec<Value> = which.map(|at| self.member(group, at, cpu)).collect();
        self.plane.create(&members);
    }

    fn delete(&self, group: &str, which: Range<usize>) {
        which.for_each(|at| self.plane.delete_pod(&self.load.namespace, &format!("{group}-{at}")));
    }

    /// The pods of a group that are bound.
    fn bound(&self, group: &str) -> usize {
        let of_group = |pod: &&Value| pod["metadata"]["labels"]["scheduling.x-k8s.io/pod-group"] == group;
        let bound = |pod: &&Value| pod["spec"]["nodeName"].is_string();
        self.load.pods().iter().filter(of_group).filter(bound).count()
    }

    /// Creates a group of which the last pod is too large for every node, and the others fit. A scheduler that starts
    /// then tries it after the others, which wait for it as long as they may.
    fn create_with_one_too_large(&self, group: &str, least: usize, cpu: &str) {
        self.create_group(group, least, &json!({}));
        let mut pods: Vec<Value> = (0..least - 1).map(|at| self.member(group, at, cpu)).collect();
        for pod in &mut pods {
            pod["spec"]["priorityClassName"] = json!(self.load.namespace);
        }
        pods.push(self.member(group, least - 1, "5"));
        self.plane.create(&pods);
    }

    /// A scheduler that has tried the pods of such a group: all but the last one wait at permit.
    #[track_caller]
    fn scheduler_that_tried(&self, group: &str, least: usize) -> SchedulerProcess {
        let ours = self.scheduler();
        self.waits(&format!("{group}-{}", least - 1), "Insufficient cpu");
        // Those that were tried before the last one came lose their nodes once.
        wait_until(&format!("the others of {group} wait"), SOON, || {
            let log = ours.said();
            (0..least - 1).all(|at| {
                let pod = format!("{}/{group}-{at}\"", self.load.namespace);
                let ends = ["chose a node for pod", "Unable to schedule pod"];
                let last = log
                    .lines()
                    .rfind(|line| line.contains(&pod) && ends.iter().any(|end| line.contains(end)));
                last.is_some_and(|line| line.contains("chose a node for pod"))
            })
        });
        ours
    }

    #[track_caller]
    fn becomes_whole(&self, group: &str, least: usize) {
        wait_until(&format!("{group} is bound"), SOON, || self.bound(group) >= least);
    }

    /// Waits until a pod says why it has no node.
    #[track_caller]
    fn waits(&self, name: &str, why: &str) {
        wait_until(&format!("{name} waits: {why}"), SOON, || {
            let events = self.plane.events_about(&self.load.namespace, name);
            events.iter().any(|event| event["note"].as_str().is_some_and(|note| note.contains(why)))
        });
    }
}

#[test]
fn groups_start_whole_whatever_becomes_of_their_pod_group() {
    let plane = ControlPlane::shared();
    let groups = Groups::new(plane, "coscheduling", &[("patience = 60s", "patience = 5s")]);
    let _ours = groups.scheduler();

    // The PodGroup comes after its pods.
    groups.create("late", 0..3, "1");
    groups.waits("late-0", "the PodGroup is not there");
    groups.create_group("late", 3, &json!({}));
    groups.becomes_whole("late", 3);
    groups.delete("late", 0..3);

    // Three of four pods; then the PodGroup wants no more than three.
    groups.create_group("shrinks", 4, &json!({}));
    groups.create("shrinks", 0..3, "1");
    groups.waits("shrinks-2", "too few pods of the PodGroup");
    assert_eq!(groups.bound("shrinks"), 0);
    groups.change_group("shrinks", json!({"minMember": 3}));
    groups.becomes_whole("shrinks", 3);
    groups.delete("shrinks", 0..3);

    // More room than the nodes of all tests have; then less.
    groups.create_group("needs", 2, &json!({"minResources": {"cpu": "100000"}}));
    groups.create("needs", 0..2, "1");
    groups.waits("needs-1", "the cluster has less room than the PodGroup needs");
    groups.change_group("needs", json!({"minResources": {"cpu": "12"}}));
    groups.becomes_whole("needs", 2);
    groups.delete("needs", 0..2);
}

#[test]
fn pods_that_wait_give_their_nodes_back_when_their_pod_group_goes() {
    let plane = ControlPlane::shared();
    let groups = Groups::new(plane, "coscheduling-goes", &[("patience = 60s", "patience = 5s")]);
    groups.create_with_one_too_large("goes", 10, "1");
    let _ours = groups.scheduler_that_tried("goes", 10);
    plane.create(&[groups.load.pod("alone", "4")]);
    groups.waits("alone", "Insufficient cpu");
    groups.delete_group("goes");
    wait_until("another pod gets a node", SOON, || plane.node_of(&groups.load.namespace, "alone").is_some());
    std::thread::sleep(Duration::from_secs(6));
    assert_eq!(groups.bound("goes"), 0);
}

#[test]
fn groups_that_exclude_each_other_run_one_after_another() {
    let plane = ControlPlane::shared();
    let groups = Groups::new(plane, "coscheduling-turns", &[]);
    let _ours = groups.scheduler();
    // Each needs all nodes, and their pods come by turns.
    ["x", "y"].iter().for_each(|group| groups.create_group(group, 3, &json!({})));
    for at in 0..3 {
        ["y", "x"].iter().for_each(|group| groups.create(group, at..at + 1, "3"));
    }
    wait_until("a group is bound", SOON, || groups.bound("x") + groups.bound("y") >= 3);
    let (first, second) = if groups.bound("x") > 0 { ("x", "y") } else { ("y", "x") };
    assert_eq!((groups.bound(first), groups.bound(second)), (3, 0));
    groups.delete(first, 0..3);
    groups.becomes_whole(second, 3);
}

#[test]
fn waiting_pods_survive_the_loss_of_one_and_a_restart() {
    let plane = ControlPlane::shared();
    // No wait ends by itself.
    let groups = Groups::new(plane, "coscheduling-restart", &[("patience = 60s", "patience = 15min")]);
    // One pod of ten is too large, which is few enough: the others wait.
    groups.create_with_one_too_large("ten", 10, "1");
    let ours = groups.scheduler_that_tried("ten", 10);

    // A waiting pod is deleted: two are missing, so the others give their nodes back to a pod that needs one.
    groups.delete("ten", 0..1);
    groups.waits("ten-1", "too few pods of the PodGroup");
    plane.create(&[groups.load.pod("alone", "4")]);
    wait_until("another pod gets a node", SOON, || plane.node_of(&groups.load.namespace, "alone").is_some());
    plane.delete_pod(&groups.load.namespace, "alone");
    assert_eq!(groups.bound("ten"), 0);
    groups.delete("ten", 1..10);
    drop(ours);

    // The scheduler is killed while nine pods wait for the tenth.
    groups.create_with_one_too_large("again", 10, "1");
    drop(groups.scheduler_that_tried("again", 10));
    let _next = groups.scheduler();
    std::thread::sleep(Duration::from_secs(3));
    assert_eq!(groups.bound("again"), 0);
    groups.delete("again", 9..10);
    groups.create("again", 10..11, "1");
    groups.becomes_whole("again", 10);
}

#[test]
fn a_share_of_a_group_may_be_missing_and_a_group_that_failed_rests() {
    let plane = ControlPlane::shared();
    let params = [("backoff = 0s", "backoff = 8s"), ("0..100 = 10", "0..100 = 34")];
    let groups = Groups::new(plane, "coscheduling-rest", &params);

    // One of three is a third: the others keep their nodes, and no other pod gets them.
    groups.create_with_one_too_large("third", 3, "4");
    let _ours = groups.scheduler_that_tried("third", 3);
    plane.create(&["1", "2"].map(|at| groups.load.pod(&format!("small-{at}"), "3")));
    wait_until("one finds the third node", SOON, || groups.load.bound() == 1);
    std::thread::sleep(Duration::from_secs(3));
    assert_eq!((groups.load.bound(), groups.bound("third")), (1, 0));

    // Two of three are more.
    groups.delete("third", 0..1);
    wait_until("the other small pod gets a node", SOON, || groups.load.bound() == 2);
    groups.delete("third", 1..3);

    // A group with enough pods that fails rests.
    groups.create_group("rests", 3, &json!({}));
    groups.create("rests", 0..1, "1");
    groups.create("rests", 1..3, "5");
    groups.waits("rests-0", "the PodGroup failed recently");
    groups.delete("rests", 1..3);
    groups.create("rests", 3..5, "1");
    groups.becomes_whole("rests", 3);
}
