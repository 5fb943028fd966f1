//! Which text of which policy object is in service, as a value: the present one when it compiles, else the last that
//! did. Pure bookkeeping without a clock or a network; `policy_source` feeds it with objects and carries its verdicts
//! out. An object that is broken keeps its own last good version, and others go on changing.

use rustc_hash::FxHasher;
use std::collections::BTreeMap;
use std::hash::Hasher;

/// Names an object: `namespace/name` of a ConfigMap, or a path.
pub type ObjectName = String;
/// The texts of an object by key.
pub type Texts = BTreeMap<String, String>;

/// Something said about a text.
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

/// Makes policies of texts, or says what is wrong with them.
pub type Compile<P> = Box<dyn Fn(&str, &Texts) -> Result<Vec<Compiled<P>>, Vec<Problem>> + Send + Sync>;

/// Makes texts that stand in for one that does not compile and has no older one: they keep the pods waiting that it
/// names. `None`: nothing stands in.
pub type StandIn = Box<dyn Fn(&str, &Texts) -> Option<Texts> + Send + Sync>;

/// What became of the present text of an object.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// It decides.
    Serving,
    /// It does not compile; the older text with this hash decides, or none does.
    Refused {
        /// What is wrong.
        problems: Vec<Problem>,
        /// The hash of the text that goes on deciding.
        instead: Option<String>,
        /// The policies whose pods wait, because no text of them is known that compiles.
        holds: Vec<String>,
    },
    /// It compiles, but another object has a policy of the same name or orders the queue already, or the set of policies
    /// cannot be taken into service.
    Waiting {
        /// For what.
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

/// A hash of texts, short enough to be shown.
pub fn hash(texts: &Texts) -> String {
    let mut hasher = FxHasher::default();
    for (key, text) in texts {
        hasher.write(key.as_bytes());
        hasher.write_u8(0);
        hasher.write(text.as_bytes());
        hasher.write_u8(0);
    }
    format!("{:016x}", hasher.finish())
}

struct Version<P> {
    texts: Texts,
    hash: String,
    policies: Vec<Compiled<P>>,
}

struct Held<P> {
    /// Sorts objects by age: creation time, then name.
    age: String,
    present: Texts,
    problems: Vec<Problem>,
    good: Option<Version<P>>,
    /// Where there is no good one.
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

    /// An object is there with these texts. `fallback`: the text that served last, by the record that outlives a
    /// restart; asked for only when the present one does not compile and no older one is known. Whether anything
    /// changed.
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

    /// An object is gone. Whether it was known.
    pub fn remove(&mut self, name: &str) -> bool {
        self.objects.remove(name).is_some()
    }

    /// The text of an object that serves, with its hash; what the record that outlives a restart must hold.
    pub fn good(&self, name: &str) -> Option<(&Texts, &str)> {
        let good = self.objects.get(name)?.good.as_ref()?;
        Some((&good.texts, &good.hash))
    }

    /// The text that stands in for an object that has no good one.
    pub fn stand_in(&self, name: &str) -> Option<&Texts> {
        Some(&self.objects.get(name)?.stand_in.as_ref()?.texts)
    }

    /// What is in service. Of two policies with one name the one of the older object runs; of two that order the
    /// queue too.
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
                            why: format!("policy `{}` of `{owner}`, which is older, runs", it.name),
                        };
                    }
                    Some((owner, it)) => {
                        verdict = Verdict::Waiting {
                            why: format!("policy `{}` of `{owner}` orders the queue already", it.name),
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
        // What stands in for broken texts comes last: it is in nobody's way.
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
    fn after_a_restart_the_record_serves_for_a_broken_text() {
        let mut store = store();
        store.put("n/a", "1", texts("one !"), || Some(texts("one v1")));
        assert_eq!(running(&store), ["one v1"]);
        assert_eq!(verdict(&store, "n/a"), "Refused");
        store.put("n/b", "2", texts("two !"), || Some(texts("two ! too")));
        assert_eq!(running(&store), ["one v1"], "a record that does not compile serves nobody");
    }

    #[test]
    fn what_stands_in_for_a_broken_text_is_in_nobodys_way() {
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
        // It ends with the first text that compiles, and does not come back.
        store.put("n/a", "1", texts("one v1"), || None);
        store.put("n/a", "1", texts("hold one !!"), || None);
        assert_eq!(running(&store), ["one v1", "two v1"]);
        assert!(store.stand_in("n/a").is_none());
    }

    #[test]
    fn of_two_with_one_name_the_older_object_runs_until_it_is_gone() {
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
        assert_eq!(why, "policy `q1` of `n/q1` orders the queue already");
    }
}
