//! Places pods by the pods that run in the same domain: required and preferred terms of `podAffinity` and
//! `podAntiAffinity`, those of the pod and those of running pods about the pod.
//!
//! - `args.rs`: `InterPodAffinityArgs`
//! - `terms.rs`: which pods the terms of the pod are about
//! - `domains.rs`, `counts.rs`: sums by topology key and domain, of the counts per node that the snapshot keeps
//! - `filter.rs`: required terms; `score.rs`: preferred terms
//! - `hints.rs`: queueing hints of upstream; `further_hints.rs`: events that they miss
//! - `explain.rs`: which term refuses a node and because of which pods, and what may help
//!
//! Source: `pkg/scheduler/framework/plugins/interpodaffinity`.

mod args;
mod counts;
mod domains;
mod explain;
mod filter;
mod further_hints;
mod hints;
mod score;
mod terms;
#[cfg(test)]
mod tests;

use args::Args;
use bayplan_framework::{ArgsError, Edit, Features, Handle, Need, Plugin, Reads, Tree};
use bayplan_model::{Kind, Kinds, NodeInfo, PodInfo, PodMatch, Snapshot, Want};
use std::sync::Arc;

const NAME: &str = "InterPodAffinity";

pub(super) fn new(args: &Tree, _: Features) -> Result<Arc<dyn Plugin>, Vec<ArgsError>> {
    Ok(Arc::new(InterPodAffinity { args: Args::read(args)? }))
}

struct InterPodAffinity {
    args: Args,
}

impl Plugin for InterPodAffinity {
    fn name(&self) -> &str {
        NAME
    }
    fn reads(&self) -> Reads {
        let kinds = Kinds::PODS_OTHER.with(Kinds::NAMESPACES).with(Kinds::LABELS).with(Kinds::LIFE);
        Reads { other_pods: true, any_label: true, ..Reads::of(kinds) }
    }
    fn kinds(&self) -> &'static [Need] {
        &[Need { kind: Kind::Namespace, optional: false }]
    }
    fn wants(&self, pod: &PodInfo, snapshot: &Snapshot, out: &mut Vec<Want>) {
        let Some(affinity) = terms::affinity(pod) else { return };
        let pods = terms::pods_known_beforehand(&affinity.required, snapshot);
        out.extend(pods.map(|pods| Want::Count(Arc::new(pods))));
        out.extend(affinity.required.iter().map(|term| Want::Domain(term.topology_key.clone())));
        for term in affinity.required_anti.iter().chain(affinity.preferred.iter().map(|of| &of.term)) {
            out.push(Want::Domain(term.topology_key.clone()));
            out.push(Want::Count(Arc::new(PodMatch::of_term(term, snapshot.version_rows()))));
        }
    }
    bayplan_framework::serves!(PreFilter, Filter, PreScore, Score, EnqueueExtensions);
    fn remedies(&self, h: &Handle, node: Option<NodeInfo>) -> Vec<Edit> {
        node.map(|node| explain::remedies(h, node)).unwrap_or_default()
    }
}
