//! Changes of a pod, a node or a rule, one by one: which are worth a try for a waiting pod, what each does to the pod
//! or to a fork of the cluster, and how it is said. Called by `changes`, which tries them alone and together.

use super::{Explanation, FIT, Whose};
use crate::lang::policy_set::{CompiledPolicy, PolicySet};
use crate::lang::typed::reads::ReadOf;
use crate::lang::types::show;
use crate::model::{
    Change, Effect, HostPort, Node, NodeAffinity, NodeId, NodeInfo, PodInfo, Snapshot, Symbol, Taint,
    Toleration, TolerationOperator,
};
use std::sync::Arc;

/// How many values of a label are tried on a node.
const VALUES: usize = 16;

/// The taint that `kubectl cordon` leads to.
const CORDONED: &str = "node.kubernetes.io/unschedulable";

/// Something that might help; on each node it means one or several [`Edit`]s.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Candidate {
    /// As much of the resource as is free.
    LessOf(Symbol),
    /// One change, the same everywhere.
    One(Edit),
    /// Another value of a label of the node, or none.
    Label(Symbol),
}

/// One change.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Edit {
    /// The pod requests this amount, in base units.
    Request(Symbol, i64),
    /// The pod tolerates the taint.
    Tolerate(Taint),
    /// The pod's node selector has no such key.
    NoSelector(Symbol, Symbol),
    /// The pod has no required node affinity.
    NoAffinity,
    /// The pod has no such host port.
    NoHostPort(HostPort),
    /// The node has this label, or none of this key.
    Label(Symbol, Option<Symbol>),
    /// The node has no such taint.
    Untaint(Taint),
    /// The node takes pods again.
    Uncordon,
    /// The rule of the policy leaves the pod alone.
    Except(String, String),
    /// The pods of the node end, DaemonSets' left out.
    Ends,
}

impl Candidate {
    /// What it means on a node: the edits to be tried there, the smallest first.
    pub(super) fn options(&self, pod: &PodInfo, snapshot: &Snapshot, node: NodeInfo) -> Vec<Edit> {
        match self {
            Candidate::One(edit) => vec![edit.clone()],
            Candidate::LessOf(resource) => {
                let free = node.allocatable().get(resource).saturating_sub(node.requested().get(resource));
                let less = free > 0 && free < pod.requests.get(resource);
                less.then(|| Edit::Request(resource.clone(), free)).into_iter().collect()
            }
            Candidate::Label(key) => {
                let has = node.label(key);
                let values = values_of(pod, snapshot, key).into_iter().map(Some);
                let all = [None].into_iter().chain(values).filter(|value| value.as_ref() != has);
                all.map(|value| Edit::Label(key.clone(), value)).collect()
            }
        }
    }

    /// Whether both speak of one thing, so that they make no pair.
    pub(super) fn excludes(&self, other: &Candidate) -> bool {
        match (self, other) {
            (Candidate::Label(key), Candidate::One(Edit::NoSelector(selector, _)))
            | (Candidate::One(Edit::NoSelector(selector, _)), Candidate::Label(key)) => key == selector,
            (Candidate::One(one), Candidate::One(two)) => match (one, two) {
                (Edit::Tolerate(taint), Edit::Untaint(other))
                | (Edit::Untaint(other), Edit::Tolerate(taint)) => taint == other,
                (Edit::Uncordon, Edit::Tolerate(taint) | Edit::Untaint(taint))
                | (Edit::Tolerate(taint) | Edit::Untaint(taint), Edit::Uncordon) => taint.key == *CORDONED,
                _ => false,
            },
            _ => false,
        }
    }
}

impl Edit {
    /// Whose change it is.
    pub(super) fn whose(&self) -> Whose {
        match self {
            Edit::Request(..)
            | Edit::Tolerate(_)
            | Edit::NoSelector(..)
            | Edit::NoAffinity
            | Edit::NoHostPort(_) => Whose::Pod,
            Edit::Label(..) | Edit::Untaint(_) | Edit::Uncordon => Whose::Node,
            Edit::Except(..) => Whose::Policy,
            Edit::Ends => Whose::Wait,
        }
    }

    /// Whether it changes the node that is asked about, and no other.
    pub(super) fn of_node(&self) -> bool {
        matches!(self.whose(), Whose::Node | Whose::Wait)
    }

    /// Does it to a pod, if it is a change of the pod.
    pub(super) fn change_pod(&self, pod: &mut PodInfo) {
        match self {
            Edit::Request(resource, amount) => match resource.as_str() {
                "cpu" => pod.requests.milli_cpu = *amount,
                "memory" => pod.requests.memory = *amount,
                "ephemeral-storage" => pod.requests.ephemeral_storage = *amount,
                _ => pod.requests.set_scalar(resource.clone(), *amount),
            },
            Edit::Tolerate(taint) => {
                let more = Toleration {
                    key: taint.key.clone(),
                    operator: TolerationOperator::Equal,
                    value: taint.value.clone(),
                    effect: Some(taint.effect),
                };
                pod.tolerations = pod.tolerations.iter().cloned().chain([more]).collect();
            }
            Edit::NoSelector(key, _) => {
                let kept = pod.node_affinity.node_selector.iter().filter(|(known, _)| *known != key);
                let kept = kept.map(|(key, value)| (key.clone(), value.clone())).collect();
                pod.node_affinity = NodeAffinity { node_selector: kept, ..pod.node_affinity.clone() };
            }
            Edit::NoAffinity => pod.node_affinity.required = None,
            Edit::NoHostPort(port) => {
                pod.host_ports = pod.host_ports.iter().filter(|known| *known != port).cloned().collect();
            }
            Edit::Label(..) | Edit::Untaint(_) | Edit::Uncordon | Edit::Except(..) | Edit::Ends => {}
        }
    }

    /// Does it to a node of a fork, if it is a change of the node.
    pub(super) fn change_node(&self, fork: &mut Snapshot, id: NodeId) {
        let Some(info) = fork.node(id) else { return };
        if *self == Edit::Ends {
            let ended: Vec<_> = info.pods().filter(|pod| !stays(pod)).map(|pod| pod.key.clone()).collect();
            for pod in ended {
                fork.apply(Change::PodRemoved { pod });
            }
            return;
        }
        let mut node = Node::clone(info.node());
        match self {
            Edit::Label(key, value) => {
                let others = node.labels.iter().filter(|(known, _)| *known != key);
                let others = others.map(|(key, value)| (key.clone(), value.clone()));
                node.labels = others.chain(value.iter().map(|value| (key.clone(), value.clone()))).collect();
            }
            Edit::Untaint(taint) => {
                node.taints = node.taints.iter().filter(|known| *known != taint).cloned().collect();
            }
            Edit::Uncordon => {
                node.unschedulable = false;
                node.taints = node.taints.iter().filter(|taint| taint.key != *CORDONED).cloned().collect();
            }
            _ => return,
        }
        fork.apply(Change::NodeUpserted { node: Arc::new(node) });
    }

    /// What to do, as a person says it; `which` is the node, or `one of 3 nodes`.
    pub(super) fn words(&self, pod: &PodInfo, which: &str) -> String {
        match self {
            Edit::Request(resource, amount) => {
                let (less, asked) =
                    (amount_of(resource, *amount), amount_of(resource, pod.requests.get(resource)));
                format!("request {less} {resource} instead of {asked}")
            }
            Edit::Tolerate(taint) => format!("tolerate {}", taint_text(taint)),
            Edit::NoSelector(key, value) => format!("leave {key}={value} out of the node selector"),
            Edit::NoAffinity => "leave out the required node affinity".to_owned(),
            Edit::NoHostPort(port) => format!("use no host port {}/{}", port.port, port.protocol),
            Edit::Label(key, Some(value)) => format!("label {which} {key}={value}"),
            Edit::Label(key, None) => format!("remove the label {key} from {which}"),
            Edit::Untaint(taint) => format!("remove the taint {} from {which}", taint_text(taint)),
            Edit::Uncordon => format!("uncordon {which}"),
            Edit::Except(policy, rule) => format!("except this pod from {policy}/{rule}"),
            Edit::Ends => format!("until pods end on {which}"),
        }
    }
}

/// Whether a pod stays when others end: a DaemonSet's comes back at once.
fn stays(pod: &PodInfo) -> bool {
    pod.owners.iter().any(|owner| owner.controller && owner.kind.as_str() == "DaemonSet")
}

/// An amount before the name of its resource: `500m` cpu, not `500mcpu`.
pub(super) fn amount_of(name: &Symbol, amount: i64) -> String {
    let shown = show::resource(name, amount);
    shown.strip_suffix("cpu").map_or(shown.clone(), str::to_owned)
}

fn taint_text(taint: &Taint) -> String {
    let value = if taint.value.is_empty() { String::new() } else { format!("={}", taint.value) };
    format!("{}{value}:{}", taint.key, taint.effect.name())
}

/// What is worth a try: what the rules that refuse nodes speak of.
pub(super) fn candidates(
    explanation: &Explanation,
    snapshot: &Snapshot,
    pod: &PodInfo,
    policies: &PolicySet,
) -> Vec<Candidate> {
    let refusing = |rule: &str| explanation.rules.iter().any(|of| of.rule == rule);
    let mut found = Vec::new();
    let mut add = |candidate: Candidate| {
        if !found.contains(&candidate) {
            found.push(candidate);
        }
    };
    let refusals = explanation.per_node.iter().flat_map(|node| &node.refusals);
    let lacking = refusals.filter(|refusal| refusal.rule == FIT && refusal.what != "pods");
    let mut resources: Vec<&str> = lacking.map(|refusal| refusal.what.as_str()).collect();
    resources.sort_unstable();
    resources.dedup();
    for resource in resources {
        add(Candidate::LessOf(Symbol::new(resource)));
    }
    let mut taints: Vec<Taint> = Vec::new();
    let mut cordoned = false;
    for info in snapshot.nodes() {
        cordoned |= info.node().unschedulable;
        for taint in info.node().taints.iter().filter(|taint| taint.effect.keeps_pods_away()) {
            let tolerated = pod.tolerations.iter().any(|toleration| toleration.tolerates(taint, true));
            if !tolerated && !taints.contains(taint) {
                taints.push(taint.clone());
            }
        }
    }
    if refusing("NodeUnschedulable") {
        let taint = Taint { key: Symbol::new(CORDONED), value: Symbol::new(""), effect: Effect::NoSchedule };
        add(Candidate::One(Edit::Tolerate(taint)));
    }
    if cordoned {
        add(Candidate::One(Edit::Uncordon));
    }
    for taint in taints {
        // Taints of conditions come and go with them: nobody takes them away by hand.
        if !taint.key.starts_with("node.kubernetes.io/") {
            add(Candidate::One(Edit::Untaint(taint.clone())));
        }
        add(Candidate::One(Edit::Tolerate(taint)));
    }
    if refusing("NodeAffinity") {
        for (key, value) in pod.node_affinity.node_selector.iter() {
            add(Candidate::One(Edit::NoSelector(key.clone(), value.clone())));
            add(Candidate::One(Edit::Label(key.clone(), Some(value.clone()))));
        }
        if pod.node_affinity.required.is_some() {
            add(Candidate::One(Edit::NoAffinity));
        }
    }
    if refusing("NodePorts") {
        for port in &pod.host_ports {
            add(Candidate::One(Edit::NoHostPort(port.clone())));
        }
    }
    for policy in policies.iter() {
        let of_policy =
            |rule: &str| rule.strip_prefix(policy.name()).is_some_and(|rest| rest.starts_with('/'));
        let rules: Vec<&str> =
            explanation.rules.iter().map(|of| of.rule.as_str()).filter(|rule| of_policy(rule)).collect();
        for rule in &rules {
            if let Some((policy, filter)) = rule.split_once('/') {
                add(Candidate::One(Edit::Except(policy.to_owned(), filter.to_owned())));
            }
        }
        let before = explanation.refused_before_nodes.as_ref();
        if before.is_some_and(|(plugin, _)| plugin == policy.name()) {
            add(Candidate::One(Edit::Except(policy.name().to_owned(), "prefilter".to_owned())));
        }
        if !rules.is_empty() {
            keys_read(policy).into_iter().for_each(|key| add(Candidate::Label(key)));
        }
    }
    if refusing(FIT) || refusing("NodePorts") {
        add(Candidate::One(Edit::Ends));
    }
    found
}

/// The labels of nodes that filters of a policy read by name.
fn keys_read(policy: &CompiledPolicy) -> Vec<Symbol> {
    let checks = policy.policy.filters.iter().flat_map(|filter| &filter.checks);
    let paths = checks.flat_map(|check| check.reads.paths.keys()).filter(|path| path.of == ReadOf::Node);
    let labels = paths.filter(|path| path.field.is_some_and(|field| field.def().name == "labels"));
    let mut keys: Vec<Symbol> = labels.filter_map(|path| path.key.as_deref()).map(Symbol::new).collect();
    keys.sort();
    keys.dedup();
    keys
}

/// Values that the pod and nodes have under a label key, those of the pod's other labels, and the usual ones.
fn values_of(pod: &PodInfo, snapshot: &Snapshot, key: &Symbol) -> Vec<Symbol> {
    let own = pod.labels.get(key).into_iter();
    let of_nodes = snapshot.nodes().filter_map(|info| info.label(key));
    let of_pod = pod.labels.iter().map(|(_, value)| value);
    let usual = [Symbol::new("1"), Symbol::new("true")];
    let mut values: Vec<Symbol> = Vec::new();
    for value in own.chain(of_nodes).take(1_000).chain(of_pod).chain(&usual) {
        if values.len() < VALUES && !values.contains(value) {
            values.push(value.clone());
        }
    }
    values
}
