//! Which event is written next (`events.k8s.io/v1`), with client-go's aggregation: a second event of
//! the same kind and note about a pod makes a series; later ones are only counted until the series is written
//! again. Events about one pod are written in order, one at a time. An event whose write fails waits
//! for its retry without holding up other pods. `effects` sends the requests.

use super::event_object::{event_object, micro_time, namespace_of};
use crate::api::backoff::delay_before;
use crate::api::client::{ApiError, JSON, MERGE_PATCH, Request};
use crate::inputs::watch::rule;
use bayplan_framework::EventRecord;
use bayplan_model::{Symbol, Time};
use http::Method;
use k8s_openapi::api::events::v1::EventSeries;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use rustc_hash::{FxBuildHasher, FxHashMap};
use serde_json::json;
use std::borrow::Cow;
use std::collections::{BTreeSet, VecDeque};
use std::hash::BuildHasher;
use std::time::Duration;
use tokio::time::Instant;

/// Maximum number of events that wait to be written: some 30 MB. An event beyond is dropped.
pub(super) const QUEUE: usize = 100_000;
/// Maximum number of remembered series.
const REMEMBERED: usize = 16_384;
/// A series without an event for this long is finished.
const FINISH: Duration = Duration::from_secs(6 * 60);
/// A running series is written again this often.
const REFRESH: Duration = Duration::from_secs(30 * 60);
/// How often an event is sent before it is given up; client-go's number.
const TRIES: u32 = 12;
/// The pauses between these.
const PAUSES: (Duration, Duration) = (Duration::from_millis(200), Duration::from_secs(10));

/// Events with the same pod, object, scheduler, reason, action and note (its hash) form a series. Upstream's key has the pod's
/// version instead of the note: a new note changes the pod's condition, and so its version.
type SeriesKey = (Symbol, Symbol, Symbol, Cow<'static, str>, &'static str, u64);

fn key_of(event: &EventRecord) -> SeriesKey {
    let note = FxBuildHasher.hash_one(&event.note);
    let (pod, object) = (event.key.0.clone(), event.pod.uid.clone());
    (pod, object, event.scheduler.clone(), event.reason.clone(), event.action, note)
}

/// A series whose first event the API server has.
struct Series {
    path: String,
    of_policy: bool,
    last: Instant,
    last_seen: Time,
    count: i32,
    /// The count that the API server has.
    written: i32,
    written_at: Instant,
}

/// A write that waits.
struct Pending {
    series: SeriesKey,
    /// `None`: it only brings the count of the series up to date.
    event: Option<EventRecord>,
    /// How many more of the same came while it waited, and when the last one came.
    repeats: i32,
    last_seen: Time,
    /// Whether it is in the count of its series.
    counted: bool,
    /// The name of the event, equal in all tries, so that a lost answer does not make a second event.
    name: String,
    /// How often it waited for a retry, and how often because of a failure.
    pauses: u32,
    failures: u32,
}

/// The events of one pod, in order.
#[derive(Default)]
struct Lane {
    waiting: VecDeque<Pending>,
    /// Whether the first one is being written, and with which count of its series.
    open: Option<i32>,
}

/// The waiting events.
pub(crate) struct Events {
    host: String,
    /// The user in whose name events of policies are written.
    policies: String,
    lanes: FxHashMap<Symbol, Lane>,
    /// Pods whose first event can be written now.
    ready: VecDeque<Symbol>,
    /// Pods whose first event waits for a retry.
    retries: BTreeSet<(Instant, Symbol)>,
    series: FxHashMap<SeriesKey, Series>,
    /// Makes names of events in the same microsecond unique.
    sequence: i64,
    /// Whether the log has named the missing right.
    said_forbidden: bool,
    /// The number of events in the lanes.
    len: usize,
    /// The number of events that were given up.
    given_up: u64,
}

impl Events {
    /// No events. `host` is this instance's host name.
    pub(crate) fn new(host: &str) -> Self {
        Self {
            host: host.to_owned(),
            policies: String::new(),
            lanes: FxHashMap::default(),
            ready: VecDeque::new(),
            retries: BTreeSet::new(),
            series: FxHashMap::default(),
            sequence: 0,
            said_forbidden: false,
            len: 0,
            given_up: 0,
        }
    }

    /// These events, with those of policies written in the name of a user.
    pub(super) fn of_policies_as(self, user: String) -> Self {
        Self { policies: user, ..self }
    }

    /// The number of events that are not written yet.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// The number of events that were given up so far.
    pub(crate) fn given_up(&self) -> u64 {
        self.given_up
    }

    /// Whether an event can be written now.
    pub(crate) fn is_ready(&self) -> bool {
        !self.ready.is_empty()
    }

    /// When the next retry is due.
    pub(super) fn next_retry(&self) -> Option<Instant> {
        self.retries.first().map(|(at, _)| *at)
    }

    /// Makes events ready whose retry is due.
    pub(crate) fn wake(&mut self, now: Instant) {
        while let Some((at, pod)) = self.retries.pop_first() {
            if at > now {
                self.retries.insert((at, pod));
                return;
            }
            self.ready.push_back(pod);
        }
    }

    /// Takes an event.
    pub(crate) fn push(&mut self, event: EventRecord, now: Instant) {
        let (key, at) = (key_of(&event), event.at);
        if let Some(lane) = self.lanes.get_mut(&key.0) {
            // The one that is being written is fixed.
            let fixed = usize::from(lane.open.is_some());
            let same = |pending: &&mut Pending| !pending.counted && pending.series == key;
            if let Some(pending) = lane.waiting.iter_mut().skip(fixed).find(same) {
                pending.repeats += 1;
                pending.last_seen = at;
                return;
            }
        }
        self.sequence = (self.sequence + 1) % 1_000;
        let name = format!("{}.{:x}", event.pod.name, at.0 * 1_000 + self.sequence);
        self.wait(
            Pending {
                series: key,
                event: Some(event),
                repeats: 0,
                last_seen: at,
                counted: false,
                name,
                pauses: 0,
                failures: 0,
            },
            now,
        );
    }

    /// Adds a write at the end of its pod's lane.
    fn wait(&mut self, pending: Pending, now: Instant) {
        let pod = pending.series.0.clone();
        let lane = self.lanes.entry(pod.clone()).or_default();
        let idle = lane.waiting.is_empty();
        lane.waiting.push_back(pending);
        self.len += 1;
        if idle {
            self.settle(&pod, now);
        }
    }

    /// Counts events of a pod that need no request, and makes the pod ready if its next event needs
    /// one.
    fn settle(&mut self, pod: &Symbol, now: Instant) {
        let Some(lane) = self.lanes.get_mut(pod) else { return };
        while let Some(pending) = lane.waiting.front_mut() {
            match self.series.get_mut(&pending.series) {
                Some(series) => {
                    if !pending.counted {
                        pending.counted = true;
                        series.count = series.count.saturating_add(1 + pending.repeats);
                        (series.last, series.last_seen) = (now, pending.last_seen);
                    }
                    // The second event of a series is written; later ones with the next refresh.
                    if pending.event.is_none() || series.written < 2 {
                        break;
                    }
                }
                None if pending.event.is_some() => break,
                // The series is forgotten.
                None => {}
            }
            lane.waiting.pop_front();
            self.len -= 1;
        }
        if lane.waiting.is_empty() {
            self.lanes.remove(pod);
        } else {
            self.ready.push_back(pod.clone());
        }
    }

    /// The request of the next event, with its pod; [`Events::answered`] gets the answer.
    pub(crate) fn next(&mut self, now: Instant) -> Option<(Symbol, Request)> {
        while let Some(pod) = self.ready.pop_front() {
            let Some(lane) = self.lanes.get_mut(&pod) else { continue };
            let Some(pending) = lane.waiting.front() else { continue };
            if let Some(series) = self.series.get(&pending.series) {
                lane.open = Some(series.count);
                let last_observed_time =
                    micro_time(series.last_seen).unwrap_or_else(|| MicroTime(jiff::Timestamp::now()));
                let body = json!({"series": EventSeries { count: series.count, last_observed_time }});
                let request = Request::with_body(Method::PATCH, series.path.clone(), MERGE_PATCH, &body);
                return Some((pod, named(request, series.of_policy, &self.policies)));
            }
            if let Some(event) = &pending.event {
                lane.open = Some(1);
                let body = event_object(event, &pending.name, &self.host);
                let request = Request::with_body(Method::POST, collection(event), JSON, &body);
                return Some((pod, named(request, event.is_of_policy(), &self.policies)));
            }
            // The series was forgotten meanwhile.
            self.finished(&pod, now);
        }
        None
    }

    /// Handles the answer to the request of a pod's first event.
    pub(crate) fn answered(&mut self, pod: &Symbol, answer: Result<(), ApiError>, now: Instant) {
        let Some(lane) = self.lanes.get_mut(pod) else { return };
        let (Some(count), Some(pending)) = (lane.open.take(), lane.waiting.front_mut()) else { return };
        let error = match answer {
            Ok(()) => return self.written(pod, count, now),
            // An event of this name exists: the answer to an earlier try was lost.
            Err(error) if error.code() == Some(409) => return self.written(pod, count, now),
            Err(error) => error,
        };
        pending.failures += u32::from(!error.is_unprocessed());
        if error.is_unprocessed() || (error.is_passing() && pending.failures < TRIES) {
            let pause = delay_before(pending.pauses, PAUSES.0, PAUSES.1);
            pending.pauses += 1;
            self.retries.insert((now + pause, pod.clone()));
        } else if self.series.remove(&pending.series).is_some() && error.code() == Some(404) {
            // The API server has deleted the event of the series: create another.
            (pending.counted, pending.repeats) = (false, 0);
            self.settle(pod, now);
        } else {
            if let Some(event) = &pending.event {
                let name = format!("{}/{}", event.pod.namespace, event.pod.name);
                complain(&name, &event.reason, &error, &mut self.said_forbidden);
            }
            self.given_up += 1;
            self.finished(pod, now);
        }
    }

    /// The API server has the first event of a pod, with this count.
    fn written(&mut self, pod: &Symbol, count: i32, now: Instant) {
        let Some(pending) = self.lanes.get_mut(pod).and_then(|lane| lane.waiting.front_mut()) else { return };
        if let Some(series) = self.series.get_mut(&pending.series) {
            (series.written, series.written_at) = (count, now);
        } else if let Some(event) = &pending.event
            // A pod is bound once, so this event has no series.
            && event.reason != "Scheduled"
        {
            let series = Series {
                path: format!("{}/{}", collection(event), pending.name),
                of_policy: event.is_of_policy(),
                last: now,
                last_seen: pending.last_seen,
                count: 1 + pending.repeats,
                written: 1,
                written_at: now,
            };
            pending.counted = true;
            let (key, repeats) = (pending.series.clone(), pending.repeats);
            self.forget_old_series();
            self.series.insert(key, series);
            if repeats > 0 {
                return self.settle(pod, now);
            }
        }
        self.finished(pod, now);
    }

    /// Removes the first event of a pod, whose request has ended.
    fn finished(&mut self, pod: &Symbol, now: Instant) {
        let Some(lane) = self.lanes.get_mut(pod) else { return };
        if lane.waiting.pop_front().is_some() {
            self.len -= 1;
        }
        self.settle(pod, now);
    }

    /// Makes room for a series: when too many are remembered, the older half is forgotten.
    fn forget_old_series(&mut self) {
        if self.series.len() < REMEMBERED {
            return;
        }
        let mut ages: Vec<Instant> = self.series.values().map(|series| series.last).collect();
        let (_, middle, _) = ages.select_nth_unstable(REMEMBERED / 2);
        let middle = *middle;
        self.series.retain(|_, series| series.last > middle);
    }

    /// Forgets finished series, and writes the counts of those that are finished or were not written
    /// for long.
    pub(crate) fn sweep(&mut self, now: Instant) {
        let mut stale = Vec::new();
        self.series.retain(|key, series| {
            let done = now.saturating_duration_since(series.last) > FINISH;
            let old = now.saturating_duration_since(series.written_at) > REFRESH;
            if series.count > series.written && (done || old) {
                stale.push(key.clone());
                return true;
            }
            !done
        });
        stale.sort();
        for key in stale {
            let waits = |lane: &Lane| lane.waiting.iter().any(|it| it.event.is_none() && it.series == key);
            if !self.lanes.get(&key.0).is_some_and(waits) {
                let refresh = Pending {
                    series: key,
                    event: None,
                    repeats: 0,
                    last_seen: Time(0),
                    counted: true,
                    name: String::new(),
                    pauses: 0,
                    failures: 0,
                };
                self.wait(refresh, now);
            }
        }
    }
}

/// The request, in the name of the policies' user if a policy wants the event.
fn named(request: Request, of_policy: bool, user: &str) -> Request {
    if of_policy { request.in_the_name_of(user.to_owned()) } else { request }
}

fn complain(pod: &str, reason: &str, error: &ApiError, said_forbidden: &mut bool) {
    if error.code() != Some(403) {
        tracing::warn!(%pod, reason, %error, "cannot write an event");
    } else if !std::mem::replace(said_forbidden, true) {
        let rule = rule("events.k8s.io", &["events"], &["create", "patch"]);
        tracing::error!(%pod, %error, "writing events is forbidden; add this rule to the role of the user that the error names: {rule}");
    }
}

/// The path of the events of a namespace.
fn collection(event: &EventRecord) -> String {
    format!("/apis/events.k8s.io/v1/namespaces/{}/events", namespace_of(&event.pod))
}

#[cfg(test)]
mod tests {
    use super::*;
    use bayplan_framework::EventType;
    use bayplan_model::{Kind, ObjectKey, PodKey};
    use serde_json::Value;

    fn event(pod: &str, reason: &'static str, at: i64) -> EventRecord {
        let key = ObjectKey { kind: Kind::Pod, namespace: "n".into(), name: pod.into(), uid: pod.into() };
        EventRecord {
            pod: key,
            key: PodKey(pod.into()),
            related: None,
            scheduler: "bayplan".into(),
            kind: EventType::Normal,
            reason: reason.into(),
            action: "Scheduling",
            note: String::new(),
            result: None,
            at: Time(at),
        }
    }

    fn status(code: u16) -> ApiError {
        ApiError::Status { code, reason: String::new(), message: String::new(), retry_after: None }
    }

    /// The next request: method, pod and reason or count.
    fn next(events: &mut Events, now: Instant) -> Option<(String, Symbol, String)> {
        let (pod, request) = events.next(now)?;
        let body: Value = serde_json::from_slice(&request.body).unwrap();
        let what = body["reason"].as_str().map(str::to_owned);
        let what = what.unwrap_or_else(|| format!("count {}", body["series"]["count"]));
        Some((request.method.to_string(), pod, what))
    }

    /// Writes all events that are ready; returns the requests as text.
    fn all(events: &mut Events, now: Instant) -> Vec<String> {
        let mut requests = Vec::new();
        while let Some((method, pod, what)) = next(events, now) {
            events.answered(&pod, Ok(()), now);
            requests.push(format!("{method} {pod} {what}"));
        }
        requests
    }

    #[test]
    fn the_second_event_of_a_kind_makes_a_series_and_later_ones_are_counted() {
        let (mut events, now) = (Events::new("host"), Instant::now());
        for (at, requests) in
            [(1, vec!["POST a FailedScheduling"]), (2, vec!["PATCH a count 2"]), (3, vec![])]
        {
            events.push(event("a", "FailedScheduling", at), now);
            assert_eq!(all(&mut events, now), requests);
        }
        events.push(event("a", "Scheduled", 4), now);
        assert_eq!(all(&mut events, now), ["POST a Scheduled"], "another kind");
        assert_eq!((events.len(), events.series.len(), events.lanes.len()), (0, 1, 0));
        events.sweep(now + REFRESH + Duration::from_secs(1));
        assert_eq!(all(&mut events, now), ["PATCH a count 3"], "the count of the third");
        events.sweep(now + REFRESH + Duration::from_secs(1));
        assert_eq!((events.len(), events.series.len(), events.lanes.len()), (0, 0, 0), "finished");
    }

    #[test]
    fn another_note_makes_another_event() {
        let (mut events, now) = (Events::new("host"), Instant::now());
        for (note, request) in
            [("1 node", "POST a Failed"), ("2 nodes", "POST a Failed"), ("1 node", "PATCH a count 2")]
        {
            events.push(EventRecord { note: note.to_owned(), ..event("a", "Failed", 1) }, now);
            assert_eq!(all(&mut events, now), [request], "{note}");
        }
    }

    #[test]
    fn events_about_a_pod_are_written_in_order_and_those_that_repeat_are_joined() {
        let (mut events, now) = (Events::new("host"), Instant::now());
        events.push(event("a", "FailedScheduling", 1), now);
        let (_, first, _) = next(&mut events, now).unwrap();
        for at in 2..5 {
            events.push(event("a", "FailedScheduling", at), now);
        }
        events.push(event("a", "Scheduled", 5), now);
        assert_eq!(events.len(), 3, "the open one, its series, and the other kind");
        assert!(!events.is_ready(), "one request for a pod at a time");
        events.answered(&first, Ok(()), now);
        assert_eq!(all(&mut events, now), ["PATCH a count 4", "POST a Scheduled"]);
    }

    #[test]
    fn an_event_that_waits_for_its_retry_holds_up_only_its_own_pod() {
        let (mut events, mut now) = (Events::new("host"), Instant::now());
        events.push(event("a", "FailedScheduling", 1), now);
        events.push(event("a", "Scheduled", 2), now);
        let (pod, request) = events.next(now).unwrap();
        events.answered(&pod, Err(status(500)), now);
        events.push(event("b", "Scheduled", 3), now);
        assert_eq!(all(&mut events, now), ["POST b Scheduled"]);
        now = events.next_retry().unwrap();
        events.wake(now);
        let (_, again) = events.next(now).unwrap();
        assert_eq!(again.body, request.body, "the same event, with the same name");
        events.answered(&pod, Err(status(409)), now);
        assert_eq!(all(&mut events, now), ["POST a Scheduled"], "it exists: the answer had been lost");
    }

    #[test]
    fn failures_are_given_up_after_twelve_tries_and_throttling_never() {
        for (error, given_up) in [
            (status(500), 12),
            (status(403), 1),
            (status(429), 0),
            (ApiError::NotSent("connection refused".into()), 0),
        ] {
            let (mut events, mut now) = (Events::new("host"), Instant::now());
            events.push(event("a", "Scheduled", 1), now);
            let mut tries = 0;
            while tries < 100 && events.len() > 0 {
                tries += 1;
                let (pod, _) = events.next(now).unwrap();
                events.answered(&pod, Err(error.clone()), now);
                now = events.next_retry().unwrap_or(now);
                events.wake(now);
            }
            assert_eq!(if events.len() == 0 { tries } else { 0 }, given_up, "{error:?}");
            assert_eq!(events.given_up(), u64::from(given_up > 0));
        }
    }

    #[test]
    fn a_series_whose_event_was_deleted_begins_anew() {
        let (mut events, now) = (Events::new("host"), Instant::now());
        events.push(event("a", "FailedScheduling", 1), now);
        all(&mut events, now);
        events.push(event("a", "FailedScheduling", 2), now);
        let (pod, _) = events.next(now).unwrap();
        events.answered(&pod, Err(status(404)), now);
        assert_eq!(all(&mut events, now), ["POST a FailedScheduling"]);
        events.push(event("a", "FailedScheduling", 3), now);
        assert_eq!(all(&mut events, now), ["PATCH a count 2"]);
    }

    #[test]
    fn the_oldest_series_are_forgotten() {
        let (mut events, start) = (Events::new("host"), Instant::now());
        for at in 0..REMEMBERED + 10 {
            let now = start + Duration::from_millis(at as u64);
            events.push(event(&format!("p{at}"), "FailedScheduling", at as i64), now);
            all(&mut events, now);
        }
        assert!(events.series.len() <= REMEMBERED && events.series.len() > REMEMBERED / 3);
        let last = format!("p{}", REMEMBERED + 9);
        events.push(event(&last, "FailedScheduling", 0), start);
        assert_eq!(all(&mut events, start), [format!("PATCH {last} count 2")]);
    }
}
