//! [`World`]: the objects that a dry run begins with.

use crate::model::{Object, PodInfo};
use std::sync::Arc;

/// The objects that a dry run begins with.
#[derive(Clone, Debug, Default)]
pub struct World {
    /// Nodes, namespaces, and pods that have a node, in the order they were given.
    pub objects: Vec<Object>,
    /// Pods without a node, in the order they were given. Finished pods are in neither list.
    pub pending: Vec<Arc<PodInfo>>,
}

impl World {
    /// Adds an object to the list it belongs to.
    pub fn add(&mut self, object: Object) {
        match object {
            Object::Pod(pod) if pod.is_finished() => {}
            Object::Pod(pod) if pod.node_name.is_none() => self.pending.push(pod),
            other => self.objects.push(other),
        }
    }
}

impl Extend<Object> for World {
    fn extend<I: IntoIterator<Item = Object>>(&mut self, objects: I) {
        objects.into_iter().for_each(|object| self.add(object));
    }
}

impl FromIterator<Object> for World {
    fn from_iter<I: IntoIterator<Item = Object>>(objects: I) -> Self {
        let mut world = Self::default();
        world.extend(objects);
        world
    }
}
