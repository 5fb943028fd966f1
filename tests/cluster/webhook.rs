//! `bayplan webhook` behind a real API server: what `kubectl apply` says of a change of policies, and what happens when
//! nobody answers.

use crate::extenders::{authority, certificate};
use crate::scheduler_process::{SchedulerProcess, Setup};
use crate::support::control_plane::free_port;
use crate::support::daemon::Folder;
use crate::support::objects::{config_map, node, pod, with_label};
use crate::support::wait::became_true;
use crate::support::{ControlPlane, Daemon};
use serde_json::{Value, json};
use std::process::{Command, Output};
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(30);

const OLD: &str =
    "policy zones {\n  filter zone {\n    reject \"no\" when node.labels[\"zone\"] == \"a\"\n  }\n}\n";

/// Refuses what the old text refuses, and a zone more.
fn stricter() -> String {
    OLD.replace("== \"a\"", "in [\"a\", \"b\"]")
}

/// A webhook that judges the ConfigMaps of one namespace.
struct Webhook<'p> {
    plane: &'p ControlPlane,
    namespace: String,
    folder: Folder,
    issuer: rcgen::Issuer<'static, rcgen::KeyPair>,
    port: u16,
    daemon: Daemon,
}

impl<'p> Webhook<'p> {
    fn start(plane: &'p ControlPlane, purpose: &str, flags: &[&str]) -> Self {
        let folder = Folder::new(purpose);
        let namespace = plane.create_namespace(purpose);
        let issuer = authority(&folder);
        certificate(&folder, "webhook", false, &issuer);
        let port = free_port();
        let daemon = Self::spawn(plane, &folder, &namespace, port, flags);
        let webhook = Self { plane, namespace, folder, issuer, port, daemon };
        webhook.wait_until_ready();
        webhook.register();
        webhook
    }

    fn spawn(plane: &ControlPlane, folder: &Folder, namespace: &str, port: u16, flags: &[&str]) -> Daemon {
        let mut command = Command::new(env!("CARGO_BIN_EXE_bayplan"));
        command
            .arg("webhook")
            .arg(format!("--kubeconfig={}", plane.kubeconfig().display()))
            .arg(format!("--policy-namespaces={namespace}"))
            .arg(format!("--admission-listen=127.0.0.1:{port}"))
            .arg(format!("--admission-cert-file={}", folder.join("webhook.crt").display()))
            .arg(format!("--admission-key-file={}", folder.join("webhook.key").display()))
            .args(flags);
        Daemon::spawn("bayplan-webhook", command, &folder.join("webhook.log"))
    }

    #[track_caller]
    fn wait_until_ready(&self) {
        let url = format!("https://127.0.0.1:{}/readyz", self.port);
        let authority = self.folder.join("ca.crt").display().to_string();
        let ready = became_true(PATIENCE, || {
            let line = ["-s", "--cacert", &authority, "-o", "/dev/null", "-w", "%{http_code}", &url];
            Command::new("curl").args(line).output().is_ok_and(|answer| answer.stdout == b"200")
        });
        assert!(ready, "{}", self.daemon.log_tail(30));
    }

    /// The configuration that sends it changes, as `docs/changes.md` has it.
    fn register(&self) {
        let bundle = std::fs::read(self.folder.join("ca.crt")).unwrap();
        let encoded = Command::new("base64").arg("-w0").arg(self.folder.join("ca.crt")).output().unwrap();
        assert!(!bundle.is_empty() && encoded.status.success());
        let bundle = String::from_utf8(encoded.stdout).unwrap();
        self.plane.create(&[json!({
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": "ValidatingWebhookConfiguration",
            "metadata": {"name": self.namespace},
            "webhooks": [{
                "name": "policies.bayplan.dev",
                "clientConfig": {"url": format!("https://127.0.0.1:{}/policies", self.port), "caBundle": bundle},
                "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"],
                    "operations": ["CREATE", "UPDATE", "DELETE"]}],
                "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": self.namespace}},
                "objectSelector": {"matchExpressions": [{"key": "bayplan.dev/policy", "operator": "Exists"}]},
                "failurePolicy": "Ignore",
                "timeoutSeconds": 2,
                "sideEffects": "None",
                "admissionReviewVersions": ["v1"],
            }],
        })]);
    }

    /// `kubectl apply` of the policy with a text.
    fn apply(&self, text: &str, accepts: Option<&str>) -> Output {
        let mut object =
            config_map(&self.namespace, "zones", &[("bayplan.dev/policy", "")], &[("zones.bay", text)]);
        if let Some(accepts) = accepts {
            object["metadata"]["annotations"] = json!({"bayplan.dev/accept-impact": accepts});
        }
        self.plane.kubectl_with_input(&["apply", "-f", "-"], &object.to_string())
    }

    fn in_service(&self) -> String {
        let object = self.plane.get_json(["configmap", "zones", "--namespace", &self.namespace]);
        object["data"]["zones.bay"].as_str().unwrap_or_default().to_owned()
    }
}

impl Drop for Webhook<'_> {
    fn drop(&mut self) {
        self.plane.kubectl(["delete", "validatingwebhookconfiguration", &self.namespace]);
    }
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn a_change_is_judged_before_it_acts() {
    let plane = ControlPlane::shared();
    let mark = "webhook-judged";
    let zone = |at: usize| ["a", "b", "c"][at % 3];
    let of_zone = |at: usize| {
        let of =
            with_label(node(&format!("{mark}-{at}"), &[("cpu", "8"), ("memory", "16Gi")]), "zone", zone(at));
        with_label(of, "webhook", mark)
    };
    plane.create(&[of_zone(0), of_zone(1)]);
    // It counts the pods of the profiles of its configuration.
    let scheduler = format!("{mark}-scheduler");
    let folder = Folder::new("webhook-config");
    let config = folder.join("config.yaml");
    let text = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nprofiles:\n- schedulerName: ";
    std::fs::write(&config, format!("{text}{scheduler}\n")).unwrap();
    let config = format!("--config={}", config.display());
    let mut webhook = Webhook::start(plane, mark, &["--max-newly-waiting=0%,2", &config]);
    let first = webhook.apply(OLD, None);
    assert!(first.status.success(), "{}", said(&first));

    // Four pods run in zone b, and nowhere else.
    let mut setup = Setup::new(&scheduler).policies_from(&webhook.namespace);
    let of_scheduler = free_port();
    setup.flags.extend([
        format!("--admission-listen=127.0.0.1:{of_scheduler}"),
        format!("--admission-cert-file={}", webhook.folder.join("webhook.crt").display()),
        format!("--admission-key-file={}", webhook.folder.join("webhook.key").display()),
        "--max-newly-waiting=0%,2".to_owned(),
    ]);
    let process = SchedulerProcess::start(plane, &setup);
    let pods: Vec<Value> = (0..4)
        .map(|at| {
            let mut pod = pod(&webhook.namespace, &format!("p{at}"), &scheduler, &[("cpu", "100m")]);
            pod["spec"]["nodeSelector"] = json!({"webhook": mark});
            pod
        })
        .collect();
    plane.create(&pods);
    let bound = |at: usize| plane.node_of(&webhook.namespace, &format!("p{at}"));
    assert!(
        became_true(PATIENCE, || (0..4).all(|at| bound(at) == Some(format!("{mark}-1")))),
        "{}",
        process.said()
    );

    // A text that does not compile is refused with its mistakes.
    let broken = webhook.apply(&OLD.replace("reject", "rejct"), None);
    assert!(!broken.status.success());
    let text = said(&broken);
    assert!(
        text.contains("do not compile") && text.contains("zones.bay:3:") && text.contains("BP"),
        "{text}"
    );
    assert_eq!(webhook.in_service(), OLD);

    // More pods would wait than are let through: refused, with the number. The watch may be a moment behind.
    let mut text = String::new();
    let refused = became_true(PATIENCE, || {
        let output = webhook.apply(&stricter(), None);
        text = said(&output);
        let refused = !output.status.success();
        if !refused {
            webhook.apply(OLD, None);
        }
        refused
    });
    assert!(refused, "{text}");
    assert!(text.contains("leaves 4 pods without a node"), "{text}");
    assert!(text.contains("bayplan.dev/accept-impact: \"4\""), "{text}");
    assert_eq!(webhook.in_service(), OLD);
    let fewer = webhook.apply(&stricter(), Some("3"));
    assert!(!fewer.status.success(), "{}", said(&fewer));

    // With the number it is let through, and the warnings say what it does.
    let accepted = webhook.apply(&stricter(), Some("4"));
    let mut text = said(&accepted);
    assert!(accepted.status.success(), "{text}");
    assert!(text.contains("Warning: zones/zone: stricter"), "{text}");
    assert!(text.contains(&format!("on {mark}-1: passed, now refused")), "{text}");
    assert!(
        text.contains("of 4 pods that the change applies to: 4 that run are refused where they are"),
        "{text}"
    );

    // A pod that waits under it begins to run when the change is taken back.
    let mut waiting = pod(&webhook.namespace, "waiting", &scheduler, &[("cpu", "100m")]);
    waiting["spec"]["nodeSelector"] = json!({"webhook": mark});
    plane.create(&[waiting]);
    let object =
        config_map(&webhook.namespace, "zones", &[("bayplan.dev/policy", "")], &[("zones.bay", OLD)]);
    let begins = became_true(PATIENCE, || {
        let dry = plane.kubectl_with_input(&["apply", "--dry-run=server", "-f", "-"], &object.to_string());
        text = said(&dry);
        text.contains("of 5 pods that the change applies to: 1 pod begins to run")
    });
    assert!(begins, "{text}");

    // A dry run of the API server says the same and changes nothing.
    let object =
        config_map(&webhook.namespace, "zones", &[("bayplan.dev/policy", "")], &[("zones.bay", OLD)]);
    let dry = plane.kubectl_with_input(&["apply", "--dry-run=server", "-f", "-"], &object.to_string());
    assert!(dry.status.success() && said(&dry).contains("zones/zone: looser"), "{}", said(&dry));
    assert_eq!(webhook.in_service(), stricter());

    // What is in service, what was, and what would be.
    let at = [
        format!("--kubeconfig={}", plane.kubeconfig().display()),
        format!("--policy-namespaces={}", webhook.namespace),
        "-ojson".to_owned(),
    ];
    let ours = |command: &[&str]| -> Value {
        let output = Command::new(env!("CARGO_BIN_EXE_bayplan")).args(command).args(&at).output().unwrap();
        serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {}", said(&output)))
    };
    let mut history = Value::Null;
    let kept = became_true(PATIENCE, || {
        history = ours(&["policies", "show", "zones"])["history"].clone();
        history.as_array().is_some_and(|all| all.len() >= 2)
    });
    assert!(kept, "{history}");
    let earlier =
        format!("live:zones@{}", history.as_array().unwrap().last().unwrap()["revision"].as_str().unwrap());
    let said_of = ours(&["diff", &earlier, "live"]);
    assert_eq!(said_of["rules"][0]["verdict"], "stricter", "{said_of:#}");
    let file = folder.join("loose.bay");
    std::fs::write(&file, OLD).unwrap();
    let said_of = ours(&["diff", "live:zones", &file.display().to_string()]);
    assert_eq!(said_of["rules"][0]["verdict"], "looser", "{said_of:#}");

    // A scheduler judges beside its work.
    webhook.daemon.kill();
    plane.kubectl_ok(["delete", "validatingwebhookconfiguration", &webhook.namespace]);
    webhook.port = of_scheduler;
    webhook.wait_until_ready();
    webhook.register();
    let broken = OLD.replace("reject", "rejct");
    let refused = became_true(PATIENCE, || {
        let output = webhook.apply(&broken, Some("4"));
        said(&output).contains("do not compile")
    });
    assert!(refused, "{}", process.said());

    // Without a policy all pass.
    let line = ["delete", "configmap", "zones", "--namespace", &webhook.namespace];
    let deleted = plane.kubectl(line);
    assert!(deleted.status.success() && said(&deleted).contains("zones/zone: looser"), "{}", said(&deleted));
}

#[test]
fn a_webhook_that_fails_stops_no_change() {
    let plane = ControlPlane::shared();
    let mut webhook = Webhook::start(plane, "webhook-fails", &[]);
    let broken = OLD.replace("reject", "rejct");
    assert!(!webhook.apply(&broken, None).status.success());

    // It hangs: after two seconds the change goes through.
    webhook.daemon.pause();
    let since = Instant::now();
    let output = webhook.apply(OLD, None);
    assert!(output.status.success(), "{}", said(&output));
    assert!(since.elapsed() < Duration::from_secs(15), "{:?}", since.elapsed());
    webhook.daemon.resume();
    webhook.wait_until_ready();

    // Its certificate ran out: the same. It reads a new one while it runs, and judges again.
    webhook.daemon.kill();
    expired(&webhook.folder, &webhook.issuer);
    webhook.daemon = Webhook::spawn(plane, &webhook.folder, &webhook.namespace, webhook.port, &[]);
    let listens = became_true(PATIENCE, || std::net::TcpStream::connect(("127.0.0.1", webhook.port)).is_ok());
    assert!(listens, "{}", webhook.daemon.log_tail(20));
    let output = webhook.apply(&broken, None);
    assert!(output.status.success(), "{}", said(&output));
    certificate(&webhook.folder, "webhook", false, &webhook.issuer);
    webhook.wait_until_ready();
    let mut count = 0;
    let refused = became_true(PATIENCE, || {
        count += 1;
        !webhook.apply(&format!("{broken}\n// {count}"), None).status.success()
    });
    assert!(refused, "{}", webhook.daemon.log_tail(20));

    // It is gone.
    webhook.daemon.kill();
    let output = webhook.apply(&format!("{broken}\n// killed"), None);
    assert!(output.status.success(), "{}", said(&output));
}

/// Replaces the certificate of the webhook by one whose time is over.
fn expired(folder: &Folder, issuer: &rcgen::Issuer<'_, rcgen::KeyPair>) {
    let mut params = rcgen::CertificateParams::new(vec![String::from("127.0.0.1")]).unwrap();
    params.not_before = rcgen::date_time_ymd(2020, 1, 1);
    params.not_after = rcgen::date_time_ymd(2021, 1, 1);
    let key = rcgen::KeyPair::generate().unwrap();
    let made = params.signed_by(&key, issuer).unwrap();
    std::fs::write(folder.join("webhook.key"), key.serialize_pem()).unwrap();
    std::fs::write(folder.join("webhook.crt"), made.pem()).unwrap();
}

/// What `diff --live` foretells of a change is what the scheduler does once the change is applied.
#[test]
fn a_change_that_is_applied_does_what_was_foretold() {
    let plane = ControlPlane::shared();
    let mark = "diff-foretold";
    let namespace = plane.create_namespace(mark);
    let scheduler = format!("{mark}-scheduler");
    let nodes: Vec<Value> = (0..6)
        .map(|at| {
            let of = node(&format!("{mark}-{at}"), &[("cpu", "4"), ("memory", "16Gi")]);
            let of = with_label(of, "zone", ["a", "b", "c"][at % 3]);
            with_label(with_label(of, "webhook", mark), "rank", &at.to_string())
        })
        .collect();
    plane.create(&nodes);
    let pods: Vec<Value> = (0..12)
        .map(|at| {
            let cpu = ["500m", "2", "3"][at % 3];
            let mut pod = pod(&namespace, &format!("p{at:02}"), &scheduler, &[("cpu", cpu)]);
            pod["spec"]["nodeSelector"] = json!({"webhook": mark});
            pod
        })
        .collect();
    for pod in pods {
        plane.create(&[pod]);
    }
    let folder = Folder::new(mark);
    let rank = "  score rank weight 50 {\n    give clamp(int(node.labels[\"rank\"]) ?? 0, 0, 9)\n  }\n}\n";
    let old = OLD.replace("  }\n}\n", &format!("  }}\n{rank}"));
    let new = old.replace("== \"a\"", "== \"b\"").replace("give clamp", "give 9 - clamp");
    for (name, text) in [("old.bay", &old), ("new.bay", &new)] {
        std::fs::write(folder.join(name), text).unwrap();
    }
    let config = folder.join("config.yaml");
    let text = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nleaderElection: {leaderElect: \
                false}\nprofiles:\n- schedulerName: ";
    std::fs::write(&config, format!("{text}{scheduler}\n")).unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_bayplan"))
        .arg("diff")
        .args([folder.join("old.bay"), folder.join("new.bay")])
        .arg(format!("--kubeconfig={}", plane.kubeconfig().display()))
        .arg(format!("--config={}", config.display()))
        .args(["-o", "json"])
        .output()
        .unwrap();
    let said: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)));
    let ours = format!("{namespace}/");
    let foretold: Vec<(String, Value)> = said["effect"]["pods"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|of| {
            Some((of["pod"].as_str()?.strip_prefix(&ours)?.to_owned(), of["after"]["node"].clone()))
        })
        .collect();
    assert!(foretold.len() >= 6, "{said:#}");

    let mut process = Setup::new(&scheduler).config(config);
    process.flags.push(format!("--policies={}", folder.join("new.bay").display()));
    let scheduler = SchedulerProcess::start(plane, &process);
    let as_foretold =
        || foretold.iter().all(|(name, node)| plane.node_of(&namespace, name).as_deref() == node.as_str());
    let placed = became_true(PATIENCE, as_foretold);
    let found: Vec<_> = foretold.iter().map(|(name, _)| (name, plane.node_of(&namespace, name))).collect();
    assert!(placed, "{foretold:?}\n{found:?}\n{}", scheduler.said());
}
