//! The secure port: `/livez`, `/readyz` and `/healthz` for everybody, `/metrics` and `/configz` for
//! users that the API server allows. HTTPS with the given certificate, reloaded when its files
//! change, or with a self-signed one made at start. A client certificate of the given authority
//! identifies its user. `pages` makes the content.

use super::access::Access;
use super::subject;
use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use axum::routing::get;
use http::request::Parts;
use http::{HeaderValue, StatusCode, header};
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::service::TowerToHyperService;
use k8s_openapi::api::authentication::v1::UserInfo;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::danger::ClientCertVerifier;
use rustls::server::{ClientHello, ResolvesServerCert, WebPkiClientVerifier};
use rustls::sign::CertifiedKey;
use std::fmt::Write;
use std::future::Future;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;
use tokio::net::{TcpListener, TcpSocket};
use tokio_rustls::TlsAcceptor;

/// How often the files of a certificate are read again.
const LOOK: Duration = Duration::from_secs(5);

/// The settings of the secure port.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The address.
    pub bind: IpAddr,
    /// The port.
    pub port: u16,
    /// Certificate and key as PEM files.
    pub certificate: Option<(PathBuf, PathBuf)>,
    /// The folder for a self-signed certificate. `None`: in memory only.
    pub directory: Option<PathBuf>,
    /// Paths that need no authorization.
    pub always_allow: Vec<String>,
    /// A PEM file with the authorities of client certificates.
    pub client_authority: Option<PathBuf>,
    /// TLS versions and cipher suites.
    pub tls: Tls,
    /// Whether other processes may bind the same port (`SO_REUSEPORT`).
    pub share_port: bool,
}

/// TLS versions and cipher suites.
#[derive(Clone, Debug, Default)]
pub struct Tls {
    /// Whether TLS 1.2 is refused.
    pub newest_only: bool,
    /// The names of the offered TLS 1.2 suites; empty: all. As in Go, all TLS 1.3 suites are
    /// offered.
    pub suites: Vec<String>,
}

/// The names of the supported suites.
pub fn cipher_suites() -> Vec<String> {
    let provider = rustls::crypto::aws_lc_rs::default_provider();
    provider.cipher_suites.iter().map(|suite| name_of(*suite)).collect()
}

/// The IANA name, which Go uses too.
fn name_of(suite: rustls::SupportedCipherSuite) -> String {
    let name = suite.suite().as_str().unwrap_or_default();
    name.replace("TLS13_", "TLS_")
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
    #[error("cannot use the certificate `{path}`: {why}")]
    Certificate {
        /// The file.
        path: String,
        /// What is wrong.
        why: String,
    },
}

/// A bound port. Binding comes before everything else, so that a port in use is known first.
pub struct Server {
    listener: TcpListener,
    acceptor: TlsAcceptor,
    always_allow: Vec<String>,
}

impl Server {
    /// Binds the port and loads or makes the certificate.
    pub async fn bind(settings: &Settings) -> Result<Self, ServeError> {
        let (chain, key) = certificate(settings)?;
        let mut provider = rustls::crypto::aws_lc_rs::default_provider();
        if !settings.tls.suites.is_empty() {
            provider
                .cipher_suites
                .retain(|suite| suite.tls13().is_some() || settings.tls.suites.contains(&name_of(*suite)));
        }
        let provider = Arc::new(provider);
        let versions: &[_] = match settings.tls.newest_only {
            true => &[&rustls::version::TLS13],
            false => rustls::ALL_VERSIONS,
        };
        let unusable = |why: rustls::Error| ServeError::Certificate {
            path: settings
                .certificate
                .as_ref()
                .map_or("(made at start)".into(), |it| it.0.display().to_string()),
            why: why.to_string(),
        };
        let signed = CertifiedKey::from_der(chain, key, &provider).map_err(unusable)?;
        let shown = Arc::new(CurrentCertificate(RwLock::new(Arc::new(signed))));
        let mut tls = rustls::ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(versions)
            .map_err(unusable)?
            .with_client_cert_verifier(verifier(settings, &provider)?)
            .with_cert_resolver(Arc::clone(&shown) as Arc<dyn ResolvesServerCert>);
        if let Some((certificate, key)) = settings.certificate.clone() {
            tokio::spawn(reload(certificate, key, shown, provider));
        }
        tls.alpn_protocols = vec![b"http/1.1".to_vec()];
        let address = SocketAddr::new(settings.bind, settings.port);
        let listener = listen(address, settings.share_port).map_err(|why| ServeError::Listen {
            in_use: why.kind() == std::io::ErrorKind::AddrInUse,
            address,
            why,
        })?;
        let acceptor = TlsAcceptor::from(Arc::new(tls));
        Ok(Self { listener, acceptor, always_allow: settings.always_allow.clone() })
    }

    /// The bound port.
    pub fn port(&self) -> Option<u16> {
        self.listener.local_addr().ok().map(|address| address.port())
    }

    /// Serves until the process ends.
    pub async fn serve(self, pages: Pages) {
        let shown = Arc::new(Shown { pages, always_allow: self.always_allow });
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
            let (acceptor, app) = (self.acceptor.clone(), app.clone());
            tokio::spawn(async move {
                let Ok(Ok(stream)) =
                    tokio::time::timeout(Duration::from_secs(10), acceptor.accept(stream)).await
                else {
                    return;
                };
                let shown = stream.get_ref().1.peer_certificates().and_then(|chain| chain.first());
                let peer = Peer(shown.and_then(|certificate| subject::user_of(certificate)).map(Arc::new));
                let service = TowerToHyperService::new(app.layer(axum::Extension(peer)));
                let _ = hyper_util::server::conn::auto::Builder::new(TokioExecutor::new())
                    .serve_connection(TokioIo::new(stream), service)
                    .await;
            });
        }
    }
}

/// The user that the client certificate of a connection names.
#[derive(Clone, Debug)]
struct Peer(Option<Arc<UserInfo>>);

fn listen(address: SocketAddr, share: bool) -> std::io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    socket.set_reuseaddr(true)?;
    if share {
        socket.set_reuseport(true)?;
    }
    socket.bind(address)?;
    socket.listen(1_024)
}

/// With an authority, clients may present a certificate; none has to.
fn verifier(
    settings: &Settings,
    provider: &Arc<rustls::crypto::CryptoProvider>,
) -> Result<Arc<dyn ClientCertVerifier>, ServeError> {
    let Some(path) = &settings.client_authority else { return Ok(WebPkiClientVerifier::no_client_auth()) };
    let unusable = |why: String| ServeError::Certificate { path: path.display().to_string(), why };
    let mut roots = rustls::RootCertStore::empty();
    let authorities = CertificateDer::pem_file_iter(path).map_err(|error| unusable(error.to_string()))?;
    for authority in authorities {
        let authority = authority.map_err(|error| unusable(error.to_string()))?;
        roots.add(authority).map_err(|error| unusable(error.to_string()))?;
    }
    WebPkiClientVerifier::builder_with_provider(Arc::new(roots), Arc::clone(provider))
        .allow_unauthenticated()
        .build()
        .map_err(|error| unusable(error.to_string()))
}

/// The present certificate of the server.
#[derive(Debug)]
struct CurrentCertificate(RwLock<Arc<CertifiedKey>>);

impl ResolvesServerCert for CurrentCertificate {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner)))
    }
}

/// Reloads certificate and key when their files change. Files that cannot be used, such as a new
/// certificate with the old key, change nothing.
async fn reload(
    certificate: PathBuf,
    key: PathBuf,
    current: Arc<CurrentCertificate>,
    provider: Arc<rustls::crypto::CryptoProvider>,
) {
    let mut said = String::new();
    loop {
        tokio::time::sleep(LOOK).await;
        let signed =
            from_files(&certificate, &key).map_err(|error| error.to_string()).and_then(|(chain, key)| {
                CertifiedKey::from_der(chain, key, &provider).map_err(|error| error.to_string())
            });
        match signed {
            Ok(signed) => {
                let mut shown = current.0.write().unwrap_or_else(PoisonError::into_inner);
                if shown.cert != signed.cert {
                    tracing::info!(certificate = %certificate.display(), "the certificate was replaced");
                    *shown = Arc::new(signed);
                }
                said.clear();
            }
            Err(why) if why != said => {
                tracing::warn!(%why, "keeping the certificate in use: the new one cannot be used");
                said = why;
            }
            Err(_) => {}
        }
    }
}

struct Shown {
    pages: Pages,
    always_allow: Vec<String>,
}

impl Shown {
    async fn allowed(&self, request: &Parts) -> Result<(), Response> {
        let path = request.uri.path();
        let listed = |allowed: &String| match allowed.strip_suffix('*') {
            Some(prefix) => path.starts_with(prefix),
            None => path == allowed,
        };
        if self.always_allow.iter().any(listed) {
            return Ok(());
        }
        let peer = request.extensions.get::<Peer>().and_then(|peer| peer.0.as_deref());
        self.pages
            .access
            .check(&request.headers, peer, path)
            .await
            .map_err(|refusal| text(refusal.status, refusal.message, "text/plain; charset=utf-8"))
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
    let (healthy, body) = report(&shown.pages.checks, &path, verbose);
    let status = if healthy { StatusCode::OK } else { StatusCode::INTERNAL_SERVER_ERROR };
    text(status, body, "text/plain; charset=utf-8")
}

/// The text of a health page, as Kubernetes' components write it.
fn report(checks: &[Check], path: &str, verbose: bool) -> (bool, String) {
    let mut lines = String::from("[+]ping ok\n");
    let mut healthy = true;
    for check in checks.iter().filter(|check| check.of.contains(&path)) {
        match (check.run)() {
            Ok(()) => {
                let _ = writeln!(lines, "[+]{} ok", check.name);
            }
            Err(why) => {
                healthy = false;
                let _ = writeln!(lines, "[-]{} failed: {why}", check.name);
            }
        }
    }
    let body = match (healthy, verbose) {
        (true, false) => "ok".into(),
        (true, true) => format!("{lines}{path} check passed\n"),
        (false, _) => format!("{lines}{path} check failed\n"),
    };
    (healthy, body)
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

type Certificate = (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>);

/// The given certificate, the one in the directory, or a new self-signed one.
fn certificate(settings: &Settings) -> Result<Certificate, ServeError> {
    if let Some((certificate, key)) = &settings.certificate {
        return from_files(certificate, key);
    }
    let kept = settings.directory.as_ref().map(|it| (it.join("bayplan.crt"), it.join("bayplan.key")));
    if let Some((certificate, key)) = &kept
        && certificate.exists()
        && key.exists()
    {
        return from_files(certificate, key);
    }
    let made_failed = |why: String| ServeError::Certificate { path: "(made at start)".into(), why };
    let names = vec!["localhost".to_owned(), "127.0.0.1".to_owned()];
    let made = rcgen::generate_simple_self_signed(names).map_err(|error| made_failed(error.to_string()))?;
    if let Some((certificate, key)) = &kept {
        let write = |path: &Path, text: String| {
            std::fs::write(path, text).map_err(|error| ServeError::Certificate {
                path: path.display().to_string(),
                why: error.to_string(),
            })
        };
        write(certificate, made.cert.pem())?;
        write(key, made.signing_key.serialize_pem())?;
        // Other users of the machine may not read the key.
        use std::os::unix::fs::PermissionsExt;
        let _ = std::fs::set_permissions(key, std::fs::Permissions::from_mode(0o600));
    }
    let key =
        PrivateKeyDer::try_from(made.signing_key.serialize_der()).map_err(|why| made_failed(why.into()))?;
    Ok((vec![made.cert.der().clone()], key))
}

fn from_files(certificate: &Path, key: &Path) -> Result<Certificate, ServeError> {
    let unusable =
        |path: &Path, why: String| ServeError::Certificate { path: path.display().to_string(), why };
    let chain = CertificateDer::pem_file_iter(certificate)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|error| unusable(certificate, error.to_string()))?;
    let key_text = PrivateKeyDer::from_pem_file(key).map_err(|error| unusable(key, error.to_string()))?;
    Ok((chain, key_text))
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
        assert_eq!(report(&checks, "healthz", false), (true, "ok".into()));
        assert_eq!(report(&checks, "livez", true), (true, "[+]ping ok\nlivez check passed\n".into()));
        let (healthy, text) = report(&checks, "readyz", false);
        assert!(!healthy);
        assert_eq!(
            text,
            "[+]ping ok\n[+]leaderElection ok\n[-]sched-handler-sync failed: handlers are not fully \
             synchronized\nreadyz check failed\n"
        );
    }

    #[tokio::test]
    async fn a_port_in_use_says_what_to_do() {
        let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let settings = Settings {
            bind: [127, 0, 0, 1].into(),
            port: taken.local_addr().unwrap().port(),
            certificate: None,
            directory: None,
            always_allow: Vec::new(),
            client_authority: None,
            tls: Tls::default(),
            share_port: false,
        };
        let error = Server::bind(&settings).await.err().unwrap().to_string();
        assert!(error.contains("choose another `--secure-port`"), "{error}");
        let missing = Settings { certificate: Some(("/no/cert".into(), "/no/key".into())), ..settings };
        let error = Server::bind(&missing).await.err().unwrap().to_string();
        assert!(error.starts_with("cannot use the certificate `/no/cert`: "), "{error}");
    }
}
