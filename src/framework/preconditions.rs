//! [`Preconditions`]: the plugins of a profile, filed under the [`PodPrecondition`] that each states,
//! so that a pod costs nothing in plugins that ignore it.
//!
//! [`Framework`](super::Framework) looks a pod up here when an attempt begins.

use super::plugin::Plugin;
use super::plugin_id::{PluginId, PluginSet};
use crate::model::{ConstraintKinds, PodInfo, PodPrecondition, Symbol};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// Plugins by the key of their precondition.
type Filed<K> = FxHashMap<K, Vec<PluginId>>;

/// The plugins of a profile by their preconditions.
#[derive(Debug, Default)]
pub struct Preconditions {
    /// Plugins without a precondition.
    any: PluginSet,
    namespaces: Filed<Symbol>,
    labels: Filed<(Symbol, Symbol)>,
    label_keys: Filed<Symbol>,
    annotations: Filed<Symbol>,
    requests: Filed<Symbol>,
    constraints: Vec<(ConstraintKinds, PluginId)>,
    /// All kinds in `constraints`.
    constraint_kinds: ConstraintKinds,
}

impl Preconditions {
    /// Files the plugins of a profile.
    pub fn of(plugins: &[Arc<dyn Plugin>]) -> Self {
        let mut of = Self::default();
        for (at, plugin) in plugins.iter().enumerate() {
            let id = PluginId(at as u16);
            match plugin.precondition() {
                None => of.any.insert(id),
                Some(PodPrecondition::Label(key)) => file(&mut of.label_keys, key, id),
                Some(PodPrecondition::LabelIn(key, values)) => {
                    values.into_iter().for_each(|value| file(&mut of.labels, (key.clone(), value), id));
                }
                Some(PodPrecondition::Annotation(key)) => file(&mut of.annotations, key, id),
                Some(PodPrecondition::Namespace(names)) => {
                    names.into_iter().for_each(|name| file(&mut of.namespaces, name, id));
                }
                Some(PodPrecondition::Requests(name)) => file(&mut of.requests, name, id),
                Some(PodPrecondition::Constraints(kinds)) => {
                    of.constraints.push((kinds, id));
                    of.constraint_kinds = of.constraint_kinds.with(kinds);
                }
            }
        }
        of
    }

    /// Plugins without a precondition.
    pub fn any(&self) -> &PluginSet {
        &self.any
    }

    /// The plugins that may say something about the pod; `None`: only those without a precondition.
    pub fn with(&self, pod: &PodInfo) -> Option<PluginSet> {
        let mut found: Option<PluginSet> = None;
        let mut add = |plugin: PluginId| found.get_or_insert_with(|| self.any.clone()).insert(plugin);
        let mut add_all = |plugins: Option<&Vec<PluginId>>| {
            plugins.into_iter().flatten().for_each(|plugin| add(*plugin));
        };
        if !self.namespaces.is_empty() {
            add_all(self.namespaces.get(&pod.namespace));
        }
        if !self.label_keys.is_empty() {
            pod.labels.iter().for_each(|(key, _)| add_all(self.label_keys.get(key)));
        }
        if !self.labels.is_empty() {
            for (key, value) in pod.labels.iter() {
                add_all(self.labels.get(&(key.clone(), value.clone())));
            }
        }
        if !self.annotations.is_empty() {
            pod.annotations.iter().for_each(|(key, _)| add_all(self.annotations.get(key)));
        }
        // A cluster has few resources, and their order does not matter here.
        for (name, plugins) in &self.requests {
            if pod.requests.get(name) > 0 {
                add_all(Some(plugins));
            }
        }
        let kinds = pod.constraint_kinds();
        if kinds.intersects(self.constraint_kinds) {
            let concerned = self.constraints.iter().filter(|(of, _)| of.intersects(kinds));
            concerned.for_each(|(_, plugin)| add(*plugin));
        }
        found
    }
}

fn file<K: std::hash::Hash + Eq>(filed: &mut Filed<K>, key: K, plugin: PluginId) {
    filed.entry(key).or_default().push(plugin);
}

/// The position of each plugin in the order of an extension point.
#[derive(Debug, Default)]
pub(super) struct Places(Vec<Option<u16>>);

impl Places {
    /// Positions of the plugins that run at a point, given in their order.
    pub(super) fn of(point: impl Iterator<Item = PluginId>) -> Self {
        let mut places = Vec::new();
        for (place, plugin) in point.enumerate() {
            if places.len() <= plugin.index() {
                places.resize(plugin.index() + 1, None);
            }
            places[plugin.index()] = Some(place as u16);
        }
        Self(places)
    }

    /// The plugins of the set that run at the point, as positions in its order.
    pub(super) fn pick(&self, plugins: &PluginSet) -> Vec<u16> {
        let place = |plugin: PluginId| self.0.get(plugin.index()).copied().flatten();
        let mut places: Vec<u16> = plugins.iter().filter_map(place).collect();
        places.sort_unstable();
        places
    }
}
