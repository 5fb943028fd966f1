//! Devices in a dry run: pods with claims by name and from templates, shared claims, devices that drivers prepare, extended
//! resources that a DeviceClass stands for, and the claims of pods that are evicted.

use bayplan::diag::SourceMap;
use bayplan::dry_run::{self, Options, Report, Standing, load};
use bayplan::framework::{Instances, Profile};
use bayplan::model::ResourceClaim;
use bayplan::scheduler::Profiles;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;

const V1: &str = "resource.k8s.io/v1";

fn node(name: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "uid": name},
        "status": {"allocatable": {"cpu": "2", "memory": "8Gi", "pods": "110"}},
    })
}

fn class(resource: Value) -> Value {
    json!({
        "apiVersion": V1, "kind": "DeviceClass", "metadata": {"name": "gpu", "uid": "gpu"},
        "spec": {"extendedResourceName": resource},
    })
}

fn slice(node: &str, devices: Value) -> Value {
    json!({
        "apiVersion": V1, "kind": "ResourceSlice", "metadata": {"name": node, "uid": node},
        "spec": {
            "driver": "d.ex", "pool": {"name": node, "generation": 1, "resourceSliceCount": 1}, "nodeName": node,
            "devices": devices,
        },
    })
}

fn request() -> Value {
    json!({"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "gpu", "count": 1}}]}})
}

fn claim(name: &str) -> Value {
    json!({
        "apiVersion": V1, "kind": "ResourceClaim",
        "metadata": {"name": name, "namespace": "default", "uid": name}, "spec": request(),
    })
}

fn template() -> Value {
    json!({
        "apiVersion": V1, "kind": "ResourceClaimTemplate",
        "metadata": {"name": "one", "namespace": "default", "uid": "one"},
        "spec": {"metadata": {"labels": {"from": "one"}}, "spec": request()},
    })
}

/// A pod whose claims these are: `=name` by name, others from the template of the name.
fn pod(name: &str, claims: &[&str]) -> Value {
    let entry = |(at, claim): (usize, &&str)| match claim.strip_prefix('=') {
        Some(claim) => json!({"name": format!("e{at}"), "resourceClaimName": claim}),
        None => json!({"name": format!("e{at}"), "resourceClaimTemplateName": claim}),
    };
    let claims: Vec<Value> = claims.iter().enumerate().map(entry).collect();
    json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "default", "uid": name},
        "spec": {
            "resourceClaims": claims, "containers": [{"name": "c", "resources": {"requests": {"cpu": "100m"}}}],
        },
    })
}

fn run(objects: &[Value]) -> Report {
    let text: Vec<String> = objects.iter().map(Value::to_string).collect();
    let mut sources = SourceMap::new();
    let file = sources.add("cluster.yaml", text.join("\n---\n"));
    let loaded = load(&mut sources, &[file]);
    assert!(loaded.diagnostics.is_empty(), "{:?}", loaded.diagnostics);
    let registry = bayplan::plugins::registry();
    let profile = Profile::new("default-scheduler").build(&registry, &mut Instances::default()).unwrap();
    let profiles = Arc::new(Profiles { frameworks: vec![Arc::new(profile)], revision: 1 });
    dry_run::run(&loaded.world, profiles, &Options::default())
}

/// Where pods are in the end, by name.
fn ends(report: &Report) -> BTreeMap<String, String> {
    let end = |standing: &Standing| match standing {
        Standing::Bound(node) => node.to_string(),
        other => format!("{other:?}").split([' ', '{', '(']).next().unwrap_or_default().to_owned(),
    };
    report.pods.iter().map(|pod| (pod.pod.name.to_string(), end(&pod.standing))).collect()
}

/// What claims have in the end, by name: their devices, and the pods for which they are reserved.
fn claims(report: &Report) -> BTreeMap<String, (Vec<String>, Vec<String>)> {
    let all = report.scheduler.snapshot().objects::<ResourceClaim>().map(|claim| {
        let results = claim.allocation.iter().flat_map(|allocation| &allocation.devices.results);
        let devices = results.map(|result| format!("{}/{}", result.pool, result.device)).collect();
        let pods = claim.reserved_for.iter().map(|consumer| consumer.name.to_string()).collect();
        (claim.metadata.name.to_string(), (devices, pods))
    });
    all.collect()
}

fn strings(of: &[&str]) -> Vec<String> {
    of.iter().map(|text| (*text).to_owned()).collect()
}

#[test]
fn claims_by_name_and_from_templates_are_allocated() {
    let report = run(&[
        node("n1"),
        node("n2"),
        class(json!(null)),
        template(),
        slice("n2", json!([{"name": "d1"}, {"name": "d2"}, {"name": "d3"}])),
        claim("x"),
        pod("a", &["=x"]),
        pod("b", &["=x", "one"]),
        pod("c", &["one"]),
        pod("late", &["one"]),
        pod("lost", &["=missing"]),
        pod("plain", &[]),
    ]);
    let ends = ends(&report);
    for name in ["a", "b", "c"] {
        assert_eq!(ends[name], "n2", "{ends:?}");
    }
    assert!(["late", "lost"].iter().all(|name| !ends[*name].starts_with('n')), "{ends:?}");
    let claims = claims(&report);
    assert_eq!(claims["x"].1.len(), 2, "{claims:?}");
    assert_eq!(claims["b-e1"].1, strings(&["b"]));
    assert_eq!(claims["c-e0"].1, strings(&["c"]));
    assert_eq!(claims["late-e0"], (vec![], vec![]));
    let mut taken: Vec<_> = claims.values().flat_map(|(devices, _)| devices.clone()).collect();
    taken.sort();
    assert_eq!(taken, ["n2/d1", "n2/d2", "n2/d3"]);
}

#[test]
fn devices_are_prepared_and_their_pods_bound() {
    let prepared =
        json!([{"name": "d1", "bindingConditions": ["ready"], "bindingFailureConditions": ["broken"]}]);
    let objects = [node("n1"), class(json!(null)), slice("n1", prepared), claim("x"), pod("a", &["=x"])];
    let report = run(&objects);
    assert_eq!(ends(&report)["a"], "n1");
    let snapshot = report.scheduler.snapshot();
    let claim = snapshot.object::<ResourceClaim>(&"default".into(), &"x".into()).unwrap();
    assert_eq!((claim.devices.len(), claim.devices[0].conditions[0].kind.as_str()), (1, "ready"));
}

#[test]
fn extended_resources_of_a_class_get_a_claim() {
    let wants = |name: &str| {
        let mut pod = pod(name, &[]);
        pod["spec"]["containers"][0]["resources"]["requests"]["e.ex/gpu"] = json!("1");
        pod["spec"]["containers"][0]["resources"]["limits"] = json!({"e.ex/gpu": "1"});
        pod
    };
    let devices = slice("n1", json!([{"name": "d1"}]));
    let report = run(&[node("n1"), class(json!("e.ex/gpu")), devices, wants("a"), wants("b")]);
    let ends = ends(&report);
    assert_eq!(ends.values().filter(|end| *end == "n1").count(), 1, "{ends:?}");
    let claims = claims(&report);
    assert_eq!(claims.len(), 1, "{claims:?}");
    let (name, (devices, pods)) = claims.first_key_value().unwrap();
    assert!(name.contains("-extended-resources-"), "{name}");
    assert_eq!((devices, pods.len()), (&strings(&["n1/d1"]), 1));
}

#[test]
fn a_pod_that_is_evicted_gives_its_claims_back() {
    // It has the device through a claim of its own, and leaves the one that it shares to the other pod.
    let owners =
        json!([{"apiVersion": "v1", "kind": "Pod", "name": "low", "uid": "low", "controller": true}]);
    let allocated = |mut claim: Value, device: &str, pods: &[&str]| {
        let consumers = pods.iter().map(|pod| json!({"resource": "pods", "name": pod, "uid": pod}));
        let results = json!([{"request": "r", "driver": "d.ex", "pool": "n1", "device": device}]);
        claim["status"] = json!({
            "allocation": {"devices": {"results": results}}, "reservedFor": consumers.collect::<Vec<_>>(),
        });
        claim
    };
    let mut own = allocated(claim("low-e0"), "d1", &["low"]);
    own["metadata"]["ownerReferences"] = owners;
    let placed = |mut pod: Value, cpu: &str| {
        pod["spec"]["nodeName"] = json!("n1");
        pod["spec"]["containers"][0]["resources"]["requests"]["cpu"] = json!(cpu);
        pod["status"] = json!({"phase": "Running"});
        pod
    };
    let mut low = placed(pod("low", &["one", "=shared", "=alone"]), "1500m");
    low["status"]["resourceClaimStatuses"] = json!([{"name": "e0", "resourceClaimName": "low-e0"}]);
    let mut high = pod("high", &["one"]);
    high["spec"]["priority"] = json!(10);
    high["spec"]["containers"][0]["resources"]["requests"]["cpu"] = json!("1");
    let report = run(&[
        node("n1"),
        class(json!(null)),
        template(),
        slice("n1", json!([{"name": "d1"}, {"name": "d2"}, {"name": "d3"}, {"name": "d4"}])),
        own,
        allocated(claim("shared"), "d2", &["low", "other"]),
        allocated(claim("alone"), "d3", &["low"]),
        low,
        placed(pod("other", &["=shared"]), "100m"),
        high,
    ]);
    assert_eq!(ends(&report)["high"], "n1");
    let claims = claims(&report);
    let names: Vec<&str> = claims.keys().map(String::as_str).collect();
    assert_eq!(names, ["alone", "high-e0", "shared"]);
    assert_eq!(claims["alone"], (vec![], vec![]));
    assert_eq!(claims["shared"], (strings(&["n1/d2"]), strings(&["other"])));
    assert_eq!(claims["high-e0"].1, strings(&["high"]));
}

/// What is wrong in slices, classes and claims keeps its pods from nodes and nothing else.
#[test]
fn bad_input_about_devices_stops_nothing() {
    let many: Vec<Value> = (0..100_000).map(|at| json!({"name": format!("d{at}")})).collect();
    let mut foreign = slice("n1", json!(many));
    foreign["metadata"]["name"] = json!("many");
    foreign["spec"]["driver"] = json!("many.ex");
    let counters = json!([{"name": "cs", "counters": {"c": {"value": "-5"}}}]);
    let of_class = |class: &str, more: Value| {
        let mut claim = claim(&format!("of-{class}"));
        let exactly = &mut claim["spec"]["devices"]["requests"][0]["exactly"];
        exactly["deviceClassName"] = json!(class);
        exactly.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        claim
    };
    let selects = |name: &str, cel: &str| {
        json!({
            "apiVersion": V1, "kind": "DeviceClass", "metadata": {"name": name, "uid": name},
            "spec": {"selectors": [{"cel": {"expression": cel}}]},
        })
    };
    let mut own = claim("foreign-e0");
    own["metadata"]["ownerReferences"] =
        json!([{"apiVersion": "v1", "kind": "Pod", "name": "x", "uid": "x", "controller": true}]);
    let mut of_foreign = pod("of-foreign", &["one"]);
    of_foreign["status"] =
        json!({"resourceClaimStatuses": [{"name": "e0", "resourceClaimName": "foreign-e0"}]});
    let slices = [
        slice(
            "n1",
            json!([
                {"name": "negative", "consumesCounters": [{"counterSet": "cs", "counters": {"c": {"value": "-7"}}}]},
                {"name": "typed", "attributes": {"kind": {"bool": true}, "size": {"version": "1.2.3"}}},
                {"name": "typed", "attributes": {"kind": {"int": 7}}},
                {"name": "empty", "attributes": {"kind": {}}, "capacity": {"mem": {"value": "-1Gi"}}},
            ]),
        ),
        foreign,
    ];
    let mut counter_slice = slice("n1", json!([]));
    counter_slice["metadata"]["name"] = json!("counters");
    counter_slice["spec"]["sharedCounters"] = counters;
    let mut objects =
        vec![node("n1"), node("n2"), class(json!(null)), template(), counter_slice, own, of_foreign];
    objects.extend(slices);
    objects.extend([
        selects("typed", "device.attributes[\"d.ex\"].kind == \"x\""),
        selects("broken", "device.attributes["),
        selects("number", "1 + 1"),
        of_class("missing", json!({})),
        of_class("typed", json!({})),
        of_class("broken", json!({})),
        of_class("number", json!({})),
        of_class("gpu", json!({"count": 9_223_372_036_854_775_807i64})),
        claim("twice"),
    ]);
    for claim in ["of-missing", "of-typed", "of-broken", "of-number", "of-gpu"] {
        objects.push(pod(claim, &[&format!("={claim}")]));
    }
    objects.push(pod("twice", &["=twice", "=twice"]));
    objects.push(pod("plain", &[]));
    let report = run(&objects);
    let ends = ends(&report);
    for name in ["of-missing", "of-broken", "of-gpu", "of-foreign"] {
        assert!(!ends[name].starts_with('n'), "{name}: {ends:?}");
    }
    assert!(ends["plain"].starts_with('n'), "{ends:?}");
}
