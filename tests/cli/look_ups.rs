//! The commands with policies that look objects up: where types come from, and what is said.

use crate::support::command::{Ended, bayplan, folder};
use std::path::Path;

const POLICY: &str = r#"policy desks {
  let desk = lookup("example.com/v1/Desk", pod.namespace, pod.labels["desk"] ?? "") missing reject "no such desk"
  filter room { require (desk.spec.room ?? "") == node.labels["room"] else "node(s) in another room" }
}
"#;

/// The policy for a kind that nothing describes.
fn untyped() -> String {
    POLICY.replace("desk.spec.room", "string(desk.spec.room)")
}

const NODES_AND_PODS: &str = "apiVersion: v1\nkind: Node\nmetadata: {name: n1, labels: {room: east}}\nstatus: {allocatable: {cpu: 8, pods: 110}}\n---\n\
    apiVersion: v1\nkind: Node\nmetadata: {name: n2, labels: {room: west}}\nstatus: {allocatable: {cpu: 8, pods: 110}}\n---\n\
    apiVersion: v1\nkind: Pod\nmetadata: {name: seated, labels: {desk: big}}\nspec: {containers: [{name: c, image: i}]}\n---\n\
    apiVersion: v1\nkind: Pod\nmetadata: {name: standing, labels: {desk: gone}}\nspec: {containers: [{name: c, image: i}]}\n";

const DESKS: &str = "---\napiVersion: example.com/v1\nkind: Desk\nmetadata: {name: big, namespace: default}\nspec: {room: west}\n---\n\
    apiVersion: example.com/v1\nkind: Chair\nmetadata: {name: red, namespace: default}\n";

const DEFINITION: &str = "---\napiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: desks.example.com}\n\
    spec:\n  group: example.com\n  scope: Namespaced\n  names: {kind: Desk, plural: desks}\n  versions:\n  - name: v1\n    served: true\n    storage: true\n    \
    schema:\n      openAPIV3Schema:\n        type: object\n        properties:\n          spec: {type: object, properties: {room: {type: string}}}\n";

fn text(path: &Path, file: &str) -> String {
    path.join(file).to_str().unwrap().to_owned()
}

/// The policy is decided alike with the type from the cluster file, from `--schema`, and without one.
#[test]
fn a_dry_run_looks_up_objects_of_the_cluster_files() {
    let with = format!("{NODES_AND_PODS}{DESKS}{DEFINITION}");
    let without = format!("{NODES_AND_PODS}{DESKS}");
    let untyped = untyped();
    let files = [
        ("with.yaml", &*with),
        ("without.yaml", &*without),
        ("crd.yaml", DEFINITION),
        ("typed.bay", POLICY),
        ("untyped.bay", &*untyped),
    ];
    let folder = folder(&files);
    let definition = text(&folder, "crd.yaml");
    for (cluster, policy, more) in [
        ("with.yaml", "typed.bay", vec![]),
        ("without.yaml", "typed.bay", vec!["--schema", &*definition]),
        ("without.yaml", "untyped.bay", vec![]),
    ] {
        let (cluster, policy) = (text(&folder, cluster), text(&folder, policy));
        let arguments = ["dry-run", "--cluster", &*cluster, "--policies", &*policy].into_iter().chain(more);
        let Ended { status, out, err } = bayplan(&arguments.collect::<Vec<_>>());
        assert_eq!(status, 0, "{out}{err}");
        let line = |pod: &str| {
            out.lines().find(|line| line.contains(pod)).unwrap_or_else(|| panic!("{out}{err}")).to_owned()
        };
        assert!(line("seated").contains("n2"), "{out}");
        assert!(out.contains("no such desk"), "{out}");
        // The kind is read; the other is not.
        assert!(err.contains("1 Chair") && !err.contains("1 Desk"), "{err}");
    }
}

#[test]
fn a_field_that_the_definition_does_not_have_is_a_mistake_with_its_place() {
    let policy = POLICY.replace("spec.room", "spec.rooms");
    let untyped = untyped();
    let files = [("crd.yaml", DEFINITION), ("a.bay", &*policy), ("b.bay", &*untyped)];
    let folder = folder(&files);
    let (policy, definition) = (text(&folder, "a.bay"), text(&folder, "crd.yaml"));
    let Ended { status, out, err } = bayplan(&["lint", &policy, "--schema", &definition]);
    assert_eq!(status, 1, "{out}{err}");
    assert!(out.contains("`rooms`") && out.contains("a.bay:3:"), "{out}{err}");
    // Without the definition the fields are not known.
    let Ended { status, out, err } = bayplan(&["lint", &text(&folder, "b.bay")]);
    assert_eq!(status, 0, "{out}{err}");
    assert!(out.contains("BP0216"), "{out}{err}");
}

#[test]
fn plan_lists_the_rights_that_look_ups_need() {
    let folder = folder(&[("crd.yaml", DEFINITION), ("a.bay", POLICY)]);
    let (policy, definition) = (text(&folder, "a.bay"), text(&folder, "crd.yaml"));
    let Ended { status, out, err } = bayplan(&["plan", &policy, "--schema", &definition]);
    assert_eq!(status, 0, "{out}{err}");
    let right = r#"{apiGroups: ["example.com"], resources: ["desks"], verbs: ["list", "watch"]}"#;
    assert!(out.contains(right), "{out}{err}");
}

/// A cluster has one namespace of a name, however policies read it.
#[test]
fn what_is_written_to_a_namespace_that_is_looked_up_is_seen_by_ns_and_by_lookup() {
    let pod = |name: &str| {
        format!(
            "---\napiVersion: v1\nkind: Pod\nmetadata: {{name: {name}, namespace: shop, labels: {{who: {name}}}}}\n\
             spec: {{containers: [{{name: c, image: i}}]}}\n"
        )
    };
    let cluster = format!(
        "apiVersion: v1\nkind: Node\nmetadata: {{name: n1}}\nstatus: {{allocatable: {{cpu: 8, pods: 110}}}}\n---\n\
         apiVersion: v1\nkind: Namespace\nmetadata: {{name: shop, uid: u}}\n{}{}{}",
        pod("writes"),
        pod("as-ns"),
        pod("as-object")
    );
    let policy = r#"
policy reads-ns { applies when pod.labels["who"] == "as-ns"
  filter f { require ns.labels["a"] == "y" else "no label" } }
policy reads-object { applies when pod.labels["who"] == "as-object"
  let of = lookup("Namespace", pod.namespace)
  filter f { require of.labels["a"] == "y" else "no label" } }
policy writes { applies when pod.labels["who"] == "writes"
  let of = lookup("Namespace", pod.namespace)
  after bind { label of {"a": "y"} } }
"#;
    let folder = folder(&[("cluster.yaml", &*cluster), ("p.bay", policy)]);
    let (cluster, policy) = (text(&folder, "cluster.yaml"), text(&folder, "p.bay"));
    let ended = bayplan(&["dry-run", "--cluster", &*cluster, "--policies", &*policy, "-o", "json"]);
    let json: serde_json::Value =
        serde_json::from_str(&ended.out).unwrap_or_else(|_| panic!("{}", ended.err));
    for decision in json["decisions"].as_array().unwrap() {
        assert_eq!(decision["state"], "placed", "{decision}");
    }
    assert_eq!(json["decisions"].as_array().unwrap().len(), 3);
}
