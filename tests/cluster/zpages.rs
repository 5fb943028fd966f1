//! The pages of the secure port beside those of the real kube-scheduler: the same paths, status codes and texts, for the
//! same requests. Upstream's own cases are in `test/integration/scheduler/serving/endpoints_test.go`.

use crate::scheduler_process::{SchedulerProcess, Setup};
use crate::support::ControlPlane;
use kube::config::Kubeconfig;
use serde_json::Value;

/// An answer: status, `Content-Type`, the header `Warning`, body.
type Answer = (u16, String, Option<String>, String);

/// Sends a request to the port of a scheduler.
fn send(plane: &ControlPlane, url: &str, method: &str, path: &str, accept: &str, body: &str) -> Answer {
    let kubeconfig = Kubeconfig::read_from(plane.kubeconfig_at(url, "")).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let options = kube::config::KubeConfigOptions::default();
        let config = kube::Config::from_custom_kubeconfig(kubeconfig, &options).await.unwrap();
        let client = kube::Client::try_from(config).unwrap();
        let request = http::Request::builder().method(method).uri(path).header("Accept", accept);
        let request = request.body(kube::client::Body::from(body.as_bytes().to_vec())).unwrap();
        let (head, body) = client.send(request).await.unwrap().into_parts();
        let text = String::from_utf8(body.collect_bytes().await.unwrap().to_vec()).unwrap();
        let header = |name: &str| head.headers.get(name).map(|value| value.to_str().unwrap().to_owned());
        (head.status.as_u16(), header("content-type").unwrap_or_default(), header("warning"), text)
    })
}

#[test]
fn pages_answer_as_those_of_kube_scheduler() {
    let plane = ControlPlane::shared();
    let open = "--authorization-always-allow-paths=/*";
    let ours = SchedulerProcess::start(plane, &Setup::new("zpages").guarded().flag(open));
    let real = plane.start_kube_scheduler_with("profiles:\n- schedulerName: zpages-real\n", &[open, "-v=2"]);
    let both = |method: &str, path: &str, accept: &str, body: &str| {
        [ours.url(), real.url()].map(|url| send(plane, &url, method, path, accept, body))
    };
    // The same status and the same body.
    for path in [
        "/livez",
        "/livez?verbose",
        "/livez/ping",
        "/readyz",
        "/readyz/shutdown",
        "/readyz/sched-handler-sync",
        "/readyz/ping",
        "/readyz?exclude=shutdown",
        "/livez?verbose&exclude=other",
        "/healthz",
        "/healthz?verbose",
        "/healthz/ping",
        "/no-such-page",
        "/debug/flags/v",
    ] {
        let [mine, theirs] = both("GET", path, "*/*", "");
        assert_eq!((mine.0, &mine.3), (theirs.0, &theirs.3), "{path}");
    }
    let [mine, theirs] = both("GET", "/readyz?verbose", "*/*", "");
    for line in theirs.3.lines().filter(|line| line.starts_with("[+]")) {
        assert!(mine.3.lines().any(|it| it == line), "{line}\nis not in\n{}", mine.3);
    }
    // The same form for each `Accept`.
    for (path, kind) in [("/flagz", "Flagz"), ("/statusz", "Statusz")] {
        let of = |media: &str, version: &str| format!("{media};v={version};g=config.k8s.io;as={kind}");
        let (alpha, beta) = (of("application/json", "v1alpha1"), of("application/json", "v1beta1"));
        for accept in [
            String::new(),
            "*/*".to_owned(),
            "text/plain".to_owned(),
            "application/xml".to_owned(),
            "application/json".to_owned(),
            "application/json;v=v1beta1;g=config.k8s.io".to_owned(),
            format!("{},*/*", of("application/json", "foo")),
            of("application/yaml", "v1beta1"),
            format!("{alpha},{beta}"),
            format!("{beta},{alpha}"),
        ] {
            let [mine, theirs] = both("GET", path, &accept, "");
            assert_eq!((mine.0, &mine.1, &mine.2), (theirs.0, &theirs.1, &theirs.2), "{path} {accept}");
            if mine.1.starts_with("application/json") {
                let [mine, theirs] = [mine, theirs].map(|it| serde_json::from_str::<Value>(&it.3).unwrap());
                for field in
                    ["apiVersion", "kind", "metadata", "message", "code", "paths", "emulationVersion"]
                {
                    assert_eq!(mine[field], theirs[field], "{path} {accept}: {field}");
                }
            } else if mine.1.starts_with("text/plain") {
                let head = |text: &str| text.lines().take(3).map(str::to_owned).collect::<Vec<_>>();
                assert_eq!(head(&mine.3), head(&theirs.3), "{path} {accept}");
            }
        }
    }
    let flags = both("GET", "/flagz", "application/json;v=v1beta1;g=config.k8s.io;as=Flagz", "");
    let [mine, theirs] = flags.map(|it| serde_json::from_str::<Value>(&it.3).unwrap()["flags"].clone());
    for flag in ["bind-address", "leader-elect-lease-duration", "leader-elect-resource-lock", "v"] {
        assert_eq!(mine[flag], theirs[flag], "{flag}");
    }
    // The results of checks are counted.
    let [mine, theirs] = both("GET", "/metrics/slis", "*/*", "");
    for name in ["kubernetes_healthcheck{", "kubernetes_healthchecks_total{"] {
        for text in [&mine.3, &theirs.3] {
            let sample = |line: &str| line.starts_with(name) && line.contains("name=\"shutdown\"");
            assert!(text.lines().any(sample), "{name} is not in\n{text}");
        }
    }
    // The log level.
    let [mine, theirs] = both("PUT", "/debug/flags/v", "*/*", "4");
    assert_eq!((mine.0, &mine.3), (theirs.0, &theirs.3));
    assert_eq!(both("PUT", "/debug/flags/v", "*/*", "loud").map(|it| it.0), [400, 400]);
    send(plane, &ours.url(), "PUT", "/debug/flags/v", "*/*", "9");
    send(plane, &ours.url(), "GET", "/readyz?exclude=shutdown", "*/*", "");
    // The configuration is the public object.
    let [mine, theirs] = both("GET", "/configz", "application/json", "")
        .map(|it| serde_json::from_str::<Value>(&it.3).unwrap()["componentconfig"].clone());
    for field in ["apiVersion", "kind"] {
        assert_eq!(mine[field], theirs[field]);
    }
    let fields =
        |of: &Value| of.as_object().unwrap().keys().cloned().collect::<std::collections::BTreeSet<_>>();
    let lacking: Vec<String> = fields(&theirs).difference(&fields(&mine)).cloned().collect();
    assert!(lacking.is_empty(), "{lacking:?}");
}
