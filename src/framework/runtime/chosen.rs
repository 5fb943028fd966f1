//! The loops that run once a node is chosen: Reserve, Permit, the binding, and what follows a failed attempt.

use super::{Acting, Cycle, Framework, MAX_PERMIT_WAIT};
use crate::handle::Act;
use crate::plugin_id::PluginId;
use crate::points::*;
use crate::probe::TimedPoint;
use crate::status::{Code, Status};
use bayplan_model::{NodeId, Snapshot, Time};

impl Framework {
    /// Reserve plugins in order. After a refusal the caller runs [`Framework::run_unreserve`].
    pub fn run_reserve(&self, cycle: &mut Cycle, node: NodeId, act: &mut Acting) -> Result<(), Status> {
        self.timed(TimedPoint::Reserve, || {
            for id in &self.points.reserve {
                let Some(point) = self.plugin(*id).and_then(|plugin| plugin.reserve()) else { continue };
                let done = self.timed_plugin(cycle.sampled, *id, TimedPoint::Reserve, || {
                    point.reserve(&mut act.actor(cycle, *id), node)
                });
                if let Err(status) = done {
                    self.plugin_failed(*id, TimedPoint::Reserve);
                    let status = status.by(*id);
                    let failed = status.code == Code::Error;
                    return Err(if failed { self.failed("running Reserve plugin", status) } else { status });
                }
            }
            Ok(())
        })
    }

    /// Unreserve of all Reserve plugins, in reverse order.
    pub fn run_unreserve(&self, cycle: &mut Cycle, node: NodeId, act: &mut Acting) {
        let since = self.mark();
        for id in self.points.reserve.iter().rev() {
            if let Some(point) = self.plugin(*id).and_then(|plugin| plugin.reserve()) {
                point.unreserve(&mut act.actor(cycle, *id), node);
            }
        }
        self.point_ended(TimedPoint::Unreserve, "Success", since);
    }

    /// Runs the plugins that act after a failed attempt, in their order.
    pub fn run_failure(&self, cycle: &mut Cycle, ended_by_others: bool, act: &mut Acting) {
        let before = act.acts.len();
        for id in &self.failures {
            let silent = cycle.state.concerned.as_ref().is_some_and(|some| some.silent.contains(*id));
            if let Some(point) =
                self.plugin(*id).and_then(|plugin| plugin.rule_plugin()?.failure()).filter(|_| !silent)
            {
                point.failed(&mut act.actor(cycle, *id), ended_by_others);
            }
        }
        // A pod that remembers at each failure what it reads itself would never rest.
        for act in act.acts.iter_mut().skip(before) {
            if let Act::Moved(moved) = act {
                *act = Act::MovedByFailure(std::mem::take(moved));
            }
        }
    }

    /// The plugins that write for bound pods, in their order.
    pub fn after_binds(&self) -> impl Iterator<Item = (PluginId, &dyn AfterBind)> {
        let of = |id: &PluginId| Some((*id, self.plugin(*id)?.rule_plugin()?.after_bind()?));
        self.after_binds.iter().filter_map(of)
    }

    /// Whether a plugin acts after a failed attempt.
    pub fn acts_after_failure(&self) -> bool {
        !self.failures.is_empty()
    }

    /// Runs Permit plugins in order. Returns those that make the pod wait, with their deadlines; empty when the pod
    /// may be bound.
    pub fn run_permit(
        &self,
        cycle: &mut Cycle,
        node: NodeId,
        act: &mut Acting,
    ) -> Result<Vec<(PluginId, Time)>, Status> {
        let since = self.mark();
        let asked = self.ask_permits(cycle, node, act);
        let code = match &asked {
            Ok(waits) if waits.is_empty() => "Success",
            Ok(_) => "Wait",
            Err(status) => status.code.name(),
        };
        self.point_ended(TimedPoint::Permit, code, since);
        asked
    }

    fn ask_permits(
        &self,
        cycle: &mut Cycle,
        node: NodeId,
        act: &mut Acting,
    ) -> Result<Vec<(PluginId, Time)>, Status> {
        let mut waits = Vec::new();
        for id in &self.points.permit {
            let Some(point) = self.plugin(*id).and_then(|plugin| plugin.permit()) else { continue };
            let answer = self.timed_plugin(cycle.sampled, *id, TimedPoint::Permit, || {
                point.permit(&mut act.actor(cycle, *id), node)
            });
            match answer {
                Ok(PermitOutcome::Allow) => {}
                Ok(PermitOutcome::Wait { until }) => {
                    waits.push((*id, until.min(cycle.now + MAX_PERMIT_WAIT)))
                }
                Err(status) => {
                    let status = status.by(*id);
                    let failed = status.code == Code::Error;
                    return Err(if failed { self.failed("running Permit plugin", status) } else { status });
                }
            }
        }
        Ok(waits)
    }

    /// Bind plugins in order until one has a call to send, with that plugin.
    pub fn run_bind(
        &self,
        cycle: &Cycle,
        snapshot: &Snapshot,
        node: NodeId,
    ) -> Result<(PluginId, crate::ApiCall), Status> {
        for id in &self.points.bind {
            let Some(point) = self.plugin(*id).and_then(|plugin| plugin.bind()) else { continue };
            match point.bind(&cycle.handle(snapshot).for_plugin(*id), node) {
                Ok(BindOutcome::Skip) => {}
                Ok(BindOutcome::Send(call)) => return Ok((*id, call)),
                Err(status) => {
                    let status = status.by(*id);
                    let failed = status.code == Code::Error;
                    return Err(if failed { self.failed("running Bind plugin", status) } else { status });
                }
            }
        }
        Err(Status::error("all Bind plugins skipped the pod"))
    }

    /// PostBind plugins in order.
    pub fn run_post_bind(&self, cycle: &mut Cycle, node: NodeId, act: &mut Acting) {
        let since = self.mark();
        for id in &self.points.post_bind {
            if let Some(point) = self.plugin(*id).and_then(|plugin| plugin.post_bind()) {
                point.post_bind(&mut act.actor(cycle, *id), node);
            }
        }
        self.point_ended(TimedPoint::PostBind, "Success", since);
    }
}
