//! Claims of pods and devices of nodes: their fields have the values of claims and slices, with the index of devices and
//! without it; closures and columns agree with the reference evaluator on random ones.

use super::Random;
use super::evaluators::cluster;
use super::narrowing::{by_closures, by_columns, verdict};
use crate::support::policies::{compile, framework_of, snapshot};
use bayplan::diag::SourceMap;
use bayplan::lang;
use bayplan::lang::eval::context::EvalContext;
use bayplan::lang::eval::interpret::Evaluator;
use bayplan::model::{Change, DeviceIndex, Object, PodInfo, Snapshot, Time};
use bayplan::testing::{node, object_of, pod};
use serde_json::{Value, json};
use std::sync::Arc;

/// Drivers of the devices.
const DRIVERS: [&str; 2] = ["d.ex", "e.ex"];

/// A slice of a few devices, for one node, for some, for all, or with a choice for each device.
pub(super) fn slice(random: &mut Random, nodes: &[&str]) -> Object {
    let choice = |random: &mut Random, per_device: bool| match random.below(4) {
        0 => json!({"allNodes": true}),
        1 if !per_device => json!({"perDeviceNodeSelection": true}),
        2 => {
            let requirement = json!({"key": "tier", "operator": "In", "values": [random.of(&["a", "b"])]});
            json!({"nodeSelector": {"nodeSelectorTerms": [{"matchExpressions": [requirement]}]}})
        }
        _ => json!({"nodeName": random.of(nodes)}),
    };
    let extended = |mut object: Value, more: Value| {
        object.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        object
    };
    let devices: Vec<Value> = (0..random.below(4))
        .map(|at| {
            let attributes = json!({
                "model": {"string": random.of(&["a", "b"])}, "d.ex/size": {"int": random.below(3)},
                "other.ex/new": {"bool": random.one_in(2)},
            });
            let capacity =
                json!({"memory": {"value": format!("{}Gi", random.below(9))}, "cores": {"value": "500m"}});
            let device = json!({
                "name": format!("g{at}"), "attributes": attributes, "capacity": capacity,
                "allowMultipleAllocations": random.one_in(3),
            });
            if random.one_in(2) { extended(device, choice(random, true)) } else { device }
        })
        .collect();
    let pool =
        json!({"name": random.of(&["p", "q"]), "generation": random.below(2), "resourceSliceCount": 1});
    let spec = json!({"driver": random.of(&DRIVERS), "pool": pool, "devices": devices});
    let name = random.of(&["s0", "s1", "s2", "s3"]);
    let spec = extended(spec, choice(random, false));
    of_kind("ResourceSlice", json!({"metadata": {"name": name}, "spec": spec}))
}

/// A claim, allocated or not.
pub(super) fn claim(random: &mut Random) -> Object {
    let name = random.of(&["c0", "c1", "c2"]);
    let namespace = random.of(&["default", "default", "other"]);
    let class = random.of(&["x", "y"]);
    let request = match random.below(3) {
        0 => json!({"name": "r", "exactly": {"deviceClassName": class, "count": 1 + random.below(3)}}),
        1 => json!({"name": "r", "exactly": {"deviceClassName": class, "allocationMode": "All"}}),
        _ => json!({"name": "r", "firstAvailable": [
            {"name": "a", "deviceClassName": class}, {"name": "b", "deviceClassName": "y", "count": 2},
        ]}),
    };
    let device = |random: &mut Random| {
        let share = random.one_in(3).then(|| format!("{name}-{namespace}"));
        json!({
            "request": "r", "driver": random.of(&DRIVERS), "pool": random.of(&["p", "q"]),
            "device": random.of(&["g0", "g1", "g2"]), "shareID": share, "consumedCapacity": {"memory": "1Gi"},
        })
    };
    let results: Vec<Value> = (0..1 + random.below(2)).map(|_| device(random)).collect();
    let status = match random.one_in(2) {
        true => json!({"allocation": {"devices": {"results": results}}}),
        false => json!({}),
    };
    let metadata = json!({"name": name, "namespace": namespace, "uid": format!("{namespace}-{name}")});
    of_kind(
        "ResourceClaim",
        json!({"metadata": metadata, "spec": {"devices": {"requests": [request]}}, "status": status}),
    )
}

fn of_kind(kind: &str, mut object: Value) -> Object {
    object["apiVersion"] = json!("resource.k8s.io/v1");
    object["kind"] = json!(kind);
    object_of(object)
}

fn see(snapshot: &mut Snapshot, object: Object) {
    let Object::Other(object) = object else { panic!("no object of the table") };
    snapshot.apply(Change::ObjectSeen { object });
}

/// The value of an expression about a pod and a node.
fn value(text: &str, snapshot: &Snapshot, pod: &PodInfo, node: &str) -> String {
    let mut sources = SourceMap::new();
    let id = sources.add("expression", text);
    let (parsed, said) = lang::syntax::parse_expression(sources.get(id).unwrap());
    let (checked, more) = lang::check::check_expression(&parsed.unwrap_or_else(|| panic!("{said:?}")), text);
    let (policy, expr) = checked.unwrap_or_else(|| panic!("{text}: {more:?}"));
    let node = snapshot.node(snapshot.node_by_name(&node.into()).unwrap()).unwrap();
    let context = EvalContext::new(pod, snapshot, Time::default()).on(node);
    Evaluator::new(&policy, context).value(&expr).to_string()
}

/// Expressions about the pod and the node of [`fields_have_the_values_of_claims_and_slices`].
const VALUES: &[(&str, &str)] = &[
    ("node.devices.map(d, d.pool + \"/\" + d.name)", r#"["n1/g0", "n1/g1", "net/mine"]"#),
    ("node.devices.map(d, d.allocated)", "[true, true, false]"),
    ("node.devices.map(d, d.shared)", "[false, true, false]"),
    (
        "node.devices[0].attributes",
        r#"{"big": "true", "model": "L4", "other.ex/count": "7", "version": "1.2.3"}"#,
    ),
    ("node.devices[0].attributes[\"model\"]", r#""L4""#),
    ("node.devices[1].attributes[\"model\"]", "absent"),
    ("node.devices[0].capacity", r#"{"cores": 2, "memory": 1073741824}"#),
    ("node.devices.map(d, d.capacity.memory >= 1Gi)", "[true, false, false]"),
    ("node.devices.map(d, d.consumed.memory == 3Mi)", "[false, true, false]"),
    ("node.devices.sum(d, d.capacity[\"cores\"])", "2"),
    ("node.devices.all(d, d.driver == \"d.ex\")", "true"),
    ("pod.claims.map(c, c.name)", r#"["one", "made", "later"]"#),
    ("pod.claims.map(c, c.claim ?? \"\")", r#"["c1", "p-made", ""]"#),
    ("pod.claims.map(c, c.allocated)", "[true, false, false]"),
    ("pod.claims.map(c, c.requests).flatten().map(r, r.name)", r#"["r", "all", "f/a", "f/b"]"#),
    ("pod.claims.map(c, c.requests).flatten().map(r, r.class)", r#"["x", "x", "x", "y"]"#),
    ("pod.claims.map(c, c.requests).flatten().map(r, r.count ?? 0)", "[2, 0, 1, 3]"),
    ("pod.claims.map(c, c.requests).flatten().map(r, r.all)", "[false, true, false, false]"),
];

#[test]
fn fields_have_the_values_of_claims_and_slices() {
    let mut snapshot = Snapshot::default();
    for name in ["n1", "n2"] {
        snapshot.apply(Change::NodeUpserted { node: node(name).build() });
    }
    let attributes = json!({
        "d.ex/model": {"string": "L4"}, "version": {"version": "1.2.3"}, "big": {"bool": true},
        "other.ex/count": {"int": 7}, "numbers": {"ints": [1, 2]},
    });
    let capacity = json!({"d.ex/memory": {"value": "1Gi"}, "cores": {"value": "1500m"}});
    let devices = json!([
        {"name": "g0", "attributes": attributes, "capacity": capacity}, {"name": "g1", "allowMultipleAllocations": true},
    ]);
    let pool = |name: &str, generation: i64| json!({"name": name, "generation": generation, "resourceSliceCount": 1});
    let spec = json!({"driver": "d.ex", "nodeName": "n1", "pool": pool("n1", 2), "devices": devices});
    see(&mut snapshot, of_kind("ResourceSlice", json!({"metadata": {"name": "s1"}, "spec": spec})));
    let spec =
        json!({"driver": "d.ex", "nodeName": "n1", "pool": pool("n1", 1), "devices": [{"name": "old"}]});
    see(&mut snapshot, of_kind("ResourceSlice", json!({"metadata": {"name": "s0"}, "spec": spec})));
    let each = json!([{"name": "mine", "nodeName": "n1"}, {"name": "other", "nodeName": "n2"}]);
    let spec =
        json!({"driver": "d.ex", "perDeviceNodeSelection": true, "pool": pool("net", 1), "devices": each});
    see(&mut snapshot, of_kind("ResourceSlice", json!({"metadata": {"name": "s2"}, "spec": spec})));
    let result = |device: &str, share: Option<&str>, memory: &str, admin: bool| {
        let pool = if device == "mine" { "net" } else { "n1" };
        json!({
            "request": "r", "driver": "d.ex", "pool": pool, "device": device, "shareID": share,
            "consumedCapacity": {"d.ex/memory": memory}, "adminAccess": admin,
        })
    };
    let results = [
        result("g0", None, "1Gi", false),
        result("g1", Some("s1"), "1Mi", false),
        result("g1", Some("s2"), "2Mi", false),
        result("mine", None, "0", true),
    ];
    let claims = [
        (
            "c1",
            json!([{"name": "r", "exactly": {"deviceClassName": "x", "count": 2}}]),
            json!({"allocation": {"devices": {"results": results}}}),
        ),
        (
            "p-made",
            json!([
                {"name": "all", "exactly": {"deviceClassName": "x", "allocationMode": "All"}},
                {"name": "f", "firstAvailable": [
                    {"name": "a", "deviceClassName": "x"}, {"name": "b", "deviceClassName": "y", "count": 3},
                ]},
            ]),
            json!({}),
        ),
    ];
    for (name, requests, status) in claims {
        let metadata = json!({"name": name, "namespace": "default", "uid": name});
        let claim =
            json!({"metadata": metadata, "spec": {"devices": {"requests": requests}}, "status": status});
        see(&mut snapshot, of_kind("ResourceClaim", claim));
    }
    let of_pod = json!([
        {"name": "one", "resourceClaimName": "c1"}, {"name": "made", "resourceClaimTemplateName": "t"},
        {"name": "later", "resourceClaimTemplateName": "t"},
    ]);
    let statuses = json!([{"name": "made", "resourceClaimName": "p-made"}]);
    let pod =
        pod("p").set("spec.resourceClaims", of_pod).set("status.resourceClaimStatuses", statuses).build();
    let mut indexed = snapshot.clone();
    indexed.add_index(DeviceIndex::key(), Box::new(DeviceIndex::default()));
    for (text, expected) in VALUES {
        assert_eq!(value(text, &snapshot, &pod, "n1"), *expected, "{text}");
        assert_eq!(value(text, &indexed, &pod, "n1"), *expected, "{text}, with an index");
    }
    assert_eq!(value("node.devices.map(d, d.name)", &indexed, &pod, "n2"), r#"["other"]"#);
}

/// Conditions about devices of nodes and claims of pods.
const CONDITIONS: [&str; 12] = [
    "node.devices.exists(d, !d.allocated)",
    "node.devices.count(d, d.attributes[\"model\"] == \"a\") > 1",
    "node.devices.filter(d, d.allocated).sum(d, d.capacity.memory) > 3Gi",
    "(int(node.devices.first(d, d.shared).attributes[\"size\"]) ?? 0) > 0",
    "node.devices.all(d, d.attributes[\"other.ex/new\"] != \"true\")",
    "node.devices.map(d, d.driver).distinct().size() == 2",
    "nodes.count(n, n.devices.exists(d, d.consumed.memory > 0B)) > 1",
    "pod.claims.all(c, c.allocated)",
    "pod.claims.exists(c, c.requests.exists(r, r.class == \"x\" && (r.count ?? 9) < 3))",
    "pods.exists(p, p.claims.exists(c, c.requests.exists(r, r.all)))",
    "node.pods.all(p, p.claims.size() == 0) || node.devices.size() > 2",
    "node.devices.exists(d, node.pods.exists(p, p.claims.exists(c, c.claim == d.name || c.name != d.pool)))",
];

/// A pod that uses some claims.
pub(super) fn claiming(random: &mut Random, pod: &PodInfo) -> Arc<PodInfo> {
    let claims: Vec<Value> = (0..random.below(3))
        .map(|at| json!({"name": format!("u{at}"), "resourceClaimName": random.of(&["c0", "c1", "c2"])}))
        .collect();
    let with = bayplan::testing::pod("claims").set("spec.resourceClaims", json!(claims)).build();
    Arc::new(PodInfo { constraints: with.constraints.clone(), ..pod.clone() })
}

#[test]
fn rules_about_devices_agree_in_all_evaluators() {
    let (mut held, mut refused) = (0, 0);
    for seed in 0..240 {
        let mut random = Random(9_000_000 + seed);
        let (nodes, pods) = cluster(&mut random);
        let pods: Vec<_> = pods.iter().map(|pod| claiming(&mut random, pod)).collect();
        let condition = random.of(&CONDITIONS);
        let text =
            format!("policy p {{ applies to all pods filter f {{ require {condition} else \"x\" }} }}");
        let set = compile(&text);
        let policy = set.iter().next().unwrap();
        let names: Vec<String> = nodes.iter().map(|node| node.name.to_string()).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let mut snapshot = snapshot(&framework_of(&set), nodes, pods.clone());
        for _ in 0..random.below(9) {
            let object = if random.one_in(2) { slice(&mut random, &names) } else { claim(&mut random) };
            see(&mut snapshot, object);
        }
        for pod in pods.iter().filter(|pod| !["Succeeded", "Failed"].contains(&pod.phase.as_str())) {
            let verdicts = verdict(policy, &snapshot, pod);
            assert_eq!(by_closures(policy, &snapshot, pod), verdicts, "closures, seed {seed}: {condition}");
            assert_eq!(by_columns(policy, &snapshot, pod), verdicts, "columns, seed {seed}: {condition}");
            held += verdicts.iter().filter(|verdict| verdict.is_none()).count();
            refused += verdicts.iter().filter(|verdict| verdict.is_some()).count();
        }
    }
    assert!(held > 500 && refused > 500, "{held} held, {refused} refused");
}
