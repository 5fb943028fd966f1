//! PreBind: writes what Reserve assumed, one object after another, and waits until the volume controller has bound the
//! claims.
//!
//! The answers of the controller are seen by watches: the claim names a volume and has the annotation of a completed
//! binding, or has lost the annotation of the selected node, which means that provisioning failed. What was written is
//! never taken back.
//!
//! Source: `pkg/scheduler/framework/plugins/volumebinding/binder.go`, `BindPodVolumes`, `checkBindings`.

use super::VolumeBinding;
use super::reserve::{Chosen, Write};
use crate::volumes::migration;
use bayplan_framework::{
    Actor, Answer, ApiCall, BindTask, CallError, Handle, ObjectPart, PreBind, PreFlight, Status, TaskPoll,
    Wake,
};
use bayplan_model::{
    CsiNode, Duration, Kind, Node, NodeId, ObjectKey, PersistentVolume, PersistentVolumeClaim, Snapshot,
    Symbol, Time,
};

/// What the wait says when its time is up.
const TIMED_OUT: &str = "context deadline exceeded";

impl PreBind for VolumeBinding {
    fn pre_flight(&self, h: &Handle, _: NodeId) -> Result<PreFlight, Status> {
        match h.state::<Chosen>() {
            Some(_) => Ok(PreFlight::Run { parallel: true }),
            None => Ok(PreFlight::Skip),
        }
    }

    fn start(&self, a: &mut Actor, node: NodeId) -> Result<Box<dyn BindTask>, Status> {
        let chosen = a.slot().get::<Chosen>().cloned().ok_or_else(|| {
            let name = a.handle().snapshot.node(node).map(|node| node.name().to_string()).unwrap_or_default();
            Status::error(format!("no pod volume found for node {name:?}"))
        })?;
        Ok(Box::new(Binding { chosen, at: 0, timeout: self.bind_timeout, until: None }))
    }
}

/// The binding of the volumes of one pod.
#[derive(Clone, Debug)]
struct Binding {
    chosen: Chosen,
    /// The write that is under way.
    at: usize,
    /// How long the controller may take.
    timeout: Duration,
    /// When it has taken too long; `None` while objects are written.
    until: Option<Time>,
}

impl BindTask for Binding {
    fn poll(&mut self, a: &mut Actor, wake: &Wake) -> Result<TaskPoll, Status> {
        match wake {
            Wake::Start | Wake::Changed(_) => {}
            Wake::Answer(_, Ok(answer)) => self.written(a, answer)?,
            Wake::Answer(_, Err(error)) => return Err(Status::error(text_of(error))),
            Wake::Deadline => return Err(failed(TIMED_OUT)),
        }
        match self.until {
            Some(until) => self.wait(&a.handle(), until),
            None if matches!(wake, Wake::Changed(_)) => {
                Ok(TaskPoll::Pending { until: None, watch: Vec::new() })
            }
            None => self.write(a),
        }
    }

    fn fork(&self) -> Box<dyn BindTask> {
        Box::new(self.clone())
    }
}

fn failed(text: &str) -> Status {
    Status::error(format!("binding volumes: {text}"))
}

fn text_of(error: &CallError) -> &str {
    match error {
        CallError::Refused { message, .. }
        | CallError::Unknown(message)
        | CallError::Retry { message, .. } => message,
    }
}

impl Binding {
    /// Notes the answer to the write that is under way.
    fn written(&mut self, a: &mut Actor, answer: &Answer) -> Result<(), Status> {
        let Answer::Written { version } = answer else {
            return Err(Status::error("the API server did not answer with the object"));
        };
        let Some(write) = self.chosen.writes.get_mut(self.at) else { return Ok(()) };
        write.written = true;
        a.written(write.object(), version);
        let at = self.at;
        if let Some(chosen) = a.slot().get_mut::<Chosen>()
            && let Some(write) = chosen.writes.get_mut(at)
        {
            write.written = true;
        }
        self.at += 1;
        Ok(())
    }

    /// Sends the next write; after the last one the wait begins.
    fn write(&mut self, a: &mut Actor) -> Result<TaskPoll, Status> {
        while let Some(write) = self.chosen.writes.get(self.at) {
            let Some(body) = write.body.clone() else {
                // The volume names the claim already.
                self.at += 1;
                continue;
            };
            let (of, version) = (write.object().clone(), write.version());
            a.call(ApiCall::Patch { of, part: ObjectPart::Object, version, body });
            return Ok(TaskPoll::Pending { until: None, watch: Vec::new() });
        }
        if self.timeout == Duration::default() {
            return Err(failed(TIMED_OUT));
        }
        let until = a.now + self.timeout;
        self.until = Some(until);
        self.wait(&a.handle(), until)
    }

    fn wait(&self, h: &Handle, until: Time) -> Result<TaskPoll, Status> {
        if self.is_bound(h).map_err(|text| failed(&text))? {
            return Ok(TaskPoll::Done);
        }
        Ok(TaskPoll::Pending { until: Some(until), watch: self.watch(h.snapshot) })
    }

    /// What can change the answer of [`Binding::is_bound`].
    fn watch(&self, snapshot: &Snapshot) -> Vec<ObjectKey> {
        let cluster = |kind, name: &Symbol| ObjectKey {
            kind,
            namespace: Symbol::default(),
            name: name.clone(),
            uid: Symbol::default(),
        };
        let mut watch =
            vec![cluster(Kind::Node, &self.chosen.node), cluster(Kind::CsiNode, &self.chosen.node)];
        for write in &self.chosen.writes {
            watch.extend(write.volume.clone());
            watch.push(write.claim.clone());
            let (ns, name) = (&write.claim.namespace, &write.claim.name);
            let claim = snapshot.object_seen::<PersistentVolumeClaim>(ns, name);
            if let Some(claim) = claim.filter(|claim| !claim.volume.is_empty()) {
                watch.push(cluster(Kind::PersistentVolume, &claim.volume));
            }
        }
        watch
    }

    /// Whether all claims are bound, as the API server shows them. `Err`: they will not be.
    fn is_bound(&self, h: &Handle) -> Result<bool, String> {
        let (snapshot, name) = (h.snapshot, self.chosen.node.as_str());
        let node = snapshot.node_by_name(&self.chosen.node).and_then(|id| snapshot.node(id));
        let node = node.ok_or_else(|| format!("failed to get node {name:?}: node {name:?} not found"))?;
        for write in &self.chosen.writes {
            let bound = match &write.volume {
                Some(volume) => self.is_taken(h, write, volume, node.node())?,
                None => self.is_provisioned(h, write, node.node())?,
            };
            if !bound {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Whether a claim is bound to the volume that it was to take.
    fn is_taken(&self, h: &Handle, write: &Write, volume: &ObjectKey, node: &Node) -> Result<bool, String> {
        let (snapshot, name) = (h.snapshot, volume.name.as_str());
        let seen = snapshot.object_seen::<PersistentVolume>(&Symbol::default(), &volume.name);
        let seen =
            seen.ok_or_else(|| format!("failed to check binding: persistentvolumes {name:?} not found"))?;
        let claim = claim_seen(snapshot, &write.claim)
            .map_err(|error| format!("failed to check binding: {error}"))?;
        if is_older(h, volume) {
            return Ok(false);
        }
        check_node(snapshot, seen, node, "failed to translate pv to csi: ")?;
        if seen.claim.as_ref().is_none_or(|to| to.uid.is_empty()) {
            return Err(format!("ClaimRef got reset for pv {name:?}"));
        }
        Ok(claim.is_bound())
    }

    /// Whether a volume was provisioned for a claim and bound to it.
    fn is_provisioned(&self, h: &Handle, write: &Write, node: &Node) -> Result<bool, String> {
        let snapshot = h.snapshot;
        let claim = claim_seen(snapshot, &write.claim)
            .map_err(|error| format!("failed to check provisioning pvc: {error}"))?;
        if is_older(h, &write.claim) {
            return Ok(false);
        }
        let name = claim.metadata.name.as_str();
        if !claim.annotated {
            return Err(format!("selectedNode annotation reset for PVC {name:?}"));
        }
        if claim.selected_node.as_ref() != Some(&self.chosen.node) {
            return Err(format!("provisioning failed for PVC {name:?}"));
        }
        if !claim.volume.is_empty() {
            // The watch of volumes may be behind that of claims.
            let volume = snapshot.object_seen::<PersistentVolume>(&Symbol::default(), &claim.volume);
            let Some(volume) = volume else { return Ok(false) };
            check_node(snapshot, volume, node, "")?;
        }
        Ok(claim.is_bound())
    }
}

/// A claim as the API server shows it.
fn claim_seen<'s>(snapshot: &'s Snapshot, claim: &ObjectKey) -> Result<&'s PersistentVolumeClaim, String> {
    let seen = snapshot.object_seen::<PersistentVolumeClaim>(&claim.namespace, &claim.name);
    let not_found =
        || format!("persistentvolumeclaims {:?} not found", format!("{}/{}", claim.namespace, claim.name));
    seen.map(|claim| &**claim).ok_or_else(not_found)
}

/// Whether the watch still shows the object as it was before the pod's write.
fn is_older(h: &Handle, object: &ObjectKey) -> bool {
    h.snapshot.assumptions(object).iter().any(|assumption| assumption.by == h.pod.key)
}

/// Complains about a volume that is not for the node. `prefix` precedes an error of the translation to CSI.
fn check_node(
    snapshot: &Snapshot,
    volume: &PersistentVolume,
    node: &Node,
    prefix: &str,
) -> Result<(), String> {
    let csi_node = snapshot.object::<CsiNode>(&Symbol::default(), &node.name);
    let affinity = migration::affinity_on(volume, csi_node.map(|csi_node| &**csi_node));
    let Some(affinity) = affinity.map_err(|error| format!("{prefix}{error}"))? else { return Ok(()) };
    let why = match affinity.matches(&Symbol::default(), &node.labels) {
        Ok(true) => return Ok(()),
        Ok(false) => String::from("no matching NodeSelectorTerms"),
        Err(error) => error.to_string(),
    };
    let (volume, node) = (volume.metadata.name.as_str(), node.name.as_str());
    Err(format!("pv {volume:?} node affinity doesn't match node {node:?}: {why}"))
}
