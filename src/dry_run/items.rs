//! [`Item`]: an object both as it is written and as it is read, for work that takes a cluster apart and puts it together
//! again: what is left is written, what was read is decided on.

use super::load::{settle_namespace, settle_scope};
use super::world::World;
use bayplan_lang::types::ObjectKind;
use bayplan_model::objects::projection::Projection;
use bayplan_model::{Kind, KindName, KindRow, LookedUp, Object, PodInfo, Reading, metrics};
use serde_json::Value;
use std::sync::Arc;

/// An object as it is written and as it is read.
#[derive(Clone, Debug)]
pub struct Item {
    /// As it is written.
    pub value: Value,
    /// As it is read: by the table, and by policies that look it up.
    objects: Vec<Object>,
    /// What it says that a node used.
    reading: Option<Reading>,
}

impl Item {
    /// Reads an object, as far as it can be read; `kinds` are those that policies look up.
    pub fn of(value: Value, kinds: &[Arc<ObjectKind>]) -> Self {
        let text = |field: &str| value.get(field).and_then(Value::as_str).unwrap_or_default();
        let name = KindName::of(text("apiVersion"), text("kind"));
        let mut objects = Vec::new();
        if let Some(row) = KindRow::named(name.api_version(), name.kind()) {
            objects.extend(read(row, &value));
        }
        if let Some(kind) = kinds.iter().find(|kind| kind.name == name) {
            let mut scoped = value.clone();
            kind.namespaced.into_iter().for_each(|namespaced| settle_scope(&mut scoped, namespaced));
            let found = LookedUp::new(&name, scoped, &Projection::everything()).ok();
            objects.extend(found.map(|object| Object::Other(Arc::new(object))));
        }
        let is_reading = metrics::is_node_metrics(name.api_version(), name.kind());
        let reading = is_reading.then(|| Reading::from_value(&value).ok()).flatten();
        Self { value, objects, reading }
    }

    /// The pod that it is.
    pub fn pod(&self) -> Option<&Arc<PodInfo>> {
        self.objects.iter().find_map(|object| match object {
            Object::Pod(pod) => Some(pod),
            _ => None,
        })
    }

    /// The name of the node that it is.
    pub fn node(&self) -> Option<&str> {
        self.objects.iter().find_map(|object| match object {
            Object::Node(node) => Some(node.name.as_str()),
            _ => None,
        })
    }

    /// The cluster of some items.
    pub fn world<'i>(items: impl IntoIterator<Item = &'i Self>) -> World {
        let mut world = World::default();
        for item in items {
            item.objects.iter().cloned().for_each(|object| world.add(object));
            world.metrics.extend(item.reading.clone());
        }
        world.add_missing_namespaces();
        world
    }
}

/// Reads an object of the table as a file, else as far as a watch does.
fn read(row: &KindRow, value: &Value) -> Option<Object> {
    let mut value = value.clone();
    settle_namespace(&mut value, row);
    let value = Arc::new(value);
    if let Ok(object) = (row.from_value)(value.clone()) {
        return Some(object);
    }
    match row.kind {
        Kind::Pod => PodInfo::seen(value).ok().map(|(pod, _)| Object::Pod(Arc::new(pod))),
        _ => row.seen(Arc::unwrap_or_clone(value)).ok().map(|seen| seen.object),
    }
}
