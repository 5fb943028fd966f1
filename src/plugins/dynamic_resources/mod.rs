//! Allocates devices to the resource claims of a pod, and to its extended resources that a DeviceClass stands for.
//!
//! A claim is allocated for a node: Filter asks the allocator ([`bayplan_devices::Allocator`]) for the devices that the
//! unallocated claims of the pod get there, Reserve assumes them, PreBind writes them. A claim that is allocated already
//! leaves the pod its nodes, and PostFilter takes the allocation of one back that leaves none.
//!
//! - `args.rs`: the arguments; `gates.rs`: what feature gates and versions change
//! - `claims.rs`: PreEnqueue, and the claims of a pod; `state.rs`: what an attempt knows of them
//! - `pre_filter.rs`, `filter.rs`, `post_filter.rs`, `score.rs`: the extension points of these names
//! - `verdicts.rs`: which nodes serve claims like those of an earlier pod, and how well
//! - `extended.rs`: the claim of a pod's extended resources; `requests.rs`: what it requests
//! - `reserve.rs`: assumptions; `bind`: what is written; `conditions.rs`: devices that are prepared before the binding
//! - `hints.rs`: which events may help; `explain`: explanations
//!
//! These faults of upstream are not copied: consumed capacity that counts twice while a pod is being bound (1.37), a
//! written allocation that looks free until the watch shows it (1.37), amounts that change in place (1.36), a shared claim
//! that is reserved although it was allocated anew for another node.
//!
//! Source: `pkg/scheduler/framework/plugins/dynamicresources`.

mod args;
mod bind;
mod claims;
mod conditions;
mod explain;
mod extended;
mod filter;
mod gates;
mod hints;
mod post_filter;
mod pre_filter;
mod requests;
mod reserve;
mod score;
mod state;
#[cfg(test)]
mod tests;
mod verdicts;

use args::Args;
use bayplan_devices::DeviceSelectors;
use bayplan_framework::{ArgsError, Edit, Features, Handle, Need, Plugin, Reads, Status, Tree};
use bayplan_model::{DeviceIndex, Index, IndexKey, Kind, Kinds, NodeInfo};
use gates::Gates;
use std::sync::Arc;
use verdicts::Verdicts;

/// API servers before 1.34 have none of these kinds: pods with claims then wait for their claims.
pub(super) const fn need(kind: Kind) -> Need {
    Need { kind, optional: true }
}

/// The kinds of objects that it reads where rules that taint devices count.
const NEEDS: &[Need] = &[
    need(Kind::DeviceClass),
    need(Kind::ResourceSlice),
    need(Kind::ResourceClaim),
    need(Kind::DeviceTaintRule),
];

struct DynamicResources {
    args: Args,
    gates: Gates,
    selectors: DeviceSelectors,
    verdicts: Verdicts,
}

pub(super) fn new(args: &Tree, features: Features) -> Result<Arc<dyn Plugin>, Vec<ArgsError>> {
    let (args, gates) = (Args::read(args)?, Gates::of(features));
    let selectors = DeviceSelectors::new(features.rows());
    Ok(Arc::new(DynamicResources { args, gates, selectors, verdicts: Verdicts::default() }))
}

impl Plugin for DynamicResources {
    fn name(&self) -> &str {
        "DynamicResources"
    }
    fn reads(&self) -> Reads {
        let nodes = Kinds::LABELS.with(Kinds::LIFE).with(Kinds::ALLOCATABLE).with(Kinds::FEATURES);
        Reads { any_label: true, ..Reads::of(Kinds::DEVICES.with(nodes)) }
    }
    fn kinds(&self) -> &'static [Need] {
        let without_rules = NEEDS.len() - 1;
        match self.gates.allocator.taint_rules {
            true => NEEDS,
            false => NEEDS.get(..without_rules).unwrap_or_default(),
        }
    }
    fn indexes(&self) -> Vec<(IndexKey, Box<dyn Index>)> {
        vec![(DeviceIndex::key(), Box::new(DeviceIndex::default()))]
    }
    fn remedies(&self, h: &Handle, node: Option<NodeInfo>) -> Vec<Edit> {
        node.map_or_else(Vec::new, |node| self.edits_for(h, node))
    }
    bayplan_framework::serves!(
        PreEnqueue,
        EnqueueExtensions,
        PreFilter,
        Filter,
        PostFilter,
        Score,
        Reserve,
        PreBind
    );
}

/// The index of devices.
fn index<'a>(h: &Handle<'a>) -> Result<&'a DeviceIndex, Status> {
    let index = h.snapshot.try_index::<DeviceIndex>(&DeviceIndex::key());
    index.map_err(|error| Status::error(format!("DynamicResources: {error}")))
}
