//! The extenders' part in preemption: those with the verb `preempt` say one after another which candidates remain,
//! and with which victims. The attempt is suspended meanwhile (`suspended.rs`).
//!
//! Source: `pkg/scheduler/framework/preemption/preemption.go`, `callExtenders`; `pkg/scheduler/extender.go`,
//! `ProcessPreemption`.

use super::Scheduler;
use super::attempt::Attempt;
use super::calls::object_key;
use super::io::Effect;
use bayplan_framework::{
    Candidate, Code, Extender, ExtenderAnswer, ExtenderAsk, NodeVictims, PostFilterAnswer, Promise, RuleNotes,
};
use bayplan_model::{Snapshot, Symbol, Time};

/// Upstream's text for a preemption whose candidates extenders refused.
const NONE_LEFT: &str = "preemption: no candidate node for preemption";

impl Scheduler {
    /// Asks the next extender that preempts, from the number `next` on, about the candidates that are left.
    pub(super) fn ask_about_candidates(
        &mut self,
        attempt: Attempt,
        mut answer: PostFilterAnswer,
        next: u16,
        now: Time,
        out: &mut Vec<Effect>,
    ) {
        if answer.candidates.is_empty() {
            answer.before.push(NONE_LEFT.to_owned());
            answer.message = answer.before.join(", ");
            (answer.code, answer.promise) = (Code::Unschedulable.name(), Promise::Keep);
            return self.post_filtered(attempt, Some(answer), now, out);
        }
        let extenders = attempt.cycle.framework.extenders();
        let Some(at) = extenders.next(&attempt.cycle.pod, next, Extender::preempts) else {
            return self.post_filtered(attempt, Some(answer), now, out);
        };
        let victims = |candidate: &Candidate| NodeVictims {
            node: candidate.name.clone(),
            pods: candidate.victims.iter().map(|pod| object_key(pod)).collect(),
            pdb_violations: i64::try_from(candidate.violations).unwrap_or(i64::MAX),
        };
        let ask = ExtenderAsk::Preempt {
            pod: object_key(&attempt.cycle.pod),
            candidates: answer.candidates.iter().map(victims).collect(),
        };
        self.suspend_for_candidates(attempt, answer, (at, ask), now, out);
    }

    /// An extender said which candidates remain.
    pub(super) fn candidates_answered(
        &mut self,
        attempt: Attempt,
        mut asked: PostFilterAnswer,
        at: u16,
        answer: Result<ExtenderAnswer, String>,
        now: Time,
        out: &mut Vec<Effect>,
    ) {
        let extenders = attempt.cycle.framework.extenders().clone();
        let Some(extender) = extenders.get(at) else { return };
        let left = match answer {
            Ok(ExtenderAnswer::Victims(all)) => {
                remaining(all, extender, attempt.snapshot(&self.cache.snapshot))
                    .and_then(|left| self.allowed(&attempt, left, &mut asked.rules))
            }
            Ok(_) => Err(String::from("the extender answered another question")),
            Err(error) => Err(error),
        };
        match left {
            Ok(mut left) => {
                for candidate in &mut left {
                    let before = asked.candidates.iter().find(|before| before.node == candidate.node);
                    candidate.budgets = before.map(|before| before.budgets.clone()).unwrap_or_default();
                }
                asked.candidates = left;
            }
            Err(_) if extender.ignorable => {}
            Err(error) => {
                let promise = Promise::Keep;
                let (code, message) = (Code::Error.name(), format!("preemption: {error}"));
                let (candidates, before) = Default::default();
                let failed = PostFilterAnswer { code, message, promise, candidates, before, ..asked };
                return self.post_filtered(attempt, Some(failed), now, out);
            }
        }
        self.ask_about_candidates(attempt, asked, at.saturating_add(1), now, out);
    }

    /// The candidates whose victims the rules about evictions allow: they have the last word.
    fn allowed(
        &self,
        attempt: &Attempt,
        mut left: Vec<Candidate>,
        notes: &mut RuleNotes,
    ) -> Result<Vec<Candidate>, String> {
        let view = attempt.snapshot(&self.cache.snapshot);
        let (framework, h) = (&attempt.cycle.framework, attempt.cycle.handle(view));
        let mut failed = None;
        left.retain(|candidate| {
            let Some(node) = view.node(candidate.node).filter(|_| failed.is_none()) else { return false };
            framework.allows_victims(h, node, &candidate.victims, notes).unwrap_or_else(|status| {
                failed = Some(status.message());
                false
            })
        });
        failed.map_or(Ok(left), Err)
    }
}

/// The candidates that an extender left. `Err` when it names a node or a victim that is not there, or a node without
/// victims, unless it is ignorable.
fn remaining(
    mut all: Vec<(String, Vec<String>, i64)>,
    extender: &Extender,
    view: &Snapshot,
) -> Result<Vec<Candidate>, String> {
    all.sort();
    let mut left = Vec::with_capacity(all.len());
    for (name, uids, violations) in all {
        let row = view.node_by_name(&Symbol::new(&name)).and_then(|row| view.node(row));
        let node = row.ok_or_else(|| format!("nodeinfo not found for node name {name:?}"))?;
        let mut victims = Vec::with_capacity(uids.len());
        for uid in uids {
            let victim = node.pods().find(|pod| pod.uid.as_str() == uid).ok_or_else(|| {
                format!(
                    "extender: {} claims to preempt pod (UID: &{{{uid}}}) on node: {name}, but the pod is not found on \
                     that node",
                    extender.url
                )
            })?;
            victims.push(victim.clone());
        }
        let violations = usize::try_from(violations).unwrap_or(0);
        let name = Symbol::new(&name);
        left.push(Candidate { node: node.id(), name, victims, violations, budgets: Vec::new() });
    }
    match left.iter().find(|candidate| candidate.victims.is_empty()) {
        Some(empty) if !extender.ignorable => {
            return Err(format!("expected at least one victim pod on node {:?}", empty.name.as_str()));
        }
        _ => left.retain(|candidate| !candidate.victims.is_empty()),
    }
    Ok(left)
}
