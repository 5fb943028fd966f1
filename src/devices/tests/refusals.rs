//! Why devices do not serve a request.

use super::{Cluster, device, request, selectors, some};
use crate::{Refusal, Refusals};
use bayplan_model::testing::node;
use bayplan_model::{KubernetesVersion, ResourceClaim};
use serde_json::json;

fn refusals(cluster: &Cluster, claim: usize, request: usize) -> Refusals {
    let claims: Vec<&ResourceClaim> = cluster.claims.iter().map(AsRef::as_ref).collect();
    let allocator = cluster.allocator(cluster.index());
    allocator.refusals(&node("N1").build(), &claims, claim, request)
}

fn words(refusals: &Refusals) -> Vec<String> {
    let word = |of: &Refusal| match of {
        Refusal::Allocated(by) => {
            format!("allocated to {}", by.iter().map(|by| by.name.as_str()).collect::<Vec<_>>().join(" "))
        }
        Refusal::Picked => String::from("picked"),
        Refusal::Class { class, selector, expression } => {
            format!("class {class} #{selector} {}", expression.as_deref().unwrap_or("?"))
        }
        Refusal::Selector { selector, expression } => {
            format!("selector #{selector} {}", expression.as_deref().unwrap_or("?"))
        }
        Refusal::Error(text) => text.clone(),
        Refusal::Node => String::from("node"),
        Refusal::BindingConditions => String::from("binding conditions"),
        Refusal::NoCapacity(name) => format!("no {name}"),
        Refusal::CapacityPolicy { name, need } => format!("{name} not by {need}"),
        Refusal::Capacity { name, need, have } => format!("{name} {need} of {have}"),
        Refusal::Counters => String::from("counters"),
        Refusal::Counter { set, name, need, have } => format!("{set} {name} {need} of {have}"),
        Refusal::Taint(taint) => format!("taint {}", taint.key),
        Refusal::Constraint(attribute) => format!("constraint {attribute}"),
    };
    refusals
        .devices
        .iter()
        .map(|of| format!("{} {}: {}", of.request, of.device.name, word(&of.refusal)))
        .collect()
}

#[test]
fn every_refused_device_has_a_reason() {
    let attribute = |value: &str| json!({"size": {"string": value}});
    let memory = |value: &str| json!({"mem": {"value": value}});
    let devices = vec![
        device("a", json!({"attributes": attribute("big"), "capacity": memory("8")})),
        device("b", json!({"attributes": attribute("small"), "capacity": memory("8")})),
        device("c", json!({"attributes": attribute("big")})),
        device("d", json!({"attributes": attribute("big"), "capacity": memory("2")})),
        device(
            "e",
            json!({"attributes": attribute("big"), "capacity": memory("8"), "taints": [{"key": "k", "effect": "NoSchedule"}]}),
        ),
        device("f", json!({"attributes": attribute("big"), "capacity": memory("8")})),
        device("g", json!({})),
    ];
    let mut wanted = selectors(&["size=big"]);
    wanted["capacity"] = json!({"requests": {"mem": "4"}});
    for version in KubernetesVersion::ALL {
        let cluster = Cluster::new(version)
            .pool("p", devices.clone())
            .slice("s", "q", vec![], json!({"pool": {"resourceSliceCount": 2}}))
            .allocated("y", &["p/a"], json!({}))
            .claim(
                "x",
                json!({
                    "requests": [some("r0", 1), request("r1", wanted.clone())],
                    "constraints": [{"requests": ["r1"], "matchAttribute": "d.ex/none"}],
                }),
            );
        let said = refusals(&cluster, 0, 1);
        let mut said_of = words(&said);
        let error = said_of.pop().unwrap();
        assert_eq!(
            said_of,
            [
                "r1 a: allocated to y",
                "r1 b: picked",
                "r1 c: no mem",
                "r1 d: mem 4 of 2",
                "r1 e: taint k",
                "r1 f: constraint d.ex/none",
            ]
        );
        assert!(error.starts_with("r1 g: claim ns/x: selector #0"), "{error}");
        assert_eq!(
            (said.fitting, said.incomplete.len(), said.invalid.len()),
            (vec![("r1".into(), vec![])], 1, 0)
        );
        let first = refusals(&cluster, 0, 0);
        assert_eq!(words(&first), ["r0 a: allocated to y", "r0 e: taint k"]);
        let fit: Vec<&str> =
            first.fitting.iter().flat_map(|of| &of.1).map(|device| device.name.as_str()).collect();
        assert_eq!(fit, ["b", "c", "d", "f", "g"]);
        assert_eq!(
            refusals(&cluster, 3, 0),
            Refusals { incomplete: first.incomplete, ..Refusals::default() }
        );
    }
}
