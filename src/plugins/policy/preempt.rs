//! `preempt`: what the policy says about the pods that may be evicted, and the evaluator of preemption where no other
//! plugin of the profile is one.

use super::attempt::Attempt;
use super::{PolicyPlugin, numbers, refusal_of};
use bayplan_framework::{
    Handle, Judged, JudgedPods, NodeToStatus, PluginsRunner, PostFilter, PostFilterOutcome, PreemptionRules,
    RuleFaults, Status, TimedPoint,
};
use bayplan_lang::analysis::reads::reads_of_condition;
use bayplan_lang::codegen::{
    CompiledCheck, CompiledPreempt, CompiledPrefilter, CompiledVictim, Env, RequiredLet,
};
use bayplan_lang::eval::context::EvalContext;
use bayplan_lang::eval::exempt::of_daemon_set;
use bayplan_lang::policy_set::CompiledPolicy;
use bayplan_lang::syntax::ast::{OnError, Resolvable};
use bayplan_lang::typed::{Leave, Missing, Point};
use bayplan_model::{NodeInfo, PodInfo, Snapshot};
use bayplan_plugins::default_preemption::Evaluator;
use std::sync::Arc;

/// Whether an eviction may change what a prefilter refuses: then preemption asks it again.
pub(super) fn asks_again(compiled: &CompiledPolicy) -> bool {
    let mut rejects = compiled.statements.prefilters.iter().map(|statement| match statement {
        CompiledPrefilter::Check(check) => check.reason().resolvable,
        // Another plugin may have refused the pod before nodes were left out.
        CompiledPrefilter::Only(_) => true,
    });
    let written = |of: &RequiredLet| match &of.missing {
        Missing::Reject(reason) => reason.written.is_some_and(Resolvable::helps),
        _ => false,
    };
    rejects.any(|again| again) || compiled.statements.required_lets.iter().any(written)
}

/// Whether a policy, or a statement of its `preempt`, may begin to apply to a pod that does not change.
pub(super) fn may_begin(compiled: &CompiledPolicy) -> bool {
    let (policy, rules) = (&compiled.policy, compiled.rules());
    let mut of = rules.at(Point::PostFilter).peekable();
    if of.peek().is_none() {
        return false;
    }
    let changes = |leave: &Leave| !reads_of_condition(policy, &leave.holds).is_of_pod_alone();
    !compiled.deciding.is_of_pod_alone() || of.flat_map(|rule| rules.guard(rule)).any(changes)
}

impl PolicyPlugin {
    /// The policy's `preempt`, if it has one and applies to any pod.
    pub(super) fn preempts(&self) -> Option<&CompiledPreempt> {
        self.compiled.statements.preempt.as_ref().filter(|_| !self.suspended)
    }

    /// What the policy keeps of the attempt, if it applies. PreFilter made it, unless another plugin ended PreFilter before:
    /// then it is `made`. Of rules that count it is the attempt of those that decide, perhaps for other pods.
    #[inline]
    fn begun<'a>(&self, h: &Handle<'a>, made: &'a mut Option<Attempt>) -> Option<&'a Attempt> {
        let attempt = match h.state::<Attempt>() {
            Some(known) => known,
            None if self.counts() => made.insert(Attempt::none(0)),
            None => made.insert(self.begin(h).attempt),
        };
        (attempt.applies || self.counts()).then_some(attempt)
    }

    /// An environment for rules about evictions.
    #[inline]
    fn simulating<'a, 'e>(&self, context: EvalContext<'a>, attempt: &'e Attempt) -> Env<'a, 'e> {
        Env::simulating(&self.compiled.policy, context, self.answers(attempt))
    }

    /// Whether a pod is a victim only by a rule that says `to all pods`: policies leave it alone, or refuse it nothing; a
    /// static pod does not go when it is deleted.
    fn spares(&self, pod: &PodInfo, snapshot: &Snapshot) -> bool {
        self.exempt.exempts(pod) || of_daemon_set(pod, snapshot) || pod.is_static()
    }

    /// Whether one of these holds for a pod on a node.
    fn any_holds<'a>(
        &self,
        h: &Handle<'_>,
        rules: &[CompiledVictim],
        env: &mut Env<'a, '_>,
        pod: &'a PodInfo,
        faults: &mut RuleFaults,
    ) -> Result<bool, Status> {
        let Some(first) = rules.first() else { return Ok(false) };
        let number = if first.victim.protects { numbers::PROTECT } else { numbers::VICTIM };
        self.timed(h, TimedPoint::PostFilter, number, || self.first_that_holds(rules, env, pod, faults))
    }

    fn first_that_holds<'a>(
        &self,
        rules: &[CompiledVictim],
        env: &mut Env<'a, '_>,
        pod: &'a PodInfo,
        faults: &mut RuleFaults,
    ) -> Result<bool, Status> {
        // Asked at most once, and only where a rule holds.
        let mut spared = None;
        for rule in rules {
            let mut holds = rule.holds(env, pod);
            if holds && !rule.victim.protects && !rule.victim.to_all_pods {
                holds = !*spared.get_or_insert_with(|| self.spares(pod, env.context.snapshot));
            }
            let number = if rule.victim.protects { numbers::PROTECT } else { numbers::VICTIM };
            faults.extend(env.ignored.take().map(|fault| self.fault_of(number, &fault)));
            if let Some(fault) = env.failed.take() {
                if rule.victim.on_error == OnError::Error {
                    return Err(self.failed(number, OnError::Error, &fault, false));
                }
                faults.push(self.fault_of(number, &fault));
            }
            if holds {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether a pod may be evicted from a node.
    fn judged<'a>(
        &self,
        (h, preempt): (&Handle<'_>, &CompiledPreempt),
        env: &mut Env<'a, '_>,
        victim: &'a PodInfo,
        faults: &mut RuleFaults,
    ) -> Result<Judged, Status> {
        if !self.any_holds(h, &preempt.victims, env, victim, faults)? {
            return Ok(Judged::Other);
        }
        let protected = self.any_holds(h, &preempt.protects, env, victim, faults)?;
        Ok(if protected { Judged::Protected } else { Judged::Candidate })
    }

    /// Whether one of some rules holds for a pod that may be evicted from a node.
    fn any_about(
        &self,
        rules: fn(&CompiledPreempt) -> &[CompiledVictim],
        (h, node, victim): (&Handle<'_>, NodeInfo<'_>, &PodInfo),
        faults: &mut RuleFaults,
    ) -> Result<bool, Status> {
        let mut made = None;
        let (Some(preempt), Some(attempt)) = (self.preempts(), self.begun(h, &mut made)) else {
            return Ok(false);
        };
        let rules = rules(preempt);
        if rules.is_empty() {
            return Ok(false);
        }
        let mut env = self.simulating(self.context(h, Some(attempt)).on(node), attempt);
        self.any_holds(h, rules, &mut env, victim, faults)
    }

    /// The refusal of the first of these that refuses.
    fn first_refusal(
        &self,
        h: &Handle<'_>,
        (number, checks): (u16, &[CompiledCheck]),
        (context, attempt): (EvalContext<'_>, &Attempt),
        faults: &mut RuleFaults,
    ) -> Result<(), Status> {
        if checks.is_empty() {
            return Ok(());
        }
        let checked = || self.first_that_refuses((number, checks), (context, attempt), faults);
        self.timed(h, TimedPoint::PostFilter, number, checked)
    }

    fn first_that_refuses(
        &self,
        (number, checks): (u16, &[CompiledCheck]),
        (context, attempt): (EvalContext<'_>, &Attempt),
        faults: &mut RuleFaults,
    ) -> Result<(), Status> {
        let mut env = self.simulating(context, attempt);
        for check in checks {
            let refuses = check.refuses(&mut env);
            faults.extend(env.ignored.take().map(|fault| self.fault_of(number, &fault)));
            if !refuses {
                continue;
            }
            let Some(fault) = env.failed.take() else {
                return Err(refusal_of(&self.compiled, check, context).of_rule(number));
            };
            if check.on_error != OnError::Error {
                faults.push(self.fault_of(number, &fault));
            }
            return Err(self.failed(number, check.on_error, &fault, true));
        }
        Ok(())
    }
}

impl PreemptionRules for PolicyPlugin {
    fn applies(&self, h: &Handle) -> bool {
        let mut made = None;
        let (Some(preempt), Some(attempt)) = (self.preempts(), self.begun(h, &mut made)) else {
            return false;
        };
        preempt.decides(&mut self.simulating(self.context(h, Some(attempt)), attempt))
    }

    fn names_victims(&self, h: &Handle) -> bool {
        let mut made = None;
        let (Some(preempt), Some(attempt)) = (self.preempts(), self.begun(h, &mut made)) else {
            return false;
        };
        let mut env = self.simulating(self.context(h, Some(attempt)), attempt);
        preempt.victims.iter().any(|victim| victim.decides(&mut env))
    }

    fn may_name_victims(&self) -> bool {
        self.preempts().is_some_and(|preempt| !preempt.victims.is_empty())
    }

    fn may_begin(&self) -> bool {
        self.may_begin
    }

    fn never(&self, h: &Handle, faults: &mut RuleFaults) -> Result<(), Status> {
        let mut made = None;
        let (Some(preempt), Some(attempt)) = (self.preempts(), self.begun(h, &mut made)) else {
            return Ok(());
        };
        let context = self.context(h, Some(attempt));
        self.first_refusal(h, (numbers::NEVER, &preempt.nevers), (context, attempt), faults)
    }

    fn candidate(
        &self,
        h: &Handle,
        node: NodeInfo,
        victim: &PodInfo,
        faults: &mut RuleFaults,
    ) -> Result<bool, Status> {
        self.any_about(|preempt| &preempt.victims, (h, node, victim), faults)
    }

    fn protects(
        &self,
        h: &Handle,
        node: NodeInfo,
        victim: &PodInfo,
        faults: &mut RuleFaults,
    ) -> Result<bool, Status> {
        self.any_about(|preempt| &preempt.protects, (h, node, victim), faults)
    }

    fn judge(
        &self,
        h: &Handle,
        node: NodeInfo,
        victim: &PodInfo,
        faults: &mut RuleFaults,
    ) -> Result<Judged, Status> {
        let mut made = None;
        let (Some(preempt), Some(attempt)) = (self.preempts(), self.begun(h, &mut made)) else {
            return Ok(Judged::Other);
        };
        let mut env = self.simulating(self.context(h, Some(attempt)).on(node), attempt);
        self.judged((h, preempt), &mut env, victim, faults)
    }

    fn judge_all(
        &self,
        h: &Handle,
        node: NodeInfo,
        victims: &[&Arc<PodInfo>],
        faults: &mut RuleFaults,
    ) -> Option<Result<JudgedPods, Status>> {
        let preempt = self.preempts().filter(|preempt| preempt.is_steady)?;
        let mut made = None;
        let Some(attempt) = self.begun(h, &mut made) else {
            return Some(Ok(victims.iter().map(|_| Judged::Other).collect()));
        };
        let mut env = self.simulating(self.context(h, Some(attempt)).on(node), attempt);
        Some(victims.iter().map(|victim| self.judged((h, preempt), &mut env, victim, faults)).collect())
    }

    fn guard(&self, h: &Handle, node: NodeInfo, faults: &mut RuleFaults) -> Result<(), Status> {
        let mut made = None;
        let (Some(preempt), Some(attempt)) = (self.preempts(), self.begun(h, &mut made)) else {
            return Ok(());
        };
        let context = self.context(h, Some(attempt)).on(node);
        self.first_refusal(h, (numbers::GUARD, &preempt.guards), (context, attempt), faults)
    }
}

impl PostFilter for PolicyPlugin {
    fn preempts(&self) -> bool {
        true
    }

    fn is_substitute(&self) -> bool {
        true
    }

    fn post_filter(
        &self,
        h: &Handle,
        nodes: &NodeToStatus,
        run: &mut dyn PluginsRunner,
    ) -> PostFilterOutcome {
        Evaluator::default().evaluate(h, nodes, run)
    }
}
