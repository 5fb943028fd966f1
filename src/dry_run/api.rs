//! An API server in memory: objects with versions, watches by kind, and answers to the scheduler's
//! calls. The dry run and the tests' simulation use it; the caller chooses each [`Fault`].
//!
//! Source of the rules for binds: `pkg/registry/core/pod/storage/storage.go`.

use super::managed::Managed;
use bayplan_framework::{Answer, ApiCall, CallError, ConditionPatch, ObjectPart, PatchBody, merged};
use bayplan_model::{
    ApiObject, Duration, Kind, Namespace, Object, ObjectKey, PodInfo, PodMarks, ResourceClaim,
    ScheduledCondition, Symbol, Time, downcast, looked_up,
};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// An event of a watch.
#[derive(Clone, Debug)]
pub enum WatchEvent {
    /// An object was added or changed.
    Upserted(Object),
    /// An object was deleted.
    Deleted(ObjectKey),
}

/// How a call fails.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    /// Refused with this HTTP status; it had no effect. 429 asks for a pause of a second.
    Refuse(u16),
    /// It took effect and its answer is lost.
    LoseAnswer,
    /// It had no effect and its answer is lost.
    LoseCall,
}

/// A bind that the server accepted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Accepted {
    /// The pod.
    pub pod: ObjectKey,
    /// The node.
    pub node: Symbol,
    /// The resource version that it created.
    pub version: u64,
}

/// An API server in memory.
#[derive(Clone, Debug, Default)]
pub struct Api {
    version: u64,
    /// By kind, namespace and name.
    objects: BTreeMap<(Kind, Symbol, Symbol), Object>,
    log: Vec<(Kind, WatchEvent)>,
    binds: Vec<Accepted>,
    /// Pods that a call deletes and that are not gone yet.
    ending: BTreeSet<(Kind, Symbol, Symbol)>,
    /// Pods that a finalizer keeps.
    held: BTreeSet<(Kind, Symbol, Symbol)>,
    managed: Managed,
}

fn place(key: &ObjectKey) -> (Kind, Symbol, Symbol) {
    (key.kind.clone(), key.namespace.clone(), key.name.clone())
}

fn refused(code: u16, reason: &str, message: String) -> CallError {
    CallError::Refused { code, reason: reason.to_owned(), message }
}

impl Api {
    /// A server without objects.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds or changes an object; it gets the next version.
    pub fn put(&mut self, object: Object) {
        self.version += 1;
        let version = self.version.to_string().into_boxed_str();
        let object = match object {
            Object::Pod(pod) => {
                Object::Pod(Arc::new(PodInfo { resource_version: version, ..(*pod).clone() }))
            }
            Object::Node(node) => {
                let mut node = (*node).clone();
                node.resource_version = version;
                Object::Node(Arc::new(node))
            }
            Object::Other(object) => Object::Other(object.at_version(version)),
            Object::Namespace(namespace) => Object::Namespace(namespace),
        };
        self.log.push((object.kind(), WatchEvent::Upserted(object.clone())));
        let namespace = self.namespace_of(&object);
        self.objects.insert(place(&object.key()), object);
        if let Some(namespace) = namespace {
            self.put(Object::Namespace(Arc::new(namespace)));
        }
    }

    /// A namespace that policies look up too is here twice, as `ns` shows it and as `lookup` does: what is written to the
    /// one is written to the other.
    fn namespace_of(&self, object: &Object) -> Option<Namespace> {
        let Object::Other(object) = object else { return None };
        let of = looked_up(object.as_ref()).filter(|of| of.kind_name().to_string() == "v1/Namespace")?;
        let place = (Kind::Namespace, Symbol::default(), object.metadata().name.clone());
        let Some(Object::Namespace(known)) = self.objects.get(&place) else { return None };
        let mut namespace = (**known).clone();
        namespace.labels = of.labels().clone();
        namespace.annotations = of.annotations().clone();
        let raw = namespace.raw.as_mut().map(Arc::make_mut).and_then(|raw| raw.get_mut("metadata"));
        if let Some(metadata) = raw.and_then(Value::as_object_mut) {
            let labels = of.labels().iter().map(|(key, value)| (key.to_string(), value.to_string().into()));
            metadata.insert("labels".to_owned(), Value::Object(labels.collect()));
            let annotations = of.annotations().iter();
            let annotations = annotations.map(|(key, value)| (key.to_string(), value.to_string().into()));
            metadata.insert("annotations".to_owned(), Value::Object(annotations.collect()));
        }
        (namespace != **known).then_some(namespace)
    }

    /// Deletes an object at once. Whether there was one.
    pub fn delete(&mut self, key: &ObjectKey) -> bool {
        let Some(object) = self.objects.remove(&place(key)) else { return false };
        self.ending.remove(&place(key));
        self.held.remove(&place(key));
        self.managed.forget(&place(key));
        self.version += 1;
        self.log.push((object.kind(), WatchEvent::Deleted(object.key())));
        true
    }

    /// Sets whether a finalizer keeps a pod.
    pub fn hold(&mut self, key: &ObjectKey, on: bool) {
        match on {
            true => self.held.insert(place(key)),
            false => self.held.remove(&place(key)),
        };
    }

    /// The pods that a call deletes and that their kubelets may end: no finalizer keeps them. By namespace and name.
    pub fn ending(&self) -> Vec<ObjectKey> {
        let ending = self.ending.difference(&self.held);
        ending.filter_map(|place| self.objects.get(place)).map(Object::key).collect()
    }

    /// The kubelets end all pods that may end. Returns whether there was one.
    pub fn end_terminating(&mut self) -> bool {
        let ending = self.ending();
        ending.iter().for_each(|pod| {
            self.delete(pod);
        });
        !ending.is_empty()
    }

    /// An object by kind, namespace and name; the UID of `key` is not looked at.
    pub fn get(&self, key: &ObjectKey) -> Option<&Object> {
        self.objects.get(&place(key))
    }

    /// A pod.
    pub fn pod(&self, namespace: &str, name: &str) -> Option<&Arc<PodInfo>> {
        match self.objects.get(&(Kind::Pod, Symbol::new(namespace), Symbol::new(name))) {
            Some(Object::Pod(pod)) => Some(pod),
            _ => None,
        }
    }

    /// All pods, by namespace and name.
    pub fn pods(&self) -> impl Iterator<Item = &Arc<PodInfo>> {
        self.objects.values().filter_map(|object| match object {
            Object::Pod(pod) => Some(pod),
            _ => None,
        })
    }

    /// The pods of a namespace, by name.
    pub(crate) fn pods_in(&self, namespace: &Symbol) -> impl Iterator<Item = &Arc<PodInfo>> {
        let first = (Kind::Pod, namespace.clone(), Symbol::default());
        let pods = self.objects.range(first..).map_while(|(_, object)| match object {
            Object::Pod(pod) => Some(pod),
            _ => None,
        });
        pods.take_while(|pod| pod.namespace == *namespace)
    }

    /// All objects, by kind, namespace and name.
    pub fn objects(&self) -> impl Iterator<Item = &Object> {
        self.objects.values()
    }

    /// All objects of a kind, as a list gives them.
    pub fn list(&self, kind: &Kind) -> Vec<Object> {
        self.objects.values().filter(|object| object.kind() == *kind).cloned().collect()
    }

    /// What happened, oldest first. A watch of a kind that has seen the first `n` continues after them.
    pub fn log(&self) -> &[(Kind, WatchEvent)] {
        &self.log
    }

    /// The binds that were accepted, oldest first.
    pub fn binds(&self) -> &[Accepted] {
        &self.binds
    }

    /// Answers a call, with what goes wrong on the way.
    pub fn answer(&mut self, call: &ApiCall, now: Time, fault: Option<Fault>) -> Result<Answer, CallError> {
        match fault {
            None => self.carry_out(call, now),
            Some(Fault::Refuse(code)) => {
                let text = match code {
                    409 => "Operation cannot be fulfilled: the object has been modified",
                    429 => "the server has received too many requests",
                    404 => "not found",
                    _ => "the server could not do it",
                };
                let message = text.to_owned();
                Err(match code {
                    429 => CallError::Retry { after: Duration::from_seconds(1), message },
                    500 | 502 | 503 | 504 => CallError::Unknown(message),
                    code => refused(code, "Refused", message),
                })
            }
            Some(Fault::LoseAnswer) => {
                let _ = self.carry_out(call, now);
                Err(CallError::Unknown("context deadline exceeded".to_owned()))
            }
            Some(Fault::LoseCall) => Err(CallError::Unknown("context deadline exceeded".to_owned())),
        }
    }

    fn carry_out(&mut self, call: &ApiCall, now: Time) -> Result<Answer, CallError> {
        match call {
            ApiCall::Read(key) => Ok(Answer::Object(self.get(key).cloned())),
            ApiCall::Extender { .. } => {
                Err(CallError::Unknown(String::from("an API server in memory has no extenders")))
            }
            ApiCall::Bind { pod, node, marks } => self.bind(pod, node, marks, now),
            ApiCall::PatchStatus { pod, patch } => self.patch(pod, patch, now),
            ApiCall::Patch { of, part, version, body } => {
                self.patch_object(of, *part, version.as_deref(), body)
            }
            ApiCall::Delete { of } => self.delete_gracefully(of, now),
            ApiCall::Create { of, object } => self.create(of, object),
        }
    }

    /// Creates an object with a UID of its own.
    fn create(&mut self, key: &ObjectKey, object: &Value) -> Result<Answer, CallError> {
        let kind = plural(&key.kind);
        if self.get(key).is_some() {
            return Err(refused(
                409,
                "AlreadyExists",
                format!("{kind} {:?} already exists", key.name.as_str()),
            ));
        }
        let mut object = object.clone();
        let uid = format!("{}-{}-{}", key.namespace, key.name, self.version + 1);
        if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.insert(String::from("uid"), uid.as_str().into());
        }
        let invalid =
            |error: String| refused(422, "Invalid", format!("{kind} {:?} is invalid: {error}", key.name));
        let row = key.kind.row().ok_or_else(|| invalid(String::from("unknown kind")))?;
        let object = (row.from_value)(Arc::new(object)).map_err(|error| invalid(error.to_string()))?;
        self.put(object);
        Ok(Answer::Created { uid: Symbol::new(&uid), version: self.version.to_string().into_boxed_str() })
    }

    /// The object that is meant, by its UID.
    fn meant(&self, key: &ObjectKey) -> Result<Object, CallError> {
        let (kind, name) = (plural(&key.kind), &key.name);
        let Some(object) = self.get(key) else {
            return Err(refused(404, "NotFound", format!("{kind} {name:?} not found")));
        };
        let uid = object.key().uid;
        if key.uid.is_empty() || uid == key.uid {
            return Ok(object.clone());
        }
        let text = format!(
            "Operation cannot be fulfilled on {kind} {name:?}: Precondition failed: UID in precondition: {}, UID in \
             object meta: {uid}",
            key.uid
        );
        Err(refused(409, "Conflict", text))
    }

    /// The pod that is meant, by its UID.
    fn pod_of(&self, key: &ObjectKey) -> Result<Arc<PodInfo>, CallError> {
        match self.meant(key)? {
            Object::Pod(pod) => Ok(pod),
            _ => Err(refused(404, "NotFound", format!("pods {:?} not found", key.name))),
        }
    }

    /// Whether a finalizer keeps the object.
    fn is_kept(&self, object: &dyn ApiObject) -> bool {
        downcast::<ResourceClaim>(object).is_some_and(|claim| !claim.finalizers.is_empty())
    }

    /// A pod on a node goes when its kubelet has ended it, a pod or a claim of devices with a finalizer when nothing keeps
    /// it, any other object at once.
    fn delete_gracefully(&mut self, key: &ObjectKey, now: Time) -> Result<Answer, CallError> {
        let object = self.meant(key)?;
        match object {
            Object::Pod(pod) if pod.node_name.is_some() || self.held.contains(&place(key)) => {
                if !pod.is_terminating() {
                    self.put(Object::Pod(Arc::new(PodInfo { deleted: Some(now), ..(*pod).clone() })));
                }
                self.ending.insert(place(key));
            }
            Object::Other(object) if self.is_kept(object.as_ref()) => {
                if let Some(claim) = downcast::<ResourceClaim>(object.as_ref()) {
                    let mut claim = claim.clone();
                    claim.metadata.deleted.get_or_insert(now);
                    self.put(Object::Other(Arc::new(claim)));
                }
            }
            _ => {
                self.delete(key);
            }
        }
        Ok(Answer::Done)
    }

    fn patch_object(
        &mut self,
        key: &ObjectKey,
        part: ObjectPart,
        version: Option<&str>,
        body: &PatchBody,
    ) -> Result<Answer, CallError> {
        let object = self.meant(key)?;
        self.same_version(key, version.unwrap_or_default(), object.version())?;
        let mut kept = None;
        let patched = match body {
            PatchBody::Apply(intent) => {
                let managed = kept.insert(self.managed.clone());
                merged(&managed.apply(place(key), part, intent), &object)
            }
            body => body.applied(&object),
        };
        let Some(patched) = patched else {
            let text = format!("{} {:?} has no such field", plural(&key.kind), key.name);
            return Err(refused(422, "Invalid", text));
        };
        self.managed = kept.unwrap_or_else(|| std::mem::take(&mut self.managed));
        let claim = match &patched {
            Object::Other(object) => downcast::<ResourceClaim>(object.as_ref()),
            _ => None,
        };
        if claim.is_some_and(|claim| claim.allocation.is_none() && !claim.reserved_for.is_empty()) {
            let text = "status.reservedFor: Forbidden: may not be specified when `allocated` is not set";
            return Err(refused(422, "Invalid", text.to_owned()));
        }
        let goes = claim.is_some_and(|claim| claim.metadata.deleted.is_some() && claim.finalizers.is_empty());
        self.put(patched);
        if goes {
            self.delete(key);
        }
        Ok(Answer::Written { version: self.version.to_string().into_boxed_str() })
    }

    /// Whether an object is at the version that a write needs; any version when it needs none.
    fn same_version(&self, key: &ObjectKey, needed: &str, found: &str) -> Result<(), CallError> {
        if needed.is_empty() || needed == found {
            return Ok(());
        }
        let text = format!(
            "Operation cannot be fulfilled on {} {:?}: the object has been modified; please apply your changes to \
             the latest version and try again",
            plural(&key.kind),
            key.name.as_str()
        );
        Err(refused(409, "Conflict", text))
    }

    fn bind(
        &mut self,
        key: &ObjectKey,
        node: &Symbol,
        marks: &PodMarks,
        now: Time,
    ) -> Result<Answer, CallError> {
        let pod = self.pod_of(key)?;
        let name = &key.name;
        let conflict = |text: String| {
            let text = format!("Operation cannot be fulfilled on pods/binding {name:?}: {text}");
            refused(409, "Conflict", text)
        };
        if pod.deleted.is_some() {
            return Err(conflict(format!("pod {name} is being deleted, cannot be assigned to a host")));
        }
        if let Some(node) = &pod.node_name {
            return Err(conflict(format!("pod {name} is already assigned to node {node:?}")));
        }
        if !pod.scheduling_gates.is_empty() {
            return Err(conflict(format!("pod {name} has non-empty .spec.schedulingGates")));
        }
        let mut pod = marks.laid_over(&pod);
        pod.node_name = Some(node.clone());
        pod.nominated_node = None;
        pod.scheduled_condition = Some(Box::new(condition("True", "", "", now)));
        self.put(Object::Pod(Arc::new(pod)));
        self.binds.push(Accepted { pod: key.clone(), node: node.clone(), version: self.version });
        Ok(Answer::Done)
    }

    fn patch(&mut self, key: &ObjectKey, patch: &ConditionPatch, now: Time) -> Result<Answer, CallError> {
        let pod = self.pod_of(key)?;
        self.same_version(key, &patch.resource_version, &pod.resource_version)?;
        let mut pod = (*pod).clone();
        if let Some(node) = &patch.nominated_node {
            pod.nominated_node = Some(node.clone()).filter(|node| !node.is_empty());
        }
        if patch.removes_condition() {
            pod.scheduled_condition = None;
        } else if let Some(reason) = patch.reason {
            pod.scheduled_condition = Some(Box::new(condition("False", reason, &patch.message, now)));
        }
        self.put(Object::Pod(Arc::new(pod)));
        Ok(Answer::Done)
    }
}

/// The name of a kind in messages and paths.
fn plural(kind: &Kind) -> &'static str {
    kind.row().map_or("", |row| row.plural)
}

fn condition(status: &str, reason: &str, message: &str, now: Time) -> ScheduledCondition {
    (Symbol::new(status), Symbol::new(reason), message.into(), Some(now))
}
