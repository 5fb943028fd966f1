//! The scheduler process: what starts, in what order, and how it stops. First the port is bound, so
//! that a port in use is known before anything else; then connection, policies, watches, the
//! scheduling thread and, with full caches, the lease. SIGTERM is heard at every moment and stops it
//! in reverse: no further attempts, open bindings finish, the lease is released. A task that ends or
//! panics ends the process.

use super::debugger;
use super::driver::{Clock, Driver, Inbox, Machine};
use super::effect_router::{Answers, EffectRouter, InFlightCalls};
use super::leader::{self, Election};
use super::mark_key;
use super::published::Publication;
use super::rights_watch::Rights;
use super::stopwatch::{ByVersion, Stopwatch};
use super::supervisor::{self, Supervisor, Task, TaskEnded};
use super::term::Term;
use crate::admission;
use crate::api::client::{Api, ApiError, ConnectError, Request, Target};
use crate::api::limiter::{Class, Limits};
use crate::api::server_version::ServerVersion;
use crate::extender::ask::{self, Asker, ExtenderError};
use crate::extender::server;
use crate::inputs::informers::Informers;
use crate::policies::account::PolicyAccount;
use crate::policies::compiled;
use crate::policies::service::PolicyService;
use crate::policies::source::{self, PolicySource, SourceError};
use crate::policies::state::PolicyState;
use crate::port::access::{Access, CacheTtl};
use crate::port::metrics::Metrics;
use crate::port::pages::{self, LeaderStatus};
use crate::port::questions::ServerError;
use crate::port::serve::{self, ServeError, Server};
use crate::rights::needed::{self, Wanted};
use crate::rights::review::{self, Missing};
use crate::rights::right::Right;
use crate::writes::effects::{self, Effects, EventSink};
use crate::writes::statuses::{self, Statuses};
use bayplan_framework::{Need, Probe};
use bayplan_lang::analysis::cost::Size;
use bayplan_model::{MarkKeys, Time, VersionRow, VersionRows};
use bayplan_scheduler::{Effect, Input, Options as SchedulerOptions, Profiles, Scheduler};
use serde_json::Value;
use std::convert::Infallible;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

/// Makes the profiles of the configuration with these policies.
pub type MakeProfiles = Box<dyn Fn(&[compiled::Policy]) -> Result<Profiles, String> + Send + Sync>;

/// The options of a run.
pub struct Options {
    /// How to find the API server.
    pub target: Target,
    /// API calls per second, as in client-go.
    pub qps: f64,
    /// API calls at once, as in client-go.
    pub burst: i64,
    /// The lease. `None`: this instance leads without election.
    pub election: Option<leader::Settings>,
    /// The secure port. `None`: no port.
    pub serve: Option<serve::Settings>,
    /// The API server for TokenReviews, if it is not that of `target`.
    pub authentication: Option<Target>,
    /// The API server for SubjectAccessReviews, if it is not that of `target`.
    pub authorization: Option<Target>,
    /// Whether the watches start only when this instance leads; until then it is not ready.
    pub delay_cache_until_active: bool,
    /// How long to cache the answers to reviews.
    pub review_ttl: CacheTtl,
    /// A watch without an event or bookmark for this long is too old: the replica is not ready, and
    /// the leader schedules nothing.
    pub watch_max_age: Duration,
    /// After the API server has refused our credentials for this long, the process ends.
    pub max_unauthorized: Duration,
    /// Where policies come from.
    pub policies: source::Settings,
    /// Which statuses of objects other than pods are written.
    pub statuses: statuses::Settings,
    /// The kinds of objects that plugins of the profiles need.
    pub needs: Vec<Need>,
    /// The names of the plugins of all profiles without policies.
    pub plugins: Vec<String>,
    /// The extenders, in the order of their calls.
    pub extenders: Vec<ask::Settings>,
    /// Answer kube-scheduler as an extender, and schedule nothing.
    pub answering: Option<server::Settings>,
    /// Judge changes of policies for the API server.
    pub admission: Option<admission::server::Settings>,
    /// Schedule nothing: judge changes alone.
    pub judges_alone: bool,
    /// The options of the core.
    pub scheduler: SchedulerOptions,
    /// Makes profiles of policies.
    pub profiles: MakeProfiles,
    /// What the pages of the secure port show of these options.
    pub shown: pages::Started,
    /// The namespace of the Secret with the key that proves marks on bound pods.
    pub namespace: String,
    /// The account in whose name policies write.
    pub policy_account: PolicyAccount,
    /// As which version of Kubernetes it decides.
    pub version: VersionRows,
    /// Whether metrics are served that this version hides.
    pub hidden_metrics: bool,
    /// Name, stage and value of every feature gate, for the metric.
    pub gates: Vec<(&'static str, &'static str, bool)>,
}

impl Options {
    /// What the version decides about metrics.
    fn by_version(&self) -> ByVersion {
        ByVersion {
            hides_durations: self.version.has(VersionRow::HiddenDurations) && !self.hidden_metrics,
            counts_owners: self.version.has(VersionRow::ClaimCreations),
        }
    }

    /// What commands read about this scheduler; nothing without a namespace where they look for it.
    fn publication(&self) -> Option<Publication> {
        let namespace = self.policies.namespaces.first().filter(|_| !self.only_answers())?.clone();
        let configuration = self.shown.configuration.clone();
        let profile =
            || configuration["profiles"][0]["schedulerName"].as_str().unwrap_or_default().to_owned();
        let of = self.election.as_ref().map_or_else(profile, |election| election.name.clone());
        let (identity, version) = (self.policies.identity.clone(), self.shown.zpages.emulates);
        Some(Publication { namespace, of, identity, configuration, version })
    }

    /// Whether it schedules nothing.
    fn only_answers(&self) -> bool {
        self.answering.is_some() || self.judges_alone
    }

    /// What decides which rights are needed.
    pub fn wanted(&self) -> Wanted {
        let answering = self.answering.as_ref();
        Wanted {
            extends: self.only_answers(),
            binds: answering.is_some_and(|answering| answering.binds),
            needs: self.needs.clone(),
            plugins: self.plugins.clone(),
            policies: self.policies.namespaces.clone(),
            preempts: self.policies.files.is_some(),
            looked_up: Vec::new(),
            lease: self.election.as_ref().map(|of| (of.namespace.clone(), of.name.clone())),
            namespace: self.namespace.clone(),
            account: self.policy_account.clone(),
            statuses: self.statuses.clone(),
            reviews_tokens: self.serve.is_some() && self.authentication.is_none(),
            reviews_access: self.serve.is_some() && self.authorization.is_none(),
        }
    }

    /// The rights without which no pod is scheduled.
    fn rights(&self) -> Vec<Right> {
        needed::without_which_nothing_is_scheduled(&self.wanted())
    }
}

/// Why the scheduler ended without a request to stop.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// No connection can be prepared.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// An extender cannot be reached with its settings.
    #[error(transparent)]
    Extender(#[from] ExtenderError),
    /// The port of the extender cannot be served.
    #[error(transparent)]
    Answering(#[from] ServerError),
    /// The port cannot be served.
    #[error(transparent)]
    Serve(#[from] ServeError),
    /// The API server cannot be reached.
    #[error("cannot reach the API server {server}: {why}")]
    Unreachable {
        /// Its URL.
        server: String,
        /// The cause.
        why: String,
    },
    /// The API server refuses the credentials.
    #[error("the API server {server} does not accept our credentials ({why}): is the token expired?")]
    Unauthorized {
        /// Its URL.
        server: String,
        /// Its message.
        why: String,
    },
    /// Policies cannot be loaded.
    #[error(transparent)]
    Policies(#[from] SourceError),
    /// The operating system refuses.
    #[error("cannot start: {0}")]
    System(std::io::Error),
    /// Another instance has the lease, or it was not renewed in time.
    #[error("leader election lost: {0}")]
    LeaseLost(String),
    /// The API server refused our credentials for too long.
    #[error(
        "the API server {server} has not accepted our credentials for {seconds} s: is the token or the client certificate expired?"
    )]
    Expired {
        /// Its URL.
        server: String,
        /// For how long.
        seconds: u64,
    },
    /// A task of the process ended or panicked.
    #[error("{0}; see the log")]
    TaskEnded(#[from] TaskEnded),
}

impl RunError {
    /// Whether the process ended while it ran, so that another replica must take over, and not
    /// because it was started with a mistake.
    pub fn is_of_running(&self) -> bool {
        matches!(self, Self::LeaseLost(_) | Self::Expired { .. } | Self::TaskEnded(_))
    }
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

/// How long to wait for the API server at the start.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long open bindings may take at the end.
const LAST_CALLS: Duration = Duration::from_secs(5);
/// How long the events of these bindings may take.
const LAST_EVENTS: Duration = Duration::from_secs(5);

/// The rights that the account of these options lacks, without which no pod is scheduled. Starts nothing.
pub fn missing_rights(options: &Options) -> Result<Vec<Missing>, RunError> {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(RunError::System)?;
    let missing = runtime.block_on(async {
        let api = Api::new(&options.target).await?;
        reach(&api).await?;
        Ok(review::missing(&api, &options.rights()).await)
    });
    runtime.shutdown_timeout(Duration::from_millis(200));
    missing
}

/// Runs the scheduler until it receives SIGTERM or SIGINT, or cannot continue.
pub fn run(options: Options) -> Result<(), RunError> {
    // One thread for the connections, beside this one (the lease) and the scheduling thread: a
    // thousand pods per second take a fifth of it, and more threads mostly wake each other. Long
    // computations call `block_in_place`, and another thread takes over in the meantime.
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .thread_stack_size(bayplan_lang::STACK)
        .enable_all()
        .build()
        .map_err(RunError::System)?;
    let ended = runtime.block_on(start(options));
    runtime.shutdown_timeout(Duration::from_millis(200));
    ended
}

async fn start(options: Options) -> Result<(), RunError> {
    let mut stop = std::pin::pin!(stop_signal().map_err(RunError::System)?);
    let (supervisor, mut failures) = Supervisor::new();
    let mut life = Life::default();
    let ended = tokio::select! {
        // A task that reports an error to `live` ends, too; its error says more.
        biased;
        ended = life.live(options, &supervisor) => ended,
        failed = failures.next() => Err(RunError::TaskEnded(failed)),
        () = &mut stop => return {
            life.stop().await;
            Ok(())
        },
    };
    life.end_term();
    ended.map(|never| match never {})
}

/// What has been started.
#[derive(Default)]
struct Life {
    parts: Option<Parts>,
    election: Option<Election>,
    leads: bool,
}

impl Life {
    /// Starts everything in order, and leads. Returns only with an error.
    async fn live(&mut self, options: Options, supervisor: &Supervisor) -> Result<Infallible, RunError> {
        let server = match &options.serve {
            Some(settings) => Some(Server::bind(settings).await?),
            None => None,
        };
        let answering = match &options.answering {
            Some(settings) => Some(server::Server::bind(settings).await?),
            None => None,
        };
        let admission = match &options.admission {
            Some(settings) => Some(admission::server::Server::bind(settings).await?),
            None => None,
        };
        let answers = options.only_answers();
        let (needed, publication) = (options.rights(), options.publication());
        let (parts, inbox) = Parts::connect(&options, supervisor).await?;
        let parts = &*self.parts.insert(parts);
        let election = match options.election {
            Some(settings) => {
                // With connections and a limit of its own, so that nothing else delays a renewal.
                let api = parts.api.for_class(Class::Lease).with_own_connections().await?;
                follow_credentials(supervisor, &api);
                self.election.insert(Election::new(api, settings)).into()
            }
            None => None,
        };
        follow_credentials(supervisor, &parts.api);
        let size = options.policies.size;
        let source = parts.policy_source(options.policies, options.profiles, supervisor);
        if let Some(server) = server {
            tracing::info!(port = server.port(), "serving securely");
            let reviews = [options.authentication, options.authorization];
            let access = parts.access(reviews, options.review_ttl, supervisor).await?;
            let lease = election.as_ref().map(|election| election.name().to_owned());
            let pages = parts.pages(source.state(), lease, size);
            supervisor.spawn(Task::Port, server.serve(pages.pages(options.shown, access)));
        }
        if let Some(server) = answering {
            tracing::info!(port = server.port(), "answering as an extender");
            supervisor.spawn(Task::ExtenderPort, server.serve(parts.answering()));
        }
        if let Some(server) = admission {
            tracing::info!(port = server.port(), "judging changes of policies");
            supervisor.spawn(Task::AdmissionPort, server.serve(parts.judges(&source)));
        }
        debugger::start(supervisor, parts.api.clone(), parts.driver.clone()).map_err(RunError::System)?;
        if let Some(version) = reach(&parts.api).await? {
            version.tell();
            parts.informers.served_by(version);
        }
        supervisor
            .spawn(Task::Rights, parts.rights.clone().follow(parts.api.for_class(Class::Review), needed));
        let (loaded, loading) = oneshot::channel();
        supervisor.spawn(Task::Policies, source.run(loaded));
        match loading.await {
            Ok(loaded) => loaded?,
            // The supervisor reports the task.
            Err(_) => std::future::pending().await,
        }
        if let Some(publication) = publication {
            let work = publication.follow(parts.api.clone(), parts.term.clone());
            supervisor.spawn(Task::Publication, work);
        }
        let delayed = (options.delay_cache_until_active && election.is_some()).then_some(supervisor);
        if delayed.is_none() {
            parts.informers.start(supervisor);
        }
        parts.spawn_scheduler(inbox, options.scheduler, supervisor)?;
        parts.write_statuses(options.statuses, supervisor);
        let led = async {
            // A replica that cannot read the cluster must not keep the lease from one that can.
            if delayed.is_none() {
                parts.informers.synced().await;
            }
            if answers {
                return std::future::pending().await;
            }
            let key = parts.find_mark_key(options.namespace, supervisor);
            lead(parts, election, delayed, key, &mut self.leads).await
        };
        tokio::select! {
            why = led => Err(RunError::LeaseLost(why)),
            seconds = unauthorized(&parts.api, options.max_unauthorized) => {
                Err(RunError::Expired { server: parts.api.server().to_owned(), seconds })
            }
        }
    }

    /// The end after a failure: no more writes. Another instance takes over.
    fn end_term(&self) {
        let Some(parts) = &self.parts else { return };
        parts.term.end();
        if self.leads {
            parts.lead(false);
        }
    }

    /// The end after a request to stop, at any moment of the start too.
    async fn stop(&mut self) {
        let Some(parts) = &self.parts else { return };
        parts.status.start_stopping();
        if self.leads {
            parts.finish().await;
        }
        if let Some(election) = &mut self.election {
            election.release().await;
        }
        parts.term.end();
    }
}

/// Takes the lease and leads until it is lost; returns the reason. Without election it leads for
/// ever. The watches start with the lease if they are `delayed`.
async fn lead(
    parts: &Parts,
    election: Option<&mut Election>,
    delayed: Option<&Supervisor>,
    mut key: mark_key::Known,
    leads: &mut bool,
) -> String {
    let name = election.as_ref().map_or_else(String::new, |it| it.name().to_owned());
    let status = parts.metrics.master_status.with([&name]);
    status.set(0);
    let held = async {
        match election {
            Some(election) => {
                election.acquire(&parts.term, |_| {}).await;
                if let Some(supervisor) = delayed {
                    parts.informers.start(supervisor);
                }
                status.set(1);
                *leads = true;
                let mut hold = std::pin::pin!(election.hold(&parts.term));
                tokio::select! {
                    biased;
                    why = &mut hold => return why,
                    () = key.settled() => {}
                }
                parts.lead(true);
                hold.await
            }
            None => {
                status.set(1);
                key.settled().await;
                *leads = true;
                parts.lead(true);
                std::future::pending().await
            }
        }
    };
    held.await
}

/// Reads changed credentials of a connection again.
fn follow_credentials(supervisor: &Supervisor, api: &Api) {
    let credentials = Arc::clone(api.credentials());
    supervisor.spawn(Task::Credentials, async move { credentials.follow().await });
}

/// Waits until the API server has refused our credentials for `limit`; returns the seconds.
async fn unauthorized(api: &Api, limit: Duration) -> u64 {
    loop {
        tokio::time::sleep(Duration::from_secs(1)).await;
        if let Some(since) = api.credentials().refused_for()
            && since >= limit
        {
            return since.as_secs();
        }
    }
}

/// What runs beside the scheduling thread.
struct Parts {
    /// For calls of class `Read`.
    api: Api,
    metrics: Arc<Metrics>,
    stopwatch: Arc<Stopwatch>,
    term: Term,
    in_flight: Arc<InFlightCalls>,
    driver: Driver<Scheduler>,
    calls: effects::Settings,
    effects: Effects,
    events: EventSink,
    /// Asks extenders, if there are any.
    asker: Option<Asker>,
    informers: Informers,
    rights: Rights,
    status: Arc<LeaderStatus>,
}

impl Parts {
    /// Prepares everything that needs a connection. The scheduling thread starts later, with the
    /// inbox.
    async fn connect(
        options: &Options,
        supervisor: &Supervisor,
    ) -> Result<(Self, Inbox<Scheduler>), RunError> {
        let metrics = Arc::new(Metrics::new());
        for (name, stage, on) in &options.gates {
            metrics.feature_enabled.with([name, stage]).set(i64::from(*on));
        }
        let stopwatch = Arc::new(Stopwatch::new(Arc::clone(&metrics), options.by_version()));
        let limits = Limits::new(options.qps, options.burst);
        let api =
            Api::new(&options.target).await?.limited_by(limits).observed_by(Arc::clone(&stopwatch) as Arc<_>);
        // An extender writes only the bindings that kube-scheduler requests.
        let waits = options.election.is_some() || options.only_answers();
        let term = if waits { Term::none() } else { Term::endless() };
        let in_flight = Arc::new(InFlightCalls::default());
        let (driver, inbox) = Driver::<Scheduler>::new();
        let answers: Arc<dyn effects::Replies> = Arc::new(Answers {
            mailbox: driver.mailbox(),
            metrics: Arc::clone(&metrics),
            in_flight: Arc::clone(&in_flight),
        });
        let extenders = ask::Connections::new(&options.extenders)?;
        let raw = extenders.raw_objects();
        let asker = raw
            .clone()
            .map(|raw| extenders.start(supervisor, raw, api.clone(), term.clone(), Arc::clone(&answers)));
        let calls = effects::Settings::new(options.policy_account.clone()).for_version(options.version);
        let election = options.election.as_ref();
        let identity = election.map_or_else(leader::identity, |election| election.identity.clone());
        let host = identity.split('_').next().unwrap_or_default();
        let effects = Effects::start(supervisor, &api, term.clone(), calls.clone(), host, answers);
        let informers = Informers::new(&api, driver.mailbox(), options.watch_max_age, &options.needs, raw);
        let status = Arc::default();
        let parts = Self {
            api,
            metrics,
            stopwatch,
            term,
            in_flight,
            driver,
            calls,
            events: effects.events(),
            effects,
            asker,
            informers,
            rights: Rights::default(),
            status,
        };
        Ok((parts, inbox))
    }

    /// What answers questions of kube-scheduler.
    fn answering(&self) -> server::Policies {
        let (driver, informers) = (self.driver.clone(), self.informers.clone());
        let metrics = Arc::clone(&self.metrics);
        server::Policies { driver, informers, api: self.api.for_class(Class::Bind), metrics }
    }

    /// What judges changes of policies.
    fn judges(&self, source: &PolicySource) -> admission::server::Judges {
        admission::server::Judges {
            driver: self.driver.clone(),
            informers: self.informers.clone(),
            compiler: source.compiler(),
            state: source.state(),
            metrics: Arc::clone(&self.metrics),
        }
    }

    /// What the pages of the secure port show.
    fn pages(&self, policies: PolicyState, lease: Option<String>, size: Size) -> pages::Sources {
        pages::Sources {
            metrics: Arc::clone(&self.metrics),
            stopwatch: Arc::clone(&self.stopwatch),
            driver: self.driver.clone(),
            informers: self.informers.clone(),
            policies,
            rights: self.rights.clone(),
            events: self.events.clone(),
            in_flight: Arc::clone(&self.in_flight),
            status: Arc::clone(&self.status),
            term: self.term.clone(),
            lease,
            size,
        }
    }

    /// Reviews of who may read the secure port.
    async fn access(
        &self,
        [authentication, authorization]: [Option<Target>; 2],
        ttl: CacheTtl,
        supervisor: &Supervisor,
    ) -> Result<Access, ConnectError> {
        let connect = async |target: Option<Target>| {
            let Some(target) = target else { return Ok(self.api.clone()) };
            let api = Api::new(&target).await?;
            follow_credentials(supervisor, &api);
            Ok::<_, ConnectError>(api)
        };
        let (authentication, authorization) = (connect(authentication).await?, connect(authorization).await?);
        let review = |api: Api| api.for_class(Class::Review);
        Ok(Access::new(review(authentication), review(authorization), ttl))
    }

    /// The source of policies, and what puts them into service.
    fn policy_source(
        &self,
        settings: source::Settings,
        profiles: MakeProfiles,
        supervisor: &Supervisor,
    ) -> PolicySource {
        let profiles = guarded(timed(profiles, Arc::clone(&self.stopwatch) as Arc<dyn Probe>));
        let service = PolicyService::new(profiles, self.informers.clone(), self.driver.clone());
        PolicySource::new(self.api.clone(), self.term.clone(), settings, service, supervisor.clone())
    }

    /// Starts the scheduling thread.
    fn spawn_scheduler(
        &self,
        inbox: Inbox<Scheduler>,
        options: SchedulerOptions,
        supervisor: &Supervisor,
    ) -> Result<(), RunError> {
        let millis = i64::try_from(self.calls.write_timeout.as_millis()).unwrap_or(4_000) + 500;
        let own = mark_key::random().ok_or_else(|| std::io::Error::other("the system has no random numbers"));
        let machine = Scheduler::new(SchedulerOptions {
            mark_keys: MarkKeys::of_process(own.map_err(RunError::System)?),
            request_timeout: bayplan_model::Duration::from_millis(millis),
            window: self.calls.at_once * 4,
            ..options
        });
        let router =
            EffectRouter::new(self.effects.clone(), Arc::clone(&self.metrics), Arc::clone(&self.in_flight));
        let router = router.asking(self.asker.clone());
        let work = move || inbox.run(machine, router, Clock::start());
        supervisor.spawn_thread(Task::Scheduler, work).map_err(RunError::System)
    }

    /// Starts to look for the key that proves marks.
    fn find_mark_key(&self, namespace: String, supervisor: &Supervisor) -> mark_key::Known {
        let (api, term, mailbox) = (self.api.clone(), self.term.clone(), self.driver.mailbox());
        let (work, known) = mark_key::Finder { api, term, namespace, mailbox }.start();
        supervisor.spawn(Task::MarkKey, work);
        known
    }

    /// Starts to write the statuses of other objects, if any is wanted.
    fn write_statuses(&self, settings: statuses::Settings, supervisor: &Supervisor) {
        if settings.is_empty() {
            return;
        }
        let statuses = Statuses {
            settings,
            api: self.api.clone(),
            effects: self.effects.clone(),
            driver: self.driver.clone(),
            informers: self.informers.clone(),
            metrics: Arc::clone(&self.metrics),
            term: self.term.clone(),
        };
        supervisor.spawn(Task::Statuses, statuses.run());
    }

    /// Starts or ends scheduling, as the leader.
    fn lead(&self, leads: bool) {
        if leads {
            self.status.start_leading();
        }
        self.metrics.leader.set(i64::from(leads));
        self.driver.mailbox().input(Input::Lead(leads));
    }

    /// Ends scheduling gracefully: finishes open bindings and their events.
    async fn finish(&self) {
        tracing::info!("stopping: finishing open bindings");
        self.driver.mailbox().input(Input::Lead(false));
        // When the driver answers, its earlier calls are on their way.
        let _ = self.driver.inspect(|_| ()).await;
        if !self.effects.drain(LAST_CALLS).await {
            tracing::warn!(
                "some calls got no answer before the end; the API server may still carry them out"
            );
        }
        // The answers of these calls make events.
        let _ = self.driver.inspect(|_| ()).await;
        self.events.drain(LAST_EVENTS).await;
        self.driver.stop();
    }
}

/// Makes the same profiles; a panic becomes an error, so that one policy never stops every replica.
fn guarded(profiles: MakeProfiles) -> MakeProfiles {
    Box::new(move |policies| {
        catch_unwind(AssertUnwindSafe(|| profiles(policies))).unwrap_or_else(|panic| {
            Err(format!("making the profiles panicked: {}", supervisor::message(&*panic)))
        })
    })
}

pub(crate) fn stop_signal() -> std::io::Result<impl Future<Output = ()>> {
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

/// Waits until the API server answers, with its version if we may read it. Logs what is wrong, and fails if waiting
/// longer is pointless.
async fn reach(api: &Api) -> Result<Option<ServerVersion>, RunError> {
    let server = || api.server().to_owned();
    let since = Instant::now();
    let mut said = String::new();
    loop {
        // Anonymous callers may read this path, but an expired token gets 401.
        let request = Request::get("/version").within(Duration::from_secs(5));
        match api.call::<Value>(request).await {
            Ok(version) => {
                tracing::info!(server = api.server(), version = version["gitVersion"].as_str(), "connected");
                return Ok(ServerVersion::of(&version));
            }
            Err(ApiError::Status { code: 401, message, .. }) => {
                return Err(RunError::Unauthorized { server: server(), why: message });
            }
            // The right to read the version is not needed for scheduling, and a server that throttles
            // us is there.
            Err(ApiError::Status { code: 403 | 429, .. }) => return Ok(None),
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

/// Makes the same profiles with a probe that times extension points and plugins.
fn timed(profiles: MakeProfiles, probe: Arc<dyn Probe>) -> MakeProfiles {
    Box::new(move |policies| {
        let mut made = profiles(policies)?;
        for framework in made.frameworks.iter_mut().filter_map(Arc::get_mut) {
            framework.observe(&probe);
        }
        Ok(made)
    })
}
