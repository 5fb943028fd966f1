//! Lists one kind of object in pages and then watches it, for ever. Handles bookmarks, broken and
//! silent connections, an absent server, and missing rights. A watch that the server refuses for
//! any other reason than missing rights or overload is listed again. `informers` turns the objects
//! into Inputs, `policies::source` into policies. Objects are decoded directly into the caller's type.

use crate::api::backoff::{backoff, jitter};
use crate::api::client::{Api, ApiError, Request, outcome};
use backon::BackoffBuilder;
use bayplan_model::objects::projection::Projection;
use bayplan_model::{KINDS, KindName, KindRow};
use futures::StreamExt;
use kube::core::WatchEvent;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::borrow::Cow;
use std::time::Duration;

/// A collection of objects in the API.
#[derive(Clone, Debug)]
pub struct Collection {
    /// The path of the collection, such as `/api/v1/pods`.
    pub path: String,
    /// The resource's plural name, for messages.
    pub resource: Cow<'static, str>,
    /// The API group, for messages; empty for the core group.
    pub group: Cow<'static, str>,
    /// Selectors as a query, such as `labelSelector=a%3Db`; empty for none.
    pub selectors: String,
    /// What is kept of each object.
    pub keep: Projection,
    /// The kind, if policies look it up.
    pub looked_up: Option<KindName>,
}

impl Collection {
    /// The rule of a role that allows these verbs on it.
    pub(crate) fn rule(&self, verbs: &[&str]) -> String {
        rule(&self.group, &[&self.resource], verbs)
    }
}

/// A rule of a role, in YAML.
pub(crate) fn rule(group: &str, resources: &[&str], verbs: &[&str]) -> String {
    let quoted =
        |words: &[&str]| words.iter().map(|word| format!("\"{word}\"")).collect::<Vec<_>>().join(", ");
    format!("{{apiGroups: [\"{group}\"], resources: [{}], verbs: [{}]}}", quoted(resources), quoted(verbs))
}

/// An object that can be watched.
pub trait Watched: DeserializeOwned + Clone + Send + 'static {
    /// `metadata.resourceVersion`.
    fn resource_version(&self) -> &str;
    /// Drops what is not kept. Called for each object of a page, so that a list never holds more.
    fn keep(&mut self, _: &Projection) {}
    /// Called for each object of a collection as soon as it is decoded.
    fn arrived(&mut self, of: &Collection) {
        self.keep(&of.keep);
    }
}

impl Watched for serde_json::Value {
    fn resource_version(&self) -> &str {
        self["metadata"]["resourceVersion"].as_str().unwrap_or_default()
    }
}

/// What a watch reports.
#[derive(Clone, Debug)]
pub(crate) enum Update<T> {
    /// All objects of the collection. Changes follow.
    Listed(Vec<T>),
    /// An object was added or changed.
    Changed(T),
    /// An object was deleted, or the selectors ceased to match it.
    Deleted(T),
    /// Nothing changed; the watch is up to date.
    None,
    /// The collection cannot be read. Reported once for each reason; the watch keeps trying.
    Trouble(Trouble),
}

/// Whether a watch is connected.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Link {
    /// The server answers: changes come as they happen.
    Up,
    /// It broke, or cannot be opened: what is known grows older.
    Down(String),
}

/// Why a collection cannot be read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Trouble {
    /// We may not list or watch it.
    Forbidden {
        /// The server's message.
        message: String,
        /// The rule to add to our role.
        rule: String,
    },
    /// The server has no such kind.
    Absent,
    /// Our credentials are not accepted.
    Unauthorized(String),
    /// A failure that may pass.
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

/// A page of a list.
#[derive(Deserialize)]
pub(crate) struct Page<T> {
    pub(crate) metadata: PageMeta,
    pub(crate) items: Option<Vec<T>>,
}

/// The metadata of a page.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PageMeta {
    #[serde(default)]
    resource_version: String,
    /// Where the next page begins; empty for the last one.
    #[serde(default, rename = "continue")]
    pub(crate) next: String,
    /// How many objects further pages have; the server does not tell it of lists with selectors.
    #[serde(default)]
    pub(crate) remaining_item_count: Option<usize>,
}

/// Objects per page.
const PAGE: usize = 500;
/// How long we ask the server to keep a watch open.
const WATCH: Duration = Duration::from_secs(240);
/// The objects of a watch that is silent for longer are listed again. Bookmarks come about once a minute.
const SILENCE: Duration = Duration::from_secs(95);
/// Generous, because a page may be large and the server busy.
const LIST_TIMEOUT: Duration = Duration::from_secs(60);

/// A watch that fails this often without an event in between is listed again, whatever the failure.
const FAILURES: u32 = 5;

/// Lists and watches a collection until `report` returns `false`, which means that its receiver is
/// gone. The watch waits for `report`, so a receiver without room slows it down.
pub(crate) async fn run<T: Watched, F: Future<Output = bool> + Send>(
    api: &Api,
    collection: &Collection,
    report: impl FnMut(Update<T>) -> F + Send,
) {
    run_linked(api, collection, report, |_| {}).await;
}

/// As [`run`]; `link` learns at once when the connection breaks and when it is there again, also while nothing changes.
pub(crate) async fn run_linked<T: Watched, F: Future<Output = bool> + Send>(
    api: &Api,
    collection: &Collection,
    mut report: impl FnMut(Update<T>) -> F + Send,
    mut link: impl FnMut(Link) + Send,
) {
    let backoff = backoff(Duration::from_millis(200), Duration::from_secs(10));
    let mut waits = backoff.build();
    let mut last_trouble = None;
    let newest = collection;
    let mut collection = Cow::Borrowed(newest);
    loop {
        let (items, mut version) = match list::<T>(api, &collection).await {
            Ok(listed) => listed,
            Err(error) => {
                if let Some(older) = older(&collection, &error) {
                    collection = Cow::Owned(older);
                    continue;
                }
                // The server may be upgraded meanwhile.
                collection = Cow::Borrowed(newest);
                let trouble = trouble(&collection, &error);
                link(Link::Down(trouble.to_string()));
                let pause = pause_after(&trouble, waits.next());
                if last_trouble.as_ref() != Some(&trouble) {
                    last_trouble = Some(trouble.clone());
                    if !report(Update::Trouble(trouble)).await {
                        return;
                    }
                }
                tokio::time::sleep(pause).await;
                continue;
            }
        };
        if !report(Update::Listed(items)).await {
            return;
        }
        let mut failures = 0;
        // One watch follows the other until the server cannot continue from our resource version.
        loop {
            let followed = follow(api, &collection, &mut version, &mut report, &mut link).await;
            if followed.events {
                (failures, last_trouble, waits) = (0, None, backoff.build());
            }
            match followed.end {
                End::Closed if followed.events => {}
                End::Closed => tokio::time::sleep(waits.next().unwrap_or_default()).await,
                End::ReceiverGone => return,
                End::Failed(error) => {
                    link(Link::Down(trouble(&collection, &error).to_string()));
                    failures += 1;
                    if must_list(&error, followed.silent) || failures >= FAILURES {
                        tracing::info!(resource = %collection.resource, %error, "watch failed, listing again");
                        break;
                    }
                    let trouble = trouble(&collection, &error);
                    tracing::info!(resource = %collection.resource, %error, "watch broken, opening it again");
                    let pause = pause_after(&trouble, waits.next());
                    if !matches!(trouble, Trouble::Passing(_)) && last_trouble.as_ref() != Some(&trouble) {
                        last_trouble = Some(trouble.clone());
                        if !report(Update::Trouble(trouble)).await {
                            return;
                        }
                    }
                    tokio::time::sleep(pause).await;
                }
            }
        }
        tokio::time::sleep(waits.next().unwrap_or_default()).await;
    }
}

/// A missing right may be granted at any time; a few seconds of delay do not matter.
fn pause_after(trouble: &Trouble, wait: Option<Duration>) -> Duration {
    match trouble {
        Trouble::Passing(_) => wait.unwrap_or_default(),
        _ => jitter(Duration::from_secs(5), 0.5),
    }
}

/// Whether a watch that failed cannot be continued from the last resource version: 410, an error of
/// the server (after etcd was restored it answers 504, "Too large resource version", for ever), or an
/// object that cannot be read, whose resource version is therefore unknown. A watch without rights,
/// throttled or broken by the network is opened again where it stopped: a list of a large cluster is
/// expensive. Of a silent watch only a list shows that nothing changed.
fn must_list(error: &ApiError, silent: bool) -> bool {
    match error {
        _ if silent => true,
        ApiError::Status { code, .. } => !matches!(code, 401 | 403 | 429),
        ApiError::Unreadable(_) => true,
        ApiError::NotSent(_) | ApiError::Lost(_) => false,
    }
}

/// Lists a collection page by page; returns its objects and their common resource version.
pub async fn list<T: Watched>(api: &Api, collection: &Collection) -> Result<(Vec<T>, String), ApiError> {
    let mut items = Vec::new();
    let mut next = String::new();
    loop {
        let page: Page<T> = page_at(api, collection, PAGE, &next).await?;
        items.extend(page.items.into_iter().flatten().map(|mut item| {
            item.arrived(collection);
            item
        }));
        if page.metadata.next.is_empty() {
            return Ok((items, page.metadata.resource_version));
        }
        next = page.metadata.next;
    }
}

/// The collection that an older API server has in the place of one that it lacks.
fn older(collection: &Collection, error: &ApiError) -> Option<Collection> {
    let is_it = |row: &&KindRow| row.older.is_some() && row.path() == collection.path;
    let row = KINDS.iter().find(is_it).filter(|_| error.code() == Some(404))?;
    Some(Collection { path: row.older_path()?, ..collection.clone() })
}

/// One page of at most `limit` objects; `next` is where it begins, empty for the first one. Of an API server that has the
/// kind in an older version, too.
pub(crate) async fn page<T: DeserializeOwned>(
    api: &Api,
    collection: &Collection,
    limit: usize,
    next: &str,
) -> Result<Page<T>, ApiError> {
    let error = match page_at(api, collection, limit, next).await {
        Err(error) => error,
        found => return found,
    };
    match older(collection, &error) {
        Some(older) => page_at(api, &older, limit, next).await,
        None => Err(error),
    }
}

async fn page_at<T: DeserializeOwned>(
    api: &Api,
    collection: &Collection,
    limit: usize,
    next: &str,
) -> Result<Page<T>, ApiError> {
    let mut path = format!("{}?limit={limit}", collection.path);
    if !collection.selectors.is_empty() {
        path.push('&');
        path.push_str(&collection.selectors);
    }
    if !next.is_empty() {
        path.push_str(&format!("&continue={}", encode(next)));
    }
    api.call(Request::get(path).within(LIST_TIMEOUT)).await
}

/// How a watch ended, and whether it brought events before.
struct Followed {
    events: bool,
    /// It ended because nothing came. API servers send bookmarks for a kind whose objects do not change only if etcd tells
    /// them how far it is (`--watch-progress-notify-interval`, ten minutes by default), and some send none at all: a
    /// list shows that nothing changed.
    silent: bool,
    end: End,
}

enum End {
    /// By itself, when its time was over.
    Closed,
    Failed(ApiError),
    ReceiverGone,
}

async fn follow<T: Watched, F: Future<Output = bool> + Send>(
    api: &Api,
    collection: &Collection,
    version: &mut String,
    report: &mut (impl FnMut(Update<T>) -> F + Send),
    link: &mut (impl FnMut(Link) + Send),
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
    let (mut events, mut silent) = (false, false);
    let opened = tokio::time::timeout(LIST_TIMEOUT, api.watch::<T>(&path)).await;
    let stream = match opened {
        Ok(Ok(stream)) => stream,
        Ok(Err(error)) => return Followed { events, silent: false, end: End::Failed(error) },
        Err(_) => {
            let error = ApiError::Lost("the watch was not opened".into());
            return Followed { events, silent: false, end: End::Failed(error) };
        }
    };
    link(Link::Up);
    let mut stream = std::pin::pin!(stream);
    let end = loop {
        let next = match tokio::time::timeout(SILENCE, stream.next()).await {
            Ok(Some(next)) => next,
            Ok(None) => break End::Closed,
            Err(_) => {
                silent = true;
                break End::Failed(ApiError::Lost(format!("no event for {SILENCE:?}")));
            }
        };
        let update = match next {
            Ok(WatchEvent::Added(mut object) | WatchEvent::Modified(mut object)) => {
                object.resource_version().clone_into(version);
                object.arrived(collection);
                Update::Changed(object)
            }
            Ok(WatchEvent::Deleted(mut object)) => {
                object.resource_version().clone_into(version);
                object.arrived(collection);
                Update::Deleted(object)
            }
            Ok(WatchEvent::Bookmark(bookmark)) => {
                *version = bookmark.metadata.resource_version;
                Update::None
            }
            Ok(WatchEvent::Error(status)) => break End::Failed(outcome(&kube::Error::Api(status))),
            Err(error) => break End::Failed(outcome(&error)),
        };
        events = true;
        if !report(update).await {
            break End::ReceiverGone;
        }
    };
    Followed { events, silent, end }
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

/// Every character but the unreserved ones of RFC 3986.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// A text as the value of a query parameter.
pub(crate) fn encode(text: &str) -> String {
    utf8_percent_encode(text, ESCAPED).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_forbidden_kind_names_the_rule_to_add() {
        let collection = Collection {
            path: "/apis/policy/v1/poddisruptionbudgets".into(),
            resource: "poddisruptionbudgets".into(),
            group: "policy".into(),
            selectors: String::new(),
            keep: Projection::everything(),
            looked_up: None,
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
    fn every_answer_but_refusal_and_overload_lists_again() {
        let status = |code| ApiError::Status {
            code,
            reason: String::new(),
            message: String::new(),
            retry_after: None,
        };
        for code in [400, 404, 410, 500, 503, 504] {
            assert!(must_list(&status(code), false), "{code}");
        }
        for code in [401, 403, 429] {
            assert!(!must_list(&status(code), false), "{code}");
        }
        assert!(must_list(&ApiError::Unreadable("no JSON".into()), false));
        assert!(!must_list(&ApiError::Lost("broken".into()), false));
        assert!(!must_list(&ApiError::NotSent("refused".into()), false));
    }

    #[test]
    fn the_objects_of_a_silent_watch_are_listed_again() {
        assert!(must_list(&ApiError::Lost("no event for 95s".into()), true));
    }

    #[test]
    fn queries_are_encoded() {
        assert_eq!(encode("status.phase!=Failed,a=b/c"), "status.phase%21%3DFailed%2Ca%3Db%2Fc");
        assert_eq!(encode("-_.~ é"), "-_.~%20%C3%A9");
    }
}
