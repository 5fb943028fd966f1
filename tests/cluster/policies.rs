//! Policies in ConfigMaps of a running scheduler: changed under load, made invalid, deleted, and
//! after a restart.

use crate::scheduler_process::{SchedulerProcess, Setup};
use crate::support::{ControlPlane, objects, wait_until};
use crate::workload::Workload;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::process::Command;
use std::time::Duration;

const SOON: Duration = Duration::from_secs(30);

/// A policy of one of two kinds, by the parity of its version; each kind refuses the nodes of the
/// other.
fn text(version: usize) -> String {
    let (keep, refuse) = if version.is_multiple_of(2) { ("even", "odd") } else { ("odd", "even") };
    format!(
        "/// Version {version}.\npolicy half {{\n  filter wanted {{\n    reject \"not {keep} now\" when \
         node.labels[\"half\"] == \"{refuse}\"\n  }}\n}}\n"
    )
}

fn map(namespace: &str, name: &str, text: &str) -> Value {
    objects::config_map(namespace, name, &[("bayplan.dev/policy", "")], &[("policy.bay", text)])
}

fn replace(plane: &ControlPlane, namespace: &str, name: &str, text: &str) {
    let patch = json!({ "data": { "policy.bay": text } }).to_string();
    plane.kubectl_ok(["patch", "configmap", name, "--namespace", namespace, "--type=merge", "-p", &patch]);
}

fn annotation(plane: &ControlPlane, namespace: &str, name: &str, key: &str) -> String {
    let object = plane.get_json(["configmap", name, "--namespace", namespace]);
    object["metadata"]["annotations"][format!("bayplan.dev/{key}")].as_str().unwrap_or_default().to_owned()
}

#[test]
fn a_policy_that_changes_under_load_is_replaced_as_a_whole() {
    let plane = ControlPlane::shared();
    let load = Workload::new(plane, "switch", 10);
    for i in 0..10 {
        let half = if i % 2 == 0 { "half=even" } else { "half=odd" };
        plane.kubectl_ok(["label", "node", &format!("{}-{i}", load.namespace), half]);
    }
    plane.create(&[map(&load.namespace, "half", &text(0))]);
    let setup = Setup::new(&load.scheduler).policies_from(&load.namespace);
    let ours = SchedulerProcess::start(plane, &setup);
    for version in 1..=25 {
        load.create_pods(12, "50m");
        replace(plane, &load.namespace, "half", &text(version));
    }
    load.wait_bound(300, Duration::from_secs(60));
    load.check();
    wait_until("the last version serves", SOON, || {
        annotation(plane, &load.namespace, "half", "verdict") == "Serving"
    });
    // The history has up to ten texts that served, the newest first.
    let history = || {
        let name = "bayplan-history-half";
        let kept = plane.get_json(["configmap", name, "--namespace", &load.namespace]);
        let text = kept["data"]["revisions.json"].as_str().unwrap_or("[]").to_owned();
        (kept["data"]["policy.bay"].clone(), serde_json::from_str::<Vec<Value>>(&text).unwrap())
    };
    wait_until("the last version is kept", SOON, || history().0 == text(25));
    let (_, revisions) = history();
    assert!((3..=10).contains(&revisions.len()), "{} revisions", revisions.len());
    assert_eq!(revisions[0]["revision"], annotation(plane, &load.namespace, "half", "revision"));
    let hashes: BTreeSet<_> = revisions.iter().map(|it| it["revision"].to_string()).collect();
    assert_eq!(hashes.len(), revisions.len());
    for older in &revisions[1..] {
        assert!(older["texts"]["policy.bay"].as_str().unwrap().contains("/// Version "), "{older}");
        assert!(older["by"].as_str().unwrap().contains("kubectl"), "{older}");
    }
    // Each decision names the revision of its set, and revisions never go back.
    let said = ours.said();
    let revisions: Vec<u64> = said
        .lines()
        .filter(|line| line.contains("chose a node for pod"))
        .filter_map(|line| line.split("revision=").nth(1)?.split(' ').next()?.parse().ok())
        .collect();
    assert!(revisions.len() >= 300, "{} decisions", revisions.len());
    assert!(revisions.is_sorted(), "an older set decided after a newer one");
    assert!(revisions.last() > revisions.first(), "the set never changed");
}

#[test]
fn an_invalid_text_is_refused_and_the_earlier_one_serves_also_after_a_kill() {
    let plane = ControlPlane::shared();
    let load = Workload::new(plane, "broken", 2);
    plane.kubectl_ok(["label", "node", &format!("{}-0", load.namespace), "half=even"]);
    plane.kubectl_ok(["label", "node", &format!("{}-1", load.namespace), "half=odd"]);
    plane.create(&[map(&load.namespace, "half", &text(0))]);
    let setup = Setup::new(&load.scheduler).policies_from(&load.namespace);
    let mut ours = SchedulerProcess::start(plane, &setup);
    let verdict = || annotation(plane, &load.namespace, "half", "verdict");
    wait_until("it serves", SOON, || verdict() == "Serving");
    let good = annotation(plane, &load.namespace, "half", "revision");
    let goes_to_even = |name: &str| {
        plane.create(&[load.pod(name, "10m")]);
        wait_until("the pod is bound", SOON, || plane.node_of(&load.namespace, name).is_some());
        assert_eq!(plane.node_of(&load.namespace, name).unwrap(), format!("{}-0", load.namespace));
    };
    goes_to_even("before");

    replace(plane, &load.namespace, "half", "policy half {\n  filter wanted {\n    reject when nod.labels\n");
    wait_until("it is refused", SOON, || verdict() == "Refused");
    assert_eq!(annotation(plane, &load.namespace, "half", "revision"), good, "the old text serves");
    let status: Value =
        serde_json::from_str(&annotation(plane, &load.namespace, "half", "status")).expect("JSON");
    let error = &status["errors"][0];
    assert!(error["code"].as_str().unwrap().starts_with("BP"), "{status}");
    assert!(error["line"].as_u64().unwrap() >= 1 && error["key"] == "policy.bay", "{status}");
    goes_to_even("broken");
    wait_until("the event", SOON, || {
        let events = plane.events_about(&load.namespace, "half");
        events.iter().any(|it| it["reason"] == "PolicyRefused" && it["type"] == "Warning")
    });
    let metrics = plane.get_from(&ours.url(), "/metrics").unwrap();
    assert!(metrics.contains("bayplan_policy_load_success{policy=\"half\"} 0"), "{metrics}");

    ours.daemon.kill();
    let ours = SchedulerProcess::start(plane, &setup);
    goes_to_even("restarted");
    assert_eq!(verdict(), "Refused");

    replace(plane, &load.namespace, "half", &text(1));
    wait_until("it serves again", SOON, || verdict() == "Serving");
    plane.create(&[load.pod("mended", "10m")]);
    wait_until("the pod is bound", SOON, || plane.node_of(&load.namespace, "mended").is_some());
    assert_eq!(plane.node_of(&load.namespace, "mended").unwrap(), format!("{}-1", load.namespace));

    plane.kubectl_ok(["delete", "configmap", "half", "--namespace", &load.namespace]);
    // The history outlives it by a day.
    wait_until("its history is marked", SOON, || {
        !annotation(plane, &load.namespace, "bayplan-history-half", "unused-since").is_empty()
    });
    drop(ours);
    let long_ago = "bayplan.dev/unused-since=2026-01-01T00:00:00Z";
    let (name, namespace) = ("bayplan-history-half", load.namespace.as_str());
    plane.kubectl_ok(["annotate", "configmap", name, "--namespace", namespace, "--overwrite", long_ago]);
    let ours = SchedulerProcess::start(plane, &setup);
    wait_until("it is deleted", SOON, || {
        let args = ["get", "configmap", "bayplan-history-half", "--namespace", &load.namespace];
        !plane.kubectl(args).status.success()
    });
    drop(ours);
}

/// Reads of running pods what the scheduler otherwise does not keep.
const READS_MORE: &str = "policy alone {\n  filter tiers {\n    reject \"a gold pod runs here\" when \
     node.pods.exists(p, p.annotations[\"tier\"] == \"gold\")\n    reject \"a named pod runs here\" when \
     node.pods.exists(p, p.spec.hostname == \"alone\")\n  }\n}\n";

#[test]
fn a_policy_that_reads_more_of_running_pods_serves_when_they_are_listed_again() {
    let plane = ControlPlane::shared();
    let load = Workload::new(plane, "grows", 3);
    for place in 0..3 {
        let (node, label) = (format!("{}-{place}", load.namespace), format!("place={place}"));
        plane.kubectl_ok(["label", "node", &node, &label]);
    }
    let setup = Setup::new(&load.scheduler).policies_from(&load.namespace);
    let ours = SchedulerProcess::start(plane, &setup);
    let at = |name: &str, place: usize| {
        let mut pod = load.pod(name, "10m");
        pod["spec"]["nodeSelector"]["place"] = json!(place.to_string());
        pod
    };
    let bound = |name: &str| {
        wait_until("the pod is bound", SOON, || plane.node_of(&load.namespace, name).is_some());
        plane.node_of(&load.namespace, name).unwrap()
    };
    let refused = |name: &str| {
        wait_until(&format!("the policy refuses nodes to {name}"), SOON, || {
            let events = plane.events_about(&load.namespace, name);
            events.iter().any(|event| event.to_string().contains("a gold pod runs here"))
        });
        assert_eq!(plane.node_of(&load.namespace, name), None);
    };
    let (mut gold, mut named) = (at("gold", 0), at("named", 1));
    gold["metadata"]["annotations"] = json!({"tier": "gold", "other": "x"});
    named["spec"]["hostname"] = json!("alone");
    plane.create(&[gold, named]);
    bound("gold");
    bound("named");

    // The pods run when the policy comes, which reads an annotation and a field of them.
    plane.create(&[map(&load.namespace, "alone", READS_MORE)]);
    let verdict = || annotation(plane, &load.namespace, "alone", "verdict");
    wait_until("it serves", SOON, || verdict() == "Serving");
    let reads_more = annotation(plane, &load.namespace, "alone", "revision");
    plane.create(&[at("to-gold", 0), load.pod("free", "10m")]);
    assert_eq!(bound("free"), format!("{}-2", load.namespace));
    refused("to-gold");
    // The watch brings the annotation of a pod that runs, too.
    plane.kubectl_ok(["annotate", "pod", "free", "tier=gold", "--namespace", &load.namespace]);
    std::thread::sleep(Duration::from_secs(1));
    plane.create(&[load.pod("late", "10m")]);
    refused("late");

    // A text that reads less, and a scheduler that never kept more.
    replace(
        plane,
        &load.namespace,
        "alone",
        "policy alone {\n  filter none { reject \"no\" when !node.ready }\n}\n",
    );
    bound("late");
    bound("to-gold");
    wait_until("the history has both", SOON, || {
        policies(plane, &load.namespace, &["show", "alone"]).1.contains(&reads_more[..12])
    });
    drop(ours);
    let _ours = SchedulerProcess::start(plane, &setup);
    wait_until("it serves", SOON, || verdict() == "Serving");
    let (status, said) = policies(plane, &load.namespace, &["rollback", "alone", "--because", "OPS-7"]);
    assert_eq!(status, Some(0), "{said}");
    wait_until("the older text serves", SOON, || {
        verdict() == "Overridden"
            && !annotation(plane, &load.namespace, "alone", "status").contains("until then")
    });
    plane.create(&[at("last", 0)]);
    refused("last");
}

#[test]
fn a_policy_whose_objects_have_new_names_rolls_over() {
    let plane = ControlPlane::shared();
    let load = Workload::new(plane, "hashed", 2);
    plane.kubectl_ok(["label", "node", &format!("{}-0", load.namespace), "half=even"]);
    plane.kubectl_ok(["label", "node", &format!("{}-1", load.namespace), "half=odd"]);
    let setup = Setup::new(&load.scheduler).policies_from(&load.namespace);
    let ours = SchedulerProcess::start(plane, &setup);
    let verdict = |name: &str| annotation(plane, &load.namespace, name, "verdict");
    let goes_to = |name: &str, node: usize| {
        plane.create(&[load.pod(name, "10m")]);
        wait_until("the pod is bound", SOON, || plane.node_of(&load.namespace, name).is_some());
        assert_eq!(plane.node_of(&load.namespace, name).unwrap(), format!("{}-{node}", load.namespace));
    };
    let delete = |name: &str| plane.kubectl_ok(["delete", "configmap", name, "--namespace", &load.namespace]);
    plane.create(&[map(&load.namespace, "half-1", &text(0))]);
    wait_until("the first serves", SOON, || verdict("half-1") == "Serving");
    std::thread::sleep(Duration::from_millis(1_100));
    // A tool applies the next object, then deletes the one before.
    plane.create(&[map(&load.namespace, "half-2", &text(1))]);
    wait_until("the second waits", SOON, || verdict("half-2") == "Waiting");
    goes_to("before", 0);
    delete("half-1");
    wait_until("the second serves", SOON, || verdict("half-2") == "Serving");
    goes_to("after", 1);
    // The third is broken: the text of the policy stays, also when its object is gone and after a
    // restart.
    let broken = "policy half {\n  filter wanted { reject \"no\" when nod.ready }\n}\n";
    plane.create(&[map(&load.namespace, "half-3", broken)]);
    wait_until("the third is refused", SOON, || verdict("half-3") == "Refused");
    delete("half-2");
    goes_to("broken", 1);
    drop(ours);
    let _ours = SchedulerProcess::start(plane, &setup);
    goes_to("restarted", 1);
    assert_eq!(verdict("half-3"), "Refused");
}

#[test]
fn pods_of_a_policy_without_a_good_text_wait_until_it_compiles_or_is_ignored() {
    let plane = ControlPlane::shared();
    let load = Workload::new(plane, "standin", 1);
    let broken = "policy gpu {\n  applies when pod.labels[\"team\"] == \"gpu\"\n  filter f { reject \"no\" when \
                  nod.ready }\n}\n";
    plane.create(&[map(&load.namespace, "gpu", broken)]);
    let setup = Setup::new(&load.scheduler).policies_from(&load.namespace);
    let ours = SchedulerProcess::start(plane, &setup);
    let of_team = |name: &str| {
        let mut pod = load.pod(name, "10m");
        pod["metadata"]["labels"] = json!({"team": "gpu"});
        pod
    };
    plane.create(&[of_team("first"), of_team("second"), load.pod("other", "10m")]);
    let bound = |name: &str| plane.node_of(&load.namespace, name).is_some();
    wait_until("the pod that is not named is bound", SOON, || bound("other"));
    wait_until("an event names the policy whose pods wait", SOON, || {
        let events = plane.events_about(&load.namespace, "gpu");
        events.iter().any(|it| it["note"].as_str().is_some_and(|note| note.contains("the pods of gpu wait")))
    });
    assert_eq!(annotation(plane, &load.namespace, "gpu", "verdict"), "Refused");
    assert!(annotation(plane, &load.namespace, "gpu", "status").contains("\"holds\":[\"gpu\"]"));
    assert!(!bound("first") && !bound("second"));
    drop(ours);
    // The pods still wait after a restart, until the text compiles.
    let ours = SchedulerProcess::start(plane, &setup);
    plane.create(&[load.pod("another", "10m")]);
    wait_until("the pod that is not named is bound", SOON, || bound("another"));
    assert!(!bound("first"));
    replace(plane, &load.namespace, "gpu", &broken.replace("nod.ready", "!node.ready"));
    wait_until("the pods are bound", SOON, || bound("first") && bound("second"));
    drop(ours);
    // With `ignore` no pod waits.
    plane.kubectl_ok(["delete", "configmap", "gpu", "--namespace", &load.namespace]);
    plane.kubectl_ok(["delete", "configmap", "bayplan-history-gpu", "--namespace", &load.namespace]);
    plane.create(&[map(&load.namespace, "gpu", broken), of_team("third")]);
    let flag = format!("--policy-on-invalid={}=ignore", load.namespace);
    let _ours = SchedulerProcess::start(plane, &setup.clone().flag(flag));
    wait_until("the pod is bound", SOON, || bound("third"));
    assert_eq!(annotation(plane, &load.namespace, "gpu", "verdict"), "Refused");
}

#[test]
fn unusual_objects_do_no_harm() {
    let plane = ControlPlane::shared();
    let load = Workload::new(plane, "odd", 2);
    let long = format!("policy long {{\n{}\n}}\n", "  // nothing to see here\n".repeat(40_000));
    plane.create(&[
        map(&load.namespace, "long", &long),
        objects::config_map(
            &load.namespace,
            "empty",
            &[("bayplan.dev/policy", "")],
            &[("readme", "no policy")],
        ),
    ]);
    let ours = SchedulerProcess::start(plane, &Setup::new(&load.scheduler).policies_from(&load.namespace));
    wait_until("the empty one is refused", SOON, || {
        annotation(plane, &load.namespace, "empty", "verdict") == "Refused"
    });
    // Of two policies with the same name the one of the older object is in service.
    plane.create(&[map(&load.namespace, "one", &text(0))]);
    wait_until("the first serves", SOON, || {
        annotation(plane, &load.namespace, "one", "verdict") == "Serving"
    });
    std::thread::sleep(Duration::from_millis(1_100));
    plane.create(&[map(&load.namespace, "two", &text(1))]);
    wait_until("the second waits", SOON, || {
        annotation(plane, &load.namespace, "two", "verdict") == "Waiting"
    });
    // A pod of an unknown scheduler, and one whose selector matches no node.
    let mut strange = load.pod("strange", "10m");
    strange["spec"]["affinity"] = json!({"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {
        "nodeSelectorTerms": [{"matchExpressions": [{"key": "a", "operator": "Gt", "values": ["9223372036854775807"]}]}]}}});
    let mut others = load.pod("others", "10m");
    others["spec"]["schedulerName"] = json!("nobody-serves-this");
    plane.create(&[strange, others]);
    load.create_pods(5, "10m");
    load.wait_bound(5, SOON);
    assert_eq!(plane.node_of(&load.namespace, "others"), None);
    assert!(ours.said().contains("caches are synced"));
}

/// Checks that an object has the documented fields of its kind, no more and no fewer.
#[track_caller]
fn as_documented(object: &Value, shape: &str) {
    let shape = bayplan::reference::SHAPES.iter().find(|it| it.name == shape).unwrap();
    let known: BTreeSet<&str> = shape.fields.iter().map(|(name, ..)| *name).collect();
    let head = !shape.printed_by.is_empty();
    let here = object.as_object().unwrap().keys().map(String::as_str);
    let here: BTreeSet<&str> = here.filter(|name| !head || !matches!(*name, "apiVersion" | "kind")).collect();
    assert_eq!(here, known, "{object}");
}

/// Runs `bayplan policies` on the policies of a namespace: its exit status and both outputs.
fn policies(plane: &ControlPlane, namespace: &str, arguments: &[&str]) -> (Option<i32>, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_bayplan"))
        .arg("policies")
        .args(arguments)
        .args(["--policy-namespaces", namespace, "--kubeconfig"])
        .arg(plane.kubeconfig())
        .output()
        .unwrap();
    let text = [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap()).concat();
    (output.status.code(), text)
}

#[test]
fn a_policy_is_switched_off_and_back_without_touching_its_object() {
    let plane = ControlPlane::shared();
    let load = Workload::new(plane, "switched", 2);
    plane.kubectl_ok(["label", "node", &format!("{}-0", load.namespace), "half=even"]);
    plane.kubectl_ok(["label", "node", &format!("{}-1", load.namespace), "half=odd"]);
    let setup = Setup::new(&load.scheduler).policies_from(&load.namespace);
    let mut ours = SchedulerProcess::start(plane, &setup);
    let verdict = || annotation(plane, &load.namespace, "half", "verdict");
    let serves = |word: &str| wait_until(&format!("the verdict is {word}"), SOON, || verdict() == word);
    let does = |arguments: &[&str]| {
        let (status, said) = policies(plane, &load.namespace, arguments);
        assert_eq!(status, Some(0), "{arguments:?}: {said}");
        said
    };
    // Only where the policy refuses its node, a pod of an even node waits.
    let mut number = 0;
    let mut to_even = || {
        number += 1;
        let name = format!("even-{number}");
        let mut pod = load.pod(&name, "10m");
        pod["spec"]["nodeSelector"] = json!({"half": "even"});
        plane.create(&[pod]);
        name
    };
    let bound = |name: &str| {
        wait_until("the pod is bound", SOON, || plane.node_of(&load.namespace, name).is_some());
    };
    plane.create(&[map(&load.namespace, "half", &text(0))]);
    serves("Serving");
    let first = annotation(plane, &load.namespace, "half", "revision");
    replace(plane, &load.namespace, "half", &text(1));
    wait_until("the second text serves", SOON, || {
        verdict() == "Serving" && annotation(plane, &load.namespace, "half", "revision") != first
    });
    wait_until("the history has both", SOON, || {
        policies(plane, &load.namespace, &["show", "half"]).1.contains(&first[..12])
    });
    let object = |plane: &ControlPlane| {
        let object = plane.get_json(["configmap", "half", "--namespace", &load.namespace]);
        (object["data"].clone(), object["metadata"]["labels"].clone())
    };
    let before = object(plane);
    let waits = to_even();
    wait_until("the policy refuses the node", SOON, || {
        !plane.events_about(&load.namespace, &waits).is_empty()
    });

    // Off: the pod is bound, and everything says so.
    let (status, said) = policies(plane, &load.namespace, &["suspend", "half"]);
    assert!(status == Some(2) && said.contains("--because"), "{said}");
    let said = does(&["suspend", "half", "--because", "OPS-7: it blocks \u{1b}[31mall"]);
    assert!(said.contains("policy `half` is suspended") && said.contains("policies resume half"), "{said}");
    assert!(!said.contains('\u{1b}'), "{said}");
    bound(&waits);
    serves("Overridden");
    assert!(annotation(plane, &load.namespace, "half", "status").contains("OPS-7"));
    let metrics = || plane.get_from(&ours.url(), "/metrics").unwrap();
    let sample = "bayplan_policy_override{policy=\"half\",kind=\"suspend\"} 1";
    assert!(
        metrics().contains(sample) && metrics().contains("bayplan_policy_load_success{policy=\"half\"} 0")
    );
    let json = |arguments: &[&str]| serde_json::from_str::<Value>(&does(arguments)).unwrap();
    let listed = json(&["-o", "json"]);
    as_documented(&listed, "Policies");
    as_documented(&listed["policies"][0], "PolicyState");
    assert_eq!(listed["policies"][0]["state"], "suspended");
    let shown = json(&["show", "half", "-o", "json"]);
    as_documented(&shown, "Policy");
    as_documented(&shown["override"], "PolicyOverride");
    as_documented(&shown["history"][0], "PolicyRevision");
    assert_eq!(shown["override"]["kind"], "suspend");
    let listed = does(&[]);
    assert!(listed.contains("half") && listed.contains("suspended") && listed.contains("OPS-7"), "{listed}");
    // Also after a restart.
    ours.daemon.kill();
    let ours = SchedulerProcess::start(plane, &setup);
    bound(&to_even());
    does(&["resume", "half"]);
    serves("Serving");
    let metrics = plane.get_from(&ours.url(), "/metrics").unwrap();
    assert!(!metrics.contains("bayplan_policy_override{"), "{metrics}");

    // Back to the text before, in service without a change of the object.
    let waits = to_even();
    wait_until("the policy refuses the node", SOON, || {
        !plane.events_about(&load.namespace, &waits).is_empty()
    });
    let said = does(&["rollback", "half", "--because", "OPS-8"]);
    assert!(said.contains(&format!("pinned to revision {first}")), "{said}");
    bound(&waits);
    serves("Overridden");
    let (status, said) =
        policies(plane, &load.namespace, &["rollback", "half", "--to", "ffff", "--because", "x"]);
    assert!(status == Some(2) && said.contains("has no revision `ffff`"), "{said}");
    assert_eq!(object(plane), before);

    // A new text ends it, and so does its time.
    replace(plane, &load.namespace, "half", &text(3));
    serves("Serving");
    does(&["suspend", "--all", "--because", "OPS-9", "--for", "4s"]);
    serves("Overridden");
    serves("Serving");
    let (status, said) = policies(plane, &load.namespace, &["suspend", "hlaf", "--because", "x"]);
    assert!(status == Some(2) && said.contains("did you mean `half`?"), "{said}");
}

#[test]
fn the_next_leader_continues_the_history_and_keeps_a_rollback() {
    let plane = ControlPlane::shared();
    let load = Workload::new(plane, "heir", 2);
    plane.kubectl_ok(["label", "node", &format!("{}-0", load.namespace), "half=even"]);
    plane.kubectl_ok(["label", "node", &format!("{}-1", load.namespace), "half=odd"]);
    let setup = Setup::new(&load.scheduler).policies_from(&load.namespace).elects();
    let mut first = SchedulerProcess::start(plane, &setup);
    let second = SchedulerProcess::start(plane, &setup);
    let annotated = |key: &str| annotation(plane, &load.namespace, "half", key);
    // All texts come after the start of the second replica.
    let mut revisions = Vec::new();
    plane.create(&[map(&load.namespace, "half", &text(0))]);
    for version in 0..3 {
        if version > 0 {
            replace(plane, &load.namespace, "half", &text(version));
        }
        wait_until("the text serves", SOON, || {
            annotated("verdict") == "Serving" && !revisions.contains(&annotated("revision"))
        });
        revisions.push(annotated("revision"));
    }
    let (status, said) = policies(plane, &load.namespace, &["rollback", "half", "--because", "OPS-1"]);
    assert_eq!(status, Some(0), "{said}");
    wait_until("the text before serves", SOON, || annotated("verdict") == "Overridden");
    first.daemon.kill();
    wait_until("the second leads", SOON, || second.said().contains("became leader"));
    plane.create(&[load.pod("after", "10m")]);
    wait_until("the pod is bound", SOON, || plane.node_of(&load.namespace, "after").is_some());
    assert_eq!(plane.node_of(&load.namespace, "after").unwrap(), format!("{}-1", load.namespace));
    assert_eq!(annotated("verdict"), "Overridden");
    let (_, shown) = policies(plane, &load.namespace, &["show", "half"]);
    for revision in &revisions {
        assert!(shown.contains(&revision[..12]), "{revision} is lost: {shown}");
    }
}
