//! The secure port: `/livez`, `/readyz` and `/healthz` for everybody, `/metrics` and `/configz` for
//! users that the API server allows. HTTPS with the given certificate, reloaded when its files
//! change, or with a self-signed one made at start. A client certificate of the given authority
//! identifies its user. `pages` makes the content.

use super::access::{self, Access, Refusal};
use super::connections::{Connection, Connections, Limits};
use super::subject;
use super::tls::{self, CertificateError, CurrentTls};
use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use axum::routing::get;
use http::request::Parts;
use http::{HeaderValue, StatusCode, header};
use k8s_openapi::api::authentication::v1::UserInfo;
use rustls::pki_types::CertificateDer;
use std::fmt::Write;
use std::future::Future;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpSocket, TcpStream};

/// How often the files of certificates are read again.
const LOOK: Duration = Duration::from_secs(5);

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

/// One check of `/livez`, `/readyz` or `/healthz`.
pub struct Check {
    /// Its name.
    pub name: &'static str,
    /// The paths that include it.
    pub of: &'static [&'static str],
    /// Passes, or returns the reason of the failure.
    pub run: Box<dyn Fn() -> Result<(), String> + Send + Sync>,
}

/// Makes the text of a page for each request.
pub type Page = Box<dyn Fn() -> Pin<Box<dyn Future<Output = String> + Send>> + Send + Sync>;

/// The pages of the port.
pub struct Pages {
    /// Health checks.
    pub checks: Vec<Check>,
    /// `/metrics`.
    pub metrics: Page,
    /// `/metrics/resources`.
    pub resources: Page,
    /// `/configz`.
    pub configz: Page,
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
pub struct Server {
    listener: TcpListener,
    tls: Arc<CurrentTls>,
    always_allow: Vec<String>,
    connections: Connections,
}

impl Server {
    /// Binds the port and loads or makes the certificate.
    pub async fn bind(settings: &Settings) -> Result<Self, ServeError> {
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
    pub fn port(&self) -> Option<u16> {
        self.listener.local_addr().ok().map(|address| address.port())
    }

    /// Serves until the process ends.
    pub async fn serve(self, pages: Pages) {
        let tls = Arc::clone(&self.tls);
        let reload = async move { tls.reload(LOOK).await };
        tokio::select! {
            () = self.accept(pages) => {}
            () = reload => {}
        }
    }

    async fn accept(self, pages: Pages) {
        let shown = Arc::new(Shown { pages, always_allow: self.always_allow, tls: Arc::clone(&self.tls) });
        let app = Router::new()
            .route("/livez", get(health))
            .route("/readyz", get(health))
            .route("/healthz", get(health))
            .route("/metrics", get(metrics))
            .route("/metrics/resources", get(resources))
            .route("/configz", get(configz))
            .with_state(shown);
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
    async fn allowed(&self, request: &Parts) -> Result<(), Response> {
        if self.is_open(request.uri.path()) {
            return Ok(());
        }
        self.reviewed(request).await.map_err(|refusal| {
            let mut response = text(refusal.status, refusal.message, "text/plain; charset=utf-8");
            if let Some(seconds) = refusal.retry_after {
                response.headers_mut().insert(header::RETRY_AFTER, seconds.into());
            }
            response
        })
    }

    /// Whether everybody may read the path.
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
        self.pages.access.check(&request.headers, peer, request.uri.path()).await
    }

    /// Whether the sender may know why a check fails: reasons name accounts and rules. Everybody who
    /// shows credentials with the right to get the page may.
    async fn may_know_reasons(&self, request: &Parts) -> bool {
        let peer = request.extensions.get::<Option<Arc<Peer>>>().is_some_and(Option::is_some);
        let anonymous = !peer && access::bearer(&request.headers).is_none();
        !anonymous && self.reviewed(request).await.is_ok()
    }
}

fn text(status: StatusCode, body: String, kind: &'static str) -> Response {
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}

async fn health(State(shown): State<Arc<Shown>>, request: Parts) -> Response {
    if let Err(refused) = shown.allowed(&request).await {
        return refused;
    }
    let path = request.uri.path().trim_start_matches('/').to_owned();
    let verbose =
        request.uri.query().is_some_and(|query| query.split('&').any(|it| it.starts_with("verbose")));
    let results = results(&shown.pages.checks, &path);
    let healthy = results.iter().all(|(_, result)| result.is_ok());
    let reasons = !healthy && shown.may_know_reasons(&request).await;
    let status = if healthy { StatusCode::OK } else { StatusCode::INTERNAL_SERVER_ERROR };
    text(status, report(&results, &path, verbose, reasons), "text/plain; charset=utf-8")
}

/// The name and result of a check.
type CheckResult = (&'static str, Result<(), String>);

/// The results of the checks that belong to a path.
fn results(checks: &[Check], path: &str) -> Vec<CheckResult> {
    let results = checks.iter().filter(|check| check.of.contains(&path));
    let results: Vec<CheckResult> = results.map(|check| (check.name, (check.run)())).collect();
    for (check, why) in results.iter().filter_map(|(check, result)| Some((check, result.as_ref().err()?))) {
        tracing::debug!(path, check, %why, "check failed");
    }
    results
}

/// The text of a health page, as Kubernetes' components write it, with reasons or without.
fn report(results: &[CheckResult], path: &str, verbose: bool, reasons: bool) -> String {
    let mut lines = String::from("[+]ping ok\n");
    for (name, result) in results {
        let _ = match result {
            Ok(()) => writeln!(lines, "[+]{name} ok"),
            Err(why) if reasons => writeln!(lines, "[-]{name} failed: {why}"),
            Err(_) => writeln!(lines, "[-]{name} failed: reason withheld"),
        };
    }
    match (results.iter().all(|(_, result)| result.is_ok()), verbose) {
        (true, false) => "ok".into(),
        (true, true) => format!("{lines}{path} check passed\n"),
        (false, _) => format!("{lines}{path} check failed\n"),
    }
}

async fn metrics(State(shown): State<Arc<Shown>>, request: Parts) -> Response {
    if let Err(refused) = shown.allowed(&request).await {
        return refused;
    }
    let body = (shown.pages.metrics)().await;
    text(StatusCode::OK, body, "application/openmetrics-text; version=1.0.0; charset=utf-8")
}

async fn resources(State(shown): State<Arc<Shown>>, request: Parts) -> Response {
    if let Err(refused) = shown.allowed(&request).await {
        return refused;
    }
    let body = (shown.pages.resources)().await;
    text(StatusCode::OK, body, "text/plain; version=0.0.4; charset=utf-8")
}

async fn configz(State(shown): State<Arc<Shown>>, request: Parts) -> Response {
    if let Err(refused) = shown.allowed(&request).await {
        return refused;
    }
    let body = (shown.pages.configz)().await;
    text(StatusCode::OK, body, "application/json")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(name: &'static str, of: &'static [&'static str], answer: Result<(), String>) -> Check {
        Check { name, of, run: Box::new(move || answer.clone()) }
    }

    #[test]
    fn health_pages_read_as_those_of_kubernetes() {
        let checks = [
            check("leaderElection", &["healthz", "readyz"], Ok(())),
            check("sched-handler-sync", &["readyz"], Err("handlers are not fully synchronized".into())),
        ];
        let page = |path, verbose, reasons| report(&results(&checks, path), path, verbose, reasons);
        assert_eq!(page("healthz", false, false), "ok");
        assert_eq!(page("livez", true, false), "[+]ping ok\nlivez check passed\n");
        assert_eq!(
            page("readyz", false, true),
            "[+]ping ok\n[+]leaderElection ok\n[-]sched-handler-sync failed: handlers are not fully \
             synchronized\nreadyz check failed\n"
        );
        let withheld = "[+]ping ok\n[+]leaderElection ok\n[-]sched-handler-sync failed: reason withheld\n\
                        readyz check failed\n";
        assert_eq!(
            (page("readyz", false, false), page("readyz", true, false)),
            (withheld.into(), withheld.into())
        );
    }

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
