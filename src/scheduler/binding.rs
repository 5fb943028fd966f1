//! Binding cycles as values: what happens to a pod from the choice of its node to the end of its binding.
//!
//! ```text
//! Permit ──► PreBind (group after group of tasks) ──► Bind ──► bound: PostBind
//!   │            │                                     │ 409, or outcome unknown
//!   │            │                                     ▼
//!   │            │                                   Resolve ──► bound here: PostBind
//!   ▼            ▼                                     ▼ bound elsewhere, gone, or unbound to the end
//!   └──────► Leaving: open calls are answered ► Unreserve (all, reverse) ► forget ► requeue
//! ```
//!
//! A binding keeps the framework it began with. Waiting at Permit is in `permit.rs`.
//!
//! Source: `pkg/scheduler/schedule_one.go`, `bindingCycle`.

use super::cache::PodState;
use super::calls::{Owner, nomination, object_key};
use super::cycle::{guard, refused_at};
use super::failure::no_nomination;
use super::io::Effect;
use super::permit::Wait;
use super::queue::{Queued, Scope};
use super::{Deferred, Scheduler};
use crate::framework::{
    Answer, BindTask, CallError, Cycle, EventRecord, EventType, Mark, PluginId, PreFlight, Status, TaskPoll,
    Ticket, TimedPoint, Wake, not_checked_text,
};
use crate::model::{Duration, NodeId, Object, ObjectKey, PodInfo, PodKey, Symbol, Time};
use std::collections::VecDeque;
use std::sync::Arc;

/// A pod whose bind has an unknown outcome is read again after this time.
const READ_AGAIN: Duration = Duration::from_seconds(1);

/// The binding cycle of one pod.
#[derive(Clone)]
pub(super) struct BindingCycle {
    pub(super) cycle: Cycle,
    pub(super) queued: Queued,
    pub(super) node: NodeId,
    pub(super) node_name: Symbol,
    pub(super) began: Time,
    pub(super) stage: BindingStage,
    groups: VecDeque<Vec<PluginId>>,
    /// When the current stage began, for the durations in metrics.
    pub(super) since: Option<Mark>,
}

/// How far a binding has come.
#[derive(Clone)]
pub(super) enum BindingStage {
    Permit(Vec<Wait>),
    PreBind(Vec<Task>),
    Bind(Ticket),
    Resolve {
        message: String,
        until: Time,
        next: Time,
        read: Option<Ticket>,
    },
    /// Cancelled; `status: None` means that the pod is not requeued.
    Leaving {
        open: Vec<Ticket>,
        status: Option<Status>,
    },
}

/// A plugin's part of the work before the bind.
pub(super) struct Task {
    plugin: PluginId,
    task: Box<dyn BindTask>,
    open: Vec<Ticket>,
    until: Option<Time>,
    watch: Vec<ObjectKey>,
    done: bool,
}

impl Clone for Task {
    fn clone(&self) -> Self {
        Self {
            plugin: self.plugin,
            task: self.task.fork(),
            open: self.open.clone(),
            until: self.until,
            watch: self.watch.clone(),
            done: self.done,
        }
    }
}

impl BindingCycle {
    pub(super) fn new(cycle: Cycle, queued: Queued, node: NodeId, node_name: Symbol, now: Time) -> Self {
        let stage = BindingStage::Permit(Vec::new());
        Self { cycle, queued, node, node_name, began: now, stage, groups: VecDeque::new(), since: None }
    }

    pub(super) fn key(&self) -> &PodKey {
        &self.cycle.pod.key
    }

    /// The instant at which the binding needs a tick.
    pub(super) fn alarm(&self) -> Option<Time> {
        match &self.stage {
            BindingStage::Permit(waits) => waits.iter().map(Wait::alarm).min(),
            BindingStage::PreBind(tasks) => {
                tasks.iter().filter(|task| !task.done).filter_map(|task| task.until).min()
            }
            BindingStage::Resolve { next, read: None, .. } => Some(*next),
            _ => None,
        }
    }

    pub(super) fn is_waiting(&self) -> bool {
        matches!(&self.stage, BindingStage::Permit(waits) if !waits.is_empty())
    }

    pub(super) fn has_bind_open(&self) -> bool {
        matches!(self.stage, BindingStage::Bind(_) | BindingStage::Resolve { .. })
    }

    pub(super) fn watches(&self) -> bool {
        matches!(&self.stage, BindingStage::PreBind(tasks) if tasks.iter().any(|task| !task.watch.is_empty()))
    }
}

impl Scheduler {
    /// Starts the binding with the result of Permit: the pod waits or continues.
    pub(super) fn begin_binding(
        &mut self,
        mut binding: BindingCycle,
        waits: Vec<(PluginId, Time)>,
        now: Time,
        out: &mut Vec<Effect>,
    ) {
        let framework = binding.cycle.framework.clone();
        let groups = match framework.timed(TimedPoint::PreBindPreFlight, || self.pre_flight(&mut binding)) {
            Ok(groups) => groups,
            Err(status) => return self.binding_failed(binding, status, now, out),
        };
        let slow = !groups.is_empty() || !waits.is_empty();
        binding.groups = groups;
        if slow && binding.cycle.pod.nominated_node.as_ref() != Some(&binding.node_name) {
            // Nominate the node early, so that no other scheduler takes its resources while the pod waits. The binding
            // does not wait for this patch.
            let (key, patch) = (binding.key().clone(), nomination(binding.node_name.clone()));
            self.outbox.patch(object_key(&binding.cycle.pod), key, patch);
        }
        if waits.is_empty() {
            return self.permitted(binding, now, out);
        }
        let (cycle, snapshot) = (&binding.cycle, &self.cache.snapshot);
        let wait = |(plugin, until)| Wait::new(cycle, snapshot, plugin, until, now);
        let waits = waits.into_iter().map(wait).collect();
        binding.since = framework.mark();
        binding.stage = BindingStage::Permit(waits);
        self.cache.wait(&binding.key().clone(), true);
        self.bindings.put(binding);
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

    fn bind(&mut self, mut binding: BindingCycle, now: Time, out: &mut Vec<Effect>) {
        let framework = binding.cycle.framework.clone();
        framework.point_ended(TimedPoint::PreBind, "Success", binding.since);
        binding.since = framework.mark();
        let call =
            guard(&framework, || framework.run_bind(&binding.cycle, &self.cache.snapshot, binding.node));
        match call {
            Ok(call) => {
                let ticket = Ticket(self.next_ticket);
                self.next_ticket += 1;
                self.outbox.call(ticket, call, Owner::Binding(binding.key().clone()));
                binding.stage = BindingStage::Bind(ticket);
                self.bindings.put(binding);
            }
            Err(status) => {
                framework.point_ended(TimedPoint::Bind, status.code.name(), binding.since.take());
                self.binding_failed(binding, status, now, out);
            }
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
            BindingStage::Resolve { read, next, .. } => {
                *read = None;
                *next = now + READ_AGAIN;
                let seen = match answer {
                    Ok(Answer::Object(object)) => Some(object),
                    _ => None,
                };
                self.resolve(binding, seen, now, out);
            }
            BindingStage::Leaving { open, .. } => {
                open.retain(|other| *other != ticket);
                self.leave(binding, now, out);
            }
            BindingStage::Permit(_) => self.bindings.put(binding),
        }
    }

    fn bind_answered(
        &mut self,
        mut binding: BindingCycle,
        answer: Result<Answer, CallError>,
        now: Time,
        out: &mut Vec<Effect>,
    ) {
        let framework = &binding.cycle.framework;
        let binder = framework.points().bind.first().copied().unwrap_or(PluginId::NONE);
        let name = framework.plugin_name(binder).to_owned();
        let code = if answer.is_ok() { "Success" } else { "Error" };
        framework.point_ended(TimedPoint::Bind, code, binding.since);
        framework.plugin_ended(
            binder,
            TimedPoint::Bind,
            code,
            binding.since.filter(|_| binding.cycle.sampled),
        );
        let text = |message: &str| format!("running Bind plugin {name:?}: {message}");
        let key = binding.key().clone();
        match answer {
            Ok(_) => self.bound(binding, now, out),
            // A conflict: the pod may be bound already, so reading it decides.
            Err(CallError::Refused { code: 409, message, .. }) => {
                let message = text(&message);
                binding.stage = BindingStage::Resolve { message, until: now, next: now, read: None };
                self.resolve(binding, None, now, out);
            }
            // `Retry` comes only for a call that was withdrawn while it was open.
            Err(CallError::Refused { message, .. } | CallError::Retry { message, .. }) => {
                match self.cache.state(&key).cloned() {
                    Some(state) if !state.is_bound() => {
                        self.binding_failed(binding, Status::error(text(&message)), now, out);
                    }
                    _ => self.resolve(binding, None, now, out),
                }
            }
            Err(CallError::Unknown(message)) => {
                self.cache.doubt(&key);
                let timeout = self.options.request_timeout;
                let (message, until) = (text(&message), now + timeout + timeout);
                binding.stage = BindingStage::Resolve { message, until, next: now, read: None };
                self.resolve(binding, None, now, out);
            }
        }
    }

    /// Determines the outcome of a bind: from the watch, from reading the pod, or because the time limit for late
    /// binds has passed.
    fn resolve(
        &mut self,
        mut binding: BindingCycle,
        read: Option<Option<Object>>,
        now: Time,
        out: &mut Vec<Effect>,
    ) {
        let key = binding.key().clone();
        let here = &binding.node_name;
        match self.cache.state(&key) {
            None => return self.leave_quietly(binding, now, out),
            Some(PodState::Bound(node) | PodState::Told(node)) if node == here => {
                return self.bound(binding, now, out);
            }
            Some(PodState::Bound(_) | PodState::Told(_)) => return self.leave_quietly(binding, now, out),
            Some(_) => {}
        }
        let BindingStage::Resolve { message, until, next, read: open } = &mut binding.stage else {
            return self.leave_quietly(binding, now, out);
        };
        let failure = Status::error(message.as_str());
        match read {
            Some(Some(Object::Pod(pod))) if pod.key == key => match &pod.node_name {
                Some(node) if *node == binding.node_name => return self.bound(binding, now, out),
                Some(node) => {
                    self.cache.told(&key, node);
                    return self.leave_quietly(binding, now, out);
                }
                None if now >= *until => return self.binding_failed(binding, failure, now, out),
                None => {}
            },
            // It is gone, and the watch will say so.
            Some(_) => return self.binding_failed(binding, failure, now, out),
            None => {}
        }
        if open.is_none() && *next <= now {
            let ticket = Ticket(self.next_ticket);
            self.next_ticket += 1;
            *open = Some(ticket);
            let call = crate::framework::ApiCall::Read(object_key(&binding.cycle.pod));
            self.outbox.call(ticket, call, Owner::Binding(key));
        }
        self.bindings.put(binding);
    }

    /// The pod is bound.
    fn bound(&mut self, mut binding: BindingCycle, now: Time, out: &mut Vec<Effect>) {
        let pod = binding.cycle.pod.clone();
        self.cache.told(&pod.key, &binding.node_name);
        let event = EventRecord {
            pod: object_key(&pod),
            key: pod.key.clone(),
            scheduler: binding.cycle.framework.scheduler_name.clone(),
            kind: EventType::Normal,
            reason: "Scheduled",
            action: "Binding",
            note: scheduled_note(&binding),
            at: now,
        };
        self.event(event, out);
        let framework = binding.cycle.framework.clone();
        let (node, cycle) = (binding.node, &mut binding.cycle);
        let _ = self.acting(now, &Owner::Nobody, &framework, |acting| {
            guard(&framework, || {
                framework.run_post_bind(cycle, node, acting);
                Ok(())
            })
        });
    }

    /// Cancels a binding after a refusal or error. It ends after the replies to its open calls.
    pub(super) fn binding_failed(
        &mut self,
        mut binding: BindingCycle,
        status: Status,
        now: Time,
        out: &mut Vec<Effect>,
    ) {
        let framework = &binding.cycle.framework;
        match &binding.stage {
            BindingStage::Permit(waits) if !waits.is_empty() => {
                framework.waited(status.code.name(), binding.since);
            }
            BindingStage::PreBind(_) => {
                framework.point_ended(TimedPoint::PreBind, status.code.name(), binding.since);
            }
            _ => {}
        }
        let open = self.calls_to_wait_for(&binding);
        self.stop_waiting(&mut binding, now);
        binding.stage = BindingStage::Leaving { open, status: Some(status) };
        self.leave(binding, now, out);
    }

    /// Cancels the binding of a pod that was deleted or bound elsewhere: releases its reservations and reports nothing.
    fn leave_quietly(&mut self, mut binding: BindingCycle, now: Time, out: &mut Vec<Effect>) {
        let open = self.calls_to_wait_for(&binding);
        self.stop_waiting(&mut binding, now);
        binding.stage = BindingStage::Leaving { open, status: None };
        self.leave(binding, now, out);
    }

    /// The sent calls of a binding that have no reply yet. Unsent calls are withdrawn.
    fn calls_to_wait_for(&mut self, binding: &BindingCycle) -> Vec<Ticket> {
        let tickets = match &binding.stage {
            BindingStage::PreBind(tasks) => tasks.iter().flat_map(|task| task.open.iter().copied()).collect(),
            BindingStage::Bind(ticket) => vec![*ticket],
            BindingStage::Resolve { read, .. } => read.iter().copied().collect(),
            BindingStage::Leaving { open, .. } => open.clone(),
            BindingStage::Permit(_) => Vec::new(),
        };
        let mut open: Vec<Ticket> = tickets;
        open.retain(|ticket| self.outbox.is_known(*ticket) && !self.outbox.withdraw(*ticket));
        open
    }

    /// Ends a binding that did not succeed: undoes all steps in reverse order.
    fn leave(&mut self, mut binding: BindingCycle, now: Time, out: &mut Vec<Effect>) {
        let BindingStage::Leaving { open, status } = &binding.stage else { return };
        if !open.is_empty() {
            return self.bindings.put(binding);
        }
        let status = status.clone();
        let key = binding.key().clone();
        self.unreserve(&mut binding.cycle, binding.node, now);
        self.cache.forget(&key);
        let pod = &binding.cycle.pod;
        let pod = Arc::new(PodInfo { node_name: Some(binding.node_name.clone()), ..(**pod).clone() });
        self.freed(&pod, &Scope { except: Some(key.clone()), ..Scope::default() }, now);
        match status {
            Some(status) if self.cache.state(&key) == Some(&PodState::Pending) => {
                let mut refusal = refused_at(&mut binding.cycle, binding.node, status);
                refusal.nominated = no_nomination();
                self.attempt_failed(binding.queued, &binding.cycle, refusal, now, out);
            }
            _ => self.queue.done(&key),
        }
    }

    /// Notes that a pod was deleted or seen on a node; its binding handles this at the end of the step.
    pub(super) fn settled(&mut self, pod: &PodKey) {
        if self.bindings.contains(pod) {
            self.deferred.push_back(Deferred::Settled(pod.clone()));
        }
    }

    /// Handles a binding whose pod was deleted or has a node.
    pub(super) fn binding_settled(&mut self, pod: &PodKey, now: Time, out: &mut Vec<Effect>) {
        let decided = self.cache.state(pod).is_none_or(PodState::is_bound);
        let Some(binding) = self.bindings.take(pod) else { return };
        match &binding.stage {
            _ if !decided => self.bindings.put(binding),
            // The answer of the bind decides.
            BindingStage::Bind(ticket) if !self.outbox.withdraw(*ticket) => self.bindings.put(binding),
            BindingStage::Resolve { read: Some(_), .. } | BindingStage::Leaving { .. } => {
                self.bindings.put(binding);
            }
            BindingStage::Resolve { .. } => self.resolve(binding, None, now, out),
            _ => self.leave_quietly(binding, now, out),
        }
    }

    /// Notes a changed object for the tasks that may watch it.
    pub(super) fn object_changed(&mut self, object: &ObjectKey) {
        for pod in self.bindings.watching() {
            self.deferred.push_back(Deferred::Changed(pod.clone(), object.clone()));
        }
    }

    /// Polls the tasks of a pod that watch an object.
    pub(super) fn tasks_see(&mut self, pod: &PodKey, object: &ObjectKey, now: Time, out: &mut Vec<Effect>) {
        let Some(binding) = self.bindings.take(pod) else { return };
        if !matches!(binding.stage, BindingStage::PreBind(_)) {
            return self.bindings.put(binding);
        }
        let same = |watched: &ObjectKey| {
            watched.kind == object.kind
                && watched.namespace == object.namespace
                && watched.name == object.name
        };
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
            _ => self.bindings.put(binding),
        }
        true
    }
}

fn pre_bind_failed(framework: &crate::framework::Framework, status: Status, id: PluginId) -> Status {
    let status = status.by(id);
    if status.is_rejected() {
        return status;
    }
    let name = framework.plugin_name(id);
    Status::error(format!("running PreBind plugin {name:?}: {}", status.message())).by(id)
}

/// Upstream's text, followed by the unchecked constraints that could have led to another node.
fn scheduled_note(binding: &BindingCycle) -> String {
    let note = format!("Successfully assigned {} to {}", binding.cycle.pod.full_name(), binding.node_name);
    match not_checked_text(&binding.cycle.diagnosis.not_checked) {
        Some(text) => format!("{note} ({text})"),
        None => note,
    }
}
