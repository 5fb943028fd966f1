//! The connection of an [`Api`](super::client::Api) and its credentials. The files of a kubeconfig
//! (the kubeconfig itself, token, client certificate, key and CA) are read again when they change,
//! and later calls use a new connection. The service account of a pod needs no such care: `kube`
//! reads its token and CA again. It also notes for how long the server has refused the credentials.

use super::client::{ConnectError, Elsewhere, Target, deepest, parse_master, parse_url};
use super::kubeconfig;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::{Duration, Instant, SystemTime};

/// How often the files are checked.
const LOOK: Duration = Duration::from_secs(2);

/// A connection that is replaced when its credentials change.
pub(crate) struct Credentials {
    target: Target,
    client: RwLock<kube::Client>,
    files: Mutex<Vec<Stamp>>,
    /// The first and the last refusal since the last accepted call, on any connection with these
    /// credentials.
    refused: Arc<Mutex<Option<(Instant, Instant)>>>,
}

/// A file, and what changes when it is written; `None` if it cannot be read.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Stamp {
    path: PathBuf,
    state: Option<(Option<SystemTime>, u64, u64)>,
}

impl Stamp {
    fn of(path: &Path) -> Self {
        let state = std::fs::metadata(path).ok().map(|it| (it.modified().ok(), it.len(), it.ino()));
        Self { path: path.to_owned(), state }
    }
}

/// A configuration of connections, and the files that it was read from.
struct Loaded {
    config: kube::Config,
    files: Vec<Stamp>,
}

impl Credentials {
    /// Reads the configuration, and prepares connections without opening one. Also returns the URL of
    /// the server and the namespace.
    pub(crate) async fn new(target: &Target) -> Result<(Self, String, String), ConnectError> {
        let Loaded { config, files } = load(target).await?;
        let server = config.cluster_url.to_string().trim_end_matches('/').to_owned();
        let namespace = config.default_namespace.clone();
        let credentials = Self {
            target: target.clone(),
            client: RwLock::new(connect(config)?),
            files: Mutex::new(files),
            refused: Arc::default(),
        };
        Ok((credentials, server, namespace))
    }

    /// Another connection with the same credentials.
    pub(crate) async fn beside(&self) -> Result<Self, ConnectError> {
        let (other, ..) = Self::new(&self.target).await?;
        Ok(Self { refused: Arc::clone(&self.refused), ..other })
    }

    /// The present connection.
    pub(crate) fn client(&self) -> kube::Client {
        self.client.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Notes the HTTP status of an answer.
    pub(crate) fn answered(&self, code: u16) {
        let mut refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        *refused = (code == 401).then(|| {
            let now = Instant::now();
            (refused.map_or(now, |(first, _)| first), now)
        });
    }

    /// For how long the server has refused the credentials, as far as calls show; `None` if it
    /// accepted the last ones.
    pub(crate) fn refused_for(&self) -> Option<Duration> {
        let refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        refused.map(|(first, last)| last - first)
    }

    /// Reads changed files again, for ever.
    pub(crate) async fn follow(&self) {
        let mut failed = None;
        loop {
            tokio::time::sleep(LOOK).await;
            let known = self.files.lock().unwrap_or_else(PoisonError::into_inner).clone();
            let present: Vec<Stamp> = known.iter().map(|stamp| Stamp::of(&stamp.path)).collect();
            if present == known || failed.as_ref() == Some(&present) {
                continue;
            }
            let read = async {
                let Loaded { config, files } = load(&self.target).await?;
                Ok::<_, ConnectError>((connect(config)?, files))
            };
            match read.await {
                Ok((client, files)) => {
                    *self.client.write().unwrap_or_else(PoisonError::into_inner) = client;
                    *self.files.lock().unwrap_or_else(PoisonError::into_inner) = files;
                    failed = None;
                    tracing::info!("the credentials changed and are read again");
                }
                // Certificate and key may be written one after the other.
                Err(error) => {
                    tracing::warn!(%error, "cannot use the changed credentials; the old ones stay");
                    failed = Some(present);
                }
            }
        }
    }
}

async fn load(target: &Target) -> Result<Loaded, ConnectError> {
    let found = match &target.kubeconfig {
        Some(path) => Some(kubeconfig::read(path)?),
        None if target.as_kubectl => kubeconfig::find()?,
        None => None,
    };
    let (mut config, files) = match found {
        Some(found) => {
            // Before they are read, so that a change in between is not missed.
            let files = found.files(target.context.as_deref());
            let files = files.iter().map(|path| Stamp::of(path)).collect();
            (found.connection(target.context.as_deref()).await?, files)
        }
        None => {
            let config = match (kube::Config::incluster(), &target.master) {
                (Ok(config), _) => config,
                (Err(_), Some(master)) => kube::Config::new(parse_master(master)?),
                (Err(error), None) => return Err(ConnectError::NotInCluster(deepest(&error))),
            };
            (config, Vec::new())
        }
    };
    if let Some(master) = &target.master {
        config.cluster_url = parse_master(master)?;
    }
    if target.impersonate.is_some() {
        config.auth_info.impersonate.clone_from(&target.impersonate);
    }
    if let Some(other) = &target.instead {
        turn_to(&mut config, other)?;
    }
    config.default_retry = false;
    // Shorter than the time limit of any write, so that a write whose connection hangs was certainly not
    // sent.
    config.connect_timeout = Some(Duration::from_secs(3));
    let agent = format!("bayplan/{} {}", env!("CARGO_PKG_VERSION"), target.user_agent);
    if let Ok(agent) = http::HeaderValue::from_str(&agent) {
        config.headers.push((http::header::USER_AGENT, agent));
    }
    Ok(Loaded { config, files })
}

/// Turns a configuration to another server that takes its credentials.
fn turn_to(config: &mut kube::Config, other: &Elsewhere) -> Result<(), ConnectError> {
    let refused = |path: &Path, why: String| ConnectError::File { path: path.display().to_string(), why };
    let url = parse_url(&other.url).filter(|url| url.scheme() == Some(&http::uri::Scheme::HTTPS));
    config.cluster_url = url.ok_or_else(|| ConnectError::Address(other.url.clone()))?;
    config.proxy_url = None;
    config.tls_server_name.clone_from(&other.name);
    config.accept_invalid_certs = other.trusts_all;
    if let Some(path) = &other.authority {
        let read = CertificateDer::pem_file_iter(path).and_then(|all| all.collect::<Result<Vec<_>, _>>());
        let all = read.map_err(|error| refused(path, error.to_string()))?;
        if all.is_empty() {
            return Err(refused(path, "it has no certificate".to_owned()));
        }
        config.root_cert = Some(all.iter().map(|certificate| certificate.to_vec()).collect());
    }
    if let Some(path) = &other.token {
        let token = std::fs::read_to_string(path).map_err(|error| refused(path, error.to_string()))?;
        if token.trim().is_empty() {
            return Err(refused(path, "it is empty".to_owned()));
        }
        config.auth_info =
            kube::config::AuthInfo { token: Some(token.trim().to_owned().into()), ..Default::default() };
    }
    Ok(())
}

fn connect(config: kube::Config) -> Result<kube::Client, ConnectError> {
    let server = config.cluster_url.to_string().trim_end_matches('/').to_owned();
    kube::Client::try_from(config).map_err(|error| ConnectError::Credentials { server, why: deepest(&error) })
}
