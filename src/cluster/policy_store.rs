//! Decides which text of each policy object is in service: the present text if it compiles, else
//! the last one that did. An object with a broken text keeps its own last good text while others go
//! on changing. Pure bookkeeping without clock or network; `policy_source` feeds it with objects
//! and acts on its verdicts.

use aws_lc_rs::digest;
use std::collections::BTreeMap;

/// The name of an object: `namespace/name` of a ConfigMap, or a path.
pub type ObjectName = String;
/// The texts of an object by key.
pub type Texts = BTreeMap<String, String>;

/// A problem in a text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Problem {
    /// The code, as in `BP0104`.
    pub code: String,
    /// The key of the text.
    pub key: String,
    /// Line in the text, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// What is wrong.
    pub message: String,
    /// What to do about it; may be empty.
    pub help: String,
}

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.line > 0 {
            write!(f, "{}:{}:{}: ", self.key, self.line, self.column)?;
        }
        write!(f, "{}", self.message)?;
        if !self.code.is_empty() {
            write!(f, " [{}]", self.code)?;
        }
        if !self.help.is_empty() {
            write!(f, "; {}", self.help)?;
        }
        Ok(())
    }
}

/// A compiled policy.
#[derive(Clone, Debug)]
pub struct Compiled<P> {
    /// Its name in the text.
    pub name: String,
    /// Whether it orders the queue, which only one policy may.
    pub queue: bool,
    /// The policy.
    pub policy: P,
}

/// Compiles texts into policies, or returns the problems.
pub type Compile<P> = Box<dyn Fn(&str, &Texts) -> Result<Vec<Compiled<P>>, Vec<Problem>> + Send + Sync>;

/// Makes the stand-in for texts that do not compile, if no earlier text is known: policies that
/// make the pods wait that the texts select. `None` if the texts select no pods.
pub type StandIn = Box<dyn Fn(&str, &Texts) -> Option<Texts> + Send + Sync>;

/// The verdict on the present text of an object.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// It is in service.
    Serving,
    /// It does not compile; an earlier text is in service, or none is.
    Refused {
        /// What is wrong.
        problems: Vec<Problem>,
        /// The hash of the text that stays in service.
        instead: Option<String>,
        /// The policies whose pods wait, because no text of them that compiles is known.
        holds: Vec<String>,
    },
    /// It compiles, but an older object has a policy of the same name or with `queue by`, or the
    /// set of policies as a whole cannot be used.
    Waiting {
        /// The reason.
        why: String,
    },
}

impl Verdict {
    /// `Serving`, `Refused` or `Waiting`.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Serving => "Serving",
            Self::Refused { .. } => "Refused",
            Self::Waiting { .. } => "Waiting",
        }
    }
}

/// The revision of texts: the first 128 bits of the SHA-256 of their keys and contents, each with
/// its length in front. Two texts with one revision cannot be constructed, so a revision proves
/// which text decided.
pub fn hash(texts: &Texts) -> String {
    let mut context = digest::Context::new(&digest::SHA256);
    for part in texts.iter().flat_map(|(key, text)| [key, text]) {
        context.update(&(part.len() as u64).to_le_bytes());
        context.update(part.as_bytes());
    }
    let whole = context.finish();
    whole.as_ref().iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}

struct Version<P> {
    texts: Texts,
    hash: String,
    policies: Vec<Compiled<P>>,
}

struct Held<P> {
    /// Sorts objects by age.
    age: String,
    present: Texts,
    problems: Vec<Problem>,
    good: Option<Version<P>>,
    /// Only without a good version.
    stand_in: Option<Version<P>>,
}

impl<P> Held<P> {
    fn is_present_good(&self) -> bool {
        self.good.as_ref().is_some_and(|good| good.texts == self.present)
    }
}

/// The objects that hold policies.
pub struct Store<P> {
    compile: Compile<P>,
    stand_in: StandIn,
    objects: BTreeMap<ObjectName, Held<P>>,
}

/// What is in service after a change.
#[derive(Clone, Debug)]
pub struct Service<P> {
    /// The policies, older objects first.
    pub policies: Vec<(ObjectName, Compiled<P>)>,
    /// The verdict of each object, by name.
    pub verdicts: BTreeMap<ObjectName, (Verdict, String)>,
}

impl<P: Clone> Store<P> {
    /// No objects.
    pub fn new(compile: Compile<P>, stand_in: StandIn) -> Self {
        Self { compile, stand_in, objects: BTreeMap::new() }
    }

    /// Adds an object or replaces its texts; whether anything changed. `fallback` returns the text
    /// that served before a restart; it is called only if the present text does not compile and no
    /// earlier one is known.
    pub fn put(
        &mut self,
        name: &str,
        age: &str,
        texts: Texts,
        fallback: impl FnOnce() -> Option<Texts>,
    ) -> bool {
        if let Some(held) = self.objects.get(name)
            && held.present == texts
            && held.age == age
        {
            return false;
        }
        let compiled = (self.compile)(name, &texts);
        let held = self.objects.entry(name.to_owned()).or_insert_with(|| Held {
            age: String::new(),
            present: Texts::new(),
            problems: Vec::new(),
            good: None,
            stand_in: None,
        });
        held.stand_in = None;
        age.clone_into(&mut held.age);
        match compiled {
            Ok(policies) => {
                held.good = Some(Version { hash: hash(&texts), texts: texts.clone(), policies });
                held.problems.clear();
            }
            Err(problems) => {
                held.problems = problems;
                if held.good.is_none()
                    && let Some(older) = fallback()
                    && let Ok(policies) = (self.compile)(name, &older)
                {
                    held.good = Some(Version { hash: hash(&older), texts: older, policies });
                }
                if held.good.is_none()
                    && let Some(texts) = (self.stand_in)(name, &texts)
                    && let Ok(policies) = (self.compile)(name, &texts)
                {
                    held.stand_in = Some(Version { hash: hash(&texts), texts, policies });
                }
            }
        }
        held.present = texts;
        true
    }

    /// Removes an object; whether it was known.
    pub fn remove(&mut self, name: &str) -> bool {
        self.objects.remove(name).is_some()
    }

    /// The text of an object that is in service, with its hash. The history must have it.
    pub fn good(&self, name: &str) -> Option<(&Texts, &str)> {
        let good = self.objects.get(name)?.good.as_ref()?;
        Some((&good.texts, &good.hash))
    }

    /// The stand-in of an object that has no good text.
    pub fn stand_in(&self, name: &str) -> Option<&Texts> {
        Some(&self.objects.get(name)?.stand_in.as_ref()?.texts)
    }

    /// The policies in service. Of two policies with the same name, and of two with `queue by`, the
    /// one of the older object is in service.
    pub fn service(&self) -> Service<P> {
        let mut by_age: Vec<_> = self.objects.iter().collect();
        by_age.sort_by(|(left, a), (right, b)| (&a.age, left).cmp(&(&b.age, right)));
        let mut policies: Vec<(ObjectName, Compiled<P>)> = Vec::new();
        let mut verdicts = BTreeMap::new();
        for (name, held) in &by_age {
            let mut verdict = Verdict::Serving;
            let versions = held.good.iter().flat_map(|good| &good.policies);
            for compiled in versions {
                let rival =
                    policies.iter().find(|(_, it)| it.name == compiled.name || (it.queue && compiled.queue));
                match rival {
                    Some((owner, it)) if it.name == compiled.name => {
                        verdict = Verdict::Waiting {
                            why: format!("policy `{}` of the older object `{owner}` is in service", it.name),
                        };
                    }
                    Some((owner, it)) => {
                        verdict = Verdict::Waiting {
                            why: format!("policy `{}` of `{owner}` already orders the queue", it.name),
                        };
                    }
                    None => policies.push(((*name).clone(), compiled.clone())),
                }
            }
            if !held.is_present_good() {
                let instead = held.good.as_ref().map(|good| good.hash.clone());
                verdict = Verdict::Refused { problems: held.problems.clone(), instead, holds: Vec::new() };
            }
            verdicts.insert((*name).clone(), (verdict, hash(&held.present)));
        }
        // Stand-ins come last: they never take precedence over a policy that compiles.
        for (name, held) in &by_age {
            for compiled in held.stand_in.iter().flat_map(|version| &version.policies) {
                if policies.iter().any(|(_, it)| it.name == compiled.name) {
                    continue;
                }
                policies.push(((*name).clone(), compiled.clone()));
                if let Some((Verdict::Refused { holds, .. }, _)) = verdicts.get_mut(*name) {
                    holds.push(compiled.name.clone());
                }
            }
        }
        Service { policies, verdicts }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A text is `name` or `name queue`; anything with `!` does not compile.
    fn store() -> Store<String> {
        let hold = |_: &str, texts: &Texts| {
            let named = texts.values().next()?.strip_prefix("hold ")?;
            Some([("a.bay".to_owned(), named.replace('!', "held"))].into())
        };
        let compile: Compile<String> = Box::new(|_, texts| {
            let mut policies = Vec::new();
            for (key, text) in texts {
                if text.contains('!') {
                    return Err(vec![Problem {
                        code: "BP0001".into(),
                        key: key.clone(),
                        line: 1,
                        column: 2,
                        message: "no `!` here".into(),
                        help: String::new(),
                    }]);
                }
                let name = text.split(' ').next().unwrap_or_default().to_owned();
                policies.push(Compiled { name, queue: text.ends_with(" queue"), policy: text.clone() });
            }
            Ok(policies)
        });
        Store::new(compile, Box::new(hold))
    }

    fn texts(text: &str) -> Texts {
        [("a.bay".to_owned(), text.to_owned())].into()
    }

    fn running(store: &Store<String>) -> Vec<String> {
        store.service().policies.into_iter().map(|(_, it)| it.policy).collect()
    }

    fn verdict(store: &Store<String>, name: &str) -> String {
        store.service().verdicts[name].0.word().to_owned()
    }

    #[test]
    fn a_broken_text_keeps_the_last_good_one_and_others_go_on() {
        let mut store = store();
        assert!(store.put("n/a", "1", texts("one v1"), || None));
        assert!(store.put("n/b", "2", texts("two v1"), || None));
        assert!(store.put("n/a", "1", texts("one v2 !"), || panic!("an older text is known")));
        assert!(store.put("n/b", "2", texts("two v2"), || None));
        assert_eq!(running(&store), ["one v1", "two v2"]);
        assert_eq!((verdict(&store, "n/a"), verdict(&store, "n/b")), ("Refused".into(), "Serving".into()));
        let service = store.service();
        let Verdict::Refused { problems, instead, .. } = &service.verdicts["n/a"].0 else { panic!() };
        assert_eq!(problems[0].to_string(), "a.bay:1:2: no `!` here [BP0001]");
        assert_eq!(instead.as_deref(), store.good("n/a").map(|(_, hash)| hash));
        assert!(!store.put("n/a", "1", texts("one v2 !"), || None), "nothing changed");
        assert!(store.put("n/a", "1", texts("one v3"), || None));
        assert_eq!(running(&store), ["one v3", "two v2"]);
        assert!(store.remove("n/b") && !store.remove("n/b"));
        assert_eq!(running(&store), ["one v3"]);
    }

    #[test]
    fn after_a_restart_the_history_serves_for_a_broken_text() {
        let mut store = store();
        store.put("n/a", "1", texts("one !"), || Some(texts("one v1")));
        assert_eq!(running(&store), ["one v1"]);
        assert_eq!(verdict(&store, "n/a"), "Refused");
        store.put("n/b", "2", texts("two !"), || Some(texts("two ! too")));
        assert_eq!(running(&store), ["one v1"], "a history that does not compile is not in service");
    }

    #[test]
    fn a_stand_in_never_takes_precedence() {
        let mut store = store();
        store.put("n/a", "1", texts("hold one !"), || None);
        store.put("n/b", "2", texts("hold two !"), || None);
        store.put("n/c", "3", texts("two v1"), || None);
        assert_eq!(running(&store), ["two v1", "one held"]);
        let holds = |store: &Store<String>, name: &str| match &store.service().verdicts[name].0 {
            Verdict::Refused { holds, instead, .. } => (holds.clone(), instead.clone()),
            other => panic!("{other:?}"),
        };
        assert_eq!(holds(&store, "n/a"), (vec!["one".to_owned()], None));
        assert_eq!(
            holds(&store, "n/b"),
            (Vec::new(), None),
            "a younger object has that policy, and it compiles"
        );
        assert!(store.good("n/a").is_none() && store.stand_in("n/a").is_some());
        // The first text that compiles ends it for good.
        store.put("n/a", "1", texts("one v1"), || None);
        store.put("n/a", "1", texts("hold one !!"), || None);
        assert_eq!(running(&store), ["one v1", "two v1"]);
        assert!(store.stand_in("n/a").is_none());
    }

    #[test]
    fn of_two_namesakes_the_older_object_serves_until_it_is_deleted() {
        let mut store = store();
        store.put("n/new", "2", texts("same v2"), || None);
        store.put("n/old", "1", texts("same v1"), || None);
        assert_eq!(running(&store), ["same v1"]);
        assert_eq!(verdict(&store, "n/new"), "Waiting");
        store.remove("n/old");
        assert_eq!((running(&store), verdict(&store, "n/new")), (vec!["same v2".into()], "Serving".into()));
        store.put("n/q1", "3", texts("q1 queue"), || None);
        store.put("n/q2", "4", texts("q2 queue"), || None);
        assert_eq!(running(&store), ["same v2", "q1 queue"]);
        let service = store.service();
        let Verdict::Waiting { why } = &service.verdicts["n/q2"].0 else { panic!() };
        assert_eq!(why, "policy `q1` of `n/q1` already orders the queue");
    }

    #[test]
    fn a_revision_is_the_sha_256_of_keys_and_texts() {
        // `printf '\5\0\0\0\0\0\0\0a.bay\1\0\0\0\0\0\0\0x' | sha256sum | cut -c1-32`
        assert_eq!(hash(&texts("x")), "fe8dac882b39e2ea75ffa627b96690c7");
        let two: Texts = [("a".to_owned(), "x".to_owned()), ("b".to_owned(), "y".to_owned())].into();
        let one: Texts = [("a".to_owned(), "x\0b\0y".to_owned())].into();
        assert_ne!(hash(&two), hash(&one), "the parts of a text set are kept apart");
    }
}
