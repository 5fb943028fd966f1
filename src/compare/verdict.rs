//! [`Verdict`]: what a change of a rule means.

use crate::groups::GroupKind;
use crate::witness::Witness;
use bayplan_diag::{Span, with_commas};
use bayplan_lang::typed::Mode;
use std::fmt;

/// What a change of a rule means.
#[derive(Clone, Debug)]
pub enum Verdict {
    /// Proved: whatever the cluster is, both do the same.
    Same,
    /// Proved: what was refused is refused. The witness passed, and is refused now.
    Stricter(Box<Witness>),
    /// Proved: what passed passes. The witness was refused, and passes now.
    Looser(Box<Witness>),
    /// One is refused now that passed, and one passes that was refused.
    Incomparable {
        /// Refused now.
        refused: Box<Witness>,
        /// Passes now.
        passes: Box<Witness>,
    },
    /// The witness gets another score.
    Different(Box<Witness>),
    /// What it does changes in a way that needs no witness, as [`RuleDiff::notes`] say.
    Changed,
    /// None of these was proved.
    Unknown(Unproved),
}

/// Why a verdict is unknown.
#[derive(Clone, Debug)]
pub enum Unproved {
    /// The conditions have too many parts.
    TooLarge,
    /// There are too many cases to look at.
    TooLong,
    /// A difference is possible as far as the proof looks, and no pod and node that differ were found. What the proof takes as
    /// one value, in the old text (0) or the new one (1).
    NoWitness(Vec<(usize, Span)>),
    /// It is proved that it is not looser; a pod that is refused now was not found.
    SameOrStricter(Vec<(usize, Span)>),
    /// It is proved that it is not stricter; a pod that passes now was not found.
    SameOrLooser(Vec<(usize, Span)>),
    /// The witness passed and is refused now. It is not known whether another one passes now.
    StricterOrIncomparable(Box<Witness>, Vec<(usize, Span)>),
    /// The witness was refused and passes now. It is not known whether another one is refused now.
    LooserOrIncomparable(Box<Witness>, Vec<(usize, Span)>),
    /// What the rule writes, orders or counts is not compared.
    NotCompared,
}

impl Verdict {
    /// Its word.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Same => "same",
            Self::Stricter(_) => "stricter",
            Self::Looser(_) => "looser",
            Self::Incomparable { .. } => "incomparable",
            Self::Different(_) | Self::Changed => "different",
            Self::Unknown(_) => "unknown",
        }
    }

    /// The pods and nodes that show it, with what happens to each.
    pub fn witnesses(&self) -> Vec<(Effect, &Witness)> {
        match self {
            Self::Stricter(of) => vec![(Effect::Refused, of)],
            Self::Looser(of) => vec![(Effect::Passes, of)],
            Self::Incomparable { refused, passes } => {
                vec![(Effect::Refused, refused), (Effect::Passes, passes)]
            }
            Self::Different(of) => vec![(Effect::Scored, of)],
            Self::Unknown(Unproved::StricterOrIncomparable(of, _)) => vec![(Effect::Refused, of)],
            Self::Unknown(Unproved::LooserOrIncomparable(of, _)) => vec![(Effect::Passes, of)],
            Self::Same | Self::Changed | Self::Unknown(_) => Vec::new(),
        }
    }
}

/// What a change does to a witness.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Effect {
    /// It passed, and is refused now.
    Refused,
    /// It was refused, and passes now.
    Passes,
    /// It has another score.
    Scored,
}

impl fmt::Display for Effect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Refused => "passed, now refused",
            Self::Passes => "was refused, now passes",
            Self::Scored => "another score",
        })
    }
}

/// How pods without a node are treated otherwise, in words for people: `2 pods begin to wait now`, `1 pod begins to run`.
pub fn begin(to_wait: usize, to_run: usize) -> Vec<String> {
    let some = |count: usize, what: &str| {
        let (pods, begin) = if count == 1 { ("pod", "begins") } else { ("pods", "begin") };
        (count > 0).then(|| format!("{} {pods} {begin} {what}", with_commas(count as u128)))
    };
    some(to_wait, "to wait now").into_iter().chain(some(to_run, "to run")).collect()
}

/// A rule, or the rules of one name, in an old and a new policy.
#[derive(Clone, Debug)]
pub struct RuleDiff {
    /// The policy.
    pub policy: String,
    /// What the rule does.
    pub kind: GroupKind,
    /// Its name.
    pub name: String,
    /// Its name before, if it had another one.
    pub renamed_from: Option<String>,
    /// Where it was; `None`: it is new.
    pub old: Option<Span>,
    /// Where it is; `None`: it is gone.
    pub new: Option<Span>,
    /// How far it might and may go.
    pub modes: (Option<Mode>, Option<Mode>),
    /// What the change means. Of a rule that does not decide: what it would mean.
    pub verdict: Verdict,
    /// What changes beside the condition, in sentences without an end.
    pub notes: Vec<String>,
    /// Values of the witness before and now, of a score.
    pub scores: Option<(String, String)>,
}

impl RuleDiff {
    /// Whether neither side decides.
    pub fn only_counts(&self) -> bool {
        let counts = |mode: Option<Mode>| mode.is_none_or(|mode| mode != Mode::Enforce);
        counts(self.modes.0) && counts(self.modes.1)
    }
}
