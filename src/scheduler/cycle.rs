//! The scheduling cycle of one pod, from top to bottom; each step is next to its undo. Nothing here blocks: a pod that
//! has to wait continues as a binding (`binding.rs`), and an attempt that asks extenders is suspended (`suspended.rs`).
//! `failure.rs` handles refusals.
//!
//! Source: `pkg/scheduler/schedule_one.go`.

use super::Scheduler;
use super::attempt::Attempt;
use super::binding_cycle::BindingCycle;
use super::calls::{Owner, object_key};
use super::detail::Detail;
use super::fnv::fnv;
use super::guard::guard;
use super::io::{Decision, DecisionRecord, Effect, PreemptionRecord, RecordLevel};
use super::queue::Queued;
use super::refusal::Refusal;
use bayplan_framework::{
    Choice, Cycle, Diagnosis, EventRecord, EventType, Feasible, FitError, PluginId, PostFilterAnswer,
    Promise, Silent, Status, Would,
};
use bayplan_model::{NodeId, NodeSet, PodKey, Snapshot, Symbol, Time};
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// kube-scheduler's message for a cluster without nodes.
const NO_NODES: &str = "no nodes available to schedule pods";

/// The chosen node, with the details of the choice for the decision record.
pub(super) struct Chosen {
    node: NodeId,
    total: Option<i64>,
    best: Vec<Symbol>,
    equal: usize,
    feasible: usize,
    /// What rules that do not decide would have done.
    would: Vec<Would>,
}

impl Scheduler {
    /// One attempt for the next pod of the queue.
    pub(super) fn attempt(&mut self, now: Time, out: &mut Vec<Effect>) {
        let Some(queued) = self.queue.pop(&self.cache.snapshot, now) else { return };
        let key = queued.info.pod.key.clone();
        let Some(pod) = self.cache.pod(&key).cloned() else { return self.queue.done(&key) };
        if pod.is_terminating() {
            self.queue.done(&key);
            return self.skipped(&queued, now, out);
        }
        // What plugins count for the pod may depend on Services, controllers and namespaces that came after it.
        self.hold_wants(&pod);
        let mut cycle = Cycle::new(pod, queued.hints.framework.clone(), now);
        cycle.queued_at = Some(queued.info.added);
        cycle.attempts = queued.info.attempts.saturating_sub(1);
        cycle.sampled = cycle.framework.samples();
        cycle.state.rule_times = cycle.framework.rule_times(cycle.sampled);
        let detail = Detail::new(self.options.records_of(&cycle.pod.key));
        let attempt = Attempt::new(queued, cycle, detail);
        if self.cache.snapshot.node_count() == 0 {
            let none = Refusal::plain(Status::unresolvable(NO_NODES));
            return self.not_placed(attempt, none, now, out);
        }
        self.filter(attempt, now, out);
    }

    /// PreFilter and Filter; extenders follow.
    pub(super) fn filter(&mut self, mut attempt: Attempt, now: Time, out: &mut Vec<Effect>) {
        let Attempt { cycle, detail, view, .. } = &mut attempt;
        cycle.state.draw = draw(self.options.seed, &cycle.pod.key, cycle.attempts);
        let (decider, live) = (&mut self.decider, &self.cache.snapshot);
        let snapshot = view.as_ref().map_or(live, |(view, _)| view);
        let filtered = catch_unwind(AssertUnwindSafe(|| decider.filter(cycle, snapshot, detail)));
        match filtered {
            Ok(Ok(Feasible { nodes })) => {
                let passed = nodes.len();
                self.ask_filters(attempt, nodes, passed, 0, now, out);
            }
            Ok(Err(status)) if status.is_rejected() => self.refused(attempt, now, out),
            Ok(Err(status)) => self.not_placed(attempt, Refusal::plain(status), now, out),
            Err(_) => self.panicked(attempt, now, out),
        }
    }

    /// Scores the feasible nodes and chooses one. `scores` are the points of extenders, by extender.
    pub(super) fn choose(
        &mut self,
        mut attempt: Attempt,
        feasible: &Feasible,
        scores: &BTreeMap<u16, Vec<(NodeId, i64)>>,
        now: Time,
        out: &mut Vec<Effect>,
    ) {
        let Attempt { cycle, detail, view, .. } = &mut attempt;
        let draw = draw(self.options.seed, &cycle.pod.key, cycle.attempts);
        let (decider, live, tie) = (&mut self.decider, &self.cache.snapshot, self.options.tie_break);
        let snapshot = view.as_ref().map_or(live, |(view, _)| view);
        // Thousands of nodes may share the highest total: collect their names only if the record holds them.
        let name_all = self.options.records_of(&cycle.pod.key) >= RecordLevel::Names;
        let extra: Vec<(NodeId, i64)> = scores.values().flatten().copied().collect();
        let chosen = catch_unwind(AssertUnwindSafe(|| -> Result<Option<Chosen>, Status> {
            decider.score(cycle, feasible, snapshot, detail)?;
            let selected = decider.select(cycle, feasible, snapshot, &extra, tie, draw, detail);
            let node = selected.as_ref().map(|selected| selected.node);
            detail.add_extenders(cycle, scores);
            detail.read_parts(cycle, feasible, snapshot, node, decider.best());
            Ok(selected.map(|selected| Chosen {
                node: selected.node,
                total: selected.total,
                best: match name_all {
                    true => names(decider.best(), snapshot),
                    false => names(&NodeSet::from_iter([selected.node]), snapshot),
                },
                equal: selected.of as usize,
                feasible: feasible.nodes.len(),
                would: Vec::new(),
            }))
        }));
        match chosen {
            Ok(Ok(Some(mut chosen))) => {
                let view = attempt.snapshot(&self.cache.snapshot);
                let totals_among = |nodes: &NodeSet| self.totals_among(&attempt.cycle, nodes, view, &extra);
                let choice = Choice {
                    feasible,
                    node: chosen.node,
                    totals: self.decider.node_totals(),
                    totals_among: &totals_among,
                    weight: 1,
                };
                chosen.would = attempt.cycle.framework.would_choose(&attempt.cycle, view, choice);
                self.place(attempt, chosen, now, out);
            }
            Ok(Ok(None)) => self.refused(attempt, now, out),
            Ok(Err(status)) if status.is_rejected() => self.refused(attempt, now, out),
            Ok(Err(status)) => self.not_placed(attempt, Refusal::plain(status), now, out),
            Err(_) => self.panicked(attempt, now, out),
        }
    }

    /// The totals by row that an attempt would give these nodes if no other were feasible.
    fn totals_among(
        &self,
        cycle: &Cycle,
        nodes: &NodeSet,
        snapshot: &Snapshot,
        extra: &[(NodeId, i64)],
    ) -> Option<Vec<i64>> {
        let mut cycle = cycle.clone().untimed();
        cycle.state.skip_score = Default::default();
        let feasible = Feasible { nodes: nodes.clone() };
        let mut decider = self.options.decider.make();
        decider.score(&mut cycle, &feasible, snapshot, &mut Silent).ok()?;
        let extra: Vec<_> = extra.iter().filter(|(node, _)| nodes.contains(*node)).copied().collect();
        let tie = self.options.tie_break;
        decider.select(&cycle, &feasible, snapshot, &extra, tie, 0, &mut Silent)?;
        decider.node_totals().map(<[i64]>::to_vec)
    }

    /// No node fits.
    pub(super) fn refused(&mut self, attempt: Attempt, now: Time, out: &mut Vec<Effect>) {
        let answer = self.post_filter(&attempt);
        self.post_filter_answered(attempt, answer, now, out);
    }

    /// The PostFilter plugins have answered, or one of them waits for calls.
    pub(super) fn post_filter_answered(
        &mut self,
        attempt: Attempt,
        answer: Option<PostFilterAnswer>,
        now: Time,
        out: &mut Vec<Effect>,
    ) {
        match answer {
            Some(answer) if answer.waits.is_some() => self.suspend_for_call(attempt, answer, now),
            Some(answer) if !answer.candidates.is_empty() => {
                self.ask_about_candidates(attempt, answer, 0, now, out);
            }
            answer => self.post_filtered(attempt, answer, now, out),
        }
    }

    /// The PostFilter plugins, and the extenders that preempt, have answered.
    pub(super) fn post_filtered(
        &mut self,
        mut attempt: Attempt,
        answer: Option<PostFilterAnswer>,
        now: Time,
        out: &mut Vec<Effect>,
    ) {
        let view = attempt.view.as_ref().map(|(view, _)| view);
        let refusal = self.no_node_fits(&mut attempt.cycle, view, answer);
        self.not_placed(attempt, refusal, now, out);
    }

    fn panicked(&mut self, attempt: Attempt, now: Time, out: &mut Vec<Effect>) {
        self.decider = self.fresh_decider();
        let status = blame(&attempt.cycle, attempt.snapshot(&self.cache.snapshot));
        self.not_placed(attempt, Refusal::plain(status), now, out);
    }

    /// The node is chosen: assume, Reserve, Permit; then the binding begins.
    fn place(&mut self, mut attempt: Attempt, mut chosen: Chosen, now: Time, out: &mut Vec<Effect>) {
        match self.still_fits(&mut attempt, chosen.node, now) {
            Some(node) => chosen.node = node,
            // The cluster moved while the attempt waited for extenders.
            None => return self.try_again(attempt.queued, now),
        }
        // The record evaluates rules again.
        let rule_times = attempt.cycle.state.rule_times.take();
        let mut record = self.record(&attempt, now);
        attempt.cycle.state.rule_times = rule_times;
        // A write copies what a fork shares.
        attempt.view = None;
        let waits = match self.assume_reserve_permit(&mut attempt.cycle, chosen.node, now) {
            Ok(waits) => waits,
            Err(refusal) => return self.not_placed(attempt, *refusal, now, out),
        };
        attempt.cycle.state.rule_times = None;
        record.would = self.would_have_placed(&attempt.cycle, chosen.node, chosen.would);
        self.note_would(&mut attempt.queued, &record.would, now, out);
        let node = self.cache.snapshot.node(chosen.node).map(|n| n.name().clone()).unwrap_or_default();
        record.decision = Decision::Placed {
            node: node.clone(),
            total: chosen.total,
            best: chosen.best,
            equal: chosen.equal,
            feasible: chosen.feasible,
        };
        out.push(Effect::Decided(Box::new(record)));
        self.by_rule.errors.count(&attempt.cycle, None);
        let binding = BindingCycle::new(attempt.cycle, attempt.queued, chosen.node, node, now);
        self.begin_binding(binding, waits, now, out);
    }

    /// The attempt ends without a node.
    pub(super) fn not_placed(
        &mut self,
        mut attempt: Attempt,
        refusal: Refusal,
        now: Time,
        out: &mut Vec<Effect>,
    ) {
        attempt.cycle.state.rule_times = None;
        let mut record = self.record(&attempt, now);
        record.preemption = refusal.preemption.as_ref().map(|of| PreemptionRecord {
            victims: of.victims.iter().map(|pod| object_key(pod)).collect(),
            violations: of.violations,
            budgets: of.budgets.clone(),
            evicts: of.victims.iter().any(|pod| !pod.is_terminating()),
        });
        record.decision = if refusal.status.is_rejected() {
            let nominated = match &refusal.promise {
                Promise::To(node) => Some(node.clone()),
                Promise::Keep | Promise::Clear => None,
            };
            Decision::Unschedulable { message: refusal.message.clone(), nominated }
        } else {
            Decision::Error { message: refusal.message.clone() }
        };
        record.would = self.would_have_refused(&attempt, &refusal);
        self.note_would(&mut attempt.queued, &record.would, now, out);
        out.push(Effect::Decided(Box::new(record)));
        self.by_rule.errors.count(&attempt.cycle, Some(&refusal.status));
        self.attempt_failed(attempt.queued, &mut attempt.cycle, refusal, now, out);
    }

    /// Assumes the pod on its node, runs Reserve, then Permit. `Err`: all steps are undone.
    fn assume_reserve_permit(
        &mut self,
        cycle: &mut Cycle,
        node: NodeId,
        now: Time,
    ) -> Result<Vec<(PluginId, Time)>, Box<Refusal>> {
        let framework = cycle.framework.clone();
        let key = cycle.pod.key.clone();
        let promised = self.cache.nominator.get(&key).cloned();
        self.cache.assume(&key, node, now);
        self.cache.nominator.set(&cycle.pod, None, &mut self.cache.snapshot);
        let (done, _) = self.acting(now, &Owner::Nobody, &framework, |acting| {
            guard(&framework, || framework.run_reserve(cycle, node, acting))
                .and_then(|()| guard(&framework, || framework.run_permit(cycle, node, acting)))
        });
        match done {
            Ok(waits) => {
                if promised.is_some() {
                    self.state_moved(&key, false, now);
                }
                let seen = self.cache.pod(&key).unwrap_or(&cycle.pod).clone();
                self.promise_ended(&seen, promised, Some(node), now);
                Ok(waits)
            }
            Err(status) => {
                self.unreserve(cycle, node, now);
                self.cache.forget(&key);
                if let Some(promised) = promised {
                    self.cache.nominator.set(&cycle.pod, Some(&promised), &mut self.cache.snapshot);
                }
                Err(Box::new(refused_at(cycle, node, status)))
            }
        }
    }

    /// Unreserve of all plugins, in reverse order.
    pub(super) fn unreserve(&mut self, cycle: &mut Cycle, node: NodeId, now: Time) {
        let framework = cycle.framework.clone();
        let _ = self.acting(now, &Owner::Nobody, &framework, |acting| {
            guard(&framework, || {
                framework.run_unreserve(cycle, node, acting);
                Ok(())
            })
        });
        // Plugins took back what they assumed, unless one panicked. What was written stays assumed until it is seen.
        self.cache.end_assumptions(&cycle.pod.key);
    }

    /// Skips a pod that is being deleted.
    fn skipped(&mut self, queued: &Queued, now: Time, out: &mut Vec<Effect>) {
        let pod = &queued.info.pod;
        let event = EventRecord {
            pod: object_key(pod),
            related: None,
            key: pod.key.clone(),
            scheduler: pod.scheduler_name.clone(),
            kind: EventType::Warning,
            reason: "FailedScheduling".into(),
            action: "Scheduling",
            note: format!("skip schedule deleting pod: {}", pod.full_name()),
            result: None,
            at: now,
        };
        self.event(event, out);
    }

    fn record(&self, attempt: &Attempt, now: Time) -> DecisionRecord {
        let Attempt { queued, cycle, detail, .. } = attempt;
        let name = |id| Symbol::new(cycle.framework.plugin_name(id));
        DecisionRecord {
            key: cycle.pod.key.clone(),
            pod: object_key(&cycle.pod),
            profile: cycle.framework.scheduler_name.clone(),
            revision: self.profiles.revision,
            at: now,
            attempt: queued.info.attempts,
            first_attempt: queued.info.initial_attempt.unwrap_or(now),
            flushed: queued.info.flushed,
            decision: Decision::Error { message: String::new() },
            unschedulable_plugins: cycle.diagnosis.unschedulable_plugins.iter().map(name).collect(),
            pending_plugins: cycle.diagnosis.pending_plugins.iter().map(name).collect(),
            evaluated: cycle.diagnosis.evaluated,
            preemption: None,
            would: Vec::new(),
            detail: detail.finish(cycle, attempt.snapshot(&self.cache.snapshot)),
        }
    }
}

/// A refusal at Reserve or Permit is reported as that of one node, whatever the number of nodes.
fn refused_at(cycle: &mut Cycle, node: NodeId, status: Status) -> Refusal {
    if !status.is_rejected() {
        return Refusal::plain(status);
    }
    cycle.diagnosis = Diagnosis::default();
    cycle.diagnosis.nodes.set(node, &status);
    cycle.diagnosis.add_plugin(&status);
    let message = FitError { all_nodes: 1, diagnosis: &cycle.diagnosis }.to_string();
    Refusal { message, late: true, ..Refusal::plain(status) }
}

/// A refusal of a pod that waits at Permit. The plugin counts as one that refused, also when it said `Pending`.
pub(super) fn refused_waiting(cycle: &mut Cycle, node: NodeId, status: Status) -> Refusal {
    let refusal = refused_at(cycle, node, status);
    let pending = std::mem::take(&mut cycle.diagnosis.pending_plugins);
    for plugin in pending.iter() {
        cycle.diagnosis.unschedulable_plugins.insert(plugin);
    }
    refusal
}

fn names(nodes: &NodeSet, snapshot: &Snapshot) -> Vec<Symbol> {
    nodes.iter().filter_map(|id| snapshot.node(id)).map(|node| node.name().clone()).collect()
}

/// After a panic: the first plugin that panics again when it runs alone.
fn blame(cycle: &Cycle, snapshot: &Snapshot) -> Status {
    let framework = cycle.framework.clone();
    let mut again = Cycle::new(cycle.pod.clone(), framework.clone(), cycle.now);
    for (at, plugin) in framework.plugins().iter().enumerate() {
        let id = PluginId(at as u16);
        let panics = catch_unwind(AssertUnwindSafe(|| {
            let mut slot = bayplan_framework::StateSlot::default();
            if let Some(point) = plugin.pre_filter() {
                let _ = point.pre_filter(&again.handle(snapshot).for_plugin(id), &mut slot);
            }
            *again.state.slot_mut(id) = slot;
            let handle = again.handle(snapshot).for_plugin(id);
            if let Some(point) = plugin.filter() {
                for node in snapshot.nodes() {
                    let _ = point.filter(&handle, node);
                }
                let mut verdicts = bayplan_framework::Verdicts::default();
                point.filter_range(&handle, snapshot.columns().alive(), &mut verdicts);
            }
            let on = Feasible { nodes: snapshot.columns().alive().clone() };
            let mut slot = again.state.slot(id).cloned().unwrap_or_default();
            if let Some(point) = plugin.pre_score() {
                let _ = point.pre_score(&again.handle(snapshot).for_plugin(id), &on, &mut slot);
            }
            *again.state.slot_mut(id) = slot;
            let handle = again.handle(snapshot).for_plugin(id);
            if let Some(point) = plugin.score() {
                for node in snapshot.nodes() {
                    let _ = point.score(&handle, node);
                }
                let mut scores = vec![0; snapshot.columns().room()];
                let _ = point.score_range(&handle, &on.nodes, &mut scores);
            }
        }))
        .is_err();
        if panics {
            return Status::error(format!("plugin {:?} panicked", plugin.name())).by(id);
        }
    }
    Status::error("a plugin panicked")
}

/// The number that breaks ties between nodes: a hash of seed, pod and attempt only (FNV-1a, then
/// the finaliser of SplitMix64).
fn draw(seed: u64, pod: &PodKey, attempt: u32) -> u64 {
    let mut hash = fnv(seed.to_le_bytes().into_iter().chain(pod.0.bytes()).chain(attempt.to_le_bytes()));
    hash = (hash ^ hash >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    hash = (hash ^ hash >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    hash ^ hash >> 31
}
