//! A scheduler step by step: calls stay open until the test answers them. For tests of what happens meanwhile.

use crate::support::plugins::{basics, framework};
use bayplan::dry_run::{Api, WatchEvent};
use bayplan::framework::{Answer, ApiCall, AttemptResult, CallError, ExtenderAsk, Plugin, Ticket};
use bayplan::model::{Duration, Object, PodInfo, PodKey, Time};
use bayplan::scheduler::{DecisionRecord, Effect, Input, Options, Profiles, Scheduler};
use std::sync::Arc;

/// The scheduler with its API server and the calls that have no answer yet.
pub(super) struct Steps {
    pub(super) scheduler: Scheduler,
    pub(super) server: Api,
    pub(super) now: Time,
    pub(super) open: Vec<(Ticket, ApiCall)>,
    pub(super) events: Vec<String>,
    /// How the attempts ended that the events report.
    pub(super) results: Vec<AttemptResult>,
    pub(super) decisions: Vec<DecisionRecord>,
    seen: usize,
}

/// One profile with these plugins, then those of every profile of the tests.
pub(super) fn with(more: Vec<Arc<dyn Plugin>>) -> Arc<Profiles> {
    let plugins = more.into_iter().chain(basics()).collect();
    Arc::new(Profiles { frameworks: vec![framework("default-scheduler", plugins)], revision: 1 })
}

impl Steps {
    pub(super) fn new(profiles: Arc<Profiles>, objects: Vec<Object>) -> Self {
        Self::with_options(Options { longest_wait: None, ..Options::default() }, profiles, objects)
    }

    pub(super) fn with_options(options: Options, profiles: Arc<Profiles>, objects: Vec<Object>) -> Self {
        let mut steps = Self {
            scheduler: Scheduler::new(options),
            server: Api::new(),
            now: Time(1_767_614_400_000_000),
            open: Vec::new(),
            events: Vec::new(),
            results: Vec::new(),
            decisions: Vec::new(),
            seen: 0,
        };
        for input in [Input::Profiles(profiles), Input::Lead(true), Input::Synced] {
            steps.step(input);
        }
        objects.into_iter().for_each(|object| steps.put(object));
        steps
    }

    pub(super) fn step(&mut self, input: Input) {
        let mut out = Vec::new();
        self.scheduler.step(input, self.now, &mut out);
        for effect in out {
            match effect {
                Effect::Call(ticket, call) => self.open.push((ticket, call)),
                Effect::Event(event) => {
                    self.events.push(format!("{} {}", event.reason, event.note));
                    self.results.extend(event.result);
                }
                Effect::Decided(record) => self.decisions.push(*record),
            }
        }
    }

    /// Writes an object, which the watch shows at once.
    pub(super) fn put(&mut self, object: Object) {
        self.server.put(object);
        self.watch();
    }

    /// Changes a pod on the server, which the watch shows at once.
    pub(super) fn change(&mut self, pod: &str, change: impl FnOnce(&mut PodInfo)) {
        let mut changed = (**self.server.pod("default", pod).unwrap()).clone();
        change(&mut changed);
        self.put(Object::Pod(Arc::new(changed)));
    }

    pub(super) fn delete(&mut self, pod: &str) {
        let key = Object::Pod(self.server.pod("default", pod).unwrap().clone()).key();
        assert!(self.server.delete(&key));
        self.watch();
    }

    /// The scheduler has seen everything.
    pub(super) fn caught_up(&mut self) {
        self.seen = self.server.log().len();
    }

    pub(super) fn watch(&mut self) {
        while let Some((_, event)) = self.server.log().get(self.seen).cloned() {
            self.seen += 1;
            self.step(match event {
                WatchEvent::Upserted(object) => Input::Upserted(object),
                WatchEvent::Deleted(key) => Input::Deleted(key),
            });
        }
    }

    /// Attempts as long as there are pods to try.
    pub(super) fn cycles(&mut self) {
        while self.scheduler.wants_cycle() {
            self.step(Input::Cycle);
        }
    }

    /// Lets time pass.
    pub(super) fn wait(&mut self, by: Duration) {
        self.now = self.now + by;
        self.step(Input::Tick);
    }

    /// Answers the oldest open call.
    pub(super) fn reply(&mut self, answer: Result<Answer, CallError>) {
        let (ticket, _) = self.open.remove(0);
        self.step(Input::Reply(ticket, answer));
    }

    /// Lets the server answer all open calls, and those that follow.
    pub(super) fn serve(&mut self) {
        while !self.open.is_empty() {
            let (ticket, call) = self.open.remove(0);
            let answer = self.server.answer(&call, self.now, None);
            self.step(Input::Reply(ticket, answer));
            self.watch();
        }
    }

    /// The kinds of the open calls with the names of their objects.
    pub(super) fn calls(&self) -> Vec<String> {
        let text = |(_, call): &(Ticket, ApiCall)| match call {
            ApiCall::Bind { pod, node, .. } => format!("bind {} {node}", pod.name),
            ApiCall::Read(key) => format!("read {}", key.name),
            ApiCall::PatchStatus { pod, .. } => format!("patch {}", pod.name),
            ApiCall::Patch { of, .. } => format!("patch {}", of.name),
            ApiCall::Delete { of } => format!("delete {}", of.name),
            ApiCall::Create { of, .. } => format!("create {}", of.name),
            ApiCall::Extender { at, ask } => {
                let (verb, names) = match ask {
                    ExtenderAsk::Filter { nodes, .. } => ("filter", nodes.to_vec()),
                    ExtenderAsk::Prioritize { nodes, .. } => ("prioritize", nodes.to_vec()),
                    ExtenderAsk::Preempt { candidates, .. } => {
                        ("preempt", candidates.iter().map(|candidate| candidate.node.clone()).collect())
                    }
                    ExtenderAsk::Bind { node, .. } => ("bind", vec![node.clone()]),
                };
                let names: Vec<&str> = names.iter().map(|name| name.as_str()).collect();
                format!("{verb} {at} {} {}", ask.pod().name, names.join(" "))
            }
        };
        self.open.iter().map(text).collect()
    }

    /// The newest version of a pod on the server.
    pub(super) fn pod(&self, name: &str) -> Arc<PodInfo> {
        self.server.pod("default", name).unwrap().clone()
    }

    pub(super) fn key(&self, name: &str) -> PodKey {
        self.pod(name).key.clone()
    }

    /// CPU that pods take on all nodes, in millicores.
    pub(super) fn taken(&self) -> i64 {
        self.scheduler.snapshot().nodes().map(|node| node.requested().milli_cpu).sum()
    }
}

/// A 429 with this pause.
pub(super) fn too_many(after: Duration) -> Result<Answer, CallError> {
    Err(CallError::Retry { after, message: "too many requests".to_owned() })
}
