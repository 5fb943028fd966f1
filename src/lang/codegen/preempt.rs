//! `preempt`, lowered: what a policy says about the pods that may be evicted. `plugins::policy` asks for each pod and
//! node of a simulation, so that nothing is computed beforehand.

use super::rules::{CompiledCheck, fallible, once};
use super::{BoolFn, Env, Lowering};
use crate::diag::Span;
use crate::lang::analysis::steady::is_steady;
use crate::lang::typed::{Canary, Preempt, SlotId, Victim};
use crate::lang::types::value::Value;
use crate::model::PodInfo;

/// `victim` or `protect`.
pub struct CompiledVictim {
    /// What was written.
    pub victim: Victim,
    slot: SlotId,
    holds: BoolFn,
    /// Whether it decides for the pod that preempts; `None`: for every pod.
    decides: Option<BoolFn>,
}

impl CompiledVictim {
    /// Whether it holds for a pod. A fault is in [`Env::failed`]: such a pod may not be evicted.
    pub fn holds<'a>(&self, env: &mut Env<'a, '_>, pod: &'a PodInfo) -> bool {
        env.bind(self.slot, Value::Pod(pod));
        (self.holds)(env)
    }

    /// Whether it decides for the pod that preempts.
    pub fn decides(&self, env: &mut Env<'_, '_>) -> bool {
        self.decides.as_ref().is_none_or(|decides| decides(env))
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
    /// What `victim` and `protect` say of a pod is the same in every simulation.
    pub is_steady: bool,
    /// For which pods it decides, of each statement; `None`: one decides for every pod, or there is none.
    decides: Option<Vec<BoolFn>>,
}

impl CompiledPreempt {
    /// Whether a statement decides for the pod that preempts.
    pub fn decides(&self, env: &mut Env<'_, '_>) -> bool {
        self.decides.as_ref().is_none_or(|decides| decides.iter().any(|decides| decides(env)))
    }
}

/// Lowers all `preempt` of a policy.
pub(super) fn preempt(lowering: &mut Lowering<'_>, of: &Preempt) -> CompiledPreempt {
    let modes = &lowering.policy.modes;
    let spans = of.victims.iter().map(|victim| victim.span);
    let spans: Vec<Span> = spans.chain(of.nevers.iter().chain(&of.guards).map(|check| check.span)).collect();
    let some: Option<Vec<&Canary>> = spans.iter().map(|span| modes.canary(*span)).collect();
    let decides = some.filter(|some| !some.is_empty());
    let decides = decides.map(|some| some.into_iter().map(|canary| lowering.bool(&canary.decides)).collect());
    let is_steady = of.victims.iter().all(|victim| is_steady(lowering.policy, &victim.condition));
    let mut lower = |victim: &Victim| CompiledVictim {
        slot: victim.slot,
        decides: modes.canary(victim.span).map(|canary| lowering.bool(&canary.decides)),
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
        is_steady,
        decides,
    }
}
