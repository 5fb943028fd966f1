//! The smallest changes after which a waiting pod fits: single edits first; where none helps,
//! pairs. Each is made on the pod, the policies or a fork of the snapshot, and the plugins are run
//! again; only what then fits is reported.
//!
//! Called by `cli explain` and `overview`. The plugins propose the edits (`candidates.rs`); how
//! suggestions are worded and ranked is in `suggestions.rs`.

use super::Explanation;
use super::attempt::Attempt;
use super::candidates::{Candidate, candidates};
use super::suggestions::{Suggestions, ranked};
use crate::framework::{Cycle, Edit, EditOwner, Exempted, Framework};
use crate::model::{NodeId, PodInfo, Snapshot, Symbol, Time};
use std::collections::BTreeMap;
use std::sync::Arc;

/// How many nodes a single edit is tried on one by one.
pub(super) const NODES_ALONE: usize = 1_000;

/// How many nodes a pair of edits is tried on again to count them.
pub(super) const NODES_COUNTED: usize = 200;

/// How many nodes a pair of edits is tried on to find it.
const NODES_TOGETHER: usize = 24;

/// How often filters may run again for one pod; then the search ends and says so.
pub const TRIALS: usize = 30_000;

/// How many nodes that are evaluated in one attempt count as one trial.
const NODES_PER_TRIAL: usize = 64;

/// The decision that is tried again.
pub struct Question<'a> {
    /// The profile's plugins.
    pub framework: &'a Arc<Framework>,
    /// The cluster; the pod is on no node of it.
    pub snapshot: &'a Snapshot,
    /// The pod.
    pub pod: &'a Arc<PodInfo>,
    /// The instant of the decision.
    pub now: Time,
    /// How often filters may run again: [`TRIALS`], or fewer for one pod of many.
    pub trials: usize,
    /// The same plugins where these policies and rules have exceptions for the pod.
    pub excepting: &'a dyn Fn(&[Exempted]) -> Option<Arc<Framework>>,
}

/// Finds the smallest changes that help.
pub fn that_help(explanation: &Explanation, question: &Question) -> Suggestions {
    let mut search = Search::new(explanation, question);
    let nodes: Vec<NodeId> = search.near.iter().copied().take(NODES_ALONE).collect();
    let candidates = candidates(question, &nodes);
    let mut found = Vec::new();
    for candidate in &candidates {
        found.extend(search.opened(&[candidate], NODES_ALONE));
    }
    if found.is_empty() {
        for (at, one) in candidates.iter().enumerate() {
            for two in candidates.iter().skip(at + 1).filter(|two| !one.kind.overlaps(&two.kind)) {
                found.extend(search.opened(&[one, two], NODES_TOGETHER));
            }
        }
    }
    ranked(explanation, question, found, candidates.len(), search.left == 0)
}

/// Edits with the nodes that they open.
pub(super) type Opened = (Vec<Edit>, Vec<NodeId>);

struct Search<'a> {
    question: &'a Question<'a>,
    /// All nodes: one of each set of rules that refuse, the nearest first, then the next of each.
    near: Vec<NodeId>,
    /// How many trials are left.
    left: usize,
    /// Plugins with exceptions for the pod, made once.
    frameworks: BTreeMap<Vec<Exempted>, Option<Arc<Framework>>>,
    /// The pod after edits, made once; `None` where it could not be made, or would not enter the queue.
    pods: BTreeMap<Vec<Edit>, Option<Arc<PodInfo>>>,
}

impl<'a> Search<'a> {
    fn new(explanation: &Explanation, question: &'a Question<'a>) -> Self {
        // Take the nodes of each set of rules in turn, so that a few nodes show every case.
        let mut seen: BTreeMap<Vec<&str>, usize> = BTreeMap::new();
        let mut near: Vec<((usize, usize), NodeId)> = Vec::new();
        for node in &explanation.per_node {
            let Some(id) = question.snapshot.node_by_name(&Symbol::new(&node.name)) else { continue };
            let mut rules: Vec<&str> = node.refusals.iter().map(|refusal| refusal.rule.as_str()).collect();
            rules.dedup();
            let place = seen.entry(rules).or_default();
            near.push(((*place, node.refusals.len()), id));
            *place += 1;
        }
        if near.is_empty() {
            near = question.snapshot.nodes().map(|node| ((0, 0), node.id())).collect();
        }
        near.sort_by_key(|(order, _)| *order);
        let near = near.into_iter().map(|(_, node)| node).collect();
        Self { question, near, left: question.trials, frameworks: BTreeMap::new(), pods: BTreeMap::new() }
    }

    /// What opens nodes when these are made together, on the first so many nodes. Edits that differ
    /// in more than an amount or value are separate results.
    fn opened(&mut self, candidates: &[&Candidate], first: usize) -> Vec<Opened> {
        if candidates.iter().all(|candidate| candidate.is_uniform()) {
            let edits: Vec<Edit> = candidates.iter().map(|candidate| candidate.kind.clone()).collect();
            let fits = self.all_that_fit(&edits);
            return if fits.is_empty() { Vec::new() } else { vec![(edits, fits)] };
        }
        let nodes: Vec<NodeId> = self.near.iter().copied().take(first).collect();
        let mut open: BTreeMap<Vec<Edit>, Vec<(NodeId, Vec<Edit>)>> = BTreeMap::new();
        for node in nodes {
            let options: Vec<Vec<Edit>> =
                candidates.iter().map(|candidate| candidate.options(node)).collect();
            let mut tried = combinations(&options).into_iter();
            if let Some(edits) = tried.find(|edits| self.fits(edits, node)) {
                open.entry(edits.iter().map(group).collect()).or_default().push((node, edits));
            }
        }
        open.into_values().map(|nodes| self.best(nodes)).filter(|(_, nodes)| !nodes.is_empty()).collect()
    }

    /// The edits with the largest of the requests that were found, or the smallest skew, and the nodes that they open.
    fn best(&mut self, found: Vec<(NodeId, Vec<Edit>)>) -> Opened {
        let requested = |resource: &Symbol| self.question.pod.requests.get(resource).max(1);
        // How much is left of each request, or the skew, of which less is better; what is cut most comes first.
        let left = |edits: &[Edit]| {
            let mut left: Vec<i128> = edits
                .iter()
                .filter_map(|edit| match edit {
                    Edit::Request { resource, amount } => {
                        Some(i128::from(*amount) * 1_000_000 / i128::from(requested(resource)))
                    }
                    Edit::MaxSkew { to, .. } => Some(-i128::from(*to)),
                    _ => None,
                })
                .collect();
            left.sort_unstable();
            left
        };
        // The first of equal ones.
        let best = found.iter().rev().max_by_key(|(_, edits)| left(edits)).map(|(_, edits)| edits.clone());
        let edits = best.unwrap_or_default();
        let nodes = if edits.iter().any(Edit::changes_node) {
            let counted: Vec<NodeId> = match edits.len() {
                1 => found.iter().map(|(node, _)| *node).collect(),
                _ => self.near.iter().copied().take(NODES_COUNTED).collect(),
            };
            counted.into_iter().filter(|node| self.fits(&edits, *node)).collect()
        } else {
            self.all_that_fit(&edits)
        };
        (edits, nodes)
    }

    fn framework(&mut self, edits: &[Edit]) -> Option<Arc<Framework>> {
        let mut exempted: Vec<Exempted> = edits.iter().filter_map(Edit::exempted).cloned().collect();
        if exempted.is_empty() {
            return Some(self.question.framework.clone());
        }
        exempted.sort();
        let make = self.question.excepting;
        self.frameworks.entry(exempted).or_insert_with_key(|exempted| make(exempted)).clone()
    }

    /// The pod after edits, if it still enters the queue.
    fn pod(&mut self, edits: &[Edit], framework: &Arc<Framework>) -> Option<Arc<PodInfo>> {
        let of_pod = |edit: &&Edit| matches!(edit.owner(), EditOwner::Pod | EditOwner::Policy);
        let edits: Vec<Edit> = edits.iter().filter(of_pod).cloned().collect();
        if edits.is_empty() {
            return Some(self.question.pod.clone());
        }
        let Question { snapshot, pod, now, .. } = *self.question;
        let known = self.pods.entry(edits).or_insert_with_key(|edits| {
            let pod = match edits.iter().any(|edit| edit.owner() == EditOwner::Pod) {
                true => Arc::new(Edit::edited_pod(pod, edits)?),
                false => pod.clone(),
            };
            let cycle = Cycle::new(pod.clone(), framework.clone(), now);
            framework.run_pre_enqueue(cycle.handle(snapshot)).is_ok().then_some(pod)
        });
        known.clone()
    }

    /// Whether the pod fits on a node after the edits.
    fn fits(&mut self, edits: &[Edit], node: NodeId) -> bool {
        if !self.try_again(1) {
            return false;
        }
        let Some(framework) = self.framework(edits) else { return false };
        let Some(pod) = self.pod(edits, &framework) else { return false };
        if !edits.iter().any(Edit::changes_node) {
            return Attempt::new(&framework, self.question.snapshot, &pod, self.question.now).fits(node);
        }
        let mut fork = self.question.snapshot.fork();
        edits.iter().for_each(|edit| edit.apply_to_node(&mut fork, node));
        Attempt::new(&framework, &fork, &pod, self.question.now).fits(node)
    }

    /// All nodes that the pod fits after edits that change no node, in row order.
    fn all_that_fit(&mut self, edits: &[Edit]) -> Vec<NodeId> {
        let snapshot = self.question.snapshot;
        if !self.try_again(1 + snapshot.node_count() / NODES_PER_TRIAL) {
            return Vec::new();
        }
        let Some(framework) = self.framework(edits) else { return Vec::new() };
        let Some(pod) = self.pod(edits, &framework) else { return Vec::new() };
        let attempt = Attempt::new(&framework, snapshot, &pod, self.question.now);
        snapshot.nodes().map(|node| node.id()).filter(|id| attempt.fits(*id)).collect()
    }

    /// Whether there are trials left; takes some.
    fn try_again(&mut self, trials: usize) -> bool {
        let may = self.left > 0;
        self.left = self.left.saturating_sub(trials);
        may
    }
}

/// What edits have in common that are one suggestion: amounts and flags are left out, values of
/// labels are not.
fn group(edit: &Edit) -> Edit {
    match edit {
        Edit::NodeLabel { .. } => edit.clone(),
        other => other.kind(),
    }
}

/// One edit of each list, in the order of the lists.
fn combinations(options: &[Vec<Edit>]) -> Vec<Vec<Edit>> {
    let mut all: Vec<Vec<Edit>> = vec![Vec::new()];
    for of in options {
        let longer = all.iter().flat_map(|done| {
            of.iter().map(move |edit| done.iter().cloned().chain([edit.clone()]).collect::<Vec<_>>())
        });
        all = longer.collect();
    }
    all
}
