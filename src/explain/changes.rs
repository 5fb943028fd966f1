//! The smallest changes after which a waiting pod fits. Single ones first; where none helps, two together. Each is
//! done to the pod, to the rules or to a fork of the cluster, and the plugins are asked again; only what then fits is
//! told. Called by `cli explain`; which changes there are is in `edits`, how filters decide is not here.

use super::edits::{Candidate, Edit, amount_of, candidates};
use super::{Explanation, FIT};
use crate::framework::{Cycle, Framework, Silent};
use crate::lang::policy_set::PolicySet;
use crate::model::{NodeId, NodeSet, PodInfo, Snapshot, Symbol, Time};
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::Arc;

/// How many nodes a change is tried on one by one.
const NODES_ALONE: usize = 1_000;

/// On how many nodes two changes that were found together are tried again, to count them.
const NODES_COUNTED: usize = 200;

/// The same for two changes together.
const NODES_TOGETHER: usize = 24;

/// How often nodes are asked again in all; then the search ends, and says so.
const TRIALS: usize = 30_000;

/// Whose change it is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Whose {
    /// The pod's owner can do it.
    Pod,
    /// Who runs the nodes can do it.
    Node,
    /// Who writes the policies can do it.
    Policy,
    /// It happens by itself.
    Wait,
}

impl Whose {
    /// The word in texts.
    pub fn word(self) -> &'static str {
        match self {
            Whose::Pod => "pod",
            Whose::Node => "node",
            Whose::Policy => "policy",
            Whose::Wait => "wait",
        }
    }
}

/// One change of those that help together.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Step {
    /// Whose change it is.
    pub whose: Whose,
    /// What to do, as a person says it.
    pub what: String,
}

/// Changes after which the pod fits: one, or two that do nothing alone.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Helps {
    /// Whose change it is; of several that of the one who comes last in the order of [`Whose`].
    pub whose: Whose,
    /// What to do, as a person says it.
    pub what: String,
    /// The nodes on which the pod then fits; for a change of one node each of these was tried alone.
    pub nodes: Vec<String>,
    /// More nodes than these may be opened: not every one was tried.
    pub at_least: bool,
    /// The changes one by one.
    pub steps: Vec<Step>,
}

/// What was found.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Found {
    /// The changes that help: the owner's first, then those that open the most nodes.
    pub helps: Vec<Helps>,
    /// How many changes were tried alone.
    pub tried: usize,
    /// The search ended before everything was tried.
    pub cut_short: bool,
}

/// Rules of policies, each as policy and rule.
pub type Rules<'a> = &'a [(String, String)];

/// The decision that is tried again.
pub struct Question<'a> {
    /// The plugins that judge the pod.
    pub framework: &'a Arc<Framework>,
    /// The cluster; the pod is on no node of it.
    pub snapshot: &'a Snapshot,
    /// The pod.
    pub pod: &'a Arc<PodInfo>,
    /// The policies among the plugins.
    pub policies: &'a PolicySet,
    /// The instant of the decision.
    pub now: Time,
    /// The same plugins without some rules of policies.
    pub without: &'a dyn Fn(Rules) -> Option<Arc<Framework>>,
}

/// The smallest changes that help.
pub fn that_help(explanation: &Explanation, question: &Question) -> Found {
    let candidates = candidates(explanation, question.snapshot, question.pod, question.policies);
    let mut search = Search::new(explanation, question);
    let mut found = Vec::new();
    for candidate in &candidates {
        found.extend(search.opened(&[candidate], NODES_ALONE));
    }
    if found.is_empty() {
        for (at, one) in candidates.iter().enumerate() {
            for two in candidates.iter().skip(at + 1).filter(|two| !one.excludes(two)) {
                found.extend(search.opened(&[one, two], NODES_TOGETHER));
            }
        }
    }
    let mut helps: Vec<Helps> =
        found.into_iter().map(|(edits, nodes)| told(explanation, question, &edits, nodes)).collect();
    helps.sort_by(|a, b| {
        a.whose.cmp(&b.whose).then(b.nodes.len().cmp(&a.nodes.len())).then(a.what.cmp(&b.what))
    });
    helps.dedup_by(|a, b| a.what == b.what);
    Found { helps, tried: candidates.len(), cut_short: search.left == 0 }
}

/// Edits with the nodes that they open.
type Opened = (Vec<Edit>, Vec<NodeId>);

struct Search<'a> {
    question: &'a Question<'a>,
    /// All nodes: one of each set of rules that refuse, the nearest first, then the next of each.
    near: Vec<NodeId>,
    /// How many trials are left.
    left: usize,
    /// Plugins without rules, made once.
    frameworks: BTreeMap<Vec<(String, String)>, Option<Arc<Framework>>>,
}

impl<'a> Search<'a> {
    fn new(explanation: &Explanation, question: &'a Question<'a>) -> Self {
        // Of nodes that the same rules refuse one after the other, so that a few nodes show every case there is.
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
        Self { question, near, left: TRIALS, frameworks: BTreeMap::new() }
    }

    /// What opens nodes when these are done together, on the first so many nodes; edits that differ from node to node
    /// come back apart.
    fn opened(&mut self, candidates: &[&Candidate], first: usize) -> Vec<Opened> {
        let nodes: Vec<NodeId> = self.near.iter().copied().take(first).collect();
        let mut open: BTreeMap<Vec<Edit>, Vec<(NodeId, Vec<Edit>)>> = BTreeMap::new();
        let everywhere = candidates.iter().all(|of| matches!(of, Candidate::One(edit) if !edit.of_node()));
        if everywhere {
            let edits: Vec<Edit> = candidates.iter().filter_map(|of| one(of)).collect();
            let fits = self.all_that_fit(&edits);
            return if fits.is_empty() { Vec::new() } else { vec![(edits, fits)] };
        }
        for node in nodes {
            let Some(info) = self.question.snapshot.node(node) else { continue };
            let options: Vec<Vec<Edit>> = candidates
                .iter()
                .map(|of| of.options(self.question.pod, self.question.snapshot, info))
                .collect();
            let mut tried = combinations(&options).into_iter();
            if let Some(edits) = tried.find(|edits| self.fits(edits, node)) {
                // Amounts are found for each node; they are one change all the same.
                let shape = edits.iter().map(|edit| match edit {
                    Edit::Request(resource, _) => Edit::Request(resource.clone(), 0),
                    other => other.clone(),
                });
                open.entry(shape.collect()).or_default().push((node, edits));
            }
        }
        open.into_values().map(|nodes| self.best(nodes)).filter(|(_, nodes)| !nodes.is_empty()).collect()
    }

    /// The smallest of the amounts that were found on nodes, and the nodes that it opens.
    fn best(&mut self, found: Vec<(NodeId, Vec<Edit>)>) -> Opened {
        let asked = |resource: &Symbol| self.question.pod.requests.get(resource).max(1);
        // How much is left of the requests, the one that is cut most first.
        let left = |edits: &[Edit]| {
            let mut left: Vec<i128> = edits
                .iter()
                .filter_map(|edit| match edit {
                    Edit::Request(name, amount) => {
                        Some(i128::from(*amount) * 1_000_000 / i128::from(asked(name)))
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
        let nodes = if edits.iter().any(Edit::of_node) {
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
        let mut rules: Vec<(String, String)> = edits
            .iter()
            .filter_map(|edit| match edit {
                Edit::Except(policy, rule) => Some((policy.clone(), rule.clone())),
                _ => None,
            })
            .collect();
        if rules.is_empty() {
            return Some(self.question.framework.clone());
        }
        rules.sort();
        if !self.frameworks.contains_key(&rules) {
            let made = (self.question.without)(&rules);
            self.frameworks.insert(rules.clone(), made);
        }
        self.frameworks.get(&rules).cloned().flatten()
    }

    fn pod(&self, edits: &[Edit]) -> Arc<PodInfo> {
        let mut pod = PodInfo::clone(self.question.pod);
        for edit in edits {
            edit.change_pod(&mut pod);
        }
        Arc::new(pod)
    }

    /// Whether the pod fits on a node after the edits.
    fn fits(&mut self, edits: &[Edit], node: NodeId) -> bool {
        if self.left == 0 {
            return false;
        }
        self.left -= 1;
        let Some(framework) = self.framework(edits) else { return false };
        let pod = self.pod(edits);
        if !edits.iter().any(Edit::of_node) {
            return Asked::new(&framework, self.question.snapshot, &pod, self.question.now).fits(node);
        }
        let mut fork = self.question.snapshot.clone();
        for edit in edits {
            edit.change_node(&mut fork, node);
        }
        Asked::new(&framework, &fork, &pod, self.question.now).fits(node)
    }

    /// All nodes that let the pod in after edits that change no node, in row order.
    fn all_that_fit(&mut self, edits: &[Edit]) -> Vec<NodeId> {
        let Some(framework) = self.framework(edits) else { return Vec::new() };
        let pod = self.pod(edits);
        let snapshot = self.question.snapshot;
        let mut asked = Asked::new(&framework, snapshot, &pod, self.question.now);
        snapshot.nodes().map(|node| node.id()).filter(|id| asked.fits(*id)).collect()
    }
}

fn one(candidate: &Candidate) -> Option<Edit> {
    match candidate {
        Candidate::One(edit) => Some(edit.clone()),
        _ => None,
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

/// A decision that was begun: nodes can be asked.
struct Asked<'a> {
    cycle: Cycle,
    snapshot: &'a Snapshot,
    left: Result<Option<NodeSet>, ()>,
}

impl<'a> Asked<'a> {
    fn new(framework: &Arc<Framework>, snapshot: &'a Snapshot, pod: &Arc<PodInfo>, now: Time) -> Self {
        let mut cycle = Cycle::new(pod.clone(), framework.clone(), now);
        let left = framework.run_pre_filter(&mut cycle, snapshot, &mut Silent).map_err(|_| ());
        Self { cycle, snapshot, left }
    }

    fn fits(&mut self, id: NodeId) -> bool {
        let Ok(left) = &self.left else { return false };
        if left.as_ref().is_some_and(|left| !left.contains(id)) {
            return false;
        }
        let handle = self.cycle.handle(self.snapshot);
        let Some(node) = self.snapshot.node(id) else { return false };
        self.cycle.framework.filter_node(handle, node).is_ok()
    }
}

/// Edits as they are told.
fn told(explanation: &Explanation, question: &Question, edits: &[Edit], nodes: Vec<NodeId>) -> Helps {
    let name = |node: &NodeId| question.snapshot.node(*node).map(|info| info.name().to_string());
    let names: Vec<String> = nodes.iter().filter_map(name).collect();
    let tried = if edits.len() == 1 { NODES_ALONE } else { NODES_COUNTED };
    let at_least = edits.iter().any(Edit::of_node) && explanation.nodes > tried;
    let which = match &names[..] {
        [one] => one.clone(),
        many if at_least => format!("one of at least {} nodes", many.len()),
        many => format!("one of {} nodes", many.len()),
    };
    let mut edits = edits.to_vec();
    edits.sort_by_key(Edit::whose);
    let mut steps: Vec<Step> = edits
        .iter()
        .map(|edit| Step { whose: edit.whose(), what: edit.words(question.pod, &which) })
        .collect();
    if let ([Edit::Ends], [step]) = (&edits[..], &mut steps[..])
        && let Some(what) = room_that_comes_free(explanation, question, &names, at_least)
    {
        step.what = what;
    }
    Helps {
        whose: edits.iter().map(Edit::whose).max().unwrap_or(Whose::Wait),
        what: steps.iter().map(|step| step.what.as_str()).collect::<Vec<_>>().join(", and "),
        at_least,
        nodes: names,
        steps,
    }
}

/// `until 1 nvidia.com/gpu comes free on one of 27 nodes, or 2 on one of 283`: where all that is missing on the nodes
/// is one resource. That the pod fits when this much is free was tried: with as much less of the request.
fn room_that_comes_free(
    explanation: &Explanation,
    question: &Question,
    nodes: &[String],
    at_least: bool,
) -> Option<String> {
    let mut by_amount: BTreeMap<i64, usize> = BTreeMap::new();
    let mut of: Option<Symbol> = None;
    for name in nodes {
        let node = explanation.per_node.iter().find(|node| node.name == *name)?;
        let [refusal] = &node.refusals[..] else { return None };
        if refusal.rule != FIT || refusal.what == "pods" {
            return None;
        }
        let resource = Symbol::new(&refusal.what);
        if of.as_ref().is_some_and(|of| *of != resource) {
            return None;
        }
        let id = question.snapshot.node_by_name(&Symbol::new(name))?;
        let info = question.snapshot.node(id)?;
        let free = info.allocatable().get(&resource).saturating_sub(info.requested().get(&resource));
        let mut pod = PodInfo::clone(question.pod);
        Edit::Request(resource.clone(), free.max(0)).change_pod(&mut pod);
        if !Asked::new(question.framework, question.snapshot, &Arc::new(pod), question.now).fits(id) {
            return None;
        }
        *by_amount.entry(question.pod.requests.get(&resource).saturating_sub(free)).or_default() += 1;
        of = Some(resource);
    }
    let resource = of?;
    let amounts: Vec<(i64, usize)> = by_amount.into_iter().collect();
    let on = |count: usize| match (count, nodes) {
        (1, [one]) => one.clone(),
        (1, _) => "one node".to_owned(),
        (many, _) if at_least => format!("one of at least {many} nodes"),
        (many, _) => format!("one of {many} nodes"),
    };
    let (amount, count) = *amounts.first()?;
    let least = amount_of(&resource, amount);
    let comes = if least == "1" { "comes" } else { "come" };
    let mut text = format!("until {least} {resource} {comes} free on {}", on(count));
    match &amounts[1..] {
        [] => {}
        [(amount, count)] => text.push_str(&format!(
            ", or {} on {}",
            amount_of(&resource, *amount),
            on(*count).trim_end_matches(" nodes")
        )),
        more => {
            let count: usize = more.iter().map(|(_, count)| count).sum();
            text.push_str(&format!(", or more on {}", on(count).trim_end_matches(" nodes")));
        }
    }
    Some(text)
}
