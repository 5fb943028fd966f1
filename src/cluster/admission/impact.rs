//! [`Impact`]: the pods that a change of policies leaves without a node, or refuses where they run, counted on a fork of the
//! cluster for as long as the time is.

use super::judge::BothSides;
use bayplan_compare::{Refusing, RuleDiff, Verdict};
use bayplan_framework::{Cycle, Framework, Silent};
use bayplan_lang::eval::context::EvalContext;
use bayplan_lang::eval::exempt::ExemptPods;
use bayplan_model::{Change, PodInfo, Snapshot, Time};
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

/// Counts the pods; `None`: the time was not enough.
pub(crate) fn count(
    view: &mut View,
    diffs: &[RuleDiff],
    sides: &BothSides<'_>,
    exempt: &ExemptPods,
) -> Option<Impact> {
    let end = Instant::now() + PATIENCE;
    let stricter = diffs.iter().filter(|diff| diff.kind.refuses_pods() && !diff.only_counts());
    let changed = stricter
        .filter(|diff| !matches!(diff.verdict, Verdict::Same | Verdict::Looser(_) | Verdict::Changed));
    let changed: Vec<Changed<'_>> = changed
        .map(|diff| Changed {
            old: Refusing::of(sides.before(&diff.policy), diff, true, exempt),
            new: Refusing::of(sides.after(&diff.policy), diff, false, exempt),
        })
        .collect();
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
                impact.begin_to_wait += usize::from(begins_to_wait(view, &framework, &pod, &changed, end)?)
            }
        }
    }
    Some(impact)
}

/// Whether a pod has a node to go to now, and the rules that changed refuse all of them.
fn begins_to_wait(
    view: &View,
    framework: &Arc<Framework>,
    pod: &Arc<PodInfo>,
    changed: &[Changed<'_>],
    end: Instant,
) -> Option<bool> {
    let mut cycle = Cycle::new(pod.clone(), framework.clone(), view.now);
    let Ok(left) = framework.run_pre_filter(&mut cycle, &view.snapshot, &mut Silent) else {
        return Some(false);
    };
    let mut had_one = false;
    for (at, node) in view.snapshot.nodes().enumerate() {
        if at % 256 == 0 && Instant::now() > end {
            return None;
        }
        let is_left = left.as_ref().is_none_or(|left| left.contains(node.id()));
        if !is_left || framework.filter_node(cycle.handle(&view.snapshot), node).is_err() {
            continue;
        }
        had_one = true;
        let context = EvalContext::new(pod, &view.snapshot, view.now).on(node);
        if !changed.iter().any(|of| of.begins_to_refuse(context)) {
            return Some(false);
        }
    }
    Some(had_one)
}
