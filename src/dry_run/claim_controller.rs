//! [`ClaimController`]: for an API server in memory, the controller that makes claims of devices from templates and takes
//! them back when their pods end, and drivers that prepare what was allocated.
//!
//! It reads what happened at the server and writes what the controllers would write. The simulation calls it claim by
//! claim and decides what fails.
//!
//! Source: `pkg/controller/resourceclaim/controller.go`.

use super::api::{Api, WatchEvent};
use super::volume_controller::find;
use bayplan_model::objects::devices::{AllocatedDevice, DeviceStatus, StatusCondition};
use bayplan_model::{
    ClaimSource, Kind, Object, ObjectKey, PodConstraints, PodInfo, ResourceClaim, ResourceClaimTemplate,
    Symbol, downcast,
};
use serde_json::json;
use std::collections::BTreeSet;
use std::sync::Arc;

/// The annotation that names the entry of the pod for which a claim was made.
///
/// Source: `pkg/controller/resourceclaim/controller.go`, `podResourceClaimAnnotation`.
const POD_CLAIM_NAME: &str = "resource.kubernetes.io/pod-claim-name";

/// How drivers prepare devices that have binding conditions.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Preparation {
    /// All binding conditions become true.
    #[default]
    Succeeds,
    /// The first failure condition becomes true, of devices that have one.
    Fails,
}

/// The controllers; what they have seen of a server.
#[derive(Clone, Debug, Default)]
pub struct ClaimController {
    seen: usize,
    /// Claims whose devices wait for drivers.
    unprepared: BTreeSet<ObjectKey>,
}

impl ClaimController {
    /// Writes everything that the controllers would write.
    pub fn act(&mut self, api: &mut Api) {
        self.watch(api);
        for claim in std::mem::take(&mut self.unprepared) {
            prepare(api, &claim, Preparation::Succeeds);
        }
        // What was written here needs no answer.
        self.watch(api);
    }

    /// Reads what happened, and does what needs no decision: makes claims, and takes them back from pods that ended.
    pub fn watch(&mut self, api: &mut Api) {
        loop {
            let news: Vec<(Kind, WatchEvent)> = api.log().get(self.seen..).unwrap_or_default().to_vec();
            self.seen = api.log().len();
            if news.is_empty() {
                return;
            }
            for (_, event) in news {
                match event {
                    WatchEvent::Upserted(Object::Pod(pod)) if pod.is_finished() => take_back(api, &pod.uid),
                    WatchEvent::Upserted(Object::Pod(pod)) => make_claims(api, &pod),
                    WatchEvent::Upserted(Object::Other(object)) => {
                        if let Some(claim) = downcast::<ResourceClaim>(object.as_ref()) {
                            self.claim_seen(api, claim);
                        } else if let Some(of) = downcast::<ResourceClaimTemplate>(object.as_ref()) {
                            // Pods may have waited for it.
                            let pods: Vec<_> = api.pods_in(&of.metadata.namespace).cloned().collect();
                            pods.iter().for_each(|pod| make_claims(api, pod));
                        }
                    }
                    WatchEvent::Deleted(key) if key.kind == Kind::Pod => take_back(api, &key.uid),
                    _ => {}
                }
            }
        }
    }

    /// The claims whose devices wait for drivers.
    pub fn unprepared(&self) -> &BTreeSet<ObjectKey> {
        &self.unprepared
    }

    /// Takes back what was written for pods after they had gone: a scheduler may be late.
    pub fn collect(&self, api: &mut Api) {
        for claim in claims(api) {
            let lives = |name: &Symbol, uid: &Symbol| {
                api.pod(&claim.metadata.namespace, name).is_some_and(|pod| pod.uid == *uid)
            };
            let owners = claim.metadata.owners.iter().filter(|owner| owner.controller);
            let gone =
                claim.reserved_for.iter().filter(|pod| !lives(&pod.name, &pod.uid)).map(|pod| &pod.uid);
            let gone = owners.filter(|pod| !lives(&pod.name, &pod.uid)).map(|pod| &pod.uid).chain(gone);
            let gone: BTreeSet<Symbol> = gone.cloned().collect();
            gone.iter().for_each(|uid| take_back(api, uid));
        }
    }

    fn claim_seen(&mut self, api: &mut Api, claim: &ResourceClaim) {
        let key = name_only(claim);
        // The claim of the event may be older than the one that the server has.
        let now = find::<ResourceClaim>(api, &key.namespace, &key.name);
        if let Some(claim) = now.filter(|now| now.metadata.deleted.is_some() && now.reserved_for.is_empty()) {
            match claim.allocation {
                None => drop(api.delete(&key)),
                Some(_) => put(api, ResourceClaim { allocation: None, devices: Arc::from([]), ..claim }),
            }
        }
        let waits = claim.allocation.as_ref().is_some_and(|allocation| {
            allocation.devices.results.iter().any(|result| {
                !result.binding_conditions.is_empty() && !claim.devices.iter().any(|of| is_of(of, result))
            })
        });
        match waits && !claim.reserved_for.is_empty() {
            true => self.unprepared.insert(key),
            false => self.unprepared.remove(&key),
        };
    }
}

fn name_only(claim: &ResourceClaim) -> ObjectKey {
    let (namespace, name) = (claim.metadata.namespace.clone(), claim.metadata.name.clone());
    ObjectKey { kind: Kind::ResourceClaim, namespace, name, uid: Symbol::default() }
}

fn is_of(status: &DeviceStatus, result: &AllocatedDevice) -> bool {
    (&status.driver, &status.pool, &status.device) == (&result.driver, &result.pool, &result.device)
}

fn claims(api: &Api) -> Vec<ResourceClaim> {
    let claims = api.list(&Kind::ResourceClaim).into_iter().filter_map(|object| match object {
        Object::Other(object) => downcast::<ResourceClaim>(object.as_ref()).cloned(),
        _ => None,
    });
    claims.collect()
}

fn put(api: &mut Api, claim: ResourceClaim) {
    api.put(Object::Other(Arc::new(claim)));
}

/// Writes what drivers say of the devices of a claim.
pub fn prepare(api: &mut Api, claim: &ObjectKey, how: Preparation) {
    let Some(claim) = find::<ResourceClaim>(api, &claim.namespace, &claim.name) else { return };
    let Some(allocation) = claim.allocation.clone() else { return };
    let results = allocation.devices.results.iter();
    let open = results.filter(|result| !result.binding_conditions.is_empty());
    let open = open.filter(|result| !claim.devices.iter().any(|of| is_of(of, result)));
    let devices = open.map(|result| {
        let condition = |kind: &Symbol| StatusCondition {
            kind: kind.clone(),
            status: Symbol::new("True"),
            reason: Symbol::new("Prepared"),
            ..StatusCondition::default()
        };
        let conditions = match (how, result.binding_failure_conditions.first()) {
            (Preparation::Fails, Some(failed)) => {
                vec![StatusCondition { reason: Symbol::new("Failed"), ..condition(failed) }]
            }
            (Preparation::Fails, None) => Vec::new(),
            (Preparation::Succeeds, _) => result.binding_conditions.iter().map(condition).collect(),
        };
        let (driver, pool, device) = (result.driver.clone(), result.pool.clone(), result.device.clone());
        DeviceStatus { driver, pool, device, conditions }
    });
    let devices = claim.devices.iter().cloned().chain(devices).collect();
    put(api, ResourceClaim { devices, ..claim });
}

/// Takes all claims back from a pod that ended: what was allocated to no other pod is free, and the claims that were made
/// for it go.
fn take_back(api: &mut Api, uid: &Symbol) {
    if uid.is_empty() {
        return;
    }
    for claim in claims(api) {
        let owned = claim.metadata.owners.iter().any(|owner| owner.controller && owner.uid == *uid);
        if owned {
            let key = name_only(&claim);
            if claim.allocation.is_some() {
                // Its finalizer goes once nothing is allocated: that is the change which wakes pods.
                let (reserved_for, devices) = (Arc::from([]), Arc::from([]));
                put(api, ResourceClaim { allocation: None, reserved_for, devices, ..claim });
            }
            api.delete(&key);
        } else if claim.is_reserved_for(uid) {
            let left = claim.reserved_for.iter().filter(|consumer| consumer.uid != *uid);
            let reserved_for: Arc<[_]> = left.cloned().collect();
            let unused = reserved_for.is_empty();
            let allocation = claim.allocation.clone().filter(|_| !unused);
            let devices = if unused { Arc::from([]) } else { claim.devices.clone() };
            put(api, ResourceClaim { reserved_for, allocation, devices, ..claim });
        }
    }
}

/// Makes the claims of a pod that templates describe and that do not exist, and names them in the status of the pod.
fn make_claims(api: &mut Api, pod: &Arc<PodInfo>) {
    // The pod of the event may be older than the one that the server has.
    let now = api.pod(&pod.namespace, &pod.name).filter(|now| now.key == pod.key).cloned();
    let Some(pod) = now.filter(|now| !now.is_finished()) else { return };
    let Some(devices) = pod.devices().filter(|_| !pod.is_terminating()) else { return };
    let mut made = Vec::new();
    for entry in &devices.claims {
        let known = devices.claim_statuses.iter().any(|(name, _)| *name == entry.name);
        let ClaimSource::Template(template) = &entry.source else { continue };
        // A pod whose template does not exist waits for it.
        let template = find::<ResourceClaimTemplate>(api, &pod.namespace, template).filter(|_| !known);
        let Some(template) = template else { continue };
        if let Some(name) = make_claim(api, &pod, &entry.name, &template) {
            made.push((entry.name.clone(), Some(name)));
        }
    }
    if made.is_empty() {
        return;
    }
    let mut constraints: PodConstraints = pod.constraints.as_deref().cloned().unwrap_or_default();
    if let Some(devices) = &mut constraints.devices {
        devices.claim_statuses = devices.claim_statuses.iter().cloned().chain(made).collect();
    }
    let constraints = Some(constraints.into());
    api.put(Object::Pod(Arc::new(PodInfo { constraints, ..(*pod).clone() })));
}

/// Makes a claim; its name. A template that cannot be read makes none, and the pod goes on waiting for it.
fn make_claim(
    api: &mut Api,
    pod: &PodInfo,
    entry: &Symbol,
    template: &ResourceClaimTemplate,
) -> Option<Symbol> {
    let free = |name: &Symbol| find::<ResourceClaim>(api, &pod.namespace, name).is_none();
    let names = (0..).map(|at| match at {
        0 => Symbol::from(format!("{}-{entry}", pod.name)),
        at => Symbol::from(format!("{}-{entry}-{at}", pod.name)),
    });
    let name = names.take(1_000).find(free)?;
    let mut claim = json!({
        "apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim",
        "metadata": *template.claim_metadata, "spec": *template.claim_spec,
    });
    let metadata = &mut claim["metadata"];
    metadata["name"] = json!(name.as_str());
    metadata["namespace"] = json!(pod.namespace.as_str());
    metadata["uid"] = json!(format!("claim/{}/{name}", pod.namespace));
    let mut annotations = template.claim_metadata.get("annotations").cloned().unwrap_or_default();
    match annotations.as_object_mut() {
        Some(annotations) => drop(annotations.insert(POD_CLAIM_NAME.to_owned(), json!(entry.as_str()))),
        None => annotations = json!({POD_CLAIM_NAME: entry.as_str()}),
    }
    metadata["annotations"] = annotations;
    metadata["ownerReferences"] = json!([{
        "apiVersion": "v1", "kind": "Pod", "name": pod.name.as_str(), "uid": pod.uid.as_str(), "controller": true,
    }]);
    let row = Kind::ResourceClaim.row()?;
    let claim = (row.from_value)(Arc::new(claim)).ok()?;
    api.put(claim);
    Some(name)
}
