//! Asks extenders by HTTP and HTTPS. One task sends all questions, each of which gets exactly one reply, within the
//! time limit of its extender. `wire` has the bodies; `scheduler` decides what an answer means.
//!
//! Source: `pkg/scheduler/extender.go`.

use super::objects::{RawObjects, Text, text_of};
use super::wire::{self as wire, Nodes};
use crate::api::client::{Api, Request, deepest};
use crate::process::supervisor::{Supervisor, Task};
use crate::process::term::Term;
use crate::writes::calls;
use crate::writes::effects::{FinishedCall, Replies};
use bayplan_config::ExtenderConfig;
use bayplan_framework::{Answer, CallError, Extender, ExtenderAnswer, ExtenderAsk, NodeVictims, Ticket};
use bayplan_model::{Kind, ObjectKey, Symbol};
use futures::future::BoxFuture;
use futures::stream::{self, FuturesUnordered, StreamExt};
use http::{Method, StatusCode, header};
use k8s_openapi::ByteString;
use kube::client::Body;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use serde_json::json;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;

/// How an extender is reached.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// The extender.
    pub extender: Extender,
    /// Its certificate is not verified.
    pub insecure: bool,
    /// The name in its certificate, if it is not that of the URL.
    pub server_name: Option<String>,
    /// Our certificate and key.
    pub identity: Option<(Pem, Pem)>,
    /// The certificates that it is verified with; `None`: those of the system.
    pub authorities: Option<Pem>,
}

impl Settings {
    /// What the configuration says.
    pub fn of(config: &ExtenderConfig) -> Self {
        let tls = config.tls.clone().unwrap_or_default();
        let pem = |data: String, file: String| match (data.is_empty(), file.is_empty()) {
            (false, _) => Some(Pem::Data(data)),
            (true, false) => Some(Pem::File(file.into())),
            (true, true) => None,
        };
        let authorities = pem(tls.ca_data, tls.ca_file);
        Self {
            extender: config.in_force(),
            // As upstream, HTTPS without root certificates verifies nothing.
            insecure: tls.insecure || config.enable_https && authorities.is_none(),
            server_name: Some(tls.server_name).filter(|name| !name.is_empty()),
            identity: pem(tls.cert_data, tls.cert_file).zip(pem(tls.key_data, tls.key_file)),
            authorities,
        }
    }
}

/// Something in PEM.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Pem {
    /// A file.
    File(PathBuf),
    /// Its text in base64.
    Data(String),
}

/// An extender cannot be reached with these settings.
#[derive(Debug, thiserror::Error)]
#[error("cannot prepare the connection to the extender {url}: {why}")]
pub struct ExtenderError {
    /// Its URL.
    pub url: String,
    /// What is wrong.
    pub why: String,
}

/// An answer may have this many bytes more than twice its question. A longer one is refused, so that no extender fills
/// the memory.
const ANSWER: usize = 4 * 1024 * 1024;
/// Bodies from this size on are made and read on a thread of their own.
const LARGE: usize = 256 * 1024;
/// How many victims are read at once for an extender that wants whole pods.
const READS: usize = 16;

/// An extender and its connections.
struct Remote {
    extender: Extender,
    client: kube::Client,
}

impl Remote {
    fn new(settings: &Settings) -> Result<Self, ExtenderError> {
        let failed = |why: String| ExtenderError { url: settings.extender.url.clone(), why };
        let url = settings.extender.url.trim_end_matches('/');
        let mut config = kube::Config::new(
            url.parse().map_err(|error| failed(format!("the URL cannot be used: {error}")))?,
        );
        config.default_retry = false;
        config.disable_compression = true;
        (config.connect_timeout, config.read_timeout, config.write_timeout) = (None, None, None);
        config.accept_invalid_certs = settings.insecure;
        config.tls_server_name.clone_from(&settings.server_name);
        if let Some(authorities) = &settings.authorities {
            let text = authorities.read().map_err(failed)?;
            let all = CertificateDer::pem_slice_iter(&text).collect::<Result<Vec<_>, _>>();
            let all =
                all.map_err(|error| failed(format!("the root certificates cannot be used: {error}")))?;
            config.root_cert = Some(all.into_iter().map(|one| one.to_vec()).collect());
        }
        if let Some((certificate, key)) = &settings.identity {
            match certificate {
                Pem::File(path) => config.auth_info.client_certificate = Some(path.display().to_string()),
                Pem::Data(data) => config.auth_info.client_certificate_data = Some(data.clone()),
            }
            match key {
                Pem::File(path) => config.auth_info.client_key = Some(path.display().to_string()),
                Pem::Data(data) => config.auth_info.client_key_data = Some(data.clone().into()),
            }
        }
        let client = kube::Client::try_from(config).map_err(|error| failed(deepest(&error)))?;
        Ok(Self { extender: settings.extender.clone(), client })
    }

    fn url(&self, verb: &str) -> String {
        format!("{}/{verb}", self.extender.url.trim_end_matches('/'))
    }

    /// Sends a question and returns the answer, in any case within the time limit.
    async fn post(&self, verb: &str, body: Vec<u8>) -> Result<Vec<u8>, CallError> {
        let micros = u64::try_from(self.extender.timeout.0).unwrap_or(0);
        let limit = Duration::from_micros(micros);
        tokio::time::timeout(limit, self.exchange(verb, body)).await.unwrap_or_else(|_| {
            Err(CallError::Unknown(format!(
                "Post {:?}: context deadline exceeded (Client.Timeout exceeded while awaiting headers)",
                self.url(verb)
            )))
        })
    }

    async fn exchange(&self, verb: &str, body: Vec<u8>) -> Result<Vec<u8>, CallError> {
        let url = self.url(verb);
        let lost = |why: String| CallError::Unknown(format!("Post {url:?}: {why}"));
        let most = ANSWER.saturating_add(body.len().saturating_mul(2));
        let request = http::Request::builder()
            .method(Method::POST)
            .uri(format!("/{verb}"))
            .header(header::CONTENT_TYPE, "application/json")
            .body(Body::from(body))
            .map_err(|error| lost(error.to_string()))?;
        let response = self.client.send(request).await.map_err(|error| lost(deepest(&error)))?;
        let status = response.status();
        if status != StatusCode::OK {
            let code = status.as_u16();
            let message = format!("failed {verb} with extender at URL {url}, code {code}");
            return Err(CallError::Refused { code, reason: String::new(), message });
        }
        let body = axum::body::Body::new(response.into_body());
        match axum::body::to_bytes(body, most).await {
            Ok(bytes) => Ok(bytes.into()),
            Err(error) => {
                let why = deepest(&error);
                let long = why.contains("length limit");
                Err(lost(if long { format!("the answer has more than {most} bytes") } else { why }))
            }
        }
    }
}

impl Pem {
    fn read(&self) -> Result<Vec<u8>, String> {
        match self {
            Self::File(path) => {
                std::fs::read(path).map_err(|error| format!("cannot read `{}`: {error}", path.display()))
            }
            Self::Data(data) => serde_json::from_value(json!(data))
                .map(|ByteString(text)| text)
                .map_err(|error| format!("the data is not base64: {error}")),
        }
    }
}

/// All extenders with what their questions need.
struct Remotes {
    all: Vec<Remote>,
    raw: Arc<RawObjects>,
    api: Api,
    term: Term,
    replies: Arc<dyn Replies>,
}

/// Takes the questions of the scheduler.
#[derive(Clone)]
pub(crate) struct Asker {
    questions: mpsc::UnboundedSender<(Ticket, u16, ExtenderAsk)>,
}

/// The connections to extenders, before questions come.
pub(crate) struct Connections(Vec<Remote>);

impl Connections {
    /// Prepares the connections without opening one. The extenders are in the order of their calls.
    pub(crate) fn new(settings: &[Settings]) -> Result<Self, ExtenderError> {
        Ok(Self(settings.iter().map(Remote::new).collect::<Result<_, _>>()?))
    }

    /// The objects that questions need; `None` without extenders.
    pub(crate) fn raw_objects(&self) -> Option<Arc<RawObjects>> {
        let blind = self.0.iter().any(|remote| !remote.extender.node_cache_capable);
        (!self.0.is_empty()).then(|| Arc::new(RawObjects::new(blind)))
    }

    /// Starts the task that asks; it ends with the last [`Asker`].
    pub(crate) fn start(
        self,
        supervisor: &Supervisor,
        raw: Arc<RawObjects>,
        api: Api,
        term: Term,
        replies: Arc<dyn Replies>,
    ) -> Asker {
        let (questions, inbox) = mpsc::unbounded_channel();
        let remotes = Remotes { all: self.0, raw, api, term, replies };
        supervisor.spawn(Task::Extenders, run(Arc::new(remotes), inbox));
        Asker { questions }
    }
}

impl Asker {
    /// Asks an extender. The reply comes in any case.
    pub(crate) fn ask(&self, ticket: Ticket, at: u16, ask: ExtenderAsk) {
        let _ = self.questions.send((ticket, at, ask));
    }
}

async fn run(remotes: Arc<Remotes>, mut inbox: mpsc::UnboundedReceiver<(Ticket, u16, ExtenderAsk)>) {
    let mut open: FuturesUnordered<BoxFuture<'static, ()>> = FuturesUnordered::new();
    loop {
        tokio::select! {
            question = inbox.recv() => match question {
                Some((ticket, at, ask)) => {
                    let remotes = Arc::clone(&remotes);
                    open.push(Box::pin(async move { remotes.answer(ticket, at, ask).await }));
                }
                None => return,
            },
            Some(()) = open.next() => {}
        }
    }
}

impl Remotes {
    /// Asks and replies.
    async fn answer(&self, ticket: Ticket, at: u16, ask: ExtenderAsk) {
        let binds = matches!(ask, ExtenderAsk::Bind { .. });
        let result = match self.all.get(usize::from(at)) {
            // The last look at the term before a write.
            _ if binds && !self.term.may_write() => {
                Err(calls::unsent(String::from("this instance is not the leader")))
            }
            Some(remote) => self.ask(remote, &ask).await,
            None => Err(CallError::Unknown(String::from("the extender does not exist"))),
        };
        if let (Err(error), Some(remote)) = (&result, self.all.get(usize::from(at))) {
            log(&remote.extender, &ask, error.message());
        }
        let name = match &result {
            Ok(_) => "done",
            Err(CallError::Refused { .. }) => "refused",
            Err(CallError::Unknown(_)) => "unknown",
            Err(CallError::Retry { .. }) => "retry",
        };
        let kind = if binds { "bind" } else { "extender" };
        self.replies.finished(FinishedCall { kind, pod: ask.pod().clone(), result: name });
        self.replies.reply(ticket, result.map(Answer::Extender));
    }

    async fn ask(&self, remote: &Remote, ask: &ExtenderAsk) -> Result<ExtenderAnswer, CallError> {
        let extender = &remote.extender;
        match ask {
            ExtenderAsk::Filter { pod, nodes } => {
                let body = self.args(extender, pod, nodes)?;
                let text = remote.post(&extender.filter_verb, body).await?;
                read(&text, wire::filtered)
            }
            ExtenderAsk::Prioritize { pod, nodes } => {
                let body = self.args(extender, pod, nodes)?;
                let text = remote.post(&extender.prioritize_verb, body).await?;
                read(&text, wire::scores)
            }
            ExtenderAsk::Preempt { pod, candidates } => {
                let all = self.candidates(extender, candidates).await?;
                let body = wire::preemption_args(&self.pod(pod)?, all, extender.node_cache_capable);
                let text = remote.post(&extender.preempt_verb, body).await?;
                read(&text, wire::victims)
            }
            ExtenderAsk::Bind { pod, node } => {
                let body = json!({
                    "PodName": pod.name.as_str(), "PodNamespace": pod.namespace.as_str(),
                    "PodUID": pod.uid.as_str(), "Node": node.as_str(),
                });
                let text = remote.post(&extender.bind_verb, body.to_string().into_bytes()).await?;
                read(&text, wire::bound)
            }
        }
    }

    fn pod(&self, pod: &ObjectKey) -> Result<Text, CallError> {
        let gone = || CallError::Unknown(format!("pod {:?} is gone or has a node", pod.name.as_str()));
        self.raw.get(pod).ok_or_else(gone)
    }

    /// The body of a question about nodes. Nodes that are gone meanwhile are left out.
    fn args(&self, extender: &Extender, pod: &ObjectKey, nodes: &[Symbol]) -> Result<Vec<u8>, CallError> {
        let pod = self.pod(pod)?;
        if extender.node_cache_capable {
            return Ok(wire::args(&pod, &Nodes::Names(nodes)));
        }
        let node = |name: &Symbol| {
            let (namespace, uid) = (Symbol::default(), Symbol::default());
            self.raw.get(&ObjectKey { kind: Kind::Node, namespace, name: name.clone(), uid })
        };
        let all: Vec<Text> = nodes.iter().filter_map(node).collect();
        let size = all.iter().map(|node| node.len()).sum::<usize>();
        let write = || wire::args(&pod, &Nodes::Whole(all));
        Ok(if size >= LARGE { tokio::task::block_in_place(write) } else { write() })
    }

    /// The candidates of a preemption. Whole victims are read from the API server, because pods on nodes are not kept.
    async fn candidates(
        &self,
        extender: &Extender,
        candidates: &[NodeVictims],
    ) -> Result<Vec<wire::Candidate>, CallError> {
        let mut all = Vec::with_capacity(candidates.len());
        for candidate in candidates {
            let pods: Vec<Text> = match extender.node_cache_capable {
                true => candidate.pods.iter().map(|pod| text_of(json!({"UID": pod.uid.as_str()}))).collect(),
                false => {
                    let reads: Vec<_> = candidate.pods.iter().map(|pod| self.read_pod(pod)).collect();
                    let read = stream::iter(reads).buffered(READS).collect::<Vec<_>>().await;
                    read.into_iter().collect::<Result<_, _>>()?
                }
            };
            all.push((candidate.node.to_string(), pods, candidate.pdb_violations));
        }
        Ok(all)
    }

    async fn read_pod(&self, pod: &ObjectKey) -> Result<Text, CallError> {
        let read = self.api.call::<serde_json::Value>(Request::get(calls::path_of(pod))).await;
        read.map(text_of).map_err(|error| CallError::Unknown(format!("reading a victim: {error}")))
    }
}

/// Reads an answer; a large one on a thread of its own.
fn read(text: &[u8], read: fn(&[u8]) -> Result<ExtenderAnswer, String>) -> Result<ExtenderAnswer, CallError> {
    let read = if text.len() >= LARGE { tokio::task::block_in_place(|| read(text)) } else { read(text) };
    // The extender answered, so the answer is not lost.
    read.map_err(|message| CallError::Refused { code: 200, reason: String::new(), message })
}

/// Upstream's lines. A failed attempt is logged where it ends.
fn log(extender: &Extender, ask: &ExtenderAsk, error: &str) {
    let (name, pod) = (extender.url.as_str(), ask.pod());
    let pod = format!("{}/{}", pod.namespace, pod.name);
    match ask {
        ExtenderAsk::Prioritize { .. } => tracing::debug!(
            extender = name, %pod, err = error,
            "Failed to run extender's priority function. No score given by this extender."
        ),
        ExtenderAsk::Bind { .. } if extender.ignorable => tracing::info!(
            extender = name, %pod, err = error,
            "Skipping extender in bind as it returned error and has ignorable flag set"
        ),
        _ if extender.ignorable => tracing::info!(
            extender = name, %pod, err = error,
            "Skipping extender as it returned error and has ignorable flag set"
        ),
        _ => tracing::info!(extender = name, %pod, err = error, "the extender failed"),
    }
}
