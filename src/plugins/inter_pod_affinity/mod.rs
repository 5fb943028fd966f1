//! Places pods by the pods that run in the same domain: required and preferred terms of `podAffinity` and
//! `podAntiAffinity`, those of the pod and those of running pods about the pod.
//!
//! - `args.rs`: `InterPodAffinityArgs`
//! - `terms.rs`: which pods the terms of the pod are about
//! - `domains.rs`, `counts.rs`: sums by topology key and domain
//! - `filter.rs`: required terms; `score.rs`: preferred terms
//! - `hints.rs`: queueing hints
//! - `explain.rs`: which term refuses a node and because of which pods, and what may help
//!
//! Source: `pkg/scheduler/framework/plugins/interpodaffinity`.

mod args;
mod counts;
mod domains;
mod explain;
mod filter;
mod hints;
mod pods;
mod score;
mod terms;
#[cfg(test)]
mod tests;

use crate::framework::{
    ArgsError, Edit, EnqueueExtensions, Features, Filter, Handle, Plugin, PreFilter, PreScore, Reads, Score,
    Tree,
};
use crate::model::{Kinds, Labels, NodeInfo, PodInfo, Snapshot, Want};
use args::Args;
use std::sync::Arc;

const NAME: &str = "InterPodAffinity";

pub(super) fn new(args: &Tree, _: Features) -> Result<Arc<dyn Plugin>, Vec<ArgsError>> {
    Ok(Arc::new(InterPodAffinity { args: Args::read(args)? }))
}

struct InterPodAffinity {
    args: Args,
}

/// The labels of the pod's namespace; none for a namespace that is not known.
fn labels_of_namespace(h: &Handle) -> Labels {
    h.snapshot.namespace(&h.pod.namespace).map(|namespace| namespace.labels.clone()).unwrap_or_default()
}

impl Plugin for InterPodAffinity {
    fn name(&self) -> &str {
        NAME
    }
    fn reads(&self) -> Reads {
        let kinds = Kinds::PODS_OTHER.with(Kinds::NAMESPACES).with(Kinds::LABELS).with(Kinds::LIFE);
        Reads { other_pods: true, any_label: true, ..Reads::of(kinds) }
    }
    fn wants(&self, pod: &PodInfo, _: &Snapshot, out: &mut Vec<Want>) {
        let Some(affinity) = terms::affinity(pod) else { return };
        let required = affinity.required.iter().chain(&affinity.required_anti);
        let terms = required.chain(affinity.preferred.iter().map(|of| &of.term));
        out.extend(terms.map(|term| Want::Label(term.topology_key.clone())));
    }
    fn pre_filter(&self) -> Option<&dyn PreFilter> {
        Some(self)
    }
    fn filter(&self) -> Option<&dyn Filter> {
        Some(self)
    }
    fn pre_score(&self) -> Option<&dyn PreScore> {
        Some(self)
    }
    fn score(&self) -> Option<&dyn Score> {
        Some(self)
    }
    fn enqueue_extensions(&self) -> Option<&dyn EnqueueExtensions> {
        Some(self)
    }
    fn remedies(&self, h: &Handle, node: Option<NodeInfo>) -> Vec<Edit> {
        node.map(|node| explain::remedies(h, node)).unwrap_or_default()
    }
}
