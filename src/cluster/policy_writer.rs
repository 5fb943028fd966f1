//! What the leader writes about policy objects: the verdict, as annotations (server-side apply
//! under a field manager of our own) and as an Event, and the texts that served, in the ConfigMap
//! `bayplan-history-<name>` beside the object. With that history a broken text does not end the
//! service of the text before it, even if another instance starts. Called by `policy_source`.

use super::backoff::backoff;
use super::client::{Api, ApiError, JSON, Request};
use super::policy_history::{self, Revision};
use super::policy_objects::{HISTORY, history_of, kept_by, mark_history, path_of, texts_of, with_label};
use super::policy_store::{ObjectName, Texts, Verdict, hash};
use super::term::Term;
use super::watch::{self, rule};
use backon::BackoffBuilder;
use http::Method;
use k8s_openapi::api::core::v1::{ConfigMap, ObjectReference};
use k8s_openapi::api::events::v1::Event;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta};
use rustc_hash::FxHashMap;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::time::Duration;

/// Our field manager of server-side apply.
const FIELD_MANAGER: &str = "bayplan-policies";
/// Maximum number of problems in an annotation; all annotations of an object share 256 KiB.
const SHOWN: usize = 20;
/// Maximum number of characters of an Event's note.
const NOTE: usize = 1_000;

/// What to write about an object.
pub(super) struct Report<'a> {
    /// The object; `None` if it was deleted.
    pub(super) object: Option<(&'a ConfigMap, Verdict)>,
    /// The text in service and its hash.
    pub(super) good: Option<(&'a Texts, &'a str)>,
}

/// The texts of an object that served, as the cluster keeps them.
#[derive(Default)]
struct Kept {
    newest: Texts,
    /// Newest first.
    revisions: Vec<Revision>,
}

/// Writes verdicts and histories.
pub(super) struct PolicyWriter {
    api: Api,
    term: Term,
    /// The identity of this instance, for Events.
    identity: String,
    history: FxHashMap<ObjectName, Kept>,
    /// Objects whose verdict may have changed.
    pending: Vec<ObjectName>,
    /// Whether the log has said that writing fails.
    complained: bool,
}

impl PolicyWriter {
    pub(super) fn new(api: Api, term: Term, identity: String) -> Self {
        Self { api, term, identity, history: FxHashMap::default(), pending: Vec::new(), complained: false }
    }

    /// Reads the histories of these namespaces, until that succeeds. `trouble` receives each
    /// failure.
    pub(super) async fn read_history(&mut self, namespaces: &[String], trouble: impl Fn(String)) {
        let mut waits = backoff(Duration::from_millis(200), Duration::from_secs(5)).build();
        for namespace in namespaces {
            let collection = with_label(Some(namespace), HISTORY);
            loop {
                let error = match watch::list::<ConfigMap>(&self.api, &collection).await {
                    Ok((histories, _)) => {
                        for object in histories {
                            let Some((of, newest)) = kept_by(&object) else { continue };
                            let revisions = policy_history::revisions(&object, &newest);
                            self.history.insert(of, Kept { newest, revisions });
                        }
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

    /// The texts of an object that served last.
    pub(super) fn last_good(&self, name: &str) -> Option<Texts> {
        self.history.get(name).map(|kept| kept.newest.clone())
    }

    /// The verdict on an object may have changed.
    pub(super) fn note(&mut self, name: &str) {
        if !self.pending.iter().any(|pending| pending == name) {
            self.pending.push(name.to_owned());
        }
    }

    /// Writes what is pending, if this instance leads. `report` gives the present state of an
    /// object.
    pub(super) async fn write<'a>(&mut self, report: impl Fn(&str) -> Report<'a>) {
        if !self.term.may_write() {
            return;
        }
        let mut names = std::mem::take(&mut self.pending);
        names.sort();
        for name in names {
            let Report { object, good } = report(&name);
            let written = match object {
                Some((object, verdict)) => self.write_verdict(&name, object, &verdict, good).await,
                // A file has no object.
                None if self.history.contains_key(&name) => self.delete_history(&name).await,
                None => Ok(()),
            };
            let Err(error) = written else { continue };
            self.complain(&name, &error);
            if error.is_passing() {
                self.pending.push(name);
            }
        }
    }

    fn complain(&mut self, name: &str, error: &ApiError) {
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
        tracing::warn!(policy = %name, %error, "cannot write the verdict on a policy{help}");
    }

    async fn write_verdict(
        &mut self,
        name: &str,
        object: &ConfigMap,
        verdict: &Verdict,
        good: Option<(&Texts, &str)>,
    ) -> Result<(), ApiError> {
        if let Some((texts, hash)) = good
            && self.history.get(name).is_none_or(|kept| kept.newest != *texts)
        {
            self.write_history(name, object, texts, hash).await?;
        }
        let revision = good.map_or("", |(_, hash)| hash);
        let annotations = annotations(verdict, &hash(&texts_of(object)), revision);
        let present = object.metadata.annotations.as_ref();
        if annotations.iter().all(|(key, value)| present.and_then(|all| all.get(key)) == Some(value)) {
            return Ok(());
        }
        let metadata = ObjectMeta {
            name: object.metadata.name.clone(),
            namespace: object.metadata.namespace.clone(),
            uid: object.metadata.uid.clone(),
            annotations: Some(annotations),
            ..ObjectMeta::default()
        };
        match self.apply(name, &ConfigMap { metadata, ..ConfigMap::default() }).await {
            // Deleted or replaced in the meantime: the watch brings the present object.
            Err(error) if matches!(error.code(), Some(404 | 409)) => return Ok(()),
            other => other?,
        }
        self.write_event(&object.metadata, verdict).await;
        Ok(())
    }

    /// Server-side apply of the fields of a ConfigMap.
    async fn apply(&self, name: &str, fields: &ConfigMap) -> Result<(), ApiError> {
        let path = format!("{}?fieldManager={FIELD_MANAGER}&force=true", path_of(name));
        let request = Request::with_body(Method::PATCH, path, "application/apply-patch+yaml", fields);
        self.api.send(request).await.map(drop)
    }

    /// Keeps a text that serves, in front of those that served before it.
    async fn write_history(
        &mut self,
        name: &str,
        object: &ConfigMap,
        texts: &Texts,
        hash: &str,
    ) -> Result<(), ApiError> {
        let at = super::calls::now_rfc3339();
        let newest = Revision {
            revision: hash.to_owned(),
            at: at.clone(),
            by: policy_history::author(object),
            texts: texts.clone(),
        };
        let before = self.history.get(name).map(|kept| kept.revisions.clone()).unwrap_or_default();
        let revisions = policy_history::followed_by(before, newest);
        let (namespace, history) = history_of(name);
        let path = format!("{namespace}/{history}");
        let annotations = [("bayplan.dev/revision", hash.to_owned()), ("bayplan.dev/recorded-at", at)];
        let mut fields = ConfigMap {
            metadata: ObjectMeta {
                name: Some(history),
                namespace: Some(namespace),
                annotations: Some(annotations.map(|(key, value)| (key.to_owned(), value)).into()),
                ..ObjectMeta::default()
            },
            data: Some(policy_history::data(&revisions)),
            ..ConfigMap::default()
        };
        mark_history(&mut fields, name);
        self.apply(&path, &fields).await?;
        self.history.insert(name.to_owned(), Kept { newest: texts.clone(), revisions });
        Ok(())
    }

    async fn delete_history(&mut self, name: &str) -> Result<(), ApiError> {
        let (namespace, history) = history_of(name);
        let path = path_of(&format!("{namespace}/{history}"));
        match self.api.send(Request { method: Method::DELETE, ..Request::get(path) }).await {
            Err(error) if error.code() != Some(404) => return Err(error),
            _ => self.history.remove(name),
        };
        Ok(())
    }

    /// Writes the verdict as an Event about the object. A lost Event does no harm: the annotations
    /// have the verdict, too.
    async fn write_event(&self, object: &ObjectMeta, verdict: &Verdict) {
        let (type_, reason, note) = event_of(verdict);
        let name = object.name.as_deref().unwrap_or_default();
        let namespace = object.namespace.as_deref().unwrap_or_default();
        let now = jiff::Timestamp::now();
        let event = Event {
            metadata: ObjectMeta {
                name: Some(format!("{name}.{:x}", now.as_nanosecond())),
                namespace: object.namespace.clone(),
                ..ObjectMeta::default()
            },
            event_time: Some(MicroTime(now)),
            reporting_controller: Some("bayplan.dev/policies".to_owned()),
            reporting_instance: Some(self.identity.clone()),
            action: Some("Load".to_owned()),
            reason: Some(reason.to_owned()),
            type_: Some(type_.to_owned()),
            note: Some(note.chars().take(NOTE).collect()),
            regarding: Some(ObjectReference {
                api_version: Some("v1".to_owned()),
                kind: Some("ConfigMap".to_owned()),
                name: object.name.clone(),
                namespace: object.namespace.clone(),
                uid: object.uid.clone(),
                ..ObjectReference::default()
            }),
            ..Event::default()
        };
        let path = format!("/apis/events.k8s.io/v1/namespaces/{namespace}/events");
        if let Err(error) = self.api.send(Request::with_body(Method::POST, path, JSON, &event)).await {
            tracing::info!(policy = name, %error, "cannot write an Event about a policy");
        }
    }
}

/// Type, reason and note of the Event about a verdict.
fn event_of(verdict: &Verdict) -> (&'static str, &'static str, String) {
    match verdict {
        Verdict::Serving => {
            ("Normal", "PolicyLoaded", "the policies of this object are in service".to_owned())
        }
        Verdict::Refused { problems, instead, holds } => {
            let effect = match instead {
                Some(hash) => format!("refused; revision {hash} stays in service: "),
                None if !holds.is_empty() => {
                    let names = holds.join(", ");
                    format!("refused; no earlier text is known, so the pods of {names} wait: ")
                }
                None => "refused; no earlier text is known, so these policies have no effect: ".to_owned(),
            };
            let lines: Vec<String> = problems.iter().map(ToString::to_string).collect();
            ("Warning", "PolicyRefused", effect + &lines.join("\n"))
        }
        Verdict::Waiting { why } => ("Warning", "PolicyWaiting", why.clone()),
    }
}

/// The annotations of a policy object. They depend neither on the time nor on the writer, so all
/// replicas agree.
fn annotations(verdict: &Verdict, present: &str, serving: &str) -> BTreeMap<String, String> {
    let mut status = json!({"state": verdict.word(), "text": present, "revision": serving});
    match verdict {
        Verdict::Serving => {}
        Verdict::Refused { problems, holds, .. } => {
            if !holds.is_empty() {
                status["holds"] = json!(holds);
            }
            let shown = problems.iter().take(SHOWN).map(|it| {
                json!({
                    "code": it.code, "key": it.key, "line": it.line, "column": it.column,
                    "message": it.message, "help": it.help,
                })
            });
            status["errors"] = Value::Array(shown.collect());
            if problems.len() > SHOWN {
                status["more"] = json!(problems.len() - SHOWN);
            }
        }
        Verdict::Waiting { why } => status["why"] = json!(why),
    }
    [
        ("bayplan.dev/verdict".to_owned(), verdict.word().to_owned()),
        ("bayplan.dev/revision".to_owned(), serving.to_owned()),
        ("bayplan.dev/status".to_owned(), status.to_string()),
    ]
    .into()
}
