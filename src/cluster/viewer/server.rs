//! The port of `bayplan ui`, on 127.0.0.1 alone. Who does not know the secret in the address, or comes by another name of
//! the host or from another page, is answered 403, whatever the path: another page in the same browser can neither read nor
//! ask. Every answer forbids the browser to keep it, to name it to others and to load anything else.
//!
//! A tab asks for what is newer than what it shows, and is answered when there is something: this holds one connection for
//! each tab that is in sight, and needs nothing but HTTP. An answer is a line of JSON and a packed document, or nothing.

use super::desk::{Answer, Desk, Shown};
use super::follower::Follower;
use crate::port::connections::{Connections, Limits};
use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::response::Response;
use futures::FutureExt;
use futures::future::BoxFuture;
use futures::stream::{FuturesUnordered, StreamExt};
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use serde_json::json;
use std::net::{Ipv4Addr, SocketAddr};
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;

/// The longest question, in bytes.
const BODY: usize = 1024 * 1024;
/// How long a question may take to arrive.
const ARRIVAL: Duration = Duration::from_secs(15);
/// How long a tab waits for news until it asks again.
const HOLD: Duration = Duration::from_secs(10);
/// How many bytes of random numbers the secret has.
const SECRET: usize = 16;
/// What other answers than the page allow the browser.
const NOTHING: &str = "default-src 'none'; frame-ancestors 'none'";

/// The page, which asks for documents.
#[derive(Clone, Debug)]
pub struct Page {
    /// Its text.
    pub html: String,
    /// Its content security policy.
    pub policy: String,
}

/// Why the page cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The port cannot be listened on.
    #[error("cannot listen on 127.0.0.1:{port}: {why}; choose another `--port`, or none for a free one")]
    Listen {
        /// The port.
        port: u16,
        /// The system's message.
        why: std::io::Error,
    },
    /// The system has no random numbers.
    #[error("the system has no random numbers for a secret address")]
    Random,
}

/// A bound port.
pub(super) struct Server {
    listener: TcpListener,
    port: u16,
    secret: String,
}

struct Shared {
    page: Page,
    desk: Desk,
    follower: Option<Follower>,
    port: u16,
    secret: String,
}

impl Server {
    /// Binds the port; 0 chooses a free one.
    pub(super) async fn bind(port: u16) -> Result<Self, ServeError> {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let listener = TcpListener::bind(address).await.map_err(|why| ServeError::Listen { port, why })?;
        let port = listener.local_addr().map_err(|why| ServeError::Listen { port, why })?.port();
        let mut bytes = [0; SECRET];
        aws_lc_rs::rand::fill(&mut bytes).map_err(|_| ServeError::Random)?;
        let secret = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        Ok(Self { listener, port, secret })
    }

    /// Where the page is.
    pub(super) fn address(&self) -> String {
        format!("http://127.0.0.1:{}/{}/", self.port, self.secret)
    }

    /// Answers until the process ends.
    pub(super) async fn serve(self, page: Page, desk: Desk, follower: Option<Follower>) {
        let Self { listener, port, secret } = self;
        let shared = Arc::new(Shared { page, desk, follower, port, secret });
        let app = Router::new().fallback(answer).with_state(shared);
        let connections = Connections::new(Limits::default());
        let mut open: FuturesUnordered<BoxFuture<'static, ()>> = FuturesUnordered::new();
        loop {
            let accepted = tokio::select! {
                accepted = listener.accept() => accepted,
                Some(()) = open.next() => continue,
            };
            let Ok((stream, _)) = accepted else {
                // Usually out of file descriptors; other connections end soon.
                tokio::time::sleep(Duration::from_millis(100)).await;
                continue;
            };
            let Some(connection) = connections.admit() else { continue };
            let app = app.clone();
            let served = async move { connection.within(connection.serve(stream, app)).await };
            open.push(AssertUnwindSafe(served).catch_unwind().map(drop).boxed());
        }
    }
}

/// Answers a request, or refuses it. Its path matters only where it may ask at all.
async fn answer(State(shared): State<Arc<Shared>>, request: Request) -> Response {
    let path = request.uri().path();
    let Some(below) = allowed(&shared, request.headers(), path) else {
        return text(StatusCode::FORBIDDEN, "403: this address is not the one that `bayplan ui` printed\n");
    };
    match (request.method().clone(), below) {
        (Method::GET, "") => {
            let mut response =
                made(StatusCode::OK, "text/html; charset=utf-8", shared.page.html.clone().into());
            if let Ok(policy) = HeaderValue::from_str(&shared.page.policy) {
                response.headers_mut().insert(header::CONTENT_SECURITY_POLICY, policy);
            }
            response
        }
        (Method::GET, "document") => news(&shared, seen(request.uri().query())).await,
        (Method::POST, "what-if") => what_if(&shared, request).await,
        _ => text(StatusCode::NOT_FOUND, "404: there is nothing here\n"),
    }
}

/// The path below the secret, if the request comes from the page, or is the first one for it.
fn allowed<'p>(shared: &Shared, headers: &HeaderMap, path: &'p str) -> Option<&'p str> {
    let of = |name: HeaderName| {
        let mut all = headers.get_all(name).iter();
        let first = all.next().map(|value| value.to_str().unwrap_or_default().to_owned());
        // Two values are none that a browser sends.
        if all.next().is_some() { Some(String::new()) } else { first }
    };
    let hosts = ["127.0.0.1", "localhost"].map(|name| format!("{name}:{}", shared.port));
    let host = of(header::HOST).filter(|host| hosts.contains(host))?;
    if of(header::ORIGIN).is_some_and(|origin| origin != format!("http://{host}")) {
        return None;
    }
    let (secret, below) = path.strip_prefix('/')?.split_once('/')?;
    let known =
        aws_lc_rs::constant_time::verify_slices_are_equal(secret.as_bytes(), shared.secret.as_bytes());
    known.ok().map(|()| below)
}

/// The number in `after=NUMBER`.
fn seen(query: Option<&str>) -> u64 {
    query.and_then(|query| query.strip_prefix("after=")?.parse().ok()).unwrap_or(0)
}

/// What is newer than what a tab has seen, as soon as there is something.
async fn news(shared: &Shared, seen: u64) -> Response {
    let tab = shared.desk.open_tab();
    let mut news = shared.desk.subscribe();
    // A number from another run of the program is not one of ours.
    let seen = if seen > *news.borrow() { 0 } else { seen };
    // Elapsed: the tab learns that the program is there.
    let _ = tokio::time::timeout(HOLD, news.wait_for(|news| *news > seen)).await;
    drop(tab);
    let at = *news.borrow();
    let Shown { at: made_at, document, problem, notes } = shared.desk.shown();
    let lost = shared.follower.as_ref().and_then(Follower::lost);
    let lost = lost.map(|(since, why)| json!({"seconds": since.elapsed().as_secs_f64(), "why": why}));
    let newer = made_at > seen;
    let head = json!({
        "at": at,
        "document": newer,
        "lost": lost,
        "problem": problem,
        "notes": notes,
    });
    framed(&Answer { head, document: if newer { document.to_vec() } else { Vec::new() } })
}

/// Asks the thread that computes.
async fn what_if(shared: &Shared, request: Request) -> Response {
    // A form of another page cannot send this type.
    let json = request.headers().get(header::CONTENT_TYPE).is_some_and(|of| of == "application/json");
    if !json {
        return text(StatusCode::UNSUPPORTED_MEDIA_TYPE, "415: a question is application/json\n");
    }
    let body = match tokio::time::timeout(ARRIVAL, to_bytes(request.into_body(), BODY)).await {
        Ok(Ok(body)) => body.to_vec(),
        Ok(Err(_)) => return text(StatusCode::PAYLOAD_TOO_LARGE, "413: the texts have more than 1 MiB\n"),
        Err(_) => return text(StatusCode::REQUEST_TIMEOUT, "408: the question takes too long to arrive\n"),
    };
    let _tab = shared.desk.open_tab();
    let Some(answer) = shared.desk.ask(body) else {
        return text(StatusCode::TOO_MANY_REQUESTS, "429: other questions are being answered\n");
    };
    match answer.await {
        Ok(answer) => framed(&answer),
        Err(_) => text(StatusCode::SERVICE_UNAVAILABLE, "503: the question cannot be answered\n"),
    }
}

/// A line of JSON, and the document behind it.
fn framed(answer: &Answer) -> Response {
    let mut body = answer.head.to_string().into_bytes();
    body.push(b'\n');
    body.extend_from_slice(&answer.document);
    made(StatusCode::OK, "application/octet-stream", body.into())
}

fn text(status: StatusCode, body: &'static str) -> Response {
    made(status, "text/plain; charset=utf-8", body.into())
}

/// An answer with what all of them have.
fn made(status: StatusCode, content: &'static str, body: Body) -> Response {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    let fixed = [
        (header::CONTENT_TYPE, content),
        (header::CONTENT_SECURITY_POLICY, NOTHING),
        (header::CACHE_CONTROL, "no-store"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    ];
    for (name, value) in fixed {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shared() -> Shared {
        let page = Page { html: String::new(), policy: String::new() };
        Shared { page, desk: Desk::new(), follower: None, port: 7, secret: "s3cret".to_owned() }
    }

    fn headers(of: &[(HeaderName, &'static str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in of {
            headers.append(name, HeaderValue::from_static(value));
        }
        headers
    }

    #[test]
    fn only_the_page_and_who_knows_its_address_may_ask() {
        let shared = shared();
        let own = [(header::HOST, "127.0.0.1:7")];
        let may = |of: &[(HeaderName, &'static str)], path| allowed(&shared, &headers(of), path);
        assert_eq!(may(&own, "/s3cret/"), Some(""));
        assert_eq!(may(&own, "/s3cret/document"), Some("document"));
        assert_eq!(may(&[(header::HOST, "localhost:7")], "/s3cret/"), Some(""));
        for path in
            ["/", "/s3cret", "/s3cre/", "/s3crets/document", "/other/document", "//s3cret/", "/S3CRET/"]
        {
            assert_eq!(may(&own, path), None, "{path}");
        }
        for host in ["127.0.0.1", "127.0.0.1:8", "evil.example:7", "evil.example", "localhost:7.evil.example"]
        {
            assert_eq!(may(&[(header::HOST, host)], "/s3cret/"), None, "{host}");
        }
        assert_eq!(may(&[], "/s3cret/"), None);
        assert_eq!(may(&[own[0].clone(), own[0].clone()], "/s3cret/"), None);
        let from = |origin| may(&[own[0].clone(), (header::ORIGIN, origin)], "/s3cret/what-if");
        assert_eq!(from("http://127.0.0.1:7"), Some("what-if"));
        for origin in ["http://localhost:7", "https://127.0.0.1:7", "http://evil.example", "null", ""] {
            assert_eq!(from(origin), None, "{origin}");
        }
    }

    #[test]
    fn numbers_of_news_are_read_and_anything_else_is_none() {
        assert_eq!(seen(Some("after=12")), 12);
        for query in
            [None, Some(""), Some("after="), Some("after=-1"), Some("x=1&after=2"), Some("after=1e9")]
        {
            assert_eq!(seen(query), 0);
        }
    }

    #[test]
    fn no_answer_may_be_kept_or_framed_or_load_anything() {
        let response = text(StatusCode::FORBIDDEN, "");
        let of = |name: &str| response.headers().get(name).unwrap().to_str().unwrap().to_owned();
        assert_eq!(of("cache-control"), "no-store");
        assert_eq!(of("referrer-policy"), "no-referrer");
        assert!(of("content-security-policy").contains("default-src 'none'"));
    }
}
