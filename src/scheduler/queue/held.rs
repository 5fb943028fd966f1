//! A pod that a gate holds, and when its condition is to say so.

use crate::model::{Duration, Time};

/// A condition is written when a gate has held the pod for this long, and no more often than this.
const PATIENCE: Duration = Duration::from_seconds(2);

/// The gate that holds a pod.
#[derive(Clone, Debug)]
pub(super) struct Held {
    text: String,
    since: Time,
    /// When the condition was written last, and what it says.
    told: Option<(Time, String)>,
}

impl Held {
    /// The pod is held, as it was before or anew.
    pub(super) fn renewed(before: Option<Self>, text: &str, now: Time) -> Self {
        let (since, told) = before.map_or((now, None), |before| (before.since, before.told));
        Self { text: text.to_owned(), since, told }
    }

    /// When the condition is to be written; `None`: it says the text.
    pub(super) fn due(&self) -> Option<Time> {
        match &self.told {
            Some((_, told)) if *told == self.text => None,
            Some((at, _)) => Some(*at + PATIENCE),
            None => Some(self.since + PATIENCE),
        }
    }

    /// Whether the condition was given a text of this gate, perhaps an older one.
    pub(super) fn is_told(&self) -> bool {
        self.told.is_some()
    }

    /// The condition is being written. Returns its text.
    pub(super) fn told(&mut self, now: Time) -> String {
        self.told = Some((now, self.text.clone()));
        self.text.clone()
    }
}
