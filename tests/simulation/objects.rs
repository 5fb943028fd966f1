//! Objects of the other kinds of the table: drawn at random, assumed by pods that are being bound, and compared with
//! those of the server.

use crate::moves::What;
use crate::world::World;
use crate::{devices, volumes};
use bayplan::framework::{
    Actor, Answer, ApiCall, BindTask, Handle, Plugin, PreBind, PreFlight, Reads, Reserve, Status, TaskPoll,
    Wake,
};
use bayplan::model::objects::projection::Projection;
use bayplan::model::{
    KINDS, Kind, KindName, KindRow, Labels, LookedUp, NodeId, Object, ObjectKey, ResourceClaim, Service,
    Snapshot, Symbol,
};
use serde_json::json;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What is drawn besides when there are objects of other kinds.
pub(crate) const OBJECTS: &[(What, u64)] =
    &[(What::PutObject, 10), (What::DeleteObject, 2), (What::Deliver, 15), (What::Relist, 2)];

/// The kind that policies look up.
const DESK: &str = "example.com/v1/Desk";

/// The same as a kind.
pub(crate) fn desks() -> Kind {
    Kind::LookedUp(KindName::parse(DESK).unwrap())
}

/// The kinds that are drawn.
pub(crate) fn others() -> Vec<&'static KindRow> {
    KINDS.iter().filter(|row| !matches!(row.kind, Kind::Pod | Kind::Node | Kind::Namespace)).collect()
}

/// An object of a kind: one of a few names, with one of a few contents.
fn draw(row: &KindRow, name: &str, uid: &str, with: u64) -> Object {
    let app = ["web", "db", "cache"][(with % 3) as usize];
    let namespace = if row.namespaced { json!("default") } else { json!(null) };
    let selector = match row.kind {
        Kind::Service | Kind::ReplicationController => json!({"app": app}),
        _ => json!({"matchLabels": {"app": app}}),
    };
    let value = json!({
        "apiVersion": row.api_version(), "kind": row.name,
        "metadata": {
            "name": name, "namespace": namespace, "uid": uid, "labels": {"topology.kubernetes.io/zone": app},
            "annotations": {"volume.kubernetes.io/selected-node": app},
        },
        "provisioner": app, "storageClassName": app, "capacity": "1Gi",
        "spec": {
            "selector": selector, "storageClassName": app, "volumeName": app, "attacher": app, "nodeName": app,
            "source": {"persistentVolumeName": app}, "drivers": [{"name": app, "nodeID": app}],
            "capacity": {"storage": "1Gi"}, "storageCapacity": with.is_multiple_of(2),
        },
        "status": {"disruptionsAllowed": with % 5, "phase": app},
    });
    (row.from_value)(Arc::new(value)).unwrap_or_else(|error| panic!("{}: {error}", row.name))
}

impl World {
    /// Whether the scheduler watches a kind besides.
    pub(crate) fn watches(&self, kind: &Kind) -> bool {
        let devices = self.options.devices && devices::KINDS.contains(kind);
        devices || self.options.objects || self.options.volumes && volumes::KINDS.contains(kind)
    }

    /// The kinds that the scheduler watches.
    pub(crate) fn kinds(&self) -> Vec<Kind> {
        let others = others().into_iter().filter(|row| self.watches(&row.kind));
        let looked_up = Some(desks()).filter(|_| self.options.policies);
        [Kind::Pod, Kind::Node, Kind::Namespace]
            .into_iter()
            .chain(looked_up)
            .chain(others.map(|row| row.kind.clone()))
            .collect()
    }

    /// One of them.
    pub(crate) fn kind(&self, with: u64) -> Kind {
        let kinds = self.kinds();
        kinds[with as usize % kinds.len()].clone()
    }

    /// A user makes or changes an object.
    pub(crate) fn put_object(&mut self, with: u64) {
        let rows = others();
        // Services more often: pods assume something about them.
        let service = || rows.iter().position(|row| row.kind == Kind::Service);
        let at = if (with / 7).is_multiple_of(2) { service() } else { None };
        let row = rows[at.unwrap_or((with / 16) as usize % rows.len())];
        let name = format!("o{}", with / 256 % 4);
        let known = self.names(&row.kind).into_iter().find(|key| *key.name == *name);
        self.objects_made += 1;
        let uid = known.map_or_else(|| format!("object-{}", self.objects_made), |key| key.uid.to_string());
        self.api.put(draw(row, &name, &uid, with / 1024));
    }

    /// A user makes, changes or deletes an object that policies look up.
    pub(crate) fn change_desk(&mut self, with: u64) {
        let kind = KindName::parse(DESK).unwrap();
        let name = ["x", "y", "z"][(with % 3) as usize];
        let known = self.names(&desks()).into_iter().find(|key| key.name.as_str() == name);
        if (with / 3).is_multiple_of(4) {
            if let Some(key) = known {
                self.api.delete(&key);
            }
            return;
        }
        self.objects_made += 1;
        let uid = known.map_or_else(|| format!("desk-{}", self.objects_made), |key| key.uid.to_string());
        let tier = ["gold", "tin"][(with / 16 % 2) as usize];
        let open = ["yes", "no"][(with / 32 % 2) as usize];
        let desk = json!({
            "metadata": {
                "name": name, "namespace": "default", "uid": uid, "labels": {"tier": tier},
                "annotations": {"open": open, "other": (with / 64 % 2).to_string()},
            },
            "spec": {"room": with / 128 % 3, "rest": with / 512 % 2},
        });
        let desk = LookedUp::new(&kind, desk, &Projection::everything()).unwrap();
        self.api.put(Object::Other(Arc::new(desk)));
    }

    pub(crate) fn delete_object(&mut self, with: u64) {
        let rows = others();
        if let Some(key) = self.pick(&rows[with as usize % rows.len()].kind, with) {
            self.api.delete(&key);
        }
    }

    /// What is assumed about objects belongs to a pod that is being bound, or was written and is not seen yet.
    pub(crate) fn assumptions_belong_to_bindings(&self) -> Result<(), String> {
        let s = &self.scheduler;
        let (mut objects, mut assumptions) = (0, 0);
        for row in others() {
            for object in s.snapshot().any_objects_seen(&row.kind) {
                objects += 1;
                for assumption in s.snapshot().assumptions(&object.key()) {
                    assumptions += 1;
                    if assumption.written.is_none() && !s.is_binding(&assumption.by) {
                        return Err(format!("19: {:?} assumes {object:?}", assumption.by));
                    }
                }
            }
        }
        // Claims of extended resources are assumed before they are seen.
        for claim in s.snapshot().objects::<ResourceClaim>() {
            let key = bayplan::model::ApiObject::key(&**claim);
            if s.snapshot().any_object_seen(&key).is_none() {
                objects += 1;
                let assumed = s.snapshot().assumptions(&key);
                assumptions += assumed.len();
                if let Some(of) = assumed.iter().find(|of| of.written.is_none() && !s.is_binding(&of.by)) {
                    return Err(format!("19: {:?} assumes {key:?}", of.by));
                }
            }
        }
        objects += s.snapshot().object_count(&desks());
        let kept = s.snapshot().kept();
        match (kept.objects, kept.assumptions) == (objects, assumptions) {
            true => Ok(()),
            false => Err(format!("19: {kept:?} are not {objects} objects and {assumptions} assumptions")),
        }
    }

    /// At rest the scheduler has the objects of the server, and nothing is assumed.
    pub(crate) fn objects_are_those_of_the_server(&self) -> Result<(), String> {
        let s = self.scheduler.snapshot();
        if s.kept().assumptions > 0 {
            return Err(format!("20: {} assumptions are kept at rest", s.kept().assumptions));
        }
        for row in others().into_iter().filter(|row| self.watches(&row.kind)) {
            let ours = s.any_objects_seen(&row.kind);
            let ours: BTreeMap<ObjectKey, String> =
                ours.map(|object| (object.key(), object.version().to_owned())).collect();
            let theirs = self.api.list(&row.kind).into_iter().filter_map(|object| match object {
                Object::Other(object) => Some((object.key(), object.version().to_owned())),
                _ => None,
            });
            let theirs: BTreeMap<ObjectKey, String> = theirs.collect();
            if ours != theirs {
                return Err(format!("20: {} are {ours:?}, and the server has {theirs:?}", row.plural));
            }
        }
        for entry in s.pods() {
            let name = |service: &Arc<Service>| service.metadata.name.clone();
            let found: Vec<Symbol> = s.selecting::<Service>(&entry.pod).map(name).collect();
            let all = s.objects_in::<Service>(&entry.pod.namespace);
            let labels = &entry.pod.labels;
            let selects = |service: &&Arc<Service>| bayplan::model::Selects::selects(&***service, labels);
            let all: Vec<Symbol> = all.filter(selects).map(name).collect();
            if found != all {
                return Err(format!("20: {found:?} select {}, not {all:?}", entry.pod.name));
            }
        }
        Ok(())
    }
}

/// Takes a Service while a pod is being bound, and reads it before the binding as if it had written it. It forgets to give
/// some of them back.
pub(crate) struct Claimer;

impl Claimer {
    /// The Service of a pod.
    fn service(snapshot: &Snapshot, pod: &Symbol) -> Option<Arc<Service>> {
        let number: u64 = pod.trim_start_matches(|c: char| !c.is_ascii_digit()).parse().unwrap_or(0);
        snapshot.object::<Service>(&"default".into(), &Symbol::from(format!("o{}", number % 4))).cloned()
    }

    fn key(service: &Service) -> ObjectKey {
        bayplan::model::ApiObject::key(service)
    }
}

impl Plugin for Claimer {
    fn name(&self) -> &str {
        "Claimer"
    }
    fn reads(&self) -> Reads {
        Reads::default()
    }
    bayplan::serves!(Reserve, PreBind);
}

impl Reserve for Claimer {
    fn reserve(&self, a: &mut Actor, _: NodeId) -> Result<(), Status> {
        if let Some(service) = Self::service(a.handle().snapshot, &a.pod.name) {
            let selector = Labels::from_iter([("taken".into(), a.pod.name.clone())]);
            a.assume(Arc::new(Service { selector, ..(*service).clone() }));
        }
        Ok(())
    }

    fn unreserve(&self, a: &mut Actor, _: NodeId) {
        let service = Self::service(a.handle().snapshot, &a.pod.name);
        if let Some(service) = service.filter(|_| !a.pod.name.ends_with('3')) {
            a.unassume(&Self::key(&service));
        }
    }
}

impl PreBind for Claimer {
    fn pre_flight(&self, h: &Handle, _: NodeId) -> Result<PreFlight, Status> {
        Ok(match Self::service(h.snapshot, &h.pod.name) {
            Some(_) => PreFlight::Run { parallel: true },
            None => PreFlight::Skip,
        })
    }
    fn start(&self, a: &mut Actor, _: NodeId) -> Result<Box<dyn BindTask>, Status> {
        let service = Self::service(a.handle().snapshot, &a.pod.name);
        Ok(Box::new(Claim(service.map(|service| Self::key(&service)))))
    }
}

#[derive(Clone)]
struct Claim(Option<ObjectKey>);

impl BindTask for Claim {
    fn poll(&mut self, a: &mut Actor, wake: &Wake) -> Result<TaskPoll, Status> {
        let Some(key) = &self.0 else { return Ok(TaskPoll::Done) };
        match wake {
            Wake::Start => {
                let _ = a.call(ApiCall::Read(key.clone()));
                Ok(TaskPoll::Pending { until: None, watch: Vec::new() })
            }
            Wake::Answer(_, answer) => {
                if let Ok(Answer::Object(Some(Object::Other(object)))) = answer {
                    a.written(key, object.version());
                }
                Ok(TaskPoll::Done)
            }
            _ => Ok(TaskPoll::Pending { until: None, watch: Vec::new() }),
        }
    }
    fn fork(&self) -> Box<dyn BindTask> {
        Box::new(self.clone())
    }
}
