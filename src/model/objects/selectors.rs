//! Label selectors, node selectors and tolerations as objects write them. `labels.rs`, `node_selector.rs` and
//! `taints.rs` implement them.

use super::super::labels::Labels;
use super::super::symbol::Symbol;
use super::read::or_default;
use serde::{Deserialize, Serialize};

/// `metav1.LabelSelector`.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct LabelSelector {
    /// `matchLabels`.
    #[serde(deserialize_with = "or_default")]
    pub match_labels: Labels,
    /// `matchExpressions`.
    #[serde(deserialize_with = "or_default")]
    pub match_expressions: Vec<Expression>,
}

/// `metav1.LabelSelectorRequirement` and `v1.NodeSelectorRequirement`.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default, Deserialize, Serialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Expression {
    /// `key`.
    #[serde(deserialize_with = "or_default")]
    pub key: Symbol,
    /// `operator`.
    #[serde(deserialize_with = "or_default")]
    pub operator: Symbol,
    /// `values`; absent and empty read differently in error texts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub values: Option<Vec<Symbol>>,
}

/// `v1.NodeSelector`.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize)]
#[serde(default, rename_all = "camelCase")]
pub struct NodeSelector {
    /// `nodeSelectorTerms`.
    #[serde(deserialize_with = "or_default")]
    pub node_selector_terms: Vec<NodeSelectorTerm>,
}

/// `v1.NodeSelectorTerm`.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize)]
#[serde(default, rename_all = "camelCase")]
pub struct NodeSelectorTerm {
    /// `matchExpressions`.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    pub match_expressions: Vec<Expression>,
    /// `matchFields`.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    pub match_fields: Vec<Expression>,
}

/// `v1.PreferredSchedulingTerm`.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct PreferredSchedulingTerm {
    /// `weight`.
    #[serde(deserialize_with = "or_default")]
    pub weight: i32,
    /// `preference`.
    #[serde(deserialize_with = "or_default")]
    pub preference: NodeSelectorTerm,
}

/// `v1.NodeAffinity`; also `addedAffinity` of the plugin NodeAffinity.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct NodeAffinity {
    /// `requiredDuringSchedulingIgnoredDuringExecution`.
    pub required_during_scheduling_ignored_during_execution: Option<NodeSelector>,
    /// `preferredDuringSchedulingIgnoredDuringExecution`.
    #[serde(deserialize_with = "or_default")]
    pub preferred_during_scheduling_ignored_during_execution: Vec<PreferredSchedulingTerm>,
}

/// `v1.Toleration`.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Toleration {
    /// `key`.
    #[serde(deserialize_with = "or_default")]
    pub key: Symbol,
    /// `operator`.
    #[serde(deserialize_with = "or_default")]
    pub operator: Symbol,
    /// `value`.
    #[serde(deserialize_with = "or_default")]
    pub value: Symbol,
    /// `effect`.
    #[serde(deserialize_with = "or_default")]
    pub effect: Symbol,
}

/// `v1.Taint`.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Taint {
    /// `key`.
    #[serde(deserialize_with = "or_default")]
    pub key: Symbol,
    /// `value`.
    #[serde(deserialize_with = "or_default")]
    pub value: Symbol,
    /// `effect`.
    #[serde(deserialize_with = "or_default")]
    pub effect: Symbol,
}
