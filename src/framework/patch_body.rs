//! The bodies of patches: as data, as JSON for the API server, and as a change of the parsed object for the API server
//! in memory. A new kind of patch is a variant of [`PatchBody`] with an arm in each of its functions.

use super::calls::ConditionPatch;
use super::claim_patch::ClaimPatch;
use super::intent::Intent;
use bayplan_model::objects::persistent_volume::BOUND_BY_CONTROLLER;
use bayplan_model::objects::persistent_volume_claim::SELECTED_NODE;
use bayplan_model::{
    AFTER_BIND, ClaimReference, ExtendedClaim, MetadataChange, Node, Object, ObjectKey, PersistentVolume,
    PersistentVolumeClaim, PodInfo, Symbol, downcast, looked_up,
};
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// What a patch changes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum PatchBody {
    /// Part `Status` of a pod: the condition `DisruptionTarget` of a victim of preemption.
    ///
    /// Source: `pkg/scheduler/framework/preemption/executor.go`, `PreemptPod`.
    DisruptionTarget {
        /// The message of the condition.
        message: String,
        /// `observedGeneration` of the condition: the `metadata.generation` of the victim; 0 when unknown.
        generation: i64,
    },
    /// Part `Object` of a PersistentVolume: the claim that takes it.
    ///
    /// Source: `component-helpers/storage/volume/pv_helpers.go`, `GetBindVolumeToClaim`.
    ClaimRef {
        /// The claim, with its UID.
        claim: ObjectKey,
        /// The version of the claim; empty when unknown.
        version: Box<str>,
        /// Whether the volume gets the annotation that a controller bound it.
        by_controller: bool,
    },
    /// Part `Object` of a PersistentVolumeClaim: the annotation of the node for which a volume is provisioned.
    ///
    /// Source: `pkg/scheduler/framework/plugins/volumebinding/binder.go`, `AssumePodVolumes`.
    SelectedNode {
        /// The name of the node.
        node: Symbol,
    },
    /// Part `Status` of a pod: the annotation goes that says what is left to do for it. The API server lets writers of a
    /// pod's status change its annotations, so that the scheduler needs no right to write pods.
    MarkGone {
        /// The key of the annotation.
        mark: Symbol,
        /// Whether all is written: a condition of the same name says so, which writers of pods cannot make. By it a later
        /// leader knows a copy of the annotation.
        written: bool,
    },
    /// Either part of a ResourceClaim.
    Claim(ClaimPatch),
    /// Part `Status` of a pod: the claim that has the devices of its extended resources.
    ///
    /// Source: `pkg/scheduler/framework/plugins/dynamicresources/extendeddynamicresources.go`,
    /// `patchPodExtendedResourceClaimStatus`.
    ExtendedClaim {
        /// The name of the claim.
        claim: Symbol,
        /// Which request of the claim serves which resource of which container.
        mappings: Arc<[RequestMapping]>,
    },
    /// Part `Object` of any object: annotations and labels that a policy sets or removes. It is a JSON merge patch.
    Metadata(MetadataChange),
    /// Any part of any object: all that a field manager wants of it, by server-side apply. It is forced: what another manager
    /// wants of these fields gives way.
    Apply(Intent),
}

/// The resource of a container that a request of a claim serves.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RequestMapping {
    /// The container.
    pub container: Symbol,
    /// The extended resource.
    pub resource: Symbol,
    /// The request of the claim.
    pub request: Symbol,
}

/// The reason of the condition `DisruptionTarget` of a victim of preemption.
pub(crate) const PREEMPTION_BY_SCHEDULER: &str = "PreemptionByScheduler";

impl PatchBody {
    /// Whether it is a JSON merge patch and no strategic one, which custom kinds do not have.
    pub fn is_merge_patch(&self) -> bool {
        matches!(self, Self::Metadata(_) | Self::Claim(ClaimPatch::Protected(_)))
    }

    /// Whether a policy wants it. Such a patch is made with the rights of the policies' account, never with those that
    /// the scheduler has for its own work.
    pub fn is_of_policy(&self) -> bool {
        match self {
            Self::Metadata(_) | Self::Apply(_) => true,
            Self::DisruptionTarget { .. }
            | Self::ClaimRef { .. }
            | Self::SelectedNode { .. }
            | Self::Claim(_)
            | Self::ExtendedClaim { .. }
            | Self::MarkGone { .. } => false,
        }
    }

    /// The field manager of server-side apply.
    pub fn manager(&self) -> Option<&Symbol> {
        match self {
            Self::Apply(intent) => Some(&intent.manager),
            _ => None,
        }
    }

    /// The patch of an object. `version`: it is refused with 409 unless the object is at this version.
    /// `now`: the present time as `metav1.Time`, for fields that hold the time of the write.
    pub fn json(&self, of: &ObjectKey, version: Option<&str>, now: &str) -> Value {
        if let Self::Apply(intent) = self {
            return intent.json(of);
        }
        let mut patch = json!({"metadata": preconditions(of, version.unwrap_or_default())});
        match self {
            Self::DisruptionTarget { message, generation } => {
                let mut condition = json!({
                    "type": "DisruptionTarget", "status": "True", "reason": PREEMPTION_BY_SCHEDULER,
                    "message": message, "lastTransitionTime": now,
                });
                if *generation != 0 {
                    condition["observedGeneration"] = json!(generation);
                }
                patch["status"] = json!({"conditions": [condition]});
            }
            Self::ClaimRef { claim, version, by_controller } => {
                let mut reference = json!({
                    "kind": "PersistentVolumeClaim", "apiVersion": "v1", "namespace": claim.namespace.as_str(),
                    "name": claim.name.as_str(), "uid": claim.uid.as_str(),
                });
                if !version.is_empty() {
                    reference["resourceVersion"] = json!(version);
                }
                patch["spec"] = json!({"claimRef": reference});
                if *by_controller {
                    patch["metadata"]["annotations"] = json!({BOUND_BY_CONTROLLER: "yes"});
                }
            }
            Self::SelectedNode { node } => {
                patch["metadata"]["annotations"] = json!({SELECTED_NODE: node.as_str()});
            }
            Self::MarkGone { mark, written } => {
                patch["metadata"]["annotations"] = json!({mark.as_str(): Value::Null});
                if *written {
                    let condition = json!({
                        "type": mark.as_str(), "status": "True", "reason": "Written", "lastTransitionTime": now,
                    });
                    patch["status"] = json!({"conditions": [condition]});
                }
            }
            Self::Claim(change) => change.write(&mut patch),
            Self::ExtendedClaim { claim, mappings } => {
                let mapping = |of: &RequestMapping| {
                    json!({
                        "containerName": of.container.as_str(), "resourceName": of.resource.as_str(),
                        "requestName": of.request.as_str(),
                    })
                };
                let mappings: Vec<Value> = mappings.iter().map(mapping).collect();
                let status = json!({"requestMappings": mappings, "resourceClaimName": claim.as_str()});
                patch["status"] = json!({"extendedResourceClaimStatus": status});
            }
            Self::Metadata(change) => {
                let annotations = change.annotations.iter();
                let annotations: Map<String, Value> =
                    annotations.map(|(key, value)| (key.to_string(), json!(value.as_deref()))).collect();
                let labels = change.labels.iter();
                let labels: Map<String, Value> =
                    labels.map(|(key, value)| (key.to_string(), json!(value.as_deref()))).collect();
                for (part, keys) in [("annotations", annotations), ("labels", labels)] {
                    if !keys.is_empty() {
                        patch["metadata"][part] = Value::Object(keys);
                    }
                }
            }
            Self::Apply(_) => {}
        }
        patch
    }

    /// The object after the patch; `None` when the patch does not fit objects of this kind.
    pub fn applied(&self, to: &Object) -> Option<Object> {
        match (self, to) {
            (Self::DisruptionTarget { .. }, Object::Pod(pod)) => {
                Some(Object::Pod(Arc::new(PodInfo { disruption_target: true, ..(**pod).clone() })))
            }
            (Self::ClaimRef { claim, by_controller, .. }, Object::Other(object)) => {
                let mut volume = downcast::<PersistentVolume>(object.as_ref())?.clone();
                let (namespace, name, uid) = (claim.namespace.clone(), claim.name.clone(), claim.uid.clone());
                volume.claim = Some(ClaimReference { namespace, name, uid });
                volume.bound_by_controller |= by_controller;
                Some(Object::Other(Arc::new(volume)))
            }
            (Self::SelectedNode { node }, Object::Other(object)) => {
                let mut claim = downcast::<PersistentVolumeClaim>(object.as_ref())?.clone();
                claim.selected_node = Some(node.clone());
                claim.annotated = true;
                Some(Object::Other(Arc::new(claim)))
            }
            (Self::MarkGone { mark, written }, Object::Pod(pod)) => {
                let change = MetadataChange {
                    annotations: [(mark.clone(), None)].into(),
                    ..MetadataChange::default()
                };
                let plugin = mark.strip_prefix(AFTER_BIND).filter(|_| *written).map(Symbol::new);
                let new = plugin.filter(|plugin| !pod.written_after_bind.contains(plugin));
                Some(Object::Pod(Arc::new(PodInfo {
                    annotations: change.annotations_of(&pod.annotations),
                    written_after_bind: pod.written_after_bind.iter().cloned().chain(new).collect(),
                    ..(**pod).clone()
                })))
            }
            (Self::Claim(change), to) => change.applied(to),
            (Self::ExtendedClaim { claim, mappings }, Object::Pod(pod)) => {
                let mapping =
                    |of: &RequestMapping| (of.container.clone(), of.resource.clone(), of.request.clone());
                let made =
                    ExtendedClaim { name: claim.clone(), mappings: mappings.iter().map(mapping).collect() };
                let mut constraints = pod.constraints.as_deref().cloned()?;
                constraints.devices.as_mut()?.extended_claim = Some(Box::new(made));
                let constraints = Some(Arc::new(constraints));
                Some(Object::Pod(Arc::new(PodInfo { constraints, ..(**pod).clone() })))
            }
            (Self::Metadata(change), to) => changed(change, to),
            (Self::Apply(intent), to) => merged(&Value::Object(intent.fields.clone()), to),
            _ => None,
        }
    }
}

/// An object with other annotations and labels.
fn changed(change: &MetadataChange, object: &Object) -> Option<Object> {
    match object {
        Object::Pod(pod) => Some(Object::Pod(Arc::new(PodInfo {
            annotations: change.annotations_of(&pod.annotations),
            labels: change.labels_of(&pod.labels),
            ..(**pod).clone()
        }))),
        Object::Node(node) => Some(Object::Node(Arc::new(Node {
            annotations: change.annotations_of(&node.annotations),
            labels: change.labels_of(&node.labels),
            ..(**node).clone()
        }))),
        Object::Namespace(_) => None,
        Object::Other(object) => {
            let object = looked_up(object.as_ref())?;
            Some(Object::Other(Arc::new(object.changed(change))))
        }
    }
}

/// An object after a JSON merge patch; `None` when the patch does not fit objects of this kind.
pub fn merged(patch: &Value, object: &Object) -> Option<Object> {
    match object {
        Object::Node(node) => Some(Object::Node(Arc::new(node.merged(patch)?))),
        Object::Pod(_) => {
            let more = patch.as_object()?.keys().any(|field| field != "metadata");
            MetadataChange::of_patch(patch).filter(|_| !more).and_then(|change| changed(&change, object))
        }
        Object::Namespace(_) => None,
        Object::Other(object) => {
            let object = looked_up(object.as_ref())?.merged(patch)?;
            Some(Object::Other(Arc::new(object)))
        }
    }
}

/// The metadata of a patch: the UID, and the version that the object must have; empty: whatever its version.
fn preconditions(of: &ObjectKey, version: &str) -> Value {
    let mut metadata = Map::new();
    if !of.uid.is_empty() {
        metadata.insert("uid".into(), json!(of.uid.as_str()));
    }
    if !version.is_empty() {
        metadata.insert("resourceVersion".into(), json!(version));
    }
    Value::Object(metadata)
}

impl ConditionPatch {
    /// The strategic merge patch of a pod's status: the condition `PodScheduled=False` or its removal, the nominated
    /// node, or both. `now`: the present time as `metav1.Time` if the status of the condition changes; a condition that
    /// keeps its status keeps its transition time.
    ///
    /// Source: `pkg/api/v1/pod/util.go`, `UpdatePodCondition`.
    pub fn json(&self, pod: &ObjectKey, now: Option<&str>) -> Value {
        let mut status = Map::new();
        if self.removes_condition() {
            status.insert("conditions".into(), json!([{"type": "PodScheduled", "$patch": "delete"}]));
        } else if let Some(reason) = self.reason {
            let mut condition = json!({
                "type": "PodScheduled", "status": "False", "reason": reason, "message": self.message,
            });
            if self.generation != 0 {
                condition["observedGeneration"] = json!(self.generation);
            }
            if let Some(at) = now {
                condition["lastTransitionTime"] = json!(at);
            }
            status.insert("conditions".into(), json!([condition]));
        }
        if let Some(node) = &self.nominated_node {
            let value = if node.is_empty() { Value::Null } else { json!(node.as_str()) };
            status.insert("nominatedNodeName".into(), value);
        }
        json!({"metadata": preconditions(pod, &self.resource_version), "status": status})
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bayplan_model::Kind;

    fn pod() -> ObjectKey {
        ObjectKey { kind: Kind::Pod, namespace: "shop".into(), name: "web-1".into(), uid: "u-1".into() }
    }

    #[test]
    fn a_victim_gets_the_condition_and_keeps_its_other_conditions() {
        let body = PatchBody::DisruptionTarget { message: "s: preempting".into(), generation: 4 };
        assert_eq!(
            body.json(&pod(), None, "2026-01-02T03:04:05Z"),
            json!({"metadata": {"uid": "u-1"}, "status": {"conditions": [
                {"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler",
                 "message": "s: preempting", "lastTransitionTime": "2026-01-02T03:04:05Z",
                 "observedGeneration": 4}]}})
        );
        assert_eq!(body.json(&pod(), Some("7"), "")["metadata"]["resourceVersion"], "7");
    }

    #[test]
    fn a_mark_goes_with_a_condition_that_says_what_is_written() {
        let mark = Symbol::new("after-bind.bayplan.dev/sticky");
        let json = |written| {
            PatchBody::MarkGone { mark: mark.clone(), written }.json(&pod(), None, "2026-01-02T03:04:05Z")
        };
        let metadata = json!({"uid": "u-1", "annotations": {"after-bind.bayplan.dev/sticky": null}});
        assert_eq!(json(false), json!({"metadata": metadata}));
        let condition = json!({
            "type": "after-bind.bayplan.dev/sticky", "status": "True", "reason": "Written",
            "lastTransitionTime": "2026-01-02T03:04:05Z",
        });
        assert_eq!(json(true), json!({"metadata": metadata, "status": {"conditions": [condition]}}));
        let body = PatchBody::MarkGone { mark, written: true };
        assert!(
            !body.is_merge_patch() && !body.is_of_policy(),
            "a merge patch would replace the other conditions"
        );
    }

    #[test]
    fn a_status_patch_changes_only_what_it_names() {
        let patch = ConditionPatch {
            reason: Some("Unschedulable"),
            message: "0/1 nodes".into(),
            generation: 3,
            nominated_node: None,
            resource_version: "7".into(),
        };
        assert_eq!(
            patch.json(&pod(), None),
            json!({"metadata": {"uid": "u-1", "resourceVersion": "7"}, "status": {"conditions": [
                {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/1 nodes",
                 "observedGeneration": 3}]}})
        );
        let patch = ConditionPatch {
            reason: None,
            message: String::new(),
            generation: 0,
            nominated_node: Some("".into()),
            resource_version: "".into(),
        };
        assert_eq!(patch.json(&pod(), None)["status"], json!({"nominatedNodeName": null}));
        let patch = ConditionPatch { reason: Some(""), nominated_node: None, ..patch };
        assert_eq!(
            patch.json(&pod(), None)["status"],
            json!({"conditions": [{"type": "PodScheduled", "$patch": "delete"}]})
        );
    }
}
