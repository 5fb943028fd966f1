//! Reserve and Unreserve: the pod assumes what it will write about the volumes of its node.
//!
//! Source: `pkg/scheduler/framework/plugins/volumebinding/binder.go`, `AssumePodVolumes`, `RevertAssumedPodVolumes`;
//! `component-helpers/storage/volume/pv_helpers.go`, `GetBindVolumeToClaim`.

use super::VolumeBinding;
use super::claims::{Claims, DelayedClaim};
use super::find::find;
use bayplan_framework::{Actor, Handle, PatchBody, Reserve, Status};
use bayplan_model::{ApiObject, NodeId, Object, ObjectKey, PersistentVolume, Symbol};
use std::sync::Arc;

/// One object that must be bound or provisioned before the pod is bound.
#[derive(Clone, Debug)]
pub(super) struct Write {
    /// The claim.
    pub(super) claim: ObjectKey,
    /// The volume that the claim takes; `None`: one is provisioned.
    pub(super) volume: Option<ObjectKey>,
    /// What is written to the volume, or else to the claim; `None`: the volume names the claim already.
    pub(super) body: Option<PatchBody>,
    /// The version that the object must have.
    version: Box<str>,
    /// Whether the API server has taken it.
    pub(super) written: bool,
}

/// What the pod writes about the volumes of its node; what PreBind needs.
#[derive(Clone, Debug)]
pub(super) struct Chosen {
    pub(super) node: Symbol,
    /// Volumes first, then claims; each in the order in which Filter found them.
    pub(super) writes: Vec<Write>,
}

impl Write {
    /// The object that is written.
    pub(super) fn object(&self) -> &ObjectKey {
        self.volume.as_ref().unwrap_or(&self.claim)
    }

    pub(super) fn version(&self) -> Option<Box<str>> {
        Some(self.version.clone()).filter(|version| !version.is_empty())
    }

    /// A claim takes a volume.
    fn binds(of: &DelayedClaim, volume: &PersistentVolume) -> Self {
        let claim = &of.claim.metadata;
        let named = volume.is_for(claim);
        let exact = named && volume.claim.as_ref().is_some_and(|to| to.uid == claim.uid);
        let body = PatchBody::ClaimRef {
            claim: of.claim.key(),
            version: claim.version.clone(),
            by_controller: !named && !volume.bound_by_controller,
        };
        Self {
            claim: of.claim.key(),
            volume: Some(volume.key()),
            body: Some(body).filter(|_| !exact),
            version: volume.metadata.version.clone(),
            written: exact,
        }
    }

    /// A volume is provisioned for a claim, for a node.
    fn provisions(of: &DelayedClaim, node: &Symbol) -> Self {
        Self {
            claim: of.claim.key(),
            volume: None,
            body: Some(PatchBody::SelectedNode { node: node.clone() }),
            version: of.claim.metadata.version.clone(),
            written: false,
        }
    }

    /// The object as it will be.
    fn assumed(&self, object: Arc<dyn ApiObject>) -> Option<Arc<dyn ApiObject>> {
        match self.body.as_ref()?.applied(&Object::Other(object))? {
            Object::Other(object) => Some(object),
            _ => None,
        }
    }
}

/// Objects as a pod will write them.
type Assumed = Vec<Arc<dyn ApiObject>>;

/// What the pod has to write for a node, with the objects as they will be. `None`: all claims are bound. Fails where
/// Filter refuses the node.
fn choose(h: &Handle, node: NodeId) -> Result<Option<(Chosen, Assumed)>, Status> {
    // PreFilter may have seen an earlier cluster, when the attempt waited for an answer.
    let claims = match Claims::of(h)? {
        Some(claims) if !claims.delayed.is_empty() => claims,
        _ => return Ok(None),
    };
    let Some(node) = h.snapshot.node(node) else { return Ok(None) };
    let found = find(h.snapshot, &claims, node.node()).map_err(Status::error)?;
    let found = found.map_err(|conflicts| conflicts.status())?;
    let mut chosen = Chosen { node: node.name().clone(), writes: Vec::new() };
    let mut assumed = Assumed::new();
    for (at, volume) in &found.existing {
        let Some(of) = claims.delayed.get(*at) else { continue };
        // The index may hold an earlier version that differs in nothing that is read.
        let newest = h.snapshot.object::<PersistentVolume>(&Symbol::default(), &volume.metadata.name);
        let volume = newest.unwrap_or(volume);
        let write = Write::binds(of, volume);
        assumed.extend(write.assumed(volume.clone()));
        chosen.writes.push(write);
    }
    for at in found.provisioned {
        let Some(of) = claims.delayed.get(at) else { continue };
        let write = Write::provisions(of, &chosen.node);
        // Two volumes of a pod may name one claim.
        if chosen.writes.iter().any(|other| other.volume.is_none() && other.claim == write.claim) {
            continue;
        }
        assumed.extend(write.assumed(of.claim.clone()));
        chosen.writes.push(write);
    }
    Ok(Some((chosen, assumed)))
}

impl Reserve for VolumeBinding {
    fn reserve(&self, a: &mut Actor, node: NodeId) -> Result<(), Status> {
        let Some((chosen, assumed)) = choose(&a.handle(), node)? else { return Ok(()) };
        a.slot().put(chosen);
        assumed.into_iter().for_each(|object| a.assume(object));
        Ok(())
    }

    fn unreserve(&self, a: &mut Actor, _: NodeId) {
        let Some(chosen) = a.slot().get::<Chosen>() else { return };
        // What was written stays assumed until the watch shows it: no other pod may take a volume that names a claim.
        let assumed = chosen.writes.iter().filter(|write| write.body.is_some());
        let mut objects: Vec<ObjectKey> = assumed.map(|write| write.object().clone()).collect();
        let h = a.handle();
        objects.retain(|object| {
            let mut own = h.snapshot.assumptions(object).iter().filter(|of| of.by == h.pod.key);
            own.any(|of| of.written.is_none())
        });
        objects.iter().for_each(|object| a.unassume(object));
    }
}
