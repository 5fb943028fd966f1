//! The status of PodGroups and ElasticQuotas on a real API server: nothing is written unless it is asked for, missing
//! kinds and rights are reported and then there, a gang goes through its phases, `used` follows the pods, a burst makes few writes,
//! and a scheduler that starts again goes on from what the cluster has.

use crate::look_ups::account;
use crate::scheduler_process::{SchedulerProcess, Setup};
use crate::support::{ControlPlane, objects, wait_until};
use crate::workload::Workload;
use serde_json::{Value, json};
use std::ops::Range;
use std::time::{Duration, Instant};

const SOON: Duration = Duration::from_secs(60);

const COSCHEDULING: &str = include_str!("../../policies/scheduler-plugins/coscheduling.bay");
const CAPACITY: &str = include_str!("../../policies/scheduler-plugins/capacity-scheduling.bay");
const KINDS: &str = include_str!("../../policies/schemas/scheduling.x-k8s.io.yaml");
const RIGHTS: &str = include_str!("../../deploy/status-rights.yaml");

struct Case<'a> {
    plane: &'a ControlPlane,
    load: Workload<'a>,
}

impl Case<'_> {
    fn create(&self, which: Range<usize>, cpu: &str) {
        let key = "scheduling.x-k8s.io/pod-group";
        let member = |at| objects::with_label(self.load.pod(&format!("gang-{at}"), cpu), key, "gang");
        self.plane.create(&which.map(member).collect::<Vec<Value>>());
    }

    fn are(&self, which: Range<usize>, phase: &str) {
        for at in which {
            let patch = json!({"status": {"phase": phase}});
            self.plane.patch_status(&self.load.namespace, &format!("pod/gang-{at}"), &patch);
        }
    }

    fn object(&self, resource: &str, name: &str) -> Value {
        let resource = format!("{resource}.scheduling.x-k8s.io");
        self.plane.get_json([&resource, name, "--namespace", &self.load.namespace, "--show-managed-fields"])
    }

    /// Waits until the group has this phase, and as many pods that run, succeeded and failed.
    #[track_caller]
    fn group_is(&self, phase: &str, counts: [usize; 3]) {
        let shown = || {
            let status = self.object("podgroups", "gang")["status"].clone();
            let counts = ["running", "succeeded", "failed"].map(|field| status[field].as_u64());
            (status["phase"].as_str().unwrap_or_default().to_owned(), counts)
        };
        let expected = (phase.to_owned(), counts.map(|count| Some(count as u64)));
        wait_until(&format!("the group is {phase} {counts:?}"), SOON, || shown() == expected);
    }

    #[track_caller]
    fn used_is(&self, cpu: &str) {
        wait_until(&format!("{cpu} is used"), SOON, || {
            self.object("elasticquotas", "quota")["status"]["used"] == json!({"cpu": cpu, "memory": "0"})
        });
    }

    /// A sample of a metric.
    fn metric(&self, ours: &SchedulerProcess, sample: &str) -> Option<u64> {
        let page = self.plane.get_from(&ours.url(), "/metrics").unwrap_or_default();
        let line = page.lines().find(|line| line.starts_with(sample))?;
        line.rsplit(' ').next()?.parse().ok()
    }
}

#[test]
fn the_status_of_groups_and_quotas_follows_their_pods() {
    let plane = ControlPlane::start();
    let load = Workload::new(&plane, "statuses", 3);
    let space = load.namespace.clone();
    let case = Case { plane: &plane, load };
    let usual = Setup::new(&case.load.scheduler).policies_from(&space);
    let asked = usual.clone().flag("--write-status=PodGroup,ElasticQuota");

    // Without the kinds; then without the policies.
    let ours = SchedulerProcess::start(&plane, &asked);
    let waits = |ours: &SchedulerProcess| {
        ["PodGroup", "ElasticQuota"]
            .map(|kind| case.metric(ours, &format!("bayplan_status_waits{{kind=\"{kind}\"}}")))
    };
    wait_until("both kinds wait", SOON, || waits(&ours) == [Some(1), Some(1)]);
    plane.create(&[case.load.pod("other", "10m")]);
    case.load.wait_bound(1, SOON);
    plane.define_kinds(KINDS);
    let kind = |kind: &str, name: &str, spec: Value| {
        let metadata = json!({"name": name, "namespace": space});
        json!({"apiVersion": "scheduling.x-k8s.io/v1alpha1", "kind": kind, "metadata": metadata, "spec": spec})
    };
    plane.create(&[
        kind("PodGroup", "early", json!({"minMember": 2})),
        kind("ElasticQuota", "quota", json!({"min": {"cpu": 4}, "max": {"cpu": 8, "memory": "8Gi"}})),
    ]);
    wait_until("the group is pending", SOON, || {
        case.object("podgroups", "early")["status"]["phase"] == "Pending"
    });
    wait_until("the policy is missing", SOON, || {
        ours.said().contains("`capacity-scheduling` is not in service")
    });
    assert_eq!(waits(&ours), [Some(0), Some(1)]);
    assert!(case.object("elasticquotas", "quota")["status"].is_null());
    drop(ours);

    let labels = [("bayplan.dev/policy", "")];
    let policy = |name: &str, text: &str| objects::config_map(&space, name, &labels, &[("policy.bay", text)]);
    plane.create(&[
        policy("coscheduling", COSCHEDULING),
        policy("capacity-scheduling", CAPACITY),
        kind("PodGroup", "gang", json!({"minMember": 2})),
    ]);

    // Without the flag.
    let ours = SchedulerProcess::start(&plane, &usual);
    case.create(0..2, "1");
    case.load.wait_bound(3, SOON);
    std::thread::sleep(Duration::from_secs(3));
    for (resource, name) in [("podgroups", "gang"), ("elasticquotas", "quota")] {
        assert!(case.object(resource, name)["status"].is_null(), "{resource}");
    }
    assert_eq!(case.metric(&ours, "bayplan_status_writes_total{"), None);
    drop(ours);

    // Asked for, without the rights; then with those of the manifest.
    let asked = asked.kubeconfig(account(&plane, &space));
    let ours = SchedulerProcess::start(&plane, &asked);
    wait_until("both kinds wait", SOON, || waits(&ours) == [Some(1), Some(1)]);
    let said = || ours.said().matches("no status is written").count();
    assert_eq!(said(), 2, "once for each kind:\n{}", ours.said());
    // The log escapes quotes.
    let rule = r#"resources: [\"podgroups/status\"], verbs: [\"patch\"]"#;
    assert!(ours.said().contains(rule), "{}", ours.said());
    let rbac = "rbac.authorization.k8s.io";
    let bound = |role: &str| {
        json!({
            "apiVersion": format!("{rbac}/v1"), "kind": "ClusterRoleBinding", "metadata": {"name": format!("our-{role}")},
            "roleRef": {"apiGroup": rbac, "kind": "ClusterRole", "name": role},
            "subjects": [{"kind": "ServiceAccount", "name": "bayplan", "namespace": space}],
        })
    };
    let reads = json!({
        "apiVersion": format!("{rbac}/v1"), "kind": "ClusterRole", "metadata": {"name": "reads"},
        "rules": [{
            "apiGroups": ["scheduling.x-k8s.io"], "resources": ["podgroups", "elasticquotas"],
            "verbs": ["list", "watch"],
        }],
    });
    plane.create(&[reads, bound("reads")]);
    wait_until("the right to write is missing", SOON, || {
        let log = ours.said();
        ["podgroups", "elasticquotas"].iter().all(|resource| {
            log.contains(&format!(r#"add this rule to the role: {{apiGroups: [\"scheduling.x-k8s.io\"], resources: [\"{resource}/status\"]"#))
        })
    });
    assert_eq!(waits(&ours), [Some(1), Some(1)]);
    plane.apply(RIGHTS);
    plane.create(&[bound("bayplan-status")]);
    case.group_is("Scheduling", [0, 0, 0]);
    case.used_is("2010m");
    wait_until("nothing waits", SOON, || waits(&ours) == [Some(0), Some(0)]);
    let began = case.object("podgroups", "gang")["status"]["scheduleStartTime"].clone();
    assert!(began.is_string());

    // The pods run, and more come at once.
    case.are(0..2, "Running");
    case.group_is("Running", [2, 0, 0]);
    let writes = |kind: &str| {
        let sample = format!("bayplan_status_writes_total{{kind=\"{kind}\",result=\"done\"}}");
        case.metric(&ours, &sample).unwrap_or_default()
    };
    let (before, since) = ([writes("PodGroup"), writes("ElasticQuota")], Instant::now());
    case.create(2..62, "10m");
    case.load.wait_bound(63, SOON);
    case.used_is("2610m");
    let made = [writes("PodGroup") - before[0], writes("ElasticQuota") - before[1]];
    let most = since.elapsed().as_secs() + 2;
    assert!(made[0] == 0 && made[1] <= most, "the burst made {made:?} writes; at most one a second");
    let fields = case.object("podgroups", "gang")["metadata"]["managedFields"].clone();
    let ours_are = |of: &Value| of["manager"] == "bayplan-status" && of["subresource"] == "status";
    assert!(fields.as_array().unwrap().iter().any(ours_are), "{fields}");
    drop(ours);

    // What happened while no scheduler ran counts, and the beginning stays.
    case.are(0..1, "Succeeded");
    plane.delete_pod(&space, "gang-61");
    let ours = SchedulerProcess::start(&plane, &asked);
    case.group_is("Running", [1, 1, 0]);
    case.used_is("1600m");
    case.are(1..2, "Succeeded");
    case.group_is("Finished", [0, 2, 0]);
    case.used_is("600m");
    assert_eq!(case.object("podgroups", "gang")["status"]["scheduleStartTime"], began);
    drop(ours);
}
