//! The policy objects of a cluster, read once, with the texts that a scheduler would have in
//! service. The same `store` as in `run` decides on a text that does not compile, another
//! object with a policy of the same name, and a second `queue by`. Called by `list`; `cli` compiles
//! the texts again to show places.

use super::choice::{Origin, Override, Terms};
use super::compiled::{self, Policy};
use super::config_maps::{
    self, HISTORY, LABEL, POLICY_NAMESPACE, PolicyKey, SERVED_BY, UNUSED_SINCE, age_of, kept_by, name_of,
    namespace_of, overrides_of, texts_of,
};
use super::exceptions::{self, SharedExceptions};
use super::history::{self, Revision};
use super::overrides::{Kind, Overrides};
use super::store::{Compiled, Store};
use super::verdict::{Problem, Texts, Verdict, hash};
use crate::api::client::{Api, ApiError};
use crate::inputs::kinds;
use crate::inputs::list::{WantedPolicies, listed};
use crate::inputs::watch::Collection;
use bayplan_lang::analysis::cost::Size;
use bayplan_lang::analysis::load::Load;
use bayplan_lang::schemas::Schemas;
use bayplan_model::KindName;
use k8s_openapi::api::core::v1::ConfigMap;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, PoisonError};

/// A ConfigMap with policies.
#[derive(Clone, Debug)]
pub struct PolicyObject {
    /// `namespace/name`.
    pub name: String,
    /// The present texts, by key.
    pub present: Texts,
    /// The policies in service from it: of the present texts, the last good ones, or the stand-in
    /// that makes their pods wait.
    pub serving: Vec<PolicyServing>,
    /// The verdict on the present texts.
    pub state: State,
    /// The verdict that the scheduler wrote on the object last; empty if none.
    pub written: String,
}

/// A policy in service.
#[derive(Clone, Debug)]
pub struct PolicyServing {
    /// Its name.
    pub name: String,
    /// The text that has it, under its key.
    pub texts: Arc<Texts>,
    /// The revision of that text.
    pub revision: String,
    /// How it came into service.
    pub origin: Origin,
}

/// The verdict on the present texts of a policy object.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum State {
    /// They are in service.
    Serving,
    /// They do not compile.
    Refused {
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
    /// An entry of `bayplan-overrides` suspends a policy of it or pins an older text.
    Overridden {
        /// Which policy, and the words of the entry.
        why: String,
    },
}

/// The policies of a cluster.
#[derive(Clone, Debug, Default)]
pub struct PolicyObjects {
    /// The objects, older ones first.
    pub objects: Vec<PolicyObject>,
    /// The overrides of each namespace.
    pub overrides: BTreeMap<String, Overrides>,
    /// The texts that served, by namespace and policy, newest first.
    pub history: BTreeMap<PolicyKey, Vec<Revision>>,
    /// The kinds that policies look up beside those of Kubernetes.
    pub schemas: Schemas,
    /// Warnings about missing parts.
    pub missing: Vec<String>,
}

/// What [`read`] reads, to watch it: the objects of policies, their histories and overrides.
pub(crate) fn read_from(wanted: &WantedPolicies) -> Vec<Collection> {
    let (WantedPolicies::In(namespaces) | WantedPolicies::IfAllowed(namespaces)) = wanted else {
        return Vec::new();
    };
    let of = |namespace: &String| {
        let labelled = [LABEL, HISTORY].map(|label| config_maps::with_label(Some(namespace), label));
        labelled.into_iter().chain([overrides_of(namespace)])
    };
    namespaces.iter().flat_map(of).collect()
}

/// The policies; or the collection that cannot be listed.
type Found = Result<PolicyObjects, (Collection, ApiError)>;

/// Reads the policy objects, their histories and overrides.
pub(crate) async fn read(
    api: &Api,
    wanted: &WantedPolicies,
    size: Size,
    further: &BTreeSet<KindName>,
) -> Found {
    let mut found = PolicyObjects::default();
    let namespaces = match wanted {
        WantedPolicies::No => {
            found.schemas = kinds::all_described(api, further).await;
            return Ok(found);
        }
        WantedPolicies::In(namespaces) | WantedPolicies::IfAllowed(namespaces) => namespaces,
    };
    let by_default = *namespaces == [POLICY_NAMESPACE];
    let mut present: Vec<ConfigMap> = Vec::new();
    let mut owners: Vec<(String, (String, String))> = Vec::new();
    for namespace in namespaces {
        let objects = with_label(api, Some(namespace), LABEL).await?;
        if objects.is_empty() && !by_default {
            let none = format!("no ConfigMap of the namespace `{namespace}` has the label `{LABEL}`");
            found.missing.push(none);
        }
        present.extend(objects);
        for object in with_label(api, Some(namespace), HISTORY).await? {
            let Some(key) = kept_by(&object) else { continue };
            let revisions = history::revisions(&object, &texts_of(&object));
            if config_maps::annotation(&object, UNUSED_SINCE).is_empty() {
                let at = revisions.first().map(|newest| newest.at.clone()).unwrap_or_default();
                owners.push((at, (key.1.clone(), config_maps::annotation(&object, SERVED_BY).to_owned())));
            }
            found.history.insert(key, revisions);
        }
        let collection = overrides_of(namespace);
        match listed::<ConfigMap>(api, &collection).await {
            Ok(objects) => {
                let (overrides, problems) = objects.first().map(Overrides::of).unwrap_or_default();
                found.missing.extend(problems.into_iter().map(|it| format!("{it}; the entry has no effect")));
                found.overrides.insert(namespace.clone(), overrides);
            }
            Err(error) => return Err((collection, error)),
        }
    }
    if by_default {
        found.missing.extend(elsewhere(api).await);
    }
    let texts: Vec<Texts> = present.iter().map(texts_of).collect();
    let mut kinds = kinds::named_in(texts.iter().flat_map(|texts| texts.values()).map(String::as_str));
    kinds.extend(further.iter().cloned());
    found.schemas = kinds::all_described(api, &kinds).await;
    let schemas = Arc::new(found.schemas.clone());
    owners.sort();
    let owners = owners.into_iter().map(|(_, of)| of).collect();
    found.objects = judged(&present, &found.history, owners, &found.overrides, size, schemas);
    Ok(found)
}

/// A warning if ConfigMaps outside the default namespace have the label: a scheduler does not read
/// them by default. Nothing without the right to look.
async fn elsewhere(api: &Api) -> Option<String> {
    let objects = with_label(api, None, LABEL).await.ok()?;
    let of = |object: &ConfigMap| object.metadata.namespace.clone();
    let others: std::collections::BTreeSet<String> =
        objects.iter().filter_map(of).filter(|namespace| namespace != POLICY_NAMESPACE).collect();
    if others.is_empty() {
        return None;
    }
    let (count, all) = (others.len(), others.into_iter().take(5).collect::<Vec<_>>().join(", "));
    let more = if count > 5 { format!(" and {} more", count - 5) } else { String::new() };
    Some(format!(
        "ConfigMaps with the label `{LABEL}` in other namespaces are not read: {all}{more}; if your scheduler \
         reads them, name them with `--policy-namespaces`"
    ))
}

async fn with_label(
    api: &Api,
    namespace: Option<&str>,
    label: &str,
) -> Result<Vec<ConfigMap>, (Collection, ApiError)> {
    let collection = config_maps::with_label(namespace, label);
    match listed::<ConfigMap>(api, &collection).await {
        Ok(objects) => Ok(objects),
        Err(error) => Err((collection, error)),
    }
}

fn judged(
    present: &[ConfigMap],
    history: &BTreeMap<PolicyKey, Vec<Revision>>,
    owners: BTreeMap<String, String>,
    overrides: &BTreeMap<String, Overrides>,
    size: Size,
    schemas: Arc<Schemas>,
) -> Vec<PolicyObject> {
    let exceptions = SharedExceptions::default();
    let joined = Arc::clone(&exceptions);
    let mut store: Store<Policy> = Store::new(
        Box::new(move |name, texts| {
            let exceptions = Arc::clone(&joined.read().unwrap_or_else(PoisonError::into_inner));
            compiled::compile(name, texts, size, &schemas, &exceptions).map(|(policies, _)| policies)
        }),
        Box::new(compiled::stand_in),
    );
    let mut by_age: Vec<(String, String, &ConfigMap)> =
        present.iter().map(|object| (age_of(object), name_of(object), object)).collect();
    by_age.sort_by(|(a, left, _), (b, right, _)| (a, left).cmp(&(b, right)));
    store.set_owners(owners);
    for (age, name, object) in &by_age {
        store.for_exceptions(name, config_maps::for_exceptions(object));
        store.put(name, age, texts_of(object), |texts| {
            let newest = |policy: String| {
                let key = (namespace_of(name).to_owned(), policy.clone());
                Some((policy, history.get(&key)?.first()?.texts.clone()))
            };
            compiled::names(texts).into_iter().filter_map(newest).collect()
        });
    }
    exceptions::join(&mut store, &exceptions);
    let now = jiff::Timestamp::now();
    let overridden = |object: &str, compiled: &Compiled<Policy>| {
        let namespace = namespace_of(object);
        let entry = overrides.get(namespace)?.of_policy(&compiled.name, &store.present(object)?, now)?;
        let words = entry.words(&compiled.name);
        if entry.kind == Kind::Suspend {
            return Some((Override::Suspended(Policy { suspended: true, ..compiled.policy.clone() }), words));
        }
        let revisions = history.get(&(namespace.to_owned(), compiled.name.clone()))?;
        let older = revisions.iter().find(|it| Some(&it.revision) == entry.revision.as_ref())?;
        Some((Override::Pinned(Box::new(store.earlier(object, &compiled.name, &older.texts)?)), words))
    };
    let blocked: BTreeMap<String, (String, String)> =
        by_age.iter().filter_map(|(_, name, object)| Some((name.clone(), kept_out(object)?))).collect();
    let mut service = store.service(&Terms {
        unmet: &|_| None,
        overridden: &overridden,
        load: &|policy| Load::of(&policy.compiled.policy, size),
        heaviest: &|policy, load| compiled::heaviest(policy, load, size),
        limit: Load::MOST,
        blocked: &blocked,
    });
    let exceptions = Arc::clone(&exceptions.read().unwrap_or_else(PoisonError::into_inner));
    exceptions::judge(&exceptions, &mut service);
    let judged = by_age.into_iter().map(|(_, name, object)| {
        let state = match service.verdicts.get(&name) {
            Some(Verdict::Refused { problems, holds, .. }) => {
                State::Refused { problems: problems.clone(), holds: holds.clone() }
            }
            Some(Verdict::Waiting { why }) => State::Waiting { why: why.clone() },
            Some(Verdict::Overridden { why }) => State::Overridden { why: why.clone() },
            _ => State::Serving,
        };
        let serving = service.policies.iter().filter(|it| it.object == name).map(|it| PolicyServing {
            name: it.compiled.name.clone(),
            texts: Arc::clone(&it.compiled.texts),
            revision: it.compiled.revision.clone(),
            origin: it.origin,
        });
        PolicyObject {
            present: texts_of(object),
            serving: serving.collect(),
            state,
            written: config_maps::annotation(object, "bayplan.dev/verdict").to_owned(),
            name,
        }
    });
    judged.collect()
}

/// Why the running scheduler keeps the present text of an object out of service, as it wrote on the
/// object: a right that it lacks, or its configuration. The hash of that text, or nothing if no text of the object serves,
/// and the reason.
fn kept_out(object: &ConfigMap) -> Option<(String, String)> {
    let status = config_maps::annotation(object, "bayplan.dev/status");
    let status: serde_json::Value = serde_json::from_str(status).ok()?;
    let present = hash(&texts_of(object));
    if status["text"] != present.as_str() || status["revision"] == present.as_str() {
        return None;
    }
    let why = match status["state"].as_str()? {
        // It names the text that stays in service, too.
        "Waiting" => {
            let why = status["why"].as_str()?.split("; revision ").next()?;
            why.split("; the pods of ").next()?
        }
        "Refused" => status["errors"][0]["message"].as_str()?,
        _ => return None,
    };
    let serves = status["revision"].as_str().is_some_and(|revision| !revision.is_empty());
    Some((if serves { present } else { String::new() }, why.to_owned()))
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

    fn judge(objects: &[ConfigMap], history: &BTreeMap<PolicyKey, Vec<Revision>>) -> Vec<PolicyObject> {
        judged(objects, history, BTreeMap::new(), &BTreeMap::new(), Size::default(), Default::default())
    }

    fn names(object: &PolicyObject) -> Vec<&str> {
        object.serving.iter().map(|it| it.name.as_str()).collect()
    }

    const GOOD: &str = "policy one { filter f { reject \"r\" when node.unschedulable } }";

    #[test]
    fn the_history_serves_for_a_broken_text_and_an_older_namesake_wins() {
        let broken = "policy two { filter f { reject \"r\" when nod.x } }";
        let objects =
            [map("new", "2026-02", GOOD), map("old", "2026-01", GOOD), map("bad", "2026-03", broken)];
        let without = judge(&objects, &BTreeMap::new());
        let order: Vec<&str> = without.iter().map(|object| object.name.as_str()).collect();
        assert_eq!(order, ["n/old", "n/new", "n/bad"]);
        assert_eq!((&without[0].state, names(&without[0])), (&State::Serving, vec!["one"]));
        assert!(matches!(&without[1].state, State::Waiting { why } if why.contains("`n/old`")));
        assert!(without[1].serving.is_empty());
        assert!(matches!(&without[2].state, State::Refused { problems, .. } if !problems.is_empty()));
        assert!(without[2].serving.is_empty());

        let named = "policy held { applies when pod.priority > 3 filter f { reject \"r\" when nod.x } }";
        let held = judge(&[map("bad", "2026-03", named)], &BTreeMap::new());
        assert_eq!(names(&held[0]), ["held"]);
        assert!(matches!(&held[0].state, State::Refused { holds, .. } if *holds == ["held"]));

        let older = GOOD.replace("one", "two");
        let kept = Revision {
            revision: "1".into(),
            at: String::new(),
            by: String::new(),
            texts: [("a.bay".to_owned(), older)].into(),
        };
        let history = BTreeMap::from([(("n".to_owned(), "two".to_owned()), vec![kept])]);
        let with = judge(&objects, &history);
        assert_eq!(names(&with[2]), ["two"]);
        assert!(with[2].serving[0].texts["a.bay"].contains("two"));
        assert!(matches!(with[2].state, State::Refused { .. }));
    }

    #[test]
    fn what_the_scheduler_keeps_out_of_service_is_not_in_service_here() {
        let with = |state: &str, text: &str, serving: &str| {
            let status =
                json!({"state": state, "text": text, "revision": serving, "why": "a right is missing"});
            let mut object = map("a", "2026-01", GOOD);
            let annotations = object.metadata.annotations.get_or_insert_default();
            annotations.insert("bayplan.dev/status".into(), status.to_string());
            judge(&[object], &BTreeMap::new()).remove(0)
        };
        let present = hash(&texts_of(&map("a", "2026-01", GOOD)));
        let waits = with("Waiting", &present, "");
        assert!(waits.serving.is_empty());
        assert_eq!(waits.state, State::Waiting { why: "a right is missing".into() });
        // Nor is an earlier text, if the scheduler has none in service.
        let older = [("n".to_owned(), "one".to_owned())].map(|key| {
            let texts = [("a.bay".to_owned(), GOOD.replace("\"r\"", "\"older\""))].into();
            (key, vec![Revision { revision: "1".into(), at: String::new(), by: String::new(), texts }])
        });
        let status = json!({"state": "Waiting", "text": present, "revision": "", "why": "no objects"});
        let mut object = map("a", "2026-01", GOOD);
        let annotations = object.metadata.annotations.get_or_insert_default();
        annotations.insert("bayplan.dev/status".into(), status.to_string());
        let held = judge(&[object], &older.into()).remove(0);
        assert_eq!(held.serving.iter().map(|it| it.origin).collect::<Vec<_>>(), [Origin::StandIn]);
        assert_eq!(held.state, State::Waiting { why: "no objects; the pods of one wait".into() });
        // About another text, or a scheduler that does not decide at all.
        assert_eq!(with("Waiting", "other", "").state, State::Serving);
        assert_eq!(with("Waiting", &present, &present).state, State::Serving);
        assert_eq!(with("Serving", &present, &present).state, State::Serving);
    }

    #[test]
    fn a_suspended_policy_and_a_pinned_one_are_shown_as_such() {
        let text = |words: &str| format!("kind: {words}\nbecause: OPS-1\n");
        let entries =
            ConfigMap { data: Some([("one".to_owned(), text("suspend"))].into()), ..ConfigMap::default() };
        let overrides = BTreeMap::from([("n".to_owned(), Overrides::of(&entries).0)]);
        let found = judged(
            &[map("a", "2026-01", GOOD)],
            &BTreeMap::new(),
            BTreeMap::new(),
            &overrides,
            Size::default(),
            Default::default(),
        );
        assert_eq!(found[0].serving[0].origin, Origin::Suspended);
        let State::Overridden { why } = &found[0].state else { panic!("{found:?}") };
        assert_eq!(why, "policy `one` is suspended because: OPS-1");
    }
}
