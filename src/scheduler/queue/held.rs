//! Pods that gates hold, and when their conditions are to say so. A text that changes again and again is written with a
//! growing pause, and each policy has a budget, so that a gate that shows an amount leaves room for the writes of others.

use bayplan_model::{Duration, PodKey, Symbol, Time};
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;

/// A condition is written when a gate has held the pod for this long; the first pause before a further text.
const PATIENCE: Duration = Duration::from_seconds(2);
/// The pause doubles with each text up to this.
const LONGEST_PAUSE: Duration = Duration::from_seconds(300);

/// The gate that holds a pod.
#[derive(Clone, Debug)]
pub(super) struct Held {
    text: String,
    since: Time,
    /// When the condition was written last, and what it says.
    told: Option<(Time, String)>,
    /// How long a further text waits after that.
    pause: Duration,
    /// When the budget of the policy has room for the text.
    turn: Option<Time>,
}

impl Held {
    /// The pod is held, as it was before or anew.
    pub(super) fn renewed(before: Option<Self>, text: &str, now: Time) -> Self {
        let anew = || Self { text: String::new(), since: now, told: None, pause: PATIENCE, turn: None };
        Self { text: text.to_owned(), ..before.unwrap_or_else(anew) }
    }

    /// When the condition is to be written; `None`: it says the text.
    pub(super) fn due(&self) -> Option<Time> {
        let due = match &self.told {
            Some((_, told)) if *told == self.text => return None,
            Some((at, _)) => *at + self.pause,
            None => self.since + PATIENCE,
        };
        Some(self.turn.map_or(due, |turn| due.max(turn)))
    }

    /// Whether the condition was given a text of this gate, perhaps an older one.
    pub(super) fn is_told(&self) -> bool {
        self.told.is_some()
    }

    /// Whether the text may be written now. If not, the pod waits for its turn.
    pub(super) fn has_turn(&mut self, budget: &mut Budget, now: Time) -> bool {
        if self.turn.take().is_some() {
            return true;
        }
        let turn = if self.is_told() { budget.further.turn(now) } else { budget.first.turn(now) };
        self.turn = Some(turn).filter(|turn| *turn > now);
        self.turn.is_none()
    }

    /// The condition is being written. Returns its text.
    pub(super) fn told(&mut self, now: Time) -> String {
        self.pause = match &self.told {
            // A text that stood for long is followed as soon as the first one.
            Some((at, _)) if now - *at <= Duration(self.pause.0.saturating_mul(4)) => {
                Duration(self.pause.0.saturating_mul(2)).min(LONGEST_PAUSE)
            }
            _ => PATIENCE,
        };
        self.told = Some((now, self.text.clone()));
        self.text.clone()
    }
}

/// Turns at a rate; some at once after a time without any.
#[derive(Clone, Debug)]
struct Line {
    every: Duration,
    at_once: i64,
    next: Time,
}

impl Line {
    const fn new(every: Duration, at_once: i64) -> Self {
        Self { every, at_once, next: Time(i64::MIN) }
    }

    /// The next turn, now or later.
    fn turn(&mut self, now: Time) -> Time {
        let earliest = now - Duration(self.every.0.saturating_mul(self.at_once));
        let turn = self.next.max(earliest);
        self.next = turn + self.every;
        turn.max(now)
    }
}

/// How often the gates of one policy write conditions.
#[derive(Clone, Debug)]
pub(super) struct Budget {
    /// Of pods whose condition has no text of a gate yet: 500 a second.
    first: Line,
    /// Of pods whose text changed: 20 a second.
    further: Line,
}

impl Default for Budget {
    fn default() -> Self {
        let first = Line::new(Duration(2_000), 2_000);
        Self { first, further: Line::new(Duration(50_000), 100) }
    }
}

/// When the conditions of held pods are to be written.
#[derive(Clone, Debug, Default)]
pub(super) struct Notices {
    due: BTreeSet<(Time, PodKey)>,
    /// By policy.
    budgets: FxHashMap<Symbol, Budget>,
}

impl Notices {
    /// Budgets that are kept; beyond that many policies all begin anew.
    const MOST: usize = 10_000;

    /// The condition of a pod is to be written when `held` is due.
    pub(super) fn insert(&mut self, held: &Held, pod: &PodKey) {
        self.due.extend(held.due().map(|due| (due, pod.clone())));
    }

    /// What `insert` noted no longer counts.
    pub(super) fn remove(&mut self, held: &Held, pod: &PodKey) {
        if let Some(due) = held.due() {
            self.due.remove(&(due, pod.clone()));
        }
    }

    /// The first pod whose condition is due.
    pub(super) fn pop(&mut self, now: Time) -> Option<PodKey> {
        if self.due.first()?.0 > now {
            return None;
        }
        Some(self.due.pop_first()?.1)
    }

    /// When there is one.
    pub(super) fn next(&self) -> Option<Time> {
        self.due.first().map(|(due, _)| *due)
    }

    /// The budget of a policy.
    pub(super) fn budget(&mut self, policy: &Symbol) -> &mut Budget {
        if self.budgets.len() >= Self::MOST && !self.budgets.contains_key(policy) {
            self.budgets.clear();
        }
        self.budgets.entry(policy.clone()).or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Writes what is due at an instant; returns the number of writes.
    fn write(pods: &mut FxHashMap<PodKey, Held>, notices: &mut Notices, policy: &Symbol, now: Time) -> usize {
        let mut written = 0;
        while let Some(pod) = notices.pop(now) {
            let held = pods.get_mut(&pod).unwrap();
            if held.has_turn(notices.budget(policy), now) {
                held.told(now);
                written += 1;
            } else {
                notices.insert(held, &pod);
            }
        }
        written
    }

    #[test]
    fn texts_that_change_each_second_are_written_with_growing_pauses_within_a_budget() {
        let (policy, at) = (Symbol::new("quota"), |second: i64| Time(second * 1_000_000));
        let mut notices = Notices::default();
        let keys: Vec<PodKey> = (0..10_000).map(|i| PodKey(Symbol::from(format!("uid-{i}")))).collect();
        let mut pods: FxHashMap<PodKey, Held> = FxHashMap::default();
        let mut of_minutes = Vec::new();
        for second in 0..1_800 {
            for key in keys.iter().filter(|_| second < 1_200) {
                let before = pods.remove(key).inspect(|held| notices.remove(held, key));
                let held = Held::renewed(before, &format!("{second} are used"), at(second));
                notices.insert(&held, key);
                pods.insert(key.clone(), held);
            }
            let written = write(&mut pods, &mut notices, &policy, at(second));
            if second % 60 == 0 {
                of_minutes.push(0);
            }
            *of_minutes.last_mut().unwrap() += written;
        }
        assert!(of_minutes[0] >= 10_000, "each pod gets its first text without delay: {of_minutes:?}");
        assert!(of_minutes[1..].iter().all(|of| *of <= 1_300), "{of_minutes:?}");
        // The text that stays is shown on every pod, and then nothing is written.
        assert!(pods.values().all(|held| held.due().is_none()), "{of_minutes:?}");
        assert_eq!(notices.next(), None);

        // Another policy has a budget of its own, and one pod alone its text within two seconds.
        let other = PodKey(Symbol::new("other"));
        let held = Held::renewed(None, "closed", at(1_000));
        notices.insert(&held, &other);
        pods.insert(other.clone(), held);
        assert_eq!(write(&mut pods, &mut notices, &Symbol::new("closed"), at(1_002)), 1);
    }

    #[test]
    fn the_pause_doubles_while_the_text_changes_and_is_short_again_after_a_rest() {
        let at = |second: i64| Time(second * 1_000_000);
        let mut held = Held::renewed(None, "0", at(0));
        let mut told = Vec::new();
        for second in 0..2_000 {
            if !(1_000..1_990).contains(&second) {
                held = Held::renewed(Some(held), &second.to_string(), at(second));
            }
            if held.due().is_some_and(|due| due <= at(second)) {
                held.told(at(second));
                told.push(second);
            }
        }
        let pauses: Vec<i64> = told.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert_eq!(told[0], 2);
        assert_eq!(pauses[..7], [2, 4, 8, 16, 32, 64, 128]);
        assert_eq!(pauses[7..9], [256, 300]);
        // The last text before the rest is shown, and the first one after it at once.
        assert!(told.iter().any(|at| (1_000..1_300).contains(at)) && told.contains(&1_990), "{told:?}");
    }
}
