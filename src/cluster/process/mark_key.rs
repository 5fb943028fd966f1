//! The key that proves marks on bound pods, in a Secret which all instances of this scheduler share. The leader makes it
//! if there is none. Without the right to it the scheduler goes on: it works off the marks of its own bindings, and leaves
//! those of instances before it as they are until it may read the key.

use super::driver::Mailbox;
use super::term::Term;
use crate::api::client::{Api, ApiError, JSON, Request};
use crate::inputs::watch::rule;
use aws_lc_rs::rand;
use bayplan_model::MarkKey;
use bayplan_scheduler::Input;
use http::Method;
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use std::time::Duration;
use tokio::sync::watch;

/// The name of the Secret, in the namespace of the scheduler.
pub(crate) const SECRET: &str = "bayplan-marks";
/// The key of its data.
const FIELD: &str = "key";
/// The bytes of a key that is made: as many as the proof has.
const LENGTH: usize = 32;
/// The pause before the Secret is looked for again while there is none, or the API server does not answer.
const SOON: Duration = Duration::from_millis(250);
/// The pause before it is read again after a refusal.
const LATER: Duration = Duration::from_secs(30);
/// How long a new leader waits for the key before it binds pods.
const PATIENCE: Duration = Duration::from_secs(5);

/// Why there is no key.
enum NoKey {
    /// The Secret does not exist, and this instance does not lead.
    NotMade,
    /// The call failed; the verb of the right that it needs.
    Failed(&'static str, ApiError),
    /// The Secret has no usable key.
    Unusable(String),
}

/// A key that no other process knows; `None` if the system has no random numbers.
pub(crate) fn random() -> Option<MarkKey> {
    let mut bytes = [0; LENGTH];
    rand::fill(&mut bytes).ok()?;
    MarkKey::new(&bytes)
}

/// Whether the key is known, or certainly is not for now.
#[derive(Clone)]
pub(crate) struct Known(watch::Receiver<bool>);

impl Known {
    /// Waits until it is known whether there is a key, but not for ever.
    pub(crate) async fn settled(&mut self) {
        if tokio::time::timeout(PATIENCE, self.0.wait_for(|known| *known)).await.is_err() {
            tracing::warn!("no answer about the Secret {SECRET} yet: pods are bound without it");
        }
    }
}

/// Finds the key and gives it to the scheduler.
pub(super) struct Finder {
    pub(crate) api: Api,
    pub(crate) term: Term,
    pub(crate) namespace: String,
    pub(crate) mailbox: Mailbox,
}

impl Finder {
    /// The finder's work, and where to learn of its end.
    pub(crate) fn start(self) -> (impl Future<Output = ()> + Send + 'static, Known) {
        let (tell, known) = watch::channel(false);
        (self.run(tell), Known(known))
    }

    async fn run(self, tell: watch::Sender<bool>) {
        let mut said = String::new();
        loop {
            let pause = match self.find().await {
                Ok(key) => {
                    self.mailbox.input(Input::MarkKey(key));
                    tell.send_replace(true);
                    return std::future::pending().await;
                }
                Err(NoKey::NotMade) => SOON,
                Err(why) => {
                    let (text, pause) = self.why(&why);
                    if text != said {
                        tracing::error!("{text}");
                    }
                    said = text;
                    if pause == LATER {
                        tell.send_replace(true);
                    }
                    pause
                }
            };
            tokio::time::sleep(pause).await;
        }
    }

    /// What is wrong and what it means, and when to try again.
    fn why(&self, why: &NoKey) -> (String, Duration) {
        let secret = format!("Secret {}/{SECRET}", self.namespace);
        let means = "until then what policies still have to write for pods that were bound before this start is left \
                     as it is";
        match why {
            NoKey::Failed(verb, ApiError::Status { code: 403, message, .. }) => {
                let rule = rule("", &["secrets"], &[verb]);
                let text = format!(
                    "cannot {verb} the {secret}: {message}; add this rule to a role in that namespace: {rule}; {means}"
                );
                (text, LATER)
            }
            NoKey::Failed(verb, error) => (format!("cannot {verb} the {secret}: {error}"), SOON),
            NoKey::Unusable(why) => {
                (format!("the {secret} cannot be used: {why}; delete it; {means}"), LATER)
            }
            NoKey::NotMade => (String::new(), SOON),
        }
    }

    async fn find(&self) -> Result<MarkKey, NoKey> {
        let path = format!("/api/v1/namespaces/{}/secrets", self.namespace);
        let read: Result<Secret, ApiError> = self.api.call(Request::get(format!("{path}/{SECRET}"))).await;
        let secret = match read {
            Ok(secret) => secret,
            Err(error) if error.code() == Some(404) && !self.term.may_write() => return Err(NoKey::NotMade),
            Err(error) if error.code() == Some(404) => self.make(&path).await?,
            Err(error) => return Err(NoKey::Failed("get", error)),
        };
        let bytes = secret.data.and_then(|mut data| data.remove(FIELD)).map(|bytes| bytes.0);
        let bytes = bytes.ok_or_else(|| NoKey::Unusable(format!("it has no `{FIELD}`")))?;
        let few = || NoKey::Unusable(format!("its `{FIELD}` has less than {} bytes", MarkKey::SHORTEST));
        MarkKey::new(&bytes).ok_or_else(few)
    }

    /// Makes the Secret. If another instance was faster, its key is found at the next look.
    async fn make(&self, path: &str) -> Result<Secret, NoKey> {
        let mut bytes = vec![0; LENGTH];
        rand::fill(&mut bytes).map_err(|_| NoKey::Unusable("the system has no random numbers".into()))?;
        let secret = Secret {
            metadata: ObjectMeta { name: Some(SECRET.to_owned()), ..ObjectMeta::default() },
            data: Some([(FIELD.to_owned(), ByteString(bytes))].into()),
            immutable: Some(true),
            ..Secret::default()
        };
        match self.api.call(Request::with_body(Method::POST, path, JSON, &secret)).await {
            Ok(made) => Ok(made),
            Err(error) if error.code() == Some(409) => Err(NoKey::NotMade),
            Err(error) => Err(NoKey::Failed("create", error)),
        }
    }
}
