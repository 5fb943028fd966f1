//! [`NotChecked`]: a constraint of a pod that a plugin would look at which is not built. Upstream's
//! decision for such a pod may differ from ours, so the scheduler, `dry-run`, `explain` and `test` say
//! so, and the pod waits where the missing plugin could refuse it.

use super::plugin_id::PluginId;
use bayplan_model::Symbol;

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

/// `not checked: podAntiAffinity, resourceClaims`; `None` for an empty list.
pub fn not_checked_text(list: &[NotChecked]) -> Option<String> {
    let names: Vec<&str> = list.iter().map(|constraint| constraint.name.as_str()).collect();
    (!names.is_empty()).then(|| format!("not checked: {}", names.join(", ")))
}
