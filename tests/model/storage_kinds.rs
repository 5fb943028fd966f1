//! Volumes, claims, classes, drivers and capacities as the API writes them.

use bayplan::model::{
    CsiDriver, CsiStorageCapacity, Kind, Labels, Object, PersistentVolume, PersistentVolumeClaim,
    PersistentVolumeSource, Quantity, StorageClass, Typed, downcast,
};
use serde_json::{Value, json};

fn read(value: &Value) -> Result<Object, String> {
    let (version, kind) = (value["apiVersion"].as_str().unwrap(), value["kind"].as_str().unwrap());
    let row = bayplan::model::KindRow::named(version, kind).expect("a row of the table");
    let seen = (row.parse)(value.to_string().as_bytes()).map_err(|error| error.to_string())?;
    seen.problem.map_or(Ok(seen.object), |problem| Err(problem.to_string()))
}

fn of<T: Typed + Clone>(value: &Value) -> T {
    let Ok(Object::Other(object)) = read(value) else { panic!("{value}") };
    downcast::<T>(object.as_ref()).expect("of that kind").clone()
}

fn volume(spec: Value) -> Value {
    json!({"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "v", "resourceVersion": "7"},
        "spec": spec, "status": {"phase": "Available"}})
}

fn claim(annotations: Value, spec: Value) -> Value {
    json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim",
        "metadata": {"name": "c", "namespace": "shop", "uid": "u", "annotations": annotations}, "spec": spec})
}

#[test]
fn a_volume_has_what_claims_ask_for() {
    let volume = of::<PersistentVolume>(&volume(json!({
        "capacity": {"storage": "8Gi"}, "accessModes": ["ReadWriteOnce"], "storageClassName": "fast",
        "claimRef": {"namespace": "shop", "name": "c", "uid": "u"}, "csi": {"driver": "d", "volumeHandle": "h"},
        "nodeAffinity": {"required": {"nodeSelectorTerms": [
            {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["other"]}]}]}},
    })));
    assert_eq!(volume.capacity, Quantity::parse("8Gi").unwrap());
    assert_eq!(
        (volume.class.as_str(), volume.mode.as_str(), &*volume.metadata.version),
        ("fast", "Filesystem", "7")
    );
    assert!(volume.is_available() && !volume.bound_by_controller);
    let source = PersistentVolumeSource::Csi { driver: "d".into(), handle: "h".into() };
    assert_eq!(volume.source, source);
    let affinity = volume.affinity.clone().unwrap();
    assert_eq!(
        affinity.matches(&"".into(), &Labels::default()),
        Ok(true),
        "requirements on fields always hold"
    );
    let of_claim = |uid: &str| {
        let value = json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim",
            "metadata": {"name": "c", "namespace": "shop", "uid": uid}});
        of::<PersistentVolumeClaim>(&value).metadata
    };
    assert!(volume.is_for(&of_claim("u")) && !volume.is_for(&of_claim("another")));
}

#[test]
fn the_annotation_of_the_class_precedes_the_field_even_when_it_is_empty() {
    let key = "volume.beta.kubernetes.io/storage-class";
    let class = |annotations| {
        let spec = json!({"storageClassName": "field"});
        of::<PersistentVolumeClaim>(&claim(annotations, spec)).class.to_string()
    };
    assert_eq!(class(json!({})), "field");
    assert_eq!(class(json!({key: "annotated"})), "annotated");
    assert_eq!(class(json!({key: ""})), "");
}

#[test]
fn a_claim_is_bound_when_the_controller_says_so() {
    let bound = |annotations, spec| of::<PersistentVolumeClaim>(&claim(annotations, spec)).is_bound();
    let done = json!({"pv.kubernetes.io/bind-completed": "whatever"});
    assert!(bound(done.clone(), json!({"volumeName": "v"})));
    assert!(!bound(done, json!({})));
    assert!(!bound(json!({}), json!({"volumeName": "v"})));
    let waits = of::<PersistentVolumeClaim>(&claim(
        json!({"volume.kubernetes.io/selected-node": "n"}),
        json!({"resources": {"requests": {"storage": "1500m"}}, "selector": {"matchLabels": {"bad key": "x"}}}),
    ));
    assert_eq!(waits.selected_node.as_deref(), Some("n"));
    assert_eq!(waits.request.map(|request| request.value()), Some(2));
    assert!(waits.annotated && matches!(waits.selector, Some(Err(_))));
}

#[test]
fn a_class_allows_nodes_by_labels() {
    let class = |allowed: Value| {
        of::<StorageClass>(&json!({"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass",
            "metadata": {"name": "s"}, "provisioner": "p", "allowedTopologies": allowed}))
    };
    let labels: Labels = [("zone".into(), "a".into())].into_iter().collect();
    assert!(class(json!(null)).allows(&labels) && class(json!([])).allows(&labels));
    assert!(!class(json!([{}])).allows(&labels), "a term without requirements matches nothing");
    let term = |values: &[&str]| json!({"matchLabelExpressions": [{"key": "zone", "values": values}]});
    assert!(class(json!([term(&["b"]), term(&["b", "a"])])).allows(&labels));
    assert!(!class(json!([term(&["b"])])).allows(&labels));
    assert!(class(json!([])).provisions() && !class(json!([])).waits_for_first_consumer());
}

#[test]
fn a_capacity_is_limited_by_the_largest_volume() {
    let capacity = |fields: Value| {
        let mut object = json!({"apiVersion": "storage.k8s.io/v1", "kind": "CSIStorageCapacity",
            "metadata": {"name": "x", "namespace": "kube-system"}, "storageClassName": "s"});
        for (key, value) in fields.as_object().unwrap() {
            object[key] = value.clone();
        }
        of::<CsiStorageCapacity>(&object)
    };
    assert_eq!(capacity(json!({"capacity": "100", "maximumVolumeSize": "5"})).limit(), Some(5));
    assert_eq!(capacity(json!({"capacity": "100"})).limit(), Some(100));
    assert_eq!(capacity(json!({})).limit(), None);
    assert!(capacity(json!({})).topology.is_none(), "no node");
    assert!(matches!(capacity(json!({"nodeTopology": {}})).topology, Some(Ok(all)) if all.is_empty()));
    let driver = json!({"apiVersion": "storage.k8s.io/v1", "kind": "CSIDriver", "metadata": {"name": "d"},
        "spec": {"storageCapacity": true}});
    assert!(of::<CsiDriver>(&driver).storage_capacity);
}

#[test]
fn wrong_amounts_are_refused_with_their_place() {
    let error = read(&volume(json!({"capacity": {"storage": "8Gib"}}))).unwrap_err();
    assert!(error.starts_with("`spec.capacity.storage` is `8Gib`"), "{error}");
    let spec = json!({"resources": {"requests": {"storage": "many"}}});
    let error = read(&claim(json!({}), spec)).unwrap_err();
    assert!(error.starts_with("`spec.resources.requests.storage` is `many`"), "{error}");
    assert_eq!(
        Kind::PersistentVolumeClaim.row().unwrap().path_of("shop", "c"),
        "/api/v1/namespaces/shop/persistentvolumeclaims/c"
    );
}
