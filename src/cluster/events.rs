//! Events (`events.k8s.io/v1`) with client-go's aggregation: the second event of a kind about a pod makes a series,
//! later ones only count until the series is written again. The queue is bounded; what finds no room is counted and
//! let go, so a slow API server never holds up scheduling.

use super::calls::micro;
use super::client::{Api, ApiError, JSON, MERGE_PATCH, Request};
use super::random::Backoff;
use super::watch::rule;
use crate::framework::{EventRecord, EventType};
use crate::model::Time;
use http::Method;
use rustc_hash::FxHashMap;
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use tokio::sync::mpsc;

/// Workers; each pod's events go through one of them, in order.
const WORKERS: usize = 4;
/// Events that wait for a worker, at most.
const QUEUE: usize = 8_192;
/// Series that a worker remembers, at most.
const REMEMBERED: usize = 4_096;
/// A series without an event for this long is finished.
const FINISH: Duration = Duration::from_secs(6 * 60);
/// A series that goes on is written again this often.
const REFRESH: Duration = Duration::from_secs(30 * 60);
/// The longest note the API takes.
const NOTE: usize = 1_024;

/// The way out for events. Clones share the queue.
#[derive(Clone)]
pub struct EventSink {
    workers: Arc<[mpsc::Sender<EventRecord>]>,
    dropped: Arc<AtomicU64>,
    open: Arc<AtomicUsize>,
}

impl EventSink {
    /// Starts the workers; they end with the last clone. `host` names this instance.
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

    /// How many events were let go.
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

/// What makes two events one series: everything but note and time.
type SeriesKey = (crate::model::Symbol, crate::model::Symbol, &'static str, &'static str);

struct Series {
    path: String,
    first: Instant,
    last: Instant,
    last_seen: String,
    count: u64,
    written: u64,
    written_at: Instant,
}

struct Worker {
    api: Api,
    host: String,
    series: FxHashMap<SeriesKey, Series>,
    open: Arc<AtomicUsize>,
    /// Tells apart events of one microsecond.
    sequence: i64,
    /// That no event may be written is said once.
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
                // The event is gone from the server: begin anew.
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
        // A pod is bound once: nothing to remember.
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
            tracing::error!(pod = %event.pod.name, %error, "events are forbidden; add this rule to the role: {rule}");
        }
    }

    /// Writes what series have counted: when they are finished, and now and then before.
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
    let body = json!({"series": {"count": series.count, "lastObservedTime": series.last_seen}});
    send(api, || Request::with_body(Method::PATCH, series.path.clone(), MERGE_PATCH, &body)).await?;
    (series.written, series.written_at) = (series.count, Instant::now());
    Ok(())
}

/// Sends until it is done, refused, or has been tried twelve times (client-go's number).
async fn send(api: &Api, request: impl Fn() -> Request) -> Result<(), ApiError> {
    let mut backoff = Backoff::new(Duration::from_millis(200), Duration::from_secs(10));
    for left in (0..12).rev() {
        match api.send(request()).await {
            Ok(_) => return Ok(()),
            // An event of this name is there: an earlier try arrived after all.
            Err(error) if error.code() == Some(409) => return Ok(()),
            Err(error) if error.is_passing() && left > 0 => tokio::time::sleep(backoff.wait()).await,
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn micro_time(at: Time) -> String {
    jiff::Timestamp::from_microsecond(at.0).map(micro).unwrap_or_default()
}

/// A note as the API takes it: at most 1,024 bytes, with upstream's mark where it was cut.
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

fn event_object(event: &EventRecord, name: &str, host: &str) -> Value {
    json!({
        "apiVersion": "events.k8s.io/v1", "kind": "Event",
        "metadata": {"name": name, "namespace": event.pod.namespace.as_str()},
        "eventTime": micro_time(event.at),
        "reportingController": event.scheduler.as_str(),
        "reportingInstance": format!("{}-{host}", event.scheduler),
        "action": event.action,
        "reason": event.reason,
        "regarding": {
            "apiVersion": "v1", "kind": "Pod", "namespace": event.pod.namespace.as_str(),
            "name": event.pod.name.as_str(), "uid": event.pod.uid.as_str(),
        },
        "note": cut(&event.note),
        "type": match event.kind { EventType::Normal => "Normal", EventType::Warning => "Warning" },
    })
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
}
