//! One kind of object, listed in pages and then watched, for ever: bookmarks, a list anew after 410, connections
//! that break or fall silent, a server that is away, a kind that may not be read. `informers` turns what comes into
//! Inputs, `policy_source` into policies. What lives in a cache is decoded straight into the caller's slim type.

use super::client::{Api, ApiError, Request, outcome};
use super::random::{Backoff, jitter};
use futures::StreamExt;
use kube::core::WatchEvent;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::time::Duration;

/// What is watched.
#[derive(Clone, Debug)]
pub struct Collection {
    /// The path of the collection, such as `/api/v1/pods`.
    pub path: String,
    /// The resource's plural name, for messages.
    pub resource: &'static str,
    /// The API group, for messages; empty for the core group.
    pub group: &'static str,
    /// Selectors as a query, such as `labelSelector=a%3Db`; empty for none.
    pub selectors: String,
}

impl Collection {
    /// The rule of a role that gives these rights to it.
    pub fn rule(&self, verbs: &[&str]) -> String {
        rule(self.group, &[self.resource], verbs)
    }
}

/// A rule of a role, as it is written in YAML.
pub fn rule(group: &str, resources: &[&str], verbs: &[&str]) -> String {
    let quoted =
        |words: &[&str]| words.iter().map(|word| format!("\"{word}\"")).collect::<Vec<_>>().join(", ");
    format!("{{apiGroups: [\"{group}\"], resources: [{}], verbs: [{}]}}", quoted(resources), quoted(verbs))
}

/// An object that can be watched.
pub trait Watched: DeserializeOwned + Clone + Send + 'static {
    /// `metadata.resourceVersion`.
    fn resource_version(&self) -> &str;
}

impl Watched for serde_json::Value {
    fn resource_version(&self) -> &str {
        self["metadata"]["resourceVersion"].as_str().unwrap_or_default()
    }
}

/// What a watch brings.
#[derive(Clone, Debug)]
pub enum Seen<T> {
    /// All objects there are, after which changes follow.
    All(Vec<T>),
    /// An object was added or changed.
    Applied(T),
    /// An object is gone (or no longer selected).
    Gone(T),
    /// Nothing changed: the server lives and the watch is up to date.
    Alive,
    /// The collection cannot be read; said once until it changes. The watch goes on trying.
    Trouble(Trouble),
}

/// Why a collection cannot be read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Trouble {
    /// We may not list or watch it.
    Forbidden {
        /// The server's words.
        message: String,
        /// The rule to add to our role.
        rule: String,
    },
    /// The server has no such kind.
    Absent,
    /// Our credentials are not accepted.
    Unauthorized(String),
    /// Anything that may pass.
    Passing(String),
}

impl std::fmt::Display for Trouble {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Forbidden { message, rule } => write!(f, "{message}; add this rule to the role: {rule}"),
            Self::Absent => f.write_str("the API server has no such kind"),
            Self::Unauthorized(message) => {
                write!(f, "the API server does not accept our credentials ({message}): is the token expired?")
            }
            Self::Passing(message) => f.write_str(message),
        }
    }
}

#[derive(Deserialize)]
struct Page<T> {
    metadata: PageMeta,
    items: Option<Vec<T>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PageMeta {
    #[serde(default)]
    resource_version: String,
    #[serde(default, rename = "continue")]
    next: String,
}

/// Objects of a page.
const PAGE: usize = 500;
/// How long the server is asked to keep a watch open.
const WATCH: Duration = Duration::from_secs(240);
/// A watch that is silent for longer is opened anew; bookmarks come about once a minute.
const SILENCE: Duration = Duration::from_secs(95);
/// A page may be large and the server busy.
const LIST_TIMEOUT: Duration = Duration::from_secs(60);

/// Lists and watches a collection until `seen` says that nobody listens any more (returns `false`).
pub async fn run<T: Watched>(
    api: &Api,
    collection: &Collection,
    mut seen: impl FnMut(Seen<T>) -> bool + Send,
) {
    let mut backoff = Backoff::new(Duration::from_millis(200), Duration::from_secs(10));
    let mut last_trouble = None;
    loop {
        let (items, mut version) = match list::<T>(api, collection).await {
            Ok(listed) => listed,
            Err(error) => {
                let trouble = trouble(collection, &error);
                // A right may be granted any time, but nobody waits for it by the second.
                let pause = match trouble {
                    Trouble::Passing(_) => backoff.wait(),
                    _ => jitter(Duration::from_secs(5), 0.5),
                };
                if last_trouble.as_ref() != Some(&trouble) {
                    last_trouble = Some(trouble.clone());
                    if !seen(Seen::Trouble(trouble)) {
                        return;
                    }
                }
                tokio::time::sleep(pause).await;
                continue;
            }
        };
        last_trouble = None;
        if !seen(Seen::All(items)) {
            return;
        }
        // Watches follow each other until the server no longer knows the version where we stand.
        loop {
            match follow(api, collection, &mut version, &mut seen).await {
                Followed::Ended { events } => {
                    if events {
                        backoff.reset();
                    } else {
                        tokio::time::sleep(backoff.wait()).await;
                    }
                }
                Followed::Expired => {
                    tracing::info!(resource = collection.resource, "watch expired, listing anew");
                    break;
                }
                Followed::Failed(error) => {
                    let trouble = trouble(collection, &error);
                    tracing::info!(resource = collection.resource, %error, "watch broken, opening it anew");
                    if !matches!(trouble, Trouble::Passing(_)) && !seen(Seen::Trouble(trouble)) {
                        return;
                    }
                    tokio::time::sleep(backoff.wait()).await;
                }
                Followed::NobodyListens => return,
            }
        }
        tokio::time::sleep(backoff.wait()).await;
    }
}

/// Lists a collection, page by page; its objects and the version they had together.
pub async fn list<T: Watched>(api: &Api, collection: &Collection) -> Result<(Vec<T>, String), ApiError> {
    let mut items = Vec::new();
    let mut next = String::new();
    loop {
        let mut path = format!("{}?limit={PAGE}", collection.path);
        for part in [&collection.selectors, &next] {
            if !part.is_empty() {
                path.push('&');
                path.push_str(part);
            }
        }
        let page: Page<T> = api.call(Request::get(path).within(LIST_TIMEOUT)).await?;
        items.extend(page.items.unwrap_or_default());
        if page.metadata.next.is_empty() {
            return Ok((items, page.metadata.resource_version));
        }
        next = format!("continue={}", encode(&page.metadata.next));
    }
}

enum Followed {
    /// The watch ended as watches do; whether anything came.
    Ended {
        events: bool,
    },
    /// Our version is too old: list anew.
    Expired,
    Failed(ApiError),
    NobodyListens,
}

async fn follow<T: Watched>(
    api: &Api,
    collection: &Collection,
    version: &mut String,
    seen: &mut (impl FnMut(Seen<T>) -> bool + Send),
) -> Followed {
    let seconds = jitter(WATCH, 0.2).as_secs();
    let mut path = format!(
        "{}?watch=true&allowWatchBookmarks=true&resourceVersion={version}&timeoutSeconds={seconds}",
        collection.path
    );
    if !collection.selectors.is_empty() {
        path.push('&');
        path.push_str(&collection.selectors);
    }
    let opened = tokio::time::timeout(LIST_TIMEOUT, api.watch::<T>(&path)).await;
    let stream = match opened {
        Ok(Ok(stream)) => stream,
        Ok(Err(error)) if error.code() == Some(410) => return Followed::Expired,
        Ok(Err(error)) => return Followed::Failed(error),
        Err(_) => return Followed::Failed(ApiError::Lost("the watch was not opened".into())),
    };
    let mut stream = std::pin::pin!(stream);
    let mut events = false;
    loop {
        let next = match tokio::time::timeout(SILENCE, stream.next()).await {
            Ok(Some(next)) => next,
            Ok(None) => return Followed::Ended { events },
            Err(_) => return Followed::Failed(ApiError::Lost(format!("silent for {SILENCE:?}"))),
        };
        let on = match next {
            Ok(WatchEvent::Added(object) | WatchEvent::Modified(object)) => {
                object.resource_version().clone_into(version);
                seen(Seen::Applied(object))
            }
            Ok(WatchEvent::Deleted(object)) => {
                object.resource_version().clone_into(version);
                seen(Seen::Gone(object))
            }
            Ok(WatchEvent::Bookmark(bookmark)) => {
                *version = bookmark.metadata.resource_version;
                seen(Seen::Alive)
            }
            Ok(WatchEvent::Error(status)) if status.code == 410 => return Followed::Expired,
            Ok(WatchEvent::Error(status)) => return Followed::Failed(outcome(&kube::Error::Api(status))),
            Err(kube::Error::SerdeError(error)) => {
                // An object that cannot be decoded: its version is unknown too, so the next list decides.
                tracing::warn!(resource = collection.resource, %error, "cannot read an object of the watch");
                return Followed::Expired;
            }
            Err(error) => return Followed::Failed(outcome(&error)),
        };
        events = true;
        if !on {
            return Followed::NobodyListens;
        }
    }
}

fn trouble(collection: &Collection, error: &ApiError) -> Trouble {
    match error {
        ApiError::Status { code: 403, message, .. } => {
            Trouble::Forbidden { message: message.clone(), rule: collection.rule(&["list", "watch"]) }
        }
        ApiError::Status { code: 404, .. } => Trouble::Absent,
        ApiError::Status { code: 401, message, .. } => Trouble::Unauthorized(message.clone()),
        other => Trouble::Passing(other.to_string()),
    }
}

/// A text as the value of a query.
pub fn encode(text: &str) -> String {
    use std::fmt::Write;
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => out.push(char::from(byte)),
            _ => {
                let _ = write!(out, "%{byte:02X}");
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_forbidden_kind_names_the_rule_to_add() {
        let collection = Collection {
            path: "/apis/policy/v1/poddisruptionbudgets".into(),
            resource: "poddisruptionbudgets",
            group: "policy",
            selectors: String::new(),
        };
        let error = ApiError::Status {
            code: 403,
            reason: "Forbidden".into(),
            message: "poddisruptionbudgets.policy is forbidden".into(),
            retry_after: None,
        };
        assert_eq!(
            trouble(&collection, &error).to_string(),
            "poddisruptionbudgets.policy is forbidden; add this rule to the role: {apiGroups: [\"policy\"], \
             resources: [\"poddisruptionbudgets\"], verbs: [\"list\", \"watch\"]}"
        );
    }

    #[test]
    fn queries_are_encoded() {
        assert_eq!(encode("status.phase!=Failed,a=b/c"), "status.phase%21%3DFailed%2Ca%3Db%2Fc");
    }
}
