//! The policy objects of a cluster, read once, with the texts that a scheduler would have in
//! service. The same `policy_store` as in `run` decides on a text that does not compile, an older
//! object with a policy of the same name, and a second `queue by`. Called by `list`; `cli` compiles
//! the texts again to show places.

use super::client::{Api, ApiError};
use super::list::{Policies, listed};
use super::policies::{self, Policy};
use super::policy_objects::{self, HISTORY, LABEL, age_of, kept_by, name_of, texts_of};
use super::policy_store::{Problem, Store, Texts, Verdict};
use super::watch::Collection;
use k8s_openapi::api::core::v1::ConfigMap;
use rustc_hash::FxHashMap;

/// A ConfigMap with policies.
#[derive(Clone, Debug)]
pub struct PolicyObject {
    /// `namespace/name`.
    pub name: String,
    /// The texts in service, by key: the present ones, the last good ones, or the stand-in that
    /// makes their pods wait. Empty if none is in service.
    pub texts: Texts,
    /// The names of the policies in service from these texts.
    pub serving: Vec<String>,
    /// The verdict on the present texts.
    pub state: State,
}

/// The verdict on the present texts of a policy object.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum State {
    /// They are in service.
    Serving,
    /// They do not compile.
    Refused {
        /// The present texts.
        present: Texts,
        /// What is wrong with them.
        problems: Vec<Problem>,
        /// The policies whose pods wait, because no earlier text is known.
        holds: Vec<String>,
    },
    /// A policy of another object takes precedence.
    Waiting {
        /// The reason.
        why: String,
    },
}

/// The policy objects and what is missing; or the collection that cannot be listed.
type Found = Result<(Vec<PolicyObject>, Vec<String>), (Collection, ApiError)>;

/// Reads the policy objects.
pub(super) async fn read(api: &Api, wanted: &Policies) -> Found {
    let namespaces = match wanted {
        Policies::No => return Ok((Vec::new(), Vec::new())),
        Policies::In(namespaces) | Policies::IfAllowed(namespaces) => namespaces,
    };
    let mut missing = Vec::new();
    let mut present: Vec<ConfigMap> = Vec::new();
    for namespace in scopes(namespaces) {
        let found = with_label(api, namespace, LABEL).await?;
        if let (true, Some(namespace)) = (found.is_empty(), namespace) {
            missing.push(format!("no ConfigMap of the namespace `{namespace}` has the label `{LABEL}`"));
        }
        present.extend(found);
    }
    let broken = present.iter().any(|object| policies::compile(&name_of(object), &texts_of(object)).is_err());
    let mut history = FxHashMap::default();
    // Only texts that do not compile need the ones that served before.
    if broken {
        for namespace in scopes(namespaces) {
            history.extend(with_label(api, namespace, HISTORY).await?.iter().filter_map(kept_by));
        }
    }
    Ok((judged(&present, &history), missing))
}

/// The named namespaces; without names one scope for all namespaces.
fn scopes(namespaces: &[String]) -> Vec<Option<&str>> {
    if namespaces.is_empty() {
        return vec![None];
    }
    namespaces.iter().map(|namespace| Some(namespace.as_str())).collect()
}

async fn with_label(
    api: &Api,
    namespace: Option<&str>,
    label: &str,
) -> Result<Vec<ConfigMap>, (Collection, ApiError)> {
    let collection = policy_objects::with_label(namespace, label);
    match listed::<ConfigMap>(api, &collection).await {
        Ok(objects) => Ok(objects),
        Err(error) => Err((collection, error)),
    }
}

fn judged(present: &[ConfigMap], history: &FxHashMap<String, Texts>) -> Vec<PolicyObject> {
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

    fn map(name: &str, month: &str, text: &str) -> ConfigMap {
        let created = format!("{month}-01T00:00:00Z");
        let object = json!({
            "metadata": {"namespace": "n", "name": name, "creationTimestamp": created, "uid": name},
            "data": {"a.bay": text, "readme": "none"},
        });
        serde_json::from_value(object).unwrap()
    }

    const GOOD: &str = "policy one { filter f { reject \"r\" when node.unschedulable } }";

    #[test]
    fn the_history_serves_for_a_broken_text_and_an_older_namesake_wins() {
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
