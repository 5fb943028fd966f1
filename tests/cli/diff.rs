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

/// A pod that 1.36 keeps off the only node and 1.37 does not, because of its selector of namespaces.
fn apart_from_a_namespace() -> [Value; 5] {
    let term = json!([{"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "x"}},
        "namespaceSelector": {"matchExpressions": [{"key": "team", "operator": "NotIn", "values": ["a"]}]}}]);
    let apart = json!({"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": term}});
    let mut x = running("x", "n1", "1m");
    x["metadata"]["namespace"] = json!("q");
    x["metadata"]["labels"] = json!({"app": "x"});
    let p = with(pod("p", "1m"), "/spec/affinity", apart);
    [node("n1", "4"), namespace("q", "a"), namespace("default", "b"), x, p]
}

#[test]
fn a_namespace_selector_of_labels_that_are_not_there() {
    let objects = apart_from_a_namespace();
    assert_eq!(
        one(&objects),
        ("decision".into(), Value::Null, json!("n1"), vec!["namespace-selectors".into()])
    );
}

#[test]
fn pods_of_a_snapshot_are_decided_at_its_instant() {
    let objects = apart_from_a_namespace();
    let list = json!({"apiVersion": "v1", "kind": "List", "items": objects}).to_string();
    // From 2025 on no pod fits, whatever the version is.
    let late =
        "policy late { filter f { reject \"over\" when now() > timestamp(\"2025-01-01T00:00:00Z\") } }";
    let here = folder(&[("cluster.json", &list), ("late.bay", late)]);
    let line = ["snapshot", "--cluster", "cluster.json", "--policies", "late.bay", "-o", "saved.json"];
    assert_eq!(bayplan_in(&here, &line).status, 0);
    let saved = std::fs::read_to_string(here.join("saved.json")).unwrap();
    let saved: Value = serde_json::from_str(&saved).unwrap();
    let differing = |taken: &str| {
        let of_then = with(saved.clone(), "/taken", json!(taken)).to_string();
        std::fs::write(here.join("then.json"), of_then).unwrap();
        let line = ["diff", "--kubernetes", "1.36..1.37", "--cluster", "then.json", "-o", "json"];
        let Ended { out, err, .. } = bayplan_in(&here, &line);
        let said: Value = serde_json::from_str(&out).unwrap_or_else(|error| panic!("{error}: {err}"));
        said["pods"].as_array().unwrap().iter().filter(|pod| pod["kind"] == "decision").count()
    };
    assert_eq!(differing("2024-06-01T00:00:00Z"), 1);
    assert_eq!(differing("2026-06-01T00:00:00Z"), 0);
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

/// A class-less volume of a driver with the claim that has it.
fn claimed(name: &str, driver: &str) -> [Value; 2] {
    let size = json!({"storage": "1Gi"});
    let volume = json!({"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name},
        "spec": {"capacity": size, "accessModes": ["ReadWriteOnce"], "csi": {"driver": driver, "volumeHandle": name},
            "claimRef": {"namespace": "default", "name": name, "uid": name}},
        "status": {"phase": "Bound"}});
    let claim = json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "namespace": "default", "uid": name,
            "annotations": {"pv.kubernetes.io/bind-completed": "yes"}},
        "spec": {"volumeName": name, "storageClassName": "", "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": size}},
        "status": {"phase": "Bound"}});
    [volume, claim]
}

/// A driver without which a node takes no pod, and what runs on a node.
fn driver(name: &str, nodes: &[(&str, bool)]) -> Vec<Value> {
    let driver = json!({"apiVersion": "storage.k8s.io/v1", "kind": "CSIDriver", "metadata": {"name": name},
        "spec": {"preventPodSchedulingIfMissing": true}});
    let nodes = nodes.iter().map(|(node, has)| {
        let drivers = if *has {
            json!([{"name": name, "nodeID": node, "allocatable": {"count": 9}}])
        } else {
            json!([])
        };
        json!({"apiVersion": "storage.k8s.io/v1", "kind": "CSINode", "metadata": {"name": node},
            "spec": {"drivers": drivers}})
    });
    std::iter::once(driver).chain(nodes).collect()
}

fn with_claim(pod: Value, claim: &str) -> Value {
    with(pod, "/spec/volumes", json!([{"name": "v", "persistentVolumeClaim": {"claimName": claim}}]))
}

#[test]
fn a_node_without_the_driver_of_a_volume() {
    let mut objects = driver("d", &[("n1", false), ("n2", true)]);
    objects.extend(claimed("data", "d"));
    let full = running("full", "n2", "1");
    objects.extend([node("n1", "1"), node("n2", "1"), full, with_claim(pod("p", "500m"), "data")]);
    assert_eq!(one(&objects), ("decision".into(), json!("n1"), Value::Null, vec!["missing-drivers".into()]));
}

#[test]
fn rules_that_taint_devices() {
    let v1 = "resource.k8s.io/v1";
    let rule = json!({"apiVersion": v1, "kind": "DeviceTaintRule", "metadata": {"name": "r"},
        "spec": {"deviceSelector": {"pool": "n1"}, "taint": {"key": "k", "effect": "NoSchedule"}}});
    let class = json!({"apiVersion": v1, "kind": "DeviceClass", "metadata": {"name": "c"}, "spec": {}});
    let slice = json!({"apiVersion": v1, "kind": "ResourceSlice", "metadata": {"name": "s"}, "spec": {
        "driver": "d.ex", "pool": {"name": "n1", "generation": 1, "resourceSliceCount": 1}, "nodeName": "n1",
        "devices": [{"name": "d1"}]}});
    let claim = json!({"apiVersion": v1, "kind": "ResourceClaim", "metadata": {"name": "x", "namespace": "default"},
        "spec": {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "c"}}]}}});
    let claims = json!([{"name": "x", "resourceClaimName": "x"}]);
    let pod = with(pod("p", "1m"), "/spec/resourceClaims", claims);
    let objects = [node("n1", "1"), class, slice, claim, rule, pod];
    assert_eq!(
        one(&objects),
        ("decision".into(), json!("n1"), Value::Null, vec!["device-taint-rules".into()])
    );
}

#[test]
fn budgets_in_their_order() {
    let budget = |name: &str, apps: Value, allowed: i64| {
        json!({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget",
            "metadata": {"name": name, "namespace": "default"},
            "spec": {"selector": {"matchExpressions": [{"key": "app", "operator": "In", "values": apps}]}},
            "status": {"disruptionsAllowed": allowed, "observedGeneration": 0}})
    };
    let victim = |name: &str, on: &str, cpu: &str, priority: i64| {
        let mut pod = with(running(name, on, cpu), "/spec/priority", json!(priority));
        pod["metadata"]["labels"] = json!({"app": name});
        pod
    };
    // On n1 the eviction of `a` violates the first budget and takes of the second one in 1.36 alone, so that `c` violates it.
    let objects = [
        node("n1", "1"),
        node("n2", "1"),
        budget("b1", json!(["a"]), 0),
        budget("b2", json!(["a", "c"]), 1),
        budget("b3", json!(["v"]), 0),
        victim("a", "n1", "500m", 2),
        victim("c", "n1", "500m", 1),
        victim("v", "n2", "1", 5),
        with(pod("p", "1"), "/spec/priority", json!(100)),
    ];
    assert_eq!(one(&objects), ("decision".into(), json!("n2"), json!("n1"), vec!["budgets-in-order".into()]));
    let (said, _) = diff(&objects, "1.36..1.37");
    let evicts = |side: &str| said["pods"][0][side]["evicts"].clone();
    assert_eq!(
        (evicts("before"), evicts("after")),
        (json!(["default/v"]), json!(["default/a", "default/c"]))
    );
}

#[test]
fn running_pods_are_decided_anew_each_as_if_it_were_alone() {
    let mut objects = driver("d", &[("n1", false), ("n2", false)]);
    objects.extend(claimed("data", "d"));
    objects.extend([node("n1", "1"), node("n2", "1"), with_claim(running("r", "n1", "500m"), "data")]);
    // Another pod is concerned by no difference.
    objects.push(running("other", "n2", "100m"));
    let (said, status) = diff(&objects, "1.36..1.37");
    assert_eq!((&said["pending"], &said["running"], status), (&json!(0), &json!(2), Some(1)), "{said:#}");
    let pods = said["pods"].as_array().unwrap();
    assert_eq!(pods.len(), 1, "{said:#}");
    assert_eq!(
        (&pods[0]["pod"], &pods[0]["runs"], &pods[0]["cause"]),
        (&json!("default/r"), &json!(true), &json!("smallest"))
    );
    // Its own room is free: it would fit where it is, and the emptier node is as good for a pod of this size as its own.
    assert_eq!(pods[0]["before"]["node"], json!("n1"));
    assert_eq!((&pods[0]["after"]["node"], &pods[0]["after"]["best"]), (&Value::Null, &json!([])));
    assert_eq!(pods[0]["rows"], json!(["missing-drivers"]));
    let list = json!({"apiVersion": "v1", "kind": "List", "items": objects}).to_string();
    let here = folder(&[("cluster.json", &list)]);
    let text = |output: &str| {
        let line = ["diff", "--kubernetes", "1.36..1.37", "--cluster", "cluster.json", "-o", output];
        bayplan_in(&here, &line).out
    };
    let expected = "kube-scheduler 1.37 decides 0 pending pods as 1.36 does; it would decide 1 of 2 running pods otherwise, \
                    if each were new and alone.";
    assert!(text("text").contains(expected), "{}", text("text"));
    assert!(text("text").contains("fits no node"), "{}", text("text"));
    assert!(
        text("markdown").contains("| default/r | n1 | fits no node | `missing-drivers` |"),
        "{}",
        text("markdown")
    );
}

#[test]
fn two_differences_together_are_the_smallest_set() {
    // 1.36 has a hidden limit on each node: the driver is missing on n1 in 1.37, and n2 is too full as 1.36 counts.
    let mut objects = driver("d", &[("n1", false), ("n2", true)]);
    objects.extend(claimed("data", "d"));
    let mut resized = running("r", "n2", "100m");
    resized["spec"]["containers"] = json!([
        {"name": "c1", "image": "i", "resources": {"requests": {"cpu": "100m"}}},
        {"name": "c2", "image": "i", "resources": {"requests": {"cpu": "300m"}}},
    ]);
    resized["status"]["containerStatuses"] = json!([
        {"name": "c1", "resources": {"requests": {"cpu": "300m"}}, "allocatedResources": {"cpu": "300m"}},
        {"name": "c2", "resources": {"requests": {"cpu": "100m"}}, "allocatedResources": {"cpu": "100m"}},
    ]);
    objects.extend([node("n1", "1"), node("n2", "1"), resized, with_claim(pod("p", "500m"), "data")]);
    let (kind, before, after, rows) = one(&objects);
    assert_eq!((kind.as_str(), before, after), ("decision", json!("n1"), json!("n2")));
    assert_eq!(rows, ["missing-drivers", "resized-sums"]);
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
