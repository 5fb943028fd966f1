//! [`Census`]: how many queued pods each combination of refusers keeps waiting, counted as pods come and go, so that a
//! page of metrics looks at the combinations and not at the pods.

use super::interest::ProfileHints;
use super::queued::Queued;
use bayplan_framework::{Blame, PluginId, PluginSet};
use rustc_hash::FxHashMap;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// What keeps a pod in the queue.
#[derive(Clone, Debug)]
pub(crate) struct Cause {
    /// The plugins of its profile.
    pub(crate) hints: Arc<ProfileHints>,
    /// The plugins that refused it in its last attempt.
    pub(crate) refused_by: PluginSet,
    /// The PreEnqueue plugin that keeps it out.
    pub(crate) gate: Option<PluginId>,
    /// What refused it in its last attempt.
    pub(crate) blame: Option<Blame>,
    /// Whether its node had been chosen then.
    pub(crate) late: bool,
}

impl PartialEq for Cause {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.hints, &other.hints)
            && (self.gate, self.late) == (other.gate, other.late)
            && self.refused_by == other.refused_by
            && self.blame == other.blame
    }
}

impl Eq for Cause {}

impl Hash for Cause {
    fn hash<H: Hasher>(&self, state: &mut H) {
        Arc::as_ptr(&self.hints).hash(state);
        (self.gate, self.late).hash(state);
        self.blame.as_ref().map(|blame| (&blame.plugin, &blame.sole_rule)).hash(state);
    }
}

impl Cause {
    fn of(queued: &Queued) -> Self {
        let info = &queued.info;
        Self {
            hints: queued.hints.clone(),
            refused_by: info.unschedulable_plugins.iter().chain(info.pending_plugins.iter()).collect(),
            gate: info.gating_plugin,
            blame: info.blame.clone(),
            late: info.refused_late,
        }
    }
}

/// The number of queued pods by cause.
#[derive(Clone, Debug, Default)]
pub(super) struct Census(FxHashMap<Cause, usize>);

impl Census {
    /// A pod is queued.
    pub(super) fn add(&mut self, queued: &Queued) {
        *self.0.entry(Cause::of(queued)).or_default() += 1;
    }

    /// A pod leaves the queue as it was added.
    pub(super) fn remove(&mut self, queued: &Queued) {
        let cause = Cause::of(queued);
        if let Some(count) = self.0.get_mut(&cause) {
            *count -= 1;
            if *count == 0 {
                self.0.remove(&cause);
            }
        }
    }

    /// The causes with their numbers, in no particular order.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&Cause, usize)> {
        self.0.iter().map(|(cause, count)| (cause, *count))
    }

    /// The census of these pods, counted anew.
    pub(super) fn of<'q>(queued: impl Iterator<Item = &'q Queued>) -> Self {
        let mut census = Self::default();
        queued.for_each(|queued| census.add(queued));
        census
    }

    /// Whether it is the same census.
    pub(super) fn is(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}
