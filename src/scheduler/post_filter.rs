//! PostFilter: what the plugins do for a pod that fits on no node, and the text that their answers add to the refusal.
//!
//! Source: `pkg/scheduler/schedule_one.go`, `schedulingAlgorithm`; `pkg/scheduler/framework/runtime/framework.go`,
//! `RunPostFilterPlugins`.

use super::Scheduler;
use super::cycle::Refusal;
use crate::framework::{
    Code, Cycle, FitError, Outcome, PluginId, PostFilter, PostFilterOutcome, Promise, Runner, Status,
    TimedPoint,
};
use crate::model::Snapshot;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The answer of all plugins together.
struct Answer {
    /// The code for metrics.
    code: &'static str,
    message: String,
    promise: Promise,
}

impl Scheduler {
    /// No node fits: PostFilter plugins may make the pod schedulable in a later attempt. The pod is unschedulable
    /// whatever they answer. `view` is the cluster that the attempt decides on, if it is not the live one.
    pub(super) fn no_node_fits(&mut self, cycle: &mut Cycle, view: Option<&Snapshot>) -> Refusal {
        let framework = cycle.framework.clone();
        let snapshot = view.unwrap_or(&self.cache.snapshot);
        let mut promise = Promise::Clear;
        if !framework.points().post_filter.is_empty() {
            let since = framework.mark();
            let answer = answer_of_all(cycle, snapshot);
            framework.point_ended(TimedPoint::PostFilter, answer.code, since);
            cycle.diagnosis.post_filter_message = Some(answer.message).filter(|text| !text.is_empty());
            promise = answer.promise;
        }
        let fit_error = FitError { all_nodes: snapshot.node_count(), diagnosis: &cycle.diagnosis };
        let message = fit_error.to_string();
        Refusal { status: Status::unschedulable(message.as_str()), message, promise, late: false }
    }
}

/// Runs the plugins in order. The first success, the first refusal that nothing can resolve and the first failure end
/// the point, and their text alone counts; otherwise the texts of all refusals do, and the last nomination.
fn answer_of_all(cycle: &Cycle, snapshot: &Snapshot) -> Answer {
    let framework = &cycle.framework;
    let mut reasons: Vec<String> = Vec::new();
    let mut last = Promise::Keep;
    for id in &framework.points().post_filter {
        let Some(point) = framework.plugin(*id).and_then(|plugin| plugin.post_filter()) else { continue };
        let outcome = answer_of(cycle, snapshot, *id, point);
        let code = outcome.code();
        match outcome {
            PostFilterOutcome::Made { promise, message } => return Answer { code, message, promise },
            PostFilterOutcome::Not { status, promise } => match status.code {
                Code::Error => return Answer { code, message: status.message(), promise: Promise::Keep },
                Code::UnschedulableAndUnresolvable => {
                    return Answer { code, message: status.message(), promise };
                }
                Code::Unschedulable | Code::Pending => {
                    reasons.extend(status.reasons().map(str::to_owned));
                    if promise != Promise::Keep {
                        last = promise;
                    }
                }
            },
        }
    }
    Answer { code: Code::Unschedulable.name(), message: reasons.join(", "), promise: last }
}

/// The answer of one plugin; a panic is a failure.
fn answer_of(cycle: &Cycle, snapshot: &Snapshot, id: PluginId, point: &dyn PostFilter) -> PostFilterOutcome {
    let framework = &cycle.framework;
    let handle = cycle.handle(snapshot).for_plugin(id);
    let runner = Runner { framework, handle };
    let answered = catch_unwind(AssertUnwindSafe(|| {
        framework.timed_plugin(cycle.sampled, id, TimedPoint::PostFilter, || {
            Ok(point.post_filter(&handle, &cycle.diagnosis.nodes, &runner))
        })
    }));
    match answered {
        Ok(Ok(outcome)) => outcome,
        Ok(Err(status)) => PostFilterOutcome::not(status),
        Err(_) => {
            let name = framework.plugin_name(id);
            PostFilterOutcome::not(Status::error(format!("plugin {name:?} panicked")))
        }
    }
}
