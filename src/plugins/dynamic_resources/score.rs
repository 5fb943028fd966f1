//! Score: the earlier the alternatives of requests with `firstAvailable` that a node gives, the better.
//!
//! Source: `pkg/scheduler/framework/plugins/dynamicresources/dynamicresources.go`, `Score`, `computeScore`.

use super::DynamicResources;
use super::filter::{Found, Search};
use super::state::State;
use bayplan_framework::{Handle, Normalize, Score, Status};
use bayplan_model::objects::devices::RequestKind;
use bayplan_model::{NodeInfo, NodeSet};

impl State {
    /// Whether nodes may differ in their scores: some claim is to be allocated, and some request has alternatives.
    fn scores(&self) -> bool {
        let has_choice = |request: &bayplan_model::objects::devices::ClaimRequest| {
            matches!(request.kind(), RequestKind::FirstAvailable(_))
        };
        self.to_allocate().next().is_some()
            && self.claims.iter().any(|of| of.claim.requests.iter().any(has_choice))
    }

    /// The score of a node that passed.
    fn score(&self, found: &Found) -> Result<i64, Status> {
        let Some(allocations) = &found.allocations else { return Ok(0) };
        let mut new = allocations.iter();
        let mut pairs = Vec::with_capacity(self.claims.len());
        for of in &self.claims {
            let allocation = match &of.claim.allocation {
                Some(stored) => &**stored,
                None => new.next().ok_or_else(|| {
                    let count = allocations.len();
                    Status::error(format!(
                        "number of allocations {count} is smaller than number of claims needing allocation"
                    ))
                })?,
            };
            pairs.push((&*of.claim, allocation));
        }
        Ok(bayplan_devices::score(pairs))
    }
}

impl DynamicResources {
    fn scores(&self, h: &Handle) -> bool {
        self.gates.allocator.prioritized_list && h.state::<State>().is_some_and(State::scores)
    }
}

fn score_on(search: &mut Search, node: NodeInfo) -> Result<i64, Status> {
    // The node passed Filter on the same cluster.
    search.on(node).map_or(Ok(0), |found| search.state.score(&found))
}

impl Score for DynamicResources {
    fn score(&self, h: &Handle, node: NodeInfo) -> Result<i64, Status> {
        match h.state::<State>().filter(|_| self.scores(h)) {
            Some(state) => score_on(&mut self.search(h, state)?, node),
            None => Ok(0),
        }
    }

    fn score_range(&self, h: &Handle, nodes: &NodeSet, out: &mut [i64]) -> Result<(), Status> {
        let Some(state) = h.state::<State>().filter(|_| self.scores(h)) else {
            nodes.iter().for_each(|id| {
                if let Some(out) = out.get_mut(id.row()) {
                    *out = 0;
                }
            });
            return Ok(());
        };
        let mut search = self.search(h, state)?;
        for id in nodes.iter() {
            if let (Some(node), Some(out)) = (h.snapshot.node(id), out.get_mut(id.row())) {
                *out = score_on(&mut search, node)?;
            }
        }
        Ok(())
    }

    fn is_zero(&self, h: &Handle) -> bool {
        !self.scores(h)
    }

    fn normalize(&self) -> Normalize {
        Normalize::Max
    }
}
