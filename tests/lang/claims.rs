//! What the compiler claims, on the smallest policies that show it: nothing absent where a type has a value,
//! closures that decide as the reference evaluator, units that never mix, and numbers within their ranges.

use super::fixtures::{expression, said};
use super::properties::narrowing::{by_closures, by_columns, verdict};
use crate::support::policies::{framework_of, snapshot, try_compile};
use bayplan::model::{Node, PodInfo};
use bayplan::testing::{NodeMaker, PodMaker, node, pod};
use std::sync::Arc;

/// Which nodes the filters let pass, in their order. Closures, columns and the reference evaluator agree.
fn passes(filters: &str, nodes: &[Arc<Node>], pods: &[Arc<PodInfo>], pod: &PodInfo) -> Vec<bool> {
    let text = format!("/// A policy.\npolicy p {{ applies to all pods {filters} }}");
    let set = try_compile(&text).unwrap_or_else(|mistakes| panic!("{mistakes}\n{text}"));
    let snapshot = snapshot(&framework_of(&set), nodes.to_vec(), pods.to_vec());
    let policy = set.iter().next().unwrap();
    let refused = verdict(policy, &snapshot, pod);
    assert_eq!(by_closures(policy, &snapshot, pod), refused, "closures: {text}");
    assert_eq!(by_columns(policy, &snapshot, pod), refused, "columns: {text}");
    refused.iter().map(Option::is_none).collect()
}

fn one(filters: &str, node: NodeMaker, pod: PodMaker) -> bool {
    passes(filters, &[node.build()], &[], &pod.build()) == [true]
}

/// The codes of the errors of a policy.
fn errors(statements: &str) -> Vec<&'static str> {
    let text = format!("/// A policy.\npolicy p {{ applies to all pods {statements} }}");
    let (_, diagnostics, _) = said("claims.bay", &text);
    diagnostics.iter().filter(|d| d.is_error()).map(|d| d.code.id).collect()
}

/// The codes of the warnings and errors of an expression.
fn found(text: &str) -> Vec<&'static str> {
    expression(text).1.iter().map(|d| d.code.id).collect()
}

// ---- narrowing

#[test]
fn a_key_in_a_map_says_nothing_of_an_optional_value() {
    let filters = r#"filter f {
      let want = {"a": int(pod.labels["want-a"]), "b": int(pod.labels["want-b"])}
      require want.all(k, (int(node.labels[k]) ?? 0) >= (want[k] ?? 7)) else "too small"
    }"#;
    let of = |pod: PodMaker| one(filters, node("n1").label("a", "3"), pod);
    assert!(!of(pod("q").label("want-a", "1")));
    assert!(!of(pod("q").label("want-a", "1").label("want-b", "1")));
    assert!(of(pod("q").label("want-a", "1").label("want-b", "0")));
}

#[test]
fn membership_size_and_existence_say_nothing_of_optional_elements() {
    for condition in [
        r#"("a" in m && (m["a"] ?? 7) < 5)"#,
        r#"("a" in m && (m.a ?? 7) < 5)"#,
        r#"m.exists(k, v, (m[k] ?? 7) < 5)"#,
        "(size(l) > 0 && (l[0] ?? 7) < 5)",
        "(l != [] && (l[0] ?? 7) < 5)",
        "(l.exists(x, !has(x) || x == 3) && (l[0] ?? 7) < 5)",
        "(l.exists_one(x, true) && (l[0] ?? 7) < 5)",
        "(l.size() >= 1 ? (l[0] ?? 7) < 5 : false)",
    ] {
        let filters = format!(
            r#"filter f {{
              let m = {{"a": int(pod.labels["x"])}}
              let l = [int(pod.labels["x"])]
              require {condition} && m.size() == l.size() else "no"
            }}"#
        );
        assert!(!one(&filters, node("n1"), pod("q")), "{condition}");
        assert!(one(&filters, node("n1"), pod("q").label("x", "3")), "{condition}");
    }
}

#[test]
fn a_value_is_narrowed_however_it_is_spelt() {
    let filters = r#"
      param seats: map<string, int> = {"n1": 4}
      def share_of(x: int) = int(node.labels["total"])
      filter f {
        let total = node.labels["total"]
        require has(seats[node.name]) && seats[node.name] > 3 else "a"
        require int(node.labels["total"]) != none else "b"
        require int(total) > 3 && total.size() > 0 else "c"
        require has(share_of(1)) && share_of(1) > 3 else "d"
        require has(node.pods.max(p, p.priority)) || node.pods.size() == 0 else "e"
        reject "f" when has(node.pods.max(p, p.priority)) && node.pods.max(q, q.priority) > 100
      }"#;
    assert!(one(filters, node("n1").label("total", "8"), pod("q")));
    assert!(!one(filters, node("n2").label("total", "8"), pod("q")));
    assert!(!one(filters, node("n1").label("total", "x"), pod("q")));
}

#[test]
fn a_condition_narrows_the_variable_that_it_is_about() {
    // The same spelling names another variable after the first macro.
    let text = r#"node.pods.exists(p, has(p.labels["a"])) && node.pods.exists(p, p.labels["a"] < "b")"#;
    assert_eq!(found(text), ["BP0105"]);
    let text = r#"node.pods.exists(p, has(p.labels["a"]) && p.labels["a"] < "b")"#;
    assert_eq!(found(text), Vec::<&str>::new());
}

// ---- lookups, order and equality

#[test]
fn a_lookup_remembers_whether_a_resource_is_named() {
    let filters = r#"filter f {
      require nodes.exists(n, n.allocatable["example.com/foo"] == node.allocatable["example.com/foo"]
        && has(node.allocatable["example.com/foo"])) else "no"
    }"#;
    let foo = node("n1").resource("example.com/foo", "0").build();
    let none = node("n2").build();
    let pod = pod("q").build();
    assert_eq!(passes(filters, &[foo.clone(), none.clone()], &[], &pod), [true, false]);
    assert_eq!(passes(filters, &[none, foo], &[], &pod), [false, true]);
    // It stays a lookup: a large cluster takes few steps.
    assert_eq!(errors(filters), Vec::<&str>::new());
}

#[test]
fn lookups_remember_by_all_that_a_condition_sees() {
    let gpu = |part: &str| format!("node.{part}[\"example.com/foo\"]");
    let nodes = [("n1", Some("0"), "a"), ("n2", None, "a"), ("n3", Some("0"), "b"), ("n4", Some("2"), "a")];
    let nodes = nodes.map(|(name, foo, rack)| {
        let of = node(name).label("rack", rack);
        foo.iter().fold(of, |of, foo| of.resource("example.com/foo", foo)).build()
    });
    let same = "n.labels[\"rack\"] == node.labels[\"rack\"]";
    for condition in [
        format!("nodes.exists(n, {same} && has({}))", gpu("allocatable")),
        format!("nodes.count(n, {same} && has({}) && !has({})) == 0", gpu("allocatable"), gpu("capacity")),
        format!("nodes.count(n, {same} && \"example.com/foo\" in node.allocatable) > 0"),
        format!("nodes.count(n, {same} && node.allocatable[?\"example.com/foo\"].hasValue()) > 0"),
        format!("nodes.filter(n, {same} && node.allocatable.size() > 1).size() > 2"),
        format!("nodes.filter(n, {same} && node.allocatable.exists(r, r.contains(\"foo\"))).size() > 0"),
        format!("(nodes.first(n, {same} && has({})).name ?? \"\") == \"n1\"", gpu("allocatable")),
    ] {
        let filters = format!("filter f {{ require {condition} else \"no\" }}");
        // `passes` compares closures, columns and the reference evaluator.
        passes(&filters, &nodes, &[], &pod("q").build());
        let reversed: Vec<_> = nodes.iter().rev().cloned().collect();
        passes(&filters, &reversed, &[], &pod("q").build());
    }
}

#[test]
fn groups_and_sets_mean_the_same_by_equal() {
    let filters = r#"
      group same = p in pods where p.requests == pod.requests
      filter f { require same.count() == 2 && pods.count(p, p.requests == pod.requests) == 2 else "no" }
      filter g { require pods.filter(p, !(p.requests in [pod.requests])).size() == 1 else "no" }
      filter h { require pods.map(p, p.requests).distinct().size() == 2 else "no" }
      filter i { require pods.map(p, p.requests).minus([pod.requests]).size() == 1 else "no" }
    "#;
    let pods = [
        pod("a").cpu("1").request("nvidia.com/gpu", "0").on("n1").build(),
        pod("b").cpu("2").on("n1").build(),
        pod("q").cpu("1").build(),
    ];
    assert_eq!(passes(filters, &[node("n1").build()], &pods, &pods[2]), [true]);
}

#[test]
fn containers_of_other_images_are_other_containers() {
    let filters = r#"
      filter f { require pod.containers.minus(node.pods.map(p, p.containers).flatten()).size() == 1 else "no" }
      filter g { require pod.containers.filter(c, node.pods.all(p, !(c in p.containers))).size() == 1 else "no" }
      filter h { require !sets.intersects(pod.containers, pods.filter(p, p.placed).map(p, p.containers).flatten()) else "no" }
    "#;
    let pods = [pod("a").image("a").on("n1").build(), pod("q").image("b").build()];
    assert_eq!(passes(filters, &[node("n1").build()], &pods, &pods[1]), [true]);
}

// ---- units

#[test]
fn a_computed_name_has_the_unit_of_no_resource() {
    for statements in [
        r#"def of(r: string) = node.free[r]  filter f { require of("cpu") < of("memory") else "no" }"#,
        r#"filter f { require node.free.sum(r, node.free[r]) > node.requested.sum(r, node.requested[r]) else "no" }"#,
        r#"filter f { require (node.free.max(r, node.free[r]) ?? 0) > 0 else "no" }"#,
        r#"filter f { require node.free.sort_by(r, node.free[r]).size() > 0 else "no" }"#,
        r#"filter f { require node.free.map(r, node.free[r]).sum() > 0 else "no" }"#,
        r#"filter f { require node.free.map(r, [node.free[r]]).size() > 0 else "no" }"#,
        r#"filter f { require node.free.map(r, {"x": node.free[r]}).size() > 0 else "no" }"#,
        r#"filter f { require nodes.map(n, n.free[n.labels["r"] ?? "cpu"]).sum() > 0 else "no" }"#,
        r#"filter f { require node.free.all(r, pod.requests.all(s, node.free[r] >= pod.requests[s])) else "no" }"#,
        r#"filter f { require node.free.all(r, node.free[r] >= node.free.cpu) else "no" }"#,
        r#"filter f { require node.free[pod.name] >= 5cpu else "no" }"#,
        r#"filter f { require node.free.memory > 0cpu else "no" }"#,
        r#"filter f { require node.free[pod.name] > 0s else "no" }"#,
        r#"filter f { require node.free.cpu + 0B > 0 else "no" }"#,
        r#"filter f { require max(node.free.cpu, 0B) > 0 else "no" }"#,
        r#"filter f { require node.free.cpu in [0B] else "no" }"#,
        r#"filter f { let r = pod.name  let s = node.name  require node.free[r] > pod.requests[s] else "no" }"#,
        r#"filter f { require [node.free[pod.name], node.free[node.name]].size() > 1 else "no" }"#,
        r#"filter f { require (node.ready ? node.free[pod.name] : node.free.cpu) > 0 else "no" }"#,
    ] {
        let said = errors(statements);
        assert!(!said.is_empty(), "accepted: {statements}");
        assert!(
            said.iter().all(|code| ["BP0104", "BP0103", "BP0109"].contains(code)),
            "{said:?}: {statements}"
        );
    }
    for statements in [
        r#"filter f { require node.free.all(r, node.free[r] >= pod.requests[r]) else "no" }"#,
        r#"filter f { let r = pod.name  require node.free[r] >= pod.requests[pod.name] else "no" }"#,
        r#"filter f { let r = pod.labels["r"] ?? "cpu"  require node.free[r] - pod.requests[r] > 0 else "no" }"#,
        r#"filter f { require nodes.sum(n, n.free[pod.name]) >= pod.requests[pod.name] else "no" }"#,
        r#"filter f { require node.free.sum(r, node.free[r].value()) > 5 else "no" }"#,
        r#"filter f { require node.free.all(r, share(node.free[r], node.allocatable[r]) > 10%) else "no" }"#,
        r#"def fits(r: string) = node.free[r] >= pod.requests[r]  filter f { require fits("cpu") else "no" }"#,
    ] {
        assert_eq!(errors(statements), Vec::<&str>::new(), "{statements}");
    }
}

// ---- numbers

#[test]
fn the_sum_of_nothing_is_the_zero_of_its_type() {
    let filters = r#"
      filter f { require string([].sum()) == "0" && [].sum() - 4 == -4 && size(string([].sum())) == 1 else "no" }
      filter g { require [].sum(x, x) + 1 == 1 && string([].sum(x, x + 1)) == "0" else "no" }
      filter h { require string(node.pods.map(p, 0.5).sum()) == string(0.0) else "no" }
      filter i { require node.pods.map(p, 1u).sum() + 2u == 2u else "no" }
      filter j { require [].map(x, x).sum() == 0 && [].filter(x, true).sum() < 1 else "no" }
      filter k { require [].map(x, x * 2).sum() * 1cpu == 0cpu else "no" }
    "#;
    assert!(one(filters, node("n1"), pod("q")));
}

#[test]
fn numbers_of_the_api_beyond_their_range_are_absent() {
    let filters = r#"
      filter f {
        require pod.spec.containers.exists(c, 100 / ((c.livenessProbe.periodSeconds ?? 0) - 3000000000) < 1) else "no"
      }
      filter g { require !pod.spec.containers.exists(c, has(c.livenessProbe.periodSeconds)) else "no" }
    "#;
    let with = |seconds: i64| {
        pod("q").raw().set(
            "spec.containers.0.livenessProbe",
            serde_json::json!({"periodSeconds": seconds, "exec": {"command": ["true"]}}),
        )
    };
    assert!(one(filters, node("n1"), with(3_000_000_000)));
    assert!(one(filters, node("n1"), with(-3_000_000_000)));
    assert!(!one(filters, node("n1"), with(2_147_483_647)));
}

#[test]
fn fields_stay_in_their_range_on_any_object() {
    let filters = r#"filter f {
      require pod.gpu.milli >= 0 && pod.gpu.count >= 0 && pod.priority != 1 else "pod"
      require node.gpus.all(g, g.free >= 0 && g.index <= 1023) && node.free.all(r, has(node.free[r])) else "node"
      require 100 / (node.requested["nvidia.com/gpu"] + 1) >= 0 && pod.overhead.cpu >= 0 else "amounts"
      require 100 / ((pod.annotations["long"] ?? "").size() - 2000000) < 1 else "text"
    }"#;
    let long = "x".repeat(2_000_000);
    let pod = |milli: &str, count: &str| {
        pod("q")
            .annotation("long", &long)
            .annotation("alibabacloud.com/gpu-milli", milli)
            .annotation("alibabacloud.com/gpu-count", count)
            .request("nvidia.com/gpu", "9223372036854775807")
            .overhead("cpu", "9P")
            .build()
    };
    for (milli, count) in [("-9223372036854775808", "-1"), ("99999999999", "9223372036854775807"), ("x", "")]
    {
        let node = node("n1").resource("nvidia.com/gpu", "9223372036854775807").build();
        let other = pod(milli, count);
        passes(filters, &[node], std::slice::from_ref(&other), &other);
    }
}

// ---- lists whose elements may be absent

#[test]
fn lists_of_optional_elements_have_the_methods_of_lists() {
    let filters = r#"
      filter f {
        let zones = pods.map(p, p.labels["zone"])
        require zones.size() == 3 && zones.count() == 3 && size(zones) == 3 else "size"
        require !has(zones.first()) && zones.last() == "b" else "first"
        require zones.distinct().size() == 3 && zones.take(2).size() == 2 && zones.drop(1).size() == 2 else "take"
        require zones.reverse().first() == "b" && zones.indexOf("b") == 2 else "reverse"
        require zones.union(["c"]).size() == 4 && zones.minus(["b"]).size() == 2 else "union"
        require zones.intersect(["a"]).size() == 1 && [zones, zones].flatten().size() == 6 else "intersect"
        require sets.contains(zones, ["a"]) && (zones.slice(0, 1) ?? []).size() == 1 else "contains"
        require (node.ready ? zones : ["a"]).size() == 3 && zones != ["a"] else "choice"
        require {"a": pod.labels["zone"]}.size() == 1 else "map"
      }"#;
    let pods =
        [pod("a").on("n1").build(), pod("b").label("zone", "a").build(), pod("c").label("zone", "b").build()];
    assert_eq!(passes(filters, &[node("n1").build()], &pods, &pod("c").label("zone", "b").build()), [true]);
    // What needs values says how to leave out the absent ones.
    for method in ["sort()", "min()", "join()"] {
        let said = expression(&format!("pods.map(p, p.labels[\"zone\"]).{method}")).2;
        assert!(said.contains(".present()"), "{said}");
    }
}

// ---- what is written

#[test]
fn two_policies_clash_where_a_patch_of_one_writes_what_the_other_does() {
    let clash = |first: &str, second: &str| {
        let policy =
            |name: &str, act: &str| format!("/// A policy.\npolicy {name} {{ before bind {{ {act} }} }}\n");
        let (_, said, _) = said("claims.bay", &format!("{}{}", policy("a", first), policy("b", second)));
        said.iter()
            .filter(|said| said.code.id == "BP0221")
            .map(|said| said.message.clone())
            .collect::<Vec<_>>()
    };
    let patch =
        r#"patch node {"metadata": {"labels": {"example.com/x": "1"}}, "spec": {"unschedulable": true}}"#;
    assert_eq!(
        clash(patch, r#"label node {"example.com/x": "2"}"#),
        ["`b` writes the label `example.com/x` of the node, as `a` does"]
    );
    assert_eq!(clash(r#"annotate node {"example.com/x": "2"}"#, patch), [""; 0]);
    let same = r#"patch node {"spec": {"unschedulable": false}}"#;
    assert_eq!(clash(patch, same), ["`b` writes the field `spec.unschedulable` of the node, as `a` does"]);
    assert_eq!(clash(patch, r#"patch node {"status": {"capacity": {"example.com/x": "1"}}}"#), [""; 0]);
}

// ---- names that are written

/// Whether the compiler takes a policy of this name with these blocks.
fn may_be_called(name: &str, blocks: &str) -> bool {
    let text = format!("/// A policy.\npolicy {name} {{ applies when pod.namespace == \"a\" {blocks} }}");
    let (_, diagnostics, _) = said("claims.bay", &text);
    let errors: Vec<&str> = diagnostics.iter().filter(|d| d.is_error()).map(|d| d.code.id).collect();
    assert!(errors.is_empty() || errors == ["BP0220"], "{errors:?} of {text}");
    errors.is_empty()
}

#[test]
fn the_name_of_a_policy_that_is_written_into_objects_is_valid_there() {
    let writes = "after bind { label node {\"example.com/x\": pod.namespace} }";
    let long = |bytes: usize| "a".repeat(bytes);
    for name in ["a", "a-b", "a_b", "A1", &long(63)] {
        assert!(may_be_called(name, writes), "{name}");
    }
    for name in ["a_", "a-b_", &long(64), &long(70)] {
        assert!(!may_be_called(name, writes), "{name}");
        // Where the name is in no key, it is no mistake.
        for blocks in [
            "",
            "before bind { label node {\"example.com/x\": pod.namespace} }",
            "reserve { annotate pod {\"example.com/x\": pod.namespace} }",
            "after bind { event pod normal \"Placed\" \"here\" }",
        ] {
            assert!(may_be_called(name, blocks), "{name} {blocks}");
        }
    }
    let patches =
        "before bind { patch node {\"metadata\": {\"labels\": {\"example.com/x\": pod.namespace}}} }";
    assert!(may_be_called(&long(120), patches) && !may_be_called(&long(121), patches));
}
