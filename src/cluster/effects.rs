//! Sends the scheduler's API calls: bindings, conditions, reads and deletions. Calls about the same
//! pod go out in order, one at a time. The number of calls in flight is bounded. Each call gets one
//! reply: done, refused (it certainly had no effect) or unknown. A binding is never sent twice.

use super::calls::{self, Outcome};
use super::client::Api;
use super::limiter::Class;
use super::term::Term;
use super::watch::rule;
use crate::framework::{Answer, ApiCall, CallError, ConditionPatch, Ticket};
use crate::model::{ObjectKey, Symbol};
use rustc_hash::FxHashMap;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tokio::sync::{mpsc, oneshot};

/// The settings of calls.
#[derive(Clone)]
pub struct Settings {
    /// Maximum number of requests in flight; each takes a connection.
    pub at_once: usize,
    /// Time limit of the API server for a binding; shorter than `leaseDuration - renewDeadline`.
    pub bind_timeout: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self { at_once: 32, bind_timeout: Duration::from_secs(4) }
    }
}

/// A finished call, for metrics.
#[derive(Clone, Debug)]
pub struct FinishedCall {
    /// `bind`, `patch`, `read` or `delete`.
    pub kind: &'static str,
    /// The pod.
    pub pod: ObjectKey,
    /// `done`, `refused`, `unknown` or `retry`.
    pub result: &'static str,
    /// Time from the last request to its answer.
    pub took: Duration,
}

/// Receives the replies.
pub trait Replies: Send + Sync + 'static {
    /// The reply to a call.
    fn reply(&self, ticket: Ticket, result: Result<Answer, CallError>);
    /// A call finished, with a ticket or without.
    fn finished(&self, call: FinishedCall);
}

enum Command {
    Call { ticket: Option<Ticket>, call: ApiCall, transition: bool },
    Finished { lane: Symbol, throttled: bool },
    Drain(oneshot::Sender<()>),
}

/// Sends calls. Clones share the window.
#[derive(Clone)]
pub struct Effects {
    commands: mpsc::UnboundedSender<Command>,
}

impl Effects {
    /// Starts the task that sends the calls; it ends with the last clone.
    pub fn start(api: Api, term: Term, settings: Settings, replies: Arc<dyn Replies>) -> Self {
        let (commands, inbox) = mpsc::unbounded_channel();
        let width = settings.at_once as f64;
        let window = Window {
            maker: Maker { api, term, settings, replies, done: commands.downgrade() },
            lanes: FxHashMap::default(),
            ready: VecDeque::new(),
            open: 0,
            width,
            drained: Vec::new(),
        };
        tokio::spawn(window.run(inbox));
        Self { commands }
    }

    /// Queues a call. A call with a ticket gets one reply. `transition`: the patch changes the
    /// status of the pod's condition, so its transition time is the present time.
    pub fn call(&self, ticket: Option<Ticket>, call: ApiCall, transition: bool) {
        let _ = self.commands.send(Command::Call { ticket, call, transition });
    }

    /// Waits until no call is open, for at most `patience`; returns whether that happened.
    pub async fn drain(&self, patience: Duration) -> bool {
        let (tell, told) = oneshot::channel();
        let _ = self.commands.send(Command::Drain(tell));
        matches!(tokio::time::timeout(patience, told).await, Ok(Ok(())))
    }
}

struct Job {
    ticket: Option<Ticket>,
    call: ApiCall,
    transition: bool,
}

#[derive(Default)]
struct Lane {
    queue: VecDeque<Job>,
    /// The flag of the call in flight, set when a later call makes its retries pointless.
    superseded: Option<Arc<AtomicBool>>,
}

struct Window {
    maker: Maker,
    lanes: FxHashMap<Symbol, Lane>,
    /// Lanes with a queued call and none in flight.
    ready: VecDeque<Symbol>,
    open: usize,
    /// Maximum number of open calls: halved when the server throttles, then widened call by call.
    width: f64,
    drained: Vec<oneshot::Sender<()>>,
}

impl Window {
    async fn run(mut self, mut inbox: mpsc::UnboundedReceiver<Command>) {
        while let Some(command) = inbox.recv().await {
            match command {
                Command::Call { ticket, call, transition } => self.take(Job { ticket, call, transition }),
                Command::Finished { lane, throttled } => self.finished(lane, throttled),
                Command::Drain(tell) => self.drained.push(tell),
            }
            self.send();
            if self.open == 0 && self.ready.is_empty() {
                for tell in self.drained.drain(..) {
                    let _ = tell.send(());
                }
            }
        }
    }

    fn take(&mut self, mut job: Job) {
        let key = lane_of(&job.call);
        let lane = self.lanes.entry(key.clone()).or_default();
        let idle = lane.superseded.is_none() && lane.queue.is_empty();
        match &mut job.call {
            ApiCall::PatchStatus { patch, .. } => {
                // A newer patch replaces one that has not been sent.
                if let Some(at) =
                    lane.queue.iter().position(|it| matches!(it.call, ApiCall::PatchStatus { .. }))
                    && let Some(older) = lane.queue.remove(at)
                {
                    if let ApiCall::PatchStatus { patch: older_patch, .. } = &older.call {
                        join(patch, older_patch);
                    }
                    job.transition |= older.transition;
                    self.maker.refuse(older.ticket, "Superseded", "a newer patch replaced this one");
                }
                if let Some(flag) = &lane.superseded {
                    flag.store(true, Ordering::Relaxed);
                }
            }
            ApiCall::Bind { .. } | ApiCall::Delete { .. } => {
                let mut kept = VecDeque::new();
                for older in lane.queue.drain(..) {
                    if matches!(older.call, ApiCall::PatchStatus { .. }) {
                        self.maker.refuse(older.ticket, "Superseded", "the pod is bound or deleted instead");
                    } else {
                        kept.push_back(older);
                    }
                }
                lane.queue = kept;
                if let Some(flag) = &lane.superseded {
                    flag.store(true, Ordering::Relaxed);
                }
            }
            ApiCall::Read(_) => {}
        }
        lane.queue.push_back(job);
        if idle || (lane.superseded.is_none() && !self.ready.contains(&key)) {
            self.ready.push_back(key);
        }
    }

    fn finished(&mut self, key: Symbol, throttled: bool) {
        self.open -= 1;
        let most = self.maker.settings.at_once as f64;
        self.width =
            if throttled { (self.width / 2.0).max(1.0) } else { (self.width + 1.0 / self.width).min(most) };
        let Some(lane) = self.lanes.get_mut(&key) else { return };
        lane.superseded = None;
        if lane.queue.is_empty() {
            self.lanes.remove(&key);
        } else {
            self.ready.push_back(key);
        }
    }

    fn send(&mut self) {
        while self.open < self.width as usize {
            let Some(key) = self.ready.pop_front() else { return };
            let Some(lane) = self.lanes.get_mut(&key) else { continue };
            let Some(job) = lane.queue.pop_front() else { continue };
            let flag = Arc::new(AtomicBool::new(false));
            lane.superseded = Some(Arc::clone(&flag));
            self.open += 1;
            let maker = self.maker.clone();
            tokio::spawn(async move {
                let throttled = maker.make(job, &flag).await;
                if let Some(done) = maker.done.upgrade() {
                    let _ = done.send(Command::Finished { lane: key, throttled });
                }
            });
        }
    }
}

/// The rule of a role that allows this call.
fn right_of(call: &ApiCall) -> String {
    let (resource, verb) = match call {
        ApiCall::Bind { .. } => ("pods/binding", "create"),
        ApiCall::PatchStatus { .. } => ("pods/status", "patch"),
        ApiCall::Delete { .. } => ("pods", "delete"),
        ApiCall::Read(_) => ("pods", "get"),
    };
    rule("", &[resource], &[verb])
}

/// The class of a call.
fn class_of(call: &ApiCall) -> Class {
    match call {
        ApiCall::Bind { .. } => Class::Bind,
        ApiCall::PatchStatus { .. } | ApiCall::Delete { .. } => Class::Write,
        ApiCall::Read(_) => Class::Read,
    }
}

/// The lane of a call: the pod it is about.
fn lane_of(call: &ApiCall) -> Symbol {
    let key = match call {
        ApiCall::Bind { pod, .. } | ApiCall::PatchStatus { pod, .. } | ApiCall::Delete { pod } => pod,
        ApiCall::Read(key) => key,
    };
    if key.uid.is_empty() { Symbol::from(format!("{}/{}", key.namespace, key.name)) } else { key.uid.clone() }
}

/// Adds to the newer patch what only the older one sets.
fn join(newer: &mut ConditionPatch, older: &ConditionPatch) {
    if newer.reason.is_none() && older.reason.is_some() {
        newer.reason = older.reason;
        newer.message.clone_from(&older.message);
        newer.generation = older.generation;
    }
    if newer.nominated_node.is_none() {
        newer.nominated_node.clone_from(&older.nominated_node);
    }
}

#[derive(Clone)]
struct Maker {
    api: Api,
    term: Term,
    settings: Settings,
    replies: Arc<dyn Replies>,
    done: mpsc::WeakUnboundedSender<Command>,
}

impl Maker {
    fn refuse(&self, ticket: Option<Ticket>, reason: &str, message: &str) {
        if let Some(ticket) = ticket {
            let refused = CallError::Refused { code: 0, reason: reason.into(), message: message.into() };
            self.replies.reply(ticket, Err(refused));
        }
    }

    /// Makes a call and replies to it; returns whether the server throttled it.
    async fn make(&self, job: Job, superseded: &AtomicBool) -> bool {
        let (kind, pod) = match &job.call {
            ApiCall::Bind { pod, .. } => ("bind", pod.clone()),
            ApiCall::PatchStatus { pod, .. } => ("patch", pod.clone()),
            ApiCall::Delete { pod } => ("delete", pod.clone()),
            ApiCall::Read(key) => ("read", key.clone()),
        };
        let mut took = Duration::ZERO;
        let result = self.attempts(&job, superseded, &mut took).await;
        let name = match &result {
            Ok(_) => "done",
            Err(CallError::Refused { .. }) => "refused",
            Err(CallError::Unknown(_)) => "unknown",
            Err(CallError::Retry { .. }) => "retry",
        };
        if let Err(error) = &result {
            let what = format!("{}/{}", pod.namespace, pod.name);
            match error {
                // Without this line nothing would show the missing right: the condition may not be
                // writable, either.
                CallError::Refused { code: 403, message, .. } => {
                    let rule = right_of(&job.call);
                    tracing::error!(call = kind, pod = %what, error = %message, "call forbidden; add this rule to the role: {rule}");
                }
                CallError::Refused { code, message, .. } => {
                    tracing::info!(call = kind, pod = %what, code, error = %message, "call refused");
                }
                CallError::Unknown(why) => {
                    tracing::info!(call = kind, pod = %what, error = %why, "call unanswered");
                }
                CallError::Retry { message, .. } => {
                    tracing::debug!(call = kind, pod = %what, error = %message, "call will be sent again");
                }
            }
        }
        let throttled = matches!(&result, Err(CallError::Refused { code: 429, .. }));
        self.replies.finished(FinishedCall { kind, pod, result: name, took });
        if let Some(ticket) = job.ticket {
            self.replies.reply(ticket, result);
        }
        throttled
    }

    /// Retries what is safe to retry: reads, deletions by UID and patches of conditions.
    async fn attempts(
        &self,
        job: &Job,
        superseded: &AtomicBool,
        took: &mut Duration,
    ) -> Result<Answer, CallError> {
        let mut pause = Duration::from_millis(100);
        let mut tries = match job.call {
            ApiCall::Bind { .. } => 1,
            _ => 5,
        };
        loop {
            self.api.for_class(class_of(&job.call)).admitted().await;
            // The last check of the term before a write.
            if !matches!(job.call, ApiCall::Read(_)) && !self.term.may_write() {
                return Err(CallError::Refused {
                    code: 0,
                    reason: "NotLeading".into(),
                    message: "this instance is not the leader".into(),
                });
            }
            let since = Instant::now();
            let outcome = calls::make(
                &self.api.for_class(class_of(&job.call)),
                &job.call,
                job.transition,
                self.settings.bind_timeout,
            )
            .await;
            *took = since.elapsed();
            tries -= 1;
            let error = match outcome {
                Outcome::Answered(answer) => return Ok(answer),
                Outcome::Failed { error, again } if !again || tries == 0 => return Err(error),
                Outcome::Failed { error, .. } => error,
            };
            if superseded.load(Ordering::Relaxed) {
                return Err(error);
            }
            tokio::time::sleep(pause).await;
            pause *= 2;
        }
    }
}
