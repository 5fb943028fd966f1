//! The smallest changes after which a waiting pod is placed: single edits first; where none helps,
//! pairs. Each is made on the pod, the policies or a fork of the snapshot, and the plugins are run
//! again, up to Permit; only what then gets a node is reported.
//!
//! Called by `cli explain` and `overview`. The plugins propose the edits (`candidates.rs`); how
//! suggestions are worded and ranked is in `suggestions.rs`.

use super::Explanation;
use super::attempt::{Attempt, NODES_CHOSEN};
use super::candidates::{Candidate, candidates};
use super::suggestions::{Suggestions, ranked};
use bayplan_framework::{Cycle, Edit, EditOwner, Exempted, Framework, PluginId};
use bayplan_model::{Change, NodeId, PodInfo, Snapshot, Symbol, Time};
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
    /// The profile's plugins as they are once these policies and rules have exceptions for the pod.
    pub excepting: &'a dyn Fn(&[Exempted]) -> Option<Arc<Framework>>,
}

/// Finds the smallest changes that help. None for a pod that would get a node as it is.
pub fn that_help(explanation: &Explanation, question: &Question) -> Suggestions {
    let mut search = Search::new(explanation, question);
    if !explanation.fits.is_empty() && !search.all_that_fit(&[]).is_empty() {
        return Suggestions::default();
    }
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

/// Edits with what they lead to.
pub(super) struct Opened {
    pub(super) edits: Vec<Edit>,
    /// The nodes that they open.
    pub(super) nodes: Vec<NodeId>,
    /// The plugins for which the pod then waits at Permit.
    pub(super) waits: Vec<Symbol>,
}

struct Search<'a> {
    question: &'a Question<'a>,
    /// All nodes: one of each set of rules that refuse, the nearest first, then the next of each.
    near: Vec<NodeId>,
    /// Whether nodes pass every filter as it is, so that an attempt chooses among several.
    some_fit: bool,
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
        let some_fit = !explanation.fits.is_empty();
        let (frameworks, pods) = Default::default();
        Self { question, near, some_fit, left: question.trials, frameworks, pods }
    }

    /// What opens nodes when these are made together, on the first so many nodes. Edits that differ
    /// in more than an amount or value are separate results.
    fn opened(&mut self, candidates: &[&Candidate], first: usize) -> Vec<Opened> {
        if candidates.iter().all(|candidate| candidate.is_uniform()) {
            let edits: Vec<Edit> = candidates.iter().map(|candidate| candidate.anywhere()).collect();
            let fits = self.all_that_fit(&edits);
            return self.ended(edits, fits).into_iter().collect();
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
        open.into_values().filter_map(|nodes| self.best(nodes)).collect()
    }

    /// The edits with the largest of the requests that were found, or the smallest skew, and the nodes that they open.
    fn best(&mut self, found: Vec<(NodeId, Vec<Edit>)>) -> Option<Opened> {
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
                    Edit::DeviceCount { from, to, .. } => {
                        Some(i128::from(*to) * 1_000_000 / i128::from((*from).max(1)))
                    }
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
        self.ended(edits, nodes)
    }

    /// Edits that open nodes, with what whole attempts come to. An edit of a node was tried there alone: a whole attempt
    /// chooses among all nodes, of which it may have opened others.
    fn ended(&mut self, edits: Vec<Edit>, mut nodes: Vec<NodeId>) -> Option<Opened> {
        let mut waits: Vec<Symbol> = Vec::new();
        let each = edits.iter().any(Edit::changes_node);
        let asked = if each { nodes.len().min(NODES_CHOSEN) } else { nodes.len().min(1) };
        let mut refused = Vec::new();
        for node in nodes.iter().take(asked).copied() {
            let ends = self.with(&edits, Some(node), |attempt| {
                if !attempt.may_be_refused_late() {
                    return Some(Vec::new());
                }
                let names = |id: &PluginId| Symbol::new(attempt.cycle.framework.plugin_name(*id));
                let ends = attempt.ends(&attempt.all_that_fit())?;
                Some(ends.iter().map(names).collect::<Vec<_>>())
            });
            match ends.flatten() {
                Some(of) => {
                    waits.extend(of.into_iter().filter(|name| !waits.contains(name)).collect::<Vec<_>>())
                }
                None => refused.push(node),
            }
        }
        nodes.retain(|node| !refused.contains(node));
        (!nodes.is_empty()).then_some(Opened { edits, nodes, waits })
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

    /// Asks an attempt after the edits; those of nodes are made on one node. `None` where an edit cannot be made.
    fn with<T>(
        &mut self,
        edits: &[Edit],
        node: Option<NodeId>,
        ask: impl FnOnce(&Attempt<'_>) -> T,
    ) -> Option<T> {
        let framework = self.framework(edits)?;
        let pod = self.pod(edits, &framework)?;
        let Question { snapshot, now, .. } = *self.question;
        let changed = !Arc::ptr_eq(&pod, self.question.pod);
        let in_cluster = |edit: &Edit| edit.changes_node() || edit.changes_claim() || edit.is_wait();
        if !changed && !edits.iter().any(in_cluster) {
            return Some(ask(&Attempt::new(&framework, snapshot, &pod, now)));
        }
        let mut fork = snapshot.fork();
        if let Some(node) = node {
            edits.iter().for_each(|edit| edit.apply_to_node(&mut fork, node));
        }
        edits.iter().for_each(|edit| edit.apply_everywhere(&mut fork));
        if changed && snapshot.pod(&pod.key).is_some() {
            fork.apply(Change::PodPending { pod: pod.clone() });
        }
        Some(ask(&Attempt::new(&framework, &fork, &pod, now)))
    }

    /// Whether the pod gets a node after edits that are made on this one.
    fn fits(&mut self, edits: &[Edit], node: NodeId) -> bool {
        let chooses = self.some_fit;
        if !self.try_again(1) {
            return false;
        }
        let fits = self.with(edits, Some(node), |attempt| {
            attempt.fits(node)
                && (!attempt.may_be_refused_late()
                    || match chooses {
                        true => attempt.ends(&attempt.all_that_fit()).is_some(),
                        false => attempt.chosen(node).is_ok(),
                    })
        });
        fits.unwrap_or_default()
    }

    /// All nodes that the pod may get after edits that change no node, in row order. Of many nodes Reserve and Permit
    /// run on the best alone.
    fn all_that_fit(&mut self, edits: &[Edit]) -> Vec<NodeId> {
        if !self.try_again(1 + self.question.snapshot.node_count() / NODES_PER_TRIAL) {
            return Vec::new();
        }
        let fits = self.with(edits, None, |attempt| {
            let fits = attempt.all_that_fit();
            if !attempt.may_be_refused_late() {
                return fits;
            }
            if attempt.ends(&fits).is_none() {
                return Vec::new();
            }
            let few = fits.len() <= NODES_CHOSEN;
            fits.into_iter().filter(|node| !few || attempt.chosen(*node).is_ok()).collect()
        });
        fits.unwrap_or_default()
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
