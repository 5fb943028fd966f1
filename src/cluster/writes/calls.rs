//! One [`ApiCall`] as one request, and the meaning of its answer. Called by `effects`, which
//! decides when and how often to send it.

use crate::api::client;
use crate::api::client::{APPLY_PATCH, Api, ApiError, MERGE_PATCH, Request, STRATEGIC_MERGE_PATCH};
use crate::api::limiter::LONGEST;
use crate::inputs::kinds::KnownResources;
use crate::inputs::objects;
use crate::inputs::watch::rule;
use crate::policies::account::PolicyAccount;
use crate::writes::verbatim;
use bayplan_framework::{Answer, ApiCall, CallError, ObjectPart};
use bayplan_model::{self as model, Kind, ObjectKey, PodMarks, Symbol};
use http::Method;
use k8s_openapi::api::core::v1::{Binding, ObjectReference};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::Deserialize;
use serde_json::json;
use std::collections::BTreeMap;
use std::time::Duration;

/// How much longer than the server we wait for an answer.
pub(super) const GRACE: Duration = Duration::from_millis(500);

/// The path of an object.
pub(crate) fn path_of(key: &ObjectKey) -> String {
    key.kind.row().map(|row| row.path_of(&key.namespace, &key.name)).unwrap_or_default()
}

/// The path of an object of any kind.
async fn found_path(api: &Api, known: &KnownResources, key: &ObjectKey) -> Result<String, ApiError> {
    let Kind::LookedUp(kind) = &key.kind else { return Ok(path_of(key)) };
    let path = known.path_of(api, kind, key).await?;
    let gone = || ApiError::Status {
        code: 404,
        reason: String::from("NotFound"),
        message: format!("the API server has no kind {kind}"),
        retry_after: None,
    };
    path.ok_or_else(gone)
}

/// What a call is made with.
#[derive(Clone, Copy)]
pub(crate) struct Ways<'w> {
    /// The API server.
    pub api: &'w Api,
    /// The resources of kinds that policies look up.
    pub known: &'w KnownResources,
    /// The account in whose name policies write; `None`: no call of a policy is made.
    pub policies: Option<&'w PolicyAccount>,
}

/// Makes the request of a call. The server has `limit` for a write, which is shorter than our own
/// limit, so that lost answers are rare.
pub(crate) async fn make(
    Ways { api, known, policies }: Ways<'_>,
    call: &ApiCall,
    transition: bool,
    limit: Duration,
) -> Result<Answer, ApiError> {
    match call {
        ApiCall::Bind { pod, node, marks } => {
            api.send_now(bind(pod, node, marks, limit)).await.map(|_| Answer::Done)
        }
        ApiCall::PatchStatus { pod, patch } => {
            let now = transition.then(now_rfc3339);
            let path = format!("{}/status", path_of(pod));
            let body = patch.json(pod, now.as_deref());
            let request = write(Method::PATCH, &path, STRATEGIC_MERGE_PATCH, &body, limit);
            api.send_now(request).await.map(|_| Answer::Done)
        }
        ApiCall::Patch { of, part, version, body } => {
            let found = found_path(api, known, of).await?;
            let path = match part {
                ObjectPart::Object => found,
                ObjectPart::Status => format!("{found}/status"),
            };
            let (path, content) = match body.manager() {
                Some(manager) => (format!("{path}?fieldManager={manager}&force=true"), APPLY_PATCH),
                None if body.is_merge_patch() => (path, MERGE_PATCH),
                None => (path, STRATEGIC_MERGE_PATCH),
            };
            let json = body.json(of, version.as_deref(), &now_rfc3339());
            let mut request = write(Method::PATCH, &path, content, &json, limit);
            let account = match (body.is_of_policy(), policies) {
                (false, _) => None,
                (true, Some(account)) => Some(account),
                (true, None) => return Err(ApiError::NotSent(String::from("policies write nothing here"))),
            };
            if let Some(account) = account {
                request = request.in_the_name_of(account.user());
            }
            let mut answer = api.send_now(request).await;
            if answer.as_ref().is_err_and(|error| verbatim::may_help(body, error)) {
                answer =
                    verbatim::replace(api, &path_of(of), *part, body, (&of.uid, version.as_deref()), limit)
                        .await;
            }
            let answer = match account {
                Some(account) => answer.map_err(|error| account.explain(error, &right_of(call))),
                None => answer,
            };
            if let (Kind::LookedUp(kind), Err(error)) = (&of.kind, &answer)
                && error.code() == Some(404)
            {
                known.forget(kind);
            }
            let answer = answer.map_err(|error| without_subresource(error, of, *part));
            answer.map(|bytes| Answer::Written { version: version_in(&bytes) })
        }
        ApiCall::Create { of, object } => {
            let path = path_of(of);
            let collection = path.rsplit_once('/').map_or("", |(collection, _)| collection);
            let request = write(Method::POST, collection, client::JSON, &**object, limit);
            api.send_now(request).await.map(|bytes| created(&bytes))
        }
        ApiCall::Delete { of } => {
            let mut body = json!({"apiVersion": "v1", "kind": "DeleteOptions"});
            if !of.uid.is_empty() {
                body["preconditions"] = json!({"uid": of.uid.as_str()});
            }
            let request = write(Method::DELETE, &path_of(of), client::JSON, &body, limit);
            api.send_now(request).await.map(|_| Answer::Done)
        }
        ApiCall::Read(key) => read(api, key).await,
        // Extenders are not the API server: `extender::ask` sends these.
        ApiCall::Extender { .. } => Err(ApiError::NotSent(String::from("no call to the API server"))),
    }
}

/// The rule of a role that allows this call.
pub(super) fn right_of(call: &ApiCall) -> String {
    let (part, verb) = match call {
        ApiCall::Bind { .. } => ("/binding", "create"),
        ApiCall::PatchStatus { .. } | ApiCall::Patch { part: ObjectPart::Status, .. } => ("/status", "patch"),
        ApiCall::Patch { part: ObjectPart::Object, .. } => ("", "patch"),
        ApiCall::Delete { .. } => ("", "delete"),
        ApiCall::Create { .. } => ("", "create"),
        ApiCall::Read(_) | ApiCall::Extender { .. } => ("", "get"),
    };
    let row = call.object().kind.row();
    let kind = &call.object().kind;
    let (group, resource) = match (row, kind) {
        (Some(row), _) => (row.group, row.plural.to_owned()),
        (None, Kind::LookedUp(kind)) => (kind.group(), format!("<the resource of {}>", kind.kind())),
        (None, _) => ("", String::new()),
    };
    rule(group, &[&format!("{resource}{part}")], &[verb])
}

/// A write of the status of an object other than a pod, as a JSON merge patch.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct StatusPatch {
    /// The path of the object.
    pub path: String,
    /// The object's UID: another one under the same name is not written.
    pub uid: String,
    /// The fields of the status that change; `null` removes one.
    pub status: serde_json::Value,
}

/// The field manager of the status of objects other than pods.
pub(crate) const STATUS_MANAGER: &str = "bayplan-status";

/// Sends a status.
pub(super) async fn patch_status(
    api: &Api,
    patch: &StatusPatch,
    limit: Duration,
) -> Result<Answer, ApiError> {
    let body = json!({"metadata": {"uid": patch.uid}, "status": patch.status});
    let path = format!("{}/status", patch.path);
    let mut request = write(Method::PATCH, &path, MERGE_PATCH, &body, limit);
    request.path.push_str(&format!("&fieldManager={STATUS_MANAGER}"));
    api.send_now(request).await.map(|bytes| Answer::Written { version: version_in(&bytes) })
}

/// Says what may be missing where a status is not found: of an object that is gone and of a kind without a status of its
/// own the API server says the same.
fn without_subresource(error: ApiError, of: &ObjectKey, part: ObjectPart) -> ApiError {
    match error {
        ApiError::Status { code: 404, reason, message, retry_after } if part == ObjectPart::Status => {
            let kind = match &of.kind {
                Kind::LookedUp(kind) => kind.as_str(),
                kind => kind.row().map_or("", |row| row.name),
            };
            let message = format!("{message}: it is gone, or {kind} has no subresource `status`");
            ApiError::Status { code: 404, reason, message, retry_after }
        }
        error => error,
    }
}

/// The pause before a throttled call is sent again, if the server asks for none, and before one that
/// could not be sent.
const RETRY: Duration = Duration::from_secs(1);

fn pause(pause: Duration) -> model::Duration {
    let millis = pause.min(LONGEST).as_millis();
    model::Duration::from_millis(i64::try_from(millis).unwrap_or(i64::MAX))
}

/// The reply to a call that was not sent, with the reason.
pub(crate) fn unsent(message: String) -> CallError {
    CallError::Retry { after: pause(RETRY), message }
}

/// The meaning of an error for the scheduler: whether the call may have taken effect.
pub(crate) fn meaning(error: &ApiError) -> CallError {
    match error {
        ApiError::Status { code: code @ (408 | 500..=599), message, .. } => {
            CallError::Unknown(format!("the API server answered {code}: {message}"))
        }
        ApiError::Status { code: 429, message, retry_after, .. } => {
            CallError::Retry { after: pause(retry_after.unwrap_or(RETRY)), message: message.clone() }
        }
        ApiError::Status { code, reason, message, .. } => {
            CallError::Refused { code: *code, reason: reason.clone(), message: message.clone() }
        }
        ApiError::NotSent(_) => unsent(error.to_string()),
        ApiError::Lost(_) | ApiError::Unreadable(_) => CallError::Unknown(error.to_string()),
    }
}

/// A write with a time limit for the server, and a slightly longer one for us.
fn write(
    method: Method,
    path: &str,
    content: &'static str,
    body: &impl serde::Serialize,
    limit: Duration,
) -> Request {
    let mark = if path.contains('?') { '&' } else { '?' };
    let path = format!("{path}{mark}timeout={}s", limit.as_secs().max(1));
    Request::with_body(method, path, content, body).within(limit + GRACE)
}

/// The POST of a binding.
fn bind(pod: &ObjectKey, node: &Symbol, marks: &PodMarks, limit: Duration) -> Request {
    let text = |symbol: &Symbol| Some(symbol.to_string()).filter(|text| !text.is_empty());
    let annotations = marks.annotations.iter().map(|(key, value)| (key.to_string(), value.to_string()));
    let labels = marks.labels.iter().map(|(key, value)| (key.to_string(), value.to_string()));
    let some = |all: BTreeMap<_, _>| Some(all).filter(|all| !all.is_empty());
    let metadata = ObjectMeta {
        name: text(&pod.name),
        namespace: text(&pod.namespace),
        uid: text(&pod.uid),
        annotations: some(annotations.collect()),
        labels: some(labels.collect()),
        ..ObjectMeta::default()
    };
    let target = ObjectReference {
        api_version: Some("v1".to_owned()),
        kind: Some("Node".to_owned()),
        name: text(node),
        ..ObjectReference::default()
    };
    let path = format!("{}/binding", path_of(pod));
    write(Method::POST, &path, client::JSON, &Binding { metadata, target }, limit)
}

/// What is read of an object that answers a write.
#[derive(Default, Deserialize)]
struct Answered {
    metadata: AnsweredMetadata,
}

#[derive(Default, Deserialize)]
struct AnsweredMetadata {
    #[serde(default)]
    uid: Symbol,
    #[serde(default, rename = "resourceVersion")]
    resource_version: Box<str>,
}

/// The resource version of the object that answers a write.
fn version_in(object: &[u8]) -> Box<str> {
    serde_json::from_slice::<Answered>(object).unwrap_or_default().metadata.resource_version
}

/// The answer of an object that was created.
fn created(object: &[u8]) -> Answer {
    let AnsweredMetadata { uid, resource_version: version } =
        serde_json::from_slice::<Answered>(object).unwrap_or_default().metadata;
    Answer::Created { uid, version }
}

async fn read(api: &Api, key: &ObjectKey) -> Result<Answer, ApiError> {
    let bytes = match api.send_now(Request::get(path_of(key))).await {
        Ok(bytes) => bytes,
        Err(error) if error.code() == Some(404) => return Ok(Answer::Object(None)),
        Err(error) => return Err(error),
    };
    let object = objects::parse(&key.kind, &bytes).map_err(ApiError::Unreadable)?;
    // Another UID under the same name: the requested object is gone.
    let same = key.uid.is_empty() || object.key().uid.is_empty() || object.key().uid == key.uid;
    Ok(Answer::Object(same.then_some(object)))
}

/// The present time as `metav1.Time`.
pub(crate) fn now_rfc3339() -> String {
    let now = jiff::Timestamp::now();
    jiff::Timestamp::from_second(now.as_second()).unwrap_or(now).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    fn pod() -> ObjectKey {
        ObjectKey {
            kind: model::Kind::Pod,
            namespace: "shop".into(),
            name: "web-1".into(),
            uid: "u-1".into(),
        }
    }

    #[test]
    fn a_binding_has_the_uid_and_a_time_limit_for_the_server() {
        let request = bind(&pod(), &"node-1".into(), &PodMarks::default(), Duration::from_secs(4));
        assert_eq!(request.path, "/api/v1/namespaces/shop/pods/web-1/binding?timeout=4s");
        let body: Value = serde_json::from_slice(&request.body).unwrap();
        assert_eq!(
            body,
            json!({
                "apiVersion": "v1", "kind": "Binding",
                "metadata": {"name": "web-1", "namespace": "shop", "uid": "u-1"},
                "target": {"apiVersion": "v1", "kind": "Node", "name": "node-1"},
            })
        );
    }

    #[test]
    fn only_refused_throttled_and_unsent_calls_certainly_had_no_effect() {
        let status = |code| ApiError::Status {
            code,
            reason: String::new(),
            message: String::new(),
            retry_after: None,
        };
        for code in [400, 401, 403, 404, 409, 422] {
            assert!(matches!(meaning(&status(code)), CallError::Refused { .. }), "{code}");
        }
        for code in [408, 500, 502, 503, 504] {
            assert!(matches!(meaning(&status(code)), CallError::Unknown(_)), "{code}");
        }
        assert!(matches!(meaning(&ApiError::NotSent(String::new())), CallError::Retry { .. }));
        assert!(matches!(meaning(&status(429)), CallError::Retry { .. }));
        assert!(matches!(meaning(&ApiError::Lost(String::new())), CallError::Unknown(_)));
    }
}
