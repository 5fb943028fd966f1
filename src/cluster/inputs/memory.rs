//! Asks a running scheduler for what it remembers (`port/memory.rs`), with the credentials of a kubeconfig. Called by
//! `bayplan snapshot`.

use crate::api::client::{Api, ApiError, ConnectError, Request, Target};
use crate::port::memory::{Document, PATH};
use bayplan_scheduler::memory::Memory;
use std::time::Duration;

/// How long the answer may take: that of a large cluster has tens of megabytes.
const PATIENCE: Duration = Duration::from_secs(120);

/// What a scheduler answers.
#[derive(Debug)]
pub enum Answer {
    /// Its memory.
    Memory(Box<Memory>),
    /// It does not give it, and why.
    Refused(String),
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum MemoryError {
    /// No connection can be prepared.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// The scheduler cannot be reached, or its certificate is not trusted.
    #[error("cannot reach the scheduler {server}: {why}{}", hint(.why))]
    Unreachable {
        /// Its URL.
        server: String,
        /// The cause.
        why: String,
    },
    /// The answer is of no use.
    #[error("cannot use the answer of {server}: {why}")]
    Unusable {
        /// The URL.
        server: String,
        /// What is wrong with it.
        why: String,
    },
    /// The operating system refuses.
    #[error("cannot start: {0}")]
    System(std::io::Error),
}

/// What to do about a certificate that is not trusted.
fn hint(why: &str) -> &'static str {
    match why.contains("certificate") || why.contains("UnknownIssuer") {
        true => {
            "; name its authority with `--scheduler-ca-file FILE`, and the name in its certificate with \
             `--scheduler-tls-server-name NAME`; a scheduler without a certificate of its own makes one that nothing signs, \
             which `--scheduler-insecure-skip-tls-verify` takes"
        }
        false => "",
    }
}

/// Whether a scheduler answers at a target.
pub fn reach(target: &Target) -> Result<(), MemoryError> {
    asked(async {
        let api = Api::new(target).await?;
        match api.send(Request::get("/livez")).await {
            Err(ApiError::NotSent(why) | ApiError::Lost(why)) => {
                Err(MemoryError::Unreachable { server: api.server().to_owned(), why })
            }
            _ => Ok(()),
        }
    })
}

fn asked<T>(question: impl Future<Output = Result<T, MemoryError>>) -> Result<T, MemoryError> {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(MemoryError::System)?;
    let answer = runtime.block_on(question);
    runtime.shutdown_timeout(Duration::from_millis(200));
    answer
}

/// The memory of the scheduler at a target.
pub fn remembered(target: &Target) -> Result<Answer, MemoryError> {
    asked(async {
        let api = Api::new(target).await?;
        let server = api.server().to_owned();
        let refused = |code: u16, why: &str| {
            let right = format!(
                "the right is `get` on the URL `{PATH}`, as the role `bayplan-snapshot-reader` has it"
            );
            Ok(Answer::Refused(format!("the scheduler {server} answers {code}: {why} ({right})")))
        };
        match api.send(Request::get(PATH).within(PATIENCE)).await {
            Ok(bytes) => match Document::read(&bytes) {
                Ok(memory) => Ok(Answer::Memory(Box::new(memory))),
                Err(why) => Err(MemoryError::Unusable { server, why }),
            },
            Err(ApiError::Status { code: 401, .. }) => refused(401, "it does not accept your credentials"),
            Err(ApiError::Status { code: 403, .. }) => refused(403, "you may not read its memory"),
            Err(ApiError::Status { code: 404, .. }) => refused(404, "this version has no such page"),
            Err(ApiError::NotSent(why) | ApiError::Lost(why)) => {
                Err(MemoryError::Unreachable { server, why })
            }
            Err(other) => Err(MemoryError::Unusable { server, why: other.to_string() }),
        }
    })
}
