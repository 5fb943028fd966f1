//! The stand-in for DefaultPreemption. Preemption neither refuses nor scores: it makes room for a pod
//! that fits nowhere. Where running pods of lower priority could be evicted, the message of the
//! refusal ends with `not checked: preemption`.

use crate::framework::{
    ArgsError, EnqueueExtensions, EventRegistration, Handle, NodeToStatus, Plugin, PluginsRunner, PostFilter,
    PostFilterOutcome, Promise, Reads, Status, Tree, Unchecked,
};
use crate::model::{Change, Delta, Feeds, Index, IndexError, IndexKey, Kinds, Moves, Snapshot, Symbol};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The stand-in.
pub(crate) fn new(_: &'static str, _: Unchecked, _: &Tree) -> Result<Arc<dyn Plugin>, Vec<ArgsError>> {
    Ok(Arc::new(Preemption))
}

struct Preemption;

/// How many placed pods have each priority.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Priorities(BTreeMap<i32, usize>);

impl Priorities {
    /// The key of the index.
    pub fn key() -> IndexKey {
        IndexKey(Symbol::new("DefaultPreemption"))
    }

    fn remove(&mut self, priority: i32) {
        let Some(count) = self.0.get_mut(&priority) else { return };
        *count -= 1;
        if *count == 0 {
            self.0.remove(&priority);
        }
    }
}

impl Index for Priorities {
    fn feeds(&self) -> Feeds {
        Feeds::PLACEMENTS
    }
    fn apply(&mut self, delta: &Delta<'_>, _: &Snapshot, _: &mut Moves) {
        let placed = match delta.change {
            Change::PodPlaced { pod, .. } => Some(pod),
            Change::PodPending { .. } | Change::PodUnplaced { .. } | Change::PodRemoved { .. } => None,
            _ => return,
        };
        if let Some((before, Some(_))) = &delta.pod_before {
            self.remove(before.priority);
        }
        if let Some(pod) = placed {
            *self.0.entry(pod.priority).or_default() += 1;
        }
    }

    fn rebuild(&mut self, snapshot: &Snapshot) {
        self.0.clear();
        for entry in snapshot.pods().filter(|entry| entry.placed.is_some()) {
            *self.0.entry(entry.pod.priority).or_default() += 1;
        }
    }

    fn fork(&self) -> Box<dyn Index> {
        Box::new(self.clone())
    }
}

impl Plugin for Preemption {
    fn name(&self) -> &str {
        "DefaultPreemption"
    }
    fn is_unchecked(&self) -> bool {
        true
    }
    fn reads(&self) -> Reads {
        Reads { other_pods: true, ..Reads::of(Kinds::PODS_OTHER) }
    }
    fn indexes(&self) -> Vec<(IndexKey, Box<dyn Index>)> {
        vec![(Priorities::key(), Box::new(Priorities::default()))]
    }
    fn enqueue_extensions(&self) -> Option<&dyn EnqueueExtensions> {
        Some(self)
    }
    fn post_filter(&self) -> Option<&dyn PostFilter> {
        Some(self)
    }
}

impl EnqueueExtensions for Preemption {
    /// None: the plugin refuses nothing.
    fn events(&self) -> Vec<EventRegistration> {
        Vec::new()
    }
}

impl PostFilter for Preemption {
    fn post_filter(&self, h: &Handle, nodes: &NodeToStatus, _: &dyn PluginsRunner) -> PostFilterOutcome {
        let priorities = match h.snapshot.try_index::<Priorities>(&Priorities::key()) {
            Err(error @ IndexError::Broken) => {
                return PostFilterOutcome::not(Status::error(error.to_string()));
            }
            found => found.ok(),
        };
        let lowest = priorities.and_then(|of| of.0.keys().next());
        let lower = lowest.is_some_and(|lowest| *lowest < h.pod.priority);
        let could = lower && !h.pod.never_preempts && nodes.any_resolvable();
        match could {
            true => PostFilterOutcome::not(Status::unschedulable("not checked: preemption")),
            // Upstream clears the nomination of a pod for which it finds nothing to evict.
            false if !h.pod.never_preempts => {
                PostFilterOutcome::Not { status: Status::unschedulable(""), promise: Promise::Clear }
            }
            false => PostFilterOutcome::not(Status::unschedulable("")),
        }
    }
}
