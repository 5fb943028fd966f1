//! Score: the earlier the alternatives of requests with `firstAvailable` that a node gives, the better.
//!
//! Source: `pkg/scheduler/framework/plugins/dynamicresources/dynamicresources.go`, `Score`, `computeScore`.

use super::DynamicResources;
use super::filter::Search;
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

    /// What the claims that are allocated already add to the score of every node.
    fn stored_score(&self) -> i64 {
        let stored = self.claims.iter().filter_map(|of| Some((&*of.claim, of.claim.allocation.as_deref()?)));
        bayplan_devices::score(stored)
    }
}

/// The scores of the nodes that one pod may go to.
struct Scores<'a> {
    search: Search<'a>,
    stored: i64,
}

impl Scores<'_> {
    fn on(&mut self, node: NodeInfo) -> i64 {
        // The node passed Filter on the same cluster.
        self.search.score(node).map_or(0, |score| score + self.stored)
    }
}

impl DynamicResources {
    /// `None`: all nodes have the score 0.
    fn scores<'a>(&'a self, h: &Handle<'a>) -> Result<Option<Scores<'a>>, Status> {
        if self.is_zero(h) {
            return Ok(None);
        }
        let Some(state) = h.state::<State>() else { return Ok(None) };
        let search = self.search(h, state)?.remembering();
        Ok(Some(Scores { search, stored: state.stored_score() }))
    }
}

impl Score for DynamicResources {
    fn score(&self, h: &Handle, node: NodeInfo) -> Result<i64, Status> {
        Ok(self.scores(h)?.map_or(0, |mut scores| scores.on(node)))
    }

    fn score_range(&self, h: &Handle, nodes: &NodeSet, out: &mut [i64]) -> Result<(), Status> {
        let mut scores = self.scores(h)?;
        for id in nodes.iter() {
            if let (Some(node), Some(out)) = (h.snapshot.node(id), out.get_mut(id.row())) {
                *out = scores.as_mut().map_or(0, |scores| scores.on(node));
            }
        }
        Ok(())
    }

    fn is_zero(&self, h: &Handle) -> bool {
        let scores = self.gates.allocator.prioritized_list && h.state::<State>().is_some_and(State::scores);
        !scores
    }

    fn normalize(&self) -> Normalize {
        Normalize::Max
    }
}
