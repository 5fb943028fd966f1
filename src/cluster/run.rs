//! `run`: what is started, in what order, and how it stops. The port first (a port in use is known before anything
//! else), then the connection, policies, watches, the driver's thread, the lease; on SIGTERM the same backwards:
//! no further attempts, open bindings are finished, the lease is given back.

use super::access::{Access, Kept};
use super::client::{Api, ApiError, ConnectError, Request, Target};
use super::debugger;
use super::driver::{Clock, Driver, Machine, Mailbox};
use super::effects::{self, Effects};
use super::events::EventSink;
use super::informers::Informers;
use super::leader::{self, Election};
use super::limiter::Limiter;
use super::metrics::Metrics;
use super::outlet::{Answers, Binding, Sorter};
use super::policies;
use super::policy_source::{self, Source, SourceError, State};
use super::policy_store;
use super::resources;
use super::serve::{self, Check, Pages, ServeError, Server};
use super::stopwatch::Stopwatch;
use super::term::Term;
use crate::framework::Probe;
use crate::model::Time;
use crate::scheduler::{Effect, Input, Options as SchedulerOptions, Profiles, Scheduler};
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Makes the profiles of the configuration with these policies.
pub type MakeProfiles = Box<dyn Fn(&[policies::Policy]) -> Result<Profiles, String> + Send + Sync>;

/// What is run.
pub struct Options {
    /// How the API server is found.
    pub target: Target,
    /// Calls a second and at once; as client-go's.
    pub qps: f64,
    /// See `qps`.
    pub burst: i64,
    /// The lease; `None`: no election, this instance leads at once.
    pub election: Option<leader::Settings>,
    /// The secure port; `None`: none.
    pub serve: Option<serve::Settings>,
    /// Whom to ask about tokens, when not the API server of `target`.
    pub authentication: Option<Target>,
    /// Whom to ask about rights, when not the API server of `target`.
    pub authorization: Option<Target>,
    /// How long their answers count.
    pub kept: Kept,
    /// Where policies come from.
    pub policies: policy_source::Settings,
    /// How the core is set up.
    pub scheduler: SchedulerOptions,
    /// From policies to profiles.
    pub profiles: MakeProfiles,
    /// The effective configuration, for `/configz`.
    pub configz: Value,
}

/// Why it ended otherwise than it was asked to.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// No connection can be made.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// The port cannot be served.
    #[error(transparent)]
    Serve(#[from] ServeError),
    /// The API server cannot be reached.
    #[error("cannot reach the API server {server}: {why}")]
    Unreachable {
        /// Its URL.
        server: String,
        /// What happened.
        why: String,
    },
    /// Credentials are refused.
    #[error("the API server {server} does not accept our credentials ({why}): is the token expired?")]
    Unauthorized {
        /// Its URL.
        server: String,
        /// Its words.
        why: String,
    },
    /// Policies cannot be loaded.
    #[error(transparent)]
    Policies(#[from] SourceError),
    /// The machine refuses.
    #[error("cannot start: {0}")]
    System(std::io::Error),
    /// The lease went to another.
    #[error("leader election lost: {0}")]
    LeaseLost(String),
    /// The driver's thread ended.
    #[error("the scheduling thread ended unexpectedly; see the log")]
    Died,
}

impl Machine for Scheduler {
    fn step(&mut self, input: Input, now: Time, out: &mut Vec<Effect>) {
        Scheduler::step(self, input, now, out);
    }

    fn next_wakeup(&self) -> Option<Time> {
        Scheduler::next_wakeup(self)
    }

    fn wants_cycle(&self) -> bool {
        Scheduler::wants_cycle(self)
    }
}

/// How long the API server may be away at the start.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long open bindings may take at the end, and events after them.
const LAST_CALLS: Duration = Duration::from_secs(5);

/// Runs the scheduler until it is told to stop, or cannot go on.
pub fn run(options: Options) -> Result<(), RunError> {
    // One thread for the connections, beside this one (the lease) and the scheduling thread: a thousand pods a second
    // take a fifth of it, and more threads mostly wake each other. What computes for long says so (`block_in_place`),
    // and another thread takes over meanwhile.
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .thread_stack_size(crate::lang::STACK)
        .enable_all()
        .build()
        .map_err(RunError::System)?;
    let ended = runtime.block_on(start(options));
    runtime.shutdown_timeout(Duration::from_millis(200));
    ended
}

async fn start(options: Options) -> Result<(), RunError> {
    let stop = stop_signal().map_err(RunError::System)?;
    let server = match &options.serve {
        Some(settings) => Some(Server::bind(settings).await?),
        None => None,
    };
    let limiter = || Limiter::new(options.qps, options.burst);
    let metrics = Arc::new(Metrics::new());
    let watch = Arc::new(Stopwatch::new(Arc::clone(&metrics)));
    let api = Api::new(&options.target, limiter()).await?.observed_by(Arc::clone(&watch) as Arc<_>);
    let unlimited = api.limited_by(Limiter::unlimited());
    let access_of = async |target: &Option<Target>| match target {
        Some(target) => Api::new(target, Limiter::unlimited()).await,
        None => Ok(unlimited.clone()),
    };
    let (authentication, authorization) =
        (access_of(&options.authentication).await?, access_of(&options.authorization).await?);
    let access = Access::new(authentication, authorization, options.kept);

    let term = if options.election.is_some() { Term::none() } else { Term::endless() };
    let binding = Arc::new(Binding::default());
    let (driver, inbox) = Driver::<Scheduler>::new();
    let mailbox = driver.mailbox();
    let answers =
        Answers { mailbox: mailbox.clone(), metrics: Arc::clone(&metrics), binding: Arc::clone(&binding) };
    let calls = effects::Settings::default();
    let effects = Effects::start(api.clone(), term.clone(), calls.clone(), Arc::new(answers));
    // As upstream: events have a limit of their own.
    let identity =
        options.election.as_ref().map_or_else(leader::identity, |election| election.identity.clone());
    let host = identity.split('_').next().unwrap_or_default().to_owned();
    let events = EventSink::start(&api.limited_by(limiter()), &host);
    let informers = Informers::new(&unlimited, mailbox.clone());

    let profiles = timed(options.profiles, Arc::clone(&watch) as Arc<dyn Probe>);
    let source = source(options.policies, profiles, &unlimited, &term, &informers, &mailbox);
    let policies = source.state();
    let status = Arc::new(Status { leading: AtomicBool::new(false), stopping: AtomicBool::new(false) });
    if let Some(server) = server {
        let port = server.port();
        tracing::info!(port, "serving securely");
        let pages = Pages {
            checks: checks(&status, &informers, &policies, &term, options.election.is_some()),
            metrics: metrics_page((&metrics, &watch), &driver, &informers, &policies, &events, &binding),
            resources: resources_page(&driver, &status),
            configz: configz_page(options.configz, &policies),
            access,
        };
        tokio::spawn(server.serve(pages));
    }

    debugger::start(unlimited.clone(), driver.clone()).map_err(RunError::System)?;
    reach(&unlimited).await?;
    let (loaded, loading) = tokio::sync::oneshot::channel();
    tokio::spawn(source.run(loaded));
    let mut stop = std::pin::pin!(stop);
    tokio::select! {
        result = loading => result.unwrap_or_else(|_| Err(SourceError::Set("the loader ended".into())))?,
        () = &mut stop => return Ok(()),
    }
    informers.start();

    let machine = Scheduler::new(SchedulerOptions {
        request_timeout: crate::model::Duration::from_millis(
            i64::try_from(calls.bind_timeout.as_millis()).unwrap_or(4_000) + 500,
        ),
        window: calls.at_once * 4,
        ..options.scheduler
    });
    let sorter = Sorter::new(effects.clone(), events.clone(), Arc::clone(&metrics), binding);
    let (died, mut dead) = tokio::sync::oneshot::channel::<()>();
    std::thread::Builder::new()
        .name("scheduler".into())
        .stack_size(crate::lang::STACK)
        .spawn(move || {
            // Dropped at the end, however it comes.
            let _died = died;
            inbox.run(machine, sorter, Clock::start());
        })
        .map_err(RunError::System)?;

    let mut election = options.election.map(|settings| Election::new(unlimited.clone(), settings));
    let name = election.as_ref().map_or_else(String::new, |it| it.name().to_owned());
    let lease = vec![("name", name)];
    metrics.master_status.get_or_create(&lease).set(0);
    if let Some(election) = &mut election {
        tokio::select! {
            () = election.acquire(&term, |_| {}) => {}
            () = &mut stop => return Ok(()),
            _ = &mut dead => return Err(RunError::Died),
        }
    }
    status.leading.store(true, Ordering::SeqCst);
    metrics.master_status.get_or_create(&lease).set(1);
    metrics.leader.set(1);
    mailbox.input(Input::Lead(true));

    let held = async {
        match &mut election {
            Some(election) => election.hold(&term).await,
            None => std::future::pending().await,
        }
    };
    tokio::select! {
        why = held => {
            // Nothing is written any more (`term`); the process ends, and another instance goes on.
            mailbox.input(Input::Lead(false));
            metrics.leader.set(0);
            return Err(RunError::LeaseLost(why));
        }
        _ = &mut dead => return Err(RunError::Died),
        () = &mut stop => {}
    }
    tracing::info!("stopping: finishing open bindings");
    status.stopping.store(true, Ordering::SeqCst);
    mailbox.input(Input::Lead(false));
    // What the driver has sent before this is on its way when it answers.
    let _ = driver.ask(|_| ()).await;
    if !effects.drain(LAST_CALLS).await {
        tracing::warn!("some calls were not answered; the API server decides their fate");
    }
    events.drain(Duration::from_secs(2)).await;
    driver.stop();
    if let Some(election) = &mut election {
        election.release().await;
    }
    term.end();
    Ok(())
}

fn stop_signal() -> std::io::Result<impl Future<Output = ()>> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    })
}

/// Waits until the API server answers; says what is wrong, and gives up when that will not pass.
async fn reach(api: &Api) -> Result<(), RunError> {
    let server = || api.server().to_owned();
    let since = Instant::now();
    let mut said = String::new();
    loop {
        // An expired token gets 401 here too, while an anonymous caller may read this path.
        let request = Request::get("/version").within(Duration::from_secs(5));
        match api.call::<Value>(request).await {
            Ok(version) => {
                tracing::info!(server = api.server(), version = version["gitVersion"].as_str(), "connected");
                return Ok(());
            }
            Err(ApiError::Status { code: 401, message, .. }) => {
                return Err(RunError::Unauthorized { server: server(), why: message });
            }
            // Whoever may not read the version may still schedule.
            Err(ApiError::Status { code: 403, .. }) => return Ok(()),
            Err(error) => {
                let why = match error {
                    ApiError::NotSent(why) | ApiError::Lost(why) => why,
                    other => other.to_string(),
                };
                if since.elapsed() > PATIENCE {
                    return Err(RunError::Unreachable { server: server(), why });
                }
                if said != why {
                    tracing::warn!(server = api.server(), %why, "cannot reach the API server; trying for 30 s");
                    said = why;
                }
                tokio::time::sleep(Duration::from_millis(500)).await;
            }
        }
    }
}

/// The same profiles, whose points and plugins are timed.
fn timed(profiles: MakeProfiles, probe: Arc<dyn Probe>) -> MakeProfiles {
    Box::new(move |policies| {
        let mut made = profiles(policies)?;
        for framework in made.frameworks.iter_mut().filter_map(Arc::get_mut) {
            framework.observe(&probe);
        }
        Ok(made)
    })
}

/// The source of policies: what it loads becomes profiles, and is in service when the watches bring what it reads.
fn source(
    settings: policy_source::Settings,
    profiles: MakeProfiles,
    api: &Api,
    term: &Term,
    informers: &Informers,
    mailbox: &Mailbox,
) -> Source<policies::Policy> {
    let profiles = Arc::new(profiles);
    let (informers, mailbox) = (informers.clone(), mailbox.clone());
    let apply: policy_source::Apply<policies::Policy> = Box::new(move |service, revision| {
        let (profiles, informers, mailbox) = (Arc::clone(&profiles), informers.clone(), mailbox.clone());
        Box::pin(async move {
            let policies: Vec<_> = service.policies.into_iter().map(|(_, it)| it.policy).collect();
            let made = tokio::task::block_in_place(|| profiles(&policies))?;
            informers.need(policies::needs(&policies)).await?;
            mailbox.input(Input::Profiles(Arc::new(Profiles { revision, ..made })));
            Ok(())
        })
    });
    let texts: (_, policy_store::StandIn) = (Box::new(policies::compile), Box::new(policies::stand_in));
    Source::new(api.clone(), term.clone(), settings, (texts.0, texts.1), apply)
}

struct Status {
    leading: AtomicBool,
    stopping: AtomicBool,
}

fn checks(
    status: &Arc<Status>,
    informers: &Informers,
    policies: &State,
    term: &Term,
    elects: bool,
) -> Vec<Check> {
    let (of_lease, term) = (Arc::clone(status), term.clone());
    let of_shutdown = Arc::clone(status);
    let informers = informers.clone();
    let policies = policies.clone();
    vec![
        Check {
            name: "leaderElection",
            of: &["healthz", "readyz"],
            ask: Box::new(move || {
                let late = elects && of_lease.leading.load(Ordering::SeqCst) && !term.may_write();
                if late { Err("the lease was not renewed in time".into()) } else { Ok(()) }
            }),
        },
        Check {
            name: "shutdown",
            of: &["readyz"],
            ask: Box::new(move || match of_shutdown.stopping.load(Ordering::SeqCst) {
                true => Err("process is shutting down".into()),
                false => Ok(()),
            }),
        },
        Check {
            name: "sched-handler-sync",
            of: &["readyz"],
            ask: Box::new(move || {
                if informers.is_synced() {
                    return Ok(());
                }
                let states = informers.states();
                let open: Vec<String> = states
                    .iter()
                    .filter(|state| !state.listed)
                    .map(|state| match &state.trouble {
                        Some(trouble) => format!("{}: {trouble}", state.resource),
                        None => format!("{} are not listed yet", state.resource),
                    })
                    .collect();
                Err(format!("handlers are not fully synchronized: {}", open.join("; ")))
            }),
        },
        Check { name: "policy-loaded", of: &["readyz"], ask: Box::new(move || policies.loaded()) },
    ]
}

fn metrics_page(
    (metrics, watch): (&Arc<Metrics>, &Arc<Stopwatch>),
    driver: &Driver<Scheduler>,
    informers: &Informers,
    policies: &State,
    events: &EventSink,
    binding: &Arc<Binding>,
) -> serve::Page {
    let (metrics, driver, informers) = (Arc::clone(metrics), driver.clone(), informers.clone());
    let (policies, events, binding) = (policies.clone(), events.clone(), Arc::clone(binding));
    let watch = Arc::clone(watch);
    Box::new(move || {
        watch.settle();
        let (metrics, driver, informers) = (Arc::clone(&metrics), driver.clone(), informers.clone());
        let (policies, events, binding) = (policies.clone(), events.clone(), Arc::clone(&binding));
        Box::pin(async move {
            let look = driver.ask(|scheduler: &mut Scheduler| {
                let snapshot = scheduler.snapshot();
                let incoming: super::metrics::Incoming = scheduler
                    .queue_incoming()
                    .map(|(queue, event, count)| (queue, event.to_owned(), count))
                    .collect();
                let sizes = [snapshot.node_count(), snapshot.pod_count(), scheduler.assumed_pods()];
                (scheduler.queue_counts(), sizes, incoming, scheduler.refused_by())
            });
            // A driver that has not been started yet, or that is busy, holds up nobody who looks.
            if let Ok(Some((queues, [nodes, pods, assumed], incoming, refused))) =
                tokio::time::timeout(Duration::from_secs(1), look).await
            {
                for (queue, count) in ["active", "backoff", "unschedulable", "gated"].into_iter().zip(queues)
                {
                    set(&metrics.pending_pods, "queue", queue, count);
                }
                metrics.set_queue(&incoming, &refused);
                set(&metrics.cache_size, "type", "nodes", nodes);
                set(&metrics.cache_size, "type", "pods", pods);
                set(&metrics.cache_size, "type", "assumed_pods", assumed);
            }
            set(&metrics.goroutines, "operation", "binding", binding.count());
            for state in informers.states() {
                let labels = vec![("kind", state.resource.to_owned())];
                metrics.watch_age.get_or_create(&labels).set(state.seen.elapsed().as_secs_f64());
            }
            let dropped = metrics.dropped.get_or_create(&vec![("what", "events".to_owned())]).clone();
            dropped.inc_by(events.dropped().saturating_sub(dropped.get()));
            metrics.policy_info.clear();
            metrics.policy_load_success.clear();
            metrics.policy_load_timestamp.clear();
            let (revision, shown) = policies.shown();
            metrics.policy_revision.set(i64::try_from(revision).unwrap_or(i64::MAX));
            for object in shown {
                let serving = matches!(object.verdict, super::policy_store::Verdict::Serving);
                for policy in &object.policies {
                    let labels = vec![
                        ("policy", policy.clone()),
                        ("revision", object.revision.clone()),
                        ("mode", "enforce".to_owned()),
                        ("source", object.object.clone()),
                    ];
                    metrics.policy_info.get_or_create(&labels).set(1);
                    let labels = vec![("policy", policy.clone())];
                    metrics.policy_load_success.get_or_create(&labels).set(i64::from(serving));
                    metrics.policy_load_timestamp.get_or_create(&labels).set(object.since as f64);
                }
                if object.policies.is_empty() {
                    // What could not be loaded at all has no name but its object's.
                    let labels = vec![("policy", object.object.clone())];
                    metrics.policy_load_success.get_or_create(&labels).set(i64::from(serving));
                }
            }
            metrics.encode()
        })
    })
}

type Gauges = prometheus_client::metrics::family::Family<
    super::metrics::Labels,
    prometheus_client::metrics::gauge::Gauge,
>;

fn set(gauges: &Gauges, label: &'static str, value: &str, count: usize) {
    let count = i64::try_from(count).unwrap_or(i64::MAX);
    gauges.get_or_create(&vec![(label, value.to_owned())]).set(count);
}

/// What pods request, of the leader's cache; nothing from those who do not lead, so that no pod is counted twice.
fn resources_page(driver: &Driver<Scheduler>, status: &Arc<Status>) -> serve::Page {
    let (driver, status) = (driver.clone(), Arc::clone(status));
    Box::new(move || {
        let (driver, leads) = (driver.clone(), status.leading.load(Ordering::SeqCst));
        Box::pin(async move {
            if !leads {
                return String::new();
            }
            // The text is made of a fork, beside the scheduling.
            let fork = driver.ask(|scheduler: &mut Scheduler| scheduler.fork()).await;
            let page = |snapshot| resources::page(&snapshot);
            tokio::task::block_in_place(|| fork.map(page)).unwrap_or_default()
        })
    })
}

fn configz_page(configuration: Value, policies: &State) -> serve::Page {
    let policies = policies.clone();
    Box::new(move || {
        let (revision, shown) = policies.shown();
        let listed: Vec<Value> = shown
            .iter()
            .map(|object| {
                json!({
                    "source": object.object, "state": object.verdict.word(), "revision": object.revision,
                    "policies": object.policies,
                })
            })
            .collect();
        let page = json!({
            "componentconfig": configuration,
            "policies": {"revision": revision, "objects": listed},
        });
        Box::pin(async move { page.to_string() })
    })
}
