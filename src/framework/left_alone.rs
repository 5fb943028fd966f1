//! [`LeftAlone`]: an exception by which a plugin, or one of its rules, leaves a pod alone for a time.

use bayplan_model::{Symbol, Time};

/// An exception that holds for a pod.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LeftAlone {
    /// The rule; `None`: all of the plugin.
    pub rule: Option<Symbol>,
    /// Its last day, as people write it.
    pub until: String,
    /// When it ends, by the wall clock.
    pub end: Time,
    /// Why it was made.
    pub because: String,
    /// Where it is written, as people name it.
    pub place: String,
}
