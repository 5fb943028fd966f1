//! The fields of a pod that constrain its placement (volumes, resource claims, topology spread, pod
//! affinity) as the API writes them, and how they become [`PodConstraints`].

use super::super::constraints::{Constraint, ConstraintKinds, PodAffinityTerm, PodConstraints};
use super::super::labels::{LabelSelector, Labels};
use super::super::symbol::Symbol;
use super::pod::Spec;
use super::read::or_default;
use super::selectors;
use serde::Deserialize;
use serde::de::IgnoredAny;
use std::sync::Arc;

/// `v1.Volume`.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Volume {
    /// `name`; not interned, most names are of one pod alone.
    #[serde(deserialize_with = "or_default")]
    pub name: Box<str>,
    /// `image`.
    pub image: Option<ImageVolume>,
    /// `persistentVolumeClaim`.
    #[serde(deserialize_with = "is_given")]
    pub persistent_volume_claim: bool,
    /// `ephemeral`.
    #[serde(deserialize_with = "is_given")]
    pub ephemeral: bool,
    /// `csi`.
    #[serde(deserialize_with = "is_given")]
    pub csi: bool,
    /// `gcePersistentDisk`.
    #[serde(deserialize_with = "is_given")]
    pub gce_persistent_disk: bool,
    /// `awsElasticBlockStore`.
    #[serde(deserialize_with = "is_given")]
    pub aws_elastic_block_store: bool,
    /// `iscsi`.
    #[serde(deserialize_with = "is_given")]
    pub iscsi: bool,
    /// `rbd`.
    #[serde(deserialize_with = "is_given")]
    pub rbd: bool,
    /// `azureDisk`.
    #[serde(deserialize_with = "is_given")]
    pub azure_disk: bool,
    /// `azureFile`.
    #[serde(deserialize_with = "is_given")]
    pub azure_file: bool,
    /// `cinder`.
    #[serde(deserialize_with = "is_given")]
    pub cinder: bool,
    /// `portworxVolume`.
    #[serde(deserialize_with = "is_given")]
    pub portworx_volume: bool,
    /// `vsphereVolume`.
    #[serde(deserialize_with = "is_given")]
    pub vsphere_volume: bool,
}

/// `v1.ImageVolumeSource`.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ImageVolume {
    /// `reference`.
    #[serde(deserialize_with = "or_default")]
    pub reference: Symbol,
}

/// `v1.TopologySpreadConstraint`.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct SpreadConstraint {
    /// `whenUnsatisfiable`.
    #[serde(deserialize_with = "or_default")]
    pub when_unsatisfiable: Symbol,
}

/// `v1.PodAffinity` and `v1.PodAntiAffinity`.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct PodAffinity {
    /// `requiredDuringSchedulingIgnoredDuringExecution`.
    #[serde(deserialize_with = "or_default")]
    pub required_during_scheduling_ignored_during_execution: Vec<AffinityTerm>,
    /// `preferredDuringSchedulingIgnoredDuringExecution`; only how many.
    #[serde(deserialize_with = "or_default")]
    pub preferred_during_scheduling_ignored_during_execution: Vec<IgnoredTerm>,
}

/// A term of which only the existence matters.
#[derive(Clone, Copy, PartialEq, Debug, Default, Deserialize)]
#[serde(default)]
pub struct IgnoredTerm {}

/// `v1.PodAffinityTerm`.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
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

/// Whether a field is there and not null, whatever it holds.
fn is_given<'de, D: serde::Deserializer<'de>>(from: D) -> Result<bool, D::Error> {
    Ok(Option::<IgnoredAny>::deserialize(from)?.is_some())
}

impl Volume {
    /// The API's name of each source that constrains the placement, with its kind.
    fn sources(&self) -> impl Iterator<Item = (&'static str, ConstraintKinds)> {
        use ConstraintKinds as K;
        let exclusive = K::EXCLUSIVE_DISKS;
        let attached = K::ATTACHED_VOLUMES;
        [
            (self.persistent_volume_claim, "persistentVolumeClaim", K::VOLUME_CLAIMS),
            (self.ephemeral, "ephemeral", K::EPHEMERAL_VOLUMES),
            (self.csi, "csi", attached),
            (self.gce_persistent_disk, "gcePersistentDisk", exclusive.with(attached)),
            (self.aws_elastic_block_store, "awsElasticBlockStore", exclusive.with(attached)),
            (self.iscsi, "iscsi", exclusive),
            (self.rbd, "rbd", exclusive),
            (self.azure_disk, "azureDisk", attached),
            (self.azure_file, "azureFile", attached),
            (self.cinder, "cinder", attached),
            (self.portworx_volume, "portworxVolume", attached),
            (self.vsphere_volume, "vsphereVolume", attached),
        ]
        .into_iter()
        .filter(|(given, ..)| *given)
        .map(|(_, name, kind)| (name, kind))
    }
}

impl AffinityTerm {
    /// The term, parsed. A selector that cannot be parsed matches no pod.
    fn parse(&self, namespace: &Symbol, labels: &Labels) -> PodAffinityTerm {
        let parse = |selector: &selectors::LabelSelector| LabelSelector::parse(selector).ok();
        let mut namespaces = self.namespaces.clone();
        if namespaces.is_empty() && self.namespace_selector.is_none() {
            namespaces.push(namespace.clone());
        }
        namespaces.sort();
        namespaces.dedup();
        let selector = self.label_selector.clone().map(|mut selector| {
            let keys = self.match_label_keys.iter().map(|key| (key, "In"));
            for (key, operator) in keys.chain(self.mismatch_label_keys.iter().map(|key| (key, "NotIn"))) {
                let Some(value) = labels.get(key) else { continue };
                selector.match_expressions.push(selectors::Expression {
                    key: key.clone(),
                    operator: Symbol::new(operator),
                    values: Some(vec![value.clone()]),
                });
            }
            selector
        });
        PodAffinityTerm {
            topology_key: self.topology_key.clone(),
            namespaces: namespaces.into(),
            namespace_selector: self.namespace_selector.as_ref().and_then(parse),
            selector: selector.as_ref().and_then(parse),
        }
    }
}

impl Spec {
    /// Placement constraints of the pod beyond resources, ports, tolerations and node affinity.
    pub(super) fn constraints(&self, namespace: &Symbol, labels: &Labels) -> Option<Arc<PodConstraints>> {
        use ConstraintKinds as K;
        let mut list = Vec::new();
        let mut add = |kind, name: String| list.push(Constraint { kind, name: Symbol::from(name) });
        for volume in &self.volumes {
            for (source, kind) in volume.sources() {
                add(kind, format!("volume {} ({source})", volume.name));
            }
        }
        if !self.resource_claims.is_empty() {
            add(K::RESOURCE_CLAIMS, String::from("resourceClaims"));
        }
        for constraint in &self.topology_spread_constraints {
            // The API has two values; upstream treats everything but `ScheduleAnyway` as hard.
            let soft = constraint.when_unsatisfiable == "ScheduleAnyway";
            let (kind, when) =
                if soft { (K::SOFT_SPREAD, "ScheduleAnyway") } else { (K::HARD_SPREAD, "DoNotSchedule") };
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
        if self.restarts_all_containers() {
            add(K::NODE_FEATURES, String::from("restartPolicyRules (RestartAllContainers)"));
        }
        if self.host_network && self.host_users == Some(false) {
            add(K::NODE_FEATURES, String::from("hostUsers: false with hostNetwork"));
        }
        let anti_affinity = &self.affinity.pod_anti_affinity;
        let terms = anti_affinity.required_during_scheduling_ignored_during_execution.iter();
        PodConstraints::of(list, terms.map(|term| Arc::new(term.parse(namespace, labels))).collect())
    }

    fn restarts_all_containers(&self) -> bool {
        let containers = self.init_containers.iter().chain(&self.containers);
        let mut rules = containers.flat_map(|container| &container.restart_policy_rules);
        rules.any(|rule| rule.action == "RestartAllContainers")
    }
}
