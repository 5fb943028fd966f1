//! Sends the scheduler's API calls and events, and the status of other objects, through one window of
//! open requests (`window` says which goes next). Each call is one request and gets one reply: done, refused, unknown, or to be
//! sent again. Nothing is sent twice here: the core's queue of calls decides that, and keeps calls
//! about one pod in order. `events` orders and repeats events.

use super::calls::{self, StatusPatch};
use super::events::{Events, QUEUE};
use super::window::Window;
use crate::api::client::{Api, ApiError, Request};
use crate::api::limiter::{Class, Limits};
use crate::inputs::kinds::KnownResources;
use crate::policies::account::PolicyAccount;
use crate::process::supervisor::{Supervisor, Task};
use crate::process::term::Term;
use bayplan_framework::{Answer, ApiCall, CallError, EventRecord, Ticket};
use bayplan_model::{ObjectKey, Symbol, VersionRow, VersionRows};
use futures::future::BoxFuture;
use futures::stream::{FuturesUnordered, StreamExt};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

/// The settings of calls.
#[derive(Clone)]
pub(crate) struct Settings {
    /// Maximum number of requests in flight; each takes a connection.
    pub at_once: usize,
    /// Time limit of the API server for a write about a pod; shorter than `leaseDuration -
    /// renewDeadline`.
    pub write_timeout: Duration,
    /// The account in whose name policies write.
    pub policies: PolicyAccount,
    /// The pauses before a bind is sent again that the API server could not serve; empty: it is sent once.
    pub bind_pauses: &'static [Duration],
}

/// The pauses of 1.37. Source: `pkg/scheduler/util/utils.go`, `RetriableBind`.
const BIND_PAUSES: &[Duration] =
    &[Duration::from_millis(10), Duration::from_millis(50), Duration::from_millis(250)];

impl Settings {
    /// The usual settings.
    pub(crate) fn new(policies: PolicyAccount) -> Self {
        Self { at_once: 32, write_timeout: Duration::from_secs(4), policies, bind_pauses: &[] }
    }

    /// These, with binds sent again as these rows say.
    pub(crate) fn for_version(self, version: VersionRows) -> Self {
        let again = version.has(VersionRow::BindRetries);
        Self { bind_pauses: if again { BIND_PAUSES } else { &[] }, ..self }
    }
}

/// A finished call, for metrics.
#[derive(Clone, Debug)]
pub(crate) struct FinishedCall {
    /// `bind`, `patch`, `create`, `read`, `delete` or `extender::ask`.
    pub kind: &'static str,
    /// The pod.
    pub pod: ObjectKey,
    /// `done`, `refused`, `unknown` or `retry`.
    pub result: &'static str,
}

/// Receives the replies.
pub(crate) trait Replies: Send + Sync + 'static {
    /// The reply to a call.
    fn reply(&self, ticket: Ticket, result: Result<Answer, CallError>);
    /// A call finished.
    fn finished(&self, call: FinishedCall);
}

/// A call that waits.
struct Job {
    ticket: Ticket,
    call: ApiCall,
    transition: bool,
}

/// A status that waits, and where its answer goes.
type StatusJob = (StatusPatch, oneshot::Sender<Result<Answer, CallError>>);

enum Command {
    Call(Job),
    Event(EventRecord),
    Status(StatusJob),
    Drain(oneshot::Sender<()>),
}

/// Sends calls. Clones share the window.
#[derive(Clone)]
pub(crate) struct Effects {
    commands: mpsc::UnboundedSender<Command>,
    backlog: Arc<Backlog>,
}

/// Sends events, through the window of the calls.
#[derive(Clone)]
pub(crate) struct EventSink {
    commands: mpsc::UnboundedSender<Command>,
    backlog: Arc<Backlog>,
}

/// The events that are not written yet.
#[derive(Default)]
struct Backlog {
    /// On their way to the window.
    sent: AtomicUsize,
    /// In the window.
    waiting: AtomicUsize,
    /// Found no room.
    overflowed: AtomicU64,
    /// The API server did not take them.
    given_up: AtomicU64,
}

impl Backlog {
    fn len(&self) -> usize {
        self.sent.load(Ordering::SeqCst) + self.waiting.load(Ordering::SeqCst)
    }
}

impl Effects {
    /// Starts the task that sends calls and events; it ends with the last clone. `host` is this
    /// instance's host name.
    pub(crate) fn start(
        supervisor: &Supervisor,
        api: &Api,
        term: Term,
        settings: Settings,
        host: &str,
        replies: Arc<dyn Replies>,
    ) -> Self {
        let (commands, inbox) = mpsc::unbounded_channel();
        let backlog = Arc::new(Backlog::default());
        let events = Events::new(host).of_policies_as(settings.policies.user());
        let sender = Sender {
            window: Window::new(settings.at_once),
            limits: Arc::clone(api.limits()),
            caller: Arc::new(Caller {
                api: api.clone(),
                term,
                settings,
                replies,
                known: KnownResources::default(),
            }),
            calls: Calls::default(),
            events,
            statuses: VecDeque::new(),
            backlog: Arc::clone(&backlog),
            open_calls: 0,
            open: FuturesUnordered::new(),
            drained: Vec::new(),
        };
        supervisor.spawn(Task::Calls, sender.run(inbox));
        Self { commands, backlog }
    }

    /// Queues a call, which gets one reply. `transition`: the patch changes the status of the pod's
    /// condition, so its transition time is the present time.
    pub(crate) fn call(&self, ticket: Ticket, call: ApiCall, transition: bool) {
        let _ = self.commands.send(Command::Call(Job { ticket, call, transition }));
    }

    /// Writes the status of an object other than a pod; waits for its turn and for the answer.
    pub(crate) async fn patch_status(&self, patch: StatusPatch) -> Result<Answer, CallError> {
        let (tell, told) = oneshot::channel();
        let _ = self.commands.send(Command::Status((patch, tell)));
        told.await.unwrap_or_else(|_| Err(calls::unsent("the scheduler ends".into())))
    }

    /// The queue of events.
    pub(crate) fn events(&self) -> EventSink {
        EventSink { commands: self.commands.clone(), backlog: Arc::clone(&self.backlog) }
    }

    /// Waits until no call is open, for at most `patience`; returns whether that happened.
    pub(crate) async fn drain(&self, patience: Duration) -> bool {
        let (tell, told) = oneshot::channel();
        let _ = self.commands.send(Command::Drain(tell));
        matches!(tokio::time::timeout(patience, told).await, Ok(Ok(())))
    }
}

impl EventSink {
    /// Queues an event; never waits. An event that finds no room is dropped.
    pub(crate) fn send(&self, event: EventRecord) {
        if self.backlog.len() >= QUEUE {
            self.backlog.overflowed.fetch_add(1, Ordering::Relaxed);
            return;
        }
        self.backlog.sent.fetch_add(1, Ordering::SeqCst);
        let _ = self.commands.send(Command::Event(event));
    }

    /// The number of events that will never be written: they found no room, or the API server did not
    /// take them.
    pub(crate) fn dropped(&self) -> u64 {
        self.backlog.overflowed.load(Ordering::Relaxed) + self.backlog.given_up.load(Ordering::Relaxed)
    }

    /// Waits until all queued events are written, at most `patience`. Drops the others.
    pub(crate) async fn drain(&self, patience: Duration) {
        let until = Instant::now() + patience;
        while self.backlog.len() > 0 && Instant::now() < until {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        let left = self.backlog.len();
        if left > 0 {
            self.backlog.overflowed.fetch_add(left as u64, Ordering::Relaxed);
            tracing::warn!(events = left, "some events were not written before the end");
        }
    }
}

/// The waiting calls, by class.
#[derive(Default)]
struct Calls {
    reads: VecDeque<Job>,
    binds: VecDeque<Job>,
    writes: VecDeque<Job>,
}

impl Calls {
    fn of(&mut self, class: Class) -> &mut VecDeque<Job> {
        match class {
            Class::Bind => &mut self.binds,
            Class::Read => &mut self.reads,
            _ => &mut self.writes,
        }
    }

    fn is_empty(&self) -> bool {
        self.reads.is_empty() && self.binds.is_empty() && self.writes.is_empty()
    }
}

/// A request that ended.
struct Ended {
    class: Class,
    took: Duration,
    throttled: bool,
    what: What,
}

/// What a request was about.
enum What {
    Call,
    /// An event's pod and answer.
    Event(Symbol, Result<(), ApiError>),
    Status,
}

struct Sender {
    window: Window,
    limits: Arc<Limits>,
    caller: Arc<Caller>,
    calls: Calls,
    events: Events,
    statuses: VecDeque<StatusJob>,
    backlog: Arc<Backlog>,
    open_calls: usize,
    open: FuturesUnordered<BoxFuture<'static, Ended>>,
    drained: Vec<oneshot::Sender<()>>,
}

/// How often series of events are looked over.
const SWEEP: Duration = Duration::from_secs(60);

impl Sender {
    async fn run(mut self, mut inbox: mpsc::UnboundedReceiver<Command>) {
        let mut sweep = tokio::time::interval(SWEEP);
        sweep.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            let again = self.send(Instant::now());
            self.tell();
            let alarm = async {
                match again {
                    Some(at) => tokio::time::sleep_until(at).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                command = inbox.recv() => match command {
                    Some(command) => self.take(command),
                    None => return,
                },
                Some(ended) = self.open.next() => self.ended(ended),
                () = alarm => {}
                _ = sweep.tick() => self.events.sweep(Instant::now()),
            }
        }
    }

    fn take(&mut self, command: Command) {
        match command {
            Command::Call(job) => self.calls.of(class_of(&job.call)).push_back(job),
            Command::Event(event) => {
                self.events.push(event, Instant::now());
                self.backlog.waiting.store(self.events.len(), Ordering::SeqCst);
                self.backlog.sent.fetch_sub(1, Ordering::SeqCst);
            }
            Command::Status(job) => self.statuses.push_back(job),
            Command::Drain(tell) => self.drained.push(tell),
        }
    }

    fn ended(&mut self, ended: Ended) {
        let now = Instant::now();
        self.window.closed(ended.class, now, ended.took, ended.throttled);
        match ended.what {
            What::Event(pod, answer) => self.events.answered(&pod, answer, now),
            What::Call => self.open_calls -= 1,
            What::Status => {}
        }
    }

    /// Publishes the number of events, and answers `Drain` when no call is left.
    fn tell(&mut self) {
        self.backlog.waiting.store(self.events.len(), Ordering::SeqCst);
        self.backlog.given_up.store(self.events.given_up(), Ordering::Relaxed);
        if self.open_calls == 0 && self.calls.is_empty() {
            for tell in self.drained.drain(..) {
                let _ = tell.send(());
            }
        }
    }

    /// Opens all requests that may go now. Returns when to look again, if nothing else happens.
    fn send(&mut self, now: Instant) -> Option<Instant> {
        self.events.wake(now);
        loop {
            let (calls, events, statuses) = (&self.calls, &self.events, &self.statuses);
            let waits = |class| match class {
                Class::Bind => !calls.binds.is_empty(),
                Class::Read => !calls.reads.is_empty(),
                Class::Event => events.is_ready(),
                Class::Status => !statuses.is_empty(),
                _ => !calls.writes.is_empty(),
            };
            let class = match self.window.next(&self.limits, now, waits) {
                Ok(class) => class,
                Err(again) => return again.into_iter().chain(self.events.next_retry()).min(),
            };
            self.open(class, now);
        }
    }

    /// Opens the next request of a class.
    fn open(&mut self, class: Class, now: Instant) {
        let caller = Arc::clone(&self.caller);
        let request: BoxFuture<'static, Ended> = if class == Class::Event {
            let Some((pod, request)) = self.events.next(now) else {
                return self.window.closed(class, now, Duration::ZERO, false);
            };
            Box::pin(async move { caller.write_event(pod, request).await })
        } else if class == Class::Status {
            let Some((patch, tell)) = self.statuses.pop_front() else {
                return self.window.closed(class, now, Duration::ZERO, false);
            };
            Box::pin(async move { caller.write_status(patch, tell).await })
        } else {
            let Some(job) = self.calls.of(class).pop_front() else {
                return self.window.closed(class, now, Duration::ZERO, false);
            };
            self.open_calls += 1;
            Box::pin(async move { caller.make(class, job).await })
        };
        self.open.push(request);
    }
}

/// The class of a call.
fn class_of(call: &ApiCall) -> Class {
    match call {
        ApiCall::Bind { .. } => Class::Bind,
        ApiCall::PatchStatus { .. }
        | ApiCall::Patch { .. }
        | ApiCall::Create { .. }
        | ApiCall::Delete { .. } => Class::Write,
        ApiCall::Read(_) | ApiCall::Extender { .. } => Class::Read,
    }
}

/// Makes single requests.
struct Caller {
    api: Api,
    term: Term,
    settings: Settings,
    replies: Arc<dyn Replies>,
    known: KnownResources,
}

impl Caller {
    async fn write_event(&self, pod: Symbol, request: Request) -> Ended {
        let since = Instant::now();
        let answer = self.api.for_class(Class::Event).send_now(request).await.map(drop);
        let throttled = matches!(&answer, Err(error) if error.code() == Some(429));
        Ended { class: Class::Event, took: since.elapsed(), throttled, what: What::Event(pod, answer) }
    }

    /// Writes a status and tells who asked for it.
    async fn write_status(
        &self,
        patch: StatusPatch,
        tell: oneshot::Sender<Result<Answer, CallError>>,
    ) -> Ended {
        let (class, since) = (Class::Status, Instant::now());
        // The last look at the term before a write.
        let answer = match self.term.may_write() {
            true => {
                calls::patch_status(&self.api.for_class(class), &patch, self.settings.write_timeout).await
            }
            false => Err(ApiError::NotSent(String::from("this instance is not the leader"))),
        };
        let throttled = matches!(&answer, Err(error) if error.code() == Some(429));
        let _ = tell.send(answer.map_err(|error| calls::meaning(&error)));
        Ended { class, took: since.elapsed(), throttled, what: What::Status }
    }

    /// Makes a call and replies to it.
    async fn make(&self, class: Class, job: Job) -> Ended {
        let (kind, pod) = match &job.call {
            ApiCall::Bind { pod, .. } => ("bind", pod.clone()),
            ApiCall::PatchStatus { pod: of, .. } | ApiCall::Patch { of, .. } => ("patch", of.clone()),
            ApiCall::Delete { of } => ("delete", of.clone()),
            ApiCall::Create { of, .. } => ("create", of.clone()),
            ApiCall::Read(key) => ("read", key.clone()),
            ApiCall::Extender { ask, .. } => ("extender", ask.pod().clone()),
        };
        let since = Instant::now();
        // The last look at the term before a write.
        let (result, throttled) = if class == Class::Read || self.term.may_write() {
            let api = self.api.for_class(class);
            let limit = self.settings.write_timeout;
            let (known, policies) = (&self.known, Some(&self.settings.policies));
            let ways = calls::Ways { api: &api, known, policies };
            let mut answer = calls::make(ways, &job.call, job.transition, limit).await;
            if class == Class::Bind {
                for pause in self.settings.bind_pauses {
                    if !answer.as_ref().is_err_and(ApiError::cannot_serve) {
                        break;
                    }
                    tokio::time::sleep(*pause).await;
                    if !self.term.may_write() {
                        break;
                    }
                    answer = calls::make(ways, &job.call, job.transition, limit).await;
                }
            }
            let throttled = matches!(&answer, Err(error) if error.code() == Some(429));
            (answer.map_err(|error| calls::meaning(&error)), throttled)
        } else {
            (Err(calls::unsent("this instance is not the leader".into())), false)
        };
        let took = since.elapsed();
        let name = match &result {
            Ok(_) => "done",
            Err(CallError::Refused { .. }) => "refused",
            Err(CallError::Unknown(_)) => "unknown",
            Err(CallError::Retry { .. }) => "retry",
        };
        if let Err(error) = &result {
            log(kind, &pod, &job.call, error);
        }
        self.replies.finished(FinishedCall { kind, pod, result: name });
        self.replies.reply(job.ticket, result);
        Ended { class, took, throttled, what: What::Call }
    }
}

fn is_of_policy(call: &ApiCall) -> bool {
    matches!(call, ApiCall::Patch { body, .. } if body.is_of_policy())
}

fn log(kind: &str, pod: &ObjectKey, call: &ApiCall, error: &CallError) {
    let pod = format!("{}/{}", pod.namespace, pod.name);
    match error {
        // Without this line nothing would show the missing right: the condition may not be writable,
        // either.
        CallError::Refused { code: 403, message, .. } if is_of_policy(call) => {
            tracing::error!(call = kind, %pod, error = %message, "write of a policy forbidden");
        }
        CallError::Refused { code: 403, message, .. } => {
            let rule = calls::right_of(call);
            tracing::error!(call = kind, %pod, error = %message, "call forbidden; add this rule to the role: {rule}");
        }
        CallError::Refused { code, message, .. } => {
            tracing::info!(call = kind, %pod, code, error = %message, "call refused");
        }
        CallError::Unknown(why) => {
            tracing::info!(call = kind, %pod, error = %why, "call unanswered");
        }
        CallError::Retry { message, .. } => {
            tracing::debug!(call = kind, %pod, error = %message, "call will be sent again");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::client::Target;

    struct Record(mpsc::UnboundedSender<Result<Answer, CallError>>);

    impl Replies for Record {
        fn reply(&self, _: Ticket, result: Result<Answer, CallError>) {
            let _ = self.0.send(result);
        }
        fn finished(&self, _: FinishedCall) {}
    }

    /// An API server that answers each request with the next status. Returns its address and the number of requests.
    async fn server(statuses: &'static [u16]) -> (String, Arc<std::sync::atomic::AtomicUsize>) {
        use tokio::io::{AsyncReadExt, AsyncWriteExt};
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let count = Arc::new(std::sync::atomic::AtomicUsize::new(0));
        let counted = count.clone();
        tokio::spawn(async move {
            for status in statuses {
                let (mut stream, _) = listener.accept().await.unwrap();
                let mut request = Vec::new();
                let is_whole = |request: &[u8]| {
                    let text = String::from_utf8_lossy(request).to_lowercase();
                    text.split_once("\r\n\r\n").is_some_and(|(head, body)| {
                        let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
                        body.len() >= length.map_or(0, |length| length.parse().unwrap())
                    })
                };
                while !is_whole(&request) {
                    let mut part = [0; 1024];
                    let read = stream.read(&mut part).await.unwrap();
                    request.extend_from_slice(&part[..read]);
                }
                counted.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
                let body = format!(r#"{{"kind":"Status","apiVersion":"v1","code":{status},"message":"m"}}"#);
                let head =
                    format!("HTTP/1.1 {status} S\r\ncontent-type: application/json\r\nconnection: close");
                let answer = format!("{head}\r\ncontent-length: {}\r\n\r\n{body}", body.len());
                stream.write_all(answer.as_bytes()).await.unwrap();
            }
        });
        (address, count)
    }

    /// The reply to a bind, and how often it was sent.
    async fn bound(statuses: &'static [u16], version: VersionRows) -> (Result<Answer, CallError>, usize) {
        let (address, count) = server(statuses).await;
        let api = Api::new(&Target { master: Some(address), ..Target::default() }).await.unwrap();
        let (supervisor, _failures) = Supervisor::new();
        let (tell, mut replies) = mpsc::unbounded_channel();
        let settings = Settings::new(PolicyAccount::beside("n")).for_version(version);
        let effects =
            Effects::start(&supervisor, &api, Term::endless(), settings, "h", Arc::new(Record(tell)));
        let pod = ObjectKey {
            kind: bayplan_model::Kind::Pod,
            namespace: "n".into(),
            name: "p".into(),
            uid: Symbol::default(),
        };
        effects.call(Ticket(1), ApiCall::Bind { pod, node: "node".into(), marks: Default::default() }, false);
        let reply = replies.recv().await.unwrap();
        (reply, count.load(std::sync::atomic::Ordering::SeqCst))
    }

    #[tokio::test]
    async fn a_bind_that_the_server_cannot_serve_is_sent_again_since_1_37() {
        let [older, newer] = bayplan_model::KubernetesVersion::ALL.map(VersionRows::of);
        assert!(matches!(bound(&[500, 500, 201], newer).await, (Ok(Answer::Done), 3)));
        assert!(matches!(bound(&[503, 500, 503, 500], newer).await, (Err(CallError::Unknown(_)), 4)));
        assert!(matches!(bound(&[500], older).await, (Err(CallError::Unknown(_)), 1)));
        // Never after a conflict.
        assert!(matches!(bound(&[409], newer).await, (Err(CallError::Refused { code: 409, .. }), 1)));
    }

    #[tokio::test]
    async fn a_write_after_the_term_is_no_failure_of_its_pod() {
        let target = Target { master: Some("http://127.0.0.1:1".into()), ..Target::default() };
        let api = Api::new(&target).await.unwrap();
        let (supervisor, _failures) = Supervisor::new();
        let (tell, mut replies) = mpsc::unbounded_channel();
        let replier = Arc::new(Record(tell));
        let effects = Effects::start(
            &supervisor,
            &api,
            Term::none(),
            Settings::new(PolicyAccount::beside("n")),
            "h",
            replier,
        );
        let pod = ObjectKey {
            kind: bayplan_model::Kind::Pod,
            namespace: "n".into(),
            name: "p".into(),
            uid: Symbol::default(),
        };
        let bind = ApiCall::Bind { pod, node: "node".into(), marks: Default::default() };
        effects.call(Ticket(1), bind, false);
        let Some(Err(CallError::Retry { message, .. })) = replies.recv().await else { panic!("no retry") };
        assert_eq!(message, "this instance is not the leader");
        let patch =
            StatusPatch { path: "/apis/g/v1/o".into(), uid: "u".into(), status: serde_json::json!({}) };
        let Err(CallError::Retry { message, .. }) = effects.patch_status(patch).await else {
            panic!("no retry")
        };
        assert!(message.ends_with("this instance is not the leader"), "{message}");
    }
}
