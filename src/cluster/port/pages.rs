//! The pages of the secure port: health checks, metrics, resource metrics, `/configz` and `/snapshot`, made
//! from the running parts. `run` hands them to `serve`.

use super::access::Access;
use super::health::{Check, Health};
use super::memory::MemoryPage;
use super::metrics::{Incoming, Metrics, Surroundings};
use super::resources;
use super::serve::{Page, Pages};
use super::zpages::ZPages;
use crate::inputs::informers::Informers;
use crate::policies::choice::Origin;
use crate::policies::outgrown::ObjectCounts;
use crate::policies::state::{ObjectState, PolicyState};
use crate::policies::verdict::Verdict;
use crate::process::driver::Driver;
use crate::process::effect_router::InFlightCalls;
use crate::process::rights_watch::Rights;
use crate::process::stopwatch::Stopwatch;
use crate::process::term::Term;
use crate::writes::effects::EventSink;
use bayplan_lang::analysis::cost::Size;
use bayplan_model::{Symbol, Time};
use bayplan_scheduler::{RuleErrors, Scheduler, Waiting};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// How long a page waits for the scheduling thread.
const PATIENCE: Duration = Duration::from_secs(1);

/// Whether this instance leads, and whether it stops.
#[derive(Debug, Default)]
pub(crate) struct LeaderStatus {
    leading: AtomicBool,
    stopping: AtomicBool,
}

impl LeaderStatus {
    /// This instance leads from now on.
    pub(crate) fn start_leading(&self) {
        self.leading.store(true, Ordering::SeqCst);
    }

    /// This instance stops.
    pub(crate) fn start_stopping(&self) {
        self.stopping.store(true, Ordering::SeqCst);
    }

    fn leads(&self) -> bool {
        self.leading.load(Ordering::SeqCst)
    }
}

/// What the pages show.
#[derive(Clone)]
pub(crate) struct Sources {
    /// All metrics.
    pub metrics: Arc<Metrics>,
    /// Counts evaluations of plugins between two pages.
    pub stopwatch: Arc<Stopwatch>,
    /// The scheduling thread.
    pub driver: Driver<Scheduler>,
    /// The watches.
    pub informers: Informers,
    /// The policies in service.
    pub policies: PolicyState,
    /// What the account lacks.
    pub rights: Rights,
    /// The queue of events.
    pub events: EventSink,
    /// What is not answered yet.
    pub in_flight: Arc<InFlightCalls>,
    /// Whether this instance leads or stops.
    pub status: Arc<LeaderStatus>,
    /// The term of the leader.
    pub term: Term,
    /// The name of the lease, if leaders are elected.
    pub lease: Option<String>,
    /// The size of the cluster that policies are compiled for.
    pub size: Size,
}

/// What the pages show of how the process was started.
pub struct Started {
    /// The configuration in force, for `/configz`.
    pub configuration: Value,
    /// For `/flagz` and `/statusz`.
    pub zpages: ZPages,
}

impl Sources {
    /// All pages.
    pub(crate) fn pages(self, Started { configuration, zpages }: Started, access: Access) -> Pages {
        let (policies, version) = (self.policies.clone(), zpages.emulates);
        Pages {
            health: Health::new(self.checks()),
            zpages,
            configz: Box::new(move || {
                let page = configz(&configuration, version, &policies);
                Box::pin(async move { page })
            }),
            resources: self.page(Self::resources),
            metrics: self.page(Self::metrics),
            snapshot: self.snapshot(),
            access,
        }
    }

    fn page<F>(&self, make: fn(Self) -> F) -> Page
    where
        F: Future<Output = String> + Send + 'static,
    {
        let sources = self.clone();
        Box::new(move || Box::pin(make(sources.clone())))
    }

    /// What the scheduler remembers; empty once it has ended.
    fn snapshot(&self) -> Page {
        let (driver, page) = (self.driver.clone(), MemoryPage::default());
        Box::new(move || {
            let (driver, page) = (driver.clone(), page.clone());
            Box::pin(async move { page.make(&driver).await.unwrap_or_default() })
        })
    }

    fn checks(&self) -> Vec<Check> {
        let (of_lease, of_shutdown) = (self.clone(), Arc::clone(&self.status));
        let (informers, policies) = (self.informers.clone(), self.policies.clone());
        let (of_age, rights) = (informers.clone(), self.rights.clone());
        let lease = of_lease.lease.clone().map(|name| Check {
            name: "leaderElection",
            of: &["healthz", "readyz"],
            run: Box::new(move || {
                let late = of_lease.status.leads() && !of_lease.term.may_write();
                if late {
                    Err(format!("failed election to renew leadership on lease {name}"))
                } else {
                    Ok(())
                }
            }),
        });
        let others = [
            Check {
                name: "shutdown",
                of: &["readyz"],
                run: Box::new(move || match of_shutdown.stopping.load(Ordering::SeqCst) {
                    true => Err("process is shutting down".into()),
                    false => Ok(()),
                }),
            },
            Check {
                name: "sched-handler-sync",
                of: &["readyz"],
                run: Box::new(move || handlers_synced(&informers)),
            },
            Check { name: "rights", of: &["readyz"], run: Box::new(move || rights.complete()) },
            Check { name: "watch-age", of: &["readyz"], run: Box::new(move || fresh(&of_age)) },
            Check { name: "policy-loaded", of: &["readyz"], run: Box::new(move || policies.loaded()) },
        ];
        lease.into_iter().chain(others).collect()
    }

    async fn metrics(self) -> String {
        self.stopwatch.settle();
        self.show_scheduler().await;
        self.metrics.goroutines.set(["binding"], self.in_flight.bindings());
        if let Some(asked) = self.in_flight.prioritizing() {
            self.metrics.goroutines.set(["prioritizing_extender"], asked);
        }
        self.metrics.watch_age.clear();
        for (watched, age) in self.informers.ages() {
            self.metrics.watch_age.with([&watched]).set(age.as_secs_f64());
        }
        for state in self.informers.states() {
            self.metrics.unreadable.set([state.resource], state.unreadable);
        }
        for (part, count, declared) in self.informers.largest().beside(self.size) {
            self.metrics.largest_parts.with([part]).set(count.into());
            self.metrics.declared_parts.with([part]).set(declared.into());
        }
        self.metrics.inbox_depth.set(i64::try_from(self.driver.inbox_depth()).unwrap_or(i64::MAX));
        let dropped = self.metrics.dropped.with(["events"]);
        dropped.inc_by(self.events.dropped().saturating_sub(dropped.get()));
        self.show_policies();
        self.metrics.encode()
    }

    /// Takes queue and cache sizes from the scheduling thread. If the thread is busy or not started
    /// yet, the page shows the sizes of the page before.
    async fn show_scheduler(&self) {
        type Refusals = Vec<(Symbol, Symbol, u64)>;
        type InFlight = BTreeMap<String, usize>;
        type Refused = BTreeMap<(String, String), usize>;
        type AfterBind = (BTreeMap<Symbol, usize>, Vec<(Symbol, &'static str, u64)>);
        type Would = Vec<(Symbol, Symbol, &'static str, u64)>;
        type OfRules = (Waiting, Refusals, Vec<RuleErrors>, Would, AfterBind, BTreeSet<(Symbol, Symbol)>);
        type Look = (
            ([usize; 4], bool),
            [usize; 3],
            ObjectCounts,
            (Incoming, Incoming),
            InFlight,
            Refused,
            OfRules,
            Surroundings,
        );
        let look = self.driver.inspect(|scheduler: &mut Scheduler| -> Look {
            let incoming = scheduler.queue_incoming();
            let owned = |(queue, event, count): (&'static str, &str, u64)| (queue, event.to_owned(), count);
            let incoming = incoming.map(owned).collect();
            let incoming = (incoming, scheduler.entities_incoming().map(owned).collect());
            let snapshot = scheduler.snapshot();
            let sizes = [snapshot.node_count(), snapshot.placed_pods(), scheduler.assumed_pods()];
            let refusals = scheduler.rule_refusals();
            let refusals = refusals.map(|(policy, rule, count)| (policy.clone(), rule.clone(), count));
            let mut left: BTreeMap<Symbol, usize> = BTreeMap::new();
            scheduler.marks_left().for_each(|(_, policy)| *left.entry(policy.clone()).or_default() += 1);
            let given_up = scheduler.marks_given_up();
            let given_up = given_up.map(|(policy, gone, count)| (policy.clone(), gone, count)).collect();
            let errors = scheduler.rule_errors().collect();
            let would = scheduler.rule_would();
            let would = would
                .map(|(policy, rule, effect, count)| (policy.clone(), rule.clone(), effect.word(), count));
            let would = would.collect();
            let (after_bind, rules) = ((left, given_up), scheduler.rules());
            let of_rules = (scheduler.waiting(), refusals.collect(), errors, would, after_bind, rules);
            let foreign = scheduler.foreign_bindings();
            let surroundings = Surroundings {
                foreign: foreign.map(|(name, count)| (name.clone(), count)).collect(),
                refusals: scheduler.kubelet_refusals().collect(),
                futile: scheduler.futile_preemptions(),
                waits: scheduler.longest_waits(),
            };
            let in_flight = scheduler.in_flight_by_label();
            let objects = ObjectCounts::of(snapshot);
            let queues = (scheduler.queue_counts(), scheduler.counts_entities());
            let refused = scheduler.refused_by();
            (queues, sizes, objects, incoming, in_flight, refused, of_rules, surroundings)
        });
        let Ok(Some((queues, sizes, objects, incoming, in_flight, refused, of_rules, surroundings))) =
            tokio::time::timeout(PATIENCE, look).await
        else {
            return;
        };
        let (waiting, refusals, errors, would, after_bind, rules) = of_rules;
        self.metrics.set_pending(queues.0, queues.1);
        for (kind, count) in ["nodes", "pods", "assumed_pods"].into_iter().zip(sizes) {
            self.metrics.cache_size.set([kind], count);
        }
        // A kind without objects is not counted.
        self.metrics.objects.clear();
        for (kind, count, declared) in objects.beside(self.size) {
            self.metrics.objects.set([&kind], count);
            if let Some(declared) = declared {
                self.metrics.declared_objects.with([&kind]).set(declared.into());
            }
        }
        self.metrics.inflight_events.clear();
        for (event, count) in &in_flight {
            self.metrics.inflight_events.set([event], *count);
        }
        self.metrics.set_queue(&incoming.0, &refused);
        self.metrics.set_entities(&incoming.1);
        self.metrics.set_waiting(&waiting, &refusals, &errors);
        self.metrics.set_would(&would);
        self.metrics.set_after_bind(&after_bind.0, &after_bind.1);
        self.metrics.set_surroundings(&surroundings);
        self.stopwatch.keep_rules(&rules);
    }

    fn show_policies(&self) {
        let metrics = &self.metrics;
        metrics.policy_info.clear();
        metrics.policy_load_success.clear();
        metrics.policy_load_timestamp.clear();
        metrics.policy_override.clear();
        metrics.policy_mode_due.clear();
        metrics.policy_exception_end.clear();
        let now = Time(jiff::Timestamp::now().as_microsecond());
        let (revision, objects) = self.policies.objects();
        metrics.policy_revision.set(i64::try_from(revision).unwrap_or(i64::MAX));
        for ObjectState { object, verdict, policies, since, .. } in &objects {
            let loaded = matches!(verdict, Verdict::Serving | Verdict::Overridden { .. });
            let serving = i64::from(matches!(verdict, Verdict::Serving));
            for policy in policies {
                let mode = if policy.origin == Origin::Suspended { "off" } else { policy.mode };
                metrics.policy_info.with([&policy.name, &policy.revision, mode, object]).set(1);
                let as_written = loaded && policy.origin == Origin::Text;
                metrics.policy_load_success.with([&policy.name]).set(i64::from(as_written));
                metrics.policy_load_timestamp.with([&policy.name]).set(*since as f64);
                if let Some(end) = policy.mode_until {
                    metrics.policy_mode_due.set([&policy.name], usize::from(end <= now));
                }
                for (exception, end) in &policy.exceptions {
                    let at = end.0 as f64 / 1e6;
                    metrics.policy_exception_end.with([&policy.name, exception]).set(at);
                }
                if let Some(kind) = policy.origin.overridden_by() {
                    metrics.policy_override.with([&policy.name, kind]).set(1);
                }
            }
            if policies.is_empty() {
                // Without a policy in service the name of the object is the only one known.
                metrics.policy_load_success.with([object]).set(serving);
            }
        }
    }

    /// The resources of all pods in the leader's cache. Other instances show none, so that
    /// monitoring counts each pod once.
    async fn resources(self) -> String {
        if !self.status.leads() {
            return String::new();
        }
        // The page is made from a fork, while scheduling goes on.
        let fork = self.driver.inspect(|scheduler: &mut Scheduler| scheduler.fork()).await;
        let page = |snapshot| resources::page(&snapshot);
        tokio::task::block_in_place(|| fork.map(page)).unwrap_or_default()
    }
}

fn handlers_synced(informers: &Informers) -> Result<(), String> {
    if informers.is_synced() {
        return Ok(());
    }
    let states = informers.states();
    let open = states.iter().filter(|state| !state.listed).map(|state| match &state.trouble {
        Some(trouble) => format!("{}: {trouble}", state.resource),
        None => format!("{} are not listed yet", state.resource),
    });
    Err(format!("handlers are not fully synchronized: {}", open.collect::<Vec<String>>().join("; ")))
}

/// Fails while a watch is too old to decide on.
fn fresh(informers: &Informers) -> Result<(), String> {
    let stale = informers.stale_for_any();
    let old = stale.iter().map(|(resource, age)| format!("{resource}: no event for {} s", age.as_secs()));
    let old: Vec<String> = old.collect();
    if old.is_empty() { Ok(()) } else { Err(format!("watches are too old: {}", old.join("; "))) }
}

/// Every entry has a `kind`, since readers take them for objects.
fn configz(configuration: &Value, version: &str, policies: &PolicyState) -> String {
    let (revision, objects) = policies.objects();
    let objects = objects.iter().map(|object| {
        json!({
            "source": object.object, "state": object.verdict.word(), "revision": object.revision,
            "policies": object.policies.iter().map(|policy| &policy.name).collect::<Vec<_>>(),
        })
    });
    let objects: Vec<Value> = objects.collect();
    let policies = json!({"kind": "PoliciesInForce", "revision": revision, "objects": objects});
    let kubernetes = json!({"kind": "KubernetesVersion", "version": version});
    json!({"componentconfig": configuration, "kubernetes": kubernetes, "policies": policies}).to_string()
}
