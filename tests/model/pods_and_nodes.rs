//! Objects become pods and nodes: what they ask for, what is derived from their fields, and what an object that makes
//! no sense is told.

use crate::support::recorded;
use bayplan::model::{
    Effect, KubernetesVersion, Node, PodInfo, QosClass, Resource, Symbol, Taint, Toleration,
    TolerationOperator, VersionRows, find_untolerated, objects,
};
use bayplan::testing::{node, pod};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::sync::Arc;

fn parse(value: Value) -> Result<PodInfo, String> {
    PodInfo::from_value(Arc::new(value)).map_err(|error| error.to_string())
}

fn scalars(resource: &Resource) -> Vec<(&str, i64)> {
    resource.scalars.iter().map(|(name, amount)| (name.as_str(), *amount)).collect()
}

/// Amounts of one container: CPU in millicores, memory in MiB, GPUs; `None` where it names none.
type Asked = (Option<i64>, Option<i64>, Option<i64>);

fn asked() -> impl Strategy<Value = Asked> {
    let amount = |most: i64| proptest::option::weighted(0.7, 0..most);
    (amount(4000), amount(4096), amount(4))
}

fn requests_json((cpu, memory, gpu): Asked) -> Value {
    let mut requests = json!({});
    for (name, amount) in [
        ("cpu", cpu.map(|cpu| format!("{cpu}m"))),
        ("memory", memory.map(|memory| format!("{memory}Mi"))),
        ("nvidia.com/gpu", gpu.map(|gpu| gpu.to_string())),
    ] {
        if let Some(amount) = amount {
            requests[name] = json!(amount);
        }
    }
    requests
}

const MIB: i64 = 1024 * 1024;

/// What the pod holds at the time when it holds most: while an init container runs, it and the sidecars started
/// before it; at last all sidecars and all containers.
fn naive(
    containers: &[Asked],
    init: &[(Asked, bool)],
    of: impl Fn(&Asked) -> Option<i64>,
    default: i64,
) -> (i64, bool) {
    let amount = |asked: &Asked| of(asked).unwrap_or(default);
    let mut most = 0;
    for (at, (asked, _)) in init.iter().enumerate() {
        let before: i64 =
            init[..at].iter().filter(|(_, sidecar)| *sidecar).map(|(asked, _)| amount(asked)).sum();
        most = most.max(before + amount(asked));
    }
    let running =
        containers.iter().chain(init.iter().filter(|(_, sidecar)| *sidecar).map(|(asked, _)| asked));
    let named = containers.iter().chain(init.iter().map(|(asked, _)| asked)).any(|asked| of(asked).is_some());
    (most.max(running.map(amount).sum()), named)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn requests_agree_with_a_naive_count(
        containers in proptest::collection::vec(asked(), 1..4),
        init in proptest::collection::vec((asked(), any::<bool>()), 0..4),
        whole in proptest::option::weighted(0.3, asked()),
        overhead in proptest::option::weighted(0.3, asked()),
    ) {
        let mut spec = json!({ "containers": [], "initContainers": [] });
        for (at, asked) in containers.iter().enumerate() {
            let container = json!({ "name": format!("c{at}"), "resources": { "requests": requests_json(*asked) } });
            spec["containers"].as_array_mut().unwrap().push(container);
        }
        for (at, (asked, sidecar)) in init.iter().enumerate() {
            let mut container = json!({ "name": format!("i{at}"), "resources": { "requests": requests_json(*asked) } });
            if *sidecar {
                container["restartPolicy"] = json!("Always");
            }
            spec["initContainers"].as_array_mut().unwrap().push(container);
        }
        // Extended resources cannot be given for the pod as a whole: such a number must change nothing.
        if let Some(whole) = whole {
            spec["resources"] = json!({ "requests": requests_json(whole) });
        }
        if let Some(overhead) = overhead {
            spec["overhead"] = requests_json(overhead);
        }
        let pod = parse(json!({ "metadata": { "name": "p" }, "spec": spec })).unwrap();

        let over = overhead.unwrap_or_default();
        let (cpu, memory, gpu) = (|asked: &Asked| asked.0, |asked: &Asked| asked.1.map(|m| m * MIB), |asked: &Asked| asked.2);
        let level = whole.unwrap_or_default();
        let expect = |sum: i64, level: Option<i64>, over: Option<i64>| level.unwrap_or(sum) + over.unwrap_or(0);
        let sum_cpu = naive(&containers, &init, cpu, 0);
        let sum_memory = naive(&containers, &init, memory, 0);
        prop_assert_eq!(pod.requests.milli_cpu, expect(sum_cpu.0, level.0, over.0));
        prop_assert_eq!(pod.requests.memory, expect(sum_memory.0, memory(&level), memory(&over)));
        prop_assert_eq!(pod.requests.scalar(&Symbol::new("nvidia.com/gpu")), expect(naive(&containers, &init, gpu, 0).0, None, over.2));
        prop_assert_eq!(pod.requests.pods, 0);

        let default_cpu = naive(&containers, &init, cpu, 100).0;
        let default_memory = naive(&containers, &init, memory, 200 * MIB).0;
        // Recorded decisions show that NodeResourcesFit scores the containers, not the amounts of the pod as a whole.
        prop_assert_eq!(pod.score_requests.milli_cpu, expect(default_cpu, None, over.0));
        prop_assert_eq!(pod.score_requests.memory, expect(default_memory, None, memory(&over)));
        // A pod with amounts of its own gets no default for what any container (or overhead) names.
        let own = level.0.is_some() || level.1.is_some();
        let sum = |named: bool, plain: i64, default: i64| if own && named { plain } else { default };
        let cpu_named = sum_cpu.1 || level.0.is_some() || over.0.is_some();
        let memory_named = sum_memory.1 || level.1.is_some() || over.1.is_some();
        prop_assert_eq!(pod.nonzero_milli_cpu, expect(sum(cpu_named, sum_cpu.0, default_cpu), level.0, over.0));
        prop_assert_eq!(pod.nonzero_memory, expect(sum(memory_named, sum_memory.0, default_memory), memory(&level), memory(&over)));
    }
}

#[test]
fn amounts_are_added_before_they_are_rounded() {
    let half = json!({ "name": "b", "resources": { "requests": { "cpu": "0.5m", "memory": "100m" } } });
    let pod = pod("p").cpu("500u").memory("0.1").container(half).build();
    assert_eq!((pod.requests.milli_cpu, pod.requests.memory), (1, 1));
    assert_eq!((pod.containers[0].requests.milli_cpu, pod.containers[1].requests.milli_cpu), (1, 1));
}

#[test]
fn only_known_and_extended_resources_count() {
    let pod = pod("p")
        .request("nvidia.com/gpu", "2")
        .request("hugepages-2Mi", "4Mi")
        .request("attachable-volumes-aws-ebs", "1")
        .request("kubernetes.io/batch-cpu", "3")
        .request("ephemeral-storage", "1Gi")
        .request("storage", "5Gi")
        .request("gpu", "1")
        .request("requests.example.com/a", "1")
        .request("bad_prefix/a", "1")
        .request("pods", "7")
        .build();
    let expected = [
        ("attachable-volumes-aws-ebs", 1),
        ("hugepages-2Mi", 4 * MIB),
        ("kubernetes.io/batch-cpu", 3),
        ("nvidia.com/gpu", 2),
    ];
    assert_eq!(scalars(&pod.requests), expected);
    assert_eq!((pod.requests.ephemeral_storage, pod.requests.pods), (1024 * MIB, 0));
}

#[test]
fn a_resize_counts_the_most_of_what_is_asked_set_aside_and_used() {
    let resized = |condition: Value| {
        pod("p")
            .cpu("3")
            .set(
                "status.containerStatuses",
                json!([{
                    "name": "main",
                    "resources": { "requests": { "cpu": "1" }, "limits": { "cpu": "1" } },
                    "allocatedResources": { "cpu": "2", "memory": "1Gi" },
                }]),
            )
            .set("status.conditions", json!([condition]))
            .build()
    };
    let going = resized(json!({ "type": "PodResizeInProgress", "status": "True" }));
    assert_eq!((going.requests.milli_cpu, going.requests.memory), (3000, 1024 * MIB));
    let deferred = resized(json!({ "type": "PodResizePending", "status": "True", "reason": "Deferred" }));
    assert_eq!(deferred.requests.milli_cpu, 3000);
    let infeasible = resized(json!({ "type": "PodResizePending", "status": "True", "reason": "Infeasible" }));
    assert_eq!((infeasible.requests.milli_cpu, infeasible.requests.memory), (2000, 1024 * MIB));
    assert_eq!(infeasible.limits.milli_cpu, 1000);

    let whole = pod("p")
        .set("spec.resources", json!({ "requests": { "cpu": "1" }, "limits": { "cpu": "2" } }))
        .set("status.resources", json!({ "requests": { "cpu": "3" }, "limits": { "cpu": "4" } }))
        .set("status.allocatedResources", json!({ "cpu": "5" }))
        .build();
    assert_eq!((whole.requests.milli_cpu, whole.limits.milli_cpu), (5000, 4000));
}

#[test]
fn limits_get_overhead_only_where_there_is_a_limit() {
    let pod = pod("p").limit("cpu", "1").limit("ephemeral-storage", "0").overhead("cpu", "100m");
    let pod = pod.overhead("memory", "64Mi").overhead("ephemeral-storage", "1Gi").build();
    assert_eq!((pod.limits.milli_cpu, pod.limits.memory, pod.limits.ephemeral_storage), (1100, 0, 0));
    assert_eq!((pod.requests.milli_cpu, pod.requests.memory), (100, 64 * MIB));
    assert_eq!(pod.overhead.memory, 64 * MIB);
}

#[test]
fn quality_of_service_is_the_kubelets() {
    let both = |cpu: &str, memory: &str| json!({ "cpu": cpu, "memory": memory });
    let exact = json!({ "requests": both("1", "1Gi"), "limits": both("1000m", "1Gi") });
    let cases = [
        ("nothing", json!({}), json!(null), QosClass::BestEffort),
        ("zeros are nothing", json!({ "requests": both("0", "0") }), json!(null), QosClass::BestEffort),
        ("equal", exact.clone(), json!(null), QosClass::Guaranteed),
        (
            "limits alone are not requests",
            json!({ "limits": both("1", "1Gi") }),
            json!(null),
            QosClass::Burstable,
        ),
        (
            "one limit is missing",
            json!({ "requests": both("1", "1Gi"), "limits": { "cpu": "1" } }),
            json!(null),
            QosClass::Burstable,
        ),
        (
            "limits above requests",
            json!({ "requests": both("1", "1Gi"), "limits": both("2", "1Gi") }),
            json!(null),
            QosClass::Burstable,
        ),
        (
            "the pod as a whole decides",
            exact.clone(),
            json!({ "requests": { "cpu": "1" } }),
            QosClass::Burstable,
        ),
        ("the pod as a whole is exact", json!({}), exact.clone(), QosClass::Guaranteed),
        (
            "the pod as a whole has other resources",
            exact,
            json!({ "requests": { "hugepages-2Mi": "2Mi" } }),
            QosClass::BestEffort,
        ),
    ];
    for (what, container, whole, expected) in cases {
        let pod = pod("p").set("spec.containers.0.resources", container).set("spec.resources", whole).build();
        assert_eq!(pod.qos, expected, "{what}");
    }
    let init = pod("p").set(
        "spec.containers.0.resources",
        json!({ "requests": both("1", "1Gi"), "limits": both("1", "1Gi") }),
    );
    assert_eq!(init.clone().build().qos, QosClass::Guaranteed);
    assert_eq!(init.init_container(json!({ "name": "i" })).build().qos, QosClass::Burstable);
    assert_eq!(pod("p").set("status.qosClass", json!("Guaranteed")).build().qos, QosClass::Guaranteed);
}

#[test]
fn ports_and_images_are_those_that_count() {
    let pod = pod("p")
        .image("registry:5000/web")
        .host_port(80)
        .host_port_of("", "", 80)
        .host_port_of("UDP", "10.0.0.1", 53)
        .host_port(0)
        .init_container(json!({ "name": "once", "image": "init@sha256:abc", "ports": [{ "hostPort": 1 }] }))
        .init_container(json!({ "name": "log", "image": "log:2", "restartPolicy": "Always", "ports": [{ "hostPort": 2 }] }))
        .set("spec.volumes", json!([{ "name": "data", "image": { "reference": "data/set" } }, { "name": "e", "emptyDir": {} }]))
        .build();
    let ports: Vec<_> =
        pod.host_ports.iter().map(|port| format!("{}:{}/{}", port.ip, port.port, port.protocol)).collect();
    assert_eq!(ports, ["0.0.0.0:2/TCP", "0.0.0.0:80/TCP", "10.0.0.1:53/UDP"]);
    let images: Vec<_> = pod.images.iter().map(Symbol::as_str).collect();
    assert_eq!(images, ["init@sha256:abc", "log:2", "registry:5000/web:latest", "data/set:latest"]);
    let containers: Vec<_> =
        pod.containers.iter().map(|it| (it.name.as_str(), it.init, it.sidecar)).collect();
    assert_eq!(containers, [("once", true, false), ("log", true, true), ("main", false, false)]);
}

#[test]
fn absent_fields_have_the_apis_defaults() {
    let bare = parse(json!({
        "metadata": { "name": "p", "labels": null, "annotations": null, "ownerReferences": null },
        "spec": { "containers": null, "tolerations": null, "nodeSelector": null, "affinity": null, "priority": null },
        "status": { "conditions": null },
    }))
    .unwrap();
    assert_eq!(bare.key.0, "default/p");
    assert_eq!(bare.full_name(), "default/p");
    assert_eq!((bare.scheduler_name.as_str(), bare.phase.as_str()), ("default-scheduler", "Pending"));
    assert_eq!((bare.priority, bare.node_name, bare.nominated_node), (0, None, None));
    assert_eq!(bare.requests, Resource::default());
    assert!(bare.node_affinity.requires_nothing());
    assert!(parse(json!({ "metadata": { "name": "p" }, "spec": null, "status": null })).is_ok());
}

#[test]
fn what_a_pod_says_is_read() {
    let pod = pod("web")
        .namespace("shop")
        .owner("ReplicaSet", "web-1")
        .annotation("a", "b")
        .priority(7)
        .never_preempts()
        .gate("g1")
        .gate("g2")
        .nominated("n1")
        .set("spec.priorityClassName", json!("high"))
        .set(
            "status.conditions",
            json!([{
                "type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "m",
                "lastTransitionTime": "1970-01-01T00:00:01Z",
            }]),
        )
        .terminating()
        .build();
    assert_eq!((pod.uid.as_str(), pod.namespace.as_str()), ("shop/web", "shop"));
    assert_eq!(pod.annotations.get("a"), Some("b"));
    assert!(pod.never_preempts && pod.is_terminating() && pod.owners[0].controller);
    assert_eq!(pod.scheduling_gates.iter().map(Symbol::as_str).collect::<Vec<_>>(), ["g1", "g2"]);
    assert_eq!((pod.priority, pod.priority_class.as_deref()), (7, Some("high")));
    let (status, reason, message, since) = pod.scheduled_condition.as_deref().unwrap();
    assert_eq!((status.as_str(), reason.as_str(), &**message), ("False", "Unschedulable", "m"));
    assert_eq!(since.unwrap().0, 1_000_000);
}

#[test]
fn an_object_that_makes_no_sense_is_told_where() {
    let with = |path: &str, value: Value| parse(pod("p").set(path, value).json()).unwrap_err();
    let regex = "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
    let cases = [
        (
            "spec.containers.0.resources.requests",
            json!({ "cpu": "1x" }),
            format!(
                "`spec.containers[0].resources.requests.cpu` is `1x`: quantities must match the regular expression {regex}"
            ),
        ),
        (
            "spec.containers.0.resources.limits",
            json!({ "memory": "1KB" }),
            String::from(
                "`spec.containers[0].resources.limits.memory` is `1KB`: quantities must match the regular expression ",
            ) + regex,
        ),
        (
            "spec.overhead",
            json!({ "memory": "-1e30" }),
            String::from("`spec.overhead.memory` is `-1e30`: must be greater than or equal to 0"),
        ),
        (
            "spec.resources",
            json!({ "requests": { "cpu": -1 } }),
            String::from("`spec.resources.requests.cpu` is `-1`: must be greater than or equal to 0"),
        ),
        (
            "spec.tolerations",
            json!([{ "key": "a" }, { "key": "a", "operator": "Near" }]),
            String::from(
                "`spec.tolerations[1].operator` is `Near`: not supported; there are `Equal`, `Exists`, `Lt`, `Gt`",
            ),
        ),
        ("metadata.name", json!(""), String::from("`metadata.name`: a name is required")),
        (
            "metadata.creationTimestamp",
            json!("yesterday"),
            String::from("`metadata.creationTimestamp` is `yesterday`: not an RFC 3339 date and time"),
        ),
    ];
    for (path, value, expected) in cases {
        assert_eq!(with(path, value), expected);
    }
    let taint = node("n").taint("a", "", "Never").json();
    let error = Node::from_value(Arc::new(taint)).unwrap_err().to_string();
    assert!(error.starts_with("`spec.taints[0].effect` is `Never`: not supported"), "{error}");
}

#[test]
fn an_invalid_selector_does_not_lose_the_pod() {
    let pod = pod("p").require_node("disk", "Near", &["x"]).require_node("zone", "In", &["a"]).build();
    let required = pod.node_affinity.required.as_deref().unwrap();
    assert!(required.terms[0].error.is_some() && required.terms[1].error.is_none());
    let labels = |zone: &str| node("n").label("zone", zone).build().labels.clone();
    assert_eq!(pod.node_affinity.matches(&Symbol::new("n"), &labels("a")), Ok(true));
    let error = pod.node_affinity.matches(&Symbol::new("n"), &labels("b")).unwrap_err().to_string();
    assert!(
        error.starts_with("nodeSelectorTerms[0].matchExpressions[0].operator: Unsupported value"),
        "{error}"
    );
}

#[test]
fn preferred_terms_that_ask_nothing_match_nothing() {
    let affinity = json!({ "nodeAffinity": { "preferredDuringSchedulingIgnoredDuringExecution": [
        { "weight": 5, "preference": {} },
        { "weight": 0, "preference": { "matchExpressions": [{ "key": "a", "operator": "Exists" }] } },
        { "weight": 7, "preference": { "matchExpressions": [{ "key": "a", "operator": "Exists" }] } },
        { "weight": 9, "preference": { "matchExpressions": [{ "key": "a", "operator": "Lt", "values": ["b"] }] } },
    ] } });
    let pod = pod("p").set("spec.affinity", affinity).build();
    let node = node("n").label("a", "1").build();
    let preferred = &pod.node_affinity.preferred;
    let weights: Vec<_> =
        preferred.iter().map(|term| (term.weight, term.matches(&node.name, &node.labels))).collect();
    assert_eq!(weights, [(0, false), (0, false), (7, true), (9, false)]);
    let error = pod.node_affinity.preferred_error.as_ref().unwrap().to_string();
    assert!(error.starts_with("[3].matchExpressions[0].values[0]: Invalid value: \"b\""), "{error}");
}

fn taint(key: &str, value: &str, effect: Effect) -> Taint {
    Taint { key: key.into(), value: value.into(), effect }
}

fn toleration(key: &str, operator: TolerationOperator, value: &str, effect: Option<Effect>) -> Toleration {
    Toleration { key: key.into(), operator, value: value.into(), effect }
}

#[test]
fn tolerations_match_as_upstream() {
    use Effect::{NoExecute, NoSchedule};
    use TolerationOperator::{Equal, Exists, Gt, Lt};
    let cases = [
        ("a", Equal, "x", None, "a", "x", false, true),
        ("a", Equal, "x", None, "a", "y", false, false),
        ("a", Equal, "x", Some(NoExecute), "a", "x", false, false),
        ("a", Equal, "x", Some(NoSchedule), "a", "x", false, true),
        ("a", Exists, "", None, "a", "x", false, true),
        ("", Exists, "", None, "b", "x", false, true),
        ("", Equal, "x", None, "b", "x", false, true),
        ("", Equal, "", None, "b", "x", false, false),
        ("b", Exists, "", None, "a", "x", false, false),
        // The gate is off: comparing tolerations tolerate nothing.
        ("a", Lt, "10", None, "a", "5", false, false),
        ("a", Lt, "10", None, "a", "5", true, true),
        ("a", Lt, "10", None, "a", "10", true, false),
        ("a", Gt, "10", None, "a", "11", true, true),
        ("a", Gt, "10", None, "a", "5", true, false),
        ("a", Gt, "-10", None, "a", "-9", true, true),
        ("a", Gt, "0", None, "a", "007", true, false),
        ("a", Gt, "+1", None, "a", "5", true, false),
        ("a", Gt, "1", None, "a", "x", true, false),
        ("a", Gt, "1", None, "a", "", true, false),
        ("a", Gt, "-0", None, "a", "5", true, false),
        ("a", Gt, "9223372036854775808", None, "a", "5", true, false),
        ("b", Gt, "1", None, "a", "5", true, false),
    ];
    for (key, operator, value, effect, taint_key, taint_value, comparison, expected) in cases {
        let ours = toleration(key, operator, value, effect);
        let taint = taint(taint_key, taint_value, NoSchedule);
        assert_eq!(ours.tolerates(&taint, comparison), expected, "{ours:?} {taint:?} {comparison}");
    }
}

#[test]
fn the_first_untolerated_taint_that_counts_is_found() {
    let taints = [
        taint("soft", "", Effect::PreferNoSchedule),
        taint("a", "", Effect::NoSchedule),
        taint("b", "", Effect::NoExecute),
    ];
    let tolerates_a = [toleration("a", TolerationOperator::Exists, "", None)];
    let found = |tolerations: &[Toleration]| {
        find_untolerated(&taints, tolerations, Effect::keeps_pods_away, false)
            .map(|taint| taint.key.to_string())
    };
    assert_eq!(found(&[]).as_deref(), Some("a"));
    assert_eq!(found(&tolerates_a).as_deref(), Some("b"));
    assert_eq!(found(&[toleration("", TolerationOperator::Exists, "", None)]), None);
}

#[test]
fn a_node_is_read() {
    let read = node("n")
        .cpu("3800m")
        .memory("8Gi")
        .resource("nvidia.com/gpu", "4")
        .zone("a")
        .taint("k", "v", "NoExecute")
        .unschedulable()
        .image("web:1", 5)
        .condition("MemoryPressure", "False")
        .set("status.declaredFeatures", json!(["F"]))
        .build();
    assert_eq!((read.allocatable.milli_cpu, read.allocatable.pods), (3800, 110));
    assert_eq!(scalars(&read.allocatable), [("nvidia.com/gpu", 4)]);
    assert!(read.is_ready() && read.unschedulable);
    assert_eq!(read.zone().unwrap(), "a");
    assert_eq!(read.taints[0].effect, Effect::NoExecute);
    assert_eq!((read.images[0].names[0].as_str(), read.images[0].size), ("web:1", 5));
    assert_eq!(read.declared_features[0], "F");
    // The API fills allocatable from capacity.
    let bare = json!({ "metadata": { "name": "n" }, "status": { "capacity": { "cpu": "2" } } });
    assert_eq!(Node::from_value(Arc::new(bare)).unwrap().allocatable.milli_cpu, 2000);
}

const YAML: &str = "
apiVersion: v1
kind: Pod
metadata:
  name: web
  labels: {app: web}
spec:
  nodeSelector:
  tolerations:
  - {key: a, operator: Exists}
  containers:
  - name: main
    image: web
    resources:
      requests: {cpu: 0.5, memory: 1Gi, ephemeral-storage: 1000, nvidia.com/gpu: 2}
      limits: {cpu: 2}
";

#[test]
fn yaml_reads_as_json_does() {
    let from_yaml: objects::pod::Pod = serde_saphyr::from_str(YAML).unwrap();
    let from_json: objects::pod::Pod = serde_json::from_value(json!({
        "metadata": { "name": "web", "labels": { "app": "web" } },
        "spec": {
            "tolerations": [{ "key": "a", "operator": "Exists" }],
            "containers": [{
                "name": "main",
                "image": "web",
                "resources": {
                    "requests": { "cpu": "500m", "memory": "1Gi", "ephemeral-storage": "1k", "nvidia.com/gpu": "2" },
                    "limits": { "cpu": "2" },
                },
            }],
        },
    }))
    .unwrap();
    assert_eq!(from_yaml, from_json);
    let pod = PodInfo::from_object(&from_yaml).unwrap();
    assert_eq!((pod.requests.milli_cpu, pod.limits.milli_cpu), (500, 2000));
    assert_eq!((pod.requests.ephemeral_storage, scalars(&pod.requests)), (1000, vec![("nvidia.com/gpu", 2)]));
}

#[test]
fn a_policy_may_keep_the_whole_object() {
    let kept = pod("p").set("spec.hostname", json!("h")).raw().build();
    assert_eq!(kept.raw.as_ref().unwrap()["spec"]["hostname"], "h");
    assert!(pod("p").build().raw.is_none());
}

/// 1,500 random pods and what Kubernetes' own code derives from them: requests and limits (with resizes under way),
/// the amounts of scoring, quality of service, host ports, and whether each toleration tolerates a taint.
#[test]
fn pods_agree_with_kubernetes() {
    for version in KubernetesVersion::ALL {
        pods_agree(version);
    }
}

fn taint_of(value: &Value) -> Taint {
    let text = |key: &str| value[key].as_str().unwrap();
    taint(text("key"), text("value"), Effect::parse(text("effect")).unwrap())
}

fn pods_agree(version: KubernetesVersion) {
    let cases = recorded(version, "pods");
    let mut mismatches = Vec::new();
    for case in &cases {
        let pod = Arc::new(parse(case["pod"].clone()).unwrap()).counted(VersionRows::of(version));
        let amounts = |resource: &Resource| {
            let mut amounts = json!({
                "cpu": resource.milli_cpu, "memory": resource.memory, "ephemeral-storage": resource.ephemeral_storage,
            });
            for (name, amount) in scalars(resource) {
                amounts[name] = json!(amount);
            }
            amounts
        };
        let ports: Vec<_> = pod
            .host_ports
            .iter()
            .map(|port| format!("{}/{}/{}", port.protocol, port.port, port.ip))
            .collect();
        // What a resize does not change is recorded once.
        let of_both = !case["taint"].is_null();
        let taint = if of_both { taint_of(&case["taint"]) } else { taint("a", "", Effect::NoSchedule) };
        let tolerated = |comparison| -> Vec<bool> {
            pod.tolerations.iter().map(|toleration| toleration.tolerates(&taint, comparison)).collect()
        };
        let ours = [
            ("requests", amounts(&pod.requests)),
            ("limits", amounts(&pod.limits)),
            ("nonzero", json!([pod.nonzero_milli_cpu, pod.nonzero_memory])),
            ("score", json!([pod.score_requests.milli_cpu, pod.score_requests.memory])),
            ("qos", json!(format!("{:?}", pod.qos))),
            ("ports", json!(ports)),
            ("tolerated", json!(tolerated(false))),
            ("toleratedComparing", json!(tolerated(true))),
        ];
        for (what, ours) in ours {
            // The line has what Kubernetes' helper gives with amounts of the pod as a whole, which the scorer of
            // NodeResourcesFit does not ask for.
            if !of_both && case[what].is_null() {
                continue;
            }
            if what == "score" && !case["pod"]["spec"]["resources"].is_null() {
                continue;
            }
            // Maps compare by their entries, whatever their order.
            if ours != case[what] {
                mismatches.push(format!("{what}: ours {ours}, theirs {}\n    {}", case[what], case["pod"]));
            }
        }
    }
    println!("pods of {version}: {} lines, {} mismatches", cases.len(), mismatches.len());
    assert_eq!(cases.len(), 1500);
    assert!(mismatches.is_empty(), "{}", mismatches[..mismatches.len().min(10)].join("\n"));
}

#[test]
fn files_get_the_defaults_of_the_api_server() {
    let filled = |pod: bayplan::testing::PodMaker| {
        let mut object: objects::pod::Pod = serde_json::from_value(pod.json()).unwrap();
        object.set_defaults();
        PodInfo::from_object(&object).unwrap()
    };
    let limited =
        filled(pod("p").cpu("1").limit("cpu", "2").limit("memory", "1Gi").limit("nvidia.com/gpu", "1"));
    assert_eq!((limited.requests.milli_cpu, limited.requests.memory), (1000, 1024 * MIB));
    assert_eq!(scalars(&limited.requests), [("nvidia.com/gpu", 1)]);

    let whole = json!({ "limits": { "cpu": "4", "memory": "4Gi", "hugepages-2Mi": "2Mi" } });
    let whole = filled(pod("p").cpu("1").set("spec.resources", whole));
    assert_eq!((whole.requests.milli_cpu, whole.requests.memory), (1000, 4096 * MIB));
    assert_eq!(scalars(&whole.requests), [("hugepages-2Mi", 2 * MIB)]);

    let ports = json!([{ "containerPort": 80 }, { "containerPort": 81, "hostPort": 82 }]);
    let on_host = pod("p").set("spec.containers.0.ports", ports).set("spec.hostNetwork", json!(true));
    assert!(
        on_host
            .clone()
            .set("spec.hostNetwork", json!(false))
            .build()
            .host_ports
            .iter()
            .all(|it| it.port == 82)
    );
    assert_eq!(filled(on_host).host_ports.iter().map(|it| it.port).collect::<Vec<_>>(), [80, 82]);
}
