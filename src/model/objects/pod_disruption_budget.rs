//! `policy/v1/PodDisruptionBudget` with the fields that are read: preemption prefers victims whose budgets allow it.

use super::super::labels::LabelSelector;
use super::super::symbol::Symbol;
use super::metadata::ObjectMeta;
use super::read::or_default;
use super::slim::Slim;
use super::typed::metadata_field;
use super::{Kind, ObjectError, Typed, selectors};
use serde::Deserialize;
use serde::de::IgnoredAny;
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
    /// `status.disruptionsAllowed`.
    pub disruptions_allowed: i32,
    /// The names in `status.disruptedPods`, sorted: the budget counts their disruption already.
    pub disrupted_pods: Box<[Symbol]>,
}

/// `policy/v1.PodDisruptionBudgetSpec`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Spec {
    /// `selector`.
    pub selector: Option<selectors::LabelSelector>,
}

/// `policy/v1.PodDisruptionBudgetStatus`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Status {
    /// `disruptionsAllowed`.
    #[serde(deserialize_with = "or_default")]
    pub disruptions_allowed: i32,
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
            disruptions_allowed: status.disruptions_allowed,
            disrupted_pods: status.disrupted_pods.keys().cloned().collect(),
        })
    }

    metadata_field!();
}
