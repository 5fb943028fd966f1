//! The wait for devices that are prepared before the binding.
//!
//! Source: `pkg/scheduler/framework/plugins/dynamicresources/dynamicresources.go`, `PreBind`, `isPodReadyForBinding`.

use super::super::state::{PodClaim, State};
use super::super::{claims, conditions};
use super::{Binding, Step, failed};
use bayplan_framework::{Actor, Counted, EventType, Handle, PluginEvent, Status, TaskPoll};
use bayplan_model::{ApiObject, Duration, Object, ObjectKey, Symbol};

/// How often upstream looks at claims whose devices are being prepared; here watches show most changes earlier.
const POLL: Duration = Duration::from_seconds(5);

/// How a wait for devices ends: the value of the label `status` of its metrics.
///
/// Source: `pkg/scheduler/metrics/metrics.go`, `BindingConditionsStatusSuccess` and others.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in super::super) enum Ending {
    /// All devices are prepared.
    Success,
    /// A driver says that it will not prepare one.
    Failure,
    /// The time is up.
    Timeout,
    /// Anything else, also an end from outside.
    Error,
}

/// Counts the wait for devices that is under way, and ends it.
pub(in super::super) fn count_wait(a: &mut Actor, ending: Ending) {
    let now = a.now;
    let Some(state) = a.slot().get_mut::<State>() else { return };
    let Some(since) = state.waits_since.take() else { return };
    let results = |of: &PodClaim| of.claim.allocation.clone().into_iter();
    let devices = state.claims.iter().flat_map(results).flat_map(|allocation| {
        allocation.devices.results.iter().map(|result| result.driver.clone()).collect::<Vec<_>>()
    });
    let prepared = state.claims.iter().flat_map(|of| conditions::prepared(&of.claim));
    let counted = Counted::Preparation {
        status: match ending {
            Ending::Success => "success",
            Ending::Failure => "failure",
            Ending::Timeout => "timeout",
            Ending::Error => "error",
        },
        took: now - since,
        devices: devices.collect(),
        prepared: prepared.map(|result| result.driver.clone()).collect(),
    };
    a.counted(counted);
}

impl Binding {
    /// Waits for devices that are prepared before the binding, if the pod has some.
    pub(super) fn begin_to_prepare(&mut self, a: &mut Actor) -> Result<TaskPoll, Status> {
        let waits =
            self.state(a).is_some_and(|state| state.claims.iter().any(|of| conditions::has_any(&of.claim)));
        if !self.conditions || !waits {
            return Ok(TaskPoll::Done);
        }
        let of = Object::Pod(a.pod.clone()).key();
        a.event(PluginEvent {
            of,
            kind: EventType::Normal,
            reason: Symbol::new("BindingConditionsPending"),
            action: "Scheduling",
            note: format!("waiting for binding conditions for device on node {}", self.node),
        });
        let now = a.now;
        (self.step, self.until) = (Step::Prepare, Some(now + self.timeout));
        if let Some(state) = self.state(a) {
            state.waits_since = Some(now);
        }
        self.prepare(a)
    }

    /// Looks at the claims in order, as the watch shows them, up to the first that is not ready.
    pub(super) fn prepare(&mut self, a: &mut Actor) -> Result<TaskPoll, Status> {
        let (Some(mut state), Some(until)) = (self.state(a).cloned(), self.until) else {
            return Ok(TaskPoll::Done);
        };
        let looked_at = self.look(&a.handle(), &mut state);
        let watch: Vec<ObjectKey> = state.claims.iter().map(|of| of.claim.key()).collect();
        a.slot().put(state);
        match looked_at {
            Err((ending, text)) => {
                count_wait(a, ending);
                Err(failed(text))
            }
            Ok(true) => {
                count_wait(a, Ending::Success);
                Ok(TaskPoll::Done)
            }
            Ok(false) if a.now >= until => {
                count_wait(a, Ending::Timeout);
                Err(failed(String::from("device binding timeout: context deadline exceeded")))
            }
            Ok(false) => Ok(TaskPoll::Pending { until: Some(until.min(a.now + POLL)), watch }),
        }
    }

    pub(super) fn look(&self, h: &Handle, state: &mut State) -> Result<bool, (Ending, String)> {
        let now = h.snapshot.wall_clock(h.now);
        for of in &mut state.claims {
            let (namespace, name) = (&of.claim.metadata.namespace, &of.claim.metadata.name);
            let Some(claim) = claims::claim(h.snapshot, namespace, name) else {
                let text = format!("could not find ResourceClaim {:?}", format!("{namespace}/{name}"));
                return Err((Ending::Error, text));
            };
            of.claim = claim;
            if !conditions::ready(&of.claim).map_err(|text| (Ending::Failure, text))? {
                let name = &of.claim.metadata.name;
                let late = conditions::is_late(&of.claim, self.timeout, now) && self.until > Some(h.now);
                return match late {
                    true => Err((Ending::Timeout, format!("device binding timeout: claim={name}"))),
                    false => Ok(false),
                };
            }
        }
        Ok(true)
    }
}
