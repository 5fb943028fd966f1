//! [`Concern`]: what a pod must have for a plugin to say anything of it, and [`Concerns`]: the plugins of a profile
//! filed by it, so that a pod costs nothing in the plugins that pass it over.
//!
//! Asked by [`Framework`](super::Framework) when an attempt begins. It may let a pod through that the plugin then has
//! nothing to say of, never the other way round.

use super::plugin::{Plugin, PluginId, PluginSet};
use crate::model::{PodInfo, Symbol};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// What a pod must have for a plugin to say anything of it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Concern {
    /// A label.
    Label(Symbol),
    /// A label with one of these values.
    LabelIn(Symbol, Vec<Symbol>),
    /// An annotation.
    Annotation(Symbol),
    /// One of these namespaces.
    Namespace(Vec<Symbol>),
    /// A request of this resource above 0.
    Requests(Symbol),
}

/// Plugins by what they look for.
type Filed<K> = FxHashMap<K, Vec<PluginId>>;

/// The plugins of a profile by their concerns.
#[derive(Debug, Default)]
pub struct Concerns {
    /// Those with something to say of any pod.
    any: PluginSet,
    namespaces: Filed<Symbol>,
    labels: Filed<(Symbol, Symbol)>,
    label_keys: Filed<Symbol>,
    annotations: Filed<Symbol>,
    requests: Filed<Symbol>,
    all_any: bool,
}

impl Concerns {
    /// Files plugins.
    pub fn of(plugins: &[Arc<dyn Plugin>]) -> Self {
        let mut of = Self { all_any: true, ..Self::default() };
        for (at, plugin) in plugins.iter().enumerate() {
            let id = PluginId(at as u16);
            let concern = plugin.concern();
            of.all_any &= concern.is_none();
            match concern {
                None => of.any.insert(id),
                Some(Concern::Label(key)) => file(&mut of.label_keys, key, id),
                Some(Concern::LabelIn(key, values)) => {
                    values.into_iter().for_each(|value| file(&mut of.labels, (key.clone(), value), id));
                }
                Some(Concern::Annotation(key)) => file(&mut of.annotations, key, id),
                Some(Concern::Namespace(names)) => {
                    names.into_iter().for_each(|name| file(&mut of.namespaces, name, id));
                }
                Some(Concern::Requests(name)) => file(&mut of.requests, name, id),
            }
        }
        of
    }

    /// The plugins with something to say of the pod; `None`: all of the profile.
    pub fn with(&self, pod: &PodInfo) -> Option<PluginSet> {
        if self.all_any {
            return None;
        }
        let mut found = self.any.clone();
        let mut add = |plugins: Option<&Vec<PluginId>>| {
            plugins.into_iter().flatten().for_each(|plugin| found.insert(*plugin));
        };
        add(self.namespaces.get(&pod.namespace));
        for (key, value) in pod.labels.iter() {
            add(self.label_keys.get(key));
            if !self.labels.is_empty() {
                add(self.labels.get(&(key.clone(), value.clone())));
            }
        }
        if !self.annotations.is_empty() {
            pod.annotations.iter().for_each(|(key, _)| add(self.annotations.get(key)));
        }
        // A cluster has few resources, and their order does not matter here.
        for (name, plugins) in &self.requests {
            if pod.requests.get(name) > 0 {
                add(Some(plugins));
            }
        }
        Some(found)
    }
}

fn file<K: std::hash::Hash + Eq>(filed: &mut Filed<K>, key: K, plugin: PluginId) {
    filed.entry(key).or_default().push(plugin);
}

/// Where plugins stand in the order of an extension point.
#[derive(Debug, Default)]
pub(super) struct Places(Vec<Option<u16>>);

impl Places {
    /// Of the plugins that run at a point, in their order.
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

    /// Those of `plugins` that run at the point, as places in its order.
    pub(super) fn pick(&self, plugins: &PluginSet) -> Vec<u16> {
        let place = |plugin: PluginId| self.0.get(plugin.index()).copied().flatten();
        let mut places: Vec<u16> = plugins.iter().filter_map(place).collect();
        places.sort_unstable();
        places
    }
}
