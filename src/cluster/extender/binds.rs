//! The bindings that kube-scheduler requests of `bayplan extender --bind`: which of them it makes, and those under way, which count in
//! every answer until the watch shows them. Without that, bindings of one burst would each be judged on a cluster without
//! the others. Called by `server`; pure.

use bayplan_model::{Change, ObjectKey, Placement, PodInfo, PodKey, Snapshot, Symbol};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long a binding counts that the watch does not show: longer than a call and a new list take.
const SHOWN_WITHIN: Duration = Duration::from_secs(60);

/// The bindings that are under way.
#[derive(Default)]
pub(crate) struct UnderWay(BTreeMap<PodKey, Bind>);

struct Bind {
    pod: Arc<PodInfo>,
    node: Symbol,
    until: Instant,
}

impl UnderWay {
    /// Lays the bindings over the cluster. Those that it shows are over, and so are those of pods that are gone.
    pub(crate) fn lay_over(&mut self, snapshot: &mut Snapshot, now: Instant) {
        self.0.retain(|key, bind| {
            bind.until > now && snapshot.pod(key).is_some_and(|entry| entry.placed.is_none())
        });
        for bind in self.0.values() {
            let Some(node) = snapshot.node_by_name(&bind.node) else { continue };
            snapshot.apply(Change::PodPlaced { pod: bind.pod.clone(), node, how: Placement::Assumed });
        }
    }

    /// A binding is sent.
    pub(crate) fn begin(&mut self, pod: Arc<PodInfo>, node: Symbol, now: Instant) {
        self.0.insert(pod.key.clone(), Bind { pod, node, until: now + SHOWN_WITHIN });
    }

    /// The API server refused a binding: it certainly did not happen.
    pub(crate) fn refused(&mut self, pod: &PodKey) {
        self.0.remove(pod);
    }
}

/// The pod that a question is about, if it may be bound to the node; or why not. What the watch has not shown cannot be
/// judged. `snapshot` has the bindings under way.
pub(crate) fn known(snapshot: &Snapshot, pod: &ObjectKey, node: &Symbol) -> Result<Arc<PodInfo>, String> {
    if pod.uid.is_empty() {
        return Err("the question has no UID of the pod".to_owned());
    }
    let Some(entry) = snapshot.pod(&PodKey(pod.uid.clone())) else {
        return Err("the extender does not know the pod yet".to_owned());
    };
    if (&entry.pod.namespace, &entry.pod.name) != (&pod.namespace, &pod.name) {
        return Err(format!("the pod with this UID is {}", entry.pod.full_name()));
    }
    if entry.placed.is_some() {
        return Err("the pod is bound, or is being bound".to_owned());
    }
    match snapshot.node_by_name(node) {
        Some(_) => Ok(entry.pod.clone()),
        None => Err(UNKNOWN_NODE.to_owned()),
    }
}

/// The reason for a node that the watch has not shown yet.
pub(crate) const UNKNOWN_NODE: &str = "the extender does not know the node yet";

#[cfg(test)]
mod tests {
    use super::*;
    use bayplan_model::Kind;
    use bayplan_model::testing::{node, pod};

    fn key(uid: &str, name: &str) -> ObjectKey {
        ObjectKey { kind: Kind::Pod, namespace: "default".into(), name: name.into(), uid: uid.into() }
    }

    fn cluster() -> Snapshot {
        let mut snapshot = Snapshot::default();
        snapshot.apply(Change::NodeUpserted { node: node("n1").cpu("4").build() });
        for name in ["a", "b"] {
            snapshot.apply(Change::PodPending { pod: pod(name).uid(name).cpu("1").build() });
        }
        snapshot
    }

    #[test]
    fn what_the_watch_has_not_shown_is_not_bound() {
        let snapshot = cluster();
        let why = |uid: &str, name: &str, node: &str| known(&snapshot, &key(uid, name), &node.into()).err();
        assert_eq!(why("a", "a", "n1"), None);
        assert_eq!(why("", "a", "n1").as_deref(), Some("the question has no UID of the pod"));
        assert_eq!(why("x", "a", "n1").as_deref(), Some("the extender does not know the pod yet"));
        assert_eq!(why("a", "b", "n1").as_deref(), Some("the pod with this UID is default/a"));
        assert_eq!(why("a", "a", "n2").as_deref(), Some(UNKNOWN_NODE));
        assert_eq!(why("a", "a", "").as_deref(), Some(UNKNOWN_NODE));
    }

    #[test]
    fn a_binding_under_way_counts_until_the_watch_shows_it_or_it_was_refused() {
        let (mut under_way, now) = (UnderWay::default(), Instant::now());
        let placed = |under_way: &mut UnderWay, mut snapshot: Snapshot, at: Instant| {
            under_way.lay_over(&mut snapshot, at);
            let names = snapshot.node_by_name(&"n1".into()).and_then(|row| snapshot.node(row)).map(|node| {
                let mut names: Vec<String> = node.pods().map(|pod| pod.name.to_string()).collect();
                names.sort();
                names.join(" ")
            });
            (names.unwrap_or_default(), known(&snapshot, &key("a", "a"), &"n1".into()).is_ok())
        };
        let a = pod("a").uid("a").cpu("1").build();
        under_way.begin(a.clone(), "n1".into(), now);
        assert_eq!(placed(&mut under_way, cluster(), now), ("a".to_owned(), false));
        under_way.refused(&a.key);
        assert_eq!(placed(&mut under_way, cluster(), now), (String::new(), true));
        // Shown: the cluster counts it.
        under_way.begin(a.clone(), "n1".into(), now);
        let mut shown = cluster();
        let row = shown.node_by_name(&"n1".into()).unwrap();
        shown.apply(Change::PodPlaced { pod: a.clone(), node: row, how: Placement::Bound });
        assert_eq!(placed(&mut under_way, shown, now), ("a".to_owned(), false));
        assert!(under_way.0.is_empty());
        // Gone, and never shown.
        under_way.begin(a.clone(), "n1".into(), now);
        let mut gone = cluster();
        gone.apply(Change::PodRemoved { pod: a.key.clone() });
        assert_eq!(placed(&mut under_way, gone, now).0, "");
        under_way.begin(a, "n1".into(), now);
        assert_eq!(placed(&mut under_way, cluster(), now + SHOWN_WITHIN), (String::new(), true));
    }
}
