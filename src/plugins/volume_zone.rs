//! Refuses nodes in another zone or region than a volume of the pod, by the labels of the volume. Volumes are those of
//! bound claims; a claim that waits for its first consumer has none yet.
//!
//! Source: `pkg/scheduler/framework/plugins/volumezone/volume_zone.go`.

use super::volumes::migration::{BETA_REGION, BETA_ZONE, REGION, ZONE};
use super::volumes::rows::LabelRows;
use super::volumes::{claim_not_found, volume_not_found};
use bayplan_framework::{
    ActionType, ArgsError, ClusterEvent, EnqueueExtensions, EventRegistration, EventResource, Features,
    Filter, Handle, Need, Plugin, PreFilter, PreFilterOutcome, QueueingHint, Reads, StateSlot, Status, Tree,
    Verdicts, Violation,
};
use bayplan_model::objects::storage_class::WAIT_FOR_FIRST_CONSUMER;
use bayplan_model::{
    ConstraintKinds, DomainColumn, Kind, Kinds, Labels, NodeInfo, NodeSet, PersistentVolume,
    PersistentVolumeClaim, PodInfo, PodPrecondition, Snapshot, StorageClass, Symbol, VolumeSource, Want,
    rows_where,
};
use smallvec::SmallVec;
use std::sync::Arc;

const REASON: &str = "node(s) had no available volume zone";

/// The labels of volumes and nodes that are compared. A node that has none of them fits every volume.
const KEYS: [&str; 4] = [BETA_ZONE, BETA_REGION, ZONE, REGION];

/// For each key the position of the key that a node may have instead: a node without the beta label may have the newer
/// one.
const FALLBACK: [usize; 4] = [2, 3, 2, 3];

pub(super) fn new(args: &Tree, _: Features) -> Result<Arc<dyn Plugin>, Vec<ArgsError>> {
    super::without_args(args, VolumeZone { keys: KEYS.map(Symbol::new) })
}

struct VolumeZone {
    /// [`KEYS`].
    keys: [Symbol; 4],
}

/// A label of a volume: the zones or regions where the volume is.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Topology {
    volume: Symbol,
    /// The position of the key.
    key: usize,
    /// Ordered, without duplicates.
    values: Box<[Symbol]>,
}

/// The names of the claims that the pod's volumes name. Claims of ephemeral volumes are not looked at.
fn claims(pod: &PodInfo) -> impl Iterator<Item = &Symbol> {
    let volumes = pod.constraints.iter().flat_map(|constraints| constraints.volumes.iter());
    volumes.filter_map(|volume| match &volume.source {
        VolumeSource::Claim { name, .. } => Some(name),
        _ => None,
    })
}

impl VolumeZone {
    /// The labels of a volume that are compared. A label with an empty part is left out.
    ///
    /// Source: `component-helpers/storage/volume/helpers.go`, `LabelZonesToSet`.
    fn topologies(&self, volume: &PersistentVolume) -> impl Iterator<Item = Topology> {
        self.keys.iter().enumerate().filter_map(|(key, name)| {
            let label = volume.metadata.labels.get(name)?;
            let mut values: Vec<Symbol> = label.split("__").map(|zone| Symbol::new(zone.trim())).collect();
            if values.iter().any(|zone| zone.is_empty()) {
                return None;
            }
            values.sort();
            values.dedup();
            Some(Topology { volume: volume.metadata.name.clone(), key, values: values.into() })
        })
    }

    /// The labels of all volumes of a pod, or why the pod cannot be placed anywhere.
    fn of_pod(&self, snapshot: &Snapshot, pod: &PodInfo) -> Result<Vec<Topology>, Status> {
        let everywhere = Symbol::default();
        let refuse = |text: &str| Err(Status::unresolvable(text));
        let mut all = Vec::new();
        for name in claims(pod) {
            if name.is_empty() {
                return refuse("PersistentVolumeClaim had no name");
            }
            let Some(claim) = snapshot.object::<PersistentVolumeClaim>(&pod.namespace, name) else {
                return refuse(&claim_not_found(name));
            };
            if !claim.volume.is_empty() {
                let Some(volume) = snapshot.object::<PersistentVolume>(&everywhere, &claim.volume) else {
                    return refuse(&volume_not_found(&claim.volume));
                };
                all.extend(self.topologies(volume));
                continue;
            }
            let name = claim.class.as_str();
            if name.is_empty() {
                return refuse("PersistentVolumeClaim had no pv name and storageClass name");
            }
            let Some(class) = snapshot.object::<StorageClass>(&everywhere, &claim.class) else {
                return refuse(&format!("storageclass.storage.k8s.io {name:?} not found"));
            };
            match &class.mode {
                None => return refuse(&format!("VolumeBindingMode not set for StorageClass {name:?}")),
                Some(mode) if *mode == *WAIT_FOR_FIRST_CONSUMER => {}
                Some(_) => return refuse("PersistentVolume had no name"),
            }
        }
        Ok(all)
    }

    /// Calls `with` with the labels of the pod's volumes, as PreFilter found them.
    fn with_found<T>(&self, h: &Handle, with: impl FnOnce(&[Topology]) -> T) -> Result<T, Status> {
        match h.state::<Vec<Topology>>() {
            Some(all) => Ok(with(all)),
            None => self.of_pod(h.snapshot, h.pod).map(|all| with(&all)),
        }
    }

    /// The value that a node has for a label of a volume.
    fn value_of<'n>(&self, labels: &'n Labels, key: usize) -> Option<&'n Symbol> {
        let get = |key: usize| labels.get(self.keys.get(key)?);
        get(key).or_else(|| get(*FALLBACK.get(key)?))
    }

    /// The labels of volumes that a node with these labels contradicts.
    fn conflicts<'t>(&self, labels: &Labels, all: &'t [Topology]) -> impl Iterator<Item = &'t Topology> {
        let compared = self.keys.iter().any(|key| labels.get(key).is_some());
        let conflict = move |topology: &&Topology| {
            let value = self.value_of(labels, topology.key);
            compared && value.is_none_or(|value| !topology.values.contains(value))
        };
        all.iter().filter(conflict)
    }
}

impl Plugin for VolumeZone {
    fn name(&self) -> &str {
        "VolumeZone"
    }
    fn reads(&self) -> Reads {
        Reads { any_label: true, ..Reads::of(Kinds::LABELS.with(Kinds::VOLUMES)) }
    }
    fn wants(&self, pod: &PodInfo, _: &Snapshot, out: &mut Vec<Want>) {
        if claims(pod).next().is_some() {
            out.extend(self.keys.iter().cloned().map(Want::Domain));
        }
    }
    fn kinds(&self) -> &'static [Need] {
        &[
            Need { kind: Kind::PersistentVolumeClaim, optional: false },
            Need { kind: Kind::PersistentVolume, optional: false },
            Need { kind: Kind::StorageClass, optional: false },
        ]
    }
    fn precondition(&self) -> Option<PodPrecondition> {
        Some(PodPrecondition::Constraints(ConstraintKinds::VOLUME_CLAIMS))
    }
    bayplan_framework::serves!(PreFilter, Filter, EnqueueExtensions);
}

impl PreFilter for VolumeZone {
    fn pre_filter(&self, h: &Handle, state: &mut StateSlot) -> Result<PreFilterOutcome, Status> {
        let all = self.of_pod(h.snapshot, h.pod)?;
        if all.is_empty() {
            return Ok(PreFilterOutcome::Skip);
        }
        state.put(all);
        Ok(PreFilterOutcome::AllNodes)
    }
}

impl Filter for VolumeZone {
    fn filter(&self, h: &Handle, node: NodeInfo) -> Result<(), Status> {
        match self.with_found(h, |all| self.conflicts(&node.node().labels, all).next().is_some())? {
            true => Err(Status::unresolvable(REASON)),
            false => Ok(()),
        }
    }

    fn filter_range(&self, h: &Handle, nodes: &NodeSet, out: &mut Verdicts) {
        let Some(all) = h.state::<Vec<Topology>>() else {
            super::filter_each(self, h, nodes, out);
            return;
        };
        let columns = h.snapshot.columns();
        let labels = self.keys.each_ref().map(|key| columns.domain(key));
        let [Some(beta_zone), Some(beta_region), Some(zone), Some(region)] = labels else {
            super::filter_each(self, h, nodes, out);
            return;
        };
        let labels = [beta_zone, beta_region, zone, region];
        let within =
            |key: usize, topology: &Topology| LabelRows::one_of(labels[key].clone(), &topology.values);
        let fitting = |topology: &Topology| {
            let (key, other) = (topology.key, FALLBACK[topology.key]);
            (key, within(key, topology), (other != key).then(|| within(other, topology)))
        };
        let topologies: SmallVec<[_; 4]> = all.iter().map(fitting).collect();
        let status = out.status(Status::unresolvable(REASON));
        for (word, rows) in nodes.words().iter().enumerate().filter(|(_, rows)| **rows != 0) {
            let has = labels.map(|column| match column.is_empty() {
                true => 0,
                false => rows_where(column.of_row(), word, |domain| *domain != DomainColumn::NONE),
            });
            let mut fits = !0;
            for (key, own, other) in &topologies {
                let other = other.as_ref().map_or(0, |other| !has[*key] & other.word(word));
                fits &= own.word(word) | other;
            }
            let compared = has.iter().fold(0, |all, rows| all | rows);
            out.refuse_rows(word, rows & compared & !fits, status);
        }
    }

    fn violations(&self, h: &Handle, node: NodeInfo, out: &mut Vec<Violation>) {
        let labels = &node.node().labels;
        let violation = |topology: &Topology| {
            let values: Vec<&str> = topology.values.iter().map(Symbol::as_str).collect();
            let key = self.keys.get(topology.key).map_or("", |key| key.as_str());
            let have = self.value_of(labels, topology.key).map(|value| value.to_string());
            Violation {
                reason: REASON.to_owned(),
                what: format!("label {key} of volume {}", topology.volume),
                need: if values.len() == 1 {
                    values.concat()
                } else {
                    format!("one of {}", values.join(", "))
                },
                have: have.unwrap_or_else(|| String::from("absent")),
                ..Violation::default()
            }
        };
        if let Err(status) = self.with_found(h, |all| out.extend(self.conflicts(labels, all).map(violation)))
        {
            out.push(Violation { reason: status.message(), ..Violation::default() });
        }
    }
}

impl EnqueueExtensions for VolumeZone {
    fn events(&self) -> Vec<EventRegistration> {
        let change = ActionType::ADD.with(ActionType::UPDATE);
        vec![
            super::events(EventResource::StorageClass, ActionType::ADD),
            super::nodes(ActionType::ADD.with(ActionType::UPDATE_NODE_LABEL)),
            super::events(EventResource::PersistentVolumeClaim, change),
            super::events(EventResource::PersistentVolume, change),
        ]
    }

    fn hint(&self, h: &Handle, event: &ClusterEvent) -> QueueingHint {
        let helps = match event.resource {
            EventResource::StorageClass => {
                super::object_change::<StorageClass>(event).1.is_none_or(|class| {
                    class.mode.as_ref().is_some_and(|mode| *mode == *WAIT_FOR_FIRST_CONSUMER)
                })
            }
            EventResource::PersistentVolumeClaim => {
                super::object_change::<PersistentVolumeClaim>(event).1.is_none_or(|claim| {
                    let metadata = &claim.metadata;
                    metadata.namespace == h.pod.namespace && claims(h.pod).any(|name| *name == metadata.name)
                })
            }
            EventResource::PersistentVolume => match super::object_change::<PersistentVolume>(event) {
                (Some(old), Some(new)) => !self.topologies(old).eq(self.topologies(new)),
                _ => true,
            },
            _ => true,
        };
        if helps { QueueingHint::Queue } else { QueueingHint::Skip }
    }
}

#[cfg(test)]
mod tests {
    use super::super::trial::{Trial, map, object};
    use bayplan_model::Object;
    use bayplan_model::testing::{node, pod};
    use serde_json::{Value, json};

    const TEXT: &str = "UnschedulableAndUnresolvable: node(s) had no available volume zone";

    fn volume(labels: Value) -> Object {
        object(json!({
            "apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "v", "labels": labels},
            "spec": {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"]},
        }))
    }

    fn claim(spec: Value) -> Object {
        let metadata = json!({"name": "data", "namespace": "default"});
        object(
            json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata, "spec": spec}),
        )
    }

    fn user() -> std::sync::Arc<bayplan_model::PodInfo> {
        let volume = json!([{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]);
        pod("p").set("spec.volumes", volume).build()
    }

    /// Worked case 10: zones in a set, and a node with the beta label only.
    #[test]
    fn a_node_must_be_in_a_zone_of_the_volume() {
        let nodes = || {
            vec![
                node("a").zone("a").object(),
                node("c").zone("c").object(),
                node("beta").label("failure-domain.beta.kubernetes.io/zone", "a").object(),
                node("bare").object(),
                node("region").region("r").object(),
            ]
        };
        let bound = || claim(json!({"volumeName": "v"}));
        let refused = |labels: Value| {
            let objects = nodes().into_iter().chain([bound(), volume(labels)]).collect();
            Trial::of("VolumeZone", objects).refused(&user())
        };
        let of_set = refused(json!({"topology.kubernetes.io/zone": "a__b"}));
        assert_eq!(of_set, map([("c", TEXT), ("beta", TEXT), ("region", TEXT)]));
        let beta = refused(json!({"failure-domain.beta.kubernetes.io/zone": "a"}));
        assert_eq!(beta, map([("c", TEXT), ("region", TEXT)]));
        // A label with an empty part is not looked at, and a volume without labels fits everywhere.
        assert_eq!(refused(json!({"topology.kubernetes.io/zone": "a__"})), map::<&str, _>([]));
        assert_eq!(refused(json!({"zone": "a"})), map::<&str, _>([]));
    }

    #[test]
    fn a_claim_without_volume_is_refused_unless_it_waits_for_its_first_consumer() {
        let class = |mode: &str| {
            object(json!({
                "apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": "fast"},
                "provisioner": "p", "volumeBindingMode": mode,
            }))
        };
        let refused = |more: Vec<Object>| {
            let objects = std::iter::once(node("a").zone("a").object()).chain(more).collect();
            Trial::of("VolumeZone", objects).refused(&user())
        };
        let fast = || claim(json!({"storageClassName": "fast"}));
        let all = |text: &'static str| map([("*", format!("UnschedulableAndUnresolvable: {text}"))]);
        assert_eq!(refused(vec![]), all("persistentvolumeclaim \"data\" not found"));
        assert_eq!(refused(vec![claim(json!({"volumeName": "v"}))]), all("persistentvolume \"v\" not found"));
        assert_eq!(refused(vec![fast()]), all("storageclass.storage.k8s.io \"fast\" not found"));
        assert_eq!(refused(vec![fast(), class("Immediate")]), all("PersistentVolume had no name"));
        assert_eq!(refused(vec![fast(), class("WaitForFirstConsumer")]), map::<&str, _>([]));
        let none = claim(json!({}));
        assert_eq!(refused(vec![none]), all("PersistentVolumeClaim had no pv name and storageClass name"));
    }
}
