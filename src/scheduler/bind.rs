//! The bind call of a binding: sending it, its answer, and finding out the outcome when the answer does not tell.
//!
//! Source: `pkg/scheduler/schedule_one.go`, `bind`.

use super::Scheduler;
use super::binding_cycle::{Binder, BindingCycle, BindingStage};
use super::cache::PodState;
use super::calls::{Owner, object_key};
use super::guard::guard;
use super::io::Effect;
use bayplan_framework::{
    Answer, ApiCall, AttemptResult, CallError, EventRecord, EventType, Extender, ExtenderAsk, Status,
    TimedPoint,
};
use bayplan_model::{Duration, Object, Symbol, Time};

/// A pod whose bind has an unknown outcome is read again after this time.
const READ_AGAIN: Duration = Duration::from_seconds(1);

impl Scheduler {
    /// Sends the bind call.
    pub(super) fn bind(&mut self, binding: BindingCycle, now: Time, out: &mut Vec<Effect>) {
        let framework = binding.cycle.framework.clone();
        framework.point_ended(TimedPoint::PreBind, "Success", binding.since);
        self.bind_from(binding, 0, now, out);
    }

    /// The first extender from the number `next` on that binds, or else the Bind plugins, have the call that binds the
    /// pod.
    fn bind_from(&mut self, mut binding: BindingCycle, next: u16, now: Time, out: &mut Vec<Effect>) {
        let framework = binding.cycle.framework.clone();
        binding.since = framework.mark();
        let after_bind = self.marks_after_bind(&binding.cycle, &binding.node_name);
        let pod = &binding.cycle.pod;
        let call = match framework.extenders().next(pod, next, Extender::binds) {
            // An extender writes the Binding itself, and its protocol has no place for marks.
            Some(at) if self.cache.snapshot.marks(&pod.key).is_some() || !after_bind.is_empty() => {
                let name = framework.extenders().get(at).map_or("", |extender| extender.url.as_str());
                let what = match after_bind.is_empty() {
                    true => "adds annotations or labels in Reserve",
                    false => "with `after bind` adds annotations to the Binding",
                };
                Err(Status::error(format!(
                    "a policy {what}, and extender {name:?} binds the pod: it cannot add them"
                )))
            }
            Some(at) => {
                let ask = ExtenderAsk::Bind { pod: object_key(pod), node: binding.node_name.clone() };
                Ok((Binder::Extender(at), ApiCall::Extender { at, ask }))
            }
            None => {
                let found = guard(&framework, || {
                    framework.run_bind(&binding.cycle, &self.cache.snapshot, binding.node)
                });
                let marks = self.cache.snapshot.marks(&pod.key);
                found.and_then(|(plugin, mut call)| {
                    if let ApiCall::Bind { marks: of_call, .. } = &mut call {
                        marks.into_iter().for_each(|marks| of_call.add(marks.clone()));
                        of_call.add(after_bind.clone());
                        let seen = self.cache.pod(&pod.key).unwrap_or(pod);
                        if let Some(problem) = of_call.problem_on(seen).filter(|_| !of_call.is_empty()) {
                            let text = format!(
                                "what policies add to the pod with its binding is invalid: {problem}"
                            );
                            return Err(Status::error(text));
                        }
                    }
                    Ok((Binder::Plugin(plugin), call))
                })
            }
        };
        match call {
            Ok((binder, call)) => {
                binding.binder = binder;
                let prefix = bayplan_model::AFTER_BIND;
                let plugins =
                    after_bind.annotations.keys().filter_map(|key| key.as_str().strip_prefix(prefix));
                binding.after_bind = plugins.map(Symbol::new).collect();
                let ticket = self.outbox.send(call, Owner::Binding(binding.key().clone()));
                binding.stage = BindingStage::Bind(ticket);
                self.bindings.put(binding);
            }
            Err(status) => {
                framework.point_ended(TimedPoint::Bind, status.code.name(), binding.since.take());
                self.binding_failed(binding, status, now, out);
            }
        }
    }

    /// The bind call was answered.
    pub(super) fn bind_answered(
        &mut self,
        mut binding: BindingCycle,
        answer: Result<Answer, CallError>,
        now: Time,
        out: &mut Vec<Effect>,
    ) {
        let binder = match binding.binder {
            Binder::Extender(at) => return self.extender_bound(binding, at, answer, now, out),
            Binder::Plugin(plugin) => plugin,
        };
        let framework = &binding.cycle.framework;
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

    /// An extender answered that it bound the pod or could not. After an error of one that is ignorable the next binder
    /// follows; after another one the pod is read, because it may be bound all the same.
    fn extender_bound(
        &mut self,
        mut binding: BindingCycle,
        at: u16,
        answer: Result<Answer, CallError>,
        now: Time,
        out: &mut Vec<Effect>,
    ) {
        let key = binding.key().clone();
        let message = match &answer {
            Ok(_) => return self.bound(binding, now, out),
            Err(error) => error.message().to_owned(),
        };
        let unbound = self.cache.state(&key).is_some_and(|state| !state.is_bound()) && !self.ends(&key);
        let ignorable = binding.cycle.framework.extenders().get(at).is_some_and(|of| of.ignorable);
        if unbound && ignorable {
            return self.bind_from(binding, at.saturating_add(1), now, out);
        }
        let until = match answer {
            Err(CallError::Unknown(_)) => {
                self.cache.doubt(&key);
                now + self.options.request_timeout + self.options.request_timeout
            }
            _ => now,
        };
        binding.stage = BindingStage::Resolve { message, until, next: now, read: None };
        self.resolve(binding, None, now, out);
    }

    /// The read of a pod whose bind has an unknown outcome was answered.
    pub(super) fn read_answered(
        &mut self,
        mut binding: BindingCycle,
        answer: Result<Answer, CallError>,
        now: Time,
        out: &mut Vec<Effect>,
    ) {
        if let BindingStage::Resolve { read, next, .. } = &mut binding.stage {
            *read = None;
            *next = now + READ_AGAIN;
        }
        let seen = match answer {
            Ok(Answer::Object(object)) => Some(object),
            _ => None,
        };
        self.resolve(binding, seen, now, out);
    }

    /// Determines the outcome of a bind: from the watch, from reading the pod, or because the time limit for late
    /// binds has passed.
    pub(super) fn resolve(
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
        if self.ends(&key) {
            // The API server refuses to bind a pod that is being deleted, so this bind did not and will not happen: a
            // pod that was bound before its deletion began would be seen with its node.
            // Source: `pkg/registry/core/pod/storage/storage.go`, `setPodNodeAndMetadata`.
            return self.leave_quietly(binding, now, out);
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
                    self.state_moved(&key, false, now);
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
            let call = ApiCall::Read(object_key(&binding.cycle.pod));
            *open = Some(self.outbox.send(call, Owner::Binding(key)));
        }
        self.bindings.put(binding);
    }

    /// The pod is bound.
    fn bound(&mut self, mut binding: BindingCycle, now: Time, out: &mut Vec<Effect>) {
        let pod = binding.cycle.pod.clone();
        self.cache.told(&pod.key, &binding.node_name);
        self.state_moved(&pod.key, false, now);
        let event = EventRecord {
            pod: object_key(&pod),
            related: None,
            key: pod.key.clone(),
            scheduler: binding.cycle.framework.scheduler_name.clone(),
            kind: EventType::Normal,
            reason: "Scheduled".into(),
            action: "Binding",
            note: scheduled_note(&binding),
            result: Some(AttemptResult::Scheduled),
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
        self.bound_with_marks(&pod, &binding.after_bind, now);
        self.cache.end_assumptions(&pod.key);
        self.cache.snapshot.unpin(node);
    }
}

/// Upstream's text.
fn scheduled_note(binding: &BindingCycle) -> String {
    format!("Successfully assigned {} to {}", binding.cycle.pod.full_name(), binding.node_name)
}
