//! The configuration in force, where commands find it: the leader writes it into a ConfigMap with a label in the first of
//! its namespaces of policies, whatever file it was read from and wherever the scheduler runs. Who reads the policies of a
//! cluster reads it with the same right. A scheduler without such a namespace publishes nothing.

use super::term::Term;
use crate::api::client::{APPLY_PATCH, Api, ApiError, Request};
use crate::inputs::list::listed;
use crate::inputs::watch::{Collection, rule};
use crate::policies::config_maps::{name_of, path_of, with_label};
use crate::writes::calls::now_rfc3339;
use bayplan_model::KubernetesVersion;
use http::Method;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::ConfigMap;
use serde_json::{Value, json};
use std::time::Duration;

/// The label of these ConfigMaps.
const LABEL: &str = "bayplan.dev/configuration";
/// The annotation that tells who published it.
const BY: &str = "bayplan.dev/published-by";
/// The annotation that tells when its scheduler confirmed it last.
const SEEN: &str = "bayplan.dev/seen";
/// The key of the version of Kubernetes as whose kube-scheduler it decides.
const VERSION: &str = "kubernetes";
/// The key of the configuration.
const KEY: &str = "configuration.json";
/// Our field manager of server-side apply.
const FIELD_MANAGER: &str = "bayplan-configuration";
/// How often a leader confirms it.
const CONFIRM: Duration = Duration::from_secs(300);
/// How often a replica looks whether it leads.
const LOOK: Duration = Duration::from_secs(2);
/// How long a write that failed rests.
const REST: Duration = Duration::from_secs(60);
/// A configuration that no scheduler confirmed for longer may be that of a scheduler that is gone.
const STALE: Duration = Duration::from_secs(900);

/// What a scheduler publishes.
#[derive(Clone, Debug)]
pub(super) struct Publication {
    /// The namespace.
    pub(crate) namespace: String,
    /// What tells it from those of other schedulers: the name of the lease, or of the first profile.
    pub(crate) of: String,
    /// The identity of this instance.
    pub(crate) identity: String,
    /// The configuration, without keys of certificates.
    pub(crate) configuration: Value,
    /// As which version of Kubernetes it decides.
    pub(crate) version: &'static str,
}

impl Publication {
    /// Publishes it whenever this instance leads, for ever.
    pub(crate) async fn follow(self, api: Api, term: Term) {
        let mut complained = false;
        loop {
            if !term.may_write() {
                tokio::time::sleep(LOOK).await;
                continue;
            }
            let pause = match self.publish(&api).await {
                Ok(()) => CONFIRM,
                Err(error) => {
                    let help = match error.code() {
                        Some(403) => {
                            let rule = rule("", &["configmaps"], &["create", "patch"]);
                            format!("; add this rule to the role in the namespace {}: {rule}", self.namespace)
                        }
                        _ => String::new(),
                    };
                    if !std::mem::replace(&mut complained, true) {
                        tracing::warn!(%error, "cannot publish the configuration for commands such as `bayplan explain`{help}");
                    }
                    REST
                }
            };
            tokio::time::sleep(pause).await;
        }
    }

    async fn publish(&self, api: &Api) -> Result<(), ApiError> {
        let name = format!("bayplan-configuration-{}", self.of);
        let object = json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {
                "name": name, "namespace": self.namespace, "labels": {LABEL: ""},
                "annotations": {BY: self.identity, SEEN: now_rfc3339()},
            },
            "data": {KEY: format!("{:#}", self.configuration), VERSION: self.version},
        });
        let path = path_of(&format!("{}/{name}", self.namespace));
        let path = format!("{path}?fieldManager={FIELD_MANAGER}&force=true");
        api.send(Request::with_body(Method::PATCH, path, APPLY_PATCH, &object)).await.map(drop)
    }
}

/// The configuration that runs, as a command uses it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Running {
    /// Where it is from, as a line of text.
    pub from: String,
    /// The configuration as JSON.
    pub text: String,
    /// As which version of Kubernetes its scheduler decides; `None` where it did not say, or one that is not known here.
    pub version: Option<KubernetesVersion>,
    /// Whether no scheduler has confirmed it for long.
    pub stale: bool,
}

/// A configuration that a scheduler published.
#[derive(Clone, Debug)]
pub struct Published {
    /// `namespace/name` of the ConfigMap.
    pub(crate) object: String,
    /// The identity of the process.
    pub(crate) by: String,
    /// When it was confirmed last.
    pub(crate) seen: Option<Timestamp>,
    configuration: Value,
    version: Option<KubernetesVersion>,
}

impl Published {
    fn of(object: &ConfigMap) -> Option<Self> {
        let annotation = |key: &str| object.metadata.annotations.as_ref()?.get(key).cloned();
        Some(Self {
            object: name_of(object),
            by: annotation(BY).unwrap_or_default(),
            seen: annotation(SEEN).and_then(|text| text.parse().ok()),
            configuration: serde_json::from_str(object.data.as_ref()?.get(KEY)?).ok()?,
            version: object.data.as_ref()?.get(VERSION).and_then(|text| KubernetesVersion::parse(text).ok()),
        })
    }

    /// The scheduler names of its profiles.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.profiles().iter().filter_map(|profile| profile["schedulerName"].as_str())
    }

    /// Whether a scheduler has confirmed it lately.
    pub(crate) fn is_fresh(&self, now: Timestamp) -> bool {
        let age = self.seen.map(|seen| Duration::try_from(now.duration_since(seen)).unwrap_or_default());
        age.is_some_and(|age| age <= STALE)
    }

    fn profiles(&self) -> &[Value] {
        self.configuration["profiles"].as_array().map(Vec::as_slice).unwrap_or_default()
    }

    fn words(&self) -> String {
        let seen = self.seen.map_or_else(String::new, |seen| format!(", confirmed at {seen}"));
        format!("of the scheduler {} (ConfigMap {}{seen})", self.by, self.object)
    }
}

/// The configuration that runs, of those that were published in these namespaces; `None`: there is none.
pub(crate) async fn running(
    api: &Api,
    namespaces: &[String],
) -> Result<Option<Running>, (Collection, ApiError)> {
    Ok(chosen(all(api, namespaces).await?, Timestamp::now()))
}

/// Where the configurations of a namespace are published, to watch them.
pub(crate) fn published_in(namespace: &str) -> Collection {
    with_label(Some(namespace), LABEL)
}

/// All configurations that were published in these namespaces.
pub(crate) async fn all(api: &Api, namespaces: &[String]) -> Result<Vec<Published>, (Collection, ApiError)> {
    let mut all = Vec::new();
    for namespace in namespaces {
        let collection = published_in(namespace);
        match listed::<ConfigMap>(api, &collection).await {
            Ok(objects) => all.extend(objects.iter().filter_map(Published::of)),
            Err(error) => return Err((collection, error)),
        }
    }
    Ok(all)
}

/// The one that was confirmed last, with the profiles of the other schedulers that run. One that no scheduler has confirmed
/// for long counts only where all are so old.
fn chosen(mut all: Vec<Published>, now: Timestamp) -> Option<Running> {
    all.sort_by(|a, b| (b.seen, &a.object).cmp(&(a.seen, &b.object)));
    let stale = all.iter().all(|of| !of.is_fresh(now));
    all.retain(|of| stale || of.is_fresh(now));
    let mut all = all.into_iter();
    let first = all.next()?;
    let (mut configuration, mut from) = (first.configuration.clone(), first.words());
    let version = first.version;
    for other in all.filter(|_| !stale) {
        let named = |of: &Value| of["schedulerName"].clone();
        let known: Vec<Value> =
            configuration["profiles"].as_array().into_iter().flatten().map(named).collect();
        let further: Vec<Value> =
            other.profiles().iter().filter(|of| !known.contains(&named(of))).cloned().collect();
        if let (false, Some(profiles)) = (further.is_empty(), configuration["profiles"].as_array_mut()) {
            profiles.extend(further);
            from = format!("{from}, with the profiles {}", other.words());
        }
    }
    Some(Running { from, text: configuration.to_string(), version, stale })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_configuration_of_the_schedulers_that_run_counts() {
        let now: Timestamp = "2026-01-01T12:00:00Z".parse().unwrap();
        let of = |name: &str, seen: &str, profile: &str| Published {
            object: format!("n/{name}"),
            by: name.to_owned(),
            seen: seen.parse().ok(),
            configuration: json!({"profiles": [{"schedulerName": profile, "by": name}]}),
            version: KubernetesVersion::parse(if name == "a" { "1.36" } else { "1.37" }).ok(),
        };
        let names = |all: Vec<Published>| {
            let running = chosen(all, now)?;
            let text: Value = serde_json::from_str(&running.text).unwrap();
            let by =
                text["profiles"].as_array().unwrap().iter().map(|of| of["by"].as_str().unwrap().to_owned());
            Some((by.collect::<Vec<_>>().join(" "), running.stale))
        };
        let fresh = "2026-01-01T11:59:00Z";
        assert_eq!(names(Vec::new()), None);
        assert_eq!(names(vec![of("a", fresh, "x")]), Some(("a".into(), false)));
        // Two installations beside each other, and one that is gone.
        let two = || {
            vec![
                of("a", "2026-01-01T11:58:00Z", "x"),
                of("b", fresh, "y"),
                of("c", "2025-01-01T00:00:00Z", "z"),
            ]
        };
        assert_eq!(names(two()), Some(("b a".into(), false)));
        assert!(chosen(two(), now).unwrap().from.contains("of the scheduler a (ConfigMap n/a"));
        // The version is that of the scheduler whose configuration comes first.
        assert_eq!(chosen(two(), now).unwrap().version, Some(KubernetesVersion::V1_37));
        // A scheduler with another lease took over the profile.
        let both = vec![of("a", "2026-01-01T11:58:00Z", "x"), of("b", fresh, "x")];
        assert_eq!(names(both), Some(("b".into(), false)));
        let old = vec![of("a", "2025-01-01T00:00:00Z", "x"), of("b", "2025-01-02T00:00:00Z", "y")];
        assert_eq!(names(old), Some(("b".into(), true)));
        assert_eq!(names(vec![of("a", "never", "x")]), Some(("a".into(), true)));
    }
}
