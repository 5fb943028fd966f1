//! [`NotChecked`]: a constraint of a pod that a plugin would look at which is not built. Upstream's
//! decision for such a pod may differ from ours, so the scheduler, `dry-run`, `explain` and `test` say
//! so, and the pod waits where the missing plugin could refuse it.

use super::handle::Handle;
use super::plugin::PluginId;
use super::runtime::Framework;
use crate::model::Symbol;

/// What a plugin that is not built could do to a pod.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Impact {
    /// Refuse nodes: the pod waits.
    Refuse,
    /// Score nodes: the pod is placed, perhaps on another node than upstream's choice.
    Score,
}

/// A constraint of a pod that nothing checks.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct NotChecked {
    /// The plugin that would look at it.
    pub plugin: PluginId,
    /// What that plugin could do.
    pub impact: Impact,
    /// The constraint, as messages name it: `podAntiAffinity`.
    pub name: Symbol,
}

impl Framework {
    /// The constraints of a pod that plugins of this profile would look at which are not built, each
    /// once, in the order of the plugins. A point that the profile disables says nothing.
    pub fn not_checked(&self, h: Handle) -> Vec<NotChecked> {
        let mut all: Vec<NotChecked> = Vec::new();
        for (at, plugin) in self.plugins().iter().enumerate() {
            let id = PluginId(at as u16);
            for (impact, name) in plugin.not_checked(&h.for_plugin(id)) {
                let runs = match impact {
                    Impact::Refuse => self.points().filter.contains(&id),
                    Impact::Score => self.points().score.iter().any(|scorer| scorer.plugin == id),
                };
                if runs && !all.iter().any(|known| known.name == name) {
                    all.push(NotChecked { plugin: id, impact, name });
                }
            }
        }
        all
    }

    /// Names of the plugins of this profile that are not built.
    pub fn unchecked_plugins(&self) -> impl Iterator<Item = &str> {
        self.plugins().iter().filter(|plugin| plugin.is_unchecked()).map(|plugin| plugin.name())
    }
}

/// `not checked: podAntiAffinity, resourceClaims`; `None` for an empty list.
pub fn not_checked_text(list: &[NotChecked]) -> Option<String> {
    let names: Vec<&str> = list.iter().map(|constraint| constraint.name.as_str()).collect();
    (!names.is_empty()).then(|| format!("not checked: {}", names.join(", ")))
}
