//! An attempt that waits for extenders, or for the calls of a PostFilter plugin, goes on where it stopped when the answers
//! come; meanwhile the cluster, the queue and all bindings go on, and no other attempt begins. A chosen node is evaluated once more on the cluster as it
//! is then.
//!
//! ```text
//! filter plugins ► extender by extender ► scorers ► all extenders at once ► choice ► the live cluster ► Reserve
//!                     │ no node is left
//!                     ▼
//!                  PostFilter ► call by call of a plugin ► the plugins after it
//!                     ▼
//!                  extender by extender, about the candidates of a preemption (`preempt_verb.rs`)
//! ```
//!
//! `cycle.rs` has the steps; here is what waits, and how it ends early.
//!
//! What extenders answer is read as names of nodes.
//!
//! Source: `pkg/scheduler/schedule_one.go`, `findNodesThatPassExtenders`, `prioritizeNodes`.

use super::Scheduler;
use super::attempt::{Attempt, Phase};
use super::cache::PodState;
use super::calls::{Owner, object_key};
use super::io::Effect;
use super::queue::Queued;
use super::refusal::Refusal;
use bayplan_framework::{
    Answer, ApiCall, CallError, Code, Cycle, Extender, ExtenderAnswer, ExtenderAsk, Feasible, Filtered,
    NominatedTry, PostFilterAnswer, Silent, Status, Ticket,
};
use bayplan_model::{NodeId, NodeSet, Snapshot, Symbol, Time};
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

impl Scheduler {
    /// Asks the next extender that filters, from the number `next` on, about the nodes that are left.
    pub(super) fn ask_filters(
        &mut self,
        mut attempt: Attempt,
        nodes: NodeSet,
        before: usize,
        next: u16,
        now: Time,
        out: &mut Vec<Effect>,
    ) {
        let extenders = attempt.cycle.framework.extenders().clone();
        let asked = extenders.next(&attempt.cycle.pod, next, Extender::filters);
        if let Some(at) = asked.filter(|_| !nodes.is_empty()) {
            let ask = ExtenderAsk::Filter {
                pod: object_key(&attempt.cycle.pod),
                nodes: names(&nodes, attempt.snapshot(&self.cache.snapshot)),
            };
            attempt.phase = Phase::Filter { nodes, before };
            return self.suspend(attempt, vec![(at, ask)], now, out);
        }
        if attempt.cycle.nominated == NominatedTry::Fits && nodes.is_empty() && before > 0 {
            return self.try_all_nodes(attempt, now, out);
        }
        if nodes.len() != before {
            // Upstream says which pods an extender refused by the number of nodes alone.
            let plugin = attempt.cycle.framework.extender_plugin();
            attempt.cycle.diagnosis.unschedulable_plugins.insert(plugin);
        }
        attempt.detail.left(&nodes);
        match nodes.is_empty() {
            true => self.refused(attempt, now, out),
            false => self.ask_scores(attempt, Feasible { nodes }, now, out),
        }
    }

    /// The nominated node was refused by an extender, or the extender failed: all nodes are evaluated.
    fn try_all_nodes(&mut self, mut attempt: Attempt, now: Time, out: &mut Vec<Effect>) {
        attempt.cycle.nominated = NominatedTry::Refused;
        attempt.cycle.state = Default::default();
        self.filter(attempt, now, out);
    }

    /// Asks all extenders that score, at once.
    fn ask_scores(&mut self, mut attempt: Attempt, feasible: Feasible, now: Time, out: &mut Vec<Effect>) {
        let extenders = attempt.cycle.framework.extenders().clone();
        let mut asks = Vec::new();
        let mut scores = BTreeMap::new();
        if feasible.nodes.len() > 1 {
            let mut nodes = None;
            for (at, extender) in extenders.interested(&attempt.cycle.pod) {
                if !extender.prioritizes() {
                    // It counts as one that gave every node no points.
                    scores.insert(at, feasible.nodes.iter().map(|node| (node, 0)).collect());
                    continue;
                }
                let snapshot = attempt.snapshot(&self.cache.snapshot);
                let nodes = nodes.get_or_insert_with(|| names(&feasible.nodes, snapshot)).clone();
                asks.push((at, ExtenderAsk::Prioritize { pod: object_key(&attempt.cycle.pod), nodes }));
            }
        }
        if asks.is_empty() {
            return self.choose(attempt, &feasible, &scores, now, out);
        }
        attempt.phase = Phase::Prioritize { feasible, scores };
        self.suspend(attempt, asks, now, out);
    }

    /// Suspends an attempt until an extender has answered about the candidates of a preemption.
    pub(super) fn suspend_for_candidates(
        &mut self,
        mut attempt: Attempt,
        answer: PostFilterAnswer,
        ask: (u16, ExtenderAsk),
        now: Time,
        out: &mut Vec<Effect>,
    ) {
        attempt.phase = Phase::Preempt(Box::new(answer));
        self.suspend(attempt, vec![ask], now, out);
    }

    /// Suspends an attempt until the next call of a PostFilter plugin is answered.
    pub(super) fn suspend_for_call(&mut self, mut attempt: Attempt, answer: PostFilterAnswer, now: Time) {
        let live = &self.cache.snapshot;
        attempt.view.get_or_insert_with(|| (live.fork(), live.generation()));
        attempt.until = now;
        let Some(made) = answer.waits.as_ref().and_then(|wait| wait.call()) else { return };
        let ticket = self.outbox.send(made.call.clone(), Owner::PostFilter);
        attempt.phase = Phase::PostFilter(ticket, Box::new(answer));
        self.suspended = Some(Box::new(attempt));
    }

    /// The call of a PostFilter plugin was answered: the next call, or the plugins after it.
    pub(super) fn post_filter_call_answered(
        &mut self,
        ticket: Ticket,
        said: Result<Answer, CallError>,
        now: Time,
        out: &mut Vec<Effect>,
    ) {
        let Some(mut attempt) = self.suspended.take_if(|attempt| attempt.open_call() == Some(ticket)) else {
            return;
        };
        let Phase::PostFilter(_, mut answer) = std::mem::replace(&mut attempt.phase, Phase::Plugins) else {
            return;
        };
        if !answer.waits.as_mut().is_none_or(|wait| wait.answered(said)) {
            return self.suspend_for_call(*attempt, *answer, now);
        }
        let framework = attempt.cycle.framework.clone();
        let snapshot = attempt.snapshot(&self.cache.snapshot);
        let answer = framework.resume_post_filter(&attempt.cycle, snapshot, *answer);
        self.post_filter_answered(*attempt, Some(answer), now, out);
    }

    /// Sends the questions of an attempt, which goes on when the last one is answered.
    fn suspend(
        &mut self,
        mut attempt: Attempt,
        asks: Vec<(u16, ExtenderAsk)>,
        now: Time,
        out: &mut Vec<Effect>,
    ) {
        let live = &self.cache.snapshot;
        attempt.view.get_or_insert_with(|| (live.fork(), live.generation()));
        attempt.until = now;
        for (at, ask) in asks {
            let timeout = attempt.cycle.framework.extenders().get(at).map(|extender| extender.timeout);
            attempt.until =
                attempt.until.max(now + timeout.unwrap_or_default() + self.options.request_timeout);
            let ticket = self.outbox.ticket();
            attempt.open.insert(ticket, at);
            out.push(Effect::Call(ticket, ApiCall::Extender { at, ask }));
        }
        self.suspended = Some(Box::new(attempt));
    }

    /// An extender answered a question of the suspended attempt.
    pub(super) fn extender_answered(
        &mut self,
        ticket: Ticket,
        answer: Result<Answer, CallError>,
        now: Time,
        out: &mut Vec<Effect>,
    ) {
        let Some(mut attempt) = self.suspended.take() else { return };
        let Some(at) = attempt.open.remove(&ticket) else {
            self.suspended = Some(attempt);
            return;
        };
        let answer = match answer {
            Ok(Answer::Extender(answer)) => Ok(answer),
            Ok(_) => Err(String::from("the extender answered another question")),
            Err(error) => Err(error.message().to_owned()),
        };
        match std::mem::replace(&mut attempt.phase, Phase::Plugins) {
            Phase::Filter { nodes, before } => {
                self.filter_answered(*attempt, (nodes, before), at, answer, now, out);
            }
            Phase::Prioritize { feasible, mut scores } => {
                let live = &self.cache.snapshot;
                let extender = attempt.cycle.framework.extenders().get(at);
                // Without its answer the other scores decide.
                if let (Ok(ExtenderAnswer::Scores(all)), Some(extender)) = (answer, extender) {
                    let view = attempt.snapshot(live);
                    let scored = all.iter().filter_map(|(name, score)| {
                        let node = view.node_by_name(&Symbol::new(name))?;
                        feasible.nodes.contains(node).then(|| (node, extender.points(*score)))
                    });
                    scores.insert(at, scored.collect());
                }
                if attempt.open.is_empty() {
                    return self.choose(*attempt, &feasible, &scores, now, out);
                }
                attempt.phase = Phase::Prioritize { feasible, scores };
                self.suspended = Some(attempt);
            }
            Phase::Preempt(asked) => self.candidates_answered(*attempt, *asked, at, answer, now, out),
            phase @ (Phase::Plugins | Phase::PostFilter(..)) => {
                attempt.phase = phase;
                self.suspended = Some(attempt);
            }
        }
    }

    /// An extender said which of the nodes remain.
    fn filter_answered(
        &mut self,
        mut attempt: Attempt,
        (nodes, before): (NodeSet, usize),
        at: u16,
        answer: Result<ExtenderAnswer, String>,
        now: Time,
        out: &mut Vec<Effect>,
    ) {
        let extenders = attempt.cycle.framework.extenders().clone();
        let Some(extender) = extenders.get(at) else { return };
        let live = &self.cache.snapshot;
        let read = match answer {
            Ok(ExtenderAnswer::Filtered(filtered)) => {
                let view = attempt.view.as_ref().map_or(live, |(view, _)| view);
                let remaining = match extender.node_cache_capable {
                    true => filtered.names.as_ref().or(filtered.nodes.as_ref()),
                    false => filtered.nodes.as_ref(),
                };
                remain(&nodes, remaining, &extender.url, view).inspect(|_| {
                    note_failed(&mut attempt.cycle, &filtered, view);
                })
            }
            Ok(_) => Err(String::from("the extender answered another question")),
            Err(error) => Err(error),
        };
        let next = at.saturating_add(1);
        match read {
            Ok(left) => self.ask_filters(attempt, left, before, next, now, out),
            Err(_) if extender.ignorable => self.ask_filters(attempt, nodes, before, next, now, out),
            Err(_) if attempt.cycle.nominated == NominatedTry::Fits => self.try_all_nodes(attempt, now, out),
            Err(error) => {
                let status = Status::error(error).by(attempt.cycle.framework.extender_plugin());
                self.not_placed(attempt, Refusal::plain(status), now, out);
            }
        }
    }

    /// The chosen node on the live cluster, where the pod is evaluated once more if anything changed while the attempt
    /// waited. `None`: the node is gone, or the pod does not fit there now.
    pub(super) fn still_fits(&mut self, attempt: &mut Attempt, chosen: NodeId, now: Time) -> Option<NodeId> {
        let Some((view, forked_at)) = &attempt.view else { return Some(chosen) };
        let live = &self.cache.snapshot;
        let row = live.node_by_name(view.node(chosen)?.name())?;
        let pod = self.cache.pod(&attempt.cycle.pod.key)?.clone();
        attempt.cycle.now = now;
        if live.generation() == *forked_at && Arc::ptr_eq(&pod, &attempt.cycle.pod) {
            return Some(row);
        }
        let framework = attempt.cycle.framework.clone();
        let mut again = Cycle::new(pod, framework.clone(), now);
        again.queued_at = attempt.cycle.queued_at;
        again.attempts = attempt.cycle.attempts;
        let fits = catch_unwind(AssertUnwindSafe(|| {
            let left = framework.run_pre_filter(&mut again, live, &mut Silent).ok()?;
            let node = live.node(row).filter(|_| left.is_none_or(|left| left.contains(row)))?;
            framework.filter_with_nominated(again.handle(live), node).ok()
        }));
        fits.ok().flatten()?;
        attempt.cycle.pod = again.pod;
        attempt.cycle.state = again.state;
        Some(row)
    }

    /// Ends the suspended attempt when its pod does not need a node: it was deleted, is being deleted, or has a node.
    /// Ends its wait when no answer came in time.
    pub(super) fn look_at_suspended(&mut self, now: Time, out: &mut Vec<Effect>) {
        let Some(attempt) = &self.suspended else { return };
        let key = attempt.key().clone();
        if self.cache.state(&key) != Some(&PodState::Pending) || self.ends(&key) {
            self.suspended = None;
            return self.queue.done(&key);
        }
        let late = |attempt: &Attempt| attempt.alarm().is_some_and(|at| at <= now);
        while let Some(attempt) = self.suspended.as_deref().filter(|attempt| late(attempt)) {
            let Some(ticket) = attempt.open.keys().next().copied() else { return };
            let error = CallError::Unknown(String::from("the extender did not answer"));
            self.extender_answered(ticket, Err(error), now, out);
        }
    }

    /// Gives up the suspended attempt and puts its pod back into the queue, to be tried again at once.
    pub(super) fn give_up_suspended(&mut self, now: Time) {
        if let Some(attempt) = self.suspended.take() {
            if let Some(call) = attempt.open_call() {
                self.outbox.withdraw(call);
            }
            self.try_again(attempt.queued, now);
        }
    }

    /// Puts the pod of an attempt back into the active queue.
    pub(super) fn try_again(&mut self, queued: Queued, now: Time) {
        let key = queued.info.pod.key.clone();
        let pod =
            self.cache.pod(&key).filter(|_| self.cache.state(&key) == Some(&PodState::Pending)).cloned();
        match pod.and_then(|pod| Some((self.hints_of(&pod)?, pod))) {
            Some((hints, pod)) => self.queue.put_back(queued, pod, hints, &self.cache.snapshot, now),
            None => self.queue.done(&key),
        }
    }
}

/// The names of nodes, in row order.
fn names(nodes: &NodeSet, snapshot: &Snapshot) -> Arc<[Symbol]> {
    nodes.iter().filter_map(|id| snapshot.node(id)).map(|node| node.name().clone()).collect()
}

/// The nodes that an extender left. `Err` when it names one that it was not asked about.
fn remain(
    asked: &NodeSet,
    remaining: Option<&Vec<String>>,
    url: &str,
    view: &Snapshot,
) -> Result<NodeSet, String> {
    let mut left = NodeSet::with_rows(view.columns().rows());
    for name in remaining.into_iter().flatten() {
        match view.node_by_name(&Symbol::new(name)).filter(|node| asked.contains(*node)) {
            Some(node) => left.insert(node),
            None => {
                return Err(format!(
                    "extender {url:?} claims a filtered node {name:?} which is not found in the input node list"
                ));
            }
        }
    }
    Ok(left)
}

/// Writes why an extender refused nodes. A node in both lists is one that evicting pods does not help.
fn note_failed(cycle: &mut Cycle, filtered: &Filtered, view: &Snapshot) {
    let plugin = cycle.framework.extender_plugin();
    for (failed, code) in [
        (&filtered.failed, Code::Unschedulable),
        (&filtered.unresolvable, Code::UnschedulableAndUnresolvable),
    ] {
        for (name, reason) in failed {
            let (name, status) = (Symbol::new(name), Status::with_reason(code, reason).by(plugin));
            match view.node_by_name(&name) {
                Some(node) => cycle.diagnosis.nodes.set(node, &status),
                None => drop(cycle.diagnosis.unknown_nodes.insert(name, status)),
            }
        }
    }
}
