//! TLS of the secure port: the certificate that it presents, and the authorities of client
//! certificates. Both are read again when their files change. `serve` accepts connections with it.

use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, UnixTime};
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::ClientCertVerifier;
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;
use tokio_rustls::TlsAcceptor;

/// Certificates, authorities, versions and cipher suites.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// Certificate and key as PEM files.
    pub certificate: Option<(PathBuf, PathBuf)>,
    /// The folder for a self-signed certificate. `None`: in memory only.
    pub directory: Option<PathBuf>,
    /// A PEM file with the authorities of client certificates.
    pub client_authority: Option<PathBuf>,
    /// Whether TLS 1.2 is refused.
    pub newest_only: bool,
    /// The names of the offered TLS 1.2 suites; empty: all. As in Go, all TLS 1.3 suites are
    /// offered.
    pub suites: Vec<String>,
}

/// Certificate, key or authorities cannot be used.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("cannot use the certificate `{path}`: {why}")]
pub struct CertificateError {
    /// The file.
    pub path: String,
    /// What is wrong.
    pub why: String,
}

impl CertificateError {
    fn of(path: &Path, why: impl ToString) -> Self {
        Self { path: path.display().to_string(), why: why.to_string() }
    }

    fn of_made(why: impl ToString) -> Self {
        Self { path: "(made at start)".into(), why: why.to_string() }
    }
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

/// TLS as it is in force at the moment.
pub(crate) struct CurrentTls {
    settings: Settings,
    provider: Arc<CryptoProvider>,
    now: RwLock<Arc<InForce>>,
}

/// What is read from files, and the configuration made of it.
struct InForce {
    signed: Arc<CertifiedKey>,
    authorities: Vec<CertificateDer<'static>>,
    verifier: Arc<dyn ClientCertVerifier>,
    server: Arc<rustls::ServerConfig>,
}

impl CurrentTls {
    /// Loads or makes the certificate, and loads the authorities.
    pub(crate) fn load(settings: &Settings) -> Result<Self, CertificateError> {
        let mut provider = rustls::crypto::aws_lc_rs::default_provider();
        if !settings.suites.is_empty() {
            provider
                .cipher_suites
                .retain(|suite| suite.tls13().is_some() || settings.suites.contains(&name_of(*suite)));
        }
        let provider = Arc::new(provider);
        let signed = match &settings.certificate {
            Some((certificate, key)) => signed(certificate, key, &provider)?,
            None => made(settings.directory.as_deref(), &provider)?,
        };
        let authorities = authorities(settings.client_authority.as_deref())?;
        let now = InForce::new(settings, &provider, Arc::new(signed), authorities)?;
        Ok(Self { settings: settings.clone(), provider, now: RwLock::new(Arc::new(now)) })
    }

    /// Accepts a connection with what is in force.
    pub(crate) fn acceptor(&self) -> TlsAcceptor {
        TlsAcceptor::from(Arc::clone(&self.now().server))
    }

    /// Whether a client certificate is valid now: a connection may outlive its certificate and the
    /// trust in its authority.
    pub(crate) fn trusts(&self, chain: &[CertificateDer<'_>]) -> bool {
        let Some((certificate, intermediates)) = chain.split_first() else { return false };
        let verifier = Arc::clone(&self.now().verifier);
        verifier.verify_client_cert(certificate, intermediates, UnixTime::now()).is_ok()
    }

    fn now(&self) -> Arc<InForce> {
        Arc::clone(&self.now.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Reads the given files again and again. Files that cannot be used, such as a new certificate
    /// with the old key, change nothing.
    pub(crate) async fn reload(&self, every: Duration) {
        let mut said = String::new();
        loop {
            tokio::time::sleep(every).await;
            match self.look() {
                Ok(()) => said.clear(),
                Err(error) if error.to_string() != said => {
                    said = error.to_string();
                    tracing::warn!(why = %said, "keeping the certificate in use: the new one cannot be used");
                }
                Err(_) => {}
            }
        }
    }

    fn look(&self) -> Result<(), CertificateError> {
        let now = self.now();
        let signed = match &self.settings.certificate {
            Some((certificate, key)) => signed(certificate, key, &self.provider).map(Arc::new),
            None => Ok(Arc::clone(&now.signed)),
        };
        let authorities = authorities(self.settings.client_authority.as_deref());
        // A file that cannot be used does not hold up the other.
        let wrong = signed.as_ref().err().or(authorities.as_ref().err());
        let result = wrong.map_or(Ok(()), |error| {
            Err(CertificateError { path: error.path.clone(), why: error.why.clone() })
        });
        let signed = signed.unwrap_or_else(|_| Arc::clone(&now.signed));
        let authorities = authorities.unwrap_or_else(|_| now.authorities.clone());
        let (of_server, of_clients) = (signed.cert != now.signed.cert, authorities != now.authorities);
        if of_server || of_clients {
            let new = InForce::new(&self.settings, &self.provider, signed, authorities)?;
            *self.now.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(new);
            let shown = |path: Option<&PathBuf>| path.map(|it| it.display().to_string());
            if of_server {
                let certificate = shown(self.settings.certificate.as_ref().map(|it| &it.0));
                tracing::info!(certificate, "the certificate was replaced");
            }
            if of_clients {
                let file = shown(self.settings.client_authority.as_ref());
                tracing::info!(file, "the authorities of client certificates were replaced");
            }
        }
        result
    }
}

impl InForce {
    fn new(
        settings: &Settings,
        provider: &Arc<CryptoProvider>,
        signed: Arc<CertifiedKey>,
        authorities: Vec<CertificateDer<'static>>,
    ) -> Result<Self, CertificateError> {
        let versions: &[_] = match settings.newest_only {
            true => &[&rustls::version::TLS13],
            false => rustls::ALL_VERSIONS,
        };
        let unusable = |why: rustls::Error| match &settings.certificate {
            Some((certificate, _)) => CertificateError::of(certificate, why),
            None => CertificateError::of_made(why),
        };
        let verifier = verifier(settings.client_authority.as_deref(), &authorities, provider)?;
        let presented = Arc::new(SingleCertAndKey::from(Arc::clone(&signed)));
        let mut server = rustls::ServerConfig::builder_with_provider(Arc::clone(provider))
            .with_protocol_versions(versions)
            .map_err(unusable)?
            .with_client_cert_verifier(Arc::clone(&verifier))
            .with_cert_resolver(presented);
        server.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Self { signed, authorities, verifier, server: Arc::new(server) })
    }
}

fn authorities(file: Option<&Path>) -> Result<Vec<CertificateDer<'static>>, CertificateError> {
    let Some(path) = file else { return Ok(Vec::new()) };
    CertificateDer::pem_file_iter(path)
        .and_then(Iterator::collect)
        .map_err(|error| CertificateError::of(path, error))
}

/// With authorities, clients may present a certificate; none has to.
fn verifier(
    file: Option<&Path>,
    authorities: &[CertificateDer<'static>],
    provider: &Arc<CryptoProvider>,
) -> Result<Arc<dyn ClientCertVerifier>, CertificateError> {
    let Some(path) = file else { return Ok(WebPkiClientVerifier::no_client_auth()) };
    let mut roots = rustls::RootCertStore::empty();
    for authority in authorities {
        roots.add(authority.clone()).map_err(|error| CertificateError::of(path, error))?;
    }
    WebPkiClientVerifier::builder_with_provider(Arc::new(roots), Arc::clone(provider))
        .allow_unauthenticated()
        .build()
        .map_err(|error| CertificateError::of(path, error))
}

fn signed(
    certificate: &Path,
    key: &Path,
    provider: &CryptoProvider,
) -> Result<CertifiedKey, CertificateError> {
    let chain = CertificateDer::pem_file_iter(certificate)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|error| CertificateError::of(certificate, error))?;
    let key = PrivateKeyDer::from_pem_file(key).map_err(|error| CertificateError::of(key, error))?;
    CertifiedKey::from_der(chain, key, provider).map_err(|error| CertificateError::of(certificate, error))
}

/// The certificate in the folder, or a new self-signed one, which is kept there.
fn made(folder: Option<&Path>, provider: &CryptoProvider) -> Result<CertifiedKey, CertificateError> {
    let kept = folder.map(|folder| (folder.join("bayplan.crt"), folder.join("bayplan.key")));
    if let Some((certificate, key)) = &kept
        && certificate.exists()
        && key.exists()
    {
        return signed(certificate, key, provider);
    }
    let names = vec!["localhost".to_owned(), "127.0.0.1".to_owned()];
    let made = rcgen::generate_simple_self_signed(names).map_err(CertificateError::of_made)?;
    if let Some((certificate, key)) = &kept {
        let write = |path: &Path, text: String, mode| {
            write_new(path, &text, mode).map_err(|error| CertificateError::of(path, error))
        };
        // The key first: both exist when the certificate does.
        write(key, made.signing_key.serialize_pem(), 0o600)?;
        write(certificate, made.cert.pem(), 0o644)?;
    }
    let key = PrivateKeyDer::try_from(made.signing_key.serialize_der()).map_err(CertificateError::of_made)?;
    CertifiedKey::from_der(vec![made.cert.der().clone()], key, provider).map_err(CertificateError::of_made)
}

/// Writes a file that has its mode from the first byte. An existing file is replaced, since it
/// would keep its mode; a link is replaced, not followed.
fn write_new(path: &Path, text: &str, mode: u32) -> std::io::Result<()> {
    use std::os::unix::fs::OpenOptionsExt;
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = std::fs::OpenOptions::new().write(true).create_new(true).mode(mode).open(path)?;
    file.write_all(text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{MetadataExt, PermissionsExt};

    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("bayplan-tls-{name}-{}", std::process::id()));
            std::fs::create_dir_all(&path).unwrap();
            Self(path)
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn others_cannot_read_the_key() {
        let folder = Folder::new("mode");
        let key = folder.0.join("bayplan.key");
        // Left over from an earlier start, and readable by everybody.
        std::fs::write(&key, "old").unwrap();
        std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o666)).unwrap();
        let settings = Settings { directory: Some(folder.0.clone()), ..Settings::default() };
        let first = CurrentTls::load(&settings).unwrap();
        assert_eq!(std::fs::metadata(&key).unwrap().mode() & 0o777, 0o600);
        let again = CurrentTls::load(&settings).unwrap();
        assert_eq!(first.now().signed.cert, again.now().signed.cert, "the certificate is kept");
    }

    #[test]
    fn a_link_at_the_place_of_the_key_is_not_followed() {
        let folder = Folder::new("link");
        let target = folder.0.join("target");
        std::fs::write(&target, "of somebody else").unwrap();
        std::os::unix::fs::symlink(&target, folder.0.join("bayplan.key")).unwrap();
        CurrentTls::load(&Settings { directory: Some(folder.0.clone()), ..Settings::default() }).unwrap();
        assert_eq!(std::fs::read_to_string(target).unwrap(), "of somebody else");
    }

    #[test]
    fn a_key_that_cannot_be_written_is_an_error() {
        let missing = std::env::temp_dir().join("bayplan-tls-no-such-folder/below");
        let settings = Settings { directory: Some(missing), ..Settings::default() };
        let error = CurrentTls::load(&settings).err().unwrap();
        assert!(error.path.ends_with("bayplan.key"), "{error}");
    }

    fn authority(path: &Path) -> rcgen::Issuer<'static, rcgen::KeyPair> {
        let mut params = rcgen::CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
        let key = rcgen::KeyPair::generate().unwrap();
        std::fs::write(path, params.self_signed(&key).unwrap().pem()).unwrap();
        rcgen::Issuer::new(params, key)
    }

    #[test]
    fn new_authorities_count_at_once_for_connections_that_are_open() {
        let folder = Folder::new("authority");
        let file = folder.0.join("ca.crt");
        let issuer = authority(&file);
        let client = rcgen::KeyPair::generate().unwrap();
        let mut params = rcgen::CertificateParams::new(Vec::new()).unwrap();
        params.extended_key_usages = vec![rcgen::ExtendedKeyUsagePurpose::ClientAuth];
        let chain = [params.signed_by(&client, &issuer).unwrap().der().clone()];
        let settings = Settings { client_authority: Some(file.clone()), ..Settings::default() };
        let tls = CurrentTls::load(&settings).unwrap();
        assert!(tls.trusts(&chain) && !tls.trusts(&[]));
        let before = Arc::clone(&tls.now().server);
        tls.look().unwrap();
        assert!(Arc::ptr_eq(&before, &tls.now().server), "the same file changes nothing");
        std::fs::write(&file, "nothing").unwrap();
        assert!(tls.look().is_err() && tls.trusts(&chain), "a file without authorities changes nothing");
        authority(&file);
        tls.look().unwrap();
        assert!(!tls.trusts(&chain));
    }
}
