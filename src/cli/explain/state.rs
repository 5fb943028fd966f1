//! The cluster that a pod is explained on: as it was at the pod's turn in the queue.

use crate::cli::dry_run::{PLACING, standing};
use crate::cli::progress::Progress;
use crate::cli::setup::Setup;
use crate::dry_run::{Options, Report, Standing, Watcher, World, run as schedule, run_watched};
use crate::explain::unplaced;
use crate::model::{PodInfo, PodKey, Snapshot, Time};
use crate::scheduler::{Decision, DecisionRecord, Scheduler};

/// The cluster at one pod's turn.
pub(super) struct State {
    pub(super) snapshot: Snapshot,
    pub(super) now: Time,
    /// The cluster before the attempt that evicted pods for it.
    pub(super) preempting: Option<Snapshot>,
    /// Pending pods that were placed before it, by their full names.
    pub(super) placed_before: Vec<String>,
}

/// Remembers the cluster before the last attempt that refused a pod.
struct AtTurn<'p> {
    pod: &'p PodKey,
    progress: &'p Progress,
    before: Option<Snapshot>,
    /// Whether a later attempt ended otherwise.
    placed: bool,
    preempting: Option<Snapshot>,
}

impl Watcher for AtTurn<'_> {
    fn wants(&self, next: Option<&PodKey>) -> bool {
        self.progress.step();
        next == Some(self.pod)
    }

    fn decided(&mut self, before: Snapshot, record: &DecisionRecord) {
        if record.key == *self.pod {
            if record.preemption.as_ref().is_some_and(|preemption| preemption.evicts) {
                self.preempting = Some(before.fork());
            }
            self.placed = !matches!(record.decision, Decision::Unschedulable { .. });
            if !self.placed {
                self.before = Some(before);
            }
        }
    }

    fn handled(&mut self, _: &Scheduler, _: Time) {}
}

/// Places the pending pods and returns the cluster at the turn of one of them. A pod that is not
/// refused in an attempt (it is gated, or waited at Permit) is seen on the cluster as it is in the
/// end.
pub(super) fn at_turn(
    setup: &Setup,
    pod: &PodInfo,
    options: &Options,
    progress: &Progress,
) -> (Report, State) {
    progress.stage(PLACING, setup.world.pending.len());
    let mut watcher = AtTurn { pod: &pod.key, progress, before: None, placed: false, preempting: None };
    let report = run_watched(&setup.world, setup.profiles.clone(), options, Some(&mut watcher));
    let now = Time(options.start.0 + report.elapsed.0);
    // A pod that has a node at the end of a dry run, and waits there for others, is shown with its earlier refusal.
    let of_pod = report.pods.iter().find(|of| of.pod.key == pod.key);
    let shown_refused = of_pod.is_some_and(|of| of.waited.is_none() && waits(of));
    let before = watcher.before.filter(|_| !watcher.placed || shown_refused);
    let snapshot = before.unwrap_or_else(|| {
        // Pods that were refused after they had waited on a node hold it from no other pod.
        let in_vain = report.pods.iter().filter(|pod| standing(pod) != pod.standing);
        in_vain.fold(report.scheduler.fork(), |world, pod| unplaced(&world, &pod.pod))
    });
    let placed =
        |pod: &&std::sync::Arc<PodInfo>| snapshot.pod(&pod.key).is_some_and(|entry| entry.placed.is_some());
    let others = setup.world.pending.iter().filter(|other| other.key != pod.key);
    let placed_before = others.filter(placed).map(|pod| pod.full_name()).collect();
    (report, State { snapshot, now, preempting: watcher.preempting, placed_before })
}

/// The cluster without pending pods, for a pod that runs.
pub(super) fn running(setup: &Setup, options: &Options) -> (Report, State) {
    let world = World { pending: Vec::new(), ..setup.world.clone() };
    let report = schedule(&world, setup.profiles.clone(), options);
    let snapshot = report.scheduler.fork();
    (report, State { snapshot, now: options.start, preempting: None, placed_before: Vec::new() })
}

/// Whether a pod of a report waits to be placed.
pub(super) fn waits(report: &crate::dry_run::PodReport) -> bool {
    matches!(standing(report), Standing::Waiting { .. })
}
