//! [`VolumeController`]: the controllers that bind and provision volumes, for an API server in memory: the
//! PersistentVolume controller, a provisioner for every storage class that has one, and the controller that makes the
//! claims of generic ephemeral volumes.
//!
//! It reads what happened at the server and writes what the controllers would write. The simulation calls it claim by
//! claim and decides what fails.
//!
//! Source: `pkg/controller/volume/persistentvolume/pv_controller.go`, `pkg/controller/volume/ephemeral/controller.go`.

use super::api::{Api, WatchEvent};
use bayplan_model::objects::persistent_volume::AVAILABLE;
use bayplan_model::objects::selectors;
use bayplan_model::{
    ClaimReference, Kind, NodeSelector, Object, ObjectKey, ObjectMeta, PersistentVolume,
    PersistentVolumeClaim, PersistentVolumeSource, PodInfo, Quantity, StorageClass, Symbol, Typed,
    VolumeSource, downcast,
};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::Arc;

/// The phase of a claim or volume that is bound.
const BOUND: &str = "Bound";
/// The phase of a volume whose claim is gone.
const RELEASED: &str = "Released";
/// The node label of a zone: a provisioned volume is for the zone of its node.
const ZONE: &str = "topology.kubernetes.io/zone";

/// How the provisioning of a volume ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Provisioning {
    /// The volume is made and bound.
    #[default]
    Succeeds,
    /// The claim loses the annotation of the selected node, so that the scheduler chooses again.
    Fails,
}

/// The controllers; what they have seen of a server.
#[derive(Clone, Debug, Default)]
pub struct VolumeController {
    seen: usize,
    /// Claims that are not bound.
    open: BTreeSet<ObjectKey>,
    /// Something happened that claims may wait for, and not all claims were looked at since.
    news: bool,
}

impl VolumeController {
    /// Writes everything that the controllers would write.
    pub fn act(&mut self, api: &mut Api) {
        self.watch(api);
        while std::mem::take(&mut self.news) {
            for claim in self.open.clone() {
                self.sync(api, &claim, Provisioning::Succeeds);
            }
            self.watch(api);
        }
    }

    /// Reads what happened, and does what needs no decision: makes claims of ephemeral volumes, marks volumes as
    /// available or released.
    pub fn watch(&mut self, api: &mut Api) {
        let news: Vec<(Kind, WatchEvent)> = api.log().get(self.seen..).unwrap_or_default().to_vec();
        self.seen = api.log().len();
        for (kind, event) in news {
            self.news |=
                matches!(kind, Kind::PersistentVolume | Kind::PersistentVolumeClaim | Kind::StorageClass);
            match event {
                WatchEvent::Upserted(Object::Pod(pod)) => make_claims(api, &pod),
                WatchEvent::Upserted(Object::Other(object)) => {
                    if let Some(claim) = downcast::<PersistentVolumeClaim>(object.as_ref()) {
                        let key = name_only(object.key());
                        match claim.is_bound() || claim.metadata.deleted.is_some() {
                            true => self.open.remove(&key),
                            false => self.open.insert(key),
                        };
                    } else if let Some(volume) = downcast::<PersistentVolume>(object.as_ref())
                        && volume.phase.is_empty()
                        && volume.claim.is_none()
                    {
                        put(api, PersistentVolume { phase: Symbol::new(AVAILABLE), ..volume.clone() });
                    }
                }
                WatchEvent::Deleted(key) if key.kind == Kind::PersistentVolumeClaim => {
                    self.open.remove(&name_only(key.clone()));
                    release(api, &key);
                }
                _ => {}
            }
        }
    }

    /// The claims that are not bound.
    pub fn open(&self) -> &BTreeSet<ObjectKey> {
        &self.open
    }

    /// Does the next thing for a claim: binds it to the volume that names it; binds one whose class does not wait for a
    /// pod to the smallest volume that suits it; or provisions a volume.
    pub fn sync(&self, api: &mut Api, claim: &ObjectKey, provisioning: Provisioning) {
        let Some(claim) = find::<PersistentVolumeClaim>(api, &claim.namespace, &claim.name) else { return };
        if claim.is_bound() {
            return;
        }
        let class = find::<StorageClass>(api, &Symbol::default(), &claim.class);
        let waits = class.as_ref().is_some_and(StorageClass::waits_for_first_consumer);
        if let Some(volume) = volume_for(api, &claim, waits) {
            return bind(api, &claim, volume);
        }
        let Some(class) = class.filter(|class| class.provisions() && claim.volume.is_empty()) else { return };
        match &claim.selected_node {
            None if waits => {}
            Some(_) if provisioning == Provisioning::Fails => {
                put(api, PersistentVolumeClaim { selected_node: None, ..claim });
            }
            node => {
                let volume = provisioned(api, &claim, &class, node.as_ref());
                bind(api, &claim, volume);
            }
        }
    }
}

/// The key without UID, under which objects of one name are the same.
fn name_only(key: ObjectKey) -> ObjectKey {
    ObjectKey { uid: Symbol::default(), ..key }
}

/// An object of the server, by its namespace and name.
pub(super) fn find<T: Typed + Clone>(api: &Api, namespace: &Symbol, name: &Symbol) -> Option<T> {
    let (namespace, name) = (namespace.clone(), name.clone());
    match api.get(&ObjectKey { kind: T::KIND, namespace, name, uid: Symbol::default() })? {
        Object::Other(object) => downcast::<T>(object.as_ref()).cloned(),
        _ => None,
    }
}

fn volumes(api: &Api) -> impl Iterator<Item = PersistentVolume> {
    let all = api.list(&Kind::PersistentVolume).into_iter();
    all.filter_map(|object| match object {
        Object::Other(object) => downcast::<PersistentVolume>(object.as_ref()).cloned(),
        _ => None,
    })
}

fn put<T: Typed + Clone>(api: &mut Api, object: T) {
    api.put(Object::Other(Arc::new(object)));
}

/// The volume of a claim: the one that the claim names, one that names the claim, or the smallest that suits a claim
/// whose binding does not wait for a pod.
fn volume_for(api: &Api, claim: &PersistentVolumeClaim, waits: bool) -> Option<PersistentVolume> {
    let free = |volume: &PersistentVolume| volume.claim.is_none() || volume.is_for(&claim.metadata);
    if !claim.volume.is_empty() {
        return find::<PersistentVolume>(api, &Symbol::default(), &claim.volume).filter(free);
    }
    if let Some(named) = volumes(api).find(|volume| volume.is_for(&claim.metadata)) {
        return Some(named);
    }
    let suits = |volume: &PersistentVolume| {
        volume.claim.is_none()
            && volume.is_available()
            && volume.class == claim.class
            && volume.capacity >= claim.request.unwrap_or(Quantity::ZERO)
            && (&volume.mode, &volume.attributes_class) == (&claim.mode, &claim.attributes_class)
            && claim.access_modes.iter().all(|mode| volume.access_modes.contains(mode))
            && match &claim.selector {
                None => true,
                Some(selector) => {
                    selector.as_ref().is_ok_and(|selector| selector.matches(&volume.metadata.labels))
                }
            }
    };
    volumes(api).filter(|volume| !waits && suits(volume)).min_by_key(|volume| volume.capacity)
}

/// Writes both sides of a binding.
fn bind(api: &mut Api, claim: &PersistentVolumeClaim, volume: PersistentVolume) {
    let ObjectMeta { namespace, name, uid, .. } = claim.metadata.clone();
    let bound = PersistentVolumeClaim {
        volume: volume.metadata.name.clone(),
        bind_completed: true,
        annotated: true,
        phase: Symbol::new(BOUND),
        ..claim.clone()
    };
    let claim = Some(ClaimReference { namespace, name, uid });
    put(api, PersistentVolume { claim, phase: Symbol::new(BOUND), ..volume });
    put(api, bound);
}

/// A volume made for a claim. One for a node is for the zone of the node, if it has a zone.
fn provisioned(
    api: &Api,
    claim: &PersistentVolumeClaim,
    class: &StorageClass,
    node: Option<&Symbol>,
) -> PersistentVolume {
    let name = Symbol::from(format!("pvc-{}-{}", claim.metadata.namespace, claim.metadata.name));
    let node = node.and_then(|node| {
        let key = ObjectKey {
            kind: Kind::Node,
            namespace: Symbol::default(),
            name: node.clone(),
            uid: Symbol::default(),
        };
        match api.get(&key) {
            Some(Object::Node(node)) => Some(node.clone()),
            _ => None,
        }
    });
    let zone = node.as_ref().and_then(|node| node.labels.get(&Symbol::new(ZONE)));
    let affinity = zone.map(|zone| {
        let (key, operator) = (Symbol::new(ZONE), Symbol::new("In"));
        let is = selectors::Expression { key, operator, values: Some(vec![zone.clone()]) };
        let term = selectors::NodeSelectorTerm { match_expressions: vec![is], match_fields: Vec::new() };
        Arc::new(NodeSelector::parse(&selectors::NodeSelector { node_selector_terms: vec![term] }))
    });
    let uid = Symbol::from(format!("volume/{name}"));
    PersistentVolume {
        metadata: ObjectMeta { name: name.clone(), uid, ..ObjectMeta::default() },
        class: claim.class.clone(),
        capacity: claim.request.unwrap_or(Quantity::ZERO),
        access_modes: claim.access_modes.clone(),
        mode: claim.mode.clone(),
        attributes_class: claim.attributes_class.clone(),
        phase: Symbol::new(BOUND),
        claim: None,
        bound_by_controller: true,
        provisioned_by: class.provisioner.clone(),
        affinity,
        source: PersistentVolumeSource::Csi { driver: class.provisioner.clone(), handle: name },
    }
}

/// A volume whose claim is gone is released; no other claim can take it.
fn release(api: &mut Api, claim: &ObjectKey) {
    let names = |volume: &PersistentVolume| {
        volume.claim.as_ref().is_some_and(|to| (&to.namespace, &to.name) == (&claim.namespace, &claim.name))
    };
    let released: Vec<_> = volumes(api).filter(|volume| names(volume) && volume.phase == BOUND).collect();
    for volume in released {
        put(api, PersistentVolume { phase: Symbol::new(RELEASED), ..volume });
    }
}

/// Makes the claims of a pod's generic ephemeral volumes that do not exist. The templates are in the whole object.
fn make_claims(api: &mut Api, pod: &PodInfo) {
    if pod.is_terminating() {
        return;
    }
    let Some(raw) = &pod.raw else { return };
    let written = raw.pointer("/spec/volumes").and_then(Value::as_array);
    for (volume, name, _) in pod.claims().filter(|(volume, ..)| volume.source == VolumeSource::Ephemeral) {
        if find::<PersistentVolumeClaim>(api, &pod.namespace, &name).is_some() {
            continue;
        }
        let template = written.into_iter().flatten().find(|written| written["name"] == *volume.name);
        let template = template.map(|written| &written["ephemeral"]["volumeClaimTemplate"]);
        let mut claim = json!({
            "apiVersion": "v1", "kind": "PersistentVolumeClaim",
            "metadata": template.map(|template| template["metadata"].clone()).unwrap_or_default(),
            "spec": template.map(|template| template["spec"].clone()).unwrap_or_default(),
            "status": {"phase": "Pending"},
        });
        claim["metadata"]["name"] = json!(name.as_str());
        claim["metadata"]["namespace"] = json!(pod.namespace.as_str());
        claim["metadata"]["uid"] = json!(format!("claim/{}/{name}", pod.namespace));
        claim["metadata"]["ownerReferences"] = json!([{
            "apiVersion": "v1", "kind": "Pod", "name": pod.name.as_str(), "uid": pod.uid.as_str(), "controller": true,
        }]);
        let row = Kind::PersistentVolumeClaim.row();
        // A template that cannot be read makes no claim, and the pod goes on waiting for it.
        if let Some(Ok(claim)) = row.map(|row| (row.from_value)(Arc::new(claim))) {
            api.put(claim);
        }
    }
}
