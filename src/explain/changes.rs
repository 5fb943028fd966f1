//! Changes that would help a waiting pod. Each is tried on a fork of the cluster and decided again; only those after
//! which the pod fits are told. Called by `cli explain`; what is tried is here, how filters decide is not.

use super::{Explanation, NodeExplanation};
use crate::framework::{Cycle, Framework, Silent};
use crate::lang::convert;
use crate::lang::policy_set::PolicySet;
use crate::lang::reads::ReadOf;
use crate::model::{
    Change, Node, NodeId, PodInfo, Snapshot, Symbol, Taint, Time, Toleration, TolerationOperator,
};
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::Arc;

/// How many nodes are tried one by one for a change of the node; on the others the change is not offered.
const NODES_TRIED: usize = 200;

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

/// A change after which the pod fits.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Helps {
    /// Whose change it is.
    pub whose: Whose,
    /// What to do, as a person says it.
    pub what: String,
    /// The nodes on which the pod then fits; for a change of one node each of these was tried alone.
    pub nodes: Vec<String>,
}

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
    /// The same plugins without one rule of a policy.
    pub without: &'a dyn Fn(&str, &str) -> Option<Arc<Framework>>,
}

/// Everything that was tried and helps: the owner's changes first, then those that open the most nodes.
pub fn that_help(explanation: &Explanation, question: &Question) -> Vec<Helps> {
    let mut found = Vec::new();
    less_of_a_resource(explanation, question, &mut found);
    tolerations(question, &mut found);
    selector_labels(explanation, question, &mut found);
    policy_labels(explanation, question, &mut found);
    exceptions(explanation, question, &mut found);
    ends_of_pods(explanation, question, &mut found);
    found.sort_by(|a, b| {
        a.whose.cmp(&b.whose).then(b.nodes.len().cmp(&a.nodes.len())).then(a.what.cmp(&b.what))
    });
    found
}

/// The nodes that let the pod in, by name.
fn fits(framework: &Arc<Framework>, snapshot: &Snapshot, pod: &Arc<PodInfo>, now: Time) -> Vec<String> {
    let all = snapshot.nodes().map(|node| node.id());
    let mut asked = Asked::new(framework, snapshot, pod, now);
    all.filter(|id| asked.fits(*id))
        .filter_map(|id| snapshot.node(id))
        .map(|node| node.name().to_string())
        .collect()
}

/// A decision that was begun: nodes can be asked.
struct Asked<'a> {
    cycle: Cycle,
    snapshot: &'a Snapshot,
    left: Result<Option<crate::model::NodeSet>, ()>,
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

/// Whether the pod fits on one node of a changed cluster.
fn fits_on(question: &Question, snapshot: &Snapshot, id: NodeId) -> bool {
    Asked::new(question.framework, snapshot, question.pod, question.now).fits(id)
}

/// The node with other labels: whether the pod then fits on it.
fn fits_with_label(question: &Question, id: NodeId, key: &Symbol, value: Option<&Symbol>) -> bool {
    let Some(info) = question.snapshot.node(id) else { return false };
    let mut node = Node::clone(info.node());
    let others = node.labels.iter().filter(|(known, _)| *known != key).map(|(k, v)| (k.clone(), v.clone()));
    node.labels = others.chain(value.map(|value| (key.clone(), value.clone()))).collect();
    let mut fork = question.snapshot.clone();
    fork.apply(Change::NodeUpserted { node: Arc::new(node) });
    fits_on(question, &fork, id)
}

/// The nodes that only these rules refuse, with their rows.
fn refused_only_by<'e>(
    explanation: &'e Explanation,
    question: &'e Question<'_>,
    by: impl Fn(&str) -> bool + 'e,
) -> impl Iterator<Item = (NodeId, &'e NodeExplanation)> + 'e {
    explanation
        .per_node
        .iter()
        .filter(move |node| {
            !node.refusals.is_empty() && node.refusals.iter().all(|refusal| by(&refusal.rule))
        })
        .filter_map(|node| Some((question.snapshot.node_by_name(&Symbol::new(&node.name))?, node)))
        .take(NODES_TRIED)
}

const FIT: &str = "NodeResourcesFit";

/// A lower request of one resource: as much as is free on the best of the nodes that only lack it.
fn less_of_a_resource(explanation: &Explanation, question: &Question, found: &mut Vec<Helps>) {
    let mut best: BTreeMap<&str, i64> = BTreeMap::new();
    for (id, node) in refused_only_by(explanation, question, |rule| rule == FIT) {
        let [refusal] = &node.refusals[..] else { continue };
        if refusal.what == "pods" {
            continue;
        }
        let (Some(info), name) = (question.snapshot.node(id), Symbol::new(&refusal.what)) else { continue };
        let free = info.allocatable().get(&name).saturating_sub(info.requested().get(&name));
        let known = best.entry(&refusal.what).or_insert(0);
        *known = (*known).max(free);
    }
    for (resource, free) in best.into_iter().filter(|(_, free)| *free > 0) {
        let name = Symbol::new(resource);
        let asked = question.pod.requests.get(&name);
        let mut pod = PodInfo::clone(question.pod);
        match resource {
            "cpu" => pod.requests.milli_cpu = free,
            "memory" => pod.requests.memory = free,
            "ephemeral-storage" => pod.requests.ephemeral_storage = free,
            _ => pod.requests.set_scalar(name.clone(), free),
        }
        let nodes = fits(question.framework, question.snapshot, &Arc::new(pod), question.now);
        // `500m` cpu, not `500mcpu`: the name of the resource stands behind it.
        let show = |amount: i64| {
            let shown = convert::resource(&name, amount);
            shown.strip_suffix("cpu").map_or(shown.clone(), str::to_owned)
        };
        let (less, asked) = (show(free), show(asked));
        add(found, Whose::Pod, format!("request {less} {resource} instead of {asked}"), nodes);
    }
}

/// One more toleration, for each taint that keeps the pod from a node.
fn tolerations(question: &Question, found: &mut Vec<Helps>) {
    let mut taints: Vec<&Taint> = Vec::new();
    for info in question.snapshot.nodes() {
        let node = info.node();
        for taint in node.taints.iter().filter(|taint| taint.effect.keeps_pods_away()) {
            let tolerated =
                question.pod.tolerations.iter().any(|toleration| toleration.tolerates(taint, true));
            if !tolerated && !taints.contains(&taint) {
                taints.push(taint);
            }
        }
    }
    for taint in taints {
        let mut pod = PodInfo::clone(question.pod);
        let more = Toleration {
            key: taint.key.clone(),
            operator: TolerationOperator::Equal,
            value: taint.value.clone(),
            effect: Some(taint.effect),
        };
        pod.tolerations = pod.tolerations.iter().cloned().chain([more]).collect();
        let nodes = fits(question.framework, question.snapshot, &Arc::new(pod), question.now);
        let value = if taint.value.is_empty() { String::new() } else { format!("={}", taint.value) };
        let what = format!("tolerate {}{value}:{}", taint.key, taint.effect.name());
        add(found, Whose::Pod, what, nodes);
    }
}

/// A label that the pod's node selector wants, on a node that lacks it.
fn selector_labels(explanation: &Explanation, question: &Question, found: &mut Vec<Helps>) {
    for (key, value) in question.pod.node_affinity.node_selector.iter() {
        let nodes: Vec<String> = refused_only_by(explanation, question, |rule| rule == "NodeAffinity")
            .filter(|(id, _)| fits_with_label(question, *id, key, Some(value)))
            .map(|(_, node)| node.name.clone())
            .collect();
        add_label(found, key, Some(value), nodes);
    }
}

/// A label that a rule of a policy reads, on a node that only this policy refuses: none, or a value that other nodes
/// or the pod itself have.
fn policy_labels(explanation: &Explanation, question: &Question, found: &mut Vec<Helps>) {
    for compiled in question.policies.iter() {
        let of_policy =
            |rule: &str| rule.strip_prefix(compiled.name()).is_some_and(|rest| rest.starts_with('/'));
        if !explanation.rules.iter().any(|rule| rule.alone > 0 && of_policy(&rule.rule)) {
            continue;
        }
        let mut keys: Vec<Symbol> = Vec::new();
        for check in compiled.policy.filters.iter().flat_map(|filter| &filter.checks) {
            for path in check.reads.paths.keys().filter(|path| path.of == ReadOf::Node) {
                let labels = path.field.is_some_and(|field| field.def().name == "labels");
                if let (true, Some(key)) = (labels, &path.key) {
                    keys.push(Symbol::new(key));
                }
            }
        }
        keys.sort();
        keys.dedup();
        for key in keys {
            let mut opened: BTreeMap<Option<Symbol>, Vec<String>> = BTreeMap::new();
            let values = values_of(question, &key);
            for (id, node) in refused_only_by(explanation, question, of_policy) {
                let has = question.snapshot.node(id).and_then(|info| info.label(&key));
                let none = [None];
                let tried = none.iter().chain(&values).filter(|value| value.as_ref() != has);
                for value in tried {
                    if fits_with_label(question, id, &key, value.as_ref()) {
                        opened.entry(value.clone()).or_default().push(node.name.clone());
                        break;
                    }
                }
            }
            for (value, nodes) in opened {
                add_label(found, &key, value.as_ref(), nodes);
            }
        }
    }
}

/// Values that nodes have under a label key, those of the pod's own labels, and the usual ones; at most sixteen.
fn values_of(question: &Question, key: &Symbol) -> Vec<Option<Symbol>> {
    let own = question.pod.labels.get(key).into_iter();
    let of_nodes = question.snapshot.nodes().filter_map(|info| info.label(key));
    let of_pod = question.pod.labels.iter().map(|(_, value)| value);
    let usual = [Symbol::new("1"), Symbol::new("true")];
    let mut values: Vec<Option<Symbol>> = Vec::new();
    for value in own.chain(of_nodes).chain(of_pod).take(1_000).chain(&usual) {
        if values.len() < 16 && !values.iter().flatten().any(|known| known == value) {
            values.push(Some(value.clone()));
        }
    }
    values
}

fn add_label(found: &mut Vec<Helps>, key: &Symbol, value: Option<&Symbol>, nodes: Vec<String>) {
    let which = match &nodes[..] {
        [] => return,
        [one] => one.clone(),
        many => format!("one of {} nodes", many.len()),
    };
    let what = match value {
        Some(value) => format!("label {which} {key}={value}"),
        None => format!("remove the label {key} from {which}"),
    };
    add(found, Whose::Node, what, nodes);
}

/// The pod excepted from one rule of a policy.
fn exceptions(explanation: &Explanation, question: &Question, found: &mut Vec<Helps>) {
    for rule in &explanation.rules {
        let Some((policy, filter)) = rule.rule.split_once('/') else { continue };
        let Some(framework) = (question.without)(policy, filter) else { continue };
        let nodes = fits(&framework, question.snapshot, question.pod, question.now);
        add(found, Whose::Policy, format!("except this pod from {}", rule.rule), nodes);
    }
}

/// Room that comes free when pods end: the pods of one node, DaemonSets' left out.
fn ends_of_pods(explanation: &Explanation, question: &Question, found: &mut Vec<Helps>) {
    let mut nodes = Vec::new();
    let mut alone: Vec<String> = Vec::new();
    for (id, node) in refused_only_by(explanation, question, |rule| rule == FIT || rule == "NodePorts") {
        let Some(info) = question.snapshot.node(id) else { continue };
        let stays = |pod: &PodInfo| {
            pod.owners.iter().any(|owner| owner.controller && owner.kind.as_str() == "DaemonSet")
        };
        let ends: Vec<Arc<PodInfo>> = info.pods().filter(|pod| !stays(pod)).cloned().collect();
        if ends.is_empty() {
            continue;
        }
        let without = |ended: &[Arc<PodInfo>]| {
            let mut fork = question.snapshot.clone();
            for pod in ended {
                fork.apply(Change::PodRemoved { pod: pod.key.clone() });
            }
            fits_on(question, &fork, id)
        };
        if without(&ends) {
            let one = ends.iter().find(|pod| without(std::slice::from_ref(pod)));
            alone.extend(one.map(|pod| format!("until {} ends on {}", pod.full_name(), node.name)));
            nodes.push(node.name.clone());
        }
    }
    let what = match (&nodes[..], &alone[..]) {
        ([_], [one]) => one.clone(),
        ([one], _) => format!("until pods end on {one}"),
        (many, _) => format!("until pods end on one of {} nodes", many.len()),
    };
    add(found, Whose::Wait, what, nodes);
}

fn add(found: &mut Vec<Helps>, whose: Whose, what: String, nodes: Vec<String>) {
    if !nodes.is_empty() {
        found.push(Helps { whose, what, nodes });
    }
}
