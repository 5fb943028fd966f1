//! PreScore adds up the weights of preferred terms by domain, those of the pod and those of running pods about the pod;
//! Score sums the domains of a node.
//!
//! Source: `scoring.go`.

use super::InterPodAffinity;
use super::domains::{Sums, Tally};
use super::terms::affinity;
use bayplan_framework::{Feasible, Handle, Normalize, PreScore, PreScoreOutcome, Score, StateSlot, Status};
use bayplan_model::{NodeInfo, NodeSet, PodMatch, TermKind, blocks_mut};
use std::borrow::Cow;
use std::sync::Arc;

/// What PreScore leaves for Score: the sum of weights of each domain, by topology key.
#[derive(Clone, Debug)]
struct Weights(Arc<Vec<Sums>>);

impl Weights {
    /// Adds up the weights; `None` when no term is about a pod in any domain.
    fn of(h: &Handle, hard_pod_affinity_weight: i64) -> Option<Self> {
        let mut tally = Tally::new(h.snapshot);
        for preferred in affinity(h.pod).iter().flat_map(|affinity| &affinity.preferred) {
            let key = tally.key(&preferred.term.topology_key);
            let weight = i64::from(preferred.weight);
            if let Some(mut sums) = tally.adder(key) {
                let pods = PodMatch::of_term(&preferred.term, h.snapshot.version_rows());
                h.snapshot.matching_pods(&pods, |node, count| sums.add(node, count.saturating_mul(weight)));
            }
        }
        let kinds = [TermKind::Required, TermKind::Preferred].into_iter();
        for kind in kinds.filter(|kind| *kind != TermKind::Required || hard_pod_affinity_weight > 0) {
            for carried in h.snapshot.carried_terms(kind, h.pod) {
                let key = tally.key(&carried.term.topology_key);
                let weight = match kind {
                    TermKind::Required => hard_pod_affinity_weight,
                    _ => i64::from(carried.weight),
                };
                if let Some(mut sums) = tally.adder(key) {
                    let nodes = carried.nodes.iter();
                    nodes.for_each(|(node, count)| sums.add(node, count.saturating_mul(weight)));
                }
            }
        }
        let (keys, touched) = tally.finish();
        touched.then(|| Self(Arc::new(keys)))
    }
}

impl InterPodAffinity {
    /// Whether the pod is scored at all.
    fn scores(&self, h: &Handle) -> bool {
        // A list that cannot be parsed is empty; PreFilter refuses such a pod.
        let prefers = affinity(h.pod).is_some_and(|affinity| !affinity.preferred.is_empty());
        prefers || !self.args.ignore_preferred_terms_of_existing_pods
    }

    /// The weights of the attempt. Without PreScore (a profile may run Score alone) they are added up here.
    fn weights<'h>(&self, h: &Handle<'h>) -> Option<Cow<'h, Weights>> {
        if let Some(weights) = h.state::<Weights>() {
            return Some(Cow::Borrowed(weights));
        }
        if !self.scores(h) {
            return None;
        }
        Weights::of(h, self.args.hard_pod_affinity_weight).map(Cow::Owned)
    }
}

impl PreScore for InterPodAffinity {
    fn pre_score(&self, h: &Handle, _: &Feasible, state: &mut StateSlot) -> Result<PreScoreOutcome, Status> {
        if !self.scores(h) {
            return Ok(PreScoreOutcome::Skip);
        }
        if let Some(invalid) = affinity(h.pod).and_then(|affinity| affinity.invalid.as_ref()) {
            return Err(Status::error(format!("failed to parse pod: {invalid}")));
        }
        Ok(match Weights::of(h, self.args.hard_pod_affinity_weight) {
            Some(weights) => {
                state.put(weights);
                PreScoreOutcome::Score
            }
            None => PreScoreOutcome::Skip,
        })
    }
}

impl Score for InterPodAffinity {
    fn score(&self, h: &Handle, node: NodeInfo) -> Result<i64, Status> {
        let weights = self.weights(h);
        let sums = weights.iter().flat_map(|weights| weights.0.iter());
        Ok(sums.fold(0i64, |score, sums| score.saturating_add(sums.at(node.id()))))
    }

    fn score_range(&self, h: &Handle, nodes: &NodeSet, out: &mut [i64]) -> Result<(), Status> {
        let weights = self.weights(h);
        for (word, _, out) in blocks_mut(nodes, out) {
            out.fill(0);
            weights.iter().flat_map(|weights| weights.0.iter()).for_each(|sums| sums.add_to(word, out));
        }
        Ok(())
    }

    fn normalize(&self) -> Normalize {
        Normalize::MinMax
    }
}
