//! What pods carry beyond resources: topology spread, pod affinity, volumes, required node features.

use bayplan::model::{ConstraintKinds as K, PodConstraints, PodInfo, SpreadSelector, Symbol, VolumeSource};
use bayplan::testing::{PodMaker, pod};
use serde_json::{Value, json};
use std::sync::Arc;

const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";
const PREFERRED: &str = "preferredDuringSchedulingIgnoredDuringExecution";

fn constraints(pod: &PodInfo) -> &PodConstraints {
    pod.constraints.as_deref().unwrap()
}

fn from_file(pod: PodMaker) -> PodInfo {
    PodInfo::from_file(Arc::new(pod.json())).unwrap()
}

fn app(name: &str) -> Value {
    json!({ "matchLabels": { "app": name } })
}

#[test]
fn spread_constraints_have_upstreams_defaults() {
    let pod = pod("p").label("app", "web").label("hash", "1").set(
        "spec.topologySpreadConstraints",
        json!([
            { "maxSkew": 2, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule", "labelSelector": app("web"),
              "matchLabelKeys": ["hash", "missing"] },
            { "maxSkew": 1, "topologyKey": "host", "whenUnsatisfiable": "ScheduleAnyway", "minDomains": 3,
              "nodeAffinityPolicy": "Ignore", "nodeTaintsPolicy": "Honor", "matchLabelKeys": ["hash"] },
            { "maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule", "labelSelector":
              { "matchExpressions": [{ "key": "a", "operator": "Near", "values": ["b"] }] } },
            { "maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule", "labelSelector": {} },
        ]),
    );
    let pod = pod.build();
    let [zone, host, invalid, all] = &*constraints(&pod).spread else { panic!("four constraints") };
    assert_eq!((zone.max_skew, zone.min_domains, zone.hard), (2, 1, true));
    assert_eq!((zone.honor_affinity, zone.honor_taints), (true, false));
    assert_eq!(zone.selector().unwrap().to_string(), "app=web,hash in (1)");
    assert_eq!(zone.match_label_keys.len(), 2);
    assert_eq!((host.hard, host.min_domains), (false, 3));
    assert_eq!((host.honor_affinity, host.honor_taints), (false, true));
    assert_eq!(host.selector, SpreadSelector::None, "no keys are merged into a selector that is not given");
    let text = "\"Near\" is not a valid label selector operator";
    assert_eq!(invalid.selector, SpreadSelector::Invalid(text.into()));
    assert!(all.selector().unwrap().is_empty());
    assert_eq!(pod.constraint_kinds(), K::HARD_SPREAD.with(K::SOFT_SPREAD));
}

#[test]
fn the_selector_of_a_spread_constraint_has_merged_keys_once() {
    let merged = json!({ "matchLabels": { "app": "web" },
        "matchExpressions": [{ "key": "hash", "operator": "In", "values": ["1"] }] });
    let with = |selector: &Value| {
        let list = json!([{ "topologyKey": "zone", "labelSelector": selector, "matchLabelKeys": ["hash"] }]);
        let pod = pod("p").label("hash", "1").set("spec.topologySpreadConstraints", list).build();
        constraints(&pod).spread[0].selector().unwrap().clone()
    };
    let by_us = with(&app("web"));
    let by_the_api_server = with(&merged);
    assert_eq!(by_us, by_the_api_server);
    assert_eq!(by_us.to_string(), by_the_api_server.to_string());
}

#[test]
fn terms_of_pod_affinity_are_parsed_as_upstream_does() {
    let affinity = json!({
        "podAffinity": {
            REQUIRED: [
                { "topologyKey": "zone", "labelSelector": app("db") },
                { "topologyKey": "zone", "labelSelector": app("db"), "namespaces": ["b", "a", "b"] },
                { "topologyKey": "zone", "namespaceSelector": { "matchLabels": { "team": "x" } } },
            ],
            PREFERRED: [{ "weight": 7, "podAffinityTerm": { "topologyKey": "host", "labelSelector": app("db") } }],
        },
        "podAntiAffinity": {
            REQUIRED: [{ "topologyKey": "host", "labelSelector": {}, "namespaceSelector": {} }],
            PREFERRED: [{ "weight": 9, "podAffinityTerm": { "topologyKey": "host", "labelSelector": app("web") } }],
        },
    });
    let pod = pod("p").namespace("shop").set("spec.affinity", affinity).build();
    let of = &constraints(&pod).affinity;
    let [own, listed, selected] = &*of.required else { panic!("three terms") };
    assert_eq!(&*own.namespaces, [Symbol::new("shop")]);
    assert_eq!(&*listed.namespaces, [Symbol::new("a"), Symbol::new("b")]);
    assert!(selected.namespaces.is_empty() && selected.selector.is_none());
    assert_eq!(selected.namespace_selector.as_ref().unwrap().to_string(), "team=x");
    let [anti] = &*of.required_anti else { panic!("one term") };
    assert!(
        anti.namespace_selector.as_ref().unwrap().is_empty() && anti.selector.as_ref().unwrap().is_empty()
    );
    let weights: Vec<i32> = of.preferred.iter().map(|it| it.weight).collect();
    assert_eq!(weights, [7, -9]);
    assert_eq!(of.invalid, None);
    assert_eq!(pod.constraint_kinds(), K::REQUIRED_POD_AFFINITY.with(K::PREFERRED_POD_AFFINITY));
}

#[test]
fn a_list_with_an_invalid_selector_is_empty_and_says_why() {
    let invalid = json!({ "matchExpressions": [{ "key": "a", "operator": "In", "values": [] }] });
    let term = |selector: &Value| json!({ "topologyKey": "zone", "labelSelector": selector });
    let affinity = json!({
        "podAffinity": { REQUIRED: [term(&app("db")), term(&invalid)] },
        "podAntiAffinity": { REQUIRED: [term(&app("db"))] },
    });
    let one = pod("p").set("spec.affinity", affinity).build();
    let of = &constraints(&one).affinity;
    assert!(of.required.is_empty());
    assert_eq!(of.required_anti.len(), 1);
    let complaint = "values: Invalid value: null: for 'in', 'notin' operators, values set can't be empty";
    assert_eq!(of.invalid.as_deref(), Some(&*format!("requiredAffinityTerms: {complaint}")));

    let weighted = json!([{ "weight": 1, "podAffinityTerm": term(&invalid) }]);
    let affinity =
        json!({ "podAffinity": { PREFERRED: weighted }, "podAntiAffinity": { PREFERRED: weighted } });
    let both = pod("p").set("spec.affinity", affinity).build();
    let text = format!("[preferredAffinityTerms: {complaint}, preferredAntiAffinityTerms: {complaint}]");
    assert_eq!(constraints(&both).affinity.invalid.as_deref(), Some(&*text));
    assert!(both.constraint_kinds().intersects(K::REQUIRED_POD_AFFINITY), "the pod is refused");
}

#[test]
fn label_keys_of_affinity_terms_are_merged_for_files_only() {
    let term = json!({ "topologyKey": "zone", "labelSelector": app("web"), "matchLabelKeys": ["hash"],
        "mismatchLabelKeys": ["tenant", "missing"] });
    let none = json!({ "topologyKey": "zone", "matchLabelKeys": ["hash"] });
    let affinity = json!({ "podAntiAffinity": { REQUIRED: [term, none] } });
    let made = pod("p").label("hash", "1").label("tenant", "t").set("spec.affinity", affinity);
    let selectors = |pod: &PodInfo| -> Vec<Option<String>> {
        let terms = &constraints(pod).affinity.required_anti;
        terms.iter().map(|term| Some(term.selector.as_ref()?.to_string())).collect()
    };
    let merged = Some(String::from("app=web,hash in (1),tenant notin (t)"));
    assert_eq!(selectors(&from_file(made.clone().set("metadata.uid", json!("")))), [merged, None]);
    // The API server has merged what the pod had when it was created.
    let seen = made.set("metadata.uid", json!("u"));
    assert_eq!(selectors(&from_file(seen.clone())), [Some(String::from("app=web")), None]);
    assert_eq!(selectors(&seen.build()), [Some(String::from("app=web")), None]);
}

#[test]
fn volumes_keep_what_plugins_read() {
    let volumes = json!([
        { "name": "token", "projected": { "sources": [] } },
        { "name": "data", "persistentVolumeClaim": { "claimName": "data-0", "readOnly": true } },
        { "name": "scratch", "ephemeral": { "volumeClaimTemplate": {} } },
        { "name": "secrets", "csi": { "driver": "secrets.csi" } },
        { "name": "gce", "gcePersistentDisk": { "pdName": "d", "partition": 2 } },
        { "name": "ebs", "awsElasticBlockStore": { "volumeID": "vol-1" } },
        { "name": "target", "iscsi": { "iqn": "iqn.1", "targetPortal": "1.2.3.4", "lun": 0 } },
        { "name": "ceph", "rbd": { "monitors": ["b", "a"], "image": "i", "readOnly": true } },
        { "name": "azure", "azureDisk": { "diskName": "n", "diskURI": "/u" } },
        { "name": "share", "azureFile": { "shareName": "s" } },
        { "name": "cinder", "cinder": { "volumeID": "c" } },
        { "name": "px", "portworxVolume": { "volumeID": "p" } },
        { "name": "vm", "vsphereVolume": { "volumePath": "v" } },
    ]);
    let made = pod("web-0").set("spec.volumes", volumes);
    let seen = made.clone().build();
    let names: Vec<&str> = constraints(&seen).volumes.iter().map(|volume| volume.source.api_name()).collect();
    let expected = "persistentVolumeClaim ephemeral csi gcePersistentDisk awsElasticBlockStore iscsi rbd azureDisk \
        azureFile cinder portworxVolume vsphereVolume";
    assert_eq!(names.join(" "), expected);
    let claims: Vec<(&str, String, bool)> = seen
        .claims()
        .map(|(volume, claim, ephemeral)| (&*volume.name, claim.to_string(), ephemeral))
        .collect();
    assert_eq!(claims, [("data", "data-0".into(), false), ("scratch", "web-0-scratch".into(), true)]);

    let source = |pod: &PodInfo, name: &str| {
        let volumes = &constraints(pod).volumes;
        volumes.iter().find(|volume| &*volume.name == name).unwrap().source.clone()
    };
    let s = Symbol::new;
    let gce = VolumeSource::GcePersistentDisk { name: s("d"), partition: 2, read_only: false };
    assert_eq!(source(&seen, "gce"), gce);
    let ceph = |pool: &str| VolumeSource::Rbd {
        monitors: Box::from([s("b"), s("a")]),
        pool: s(pool),
        image: s("i"),
        read_only: true,
    };
    let azure =
        |kind: Option<&str>| VolumeSource::AzureDisk { name: s("n"), uri: s("/u"), kind: kind.map(s) };
    assert_eq!((source(&seen, "ceph"), source(&seen, "azure")), (ceph(""), azure(None)));
    let file = from_file(made);
    assert_eq!((source(&file, "ceph"), source(&file, "azure")), (ceph("rbd"), azure(Some("Shared"))));
}

#[test]
fn required_node_features_and_eviction_are_read() {
    let rules = json!([{ "action": "RestartAllContainers" }]);
    let made = pod("p").cpu("1").set("spec.containers.0.restartPolicyRules", rules);
    let made = made.set("spec.hostNetwork", json!(true)).set("spec.hostUsers", json!(false)).build();
    let features: Vec<&str> = constraints(&made).features.iter().map(Symbol::as_str).collect();
    assert_eq!(features, ["RestartAllContainersOnContainerExits", "UserNamespacesHostNetworkSupport"]);

    let condition = |status: &str, reason: &str| {
        let list = json!([{ "type": "DisruptionTarget", "status": status, "reason": reason }]);
        pod("p").set("status.conditions", list).build()
    };
    let evicted = condition("True", "PreemptionByScheduler");
    assert!(evicted.disruption_target);
    assert!(!condition("False", "PreemptionByScheduler").disruption_target);
    assert!(!condition("True", "EvictionByEvictionAPI").disruption_target);
    assert!(!pod("p").build().difference(&evicted).is_empty(), "the condition is a change");
}
