//! PreFilter counts pods by domain; Filter looks up the domains of a node.
//!
//! Source: `filtering.go`.

use super::counts::Counts;
use super::domains::Tally;
use super::terms::{affinity, is_about_incoming, is_among, pods_of_all, required, required_anti};
use super::{InterPodAffinity, NAME};
use bayplan_framework::{
    Filter, Handle, PreFilter, PreFilterExtensions, PreFilterOutcome, StateSlot, Status, Verdicts, Violation,
};
use bayplan_model::{NodeInfo, NodeSet, PodInfo, PodMatch, Symbol, TermKind};
use std::borrow::Cow;
use std::sync::Arc;

pub(super) const AFFINITY: &str = "node(s) didn't match pod affinity rules";
pub(super) const ANTI_AFFINITY: &str = "node(s) didn't match pod anti-affinity rules";
pub(super) const EXISTING: &str = "node(s) didn't satisfy existing pods anti-affinity rules";

/// The required terms of the pod that is scheduled.
#[derive(Debug)]
pub(super) struct Own {
    /// The topology keys of its affinity terms, in their order.
    pub(super) keys: Vec<Symbol>,
    /// The pods that all its affinity terms are about; `None` without one.
    pub(super) pods: Option<PodMatch>,
    /// Whether the pod itself is one of them.
    matches_itself: bool,
    /// Each anti-affinity term: its topology key and the pods that it is about.
    pub(super) anti: Vec<(Symbol, PodMatch)>,
}

/// What PreFilter leaves for Filter.
#[derive(Clone, Debug)]
pub(super) struct State {
    pub(super) own: Arc<Own>,
    /// Pods that all affinity terms of the pod are about.
    pub(super) affinity: Counts,
    /// Pods that an anti-affinity term of the pod is about.
    pub(super) anti: Counts,
    /// Anti-affinity terms of other pods that are about the pod.
    pub(super) existing: Counts,
}

impl Own {
    fn of(h: &Handle) -> Self {
        let anti = required_anti(h.pod).iter();
        let pods = pods_of_all(required(h.pod), h.snapshot);
        Self {
            keys: required(h.pod).iter().map(|term| term.topology_key.clone()).collect(),
            matches_itself: pods.as_ref().is_some_and(|pods| is_among(pods, h.pod, h.snapshot)),
            pods,
            anti: anti
                .map(|term| (term.topology_key.clone(), PodMatch::of_term(term, h.snapshot.version_rows())))
                .collect(),
        }
    }
}

impl State {
    /// Counts the pods of the cluster.
    pub(super) fn of(h: &Handle) -> Self {
        let own = Own::of(h);
        let mut affinity = Tally::new(h.snapshot);
        if let Some(pods) = &own.pods {
            for key in &own.keys {
                let key = affinity.key(key);
                if let Some(mut sums) = affinity.adder(key) {
                    h.snapshot.matching_pods(pods, |node, count| sums.add(node, count));
                }
            }
        }
        let mut anti = Tally::new(h.snapshot);
        for (key, pods) in &own.anti {
            let key = anti.key(key);
            if let Some(mut sums) = anti.adder(key) {
                h.snapshot.matching_pods(pods, |node, count| sums.add(node, count));
            }
        }
        let mut existing = Tally::new(h.snapshot);
        for carried in h.snapshot.carried_terms(TermKind::RequiredAnti, h.pod) {
            let key = existing.key(&carried.term.topology_key);
            if let Some(mut sums) = existing.adder(key) {
                carried.nodes.iter().for_each(|(node, count)| sums.add(node, count));
            }
        }
        Self {
            own: Arc::new(own),
            affinity: Counts::of(affinity),
            anti: Counts::of(anti),
            existing: Counts::of(existing),
        }
    }

    /// Whether a simulation changed a count.
    fn is_simulated(&self) -> bool {
        [&self.affinity, &self.anti, &self.existing].into_iter().any(Counts::is_simulated)
    }

    /// Follows a pod that came to a node (`by` 1) or left it (-1).
    fn follow(&mut self, h: &Handle, pod: &PodInfo, node: NodeInfo, by: i64) {
        let Self { own, affinity, anti, existing } = self;
        for term in required_anti(pod).iter().filter(|term| is_about_incoming(term, h.pod, h.snapshot)) {
            existing.shift(&term.topology_key, node, by);
        }
        let is_among = |pods: &PodMatch| is_among(pods, pod, h.snapshot);
        if own.pods.as_ref().is_some_and(is_among) {
            own.keys.iter().for_each(|key| affinity.shift(key, node, by));
        }
        for (key, _) in own.anti.iter().filter(|(_, pods)| is_among(pods)) {
            anti.shift(key, node, by);
        }
    }

    /// Follows all that a simulation changed on a node.
    fn follow_simulation(&mut self, h: &Handle, node: NodeInfo) {
        let Some(before) = node.snapshot().node(node.id()) else { return };
        let has = |of: NodeInfo, pod: &PodInfo| of.pods().any(|other| other.key == pod.key);
        for pod in before.pods().filter(|pod| !has(node, pod)) {
            self.follow(h, pod, node, -1);
        }
        for pod in node.pods().filter(|pod| !has(before, pod)) {
            self.follow(h, pod, node, 1);
        }
    }

    /// Whether the affinity terms of the pod refuse the node.
    pub(super) fn affinity_refuses(&self, node: NodeInfo) -> bool {
        let keys = &self.own.keys;
        if keys.iter().any(|key| node.label(key).is_none()) {
            return true;
        }
        !self.is_first() && keys.iter().any(|key| self.affinity.at(key, node) <= 0)
    }

    /// Whether the pod is the first of a group that asks for itself: no pod matches its affinity terms in any domain,
    /// and it does.
    fn is_first(&self) -> bool {
        self.own.matches_itself && self.affinity.is_empty()
    }

    /// Why the node is refused.
    fn refusal(&self, node: NodeInfo) -> Option<Status> {
        if self.affinity_refuses(node) {
            Some(Status::unresolvable(AFFINITY))
        } else if self.anti.any_at(node) {
            Some(Status::unschedulable(ANTI_AFFINITY))
        } else if self.existing.any_at(node) {
            Some(Status::unschedulable(EXISTING))
        } else {
            None
        }
    }

    /// The rows of a word that the affinity terms of the pod refuse.
    fn rows_refused_by_affinity(&self, word: usize, first: bool) -> u64 {
        self.own.keys.iter().fold(0, |refused, key| match self.affinity.of_cluster(key) {
            Some(sums) if first => refused | !sums.rows_in_a_domain(word),
            Some(sums) => refused | !sums.rows_above_zero(word),
            None => u64::MAX,
        })
    }
}

/// The state of the attempt. Without PreFilter (a profile may run Filter alone) it is made for the node.
pub(super) fn state<'h>(h: &Handle<'h>, node: Option<NodeInfo>) -> Cow<'h, State> {
    if let Some(state) = h.state::<State>() {
        return Cow::Borrowed(state);
    }
    let mut state = State::of(h);
    if let Some(node) = node.filter(NodeInfo::is_simulated) {
        state.follow_simulation(h, node);
    }
    Cow::Owned(state)
}

/// The refusal of a pod whose terms cannot be parsed.
pub(super) fn unparsed(pod: &PodInfo) -> Option<Status> {
    let invalid = affinity(pod)?.invalid.as_ref()?;
    Some(Status::unresolvable(format!("parsing pod: {invalid}")))
}

impl PreFilter for InterPodAffinity {
    fn pre_filter(&self, h: &Handle, state: &mut StateSlot) -> Result<PreFilterOutcome, Status> {
        if let Some(status) = unparsed(h.pod) {
            return Err(status);
        }
        let carried = || h.snapshot.carried_terms(TermKind::RequiredAnti, h.pod).next().is_some();
        if required(h.pod).is_empty() && required_anti(h.pod).is_empty() && !carried() {
            return Ok(PreFilterOutcome::Skip);
        }
        let counted = State::of(h);
        if counted.own.keys.is_empty() && counted.own.anti.is_empty() && counted.existing.is_empty() {
            return Ok(PreFilterOutcome::Skip);
        }
        state.put(counted);
        Ok(PreFilterOutcome::AllNodes)
    }

    fn extensions(&self) -> Option<&dyn PreFilterExtensions> {
        Some(self)
    }
}

impl PreFilterExtensions for InterPodAffinity {
    fn add_pod(
        &self,
        h: &Handle,
        state: &mut StateSlot,
        added: &PodInfo,
        node: NodeInfo,
    ) -> Result<(), Status> {
        follow(h, state, added, node, 1)
    }

    fn remove_pod(
        &self,
        h: &Handle,
        state: &mut StateSlot,
        removed: &PodInfo,
        node: NodeInfo,
    ) -> Result<(), Status> {
        follow(h, state, removed, node, -1)
    }
}

fn follow(h: &Handle, state: &mut StateSlot, pod: &PodInfo, node: NodeInfo, by: i64) -> Result<(), Status> {
    let Some(state) = state.get_mut::<State>() else {
        let text = format!("error reading \"PreFilter{NAME}\" from cycleState: not found");
        return Err(Status::error(text));
    };
    state.follow(h, pod, node, by);
    Ok(())
}

impl Filter for InterPodAffinity {
    fn filter(&self, h: &Handle, node: NodeInfo) -> Result<(), Status> {
        state(h, Some(node)).refusal(node).map_or(Ok(()), Err)
    }

    fn filter_range(&self, h: &Handle, nodes: &NodeSet, out: &mut Verdicts) {
        let state = state(h, None);
        if state.is_simulated() {
            for node in nodes.iter().filter_map(|id| h.snapshot.node(id)) {
                if let Some(status) = state.refusal(node) {
                    let status = out.status(status);
                    out.refuse(node.id(), status);
                }
            }
            return;
        }
        let statuses = [
            Status::unresolvable(AFFINITY),
            Status::unschedulable(ANTI_AFFINITY),
            Status::unschedulable(EXISTING),
        ];
        let [affinity, anti, existing] = statuses.map(|status| out.status(status));
        let first = state.is_first();
        for (word, rows) in nodes.words().iter().enumerate().filter(|(_, rows)| **rows != 0) {
            let by_affinity = rows & state.rows_refused_by_affinity(word, first);
            let by_anti = rows & !by_affinity & state.anti.rows_counted(word);
            let by_existing = rows & !by_affinity & !by_anti & state.existing.rows_counted(word);
            out.refuse_rows(word, by_affinity, affinity);
            out.refuse_rows(word, by_anti, anti);
            out.refuse_rows(word, by_existing, existing);
        }
    }

    fn violations(&self, h: &Handle, node: NodeInfo, out: &mut Vec<Violation>) {
        super::explain::violations(h, node, &state(h, Some(node)), out);
    }
}
