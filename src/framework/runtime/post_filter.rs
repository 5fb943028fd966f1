//! PostFilter: what the plugins do for a pod that fits on no node, and the text that their answers add to the refusal.
//!
//! Source: `pkg/scheduler/framework/runtime/framework.go`, `RunPostFilterPlugins`.

use super::{Cycle, Framework};
use crate::Runner;
use crate::candidates::Candidate;
use crate::plugin_id::PluginId;
use crate::points::{PostFilter, PostFilterOutcome, Promise};
use crate::preemption::{PreemptionRules, RuleNotes};
use crate::probe::{Outcome, TimedPoint};
use crate::status::{Code, Status};
use bayplan_model::{PodKey, Snapshot};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The answer of all PostFilter plugins together.
#[derive(Clone, PartialEq, Debug)]
pub struct PostFilterAnswer {
    /// The name of the code, for metrics.
    pub code: &'static str,
    /// The text that follows the reasons of the filters; empty for none.
    pub message: String,
    /// The nomination that follows, if there are no candidates.
    pub promise: Promise,
    /// The nodes among which the scheduler chooses one to evict pods from.
    pub candidates: Vec<Candidate>,
    /// The reasons of the plugins before the one that found candidates: they count when extenders leave none of these.
    pub before: Vec<String>,
    /// Pods that are evicted whatever is chosen, the most important first.
    pub evict: Vec<PodKey>,
    /// Whether a plugin tried to preempt other pods.
    pub preempts: bool,
    /// What came of asking the rules about evictions.
    pub rules: RuleNotes,
}

impl Framework {
    /// Runs the PostFilter plugins in order. The first success, the first refusal that nothing can resolve and the first
    /// failure end the point, and their text alone counts; otherwise the texts of all refusals do, and the last
    /// nomination.
    pub fn run_post_filter(&self, cycle: &Cycle, snapshot: &Snapshot) -> PostFilterAnswer {
        let since = self.mark();
        let mut answer = self.ask_post_filters(cycle, snapshot, None);
        if answer.candidates.is_empty() && answer.evict.is_empty() {
            answer.rules.refusing.union(&self.rules_to_begin(cycle.handle(snapshot)));
        }
        self.point_ended(TimedPoint::PostFilter, answer.code, since);
        answer
    }

    /// Runs the PostFilter plugins without counts and times. `with` are rules about evictions beside those of the plugins.
    pub(super) fn ask_post_filters(
        &self,
        cycle: &Cycle,
        snapshot: &Snapshot,
        with: Option<(PluginId, &dyn PreemptionRules)>,
    ) -> PostFilterAnswer {
        let mut reasons: Vec<String> = Vec::new();
        let mut all = PostFilterAnswer {
            code: Code::Unschedulable.name(),
            message: String::new(),
            promise: Promise::Keep,
            candidates: Vec::new(),
            before: Vec::new(),
            evict: Vec::new(),
            preempts: false,
            rules: RuleNotes::default(),
        };
        let substitute = self.substitute(cycle.handle(snapshot));
        for id in &self.points().post_filter {
            let Some(point) = self.plugin(*id).and_then(|plugin| plugin.post_filter()) else { continue };
            if point.is_substitute() && substitute != Some(*id) {
                continue;
            }
            let mut runner = Runner { with, ..Runner::new(self, cycle.handle(snapshot).for_plugin(*id)) };
            let outcome = self.ask_post_filter(cycle, *id, point, &mut runner);
            all.rules.add(std::mem::take(&mut runner.notes));
            let code = outcome.code();
            all.preempts |= point.preempts();
            match outcome {
                PostFilterOutcome::Made { promise, message, evict } => {
                    return PostFilterAnswer { code, message, promise, evict, ..all };
                }
                PostFilterOutcome::Candidates(candidates) => {
                    let (promise, before) = (Promise::Keep, reasons);
                    return PostFilterAnswer { code, promise, candidates, before, ..all };
                }
                PostFilterOutcome::Not { status, promise } => match status.code {
                    Code::Error => {
                        let promise = Promise::Keep;
                        return PostFilterAnswer { code, message: status.message(), promise, ..all };
                    }
                    Code::UnschedulableAndUnresolvable => {
                        return PostFilterAnswer { code, message: status.message(), promise, ..all };
                    }
                    Code::Unschedulable | Code::Pending => {
                        reasons.extend(status.reasons().map(str::to_owned));
                        if promise != Promise::Keep {
                            all.promise = promise;
                        }
                    }
                },
            }
        }
        PostFilterAnswer { message: reasons.join(", "), ..all }
    }

    /// The answer of one plugin; a panic is a failure.
    fn ask_post_filter(
        &self,
        cycle: &Cycle,
        id: PluginId,
        point: &dyn PostFilter,
        runner: &mut Runner<'_>,
    ) -> PostFilterOutcome {
        let handle = runner.handle;
        let answered = catch_unwind(AssertUnwindSafe(|| {
            self.timed_plugin(cycle.sampled, id, TimedPoint::PostFilter, || {
                Ok(point.post_filter(&handle, &cycle.diagnosis.nodes, runner))
            })
        }));
        match answered {
            Ok(Ok(outcome)) => outcome,
            Ok(Err(status)) => PostFilterOutcome::not(status),
            Err(_) => {
                let name = self.plugin_name(id);
                PostFilterOutcome::not(Status::error(format!("plugin {name:?} panicked")))
            }
        }
    }
}
