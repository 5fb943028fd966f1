//! [`Outcome`] of a condition, and [`Outcomes`]: the ones that it can have where not everything is known.

/// What a condition can be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Outcome {
    /// It does not hold; so is a condition that is absent.
    False,
    /// It holds.
    True,
    /// It is a fault of CEL, which `&&` and `||` absorb.
    Fault,
    /// It is a fault that ends the whole evaluation.
    Stop,
}

use Outcome::{False, Fault, Stop, True};

const ALL: [Outcome; 4] = [False, True, Fault, Stop];

impl From<bool> for Outcome {
    fn from(holds: bool) -> Self {
        if holds { True } else { False }
    }
}

impl Outcome {
    fn not(self) -> Self {
        match self {
            False => True,
            True => False,
            fault => fault,
        }
    }

    /// `&&` (`decisive` is `False`) or `||` (`True`), with the evaluator's order: a side that decides ends the evaluation.
    fn joined(self, right: Self, decisive: Self) -> Self {
        match (self, right) {
            (Stop, _) => Stop,
            (left, _) if left == decisive => decisive,
            (_, Stop) => Stop,
            (_, right) if right == decisive => decisive,
            (Fault, _) | (_, Fault) => Fault,
            _ => decisive.not(),
        }
    }

    /// `? :`; a fault of the condition takes the second branch, whose fault it hides unless that ends the evaluation.
    fn chosen(self, then: Self, otherwise: Self) -> Self {
        match (self, otherwise) {
            (True, _) => then,
            (False, otherwise) => otherwise,
            (Fault, Stop) => Stop,
            (fault, _) => fault,
        }
    }
}

/// A set of outcomes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Outcomes(u8);

impl From<Outcome> for Outcomes {
    fn from(of: Outcome) -> Self {
        Self(1 << of as u8)
    }
}

impl Outcomes {
    /// None of them.
    pub(crate) const NONE: Self = Self(0);

    /// Whether it can be this one.
    pub(crate) fn has(self, of: Outcome) -> bool {
        self.0 & (1 << of as u8) != 0
    }

    /// Whether it cannot be anything else.
    pub(crate) fn is(self, of: Outcome) -> bool {
        self == Self::from(of)
    }

    /// The ones of either set.
    pub(crate) fn or_else(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    fn each(self) -> impl Iterator<Item = Outcome> {
        ALL.into_iter().filter(move |of| self.has(*of))
    }

    fn mapped(self, f: impl Fn(Outcome) -> Self) -> Self {
        self.each().map(f).fold(Self::NONE, Self::or_else)
    }

    pub(crate) fn not(self) -> Self {
        self.mapped(|of| of.not().into())
    }

    pub(crate) fn and(self, right: Self) -> Self {
        self.mapped(|left| right.mapped(|right| left.joined(right, False).into()))
    }

    pub(crate) fn or(self, right: Self) -> Self {
        self.mapped(|left| right.mapped(|right| left.joined(right, True).into()))
    }

    pub(crate) fn choose(self, then: Self, otherwise: Self) -> Self {
        self.mapped(|of| then.mapped(|then| otherwise.mapped(|otherwise| of.chosen(then, otherwise).into())))
    }

    /// A fault counts as this.
    pub(crate) fn settled(self, fault: bool) -> Self {
        self.mapped(|of| match of {
            Fault | Stop => Outcome::from(fault).into(),
            of => of.into(),
        })
    }
}
