//! `mode` on a real API server: a rule that warns is counted and tells the owner of the pod, one that is tried changes
//! nothing, and both decide once their policy says so.

use crate::scheduler_process::{SchedulerProcess, Setup};
use crate::support::{ControlPlane, objects, wait_until};
use crate::workload::Workload;
use serde_json::{Value, json};
use std::time::Duration;

const SOON: Duration = Duration::from_secs(30);

fn policy(mode: &str) -> String {
    format!(
        "policy trial {{\n  mode {mode}\n  filter quiet {{\n    mode {}\n    reject \"quiet\" when pod.labels[\"quiet\"] == \"yes\"\n  }}\n  \
         filter loud {{ reject \"loud\" when pod.labels[\"loud\"] == \"yes\" }}\n}}\n",
        if mode == "enforce" { "enforce" } else { "audit" }
    )
}

#[test]
fn rules_are_counted_and_tell_and_decide_when_their_policy_says_so() {
    let plane = ControlPlane::shared();
    let load = Workload::new(plane, "modes", 2);
    let space = load.namespace.as_str();
    let labels = [("bayplan.dev/policy", "")];
    plane.create(&[objects::config_map(space, "trial", &labels, &[("policy.bay", &policy("warn"))])]);
    let ours = SchedulerProcess::start(plane, &Setup::new(&load.scheduler).policies_from(space));
    let pod = |name: &str, label: &str| {
        let mut pod = load.pod(name, "10m");
        pod["metadata"]["labels"] = json!({ label: "yes" });
        pod
    };
    let about = |name: &str, reason: &str| -> Vec<Value> {
        let events = plane.events_about(space, name);
        events.into_iter().filter(|event| event["reason"] == reason).collect()
    };

    plane.create(&[pod("loud", "loud"), pod("quiet", "quiet")]);
    for name in ["loud", "quiet"] {
        wait_until(&format!("{name} is bound"), SOON, || plane.node_of(space, name).is_some());
    }
    wait_until("the owner of the pod is told", SOON, || !about("loud", "PolicyWouldRefuse").is_empty());
    let told = about("loud", "PolicyWouldRefuse");
    assert_eq!(told.len(), 1, "{told:?}");
    assert_eq!((&told[0]["type"], &told[0]["note"]), (&json!("Warning"), &json!("trial/loud: loud")));
    assert_eq!(about("quiet", "PolicyWouldRefuse"), [] as [Value; 0], "a rule in mode audit tells nobody");

    let counted = |rule: &str, effect: &str| {
        let metrics = plane.get_from(&ours.url(), "/metrics").expect("its metrics");
        let sample =
            format!("bayplan_rule_would_total{{policy=\"trial\",rule=\"{rule}\",effect=\"{effect}\"}} ");
        let count = metrics.lines().find_map(|line| line.strip_prefix(&sample)?.parse::<u64>().ok());
        count.unwrap_or_default()
    };
    for rule in ["loud", "quiet"] {
        assert_eq!((counted(rule, "waits"), counted(rule, "same")), (1, 1), "{rule}");
    }

    let apply = |text: &str| {
        let patch = json!({ "data": { "policy.bay": text } }).to_string();
        plane.kubectl_ok(["patch", "configmap", "trial", "--namespace", space, "--type=merge", "-p", &patch]);
    };
    let counts = |rule: &str| {
        let metrics = plane.get_from(&ours.url(), "/metrics").expect("its metrics");
        metrics.contains(&format!("bayplan_rule_would_total{{policy=\"trial\"{rule}"))
    };
    // A rule that decides for some pods only.
    apply(
        "policy trial {\n  filter loud {\n    mode enforce when has(pod.labels[\"canary\"]) else warn\n    \
         reject \"loud\" when pod.labels[\"loud\"] == \"yes\"\n  }\n}\n",
    );
    wait_until("the other rule is gone", SOON, || !counts(",rule=\"quiet\""));
    plane.create(&[objects::with_label(pod("canary", "loud"), "canary", "1"), pod("no-canary", "loud")]);
    wait_until("no-canary is bound", SOON, || plane.node_of(space, "no-canary").is_some());
    wait_until("its owner is told", SOON, || about("no-canary", "PolicyWouldRefuse").len() == 1);
    wait_until("canary is refused", SOON, || !about("canary", "FailedScheduling").is_empty());
    assert_eq!(plane.node_of(space, "canary"), None);
    assert_eq!(about("canary", "PolicyWouldRefuse"), [] as [Value; 0]);

    apply(&policy("enforce"));
    wait_until("the rules decide, and count no longer", SOON, || !counts(""));
    plane.create(&[pod("loud-again", "loud"), pod("quiet-again", "quiet")]);
    for (name, reason) in [("loud-again", "loud"), ("quiet-again", "quiet")] {
        let refused = |event: &Value| event["note"].as_str().is_some_and(|note| note.contains(reason));
        wait_until(&format!("{name} is refused"), SOON, || {
            about(name, "FailedScheduling").iter().any(refused)
        });
        assert_eq!(plane.node_of(space, name), None, "{name}");
    }
}
