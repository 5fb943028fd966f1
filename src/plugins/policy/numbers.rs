//! The numbers of rules in statuses.

/// The gates.
pub(crate) const GATE: u16 = 1;
/// The prefilters.
pub(crate) const PREFILTER: u16 = 2;
/// The permits.
pub(crate) const PERMIT: u16 = 3;
/// The lets with `missing`.
pub(crate) const MISSING: u16 = 4;
/// The conditions of `applies when`.
pub(crate) const APPLIES: u16 = 5;
/// The reserves.
pub(crate) const RESERVE: u16 = 6;
/// `never` of preemption.
pub(crate) const NEVER: u16 = 7;
/// `victim` of preemption.
pub(crate) const VICTIM: u16 = 8;
/// `protect` of preemption.
pub(crate) const PROTECT: u16 = 9;
/// `guard` of preemption.
pub(crate) const GUARD: u16 = 10;
/// What is done after a failed attempt.
pub(crate) const AFTER_FAILURE: u16 = 11;
/// The names of the rules above.
pub(crate) const NAMES: [&str; 11] = [
    "gate",
    "prefilter",
    "permit",
    "missing",
    "applies when",
    "reserve",
    "never",
    "victim",
    "protect",
    "guard",
    "after failure",
];

/// A filter, by its place in the text.
pub(crate) fn filter(at: usize) -> u16 {
    u16::try_from(NAMES.len() + 1 + at).unwrap_or(u16::MAX)
}
