//! [`PreemptionRules`]: what a plugin says about the pods that may be evicted for a pod, and [`AppliedRules`]: the rules
//! of all plugins of a profile that apply to the pod. The plugin that preempts asks them (`plugins/default_preemption`).
//!
//! Preemption rules can start to apply to a pod that does not change (`Framework::rules_to_begin`), since `victim`
//! may name pods that priorities do not. So a failed attempt counts their plugins among those whose events may help
//! the pod, and when a policy that names victims comes into service the queue tries the pods again to which it may
//! apply (`Framework::evicts_more`).
//!
//! A promised node is kept from the pods that the promised pod may evict (`Framework::keeps_from`): pods of at most
//! its own priority, and those that rules of the profile let it evict. Otherwise they would take the node and be
//! evicted again.

use super::candidates::sort_by_importance;
use super::handle::Handle;
use super::plugin_id::{PluginId, PluginSet};
use super::simulation::Simulation;
use super::status::{Code, RuleFault, Status};
use bayplan_model::{NodeInfo, PodInfo};
use smallvec::SmallVec;
use std::sync::Arc;

/// Faults of rules after which preemption goes on.
pub type RuleFaults = Vec<Arc<RuleFault>>;

/// Which pods may be evicted for the pod of the handle. Every answer is about the cluster as the handle and the node show
/// it: pods that a simulation took away are gone.
pub trait PreemptionRules: Sync {
    /// Whether the rules apply to the pod that preempts.
    fn applies(&self, h: &Handle) -> bool;
    /// Whether they name the pods that may be evicted. Where the rules of no plugin do, pods of lower priority may be.
    fn names_victims(&self, h: &Handle) -> bool;
    /// Whether they may do so for some pod.
    fn may_name_victims(&self) -> bool {
        false
    }
    /// Whether `applies` and `names_victims` may change without the pod.
    fn may_begin(&self) -> bool {
        false
    }
    /// Why the pod evicts no other pod.
    fn never(&self, h: &Handle, faults: &mut RuleFaults) -> Result<(), Status>;
    /// Whether a pod on the node is one of those that may be evicted; of rules that name none, no. An `Error` ends preemption.
    fn candidate(
        &self,
        h: &Handle,
        node: NodeInfo,
        victim: &PodInfo,
        faults: &mut RuleFaults,
    ) -> Result<bool, Status>;
    /// Whether a pod on the node must not be evicted. An `Error` ends preemption.
    fn protects(
        &self,
        h: &Handle,
        node: NodeInfo,
        victim: &PodInfo,
        faults: &mut RuleFaults,
    ) -> Result<bool, Status>;
    /// [`candidate`](Self::candidate), and of a candidate [`protects`](Self::protects), in one call.
    fn judge(
        &self,
        h: &Handle,
        node: NodeInfo,
        victim: &PodInfo,
        faults: &mut RuleFaults,
    ) -> Result<Judged, Status> {
        if !self.candidate(h, node, victim, faults)? {
            return Ok(Judged::Other);
        }
        Ok(if self.protects(h, node, victim, faults)? { Judged::Protected } else { Judged::Candidate })
    }
    /// What [`judge`](Self::judge) says of pods of a node, in their order up to one of which a rule fails. `None`: what
    /// it says may depend on whether others are evicted.
    fn judge_all(
        &self,
        _h: &Handle,
        _node: NodeInfo,
        _victims: &[&Arc<PodInfo>],
        _faults: &mut RuleFaults,
    ) -> Option<Result<JudgedPods, Status>> {
        None
    }
    /// Why the pod may not evict these pods, when they are gone. An `Error` ends preemption.
    fn guard(&self, h: &Handle, node: NodeInfo, faults: &mut RuleFaults) -> Result<(), Status>;
}

/// What the rules of one plugin say about a pod on a node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Judged {
    /// It may be evicted.
    Candidate,
    /// It is none of those that may be evicted.
    Other,
    /// It may be evicted but for another rule.
    Protected,
}

/// What the rules of one plugin say about pods of a node.
pub type JudgedPods = SmallVec<[Judged; 16]>;

/// What the rules say about a pod on a node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// It may be evicted.
    Candidate,
    /// It is none of those that may be evicted.
    Other,
    /// It may be evicted but for the rules of this plugin.
    Protected(PluginId),
}

/// Why the pods of a node were not all judged.
#[derive(Clone, PartialEq, Debug)]
pub enum TakeOffError {
    /// A rule failed.
    Rule(Status),
    /// A plugin could not follow the simulation.
    Simulation(Status),
}

/// What came of asking rules.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct RuleNotes {
    /// The plugins whose rules kept a pod from being evicted: their events may help the pod that preempts.
    pub refusing: PluginSet,
    /// Faults after which preemption went on.
    pub faults: Vec<(PluginId, Arc<RuleFault>)>,
}

impl RuleNotes {
    /// Adds what came of asking further rules.
    pub(super) fn add(&mut self, more: Self) {
        self.refusing.union(&more.refusing);
        self.faults.extend(more.faults);
    }
}

/// The rules that apply to one pod that preempts, of all plugins at PostFilter, in the order of that point.
#[derive(Default)]
pub struct AppliedRules<'r> {
    all: SmallVec<[(PluginId, &'r dyn PreemptionRules); 2]>,
    /// The plugins whose rules name the pods that may be evicted.
    namers: PluginSet,
    notes: RuleNotes,
}

impl<'r> AppliedRules<'r> {
    /// Of these plugins; those that do not apply to the pod are left out.
    pub fn of(rules: impl IntoIterator<Item = (PluginId, &'r dyn PreemptionRules)>, h: Handle) -> Self {
        let all: SmallVec<_> =
            rules.into_iter().filter(|(id, rules)| rules.applies(&h.for_plugin(*id))).collect();
        let mut namers = PluginSet::default();
        for (id, rules) in &all {
            let rules: &dyn PreemptionRules = *rules;
            if rules.names_victims(&h.for_plugin(*id)) {
                namers.insert(*id);
            }
        }
        Self { all, namers, notes: RuleNotes::default() }
    }

    /// Whether no rule applies to the pod.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Whether rules, and not priorities, say which pods may be evicted.
    pub fn names_victims(&self) -> bool {
        !self.namers.is_empty()
    }

    /// The plugins, in the order of PostFilter.
    pub fn plugins(&self) -> impl Iterator<Item = PluginId> {
        self.all.iter().map(|(id, _)| *id)
    }

    /// What came of asking.
    pub fn into_notes(self) -> RuleNotes {
        self.notes
    }

    fn note(&mut self, plugin: PluginId, faults: RuleFaults) {
        if faults.is_empty() {
            return;
        }
        self.notes.faults.extend(faults.into_iter().map(|fault| (plugin, fault)));
    }

    /// Asks every plugin in turn until one has an answer.
    fn ask<T>(
        &mut self,
        h: Handle,
        mut ask: impl FnMut(&dyn PreemptionRules, &Handle, &mut RuleFaults) -> Result<Option<T>, Status>,
    ) -> Result<Option<(PluginId, T)>, Status> {
        for at in 0..self.all.len() {
            let Some((id, rules)) = self.all.get(at).copied() else { continue };
            let mut faults = RuleFaults::new();
            let answer = ask(rules, &h.for_plugin(id), &mut faults);
            self.note(id, faults);
            match answer {
                Ok(None) => {}
                Ok(Some(answer)) => return Ok(Some((id, answer))),
                Err(status) => {
                    self.notes.refusing.insert(id);
                    return Err(status.by(id));
                }
            }
        }
        Ok(None)
    }

    /// Why the pod evicts no other pod.
    pub fn never(&mut self, h: Handle) -> Result<(), Status> {
        self.ask(h, |rules, h, faults| rules.never(h, faults).map(|()| None::<()>)).map(|_| ())
    }

    /// Whether a pod on the node may be evicted. Any plugin's protection counts.
    pub fn verdict(&mut self, h: Handle, node: NodeInfo, victim: &PodInfo) -> Result<Verdict, Status> {
        if self.names_victims() && self.all.len() == 1 {
            let judged = self.ask(h, |rules, h, faults| rules.judge(h, node, victim, faults).map(Some))?;
            return Ok(judged.map_or(Verdict::Other, |(id, judged)| self.noted(id, judged)));
        }
        let candidate = match self.names_victims() {
            false => victim.priority < h.pod.priority,
            true => {
                let named = self
                    .ask(h, |rules, h, faults| Ok(rules.candidate(h, node, victim, faults)?.then_some(())))?;
                named.is_some()
            }
        };
        if !candidate {
            self.notes.refusing.union(&self.namers);
            return Ok(Verdict::Other);
        }
        let protects =
            self.ask(h, |rules, h, faults| Ok(rules.protects(h, node, victim, faults)?.then_some(())))?;
        Ok(match protects {
            Some((id, ())) => {
                self.notes.refusing.insert(id);
                Verdict::Protected(id)
            }
            None => Verdict::Candidate,
        })
    }

    /// The verdict of the only plugin.
    fn noted(&mut self, id: PluginId, judged: Judged) -> Verdict {
        if judged != Judged::Candidate {
            self.notes.refusing.insert(id);
        }
        match judged {
            Judged::Candidate => Verdict::Candidate,
            Judged::Other => Verdict::Other,
            Judged::Protected => Verdict::Protected(id),
        }
    }

    /// What the only plugin says of pods of a node, if no eviction changes that.
    fn verdicts(
        &mut self,
        (h, node): (Handle, NodeInfo),
        pods: &[&Arc<PodInfo>],
    ) -> Result<Option<(PluginId, JudgedPods)>, Status> {
        if !self.names_victims() || self.all.len() != 1 {
            return Ok(None);
        }
        self.ask(h, |rules, h, faults| rules.judge_all(h, node, pods, faults).transpose())
    }

    /// Takes the pods off a node that may be evicted. They are judged one after the other, the least important first,
    /// each with the earlier ones gone, so that no more pods are taken than a condition wants. `judged` sees every pod with
    /// its verdict, and the node as it was then.
    pub fn take_off<'n>(
        &mut self,
        node: NodeInfo<'n>,
        trial: &mut Simulation,
        judged: &mut dyn FnMut(NodeInfo, &'n Arc<PodInfo>, Verdict),
    ) -> Result<(), TakeOffError> {
        let mut left: SmallVec<[&Arc<PodInfo>; 16]> = node.pods().collect();
        sort_by_importance(&mut left, trial.view().0.snapshot.version_rows());
        left.reverse();
        let known = self.verdicts(trial.view(), &left).map_err(TakeOffError::Rule)?;
        for (at, pod) in left.into_iter().enumerate() {
            let (h, simulated) = trial.view();
            let known = known.as_ref().and_then(|(id, judged)| Some((*id, *judged.get(at)?)));
            let verdict = match known {
                Some((id, judged)) => self.noted(id, judged),
                None => self.verdict(h, simulated, pod).map_err(TakeOffError::Rule)?,
            };
            judged(simulated, pod, verdict);
            if verdict == Verdict::Candidate {
                trial.remove_pod(pod).map_err(TakeOffError::Simulation)?;
            }
        }
        Ok(())
    }

    /// Whether all of these pods of a node may be evicted, and the guards hold without them. They are judged one after the
    /// other, each with the earlier ones gone.
    pub(crate) fn allow(&mut self, trial: &mut Simulation, victims: &[Arc<PodInfo>]) -> Result<bool, Status> {
        for victim in victims {
            let (h, node) = trial.view();
            if self.verdict(h, node, victim)? != Verdict::Candidate {
                return Ok(false);
            }
            trial.remove_pod(victim)?;
        }
        let (h, node) = trial.view();
        match self.guard(h, node) {
            Err(status) if status.code == Code::Error => Err(status),
            answer => Ok(answer.is_ok()),
        }
    }

    /// Why the pod may not evict the pods that are gone.
    pub fn guard(&mut self, h: Handle, node: NodeInfo) -> Result<(), Status> {
        self.ask(h, |rules, h, faults| rules.guard(h, node, faults).map(|()| None::<()>)).map(|_| ())
    }
}
