//! Measures the memory of a list of pods with long annotations, through the decoder of lists and
//! over HTTP, with a server in this process that makes its pages on the fly.

use bayplan::cluster::api::client::{Api, Target};
use bayplan::cluster::inputs::objects::Slim;
use bayplan::cluster::inputs::{informers, watch};
use bayplan::model::objects::{pod, projection::Projection};
use bayplan::model::{Kind, Object};
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Command;

/// Bytes of the annotations of each pod.
const ANNOTATIONS: usize = 16 * 1024;

/// A page of pods, as an API server sends it.
fn page(from: usize, to: usize, all: usize) -> String {
    let text = "x".repeat(ANNOTATIONS / 4);
    let annotations: Vec<String> = (0..4).map(|at| format!("\"example.com/note-{at}\":\"{text}\"")).collect();
    let annotations = annotations.join(",");
    let pods: Vec<String> = (from..to)
        .map(|at| {
            let name = format!("web-{}-{at:06}", at % 200);
            format!(
                r#"{{"metadata":{{"name":"{name}","namespace":"ns-{}","uid":"6f1d2c3b-0000-4000-8000-{at:012}",
                "resourceVersion":"{at}","labels":{{"app":"app-{}","pod-template-hash":"7d4b9c6f5d","tier":"web"}},
                "annotations":{{{annotations}}},"ownerReferences":[{{"apiVersion":"apps/v1","kind":"ReplicaSet",
                "name":"web-{}","uid":"u-{}","controller":true}}]}},
                "spec":{{"schedulerName":"bayplan","nodeName":"node-{}","containers":[{{"name":"web","image":"web:1",
                "env":[{{"name":"A","value":"a value of some length"}}],
                "resources":{{"requests":{{"cpu":"100m","memory":"200Mi"}}}}}}],
                "tolerations":[{{"key":"node.kubernetes.io/not-ready","operator":"Exists","effect":"NoExecute"}}]}},
                "status":{{"phase":"Running","startTime":"2026-01-01T00:00:00Z"}}}}"#,
                at % 50, at % 200, at % 200, at % 200, at % 5_000
            )
        })
        .collect();
    let next = if to < all { to.to_string() } else { String::new() };
    let items = pods.join(",");
    format!(r#"{{"metadata":{{"resourceVersion":"1","continue":"{next}"}},"items":[{items}]}}"#)
}

/// Answers lists of pods.
fn serve(mut stream: &TcpStream, all: usize) {
    let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
    while let Some(Ok(first)) = lines.next() {
        while lines.next().is_some_and(|line| line.is_ok_and(|line| !line.is_empty())) {}
        let path = first.split(' ').nth(1).unwrap_or_default();
        let from = path.split("continue=").nth(1).map_or(0, |text| text.parse().unwrap());
        let body = page(from, (from + 500).min(all), all);
        let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length";
        if write!(stream, "{head}: {}\r\n\r\n{body}", body.len()).is_err() {
            return;
        }
    }
}

/// The highest memory use of this process so far, in bytes.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").trim().parse::<u64>().unwrap() * 1024
}

#[test]
#[ignore = "in a process of its own, which the tests below start"]
fn in_a_process_of_its_own() {
    let all: usize = std::env::var("BAYPLAN_LISTED_PODS").unwrap().parse().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let stream = stream.unwrap();
            std::thread::spawn(move || serve(&stream, all));
        }
    });
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let before = peak();
    let objects: Vec<Object> = runtime.block_on(async {
        let api = Api::new(&Target { master: Some(url), ..Target::default() }).await.unwrap();
        let collection =
            watch::Collection { keep: Projection::default(), ..informers::collection(&Kind::Pod) };
        let (listed, _) = watch::list::<pod::Pod>(&api, &collection).await.unwrap();
        listed.into_iter().map(|pod| pod.parse().unwrap().object).collect()
    });
    assert_eq!(objects.len(), all);
    println!("listed with {} bytes at the peak, {before} before", peak());
}

/// The highest memory use of a process that lists pods, in bytes.
fn measured(pods: usize) -> u64 {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "list_memory::in_a_process_of_its_own", "--ignored", "--nocapture"])
        .env("BAYPLAN_LISTED_PODS", pods.to_string())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let bytes = text.split("listed with ").nth(1).and_then(|rest| rest.split(' ').next()?.parse().ok());
    bytes.unwrap_or_else(|| panic!("{text}\n{}", String::from_utf8_lossy(&output.stderr)))
}

#[test]
fn annotations_that_no_policy_reads_take_no_memory() {
    // 5,000 pods have 80 MB of annotations.
    let (few, many) = (measured(1_000), measured(6_000));
    assert!(many - few < 35_000_000, "5,000 further pods take {} MB", (many - few) / 1_000_000);
}

#[test]
#[ignore = "takes half a minute and needs a release build: make bench-cluster"]
fn bench_memory_of_a_hundred_thousand_pods() {
    let bytes = measured(100_000);
    println!(
        "100,000 pods with {ANNOTATIONS} bytes of annotations each: {} MB at the peak",
        bytes / 1_000_000
    );
    assert!(bytes < 500_000_000, "{bytes} bytes");
}
