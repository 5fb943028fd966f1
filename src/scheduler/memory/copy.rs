//! [`MemoryCopy`]: what the scheduling thread copies, which is little for each pod, and the [`Memory`] that another thread
//! makes of it.

use super::known::amounts;
use super::{
    AssumedPod, Certainty, Instant, KnownObject, MarkLeft, Memory, NominatedPod, OpenEviction, QueueEntry,
    known_namespace, known_node, known_object, known_pod,
};
use crate::cache::PodState;
use crate::queue::{Copied, Queued};
use crate::view::stage_word;
use crate::{Profiles, Scheduler};
use bayplan_framework::PluginSet;
use bayplan_model::{PodKey, Resource, Snapshot, Symbol, Time};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// What a scheduler holds at one moment. It is made between two steps; everything that takes long is left for
/// [`MemoryCopy::memory`].
pub struct MemoryCopy {
    snapshot: Snapshot,
    profiles: Arc<Profiles>,
    now: Time,
    leads: bool,
    next_start: usize,
    queue: Vec<Copied>,
    assumed: Vec<(PodKey, PodState)>,
    stages: BTreeMap<PodKey, &'static str>,
    nominated: Vec<(PodKey, Symbol)>,
    evictions: Vec<(PodKey, Vec<PodKey>)>,
    marks: Vec<(PodKey, Symbol)>,
}

impl Scheduler {
    /// Copies what it holds. It costs a fork of the cluster and, for each queued pod, a copy of its record.
    pub fn copy_memory(&self) -> MemoryCopy {
        let mut queue = self.queue.copied();
        let in_flight = self.suspended.as_ref().map(|attempt| Copied::in_flight(attempt.queued()));
        queue.extend(in_flight);
        let stages = self.bindings.all().into_iter();
        let evictions = self.evictions.all();
        MemoryCopy {
            snapshot: self.fork(),
            profiles: self.profiles.clone(),
            now: self.now,
            leads: self.readiness.is_ready(),
            next_start: self.decider.next_start(),
            queue,
            assumed: self.cache.unseen(),
            stages: stages.map(|(pod, binding)| (pod.clone(), stage_word(&binding.stage))).collect(),
            nominated: self.nominations().map(|(pod, node)| (pod.clone(), node.clone())).collect(),
            evictions: evictions
                .map(|(pod, victims)| (pod.clone(), victims.into_iter().cloned().collect()))
                .collect(),
            marks: self.marks_left().map(|(pod, policy)| (pod.clone(), policy.clone())).collect(),
        }
    }
}

impl MemoryCopy {
    /// The cluster as the scheduler knew it.
    pub fn snapshot(&self) -> &Snapshot {
        &self.snapshot
    }

    fn at(&self, time: Time) -> Instant {
        Instant(self.snapshot.wall_clock(time))
    }

    /// Full name and UID of a pod; its key where it is not known.
    fn named(&self, key: &PodKey) -> (String, String) {
        self.snapshot.pod(key).map_or_else(
            || (key.0.to_string(), String::new()),
            |entry| (entry.pod.full_name(), entry.pod.uid.to_string()),
        )
    }

    /// All of it, without what policies remember.
    pub fn memory(&self) -> Memory {
        let name = |key: &PodKey| self.named(key).0;
        let evictions = self.evictions.iter().map(|(pod, victims)| OpenEviction {
            pod: name(pod),
            victims: victims.iter().map(name).collect(),
        });
        let marks =
            self.marks.iter().map(|(pod, policy)| MarkLeft { pod: name(pod), policy: policy.to_string() });
        let nominated = self.nominated.iter().map(|(key, node)| {
            let (pod, uid) = self.named(key);
            NominatedPod { pod, uid, node: node.to_string() }
        });
        Memory {
            program: String::new(),
            taken: self.at(self.now),
            leads: self.leads,
            next_start: self.next_start,
            policies: self.policies(),
            queue: self.queue(),
            assumed: self.assumed.iter().map(|(key, state)| self.assumed(key, state)).collect(),
            nominated: nominated.collect(),
            evictions: evictions.collect(),
            marks: marks.collect(),
            memos: Vec::new(),
            faults: self.faults(),
            nodes: self.snapshot.nodes().map(|node| known_node(node.node())).collect(),
            pods: self.pods(),
            others: self.others(),
        }
    }

    fn policies(&self) -> BTreeMap<String, u64> {
        let plugins = self.profiles.frameworks.iter().flat_map(|framework| framework.plugins());
        plugins
            .filter_map(|plugin| Some((plugin.name().to_owned(), plugin.rule_plugin()?.digest())))
            .collect()
    }

    fn queue(&self) -> Vec<QueueEntry> {
        let mut all: Vec<_> = self.queue.iter().map(|of| (of.order(&self.snapshot), of)).collect();
        all.sort_by(|one, other| one.0.cmp(&other.0));
        all.into_iter().map(|(_, of)| self.entry(of)).collect()
    }

    fn entry(&self, of: &Copied) -> QueueEntry {
        let Queued { info, hints, number, ready, attempted, .. } = &of.queued;
        let name = |id| hints.framework.plugin_name(id).to_owned();
        let names = |set: &PluginSet| set.iter().map(name).collect();
        let at = |time: Time| self.at(time);
        QueueEntry {
            pod: info.pod.full_name(),
            uid: info.pod.uid.to_string(),
            queue: of.place,
            arrival: *number,
            attempts: info.attempts,
            refusals: info.unschedulable_count,
            errors: info.consecutive_errors,
            added: at(info.added),
            since: at(info.timestamp),
            first_ready: info.initial_attempt.map(at),
            ready: at(*ready),
            attempted: attempted.map(at),
            until: of.until.map(at),
            alarm: of.alarm.map(at),
            refused_by: names(&info.unschedulable_plugins),
            pending: names(&info.pending_plugins),
            gate: info.gating_plugin.map(name),
            refused_late: info.refused_late,
            flushed: info.flushed,
            full_backoff: info.full_backoff,
            helped: info.helped,
        }
    }

    fn assumed(&self, key: &PodKey, state: &PodState) -> AssumedPod {
        let (pod, uid) = self.named(key);
        let about = self.snapshot.assumed_by(key).into_iter().map(|object| {
            let kind = object.kind.row().map_or("", |row| row.name);
            format!("{kind} {}", joined(&object.namespace, &object.name))
        });
        AssumedPod {
            pod,
            uid,
            node: state.node().map(ToString::to_string).unwrap_or_default(),
            state: match state {
                PodState::Unknown(_) => Certainty::Unknown,
                PodState::Told(_) | PodState::Bound(_) => Certainty::Confirmed,
                PodState::Assumed(_) | PodState::Pending => Certainty::Assumed,
            },
            stage: self.stages.get(key).copied().unwrap_or_default().to_owned(),
            since: self.snapshot.pod(key).and_then(|entry| entry.assumed_at).map(|at| self.at(at)),
            about: about.collect(),
        }
    }

    fn pods(&self) -> Vec<KnownObject> {
        let assumed: BTreeSet<&PodKey> = self.assumed.iter().map(|(key, _)| key).collect();
        let mut pods: Vec<KnownObject> = self
            .snapshot
            .pods()
            .map(|entry| {
                let row = entry.placed.filter(|_| !assumed.contains(&entry.pod.key));
                let node =
                    row.and_then(|(row, _)| self.snapshot.node(row)).map(|node| node.name().to_string());
                // Labels that a binding adds are not of the object yet.
                let own = entry.marked.as_ref().map_or(&entry.pod, |marked| marked.plain());
                KnownObject { node, ..known_pod(own) }
            })
            .collect();
        pods.sort_by(|one, other| (&one.object, &one.uid).cmp(&(&other.object, &other.uid)));
        pods
    }

    fn others(&self) -> Vec<KnownObject> {
        let mut all: Vec<KnownObject> = self.snapshot.namespaces().map(|of| known_namespace(of)).collect();
        for (kind, _) in self.snapshot.object_counts() {
            all.extend(self.snapshot.any_objects_seen(kind).filter_map(|object| known_object(&**object)));
        }
        all.sort_by(|one, other| (&one.kind, &one.object).cmp(&(&other.kind, &other.object)));
        all
    }

    /// What contradicts itself: each sum of a node is that of its pods.
    fn faults(&self) -> Vec<String> {
        let mut faults = Vec::new();
        for node in self.snapshot.nodes() {
            let mut sum = Resource::default();
            node.pods().for_each(|pod| sum.add(&pod.requests));
            let requested = |of: &Resource| amounts(&Resource { pods: 0, ..of.clone() });
            let (has, are) = (requested(node.requested()), requested(&sum));
            if has != are {
                faults.push(format!(
                    "node {}: its sum of requests is {has}, and its pods request {are}",
                    node.name()
                ));
            }
            for pod in node.pods() {
                let there = self.snapshot.pod(&pod.key).and_then(|entry| entry.placed);
                if there.is_none_or(|(row, _)| row != node.id()) {
                    faults.push(format!(
                        "node {} has the pod {}, which is not there",
                        node.name(),
                        pod.full_name()
                    ));
                }
            }
        }
        faults
    }
}

/// `namespace/name`, or the name.
pub(super) fn joined(namespace: &Symbol, name: &Symbol) -> String {
    if namespace.is_empty() { name.to_string() } else { format!("{namespace}/{name}") }
}
