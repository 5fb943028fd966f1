//! The policy objects of a cluster, read once: which of their texts a scheduler decides by. The same `policy_store`
//! that `run` keeps judges them, so that a broken text, an older namesake and a second `queue by` mean the same here.
//! Called by `list`; the texts are compiled once more by `cli`, which shows their places.

use super::client::{Api, ApiError};
use super::list::{Policies, listed};
use super::policies::{self, Policy};
use super::policy_source::{HISTORY, LABEL, age_of, kept_by, maps, name_of, texts_of};
use super::policy_store::{Problem, Store, Texts, Verdict};
use super::watch::Collection;
use rustc_hash::FxHashMap;
use serde_json::Value;

/// A ConfigMap with policies.
#[derive(Clone, Debug)]
pub struct PolicyObject {
    /// `namespace/name`.
    pub name: String,
    /// The texts that decide, by key: the present ones, or the last good ones, or what keeps their pods waiting. Empty:
    /// none do.
    pub texts: Texts,
    /// The policies of these texts that are in service.
    pub serving: Vec<String>,
    /// What stands in its way.
    pub state: State,
}

/// What became of the present texts of a policy object.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum State {
    /// They decide.
    Serving,
    /// They do not compile.
    Refused {
        /// The present texts.
        present: Texts,
        /// What is wrong with them.
        problems: Vec<Problem>,
        /// The policies whose pods wait, because no older text is known.
        holds: Vec<String>,
    },
    /// A policy of another object is in the way.
    Waiting {
        /// Which.
        why: String,
    },
}

/// What is read, with what is missing; or what cannot be read.
type Found = Result<(Vec<PolicyObject>, Vec<String>), (Collection, ApiError)>;

/// Reads the policy objects.
pub(super) async fn read(api: &Api, wanted: &Policies) -> Found {
    let namespaces = match wanted {
        Policies::No => return Ok((Vec::new(), Vec::new())),
        Policies::In(namespaces) | Policies::IfAllowed(namespaces) => namespaces,
    };
    let mut missing = Vec::new();
    let mut present: Vec<Value> = Vec::new();
    for namespace in each(namespaces) {
        let found = with_label(api, namespace, LABEL).await?;
        if let (true, Some(namespace)) = (found.is_empty(), namespace) {
            missing.push(format!("no ConfigMap of the namespace `{namespace}` has the label `{LABEL}`"));
        }
        present.extend(found);
    }
    let broken = present.iter().any(|object| policies::compile(&name_of(object), &texts_of(object)).is_err());
    let mut history = FxHashMap::default();
    // Asked for only when it is needed: what served last of texts that are broken.
    if broken {
        for namespace in each(namespaces) {
            history.extend(with_label(api, namespace, HISTORY).await?.iter().filter_map(kept_by));
        }
    }
    Ok((judged(&present, &history), missing))
}

/// The namespaces that are named, or all at once.
fn each(namespaces: &[String]) -> Vec<Option<&str>> {
    if namespaces.is_empty() {
        return vec![None];
    }
    namespaces.iter().map(|namespace| Some(namespace.as_str())).collect()
}

async fn with_label(
    api: &Api,
    namespace: Option<&str>,
    label: &str,
) -> Result<Vec<Value>, (Collection, ApiError)> {
    let collection = maps(namespace, label);
    match listed::<Value>(api, &collection).await {
        Ok(objects) => Ok(objects),
        Err(error) => Err((collection, error)),
    }
}

fn judged(present: &[Value], history: &FxHashMap<String, Texts>) -> Vec<PolicyObject> {
    let mut store: Store<Policy> = Store::new(Box::new(policies::compile), Box::new(policies::stand_in));
    let mut by_age: Vec<(String, String, Texts)> =
        present.iter().map(|object| (age_of(object), name_of(object), texts_of(object))).collect();
    by_age.sort();
    for (age, name, texts) in &by_age {
        store.put(name, age, texts.clone(), || history.get(name).cloned());
    }
    let service = store.service();
    by_age
        .into_iter()
        .map(|(_, name, texts)| {
            let state = match service.verdicts.get(&name) {
                Some((Verdict::Refused { problems, holds, .. }, _)) => {
                    State::Refused { present: texts, problems: problems.clone(), holds: holds.clone() }
                }
                Some((Verdict::Waiting { why }, _)) => State::Waiting { why: why.clone() },
                _ => State::Serving,
            };
            let serving = service.policies.iter().filter(|(of, _)| *of == name);
            PolicyObject {
                texts: store
                    .good(&name)
                    .map(|(texts, _)| texts)
                    .or_else(|| store.stand_in(&name))
                    .cloned()
                    .unwrap_or_default(),
                serving: serving.map(|(_, policy)| policy.name.clone()).collect(),
                state,
                name,
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn map(name: &str, created: &str, text: &str) -> Value {
        json!({
            "metadata": {"namespace": "n", "name": name, "creationTimestamp": created, "uid": name},
            "data": {"a.bay": text, "readme": "none"},
        })
    }

    const GOOD: &str = "policy one { filter f { reject \"r\" when node.unschedulable } }";

    #[test]
    fn a_broken_text_decides_by_its_history_and_an_older_namesake_wins() {
        let objects =
            [map("new", "2026-02", GOOD), map("old", "2026-01", GOOD), map("bad", "2026-03", "nonsense")];
        let judged_without = judged(&objects, &FxHashMap::default());
        let names: Vec<&str> = judged_without.iter().map(|object| object.name.as_str()).collect();
        assert_eq!(names, ["n/old", "n/new", "n/bad"]);
        assert_eq!(
            (&judged_without[0].state, &judged_without[0].serving[..]),
            (&State::Serving, &["one".to_owned()][..])
        );
        assert!(matches!(&judged_without[1].state, State::Waiting { why } if why.contains("`n/old`")));
        assert!(judged_without[1].serving.is_empty());
        assert!(matches!(&judged_without[2].state, State::Refused { problems, .. } if !problems.is_empty()));
        assert!(judged_without[2].texts.is_empty() && judged_without[2].serving.is_empty());

        let named = "policy held { applies when pod.priority > 3 filter f { reject \"r\" when nod.x } }";
        let held = judged(&[map("bad", "2026-03", named)], &FxHashMap::default());
        assert_eq!(held[0].serving, ["held"]);
        assert!(matches!(&held[0].state, State::Refused { holds, .. } if *holds == ["held"]));

        let older = GOOD.replace("one", "two");
        let history = FxHashMap::from_iter([("n/bad".to_owned(), [("a.bay".to_owned(), older)].into())]);
        let with = judged(&objects, &history);
        assert_eq!(with[2].serving, ["two"]);
        assert!(with[2].texts["a.bay"].contains("two"));
        assert!(matches!(with[2].state, State::Refused { .. }));
    }
}
