//! The exceptions that hold for a pod, of all plugins.

use super::Framework;
use crate::left_alone::LeftAlone;
use crate::{Handle, PluginId};

impl Framework {
    /// The exceptions that hold for a pod, each with its plugin.
    pub fn left_alone(&self, h: &Handle) -> Vec<(PluginId, LeftAlone)> {
        let mut all = Vec::new();
        for at in 0..self.plugins().len() {
            let id = PluginId(at as u16);
            let of =
                self.plugin(id).and_then(|plugin| Some(plugin.rule_plugin()?.left_alone(&h.for_plugin(id))));
            all.extend(of.into_iter().flatten().map(|of| (id, of)));
        }
        all
    }
}
