//! Keeps the texts of each policy that served, in the ConfigMap `bayplan-history-<policy>` beside
//! the policy objects. With it a broken text does not end the service of the text before it, even
//! if another instance starts or the object gets another name. A history outlives its policy by a
//! day. Called by `source`; only the leader writes, and every instance follows what it wrote,
//! so that the next leader continues it.

use super::choice::{Origin, Served};
use super::compiled::Policy;
use super::config_maps::{
    FIELD_MANAGER, HISTORY, PolicyKey, SERVED_BY, UNUSED_SINCE, annotation, history_of, kept_by,
    mark_history, namespace_of, path_of, texts_of, with_label,
};
use super::history::{self, Revision};
use super::store::Earlier;
use super::verdict::{ObjectName, Texts};
use crate::api::backoff::backoff;
use crate::api::client::{Api, ApiError, Request};
use crate::inputs::watch::{self, rule};
use crate::process::term::Term;
use backon::BackoffBuilder;
use http::Method;
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// How long a history outlives its policy.
const OUTLIVES: SignedDuration = SignedDuration::from_hours(24);

/// The texts of a policy that served, as the cluster keeps them.
#[derive(Clone, PartialEq, Debug)]
struct Kept {
    newest: Texts,
    /// Newest first.
    revisions: Vec<Revision>,
    /// The object whose text served last.
    served_by: ObjectName,
    /// Since when no object has the policy.
    unused_since: Option<Timestamp>,
}

/// Reads and writes histories.
pub(super) struct PolicyKeeper {
    api: Api,
    term: Term,
    kept: BTreeMap<PolicyKey, Kept>,
    /// Whether the log has said that writing fails.
    complained: bool,
}

impl PolicyKeeper {
    pub(crate) fn new(api: Api, term: Term) -> Self {
        Self { api, term, kept: BTreeMap::new(), complained: false }
    }

    /// Reads the histories of these namespaces, until that succeeds. `trouble` receives each
    /// failure.
    pub(crate) async fn read(&mut self, namespaces: &[String], trouble: impl Fn(String)) {
        let mut waits = backoff(Duration::from_millis(200), Duration::from_secs(5)).build();
        for namespace in namespaces {
            let collection = with_label(Some(namespace), HISTORY);
            loop {
                let error = match watch::list::<ConfigMap>(&self.api, &collection).await {
                    Ok((histories, _)) => {
                        self.replace(namespace, &histories);
                        break;
                    }
                    Err(error) => error,
                };
                trouble(match error.code() {
                    Some(403) => {
                        let rule = collection.rule(&["list", "watch"]);
                        format!("{error}; add this rule to the role in namespace {namespace}: {rule}")
                    }
                    _ => error.to_string(),
                });
                tokio::time::sleep(waits.next().unwrap_or_default()).await;
            }
        }
    }

    /// Takes over the histories of a namespace as they were listed; whether any differs.
    pub(crate) fn replace(&mut self, namespace: &str, histories: &[ConfigMap]) -> bool {
        let listed: BTreeSet<PolicyKey> = histories.iter().filter_map(kept_by).collect();
        let before = self.kept.len();
        self.kept.retain(|key, _| key.0 != namespace || listed.contains(key));
        let mut changed = self.kept.len() != before;
        for history in histories {
            changed |= self.take(history);
        }
        changed
    }

    /// Takes over a history, which this instance or the leader wrote; whether it differs.
    pub(crate) fn take(&mut self, history: &ConfigMap) -> bool {
        let Some(key) = kept_by(history) else { return false };
        let newest = texts_of(history);
        let kept = Kept {
            revisions: history::revisions(history, &newest),
            newest,
            served_by: annotation(history, SERVED_BY).to_owned(),
            unused_since: annotation(history, UNUSED_SINCE).parse().ok(),
        };
        let changed = self.kept.get(&key) != Some(&kept);
        self.kept.insert(key, kept);
        changed
    }

    /// A history was deleted; whether it was known.
    pub(crate) fn forget(&mut self, history: &ConfigMap) -> bool {
        kept_by(history).is_some_and(|key| self.kept.remove(&key).is_some())
    }

    /// The newest texts of the policies of an object: those with these names, and those that the
    /// object served before.
    pub(crate) fn earlier(&self, object: &str, names: &[String]) -> Vec<Earlier> {
        let of = self.kept.iter().filter(|((namespace, policy), kept)| {
            let serves = kept.served_by == object && kept.unused_since.is_none();
            namespace == namespace_of(object) && (names.contains(policy) || serves)
        });
        of.map(|((_, policy), kept)| (policy.clone(), kept.newest.clone())).collect()
    }

    /// The object whose text of each policy served last. Of two histories of one name the one with the newest text counts.
    pub(crate) fn owners(&self) -> BTreeMap<String, ObjectName> {
        let used = self.kept.iter().filter(|(_, kept)| kept.unused_since.is_none());
        let mut by_age: Vec<_> = used.collect();
        by_age.sort_by_key(|(_, kept)| kept.revisions.first().map(|newest| newest.at.as_str()));
        by_age.into_iter().map(|((_, policy), kept)| (policy.clone(), kept.served_by.clone())).collect()
    }

    /// Whether this instance leads, so that it decides what is kept.
    pub(crate) fn leads(&self) -> bool {
        self.term.may_write()
    }

    /// A revision of a policy of a namespace.
    pub(crate) fn revision(&self, namespace: &str, policy: &str, revision: &str) -> Option<&Texts> {
        let kept = self.kept.get(&(namespace.to_owned(), policy.to_owned()))?;
        kept.revisions.iter().find(|it| it.revision == revision).map(|it| &it.texts)
    }

    /// Keeps what is in service, if this instance leads. `objects` are the present policy objects,
    /// `named` the policies that any of them has.
    pub(crate) async fn write(
        &mut self,
        served: &[Served<Policy>],
        named: &BTreeSet<PolicyKey>,
        object: impl Fn(&str) -> Option<ConfigMap>,
    ) {
        if !self.term.may_write() {
            return;
        }
        for it in served.iter().filter(|it| it.origin == Origin::Text) {
            let key = (namespace_of(&it.object).to_owned(), it.compiled.name.clone());
            let kept = self.kept.get(&key);
            let same = kept.is_some_and(|kept| {
                kept.newest == *it.compiled.texts
                    && kept.served_by == it.object
                    && kept.unused_since.is_none()
            });
            // A file has no object, and no history.
            let Some(object) = (!same).then(|| object(&it.object)).flatten() else { continue };
            let written = self.keep(key.clone(), it, &object).await;
            self.judge(&key.1, written);
        }
        let now = Timestamp::now();
        for key in self.kept.keys().cloned().collect::<Vec<PolicyKey>>() {
            if named.contains(&key) {
                continue;
            }
            let written = match self.kept.get(&key).and_then(|kept| kept.unused_since) {
                None => self.mark_unused(&key, now).await,
                Some(since) if now.duration_since(since) > OUTLIVES => self.delete(&key).await,
                Some(_) => Ok(()),
            };
            self.judge(&key.1, written);
        }
    }

    fn judge(&mut self, policy: &str, written: Result<(), ApiError>) {
        let Err(error) = written else { return };
        if std::mem::replace(&mut self.complained, true) {
            return;
        }
        let help = match error.code() {
            Some(403) => {
                let rule = rule("", &["configmaps"], &["create", "patch", "delete"]);
                format!("; add this rule to the role in its namespace: {rule}")
            }
            _ => String::new(),
        };
        tracing::warn!(%policy, %error, "cannot write the history of a policy{help}");
    }

    /// Keeps a text that serves, in front of those that served before it.
    async fn keep(
        &mut self,
        key: PolicyKey,
        it: &Served<Policy>,
        object: &ConfigMap,
    ) -> Result<(), ApiError> {
        let at = crate::writes::calls::now_rfc3339();
        let newest = Revision {
            revision: it.compiled.revision.clone(),
            at: at.clone(),
            by: history::author(object),
            texts: (*it.compiled.texts).clone(),
        };
        let before = self.kept.get(&key).map(|kept| kept.revisions.clone()).unwrap_or_default();
        let revisions = match before.first() {
            // Another object has the same text.
            Some(first) if first.revision == newest.revision => before,
            _ => history::followed_by(before, newest),
        };
        let kept = Kept {
            newest: (*it.compiled.texts).clone(),
            revisions,
            served_by: it.object.clone(),
            unused_since: None,
        };
        self.apply(&key, &kept).await?;
        self.kept.insert(key, kept);
        Ok(())
    }

    async fn mark_unused(&mut self, key: &PolicyKey, now: Timestamp) -> Result<(), ApiError> {
        let Some(kept) = self.kept.get(key) else { return Ok(()) };
        let kept = Kept { unused_since: Some(now), ..kept.clone() };
        self.apply(key, &kept).await?;
        self.kept.insert(key.clone(), kept);
        Ok(())
    }

    /// Server-side apply of a history.
    async fn apply(&self, (namespace, policy): &PolicyKey, kept: &Kept) -> Result<(), ApiError> {
        let name = history_of(policy);
        let path = path_of(&format!("{namespace}/{name}"));
        let mut annotations = BTreeMap::new();
        if let Some(newest) = kept.revisions.first() {
            annotations.insert("bayplan.dev/revision".to_owned(), newest.revision.clone());
            annotations.insert("bayplan.dev/recorded-at".to_owned(), newest.at.clone());
        }
        if let Some(since) = kept.unused_since {
            annotations.insert(UNUSED_SINCE.to_owned(), since.to_string());
        }
        let mut fields = ConfigMap {
            metadata: ObjectMeta {
                name: Some(name),
                namespace: Some(namespace.clone()),
                annotations: Some(annotations),
                ..ObjectMeta::default()
            },
            data: Some(history::data(&kept.revisions)),
            ..ConfigMap::default()
        };
        mark_history(&mut fields, policy, &kept.served_by);
        let path = format!("{path}?fieldManager={FIELD_MANAGER}&force=true");
        let request = Request::with_body(Method::PATCH, path, "application/apply-patch+yaml", &fields);
        self.api.send(request).await.map(drop)
    }

    async fn delete(&mut self, key: &PolicyKey) -> Result<(), ApiError> {
        let path = path_of(&format!("{}/{}", key.0, history_of(&key.1)));
        match self.api.send(Request { method: Method::DELETE, ..Request::get(path) }).await {
            Err(error) if error.code() != Some(404) => return Err(error),
            _ => self.kept.remove(key),
        };
        Ok(())
    }
}
