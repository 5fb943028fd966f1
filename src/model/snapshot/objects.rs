//! Objects of the kinds that are handled by the table alone, and what pods that are being bound assume about them.
//!
//! An assumption is laid over the object and belongs to one pod. It ends when the pod takes it back, when the object is
//! gone or another one of its name takes its place, and when the object is seen at or above the version that the write of
//! it returned. A newer version of the object that another client wrote does not end it.
//!
//! A pod may also assume an object that it creates and that was not seen yet, under a key without UID. Readers with
//! assumptions see it, readers without do not; when the object is seen, the assumption lies over it as over any other.
//! A key with a UID names an object that was seen: when that is gone, no late assumption brings it back.
//!
//! There is one assumption for each pod and object, and a reload keeps it.
//!
//! Source: `pkg/scheduler/util/assumecache/assume_cache.go`, which drops an assumption with any newer version.

use super::Snapshot;
use crate::changes::{Change, Delta, Kinds, Moved, ObjectDelta};
use crate::objects::{ApiObject, Kind, LookedUp, ObjectKey, Typed, looked_up};
use crate::pod::{PodInfo, PodKey};
use crate::selector_index::Selects;
use crate::symbol::Symbol;
use crate::table::{Placed, Table};
use std::any::Any;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// An object, and itself as `Arc<T>`.
#[derive(Clone, Debug)]
struct Shown {
    object: Arc<dyn ApiObject>,
    typed: Arc<dyn Any + Send + Sync>,
}

impl Shown {
    fn new(object: &Arc<dyn ApiObject>) -> Self {
        Self { object: object.clone(), typed: object.clone().shared() }
    }
}

/// What a pod that is being bound assumes about an object.
#[derive(Clone, Debug)]
pub struct Assumption {
    /// The pod.
    pub by: PodKey,
    /// The version that the write returned; `None` until then.
    pub written: Option<Box<str>>,
    with: Shown,
}

impl Assumption {
    /// How the pod takes the object to be.
    pub fn object(&self) -> &Arc<dyn ApiObject> {
        &self.with.object
    }
}

/// An object and the assumptions about it; the last one is what readers see.
#[derive(Clone, Debug)]
struct Entry {
    /// The object as it was seen; of one that was not, as it is assumed.
    own: Shown,
    is_seen: bool,
    assumed: Vec<Assumption>,
}

impl Placed for Entry {
    fn place(&self) -> (&Symbol, &Symbol) {
        let metadata = self.own.object.metadata();
        (&metadata.namespace, &metadata.name)
    }
}

impl Entry {
    fn shown(&self) -> &Shown {
        self.assumed.last().map_or(&self.own, |assumption| &assumption.with)
    }

    fn seen(&self) -> Option<&Shown> {
        self.is_seen.then_some(&self.own)
    }

    /// Whether the object has this UID, as far as it is known.
    fn is(&self, uid: &Symbol) -> bool {
        let own = &self.own.object.metadata().uid;
        uid.is_empty() || own.is_empty() || uid == own
    }

    /// Drops the assumptions whose writes are in the object that was seen, and those whose writes the API server will
    /// refuse: they were made of an older version than the one that refutes them.
    fn drop_seen(&mut self) {
        let Some(seen) = self.seen() else { return };
        let seen = seen.object.clone();
        self.assumed.retain(|assumption| {
            let assumed = &assumption.with.object;
            let until = assumption.written.as_deref().unwrap_or_else(|| assumed.version());
            !at_or_above(seen.version(), until) || assumption.written.is_none() && !seen.refutes(&**assumed)
        });
    }
}

/// The bits of a change of an object in the log.
fn kinds_of(kind: &Kind) -> Kinds {
    match kind {
        Kind::LookedUp(_) => Kinds::OBJECTS,
        kind => kind.row().map_or(Kinds::ALL, |row| row.kinds),
    }
}

/// Whether a resource version is not older than another. Versions are numbers of any length; of others only equality is
/// known, and one that differs is taken for a newer one.
///
/// Source: KEP-5504, comparable resource versions.
pub fn at_or_above(version: &str, other: &str) -> bool {
    let number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    match number(version) && number(other) {
        true => {
            let (version, other) = (version.trim_start_matches('0'), other.trim_start_matches('0'));
            (version.len(), version) >= (other.len(), other)
        }
        false => true,
    }
}

/// All objects, by kind.
#[derive(Clone, Debug, Default)]
pub(super) struct Objects {
    tables: Arc<BTreeMap<Kind, Table<Entry>>>,
    /// The assumptions, by pod.
    assumed: Arc<BTreeSet<(PodKey, ObjectKey)>>,
}

impl Objects {
    pub(super) fn len(&self) -> usize {
        self.tables.values().map(Table::len).sum()
    }

    pub(super) fn assumption_count(&self) -> usize {
        self.assumed.len()
    }

    fn table(&self, kind: &Kind) -> Option<&Table<Entry>> {
        self.tables.get(kind)
    }

    fn entry(&self, kind: &Kind, namespace: &Symbol, name: &Symbol) -> Option<&Entry> {
        self.table(kind)?.get(namespace, name)
    }

    fn entry_of(&self, key: &ObjectKey) -> Option<&Entry> {
        self.entry(&key.kind, &key.namespace, &key.name).filter(|entry| entry.is(&key.uid))
    }

    /// Puts an object into its place, over which the assumptions about it stay.
    fn see(&mut self, object: &Arc<dyn ApiObject>) {
        let key = object.key();
        let mut entry = Entry { own: Shown::new(object), is_seen: true, assumed: Vec::new() };
        if let Some(known) = self.entry(&key.kind, &key.namespace, &key.name) {
            // Of an object that was not seen, the assumptions themselves say which one they are about.
            let is = |uid: &Symbol| uid.is_empty() || *uid == key.uid;
            let stays = |assumption: &&Assumption| match known.is_seen {
                true => known.is(&key.uid),
                false => is(&assumption.with.object.metadata().uid),
            };
            entry.assumed = known.assumed.iter().filter(stays).cloned().collect();
        }
        entry.drop_seen();
        self.keep(&key, Some(entry));
    }

    /// Writes an entry, and the assumptions in it into the list of all.
    fn keep(&mut self, key: &ObjectKey, entry: Option<Entry>) {
        let tables = Arc::make_mut(&mut self.tables);
        let before = tables.get(&key.kind).and_then(|table| table.get(&key.namespace, &key.name));
        let by = |entry: &Entry| -> Vec<(PodKey, ObjectKey)> {
            let key = entry.own.object.key();
            entry.assumed.iter().map(|assumption| (assumption.by.clone(), key.clone())).collect()
        };
        let before = before.map(by).unwrap_or_default();
        let after = entry.as_ref().map(by).unwrap_or_default();
        if before != after {
            let assumed = Arc::make_mut(&mut self.assumed);
            for one in &before {
                assumed.remove(one);
            }
            assumed.extend(after);
        }
        match entry {
            Some(entry) => drop(tables.entry(key.kind.clone()).or_default().put(entry)),
            None => {
                if let Some(table) = tables.get_mut(&key.kind) {
                    table.remove(&key.namespace, &key.name);
                    if table.len() == 0 {
                        tables.remove(&key.kind);
                    }
                }
            }
        }
    }

    /// Lays an assumption over an object. One that was not seen begins with it, when the key has no UID.
    fn assume(&mut self, key: &ObjectKey, with: &Arc<dyn ApiObject>, by: &PodKey) {
        let own = with.key();
        let is_its_place = (&own.kind, &own.namespace, &own.name) == (&key.kind, &key.namespace, &key.name);
        let with = Shown::new(with);
        if is_its_place && key.uid.is_empty() && self.entry_of(key).is_none() {
            let assumed = vec![Assumption { by: by.clone(), written: None, with: with.clone() }];
            self.keep(key, Some(Entry { own: with, is_seen: false, assumed }));
            return;
        }
        self.edit(key, |assumed| {
            assumed.retain(|assumption| assumption.by != *by);
            assumed.push(Assumption { by: by.clone(), written: None, with });
        });
    }

    /// Changes the assumptions about an object. One that was not seen ends with the last of them.
    fn edit(&mut self, key: &ObjectKey, edit: impl FnOnce(&mut Vec<Assumption>)) {
        let Some(entry) = self.entry_of(key) else { return };
        let mut entry = entry.clone();
        edit(&mut entry.assumed);
        entry.drop_seen();
        if !entry.is_seen {
            match entry.assumed.last() {
                Some(last) => entry.own = last.with.clone(),
                None => return self.keep(key, None),
            }
        }
        self.keep(key, Some(entry));
    }
}

impl Snapshot {
    /// An object, with what is assumed about it laid over. The namespace of a kind without namespaces is empty.
    pub fn object<T: Typed>(&self, namespace: &Symbol, name: &Symbol) -> Option<&Arc<T>> {
        self.objects.entry(&T::KIND, namespace, name)?.shown().typed.downcast_ref()
    }

    /// The objects of a kind by namespace and name, with what is assumed about them laid over.
    pub fn objects<T: Typed>(&self) -> impl Iterator<Item = &Arc<T>> {
        let entries = self.objects.table(&T::KIND).into_iter().flat_map(Table::all);
        entries.filter_map(|entry| entry.shown().typed.downcast_ref())
    }

    /// The objects of a kind in a namespace by name, with what is assumed about them laid over.
    pub fn objects_in<'s, T: Typed>(&'s self, namespace: &'s Symbol) -> impl Iterator<Item = &'s Arc<T>> {
        let entries = self.objects.table(&T::KIND).into_iter().flat_map(|table| table.within(namespace));
        entries.filter_map(|entry| entry.shown().typed.downcast_ref())
    }

    /// An object of a kind that policies look up. The namespace of a kind without namespaces is empty.
    pub fn looked_up(&self, kind: &Kind, namespace: &Symbol, name: &Symbol) -> Option<&LookedUp> {
        looked_up(self.objects.entry(kind, namespace, name)?.shown().object.as_ref())
    }

    /// The objects of a kind that policies look up, by namespace and name.
    pub fn all_looked_up<'s>(&'s self, kind: &Kind) -> impl Iterator<Item = &'s LookedUp> + use<'s> {
        let entries = self.objects.table(kind).into_iter().flat_map(Table::all);
        entries.filter_map(|entry| looked_up(entry.shown().object.as_ref()))
    }

    /// The objects of a kind that policies look up in a namespace, by name.
    pub fn looked_up_in<'s>(
        &'s self,
        kind: &Kind,
        namespace: &Symbol,
    ) -> impl Iterator<Item = &'s LookedUp> + use<'s> {
        let entries = self.objects.table(kind).map(|table| table.within(namespace)).into_iter().flatten();
        entries.filter_map(|entry| looked_up(entry.shown().object.as_ref()))
    }

    /// The Services or budgets that select a pod, by name.
    pub fn selecting<T: Selects>(&self, pod: &PodInfo) -> impl Iterator<Item = &Arc<T>> {
        let names = self.selectors.names(T::KIND, &pod.namespace, &pod.labels).into_iter();
        let objects = names.filter_map(|name| self.object::<T>(&pod.namespace, name));
        objects.filter(|object| object.selects(&pod.labels))
    }

    /// How many objects of each kind there are beside pods, nodes and namespaces; kinds without any may be left out.
    pub fn object_counts(&self) -> impl Iterator<Item = (&Kind, usize)> {
        self.objects.tables.iter().map(|(kind, table)| (kind, table.len()))
    }

    /// How many namespaces there are.
    pub fn namespace_count(&self) -> usize {
        self.namespaces.len()
    }

    /// How many objects of a kind there are.
    pub fn object_count(&self, kind: &Kind) -> usize {
        self.objects.table(kind).map_or(0, Table::len)
    }

    /// An object as the API server has it, without assumptions.
    pub fn object_seen<T: Typed>(&self, namespace: &Symbol, name: &Symbol) -> Option<&Arc<T>> {
        self.objects.entry(&T::KIND, namespace, name)?.seen()?.typed.downcast_ref()
    }

    /// An object of any kind as the API server has it, without assumptions. `None` also when the key has another UID.
    pub fn any_object_seen(&self, key: &ObjectKey) -> Option<&Arc<dyn ApiObject>> {
        Some(&self.objects.entry_of(key)?.seen()?.object)
    }

    /// The objects of a kind as the API server has them, by namespace and name.
    pub fn any_objects_seen(&self, kind: &Kind) -> impl Iterator<Item = &Arc<dyn ApiObject>> {
        let entries = self.objects.table(kind).into_iter().flat_map(Table::all);
        entries.filter_map(|entry| Some(&entry.seen()?.object))
    }

    /// The objects of a kind that are assumed to be there and were not seen at this version of the cluster or an earlier
    /// one: what was written of them is in any list of that version, so that an object that it lacks is gone.
    pub fn awaited_until(&self, kind: &Kind, version: &str) -> Vec<ObjectKey> {
        let entries = self.objects.table(kind).into_iter().flat_map(Table::all);
        let unseen = entries.filter(|entry| !entry.is_seen);
        let over =
            |of: &Assumption| of.written.as_deref().is_some_and(|written| at_or_above(version, written));
        let over = unseen.filter(|entry| entry.assumed.iter().all(over));
        over.map(|entry| entry.own.object.key()).collect()
    }

    /// The assumptions about an object; readers see the last.
    pub fn assumptions(&self, key: &ObjectKey) -> &[Assumption] {
        self.objects.entry_of(key).map_or(&[], |entry| &entry.assumed)
    }

    /// The objects about which a pod assumes something.
    pub fn assumed_by(&self, pod: &PodKey) -> Vec<ObjectKey> {
        let first = (pod.clone(), ObjectKey::first());
        let own = self.objects.assumed.range(first..).take_while(|(by, _)| by == pod);
        own.map(|(_, key)| key.clone()).collect()
    }

    /// Applies a change of an object. `false`: no reader sees a difference.
    pub(super) fn change_object(&mut self, change: &Change, delta: &mut Delta<'_>) -> bool {
        let key = match change {
            Change::ObjectSeen { object } => object.key(),
            Change::ObjectGone { key }
            | Change::Assumed { key, .. }
            | Change::AssumedWritten { key, .. }
            | Change::Unassumed { key, .. } => key.clone(),
            _ => return false,
        };
        let shown = |objects: &Objects| {
            let entry = objects.entry(&key.kind, &key.namespace, &key.name);
            entry.map(|entry| entry.shown().object.clone())
        };
        let before = shown(&self.objects);
        match change {
            Change::ObjectSeen { object } => self.objects.see(object),
            Change::ObjectGone { .. } if self.objects.entry_of(&key).is_some() => {
                self.objects.keep(&key, None);
            }
            Change::Assumed { with, by, .. } => self.objects.assume(&key, with, by),
            Change::AssumedWritten { by, version, .. } => self.objects.edit(&key, |assumed| {
                for assumption in assumed.iter_mut().filter(|assumption| assumption.by == *by) {
                    assumption.written = Some(version.clone());
                }
            }),
            Change::Unassumed { by, .. } => {
                self.objects.edit(&key, |assumed| assumed.retain(|assumption| assumption.by != *by));
            }
            _ => {}
        }
        let after = shown(&self.objects);
        let differs = match (&before, &after) {
            (Some(before), Some(after)) => !Arc::ptr_eq(before, after) && after.differs(before.as_ref()),
            (None, None) => false,
            _ => true,
        };
        if differs {
            self.selectors.change(before.as_deref(), after.as_deref());
            self.note(Moved::Global, kinds_of(&key.kind), None);
            delta.object = Some(ObjectDelta { before, after });
        }
        differs
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::objects::{Object, Service};
    use crate::testing::object_of;
    use serde_json::json;

    fn service(uid: &str, version: u8, app: &str) -> Arc<dyn ApiObject> {
        let metadata =
            json!({"name": "s", "namespace": "ns", "uid": uid, "resourceVersion": version.to_string()});
        let spec = json!({"selector": {"app": app}});
        match object_of(json!({"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": spec})) {
            Object::Other(object) => object,
            other => panic!("not a Service: {other:?}"),
        }
    }

    fn key(uid: &str) -> ObjectKey {
        service(uid, 1, "").key()
    }

    fn by(pod: &str) -> PodKey {
        PodKey(pod.into())
    }

    fn assume(snapshot: &mut Snapshot, of: &str, uid: &str, app: &str, pod: &str) {
        let with = service(uid, 1, app);
        snapshot.apply(Change::Assumed { key: key(of), with, by: by(pod) });
    }

    fn written(snapshot: &mut Snapshot, version: u8, pod: &str) {
        let version = version.to_string().into();
        snapshot.apply(Change::AssumedWritten { key: key(""), by: by(pod), version });
    }

    fn see(snapshot: &mut Snapshot, uid: &str, version: u8, app: &str) {
        snapshot.apply(Change::ObjectSeen { object: service(uid, version, app) });
    }

    fn gone(snapshot: &mut Snapshot, uid: &str) {
        snapshot.apply(Change::ObjectGone { key: key(uid) });
    }

    fn app(service: Option<&Arc<Service>>) -> Option<String> {
        let app = service?.selector.get(&"app".into())?;
        Some(app.to_string())
    }

    fn shown(snapshot: &Snapshot) -> Option<String> {
        app(snapshot.object::<Service>(&"ns".into(), &"s".into()))
    }

    fn seen(snapshot: &Snapshot) -> Option<String> {
        let one = app(snapshot.object_seen::<Service>(&"ns".into(), &"s".into()));
        let all: Vec<_> = snapshot.any_objects_seen(&Kind::Service).collect();
        assert_eq!(all.len(), usize::from(one.is_some()));
        assert_eq!(snapshot.any_object_seen(&key("")).is_some(), one.is_some());
        one
    }

    fn nothing_is_left(snapshot: &Snapshot) {
        assert_eq!((shown(snapshot), seen(snapshot)), (None, None));
        assert_eq!((snapshot.kept().objects, snapshot.kept().assumptions), (0, 0));
    }

    #[test]
    fn an_object_is_assumed_before_it_is_seen() {
        let mut s = Snapshot::default();
        assume(&mut s, "", "", "a", "p");
        assert_eq!((shown(&s).as_deref(), seen(&s)), (Some("a"), None));
        assert_eq!(s.assumed_by(&by("p")), [key("")]);
        // The reply to the creation says which UID it has.
        assume(&mut s, "", "u1", "b", "p");
        assert_eq!(s.assumed_by(&by("p")), [key("u1")]);
        written(&mut s, 5, "p");
        see(&mut s, "u1", 4, "a");
        assert_eq!((shown(&s).as_deref(), seen(&s).as_deref()), (Some("b"), Some("a")));
        see(&mut s, "u1", 5, "c");
        assert_eq!((shown(&s).as_deref(), seen(&s).as_deref()), (Some("c"), Some("c")));
        assert_eq!(s.kept().assumptions, 0);
    }

    #[test]
    fn what_was_not_seen_ends_with_its_last_assumption_or_when_it_is_gone() {
        let mut s = Snapshot::default();
        assume(&mut s, "", "", "a", "p");
        assume(&mut s, "", "", "b", "q");
        assert_eq!(shown(&s).as_deref(), Some("b"));
        s.apply(Change::Unassumed { key: key(""), by: by("q") });
        assert_eq!(shown(&s).as_deref(), Some("a"));
        s.apply(Change::Unassumed { key: key(""), by: by("p") });
        nothing_is_left(&s);
        assume(&mut s, "", "u1", "a", "p");
        gone(&mut s, "u0");
        assert_eq!(shown(&s).as_deref(), Some("a"), "another one of its name is gone");
        gone(&mut s, "u1");
        nothing_is_left(&s);
        assume(&mut s, "u1", "u1", "a", "p");
        nothing_is_left(&s);
    }

    #[test]
    fn another_object_of_the_name_ends_what_was_assumed_of_the_first() {
        let mut s = Snapshot::default();
        assume(&mut s, "", "u1", "a", "p");
        assume(&mut s, "", "", "b", "q");
        see(&mut s, "u2", 1, "c");
        assert_eq!(shown(&s).as_deref(), Some("b"), "this one may be about it");
        assert_eq!((s.assumed_by(&by("p")), s.assumed_by(&by("q"))), (vec![], vec![key("u2")]));
        gone(&mut s, "u2");
        nothing_is_left(&s);
    }

    #[test]
    fn what_was_written_is_awaited_until_a_list_must_have_it() {
        let mut s = Snapshot::default();
        let until = |s: &Snapshot, version: &str| s.awaited_until(&Kind::Service, version);
        assume(&mut s, "", "u1", "a", "p");
        assert_eq!(until(&s, "9"), [], "its write is under way");
        written(&mut s, 5, "p");
        assert_eq!((until(&s, "4"), until(&s, "5")), (vec![], vec![key("u1")]));
        see(&mut s, "u1", 4, "a");
        assert_eq!(until(&s, "9"), []);
    }

    #[test]
    fn a_key_of_another_place_assumes_nothing() {
        let mut s = Snapshot::default();
        let key = ObjectKey { name: "other".into(), ..key("") };
        s.apply(Change::Assumed { key, with: service("", 1, "a"), by: by("p") });
        nothing_is_left(&s);
    }
}
