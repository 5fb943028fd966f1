//! [`Mode`]: how far a policy and its rules may go. `parts.rs` divides a policy by it.
//!
//! Ledgers, groups and memos have no mode: their indexes are those of the whole policy, whatever its rules may do.

use super::{Body, Expr, Point, Policy};
use bayplan_diag::Span;
use bayplan_model::Time;

/// How far a policy or a rule may go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Mode {
    /// It decides.
    #[default]
    Enforce,
    /// It is counted, and the pod's owner gets an event.
    Warn,
    /// It is counted.
    Audit,
    /// It is compiled only.
    Off,
}

impl Mode {
    /// Each with its word.
    pub const WORDS: [(&'static str, Mode); 4] =
        [("enforce", Mode::Enforce), ("warn", Mode::Warn), ("audit", Mode::Audit), ("off", Mode::Off)];

    /// The mode of a word.
    pub fn of(word: &str) -> Option<Mode> {
        Self::WORDS.into_iter().find(|(known, _)| *known == word).map(|(_, mode)| mode)
    }

    /// Its word.
    pub fn word(self) -> &'static str {
        Self::WORDS.into_iter().find(|(_, mode)| *mode == self).map_or("", |(word, _)| word)
    }

    /// Whether the rule is evaluated after the decision.
    pub fn counts(self) -> bool {
        matches!(self, Mode::Warn | Mode::Audit)
    }
}

/// The modes of a policy. Those of its rules are in their heads.
#[derive(Clone, Debug, Default)]
pub struct Modes {
    /// That of the policy, for rules without their own.
    pub policy: Mode,
    /// Its mode for the pods for which [`Policy::decides_when`] does not hold.
    pub otherwise: Mode,
    /// The days until which modes are meant. A mode does not change by itself.
    pub until: Vec<Until>,
}

/// The day until which a mode is meant.
#[derive(Clone, Copy, Debug)]
pub struct Until {
    /// The mode.
    pub mode: Mode,
    /// The end of the day in UTC.
    pub end: Time,
    /// The day in the text.
    pub span: Span,
}

impl Policy {
    /// Whether every rule decides, for every pod.
    pub(crate) fn all_enforce(&self) -> bool {
        let decides_when = |body: &Body| matches!(body, Body::Mode(_) | Body::DecidesWhen(_));
        self.modes.policy == Mode::Enforce
            && self.rules.iter().all(|rule| rule.head.mode == Mode::Enforce && !decides_when(&rule.body))
    }

    /// The condition for the pods for which the policy has its mode; `None`: for all. In a ledger every pod counts.
    pub fn decides_when(&self) -> Option<&Expr> {
        self.rules.iter().find_map(|rule| match &rule.body {
            Body::Mode(when) => Some(when),
            _ => None,
        })
    }

    /// Whether it orders the queue.
    pub fn orders_queue(&self) -> bool {
        let queues = self.rules_at(Point::QueueSort).next().is_some();
        queues && self.modes.policy == Mode::Enforce && self.decides_when().is_none()
    }
}
