//! [`Impact`]: the pods that a change of policies leaves without a node, gives one, or refuses where they run, counted on a fork
//! of the cluster for as long as the time is.

use super::judge::BothSides;
use bayplan_compare::{Refusing, RuleDiff, Verdict};
use bayplan_framework::{Cycle, Framework, PluginId, PreFilterOutcome};
use bayplan_lang::eval::context::EvalContext;
use bayplan_lang::eval::exempt::ExemptPods;
use bayplan_model::{Change, NodeSet, PodInfo, Snapshot, Time};
use bayplan_scheduler::Profiles;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long the pods are counted.
const PATIENCE: Duration = Duration::from_secs(1);

/// The cluster at the moment of a change.
pub(crate) struct View {
    /// A fork of it.
    pub(crate) snapshot: Snapshot,
    /// The profiles in service.
    pub(crate) profiles: Arc<Profiles>,
    /// The instant.
    pub(crate) now: Time,
}

/// What a change does to pods.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Impact {
    /// Pods without a node that have one to go to now, and none after the change.
    pub(crate) begin_to_wait: usize,
    /// Pods without a node that have none to go to now, and have one after the change.
    pub(crate) begin_to_run: usize,
    /// Pods that run where a rule refuses them after the change, and did not before. They go on running.
    pub(crate) refused: usize,
    /// The pods that the policies of the rules which changed apply to.
    pub(crate) applies_to: usize,
}

impl Impact {
    /// The pods that wait after the change: now, or once they are restarted.
    pub(crate) fn waiting(self) -> usize {
        self.begin_to_wait + self.refused
    }
}

/// A rule that changed, before and after.
struct Changed<'p> {
    old: Refusing<'p>,
    new: Refusing<'p>,
}

impl Changed<'_> {
    /// Whether it refuses a pod on the node of the context that it let pass.
    fn begins_to_refuse(&self, context: EvalContext<'_>) -> bool {
        self.new.refuses(context) && !self.old.refuses(context)
    }
}

/// A policy with a rule that changed: all of it, before and after.
struct ChangedPolicy<'p> {
    name: String,
    old: Vec<Refusing<'p>>,
    new: Vec<Refusing<'p>>,
}

/// Counts the pods; `None`: the time was not enough.
pub(crate) fn count(
    view: &mut View,
    diffs: &[RuleDiff],
    sides: &BothSides<'_>,
    exempt: &ExemptPods,
) -> Option<Impact> {
    let end = Instant::now() + PATIENCE;
    let refusing = |diff: &&RuleDiff| diff.kind.refuses_pods() && !diff.only_counts();
    let of = |diff: &RuleDiff, before: bool| match before {
        true => Refusing::of(sides.before(&diff.policy), diff, true, exempt),
        false => Refusing::of(sides.after(&diff.policy), diff, false, exempt),
    };
    let (mut changed, mut policies) = (Vec::new(), Vec::<ChangedPolicy<'_>>::new());
    for diff in diffs.iter().filter(refusing) {
        if matches!(diff.verdict, Verdict::Same | Verdict::Changed) {
            continue;
        }
        changed.push(Changed { old: of(diff, true), new: of(diff, false) });
        if !policies.iter().any(|known| known.name == diff.policy) {
            let all = diffs.iter().filter(refusing).filter(|other| other.policy == diff.policy);
            let all: Vec<&RuleDiff> = all.collect();
            let [old, new] = [true, false].map(|before| all.iter().map(|diff| of(diff, before)).collect());
            policies.push(ChangedPolicy { name: diff.policy.clone(), old, new });
        }
    }
    let mut impact = Impact::default();
    if changed.is_empty() {
        return Some(impact);
    }
    let pods: Vec<Arc<PodInfo>> = view.snapshot.pods().map(|entry| entry.pod.clone()).collect();
    for pod in pods {
        if Instant::now() > end {
            return None;
        }
        let Some(framework) = view.profiles.get(&pod.scheduler_name).cloned() else { continue };
        let placed = view.snapshot.pod(&pod.key).and_then(|entry| entry.placed);
        let context = EvalContext::new(&pod, &view.snapshot, view.now);
        if !changed.iter().any(|of| of.new.applies(context) || of.old.applies(context)) {
            continue;
        }
        impact.applies_to += 1;
        match placed {
            Some((row, how)) => {
                // As if it were not there yet.
                view.snapshot.apply(Change::PodUnplaced { pod: pod.key.clone() });
                if let Some(node) = view.snapshot.node(row) {
                    let context = EvalContext::new(&pod, &view.snapshot, view.now).on(node);
                    impact.refused += usize::from(changed.iter().any(|of| of.begins_to_refuse(context)));
                }
                view.snapshot.apply(Change::PodPlaced { pod, node: row, how });
            }
            None => {
                let (had, has) = nodes_for(view, &framework, &pod, &policies, end)?;
                impact.begin_to_wait += usize::from(had && !has);
                impact.begin_to_run += usize::from(has && !had);
            }
        }
    }
    Some(impact)
}

/// Whether a pod has a node to go to before the change, and after it. The policies that change are evaluated as they were and
/// will be, everything else as the profile has it.
fn nodes_for(
    view: &View,
    framework: &Arc<Framework>,
    pod: &Arc<PodInfo>,
    policies: &[ChangedPolicy<'_>],
    end: Instant,
) -> Option<(bool, bool)> {
    let mut cycle = Cycle::new(pod.clone(), framework.clone(), view.now);
    let is_other = |id: &PluginId| {
        let name = framework.plugin_name(*id);
        !policies.iter().any(|policy| policy.name == name)
    };
    let Some(left) = nodes_left(view, framework, &mut cycle, &is_other) else { return Some((false, false)) };
    let passes = |of: &[Refusing<'_>], context| !of.iter().any(|rule| rule.refuses(context));
    let (mut had, mut has) = (false, false);
    for (at, node) in view.snapshot.nodes().enumerate() {
        if at % 256 == 0 && Instant::now() > end {
            return None;
        }
        let is_left = left.as_ref().is_none_or(|left| left.contains(node.id()));
        let handle = cycle.handle(&view.snapshot);
        let fits = |id: PluginId| {
            let point = framework.plugin(id).and_then(|plugin| plugin.filter());
            point.is_none_or(|point| point.filter(&handle.for_plugin(id), node).is_ok())
        };
        if !is_left || !framework.filters(&cycle.state).filter(&is_other).all(fits) {
            continue;
        }
        let context = EvalContext::new(pod, &view.snapshot, view.now).on(node);
        had = had || policies.iter().all(|policy| passes(&policy.old, context));
        has = has || policies.iter().all(|policy| passes(&policy.new, context));
        if had && has {
            break;
        }
    }
    Some((had, has))
}

/// The nodes that are left before Filter, by the plugins that do not change; the inner `None`: all, the outer one: the pod is
/// refused whatever node it is.
fn nodes_left(
    view: &View,
    framework: &Framework,
    cycle: &mut Cycle,
    is_other: &dyn Fn(&PluginId) -> bool,
) -> Option<Option<NodeSet>> {
    let points = framework.points();
    for id in points.pre_enqueue.iter().copied().filter(is_other) {
        let Some(point) = framework.plugin(id).and_then(|plugin| plugin.pre_enqueue()) else { continue };
        point.pre_enqueue(&cycle.handle(&view.snapshot).for_plugin(id)).ok()?;
    }
    let mut left: Option<NodeSet> = None;
    for id in points.pre_filter.iter().copied().filter(is_other) {
        let Some(point) = framework.plugin(id).and_then(|plugin| plugin.pre_filter()) else { continue };
        let mut slot = cycle.state.slot_mut(id).clone();
        let outcome = point.pre_filter(&cycle.handle(&view.snapshot).for_plugin(id), &mut slot).ok()?;
        *cycle.state.slot_mut(id) = slot;
        match (outcome, &mut left) {
            (PreFilterOutcome::AllNodes, _) => {}
            (PreFilterOutcome::Skip, _) => cycle.state.skip_filter.insert(id),
            (PreFilterOutcome::Only(nodes), Some(left)) => left.intersect(&nodes),
            (PreFilterOutcome::Only(nodes), left) => *left = Some(nodes),
        }
    }
    Some(left)
}
