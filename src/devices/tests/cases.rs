//! Worked cases: order, constraints, taints, alternatives, selectors, results.

use super::{Cluster, both, device, plain, request, same, selectors, some, with};
use bayplan_model::KubernetesVersion;
use serde_json::{Value, json};

#[test]
fn pools_slices_and_devices_have_an_order() {
    same("x r node-10/b, x r node-2/a", |c| {
        c.pool("node-2", plain(&["a"])).pool("node-10", plain(&["b"])).requests(vec![some("r", 2)])
    });
    same("x r p/z", |c| {
        let two = json!({"pool": {"resourceSliceCount": 2}});
        c.slice("s2", "p", plain(&["a"]), two.clone())
            .slice("s1", "p", plain(&["z", "b"]), two)
            .requests(vec![some("r", 1)])
    });
    for (count, expected) in [(1, "x r B/b1"), (3, "x r B/b1, x r A/a1, x r A/a2")] {
        same(expected, |c| {
            let a2 = device("a2", json!({"bindingConditions": ["ready"]}));
            c.pool("A", vec![device("a1", json!({})), a2])
                .pool("B", plain(&["b1"]))
                .requests(vec![some("r", count)])
        });
    }
}

#[test]
fn a_dead_end_changes_earlier_choices() {
    same("x r0 p/small, x r1 p/large", |c| {
        let sizes = with("size", &[("large", "large"), ("small", "small")]);
        c.pool("p", sizes).requests(vec![some("r0", 1), request("r1", selectors(&["size=large"]))])
    });
    same("y r p/d1, x r p/d2", |c| {
        let spec = json!({"requests": [some("r", 1)]});
        c.pool("p", plain(&["d1", "d2"])).claim("y", spec.clone()).claim("x", spec)
    });
    same("x r p/d1", |c| c.pool("p", plain(&["d1"])).claim("e", json!({})).requests(vec![some("r", 1)]));
    same("fails", |c| c.requests(vec![some("r", 1)]));
}

#[test]
fn constraints_compare_attributes() {
    let numa = |name: &str, value: Value| device(name, json!({"attributes": {"numa": value}}));
    let matching = |r: Value| json!({"requests": [r], "constraints": [{"requests": ["r"], "matchAttribute": "d.ex/numa"}]});
    let of = |values: [i64; 3]| {
        let names = ["d1", "d2", "d3"].into_iter().zip(values);
        names.map(|(name, value)| numa(name, json!({"int": value}))).collect::<Vec<_>>()
    };
    same("x r p/d2, x r p/d3", |c| c.pool("p", of([0, 1, 1])).claim("x", matching(some("r", 2))));
    same("fails", |c| {
        c.pool("p", vec![numa("d1", json!({"int": 1})), numa("d2", json!({"string": "1"}))])
            .claim("x", matching(some("r", 2)))
    });
    same("fails", |c| {
        c.slice("s", "p", of([1, 1, 1]), json!({"driver": "e.ex"})).claim("x", matching(some("r", 2)))
    });
    same(
        "claim ns/x, request r: cannot add device d.ex/p/d2 because a claim constraint would not be satisfied",
        |c| c.pool("p", of([0, 1, 1])).claim("x", matching(request("r", json!({"allocationMode": "All"})))),
    );
    let color = with("color", &[("d1", "red"), ("d2", "blue"), ("d3", "red")]);
    let distinct = |requests: Vec<Value>| json!({"requests": requests, "constraints": [{"distinctAttribute": "d.ex/color"}]});
    both(["x r p/d1, x r p/d2, x r p/d3", "fails"], |c| {
        c.pool("p", color.clone()).claim("x", distinct(vec![some("r", 3)]))
    });
    same("fails", |c| {
        let three = vec![some("r0", 1), some("r1", 1), some("r2", 1)];
        c.pool("p", color.clone()).claim("x", distinct(three))
    });
    same("claim ns/x, constraint #1: empty constraint (unsupported constraint type?)", |c| {
        let constraints = json!([{"matchAttribute": "d.ex/a"}, {}]);
        c.claim("x", json!({"requests": [some("r", 1)], "constraints": constraints}))
    });
}

#[test]
fn a_constraint_may_name_an_alternative() {
    let spec = |named: &str| {
        let a = json!({"name": "a", "deviceClassName": "c", "count": 2});
        let b = json!({"name": "b", "deviceClassName": "c", "count": 1});
        let constraints = json!([{"requests": [named], "matchAttribute": "d.ex/color"}]);
        json!({"requests": [{"name": "r", "firstAvailable": [a, b]}], "constraints": constraints})
    };
    let color = with("color", &[("d1", "red"), ("d2", "blue")]);
    for (named, expected) in [("r", "x r/b p/d1"), ("r/a", "x r/b p/d1"), ("r/b", "x r/a p/d1, x r/a p/d2")] {
        same(expected, |c| c.pool("p", color.clone()).claim("x", spec(named)));
    }
}

#[test]
fn taints_keep_requests_away() {
    let tainted = |effect: &str| {
        let taint = json!({"taints": [{"key": "k", "value": "v", "effect": effect}]});
        vec![device("d1", taint), device("d2", json!({}))]
    };
    same("x r p/d2", |c| c.pool("p", tainted("NoSchedule")).requests(vec![some("r", 1)]));
    same("x r p/d2", |c| c.pool("p", tainted("NoExecute")).requests(vec![some("r", 1)]));
    same("x r p/d1", |c| c.pool("p", tainted("None")).requests(vec![some("r", 1)]));
    let tolerations = json!([{"key": "k", "operator": "Exists", "tolerationSeconds": 1}]);
    for version in KubernetesVersion::ALL {
        let tolerant = request("r", json!({"tolerations": tolerations}));
        let cluster = Cluster::new(version).pool("p", tainted("NoSchedule")).requests(vec![tolerant]);
        cluster.says("x r p/d1");
        assert_eq!(cluster.allocations()[0]["devices"]["results"][0]["tolerations"], tolerations);
    }
    let rule = json!({
        "metadata": {"name": "t"},
        "spec": {"deviceSelector": {"driver": "d.ex"}, "taint": {"key": "k", "effect": "NoSchedule"}},
    });
    both(["x r p/a", "fails"], |c| {
        c.see("DeviceTaintRule", rule.clone()).pool("p", plain(&["a"])).requests(vec![some("r", 1)])
    });
    // With the gate; a rule without a selector is about every device in 1.36, and about none later.
    let all = json!({"metadata": {"name": "t"}, "spec": {"taint": {"key": "k", "effect": "NoSchedule"}}});
    for (rule, expected) in [(&rule, ["fails", "fails"]), (&all, ["fails", "x r p/a"])] {
        both(expected, |mut c| {
            c.features.taint_rules = true;
            c.see("DeviceTaintRule", rule.clone()).pool("p", plain(&["a"])).requests(vec![some("r", 1)])
        });
    }
}

#[test]
fn alternatives_are_tried_in_order() {
    let alternatives = |list: &[Value]| vec![json!({"name": "r", "firstAvailable": list})];
    let of = |name: &str, more: Value| {
        let mut of = json!({"name": name, "deviceClassName": "c"});
        of.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        of
    };
    same("x r/b p/d1", |c| {
        let mut first = of("a", json!({"allocationMode": "All"}));
        first["selectors"] = selectors(&["kind=none"])["selectors"].clone();
        c.pool("p", with("kind", &[("d1", "k")]))
            .requests(alternatives(&[first, of("b", json!({"count": 1}))]))
    });
    same("fails", |c| c.requests(vec![request("r", json!({"allocationMode": "All"}))]));
    let names: Vec<String> = (0..40).map(|at| format!("d{at:02}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    for version in KubernetesVersion::ALL {
        let first = of("s0", json!({"count": 20}));
        let list = json!([first, of("s1", json!({"count": 12}))]);
        let requests = vec![some("r0", 20), json!({"name": "r1", "firstAvailable": list})];
        let cluster = Cluster::new(version).pool("p", plain(&names)).requests(requests);
        let said = cluster.on("N1");
        let said: Vec<&str> = said.split(", ").collect();
        assert_eq!(
            (said.len(), said[19], said[20], said[31]),
            (32, "x r0 p/d19", "x r1/s1 p/d20", "x r1/s1 p/d31")
        );
        let claim = &cluster.claims[0];
        let allocations = cluster.allocations_on("N1").unwrap();
        assert_eq!(crate::score([(claim.as_ref(), &allocations[0])]), 7);
    }
    for version in KubernetesVersion::ALL {
        let mut cluster = Cluster::new(version);
        cluster.features.prioritized_list = false;
        let cluster = cluster.requests(alternatives(&[of("a", json!({}))]));
        cluster
            .says("claim ns/x, request r: has subrequests, but the DRAPrioritizedList feature is disabled");
    }
}

#[test]
fn admin_access_takes_devices_in_use() {
    let admin = |count: i64| request("r", json!({"adminAccess": true, "count": count}));
    let all = request("r", json!({"allocationMode": "All"}));
    let mut all_admin = all.clone();
    all_admin["exactly"]["adminAccess"] = json!(true);
    let two = |c: Cluster| c.pool("p", plain(&["d1", "d2"]));
    same("fails", |c| two(c).allocated("y", &["p/d1"], json!({})).requests(vec![all.clone()]));
    same("x r p/d1, x r p/d2", |c| {
        two(c).allocated("y", &["p/d1"], json!({})).requests(vec![all_admin.clone()])
    });
    same("x r p/d1", |c| {
        two(c).allocated("y", &["p/d1"], json!({"adminAccess": true})).requests(vec![some("r", 1)])
    });
    let claims = |c: Cluster, order: [(&str, Value); 2]| {
        order.into_iter().fold(two(c), |c, (name, request)| c.claim(name, json!({"requests": [request]})))
    };
    same("x r p/d1, y r p/d2", |c| claims(c, [("x", admin(1)), ("y", some("r", 1))]));
    same("y r p/d1, x r p/d1", |c| claims(c, [("y", some("r", 1)), ("x", admin(1))]));
    same("x r p/d1, y r p/d1", |c| claims(c, [("x", admin(1)), ("y", admin(1))]));
    same("x r p/d1, x r p/d2", |c| two(c).requests(vec![admin(2)]));
}

#[test]
fn errors_of_selectors_end_the_search() {
    let model = |c: Cluster| {
        let d2 = device("d2", json!({}));
        let mut devices = with("model", &[("d1", "x")]);
        devices.push(d2);
        c.pool("p", devices).requests(vec![request("r", selectors(&["model=x"]))])
    };
    let more = "consider using CEL optional chaining (.? followed by orValue()) or guarding the check with has() for \
                optional fields";
    both(
        [
            "claim ns/x: selector #0: CEL runtime error: no such key: model",
            &format!(
                "claim ns/x: selector #0 on device d.ex/p/d2: CEL runtime error: no such key: model. {more}"
            ),
        ],
        |c| model(c).allocated("y", &["p/d1"], json!({})),
    );
    same("x r p/d1", |c| model(c).allocated("y", &["p/d2"], json!({})));
    same("class bad: selector #0: CEL compile error: no", |c| {
        c.class("bad", selectors(&["compile: no"]))
            .pool("p", plain(&["a"]))
            .requests(vec![request("r", json!({"deviceClassName": "bad"}))])
    });
    same("claim ns/x, request r, selector #1: CEL expression empty (unsupported selector type?)", |c| {
        let mut of = selectors(&["a=b"]);
        of["selectors"].as_array_mut().unwrap().push(json!({}));
        c.requests(vec![request("r", of)])
    });
    let missing = "could not retrieve device class k: deviceclass.resource.k8s.io \"k\" not found";
    same(&format!("claim ns/x, request r: {missing}"), |c| {
        c.requests(vec![request("r", json!({"deviceClassName": "k"}))])
    });
    same("claim ns/x, request r: unsupported count mode Half", |c| {
        c.requests(vec![request("r", json!({"allocationMode": "Half"}))])
    });
    both(
        [
            "x r p/a",
            "claim ns/x, request r: cannot handle request with derived attributes, the feature is disabled",
        ],
        |c| {
            let derived = json!({"derivedAttributes": [{"name": "a"}]});
            c.pool("p", plain(&["a"])).requests(vec![request("r", derived)])
        },
    );
}

#[test]
fn an_allocation_says_for_which_nodes_it_is() {
    let selector = |c: Cluster, nodes: Value, devices: Vec<Value>| {
        let cluster = c.slice("s", "p", devices, nodes).requests(vec![some("r", 1)]);
        cluster.allocations()[0]["nodeSelector"].clone()
    };
    for version in KubernetesVersion::ALL {
        let here = json!({"nodeSelectorTerms": [
            {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["N1"]}]}
        ]});
        let new = || Cluster::new(version);
        let all = json!({"allNodes": true});
        assert_eq!(selector(new(), all.clone(), plain(&["a"])), Value::Null);
        let binds = vec![device("a", json!({"bindsToNode": true}))];
        assert_eq!(selector(new(), all, binds), here);
        assert_eq!(selector(new(), json!({"nodeName": "N1"}), plain(&["a"])), here);
        let on = |name: &str, key: &str, values: [&str; 2]| {
            let mut expressions = vec![json!({"key": key, "operator": "NotIn", "values": values})];
            expressions.push(json!({"key": "same", "operator": "DoesNotExist"}));
            device(name, json!({"nodeSelector": {"nodeSelectorTerms": [{"matchExpressions": expressions}]}}))
        };
        let devices = vec![on("a", "k", ["1", "2"]), on("b", "k", ["2", "1"]), on("c", "l", ["1", "2"])];
        let cluster = new()
            .slice("s", "p", devices, json!({"perDeviceNodeSelection": true}))
            .requests(vec![some("r", 3)]);
        let merged = json!({"nodeSelectorTerms": [{"matchExpressions": [
            {"key": "k", "operator": "NotIn", "values": ["1", "2"]},
            {"key": "same", "operator": "DoesNotExist"},
            {"key": "l", "operator": "NotIn", "values": ["1", "2"]},
        ]}]});
        assert_eq!(cluster.allocations()[0]["nodeSelector"], merged);
    }
}

#[test]
fn configurations_go_with_an_allocation() {
    let opaque = |driver: &str| json!({"driver": driver, "parameters": {}});
    let config = |version, spec: Value| {
        let class = json!({"config": [{"opaque": opaque("k")}]});
        let cluster = Cluster::new(version).class("k", class).pool("p", plain(&["a", "b"])).claim("x", spec);
        cluster.allocations()[0]["devices"]["config"].clone()
    };
    let two = json!({
        "requests": [some("r0", 1), some("r1", 1)],
        "config": [{"requests": ["r0", "r1"], "opaque": opaque("q")}],
    });
    let of = |requests: &[&str], source: &str, driver: &str| match requests {
        [] => json!({"source": source, "opaque": opaque(driver)}),
        requests => json!({"source": source, "requests": requests, "opaque": opaque(driver)}),
    };
    let twice = of(&["r0", "r1"], "FromClaim", "q");
    assert_eq!(config(KubernetesVersion::V1_36, two.clone()), json!([twice.clone(), twice]));
    assert_eq!(config(KubernetesVersion::V1_37, two), json!([of(&[], "FromClaim", "q")]));
    let one = json!({"requests": [request("r", json!({"deviceClassName": "k"}))]});
    assert_eq!(config(KubernetesVersion::V1_36, one.clone()), json!([of(&["r"], "FromClass", "k")]));
    assert_eq!(config(KubernetesVersion::V1_37, one), json!([of(&[], "FromClass", "k")]));
    let chosen = json!({
        "requests": [
            {"name": "r", "firstAvailable": [{"name": "a", "deviceClassName": "k"}, {"name": "b", "deviceClassName": "c"}]},
            some("s", 1),
        ],
        "config": [
            {"requests": ["r/a"], "opaque": opaque("1")},
            {"requests": ["r/b"], "opaque": opaque("2")},
            {"opaque": opaque("3")},
        ],
    });
    for version in KubernetesVersion::ALL {
        let expected = json!([
            of(&["r/a"], "FromClass", "k"),
            of(&["r/a"], "FromClaim", "1"),
            of(&[], "FromClaim", "3"),
        ]);
        assert_eq!(config(version, chosen.clone()), expected, "{version}");
    }
}
