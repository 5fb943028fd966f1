//! Memos: [`MemoIndex`], the values remembered by key, as an index of the snapshot, and how both evaluators read it.
//!
//! `plugins::policy` makes an index for each memo and writes it in `after failure` and `after bind`. It is not derived:
//! a rebuild keeps it, and a restart forgets it. Times are the scheduler's monotonic time, so that a step of the wall
//! clock moves no end. The scheduler removes values whose time is over (`Snapshot::expire`), which tells waiting pods.
//!
//! The key of the index names what the memo means (`meaning.rs`), so that a reload keeps the values. An end is a
//! change like any other: log records and one event with the numbers of the keys (`EventResource::Memo`) reach pods
//! that wait or were refused, and no decision reads the clock for it. What a failed attempt moves is
//! `Act::MovedByFailure`: pods that it wakes keep all of their back-off, or pods that remember what they read would
//! spin.

use super::context::EvalContext;
use super::interpret::Evaluator;
use super::ledgers::{Key, key_number};
use super::meaning::Meaning;
use crate::typed::{MemoId, Policy};
use crate::types::convert;
use crate::types::value::{Constant, Ordered, Value};
use bayplan_model::{Delta, Duration, Feeds, Index, IndexKey, Kinds, Moved, Moves, Snapshot, Symbol, Time};
use std::collections::BTreeMap;

/// The most keys of a memo. Beyond it the value that would end first is forgotten.
pub const MOST_KEYS: usize = 100_000;

/// The most bytes of keys and values of a memo. Keys may hold annotations.
pub(crate) const MOST_BYTES: usize = 64 << 20;

/// What an entry takes beside its texts.
const ENTRY_BYTES: usize = 128;

/// The values of a memo, by key.
#[derive(Clone, Debug, PartialEq)]
pub struct MemoIndex {
    key: IndexKey,
    entries: BTreeMap<Key, Entry>,
    /// Which key ends when; the number tells apart what ends at once.
    ends: BTreeMap<(Time, u64), Key>,
    last: u64,
    bytes: usize,
}

/// A remembered value.
#[derive(Clone, Debug, PartialEq)]
struct Entry {
    value: Constant,
    end: (Time, u64),
    bytes: usize,
}

impl MemoIndex {
    /// An empty index.
    pub fn new(key: IndexKey) -> Self {
        Self { key, entries: BTreeMap::new(), ends: BTreeMap::new(), last: 0, bytes: 0 }
    }

    /// The value of a key at an instant of monotonic time.
    pub fn get(&self, key: &Key, now: Time) -> Option<&Constant> {
        self.entries.get(key).filter(|entry| entry.end.0 > now).map(|entry| &entry.value)
    }

    /// Sets the value of a key, or forgets it. `moved` gets the keys whose value is another one then; a value that is
    /// remembered anew lasts longer and has not moved.
    pub fn remember(
        &mut self,
        key: Key,
        value: Option<Constant>,
        now: Time,
        keeps_for: Duration,
        moved: &mut Moves,
    ) {
        self.end(now, moved);
        let before = self.remove(&key).map(|entry| entry.value);
        let value = value.filter(|_| keeps_for.0 > 0);
        if before != value {
            self.note(&key, moved);
        }
        let Some(value) = value else { return };
        self.last += 1;
        let bytes = ENTRY_BYTES + 2 * size(&key.0) + size(&value);
        if bytes > MOST_BYTES {
            return;
        }
        let end = (Time(now.0.saturating_add(keeps_for.0)), self.last);
        self.bytes += bytes;
        self.ends.insert(end, key.clone());
        self.entries.insert(key, Entry { value, end, bytes });
        while self.entries.len() > MOST_KEYS || self.bytes > MOST_BYTES {
            let Some((_, oldest)) = self.ends.first_key_value() else { return };
            let oldest = oldest.clone();
            self.remove(&oldest);
            self.note(&oldest, moved);
        }
    }

    /// Forgets what ends at or before an instant of monotonic time.
    fn end(&mut self, now: Time, moved: &mut Moves) {
        while let Some(((end, _), key)) = self.ends.first_key_value() {
            if *end > now {
                return;
            }
            let key = key.clone();
            self.remove(&key);
            self.note(&key, moved);
        }
    }

    /// How many keys have a value.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether nothing is remembered.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// What is remembered, in the order of the keys, each with its end.
    pub fn iter(&self) -> impl Iterator<Item = (&Key, &Constant, Time)> {
        self.entries.iter().map(|(key, entry)| (key, &entry.value, entry.end.0))
    }

    fn remove(&mut self, key: &Key) -> Option<Entry> {
        let entry = self.entries.remove(key)?;
        self.ends.remove(&entry.end);
        self.bytes = self.bytes.saturating_sub(entry.bytes);
        Some(entry)
    }

    fn note(&self, key: &Key, moved: &mut Moves) {
        moved.0.push((Moved::Group(key_number(&self.key, key)), Kinds::GROUPS));
    }
}

/// The bytes of the texts of a value.
fn size(value: &Value<'_>) -> usize {
    match value {
        Value::List(items) => items.iter().map(|item| 32 + size(item)).sum(),
        other => other.as_str().map_or(0, str::len),
    }
}

impl Index for MemoIndex {
    fn feeds(&self) -> Feeds {
        Feeds::TIME
    }

    fn apply(&mut self, _: &Delta<'_>, _: &Snapshot, _: &mut Moves) {}

    /// It is not derived from objects.
    fn rebuild(&mut self, _: &Snapshot) {}

    fn next_end(&self, _: &Snapshot) -> Option<Time> {
        self.ends.first_key_value().map(|((end, _), _)| *end)
    }

    fn expire(&mut self, snapshot: &Snapshot, moved: &mut Moves) {
        self.end(snapshot.time(), moved);
    }

    fn fork(&self) -> Box<dyn Index> {
        Box::new(self.clone())
    }
}

/// What a memo remembers under a key, in a context; absent if nothing.
pub fn remembered(context: &EvalContext<'_>, index: &IndexKey, key: &Value<'_>) -> Constant {
    let Some(index) = context.snapshot.index::<MemoIndex>(index).filter(|index| !index.is_empty()) else {
        return Value::Absent;
    };
    let now = context.snapshot.monotonic(context.now);
    index.get(&Ordered(convert::keep(key)), now).cloned().unwrap_or(Value::Absent)
}

/// What all memos of a snapshot remember: the key of the index, the key there, the value, and its end in monotonic time.
pub fn all_remembered(snapshot: &Snapshot) -> Vec<(&IndexKey, &Key, &Constant, Time)> {
    let mut keys: Vec<&IndexKey> = snapshot.index_keys().collect();
    keys.sort_by(|one, other| one.0.cmp(&other.0));
    let memos = keys.into_iter().filter_map(|key| Some((key, snapshot.index::<MemoIndex>(key)?)));
    memos.flat_map(|(key, index)| index.iter().map(move |(of, value, end)| (key, of, value, end))).collect()
}

/// The key of a memo for the pod of a context.
pub fn key_of(policy: &Policy, memo: MemoId, context: EvalContext<'_>) -> Key {
    Ordered(convert::keep(&Evaluator::new(policy, context).value(&policy[memo].key)))
}

/// The keys of the indexes of a policy's memos, which [`Memo::index`](crate::typed::Memo::index) keeps. They name
/// the memo, its type, and what its key means, so that a memo whose policy changes elsewhere keeps its values.
pub fn index_keys(policy: &Policy) -> Vec<IndexKey> {
    let mut meaning = Meaning::new(policy);
    let memos = policy.memos.iter().enumerate();
    let key = memos.map(|(at, memo)| {
        let means = meaning.of_memo(MemoId(at as u32));
        IndexKey(Symbol::from(format!("{}/memo/{}/{means:016x}", policy.name, memo.name)))
    });
    key.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TTL: Duration = Duration(100);

    fn key(text: &str) -> Key {
        Ordered(Value::text(text))
    }

    fn memo() -> MemoIndex {
        MemoIndex::new(IndexKey(Symbol::new("p/memo/m/0")))
    }

    /// Remembers or forgets, and says which keys moved.
    fn remember(memo: &mut MemoIndex, of: &str, value: Option<i64>, now: i64) -> usize {
        let mut moved = Moves::default();
        memo.remember(key(of), value.map(Value::Int), Time(now), TTL, &mut moved);
        moved.0.len()
    }

    fn value(memo: &MemoIndex, of: &str, now: i64) -> Option<i64> {
        memo.get(&key(of), Time(now)).and_then(|value| value.as_int())
    }

    #[test]
    fn a_value_is_remembered_until_its_end_and_its_last_writer_counts() {
        let mut memo = memo();
        assert_eq!(remember(&mut memo, "a", Some(1), 0), 1);
        assert_eq!(
            (value(&memo, "a", 99), value(&memo, "a", 100), value(&memo, "b", 0)),
            (Some(1), None, None)
        );
        // An equal value moves nothing and lasts longer; another one moves.
        assert_eq!(remember(&mut memo, "a", Some(1), 50), 0);
        assert_eq!(value(&memo, "a", 149), Some(1));
        assert_eq!(remember(&mut memo, "a", Some(2), 60), 1);
        assert_eq!(value(&memo, "a", 61), Some(2));
        assert_eq!(memo.next_end(&Snapshot::default()), Some(Time(160)));
        let mut moved = Moves::default();
        memo.end(Time(159), &mut moved);
        assert_eq!((moved.0.len(), memo.len()), (0, 1));
        memo.end(Time(160), &mut moved);
        assert_eq!((moved.0.len(), memo.len(), memo.next_end(&Snapshot::default())), (1, 0, None));
    }

    #[test]
    fn none_forgets_and_a_ttl_of_zero_keeps_nothing() {
        let mut memo = memo();
        remember(&mut memo, "a", Some(1), 0);
        assert_eq!(remember(&mut memo, "a", None, 1), 1);
        assert_eq!(remember(&mut memo, "a", None, 2), 0);
        assert_eq!(value(&memo, "a", 2), None);
        let mut moved = Moves::default();
        memo.remember(key("a"), Some(Value::Int(1)), Time(3), Duration(0), &mut moved);
        assert!(moved.0.is_empty() && memo.is_empty());
    }

    #[test]
    fn keys_and_bytes_are_bounded_and_the_oldest_value_goes_first() {
        let mut memo = memo();
        for at in 0..=MOST_KEYS {
            remember(&mut memo, &at.to_string(), Some(1), at as i64 / 2_000);
        }
        assert_eq!(memo.len(), MOST_KEYS);
        assert_eq!((value(&memo, "0", 60), value(&memo, "1", 60)), (None, Some(1)));
        let large = "x".repeat(1 << 20);
        let mut moved = Moves::default();
        for at in 0..100 {
            let (of, value) = (key(&format!("{at}{large}")), Some(Value::text("v")));
            memo.remember(of, value, Time(70), TTL, &mut moved);
        }
        assert!(memo.bytes <= MOST_BYTES && memo.len() < 40, "{} keys, {} bytes", memo.len(), memo.bytes);
        let all: usize = memo.entries.values().map(|entry| entry.bytes).sum();
        assert_eq!((all, memo.ends.len()), (memo.bytes, memo.entries.len()));
        assert!(moved.0.len() > MOST_KEYS, "whoever reads a value that was pushed out is told");
    }

    #[test]
    fn a_rebuild_keeps_what_is_remembered() {
        let mut memo = memo();
        remember(&mut memo, "a", Some(1), 0);
        let before = memo.clone();
        memo.rebuild(&Snapshot::default());
        assert_eq!(memo, before);
    }
}
