//! `preempt`, lowered: what a policy says about the pods that may be evicted. `plugins::policy` asks for each pod and
//! node of a simulation, so that nothing is computed beforehand.

use super::rules::{CompiledCheck, fallible, once};
use super::{BoolFn, Env, Lowering};
use crate::diag::Span;
use crate::lang::analysis::steady::is_steady;
use crate::lang::typed::{Preempt, SlotId, Victim};
use crate::lang::types::value::Value;
use crate::model::PodInfo;

/// `victim` or `protect`.
pub struct CompiledVictim {
    /// What was written.
    pub victim: Victim,
    slot: SlotId,
    holds: BoolFn,
    unless: Leaves,
}

/// What leaves the pod that preempts alone where one of these holds.
type Leaves = Vec<BoolFn>;

fn leave_alone(leaves: &Leaves, env: &mut Env<'_, '_>) -> bool {
    leaves.iter().any(|holds| holds(env))
}

impl CompiledVictim {
    /// Whether it holds for a pod. A fault is in [`Env::failed`]: such a pod may not be evicted.
    pub fn holds<'a>(&self, env: &mut Env<'a, '_>, pod: &'a PodInfo) -> bool {
        env.bind(self.slot, Value::Pod(pod));
        (self.holds)(env)
    }

    /// Whether it decides for the pod that preempts.
    pub fn decides(&self, env: &mut Env<'_, '_>) -> bool {
        !leave_alone(&self.unless, env)
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
    /// Of each statement, which pods it leaves alone; `None`: one decides for every pod, or there is none.
    unless: Option<Vec<Leaves>>,
}

impl CompiledPreempt {
    /// Whether a statement decides for the pod that preempts.
    pub fn decides(&self, env: &mut Env<'_, '_>) -> bool {
        let Some(unless) = &self.unless else { return true };
        unless.iter().any(|leaves| !leave_alone(leaves, env))
    }
}

/// Lowers all `preempt` of a policy.
pub(super) fn preempt(lowering: &mut Lowering<'_>, of: &Preempt) -> CompiledPreempt {
    let leaves = |lowering: &mut Lowering<'_>, statement: Span| -> Leaves {
        of.leaves_alone(statement).map(|holds| lowering.bool(holds)).collect()
    };
    let unless: Vec<Leaves> = of.statements().map(|statement| leaves(lowering, statement)).collect();
    let for_some = !unless.is_empty() && unless.iter().all(|leaves| !leaves.is_empty());
    let is_steady = of.victims.iter().all(|victim| is_steady(lowering.policy, &victim.condition));
    let mut lower = |victim: &Victim| CompiledVictim {
        slot: victim.slot,
        unless: leaves(lowering, victim.span),
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
        unless: for_some.then_some(unless),
    }
}
