//! [`Preconditions`]: the plugins of a profile, filed under the [`PodPrecondition`] that each states,
//! so that a pod costs nothing in plugins that ignore it.
//!
//! [`Framework`](super::Framework) looks a pod up here when an attempt begins.

use super::plugin::Plugin;
use super::plugin_id::{PluginId, PluginSet};
use bayplan_model::{Filed, PodInfo};
use std::sync::Arc;

/// The plugins of a profile by their preconditions.
#[derive(Debug, Default)]
pub struct Preconditions {
    /// Plugins without a precondition.
    any: PluginSet,
    filed: Filed<PluginId>,
}

impl Preconditions {
    /// Files the plugins of a profile.
    pub fn of(plugins: &[Arc<dyn Plugin>]) -> Self {
        let mut of = Self::default();
        for (at, plugin) in plugins.iter().enumerate() {
            let id = PluginId(at as u16);
            match plugin.precondition() {
                None => of.any.insert(id),
                Some(precondition) => of.filed.file(precondition, id),
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
        self.filed.each(pod, |plugin| found.get_or_insert_with(|| self.any.clone()).insert(plugin));
        found
    }
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
