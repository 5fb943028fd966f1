//! What the leader writes about policy objects: the verdict, as annotations (server-side apply
//! under a field manager of our own) and as an Event; and faults of its rules, as Events. Called by `source`; `keeper`
//! writes the texts that served.

use super::config_maps::{FIELD_MANAGER, path_of, texts_of};
use super::verdict::{ObjectName, Verdict, hash};
use crate::api::client::{Api, ApiError, JSON, Request};
use crate::inputs::watch::rule;
use crate::process::term::Term;
use http::Method;
use k8s_openapi::api::core::v1::{ConfigMap, ObjectReference};
use k8s_openapi::api::events::v1::Event;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Maximum number of problems in an annotation; all annotations of an object share 256 KiB.
const SHOWN: usize = 20;
/// Maximum number of characters of an Event's note.
const NOTE: usize = 1_000;

/// What to write about an object: the object, the verdict on it, and the revision in service.
pub(crate) type Report<'a> = Option<(&'a ConfigMap, Verdict, String)>;

/// Writes verdicts.
pub(super) struct PolicyWriter {
    api: Api,
    term: Term,
    /// The identity of this instance, for Events.
    identity: String,
    /// Objects whose verdict may have changed.
    pending: Vec<ObjectName>,
    /// What this instance wrote last on each object. The watch may bring it later.
    written: BTreeMap<ObjectName, BTreeMap<String, String>>,
    /// Whether the log has said that writing fails.
    complained: bool,
}

impl PolicyWriter {
    pub(crate) fn new(api: Api, term: Term, identity: String) -> Self {
        Self { api, term, identity, pending: Vec::new(), written: BTreeMap::new(), complained: false }
    }

    /// The verdict on an object may have changed.
    pub(crate) fn note(&mut self, name: &str) {
        if !self.pending.iter().any(|pending| pending == name) {
            self.pending.push(name.to_owned());
        }
    }

    /// Writes what is pending, if this instance leads. `report` gives the present state of an
    /// object.
    pub(crate) async fn write<'a>(&mut self, report: impl Fn(&str) -> Report<'a>) {
        if !self.term.may_write() {
            return;
        }
        let mut names = std::mem::take(&mut self.pending);
        names.sort();
        for name in names {
            // A file has no object, and a deleted one needs no verdict.
            let Some((object, verdict, revision)) = report(&name) else {
                self.written.remove(&name);
                continue;
            };
            let Err(error) = self.write_verdict(&name, object, &verdict, &revision).await else { continue };
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
                let rule = rule("", &["configmaps"], &["patch"]);
                format!("; add this rule to the role in its namespace: {rule}")
            }
            _ => String::new(),
        };
        tracing::warn!(policy = %name, %error, "cannot write the verdict on a policy{help}");
    }

    /// Whether the object has these annotations, as far as the watch and our own writes tell.
    fn has(&self, name: &str, object: &ConfigMap, annotations: &BTreeMap<String, String>) -> bool {
        let present = object.metadata.annotations.as_ref();
        annotations.iter().all(|(key, value)| present.and_then(|all| all.get(key)) == Some(value))
            && self.written.get(name).is_none_or(|written| written == annotations)
    }

    async fn write_verdict(
        &mut self,
        name: &str,
        object: &ConfigMap,
        verdict: &Verdict,
        revision: &str,
    ) -> Result<(), ApiError> {
        let annotations = annotations(verdict, &hash(&texts_of(object)), revision);
        if self.has(name, object, &annotations) {
            return Ok(());
        }
        // Also if the answer is lost.
        self.written.insert(name.to_owned(), annotations.clone());
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
        self.write_event(&object.metadata, "Load", event_of(verdict)).await;
        Ok(())
    }

    /// Server-side apply of the fields of a ConfigMap.
    async fn apply(&self, name: &str, fields: &ConfigMap) -> Result<(), ApiError> {
        let path = format!("{}?fieldManager={FIELD_MANAGER}&force=true", path_of(name));
        let request = Request::with_body(Method::PATCH, path, "application/apply-patch+yaml", fields);
        self.api.send(request).await.map(drop)
    }

    /// Whether this instance leads.
    pub(crate) fn may_write(&self) -> bool {
        self.term.may_write()
    }

    /// Writes an Event about rules of an object that failed.
    pub(super) async fn write_fault(&self, object: &ConfigMap, note: String) {
        self.write_event(&object.metadata, "Evaluate", ("Warning", "PolicyRuleFailed", note)).await;
    }

    /// Writes an Event about a cluster that is larger than the policies of an object are compiled for.
    pub(super) async fn write_outgrown(&self, object: &ConfigMap, note: String) {
        self.write_event(&object.metadata, "Compare", ("Warning", "PolicyOutgrown", note)).await;
    }

    /// Writes an Event about an object. A lost Event does no harm: the annotations have the verdict, and the metrics
    /// count the faults.
    async fn write_event(&self, object: &ObjectMeta, action: &str, (type_, reason, note): EventText) {
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
            action: Some(action.to_owned()),
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

/// Type, reason and note of an Event.
type EventText = (&'static str, &'static str, String);

/// The Event about a verdict.
fn event_of(verdict: &Verdict) -> EventText {
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
        Verdict::Overridden { why } => ("Warning", "PolicyOverridden", why.clone()),
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
        Verdict::Waiting { why } | Verdict::Overridden { why } => status["why"] = json!(why),
    }
    [
        ("bayplan.dev/verdict".to_owned(), verdict.word().to_owned()),
        ("bayplan.dev/revision".to_owned(), serving.to_owned()),
        ("bayplan.dev/status".to_owned(), status.to_string()),
    ]
    .into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::client::Target;

    #[tokio::test]
    async fn a_verdict_is_written_over_one_that_the_watch_has_not_brought_yet() {
        let target = Target { master: Some("http://127.0.0.1:1".into()), ..Target::default() };
        let api = Api::new(&target).await.unwrap();
        let mut writer = PolicyWriter::new(api, Term::endless(), "i".into());
        let serving = annotations(&Verdict::Serving, "t", "t");
        let waiting = annotations(&Verdict::Waiting { why: "pods are not listed yet".into() }, "t", "t");
        let metadata = ObjectMeta { annotations: Some(serving.clone()), ..ObjectMeta::default() };
        let object = ConfigMap { metadata, ..ConfigMap::default() };
        assert!(writer.has("n/a", &object, &serving) && !writer.has("n/a", &object, &waiting));
        // The watch still shows the verdict from before the restart.
        writer.written.insert("n/a".into(), waiting);
        assert!(!writer.has("n/a", &object, &serving));
        writer.note("n/a");
        writer.write(|_| None).await;
        assert!(writer.written.is_empty(), "what is deleted is forgotten");
    }
}
