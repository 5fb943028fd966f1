//! Extenders in both directions: `bayplan run` asks one over real HTTP and HTTPS, and the real kube-scheduler asks
//! `bayplan extender`.

use crate::scheduler_process::{SchedulerProcess, Setup};
use crate::support::control_plane::free_port;
use crate::support::daemon::Folder;
use crate::support::extender::{FakeExtender, Said, leaves, names};
use crate::support::objects::{node, pod, with_label};
use crate::support::wait::became_true;
use crate::support::{ControlPlane, Daemon};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(30);

/// A configuration with these extenders, as YAML in one line each.
pub(crate) fn config(folder: &Folder, scheduler: &str, extenders: &[String]) -> PathBuf {
    let path = folder.join("with-extenders.yaml");
    let text = format!(
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nleaderElection: \
         {{leaderElect: false}}\npodInitialBackoffSeconds: 1\npodMaxBackoffSeconds: 1\nprofiles:\n- schedulerName: \
         {scheduler}\nextenders:\n- {}\n",
        extenders.join("\n- ")
    );
    std::fs::write(&path, text).unwrap();
    path
}

/// Nodes of this test alone, which its pods select.
fn nodes(plane: &ControlPlane, mark: &str, count: usize) {
    let all: Vec<Value> = (0..count)
        .map(|at| {
            with_label(node(&format!("{mark}-{at}"), &[("cpu", "8"), ("memory", "16Gi")]), "extender", mark)
        })
        .collect();
    plane.create(&all);
}

fn selecting(namespace: &str, name: &str, scheduler: &str, mark: &str) -> Value {
    let mut pod = pod(namespace, name, scheduler, &[("cpu", "100m")]);
    pod["spec"]["nodeSelector"] = json!({"extender": mark});
    pod
}

fn condition(plane: &ControlPlane, namespace: &str, name: &str) -> Value {
    let pod = plane.get_json(["pod", "-n", namespace, name]);
    let conditions = pod["status"]["conditions"].as_array().cloned().unwrap_or_default();
    conditions.into_iter().find(|condition| condition["type"] == "PodScheduled").unwrap_or_default()
}

#[track_caller]
fn waits_with(plane: &ControlPlane, namespace: &str, name: &str, part: &str) -> Value {
    let mut last = Value::Null;
    let found = became_true(PATIENCE, || {
        last = condition(plane, namespace, name);
        last["message"].as_str().is_some_and(|message| message.contains(part))
    });
    assert!(found, "{name} should wait with {part:?}: {last}");
    last
}

#[track_caller]
fn placed(plane: &ControlPlane, namespace: &str, name: &str) -> String {
    let mut node = None;
    became_true(PATIENCE, || {
        node = plane.node_of(namespace, name);
        node.is_some()
    });
    node.unwrap_or_else(|| panic!("{name} has no node: {}", condition(plane, namespace, name)))
}

#[test]
fn an_extender_filters_scores_and_binds() {
    let plane = ControlPlane::shared();
    let (mark, folder) = ("ext-all", Folder::new("extenders"));
    nodes(plane, mark, 4);
    let namespace = plane.create_namespace("ext-all");
    let fake = FakeExtender::start(move |verb, question| match verb {
        "filter" => leaves(&names(question)[..3]),
        "prioritize" => {
            let all = names(question);
            let scores: Vec<Value> =
                all.iter().enumerate().map(|(at, name)| json!({"Host": name, "Score": at})).collect();
            Said::json(&json!(scores))
        }
        "bind" => {
            let [name, namespace, uid, node] =
                ["PodName", "PodNamespace", "PodUID", "Node"].map(|key| question[key].as_str().unwrap());
            let binding = json!({"apiVersion": "v1", "kind": "Binding",
                "metadata": {"name": name, "namespace": namespace, "uid": uid},
                "target": {"apiVersion": "v1", "kind": "Node", "name": node}});
            let path = format!("/api/v1/namespaces/{namespace}/pods/{name}/binding");
            let plane = ControlPlane::shared();
            let done = plane.kubectl_with_input(&["create", "--raw", &path, "-f", "-"], &binding.to_string());
            let error = if done.status.success() { "" } else { "the API server refuses" };
            Said::json(&json!({"Error": error}))
        }
        _ => Said::status(404),
    });
    let extender = format!(
        "{{urlPrefix: '{}', filterVerb: filter, prioritizeVerb: prioritize, bindVerb: bind, weight: 100, \
         nodeCacheCapable: true, httpTimeout: 5s}}",
        fake.url()
    );
    let config = config(&folder, mark, &[extender]);
    let ours = SchedulerProcess::start(plane, &Setup::new(mark).config(config));
    plane.create(&[selecting(&namespace, "web", mark, mark)]);
    let chosen = placed(plane, &namespace, "web");
    let asked = fake.asked("prioritize", "web");
    assert_eq!(names(&asked[0]).len(), 3, "one node was filtered out");
    assert_eq!(chosen, names(&asked[0])[2], "the highest score counts");
    assert_eq!(fake.asked("bind", "web").len(), 1, "{}", ours.said());
    let pod = plane.get_json(["pod", "-n", &namespace, "web"]);
    assert_eq!(fake.asked("filter", "web")[0]["Pod"]["metadata"]["uid"], pod["metadata"]["uid"]);
    let scheduled = became_true(PATIENCE, || {
        plane.events_about(&namespace, "web").iter().any(|event| event["reason"] == "Scheduled")
    });
    assert!(scheduled, "{}", ours.said());

    // A refused pod says why, in the extender's words.
    fake.answers(|_, question| {
        let failed: serde_json::Map<String, Value> =
            names(question).into_iter().map(|name| (name, json!("no licence there"))).collect();
        Said::json(&json!({"NodeNames": [], "FailedNodes": failed}))
    });
    plane.create(&[selecting(&namespace, "refused", mark, mark)]);
    let told = waits_with(plane, &namespace, "refused", "4 no licence there");
    assert_eq!(told["reason"], "Unschedulable");
    // It is tried again after any event.
    fake.answers(|_, question| leaves(&names(question)));
    plane.kubectl_ok(["label", "node", &format!("{mark}-0"), "touched=yes"]);
    waits_with_node_or_bind_failure(plane, &namespace);
}

/// The extender answers binds with a list of nodes: no error, so the pod counts as bound and stays assumed. That is
/// upstream's behaviour for an extender that lies.
#[track_caller]
fn waits_with_node_or_bind_failure(plane: &ControlPlane, namespace: &str) {
    let seen = became_true(PATIENCE, || {
        plane.events_about(namespace, "refused").iter().any(|event| event["reason"] == "Scheduled")
    });
    assert!(seen, "{}", condition(plane, namespace, "refused"));
}

#[test]
fn an_extender_that_knows_no_nodes_gets_whole_objects() {
    let plane = ControlPlane::shared();
    let (mark, folder) = ("ext-whole", Folder::new("extenders"));
    nodes(plane, mark, 2);
    let namespace = plane.create_namespace("ext-whole");
    let fake = FakeExtender::start(|_, question| {
        let items = &question["Nodes"]["items"];
        Said::json(&json!({"Nodes": {"items": [items[1]]}}))
    });
    let extender = format!("{{urlPrefix: '{}', filterVerb: filter, httpTimeout: 5s}}", fake.url());
    let config = config(&folder, mark, &[extender]);
    let ours = SchedulerProcess::start(plane, &Setup::new(mark).config(config));
    plane.create(&[selecting(&namespace, "web", mark, mark)]);
    let chosen = placed(plane, &namespace, "web");
    let question = &fake.asked("filter", "web")[0];
    assert_eq!(chosen, names(question)[1], "{}", ours.said());
    assert_eq!(question["NodeNames"], Value::Null);
    let (pod, node) = (&question["Pod"], &question["Nodes"]["items"][0]);
    // Fields that no scheduler reads are there; those that Go's types do not have in a list are not.
    assert_eq!(pod["spec"]["containers"][0]["terminationMessagePath"], "/dev/termination-log");
    assert_eq!(pod["spec"]["terminationGracePeriodSeconds"], 0);
    assert_eq!(node["status"]["conditions"][0]["reason"], "KubeletReady");
    for object in [pod, node] {
        assert!(object["metadata"]["uid"].is_string() && object["metadata"]["managedFields"].is_null());
        assert!(object["kind"].is_null() && object["apiVersion"].is_null(), "{object}");
    }
}

#[test]
fn an_extender_that_hangs_lies_or_returns_garbage_fails_single_attempts_and_nothing_else() {
    let plane = ControlPlane::shared();
    let (mark, folder) = ("ext-bad", Folder::new("extenders"));
    nodes(plane, mark, 2);
    let namespace = plane.create_namespace("ext-bad");
    let fake = FakeExtender::start(|_, question| leaves(&names(question)));
    let extender = format!(
        "{{urlPrefix: '{}', filterVerb: filter, nodeCacheCapable: true, httpTimeout: 700ms}}",
        fake.url()
    );
    // Nothing listens there: it is ignorable, so that it only costs time.
    let absent = format!(
        "{{urlPrefix: 'http://127.0.0.1:{}', filterVerb: filter, ignorable: true, nodeCacheCapable: true}}",
        free_port()
    );
    let config = config(&folder, mark, &[absent, extender]);
    let mut ours = SchedulerProcess::start(plane, &Setup::new(mark).config(config));
    type Wrong = fn() -> Said;
    let cases: [(&str, Wrong, &str); 6] = [
        ("hangs", || leaves(&[]).after(Duration::from_secs(3)), "context deadline exceeded"),
        ("garbage", || Said::text("<html>no</html>"), "cannot read the answer of the extender"),
        ("huge", || Said::text(vec![b' '; 10 * 1024 * 1024]), "the answer has more than"),
        ("fails", || Said::status(500), "failed filter with extender at URL"),
        (
            "lies",
            || leaves(&[String::from("nowhere")]),
            "claims a filtered node \"nowhere\" which is not found",
        ),
        (
            "says-so",
            || Said::json(&json!({"Error": "the licence server is down"})),
            "the licence server is down",
        ),
    ];
    for (name, wrong, part) in cases {
        fake.answers(move |_, _| wrong());
        plane.create(&[selecting(&namespace, name, mark, mark)]);
        let told = waits_with(plane, &namespace, name, part);
        assert_eq!(told["reason"], "SchedulerError", "{told}");
        fake.answers(|_, question| leaves(&names(question)));
        placed(plane, &namespace, name);
    }
    assert!(ours.daemon.is_running());
    let log = ours.said();
    assert!(log.contains("Skipping extender as it returned error and has ignorable flag set"), "{log}");
}

/// A certificate with its key, signed by an authority, in files.
pub(crate) fn certificate(
    folder: &Folder,
    name: &str,
    client: bool,
    issuer: &rcgen::Issuer<'_, rcgen::KeyPair>,
) {
    let mut params = rcgen::CertificateParams::new(vec![String::from("127.0.0.1")]).unwrap();
    params.distinguished_name.push(rcgen::DnType::CommonName, name);
    let usage = match client {
        true => rcgen::ExtendedKeyUsagePurpose::ClientAuth,
        false => rcgen::ExtendedKeyUsagePurpose::ServerAuth,
    };
    params.extended_key_usages = vec![usage];
    let key = rcgen::KeyPair::generate().unwrap();
    let made = params.signed_by(&key, issuer).unwrap();
    std::fs::write(folder.join(format!("{name}.crt")), made.pem()).unwrap();
    std::fs::write(folder.join(format!("{name}.key")), key.serialize_pem()).unwrap();
}

pub(crate) fn authority(folder: &Folder) -> rcgen::Issuer<'static, rcgen::KeyPair> {
    let mut params = rcgen::CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    let key = rcgen::KeyPair::generate().unwrap();
    let made = params.self_signed(&key).unwrap();
    std::fs::write(folder.join("ca.crt"), made.pem()).unwrap();
    rcgen::Issuer::new(params, key)
}

/// `bayplan extender` with the policies of a folder; killed when dropped.
pub(crate) struct OurExtender {
    pub daemon: Daemon,
    port: u16,
}

impl OurExtender {
    fn start(plane: &ControlPlane, folder: &Folder, policies: &Path, flags: &[String]) -> Self {
        Self::start_with(plane, folder, policies, flags, &[])
    }

    /// With environment variables.
    pub(crate) fn start_with(
        plane: &ControlPlane,
        folder: &Folder,
        policies: &Path,
        flags: &[String],
        variables: &[(&str, &str)],
    ) -> Self {
        let port = free_port();
        let mut command = Command::new(env!("CARGO_BIN_EXE_bayplan"));
        command
            .envs(variables.iter().copied())
            .arg("extender")
            .arg(format!("--policies={}", policies.display()))
            .arg(format!("--kubeconfig={}", plane.kubeconfig().display()))
            .arg(format!("--listen=127.0.0.1:{port}"))
            .args(flags);
        Self { daemon: Daemon::spawn("bayplan-extender", command, &folder.join("extender.log")), port }
    }

    /// `how`: what curl needs to reach it; `root`: what its URLs begin with.
    #[track_caller]
    fn wait_until_ready(&mut self, how: &[&str], root: &str) {
        let url = format!("{root}/readyz");
        let ready = became_true(PATIENCE, || {
            let answer = Command::new("curl")
                .args(how)
                .args(["-s", "-o", "/dev/null", "-w", "%{http_code}", &url])
                .output();
            !self.daemon.is_running() || answer.is_ok_and(|answer| answer.stdout == b"200")
        });
        assert!(ready && self.daemon.is_running(), "{}", self.daemon.log_tail(30));
    }
}

const POLICY: &str = r#"
policy paint {
  applies when pod.labels["team"] == "red"
  filter painted {
    reject "node(s) of another paint" when node.labels["paint"] != "red"
  }
  score big {
    give 100 when node.labels["size"] == "big"
  }
}
"#;

#[test]
fn kube_scheduler_asks_the_policies_as_its_extender() {
    let plane = ControlPlane::shared();
    let (mark, folder) = ("ext-ours", Folder::new("extenders"));
    let namespace = plane.create_namespace("ext-ours");
    let policies = folder.join("policies");
    std::fs::create_dir(&policies).unwrap();
    std::fs::write(policies.join("paint.bay"), POLICY).unwrap();
    let painted = |name: &str, paint: &str, size: &str| {
        let node = with_label(node(name, &[("cpu", "8"), ("memory", "16Gi")]), "extender", mark);
        with_label(with_label(node, "paint", paint), "size", size)
    };
    plane.create(&[
        painted("ext-ours-a", "blue", "big"),
        painted("ext-ours-b", "red", "small"),
        painted("ext-ours-c", "red", "big"),
    ]);
    let issuer = authority(&folder);
    certificate(&folder, "server", false, &issuer);
    certificate(&folder, "client", true, &issuer);
    let file = |name: &str| folder.join(name).display().to_string();
    let flags = [
        String::from("--bind"),
        format!("--tls-cert-file={}", file("server.crt")),
        format!("--tls-private-key-file={}", file("server.key")),
        format!("--client-ca-file={}", file("ca.crt")),
    ];
    let mut extender = OurExtender::start(plane, &folder, &policies, &flags);
    let (ca, certificate, key) = (file("ca.crt"), file("client.crt"), file("client.key"));
    let url = format!("https://127.0.0.1:{}", extender.port);
    extender.wait_until_ready(&["--cacert", &ca, "--cert", &certificate, "--key", &key], &url);
    for capable in [true, false] {
        let scheduler = format!("ext-ours-{capable}");
        let kube = plane.start_kube_scheduler(&format!(
            "podInitialBackoffSeconds: 1\npodMaxBackoffSeconds: 1\nprofiles:\n- schedulerName: {scheduler}\nextenders:\n\
             - {{urlPrefix: '{url}', filterVerb: filter, prioritizeVerb: prioritize, bindVerb: bind, preemptVerb: preempt, \
             weight: 100, nodeCacheCapable: {capable}, enableHTTPS: true, tlsConfig: {{caFile: '{ca}', certFile: \
             '{certificate}', keyFile: '{key}'}}}}"
        ));
        let of_team = |name: &str, team: &str| {
            with_label(selecting(&namespace, &format!("{name}-{capable}"), &scheduler, mark), "team", team)
        };
        plane.create(&[of_team("painted", "red")]);
        let chosen = placed(plane, &namespace, &format!("painted-{capable}"));
        assert_eq!(chosen, "ext-ours-c", "{}", kube.daemon.log_tail(20));
        // A pod that the rules leave no node.
        let mut blue = of_team("blue", "red");
        blue["spec"]["nodeSelector"]["paint"] = json!("blue");
        plane.create(&[blue]);
        waits_with(plane, &namespace, &format!("blue-{capable}"), "1 ");
        let message = condition(plane, &namespace, &format!("blue-{capable}"))["message"].to_string();
        assert!(message.contains("node(s) of another paint"), "the reason is the policy's: {message}");
        // A change that the policy reads wakes it: kube-scheduler tries again after any event.
        plane.create(&[of_team("other", "green")]);
        placed(plane, &namespace, &format!("other-{capable}"));
    }
    assert!(extender.daemon.is_running(), "{}", extender.daemon.log_tail(30));
}

const ALONE: &str = r#"
policy alone {
  applies when pod.labels["burst"] == "yes"
  filter one {
    reject "node(s) with another pod" when node.pods.exists(p, p.labels["burst"] == "yes")
  }
}
"#;

#[test]
fn bindings_that_come_at_once_are_judged_one_after_the_other() {
    let plane = ControlPlane::shared();
    let (mark, folder) = ("ext-burst", Folder::new("extenders"));
    nodes(plane, mark, 1);
    let namespace = plane.create_namespace("ext-burst");
    let policies = folder.join("policies");
    std::fs::create_dir(&policies).unwrap();
    std::fs::write(policies.join("alone.bay"), ALONE).unwrap();
    let socket = folder.join("extender.sock");
    let flags = [String::from("--bind"), format!("--listen=unix:{}", socket.display())];
    let mut extender = OurExtender::start(plane, &folder, &policies, &flags);
    let how = ["--unix-socket", socket.to_str().unwrap()];
    extender.wait_until_ready(&how, "http://extender");
    let names: Vec<String> = (0..6).map(|at| format!("p{at}")).collect();
    let pods: Vec<Value> =
        names.iter().map(|name| with_label(pod(&namespace, name, "nobody", &[]), "burst", "yes")).collect();
    plane.create(&pods);
    let uid = |name: &str| {
        let pod = plane.get_json(["pod", "-n", &namespace, name]);
        pod["metadata"]["uid"].as_str().unwrap().to_owned()
    };
    let node = format!("{mark}-0");
    let asked = |name: &str, uid: &str, node: &str| {
        let body = json!({"PodName": name, "PodNamespace": namespace, "PodUID": uid, "Node": node});
        let answer = Command::new("curl")
            .args(how)
            .args(["-s", "-d", &body.to_string(), "http://extender/bind"])
            .output()
            .unwrap();
        let answer: Value = serde_json::from_slice(&answer.stdout).unwrap();
        answer["Error"].as_str().unwrap().to_owned()
    };
    // What the extender has not seen is refused.
    assert_eq!(asked("p0", "", &node), "the question has no UID of the pod");
    assert_eq!(asked("p0", "unknown", &node), "the extender does not know the pod yet");
    let first = uid("p0");
    became_true(PATIENCE, || asked("p0", &first, "unknown").contains("does not know the node"));
    assert_eq!(asked("p0", &first, "unknown"), "the extender does not know the node yet");
    assert_eq!(asked("p1", &first, &node), format!("the pod with this UID is {namespace}/p0"));
    assert!(names.iter().all(|name| plane.node_of(&namespace, name).is_none()));
    // Of a burst the rule lets one pod pass.
    let uids: Vec<String> = names.iter().map(|name| uid(name)).collect();
    became_true(PATIENCE, || {
        uids.iter().zip(&names).all(|(uid, name)| asked(name, uid, "unknown").contains("node"))
    });
    let answers: Vec<String> = std::thread::scope(|scope| {
        let asking: Vec<_> =
            names.iter().zip(&uids).map(|(name, uid)| scope.spawn(|| asked(name, uid, &node))).collect();
        asking.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let bound = names.iter().filter(|name| plane.node_of(&namespace, name).is_some()).count();
    assert_eq!((answers.iter().filter(|error| error.is_empty()).count(), bound), (1, 1), "{answers:?}");
    let refused = answers.iter().filter(|error| error.contains("node(s) with another pod")).count();
    assert_eq!(refused, 5, "{answers:?}");
}

#[test]
fn over_https_both_sides_show_and_verify_certificates() {
    let plane = ControlPlane::shared();
    let (mark, folder) = ("ext-tls", Folder::new("extenders"));
    nodes(plane, mark, 2);
    let namespace = plane.create_namespace("ext-tls");
    let policies = folder.join("policies");
    std::fs::create_dir(&policies).unwrap();
    std::fs::write(policies.join("paint.bay"), POLICY).unwrap();
    let issuer = authority(&folder);
    certificate(&folder, "server", false, &issuer);
    certificate(&folder, "client", true, &issuer);
    let file = |name: &str| folder.join(name).display().to_string();
    let flags = [
        format!("--tls-cert-file={}", file("server.crt")),
        format!("--tls-private-key-file={}", file("server.key")),
        format!("--client-ca-file={}", file("ca.crt")),
    ];
    let extender = OurExtender::start(plane, &folder, &policies, &flags);
    let url = format!("https://127.0.0.1:{}", extender.port);
    let of = |tls: &str| {
        format!(
            "{{urlPrefix: '{url}', filterVerb: filter, nodeCacheCapable: true, enableHTTPS: true, tlsConfig: {tls}}}"
        )
    };
    let certified = format!(
        "{{caFile: '{}', certFile: '{}', keyFile: '{}'}}",
        file("ca.crt"),
        file("client.crt"),
        file("client.key")
    );
    let good = config(&folder, mark, &[of(&certified)]);
    let ours = SchedulerProcess::start(plane, &Setup::new(mark).config(good));
    plane.create(&[selecting(&namespace, "web", mark, mark)]);
    placed(plane, &namespace, "web");
    drop(ours);
    // Without a certificate of ours the extender answers 401; with the wrong authority we do not ask.
    for (name, tls, part) in [
        ("anonymous", format!("{{caFile: '{}'}}", file("ca.crt")), "code 401"),
        ("unverified", String::from("{insecure: true}"), "code 401"),
        ("stranger", format!("{{caFile: '{}'}}", file("client.crt")), "Post \"https://127.0.0.1:"),
    ] {
        let scheduler = format!("ext-tls-{name}");
        let wrong = config(&folder, &scheduler, &[of(&tls)]);
        let ours = SchedulerProcess::start(plane, &Setup::new(&scheduler).config(wrong));
        plane.create(&[selecting(&namespace, name, &scheduler, mark)]);
        let told = waits_with(plane, &namespace, name, part);
        assert_eq!(told["reason"], "SchedulerError", "{told} {}", ours.said());
    }
}
