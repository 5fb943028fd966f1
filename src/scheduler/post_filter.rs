//! The end of an attempt in which no node fits: PostFilter plugins may make the pod schedulable in a later attempt, and the
//! scheduler chooses among the candidates of preemption.
//!
//! Source: `pkg/scheduler/schedule_one.go`, `schedulingAlgorithm`; `pkg/scheduler/framework/preemption/preemption.go`,
//! `Preempt`.

use super::Scheduler;
use super::attempt::Attempt;
use super::refusal::Preemption;
use super::refusal::Refusal;
use bayplan_framework::{Candidate, Cycle, FitError, PostFilterAnswer, Promise, Status, placement_found};
use bayplan_model::{Snapshot, VersionRow};

impl Scheduler {
    /// No node fits: PostFilter plugins may make the pod schedulable in a later attempt. `None` when there is none.
    pub(super) fn post_filter(&self, attempt: &Attempt) -> Option<PostFilterAnswer> {
        let framework = &attempt.cycle.framework;
        let snapshot = attempt.snapshot(&self.cache.snapshot);
        let runs = !framework.points().post_filter.is_empty();
        runs.then(|| framework.run_post_filter(&attempt.cycle, snapshot))
    }

    /// The refusal that follows from the answer of the PostFilter plugins. The pod is unschedulable whatever they
    /// answered. `view` is the cluster that the attempt decides on, if it is not the live one.
    pub(super) fn no_node_fits(
        &self,
        cycle: &mut Cycle,
        view: Option<&Snapshot>,
        answer: Option<PostFilterAnswer>,
    ) -> Refusal {
        let snapshot = view.unwrap_or(&self.cache.snapshot);
        let mut promise = Promise::Clear;
        let mut preemption = None;
        if let Some(answer) = answer {
            (promise, preemption) = chosen(&answer, cycle, snapshot);
            note_rules(&answer, cycle);
            let found = found_text(&promise, preemption.as_ref(), snapshot);
            let message = found.unwrap_or(answer.message);
            cycle.diagnosis.post_filter_message = Some(message).filter(|text| !text.is_empty());
        }
        let fit_error = FitError { all_nodes: snapshot.node_count(), diagnosis: &cycle.diagnosis };
        let message = fit_error.to_string();
        let status = Status::unschedulable(message.as_str());
        Refusal { message, promise, preemption, ..Refusal::plain(status) }
    }
}

/// The text when victims were found on a node.
fn found_text(promise: &Promise, preemption: Option<&Preemption>, snapshot: &Snapshot) -> Option<String> {
    let Promise::To(node) = promise else { return None };
    let victims = preemption?.victims.len();
    let says = snapshot.version_rows().has(VersionRow::FoundPlacementText);
    (says && victims > 0).then(|| placement_found(node, victims))
}

/// Keeps the faults of rules about evictions. Where they kept pods from being evicted, what changes their answers may
/// help the pod.
fn note_rules(answer: &PostFilterAnswer, cycle: &mut Cycle) {
    for (plugin, fault) in &answer.rules.faults {
        cycle.state.slot_mut(*plugin).note_fault(fault.clone());
    }
    if answer.candidates.is_empty() && answer.evict.is_empty() {
        for plugin in answer.rules.refusing.iter() {
            cycle.diagnosis.unschedulable_plugins.insert(plugin);
        }
    }
}

/// The nomination that follows from an answer, and the victims.
pub(super) fn chosen(
    answer: &PostFilterAnswer,
    cycle: &Cycle,
    snapshot: &Snapshot,
) -> (Promise, Option<Preemption>) {
    if let Some(best) = Candidate::best(&answer.candidates, snapshot.wall_clock(cycle.now)) {
        let Candidate { victims, violations, budgets, .. } = best.clone();
        let preemption = Preemption { victims, violations, budgets };
        return (Promise::To(best.name.clone()), Some(preemption));
    }
    let victims = answer.evict.iter().filter_map(|key| snapshot.pod(key));
    let victims: Vec<_> = victims.map(|entry| entry.pod.clone()).collect();
    let preempts = answer.preempts || !victims.is_empty();
    (answer.promise.clone(), preempts.then_some(Preemption { victims, ..Preemption::default() }))
}
