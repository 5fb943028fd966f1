//! Who may read the pages of the secure port that are not health checks. The API server decides
//! (TokenReview, then SubjectAccessReview), as for kube-scheduler. `access_cache` remembers its
//! answers, and `review_limit` bounds the number of reviews.

pub use super::access_cache::CacheTtl;
use super::access_cache::{Answers, Credentials};
use super::review_limit::ReviewLimit;
use crate::api::client::{Api, ApiError, JSON, Request};
use crate::api::limiter::Class;
use crate::inputs::watch::rule;
use http::{HeaderMap, Method, StatusCode, header};
use k8s_openapi::api::authentication::v1::{TokenReview, TokenReviewSpec, UserInfo};
use k8s_openapi::api::authorization::v1::{
    NonResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec,
};
use rustls::pki_types::CertificateDer;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// Why a request is refused.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Refusal {
    /// The HTTP status.
    pub status: StatusCode,
    /// The body of the response.
    pub message: String,
    /// When the caller may try again, in seconds, for the header `Retry-After`.
    pub retry_after: Option<u64>,
}

impl Refusal {
    /// A refusal that lasts.
    pub(crate) fn new(status: StatusCode, message: impl Into<String>) -> Self {
        Self { status, message: message.into(), retry_after: None }
    }

    /// There are too many reviews at the moment.
    fn busy() -> Self {
        let message = "too many requests whose sender must be reviewed; try again later";
        Self { retry_after: Some(1), ..Self::new(StatusCode::TOO_MANY_REQUESTS, message) }
    }
}

/// The client certificate of a connection.
pub(crate) struct Peer<'c> {
    /// The certificate, which one of the authorities signed.
    pub certificate: &'c CertificateDer<'c>,
    /// The user that it names.
    pub user: &'c UserInfo,
}

/// Asks the API server who may do what, and remembers the answers.
pub(crate) struct Access {
    authentication: Api,
    authorization: Api,
    answers: Mutex<Answers<Refusal>>,
    limit: ReviewLimit,
}

impl Access {
    /// `authentication` tells who a token belongs to, `authorization` what that user may do.
    pub(crate) fn new(authentication: Api, authorization: Api, ttl: CacheTtl) -> Self {
        let (answers, limit) = (Mutex::new(Answers::new(ttl)), ReviewLimit::new(Instant::now()));
        Self { authentication, authorization, answers, limit }
    }

    /// Whether the sender of these headers may send `verb`, such as `get`, to `path`. `peer` is the verified client certificate
    /// and comes before a bearer token; without either the sender is anonymous.
    pub(crate) async fn check(
        &self,
        headers: &HeaderMap,
        peer: Option<Peer<'_>>,
        (verb, path): (&str, &str),
    ) -> Result<(), Refusal> {
        let token = bearer(headers);
        let credentials = match (&peer, token) {
            (Some(peer), _) => Credentials::certificate(peer.certificate),
            (None, Some(token)) => Credentials::token(token),
            (None, None) => Credentials::Anonymous,
        };
        let asked = (credentials, format!("{verb} {path}"));
        let (answer, known) = {
            let (answers, now) = (self.answers(), Instant::now());
            (answers.get(&asked, now), answers.knows(&asked, now))
        };
        if let Some(answer) = answer {
            return answer.map_or(Ok(()), Err);
        }
        if let Some(seconds) = self.paused() {
            return Err(Refusal { retry_after: Some(seconds), ..Refusal::busy() });
        }
        let Some(_open) = self.limit.begin(known, Instant::now()) else { return Err(Refusal::busy()) };
        let answer = self.review(token, peer.map(|peer| peer.user), (verb, path)).await;
        // A review that failed says nothing about the sender.
        if !matches!(&answer, Err(refusal) if refusal.status == StatusCode::INTERNAL_SERVER_ERROR) {
            self.answers().put(asked, answer.clone().err(), Instant::now());
        }
        answer
    }

    /// For how many seconds the API server wants no reviews. A caller that waited so long would keep a
    /// place from others.
    fn paused(&self) -> Option<u64> {
        let now = tokio::time::Instant::now();
        let ends =
            [&self.authentication, &self.authorization].map(|api| api.limits().paused(Class::Review, now));
        let end = ends.into_iter().flatten().max()?;
        Some(end.saturating_duration_since(now).as_secs() + 1)
    }

    fn answers(&self) -> std::sync::MutexGuard<'_, Answers<Refusal>> {
        self.answers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn review(
        &self,
        token: Option<&str>,
        peer: Option<&UserInfo>,
        (verb, path): (&str, &str),
    ) -> Result<(), Refusal> {
        let user = match (peer, token) {
            (Some(user), _) => user.clone(),
            (None, Some(token)) => self.user_of(token).await?,
            (None, None) => UserInfo {
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
                verb: Some(verb.to_owned()),
            }),
            ..SubjectAccessReviewSpec::default()
        };
        let review = SubjectAccessReview { spec, ..SubjectAccessReview::default() };
        let group = ("authorization.k8s.io", "subjectaccessreviews");
        let answer: SubjectAccessReview = create(&self.authorization, group, &review).await?;
        if answer.status.is_some_and(|status| status.allowed) {
            return Ok(());
        }
        let message = format!("forbidden: User \"{name}\" cannot {verb} path \"{path}\"");
        Err(Refusal::new(StatusCode::FORBIDDEN, message))
    }

    async fn user_of(&self, token: &str) -> Result<UserInfo, Refusal> {
        let spec = TokenReviewSpec { token: Some(token.to_owned()), ..TokenReviewSpec::default() };
        let review = TokenReview { spec, ..TokenReview::default() };
        let group = ("authentication.k8s.io", "tokenreviews");
        let answer: TokenReview = create(&self.authentication, group, &review).await?;
        match answer.status {
            Some(status) if status.authenticated == Some(true) => Ok(status.user.unwrap_or_default()),
            _ => Err(Refusal::new(StatusCode::UNAUTHORIZED, "Unauthorized")),
        }
    }
}

/// The bearer token of a request.
///
/// Source: `apiserver/pkg/authentication/request/bearertoken`.
pub(crate) fn bearer(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(header::AUTHORIZATION)?.to_str().ok()?.trim();
    let (scheme, token) = value.split_once(' ')?;
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token)
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
        let message = format!("cannot review your credentials: {error}");
        Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, message)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::client::Target;
    use std::io::{BufRead, Read, Write};
    use std::time::Duration;

    #[test]
    fn tokens_are_read_as_upstream_reads_them() {
        let of = |text: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::AUTHORIZATION, text.parse().unwrap());
            bearer(&headers).map(str::to_owned)
        };
        assert_eq!(of("Bearer abc"), Some("abc".into()));
        assert_eq!(of("bearer abc "), Some("abc".into()));
        for none in ["Bearer", "Bearer ", "Basic abc", "abc", ""] {
            assert_eq!(of(none), None, "{none}");
        }
    }

    /// An API server that counts reviews, never finishes those of the token `hang`, and allows
    /// everything.
    fn server(reviews: &std::sync::Arc<std::sync::atomic::AtomicUsize>) -> String {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let reviews = std::sync::Arc::clone(reviews);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let (mut stream, reviews) = (stream.unwrap(), std::sync::Arc::clone(&reviews));
                std::thread::spawn(move || {
                    let mut lines = std::io::BufReader::new(stream.try_clone().unwrap());
                    loop {
                        let (mut length, mut line) = (0, String::new());
                        while lines.read_line(&mut line).is_ok_and(|read| read > 2) {
                            if let Some(value) = line.to_lowercase().strip_prefix("content-length: ") {
                                length = value.trim().parse().unwrap();
                            }
                            line.clear();
                        }
                        let mut body = vec![0; length];
                        if length == 0 || lines.read_exact(&mut body).is_err() {
                            return;
                        }
                        let text = String::from_utf8(body).unwrap();
                        if text.contains("hang") {
                            std::thread::sleep(Duration::from_secs(3));
                        }
                        reviews.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
                        let body = r#"{"spec":{},"status":{"authenticated":true,"user":{"username":"u"},"allowed":true}}"#;
                        let head = "HTTP/1.1 201 Created\r\nContent-Type: application/json\r\nContent-Length";
                        let _ = write!(stream, "{head}: {}\r\n\r\n{body}", body.len());
                    }
                });
            }
        });
        url
    }

    #[tokio::test]
    async fn a_flood_of_unknown_callers_leaves_known_ones_alone() {
        let reviews = std::sync::Arc::default();
        let target = Target { master: Some(server(&reviews)), ..Target::default() };
        let api = Api::new(&target).await.unwrap();
        let ttl = CacheTtl { allowed: Duration::from_secs(60), refused: Duration::from_secs(60) };
        let access = std::sync::Arc::new(Access::new(api.clone(), api, ttl));
        let of = |token: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::AUTHORIZATION, format!("Bearer {token}").parse().unwrap());
            headers
        };
        assert_eq!(access.check(&of("scraper"), None, ("get", "/metrics")).await, Ok(()));
        let flood: Vec<_> = (0..300)
            .map(|at| {
                let (access, headers) = (std::sync::Arc::clone(&access), of(&format!("hang-{at}")));
                tokio::spawn(async move { access.check(&headers, None, ("get", "/metrics")).await })
            })
            .collect();
        let mut open = 0;
        for one in flood {
            match tokio::time::timeout(Duration::from_millis(20), one).await {
                Ok(answer) => assert_eq!(answer.unwrap(), Err(Refusal::busy())),
                Err(_) => open += 1,
            }
        }
        assert!(open <= 16 && open > 0, "{open} reviews are open");
        let before = reviews.load(std::sync::atomic::Ordering::SeqCst);
        assert_eq!(access.check(&of("scraper"), None, ("get", "/metrics")).await, Ok(()));
        assert_eq!(reviews.load(std::sync::atomic::Ordering::SeqCst), before, "the answer was remembered");
    }
}
