//! The wait for devices that are prepared before the binding.
//!
//! Source: `pkg/scheduler/framework/plugins/dynamicresources/dynamicresources.go`, `PreBind`, `isPodReadyForBinding`.

use super::super::state::State;
use super::super::{claims, conditions};
use super::{Binding, Step, failed};
use bayplan_framework::{Actor, EventType, Handle, PluginEvent, Status, TaskPoll};
use bayplan_model::{ApiObject, Duration, Object, ObjectKey, Symbol};

/// How often upstream looks at claims whose devices are being prepared; here watches show most changes earlier.
const POLL: Duration = Duration::from_seconds(5);

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
        (self.step, self.until) = (Step::Prepare, Some(a.now + self.timeout));
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
            Err(text) => Err(failed(text)),
            Ok(true) => Ok(TaskPoll::Done),
            Ok(false) if a.now >= until => {
                Err(failed(String::from("device binding timeout: context deadline exceeded")))
            }
            Ok(false) => Ok(TaskPoll::Pending { until: Some(until.min(a.now + POLL)), watch }),
        }
    }

    pub(super) fn look(&self, h: &Handle, state: &mut State) -> Result<bool, String> {
        let now = h.snapshot.wall_clock(h.now);
        for of in &mut state.claims {
            let (namespace, name) = (&of.claim.metadata.namespace, &of.claim.metadata.name);
            let claim = claims::claim(h.snapshot, namespace, name)
                .ok_or_else(|| format!("could not find ResourceClaim {:?}", format!("{namespace}/{name}")))?;
            of.claim = claim;
            if !conditions::ready(&of.claim)? {
                let name = &of.claim.metadata.name;
                let late = conditions::is_late(&of.claim, self.timeout, now) && self.until > Some(h.now);
                return if late { Err(format!("device binding timeout: claim={name}")) } else { Ok(false) };
            }
        }
        Ok(true)
    }
}
