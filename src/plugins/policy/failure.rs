//! `after failure`, and the acts of `after bind` beside writes: releases of other pods, what is remembered, and events.

use super::attempt::{Absent, Attempt};
use super::{PolicyPlugin, numbers, refusal};
use bayplan_framework::{Actor, EventType, Failure, Handle, PluginEvent, PostBind, Status};
use bayplan_lang::codegen::{CompiledAct, CompiledDoes, Env};
use bayplan_lang::eval::context::EvalContext;
use bayplan_lang::eval::interpret::Evaluator;
use bayplan_lang::eval::ledgers::Key;
use bayplan_lang::eval::memos::{MemoIndex, key_of};
use bayplan_lang::typed::MemoId;
use bayplan_lang::types::convert;
use bayplan_lang::types::value::{Constant, Value};
use bayplan_model::{NodeId, PodInfo, PodKey, Symbol};

/// What is done at once.
enum Done {
    /// A pod that waits at Permit is refused.
    Released(PodKey, Status),
    /// A pod that has no node is tried again.
    Woken(PodKey),
    /// A memo is set under a key, or forgotten.
    Remembered(MemoId, Key, Option<Constant>),
    /// An event is recorded.
    Said(PluginEvent),
}

impl PolicyPlugin {
    /// Whether the policy applies to the pod of an attempt that is over, and no value with `missing` is absent.
    /// `refuses`: and whether it may refuse pods such as this one.
    pub(super) fn acts_for(&self, h: &Handle<'_>, context: EvalContext<'_>, refuses: bool) -> bool {
        // An attempt may end before the policy had its turn.
        let applies = match h.state::<Attempt>() {
            Some(attempt) => attempt.applies && (attempt.refuses || !refuses),
            None => self.applies(context) && !(refuses && self.never_refuses(h.pod, h.snapshot)),
        };
        applies && matches!(self.missing(context), Absent::Nothing)
    }

    /// What acts do at once. An attempt that ended because of another pod only remembers.
    fn done(&self, acts: &[CompiledAct], context: EvalContext<'_>, ended_by_others: bool) -> Vec<Done> {
        let mut env = Env::new(&self.compiled.policy, context, &[]);
        let mut done = Vec::new();
        for act in acts {
            let remembers = matches!(act.does, CompiledDoes::Remember(..));
            if ended_by_others && !remembers || !act.holds(&mut env) {
                continue;
            }
            match &act.does {
                CompiledDoes::Release(members, reason) => {
                    let status = refusal(&self.compiled, reason, context).of_rule(numbers::AFTER_FAILURE);
                    let waiting = |pod: &PodInfo| context.is_waiting(pod);
                    let waiting = others(members(&mut env), context.pod, waiting);
                    done.extend(waiting.into_iter().map(|key| Done::Released(key, status.clone())));
                }
                CompiledDoes::Remember(memo, value) => {
                    let value = Some(convert::keep(&value(&mut env))).filter(|value| !value.is_absent());
                    let key = key_of(&self.compiled.policy, *memo, context);
                    // The last one of the text decides.
                    done.retain(|of| !matches!(of, Done::Remembered(other, ..) if other == memo));
                    done.push(Done::Remembered(*memo, key, value));
                }
                CompiledDoes::Activate(members) => {
                    let unplaced = |pod: &PodInfo| context.placement(pod).is_none();
                    let unplaced = others(members(&mut env), context.pod, unplaced);
                    done.extend(unplaced.into_iter().map(Done::Woken));
                }
                CompiledDoes::Event(target, event) => {
                    let Some(of) = super::writes::object_of(target, &mut env, context) else { continue };
                    done.push(Done::Said(PluginEvent {
                        of,
                        kind: if event.warning { EventType::Warning } else { EventType::Normal },
                        reason: Symbol::new(&event.reason),
                        action: "Binding",
                        note: Evaluator::new(&self.compiled.policy, context).reason(&event.text),
                    }));
                }
                CompiledDoes::Write(..) => {}
            }
        }
        done
    }
}

impl PolicyPlugin {
    fn carry_out(&self, a: &mut Actor, done: Vec<Done>) {
        for done in done {
            match done {
                Done::Released(pod, status) => a.release(pod, status),
                Done::Woken(pod) => a.wake(pod),
                Done::Remembered(memo, key, value) => self.remember(a, memo, key, value),
                Done::Said(event) => a.event(event),
            }
        }
    }

    /// Sets a memo, or forgets it; pods that wait for this key are notified.
    fn remember(&self, a: &mut Actor, memo: MemoId, key: Key, value: Option<Constant>) {
        let (memo, now) = (&self.compiled.policy[memo], a.now);
        a.write::<MemoIndex>(&memo.index, |index, moved| {
            index.remember(key, value, now, memo.keeps_for, moved);
        });
    }
}

/// Those of some pods for which `wanted` holds, without `own`.
fn others(pods: Value<'_>, own: &PodInfo, wanted: impl Fn(&PodInfo) -> bool) -> Vec<PodKey> {
    let of = |value: &Value<'_>| match value {
        Value::Pod(pod) if pod.key != own.key && wanted(pod) => Some(pod.key.clone()),
        _ => None,
    };
    pods.elements().unwrap_or_default().iter().filter_map(of).collect()
}

impl Failure for PolicyPlugin {
    fn failed(&self, a: &mut Actor, ended_by_others: bool) {
        // Two groups that end and wake each other would never rest.
        let done = {
            let h = a.handle();
            let context = EvalContext::new(h.pod, h.snapshot, h.now);
            if !self.acts_for(&h, context, true) {
                return;
            }
            self.done(&self.compiled.statements.acts.after_failure, context, ended_by_others)
        };
        self.carry_out(a, done);
    }
}

impl PostBind for PolicyPlugin {
    fn post_bind(&self, a: &mut Actor, node: NodeId) {
        let done = {
            let h = a.handle();
            let Some(node) = h.snapshot.node(node) else { return };
            let context = EvalContext::new(h.pod, h.snapshot, h.now).on(node);
            if !self.acts_for(&h, context, false) {
                return;
            }
            self.done(&self.compiled.statements.acts.after_bind, context, false)
        };
        self.carry_out(a, done);
    }
}
