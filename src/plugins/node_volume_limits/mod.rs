//! Refuses nodes that cannot attach the pod's volumes: a CSI driver has a limit there (`allocatable.count` of the
//! CSINode), and the volumes of the node's pods, the volumes that are still attached, and the pod's own ones exceed it.
//!
//! `volumes.rs` says which volumes of a pod count, `count.rs` is the definition for a node, `index.rs` keeps the counts
//! of all nodes, `range.rs` compares them, `hints.rs` says which events help.
//!
//! Source: `pkg/scheduler/framework/plugins/nodevolumelimits/csi.go`.

mod count;
mod hints;
mod index;
mod range;
mod volumes;
#[cfg(test)]
mod tests;

pub use index::AttachedVolumes;

use bayplan_framework::{
    ArgsError, Edit, Features, Filter, Gate, Handle, Need, Plugin, PreFilter, PreFilterOutcome, Reads,
    StateSlot, Status, Tree, Verdicts, Violation,
};
use bayplan_model::{ConstraintKinds, Index, IndexKey, Kind, Kinds, NodeInfo, NodeSet, PodPrecondition};
use count::Refusal;
use std::sync::Arc;

const NAME: &str = "NodeVolumeLimits";
const REASON: &str = "node(s) exceed max volume count";

pub(super) fn new(args: &Tree, features: Features) -> Result<Arc<dyn Plugin>, Vec<ArgsError>> {
    super::without_args(args, NodeVolumeLimits { scaling: features.on(Gate::VolumeLimitScaling) })
}

struct NodeVolumeLimits {
    /// Whether the feature gate `VolumeLimitScaling` is on: a driver may keep pods from nodes without it.
    scaling: bool,
}

impl Plugin for NodeVolumeLimits {
    fn name(&self) -> &str {
        NAME
    }
    fn reads(&self) -> Reads {
        Reads::of(Kinds::VOLUMES.with(Kinds::PODS_OTHER).with(Kinds::LIFE))
    }
    fn kinds(&self) -> &'static [Need] {
        const fn need(kind: Kind) -> Need {
            Need { kind, optional: false }
        }
        const NEEDS: &[Need] = &[
            need(Kind::CsiNode),
            need(Kind::PersistentVolumeClaim),
            need(Kind::PersistentVolume),
            need(Kind::StorageClass),
            need(Kind::VolumeAttachment),
            need(Kind::CsiDriver),
        ];
        // Only the gate makes the plugin read drivers.
        match NEEDS.split_last() {
            Some((_, others)) if !self.scaling => others,
            _ => NEEDS,
        }
    }
    fn indexes(&self) -> Vec<(IndexKey, Box<dyn Index>)> {
        vec![(AttachedVolumes::key(), Box::new(AttachedVolumes::default()))]
    }
    fn precondition(&self) -> Option<PodPrecondition> {
        let claims = ConstraintKinds::VOLUME_CLAIMS.with(ConstraintKinds::EPHEMERAL_VOLUMES);
        Some(PodPrecondition::Constraints(claims.with(ConstraintKinds::ATTACHED_VOLUMES)))
    }
    bayplan_framework::serves!(PreFilter, Filter, EnqueueExtensions);
    fn remedies(&self, _: &Handle, node: Option<NodeInfo>) -> Vec<Edit> {
        node.map(|_| Edit::PodsEnd).into_iter().collect()
    }
}

impl PreFilter for NodeVolumeLimits {
    fn pre_filter(&self, h: &Handle, _: &mut StateSlot) -> Result<PreFilterOutcome, Status> {
        let counts = volumes::concerns(h.pod);
        Ok(if counts { PreFilterOutcome::AllNodes } else { PreFilterOutcome::Skip })
    }
}

impl Filter for NodeVolumeLimits {
    fn filter(&self, h: &Handle, node: NodeInfo) -> Result<(), Status> {
        count::check(h.snapshot, h.pod, node, self.scaling).map_err(Refusal::into_status)
    }

    fn filter_range(&self, h: &Handle, nodes: &NodeSet, out: &mut Verdicts) {
        range::filter(self, h, nodes, out);
    }

    fn violations(&self, h: &Handle, node: NodeInfo, out: &mut Vec<Violation>) {
        if let Err(refusal) = count::check(h.snapshot, h.pod, node, self.scaling) {
            out.push(refusal.into_violation());
        }
    }
}
