//! What is to be written of the status of objects of one kind: where the status that we want differs from the one that
//! the watch shows. At most one write of an object is open, and its writes have a pause between them, so that a burst
//! of changes makes few. A failure makes the pauses longer; 404 ends them until the object is seen again. What the API
//! server does not keep, because its kind has no such field, is not written twice. `statuses` calls this module, which
//! neither waits nor sends.

use crate::api::backoff::delay_before;
use bayplan_framework::{Answer, CallError};
use bayplan_model::at_or_above;
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;
use tokio::time::Instant;

/// Namespace and name of an object.
pub(crate) type Name = (String, String);
/// The fields of a status that we write.
pub(crate) type Status = Map<String, Value>;

/// The pause between two writes of an object.
pub(super) const PAUSE: Duration = Duration::from_secs(1);
/// The longest pause after failures.
const LONGEST: Duration = Duration::from_secs(60);
/// The longest pause of a kind that we may not write: the right may be granted at any time.
const LONGEST_FORBIDDEN: Duration = Duration::from_secs(5);

/// An object as the watch shows it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Seen {
    pub(crate) uid: String,
    pub(crate) version: String,
    /// Of the fields that we write, those that there are.
    pub(crate) status: Status,
}

/// A write that goes out now.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Write {
    pub(crate) name: Name,
    pub(crate) uid: String,
    /// The fields that differ, as a JSON merge patch.
    pub(crate) changes: Value,
}

/// What is known of an object.
#[derive(Debug)]
struct Entry {
    seen: Seen,
    wanted: Option<Status>,
    /// What is being written.
    open: Option<Status>,
    /// The version that our last write made, until the watch shows it; and what was written.
    written: Option<(Box<str>, Status)>,
    /// What the API server did not keep as it was written.
    not_kept: Option<Status>,
    failures: u32,
    /// Not to be written before.
    not_before: Option<Instant>,
    /// Its place in the order of writes.
    due: Option<Instant>,
}

/// What is to be written.
#[derive(Debug, Default)]
pub(super) struct StatusWriter {
    entries: BTreeMap<Name, Entry>,
    due: BTreeSet<(Instant, Name)>,
    /// How often in a row the right was missing, and until when nothing is tried therefore.
    forbidden: (u32, Option<Instant>),
}

impl StatusWriter {
    /// The watch shows an object.
    pub(crate) fn see(&mut self, name: &Name, seen: Seen, now: Instant) {
        match self.entries.get_mut(name) {
            Some(entry) if entry.seen.uid == seen.uid => {
                entry.seen = seen;
                entry.arrived();
            }
            _ => {
                self.gone(name);
                self.entries.insert(name.clone(), Entry::new(seen));
            }
        }
        self.plan(name, now);
    }

    /// An object was deleted.
    pub(crate) fn gone(&mut self, name: &Name) {
        if let Some(Entry { due: Some(at), .. }) = self.entries.remove(name) {
            self.due.remove(&(at, name.clone()));
        }
    }

    /// The status that an object should have; `None`: it stays as it is.
    pub(crate) fn want(&mut self, name: &Name, wanted: Option<Status>, now: Instant) {
        if let Some(entry) = self.entries.get_mut(name) {
            entry.wanted = wanted;
            self.plan(name, now);
        }
    }

    /// The objects that are known.
    pub(crate) fn names(&self) -> impl Iterator<Item = &Name> {
        self.entries.keys()
    }

    /// The next write, which goes out now; or when to ask again, if nothing changes.
    pub(crate) fn next(&mut self, now: Instant) -> Result<Write, Option<Instant>> {
        let Some((at, name)) = self.due.first().cloned() else { return Err(None) };
        let at = self.forbidden.1.map_or(at, |until| until.max(at));
        if at > now {
            return Err(Some(at));
        }
        self.due.pop_first();
        let Some(entry) = self.entries.get_mut(&name) else { return Err(Some(now)) };
        entry.due = None;
        let Some(wanted) = entry.wanted.clone() else { return Err(Some(now)) };
        let changes = difference(&Value::Object(entry.present().clone()), &Value::Object(wanted.clone()));
        let uid = entry.seen.uid.clone();
        entry.open = Some(wanted);
        Ok(Write { name, uid, changes })
    }

    /// The answer to a write.
    pub(crate) fn answered(&mut self, write: &Write, answer: &Result<Answer, CallError>, now: Instant) {
        let forbidden = matches!(answer, Err(CallError::Refused { code: 403, .. }));
        if forbidden {
            let pause = delay_before(self.forbidden.0, PAUSE, LONGEST_FORBIDDEN);
            self.forbidden = (self.forbidden.0.saturating_add(1), Some(now + pause));
        } else {
            self.forbidden = (0, None);
        }
        let Some(entry) = self.entries.get_mut(&write.name).filter(|entry| entry.seen.uid == write.uid)
        else {
            return;
        };
        let Some(open) = entry.open.take() else { return };
        match answer {
            Ok(answer) => {
                entry.failures = 0;
                entry.not_before = Some(now + PAUSE);
                if let Answer::Written { version } = answer {
                    entry.written = Some((version.clone(), open));
                    entry.arrived();
                }
            }
            // The watch will say so, too.
            Err(CallError::Refused { code: 404, .. }) => entry.wanted = None,
            Err(error) => {
                let mut pause = delay_before(entry.failures, PAUSE, LONGEST);
                if forbidden {
                    pause = PAUSE;
                } else {
                    entry.failures = entry.failures.saturating_add(1);
                }
                if let CallError::Retry { after, .. } = error {
                    pause = pause.max(Duration::from_micros(after.0.max(0).unsigned_abs()));
                }
                entry.not_before = Some(now + pause);
            }
        }
        self.plan(&write.name, now);
    }

    /// Puts an object into the order of writes, or takes it out.
    fn plan(&mut self, name: &Name, now: Instant) {
        let Some(entry) = self.entries.get_mut(name) else { return };
        let due = entry.needs_write().then(|| entry.not_before.map_or(now, |at| at.max(now)));
        // One that waits already keeps its place.
        if due.is_some() == entry.due.is_some() {
            return;
        }
        if let Some(at) = std::mem::replace(&mut entry.due, due) {
            self.due.remove(&(at, name.clone()));
        }
        if let Some(at) = due {
            self.due.insert((at, name.clone()));
        }
    }
}

impl Entry {
    fn new(seen: Seen) -> Self {
        Self {
            seen,
            wanted: None,
            open: None,
            written: None,
            not_kept: None,
            failures: 0,
            not_before: None,
            due: None,
        }
    }

    /// The watch may show our last write now: then it shows what the API server kept of it.
    fn arrived(&mut self) {
        let Some((version, written)) = &self.written else { return };
        if !at_or_above(&self.seen.version, version) {
            return;
        }
        let kept = *self.seen.version != **version || self.seen.status == *written;
        self.not_kept = (!kept).then(|| written.clone());
        self.written = None;
    }

    fn needs_write(&self) -> bool {
        let Some(wanted) = &self.wanted else { return false };
        self.open.is_none() && self.present() != wanted && self.not_kept.as_ref() != Some(wanted)
    }

    /// The status that it has: a write that the watch has not shown yet counts as shown.
    fn present(&self) -> &Status {
        self.written.as_ref().map_or(&self.seen.status, |(_, written)| written)
    }
}

/// The JSON merge patch that makes `to` of `from`.
fn difference(from: &Value, to: &Value) -> Value {
    let (Value::Object(before), Value::Object(after)) = (from, to) else { return to.clone() };
    let gone = before.keys().filter(|key| !after.contains_key(*key)).map(|key| (key.clone(), Value::Null));
    let changed = after.iter().filter_map(|(key, value)| match before.get(key) {
        Some(known) if known == value => None,
        Some(known) => Some((key.clone(), difference(known, value))),
        None => Some((key.clone(), value.clone())),
    });
    Value::Object(gone.chain(changed).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn status(value: Value) -> Status {
        value.as_object().cloned().unwrap()
    }

    fn seen(version: &str, value: Value) -> Seen {
        Seen { uid: "u".into(), version: version.into(), status: status(value) }
    }

    fn name() -> Name {
        ("n".into(), "g".into())
    }

    fn written(version: &str) -> Result<Answer, CallError> {
        Ok(Answer::Written { version: version.into() })
    }

    fn refused(code: u16) -> Result<Answer, CallError> {
        Err(CallError::Refused { code, reason: String::new(), message: String::new() })
    }

    /// A writer that knows one object without a status, which should run.
    fn started(now: Instant) -> StatusWriter {
        let mut writer = StatusWriter::default();
        writer.see(&name(), seen("1", json!({})), now);
        writer.want(&name(), Some(status(json!({"running": 1}))), now);
        writer
    }

    #[test]
    fn a_burst_of_changes_makes_two_writes() {
        let now = Instant::now();
        let mut writer = started(now);
        let first = writer.next(now).unwrap();
        assert_eq!(first.changes, json!({"running": 1}));
        for running in 2..=1_000 {
            writer.want(&name(), Some(status(json!({"running": running}))), now);
            assert_eq!(writer.next(now), Err(None), "one write at a time");
        }
        writer.answered(&first, &written("2"), now);
        assert_eq!(writer.next(now), Err(Some(now + PAUSE)), "with a pause between them");
        writer.see(&name(), seen("2", json!({"running": 1})), now);
        let second = writer.next(now + PAUSE).unwrap();
        assert_eq!(second.changes, json!({"running": 1_000}));
        writer.answered(&second, &written("3"), now);
        assert_eq!(writer.next(now + PAUSE * 2), Err(None), "the watch need not show it first");
        writer.see(&name(), seen("3", json!({"running": 1_000})), now);
        assert_eq!(writer.next(now + PAUSE * 2), Err(None));
    }

    #[test]
    fn what_another_client_wrote_is_written_again_and_what_is_not_kept_is_not() {
        let now = Instant::now();
        let later = now + PAUSE * 10;
        let mut writer = started(now);
        let write = writer.next(now).unwrap();
        writer.answered(&write, &written("2"), now);
        writer.see(&name(), seen("2", json!({})), now);
        assert_eq!(writer.next(later), Err(None), "the kind has no such field");
        writer.want(&name(), Some(status(json!({"running": 2}))), now);
        let write = writer.next(later).unwrap();
        // The watch is faster than the answer.
        writer.see(&name(), seen("3", json!({"running": 2})), later);
        writer.answered(&write, &written("3"), later);
        writer.see(&name(), seen("4", json!({"running": 7, "failed": 1})), later);
        let write = writer.next(later + PAUSE).unwrap();
        assert_eq!(write.changes, json!({"running": 2, "failed": null}));
    }

    #[test]
    fn a_failure_makes_the_pauses_longer_and_404_ends_them() {
        let mut now = Instant::now();
        let mut writer = started(now);
        let mut pauses = Vec::new();
        let unknown = || Err(CallError::Unknown("503".into()));
        for answer in [unknown(), refused(409), refused(422), unknown()] {
            let write = writer.next(now).unwrap();
            writer.answered(&write, &answer, now);
            let again = writer.next(now).unwrap_err().unwrap();
            pauses.push(again - now);
            now = again;
        }
        assert!(pauses[3] >= PAUSE * 8 && pauses[3] <= LONGEST * 2, "{pauses:?}");
        let write = writer.next(now).unwrap();
        let after = bayplan_model::Duration::from_seconds(200);
        writer.answered(&write, &Err(CallError::Retry { after, message: String::new() }), now);
        let again = writer.next(now).unwrap_err().unwrap();
        assert!(again - now >= Duration::from_secs(200), "as long as the server asks");
        let write = writer.next(again).unwrap();
        writer.answered(&write, &refused(404), again);
        assert_eq!(writer.next(again + LONGEST * 4), Err(None));
        writer.see(&name(), seen("9", json!({})), again);
        writer.want(&name(), Some(status(json!({"running": 1}))), again);
        assert!(writer.next(again + LONGEST * 4).is_ok(), "it is there again");
    }

    #[test]
    fn a_missing_right_is_asked_for_by_one_object_at_a_time() {
        let now = Instant::now();
        let mut writer = started(now);
        let other = ("n".into(), "h".into());
        writer.see(&other, seen("1", json!({})), now);
        writer.want(&other, Some(status(json!({"running": 1}))), now);
        let write = writer.next(now).unwrap();
        writer.answered(&write, &refused(403), now);
        let again = writer.next(now).unwrap_err().unwrap();
        assert!(again >= now + PAUSE, "the others wait, too");
        let write = writer.next(again).unwrap();
        writer.answered(&write, &written("2"), again);
        assert!(writer.next(again + LONGEST).is_ok(), "the right was granted");
    }

    #[test]
    fn another_object_under_the_same_name_has_nothing_of_the_first() {
        let now = Instant::now();
        let mut writer = started(now);
        let write = writer.next(now).unwrap();
        let next = Seen { uid: "v".into(), ..seen("5", json!({})) };
        writer.see(&name(), next, now);
        writer.answered(&write, &written("2"), now);
        assert_eq!(writer.next(now), Err(None), "what it should have is not known yet");
        writer.want(&name(), Some(status(json!({"running": 3}))), now);
        assert_eq!(writer.next(now).unwrap().uid, "v");
        writer.gone(&name());
        assert_eq!((writer.next(now), writer.names().count(), writer.due.len()), (Err(None), 0, 0));
    }
}
