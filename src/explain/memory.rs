//! Where the memory of a scheduler differs from the objects that the API server had at the same time.
//!
//! The memory is copied after the objects were listed. So an object of which the scheduler has a newer version, or that is
//! newer than all that were listed, does not differ: it changed in between. One of which it has an older version does.

use bayplan_dry_run::World;
use bayplan_model::{Kind, Object, PodInfo, Symbol, VersionRows};
use bayplan_scheduler::memory::{
    KnownObject, Memory, Place, key_of, known_namespace, known_node, known_object, known_pod,
};
use rustc_hash::{FxHashMap, FxHashSet};
use serde::Serialize;
use std::collections::BTreeSet;
use std::sync::Arc;

/// One difference.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
pub struct Difference {
    /// `pod`, `node`, `assumption`, `queue`, or the kind of another object; `cache` for what contradicts itself.
    pub of: String,
    /// The object.
    pub object: String,
    /// What differs, as a sentence without its subject.
    pub what: String,
}

/// What is compared with the objects of a snapshot.
pub struct Compared<'a> {
    /// What the scheduler remembered.
    pub memory: &'a Memory,
    /// The objects.
    pub world: &'a World,
    /// As which version requests count.
    pub rows: VersionRows,
    /// The version of this program, as [`Memory::program`] has it.
    pub program: &'a str,
    /// The kinds of other objects that the scheduler watches.
    pub kinds: &'a [Kind],
    /// Whether a profile serves the pod.
    pub ours: &'a dyn Fn(&PodInfo) -> bool,
}

/// All differences, ordered.
pub fn differences(of: &Compared<'_>) -> Vec<Difference> {
    let mut found = BTreeSet::new();
    found.extend(of.memory.faults.iter().map(|fault| Difference {
        of: "cache".to_owned(),
        object: String::new(),
        what: fault.clone(),
    }));
    of.nodes(&mut found);
    of.pods(&mut found);
    of.queue(&mut found);
    of.namespaces(&mut found);
    of.others(&mut found);
    found.into_iter().collect()
}

fn difference(of: &str, object: &str, what: impl Into<String>) -> Difference {
    Difference { of: of.to_owned(), object: object.to_owned(), what: what.into() }
}

/// A version as a number; API servers count with them, though clients are to take them for texts.
fn number(version: &str) -> Option<u64> {
    version.parse().ok()
}

/// Whether the scheduler has a newer version than the API server had when objects were listed.
fn is_newer(known: &str, listed: &str) -> bool {
    matches!((number(known), number(listed)), (Some(known), Some(listed)) if known > listed)
}

impl Compared<'_> {
    /// How a known object differs from the listed one; `None` if it does not, or is newer.
    fn changed(&self, known: &KnownObject, listed: &KnownObject, further: Option<String>) -> Option<String> {
        if is_newer(&known.version, &listed.version) {
            return None;
        }
        let names: BTreeSet<&String> = known.fields.keys().chain(listed.fields.keys()).collect();
        let text = |of: &KnownObject, name: &String| -> String {
            match of.fields.get(name).map(String::as_str) {
                None => "none".to_owned(),
                Some(digest) if digest.starts_with('#') => "others".to_owned(),
                Some(text) => text.to_owned(),
            }
        };
        let comparable = |of: &KnownObject, name: &String| {
            let digest = of.fields.get(name).is_some_and(|text| text.starts_with('#'));
            !digest || self.memory.program == self.program
        };
        let fields = names.into_iter().filter(|name| known.fields.get(*name) != listed.fields.get(*name));
        let fields = fields.filter(|name| comparable(known, name) && comparable(listed, name));
        let fields = fields.map(|name| match (text(known, name), text(listed, name)) {
            (own, theirs) if own == theirs => format!("its {name} differ"),
            (own, theirs) => format!("{name} {own}; the API server: {theirs}"),
        });
        let all: Vec<String> = further.into_iter().chain(fields).collect();
        let age = match known.version == listed.version
            || known.version.is_empty()
            || listed.version.is_empty()
        {
            true => String::new(),
            false => format!(" (it has version {}, and the API server {})", known.version, listed.version),
        };
        (!all.is_empty()).then(|| format!("{}{age}", all.join("; ")))
    }

    fn nodes(&self, found: &mut BTreeSet<Difference>) {
        let nodes = self.world.objects.iter().filter_map(|object| match object {
            Object::Node(node) => Some(known_node(node)),
            _ => None,
        });
        let listed: Vec<KnownObject> = nodes.collect();
        let newest = listed.iter().filter_map(|of| number(&of.version)).max();
        let by_name: FxHashMap<&str, &KnownObject> =
            listed.iter().map(|of| (of.object.as_str(), of)).collect();
        for known in &self.memory.nodes {
            match by_name.get(known.object.as_str()) {
                Some(listed) => {
                    let another = known.uid != listed.uid && !listed.uid.is_empty();
                    let another = another.then(|| "it is another node of this name".to_owned());
                    let what = self.changed(known, listed, another);
                    found.extend(what.map(|what| difference("node", &known.object, what)));
                }
                None if is_later(&known.version, newest) => {}
                None => drop(found.insert(difference("node", &known.object, GONE))),
            }
        }
        let known: FxHashSet<&str> = self.memory.nodes.iter().map(|of| of.object.as_str()).collect();
        let missing = listed.iter().filter(|of| !known.contains(of.object.as_str()));
        found.extend(missing.map(|of| difference("node", &of.object, UNKNOWN)));
    }

    fn all_pods(&self) -> impl Iterator<Item = &Arc<PodInfo>> {
        let placed = self.world.objects.iter().filter_map(|object| match object {
            Object::Pod(pod) => Some(pod),
            _ => None,
        });
        placed.chain(&self.world.pending)
    }

    fn pods(&self, found: &mut BTreeSet<Difference>) {
        let listed: FxHashMap<_, &Arc<PodInfo>> = self.all_pods().map(|pod| (pod.key.clone(), pod)).collect();
        let newest = listed.values().filter_map(|pod| number(&pod.resource_version)).max();
        let assumed: FxHashMap<_, &str> =
            self.memory.assumed.iter().map(|of| (key_of(&of.uid, &of.pod), of.node.as_str())).collect();
        let mut known = FxHashSet::default();
        for of in &self.memory.pods {
            let key = key_of(&of.uid, &of.object);
            let assumed_on = assumed.get(&key).copied();
            match listed.get(&key) {
                Some(pod) => {
                    let node = pod.node_name.as_ref().map(Symbol::as_str);
                    let own = of.node.as_deref().or(assumed_on);
                    let elsewhere = (own != node).then(|| {
                        let words = |node: Option<&str>| {
                            node.map_or("no node".to_owned(), |node| format!("node {node}"))
                        };
                        let assumed = if assumed_on.is_some() { "assumed on " } else { "" };
                        format!("{assumed}{}; the API server: {}", words(own), words(node))
                    });
                    let theirs = known_pod(&(*pod).clone().counted(self.rows));
                    let what = self.changed(of, &theirs, elsewhere);
                    found.extend(what.map(|what| difference("pod", &of.object, what)));
                }
                None if is_later(&of.version, newest) => {}
                None => match assumed_on {
                    Some(node) => {
                        let what = format!("on {node}: the API server has no such pod");
                        found.insert(difference("assumption", &of.object, what));
                    }
                    None => drop(found.insert(difference("pod", &of.object, GONE))),
                },
            }
            known.insert(key);
        }
        for of in self.memory.assumed.iter().filter(|of| !known.contains(&key_of(&of.uid, &of.pod))) {
            let what = format!("on {}: the scheduler itself knows no such pod", of.node);
            found.insert(difference("assumption", &of.pod, what));
        }
        let missing = listed.iter().filter(|(key, _)| !known.contains(*key));
        found.extend(missing.map(|(_, pod)| difference("pod", &pod.full_name(), UNKNOWN)));
    }

    /// A pod that waits is in a queue, and a pod in a queue waits.
    fn queue(&self, found: &mut BTreeSet<Difference>) {
        let queued: FxHashMap<_, Place> =
            self.memory.queue.iter().map(|of| (key_of(&of.uid, &of.pod), of.queue)).collect();
        let assumed: FxHashSet<_> = self.memory.assumed.iter().map(|of| key_of(&of.uid, &of.pod)).collect();
        let known: FxHashSet<_> = self.memory.pods.iter().map(|of| key_of(&of.uid, &of.object)).collect();
        let waits = |pod: &&Arc<PodInfo>| {
            !pod.is_terminating()
                && known.contains(&pod.key)
                && !assumed.contains(&pod.key)
                && (self.ours)(pod)
        };
        for pod in self.world.pending.iter().filter(waits) {
            let bound =
                self.memory.pods.iter().any(|of| of.node.is_some() && key_of(&of.uid, &of.object) == pod.key);
            if !queued.contains_key(&pod.key) && !bound {
                found.insert(difference(
                    "queue",
                    &pod.full_name(),
                    "it waits for a node, and is in no queue",
                ));
            }
        }
        for of in &self.memory.queue {
            let key = key_of(&of.uid, &of.pod);
            if !known.contains(&key) {
                found.insert(difference(
                    "queue",
                    &of.pod,
                    "it is queued, and the scheduler itself knows no such pod",
                ));
            }
        }
    }

    fn namespaces(&self, found: &mut BTreeSet<Difference>) {
        let known = self.memory.others.iter().filter(|of| of.kind == "Namespace");
        let known: FxHashMap<&str, &KnownObject> = known.map(|of| (of.object.as_str(), of)).collect();
        for object in &self.world.objects {
            let Object::Namespace(of) = object else { continue };
            if self.world.assumed.contains(&of.name) {
                continue;
            }
            let what = match known.get(of.name.as_str()) {
                Some(known) => self.changed(known, &known_namespace(of), None),
                None => Some(UNKNOWN.to_owned()),
            };
            found.extend(what.map(|what| difference("Namespace", &of.name, what)));
        }
    }

    fn others(&self, found: &mut BTreeSet<Difference>) {
        let mut listed: FxHashMap<(String, String), KnownObject> = FxHashMap::default();
        let mut newest: FxHashMap<String, u64> = FxHashMap::default();
        for object in &self.world.objects {
            let Object::Other(of) = object else { continue };
            let watched = self.kinds.contains(&of.kind());
            let Some(of) = watched.then(|| known_object(&**of)).flatten() else { continue };
            if let Some(version) = number(&of.version) {
                let most = newest.entry(of.kind.clone()).or_default();
                *most = version.max(*most);
            }
            listed.insert((of.kind.clone(), of.object.clone()), of);
        }
        // Namespaces are compared by their labels, too.
        let others = self.kinds.iter().filter(|kind| **kind != Kind::Namespace);
        let names: FxHashSet<&str> = others.filter_map(|kind| Some(kind.row()?.name)).collect();
        let mut known = FxHashSet::default();
        for of in self.memory.others.iter().filter(|of| names.contains(of.kind.as_str())) {
            let key = (of.kind.clone(), of.object.clone());
            match listed.get(&key) {
                Some(theirs) => {
                    let known = !theirs.uid.is_empty() && !of.uid.is_empty();
                    let another = known && theirs.uid != of.uid;
                    let another = another.then(|| "it is another object of this name".to_owned());
                    let what = self.changed(of, theirs, another);
                    found.extend(what.map(|what| difference(&of.kind, &of.object, what)));
                }
                None if is_later(&of.version, newest.get(&of.kind).copied()) => {}
                None => drop(found.insert(difference(&of.kind, &of.object, GONE))),
            }
            known.insert(key);
        }
        let missing = listed.keys().filter(|key| !known.contains(*key));
        found.extend(missing.map(|(kind, object)| difference(kind, object, UNKNOWN)));
    }
}

const GONE: &str = "the scheduler knows it, and the API server has no such object";
const UNKNOWN: &str = "the scheduler does not know it";

/// Whether an object is newer than all that were listed of its kind: it came after.
fn is_later(version: &str, newest: Option<u64>) -> bool {
    match (number(version), newest) {
        (Some(version), Some(newest)) => version > newest,
        _ => false,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use bayplan_model::objects::{node, pod};
    use bayplan_scheduler::memory::{AssumedPod, QueueEntry};
    use serde_json::json;

    fn world() -> World {
        let node = |name: &str, version: &str, team: &str| -> Object {
            let object = json!({
                "metadata": {"name": name, "uid": name, "resourceVersion": version, "labels": {"team": team}},
                "status": {"allocatable": {"cpu": "4", "pods": "10"}},
            });
            let object: node::Node = serde_json::from_value(object).unwrap();
            Object::Node(Arc::new(bayplan_model::Node::from_object(&object).unwrap()))
        };
        let pod = |name: &str, version: &str, on: Option<&str>| -> Object {
            let object = json!({
                "metadata": {"name": name, "namespace": "x", "uid": name, "resourceVersion": version},
                "spec": {"nodeName": on, "containers": [{"resources": {"requests": {"cpu": "1"}}}]},
            });
            let object: pod::Pod = serde_json::from_value(object).unwrap();
            Object::Pod(Arc::new(PodInfo::from_object(&object).unwrap()))
        };
        let claim = json!({
            "metadata": {"name": "gpu", "namespace": "x", "uid": "gpu", "resourceVersion": "14"},
            "spec": {"devices": {"requests": [{"name": "one", "exactly": {"deviceClassName": "gpu"}}]}},
        });
        let claim = (Kind::ResourceClaim.row().unwrap().from_value)(Arc::new(claim)).unwrap();
        [
            node("n1", "10", "a"),
            node("n2", "20", "b"),
            pod("runs", "11", Some("n1")),
            pod("waits", "12", None),
            pod("assumed", "13", Some("n2")),
            claim,
        ]
        .into_iter()
        .collect()
    }

    /// The memory of a scheduler that is right about the world.
    fn memory(world: &World) -> Memory {
        let mut memory = Memory::default();
        for object in &world.objects {
            match object {
                Object::Node(node) => memory.nodes.push(known_node(node)),
                Object::Pod(pod) => {
                    let node = pod.node_name.as_ref().map(ToString::to_string);
                    memory.pods.push(KnownObject { node, ..known_pod(pod) });
                }
                Object::Other(of) => memory.others.extend(known_object(&**of)),
                _ => {}
            }
        }
        memory.pods.extend(world.pending.iter().map(|pod| known_pod(pod)));
        let assumed = memory.pods.iter_mut().find(|of| of.object == "x/assumed").unwrap();
        assumed.node = None;
        memory.assumed.push(AssumedPod {
            pod: "x/assumed".into(),
            uid: "assumed".into(),
            node: "n2".into(),
            ..AssumedPod::default()
        });
        memory.queue.push(QueueEntry { pod: "x/waits".into(), uid: "waits".into(), ..QueueEntry::default() });
        memory
    }

    fn said(memory: &Memory, world: &World) -> Vec<String> {
        let of = Compared {
            memory,
            world,
            rows: VersionRows::default(),
            program: "",
            kinds: &[Kind::ResourceClaim],
            ours: &|_| true,
        };
        differences(&of).into_iter().map(|of| format!("{} {}: {}", of.of, of.object, of.what)).collect()
    }

    #[test]
    fn a_memory_that_is_right_differs_in_nothing() {
        let world = world();
        assert_eq!(said(&memory(&world), &world), [""; 0]);
    }

    #[test]
    fn each_fault_of_a_memory_is_found() {
        let world = world();
        let after = |change: &dyn Fn(&mut Memory)| {
            let mut memory = memory(&world);
            change(&mut memory);
            said(&memory, &world)
        };
        let node = |name: &'static str| move |of: &KnownObject| of.object == name;
        let missing = after(&|memory| memory.nodes.retain(|of| !node("n1")(of)));
        assert_eq!(missing, ["node n1: the scheduler does not know it"]);
        let differs = after(&|memory| {
            memory.nodes[0].fields.insert("labels".into(), "team=z".into());
        });
        assert_eq!(differs, ["node n1: labels team=z; the API server: team=a"]);
        let old = after(&|memory| {
            memory.nodes[0].fields.insert("unschedulable".into(), "true".into());
            memory.nodes[0].version = "9".into();
        });
        assert_eq!(
            old,
            ["node n1: unschedulable true; the API server: none (it has version 9, and the API server 10)"]
        );
        let moved = after(&|memory| memory.pods[0].node = Some("n2".into()));
        assert_eq!(moved, ["pod x/runs: node n2; the API server: node n1"]);
        let unknown = after(&|memory| memory.pods.retain(|of| of.object != "x/runs"));
        assert_eq!(unknown, ["pod x/runs: the scheduler does not know it"]);
        let ghost = after(&|memory| {
            let ghost = KnownObject {
                object: "x/ghost".into(),
                uid: "g".into(),
                version: "5".into(),
                ..KnownObject::default()
            };
            memory.pods.push(ghost);
        });
        assert_eq!(ghost, ["pod x/ghost: the scheduler knows it, and the API server has no such object"]);
        let assumption = after(&|memory| {
            let of = AssumedPod {
                pod: "x/ghost".into(),
                uid: "g".into(),
                node: "n1".into(),
                ..AssumedPod::default()
            };
            memory.assumed.push(of);
        });
        assert_eq!(assumption, ["assumption x/ghost: on n1: the scheduler itself knows no such pod"]);
        let lost = after(&|memory| memory.queue.clear());
        assert_eq!(lost, ["queue x/waits: it waits for a node, and is in no queue"]);
        let claim = after(&|memory| {
            memory.others[0].fields.insert("contents".into(), "#0".into());
            memory.others[0].version = "3".into();
        });
        let both = "(it has version 3, and the API server 14)";
        assert_eq!(claim, [format!("ResourceClaim x/gpu: its contents differ {both}")]);
        let another = after(&|memory| memory.others[0].uid = "other".into());
        assert_eq!(another, ["ResourceClaim x/gpu: it is another object of this name"]);
        let sums = after(&|memory| memory.faults.push("node n1: its sum is wrong".into()));
        assert_eq!(sums, ["cache : node n1: its sum is wrong"]);
    }

    #[test]
    fn what_changed_after_the_list_is_no_difference() {
        let world = world();
        let mut memory = memory(&world);
        memory.nodes[0].version = "30".into();
        memory.nodes[0].fields.clear();
        let new = |name: &str| KnownObject {
            object: name.into(),
            uid: name.into(),
            version: "99".into(),
            ..KnownObject::default()
        };
        memory.nodes.push(new("n3"));
        memory.pods.push(new("x/new"));
        let waits = memory.pods.iter_mut().find(|of| of.object == "x/waits").unwrap();
        (waits.version, waits.node) = ("50".into(), Some("n1".into()));
        memory.queue.clear();
        assert_eq!(said(&memory, &world), [""; 0]);
    }

    #[test]
    fn digests_of_another_program_are_not_compared() {
        let world = world();
        let mut memory = memory(&world);
        memory.nodes[0].fields.insert("images".into(), "#0".into());
        assert_eq!(said(&memory, &world), ["node n1: images others; the API server: none"]);
        memory.program = "bayplan 0.0.1".into();
        assert_eq!(said(&memory, &world), [""; 0]);
        memory.nodes[0].fields.insert("taints".into(), "a:NoSchedule".into());
        assert_eq!(said(&memory, &world), ["node n1: taints a:NoSchedule; the API server: none"]);
    }
}
