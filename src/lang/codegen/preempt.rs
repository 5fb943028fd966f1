//! `preempt`, lowered: what a policy says about the pods that may be evicted. `plugins::policy` asks for each pod and
//! node of a simulation, so that nothing is computed beforehand.

use super::rules::{CompiledCheck, fallible, once};
use super::{BoolFn, Env, Lowering};
use crate::analysis::steady::is_steady;
use crate::typed::{Body, Point, Rule, Rules, SlotId, Statement, Victim};
use crate::types::value::Value;
use bayplan_model::PodInfo;

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

/// Lowers all rules about evictions; `None` where there is none.
pub(super) fn preempt(lowering: &mut Lowering<'_>, rules: Rules<'_>) -> Option<CompiledPreempt> {
    let all: Vec<&Rule> = rules.at(Point::PostFilter).collect();
    if all.is_empty() {
        return None;
    }
    let said = all.iter().filter(|rule| !matches!(rule.body, Body::Preempt));
    let unless: Vec<Leaves> = said.map(|rule| leaves(lowering, rules, rule)).collect();
    let for_some = !unless.is_empty() && unless.iter().all(|leaves| !leaves.is_empty());
    let mut made = CompiledPreempt {
        victims: Vec::new(),
        protects: Vec::new(),
        nevers: Vec::new(),
        guards: Vec::new(),
        is_steady: true,
        unless: for_some.then_some(unless),
    };
    for rule in all {
        match &rule.body {
            Body::Never(check) => made.nevers.push(once(lowering, rules, rule, check)),
            Body::EvictionGuard(check) => made.guards.push(once(lowering, rules, rule, check)),
            Body::Victim(victim) => {
                let mut parts = rules.guard(rule).map(|leave| &leave.holds).chain([&victim.condition]);
                made.is_steady &= parts.all(|part| is_steady(rules.policy, part));
                let of = if victim.protects { &mut made.protects } else { &mut made.victims };
                of.push(naming(lowering, rules, rule, victim));
            }
            _ => {}
        }
    }
    Some(made)
}

/// What leaves the pod that preempts alone.
fn leaves(lowering: &mut Lowering<'_>, rules: Rules<'_>, rule: &Rule) -> Leaves {
    rules.guard(rule).map(|leave| lowering.bool(&leave.holds)).collect()
}

fn naming(lowering: &mut Lowering<'_>, rules: Rules<'_>, rule: &Rule, victim: &Victim) -> CompiledVictim {
    let condition = rules.condition(rule, Statement::Victim(victim));
    let condition = condition.as_deref().unwrap_or(&victim.condition);
    CompiledVictim {
        slot: victim.slot,
        unless: leaves(lowering, rules, rule),
        holds: fallible(lowering, condition, victim.on_error, victim.protects),
        victim: victim.clone(),
    }
}
