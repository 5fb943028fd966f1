//! `except` on a real API server: an exception in a ConfigMap of its own joins its policy, ends when the wall clock says
//! so, and goes with its ConfigMap.

use crate::scheduler_process::{SchedulerProcess, Setup};
use crate::support::clock::WallClock;
use crate::support::{ControlPlane, objects, wait_until};
use crate::workload::Workload;
use jiff::{Timestamp, ToSpan, tz::TimeZone};
use serde_json::{Value, json};
use std::time::Duration;

const SOON: Duration = Duration::from_secs(60);

const POLICY: &str =
    "policy teams {\n  filter team {\n    require has(pod.labels[\"team\"]) else \"no team\"\n  }\n}\n";

#[test]
fn an_exception_of_another_config_map_holds_until_its_day_is_over() {
    let plane = ControlPlane::shared();
    let load = Workload::new(plane, "except", 2);
    let space = load.namespace.as_str();
    // A day that does not end by itself while the test runs.
    let last = Timestamp::now() + 30.minutes();
    let day = last.to_zoned(TimeZone::UTC).date();
    let end = day.tomorrow().unwrap().to_zoned(TimeZone::UTC).unwrap().timestamp().as_second();
    let exception = |rule: &str| {
        format!(
            "except teams/{rule} until {day} because \"OPS-1: it moves\" when pod.labels[\"old\"] == \"yes\"\n"
        )
    };
    let labels = [("bayplan.dev/policy", "")];
    plane.create(&[
        objects::config_map(space, "teams", &labels, &[("teams.bay", POLICY)]),
        objects::config_map(space, "exceptions", &labels, &[("old.bay", &exception("team"))]),
    ]);
    let clock = WallClock::new();
    let mut setup = Setup::new(&load.scheduler).policies_from(space);
    setup.variables.extend(clock.variables());
    let ours = SchedulerProcess::start(plane, &setup);
    let pod = |name: &str| {
        let mut pod = load.pod(name, "10m");
        pod["metadata"]["labels"] = json!({ "old": "yes" });
        pod
    };
    let refused = |name: &str| {
        let text = |event: &Value| event["note"].as_str().is_some_and(|note| note.contains("no team"));
        plane
            .events_about(space, name)
            .iter()
            .any(|event| event["reason"] == "FailedScheduling" && text(event))
    };
    let bound = |name: &str| plane.node_of(space, name).is_some();
    let metric = || {
        let metrics = plane.get_from(&ours.url(), "/metrics").expect("its metrics");
        let sample =
            "bayplan_policy_exception_end_seconds{policy=\"teams\",exception=\"team: OPS-1: it moves\"} ";
        metrics.lines().find_map(|line| line.strip_prefix(sample)?.parse::<f64>().ok())
    };

    plane.create(&[pod("before"), load.pod("other", "10m")]);
    wait_until("the pod is left alone", SOON, || bound("before"));
    wait_until("another pod is refused", SOON, || refused("other"));
    assert_eq!(metric(), Some(end as f64));

    // The clock of the machine jumps past the end of the day.
    clock.step(end - Timestamp::now().as_second() + 5);
    // The scheduler looks at its clocks from time to time.
    let mut tries = 0;
    wait_until("the exception is over", SOON, || {
        tries += 1;
        let name = format!("after-{tries}");
        plane.create(&[pod(&name)]);
        wait_until(&format!("{name} is decided"), SOON, || bound(&name) || refused(&name));
        refused(&name)
    });
    let after = format!("after-{tries}");

    // And back: the pod that waits is left alone again.
    clock.step(0);
    wait_until("the pod is bound", SOON, || bound(&after));

    // Without a rule of that name the exception has no effect, and its object says so.
    let patch = |text: &str| json!({ "data": { "old.bay": text } }).to_string();
    let apply = |text: &str| {
        plane.kubectl_ok([
            "patch",
            "configmap",
            "exceptions",
            "--namespace",
            space,
            "--type=merge",
            "-p",
            &patch(text),
        ]);
    };
    apply(&exception("tema"));
    wait_until("the policy has no exception", SOON, || metric().is_none());
    let status = || {
        let object = plane.get_json(["configmap", "exceptions", "--namespace", space]);
        object["metadata"]["annotations"]["bayplan.dev/status"].as_str().unwrap_or_default().to_owned()
    };
    wait_until("the object says so", SOON, || status().contains("its exception has no effect"));
    plane.create(&[pod("misnamed")]);
    wait_until("the pod is refused", SOON, || refused("misnamed"));
    // A text with a mistake leaves what was in service.
    apply(&exception("team"));
    wait_until("the pod that waits is bound", SOON, || bound("misnamed"));
    apply("except teams/team until 2027-13-45 because \"\" when node.ready");
    wait_until("the text is refused", SOON, || status().contains("Refused"));
    plane.create(&[pod("with-a-mistake")]);
    wait_until("the last good text serves", SOON, || bound("with-a-mistake"));
    plane.kubectl_ok(["delete", "configmap", "exceptions", "--namespace", space]);
    wait_until("the exception is gone", SOON, || metric().is_none());
    plane.create(&[pod("gone")]);
    wait_until("the pod is refused again", SOON, || refused("gone"));
    // A policy whose text gets a mistake is in service as before, and an exception that comes later joins it.
    let broken = json!({ "data": { "teams.bay": POLICY.replace("labels", "labls") } }).to_string();
    plane.kubectl_ok(["patch", "configmap", "teams", "--namespace", space, "--type=merge", "-p", &broken]);
    wait_until("the text is refused", SOON, || {
        let object = plane.get_json(["configmap", "teams", "--namespace", space]);
        object["metadata"]["annotations"]["bayplan.dev/verdict"] == "Refused"
    });
    plane.create(&[pod("later")]);
    wait_until("the last good text refuses the pod", SOON, || refused("later"));
    plane.create(&[objects::config_map(space, "exceptions", &labels, &[("old.bay", &exception("team"))])]);
    wait_until("both pods are bound", SOON, || bound("gone") && bound("later"));
    plane.kubectl_ok(["delete", "configmap", "exceptions", "--namespace", space]);
    wait_until("the exception is gone", SOON, || metric().is_none());
    plane.create(&[pod("last")]);
    wait_until("the pod is refused", SOON, || refused("last"));
}
