//! Handles added, changed and deleted objects: first the cache, then the queue and the events that may help waiting
//! pods. A pod of our profiles goes to the queue or to its binding, by its state before and after.

use super::Scheduler;
use super::cache::{PodState, Seen};
use super::calls::object_key;
use super::queue::{QueuePlace, Scope};
use bayplan_framework::{ActionType, ClusterEvent, EventObjects, EventResource};
use bayplan_model::{
    ApiObject, Assumption, Change, Kind, NodeId, Object, ObjectKey, PodInfo, PodKey, Reading, Symbol, Time,
    VersionRow, at_or_above,
};
use rustc_hash::FxHashSet;
use std::sync::Arc;

impl Scheduler {
    pub(super) fn upserted(&mut self, object: Object, now: Time) {
        self.object_changed(&key_of(&object));
        match object {
            Object::Pod(pod) => self.pod_seen(pod, now),
            Object::Node(node) => {
                let old = self.cache.see_node(node.clone());
                let events = ClusterEvent::of_node(old.as_ref(), Some(&node));
                for event in events.into_iter().chain(ClusterEvent::of_rest_of_node(old.as_ref(), &node)) {
                    self.move_all(&event, &Scope::default(), now);
                }
            }
            Object::Namespace(namespace) => {
                let old = self.cache.snapshot.namespace(&namespace.name).cloned();
                let change = Change::NamespaceUpserted { namespace: namespace.clone() };
                self.cache.snapshot.apply(change);
                for event in ClusterEvent::of_namespace(old.as_ref(), Some(&namespace)) {
                    self.move_all(&event, &Scope::default(), now);
                }
            }
            Object::Other(object) => {
                let old = self.object_named(&object.key());
                self.cache.snapshot.apply(Change::ObjectSeen { object: object.clone() });
                // An object that took the place of a namesake is new.
                let old = old.filter(|old| old.metadata().uid == object.metadata().uid);
                if let Some(event) = ClusterEvent::of_object(old.as_ref(), Some(&object)) {
                    self.move_all(&event, &Scope::default(), now);
                }
            }
        }
    }

    pub(super) fn deleted(&mut self, key: &ObjectKey, now: Time) {
        self.object_changed(key);
        match key.kind {
            Kind::Pod => {
                let Some(pod) = self.cache.pod_named(&key.namespace, &key.name).cloned() else { return };
                // The end of a namesake that was replaced meanwhile is known already.
                let other = self.cache.pod(&pod).is_some_and(|pod| pod.uid != key.uid);
                if key.uid.is_empty() || !other {
                    self.pod_left(&pod, now);
                }
            }
            Kind::Node => self.node_gone(&key.name, now),
            Kind::Namespace => {
                let Some(old) = self.cache.snapshot.namespace(&key.name).cloned() else { return };
                self.cache.snapshot.apply(Change::NamespaceRemoved { name: key.name.clone() });
                for event in ClusterEvent::of_namespace(Some(&old), None) {
                    self.move_all(&event, &Scope::default(), now);
                }
            }
            _ => {
                let snapshot = &self.cache.snapshot;
                // What was made by a binding may be gone before a watch showed it.
                let made = || snapshot.assumptions(key).last().map(Assumption::object);
                let Some(old) = snapshot.any_object_seen(key).or_else(made).cloned() else { return };
                self.cache.snapshot.apply(Change::ObjectGone { key: key.clone() });
                if let Some(event) = ClusterEvent::of_object(Some(&old), None) {
                    self.move_all(&event, &Scope::default(), now);
                }
            }
        }
    }

    /// The API server lacks a kind: the gates of pods that wait for its objects are evaluated again.
    pub(super) fn not_served(&mut self, kind: &Kind, now: Time) {
        self.cache.snapshot.set_served(kind, false);
        for pod in self.queue.all() {
            if self.queue.is_gated(&pod) {
                self.queue.activate(&pod, &self.cache.snapshot, now);
            }
        }
    }

    /// Handles a relist after a broken watch: deletes the objects that the list does not have.
    pub(super) fn relisted(&mut self, kind: &Kind, all: Vec<Object>, now: Time) {
        self.cache.snapshot.set_served(kind, true);
        match kind {
            Kind::Pod => {
                let listed: FxHashSet<&PodKey> = all
                    .iter()
                    .filter_map(|object| match object {
                        Object::Pod(pod) => Some(&pod.key),
                        _ => None,
                    })
                    .collect();
                let known = self.cache.pods().into_iter().map(|(key, _)| key);
                let gone: Vec<PodKey> = known.filter(|key| !listed.contains(key)).cloned().collect();
                for pod in gone {
                    self.pod_left(&pod, now);
                }
            }
            Kind::Node => {
                let listed: FxHashSet<&Symbol> = all
                    .iter()
                    .filter_map(|object| match object {
                        Object::Node(node) => Some(&node.name),
                        _ => None,
                    })
                    .collect();
                let known = self.cache.snapshot.nodes().map(|node| node.name());
                let gone: Vec<Symbol> = known.filter(|name| !listed.contains(name)).cloned().collect();
                for name in gone {
                    self.node_gone(&name, now);
                }
            }
            Kind::Namespace => {
                let listed: FxHashSet<&Symbol> = all
                    .iter()
                    .filter_map(|object| match object {
                        Object::Namespace(namespace) => Some(&namespace.name),
                        _ => None,
                    })
                    .collect();
                let known = self.cache.snapshot.namespaces().map(|namespace| &namespace.name);
                let gone: Vec<Symbol> = known.filter(|name| !listed.contains(name)).cloned().collect();
                for name in gone {
                    self.deleted(&cluster_key(Kind::Namespace, &name, &Symbol::default()), now);
                }
            }
            kind => {
                let listed: FxHashSet<ObjectKey> = all.iter().map(Object::key).collect();
                let known = self.cache.snapshot.any_objects_seen(kind).map(|object| object.key());
                let gone: Vec<ObjectKey> = known.filter(|key| !listed.contains(key)).collect();
                for key in gone {
                    self.deleted(&key, now);
                }
            }
        }
        // The list is at least as new as each object in it.
        let versions = all.iter().filter_map(|object| match object {
            Object::Other(object) => Some(Box::<str>::from(object.version())),
            _ => None,
        });
        let newest = versions.reduce(|newest, version| match at_or_above(&version, &newest) {
            true => version,
            false => newest,
        });
        for object in all {
            self.upserted(object, now);
        }
        if let Some(newest) = newest {
            for key in self.cache.snapshot.awaited_until(kind, &newest) {
                self.deleted(&key, now);
            }
        }
    }

    /// The metrics API was polled. Where metrics are known, a poll is an event, also one without readings: what is known
    /// grows older.
    pub(super) fn metrics_polled(&mut self, readings: Arc<[Reading]>, now: Time) {
        let before = self.cache.snapshot.generation();
        self.cache.snapshot.apply(Change::Metrics { at: now, readings });
        if self.cache.snapshot.generation() != before {
            let (resource, action) = (EventResource::NodeMetrics, ActionType::UPDATE_OTHER);
            let event = ClusterEvent::of(resource, action, EventObjects::None);
            self.move_all(&event, &Scope::default(), now);
        }
    }

    /// The object that has the name of a key, whatever its UID.
    fn object_named(&self, key: &ObjectKey) -> Option<Arc<dyn ApiObject>> {
        let key = ObjectKey { uid: Symbol::default(), ..key.clone() };
        self.cache.snapshot.any_object_seen(&key).cloned()
    }

    fn node_gone(&mut self, name: &Symbol, now: Time) {
        let Some(old) = self.cache.remove_node(name) else { return };
        for event in ClusterEvent::of_node(Some(&old), None) {
            self.move_all(&event, &Scope::default(), now);
        }
    }

    fn pod_seen(&mut self, pod: Arc<PodInfo>, now: Time) {
        if pod.is_finished() {
            // A finished pod takes no room and waits for nothing.
            self.pod_failed(&pod, now);
            return self.pod_gone(&pod.key, now);
        }
        if pod.node_name.is_some() {
            self.marks_seen(&pod, now);
        }
        if pod.is_terminating() {
            self.eviction_sees_end(&pod.key, false, now);
        }
        // Kubelets often write the status of running pods. A change that no plugin or rule can read makes no event.
        if pod.node_name.is_some()
            && !self.bindings.contains(&pod.key)
            && self.cache.snapshot.refresh_pod(&pod)
        {
            return;
        }
        let namesake =
            self.cache.pod_named(&pod.namespace, &pod.name).filter(|key| **key != pod.key).cloned();
        if let Some(namesake) = namesake {
            self.pod_gone(&namesake, now);
        }
        self.hold_wants(&pod);
        let key = pod.key.clone();
        let seen = self.cache.see(pod.clone());
        self.outbox.seen(&object_key(&pod));
        if let PodState::Bound(node) = &seen.after {
            return self.bound_seen(&pod, &seen, &node.clone(), now);
        }
        let version = self.cache.snapshot.version_rows();
        let events = match &seen.old {
            // An update that changes only fields we wrote ourselves is not an event.
            Some(old) if is_the_same(old, &pod) => Vec::new(),
            old => ClusterEvent::of_pod(old.as_ref(), Some(&pod), version),
        };
        if seen.after == PodState::Pending {
            let served = self.hints_of(&pod).is_some();
            let while_gated = version.has(VersionRow::GatedNominations);
            if served && while_gated {
                self.nomination_seen(&pod, seen.old.as_ref(), now);
            }
            if self.queue.contains(&key) || self.bindings.contains(&key) {
                self.queue.update(pod.clone(), &events, &self.cache.snapshot, now);
            } else if let Some(hints) = self.hints_of(&pod)
                && !seen.old.as_ref().is_some_and(|old| old.is_terminating() && pod.is_terminating())
            {
                // A pod whose end is known already stays out of the queue.
                self.queue.add(pod.clone(), hints, &self.cache.snapshot, now);
            }
            if served && !while_gated {
                self.nomination_past_gates(&pod, seen.old.as_ref(), now);
            }
        } else if seen.after.is_assumed() {
            self.queue.update(pod.clone(), &events, &self.cache.snapshot, now);
            if pod.is_terminating() {
                self.settled(&key);
            }
        }
        let changed_here = match (seen.old, seen.after.node()) {
            // It holds room before a watch shows it there, and a change of it counts like that of a bound pod.
            (Some(old), Some(node)) if !events.is_empty() => {
                let old = Arc::new(PodInfo { node_name: Some(node.clone()), ..(*old).clone() });
                ClusterEvent::of_pod(Some(&old), self.as_it_is_here(&key).as_ref(), version)
            }
            _ => Vec::new(),
        };
        let others = Scope { except: Some(key), ..Scope::default() };
        for event in events.into_iter().map(ClusterEvent::for_others).chain(changed_here) {
            self.move_all(&event, &others, now);
        }
    }

    /// Handles a pod that the watch shows on its node.
    fn bound_seen(&mut self, pod: &Arc<PodInfo>, seen: &Seen, node: &Symbol, now: Time) {
        if seen.before == PodState::Pending {
            self.binding_seen(pod, node);
        }
        self.preemptor_landed(pod, node, now);
        let promised = self.cache.nominator.get(&pod.key).cloned();
        self.cache.nominator.set(pod, None, &mut self.cache.snapshot);
        let placed = self.cache.snapshot.node_by_name(node);
        self.promise_ended(pod, promised, placed, now);
        if let Some(queued) = self.queue.remove(&pod.key) {
            self.queue.done(&queued.info.pod.key);
        }
        // It may have moved away from where we took it to be.
        if seen.before.node().is_some_and(|before| before != node)
            && let Some(old) = &seen.old
        {
            let before = seen.before.node().cloned();
            let old = Arc::new(PodInfo { node_name: before, ..(**old).clone() });
            self.freed(&old, &Scope::default(), now);
        }
        let version = self.cache.snapshot.version_rows();
        let old = seen.old.as_ref().filter(|_| matches!(&seen.before, PodState::Bound(at) if at == node));
        let actions = ClusterEvent::actions_of_pod(old.map(|pod| &**pod), Some(pod), version);
        if self.queue.wants(EventResource::AssignedPod, actions) {
            for event in ClusterEvent::of_pod(old, Some(pod), version) {
                self.move_all(&event, &Scope::default(), now);
            }
        }
        self.settled(&pod.key);
    }

    /// As [`Scheduler::nomination_seen`] in 1.36, where a pod that a gate holds has no nomination.
    fn nomination_past_gates(&mut self, pod: &Arc<PodInfo>, old: Option<&Arc<PodInfo>>, now: Time) {
        if self.queue.is_gated(&pod.key) {
            return;
        }
        let entered = self.cache.nominator.get(&pod.key).is_some();
        self.nomination_seen(pod, old.filter(|_| entered || pod.nominated_node.is_none()), now);
    }

    fn nomination_seen(&mut self, pod: &Arc<PodInfo>, old: Option<&Arc<PodInfo>>, now: Time) {
        let before = old.and_then(|old| old.nominated_node.clone());
        if old.is_none() || before != pod.nominated_node {
            self.nominate(pod, pod.nominated_node.as_ref(), now);
        } else if let Some(node) = self.cache.nominator.get(&pod.key).cloned() {
            self.cache.nominator.set(pod, Some(&node), &mut self.cache.snapshot);
        }
        if let (Some(old), Some(_)) = (old, before.filter(|node| pod.nominated_node.as_ref() != Some(node))) {
            let up_to_priority = self.kept_off_up_to(old);
            let scope = Scope { except: Some(pod.key.clone()), up_to_priority, ..Scope::default() };
            self.freed(old, &scope, now);
        }
    }

    /// A watch that leaves finished pods out shows this one no more.
    fn pod_left(&mut self, key: &PodKey, now: Time) {
        let untouched = self.untouched(key);
        self.pod_gone(key, now);
        if let Some(pod) = untouched {
            self.read_end(&pod);
        }
    }

    pub(super) fn pod_gone(&mut self, key: &PodKey, now: Time) {
        self.eviction_sees_end(key, true, now);
        self.surroundings.preemptor_gone(key);
        self.marks_gone(key);
        let promised = self.cache.nominator.get(key).cloned();
        let Some((pod, state)) = self.cache.remove_pod(key) else { return };
        self.queue.remove(key);
        self.let_wants_go(key);
        self.outbox.gone(&object_key(&pod));
        match state.node() {
            Some(node) => {
                let pod = Arc::new(PodInfo { node_name: Some(node.clone()), ..(*pod).clone() });
                self.freed(&pod, &Scope::default(), now);
                self.wake_nominees(node, now);
            }
            None => {
                let objects = EventObjects::Pod { old: Some(pod.clone()), new: None };
                let event = ClusterEvent::of(EventResource::UnschedulablePod, ActionType::DELETE, objects);
                self.move_all(&event, &Scope::default(), now);
                let nominated_node = promised.or_else(|| pod.nominated_node.clone());
                if nominated_node.is_some() {
                    // The nomination in memory may be ahead of the one in the status.
                    let pod = Arc::new(PodInfo { nominated_node, ..(*pod).clone() });
                    let scope = Scope { up_to_priority: self.kept_off_up_to(&pod), ..Scope::default() };
                    self.freed(&pod, &scope, now);
                }
            }
        }
        self.settled(key);
    }

    /// A pod on the node ended. A nominee waits for that, whatever refused it since its nomination: until it is tried, its
    /// nomination keeps others off.
    fn wake_nominees(&mut self, node: &Symbol, now: Time) {
        let Some(row) = self.cache.snapshot.node_by_name(node) else { return };
        let nominees = self.cache.snapshot.nominated(row).iter().map(|pod| pod.key.clone());
        for key in nominees.collect::<Vec<PodKey>>() {
            if self.queue_place(&key) == Some(QueuePlace::Unschedulable) {
                self.queue.activate_after_backoff(&key, &self.cache.snapshot, now);
            }
        }
    }

    /// A nominated pod was placed on another node: wakes pods that its nomination kept off the nominated node.
    /// Upstream emits no event here; its pods wait for the periodic flush.
    pub(super) fn promise_ended(
        &mut self,
        pod: &Arc<PodInfo>,
        promised: Option<Symbol>,
        placed: Option<NodeId>,
        now: Time,
    ) {
        let Some(promised) = promised else { return };
        let at = self.cache.snapshot.node_by_name(&promised);
        if at.is_some() && at != placed {
            let up_to_priority = self.kept_off_up_to(pod);
            let scope = Scope { except: Some(pod.key.clone()), up_to_priority, ..Scope::default() };
            let old = PodInfo { node_name: None, nominated_node: Some(promised), ..(**pod).clone() };
            self.freed(&Arc::new(old), &scope, now);
        }
    }

    /// The highest priority of the pods that a nomination may keep off its node; `None`: any, where rules name victims.
    fn kept_off_up_to(&self, promised: &PodInfo) -> Option<i32> {
        let rules = self.profiles.frameworks.iter().any(|framework| framework.may_name_victims());
        (!rules).then_some(promised.priority)
    }

    /// Emits the event that resources which `pod` had, or was nominated for, are free.
    pub(super) fn freed(&mut self, pod: &Arc<PodInfo>, scope: &Scope, now: Time) {
        let objects = EventObjects::Pod { old: Some(pod.clone()), new: None };
        let event = ClusterEvent::of(EventResource::AssignedPod, ActionType::DELETE, objects);
        self.move_all(&event, scope, now);
    }
}

/// Whether a pod without a node changed only in resource version, condition and nomination.
fn is_the_same(old: &PodInfo, new: &PodInfo) -> bool {
    let spec = |pod: &PodInfo| pod.raw.as_ref().and_then(|raw| raw.get("spec").cloned());
    let alike = PodInfo {
        resource_version: new.resource_version.clone(),
        generation: new.generation,
        scheduled_condition: new.scheduled_condition.clone(),
        nominated_node: new.nominated_node.clone(),
        raw: new.raw.clone(),
        ..old.clone()
    };
    alike == *new && spec(old) == spec(new)
}

/// Names an object.
fn key_of(object: &Object) -> ObjectKey {
    match object {
        Object::Pod(pod) => object_key(pod),
        Object::Node(node) => cluster_key(Kind::Node, &node.name, &node.uid),
        Object::Namespace(namespace) => cluster_key(Kind::Namespace, &namespace.name, &Symbol::default()),
        Object::Other(object) => object.key(),
    }
}

fn cluster_key(kind: Kind, name: &Symbol, uid: &Symbol) -> ObjectKey {
    ObjectKey { kind, namespace: Symbol::default(), name: name.clone(), uid: uid.clone() }
}
