//! `preempt`, lowered: what a policy says about the pods that may be evicted. `plugins::policy` asks for each pod and
//! node of a simulation, so that nothing is computed beforehand.

use super::rules::{CompiledCheck, fallible, once};
use super::{BoolFn, Env, Lowering};
use crate::lang::typed::{Preempt, SlotId, Victim};
use crate::lang::types::value::Value;
use crate::model::PodInfo;

/// `victim` or `protect`.
pub struct CompiledVictim {
    /// What was written.
    pub victim: Victim,
    slot: SlotId,
    holds: BoolFn,
}

impl CompiledVictim {
    /// Whether it holds for a pod. A fault is in [`Env::failed`]: such a pod may not be evicted.
    pub fn holds<'a>(&self, env: &mut Env<'a, '_>, pod: &'a PodInfo) -> bool {
        env.bind(self.slot, Value::Pod(pod));
        (self.holds)(env)
    }
}

/// All `preempt` of a policy.
pub struct CompiledPreempt {
    /// `never`, in the order of the text.
    pub nevers: Vec<CompiledCheck>,
    /// `victim`, in the order of the text.
    pub victims: Vec<CompiledVictim>,
    /// `protect`, in the order of the text.
    pub protects: Vec<CompiledVictim>,
    /// `guard`, in the order of the text.
    pub guards: Vec<CompiledCheck>,
}

/// Lowers all `preempt` of a policy.
pub(super) fn preempt(lowering: &mut Lowering<'_>, of: &Preempt) -> CompiledPreempt {
    let mut lower = |victim: &Victim| CompiledVictim {
        slot: victim.slot,
        holds: fallible(lowering, &victim.condition, victim.on_error, victim.protects),
        victim: victim.clone(),
    };
    let (protects, victims) = of.victims.iter().partition::<Vec<&Victim>, _>(|victim| victim.protects);
    let victims = victims.into_iter().map(&mut lower).collect();
    let protects = protects.into_iter().map(&mut lower).collect();
    CompiledPreempt {
        victims,
        protects,
        nevers: of.nevers.iter().map(|check| once(lowering, check)).collect(),
        guards: of.guards.iter().map(|check| once(lowering, check)).collect(),
    }
}
