//! [`LeftAlone`]: an exception by which a plugin, or one of its rules, leaves a pod alone for a time.

use super::{Framework, Handle, PluginId};
use bayplan_model::{Symbol, Time};

/// An exception that holds for a pod.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LeftAlone {
    /// The rule; `None`: all of the plugin.
    pub rule: Option<Symbol>,
    /// Its last day, as people write it.
    pub until: String,
    /// When it ends, by the wall clock.
    pub end: Time,
    /// Why it was made.
    pub because: String,
    /// Where it is written, as people name it.
    pub place: String,
}

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
