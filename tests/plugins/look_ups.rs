//! Policies that look objects up: what they decide, in both dialects, and which changes wake their pods.

use crate::support::policies::{attempt, compile, framework, framework_of, snapshot};
use bayplan::diag::SourceMap;
use bayplan::framework::{ClusterEvent, Cycle, PluginId, QueueingHint};
use bayplan::lang::Given;
use bayplan::lang::analysis::cost::Size;
use bayplan::lang::policy_set::{CompiledPolicy, PolicySet};
use bayplan::lang::schemas::Schemas;
use bayplan::model::objects::projection::Projection;
use bayplan::model::{ApiObject, Change, KindName, LookedUp, Snapshot, Time};
use bayplan::testing::{node, pod};
use serde_json::{Value, json};
use std::sync::Arc;

fn object(kind: &str, value: Value) -> Arc<dyn ApiObject> {
    let kind = KindName::parse(kind).unwrap();
    Arc::new(LookedUp::new(&kind, value, &Projection::everything()).unwrap())
}

fn see(snapshot: &mut Snapshot, object: &Arc<dyn ApiObject>) {
    snapshot.apply(Change::ObjectSeen { object: object.clone() });
}

fn class(name: &str, value: i64, annotations: Value) -> Arc<dyn ApiObject> {
    let value = json!({"metadata": {"name": name, "annotations": annotations}, "value": value});
    object("scheduling.k8s.io/v1/PriorityClass", value)
}

/// Policies of a text that look up a kind of this schema.
fn with_schema(text: &str, schema: Value) -> PolicySet {
    let mut schemas = Schemas::default();
    let definition = json!({"kind": "CustomResourceDefinition", "spec": {
        "group": "g.io", "scope": "Namespaced", "names": {"kind": "Gang", "plural": "gangs"},
        "versions": [{"name": "v1", "schema": {"openAPIV3Schema": schema}}],
    }});
    schemas.add_definition(&definition).unwrap();
    let mut sources = SourceMap::new();
    let id = sources.add(if text.starts_with("api") { "a.yaml" } else { "a.bay" }, text);
    let given = Given {
        size: Size::of(20, 20),
        schemas: &schemas,
        arguments: &|_| Vec::new(),
        sources: None,
        exceptions: None,
    };
    let (policies, said) = bayplan::lang::compile_given(sources.get(id).unwrap(), given);
    let wrong: Vec<_> = said.iter().filter(|said| said.is_error()).map(|said| &said.message).collect();
    assert!(wrong.is_empty(), "{wrong:?}");
    PolicySet::new(policies.into_iter().map(|policy| Arc::new(CompiledPolicy::new(policy, &sources))))
}

#[test]
fn an_object_is_looked_up_by_its_name_in_both_dialects() {
    let text = r#"policy classes {
        let class = lookup("PriorityClass", pod.labels["class"] ?? "") missing reject "the class does not exist"
        filter worth { require (class.value ?? 0) >= (int(node.labels["least"]) ?? 0) else "worth too little" }
    }"#;
    let document = "apiVersion: bayplan.dev/v1\nkind: SchedulingPolicy\nmetadata: {name: classes}\nspec:\n  variables:\n  \
        - {name: class, expression: 'lookup(\"PriorityClass\", pod.labels[?\"class\"].orValue(\"\"))', missing: {reject: the class does not exist}}\n  \
        filters:\n  - name: worth\n    expression: '(has(variables.class.value) ? variables.class.value : 0) >= int(node.labels[\"least\"])'\n    \
        reason: worth too little\n";
    for text in [text, document] {
        let framework = framework(text);
        let nodes = vec![node("n1").label("least", "5").build(), node("n2").label("least", "50").build()];
        let mut snapshot = snapshot(&framework, nodes, Vec::new());
        see(&mut snapshot, &class("high", 10, json!({})));
        let outcome = attempt(&framework, &snapshot, &pod("p").label("class", "high").build());
        assert_eq!(outcome.reasons, [("n2".into(), "worth too little".into())], "{text}");
        let outcome = attempt(&framework, &snapshot, &pod("p").label("class", "low").build());
        assert_eq!(outcome.refused.as_deref(), Some("the class does not exist"), "{text}");
    }
}

#[test]
fn what_an_absent_object_means_is_said_by_missing() {
    let policy = |missing: &str| {
        framework(&format!(
            "policy p {{ let class = lookup(\"PriorityClass\", \"none\") missing {missing}\n prefilter {{ reject \"has one\" when class.name != \"\" }} }}"
        ))
    };
    for (missing, refused) in
        [("skip", None), ("reject \"gone\"", Some("gone")), ("error", Some("p: `class` is absent"))]
    {
        let framework = policy(missing);
        let mut snapshot = snapshot(&framework, vec![node("n").build()], Vec::new());
        let outcome = attempt(&framework, &snapshot, &pod("p").build());
        assert_eq!(outcome.refused.as_deref(), refused, "{missing}");
        see(&mut snapshot, &class("none", 1, json!({})));
        let outcome = attempt(&framework, &snapshot, &pod("p").build());
        assert_eq!(outcome.refused.as_deref(), Some("has one"), "{missing}");
    }
}

#[test]
fn owners_are_followed_by_kind_and_uid() {
    let framework = framework(
        r#"policy sticky {
            let vmi = pod.owner("kubevirt.io/v1/VirtualMachineInstance") missing skip
            let vm = vmi.owner("kubevirt.io/v1/VirtualMachine") missing skip
            let home = vm.annotations["home"]
            prefilter { only nodes [home] when home != none }
        }"#,
    );
    let mut snapshot = snapshot(&framework, vec![node("n1").build(), node("n2").build()], Vec::new());
    let owner = |kind: &str, uid: &str| json!([{"apiVersion": "kubevirt.io/v1", "kind": kind, "name": "vm", "uid": uid, "controller": true}]);
    let vmi = |uid: &str| {
        let metadata = json!({"name": "vm", "namespace": "default", "uid": "i", "ownerReferences": owner("VirtualMachine", uid)});
        object("kubevirt.io/v1/VirtualMachineInstance", json!({"metadata": metadata}))
    };
    let value = json!({"metadata": {"name": "virt", "namespace": "default", "ownerReferences": owner("VirtualMachineInstance", "i")}});
    let virt = Arc::new(bayplan::model::PodInfo::from_value(Arc::new(value)).unwrap());
    assert_eq!(
        attempt(&framework, &snapshot, &virt).scores.len(),
        2,
        "no owner is known: the policy does not apply"
    );
    let vm = json!({"metadata": {"name": "vm", "namespace": "default", "uid": "v", "annotations": {"home": "n2"}}});
    see(&mut snapshot, &object("kubevirt.io/v1/VirtualMachine", vm));
    for (uid, nodes) in [("another", 2), ("v", 1)] {
        see(&mut snapshot, &vmi(uid));
        assert_eq!(attempt(&framework, &snapshot, &virt).scores.len(), nodes, "{uid}");
    }
    // An owner of another group is another kind.
    let stranger = json!({"metadata": {"name": "x", "namespace": "default", "ownerReferences": [
        {"apiVersion": "other.io/v1", "kind": "VirtualMachineInstance", "name": "vm", "uid": "i", "controller": true}]}});
    let stranger = Arc::new(bayplan::model::PodInfo::from_value(Arc::new(stranger)).unwrap());
    assert_eq!(attempt(&framework, &snapshot, &stranger).scores.len(), 2);
}

const SCHEMA: &str = r#"{"type": "object", "properties": {"spec": {"type": "object", "required": ["size"], "properties": {
    "size": {"type": "integer"}, "note": {"type": "string"}, "least": {"type": "object", "additionalProperties":
    {"anyOf": [{"type": "integer"}, {"type": "string"}], "x-kubernetes-int-or-string": true}}}}}}"#;

#[test]
fn fields_have_the_types_of_the_schema_and_what_does_not_fit_is_absent() {
    let text = r#"policy gangs {
        let gang = lookup("g.io/v1/Gang", pod.namespace, "g") missing skip
        let members = gang.spec.size ?? -1
        prefilter {
            reject "no size" when members == -1
            reject "too large" when members > 3
            reject "it says {gang.spec.note}" when has(gang.spec.note)
        }
    }"#;
    let set = with_schema(text, serde_json::from_str(SCHEMA).unwrap());
    let framework = framework_of(&set);
    let mut snapshot = snapshot(&framework, vec![node("n").build()], Vec::new());
    let cases = [
        (json!({"size": 3}), None),
        (json!({"size": 4}), Some("too large")),
        (json!({"size": 1, "note": "hi"}), Some("it says hi")),
        (json!({"size": 1, "note": 7}), None),
        (json!("nonsense"), Some("no size")),
    ];
    for (spec, refused) in cases {
        see(
            &mut snapshot,
            &object("g.io/v1/Gang", json!({"metadata": {"name": "g", "namespace": "default"}, "spec": spec})),
        );
        let outcome = attempt(&framework, &snapshot, &pod("p").build());
        assert_eq!(outcome.refused.as_deref(), refused, "{spec}");
    }
}

#[test]
fn a_change_wakes_a_pod_by_kind_and_path() {
    let set = compile(
        r#"policy classes {
            prefilter { reject "no class" when !objects("PriorityClass").exists(c, c.annotations["open"] == "yes") }
        }"#,
    );
    let framework = framework_of(&set);
    let snapshot = snapshot(&framework, vec![node("n").build()], Vec::new());
    let plugin = framework.plugins()[0].clone();
    let hints = plugin.enqueue_extensions().unwrap();
    let cycle = Cycle::new(pod("p").build(), framework.clone(), Time(0));
    let wakes = |old: Option<&Arc<dyn ApiObject>>, new: Option<&Arc<dyn ApiObject>>| {
        let Some(event) = ClusterEvent::of_object(old, new) else { return false };
        let registered = hints.events().iter().any(|of| of.resource.takes(event.resource));
        assert!(registered, "{:?}", hints.events());
        hints.hint(&cycle.handle(&snapshot).for_plugin(PluginId(0)), &event) == QueueingHint::Queue
    };
    let closed = class("a", 1, json!({"open": "no"}));
    let open = class("a", 1, json!({"open": "yes"}));
    let worth = class("a", 2, json!({"open": "no", "other": "x"}));
    let service = object("v1/Service", json!({"metadata": {"name": "a", "namespace": "n"}}));
    assert!(wakes(None, Some(&open)) && wakes(Some(&closed), Some(&open)) && wakes(Some(&open), None));
    assert!(!wakes(Some(&closed), Some(&worth)), "the policy reads nothing that changed");
    assert!(!wakes(None, Some(&service)), "the policy does not look up Services");
}

#[test]
fn only_what_is_read_is_kept() {
    let set = compile(
        r#"policy p {
            let class = lookup("PriorityClass", pod.priority_class ?? "") missing skip
            let quota = objects("ResourceQuota").first(q, q.namespace == pod.namespace)
            let set = pod.owner("apps/v1/ReplicaSet")
            filter f {
                reject "a" when class.annotations["a"] == "b" || (class.value ?? 0) > 3
                reject "b" when has(quota.spec.hard) && quota.labels["x"] == "y"
                reject "c" when has(set.owner("apps/v1/Deployment"))
            }
        }"#,
    );
    let keeps = &set.iter().next().unwrap().policy.keeps.objects;
    let kept: Vec<(String, Vec<String>)> = keeps
        .iter()
        .map(|(kind, keep)| {
            let mut all = keep.fields.paths();
            all.extend(keep.annotations.keeps("a").then(|| "@a".to_owned()));
            (kind.kind().to_owned(), all)
        })
        .collect();
    let expected = [
        ("Deployment", vec![]),
        ("ReplicaSet", vec!["metadata.ownerReferences"]),
        ("PriorityClass", vec!["value", "@a"]),
        ("ResourceQuota", vec!["metadata.labels", "spec.hard"]),
    ];
    let expected: Vec<(String, Vec<String>)> = expected
        .into_iter()
        .map(|(kind, paths)| (kind.to_owned(), paths.into_iter().map(str::to_owned).collect()))
        .collect();
    assert_eq!(kept, expected);
}
