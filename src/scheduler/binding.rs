//! Binding cycles as values: what happens to a pod from the choice of its node to the end of its binding.
//!
//! ```text
//! Permit ──► PreBind (group after group of tasks) ──► Bind ──► bound: PostBind
//!   │            │                                     │ 409, or outcome unknown
//!   │            │                                     ▼
//!   │            │                                   Resolve ──► bound here: PostBind
//!   ▼            ▼                                     ▼ bound elsewhere, gone, or unbound to the end
//!   └──────► Leaving: open calls are answered, writes are distinguished from those that did not happen ► Unreserve (all, reverse) ► forget ► requeue
//! ```
//!
//! A binding keeps the framework it began with. Its stages are in `binding_cycle.rs`; here is the work before the bind.
//! Waiting at Permit is in `permit.rs`, the bind call in `bind.rs`, the end without success in `leave.rs`.
//!
//! Source: `pkg/scheduler/schedule_one.go`, `bindingCycle`.

use super::binding_cycle::{BindingCycle, BindingStage, Task};
use super::bindings::watch_key;
use super::calls::{Owner, object_key};
use super::guard::guard;
use super::io::Effect;
use super::permit_wait::Wait;
use super::{Deferred, Scheduler};
use bayplan_framework::{
    Answer, CallError, ConditionPatch, HELD_BY_POLICY, PluginId, PreFlight, Status, TaskPoll, Ticket,
    TimedPoint, Wake,
};
use bayplan_model::{Duration, ObjectKey, PodKey, Time};
use std::collections::VecDeque;

impl Scheduler {
    /// Starts the binding with the result of Permit: the pod waits or continues.
    pub(super) fn begin_binding(
        &mut self,
        mut binding: BindingCycle,
        waits: Vec<(PluginId, Time)>,
        now: Time,
        out: &mut Vec<Effect>,
    ) {
        // The row stays the row of this node until the binding ends, also when pod and node are deleted.
        self.cache.snapshot.pin(binding.node);
        let framework = binding.cycle.framework.clone();
        let groups = match framework.timed(TimedPoint::PreBindPreFlight, || self.pre_flight(&mut binding)) {
            Ok(groups) => groups,
            Err(status) => return self.binding_failed(binding, status, now, out),
        };
        let slow = !groups.is_empty() || !waits.is_empty();
        binding.groups = groups;
        if slow {
            self.show_binding(&binding);
        }
        let pod = binding.cycle.pod.clone();
        if waits.is_empty() {
            self.assumption_stands(&pod, false, now);
            if slow {
                self.binding_waits(&pod.key, false, now);
            }
            return self.permitted(binding, now, out);
        }
        let (cycle, snapshot) = (&binding.cycle, &self.cache.snapshot);
        let wait = |(plugin, until)| Wait::new(cycle, snapshot, plugin, until, now);
        let waits = waits.into_iter().map(wait).collect();
        binding.since = framework.mark();
        binding.stage = BindingStage::Permit(waits);
        self.cache.wait(&pod.key, true);
        self.assumption_stands(&pod, true, now);
        self.binding_waits(&pod.key, true, now);
        self.bindings.put(binding);
    }

    /// What the status of a pod says whose bind comes later. The binding does not wait for the patch.
    fn show_binding(&mut self, binding: &BindingCycle) {
        let (pod, node) = (&binding.cycle.pod, &binding.node_name);
        // Nominate the node early, so that no other scheduler takes its resources while the pod waits.
        let nominated_node = Some(node.clone()).filter(|node| pod.nominated_node.as_ref() != Some(node));
        // A bind writes PodScheduled=True; until then a pod that has a node must not say that a policy holds it.
        let known = pod.scheduled_condition.as_ref().is_some_and(|known| known.1.as_str() == HELD_BY_POLICY);
        let reason = (known || binding.queued.says_held).then_some("");
        if nominated_node.is_some() || reason.is_some() {
            let patch = ConditionPatch {
                reason,
                message: String::new(),
                generation: 0,
                nominated_node,
                resource_version: Box::default(),
            };
            self.outbox.patch(object_key(pod), pod.key.clone(), patch);
        }
    }

    /// Which PreBind plugins have work: groups that run one after another, neighbours that may run beside each other
    /// in one group.
    fn pre_flight(&mut self, binding: &mut BindingCycle) -> Result<VecDeque<Vec<PluginId>>, Status> {
        let framework = binding.cycle.framework.clone();
        let mut groups: VecDeque<Vec<PluginId>> = VecDeque::new();
        let mut beside = false;
        for id in &framework.points().pre_bind {
            let Some(point) = framework.plugin(*id).and_then(|plugin| plugin.pre_bind()) else { continue };
            let handle = binding.cycle.handle(&self.cache.snapshot).for_plugin(*id);
            let answer =
                framework.timed_plugin(binding.cycle.sampled, *id, TimedPoint::PreBindPreFlight, || {
                    guard(&framework, || point.pre_flight(&handle, binding.node))
                });
            match answer {
                Ok(PreFlight::Skip) => {}
                Ok(PreFlight::Run { parallel }) => {
                    match groups.back_mut().filter(|_| beside && parallel) {
                        Some(group) => group.push(*id),
                        None => groups.push_back(vec![*id]),
                    }
                    beside = parallel;
                }
                Err(status) => {
                    let (name, code) = (framework.plugin_name(*id), status.code.name());
                    let text = if status.is_rejected() {
                        format!(
                            "PreBindPreFlight {name} returned {code:?}, which is unsupported. It is supposed to \
                             return Success, Skip, or Error status"
                        )
                    } else {
                        format!("running PreBindPreFlight {name:?}: {}", status.message())
                    };
                    return Err(Status::error(text).by(*id));
                }
            }
        }
        Ok(groups)
    }

    /// Permit allowed the pod. The queue stops keeping events for it.
    pub(super) fn permitted(&mut self, mut binding: BindingCycle, now: Time, out: &mut Vec<Effect>) {
        self.queue.done(binding.key());
        binding.since = binding.cycle.framework.mark();
        self.next_group(binding, now, out);
    }

    fn next_group(&mut self, mut binding: BindingCycle, now: Time, out: &mut Vec<Effect>) {
        while let Some(group) = binding.groups.pop_front() {
            let mut tasks = Vec::new();
            for id in group {
                match self.start_task(&mut binding, id, now) {
                    Ok(task) => tasks.push(task),
                    Err(status) => {
                        binding.stage = BindingStage::PreBind(tasks);
                        return self.binding_failed(binding, status, now, out);
                    }
                }
            }
            let done = tasks.iter().all(|task| task.done);
            binding.stage = BindingStage::PreBind(tasks);
            if !done {
                return self.bindings.put(binding);
            }
        }
        self.bind(binding, now, out);
    }

    fn start_task(&mut self, binding: &mut BindingCycle, id: PluginId, now: Time) -> Result<Task, Status> {
        let framework = binding.cycle.framework.clone();
        let owner = Owner::Binding(binding.key().clone());
        let node = binding.node;
        let cycle = &mut binding.cycle;
        let (started, open) = self.acting(now, &owner, &framework, |acting| {
            let point = framework.plugin(id).and_then(|plugin| plugin.pre_bind());
            let point = point.ok_or_else(|| Status::error("no PreBind plugin"))?;
            guard(&framework, || point.start(&mut acting.actor(cycle, id), node))
        });
        let task = started.map_err(|status| pre_bind_failed(&framework, status, id))?;
        let mut task = Task { plugin: id, task, open, until: None, watch: Vec::new(), done: false };
        self.poll_task(binding, &mut task, &Wake::Start, now)?;
        Ok(task)
    }

    fn poll_task(
        &mut self,
        binding: &mut BindingCycle,
        task: &mut Task,
        wake: &Wake,
        now: Time,
    ) -> Result<(), Status> {
        let framework = binding.cycle.framework.clone();
        let owner = Owner::Binding(binding.key().clone());
        let (cycle, id) = (&mut binding.cycle, task.plugin);
        let inner = &mut task.task;
        let (polled, open) = self.acting(now, &owner, &framework, |acting| {
            guard(&framework, || inner.poll(&mut acting.actor(cycle, id), wake))
        });
        task.open.extend(open);
        match polled.map_err(|status| pre_bind_failed(&framework, status, id))? {
            TaskPoll::Done => {
                task.done = true;
                task.until = None;
                task.watch = Vec::new();
            }
            TaskPoll::Pending { until, watch } => {
                // A deadline that has passed already comes with the next tick.
                task.until = until.map(|until| until.max(now + Duration::from_millis(1)));
                task.watch = watch;
            }
        }
        Ok(())
    }

    /// Polls the tasks that `concerns` selects, and starts the next step when all are done.
    fn poll_tasks(
        &mut self,
        mut binding: BindingCycle,
        mut concerns: impl FnMut(&mut Task) -> Option<Wake>,
        now: Time,
        out: &mut Vec<Effect>,
    ) {
        let BindingStage::PreBind(mut tasks) =
            std::mem::replace(&mut binding.stage, BindingStage::PreBind(Vec::new()))
        else {
            return;
        };
        let mut failed = None;
        for task in &mut tasks {
            if let Some(wake) = concerns(task)
                && !task.done
                && failed.is_none()
                && let Err(status) = self.poll_task(&mut binding, task, &wake, now)
            {
                failed = Some(status);
            }
        }
        let done = tasks.iter().all(|task| task.done && task.open.is_empty());
        binding.stage = BindingStage::PreBind(tasks);
        match failed {
            Some(status) => self.binding_failed(binding, status, now, out),
            None if done => self.next_group(binding, now, out),
            None => self.bindings.put(binding),
        }
    }

    /// A call of a binding was answered.
    pub(super) fn binding_answered(
        &mut self,
        pod: &PodKey,
        ticket: Ticket,
        answer: Result<Answer, CallError>,
        now: Time,
        out: &mut Vec<Effect>,
    ) {
        let Some(mut binding) = self.bindings.take(pod) else { return };
        match &mut binding.stage {
            BindingStage::PreBind(_) => {
                let mut answer = Some(answer);
                let concerns = |task: &mut Task| {
                    let at = task.open.iter().position(|open| *open == ticket)?;
                    task.open.remove(at);
                    answer.take().map(|answer| Wake::Answer(ticket, answer))
                };
                self.poll_tasks(binding, concerns, now, out);
            }
            BindingStage::Bind(_) => self.bind_answered(binding, answer, now, out),
            BindingStage::Resolve { .. } => self.read_answered(binding, answer, now, out),
            BindingStage::Leaving { open, .. } => {
                open.retain(|other| *other != ticket);
                self.write_was_read(&mut binding, ticket, answer, now);
                self.leave(binding, now, out);
            }
            BindingStage::Permit(_) => self.bindings.put(binding),
        }
    }

    /// Notes a changed object for the tasks that watch it.
    pub(super) fn object_changed(&mut self, object: &ObjectKey) {
        for pod in self.bindings.watchers(object) {
            self.deferred.push_back(Deferred::Changed(pod, object.clone()));
        }
    }

    /// Polls the tasks of a pod that watch an object.
    pub(super) fn tasks_see(&mut self, pod: &PodKey, object: &ObjectKey, now: Time, out: &mut Vec<Effect>) {
        let Some(binding) = self.bindings.take(pod) else { return };
        if !matches!(binding.stage, BindingStage::PreBind(_)) {
            return self.bindings.put(binding);
        }
        let key = watch_key(object);
        let same = |watched: &ObjectKey| watch_key(watched) == key;
        let concerns = |task: &mut Task| {
            task.watch.iter().find(|watched| same(watched)).map(|watched| Wake::Changed(watched.clone()))
        };
        self.poll_tasks(binding, concerns, now, out);
    }

    /// Handles the first deadline that has passed; one per call, because its effects may end other bindings.
    pub(super) fn ring_alarm(&mut self, now: Time, out: &mut Vec<Effect>) -> bool {
        let Some(pod) = self.bindings.first_alarm(now).cloned() else { return false };
        let Some(binding) = self.bindings.take(&pod) else { return false };
        match &binding.stage {
            BindingStage::Permit(_) => self.permit_alarm(binding, now, out),
            BindingStage::PreBind(_) => {
                let concerns = |task: &mut Task| {
                    task.until.filter(|until| *until <= now).map(|_| {
                        task.until = None;
                        Wake::Deadline
                    })
                };
                self.poll_tasks(binding, concerns, now, out);
            }
            BindingStage::Resolve { .. } => self.resolve(binding, None, now, out),
            BindingStage::Leaving { .. } => self.leave(binding, now, out),
            BindingStage::Bind(_) => self.bindings.put(binding),
        }
        true
    }
}

fn pre_bind_failed(framework: &bayplan_framework::Framework, status: Status, id: PluginId) -> Status {
    framework.plugin_failed(id, TimedPoint::PreBind);
    let status = status.by(id);
    if status.is_rejected() {
        return status;
    }
    let name = framework.plugin_name(id);
    Status::error(format!("running PreBind plugin {name:?}: {}", status.message())).by(id)
}
