//! Which pools count on a node.

use super::{Cluster, both, device, plain, request, same, some};
use bayplan_model::KubernetesVersion;
use serde_json::{Value, json};

fn all() -> Vec<Value> {
    vec![request("r", json!({"allocationMode": "All"}))]
}

fn one() -> Vec<Value> {
    vec![some("r", 1)]
}

const UPDATED: &str =
    "claim ns/x, request r: asks for all devices, but resource pool d.ex/p is currently being updated";
const INVALID: &str =
    "claim ns/x, request r: asks for all devices, but resource pool d.ex/p is currently invalid";

#[test]
fn an_incomplete_pool_gives_no_devices() {
    let part = |c: Cluster| c.slice("s", "p", plain(&["a"]), json!({"pool": {"resourceSliceCount": 2}}));
    same("fails", |c| part(c).requests(one()));
    same(UPDATED, |c| part(c).requests(all()));
    same("x r q/b", |c| part(c).pool("q", plain(&["b"])).requests(one()));
}

#[test]
fn the_newest_generation_counts() {
    let of = |generation: i64, count: i64, node: &str| json!({"nodeName": node, "pool": {"generation": generation, "resourceSliceCount": count}});
    let newer = |c: Cluster| c.slice("s2", "p", plain(&["b"]), of(2, 1, "N2"));
    for requests in [one(), all()] {
        same("fails", |c| {
            newer(c).slice("s1", "p", plain(&["a"]), of(1, 2, "N1")).requests(requests.clone())
        });
    }
    same("x r p/a", |c| {
        let both = newer(c).slice("s0", "p", plain(&["a"]), of(1, 2, "N1"));
        both.slice("s1", "p", plain(&["c"]), of(1, 2, "N1")).requests(one())
    });
    same("x r p/b", |c| {
        let old = c.slice("s1", "p", plain(&["a"]), of(1, 1, "N1"));
        old.slice("s2", "p", plain(&["b"]), of(2, 1, "N1")).requests(all())
    });
    // The slices of a pool may be for several nodes.
    same("x r p/a", |c| {
        let here = c.slice("s1", "p", plain(&["a"]), of(1, 2, "N1"));
        here.slice("s2", "p", plain(&["b"]), of(1, 2, "N2")).requests(all())
    });
}

#[test]
fn a_pool_with_contradictions_is_invalid() {
    let twice = |c: Cluster| {
        let two = json!({"pool": {"resourceSliceCount": 2}});
        c.slice("s1", "p", plain(&["dev"]), two.clone()).slice("s2", "p", plain(&["dev"]), two)
    };
    same("invalid", |c| twice(c).requests(one()));
    same("x r q/a", |c| twice(c).pool("q", plain(&["a"])).requests(one()));
    same(INVALID, |c| twice(c).requests(all()));
    let takes = |set: &str| {
        let consumed = json!([{"counterSet": set, "counters": {"mem": {"value": "1"}}}]);
        vec![device("a", json!({"consumesCounters": consumed}))]
    };
    let counters = json!({
        "sharedCounters": [{"name": "cs", "counters": {"mem": {"value": "1"}}}], "pool": {"resourceSliceCount": 2},
    });
    for (set, expected) in [("cs", "x r p/a"), ("other", "invalid")] {
        same(expected, |c| {
            c.slice("s1", "p", vec![], counters.clone())
                .slice("s2", "p", takes(set), json!({"pool": {"resourceSliceCount": 2}}))
                .requests(one())
        });
    }
}

#[test]
fn slices_with_counters_count_where_they_are_for() {
    let set = json!([{"name": "cs", "counters": {"mem": {"value": "1"}}}]);
    let foreign = json!({"nodeName": "N2", "pool": {"resourceSliceCount": 2}, "sharedCounters": set});
    let missing =
        "claim ns/x, request r: asks for all devices, but resource pool d.ex/n2 is currently being updated";
    let half = |c: Cluster| c.slice("s2", "n2", vec![], foreign.clone()).pool("n1", plain(&["a"]));
    both([missing, "x r n1/a"], |c| half(c).requests(all()));
    same("x r n1/a", |c| half(c).requests(one()));
    for version in KubernetesVersion::ALL {
        assert_eq!(half(Cluster::new(version)).requests(all()).on("N2"), missing);
    }
    let mut broken = foreign.clone();
    broken["sharedCounters"].as_array_mut().unwrap().push(foreign["sharedCounters"][0].clone());
    broken["pool"] = json!({"resourceSliceCount": 1});
    both(["invalid", "fails"], |c| c.slice("s2", "n2", vec![], broken.clone()).requests(one()));
}

#[test]
fn slices_with_fields_of_later_features_are_left_out() {
    let set = json!({
        "sharedCounters": [{"name": "cs", "counters": {"mem": {"value": "9"}}}], "pool": {"resourceSliceCount": 3},
    });
    let consumed = json!([{
        "counterSet": "cs", "counters": {"mem": {"value": "1"}}, "compatibilityGroups": ["mig"],
    }]);
    let three = json!({"pool": {"resourceSliceCount": 3}});
    let pool = |c: Cluster| {
        c.slice("s0", "p", vec![], set.clone())
            .slice("s1", "p", vec![device("a", json!({"consumesCounters": consumed}))], three.clone())
            .slice("s2", "p", plain(&["b"]), three.clone())
    };
    both(["x r p/a", "fails"], |c| pool(c).requests(one()));
    both(["x r p/a, x r p/b", UPDATED], |c| pool(c).requests(all()));
}

#[test]
fn slices_and_devices_choose_nodes() {
    let labels = |value: &str| {
        let term = json!({"matchExpressions": [{"key": "zone", "operator": "In", "values": [value]}]});
        json!({"nodeSelector": {"nodeSelectorTerms": [term]}})
    };
    same("fails", |c| c.slice("s", "p", plain(&["a"]), labels("z1")).requests(one()));
    same("fails", |c| c.slice("s", "p", plain(&["a"]), json!({"nodeName": "N2"})).requests(one()));
    same("fails", |c| {
        let empty = json!({"nodeSelector": {"nodeSelectorTerms": [{}]}});
        c.slice("s", "p", plain(&["a"]), empty).requests(one())
    });
    same("x r p/b, x r p/d", |c| {
        let on = |name: &str, nodes: Value| device(name, nodes);
        let devices = vec![
            on("a", json!({"nodeName": "N2"})),
            on("b", json!({"nodeName": "N1"})),
            on("c", labels("z1")),
            on("d", json!({"allNodes": true})),
        ];
        c.slice("s", "p", devices, json!({"perDeviceNodeSelection": true})).requests(vec![some("r", 2)])
    });
    for version in KubernetesVersion::ALL {
        let wrong = json!({"nodeSelector": {"nodeSelectorTerms": [
            {"matchExpressions": [{"key": "k", "operator": "Like", "values": ["a", "b"]}]}
        ]}});
        let cluster = Cluster::new(version).slice("s", "p", plain(&["a"]), wrong).requests(one());
        let said = cluster.on("N1");
        let start = "gather pool information: failed to perform node selection for slice s: failed to parse node selector \
                     &NodeSelector{NodeSelectorTerms:[]NodeSelectorTerm{NodeSelectorTerm{MatchExpressions:[]\
                     NodeSelectorRequirement{NodeSelectorRequirement{Key:k,Operator:Like,Values:[a b],},},MatchFields:[]\
                     NodeSelectorRequirement{},},},}: nodeSelectorTerms[0].matchExpressions[0].operator: ";
        assert!(said.starts_with(start), "{said}");
        let mut off = Cluster::new(version);
        off.features.partitionable_devices = false;
        let devices = vec![device("a", json!({"nodeName": "N1"}))];
        off.slice("s", "p", devices, json!({"perDeviceNodeSelection": true})).requests(one()).says("fails");
    }
}
