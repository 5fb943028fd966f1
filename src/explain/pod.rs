//! [`Explanation`] of one pod: what refuses it where, and what would help.

use crate::attempt::{Attempt, NODES_CHOSEN};
use crate::{Conflict, NodeSetCount, RuleCount, count};
use bayplan_framework::{FitError, Framework, PluginId, Shortage, Status, Violation};
use bayplan_model::{
    Change, ClaimSource, DeviceClass, Node, NodeInfo, PersistentVolume, PersistentVolumeClaim, PodInfo,
    ResourceClaim, Snapshot, StorageClass, Symbol, Time,
};
use serde::Serialize;
use std::sync::Arc;

/// Why a pod waits, or where it fits.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Explanation {
    /// `namespace/name`.
    pub pod: String,
    /// The profile that decides on it.
    pub profile: String,
    /// The node it is on; `None` while it is pending.
    pub node: Option<String>,
    /// How many nodes there are.
    pub nodes: usize,
    /// The nodes that it fits, in row order.
    pub fits: Vec<String>,
    /// Why the pod is refused before nodes are evaluated: plugin and reason.
    pub refused_before_nodes: Option<(String, String)>,
    /// Why the pod is refused on the node that an attempt chooses, once it is chosen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refused_late: Option<LateRefusal>,
    /// The objects that the pod names and that do not exist: `PersistentVolumeClaim shop/data`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
    /// The error of an expression in CEL by which it is refused then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_before_nodes: Option<Refusal>,
    /// The text of the pod's event if it were tried now; empty when it fits.
    pub message: String,
    /// Nodes by the set of rules that refuse them; the counts and the nodes that fit add up to all
    /// nodes.
    pub sets: Vec<NodeSetCount>,
    /// Rules that refuse at least one node, ordered by the number of nodes that each alone keeps
    /// away.
    pub rules: Vec<RuleCount>,
    /// Nodes left after each rule, in the order in which rules run; rules that refuse nothing are
    /// left out.
    pub funnel: Vec<(String, usize)>,
    /// Requirements that no node meets together, the smallest sets first; none when a node fits.
    pub conflicts: Vec<Conflict>,
    /// Each node with everything that keeps the pod away from it.
    pub per_node: Vec<NodeExplanation>,
    /// The rules that do not decide and would refuse the pod, or nodes. They are in none of the counts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub would_refuse: Vec<WouldRefuse>,
    /// The exceptions by which policies and rules leave the pod alone.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub exceptions: Vec<ExceptionOf>,
}

/// A refusal in Reserve or Permit.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LateRefusal {
    /// The plugin.
    pub plugin: String,
    /// The node that was chosen: one of those with the highest score.
    pub node: String,
    /// The reason.
    pub reason: String,
}

/// An exception that holds for a pod.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ExceptionOf {
    /// The policy, or `policy/rule`.
    pub rule: String,
    /// Its last day.
    pub until: String,
    /// Why it was made.
    pub because: String,
    /// Where it is written.
    pub place: String,
}

/// A rule that does not decide and would refuse the pod, or nodes.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct WouldRefuse {
    /// `policy/rule`.
    pub rule: String,
    /// The word of its mode.
    pub mode: String,
    /// Where it is written.
    pub place: String,
    /// The reason, of the first node where it depends on the node.
    pub reason: String,
    /// How many nodes it would refuse; `None` when it would refuse the pod.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nodes: Option<usize>,
}

/// One node of an explanation.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeExplanation {
    /// The node.
    pub name: String,
    /// Why it should not be used, whatever the rules say: `cordoned`, `not ready`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trouble: Option<String>,
    /// What keeps the pod away; empty when it fits.
    pub refusals: Vec<Refusal>,
}

/// One thing that keeps a pod away from a node.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Refusal {
    /// The rule: a plugin's name, or `policy/rule`.
    pub rule: String,
    /// Where the rule is written; empty for in-tree plugins.
    pub place: String,
    /// The reason, as in events.
    pub reason: String,
    /// The missing item; empty when the reason names it.
    pub what: String,
    /// The required amount.
    pub need: String,
    /// The available amount.
    pub have: String,
    /// The amounts, if the missing item is a resource.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shortage: Option<Shortage>,
}

impl Refusal {
    fn new(plugin: &str, violation: Violation) -> Self {
        let Violation { rule, place, reason, what, need, have, shortage } = violation;
        let rule = if rule.is_empty() { plugin.to_owned() } else { format!("{plugin}/{rule}") };
        Self { rule, place, reason, what, need, have, shortage }
    }
}

/// Explains a pod: runs every filter on every node of the snapshot. A pod that has a node is taken
/// off it first, and its binding is not a requirement: the pod must not compete with itself.
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
        refused_before_nodes: None,
        refused_late: None,
        missing: missing(&world, pod),
        error_before_nodes: None,
        message: String::new(),
        sets: Vec::new(),
        rules: Vec::new(),
        funnel: Vec::new(),
        conflicts: Vec::new(),
        per_node: Vec::new(),
        would_refuse: Vec::new(),
        exceptions: Vec::new(),
    };
    let mut attempt = Attempt::new(framework, &world, &unbound(pod), now);
    explanation.would_refuse = would_refuse(&attempt);
    explanation.exceptions = exceptions(&attempt);
    if let Some(status) = attempt.refused() {
        let plugin = framework.plugin_name(status.plugin).to_owned();
        let refusal = before_nodes(&plugin, status);
        explanation.per_node = world.nodes().map(|info| kept_away(info, &refusal)).collect();
        explanation.error_before_nodes = status.fault().map(|_| refusal);
        explanation.refused_before_nodes = Some((plugin, status.message()));
        explanation.message = event_text(&attempt, world.node_count());
        return explanation;
    }
    let mut firsts = Vec::new();
    for info in world.nodes() {
        let (refusals, first) = refusals(&attempt, info);
        match first {
            Some(status) => firsts.push((info.id(), status)),
            None => explanation.fits.push(info.name().to_string()),
        }
        let trouble = trouble(info.node()).map(str::to_owned);
        explanation.per_node.push(NodeExplanation { name: info.name().to_string(), trouble, refusals });
    }
    if explanation.fits.is_empty() {
        attempt.cycle.diagnosis.nodes = Default::default();
        for (node, status) in &firsts {
            attempt.cycle.diagnosis.nodes.set(*node, status);
        }
        explanation.message = event_text(&attempt, world.node_count());
    } else if explanation.node.is_none() && attempt.may_be_refused_late() {
        explanation.refused_late = refused_late(&attempt);
    }
    count::count(&mut explanation);
    explanation
}

/// The claims of a pod that do not exist, and volumes and classes that its claims name. Claims of ephemeral volumes are made
/// by a controller.
pub(crate) fn missing(world: &Snapshot, pod: &PodInfo) -> Vec<String> {
    let everywhere = Symbol::default();
    let mut absent = Vec::new();
    for (_, name, ephemeral) in pod.claims() {
        let Some(claim) = world.object::<PersistentVolumeClaim>(&pod.namespace, &name) else {
            if !ephemeral {
                absent.push(format!("PersistentVolumeClaim {}/{name}", pod.namespace));
            }
            continue;
        };
        let named = |name: &Symbol| *name != everywhere;
        let has_volume = named(&claim.volume);
        if has_volume && world.object::<PersistentVolume>(&everywhere, &claim.volume).is_none() {
            absent.push(format!("PersistentVolume {}", claim.volume));
        }
        // A volume may have a class that does not exist.
        let of_class = || world.objects::<PersistentVolume>().any(|volume| volume.class == claim.class);
        if !has_volume
            && named(&claim.class)
            && world.object::<StorageClass>(&everywhere, &claim.class).is_none()
            && !of_class()
        {
            absent.push(format!("StorageClass {}", claim.class));
        }
    }
    missing_devices(world, pod, &mut absent);
    absent.dedup();
    absent
}

/// The resource claims of a pod that do not exist and that no controller makes, and classes of devices that its claims name.
fn missing_devices(world: &Snapshot, pod: &PodInfo, absent: &mut Vec<String>) {
    for entry in pod.devices().map_or(&[][..], |devices| &devices.claims) {
        let made = pod.generated_claims().0.iter().find(|(of, _)| *of == entry.name);
        let name = match (&entry.source, made) {
            (ClaimSource::Claim(name), _) | (_, Some((_, Some(name)))) => name,
            _ => continue,
        };
        let Some(claim) = world.object::<ResourceClaim>(&pod.namespace, name) else {
            if matches!(entry.source, ClaimSource::Claim(_)) {
                absent.push(format!("ResourceClaim {}/{name}", pod.namespace));
            }
            continue;
        };
        if claim.allocation.is_some() {
            continue;
        }
        for request in claim.requests.iter() {
            let exactly = request.exactly.iter().map(|exactly| &exactly.device);
            let devices = exactly.chain(request.first_available.iter().map(|of| &of.device));
            let classes = devices.map(|device| &device.device_class_name).filter(|class| !class.is_empty());
            let gone =
                classes.filter(|class| world.object::<DeviceClass>(&Symbol::default(), class).is_none());
            absent.extend(gone.map(|class| format!("DeviceClass {class}")));
        }
    }
}

/// The refusal of a pod before nodes are evaluated; of an error in CEL with its place and the expression.
pub(crate) fn before_nodes(plugin: &str, status: &Status) -> Refusal {
    let fault = status.fault();
    let violation = Violation {
        rule: fault.map(|fault| fault.rule.to_string()).unwrap_or_default(),
        place: fault.map(|fault| fault.place.to_string()).unwrap_or_default(),
        reason: status.message(),
        what: fault.map(|fault| fault.message.to_string()).unwrap_or_default(),
        ..Violation::default()
    };
    Refusal::new(plugin, violation)
}

/// A node of a pod that is refused before nodes are evaluated.
pub(crate) fn kept_away(info: NodeInfo<'_>, refusal: &Refusal) -> NodeExplanation {
    let trouble = trouble(info.node()).map(str::to_owned);
    NodeExplanation { name: info.name().to_string(), trouble, refusals: vec![refusal.clone()] }
}

/// The first of the best nodes on which Reserve or Permit refuses the pod.
pub(crate) fn refused_late(attempt: &Attempt) -> Option<LateRefusal> {
    let best = attempt.best(&attempt.all_that_fit())?;
    best.into_iter().take(NODES_CHOSEN).find_map(|id| {
        let status = attempt.chosen(id).err()?;
        Some(LateRefusal {
            plugin: attempt.cycle.framework.plugin_name(status.plugin).to_owned(),
            node: attempt.snapshot.node(id)?.name().to_string(),
            reason: status.message(),
        })
    })
}

/// The rules that do not decide and would refuse the pod, or nodes of the cluster.
pub(crate) fn would_refuse(attempt: &Attempt) -> Vec<WouldRefuse> {
    let (cycle, snapshot) = (&attempt.cycle, attempt.snapshot);
    let mut found = Vec::new();
    for (id, rules) in cycle.framework.counting() {
        let policy = cycle.framework.plugin_name(id);
        let handle = cycle.handle(snapshot).for_plugin(id);
        let of = rules.refusals(&handle, snapshot.columns().alive());
        found.extend(of.into_iter().map(|of| WouldRefuse {
            rule: format!("{policy}/{}", of.rule),
            mode: of.mode.to_owned(),
            place: of.place,
            reason: of.reason,
            nodes: of.nodes,
        }));
    }
    found
}

/// The exceptions that hold for the pod.
pub(crate) fn exceptions(attempt: &Attempt) -> Vec<ExceptionOf> {
    let framework = &attempt.cycle.framework;
    let all = framework.left_alone(&attempt.cycle.handle(attempt.snapshot)).into_iter();
    let of = all.map(|(id, of)| {
        let policy = framework.plugin_name(id);
        ExceptionOf {
            rule: of.rule.map_or_else(|| policy.to_owned(), |rule| format!("{policy}/{rule}")),
            until: of.until,
            because: of.because,
            place: of.place,
        }
    });
    of.collect()
}

/// All refusals of a node, and the status that an attempt would record.
pub(crate) fn refusals(attempt: &Attempt, node: NodeInfo<'_>) -> (Vec<Refusal>, Option<Status>) {
    let cycle = &attempt.cycle;
    let framework = &cycle.framework;
    let (mut refusals, mut first) = (Vec::new(), None);
    let left_out_by = attempt.left_out_by(node.id());
    if let (false, Some(absent)) = (left_out_by.is_empty(), cycle.diagnosis.nodes.absent()) {
        first = Some(absent.clone());
        let reason = absent.message();
        refusals.push(Refusal::new(
            &names(framework, &left_out_by),
            Violation { reason, ..Violation::default() },
        ));
    }
    for id in &framework.points().filter {
        if cycle.state.skip_filter.contains(*id) {
            continue;
        }
        let Some(plugin) = framework.plugin(*id) else { continue };
        let Some(filter) = plugin.filter() else { continue };
        let handle = cycle.handle(attempt.snapshot).for_plugin(*id);
        let mut found = Vec::new();
        filter.violations(&handle, node, &mut found);
        refusals.extend(found.into_iter().map(|violation| Refusal::new(plugin.name(), violation)));
        if first.is_none()
            && let Err(status) = filter.filter(&handle, node)
        {
            first = Some(status.by(*id));
        }
    }
    // A plugin that names no violations has refused all the same.
    if let (Some(status), true) = (&first, refusals.is_empty()) {
        let reason = status.message();
        let plugin = framework.plugin_name(status.plugin);
        refusals.push(Refusal::new(plugin, Violation { reason, ..Violation::default() }));
    }
    if first.is_none()
        && let Err(status) = framework.filter_with_nominated(cycle.handle(attempt.snapshot), node)
    {
        refusals.push(beside_nominated(attempt, node, &status));
        first = Some(status);
    }
    (refusals, first)
}

/// The pod fits the node, and not together with the pods that are nominated to it.
pub(crate) fn beside_nominated(attempt: &Attempt, node: NodeInfo<'_>, status: &Status) -> Refusal {
    let handle = attempt.cycle.handle(attempt.snapshot);
    let keeps = |other: &&Arc<PodInfo>| attempt.cycle.framework.keeps_from(other, handle, node);
    let names = attempt.snapshot.nominated(node.id()).iter().filter(keeps);
    let names: Vec<String> =
        names.map(|other| format!("{} (priority {})", other.full_name(), other.priority)).collect();
    let violation = Violation {
        reason: status.message(),
        what: "beside nominated pods".to_owned(),
        need: "room for this pod too".to_owned(),
        have: format!("room kept for {}", names.join(", ")),
        ..Violation::default()
    };
    Refusal::new(attempt.cycle.framework.plugin_name(status.plugin), violation)
}

impl Explanation {
    /// The nodes that are nearest to fitting.
    pub fn nearest(&self, count: usize) -> Vec<&NodeExplanation> {
        let mut refused: Vec<&NodeExplanation> =
            self.per_node.iter().filter(|node| !node.refusals.is_empty()).collect();
        refused.sort_by_key(|node| node.distance());
        refused.truncate(count);
        refused
    }
}

impl NodeExplanation {
    /// How far the pod is from fitting: healthy nodes first, then the fewest refusals, then the
    /// smallest share of the requests that is missing, in thousandths.
    pub fn distance(&self) -> (bool, usize, i64) {
        let missing = |shortage: &Shortage| {
            let missing = i128::from(shortage.needed) - i128::from(shortage.free);
            (missing * 1_000 / i128::from(shortage.needed.max(1))).clamp(0, 1_000) as i64
        };
        let shortages = self.refusals.iter().filter_map(|refusal| refusal.shortage.as_ref());
        (self.trouble.is_some(), self.refusals.len(), shortages.map(missing).sum())
    }
}

/// The cluster with the pod on no node.
pub fn unplaced(snapshot: &Snapshot, pod: &PodInfo) -> Snapshot {
    let mut world = snapshot.fork();
    if snapshot.pod(&pod.key).is_some_and(|entry| entry.placed.is_some()) {
        world.apply(Change::PodUnplaced { pod: pod.key.clone() });
    }
    world
}

/// The pod without its binding.
pub(crate) fn unbound(pod: &Arc<PodInfo>) -> Arc<PodInfo> {
    if pod.node_name.is_none() {
        return pod.clone();
    }
    Arc::new(PodInfo { node_name: None, ..PodInfo::clone(pod) })
}

/// Why a node should not be used, whatever the rules say.
pub fn trouble(node: &Node) -> Option<&'static str> {
    let tainted = |key: &str| node.taints.iter().any(|taint| taint.key.as_str() == key);
    if node.deleted.is_some() {
        Some("being deleted")
    } else if tainted("node.kubernetes.io/unreachable") {
        Some("unreachable")
    } else if tainted("node.kubernetes.io/not-ready")
        || !node.is_ready() && node.conditions.iter().any(|(kind, _)| kind.as_str() == "Ready")
    {
        Some("not ready")
    } else if node.unschedulable || tainted(bayplan_framework::CORDONED) {
        Some("cordoned")
    } else {
        None
    }
}

pub(crate) fn event_text(attempt: &Attempt, all_nodes: usize) -> String {
    if all_nodes == 0 {
        return "no nodes available to schedule pods".to_owned();
    }
    FitError { all_nodes, diagnosis: &attempt.cycle.diagnosis }.to_string()
}

pub(crate) fn names(framework: &Framework, plugins: &[PluginId]) -> String {
    let names: Vec<&str> = plugins.iter().map(|id| framework.plugin_name(*id)).collect();
    names.join(", ")
}
