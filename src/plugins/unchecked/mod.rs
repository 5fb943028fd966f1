//! Stand-ins for plugins of kube-scheduler that are not built. A stand-in decides nothing about most
//! pods. Where the plugin could refuse the pod, its stand-in refuses every node and names what is not
//! checked; where it could only score, the pod is placed and the framework lists what was not checked
//! ([`Framework::not_checked`](crate::framework::Framework::not_checked)).
//!
//! Each plugin's row of [`IN_TREE`](super::IN_TREE) names the constraints that it would check.
//!

use crate::framework::{
    ArgsError, EnqueueExtensions, EventRegistration, Feasible, Filter, Handle, Impact, Plugin, PreFilter,
    PreFilterOutcome, PreScore, PreScoreOutcome, Reads, Score, StateSlot, Status, Tree, Unchecked, Verdicts,
};
use crate::model::{ConstraintKinds, NodeInfo, NodeSet, PodPrecondition, Symbol};
use std::sync::Arc;

/// The stand-in for the plugin of this name.
pub(super) fn new(
    name: &'static str,
    unchecked: Unchecked,
    _: &Tree,
) -> Result<Arc<dyn Plugin>, Vec<ArgsError>> {
    Ok(Arc::new(StandIn { name, unchecked }))
}

/// The refusal of one attempt, which names the unchecked constraints.
#[derive(Clone)]
struct Refusal(Status);

struct StandIn {
    name: &'static str,
    unchecked: Unchecked,
}

impl StandIn {
    /// Names of the pod's own constraints of these kinds.
    fn own(&self, h: &Handle, kinds: ConstraintKinds) -> Vec<Symbol> {
        let list = h.pod.constraints.iter().flat_map(|constraints| constraints.list.iter());
        list.filter(|constraint| constraint.kind.intersects(kinds))
            .map(|constraint| constraint.name.clone())
            .collect()
    }

    /// What could make the plugin refuse nodes.
    fn refusing(&self, h: &Handle) -> Vec<Symbol> {
        self.own(h, self.unchecked.refuses)
    }

    fn refusal(&self, h: &Handle) -> Option<Status> {
        let names = self.refusing(h);
        if names.is_empty() {
            return None;
        }
        let text: Vec<&str> = names.iter().map(Symbol::as_str).collect();
        Some(Status::unresolvable(format!("node(s) not checked: {}", text.join(", "))))
    }
}

impl Plugin for StandIn {
    fn name(&self) -> &str {
        self.name
    }
    fn is_unchecked(&self) -> bool {
        true
    }
    fn not_checked(&self, h: &Handle) -> Vec<(Impact, Symbol)> {
        let refusing = self.refusing(h).into_iter().map(|name| (Impact::Refuse, name));
        let scoring = self.own(h, self.unchecked.scores).into_iter().map(|name| (Impact::Score, name));
        refusing.chain(scoring).collect()
    }
    fn reads(&self) -> Reads {
        Reads::default()
    }
    fn precondition(&self) -> Option<PodPrecondition> {
        let kinds = self.unchecked.refuses.with(self.unchecked.scores);
        Some(PodPrecondition::Constraints(kinds))
    }
    fn enqueue_extensions(&self) -> Option<&dyn EnqueueExtensions> {
        Some(self)
    }
    fn pre_filter(&self) -> Option<&dyn PreFilter> {
        Some(self)
    }
    fn filter(&self) -> Option<&dyn Filter> {
        Some(self)
    }
    fn pre_score(&self) -> Option<&dyn PreScore> {
        (!self.unchecked.scores.is_empty()).then_some(self)
    }
    fn score(&self) -> Option<&dyn Score> {
        (!self.unchecked.scores.is_empty()).then_some(self)
    }
}

impl PreFilter for StandIn {
    fn pre_filter(&self, h: &Handle, state: &mut StateSlot) -> Result<PreFilterOutcome, Status> {
        let Some(status) = self.refusal(h) else { return Ok(PreFilterOutcome::Skip) };
        state.put(Refusal(status));
        Ok(PreFilterOutcome::AllNodes)
    }
}

impl Filter for StandIn {
    fn filter(&self, h: &Handle, _: NodeInfo) -> Result<(), Status> {
        match h.state::<Refusal>() {
            Some(Refusal(status)) => Err(status.clone()),
            // A profile may run Filter without PreFilter.
            None => self.refusal(h).map_or(Ok(()), Err),
        }
    }

    fn filter_range(&self, h: &Handle, nodes: &NodeSet, out: &mut Verdicts) {
        let status = h.state::<Refusal>().map(|Refusal(status)| status.clone());
        let Some(status) = status.or_else(|| self.refusal(h)) else { return };
        let status = out.status(status);
        for (word, rows) in nodes.words().iter().enumerate() {
            out.refuse_rows(word, *rows, status);
        }
    }
}

impl PreScore for StandIn {
    fn pre_score(&self, _: &Handle, _: &Feasible, _: &mut StateSlot) -> Result<PreScoreOutcome, Status> {
        Ok(PreScoreOutcome::Skip)
    }
}

impl Score for StandIn {
    fn score(&self, _: &Handle, _: NodeInfo) -> Result<i64, Status> {
        Ok(0)
    }
}

impl EnqueueExtensions for StandIn {
    /// None: the pod's own constraints do not change, and neither does the set of built plugins.
    fn events(&self) -> Vec<EventRegistration> {
        Vec::new()
    }
}
