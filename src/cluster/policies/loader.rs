//! Chooses the set of policies and hands it to the scheduler. Objects are judged one by one: if no
//! profiles can be made with the newest text of an object, that object waits and the others serve.
//! Called by `source`.

use super::choice::{Origin, Overridden, Override, Served, Service, Terms};
use super::compiled::{self, Compiler, Policy, SharedSchemas};
use super::config_maps::{PolicyKey, namespace_of};
use super::exceptions::{self, SharedExceptions};
use super::keeper::PolicyKeeper;
use super::largest::Largest;
use super::outgrown::ObjectCounts;
use super::overrides::{Kind, Overrides};
use super::service::PolicyService;
use super::state::{ObjectState, PolicyInService, PolicyState};
use super::store::{Compiled, StandIn, Store};
use super::verdict::{ObjectName, Texts, Verdict};
use crate::inputs::informers::Needs;
use crate::inputs::kinds;
use bayplan_lang::analysis::cost::{self, Size};
use bayplan_lang::analysis::load::Load;
use bayplan_lang::schemas::Schemas;
use bayplan_lang::typed::{self, Exception};
use bayplan_model::{KindName, Time};
use bayplan_scheduler::{Profiles, RuleErrors};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::ConfigMap;
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, PoisonError};
use std::time::Duration;
use tokio::sync::watch;

/// Texts with which no profiles can be made: the hash of each, and why.
type Blocked = BTreeMap<ObjectName, (String, String)>;

/// The policies and what is in service of them.
pub(super) struct Loader {
    service: PolicyService,
    pub(super) keeper: PolicyKeeper,
    pub(crate) state: PolicyState,
    size: Size,
    /// The kinds beside those of Kubernetes.
    schemas: SharedSchemas,
    /// The exceptions from policies.
    exceptions: SharedExceptions,
    /// A text in service was compiled again.
    anew: bool,
    store: Store<Policy>,
    /// The overrides of each namespace.
    overrides: BTreeMap<String, Overrides>,
    /// The keys of overrides that hold, when the set was chosen.
    unexpired: Vec<String>,
    /// What is in service.
    pub(super) in_service: Service<Policy>,
    blocked: Blocked,
    revision: u64,
    /// The hash in service of each object, and since when.
    since: FxHashMap<ObjectName, (String, i64)>,
}

impl Loader {
    pub(crate) fn new(service: PolicyService, keeper: PolicyKeeper, stand_in: StandIn, size: Size) -> Self {
        let compiler =
            Compiler { size, schemas: SharedSchemas::default(), exceptions: SharedExceptions::default() };
        let (schemas, exceptions) = (Arc::clone(&compiler.schemas), Arc::clone(&compiler.exceptions));
        let compile = Box::new(move |name: &str, texts: &Texts| {
            compiler.compile(name, texts).map(|(policies, _)| policies)
        });
        Self {
            service,
            keeper,
            state: PolicyState::default(),
            size,
            schemas,
            exceptions,
            anew: false,
            store: Store::new(compile, stand_in),
            overrides: BTreeMap::new(),
            unexpired: Vec::new(),
            in_service: Service::default(),
            blocked: Blocked::new(),
            revision: 0,
            since: FxHashMap::default(),
        }
    }

    /// Compiles other texts as those of the objects.
    pub(super) fn compiler(&self) -> Compiler {
        let (schemas, exceptions) = (Arc::clone(&self.schemas), Arc::clone(&self.exceptions));
        Compiler { size: self.size, schemas, exceptions }
    }

    /// After the start the objects have the policies in service that had them before, as it was kept.
    pub(super) fn restore_owners(&mut self) {
        self.store.set_owners(self.keeper.owners());
    }

    /// The objects that the leader has put into service, as it kept it, have the policies here too; whether that changed
    /// anything. The leader itself decides it.
    pub(super) fn follow_owners(&mut self) -> bool {
        !self.keeper.leads() && self.store.set_owners(self.keeper.owners())
    }

    /// Adds an object or replaces its texts; whether anything changed. `exceptions_alone`: it may hold nothing else.
    pub(crate) fn put(&mut self, name: &str, age: &str, texts: Texts, exceptions_alone: bool) -> bool {
        let changed = self.store.for_exceptions(name, exceptions_alone);
        let keeper = &self.keeper;
        changed | self.store.put(name, age, texts, |texts| keeper.earlier(name, &compiled::names(texts)))
    }

    /// The kinds beside those of Kubernetes are these from now on. Texts that name one that changed are compiled again;
    /// whether there was one.
    pub(super) fn set_schemas(&mut self, schemas: Schemas) -> bool {
        let mut known = self.schemas.write().unwrap_or_else(PoisonError::into_inner);
        let before = std::mem::replace(&mut *known, Arc::new(schemas));
        let now = Arc::clone(&known);
        drop(known);
        let changed = |name: &KindName| before.get(name) != now.get(name);
        let concerns =
            |texts: &Texts| kinds::named_in(texts.values().map(String::as_str)).iter().any(changed);
        let anew = self.store.compile_anew(concerns);
        self.anew |= anew;
        anew
    }

    /// The kinds beside those of Kubernetes that texts name.
    pub(super) fn kinds_named(&self) -> BTreeSet<KindName> {
        let texts = self.store.objects.values().flat_map(|held| held.present.values());
        kinds::named_in(texts.map(String::as_str))
    }

    /// Adds a file or replaces its text; whether anything changed. Files have no history.
    pub(super) fn put_file(&mut self, path: &str, texts: Texts) -> bool {
        self.store.put(path, "", texts, |_| Vec::new())
    }

    /// Removes an object; whether it was known.
    pub(crate) fn remove(&mut self, name: &str) -> bool {
        self.store.remove(name)
    }

    /// Replaces the overrides of a namespace; whether they changed.
    pub(super) fn set_overrides(&mut self, namespace: &str, overrides: Overrides) -> bool {
        for policy in self.store.of_files() {
            if overrides.get(policy).is_some() {
                tracing::warn!(%policy, %namespace, "the override has no effect: the policy comes from a file of `--policies`; change the file");
            }
        }
        let before = self.overrides.insert(namespace.to_owned(), overrides);
        before.as_ref() != self.overrides.get(namespace)
    }

    /// Whether an override of a namespace pins an older text.
    pub(super) fn rolls_back(&self, namespace: &str) -> bool {
        self.overrides.get(namespace).is_some_and(Overrides::roll_back)
    }

    /// The rules that failed in the scheduler; `None` if it does not answer in this time.
    pub(crate) async fn rule_errors(&self, patience: Duration) -> Option<Vec<RuleErrors>> {
        self.service.rule_errors(patience).await
    }

    /// How many objects the scheduler knows, if it answers in this time.
    pub(super) async fn object_counts(&self, patience: Duration) -> Option<ObjectCounts> {
        self.service.object_counts(patience).await
    }

    /// The most parts that one object has.
    pub(crate) fn largest(&self) -> Largest {
        self.service.largest()
    }

    /// The objects of which a policy in service would not have been loaded for this size.
    pub(super) fn too_costly_for(&self, size: Size) -> BTreeSet<ObjectName> {
        let is_refused = |policy: &typed::Policy, size: Size| {
            let mut found = Vec::new();
            cost::check(policy, size, &mut found);
            cost::is_refused(policy, &found)
        };
        let served = self.in_service.policies.iter().filter(|it| it.origin != Origin::StandIn);
        let costly = served.filter(|it| {
            let policy = &it.compiled.policy.compiled.policy;
            // One that a comment allows to be costly is so for its own size.
            is_refused(policy, size) && !is_refused(policy, self.size)
        });
        costly.map(|it| it.object.clone()).collect()
    }

    /// Whether the time of an override has come to an end since the set was chosen.
    pub(super) fn overrides_ended(&self) -> bool {
        self.unexpired != self.unexpired_now()
    }

    fn unexpired_now(&self) -> Vec<String> {
        let now = Timestamp::now();
        let of = |(namespace, overrides): (&String, &Overrides)| {
            let keys = overrides.unexpired(now).into_iter();
            keys.map(|key| format!("{namespace}/{key}")).collect::<Vec<String>>()
        };
        self.overrides.iter().flat_map(of).collect()
    }

    /// Changes of the watches, and of what the scheduling thread has taken over.
    pub(crate) fn changes(&self) -> (watch::Receiver<u64>, watch::Receiver<u64>) {
        (self.service.watches(), self.service.acknowledgements())
    }

    /// Waits until the scheduling thread has taken over the set in service, for a limited time.
    pub(super) async fn taken_over(&self, patience: Duration) {
        self.service.taken_over(self.revision, patience).await;
    }

    /// Whether the scheduler decides with the set in service as soon as it leads.
    pub(crate) fn decides(&self) -> Result<(), String> {
        self.service.decides_with(self.revision)
    }

    /// Whether no profiles can be made with the present text of an object.
    pub(super) fn is_blocked(&self, name: &str) -> bool {
        self.blocked.contains_key(name)
    }

    /// The policies that objects have, by object.
    pub(crate) fn named(&self) -> BTreeSet<(ObjectName, String)> {
        self.store.named()
    }

    /// Keeps the texts that serve.
    pub(crate) async fn keep(
        &mut self,
        named: &BTreeSet<PolicyKey>,
        object: impl Fn(&str) -> Option<ConfigMap>,
    ) {
        self.keeper.write(&self.in_service.policies, named, object).await;
    }

    /// Puts the present set into service; the objects whose verdict or revision changed.
    pub(crate) fn serve(&mut self) -> Result<Vec<ObjectName>, String> {
        let watches = *self.service.watches().borrow();
        let served = self.choose_and_put();
        self.service.chosen_for(watches);
        served
    }

    fn choose_and_put(&mut self) -> Result<Vec<ObjectName>, String> {
        self.anew |= exceptions::join(&mut self.store, &self.exceptions);
        let pinned = self.pinned();
        let needs = self.store.policies().chain(&pinned).map(|it| compiled::needs(&it.policy));
        self.service.want(needs.fold(Needs::default(), |all, of| all.and(&of)));
        self.unexpired = self.unexpired_now();
        while self.store.compile_again(&self.choose(&self.blocked)) {}
        let (mut chosen, blocked, made) = self.fitting()?;
        let exceptions = Arc::clone(&self.exceptions.read().unwrap_or_else(PoisonError::into_inner));
        exceptions::judge(&exceptions, &mut chosen);
        self.blocked = blocked;
        if self.revision == 0 || std::mem::take(&mut self.anew) || chosen.key() != self.in_service.key() {
            self.revision += 1;
            self.service.put(made, self.revision);
            let (revision, policies) = (self.revision, chosen.policies.len());
            tracing::info!(revision, policies, objects = chosen.verdicts.len(), "policies in service");
        }
        self.store.commit(&chosen);
        let before = std::mem::replace(&mut self.in_service, chosen);
        let changed = |name: &&ObjectName| {
            before.verdicts.get(*name) != self.in_service.verdicts.get(*name)
                || before.chosen.get(*name) != self.in_service.chosen.get(*name)
        };
        let changed: Vec<ObjectName> = self.in_service.verdicts.keys().filter(changed).cloned().collect();
        for name in &changed {
            if let Some(verdict) = self.in_service.verdicts.get(name) {
                log_verdict(name, verdict);
            }
        }
        self.show();
        Ok(changed)
    }

    /// A set with which profiles can be made. Texts that came last are left out until that is so;
    /// those without fault come back.
    fn fitting(&self) -> Result<(Service<Policy>, Blocked, Profiles), String> {
        let mut blocked = Blocked::new();
        let attempt = |blocked: &Blocked| {
            let chosen = self.choose(blocked);
            let policies: Vec<Policy> = chosen.policies.iter().map(|it| it.compiled.policy.clone()).collect();
            let made = self.service.make(&policies);
            (chosen, made)
        };
        let (chosen, made) = attempt(&blocked);
        let first = match made {
            Ok(made) => return Ok((chosen, blocked, made)),
            Err(first) => first,
        };
        let mut why = first.clone();
        let mut fits = None;
        for name in self.store.newcomers(&chosen) {
            let Some(hash) = chosen.chosen.get(&name) else { continue };
            blocked.insert(name, (hash.clone(), why));
            match attempt(&blocked) {
                (chosen, Ok(made)) => {
                    fits = Some((chosen, made));
                    break;
                }
                (_, Err(next)) => why = next,
            }
        }
        let Some((mut chosen, mut made)) = fits else { return Err(first) };
        for name in blocked.keys().cloned().collect::<Vec<ObjectName>>() {
            let Some(entry) = blocked.remove(&name) else { continue };
            match attempt(&blocked) {
                (better, Ok(of_it)) => (chosen, made) = (better, of_it),
                (_, Err(why)) => drop(blocked.insert(name, (entry.0, why))),
            }
        }
        // The verdicts name the reasons as they were found last.
        if !blocked.is_empty() {
            chosen.verdicts = self.choose(&blocked).verdicts;
        }
        Ok((chosen, blocked, made))
    }

    fn choose(&self, blocked: &Blocked) -> Service<Policy> {
        let now = Timestamp::now();
        self.store.service(&Terms {
            unmet: &|policy| self.service.unmet(&compiled::needs(policy)),
            overridden: &|object, compiled| self.overridden(object, compiled, now),
            load: &|policy| Load::of(&policy.compiled.policy, self.size),
            heaviest: &|policy, load| compiled::heaviest(policy, load, self.size),
            limit: Load::MOST,
            blocked,
        })
    }

    /// The override of a policy that holds now, and its words.
    fn overridden(&self, object: &str, compiled: &Compiled<Policy>, now: Timestamp) -> Overridden<Policy> {
        if self.store.is_file(object) {
            return None;
        }
        let namespace = namespace_of(object);
        let text = self.store.present(object)?;
        let entry = self.overrides.get(namespace)?.of_policy(&compiled.name, &text, now)?;
        let words = entry.words(&compiled.name);
        if entry.kind == Kind::Suspend {
            return Some((Override::Suspended(Policy { suspended: true, ..compiled.policy.clone() }), words));
        }
        let revision = entry.revision.as_deref()?;
        match self.older(object, &compiled.name, revision) {
            Some(older) => Some(match self.service.unmet(&compiled::needs(&older.policy)) {
                None => (Override::Pinned(Box::new(older)), words),
                Some(why) => {
                    let words =
                        format!("{words}; until then the newest text serves: revision {revision} {why}");
                    (Override::Pinned(Box::new(compiled.clone())), words)
                }
            }),
            None => {
                let policy = &compiled.name;
                tracing::warn!(%policy, %revision, "no such revision is in the history, or it does not compile; the rollback has no effect");
                None
            }
        }
    }

    /// The texts to which policies are pinned at present.
    fn pinned(&self) -> Vec<Compiled<Policy>> {
        let now = Timestamp::now();
        let of = |(object, policy): (ObjectName, String)| {
            let text = self.store.present(&object)?;
            let entry = self.overrides.get(namespace_of(&object))?.of_policy(&policy, &text, now)?;
            let revision = entry.revision.as_deref().filter(|_| entry.kind == Kind::Rollback)?;
            self.older(&object, &policy, revision)
        };
        self.store.named().into_iter().filter_map(of).collect()
    }

    /// An earlier text of a policy, if the history has it and it still compiles.
    fn older(&self, object: &str, policy: &str, revision: &str) -> Option<Compiled<Policy>> {
        let texts = self.keeper.revision(namespace_of(object), policy, revision)?;
        self.store.earlier(object, policy, texts)
    }

    /// Records the set in service for health checks, metrics and pages.
    fn show(&mut self) {
        let now = Timestamp::now().as_second();
        let mut objects = Vec::new();
        for (name, verdict) in &self.in_service.verdicts {
            let serving = self.in_service.chosen.get(name).cloned().unwrap_or_default();
            let since = self.since.entry(name.clone()).or_insert_with(|| (serving.clone(), now));
            if since.0 != serving {
                *since = (serving.clone(), now);
            }
            let of_object = self.in_service.policies.iter().filter(|it| it.object == *name);
            let policy = |it: &Served<Policy>| PolicyInService {
                name: it.compiled.name.clone(),
                revision: it.compiled.revision.clone(),
                origin: it.origin,
                mode: it.compiled.policy.compiled.policy.modes.policy.word(),
                exceptions: exceptions_of(&it.compiled.policy.compiled.policy),
                looks_up: it.compiled.policy.compiled.policy.keeps.objects.keys().cloned().collect(),
                mode_until: it.compiled.policy.compiled.policy.modes.until.iter().map(|of| of.end).min(),
            };
            objects.push(ObjectState {
                object: name.clone(),
                verdict: verdict.clone(),
                revision: serving,
                policies: of_object.map(policy).collect(),
                since: since.1,
            });
        }
        let verdicts = &self.in_service.verdicts;
        self.since.retain(|name, _| verdicts.contains_key(name));
        self.state.serve(self.revision, objects);
    }
}

/// When the exceptions of a policy end, each with its rule and reason.
fn exceptions_of(policy: &bayplan_lang::typed::Policy) -> Vec<(String, Time)> {
    let name = |of: &Exception| format!("{}: {}", of.rule.as_deref().unwrap_or("policy"), of.because);
    policy.exceptions.iter().map(|of| (name(of), of.end)).collect()
}

impl Origin {
    /// The override that it comes from, as metrics name it.
    pub(crate) fn overridden_by(self) -> Option<&'static str> {
        match self {
            Self::Suspended => Some(Kind::Suspend.word()),
            Self::Pinned => Some(Kind::Rollback.word()),
            Self::Text | Self::StandIn => None,
        }
    }
}

fn log_verdict(name: &str, verdict: &Verdict) {
    match verdict {
        Verdict::Serving => {}
        Verdict::Refused { problems, instead, holds } => {
            let first = problems.first().map(ToString::to_string).unwrap_or_default();
            let instead = instead.as_deref().unwrap_or("nothing");
            let count = problems.len();
            tracing::warn!(policy = %name, problems = count, %first, %instead, ?holds, "policy refused");
        }
        Verdict::Waiting { why } => tracing::warn!(policy = %name, %why, "policy waits"),
        Verdict::Overridden { why } => tracing::warn!(policy = %name, %why, "policy overridden"),
    }
}
