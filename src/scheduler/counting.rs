//! What rules that do not decide would have done: asked after the decision, written into its record, and told to the owner
//! of the pod where a rule warns. Nothing here changes what happens to the pod.

use super::Scheduler;
use super::attempt::Attempt;
use super::calls::object_key;
use super::io::Effect;
use super::post_filter::chosen;
use super::queue::Queued;
use super::refusal::Refusal;
use bayplan_framework::{Cycle, EventRecord, EventType, Would, WouldEffect};
use bayplan_model::{NodeId, PodInfo, PodKey, Time};
use std::collections::BTreeSet;
use std::sync::Arc;

/// The reason of the events.
const REASON: &str = "PolicyWouldRefuse";

impl Scheduler {
    /// What the rules would have done to a pod that is placed. `would` is what those up to Score would have done.
    pub(super) fn would_have_placed(&self, cycle: &Cycle, node: NodeId, mut would: Vec<Would>) -> Vec<Would> {
        cycle.framework.would_place(cycle, &self.cache.snapshot, node, &mut would);
        would
    }

    /// What the rules would have done to an attempt that ended without a node; nothing for one that failed.
    pub(super) fn would_have_refused(&self, attempt: &Attempt, refusal: &Refusal) -> Vec<Would> {
        let (cycle, framework) = (&attempt.cycle, &attempt.cycle.framework);
        if !refusal.status.is_rejected() {
            return Vec::new();
        }
        let snapshot = attempt.snapshot(&self.cache.snapshot);
        let effect = |answer: &_| match &refusal.preemption {
            // Extenders may have left some of the candidates out: they are not asked again.
            Some(preemption) if framework.extenders().is_empty() => {
                let (_, with) = chosen(answer, cycle, snapshot);
                let with = with.map(|with| keys(&with.victims)).unwrap_or_default();
                difference(&keys(&preemption.victims), &with)
            }
            _ => WouldEffect::Same,
        };
        framework.would_refuse(cycle, snapshot, &effect)
    }

    /// Counts what the rules would have done, and tells the owner of a pod of the rules that warn and would have refused it, of each once.
    pub(super) fn note_would(
        &mut self,
        queued: &mut Queued,
        would: &[Would],
        now: Time,
        out: &mut Vec<Effect>,
    ) {
        self.by_rule.would.count(would);
        for of in would {
            let Some(text) = &of.tells else { continue };
            let rule = (of.policy.clone(), of.rule.clone());
            if queued.info.told.contains(&rule) {
                continue;
            }
            queued.info.told.push(rule);
            let pod = queued.info.pod.clone();
            let event = EventRecord {
                pod: object_key(&pod),
                related: None,
                key: pod.key.clone(),
                scheduler: pod.scheduler_name.clone(),
                kind: EventType::Warning,
                reason: REASON.into(),
                action: "Scheduling",
                note: format!("{}/{}: {text}", of.policy, of.rule),
                result: None,
                at: now,
            };
            self.event(event, out);
        }
    }
}

fn keys(pods: &[Arc<PodInfo>]) -> BTreeSet<PodKey> {
    pods.iter().map(|pod| pod.key.clone()).collect()
}

/// How other victims differ from those of the attempt.
fn difference(now: &BTreeSet<PodKey>, with: &BTreeSet<PodKey>) -> WouldEffect {
    match with.is_subset(now) {
        true if with.len() == now.len() => WouldEffect::Same,
        true => WouldEffect::Spares,
        false => WouldEffect::Evicts,
    }
}
