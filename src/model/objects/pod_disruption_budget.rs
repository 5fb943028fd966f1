//! `policy/v1/PodDisruptionBudget` with the fields that are read: preemption prefers victims whose budgets allow it.

use super::super::labels::LabelSelector;
use super::super::symbol::Symbol;
use super::metadata::ObjectMeta;
use super::read::or_default;
use super::slim::Slim;
use super::typed::metadata_field;
use super::{Kind, ObjectError, Typed, Unread, selectors};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;
use std::collections::BTreeMap;

/// A PodDisruptionBudget.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct PodDisruptionBudget {
    /// Its name.
    pub metadata: ObjectMeta,
    /// `spec.selector`; `None` when it is absent, empty or invalid. Preemption reads such a budget as one that protects
    /// no pod.
    ///
    /// Source: `pkg/scheduler/framework/plugins/defaultpreemption/default_preemption.go`,
    /// `filterPodsWithPDBViolation`.
    pub selector: Option<LabelSelector>,
    /// How many pods must be healthy.
    pub demand: Unread<Demand>,
    /// `status.disruptionsAllowed`; 0 when it is absent.
    pub disruptions_allowed: i32,
    /// Whether the object has `status.disruptionsAllowed`.
    pub has_status: Unread<bool>,
    /// The names in `status.disruptedPods`, sorted: the budget counts their disruption already.
    pub disrupted_pods: Box<[Symbol]>,
}

/// A number of pods, or a percentage of pods.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum IntOrPercent {
    /// A number, not negative.
    Int(i32),
    /// A percentage from 0 to 100.
    Percent(i32),
}

impl IntOrPercent {
    /// Reads it; `None` where the API server would have refused it.
    fn read(value: &Value) -> Option<Self> {
        let digits = |text: &&str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        match value {
            Value::Number(number) => {
                let number = number.as_u64().and_then(|number| i32::try_from(number).ok());
                number.map(Self::Int)
            }
            Value::String(text) => {
                let percent = text.strip_suffix('%').filter(digits).and_then(|text| text.parse().ok());
                percent.filter(|percent| *percent <= 100).map(Self::Percent)
            }
            _ => None,
        }
    }

    /// The number of pods that it means of `total`, rounded up.
    pub fn of(self, total: i64) -> i64 {
        match self {
            Self::Int(number) => number.into(),
            Self::Percent(percent) => i64::from(percent).saturating_mul(total).saturating_add(99) / 100,
        }
    }
}

/// How many pods a budget demands to be healthy.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Demand {
    /// Neither `spec.minAvailable` nor `spec.maxUnavailable`.
    #[default]
    Nothing,
    /// `spec.minAvailable`.
    MinAvailable(IntOrPercent),
    /// `spec.maxUnavailable`.
    MaxUnavailable(IntOrPercent),
    /// Neither a number nor a percentage that the API server would have taken.
    Invalid,
}

impl Demand {
    /// `maxUnavailable` comes first, as in `pkg/controller/disruption/disruption.go`, `getExpectedPodCount`.
    fn read(spec: &Spec) -> Self {
        let read =
            |value: &Value, of: fn(IntOrPercent) -> Self| IntOrPercent::read(value).map_or(Self::Invalid, of);
        match (&spec.max_unavailable, &spec.min_available) {
            (Some(value), _) => read(value, Self::MaxUnavailable),
            (None, Some(value)) => read(value, Self::MinAvailable),
            (None, None) => Self::Nothing,
        }
    }
}

/// `policy/v1.PodDisruptionBudgetSpec`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Spec {
    /// `selector`.
    pub selector: Option<selectors::LabelSelector>,
    /// `minAvailable`: a number or a percentage.
    pub min_available: Option<Value>,
    /// `maxUnavailable`: a number or a percentage.
    pub max_unavailable: Option<Value>,
}

/// `policy/v1.PodDisruptionBudgetStatus`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Status {
    /// `disruptionsAllowed`.
    pub disruptions_allowed: Option<i32>,
    /// `disruptedPods`: names, and when each was told.
    #[serde(deserialize_with = "or_default")]
    pub disrupted_pods: BTreeMap<Symbol, IgnoredAny>,
}

impl Typed for PodDisruptionBudget {
    const KIND: Kind = Kind::PodDisruptionBudget;
    type Slim = Slim<Spec, Status>;

    fn from_object(object: &Self::Slim) -> Result<Self, ObjectError> {
        let Slim { metadata, spec, status } = object;
        let selector = spec.selector.as_ref().and_then(|selector| LabelSelector::parse(selector).ok());
        Ok(Self {
            metadata: ObjectMeta::name_of(metadata)?,
            selector: selector.filter(|selector| !selector.is_empty()),
            demand: Unread(Demand::read(spec)),
            disruptions_allowed: status.disruptions_allowed.unwrap_or_default(),
            has_status: Unread(status.disruptions_allowed.is_some()),
            disrupted_pods: status.disrupted_pods.keys().cloned().collect(),
        })
    }

    metadata_field!();
}
