//! Taints of nodes and tolerations of pods, and which tolerates which.
//!
//! Source: `api/core/v1/toleration.go`, `component-helpers/scheduling/corev1/helpers.go`.

use super::objects::{ObjectError, selectors};
use super::symbol::Symbol;

/// What a taint does to pods that do not tolerate it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Effect {
    /// `NoSchedule`: the pod is not placed there.
    NoSchedule,
    /// `PreferNoSchedule`: other nodes are better.
    PreferNoSchedule,
    /// `NoExecute`: not placed there, and evicted from there.
    NoExecute,
}

/// A taint of a node.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Taint {
    /// The key.
    pub key: Symbol,
    /// The value; empty when there is none.
    pub value: Symbol,
    /// What it does.
    pub effect: Effect,
}

/// How a toleration compares values.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum TolerationOperator {
    /// The values are equal (the default).
    Equal,
    /// Any value.
    Exists,
    /// The taint's value, an integer, is less than the toleration's.
    Lt,
    /// The taint's value, an integer, is greater than the toleration's.
    Gt,
}

impl TolerationOperator {
    /// The name, as objects write it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Equal => "Equal",
            Self::Exists => "Exists",
            Self::Lt => "Lt",
            Self::Gt => "Gt",
        }
    }
}

/// A toleration of a pod.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Toleration {
    /// The key; empty with `Exists` means every key.
    pub key: Symbol,
    /// How values compare.
    pub operator: TolerationOperator,
    /// The value.
    pub value: Symbol,
    /// The effect; `None` means every effect.
    pub effect: Option<Effect>,
}

impl Effect {
    /// The names of all effects.
    pub const NAMES: [&str; 3] = ["NoSchedule", "PreferNoSchedule", "NoExecute"];

    /// The effect of that name.
    pub fn parse(name: &str) -> Option<Self> {
        Some(match name {
            "NoSchedule" => Self::NoSchedule,
            "PreferNoSchedule" => Self::PreferNoSchedule,
            "NoExecute" => Self::NoExecute,
            _ => return None,
        })
    }

    /// The name, as objects write it.
    pub fn name(self) -> &'static str {
        match self {
            Self::NoSchedule => "NoSchedule",
            Self::PreferNoSchedule => "PreferNoSchedule",
            Self::NoExecute => "NoExecute",
        }
    }

    /// Whether pods that do not tolerate it are not placed: `NoSchedule` and `NoExecute`.
    #[inline]
    pub fn keeps_pods_away(self) -> bool {
        self != Self::PreferNoSchedule
    }
}

impl Toleration {
    /// The toleration at `path`.
    pub(super) fn from_object(object: &selectors::Toleration, path: &str) -> Result<Self, ObjectError> {
        let operator = match object.operator.as_str() {
            "" | "Equal" => TolerationOperator::Equal,
            "Exists" => TolerationOperator::Exists,
            "Lt" => TolerationOperator::Lt,
            "Gt" => TolerationOperator::Gt,
            other => {
                let path = format!("{path}.operator");
                return Err(ObjectError::unsupported(path, other, &["Equal", "Exists", "Lt", "Gt"]));
            }
        };
        let effect =
            match object.effect.as_str() {
                "" => None,
                name => Some(Effect::parse(name).ok_or_else(|| {
                    ObjectError::unsupported(format!("{path}.effect"), name, &Effect::NAMES)
                })?),
            };
        Ok(Self { key: object.key.clone(), operator, value: object.value.clone(), effect })
    }

    /// Whether it tolerates `taint`. `comparison` is the feature gate `TaintTolerationComparisonOperators` (alpha, off
    /// in Kubernetes 1.36): without it a toleration with `Lt` or `Gt` tolerates nothing, and with it one whose value or
    /// whose taint's value is not a plain integer.
    pub fn tolerates(&self, taint: &Taint, comparison: bool) -> bool {
        if self.effect.is_some_and(|effect| effect != taint.effect) {
            return false;
        }
        if !self.key.is_empty() && self.key != taint.key {
            return false;
        }
        let compare = |holds: fn(&i64, &i64) -> bool| {
            comparison
                && plain_integer(&taint.value)
                    .zip(plain_integer(&self.value))
                    .is_some_and(|(taint, ours)| holds(&taint, &ours))
        };
        match self.operator {
            TolerationOperator::Equal => self.value == taint.value,
            TolerationOperator::Exists => true,
            TolerationOperator::Lt => compare(i64::lt),
            TolerationOperator::Gt => compare(i64::gt),
        }
    }
}

/// A number as people write it: no plus sign, no leading zeros.
fn plain_integer(text: &str) -> Option<i64> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    match digits.as_bytes() {
        [b'0'] if text == "0" => Some(0),
        [b'1'..=b'9', rest @ ..] if rest.iter().all(u8::is_ascii_digit) => text.parse().ok(),
        _ => None,
    }
}

/// The first taint among those that count which no toleration tolerates.
pub fn find_untolerated<'a>(
    taints: &'a [Taint],
    tolerations: &[Toleration],
    counts: impl Fn(Effect) -> bool,
    comparison: bool,
) -> Option<&'a Taint> {
    taints
        .iter()
        .filter(|taint| counts(taint.effect))
        .find(|taint| !tolerations.iter().any(|toleration| toleration.tolerates(taint, comparison)))
}
