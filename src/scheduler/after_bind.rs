//! What plugins write for pods that are bound. The Binding takes a mark for each such plugin to the pod, so that a later
//! leader finds what is left to do; the mark goes with the last write. Nothing here is lost by a refused call, a lost
//! answer, a restart or a change of leader, and no mark is worked off twice at once.
//!
//! ```text
//! bound, or seen with a mark that counts ─► Waiting ─► Working: call after call, the pod with its mark last ─► Done
//!                                              ▲            │ refused, unknown                                   │ seen without it
//!                                              └── back-off ┘                                                    ▼ forgotten
//! ```
//!
//! `after_binds` keeps the marks in their order. `mark_judge` says which ones count; of the others only the removal is
//! left. The leader that knows a mark works it off also when a user removes it from the pod meanwhile. To the next leader
//! only the pod tells, so a mark that is removed by others before or between two leaders is lost: the admission rule in
//! `deploy/` leaves marks to the scheduler.
//!
//! What is written is computed again at every try. The work ends, counted, when the plugin or the pod is gone. Marks that
//! were found, as after a restart, are worked off slowly while pods are placed, and at most 32 at once: there may be many, and each
//! costs the API server what a binding costs.

use super::Scheduler;
use super::after_binds::{FIRST_PAUSE, Key, LONGEST_PAUSE, MarkStage, OpenMark, Origin};
use super::calls::{Owner, object_key};
use super::guard::guard;
use super::io::Effect;
use super::mark_judge::Judgement;
use super::note::note;
use bayplan_framework::{Answer, CallError, Cycle, EventRecord, EventType, PluginId, Status, Ticket, Write};
use bayplan_model::{Duration, PodInfo, PodKey, PodMarks, Symbol, Time, after_bind_mark};
use std::collections::VecDeque;
use std::sync::Arc;

impl Scheduler {
    /// The marks that the Binding of a pod to a node carries, and the plugins that they name.
    pub(super) fn marks_after_bind(&self, cycle: &Cycle, node: &Symbol) -> PodMarks {
        let mut marks = PodMarks::default();
        let framework = &cycle.framework;
        for (id, point) in framework.after_binds() {
            let handle = cycle.handle(&self.cache.snapshot).for_plugin(id);
            // A plugin that panics here may have something to write.
            if guard(framework, || Ok(point.marks(&handle))).unwrap_or(true) {
                let plugin = framework.plugin_name(id);
                let proof = self.options.mark_keys.proof(&cycle.pod.key, node, plugin);
                marks.annotations.insert(after_bind_mark(plugin), Arc::from(proof));
            }
        }
        marks
    }

    /// The pod is bound, with these marks.
    pub(super) fn bound_with_marks(&mut self, pod: &PodInfo, marks: &[Symbol], now: Time) {
        for plugin in marks {
            let key = (pod.key.clone(), plugin.clone());
            match self.after_binds.get(&key) {
                None => self.after_binds.begin(&key, now, Origin::Own),
                // The watch showed it before the answer to the Binding came.
                Some(OpenMark { stage: MarkStage::Waiting(_), origin: Origin::Found, .. }) => {
                    self.after_binds.begin(&key, now, Origin::Own);
                }
                Some(_) => {}
            }
        }
    }

    /// A pod was seen on a node.
    pub(super) fn marks_seen(&mut self, pod: &PodInfo, now: Time) {
        let known = self.after_binds.of_pod(&pod.key);
        for key in &known {
            let there = pod.after_bind_marks().any(|(plugin, _)| plugin == key.1.as_str());
            let Some(mark) = self.after_binds.get(key) else { continue };
            match &mark.stage {
                MarkStage::Done { .. } if !there => {
                    self.after_binds.forget(key);
                }
                // Another leader has worked it off, or the user who forged it took it away.
                MarkStage::Waiting(_)
                    if !there && (!self.readiness.leading || mark.origin == Origin::Forged) =>
                {
                    self.after_binds.forget(key);
                }
                // A user set it again.
                MarkStage::Done { version } if is_newer(&pod.resource_version, version) => {
                    self.remove_forged(key, now);
                }
                _ => {}
            }
        }
        let found: Vec<(Symbol, Judgement)> = pod
            .after_bind_marks()
            .map(|(plugin, value)| (Symbol::new(plugin), value))
            .filter(|(plugin, _)| !known.iter().any(|key| key.1 == *plugin))
            .map(|(plugin, value)| (plugin.clone(), self.judge_mark(pod, &plugin, value)))
            .collect();
        for (plugin, judgement) in found {
            let key = (pod.key.clone(), plugin);
            match judgement {
                Judgement::Open if self.writer(pod, &key.1).is_some() => {
                    self.after_binds.begin(&key, now, Origin::Found);
                }
                Judgement::Forged => self.remove_forged(&key, now),
                Judgement::Open | Judgement::Unknown => {}
            }
        }
    }

    /// A mark that does not count goes.
    fn remove_forged(&mut self, key: &Key, now: Time) {
        let at = now + self.mark_judge.pause(&key.0);
        self.after_binds.begin(key, at, Origin::Forged);
    }

    /// A pod is gone.
    pub(super) fn marks_gone(&mut self, pod: &PodKey) {
        for key in self.after_binds.of_pod(pod) {
            self.end_mark(&key, "pod");
        }
        self.mark_judge.gone(pod);
    }

    /// Gives up what plugins that are gone had to write, and takes up what others have to.
    pub(super) fn marks_anew(&mut self, now: Time) {
        let open = self.after_binds.all().filter(|(_, mark)| mark.origin != Origin::Forged);
        let known: Vec<Key> = open.map(|(key, _)| key.clone()).collect();
        for key in known {
            let served =
                self.cache.pod(&key.0).cloned().is_some_and(|pod| self.writer(&pod, &key.1).is_some());
            if !served {
                self.end_mark(&key, "policy");
            }
        }
        let marked: Vec<Arc<PodInfo>> = self
            .cache
            .snapshot
            .pods()
            .map(|entry| &entry.pod)
            .filter(|pod| pod.node_name.is_some() && pod.after_bind_marks().next().is_some())
            .cloned()
            .collect();
        marked.iter().for_each(|pod| self.marks_seen(pod, now));
    }

    fn end_mark(&mut self, key: &Key, why: &'static str) {
        if let Some(OpenMark { stage: MarkStage::Working { ticket, .. }, .. }) =
            self.after_binds.end(key, why)
        {
            self.outbox.withdraw(ticket);
        }
    }

    /// This instance leads no more: what was not sent is computed again by the next leader, which knows the marks that are
    /// on the pods.
    pub(super) fn marks_abandoned(&mut self, now: Time) {
        let open = self.after_binds.all();
        let working = open.filter_map(|(key, mark)| match &mark.stage {
            MarkStage::Working { ticket, .. } => Some((key.clone(), *ticket, mark.failures)),
            _ => None,
        });
        for (key, ticket, failures) in working.collect::<Vec<_>>() {
            if self.outbox.withdraw(ticket) {
                self.after_binds.wait(&key, now, failures);
            }
        }
        let waiting = self.after_binds.all().filter(|(_, mark)| matches!(mark.stage, MarkStage::Waiting(_)));
        let removed = waiting.filter(|((pod, plugin), _)| {
            let seen = self.cache.pod(pod).filter(|pod| pod.node_name.is_some());
            seen.is_some_and(|pod| !pod.after_bind_marks().any(|(mark, _)| mark == plugin.as_str()))
        });
        let removed: Vec<Key> = removed.map(|(key, _)| key.clone()).collect();
        removed.iter().for_each(|key| self.end_mark(key, "mark"));
    }

    /// The plugin of a pod's profile that writes for it.
    fn writer(
        &self,
        pod: &PodInfo,
        plugin: &Symbol,
    ) -> Option<(Arc<bayplan_framework::Framework>, PluginId)> {
        let framework = self.profiles.get(&pod.scheduler_name)?;
        let named = |(id, _): &(PluginId, _)| framework.plugin_name(*id) == plugin.as_str();
        let id = framework.after_binds().find(named)?.0;
        Some((framework.clone(), id))
    }

    /// Whether pods are being placed.
    fn places_pods(&self) -> bool {
        self.queue.has_work() || self.bindings.binds_open() > 0
    }

    /// When the next mark is due.
    pub(super) fn next_mark(&self) -> Option<Time> {
        self.after_binds.first(self.places_pods()).into_iter().flatten().map(|(at, _)| at).min()
    }

    /// Works off the marks that are due.
    pub(super) fn work_marks_off(&mut self, now: Time, out: &mut Vec<Effect>) {
        if !self.readiness.is_ready() || self.after_binds.is_empty() {
            return;
        }
        let busy = self.places_pods();
        while let Some(key) = self.after_binds.next_due(busy, now).cloned() {
            if self.after_binds.origin(&key).is_some_and(|origin| origin != Origin::Own) {
                self.after_binds.pause_found(now);
            }
            self.begin_mark(&key, now, out);
        }
    }

    /// Sends the first call for a mark, or puts it off.
    fn begin_mark(&mut self, key: &Key, now: Time, out: &mut Vec<Effect>) {
        let Some(pod) = self.cache.pod(&key.0).cloned() else {
            return self.end_mark(key, "pod");
        };
        let failures = self.after_binds.get(key).map_or(0, |mark| mark.failures);
        if self.after_binds.origin(key) == Some(Origin::Forged) {
            return self.next_write(key, with_mark_removed(Vec::new(), &pod, &key.1, false), failures);
        }
        let Some((framework, id)) = self.writer(&pod, &key.1) else {
            return self.end_mark(key, "policy");
        };
        let node = self.cache.snapshot.pod(&key.0).and_then(|entry| entry.placed);
        let cycle = Cycle::new(pod.clone(), framework.clone(), now);
        let found = guard(&framework, || {
            let (node, _) = node.ok_or_else(|| Status::error("its node is gone"))?;
            let point = framework.plugin(id).and_then(|plugin| plugin.rule_plugin()?.after_bind());
            let point = point.ok_or_else(|| Status::error("the policy is gone"))?;
            Ok(point.writes(&cycle.handle(&self.cache.snapshot).for_plugin(id), node))
        });
        match found {
            Ok(writes) => {
                let calls = with_mark_removed(writes, &pod, &key.1, true);
                match calls.iter().find_map(Write::problem) {
                    None => self.next_write(key, calls, failures),
                    Some(problem) => self.mark_failed(key, &problem, now, out),
                }
            }
            Err(status) => self.mark_failed(key, &status.message(), now, out),
        }
    }

    fn next_write(&mut self, key: &Key, mut rest: VecDeque<Write>, failures: u32) {
        // The last one is about the pod.
        let Some(write) = rest.pop_front() else { return self.end_mark(key, "pod") };
        let ticket = self.outbox.send(write.call(), Owner::Mark(key.0.clone(), key.1.clone()));
        self.after_binds.set(key, MarkStage::Working { ticket, rest }, failures);
    }

    /// A call for a mark was answered.
    pub(super) fn mark_answered(
        &mut self,
        key: &Key,
        ticket: Ticket,
        answer: Result<Answer, CallError>,
        now: Time,
        out: &mut Vec<Effect>,
    ) {
        let Some(OpenMark { stage: MarkStage::Working { ticket: open, rest }, failures, origin }) =
            self.after_binds.get(key).cloned()
        else {
            return;
        };
        if open != ticket {
            return;
        }
        match answer {
            Ok(answer) if rest.is_empty() => {
                let version = match answer {
                    Answer::Written { version } => version,
                    _ => Box::default(),
                };
                self.after_binds.set(key, MarkStage::Done { version }, 0);
                if origin != Origin::Forged {
                    self.mark_judge.finish(key);
                }
                // The watch may have shown it before the answer came.
                let seen = self.cache.pod(&key.0);
                let gone = seen.is_none_or(|pod| {
                    let mut marks = pod.after_bind_marks();
                    pod.node_name.is_some() && !marks.any(|(plugin, _)| plugin == key.1.as_str())
                });
                if gone {
                    self.after_binds.forget(key);
                }
            }
            Ok(_) if self.readiness.leading => {
                self.next_write(key, rest, failures);
            }
            Ok(_) => self.after_binds.wait(key, now, failures),
            // The last call is about the pod. A watch is about to show that it is gone; one that stays is written again.
            Err(CallError::Refused { code: 404, .. }) if rest.is_empty() => self.try_later(key, now),
            Err(error) => self.mark_failed(key, error.message(), now, out),
        }
    }

    /// The writes begin again after a pause, which grows with each failure.
    fn try_later(&mut self, key: &Key, now: Time) {
        let failures = self.after_binds.get(key).map_or(0, |mark| mark.failures);
        let longer = FIRST_PAUSE.0.saturating_mul(1 << failures.min(16));
        self.after_binds.wait(key, now + Duration(longer.min(LONGEST_PAUSE.0)), failures.saturating_add(1));
    }

    /// Something could not be written: it is tried again after a pause.
    fn mark_failed(&mut self, key: &Key, why: &str, now: Time, out: &mut Vec<Effect>) {
        self.try_later(key, now);
        if self.after_binds.origin(key) == Some(Origin::Forged) {
            return;
        }
        let Some(pod) = self.cache.pod(&key.0).cloned() else { return };
        let event = EventRecord {
            pod: object_key(&pod),
            related: None,
            key: pod.key.clone(),
            scheduler: pod.scheduler_name.clone(),
            kind: EventType::Warning,
            reason: "AfterBindFailed".into(),
            action: "Binding",
            note: note(&format!("policy {}: {why}", key.1)),
            result: None,
            at: now,
        };
        self.event(event, out);
    }

    /// What plugins still have to write for bound pods: pod and plugin.
    pub fn marks_left(&self) -> impl Iterator<Item = (&PodKey, &Symbol)> {
        let left = self.after_binds.all().filter(|(_, mark)| {
            mark.origin != Origin::Forged && !matches!(mark.stage, MarkStage::Done { .. })
        });
        left.map(|((pod, plugin), _)| (pod, plugin))
    }

    /// How often the writes of a plugin were given up, by what is gone: `policy`, `pod`, or `mark`, which a user removed
    /// before this instance ceased to lead.
    pub fn marks_given_up(&self) -> impl Iterator<Item = (&Symbol, &'static str, u64)> {
        self.after_binds.ended()
    }

    /// What a mark on a pod with a node is.
    pub(super) fn judge_mark(&self, pod: &PodInfo, plugin: &Symbol, value: &str) -> Judgement {
        let (Some(node), true) = (&pod.node_name, self.profiles.get(&pod.scheduler_name).is_some()) else {
            return Judgement::Unknown;
        };
        let keys = &self.options.mark_keys;
        // The one knows what this instance wrote before a watch shows it, the other what instances before it wrote.
        if self.mark_judge.is_finished(&(pod.key.clone(), plugin.clone()))
            || pod.written_after_bind.contains(plugin)
        {
            return Judgement::Forged;
        }
        match keys.prove(value, &pod.key, node, plugin) {
            true => Judgement::Open,
            false if keys.judge() => Judgement::Forged,
            false => Judgement::Unknown,
        }
    }
}

/// The writes, and the removal of the mark of a plugin at their end; whether all is written then.
fn with_mark_removed(writes: Vec<Write>, pod: &PodInfo, plugin: &Symbol, written: bool) -> VecDeque<Write> {
    let mut calls: VecDeque<Write> = VecDeque::new();
    for write in writes {
        if !calls.iter_mut().any(|known| known.take_in(&write)) {
            calls.push_back(write);
        }
    }
    calls.push_back(Write::mark_gone(object_key(pod), after_bind_mark(plugin.as_str()), written));
    calls
}

/// Whether a version is later than another one. Versions that are not numbers are later when they differ.
fn is_newer(version: &str, than: &str) -> bool {
    match (version.parse::<u128>(), than.parse::<u128>()) {
        (Ok(version), Ok(than)) => version > than,
        _ => !than.is_empty() && version != than,
    }
}
