//! One [`ApiCall`] as one request, and what its answer means. Called by `effects`, which knows when and how often.

use super::client::{Api, ApiError, Request, STRATEGIC_MERGE_PATCH};
use super::{client, objects};
use crate::framework::{Answer, ApiCall, CallError, ConditionPatch};
use crate::model::{Kind, ObjectKey, Symbol};
use http::Method;
use serde_json::{Map, Value, json};
use std::time::Duration;

/// What became of one request.
#[derive(Debug)]
pub enum Outcome {
    /// It is done.
    Answered(Answer),
    /// It is not, or nobody knows.
    Failed {
        /// What the scheduler is told when it is not tried again.
        error: CallError,
        /// Whether the same request may be sent again and may then succeed.
        again: bool,
    },
}

/// The path of an object.
pub fn path_of(key: &ObjectKey) -> String {
    match key.kind {
        Kind::Pod => format!("/api/v1/namespaces/{}/pods/{}", key.namespace, key.name),
        Kind::Node => format!("/api/v1/nodes/{}", key.name),
        Kind::Namespace => format!("/api/v1/namespaces/{}", key.name),
    }
}

/// Makes the request of a call.
pub async fn make(api: &Api, call: &ApiCall, transition: bool, bind_timeout: Duration) -> Outcome {
    let result = match call {
        ApiCall::Bind { pod, node, annotations } => {
            api.send_now(bind(pod, node, annotations, bind_timeout)).await.map(|_| Answer::Done)
        }
        ApiCall::PatchStatus { pod, patch } => {
            let now = transition.then(now_rfc3339);
            let path = format!("{}/status", path_of(pod));
            let body = status_patch(pod, patch, now);
            let request = Request::with_body(Method::PATCH, path, STRATEGIC_MERGE_PATCH, &body);
            api.send_now(request).await.map(|_| Answer::Done)
        }
        ApiCall::Delete { pod } => {
            let mut body = json!({"apiVersion": "v1", "kind": "DeleteOptions"});
            if !pod.uid.is_empty() {
                body["preconditions"] = json!({"uid": pod.uid.as_str()});
            }
            let request = Request::with_body(Method::DELETE, path_of(pod), client::JSON, &body);
            match api.send_now(request).await {
                // Gone is what was wanted.
                Err(error) if error.code() == Some(404) => Ok(Answer::Done),
                other => other.map(|_| Answer::Done),
            }
        }
        ApiCall::Read(key) => read(api, key).await,
    };
    match result {
        Ok(answer) => Outcome::Answered(answer),
        Err(error) => {
            // A precondition on UID or version that failed stays failed: it is another object, or a newer one.
            let versioned =
                matches!(call, ApiCall::PatchStatus { patch, .. } if !patch.resource_version.is_empty());
            let stays = error.code() == Some(409) && (versioned || error.to_string().contains("UID"));
            Outcome::Failed { again: error.is_passing() && !stays, error: meaning(&error) }
        }
    }
}

/// What an error means to the scheduler: whether the call can have happened.
pub fn meaning(error: &ApiError) -> CallError {
    match error {
        ApiError::Status { code: code @ (408 | 500..=599), message, .. } => {
            CallError::Unknown(format!("the API server answered {code}: {message}"))
        }
        ApiError::Status { code, reason, message, .. } => {
            CallError::Refused { code: *code, reason: reason.clone(), message: message.clone() }
        }
        ApiError::NotSent(_) => {
            CallError::Refused { code: 0, reason: "NotSent".into(), message: error.to_string() }
        }
        ApiError::Lost(_) | ApiError::Unreadable(_) => CallError::Unknown(error.to_string()),
    }
}

/// The POST of a binding. The server gives up before we do, so that "no answer" is rare and short.
fn bind(pod: &ObjectKey, node: &Symbol, annotations: &[(Symbol, String)], timeout: Duration) -> Request {
    let mut metadata = json!({"name": pod.name.as_str(), "namespace": pod.namespace.as_str()});
    if !pod.uid.is_empty() {
        metadata["uid"] = json!(pod.uid.as_str());
    }
    if !annotations.is_empty() {
        let all: Map<String, Value> =
            annotations.iter().map(|(key, value)| (key.to_string(), json!(value))).collect();
        metadata["annotations"] = Value::Object(all);
    }
    let body = json!({
        "apiVersion": "v1", "kind": "Binding", "metadata": metadata,
        "target": {"apiVersion": "v1", "kind": "Node", "name": node.as_str()},
    });
    let path = format!("{}/binding?timeout={}s", path_of(pod), timeout.as_secs().max(1));
    Request::with_body(Method::POST, path, client::JSON, &body).within(timeout + Duration::from_millis(500))
}

/// The patch of a pod's status: the condition `PodScheduled=False`, the nomination, or both. A condition that
/// keeps its status keeps its instant of transition, as upstream's `UpdatePodCondition` has it.
fn status_patch(pod: &ObjectKey, patch: &ConditionPatch, transition: Option<String>) -> Value {
    let mut status = Map::new();
    if let Some(reason) = patch.reason {
        let mut condition = json!({
            "type": "PodScheduled", "status": "False", "reason": reason, "message": patch.message,
        });
        if patch.generation != 0 {
            condition["observedGeneration"] = json!(patch.generation);
        }
        if let Some(at) = transition {
            condition["lastTransitionTime"] = json!(at);
        }
        status.insert("conditions".into(), json!([condition]));
    }
    if let Some(node) = &patch.nominated_node {
        let value = if node.is_empty() { Value::Null } else { json!(node.as_str()) };
        status.insert("nominatedNodeName".into(), value);
    }
    let mut metadata = Map::new();
    if !pod.uid.is_empty() {
        metadata.insert("uid".into(), json!(pod.uid.as_str()));
    }
    if !patch.resource_version.is_empty() {
        metadata.insert("resourceVersion".into(), json!(patch.resource_version));
    }
    json!({"metadata": metadata, "status": status})
}

async fn read(api: &Api, key: &ObjectKey) -> Result<Answer, ApiError> {
    let bytes = match api.send_now(Request::get(path_of(key))).await {
        Ok(bytes) => bytes,
        Err(error) if error.code() == Some(404) => return Ok(Answer::Object(None)),
        Err(error) => return Err(error),
    };
    let object = objects::parse(&key.kind, &bytes).map_err(ApiError::Unreadable)?;
    // Another object under the same name: the one that was asked for is gone.
    let same = key.uid.is_empty() || object.key().uid.is_empty() || object.key().uid == key.uid;
    Ok(Answer::Object(same.then_some(object)))
}

/// The present instant as `metav1.Time`.
pub fn now_rfc3339() -> String {
    let now = jiff::Timestamp::now();
    jiff::Timestamp::from_second(now.as_second()).unwrap_or(now).to_string()
}

/// The present instant as `metav1.MicroTime`.
pub fn now_micro() -> String {
    micro(jiff::Timestamp::now())
}

/// An instant as `metav1.MicroTime`: always six digits of a second.
pub fn micro(at: jiff::Timestamp) -> String {
    format!("{at:.6}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pod() -> ObjectKey {
        ObjectKey { kind: Kind::Pod, namespace: "shop".into(), name: "web-1".into(), uid: "u-1".into() }
    }

    #[test]
    fn a_binding_names_the_uid_and_bounds_the_servers_work() {
        let request = bind(&pod(), &"node-1".into(), &[], Duration::from_secs(4));
        assert_eq!(request.path, "/api/v1/namespaces/shop/pods/web-1/binding?timeout=4s");
        let body: Value = serde_json::from_slice(&request.body).unwrap();
        assert_eq!(body["metadata"]["uid"], "u-1");
        assert_eq!(body["target"]["name"], "node-1");
        assert!(body["metadata"].get("annotations").is_none());
    }

    #[test]
    fn a_status_patch_changes_only_what_it_names() {
        let patch = ConditionPatch {
            reason: Some("Unschedulable"),
            message: "0/1 nodes".into(),
            generation: 3,
            nominated_node: None,
            resource_version: "7".into(),
        };
        let body = status_patch(&pod(), &patch, None);
        assert_eq!(
            body,
            json!({"metadata": {"uid": "u-1", "resourceVersion": "7"}, "status": {"conditions": [
                {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/1 nodes",
                 "observedGeneration": 3}]}})
        );
        let patch = ConditionPatch {
            reason: None,
            message: String::new(),
            generation: 0,
            nominated_node: Some("".into()),
            resource_version: "".into(),
        };
        assert_eq!(status_patch(&pod(), &patch, None)["status"], json!({"nominatedNodeName": null}));
    }

    #[test]
    fn only_what_the_server_refused_or_never_got_certainly_did_not_happen() {
        let status = |code| ApiError::Status {
            code,
            reason: String::new(),
            message: String::new(),
            retry_after: None,
        };
        for code in [400, 401, 403, 404, 409, 422, 429] {
            assert!(matches!(meaning(&status(code)), CallError::Refused { .. }), "{code}");
        }
        for code in [408, 500, 502, 503, 504] {
            assert!(matches!(meaning(&status(code)), CallError::Unknown(_)), "{code}");
        }
        assert!(matches!(meaning(&ApiError::NotSent(String::new())), CallError::Refused { .. }));
        assert!(matches!(meaning(&ApiError::Lost(String::new())), CallError::Unknown(_)));
    }

    #[test]
    fn instants_are_written_as_kubernetes_reads_them() {
        let at = jiff::Timestamp::from_microsecond(1_700_000_000_120_000).unwrap();
        assert_eq!(micro(at), "2023-11-14T22:13:20.120000Z");
        assert!(!now_rfc3339().contains('.'));
    }
}
