//! PostFilter: what the plugins do for a pod that fits on no node, and the text that their answers add to the refusal.
//!
//! Source: `pkg/scheduler/framework/runtime/framework.go`, `RunPostFilterPlugins`.

use super::{Cycle, Framework};
use crate::Runner;
use crate::calls::{Answer, CallError};
use crate::candidates::Candidate;
use crate::plugin_id::PluginId;
use crate::points::{PostFilter, PostFilterCall, PostFilterOutcome, Promise};
use crate::preemption::{PreemptionRules, RuleNotes};
use crate::probe::{Mark, Outcome, TimedPoint};
use crate::status::{Code, Status};
use bayplan_model::{PodKey, Snapshot};
use std::collections::VecDeque;
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
    /// Calls of a plugin that must be answered before the plugins after it run. The other fields then say what those before
    /// it answered.
    pub waits: Option<Box<PostFilterWait>>,
}

/// A PostFilter plugin that waits for calls.
#[derive(Clone, PartialEq, Debug)]
pub struct PostFilterWait {
    /// The calls that are not answered; the first one is under way.
    calls: VecDeque<PostFilterCall>,
    /// What the plugin answers then.
    then: Status,
    /// The position of the plugin after it.
    next: usize,
}

impl PostFilterWait {
    /// The call that is under way, or is to be sent.
    pub fn call(&self) -> Option<&PostFilterCall> {
        self.calls.front()
    }

    /// Notes the answer to the call that was under way. Returns whether no call is left.
    pub fn answered(&mut self, answer: Result<Answer, CallError>) -> bool {
        let Some(made) = self.calls.pop_front() else { return true };
        match answer {
            Err(CallError::Refused { code: 404, .. }) if made.may_be_gone => {}
            Err(error) => {
                self.then = Status::error(format!("{}{}", made.failed, error.message()));
                self.calls.clear();
            }
            Ok(_) => {}
        }
        self.calls.is_empty()
    }
}

impl PostFilterAnswer {
    fn nothing() -> Self {
        Self {
            code: Code::Unschedulable.name(),
            message: String::new(),
            promise: Promise::Keep,
            candidates: Vec::new(),
            before: Vec::new(),
            evict: Vec::new(),
            preempts: false,
            rules: RuleNotes::default(),
            waits: None,
        }
    }
}

impl Framework {
    /// Runs the PostFilter plugins in order. The first success, the first refusal that nothing can resolve and the first
    /// failure end the point, and their text alone counts; otherwise the texts of all refusals do, and the last
    /// nomination. A plugin that waits for calls ends it for now ([`Framework::resume_post_filter`]).
    pub fn run_post_filter(&self, cycle: &Cycle, snapshot: &Snapshot) -> PostFilterAnswer {
        let since = self.mark();
        let answer = self.ask_post_filters(cycle, snapshot, None);
        self.post_filter_ended(cycle, snapshot, answer, since)
    }

    /// Goes on after the plugin whose calls were answered.
    pub fn resume_post_filter(
        &self,
        cycle: &Cycle,
        snapshot: &Snapshot,
        mut answer: PostFilterAnswer,
    ) -> PostFilterAnswer {
        let since = self.mark();
        let Some(wait) = answer.waits.take() else { return answer };
        let outcome = PostFilterOutcome::not(wait.then);
        let answer = match take(answer, outcome) {
            Taken::Done(answer) => answer,
            Taken::Next(answer) => self.ask_from(cycle, snapshot, None, answer, wait.next),
        };
        self.post_filter_ended(cycle, snapshot, answer, since)
    }

    fn post_filter_ended(
        &self,
        cycle: &Cycle,
        snapshot: &Snapshot,
        mut answer: PostFilterAnswer,
        since: Option<Mark>,
    ) -> PostFilterAnswer {
        if answer.waits.is_some() {
            return answer;
        }
        if answer.candidates.is_empty() && answer.evict.is_empty() {
            answer.rules.refusing.union(&self.rules_to_begin(cycle.handle(snapshot)));
        }
        self.point_ended(TimedPoint::PostFilter, answer.code, since);
        answer
    }

    /// Runs the PostFilter plugins without counts and times. `with` are rules about evictions beside those of the plugins:
    /// then it is only asked what would be, and calls count as made.
    pub(super) fn ask_post_filters(
        &self,
        cycle: &Cycle,
        snapshot: &Snapshot,
        with: Option<(PluginId, &dyn PreemptionRules)>,
    ) -> PostFilterAnswer {
        self.ask_from(cycle, snapshot, with, PostFilterAnswer::nothing(), 0)
    }

    /// Runs the plugins from a position on.
    fn ask_from(
        &self,
        cycle: &Cycle,
        snapshot: &Snapshot,
        with: Option<(PluginId, &dyn PreemptionRules)>,
        mut all: PostFilterAnswer,
        first: usize,
    ) -> PostFilterAnswer {
        let substitute = self.substitute(cycle.handle(snapshot));
        for (at, id) in self.points().post_filter.iter().enumerate().skip(first) {
            let Some(point) = self.plugin(*id).and_then(|plugin| plugin.post_filter()) else { continue };
            if point.is_substitute() && substitute != Some(*id) {
                continue;
            }
            let mut runner = Runner { with, ..Runner::new(self, cycle.handle(snapshot).for_plugin(*id)) };
            let outcome = self.ask_post_filter(cycle, *id, point, &mut runner);
            all.rules.add(std::mem::take(&mut runner.notes));
            all.preempts |= point.preempts();
            let outcome = match outcome {
                PostFilterOutcome::Calls { calls, then } if with.is_none() && !calls.is_empty() => {
                    let wait = PostFilterWait { calls: calls.into(), then, next: at + 1 };
                    return PostFilterAnswer { waits: Some(Box::new(wait)), ..all };
                }
                PostFilterOutcome::Calls { then, .. } => PostFilterOutcome::not(then),
                outcome => outcome,
            };
            match take(all, outcome) {
                Taken::Done(answer) => return answer,
                Taken::Next(answer) => all = answer,
            }
        }
        let message = std::mem::take(&mut all.before).join(", ");
        PostFilterAnswer { message, ..all }
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

/// What follows from the outcome of one plugin.
enum Taken {
    /// The point ends.
    Done(PostFilterAnswer),
    /// The next plugin runs.
    Next(PostFilterAnswer),
}

/// Takes the outcome of one plugin in. The reasons of the plugins so far are in `before`.
fn take(mut all: PostFilterAnswer, outcome: PostFilterOutcome) -> Taken {
    let code = outcome.code();
    Taken::Done(match outcome {
        PostFilterOutcome::Made { promise, message, evict } => {
            PostFilterAnswer { code, message, promise, evict, before: Vec::new(), ..all }
        }
        PostFilterOutcome::Candidates(candidates) => {
            PostFilterAnswer { code, promise: Promise::Keep, candidates, ..all }
        }
        PostFilterOutcome::Calls { then, .. } => return take(all, PostFilterOutcome::not(then)),
        PostFilterOutcome::Not { status, promise } => match status.code {
            Code::Error => {
                let (promise, before) = (Promise::Keep, Vec::new());
                PostFilterAnswer { code, message: status.message(), promise, before, ..all }
            }
            Code::UnschedulableAndUnresolvable => {
                PostFilterAnswer { code, message: status.message(), promise, before: Vec::new(), ..all }
            }
            Code::Unschedulable | Code::Pending => {
                all.before.extend(status.reasons().map(str::to_owned));
                if promise != Promise::Keep {
                    all.promise = promise;
                }
                return Taken::Next(all);
            }
        },
    })
}
