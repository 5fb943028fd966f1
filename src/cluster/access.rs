//! Who may read the pages of the secure port that are not health checks. The API server decides
//! (TokenReview, then SubjectAccessReview), as for kube-scheduler. Answers are cached for a short
//! time.

use super::client::{Api, ApiError, JSON, Request};
use super::watch::rule;
use http::{HeaderMap, Method, StatusCode, header};
use k8s_openapi::api::authentication::v1::{TokenReview, TokenReviewSpec, UserInfo};
use k8s_openapi::api::authorization::v1::{
    NonResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec,
};
use rustc_hash::FxHashMap;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How long answers of the API server are cached.
#[derive(Clone, Copy, Debug)]
pub struct CacheTtl {
    /// That a request is allowed.
    pub allowed: Duration,
    /// That a request is refused.
    pub refused: Duration,
}

impl Default for CacheTtl {
    fn default() -> Self {
        Self { allowed: Duration::from_secs(10), refused: Duration::from_secs(10) }
    }
}

/// Maximum number of cached answers.
const MOST: usize = 1_000;

/// Why a request is refused.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Refusal {
    /// The HTTP status.
    pub status: StatusCode,
    /// The body of the response.
    pub message: String,
}

/// How a request identifies its sender.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Credentials {
    /// A verified client certificate, as the JSON of its user.
    Certificate(String),
    Token(String),
    Anonymous,
}

/// Answers by credentials and path: when each came, and the refusal, if it was one.
type Answers = FxHashMap<(Credentials, String), (Instant, Option<Refusal>)>;

/// Asks the API server who may do what, and caches the answers.
pub struct Access {
    authentication: Api,
    authorization: Api,
    ttl: CacheTtl,
    cache: Mutex<Answers>,
}

impl Access {
    /// `authentication` tells who a token belongs to, `authorization` what that user may do.
    pub fn new(authentication: Api, authorization: Api, ttl: CacheTtl) -> Self {
        Self { authentication, authorization, ttl, cache: Mutex::new(FxHashMap::default()) }
    }

    /// Whether the sender of these headers may GET `path`. `peer` is the user of a verified client
    /// certificate and comes before a bearer token; without either the sender is anonymous.
    pub async fn check(
        &self,
        headers: &HeaderMap,
        peer: Option<&UserInfo>,
        path: &str,
    ) -> Result<(), Refusal> {
        let token = headers
            .get(header::AUTHORIZATION)
            .and_then(|value| value.to_str().ok()?.strip_prefix("Bearer "))
            .map(|token| token.trim().to_owned());
        let credentials = match (peer, token) {
            (Some(user), _) => Credentials::Certificate(serde_json::json!(user).to_string()),
            (None, Some(token)) => Credentials::Token(token),
            (None, None) => Credentials::Anonymous,
        };
        let key = (credentials, path.to_owned());
        if let Some((at, answer)) = self.cache().get(&key)
            && at.elapsed() < if answer.is_some() { self.ttl.refused } else { self.ttl.allowed }
        {
            return answer.clone().map_or(Ok(()), Err);
        }
        let answer = self.review(&key.0, peer, path).await;
        // A review that failed says nothing about the sender.
        if !matches!(&answer, Err(refusal) if refusal.status == StatusCode::INTERNAL_SERVER_ERROR) {
            let mut cache = self.cache();
            if cache.len() >= MOST {
                cache.clear();
            }
            cache.insert(key, (Instant::now(), answer.clone().err()));
        }
        answer
    }

    fn cache(&self) -> std::sync::MutexGuard<'_, Answers> {
        self.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn review(
        &self,
        credentials: &Credentials,
        peer: Option<&UserInfo>,
        path: &str,
    ) -> Result<(), Refusal> {
        let user = match (peer, credentials) {
            (Some(user), _) => user.clone(),
            (None, Credentials::Token(token)) => self.user_of(token).await?,
            (None, _) => UserInfo {
                username: Some("system:anonymous".to_owned()),
                groups: Some(vec!["system:unauthenticated".to_owned()]),
                ..UserInfo::default()
            },
        };
        let name = user.username.clone().unwrap_or_default();
        let spec = SubjectAccessReviewSpec {
            user: user.username,
            groups: user.groups,
            uid: user.uid,
            extra: user.extra,
            non_resource_attributes: Some(NonResourceAttributes {
                path: Some(path.to_owned()),
                verb: Some("get".to_owned()),
            }),
            ..SubjectAccessReviewSpec::default()
        };
        let review = SubjectAccessReview { spec, ..SubjectAccessReview::default() };
        let group = ("authorization.k8s.io", "subjectaccessreviews");
        let answer: SubjectAccessReview = create(&self.authorization, group, &review).await?;
        if answer.status.is_some_and(|status| status.allowed) {
            return Ok(());
        }
        Err(Refusal {
            status: StatusCode::FORBIDDEN,
            message: format!("forbidden: User \"{name}\" cannot get path \"{path}\""),
        })
    }

    async fn user_of(&self, token: &str) -> Result<UserInfo, Refusal> {
        let spec = TokenReviewSpec { token: Some(token.to_owned()), ..TokenReviewSpec::default() };
        let review = TokenReview { spec, ..TokenReview::default() };
        let group = ("authentication.k8s.io", "tokenreviews");
        let answer: TokenReview = create(&self.authentication, group, &review).await?;
        match answer.status {
            Some(status) if status.authenticated == Some(true) => Ok(status.user.unwrap_or_default()),
            _ => Err(Refusal { status: StatusCode::UNAUTHORIZED, message: "Unauthorized".into() }),
        }
    }
}

/// Creates a review; the API server answers with its status filled in.
async fn create<T: Serialize + DeserializeOwned>(
    api: &Api,
    (group, resource): (&str, &str),
    review: &T,
) -> Result<T, Refusal> {
    let path = format!("/apis/{group}/v1/{resource}");
    let request = Request::with_body(Method::POST, path, JSON, review);
    api.call(request).await.map_err(|error: ApiError| {
        let help = match error.code() {
            Some(403) => format!("; add this rule to the role: {}", rule(group, &[resource], &["create"])),
            _ => String::new(),
        };
        tracing::warn!(%error, "cannot review who may read the secure port{help}");
        Refusal {
            status: StatusCode::INTERNAL_SERVER_ERROR,
            message: format!("cannot review your credentials: {error}"),
        }
    })
}
