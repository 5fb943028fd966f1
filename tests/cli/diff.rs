//! `bayplan diff --kubernetes`: worked cases of the differences between versions, each with the row that makes it.

use crate::support::command::{Ended, bayplan_in, folder};
use serde_json::{Value, json};

fn node(name: &str, cpu: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
        "status": {"allocatable": {"cpu": cpu, "memory": "16Gi", "pods": "20"}}})
}

fn images(mut node: Value, images: &[(&str, i64)]) -> Value {
    let listed = images.iter().map(|(name, mib)| json!({"names": [name], "sizeBytes": mib << 20}));
    node["status"]["images"] = listed.collect();
    node
}

fn pod(name: &str, cpu: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "default"},
        "spec": {"containers": [{"name": "c", "image": "app:1", "resources": {"requests": {"cpu": cpu}}}]}})
}

/// The object with a value at a JSON pointer whose parent exists.
fn with(mut object: Value, path: &str, value: Value) -> Value {
    let (parent, name) = path.rsplit_once('/').unwrap();
    object.pointer_mut(parent).unwrap()[name] = value;
    object
}

fn running(name: &str, on: &str, cpu: &str) -> Value {
    let pod = with(pod(name, cpu), "/spec/nodeName", json!(on));
    with(pod, "/status", json!({"phase": "Running"}))
}

fn namespace(name: &str, team: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": {"team": team}}})
}

/// What the command says of a cluster, as JSON.
fn diff(objects: &[Value], versions: &str) -> (Value, Option<i32>) {
    let list = json!({"apiVersion": "v1", "kind": "List", "items": objects}).to_string();
    let here = folder(&[("cluster.json", &list)]);
    let line = ["diff", "--kubernetes", versions, "--cluster", "cluster.json", "-o", "json", "--exit-code"];
    let Ended { status, out, err } = bayplan_in(&here, &line);
    let value = serde_json::from_str(&out).unwrap_or_else(|error| panic!("{error}: {out}{err}"));
    (value, Some(status))
}

/// The one pod that differs: kind, node before and after, rows.
#[track_caller]
fn one(objects: &[Value]) -> (String, Value, Value, Vec<String>) {
    let (said, status) = diff(objects, "1.36..1.37");
    let pods = said["pods"].as_array().unwrap();
    assert_eq!(pods.len(), 1, "{said:#}");
    let kind = pods[0]["kind"].as_str().unwrap().to_owned();
    assert_eq!(status, Some(i32::from(kind == "decision")));
    let rows = pods[0]["rows"].as_array().unwrap().iter().map(|row| row.as_str().unwrap().to_owned());
    // Back again the same rows make the difference.
    let (back, _) = diff(objects, "1.37..1.36");
    assert_eq!(back["pods"][0]["before"], pods[0]["after"]);
    (kind, pods[0]["before"]["node"].clone(), pods[0]["after"]["node"].clone(), rows.collect())
}

#[test]
fn a_namespace_selector_of_labels_that_are_not_there() {
    let term = json!([{"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "x"}},
        "namespaceSelector": {"matchExpressions": [{"key": "team", "operator": "NotIn", "values": ["a"]}]}}]);
    let apart = json!({"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": term}});
    let mut x = running("x", "n1", "1m");
    x["metadata"]["namespace"] = json!("q");
    x["metadata"]["labels"] = json!({"app": "x"});
    let p = with(pod("p", "1m"), "/spec/affinity", apart);
    let objects = [node("n1", "4"), namespace("q", "a"), namespace("default", "b"), x, p];
    assert_eq!(
        one(&objects),
        ("decision".into(), Value::Null, json!("n1"), vec!["namespace-selectors".into()])
    );
}

#[test]
fn a_pod_that_is_resized_in_place() {
    let mut resized = running("r", "n1", "100m");
    resized["spec"]["containers"] = json!([
        {"name": "c1", "image": "i", "resources": {"requests": {"cpu": "100m"}}},
        {"name": "c2", "image": "i", "resources": {"requests": {"cpu": "300m"}}},
    ]);
    resized["status"]["containerStatuses"] = json!([
        {"name": "c1", "resources": {"requests": {"cpu": "300m"}}, "allocatedResources": {"cpu": "300m"}},
        {"name": "c2", "resources": {"requests": {"cpu": "100m"}}, "allocatedResources": {"cpu": "100m"}},
    ]);
    let objects = [node("n1", "1"), resized, pod("p", "500m")];
    assert_eq!(one(&objects), ("decision".into(), Value::Null, json!("n1"), vec!["resized-sums".into()]));
}

#[test]
fn a_nomination_of_a_gated_pod() {
    let mut gated = pod("g", "800m");
    gated["spec"]["schedulingGates"] = json!([{"name": "later"}]);
    gated["status"] = json!({"nominatedNodeName": "n1"});
    let objects = [node("n1", "1"), gated, pod("p", "500m")];
    assert_eq!(
        one(&objects),
        ("decision".into(), json!("n1"), Value::Null, vec!["gated-nominations".into()])
    );
}

#[test]
fn capacity_of_storage_is_scored() {
    let class = json!({"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": "fast"},
        "provisioner": "d", "volumeBindingMode": "WaitForFirstConsumer"});
    let driver = json!({"apiVersion": "storage.k8s.io/v1", "kind": "CSIDriver", "metadata": {"name": "d"},
        "spec": {"storageCapacity": true}});
    let capacity = |on: &str, size: &str| {
        json!({"apiVersion": "storage.k8s.io/v1", "kind": "CSIStorageCapacity",
            "metadata": {"name": on, "namespace": "default"}, "storageClassName": "fast", "capacity": size,
            "nodeTopology": {"matchLabels": {"kubernetes.io/hostname": on}}})
    };
    let claim = json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim",
        "metadata": {"name": "data", "namespace": "default"},
        "spec": {"storageClassName": "fast", "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "50Gi"}}}});
    let volumes = json!([{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}]);
    let p = with(pod("p", "1m"), "/spec/volumes", volumes);
    let objects = [
        node("n1", "4"),
        node("n2", "4"),
        class,
        driver,
        capacity("n1", "100Gi"),
        capacity("n2", "200Gi"),
        claim,
        p,
    ];
    assert_eq!(
        one(&objects),
        ("decision".into(), json!("n1"), json!("n2"), vec!["storage-capacity-scores".into()])
    );
}

#[test]
fn volumes_of_images_count_in_the_maximum() {
    // 600 MiB of one container image are on n1, and n2 is better by an allocation that lies between both scores.
    let mut p = pod("p", "1m");
    p["spec"]["volumes"] = json!([{"name": "model", "image": {"reference": "model:1"}}]);
    let n1 = images(node("n1", "4"), &[("app:1", 900)]);
    let n2 = images(node("n2", "4"), &[]);
    let busy = running("busy", "n1", "2400m");
    let (kind, before, after, rows) = one(&[n1, n2, busy, p]);
    assert_eq!((kind.as_str(), rows), ("decision", vec!["image-volumes".to_owned()]));
    assert_eq!((before, after), (json!("n1"), json!("n2")));
}

#[test]
fn texts_are_counted_and_no_decision() {
    let (said, status) = diff(&[node("n1", "1"), pod("p", "2"), pod("q", "3")], "1.36..1.37");
    assert_eq!(status, Some(0));
    let pods = said["pods"].as_array().unwrap();
    assert_eq!(pods.len(), 2);
    for pod in pods {
        assert_eq!((&pod["kind"], &pod["rows"]), (&json!("text"), &json!(["no-claims-text"])));
    }
    // A pod for which preemption finds a node is told of it.
    let low = running("low", "n1", "800m");
    let high = with(pod("high", "500m"), "/spec/priority", json!(10));
    let (said, _) = diff(&[node("n1", "1"), low, high], "1.36..1.37");
    assert_eq!(said["pods"][0]["rows"], json!(["found-placement-text"]), "{said:#}");
    let text = said["pods"][0]["after"]["message"].as_str().unwrap();
    assert!(
        text.ends_with("preemption: found a potential placement for pod on node n1, preempting 1 victims")
    );
}

#[test]
fn what_cannot_be_compared_is_refused_with_what_to_write() {
    let here = folder(&[("cluster.json", "{}")]);
    for (versions, words) in [
        ("1.36", "write `1.36..1.37`"),
        ("1.37..1.37", "both versions are 1.37"),
        ("1.35..1.37", "`1.36` and `1.37`"),
    ] {
        let line = ["diff", "--kubernetes", versions, "--cluster", "cluster.json"];
        let Ended { status, err, .. } = bayplan_in(&here, &line);
        assert!(status == 2 && err.contains(words), "{versions}: {err}");
    }
    let Ended { status, err, .. } = bayplan_in(&here, &["diff", "--cluster", "cluster.json"]);
    assert!(status == 2 && err.contains("--kubernetes"), "{err}");
}

#[test]
fn the_text_names_pods_rows_and_what_applies() {
    let list =
        json!({"apiVersion": "v1", "kind": "List", "items": [node("n1", "1"), pod("p", "2")]}).to_string();
    let here = folder(&[("cluster.json", &list)]);
    let line = ["diff", "--kubernetes", "1.36..1.37", "--cluster", "cluster.json"];
    let Ended { status, out, err } = bayplan_in(&here, &line);
    assert_eq!((status, err.as_str()), (0, ""));
    for words in [
        "kube-scheduler 1.37 decides 1 pending pod as 1.36 does.",
        "Another text in events and conditions of 1 pod: no-claims-text.",
        "Also, whatever is pending:",
        "  wake-up: A change of taints wakes only pods",
    ] {
        assert!(out.contains(words), "{words}\n{out}");
    }
}
