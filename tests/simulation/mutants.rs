//! Mistakes made on purpose, put between the scheduler and its plugins or its driver. Each must be caught: these are
//! the tests of the simulation's checks.

use bayplan::framework::*;
use bayplan::model::{Duration, Index, IndexKey, NodeId, Object, PodInfo, PodPrecondition, Symbol, Time};
use bayplan::scheduler::Input;
use std::sync::Arc;

/// A mistake.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Mutant {
    /// None: what carries the mistakes changes nothing by itself.
    Harmless,
    /// Changes of node labels wake no pod.
    ForgetNodeLabels,
    /// Unreserve does nothing.
    SkipUnreserve,
    /// The driver reports a call of unknown outcome as refused.
    ForgetUnknown,
    /// The driver reports a call that was answered with 429 as refused.
    ThrottledIsRefused,
    /// The driver does not show that a pod is being deleted.
    HideDeletions,
    /// Deleted pods wake no pod.
    SkipDeletions,
    /// When a gang breaks up, its other members stay at Permit.
    LeaveGangBehind,
    /// A pod that waits at Permit is never re-evaluated.
    JudgeOnce,
    /// No plugin says when the clock changes its answer.
    ForgetClock,
    /// Steps of the wall clock are not reported.
    ForgetSteps,
    /// All pods that wait at a plugin's Permit are in one equivalence class.
    AllAreEquivalent,
}

impl Mutant {
    /// The framework with this mistake in all of its plugins.
    pub(crate) fn of(self, framework: &Framework) -> Arc<Framework> {
        let plugins = framework.plugins().iter().map(|plugin| {
            let inner = Arc::clone(plugin);
            Arc::new(Mutated { inner, mutant: self }) as Arc<dyn Plugin>
        });
        let name = framework.scheduler_name.clone();
        Arc::new(Framework::new(name, plugins.collect(), framework.points().clone()))
    }

    /// What a driver with this mistake hands to the scheduler.
    pub(crate) fn input(self, input: Input) -> Input {
        match input {
            Input::Reply(ticket, Err(CallError::Unknown(message))) if self == Self::ForgetUnknown => {
                let reason = String::from("Conflict");
                Input::Reply(ticket, Err(CallError::Refused { code: 409, reason, message }))
            }
            Input::WallClock(_) if self == Self::ForgetSteps => Input::WallClock(Duration::ZERO),
            Input::Reply(ticket, Err(CallError::Retry { message, .. }))
                if self == Self::ThrottledIsRefused =>
            {
                let reason = String::from("TooManyRequests");
                Input::Reply(ticket, Err(CallError::Refused { code: 429, reason, message }))
            }
            Input::Upserted(object) if self == Self::HideDeletions => Input::Upserted(undeleted(object)),
            Input::Relisted(kind, all) if self == Self::HideDeletions => {
                Input::Relisted(kind, all.into_iter().map(undeleted).collect())
            }
            other => other,
        }
    }
}

/// The object as if its deletion had not begun.
fn undeleted(object: Object) -> Object {
    match object {
        Object::Pod(pod) if pod.deleted.is_some() => {
            Object::Pod(Arc::new(PodInfo { deleted: None, ..(*pod).clone() }))
        }
        other => other,
    }
}

/// A plugin with a mistake.
struct Mutated {
    inner: Arc<dyn Plugin>,
    mutant: Mutant,
}

impl Plugin for Mutated {
    fn name(&self) -> &str {
        self.inner.name()
    }
    fn reads(&self) -> Reads {
        self.inner.reads()
    }
    fn is_unchecked(&self) -> bool {
        self.inner.is_unchecked()
    }
    fn not_checked(&self, h: &Handle) -> Vec<(Impact, Symbol)> {
        self.inner.not_checked(h)
    }
    fn precondition(&self) -> Option<PodPrecondition> {
        self.inner.precondition()
    }
    fn digest(&self) -> u64 {
        self.inner.digest()
    }
    fn next_change(&self, h: &Handle) -> Option<Time> {
        self.inner.next_change(h).filter(|_| self.mutant != Mutant::ForgetClock)
    }
    fn indexes(&self) -> Vec<(IndexKey, Box<dyn Index>)> {
        self.inner.indexes()
    }
    fn pre_enqueue(&self) -> Option<&dyn PreEnqueue> {
        self.inner.pre_enqueue()
    }
    fn queue_sort(&self) -> Option<&dyn QueueSort> {
        self.inner.queue_sort()
    }
    fn enqueue_extensions(&self) -> Option<&dyn EnqueueExtensions> {
        self.inner.enqueue_extensions().map(|_| self as &dyn EnqueueExtensions)
    }
    fn pre_filter(&self) -> Option<&dyn PreFilter> {
        self.inner.pre_filter()
    }
    fn filter(&self) -> Option<&dyn Filter> {
        self.inner.filter()
    }
    fn post_filter(&self) -> Option<&dyn PostFilter> {
        self.inner.post_filter()
    }
    fn pre_score(&self) -> Option<&dyn PreScore> {
        self.inner.pre_score()
    }
    fn score(&self) -> Option<&dyn Score> {
        self.inner.score()
    }
    fn reserve(&self) -> Option<&dyn Reserve> {
        self.inner.reserve().map(|_| self as &dyn Reserve)
    }
    fn permit(&self) -> Option<&dyn Permit> {
        self.inner.permit().map(|_| self as &dyn Permit)
    }
    fn pre_bind(&self) -> Option<&dyn PreBind> {
        self.inner.pre_bind()
    }
    fn bind(&self) -> Option<&dyn Bind> {
        self.inner.bind()
    }
    fn post_bind(&self) -> Option<&dyn PostBind> {
        self.inner.post_bind()
    }
}

impl EnqueueExtensions for Mutated {
    fn events(&self) -> Vec<EventRegistration> {
        self.inner.enqueue_extensions().unwrap().events()
    }
    fn hint(&self, h: &Handle, event: &ClusterEvent) -> QueueingHint {
        let forgotten = match self.mutant {
            Mutant::ForgetNodeLabels => event.action == ActionType::UPDATE_NODE_LABEL,
            Mutant::SkipDeletions => matches!(event.objects, EventObjects::Pod { new: None, .. }),
            _ => false,
        };
        if forgotten {
            return QueueingHint::Skip;
        }
        self.inner.enqueue_extensions().unwrap().hint(h, event)
    }
}

impl Reserve for Mutated {
    fn reserve(&self, a: &mut Actor, node: NodeId) -> Result<(), Status> {
        self.inner.reserve().unwrap().reserve(a, node)
    }
    fn unreserve(&self, a: &mut Actor, node: NodeId) {
        if self.mutant != Mutant::SkipUnreserve {
            self.inner.reserve().unwrap().unreserve(a, node);
        }
    }
}

impl Permit for Mutated {
    fn permit(&self, a: &mut Actor, node: NodeId) -> Result<PermitOutcome, Status> {
        self.inner.permit().unwrap().permit(a, node)
    }
    fn reconsider(&self, a: &mut Actor, node: NodeId) -> Result<PermitOutcome, Status> {
        if self.mutant == Mutant::JudgeOnce {
            return Ok(PermitOutcome::Wait { until: a.now + Duration::from_seconds(3_600) });
        }
        self.inner.permit().unwrap().reconsider(a, node)
    }
    fn equivalence_key(&self, h: &Handle) -> Option<u64> {
        if self.mutant == Mutant::AllAreEquivalent {
            return Some(0);
        }
        self.inner.permit().unwrap().equivalence_key(h)
    }
    fn timed_out(&self, h: &Handle) -> Option<Status> {
        self.inner.permit().unwrap().timed_out(h)
    }
    fn left(&self, a: &mut Actor) {
        if self.mutant != Mutant::LeaveGangBehind {
            self.inner.permit().unwrap().left(a);
        }
    }
}
