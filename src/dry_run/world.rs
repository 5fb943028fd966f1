//! [`World`]: the objects that a dry run begins with.

use bayplan_model::{Labels, Measured, Namespace, Object, PodInfo, Reading, Symbol, Time};
use bayplan_scheduler::memory::Memory;
use std::collections::BTreeSet;
use std::sync::Arc;

/// The objects that a dry run begins with.
#[derive(Clone, Debug, Default)]
pub struct World {
    /// Nodes, namespaces, and pods that have a node, in the order they were given.
    pub objects: Vec<Object>,
    /// Pods without a node, in the order they were given. Finished pods are in neither list.
    pub pending: Vec<Arc<PodInfo>>,
    /// Pods that have finished: they take no room, and a command may be asked about one.
    pub finished: Vec<Arc<PodInfo>>,
    /// Namespaces among the objects that no file gave and pods name: they exist, and their labels
    /// are not known.
    pub assumed: BTreeSet<Symbol>,
    /// What nodes use. The newest sample is taken to be of the instant at which the run begins.
    pub metrics: Vec<Reading>,
    /// What a running scheduler remembered of these objects. Its assumptions are in the objects already.
    pub memory: Option<Arc<Memory>>,
}

impl World {
    /// Adds an object to the list it belongs to.
    pub fn add(&mut self, object: Object) {
        match object {
            Object::Pod(pod) if pod.is_finished() => self.finished.push(pod),
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

impl World {
    /// The metrics as a poll at this instant brings them, oldest first: as far apart as they are, the newest of `now`.
    pub(super) fn metrics_at(&self, now: Time) -> Vec<Reading> {
        let instant = |reading: &Reading| match reading.measured {
            Measured::Sample { at, .. } => Some(at),
            Measured::Summary { .. } => None,
        };
        let newest = self.metrics.iter().filter_map(instant).max().unwrap_or(now);
        let mut readings = self.metrics.clone();
        for reading in &mut readings {
            if let Measured::Sample { at, .. } = &mut reading.measured {
                *at = now - (newest - *at);
            }
        }
        // Of one instant, in the order of the files.
        readings.sort_by_key(instant);
        readings
    }

    /// The names of the namespaces that are given.
    pub fn namespaces(&self) -> impl Iterator<Item = &Symbol> {
        self.objects.iter().filter_map(|object| match object {
            Object::Namespace(namespace) => Some(&namespace.name),
            _ => None,
        })
    }

    /// Adds a namespace that was given, unless it is known already.
    pub(super) fn give_namespace(&mut self, namespace: Object) {
        let Object::Namespace(given) = &namespace else { return };
        if self.assumed.remove(&given.name) {
            let name = given.name.clone();
            self.objects.retain(|object| !matches!(object, Object::Namespace(of) if of.name == name));
        } else if self.namespaces().any(|known| *known == given.name) {
            return;
        }
        self.objects.push(namespace);
    }

    /// Makes the namespaces that pods name and that are not given.
    pub(crate) fn add_missing_namespaces(&mut self) {
        let given: BTreeSet<Symbol> = self.namespaces().cloned().collect();
        let placed = self.objects.iter().filter_map(|object| match object {
            Object::Pod(pod) => Some(&pod.namespace),
            _ => None,
        });
        let named: BTreeSet<Symbol> =
            placed.chain(self.pending.iter().map(|pod| &pod.namespace)).cloned().collect();
        for name in named.difference(&given) {
            let label = (Symbol::new("kubernetes.io/metadata.name"), name.clone());
            let namespace = Namespace {
                name: name.clone(),
                labels: Labels::from_iter([label]),
                annotations: Default::default(),
                raw: None,
            };
            self.objects.push(Object::Namespace(Arc::new(namespace)));
            self.assumed.insert(name.clone());
        }
    }
}
