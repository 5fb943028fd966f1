//! [`Evictions`]: the victims of each preemptor, and how far their calls are.

use bayplan_framework::{Answer, CallError, Mark, Ticket};
use bayplan_model::{PodInfo, PodKey, Symbol};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Maximum number of attempts to write the condition of a victim.
const PATCH_TRIES: u32 = 4;

/// The evictions of all preemptors.
#[derive(Clone, Default, Debug)]
pub(super) struct Evictions {
    by_preemptor: BTreeMap<PodKey, Eviction>,
    /// The preemptors whose last victim is this pod. They need not wait once it is being deleted.
    last: BTreeMap<PodKey, BTreeSet<PodKey>>,
    /// The preemptors whose last eviction failed.
    failed: BTreeSet<PodKey>,
}

/// The eviction of the victims of one preemptor.
#[derive(Clone, Debug)]
pub(super) struct Eviction {
    pub(super) preemptor: Arc<PodInfo>,
    pub(super) node: Symbol,
    /// The victim that goes after the others, until its turn.
    last: Option<Arc<PodInfo>>,
    open: BTreeMap<Ticket, Step>,
    failed: bool,
    /// The last victim gave its room back without a call.
    freed_in_memory: bool,
    /// When it began, for metrics.
    pub(super) since: Option<Mark>,
}

/// A victim whose call is open.
#[derive(Clone, Debug)]
pub(super) struct Step {
    pub(super) victim: Arc<PodInfo>,
    /// Whether the call deletes it; else it writes the condition.
    pub(super) deletes: bool,
    tries: u32,
}

impl Step {
    /// The first call for a victim, or the second where its condition is written already.
    pub(super) fn first(victim: Arc<PodInfo>) -> Self {
        Self { deletes: victim.disruption_target, victim, tries: 0 }
    }
}

/// What became of a call.
pub(super) enum Progress {
    /// The next call is to be sent.
    Next(Step),
    /// The victim is evicted by us.
    Evicted(Arc<PodInfo>),
    /// The victim was gone already.
    Gone,
    Failed,
}

impl Eviction {
    /// Whether a call has no answer yet.
    pub(super) fn is_open(&self) -> bool {
        !self.open.is_empty()
    }

    pub(super) fn has_failed(&self) -> bool {
        self.failed
    }

    /// Whether the preemptor is to be tried again without an event.
    pub(super) fn activates(&self) -> bool {
        self.failed || self.freed_in_memory
    }
}

impl Evictions {
    /// An eviction begins. `last` goes after the other victims.
    pub(super) fn begin(
        &mut self,
        preemptor: Arc<PodInfo>,
        node: Symbol,
        last: Option<Arc<PodInfo>>,
        since: Option<Mark>,
    ) {
        let open = BTreeMap::new();
        let key = preemptor.key.clone();
        let eviction = Eviction { preemptor, node, last, open, failed: false, freed_in_memory: false, since };
        self.by_preemptor.insert(key, eviction);
    }

    pub(super) fn get(&self, preemptor: &PodKey) -> Option<&Eviction> {
        self.by_preemptor.get(preemptor)
    }

    pub(super) fn preemptors(&self) -> Vec<PodKey> {
        self.by_preemptor.keys().cloned().collect()
    }

    /// The call of a step was sent.
    pub(super) fn sent(&mut self, preemptor: &PodKey, ticket: Ticket, step: Step) {
        if let Some(eviction) = self.by_preemptor.get_mut(preemptor) {
            eviction.open.insert(ticket, step);
        }
    }

    /// A call was answered, or withdrawn.
    pub(super) fn take(&mut self, preemptor: &PodKey, ticket: Ticket) -> Option<Step> {
        self.by_preemptor.get_mut(preemptor)?.open.remove(&ticket)
    }

    /// The last victim, if it is its turn: the others are gone, and no call failed.
    pub(super) fn take_last(&mut self, preemptor: &PodKey) -> Option<Arc<PodInfo>> {
        let eviction = self.by_preemptor.get_mut(preemptor)?;
        let last = eviction.last.take().filter(|_| !eviction.failed)?;
        self.last.entry(last.key.clone()).or_default().insert(preemptor.clone());
        Some(last)
    }

    /// Whether the last victim gave its room back without a call.
    pub(super) fn freed(&mut self, preemptor: &PodKey, in_memory: bool) {
        if let Some(eviction) = self.by_preemptor.get_mut(preemptor) {
            eviction.freed_in_memory = in_memory;
        }
    }

    /// A call failed. Returns the calls that have no answer yet.
    pub(super) fn fail(&mut self, preemptor: &PodKey) -> Vec<Ticket> {
        let Some(eviction) = self.by_preemptor.get_mut(preemptor) else { return Vec::new() };
        eviction.failed = true;
        eviction.open.keys().copied().collect()
    }

    /// Forgets the eviction of a preemptor. Returns the calls that have no answer yet.
    pub(super) fn forget(&mut self, preemptor: &PodKey) -> Vec<Ticket> {
        let Some(eviction) = self.by_preemptor.remove(preemptor) else { return Vec::new() };
        self.last.retain(|_, preemptors| {
            preemptors.remove(preemptor);
            !preemptors.is_empty()
        });
        eviction.open.into_keys().collect()
    }

    /// Remembers how the last eviction of a preemptor ended. Returns whether this one failed and the one before did too.
    pub(super) fn note_end(&mut self, preemptor: &PodKey, failed: bool) -> bool {
        match failed {
            true => !self.failed.insert(preemptor.clone()),
            false => {
                self.failed.remove(preemptor);
                false
            }
        }
    }

    /// The preemptors whose last victim is this pod.
    pub(super) fn waiting_for(&self, victim: &PodKey) -> Vec<PodKey> {
        self.last.get(victim).into_iter().flatten().cloned().collect()
    }

    /// The preemptors, each with the pods whose eviction has begun and is not done, ordered by key.
    pub(super) fn all(&self) -> impl Iterator<Item = (&PodKey, Vec<&PodKey>)> {
        fn open(eviction: &Eviction) -> Vec<&PodKey> {
            eviction.open.values().map(|step| &step.victim.key).collect()
        }
        self.by_preemptor.iter().map(|(preemptor, eviction)| (preemptor, open(eviction)))
    }

    /// The last victim of a preemptor, once it is its turn.
    pub(super) fn last_of(&self, preemptor: &PodKey) -> Option<&PodKey> {
        self.last.iter().find(|(_, preemptors)| preemptors.contains(preemptor)).map(|(victim, _)| victim)
    }
}

/// What the answer to a step means. `is_here`: the pod is known and not replaced by a namesake.
pub(super) fn progress(step: Step, answer: &Result<Answer, CallError>, is_here: bool) -> Progress {
    match (answer, step.deletes) {
        (Ok(_), false) => Progress::Next(Step { deletes: true, tries: 0, ..step }),
        (Ok(_), true) => Progress::Evicted(step.victim),
        // The name is free, or another pod has it.
        (Err(CallError::Refused { code: 404, .. }), _) => Progress::Gone,
        (Err(CallError::Refused { code: 409, .. }), true) => Progress::Gone,
        (Err(CallError::Refused { code: 409, .. }), false) if !is_here => Progress::Gone,
        (Err(CallError::Refused { code: 409, .. } | CallError::Unknown(_)), false)
            if step.tries + 1 < PATCH_TRIES =>
        {
            Progress::Next(Step { tries: step.tries + 1, ..step })
        }
        (Err(_), _) => Progress::Failed,
    }
}
