//! The texts of each policy object: the present one, compiled, and the one that served before it.
//! Pure bookkeeping without clock or network; `policy_source` feeds it with objects, and
//! `policy_choice` decides which text of each object is in service.

use super::policies::waits_for;
use super::policy_choice::Service;
use super::policy_verdict::{ObjectName, Problem, Texts, hash};
use super::supervisor::message;
use crate::lang::analysis::load::Load;
use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// Maximum number of characters of a panic's message, for annotations and logs.
const SHOWN: usize = 500;

/// A compiled policy.
#[derive(Clone, Debug)]
pub struct Compiled<P> {
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
pub type Compile<P> = Box<dyn Fn(&str, &Texts) -> Result<Vec<Compiled<P>>, Vec<Problem>> + Send + Sync>;

/// Makes the stand-in for texts that cannot serve, if no earlier text is known: policies that make
/// the pods wait that the texts select. The flag tells whether the texts compile. `None` if the
/// texts select no pods.
pub type StandIn = Box<dyn Fn(&str, &Texts, bool) -> Option<Texts> + Send + Sync>;

/// A text of a policy that served before a restart: the policy, and the text under its key.
pub type Earlier = (String, Texts);

/// The policies of some texts.
#[derive(Debug)]
pub(super) struct Version<P> {
    pub(super) texts: Texts,
    pub(super) hash: String,
    pub(super) policies: Vec<Compiled<P>>,
}

/// The texts of an object.
pub(super) struct Held<P> {
    /// Sorts objects by age.
    pub(super) age: String,
    pub(super) present: Texts,
    /// Why the present text does not compile.
    pub(super) problems: Vec<Problem>,
    /// The present text, if it compiles.
    pub(super) candidate: Option<Arc<Version<P>>>,
    /// What the present text costs, if it compiles and was refused for that. Its compiled form is
    /// not kept.
    pub(super) too_much: Option<Load>,
    /// The text that was in service last, in this process or before a restart.
    pub(super) serving: Option<Arc<Version<P>>>,
    /// Only without a text that was in service.
    pub(super) stand_in: Option<Arc<Version<P>>>,
}

/// The objects that hold policies.
pub struct Store<P> {
    compile: Compile<P>,
    stand_in: StandIn,
    pub(super) objects: BTreeMap<ObjectName, Held<P>>,
}

impl<P: Clone> Store<P> {
    /// No objects.
    pub fn new(compile: Compile<P>, stand_in: StandIn) -> Self {
        Self { compile, stand_in, objects: BTreeMap::new() }
    }

    /// Adds an object or replaces its texts; whether anything changed. `earlier` returns the texts
    /// that served before a restart; it is called only if no text of the object has served yet.
    pub fn put(
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
            let held = self.held(name, age, texts, held.serving);
            self.objects.insert(name.to_owned(), held);
            return true;
        }
        let served = self.version_of(name, earlier(&texts));
        let held = self.held(name, age, texts, served);
        self.objects.insert(name.to_owned(), held);
        true
    }

    fn held(&self, name: &str, age: &str, texts: Texts, serving: Option<Arc<Version<P>>>) -> Held<P> {
        let (candidate, problems) = match self.compiled(name, &texts) {
            Ok(policies) => {
                (Some(Arc::new(Version { hash: hash(&texts), texts: texts.clone(), policies })), Vec::new())
            }
            Err(problems) => (None, problems),
        };
        let mut stand_in = None;
        if serving.is_none() {
            let compiles = candidate.is_some() || waits_for(&problems).is_some();
            let made = guarded(|| (self.stand_in)(name, &texts, compiles)).ok().flatten();
            if let Some(texts) = made
                && let Ok(policies) = self.compiled(name, &texts)
            {
                stand_in = Some(Arc::new(Version { hash: hash(&texts), texts, policies }));
            }
        }
        let age = age.to_owned();
        Held { age, present: texts, problems, candidate, too_much: None, serving, stand_in }
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
    fn version_of(&self, name: &str, earlier: Vec<Earlier>) -> Option<Arc<Version<P>>> {
        let mut policies: Vec<Compiled<P>> = Vec::new();
        for (policy, texts) in earlier {
            policies.extend(self.earlier(name, &policy, &texts));
        }
        let all =
            policies.iter().flat_map(|it| it.texts.iter().map(|(key, text)| (key.clone(), text.clone())));
        let texts: Texts = all.collect();
        (!policies.is_empty()).then(|| Arc::new(Version { hash: hash(&texts), texts, policies }))
    }

    /// One policy of an earlier text, if that still compiles.
    pub fn earlier(&self, object: &str, policy: &str, texts: &Texts) -> Option<Compiled<P>> {
        self.compiled(object, texts).ok()?.into_iter().find(|it| it.name == policy)
    }

    /// Removes an object; whether it was known.
    pub fn remove(&mut self, name: &str) -> bool {
        self.objects.remove(name).is_some()
    }

    /// Compiles the texts again that `concerns` holds for; whether there was one. A text that ceases
    /// to compile stays in service as it was compiled before.
    pub fn compile_anew(&mut self, concerns: impl Fn(&Texts) -> bool) -> bool {
        let concerned = self.objects.iter().filter(|(_, held)| concerns(&held.present));
        let names: Vec<ObjectName> = concerned.map(|(name, _)| name.clone()).collect();
        for name in &names {
            let Some(held) = self.objects.remove(name) else { continue };
            let held = self.held(name, &held.age, held.present, held.serving);
            self.objects.insert(name.clone(), held);
        }
        !names.is_empty()
    }

    /// Compiles texts again that serve in the place of the present ones and that `concerns` holds for; whether there was
    /// one. A policy that ceases to compile stays as it was compiled before.
    pub fn compile_served_anew(&mut self, concerns: impl Fn(&Texts) -> bool) -> bool {
        let instead = |held: &Held<P>| {
            let version = held.serving.as_ref().or(held.stand_in.as_ref())?;
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
            let place = if held.serving.is_some() { &mut held.serving } else { &mut held.stand_in };
            *place = Some(Arc::new(made));
        }
        !served.is_empty()
    }

    /// Compiles again what was refused for its costs and has room in this choice; whether anything
    /// was. Choose again then.
    pub fn compile_again(&mut self, service: &Service<P>) -> bool {
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
    pub fn commit(&mut self, service: &Service<P>) {
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
            {
                held.serving = Some(Arc::clone(candidate));
                held.stand_in = None;
            }
        }
    }

    /// The policies that objects have, by object: in the present text, or in one that serves instead.
    pub fn named(&self) -> BTreeSet<(ObjectName, String)> {
        let of = |(name, held): (&ObjectName, &Held<P>)| {
            let versions = [&held.candidate, &held.serving, &held.stand_in].into_iter().flatten();
            let policies = versions.flat_map(|version| &version.policies);
            policies.map(|it| (name.clone(), it.name.clone())).collect::<Vec<_>>()
        };
        self.objects.iter().flat_map(of).collect()
    }

    /// Whether an object is a file. Files have no age.
    pub fn is_file(&self, name: &str) -> bool {
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
    pub fn of_files(&self) -> BTreeSet<&str> {
        let files = self.objects.values().filter(|held| held.age.is_empty());
        let versions = files.flat_map(|held| [&held.candidate, &held.serving]).flatten();
        versions.flat_map(|version| &version.policies).map(|it| it.name.as_str()).collect()
    }

    /// The hash of the present texts of an object.
    pub fn present(&self, name: &str) -> Option<String> {
        self.objects.get(name).map(|held| hash(&held.present))
    }

    /// The texts of an object in service: those of `chosen`, else its stand-in.
    pub fn texts_in_service(&self, name: &str, chosen: Option<&String>) -> Option<&Texts> {
        let held = self.objects.get(name)?;
        let versions = [&held.candidate, &held.serving];
        let found = versions.into_iter().flatten().find(|version| Some(&version.hash) == chosen);
        found.or(held.stand_in.as_ref()).map(|version| &version.texts)
    }

    /// All policies that are in service or could be.
    pub fn policies(&self) -> impl Iterator<Item = &Compiled<P>> {
        let versions =
            self.objects.values().flat_map(|held| [&held.candidate, &held.serving, &held.stand_in]);
        versions.flatten().flat_map(|version| &version.policies)
    }
}

/// Runs a computation; the message of its panic.
fn guarded<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|panic| message(&*panic))
}
