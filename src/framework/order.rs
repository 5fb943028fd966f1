//! [`Points`]: which plugins of a framework run at which extension point, in which order.

use super::plugin_id::PluginId;

/// A scorer with its weight in the profile.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ScorePlugin {
    /// The plugin.
    pub plugin: PluginId,
    /// Its weight, at least 1.
    pub weight: i64,
}

/// Which plugins run at which point, in order.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[allow(missing_docs)] // one list for each extension point, named like it
pub struct Points {
    pub pre_enqueue: Vec<PluginId>,
    pub queue_sort: Vec<PluginId>,
    pub pre_filter: Vec<PluginId>,
    pub filter: Vec<PluginId>,
    pub post_filter: Vec<PluginId>,
    pub pre_score: Vec<PluginId>,
    pub score: Vec<ScorePlugin>,
    pub reserve: Vec<PluginId>,
    pub permit: Vec<PluginId>,
    pub pre_bind: Vec<PluginId>,
    pub bind: Vec<PluginId>,
    pub post_bind: Vec<PluginId>,
}

impl Points {
    /// At which points a plugin may refuse a pod.
    pub(super) fn may_refuse(&self, plugin: PluginId) -> [bool; 5] {
        [&self.pre_enqueue, &self.pre_filter, &self.filter, &self.reserve, &self.permit]
            .map(|point| point.contains(&plugin))
    }
}
