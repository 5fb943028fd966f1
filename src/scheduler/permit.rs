//! Pods that wait at Permit. Each plugin that makes a pod wait has a deadline and is re-evaluated when something that
//! it reads changes. A reload may replace it by a plugin of the same name while the pod waits.

use super::Scheduler;
use super::binding_cycle::{BindingCycle, BindingStage};
use super::calls::Owner;
use super::guard::guard;
use super::io::{Effect, Profiles};
use super::permit_wait::WaitClass;
use super::permit_wait::{Renewal, Wait};
use super::refusal::EndedBy;
use bayplan_framework::{Cycle, Framework, PermitOutcome, PluginId, StateSlot, Status};
use bayplan_model::{Duration, Kinds, PodKey, Snapshot, Symbol, Time};
use std::sync::Arc;

impl Scheduler {
    /// Re-evaluates a plugin for a pod that waits for it.
    fn ask_again(
        &mut self,
        binding: &mut BindingCycle,
        wait: &mut Wait,
        now: Time,
    ) -> Result<PermitOutcome, Status> {
        let node = binding.node;
        let cycle = match &mut wait.successor {
            Some(successor) => &mut **successor,
            None => &mut binding.cycle,
        };
        let framework = cycle.framework.clone();
        let id = wait.plugin;
        let (answer, _) = self.acting(now, &Owner::Nobody, &framework, |acting| {
            let Some(point) = framework.plugin(id).and_then(|plugin| plugin.permit()) else {
                return Ok(PermitOutcome::Allow);
            };
            guard(&framework, || point.reconsider(&mut acting.actor(cycle, id), node))
        });
        // A successor's places mean nothing in the framework that the pod began with.
        let own =
            binding.cycle.framework.plugins().iter().position(|plugin| plugin.name() == wait.name.as_str());
        answer.map_err(|status| match own {
            Some(at) => status.by(PluginId(at as u16)),
            None => status.by(PluginId::NONE),
        })
    }

    /// Re-evaluates one pod per equivalence class at plugins that read what changed. Returns whether anything changed.
    pub(super) fn reconsider_waiting(&mut self, now: Time, out: &mut Vec<Effect>) -> bool {
        let newest = self.cache.snapshot.generation();
        if newest == self.reconsidered {
            return false;
        }
        let concerned = self.bindings.classes_concerned(self.reconsidered, &self.cache.snapshot);
        self.reconsidered = newest;
        // The key of a pod holds values of its namespace as they were when it began to wait.
        let keys_hold = !concerned.kinds.intersects(Kinds::NAMESPACES);
        for class in concerned.all {
            self.ask_class(&class, keys_hold, now, out);
        }
        true
    }

    /// Re-evaluates the pods of a class, until one goes on waiting in it.
    fn ask_class(&mut self, class: &WaitClass, keys_hold: bool, now: Time, out: &mut Vec<Effect>) {
        let mut last: Option<PodKey> = None;
        while let Some(pod) = self.bindings.next_of(class, last.as_ref()) {
            let Some(binding) = self.bindings.take(&pod) else { return };
            self.ask_waits(binding, |wait| wait.name == class.plugin, now, out);
            if keys_hold && class.key.is_some() && self.bindings.is_in(class, &pod) {
                return;
            }
            last = Some(pod);
        }
    }

    /// Re-evaluates plugins that read the clock, for every waiting pod.
    pub(super) fn clock_waits_again(&mut self, now: Time, out: &mut Vec<Effect>) {
        let waiting: Vec<PodKey> = self.bindings.waiting().iter().cloned().collect();
        for pod in waiting {
            let Some(binding) = self.bindings.take(&pod) else { continue };
            let framework = binding.cycle.framework.clone();
            let concerns = |wait: &Wait| wait.successor.is_some() || framework.reads_clock(wait.plugin);
            self.ask_waits(binding, concerns, now, out);
        }
    }

    /// Re-evaluates plugins that read the clock, and ends waits at their deadlines.
    pub(super) fn permit_alarm(&mut self, binding: BindingCycle, now: Time, out: &mut Vec<Effect>) {
        self.ask_waits(binding, |wait| wait.alarm() <= now, now, out);
    }

    /// Re-evaluates the plugins that `concerns` selects for a waiting pod.
    fn ask_waits(
        &mut self,
        mut binding: BindingCycle,
        concerns: impl Fn(&Wait) -> bool,
        now: Time,
        out: &mut Vec<Effect>,
    ) {
        let BindingStage::Permit(waits) = &mut binding.stage else { return self.bindings.put(binding) };
        let mut waits = std::mem::take(waits);
        let mut refused = None;
        let mut still = Vec::new();
        for mut wait in waits.drain(..) {
            if refused.is_some() || !concerns(&wait) {
                still.push(wait);
                continue;
            }
            match self.ask_again(&mut binding, &mut wait, now) {
                Ok(PermitOutcome::Allow) => {}
                Ok(PermitOutcome::Wait { until }) => {
                    if wait.until <= now {
                        refused = Some(self.timed_out(&binding, &wait));
                    } else {
                        wait.until = wait.until.min(until.max(now));
                        let cycle = wait.successor.as_deref().unwrap_or(&binding.cycle);
                        wait.renewal = Renewal::of(cycle, &self.cache.snapshot, wait.plugin, now);
                    }
                    still.push(wait);
                }
                Err(status) => {
                    refused = Some(status);
                    still.push(wait);
                }
            }
        }
        let goes_on = still.is_empty();
        binding.stage = BindingStage::Permit(still);
        match refused {
            Some(status) => self.binding_failed(binding, status, now, out),
            None if goes_on => self.goes_on(binding, now, out),
            None => self.bindings.put(binding),
        }
    }

    fn timed_out(&self, binding: &BindingCycle, wait: &Wait) -> Status {
        let cycle = wait.successor.as_ref().map_or(&binding.cycle, |successor| successor);
        let handle = cycle.handle(&self.cache.snapshot).for_plugin(wait.plugin);
        let point = cycle.framework.plugin(wait.plugin).and_then(|plugin| plugin.permit());
        let own = guard(&cycle.framework, || Ok(point.and_then(|point| point.timed_out(&handle))));
        let of_upstream = || {
            let asked = go_duration(wait.asked);
            Status::unschedulable(format!(
                "rejected due to timeout after waiting {asked} at plugin {}",
                wait.name
            ))
        };
        let status = match own {
            Ok(own) => own.unwrap_or_else(of_upstream),
            Err(panicked) => panicked,
        };
        let place =
            binding.cycle.framework.plugins().iter().position(|plugin| plugin.name() == wait.name.as_str());
        status.by(place.map_or(PluginId::NONE, |at| PluginId(at as u16)))
    }

    fn goes_on(&mut self, binding: BindingCycle, now: Time, out: &mut Vec<Effect>) {
        self.cache.wait(binding.key(), false);
        self.state_moved(binding.key(), false, now);
        binding.cycle.framework.waited("Success", binding.since);
        self.permitted(binding, now, out);
    }

    /// A plugin allows a pod that waits for it.
    pub(super) fn allow_waiting(&mut self, pod: &PodKey, by: &Symbol, now: Time, out: &mut Vec<Effect>) {
        let Some(mut binding) = self.bindings.take(pod) else { return };
        let BindingStage::Permit(waits) = &mut binding.stage else { return self.bindings.put(binding) };
        waits.retain(|wait| wait.name != *by);
        if waits.is_empty() {
            self.goes_on(binding, now, out);
        } else {
            self.bindings.put(binding);
        }
    }

    /// A plugin refuses a pod that waits at Permit.
    pub(super) fn reject_waiting(
        &mut self,
        pod: &PodKey,
        by: &Symbol,
        status: Status,
        ended_by: EndedBy,
        now: Time,
        out: &mut Vec<Effect>,
    ) {
        let Some(mut binding) = self.bindings.take(pod) else { return };
        if !matches!(&binding.stage, BindingStage::Permit(waits) if !waits.is_empty()) {
            return self.bindings.put(binding);
        }
        let framework = &binding.cycle.framework;
        let place = framework.plugins().iter().position(|plugin| plugin.name() == by.as_str());
        let status = status.by(place.map_or(PluginId::NONE, |at| PluginId(at as u16)));
        binding.ended_by = ended_by;
        self.binding_failed(binding, status, now, out);
    }

    /// A waiting pod leaves without being allowed: notifies its plugins.
    pub(super) fn stop_waiting(&mut self, binding: &mut BindingCycle, now: Time) {
        let BindingStage::Permit(waits) = &mut binding.stage else { return };
        let waits = std::mem::take(waits);
        if waits.is_empty() {
            return;
        }
        self.cache.wait(&binding.cycle.pod.key, false);
        for mut wait in waits {
            let cycle = match &mut wait.successor {
                Some(successor) => &mut **successor,
                None => &mut binding.cycle,
            };
            let (framework, id) = (cycle.framework.clone(), wait.plugin);
            let _ = self.acting(now, &Owner::Nobody, &framework, |acting| {
                if let Some(point) = framework.plugin(id).and_then(|plugin| plugin.permit()) {
                    let _ = guard(&framework, || {
                        point.left(&mut acting.actor(cycle, id));
                        Ok(())
                    });
                }
            });
        }
    }

    /// After a reload: waiting pods continue with the plugin of the same name, and are allowed where it is gone.
    pub(super) fn replace_waits(&mut self, profiles: &Profiles, now: Time, out: &mut Vec<Effect>) {
        let waiting: Vec<PodKey> = self.bindings.waiting().iter().cloned().collect();
        for pod in waiting {
            let Some(mut binding) = self.bindings.take(&pod) else { continue };
            let successor = profiles.get(&binding.cycle.framework.scheduler_name).cloned();
            if let BindingStage::Permit(waits) = &mut binding.stage {
                let snapshot = &self.cache.snapshot;
                waits.retain_mut(|wait| succeed(wait, &binding.cycle, successor.as_ref(), snapshot, now));
            }
            // Re-evaluate every remaining wait at once.
            self.ask_waits(binding, |_| true, now, out);
        }
    }
}

/// Hands a wait over to the plugin of the same name; `false` when there is none.
fn succeed(
    wait: &mut Wait,
    cycle: &Cycle,
    framework: Option<&Arc<Framework>>,
    snapshot: &Snapshot,
    now: Time,
) -> bool {
    let Some(framework) = framework else { return false };
    let named = |id: &&PluginId| framework.plugin_name(**id) == wait.name.as_str();
    let Some(id) = framework.points().permit.iter().find(named) else { return false };
    let mut successor = Cycle::new(cycle.pod.clone(), framework.clone(), now);
    successor.queued_at = cycle.queued_at;
    successor.attempts = cycle.attempts;
    let Some(plugin) = framework.plugin(*id) else { return false };
    if let Some(point) = plugin.pre_filter() {
        // PreFilter fills the plugin's slot of the cycle state, which Permit reads.
        let mut slot = StateSlot::default();
        let handle = successor.handle(snapshot).for_plugin(*id);
        let _ = guard(framework, || point.pre_filter(&handle, &mut slot));
        *successor.state.slot_mut(*id) = slot;
    }
    wait.renewal = Renewal::of(&successor, snapshot, *id, now).unshared();
    wait.plugin = *id;
    wait.successor = Some(Box::new(successor));
    true
}

/// A duration as Go prints it: `10s`, `1m30s`, `1h0m0s`, `500ms`.
fn go_duration(of: Duration) -> String {
    let micros = of.0.max(0);
    if micros < 1_000_000 {
        return match micros {
            0 => String::from("0s"),
            _ if micros < 1_000 => format!("{micros}µs"),
            _ => format!("{}ms", micros as f64 / 1e3),
        };
    }
    let (seconds, rest) = (micros / 1_000_000, micros % 1_000_000);
    let (hours, minutes, seconds) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
    let mut text = String::new();
    if hours > 0 {
        text.push_str(&format!("{hours}h"));
    }
    if hours > 0 || minutes > 0 {
        text.push_str(&format!("{minutes}m"));
    }
    let fraction = format!("{rest:06}");
    match fraction.trim_end_matches('0') {
        "" => text.push_str(&format!("{seconds}s")),
        digits => text.push_str(&format!("{seconds}.{digits}s")),
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_read_as_in_go() {
        let text = |micros| go_duration(Duration(micros));
        assert_eq!(text(10_000_000), "10s");
        assert_eq!(text(90_000_000), "1m30s");
        assert_eq!(text(3_600_000_000), "1h0m0s");
        assert_eq!(text(1_500_000), "1.5s");
        assert_eq!(text(500_000), "500ms");
        assert_eq!(text(0), "0s");
    }
}
