//! The secure port: `/livez`, `/readyz` and `/healthz` for everybody, all other pages for users that
//! the API server allows. HTTPS with the given certificate, reloaded when its files
//! change, or with a self-signed one made at start. A client certificate of the given authority
//! identifies its user. `pages` makes the content.

use super::access::{self, Access, Refusal};
use super::connections::{Connection, Connections, Limits};
use super::health::{self, Health};
use super::memory;
use super::subject;
use super::tls::{self, CertificateError, CurrentTls};
use super::zpages::{Answer, ZPages};
use crate::process::logs;
use axum::Router;
use axum::body::Body;
use axum::extract::{Path, Request, State};
use axum::middleware::{self, Next};
use axum::response::Response;
use axum::routing::{get, put};
use http::request::Parts;
use http::{HeaderValue, StatusCode, header};
use k8s_openapi::api::authentication::v1::UserInfo;
use rustls::pki_types::CertificateDer;
use std::future::Future;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpSocket, TcpStream};

/// How often the files of certificates are read again.
const LOOK: Duration = Duration::from_secs(5);

const PLAIN: &str = "text/plain; charset=utf-8";
const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
/// Maximum size of the body of a request, in bytes.
const LONGEST_LEVEL: usize = 64;

/// The settings of the secure port.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The address.
    pub bind: IpAddr,
    /// The port.
    pub port: u16,
    /// Certificates, TLS versions and cipher suites.
    pub tls: tls::Settings,
    /// Paths that need no authorization.
    pub always_allow: Vec<String>,
    /// Whether other processes may bind the same port (`SO_REUSEPORT`).
    pub share_port: bool,
    /// Limits on connections.
    pub limits: Limits,
}

/// Makes the text of a page for each request.
pub(crate) type Page = Box<dyn Fn() -> Pin<Box<dyn Future<Output = String> + Send>> + Send + Sync>;

/// The pages of the port.
pub(crate) struct Pages {
    /// `/healthz`, `/livez`, `/readyz` and `/metrics/slis`.
    pub health: Health,
    /// `/flagz` and `/statusz`.
    pub zpages: ZPages,
    /// `/metrics`.
    pub metrics: Page,
    /// `/metrics/resources`.
    pub resources: Page,
    /// `/configz`.
    pub configz: Page,
    /// `/snapshot`; empty once the scheduler has ended.
    pub snapshot: Page,
    /// Decides who may read the pages that are not health checks.
    pub access: Access,
}

/// Why the port cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The address is in use, or does not belong to this host.
    #[error("cannot listen on {address}: {why}{}", if *.in_use { "; another process uses it: choose another `--secure-port`, or 0 for no port" } else { "" })]
    Listen {
        /// Address and port.
        address: SocketAddr,
        /// The system's message.
        why: std::io::Error,
        /// Whether another process uses it.
        in_use: bool,
    },
    /// Certificate or key cannot be used.
    #[error(transparent)]
    Certificate(#[from] CertificateError),
}

/// A bound port. Binding comes before everything else, so that a port in use is known first.
pub(crate) struct Server {
    listener: TcpListener,
    tls: Arc<CurrentTls>,
    always_allow: Vec<String>,
    connections: Connections,
}

impl Server {
    /// Binds the port and loads or makes the certificate.
    pub(crate) async fn bind(settings: &Settings) -> Result<Self, ServeError> {
        let tls = Arc::new(CurrentTls::load(&settings.tls)?);
        let address = SocketAddr::new(settings.bind, settings.port);
        let listener = listen(address, settings.share_port).map_err(|why| ServeError::Listen {
            in_use: why.kind() == std::io::ErrorKind::AddrInUse,
            address,
            why,
        })?;
        let connections = Connections::new(settings.limits);
        Ok(Self { listener, tls, always_allow: settings.always_allow.clone(), connections })
    }

    /// The bound port.
    pub(crate) fn port(&self) -> Option<u16> {
        self.listener.local_addr().ok().map(|address| address.port())
    }

    /// Serves until the process ends.
    pub(crate) async fn serve(self, pages: Pages) {
        let tls = Arc::clone(&self.tls);
        let reload = async move { tls.reload(LOOK).await };
        tokio::select! {
            () = self.accept(pages) => {}
            () = reload => {}
        }
    }

    async fn accept(self, pages: Pages) {
        let shown = Arc::new(Shown { pages, always_allow: self.always_allow, tls: Arc::clone(&self.tls) });
        let app = shown.routes();
        loop {
            let stream = match self.listener.accept().await {
                Ok((stream, _)) => stream,
                Err(error) => {
                    // Usually out of file descriptors; other connections end soon.
                    tracing::warn!(%error, "cannot accept a connection");
                    tokio::time::sleep(Duration::from_millis(100)).await;
                    continue;
                }
            };
            let Some(connection) = self.connections.admit() else { continue };
            let (tls, app) = (Arc::clone(&self.tls), app.clone());
            tokio::spawn(async move {
                connection.within(serve_one(&connection, stream, &tls, app)).await;
            });
        }
    }
}

async fn serve_one(connection: &Arc<Connection>, stream: TcpStream, tls: &CurrentTls, app: Router) {
    let Ok(stream) = tls.acceptor().accept(stream).await else { return };
    let peer = stream.get_ref().1.peer_certificates().and_then(Peer::of).map(Arc::new);
    connection.serve(stream, app.layer(axum::Extension(peer))).await;
}

/// The client certificate of a connection, and the user that it names.
#[derive(Debug)]
struct Peer {
    chain: Vec<CertificateDer<'static>>,
    user: UserInfo,
}

impl Peer {
    /// `None` if the certificate names no user: its sender is anonymous.
    fn of(chain: &[CertificateDer<'static>]) -> Option<Self> {
        Some(Self { user: subject::user_of(chain.first()?)?, chain: chain.to_vec() })
    }
}

fn listen(address: SocketAddr, share: bool) -> std::io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    socket.set_reuseaddr(true)?;
    if share {
        socket.set_reuseport(true)?;
    }
    socket.bind(address)?;
    socket.listen(1_024)
}

struct Shown {
    pages: Pages,
    always_allow: Vec<String>,
    tls: Arc<CurrentTls>,
}

impl Shown {
    /// All paths. Each request is reviewed before its path is looked up.
    fn routes(self: Arc<Self>) -> Router {
        let mut app = Router::new()
            .route("/metrics", get(metrics))
            .route("/metrics/resources", get(resources))
            .route("/metrics/slis", get(slis).delete(forget_slis))
            .route("/configz", get(configz))
            .route(memory::PATH, get(snapshot))
            .route("/debug/flags/v", put(set_log_level).fallback(unsupported));
        for page in ["/livez", "/readyz", "/healthz"] {
            app = app.route(page, get(health)).route(&format!("{page}/{{check}}"), get(one_check));
        }
        if self.pages.zpages.flags.is_some() {
            app = app.route("/flagz", get(flagz));
        }
        if self.pages.zpages.statusz {
            app = app.route("/statusz", get(statusz));
        }
        app.fallback(not_found)
            .layer(middleware::from_fn_with_state(Arc::clone(&self), reviewed))
            .with_state(self)
    }

    async fn allowed(&self, request: &Parts) -> Result<(), Response> {
        if self.is_open(request.uri.path()) {
            return Ok(());
        }
        self.reviewed(request).await.map_err(|refusal| {
            let mut response = text(refusal.status, refusal.message, PLAIN);
            if let Some(seconds) = refusal.retry_after {
                response.headers_mut().insert(header::RETRY_AFTER, seconds.into());
            }
            response
        })
    }

    /// Whether everybody may use the path.
    fn is_open(&self, path: &str) -> bool {
        self.always_allow.iter().any(|allowed| match allowed.strip_suffix('*') {
            Some(prefix) => path.starts_with(prefix),
            None => path == allowed,
        })
    }

    /// Whether the API server allows the request.
    async fn reviewed(&self, request: &Parts) -> Result<(), Refusal> {
        let peer = request.extensions.get::<Option<Arc<Peer>>>().and_then(Option::as_deref);
        let certificate = peer.and_then(|peer| Some((peer, peer.chain.first()?)));
        // The certificate was verified when the connection began. Since then it may have expired,
        // or its authority may have been removed.
        if let Some((peer, _)) = certificate
            && !self.tls.trusts(&peer.chain)
        {
            return Err(Refusal::new(StatusCode::UNAUTHORIZED, "Unauthorized"));
        }
        let peer = certificate.map(|(peer, certificate)| access::Peer { certificate, user: &peer.user });
        let verb = request.method.as_str().to_lowercase();
        self.pages.access.check(&request.headers, peer, (&verb, request.uri.path())).await
    }

    /// Whether the sender may know why a check fails: reasons name accounts and rules. Everybody who
    /// shows credentials with the right to get the page may.
    async fn may_know_reasons(&self, request: &Parts) -> bool {
        let peer = request.extensions.get::<Option<Arc<Peer>>>().is_some_and(Option::is_some);
        let anonymous = !peer && access::bearer(&request.headers).is_none();
        !anonymous && self.reviewed(request).await.is_ok()
    }
}

fn text(status: StatusCode, body: String, kind: &str) -> Response {
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = status;
    if let Ok(kind) = HeaderValue::from_str(kind) {
        response.headers_mut().insert(header::CONTENT_TYPE, kind);
    }
    response
}

/// Lets only requests through that the API server allows.
async fn reviewed(State(shown): State<Arc<Shown>>, request: Request, next: Next) -> Response {
    let (head, body) = request.into_parts();
    match shown.allowed(&head).await {
        Ok(()) => next.run(Request::from_parts(head, body)).await,
        Err(refused) => refused,
    }
}

async fn not_found() -> Response {
    text(StatusCode::NOT_FOUND, "404 page not found\n".into(), PLAIN)
}

async fn health(State(shown): State<Arc<Shown>>, request: Parts) -> Response {
    let page = request.uri.path().trim_start_matches('/');
    let report = shown.pages.health.report(page, request.uri.query().unwrap_or_default());
    let reasons = !report.passed() && shown.may_know_reasons(&request).await;
    let status = if report.passed() { StatusCode::OK } else { StatusCode::INTERNAL_SERVER_ERROR };
    text(status, report.text(reasons), PLAIN)
}

async fn one_check(State(shown): State<Arc<Shown>>, Path(name): Path<String>, request: Parts) -> Response {
    let page = request.uri.path().split('/').nth(1).unwrap_or_default();
    match shown.pages.health.single(page, &name) {
        None => not_found().await,
        Some(Ok(())) => text(StatusCode::OK, "ok".into(), PLAIN),
        Some(Err(why)) => {
            let reasons = shown.may_know_reasons(&request).await;
            text(StatusCode::INTERNAL_SERVER_ERROR, health::failed(&why, reasons), PLAIN)
        }
    }
}

async fn metrics(State(shown): State<Arc<Shown>>) -> Response {
    text(StatusCode::OK, (shown.pages.metrics)().await, OPEN_METRICS)
}

async fn slis(State(shown): State<Arc<Shown>>) -> Response {
    text(StatusCode::OK, shown.pages.health.metrics.encode(), OPEN_METRICS)
}

async fn forget_slis(State(shown): State<Arc<Shown>>) -> Response {
    shown.pages.health.metrics.reset();
    text(StatusCode::OK, "metrics reset\n".into(), PLAIN)
}

async fn resources(State(shown): State<Arc<Shown>>) -> Response {
    text(StatusCode::OK, (shown.pages.resources)().await, "text/plain; version=0.0.4; charset=utf-8")
}

async fn configz(State(shown): State<Arc<Shown>>) -> Response {
    text(StatusCode::OK, (shown.pages.configz)().await, "application/json")
}

async fn snapshot(State(shown): State<Arc<Shown>>) -> Response {
    match (shown.pages.snapshot)().await {
        page if page.is_empty() => {
            text(StatusCode::SERVICE_UNAVAILABLE, "the scheduler has ended\n".into(), PLAIN)
        }
        page => text(StatusCode::OK, page, "application/json"),
    }
}

async fn flagz(State(shown): State<Arc<Shown>>, request: Parts) -> Response {
    negotiated(shown.pages.zpages.flagz(&accept(&request)))
}

async fn statusz(State(shown): State<Arc<Shown>>, request: Parts) -> Response {
    negotiated(shown.pages.zpages.statusz(&accept(&request), jiff::Timestamp::now()))
}

/// The values of the header `Accept`, joined as HTTP allows.
fn accept(request: &Parts) -> String {
    let values = request.headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok());
    values.collect::<Vec<_>>().join(",")
}

fn negotiated(answer: Answer) -> Response {
    let mut response = text(answer.status, answer.body, &answer.content_type);
    if let Some(warning) = answer.warning.and_then(|text| HeaderValue::from_str(&text).ok()) {
        response.headers_mut().insert(header::WARNING, warning);
    }
    response
}

/// Takes the log level, a number.
async fn set_log_level(request: Request) -> Response {
    let body = axum::body::to_bytes(request.into_body(), LONGEST_LEVEL).await;
    let level = body.ok().and_then(|body| String::from_utf8(body.to_vec()).ok());
    match level.map(|level| logs::set_level(&level)) {
        Some(Ok(done)) => plain(StatusCode::OK, &done),
        Some(Err(why)) => plain(StatusCode::BAD_REQUEST, &why),
        None => plain(StatusCode::BAD_REQUEST, "error reading request body: it is not a short text"),
    }
}

async fn unsupported() -> Response {
    plain(StatusCode::NOT_ACCEPTABLE, "unsupported http method")
}

/// An answer of `/debug/flags`: a line.
///
/// Source: `writePlainText` in `apiserver/pkg/server/routes/flags.go`.
fn plain(status: StatusCode, line: &str) -> Response {
    text(status, format!("{line}\n"), PLAIN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_port_in_use_says_what_to_do() {
        let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let settings = Settings {
            bind: [127, 0, 0, 1].into(),
            port: taken.local_addr().unwrap().port(),
            tls: tls::Settings::default(),
            always_allow: Vec::new(),
            share_port: false,
            limits: Limits::default(),
        };
        let error = Server::bind(&settings).await.err().unwrap().to_string();
        assert!(error.contains("choose another `--secure-port`"), "{error}");
        let certificate = Some(("/no/cert".into(), "/no/key".into()));
        let missing = Settings { tls: tls::Settings { certificate, ..settings.tls.clone() }, ..settings };
        let error = Server::bind(&missing).await.err().unwrap().to_string();
        assert!(error.starts_with("cannot use the certificate `/no/cert`: "), "{error}");
    }
}
