//! Objects of the kinds that are handled by the table alone, and what pods that are being bound assume about them.
//!
//! An assumption is laid over the object and belongs to one pod. It ends when the pod takes it back, when the object is
//! gone or another one of its name takes its place, and when the object is seen at or above the version that the write of
//! it returned. A newer version of the object that another client wrote does not end it.
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
    seen: Shown,
    assumed: Vec<Assumption>,
}

impl Placed for Entry {
    fn place(&self) -> (&Symbol, &Symbol) {
        let metadata = self.seen.object.metadata();
        (&metadata.namespace, &metadata.name)
    }
}

impl Entry {
    fn shown(&self) -> &Shown {
        self.assumed.last().map_or(&self.seen, |assumption| &assumption.with)
    }

    fn is(&self, uid: &Symbol) -> bool {
        let own = &self.seen.object.metadata().uid;
        uid.is_empty() || own.is_empty() || uid == own
    }

    /// Drops the assumptions whose writes are in the object that was seen.
    fn drop_seen(&mut self) {
        let seen = self.seen.object.version();
        self.assumed.retain(|assumption| {
            !assumption.written.as_deref().is_some_and(|written| at_or_above(seen, written))
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
        let mut entry = Entry { seen: Shown::new(object), assumed: Vec::new() };
        if let Some(known) = self.entry_of(&key) {
            entry.assumed = known.assumed.clone();
        }
        entry.drop_seen();
        self.keep(&key, Some(entry));
    }

    /// Writes an entry, and the assumptions in it into the list of all.
    fn keep(&mut self, key: &ObjectKey, entry: Option<Entry>) {
        let tables = Arc::make_mut(&mut self.tables);
        let before = tables.get(&key.kind).and_then(|table| table.get(&key.namespace, &key.name));
        let by = |entry: &Entry| -> Vec<(PodKey, ObjectKey)> {
            let key = entry.seen.object.key();
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

    /// Changes the assumptions about an object.
    fn edit(&mut self, key: &ObjectKey, edit: impl FnOnce(&mut Vec<Assumption>)) {
        let Some(entry) = self.entry_of(key) else { return };
        let mut entry = entry.clone();
        edit(&mut entry.assumed);
        entry.drop_seen();
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
        self.objects.entry(&T::KIND, namespace, name)?.seen.typed.downcast_ref()
    }

    /// An object of any kind as the API server has it, without assumptions. `None` also when the key has another UID.
    pub fn any_object_seen(&self, key: &ObjectKey) -> Option<&Arc<dyn ApiObject>> {
        Some(&self.objects.entry_of(key)?.seen.object)
    }

    /// The objects of a kind as the API server has them, by namespace and name.
    pub fn any_objects_seen(&self, kind: &Kind) -> impl Iterator<Item = &Arc<dyn ApiObject>> {
        self.objects.table(kind).into_iter().flat_map(Table::all).map(|entry| &entry.seen.object)
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
            Change::Assumed { with, by, .. } => {
                let with = Shown::new(with);
                self.objects.edit(&key, |assumed| {
                    assumed.retain(|assumption| assumption.by != *by);
                    assumed.push(Assumption { by: by.clone(), written: None, with });
                });
            }
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
