//! The texts of each policy object: the present one, compiled, and the one that served before it.
//! Pure bookkeeping without clock or network; `source` feeds it with objects, and
//! `choice` decides which text of each object is in service.

use super::choice::{Origin, Service};
use super::compiled::waits_for;
use super::verdict::{ObjectName, Problem, Texts, hash};
use crate::process::supervisor::message;
use bayplan_lang::analysis::load::Load;
use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, OnceLock};

/// Maximum number of characters of a panic's message, for annotations and logs.
const SHOWN: usize = 500;

/// A compiled policy.
#[derive(Clone, Debug)]
pub(crate) struct Compiled<P> {
    /// Its name in the text.
    pub name: String,
    /// What it does that only one policy may, as in `orders the queue`.
    pub claims: Vec<String>,
    /// The text that has it, under its key.
    pub texts: Arc<Texts>,
    /// The revision of that text.
    pub revision: String,
    /// The policy.
    pub policy: P,
}

/// Compiles texts into policies, or returns the problems.
pub(crate) type Compile<P> =
    Box<dyn Fn(&str, &Texts) -> Result<Vec<Compiled<P>>, Vec<Problem>> + Send + Sync>;

/// Whose pods a stand-in makes wait.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Standing {
    /// Those that a text selects that does not compile, as far as that can be read.
    Broken,
    /// Those that a text selects that compiles and waits for what it reads.
    Waits,
    /// All pods: which ones the text selects cannot be told, and it decided about them before.
    Whole,
}

/// Makes the stand-in for texts that cannot serve: policies that make the pods wait that the texts
/// select. `None` if the texts select no pods.
pub(crate) type StandIn = Box<dyn Fn(&str, &Texts, Standing) -> Option<Texts> + Send + Sync>;

/// A text of a policy that served before a restart: the policy, and the text under its key.
pub(crate) type Earlier = (String, Texts);

/// The policies of some texts.
#[derive(Debug)]
pub(super) struct Version<P> {
    pub(crate) texts: Texts,
    pub(crate) hash: String,
    pub(crate) policies: Vec<Compiled<P>>,
}

/// The texts of an object.
pub(crate) struct Held<P> {
    /// Sorts objects by age.
    pub(crate) age: String,
    pub(crate) present: Texts,
    /// Why the present text does not compile.
    pub(crate) problems: Vec<Problem>,
    /// The present text, if it compiles.
    pub(super) candidate: Option<Arc<Version<P>>>,
    /// What the present text costs, if it compiles and was refused for that. Its compiled form is
    /// not kept.
    pub(super) too_much: Option<Load>,
    /// The text that was in service last, in this process or before a restart.
    pub(super) serving: Option<Arc<Version<P>>>,
    /// What was in service before a restart, until a text of this process is.
    earlier: Vec<Earlier>,
    /// Made when no text can serve.
    stand_in: OnceLock<Option<Arc<Version<P>>>>,
}

impl<P> Held<P> {
    /// The stand-in, if it was needed.
    fn stand_in(&self) -> Option<&Arc<Version<P>>> {
        self.stand_in.get()?.as_ref()
    }

    /// The texts that serve or could.
    fn versions(&self) -> impl Iterator<Item = &Arc<Version<P>>> {
        [self.candidate.as_ref(), self.serving.as_ref(), self.stand_in()].into_iter().flatten()
    }

    /// The policies that were in service, each with the text that has it: in this process, or before a restart.
    fn served(&self) -> impl Iterator<Item = (&str, &Texts)> {
        let here = self.serving.iter().flat_map(|version| &version.policies);
        let here = here.map(|of| (of.name.as_str(), &*of.texts));
        here.chain(self.earlier.iter().map(|(policy, texts)| (policy.as_str(), texts)))
    }
}

/// The objects that hold policies.
pub(crate) struct Store<P> {
    compile: Compile<P>,
    stand_in: StandIn,
    pub(crate) objects: BTreeMap<ObjectName, Held<P>>,
    /// The objects that may hold exceptions alone.
    exceptions_alone: BTreeSet<ObjectName>,
    /// The object whose policy of a name is in service, or was last.
    owners: BTreeMap<String, ObjectName>,
}

impl<P: Clone> Store<P> {
    /// No objects.
    pub(crate) fn new(compile: Compile<P>, stand_in: StandIn) -> Self {
        let objects = BTreeMap::new();
        Self { compile, stand_in, objects, exceptions_alone: BTreeSet::new(), owners: BTreeMap::new() }
    }

    /// An object may hold exceptions alone from now on, or policies too; whether that changed what is known of it.
    pub(crate) fn for_exceptions(&mut self, name: &str, alone: bool) -> bool {
        let changed = match alone {
            true => self.exceptions_alone.insert(name.to_owned()),
            false => self.exceptions_alone.remove(name),
        };
        let Some(held) = (if changed { self.objects.remove(name) } else { None }) else { return false };
        let serving = held.serving.filter(|version| !alone || version.policies.is_empty());
        let earlier = if alone { Vec::new() } else { held.earlier };
        let held = self.held(name, &held.age, held.present, serving, earlier);
        self.objects.insert(name.to_owned(), held);
        true
    }

    /// Takes over which object had each policy in service last, as it was kept; whether that changed anything.
    pub(crate) fn set_owners(&mut self, owners: BTreeMap<String, ObjectName>) -> bool {
        let mut changed = false;
        for (policy, object) in owners {
            changed |= self.owners.get(&policy) != Some(&object);
            self.owners.insert(policy, object);
        }
        changed
    }

    /// The object that keeps a policy: the one that has it in service, or had it last, as long as it has a policy of this
    /// name. A writer of another object cannot take the policy's place, however old that object is.
    pub(crate) fn owner(&self, policy: &str) -> Option<&ObjectName> {
        let owner = self.owners.get(policy)?;
        let held = self.objects.get(owner)?;
        let mut named = match &held.candidate {
            Some(version) => version.policies.iter().any(|it| it.name == policy),
            None => held.served().any(|(name, _)| name == policy),
        };
        named |= held.candidate.is_none()
            && held.stand_in().is_some_and(|version| version.policies.iter().any(|it| it.name == policy));
        named.then_some(owner)
    }

    /// Adds an object or replaces its texts; whether anything changed. `earlier` returns the texts
    /// that served before a restart; it is called only if no text of the object has served yet.
    pub(crate) fn put(
        &mut self,
        name: &str,
        age: &str,
        texts: Texts,
        earlier: impl FnOnce(&Texts) -> Vec<Earlier>,
    ) -> bool {
        let before = self.objects.remove(name);
        if let Some(held) = before {
            if held.present == texts && held.age == age {
                self.objects.insert(name.to_owned(), held);
                return false;
            }
            let held = self.held(name, age, texts, held.serving, held.earlier);
            self.objects.insert(name.to_owned(), held);
            return true;
        }
        let earlier = if self.exceptions_alone.contains(name) { Vec::new() } else { earlier(&texts) };
        let served = self.version_of(name, &earlier);
        let held = self.held(name, age, texts, served, earlier);
        self.objects.insert(name.to_owned(), held);
        true
    }

    fn held(
        &self,
        name: &str,
        age: &str,
        texts: Texts,
        serving: Option<Arc<Version<P>>>,
        earlier: Vec<Earlier>,
    ) -> Held<P> {
        let alone = self.exceptions_alone.contains(name);
        let compiled = self.compiled(name, &texts).and_then(|policies| match policies.first() {
            Some(policy) if alone => Err(vec![not_for_policies(name, &policy.name)]),
            _ => Ok(policies),
        });
        let (candidate, problems) = match compiled {
            Ok(policies) => {
                (Some(Arc::new(Version { hash: hash(&texts), texts: texts.clone(), policies })), Vec::new())
            }
            Err(problems) => (None, problems),
        };
        let (age, stand_in) = (age.to_owned(), OnceLock::new());
        let held =
            Held { age, present: texts, problems, candidate, too_much: None, serving, earlier, stand_in };
        if held.candidate.is_none() && held.serving.is_none() {
            // What it reads is requested before it is needed. Otherwise a text that compiles reads as much.
            let _made = self.stand_in_of(name, &held);
        }
        held
    }

    /// The stand-in of an object, for when none of its texts can serve.
    pub(super) fn stand_in_of<'h>(&self, name: &str, held: &'h Held<P>) -> Option<&'h Arc<Version<P>>> {
        if self.exceptions_alone.contains(name) {
            return None;
        }
        let made = || {
            let compiles =
                held.candidate.is_some() || held.too_much.is_some() || waits_for(&held.problems).is_some();
            let present = if compiles { Standing::Waits } else { Standing::Broken };
            let mut policies = Vec::new();
            self.stand(name, &held.present, present, None, &mut policies);
            for (policy, texts) in held.served() {
                self.stand(name, texts, Standing::Waits, Some(policy), &mut policies);
            }
            self.stand_for_all(name, held, &mut policies);
            versioned(policies)
        };
        held.stand_in.get_or_init(made).as_ref()
    }

    /// The stand-in of an object whose stand-in waits itself: for all pods, if a text of it was in service.
    pub(super) fn blanket_of(&self, name: &str, held: &Held<P>) -> Option<Arc<Version<P>>> {
        if self.exceptions_alone.contains(name) {
            return None;
        }
        let mut policies = Vec::new();
        self.stand_for_all(name, held, &mut policies);
        versioned(policies)
    }

    /// Adds stand-ins for the policies that were in service, compile but for what they lack, and have no stand-in yet. A
    /// file is as good as in service: the process does not start without it.
    fn stand_for_all(&self, name: &str, held: &Held<P>, policies: &mut Vec<Compiled<P>>) {
        let compiles = held.candidate.is_some() || waits_for(&held.problems).is_some();
        if held.age.is_empty() && compiles {
            self.stand(name, &held.present, Standing::Whole, None, policies);
        }
        for (policy, texts) in held.served() {
            let compiled = || match self.compiled(name, texts) {
                Ok(_) => true,
                Err(problems) => waits_for(&problems).is_some(),
            };
            if !policies.iter().any(|it| it.name == policy) && compiled() {
                self.stand(name, texts, Standing::Whole, Some(policy), policies);
            }
        }
    }

    /// Adds the stand-ins of texts to policies that do not have one, of all or of the one that is named.
    fn stand(
        &self,
        name: &str,
        texts: &Texts,
        standing: Standing,
        named: Option<&str>,
        policies: &mut Vec<Compiled<P>>,
    ) {
        let has = |policies: &[Compiled<P>], name: &str| policies.iter().any(|it| it.name == name);
        if named.is_some_and(|named| has(policies, named)) {
            return;
        }
        let made = guarded(|| (self.stand_in)(name, texts, standing)).ok().flatten();
        let Some(Ok(made)) = made.map(|texts| self.compiled(name, &texts)) else { return };
        for of in made {
            if named.is_none_or(|named| named == of.name) && !has(policies, &of.name) {
                policies.push(of);
            }
        }
    }

    /// Compiles texts. A panic of the compiler is a problem of these texts.
    fn compiled(&self, name: &str, texts: &Texts) -> Result<Vec<Compiled<P>>, Vec<Problem>> {
        guarded(|| (self.compile)(name, texts)).unwrap_or_else(|said| {
            let said = said.chars().take(SHOWN).collect::<String>();
            Err(vec![Problem {
                code: String::new(),
                key: name.to_owned(),
                line: 0,
                column: 0,
                message: format!("the compiler panicked: {said}"),
                help: "please report this policy; a similar text may compile".into(),
            }])
        })
    }

    /// The policies of earlier texts, each from its own text.
    fn version_of(&self, name: &str, earlier: &[Earlier]) -> Option<Arc<Version<P>>> {
        versioned(earlier.iter().filter_map(|(policy, texts)| self.earlier(name, policy, texts)).collect())
    }

    /// One policy of an earlier text, if that still compiles.
    pub(crate) fn earlier(&self, object: &str, policy: &str, texts: &Texts) -> Option<Compiled<P>> {
        self.compiled(object, texts).ok()?.into_iter().find(|it| it.name == policy)
    }

    /// Removes an object; whether it was known.
    pub(crate) fn remove(&mut self, name: &str) -> bool {
        self.exceptions_alone.remove(name);
        self.objects.remove(name).is_some()
    }

    /// Compiles the texts again that `concerns` holds for; whether there was one. A text that ceases
    /// to compile stays in service as it was compiled before.
    pub(crate) fn compile_anew(&mut self, concerns: impl Fn(&Texts) -> bool) -> bool {
        let concerned = self.objects.iter().filter(|(_, held)| concerns(&held.present));
        let names: Vec<ObjectName> = concerned.map(|(name, _)| name.clone()).collect();
        for name in &names {
            let Some(held) = self.objects.remove(name) else { continue };
            let held = self.held(name, &held.age, held.present, held.serving, held.earlier);
            self.objects.insert(name.clone(), held);
        }
        !names.is_empty()
    }

    /// Compiles texts again that serve in the place of the present ones and that `concerns` holds for; whether there was
    /// one. A policy that ceases to compile stays as it was compiled before.
    pub(crate) fn compile_served_anew(&mut self, concerns: impl Fn(&Texts) -> bool) -> bool {
        let instead = |held: &Held<P>| {
            let version = held.serving.as_ref().or(held.stand_in())?;
            let concerned = version.policies.iter().any(|of| concerns(&of.texts));
            (version.texts != held.present && concerned).then(|| Arc::clone(version))
        };
        let served: Vec<_> =
            self.objects.iter().filter_map(|(name, held)| Some((name.clone(), instead(held)?))).collect();
        for (name, version) in &served {
            let again =
                |of: &Compiled<P>| self.earlier(name, &of.name, &of.texts).unwrap_or_else(|| of.clone());
            let policies = version.policies.iter().map(again).collect();
            let made = Version { texts: version.texts.clone(), hash: version.hash.clone(), policies };
            let Some(held) = self.objects.get_mut(name) else { continue };
            match held.serving.is_some() {
                true => held.serving = Some(Arc::new(made)),
                false => held.stand_in = OnceLock::from(Some(Arc::new(made))),
            }
        }
        !served.is_empty()
    }

    /// Compiles again what was refused for its costs and has room in this choice; whether anything
    /// was. Choose again then.
    pub(crate) fn compile_again(&mut self, service: &Service<P>) -> bool {
        let mut found = false;
        for name in &service.has_room {
            let Some(mut held) = self.objects.remove(name) else { continue };
            if let Ok(policies) = self.compiled(name, &held.present) {
                let (texts, hash) = (held.present.clone(), hash(&held.present));
                held.candidate = Some(Arc::new(Version { texts, hash, policies }));
                held.too_much = None;
                found = true;
            }
            self.objects.insert(name.clone(), held);
        }
        found
    }

    /// Takes note of what is in service from now on: it stays there when a later text cannot serve.
    /// The compiled form of what was refused for its costs is dropped.
    pub(crate) fn commit(&mut self, service: &Service<P>) {
        for it in service.policies.iter().filter(|it| it.origin != Origin::StandIn) {
            self.owners.insert(it.compiled.name.clone(), it.object.clone());
        }
        for (name, held) in &mut self.objects {
            if let Some((load, problem)) = service.too_much.get(name)
                && held.candidate.take().is_some()
            {
                held.too_much = Some(*load);
                held.problems = vec![problem.clone()];
            }
            let chosen = service.chosen.get(name);
            if let Some(candidate) = &held.candidate
                && chosen == Some(&candidate.hash)
                && !held.serving.as_ref().is_some_and(|serving| Arc::ptr_eq(serving, candidate))
            {
                held.serving = Some(Arc::clone(candidate));
                held.earlier.clear();
                held.stand_in = OnceLock::new();
            }
        }
    }

    /// The policies that objects have, by object: in the present text, or in one that serves instead.
    pub(crate) fn named(&self) -> BTreeSet<(ObjectName, String)> {
        let of = |(name, held): (&ObjectName, &Held<P>)| {
            let policies = held.versions().flat_map(|version| &version.policies);
            policies.map(|it| (name.clone(), it.name.clone())).collect::<Vec<_>>()
        };
        self.objects.iter().flat_map(of).collect()
    }

    /// Whether an object is a file. Files have no age.
    pub(crate) fn is_file(&self, name: &str) -> bool {
        self.objects.get(name).is_some_and(|held| held.age.is_empty())
    }

    /// The texts of objects for which a condition holds, by key: of the present texts, or of those before them where the
    /// present ones do not compile.
    pub(super) fn texts_where(&self, holds: impl Fn(&str) -> bool) -> BTreeMap<ObjectName, Texts> {
        let of = |(name, held): (&ObjectName, &Held<P>)| {
            let version = held.candidate.as_ref().or(held.serving.as_ref())?;
            let texts = version.texts.iter().filter(|(_, text)| holds(text));
            let texts: Texts = texts.map(|(key, text)| (key.clone(), text.clone())).collect();
            (!texts.is_empty()).then(|| (name.clone(), texts))
        };
        self.objects.iter().filter_map(of).collect()
    }

    /// The names of the policies of files.
    pub(crate) fn of_files(&self) -> BTreeSet<&str> {
        let files = self.objects.values().filter(|held| held.age.is_empty());
        let versions = files.flat_map(|held| [&held.candidate, &held.serving]).flatten();
        versions.flat_map(|version| &version.policies).map(|it| it.name.as_str()).collect()
    }

    /// The hash of the present texts of an object.
    pub(crate) fn present(&self, name: &str) -> Option<String> {
        self.objects.get(name).map(|held| hash(&held.present))
    }

    /// All policies that are in service or could be.
    pub(crate) fn policies(&self) -> impl Iterator<Item = &Compiled<P>> {
        let versions = self.objects.values().flat_map(Held::versions);
        versions.flat_map(|version| &version.policies)
    }
}

/// Policies as one version; none without policies.
fn versioned<P>(policies: Vec<Compiled<P>>) -> Option<Arc<Version<P>>> {
    let all = policies.iter().flat_map(|it| it.texts.iter().map(|(key, text)| (key.clone(), text.clone())));
    let texts: Texts = all.collect();
    (!policies.is_empty()).then(|| Arc::new(Version { hash: hash(&texts), texts, policies }))
}

/// An object for exceptions has a policy.
fn not_for_policies(object: &str, policy: &str) -> Problem {
    Problem {
        code: String::new(),
        key: object.to_owned(),
        line: 0,
        column: 0,
        message: format!("`{object}` may hold exceptions alone, and has policy `{policy}`"),
        help:
            "its label `bayplan.dev/policy` has the value `exceptions`: write the policy into another object"
                .into(),
    }
}

/// Runs a computation; the message of its panic.
fn guarded<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|panic| message(&*panic))
}
