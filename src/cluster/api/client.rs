//! The connection to the API server: how to find it, single calls, and their possible outcomes.
//! Everything in this room uses it. It retries nothing: only the caller knows whether a call may be
//! repeated (a binding must not be).

use super::credentials::Credentials;
use super::limiter::{Class, Limits};
use http::{Method, StatusCode, header};
use kube::client::Body;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Media type of a JSON body.
pub const JSON: &str = "application/json";
/// The media type of objects as the API server keeps them.
pub(crate) const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";
/// Media type of server-side apply. JSON is YAML.
pub(crate) const APPLY_PATCH: &str = "application/apply-patch+yaml";
/// Media type of an RFC 7386 patch.
pub const MERGE_PATCH: &str = "application/merge-patch+json";
/// Media type of Kubernetes' own patch, which merges lists by their keys.
pub const STRATEGIC_MERGE_PATCH: &str = "application/strategic-merge-patch+json";

/// The header that names the user in whose name a call is made.
const IMPERSONATE_USER: &str = "Impersonate-User";

/// How to find the API server.
#[derive(Clone, Debug, Default)]
pub struct Target {
    /// A kubeconfig file; without it, the service account of our pod.
    pub kubeconfig: Option<PathBuf>,
    /// Whether to look for a kubeconfig as kubectl does, before the service account.
    pub as_kubectl: bool,
    /// A context of the kubeconfig; without it, the current context.
    pub context: Option<String>,
    /// User to impersonate.
    pub impersonate: Option<String>,
    /// The URL of the server, instead of the one in the kubeconfig.
    pub master: Option<String>,
    /// The second part of the user agent, after the program's name.
    pub user_agent: &'static str,
    /// Another server that takes the credentials of the API server.
    pub instead: Option<Elsewhere>,
}

/// A server that takes the credentials of an API server, such as the secure port of a scheduler, and how it is trusted.
#[derive(Clone, Debug, Default)]
pub struct Elsewhere {
    /// Its URL.
    pub url: String,
    /// The authorities of its certificate, instead of those of the API server.
    pub authority: Option<PathBuf>,
    /// The name in its certificate, instead of that of the URL.
    pub name: Option<String>,
    /// Whether any certificate is taken.
    pub trusts_all: bool,
    /// A file with the token, instead of the credentials of the kubeconfig.
    pub token: Option<PathBuf>,
}

/// Why there is no connection.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// The kubeconfig file cannot be read or used.
    #[error("cannot use the kubeconfig `{path}`: {why}")]
    Kubeconfig {
        /// The file.
        path: String,
        /// What is wrong with it.
        why: String,
    },
    /// None of the files of `KUBECONFIG` exists.
    #[error("none of the files that KUBECONFIG names exists: {0}")]
    NoneExists(String),
    /// The kubeconfig does not have the context.
    #[error("the kubeconfig `{path}` has no context `{context}`; {hint}")]
    NoSuchContext {
        /// The files.
        path: String,
        /// The name of the context.
        context: String,
        /// A similar name, or all names.
        hint: String,
    },
    /// No context was given, and the kubeconfig has no current one.
    #[error("the kubeconfig `{path}` has no current context; choose one with `--context`: {known}")]
    NoCurrentContext {
        /// The files.
        path: String,
        /// All names.
        known: String,
    },
    /// Neither a kubeconfig nor a pod's service account.
    #[error(
        "no kubeconfig was given, and no service account of a pod was found ({0}); give `--kubeconfig FILE`"
    )]
    NotInCluster(String),
    /// The address is not a URL.
    #[error("`--master` is `{0}`, which is not a URL such as `https://10.0.0.1:6443`")]
    Master(String),
    /// The address of another server is not a URL.
    #[error("`{0}` is not a URL such as `https://127.0.0.1:10259`")]
    Address(String),
    /// A file of authorities or with a token cannot be used.
    #[error("cannot use the file `{path}`: {why}")]
    File {
        /// The file.
        path: String,
        /// What is wrong with it.
        why: String,
    },
    /// Certificates or credentials that cannot be used.
    #[error("cannot prepare the connection to {server}: {why}")]
    Credentials {
        /// The server.
        server: String,
        /// What is wrong.
        why: String,
    },
}

/// Why a call did not succeed.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ApiError {
    /// The server answered with an error.
    #[error("{message}")]
    Status {
        /// The HTTP status.
        code: u16,
        /// `metav1.Status.reason`.
        reason: String,
        /// `metav1.Status.message`.
        message: String,
        /// How long the server asks us to wait.
        retry_after: Option<Duration>,
    },
    /// The request was not sent: no connection, or no credentials.
    #[error("cannot reach the API server: {0}")]
    NotSent(String),
    /// The request was sent, but no complete answer came.
    #[error("no answer from the API server: {0}")]
    Lost(String),
    /// The answer cannot be decoded.
    #[error("cannot read the API server's answer: {0}")]
    Unreadable(String),
}

impl ApiError {
    /// The HTTP status, when the server answered.
    pub fn code(&self) -> Option<u16> {
        match self {
            Self::Status { code, .. } => Some(*code),
            _ => None,
        }
    }

    /// Whether the server certainly did nothing and refused nothing: it throttled the call, or the
    /// request was not sent. The same call can be sent again.
    pub(crate) fn is_unprocessed(&self) -> bool {
        matches!(self, Self::Status { code: 429, .. } | Self::NotSent(_))
    }

    /// Whether the server could not serve the call: it answered 500 or 503, or cannot be reached.
    pub(crate) fn cannot_serve(&self) -> bool {
        matches!(self, Self::Status { code: 500 | 503, .. } | Self::NotSent(_))
    }

    /// Whether the same call may succeed later. It says nothing about whether a retry is safe.
    pub(crate) fn is_passing(&self) -> bool {
        match self {
            Self::Status { code, .. } => matches!(code, 408 | 409 | 429 | 500..=599),
            Self::NotSent(_) | Self::Lost(_) => true,
            Self::Unreadable(_) => false,
        }
    }
}

/// One API call.
#[derive(Clone, Debug)]
pub struct Request {
    /// The method.
    pub method: Method,
    /// Path and query.
    pub path: String,
    /// Media type of the body.
    pub content: &'static str,
    /// Media type of the answer.
    pub accept: &'static str,
    /// The body; empty for none.
    pub body: Vec<u8>,
    /// How long to wait for the complete answer.
    pub timeout: Duration,
    /// The user in whose name it is made, instead of our own.
    pub as_user: Option<String>,
}

impl Request {
    /// The usual timeout.
    pub(crate) const TIMEOUT: Duration = Duration::from_secs(10);

    /// A GET request.
    pub fn get(path: impl Into<String>) -> Self {
        Self {
            method: Method::GET,
            path: path.into(),
            content: JSON,
            accept: JSON,
            body: Vec::new(),
            timeout: Self::TIMEOUT,
            as_user: None,
        }
    }

    /// A request with a JSON body.
    pub fn with_body(
        method: Method,
        path: impl Into<String>,
        content: &'static str,
        body: &impl Serialize,
    ) -> Self {
        // JSON values and Kubernetes' types always serialize.
        let body = serde_json::to_vec(body).unwrap_or_default();
        Self { method, path: path.into(), content, accept: JSON, body, timeout: Self::TIMEOUT, as_user: None }
    }

    /// This request in the name of a user, which needs the right to impersonate it.
    pub(crate) fn in_the_name_of(mut self, user: String) -> Self {
        self.as_user = Some(user);
        self
    }

    /// This request with another timeout.
    pub fn within(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }
}

/// Receives every finished call, for metrics.
pub(crate) trait Observer: Send + Sync {
    /// A call finished with this HTTP status, or without an answer.
    fn called(&self, method: &Method, server: &str, code: Option<u16>, took: Duration);
}

/// The API server, for calls of one class. Clones share connections and limits.
#[derive(Clone)]
pub struct Api {
    credentials: Arc<Credentials>,
    class: Class,
    limits: Arc<Limits>,
    server: Arc<str>,
    namespace: Arc<str>,
    observer: Option<Arc<dyn Observer>>,
    /// Whether it sends nothing but GET.
    only_reads: bool,
}

impl std::fmt::Debug for Api {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Api({})", self.server)
    }
}

impl Api {
    /// Prepares connections without opening one. Calls are of [`Class::Read`] and have no limit of ours.
    pub async fn new(target: &Target) -> Result<Self, ConnectError> {
        let (credentials, server, namespace) = Credentials::new(target).await?;
        Ok(Self {
            credentials: Arc::new(credentials),
            class: Class::Read,
            limits: Arc::new(Limits::unlimited()),
            server: server.into(),
            namespace: namespace.into(),
            observer: None,
            only_reads: false,
        })
    }

    /// Its connections and their credentials.
    pub(crate) fn credentials(&self) -> &Arc<Credentials> {
        &self.credentials
    }

    /// A client over the connections of this one, with these limits for all classes.
    pub(crate) fn limited_by(&self, limits: Limits) -> Self {
        Self { limits: Arc::new(limits), ..self.clone() }
    }

    /// A client over the connections and limits of this one, for calls of another class.
    pub(crate) fn for_class(&self, class: Class) -> Self {
        Self { class, ..self.clone() }
    }

    /// A client with the limits of this one and connections of its own, which no other call can occupy or break.
    pub(crate) async fn with_own_connections(&self) -> Result<Self, ConnectError> {
        Ok(Self { credentials: Arc::new(self.credentials.beside().await?), ..self.clone() })
    }

    /// A client over the connections of this one that refuses to send anything but GET.
    pub(crate) fn only_reading(&self) -> Self {
        Self { only_reads: true, ..self.clone() }
    }

    /// A client over the connections of this one, with an observer of its calls.
    pub(crate) fn observed_by(&self, observer: Arc<dyn Observer>) -> Self {
        Self { observer: Some(observer), ..self.clone() }
    }

    /// The limits of all classes, for callers that choose among them.
    pub(crate) fn limits(&self) -> &Arc<Limits> {
        &self.limits
    }

    /// The server's URL, for messages.
    pub(crate) fn server(&self) -> &str {
        &self.server
    }

    /// The namespace of the kubeconfig's context, or of our pod.
    pub(crate) fn namespace(&self) -> &str {
        &self.namespace
    }

    /// Makes a call and decodes the answer.
    pub async fn call<T: DeserializeOwned>(&self, request: Request) -> Result<T, ApiError> {
        let bytes = self.send(request).await?;
        serde_json::from_slice(&bytes).map_err(|error| ApiError::Unreadable(error.to_string()))
    }

    /// Makes a call and returns the bytes of the answer. The timeout begins when the limit admits
    /// the call.
    pub async fn send(&self, request: Request) -> Result<Vec<u8>, ApiError> {
        self.limits.acquire(self.class).await;
        self.send_now(request).await
    }

    /// Makes a call without waiting for the limit, for callers that asked [`Api::limits`].
    pub(crate) async fn send_now(&self, request: Request) -> Result<Vec<u8>, ApiError> {
        let (timeout, method, since) = (request.timeout, request.method.clone(), Instant::now());
        if self.only_reads && method != Method::GET {
            return Err(ApiError::NotSent(format!("{method} is not sent over a connection that only reads")));
        }
        let result = match tokio::time::timeout(timeout, self.exchange(request)).await {
            Ok(result) => result,
            Err(_) => Err(ApiError::Lost(format!("no answer within {timeout:?}"))),
        };
        let code = match &result {
            Ok((code, _)) => Some(*code),
            Err(error) => error.code(),
        };
        code.inspect(|code| self.credentials.answered(*code));
        if let Some(observer) = &self.observer {
            observer.called(&method, &self.server, code, since.elapsed());
        }
        result.map(|(_, bytes)| bytes)
    }

    /// The HTTP status and the bytes of a successful answer.
    async fn exchange(&self, request: Request) -> Result<(u16, Vec<u8>), ApiError> {
        let mut built = http::Request::builder()
            .method(request.method)
            .uri(&request.path)
            .header(header::CONTENT_TYPE, request.content)
            .header(header::ACCEPT, request.accept);
        if let Some(user) = &request.as_user {
            built = built.header(IMPERSONATE_USER, user);
        }
        let built =
            built.body(Body::from(request.body)).map_err(|error| ApiError::NotSent(error.to_string()))?;
        let response = self.credentials.client().send(built).await.map_err(|error| outcome(&error))?;
        let (parts, body) = response.into_parts();
        let bytes = body.collect_bytes().await.map_err(|error| ApiError::Lost(deepest(&error)));
        if parts.status.is_success() {
            return bytes.map(|bytes| (parts.status.as_u16(), bytes.into()));
        }
        let retry_after = parts
            .headers
            .get(header::RETRY_AFTER)
            .and_then(|value| value.to_str().ok()?.parse().ok())
            .map(Duration::from_secs);
        if parts.status == StatusCode::TOO_MANY_REQUESTS {
            self.throttled(retry_after);
        }
        let status: kube::core::Status =
            bytes.ok().and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default();
        let message = if status.message.is_empty() {
            format!("the API server answered {}", parts.status)
        } else {
            status.message
        };
        Err(ApiError::Status { code: parts.status.as_u16(), reason: status.reason, message, retry_after })
    }

    /// Reads a page that is not an object, whatever its status: the status, the time in its head, and the text. The time is in
    /// whole seconds.
    pub(crate) async fn page(&self, path: &str) -> Result<Page, ApiError> {
        self.limits.acquire(self.class).await;
        page(&self.credentials.client(), path).await
    }

    /// Opens a watch, which yields changes of objects of type `T` until the server ends it.
    pub(crate) async fn watch<T: DeserializeOwned + Clone>(
        &self,
        path: &str,
    ) -> Result<impl futures::Stream<Item = kube::Result<kube::core::WatchEvent<T>>> + use<T>, ApiError> {
        self.limits.acquire(self.class).await;
        let request = http::Request::builder()
            .uri(path)
            .header(header::ACCEPT, JSON)
            .body(Vec::new())
            .map_err(|error| ApiError::NotSent(error.to_string()))?;
        let opened = self.credentials.client().request_events(request).await.map_err(|error| {
            let error = outcome(&error);
            if let ApiError::Status { code: 429, retry_after, .. } = &error {
                self.throttled(*retry_after);
            }
            error
        });
        let code = opened.as_ref().map_or_else(ApiError::code, |_| Some(200));
        code.inspect(|code| self.credentials.answered(*code));
        opened
    }

    /// The server answered 429: calls of this class wait as long as it asks.
    fn throttled(&self, retry_after: Option<Duration>) {
        self.limits.pause(self.class, retry_after.unwrap_or(Duration::from_secs(1)));
    }
}

/// A page of a server.
#[derive(Clone, Debug)]
pub(crate) struct Page {
    /// The HTTP status.
    pub code: u16,
    /// What its header `Date` says.
    pub date: Option<jiff::Timestamp>,
    /// The text.
    pub text: String,
}

/// Reads a page with a client.
pub(crate) async fn page(client: &kube::Client, path: &str) -> Result<Page, ApiError> {
    let request = http::Request::builder()
        .uri(path)
        .body(Body::empty())
        .map_err(|error| ApiError::NotSent(error.to_string()))?;
    let exchange = async {
        let response = client.send(request).await.map_err(|error| outcome(&error))?;
        let (parts, body) = response.into_parts();
        let bytes = body.collect_bytes().await.map_err(|error| ApiError::Lost(deepest(&error)))?;
        let date = parts.headers.get(header::DATE).and_then(|value| value.to_str().ok());
        let date = date.and_then(|date| jiff::fmt::rfc2822::parse(date).ok()).map(|date| date.timestamp());
        let text = String::from_utf8_lossy(&bytes).into_owned();
        Ok(Page { code: parts.status.as_u16(), date, text })
    };
    let timeout = Request::TIMEOUT;
    let late = || ApiError::Lost(format!("no answer within {timeout:?}"));
    tokio::time::timeout(timeout, exchange).await.unwrap_or_else(|_| Err(late()))
}

pub(super) fn parse_master(master: &str) -> Result<http::Uri, ConnectError> {
    parse_url(master).ok_or_else(|| ConnectError::Master(master.to_owned()))
}

/// The URL of a server.
pub(super) fn parse_url(url: &str) -> Option<http::Uri> {
    let uri: http::Uri = url.parse().ok()?;
    (uri.scheme().is_some() && uri.host().is_some()).then_some(uri)
}

/// Maps a failed exchange to an error that says whether the request can have reached the server.
pub(crate) fn outcome(error: &kube::Error) -> ApiError {
    match error {
        kube::Error::Api(status) => ApiError::Status {
            code: status.code,
            reason: status.reason.clone(),
            message: status.message.clone(),
            retry_after: status
                .details
                .as_ref()
                .map(|details| Duration::from_secs(details.retry_after_seconds.into()))
                .filter(|after| !after.is_zero()),
        },
        kube::Error::Auth(_) | kube::Error::HttpError(_) | kube::Error::BuildRequest(_) => {
            ApiError::NotSent(deepest(error))
        }
        kube::Error::Service(inner) => match inner.downcast_ref::<hyper_util::client::legacy::Error>() {
            Some(inner) if inner.is_connect() => ApiError::NotSent(deepest(error)),
            _ => ApiError::Lost(deepest(error)),
        },
        kube::Error::SerdeError(error) => ApiError::Unreadable(error.to_string()),
        _ => ApiError::Lost(deepest(error)),
    }
}

/// The innermost cause, such as `Connection refused`, without the layers around it.
pub(crate) fn deepest(error: &(dyn std::error::Error + 'static)) -> String {
    let mut at = error;
    while let Some(source) = at.source() {
        at = source;
    }
    match at.downcast_ref::<std::io::Error>() {
        Some(error) if error.kind() == std::io::ErrorKind::TimedOut => "no answer in time".to_owned(),
        _ => at.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn errors_name_the_kubeconfig_or_url() {
        let target = Target { kubeconfig: Some("/nowhere/kubeconfig".into()), ..Target::default() };
        let error = Api::new(&target).await.unwrap_err().to_string();
        assert!(error.starts_with("cannot use the kubeconfig `/nowhere/kubeconfig`: "), "{error}");
        let target = Target { master: Some("no url".into()), ..Target::default() };
        let error = Api::new(&target).await.unwrap_err().to_string();
        assert!(error.contains("`no url`"), "{error}");
    }

    #[tokio::test]
    async fn over_a_refused_connection_nothing_was_sent() {
        let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let target = Target { master: Some(format!("http://{free}")), ..Target::default() };
        let api = Api::new(&target).await.unwrap();
        let error = api.send(Request::get("/version")).await.unwrap_err();
        assert!(matches!(&error, ApiError::NotSent(why) if why.contains("refused")), "{error:?}");
    }

    #[tokio::test]
    async fn a_connection_that_only_reads_sends_nothing_else() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let target = Target {
            master: Some(format!("http://{}", listener.local_addr().unwrap())),
            ..Target::default()
        };
        let api = Api::new(&target).await.unwrap().only_reading();
        for method in [Method::POST, Method::PUT, Method::PATCH, Method::DELETE] {
            let request = Request::with_body(method, "/api/v1/pods", JSON, &serde_json::json!({}));
            let error = api.send(request.within(Duration::from_secs(5))).await.unwrap_err();
            assert!(matches!(&error, ApiError::NotSent(why) if why.contains("only reads")), "{error:?}");
        }
        assert!(listener.accept().is_err(), "not even a connection was opened");
    }

    #[tokio::test]
    async fn a_timeout_means_a_lost_answer() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let target = Target {
            master: Some(format!("http://{}", listener.local_addr().unwrap())),
            ..Target::default()
        };
        let api = Api::new(&target).await.unwrap();
        let request = Request::get("/version").within(Duration::from_millis(50));
        let error = api.send(request).await.unwrap_err();
        assert!(matches!(error, ApiError::Lost(_)), "{error:?}");
    }
}
