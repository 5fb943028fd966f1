//! The fields of a pod that constrain its placement (topology spread, pod affinity, required features) as the API
//! writes them, and how they become [`PodConstraints`]. Volumes are in `pod_volumes.rs`.

use super::super::constraints::{
    self, Constraint, ConstraintKinds, PodAffinityTerm, PodConstraints, PodDevices, PodVolume,
    SpreadSelector, WeightedTerm,
};
use super::super::labels::{LabelSelector, Labels, SelectorError};
use super::super::shared::Shared;
use super::super::symbol::Symbol;
use super::pod::{Spec, Status};
use super::read::or_default;
use super::selectors;
use serde::Deserialize;
use std::sync::Arc;

/// `v1.TopologySpreadConstraint`.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct SpreadConstraint {
    /// `maxSkew`.
    #[serde(deserialize_with = "or_default")]
    pub max_skew: i32,
    /// `topologyKey`.
    #[serde(deserialize_with = "or_default")]
    pub topology_key: Symbol,
    /// `whenUnsatisfiable`.
    #[serde(deserialize_with = "or_default")]
    pub when_unsatisfiable: Symbol,
    /// `labelSelector`.
    pub label_selector: Option<selectors::LabelSelector>,
    /// `minDomains`.
    pub min_domains: Option<i32>,
    /// `nodeAffinityPolicy`.
    pub node_affinity_policy: Option<Symbol>,
    /// `nodeTaintsPolicy`.
    pub node_taints_policy: Option<Symbol>,
    /// `matchLabelKeys`; the API server has merged them into the selector, and the scheduler does so again.
    #[serde(deserialize_with = "or_default")]
    pub match_label_keys: Vec<Symbol>,
}

/// `v1.PodAffinity` and `v1.PodAntiAffinity`.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct PodAffinity {
    /// `requiredDuringSchedulingIgnoredDuringExecution`.
    #[serde(deserialize_with = "or_default")]
    pub required_during_scheduling_ignored_during_execution: Vec<AffinityTerm>,
    /// `preferredDuringSchedulingIgnoredDuringExecution`.
    #[serde(deserialize_with = "or_default")]
    pub preferred_during_scheduling_ignored_during_execution: Vec<WeightedAffinityTerm>,
}

/// `v1.WeightedPodAffinityTerm`.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct WeightedAffinityTerm {
    /// `weight`.
    #[serde(deserialize_with = "or_default")]
    pub weight: i32,
    /// `podAffinityTerm`.
    #[serde(deserialize_with = "or_default")]
    pub pod_affinity_term: AffinityTerm,
}

/// `v1.PodAffinityTerm`.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct AffinityTerm {
    /// `labelSelector`.
    pub label_selector: Option<selectors::LabelSelector>,
    /// `namespaces`.
    #[serde(deserialize_with = "or_default")]
    pub namespaces: Vec<Symbol>,
    /// `namespaceSelector`.
    pub namespace_selector: Option<selectors::LabelSelector>,
    /// `topologyKey`.
    #[serde(deserialize_with = "or_default")]
    pub topology_key: Symbol,
    /// `matchLabelKeys`; the API server has merged them into the selector, files have not.
    #[serde(deserialize_with = "or_default")]
    pub match_label_keys: Vec<Symbol>,
    /// `mismatchLabelKeys`.
    #[serde(deserialize_with = "or_default")]
    pub mismatch_label_keys: Vec<Symbol>,
}

/// `v1.ContainerRestartRule`.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(default)]
pub struct RestartRule {
    /// `action`.
    #[serde(deserialize_with = "or_default")]
    pub action: Symbol,
}

/// Adds to a selector the pod's values of `keys`, with this operator. A requirement that the selector has is not added
/// again, and neither is that of a label which the pod lacks.
///
/// Source: `pkg/registry/core/pod/strategy.go`, `applyLabelKeysToLabelSelector`.
fn merge_label_keys(
    selector: &mut selectors::LabelSelector,
    keys: &[Symbol],
    operator: &str,
    labels: &Labels,
) {
    for key in keys {
        let Some(value) = labels.get(key) else { continue };
        let known = operator == "In" && selector.match_labels.get(key) == Some(value);
        let expression = selectors::Expression {
            key: key.clone(),
            operator: Symbol::new(operator),
            values: Some(vec![value.clone()]),
        };
        if !known && !selector.match_expressions.contains(&expression) {
            selector.match_expressions.push(expression);
        }
    }
}

impl AffinityTerm {
    /// Merges `matchLabelKeys` and `mismatchLabelKeys` into the selector, as the API server does when the pod is
    /// created. The scheduler does not: it takes the selector as it is.
    fn merge_label_keys(&mut self, labels: &Labels) {
        let Some(selector) = &mut self.label_selector else { return };
        merge_label_keys(selector, &self.match_label_keys, "In", labels);
        merge_label_keys(selector, &self.mismatch_label_keys, "NotIn", labels);
    }

    fn parse(&self, namespace: &Symbol) -> Result<Arc<PodAffinityTerm>, SelectorError> {
        let mut namespaces = self.namespaces.clone();
        if namespaces.is_empty() && self.namespace_selector.is_none() {
            namespaces.push(namespace.clone());
        }
        namespaces.sort();
        namespaces.dedup();
        Ok(Arc::new(PodAffinityTerm {
            topology_key: self.topology_key.clone(),
            namespaces: namespaces.into(),
            selector: self.label_selector.as_ref().map(LabelSelector::parse).transpose()?,
            namespace_selector: self.namespace_selector.as_ref().map(LabelSelector::parse).transpose()?,
        }))
    }
}

impl PodAffinity {
    fn required(&self, namespace: &Symbol) -> Result<Box<[Arc<PodAffinityTerm>]>, SelectorError> {
        let terms = &self.required_during_scheduling_ignored_during_execution;
        terms.iter().map(|term| term.parse(namespace)).collect()
    }

    fn preferred(&self, namespace: &Symbol) -> Result<Vec<WeightedTerm>, SelectorError> {
        let terms = &self.preferred_during_scheduling_ignored_during_execution;
        let weighted = terms
            .iter()
            .map(|it| Ok(WeightedTerm { weight: it.weight, term: it.pod_affinity_term.parse(namespace)? }));
        weighted.collect()
    }

    /// Merges label keys into the selectors of all terms; see [`AffinityTerm`].
    fn merge_label_keys(&mut self, labels: &Labels) {
        for term in &mut self.required_during_scheduling_ignored_during_execution {
            term.merge_label_keys(labels);
        }
        for weighted in &mut self.preferred_during_scheduling_ignored_during_execution {
            weighted.pod_affinity_term.merge_label_keys(labels);
        }
    }
}

impl SpreadConstraint {
    /// Everything but `ScheduleAnyway` is hard: the API has two values and refuses others.
    fn is_hard(&self) -> bool {
        self.when_unsatisfiable != "ScheduleAnyway"
    }

    /// Source: `plugins/podtopologyspread/common.go`, `filterTopologySpreadConstraints`.
    fn parse(&self, labels: &Labels) -> constraints::SpreadConstraint {
        let merged = self.label_selector.clone().map(|mut selector| {
            merge_label_keys(&mut selector, &self.match_label_keys, "In", labels);
            LabelSelector::parse(&selector)
        });
        let honor = |policy: &Option<Symbol>, default: bool| match policy {
            Some(policy) => *policy == "Honor",
            None => default,
        };
        constraints::SpreadConstraint {
            max_skew: self.max_skew,
            topology_key: self.topology_key.clone(),
            hard: self.is_hard(),
            selector: match merged {
                None => SpreadSelector::None,
                Some(Ok(selector)) => SpreadSelector::Of(selector),
                Some(Err(error)) => SpreadSelector::Invalid(Box::from(&*error.0)),
            },
            min_domains: self.min_domains.unwrap_or(1),
            honor_affinity: honor(&self.node_affinity_policy, true),
            honor_taints: honor(&self.node_taints_policy, false),
            match_label_keys: self.match_label_keys.as_slice().into(),
        }
    }
}

/// What the constraints of a pod are made from: volumes, features, devices, and the addresses of the other parts.
type Parts = (Box<[PodVolume]>, Box<[Symbol]>, Option<Box<PodDevices>>, [usize; 3]);

thread_local! {
    static AFFINITY: Shared<(Symbol, PodAffinity, PodAffinity), Arc<constraints::PodAffinity>> =
        const { Shared::new() };
    static SPREAD: Shared<(Vec<SpreadConstraint>, Labels), Arc<[constraints::SpreadConstraint]>> =
        const { Shared::new() };
    static LISTS: Shared<Arc<[Constraint]>, ()> = const { Shared::new() };
    static CONSTRAINTS: Shared<Parts, Arc<PodConstraints>> = const { Shared::new() };
}

/// The features that nodes declare and pods may require, ordered by name.
const RESTART_ALL_CONTAINERS: &str = "RestartAllContainersOnContainerExits";
const USER_NAMESPACES_HOST_NETWORK: &str = "UserNamespacesHostNetworkSupport";

impl Spec {
    /// Does what the API server does to terms of pod affinity when a pod is created.
    pub(super) fn merge_label_keys(&mut self, labels: &Labels) {
        self.affinity.pod_affinity.merge_label_keys(labels);
        self.affinity.pod_anti_affinity.merge_label_keys(labels);
    }

    /// Placement constraints of the pod beyond resources, ports, tolerations and node affinity. Pods with equal
    /// constraints share them.
    pub(super) fn constraints(
        &self,
        status: &Status,
        namespace: &Symbol,
        labels: &Labels,
    ) -> Option<Arc<PodConstraints>> {
        if self.has_no_constraints() && self.has_no_devices(status) {
            return None;
        }
        let devices = self.devices(status);
        let volumes: Box<[_]> = self.volumes.iter().flat_map(|volume| volume.sources()).collect();
        let (affinity, spread) = (self.shared_affinity(namespace), self.shared_spread(labels));
        let list = self.list_of_constraints(&volumes, affinity.invalid.is_some());
        let kinds = list.iter().fold(ConstraintKinds::NONE, |kinds, of| kinds.with(of.kind));
        if kinds.is_empty() && devices.is_none() {
            return None;
        }
        let list: Arc<[Constraint]> = LISTS.with(|table| table.same(list.into()));
        let features = self.features();
        // The table holds what the addresses belong to, so that they name it. Comparing the parts themselves would give
        // a pod the text of a selector that another pod wrote in other words.
        let parts = [list.as_ptr().addr(), spread.as_ptr().addr(), Arc::as_ptr(&affinity).addr()];
        let is = |known: &Parts| {
            *known.0 == *volumes && *known.1 == *features && known.2 == devices && known.3 == parts
        };
        let made = || {
            let key = (volumes.clone(), features.clone(), devices.clone(), parts);
            let (volumes, features, devices) = (volumes.clone(), features.clone(), devices.clone());
            (key, Arc::new(PodConstraints { kinds, list, spread, affinity, volumes, features, devices }))
        };
        Some(CONSTRAINTS.with(|table| table.find((&volumes, &features, &devices, parts), is, made)))
    }

    /// The parsed terms of pod affinity, one copy for pods with equal ones.
    fn shared_affinity(&self, namespace: &Symbol) -> Arc<constraints::PodAffinity> {
        let (affinity, anti) = (&self.affinity.pod_affinity, &self.affinity.pod_anti_affinity);
        let is = |known: &(Symbol, PodAffinity, PodAffinity)| {
            (&known.0, &known.1, &known.2) == (namespace, affinity, anti)
        };
        let made = || {
            let parsed = Arc::new(self.pod_affinity(namespace));
            ((namespace.clone(), affinity.clone(), anti.clone()), parsed)
        };
        AFFINITY.with(|table| table.find((namespace, affinity, anti), is, made))
    }

    /// The parsed topology spread constraints, one copy for pods with equal ones.
    fn shared_spread(&self, labels: &Labels) -> Arc<[constraints::SpreadConstraint]> {
        let list = &self.topology_spread_constraints;
        let keys = list.iter().flat_map(|of| &of.match_label_keys);
        let merged: Labels = keys.filter_map(|key| Some((key.clone(), labels.get(key)?.clone()))).collect();
        let is = |known: &(Vec<SpreadConstraint>, Labels)| (&known.0, &known.1) == (list, &merged);
        let made = || {
            let parsed = list.iter().map(|of| of.parse(&merged)).collect();
            ((list.clone(), merged.clone()), parsed)
        };
        SPREAD.with(|table| table.find((list, &merged), is, made))
    }

    fn features(&self) -> Box<[Symbol]> {
        let restart = self.restarts_all_containers().then_some(RESTART_ALL_CONTAINERS);
        let host_network = self.shares_host_network().then_some(USER_NAMESPACES_HOST_NETWORK);
        restart.into_iter().chain(host_network).map(Symbol::new).collect()
    }

    /// Whether a pod has nothing that [`Spec::constraints`] reads beside devices; most pods have not.
    fn has_no_constraints(&self) -> bool {
        let none = |of: &PodAffinity| *of == PodAffinity::default();
        self.volumes.is_empty()
            && self.topology_spread_constraints.is_empty()
            && none(&self.affinity.pod_affinity)
            && none(&self.affinity.pod_anti_affinity)
            && !self.restarts_all_containers()
            && !self.shares_host_network()
    }

    /// Source: `pkg/scheduler/framework/types.go`, `PodInfo.Update`.
    fn pod_affinity(&self, namespace: &Symbol) -> constraints::PodAffinity {
        let (affinity, anti) = (&self.affinity.pod_affinity, &self.affinity.pod_anti_affinity);
        let mut problems = Vec::new();
        let mut note = |list: &str, error: SelectorError| problems.push(format!("{list}: {error}"));
        let required = affinity.required(namespace).unwrap_or_else(|error| {
            note("requiredAffinityTerms", error);
            Box::default()
        });
        let required_anti = anti.required(namespace).unwrap_or_else(|error| {
            note("requiredAntiAffinityTerms", error);
            Box::default()
        });
        let mut preferred = affinity.preferred(namespace).unwrap_or_else(|error| {
            note("preferredAffinityTerms", error);
            Vec::new()
        });
        let preferred_anti = anti.preferred(namespace).unwrap_or_else(|error| {
            note("preferredAntiAffinityTerms", error);
            Vec::new()
        });
        let negative = |it: WeightedTerm| WeightedTerm { weight: it.weight.wrapping_neg(), ..it };
        preferred.extend(preferred_anti.into_iter().map(negative));
        let invalid = SelectorError::from_messages(problems).map(|error| Box::from(&*error.0));
        constraints::PodAffinity { required, required_anti, preferred: preferred.into(), invalid }
    }

    /// The constraints by kind, each once, with the words in which messages name them.
    fn list_of_constraints(&self, volumes: &[PodVolume], invalid_affinity: bool) -> Vec<Constraint> {
        use ConstraintKinds as K;
        let mut list = Vec::new();
        let mut add = |kind, name: String| {
            let constraint = Constraint { kind, name: Symbol::from(name) };
            if !list.contains(&constraint) {
                list.push(constraint);
            }
        };
        for volume in volumes {
            add(volume.source.kinds(), format!("volume {} ({})", volume.name, volume.source.api_name()));
        }
        if !self.resource_claims.is_empty() {
            add(K::RESOURCE_CLAIMS, String::from("resourceClaims"));
        }
        for constraint in &self.topology_spread_constraints {
            let (kind, when) = match constraint.is_hard() {
                true => (K::HARD_SPREAD, "DoNotSchedule"),
                false => (K::SOFT_SPREAD, "ScheduleAnyway"),
            };
            add(kind, format!("topologySpreadConstraints ({when})"));
        }
        let affinity = [
            ("podAffinity", &self.affinity.pod_affinity),
            ("podAntiAffinity", &self.affinity.pod_anti_affinity),
        ];
        for (name, terms) in affinity {
            if !terms.required_during_scheduling_ignored_during_execution.is_empty() {
                add(K::REQUIRED_POD_AFFINITY, String::from(name));
            }
            if !terms.preferred_during_scheduling_ignored_during_execution.is_empty() {
                add(K::PREFERRED_POD_AFFINITY, format!("preferred {name}"));
            }
        }
        if invalid_affinity {
            // A pod with an invalid selector is refused, also when only a preferred term has it.
            add(K::REQUIRED_POD_AFFINITY, String::from("invalid selector of pod affinity"));
        }
        if self.restarts_all_containers() {
            add(K::NODE_FEATURES, String::from("restartPolicyRules (RestartAllContainers)"));
        }
        if self.shares_host_network() {
            add(K::NODE_FEATURES, String::from("hostUsers: false with hostNetwork"));
        }
        list
    }

    fn restarts_all_containers(&self) -> bool {
        let containers = self.init_containers.iter().chain(&self.containers);
        let mut rules = containers.flat_map(|container| &container.restart_policy_rules);
        rules.any(|rule| rule.action == "RestartAllContainers")
    }

    /// Whether the pod is on the host network with user namespaces of its own.
    fn shares_host_network(&self) -> bool {
        self.host_network && self.host_users == Some(false)
    }
}
