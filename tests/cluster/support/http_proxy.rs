//! A proxy on 127.0.0.1 before an API server that reads the requests: it can answer those of its
//! rules itself, with a status such as 429, and delay the others. It serves plain HTTP; clients show
//! their bearer tokens, which it passes on. Faults of connections are in `proxy`.

use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::response::Response;
use http::{HeaderName, Method, StatusCode, header};
use serde_json::json;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

/// An answer to the next requests of this method whose path and query have this part.
#[derive(Clone, Debug)]
pub(crate) struct Rule {
    pub method: Method,
    pub part: String,
    pub status: u16,
    /// `reason` of the `metav1.Status`.
    pub reason: &'static str,
    pub message: String,
    /// `Retry-After`, in seconds.
    pub retry_after: Option<u32>,
    /// The number of requests that get it.
    pub times: usize,
}

impl Rule {
    /// Answers requests of this kind with 429, as the server's priority and fairness does.
    pub(crate) fn throttles(method: Method, part: &str, retry_after: u32) -> Self {
        Self {
            retry_after: Some(retry_after),
            ..Self::fails(method, part, 429, "TooManyRequests", "Too many requests, please try again later.")
        }
    }

    /// Answers requests of this kind with an error.
    pub(crate) fn fails(
        method: Method,
        part: &str,
        status: u16,
        reason: &'static str,
        message: &str,
    ) -> Self {
        Self {
            method,
            part: part.to_owned(),
            status,
            reason,
            message: message.to_owned(),
            retry_after: None,
            times: usize::MAX,
        }
    }

    /// The same for so many requests.
    pub(crate) fn times(self, times: usize) -> Self {
        Self { times, ..self }
    }
}

/// A request that came.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub at: Instant,
    pub method: Method,
    /// Path and query.
    pub path: String,
    /// The status, if a rule answered.
    pub ruled: Option<u16>,
    /// When the head of the answer was passed on.
    pub ended: Option<Instant>,
}

#[derive(Debug, Default)]
struct Shared {
    rules: Vec<Rule>,
    seen: Vec<Seen>,
    delay: Duration,
}

/// A running proxy; it ends when dropped.
#[derive(Debug)]
pub(crate) struct HttpProxy {
    port: u16,
    shared: Arc<Mutex<Shared>>,
    _runtime: tokio::runtime::Runtime,
}

#[derive(Clone)]
struct Forward {
    client: kube::Client,
    shared: Arc<Mutex<Shared>>,
}

impl HttpProxy {
    /// Passes requests on to the server of this URL, whatever its certificate.
    ///
    /// # Panics
    ///
    /// If the machine has no free port.
    pub(crate) fn start(to: &str) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .expect("threads");
        let shared = Arc::new(Mutex::new(Shared::default()));
        let mut config = kube::Config::new(to.parse().expect("a URL"));
        (config.accept_invalid_certs, config.default_retry) = (true, false);
        let port = runtime.block_on(async {
            let client = kube::Client::try_from(config).expect("a client");
            let forward = Forward { client, shared: Arc::clone(&shared) };
            let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await.expect("a free port");
            let port = listener.local_addr().expect("its number").port();
            let service = axum::Router::new().fallback(pass).with_state(forward);
            tokio::spawn(async move { axum::serve(listener, service).await });
            port
        });
        Self { port, shared, _runtime: runtime }
    }

    /// `http://127.0.0.1:PORT`, for `ControlPlane::kubeconfig_at`.
    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Adds a rule. The first rule that fits answers.
    pub(crate) fn rule(&self, rule: Rule) {
        self.shared().rules.push(rule);
    }

    /// Removes all rules.
    pub(crate) fn pass_all(&self) {
        self.shared().rules.clear();
    }

    /// Delays each request before it is passed on or answered.
    pub(crate) fn delay(&self, delay: Duration) {
        self.shared().delay = delay;
    }

    /// The requests of this method so far whose path and query have this part.
    pub(crate) fn seen(&self, method: &Method, part: &str) -> Vec<Seen> {
        let shared = self.shared();
        shared
            .seen
            .iter()
            .filter(|seen| seen.method == *method && seen.path.contains(part))
            .cloned()
            .collect()
    }

    fn shared(&self) -> MutexGuard<'_, Shared> {
        locked(&self.shared)
    }
}

fn locked(shared: &Mutex<Shared>) -> MutexGuard<'_, Shared> {
    shared.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

async fn pass(State(forward): State<Forward>, request: Request) -> Response {
    let path = request.uri().path_and_query().map_or_else(String::new, ToString::to_string);
    let (rule, delay, number) = {
        let mut shared = locked(&forward.shared);
        let fits = |rule: &&mut Rule| {
            rule.times > 0 && rule.method == *request.method() && path.contains(&rule.part)
        };
        let rule = shared.rules.iter_mut().find(fits).map(|rule| {
            rule.times -= 1;
            rule.clone()
        });
        let seen = Seen {
            at: Instant::now(),
            method: request.method().clone(),
            path: path.clone(),
            ruled: rule.as_ref().map(|rule| rule.status),
            ended: None,
        };
        shared.seen.push(seen);
        (rule, shared.delay, shared.seen.len() - 1)
    };
    tokio::time::sleep(delay).await;
    let response = match rule {
        Some(rule) => answer(&rule),
        None => forwarded(&forward.client, path, request).await.unwrap_or_else(|| {
            // The connection to the server broke.
            let mut response = Response::new(Body::empty());
            *response.status_mut() = StatusCode::BAD_GATEWAY;
            response
        }),
    };
    if let Some(seen) = locked(&forward.shared).seen.get_mut(number) {
        seen.ended = Some(Instant::now());
    }
    response
}

async fn forwarded(client: &kube::Client, path: String, request: Request) -> Option<Response> {
    let (parts, body) = request.into_parts();
    let body: Bytes = axum::body::to_bytes(body, usize::MAX).await.ok()?;
    let mut sent = http::Request::builder().method(parts.method).uri(path);
    for (name, value) in &parts.headers {
        if !hop_by_hop(name) {
            sent = sent.header(name, value);
        }
    }
    let answer = client.send(sent.body(kube::client::Body::from(body.to_vec())).ok()?).await.ok()?;
    let (mut parts, body) = answer.into_parts();
    for name in [header::CONNECTION, header::TRANSFER_ENCODING, header::CONTENT_LENGTH] {
        parts.headers.remove(name);
    }
    Some(Response::from_parts(parts, Body::new(body)))
}

/// Whether a header belongs to the connection between client and proxy.
fn hop_by_hop(name: &HeaderName) -> bool {
    [
        header::HOST,
        header::CONNECTION,
        header::TRANSFER_ENCODING,
        header::CONTENT_LENGTH,
        header::ACCEPT_ENCODING,
    ]
    .contains(name)
}

fn answer(rule: &Rule) -> Response {
    let status = json!({
        "apiVersion": "v1", "kind": "Status", "status": "Failure", "code": rule.status, "reason": rule.reason,
        "message": rule.message, "details": {"retryAfterSeconds": rule.retry_after},
    });
    let mut response =
        Response::builder().status(rule.status).header(header::CONTENT_TYPE, "application/json");
    if let Some(after) = rule.retry_after {
        response = response.header(header::RETRY_AFTER, after);
    }
    response.body(Body::from(status.to_string())).expect("a response")
}
