//! Why: from a pod and a snapshot to an [`Explanation`], plain data that text and JSON are renderings of. All filters
//! are asked on all nodes, refused or not; that is done for the explained pod only, the hot path pays nothing.
//!
//! How a scheduler decides is not decided here: the same framework and the same plugins are asked.

pub mod changes;
mod conflicts;
mod count;
mod edits;

pub use changes::Whose;
pub use conflicts::{Conflict, Requirement};
pub use count::{Because, NodeSetCount, RuleCount};

use crate::framework::{Cycle, FitError, Framework, Silent, Violation};
use crate::model::{PodInfo, Snapshot, Time};
use serde::Serialize;
use std::sync::Arc;

/// The plugin whose refusals speak of resources.
const FIT: &str = "NodeResourcesFit";

/// Why a pod waits, or where it fits.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Explanation {
    /// `namespace/name`.
    pub pod: String,
    /// The profile that judges it.
    pub profile: String,
    /// The node it is on already; `None` while it is pending.
    pub node: Option<String>,
    /// How many nodes there are.
    pub nodes: usize,
    /// The nodes that let it in, in row order.
    pub fits: Vec<String>,
    /// What nothing checks of the pod, because plugins of its profile are not built: `podAntiAffinity`.
    pub not_checked: Vec<String>,
    /// Why the pod is refused before any node is asked: plugin and reason.
    pub refused_before_nodes: Option<(String, String)>,
    /// The text of the pod's event if it were tried now; empty when it fits.
    pub message: String,
    /// Nodes by the set of rules that refuse them; the counts and the nodes that fit add up to all nodes.
    pub sets: Vec<NodeSetCount>,
    /// Rules that refuse at least one node, the ones to act on first: by the number of nodes they alone keep away.
    pub rules: Vec<RuleCount>,
    /// Nodes left after each rule, in the order in which rules are asked; rules that refuse nothing are left out.
    pub funnel: Vec<(String, usize)>,
    /// Requirements that no node meets together, the smallest sets first; none when a node fits.
    pub conflicts: Vec<Conflict>,
    /// Each node with everything that keeps it from fitting.
    pub per_node: Vec<NodeExplanation>,
}

/// One node of an explanation.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeExplanation {
    /// The node.
    pub name: String,
    /// What keeps it from fitting; empty when nothing does.
    pub refusals: Vec<Refusal>,
}

/// One thing that keeps a node from fitting.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Refusal {
    /// The rule: a plugin's name, or `policy/rule`.
    pub rule: String,
    /// Where the rule is written; empty for in-tree plugins.
    pub place: String,
    /// The reason, as in events.
    pub reason: String,
    /// What is lacking; empty when the reason says it.
    pub what: String,
    /// What is needed.
    pub need: String,
    /// What is there.
    pub have: String,
}

impl Refusal {
    fn new(plugin: &str, violation: Violation) -> Self {
        let Violation { rule, place, reason, what, need, have } = violation;
        let rule = if rule.is_empty() { plugin.to_owned() } else { format!("{plugin}/{rule}") };
        Self { rule, place, reason, what, need, have }
    }
}

/// Explains a pod: asks every filter about every node of the snapshot. A pod that is on a node already is taken off
/// it first, so that it does not stand in its own way.
pub fn explain(
    framework: &Arc<Framework>,
    snapshot: &Snapshot,
    pod: &Arc<PodInfo>,
    now: Time,
) -> Explanation {
    let placed = snapshot.pod(&pod.key).and_then(|entry| entry.placed);
    let world = unplaced(snapshot, pod);
    let node = placed.and_then(|(node, _)| snapshot.node(node)).map(|node| node.name().to_string());
    let mut explanation = Explanation {
        pod: pod.full_name(),
        profile: framework.scheduler_name.to_string(),
        node,
        nodes: world.node_count(),
        fits: Vec::new(),
        not_checked: Vec::new(),
        refused_before_nodes: None,
        message: String::new(),
        sets: Vec::new(),
        rules: Vec::new(),
        funnel: Vec::new(),
        conflicts: Vec::new(),
        per_node: Vec::new(),
    };
    let mut cycle = Cycle::new(pod.clone(), framework.clone(), now);
    let not_checked = framework.not_checked(cycle.handle(&world));
    explanation.not_checked = not_checked.iter().map(|constraint| constraint.name.to_string()).collect();
    let left = match framework.run_pre_filter(&mut cycle, &world, &mut Silent) {
        Ok(left) => left,
        Err(status) => {
            explanation.refused_before_nodes =
                Some((framework.plugin_name(status.plugin).to_owned(), status.message()));
            explanation.message = event_text(&cycle, world.node_count());
            return explanation;
        }
    };
    let mut firsts = Vec::new();
    for info in world.nodes() {
        let mut refusals = Vec::new();
        let mut first = None;
        if let (Some(left), Some(absent)) = (&left, cycle.diagnosis.nodes.absent())
            && !left.contains(info.id())
        {
            let reason = absent.message();
            first = Some(absent.clone());
            refusals.push(Refusal::new(
                &narrowed_by(&cycle, framework),
                Violation { reason, ..Violation::default() },
            ));
        }
        for id in &framework.points().filter {
            if cycle.state.skip_filter.contains(*id) {
                continue;
            }
            let Some(plugin) = framework.plugin(*id) else { continue };
            let Some(filter) = plugin.filter() else { continue };
            let handle = cycle.handle(&world).for_plugin(*id);
            let mut found = Vec::new();
            filter.violations(&handle, info, &mut found);
            refusals.extend(found.into_iter().map(|violation| Refusal::new(plugin.name(), violation)));
            if first.is_none()
                && let Err(status) = filter.filter(&handle, info)
            {
                first = Some(status.by(*id));
            }
        }
        match first {
            Some(status) => {
                // A plugin that names no violations has refused all the same.
                if refusals.is_empty() {
                    let reason = status.message();
                    refusals.push(Refusal::new(
                        framework.plugin_name(status.plugin),
                        Violation { reason, ..Violation::default() },
                    ));
                }
                firsts.push((info.id(), status));
            }
            None => explanation.fits.push(info.name().to_string()),
        }
        explanation.per_node.push(NodeExplanation { name: info.name().to_string(), refusals });
    }
    if explanation.fits.is_empty() {
        cycle.diagnosis.nodes = Default::default();
        for (node, status) in &firsts {
            cycle.diagnosis.nodes.set(*node, status);
        }
        explanation.message = event_text(&cycle, world.node_count());
    }
    count::count(&mut explanation);
    explanation
}

impl Explanation {
    /// The nodes with the fewest refusals, in row order among equals.
    pub fn nearest(&self, count: usize) -> Vec<&NodeExplanation> {
        let mut refused: Vec<&NodeExplanation> =
            self.per_node.iter().filter(|node| !node.refusals.is_empty()).collect();
        refused.sort_by_key(|node| node.refusals.len());
        refused.truncate(count);
        refused
    }
}

/// The cluster with the pod on no node.
pub fn unplaced(snapshot: &Snapshot, pod: &PodInfo) -> Snapshot {
    let mut world = snapshot.clone();
    if snapshot.pod(&pod.key).is_some_and(|entry| entry.placed.is_some()) {
        world.apply(crate::model::Change::PodUnplaced { pod: pod.key.clone() });
    }
    world
}

fn event_text(cycle: &Cycle, all_nodes: usize) -> String {
    if all_nodes == 0 {
        return "no nodes available to schedule pods".to_owned();
    }
    FitError { all_nodes, diagnosis: &cycle.diagnosis }.to_string()
}

fn narrowed_by(cycle: &Cycle, framework: &Framework) -> String {
    let names: Vec<&str> =
        cycle.diagnosis.unschedulable_plugins.iter().map(|id| framework.plugin_name(id)).collect();
    names.join(", ")
}
