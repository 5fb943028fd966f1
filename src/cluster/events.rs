//! Events (`events.k8s.io/v1`) with client-go's aggregation: a second event of the same kind about
//! a pod makes a series; later ones are only counted until the series is written again. The queue
//! is bounded: an event that finds it full is dropped and counted, so a slow API server never holds
//! up scheduling.

use super::backoff::backoff;
use super::client::{Api, ApiError, JSON, MERGE_PATCH, Request};
use super::watch::rule;
use crate::framework::{EventRecord, EventType};
use crate::model::Time;
use backon::Retryable;
use http::Method;
use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::api::events::v1::{Event, EventSeries};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta};
use rustc_hash::FxHashMap;
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use tokio::sync::mpsc;

/// Number of workers. All events of a pod go through the same worker, in order.
const WORKERS: usize = 4;
/// Maximum number of events that wait for a worker.
const QUEUE: usize = 8_192;
/// Maximum number of series that a worker tracks.
const REMEMBERED: usize = 4_096;
/// A series without an event for this long is finished.
const FINISH: Duration = Duration::from_secs(6 * 60);
/// A running series is written again this often.
const REFRESH: Duration = Duration::from_secs(30 * 60);
/// Maximum length of a note, in bytes.
const NOTE: usize = 1_024;

/// Queues events for writing. Clones share the queue.
#[derive(Clone)]
pub struct EventSink {
    workers: Arc<[mpsc::Sender<EventRecord>]>,
    dropped: Arc<AtomicU64>,
    open: Arc<AtomicUsize>,
}

impl EventSink {
    /// Starts the workers; they end with the last clone. `host` is this instance's host name.
    pub fn start(api: &Api, host: &str) -> Self {
        let (open, forbidden) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(false)));
        let workers = (0..WORKERS).map(|_| {
            let (send, inbox) = mpsc::channel(QUEUE);
            let worker = Worker {
                api: api.clone(),
                host: host.to_owned(),
                series: FxHashMap::default(),
                open: Arc::clone(&open),
                sequence: 0,
                forbidden: Arc::clone(&forbidden),
            };
            tokio::spawn(worker.run(inbox));
            send
        });
        Self { workers: workers.collect(), dropped: Arc::new(AtomicU64::new(0)), open }
    }

    /// Queues an event; never waits.
    pub fn send(&self, event: EventRecord) {
        let at =
            event.pod.uid.bytes().fold(0usize, |sum, byte| sum.wrapping_mul(31).wrapping_add(byte.into()));
        let Some(worker) = self.workers.get(at % self.workers.len().max(1)) else { return };
        self.open.fetch_add(1, Ordering::Relaxed);
        if worker.try_send(event).is_err() {
            self.open.fetch_sub(1, Ordering::Relaxed);
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Number of dropped events.
    pub fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    /// Waits until all queued events are written, at most `patience`.
    pub async fn drain(&self, patience: Duration) {
        let until = Instant::now() + patience;
        while self.open.load(Ordering::Relaxed) > 0 && Instant::now() < until {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
}

/// Events with the same pod, scheduler, reason and action form a series.
type SeriesKey = (crate::model::Symbol, crate::model::Symbol, &'static str, &'static str);

struct Series {
    path: String,
    first: Instant,
    last: Instant,
    last_seen: Option<MicroTime>,
    count: i32,
    /// The count that the API server has.
    written: i32,
    written_at: Instant,
}

struct Worker {
    api: Api,
    host: String,
    series: FxHashMap<SeriesKey, Series>,
    open: Arc<AtomicUsize>,
    /// Makes names of events in the same microsecond unique.
    sequence: i64,
    /// Whether the log has named the missing right.
    forbidden: Arc<AtomicBool>,
}

impl Worker {
    async fn run(mut self, mut inbox: mpsc::Receiver<EventRecord>) {
        let mut sweep = tokio::time::interval(Duration::from_secs(60));
        sweep.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                event = inbox.recv() => match event {
                    Some(event) => {
                        self.record(&event).await;
                        self.open.fetch_sub(1, Ordering::Relaxed);
                    }
                    None => return,
                },
                _ = sweep.tick() => self.sweep().await,
            }
        }
    }

    async fn record(&mut self, event: &EventRecord) {
        let key = (event.key.0.clone(), event.scheduler.clone(), event.reason, event.action);
        let now = Instant::now();
        let at = micro_time(event.at);
        if let Some(series) = self.series.get_mut(&key) {
            series.count += 1;
            series.last = now;
            series.last_seen.clone_from(&at);
            if series.count > 2 {
                return;
            }
            match write_series(&self.api, series).await {
                Ok(()) => return,
                // The API server has deleted the event: create another.
                Err(error) if error.code() == Some(404) => drop(self.series.remove(&key)),
                Err(error) => return self.not_written(event, &error),
            }
        }
        self.sequence = (self.sequence + 1) % 1_000;
        let name = format!("{}.{:x}", event.pod.name, event.at.0 * 1_000 + self.sequence);
        let collection = format!("/apis/events.k8s.io/v1/namespaces/{}/events", event.pod.namespace);
        let body = event_object(event, &name, &self.host);
        let created =
            send(&self.api, || Request::with_body(Method::POST, collection.clone(), JSON, &body)).await;
        if let Err(error) = created {
            return self.not_written(event, &error);
        }
        // A pod is bound once, so this event has no series.
        if event.reason == "Scheduled" {
            return;
        }
        if self.series.len() >= REMEMBERED
            && let Some(oldest) =
                self.series.iter().min_by_key(|(_, series)| series.last).map(|(key, _)| key.clone())
        {
            self.series.remove(&oldest);
        }
        let path = format!("{collection}/{name}");
        let series =
            Series { path, first: now, last: now, last_seen: at, count: 1, written: 1, written_at: now };
        self.series.insert(key, series);
    }

    fn not_written(&self, event: &EventRecord, error: &ApiError) {
        if error.code() != Some(403) {
            tracing::warn!(pod = %event.pod.name, reason = event.reason, %error, "cannot write an event");
            return;
        }
        if !self.forbidden.swap(true, Ordering::Relaxed) {
            let rule = rule("events.k8s.io", &["events"], &["create", "patch"]);
            tracing::error!(
                pod = %event.pod.name, %error, "writing events is forbidden; add this rule to the role: {rule}"
            );
        }
    }

    /// Writes the counts of series that are finished or were not written for long.
    async fn sweep(&mut self) {
        let now = Instant::now();
        let mut finished = Vec::new();
        for (key, series) in &mut self.series {
            let done = now - series.last.max(series.first) > FINISH;
            let stale = series.count > series.written && (done || now - series.written_at > REFRESH);
            let lost = stale && write_series(&self.api, series).await.is_err();
            if done || lost {
                finished.push(key.clone());
            }
        }
        for key in finished {
            self.series.remove(&key);
        }
    }
}

async fn write_series(api: &Api, series: &mut Series) -> Result<(), ApiError> {
    let last_observed_time = series.last_seen.clone().unwrap_or_else(|| MicroTime(jiff::Timestamp::now()));
    let body = json!({"series": EventSeries { count: series.count, last_observed_time }});
    send(api, || Request::with_body(Method::PATCH, series.path.clone(), MERGE_PATCH, &body)).await?;
    (series.written, series.written_at) = (series.count, Instant::now());
    Ok(())
}

/// How often an event is sent before it is given up; client-go's number.
const TRIES: usize = 12;

/// Sends a request, with retries while the failure may pass.
async fn send(api: &Api, request: impl Fn() -> Request) -> Result<(), ApiError> {
    let sent = (|| async { api.send(request()).await })
        .retry(backoff(Duration::from_millis(200), Duration::from_secs(10)).with_max_times(TRIES - 1))
        .when(|error: &ApiError| error.code() != Some(409) && error.is_passing());
    match sent.await {
        // An event of this name exists: the answer to an earlier try was lost.
        Err(error) if error.code() == Some(409) => Ok(()),
        other => other.map(drop),
    }
}

fn micro_time(at: Time) -> Option<MicroTime> {
    jiff::Timestamp::from_microsecond(at.0).ok().map(MicroTime)
}

/// A note of at most 1,024 bytes, with upstream's mark at the end if it was cut.
fn cut(note: &str) -> String {
    if note.len() <= NOTE {
        return note.to_owned();
    }
    let mut end = NOTE - " ...".len();
    while !note.is_char_boundary(end) {
        end -= 1;
    }
    format!("{} ...", &note[..end])
}

fn event_object(event: &EventRecord, name: &str, host: &str) -> Event {
    let namespace = Some(event.pod.namespace.to_string());
    Event {
        metadata: ObjectMeta {
            name: Some(name.to_owned()),
            namespace: namespace.clone(),
            ..ObjectMeta::default()
        },
        event_time: micro_time(event.at),
        reporting_controller: Some(event.scheduler.to_string()),
        reporting_instance: Some(format!("{}-{host}", event.scheduler)),
        action: Some(event.action.to_owned()),
        reason: Some(event.reason.to_owned()),
        regarding: Some(ObjectReference {
            api_version: Some("v1".to_owned()),
            kind: Some("Pod".to_owned()),
            namespace,
            name: Some(event.pod.name.to_string()),
            uid: Some(event.pod.uid.to_string()),
            ..ObjectReference::default()
        }),
        note: Some(cut(&event.note)),
        type_: Some(match event.kind {
            EventType::Normal => "Normal".to_owned(),
            EventType::Warning => "Warning".to_owned(),
        }),
        ..Event::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_notes_are_cut_at_a_character() {
        assert_eq!(cut("short"), "short");
        let cut = cut(&"é".repeat(600));
        assert!(cut.len() <= NOTE && cut.ends_with("é ..."), "{}", cut.len());
    }

    #[test]
    fn an_event_has_the_fields_that_upstream_writes() {
        let pod = crate::model::ObjectKey {
            kind: crate::model::Kind::Pod,
            namespace: "shop".into(),
            name: "web-1".into(),
            uid: "u-1".into(),
        };
        let event = EventRecord {
            key: crate::model::PodKey("u-1".into()),
            pod,
            scheduler: "bayplan".into(),
            kind: EventType::Warning,
            reason: "FailedScheduling",
            action: "Scheduling",
            note: "0/1 nodes are available".into(),
            at: Time(1_700_000_000_120_000),
        };
        assert_eq!(
            serde_json::to_value(event_object(&event, "web-1.17", "host")).unwrap(),
            json!({
                "apiVersion": "events.k8s.io/v1", "kind": "Event",
                "metadata": {"name": "web-1.17", "namespace": "shop"},
                "eventTime": "2023-11-14T22:13:20.120000Z",
                "reportingController": "bayplan", "reportingInstance": "bayplan-host",
                "action": "Scheduling", "reason": "FailedScheduling", "type": "Warning",
                "note": "0/1 nodes are available",
                "regarding": {
                    "apiVersion": "v1", "kind": "Pod", "namespace": "shop", "name": "web-1", "uid": "u-1",
                },
            })
        );
    }
}
