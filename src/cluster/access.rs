//! Who may ask our own port for what is not health: the API server decides (TokenReview, then SubjectAccessReview),
//! as for kube-scheduler. Answers are kept for a short time.

use super::client::{Api, ApiError, JSON, Request};
use super::watch::rule;
use http::{HeaderMap, Method, StatusCode, header};
use rustc_hash::FxHashMap;
use serde_json::{Value, json};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How long answers count.
#[derive(Clone, Copy, Debug)]
pub struct Kept {
    /// That a request is allowed.
    pub allowed: Duration,
    /// That it is refused.
    pub refused: Duration,
}

impl Default for Kept {
    fn default() -> Self {
        Self { allowed: Duration::from_secs(10), refused: Duration::from_secs(10) }
    }
}

/// Answers that are kept, at most.
const MOST: usize = 1_000;

/// Why a request is refused.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Refusal {
    /// The HTTP status.
    pub status: StatusCode,
    /// What to tell.
    pub message: String,
}

/// Answers by token and path: when they came, and the refusal.
type Known = FxHashMap<(String, String), (Instant, Option<Refusal>)>;

/// Asks the API server who may do what, and remembers for a short time.
pub struct Access {
    authentication: Api,
    authorization: Api,
    kept: Kept,
    /// By token and path.
    known: Mutex<Known>,
}

impl Access {
    /// `authentication` is asked who a token belongs to, `authorization` what its owner may do.
    pub fn new(authentication: Api, authorization: Api, kept: Kept) -> Self {
        Self { authentication, authorization, kept, known: Mutex::new(FxHashMap::default()) }
    }

    /// Whether the sender of these headers may GET `path`: the user of a client certificate that was verified, else
    /// the owner of the token, else nobody.
    pub async fn check(&self, headers: &HeaderMap, peer: Option<&Value>, path: &str) -> Result<(), Refusal> {
        let token = headers
            .get(header::AUTHORIZATION)
            .and_then(|value| value.to_str().ok()?.strip_prefix("Bearer "))
            .map(|token| token.trim().to_owned());
        let who = match peer {
            // No token begins like this.
            Some(user) => user.to_string(),
            None => token.clone().unwrap_or_default(),
        };
        let key = (who, path.to_owned());
        if let Some((at, answer)) = self.known().get(&key)
            && at.elapsed() < if answer.is_some() { self.kept.refused } else { self.kept.allowed }
        {
            return answer.clone().map_or(Ok(()), Err);
        }
        let answer = self.ask(token, peer, path).await;
        // A review that could not be made is no answer to keep.
        if !matches!(&answer, Err(refusal) if refusal.status == StatusCode::INTERNAL_SERVER_ERROR) {
            let mut known = self.known();
            if known.len() >= MOST {
                known.clear();
            }
            known.insert(key, (Instant::now(), answer.clone().err()));
        }
        answer
    }

    fn known(&self) -> std::sync::MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn ask(&self, token: Option<String>, peer: Option<&Value>, path: &str) -> Result<(), Refusal> {
        let user = match (peer, token) {
            (Some(user), _) => user.clone(),
            (None, Some(token)) => self.user_of(&token).await?,
            (None, None) => json!({"username": "system:anonymous", "groups": ["system:unauthenticated"]}),
        };
        let name = user["username"].as_str().unwrap_or_default().to_owned();
        let review = json!({
            "apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview",
            "spec": {
                "user": name, "groups": user["groups"], "uid": user["uid"], "extra": user["extra"],
                "nonResourceAttributes": {"path": path, "verb": "get"},
            },
        });
        let path_of = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
        let answer = review_of(&self.authorization, path_of, &review).await?;
        if answer["status"]["allowed"] == true {
            return Ok(());
        }
        Err(Refusal {
            status: StatusCode::FORBIDDEN,
            message: format!("forbidden: User \"{name}\" cannot get path \"{path}\""),
        })
    }

    async fn user_of(&self, token: &str) -> Result<Value, Refusal> {
        let review = json!({
            "apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {"token": token},
        });
        let path = "/apis/authentication.k8s.io/v1/tokenreviews";
        let mut answer = review_of(&self.authentication, path, &review).await?;
        if answer["status"]["authenticated"] == true {
            return Ok(answer["status"]["user"].take());
        }
        Err(Refusal { status: StatusCode::UNAUTHORIZED, message: "Unauthorized".into() })
    }
}

async fn review_of(api: &Api, path: &str, review: &Value) -> Result<Value, Refusal> {
    let request = Request::with_body(Method::POST, path, JSON, review);
    api.call(request).await.map_err(|error: ApiError| {
        let help = match error.code() {
            Some(403) => {
                let [authentication, authorization] = [
                    ("authentication.k8s.io", "tokenreviews"),
                    ("authorization.k8s.io", "subjectaccessreviews"),
                ]
                .map(|(group, resource)| rule(group, &[resource], &["create"]));
                let rule = if path.ends_with("tokenreviews") { authentication } else { authorization };
                format!("; add this rule to the role: {rule}")
            }
            _ => String::new(),
        };
        tracing::warn!(%error, "cannot ask the API server who may see our pages{help}");
        Refusal {
            status: StatusCode::INTERNAL_SERVER_ERROR,
            message: format!("cannot ask the API server who you are: {error}"),
        }
    })
}
