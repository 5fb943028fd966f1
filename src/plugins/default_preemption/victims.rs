//! The dry run on one node: which pods must go so that the preemptor fits.
//!
//! Source: `pkg/scheduler/framework/plugins/defaultpreemption/default_preemption.go`, `SelectVictimsOnNode`;

use super::budgets::Budgets;
use bayplan_framework::{
    AppliedRules, Candidate, Code, PluginId, PluginsRunner, Simulation, Status, TakeOffError, Verdict,
    sort_by_importance,
};
use bayplan_model::{NodeInfo, ObjectMeta, PodDisruptionBudget, PodInfo, Symbol, VersionRow};
use smallvec::SmallVec;
use std::sync::Arc;

/// The status of a node without pods of lower priority.
const NO_VICTIMS: &str = "No preemption victims found for incoming pod";

/// Why a node is not a candidate.
pub(super) enum NoRoom {
    /// The status of the node.
    Here(Status),
    /// A rule failed: preemption ends.
    Anywhere(Status),
}

impl From<Status> for NoRoom {
    fn from(status: Status) -> Self {
        NoRoom::Here(status)
    }
}

/// Whether the node has pods that may be evicted as far as priorities tell.
pub(super) fn has_potential_victims(preemptor: &PodInfo, node: NodeInfo, rules: &AppliedRules) -> bool {
    node.pods().any(|pod| rules.names_victims() || pod.priority < preemptor.priority)
}

pub(super) fn no_victims() -> Status {
    Status::unresolvable(NO_VICTIMS)
}

/// The status of a node all of whose possible victims rules of these plugins protect.
fn protected_by(plugins: &[PluginId], run: &dyn PluginsRunner) -> Status {
    let mut names: Vec<&str> = plugins.iter().map(|id| run.plugin_name(*id)).collect();
    names.sort_unstable();
    Status::unresolvable(format!("node(s) with pods protected by {}", names.join(" and ")))
}

/// What the search on one node asks.
pub(super) struct Search<'s, 'r> {
    pub(super) preemptor: &'s PodInfo,
    pub(super) budgets: &'s Budgets<'s>,
    pub(super) rules: &'s mut AppliedRules<'r>,
    pub(super) run: &'s dyn PluginsRunner,
}

impl Search<'_, '_> {
    /// The least important pods whose eviction makes room for the preemptor. Takes every pod off that may be evicted,
    /// then puts back as many as still leave room: first those whose eviction would violate a PodDisruptionBudget, the
    /// more important before the less important.
    pub(super) fn on_node(&mut self, node: NodeInfo, mut trial: Simulation) -> Result<Candidate, NoRoom> {
        let potential = self.take_off(node, &mut trial)?;
        trial.fits()?;
        let mut guarded = self.guard(&trial)?;
        let protected = self.budgets.violated_by(&potential);
        let split = |wanted: bool| {
            let both = potential.iter().copied().zip(&protected);
            both.filter(move |(_, protected)| protected.is_some() == wanted)
        };
        let mut victims = Pods::new();
        let mut violations = 0;
        let mut violated: SmallVec<[&Arc<PodDisruptionBudget>; 4]> = SmallVec::new();
        for (pod, protected) in split(true).chain(split(false)) {
            trial.add_pod(pod)?;
            if trial.fits().is_ok() && self.spares(&trial, &mut guarded)? {
                continue;
            }
            trial.remove_pod(pod)?;
            victims.push(pod);
            if let Some(budget) = protected {
                violations += 1;
                if !violated.iter().any(|known| Arc::ptr_eq(known, budget)) {
                    violated.push(budget);
                }
            }
        }
        guarded?;
        let named = violated.iter().map(|budget| &budget.metadata);
        let mut names: Vec<Symbol> = named
            .map(|ObjectMeta { namespace, name, .. }| Symbol::from(format!("{namespace}/{name}")))
            .collect();
        names.sort();
        if victims.is_empty() {
            let text = format!("expected at least one victim pod on node {:?}", node.name().as_str());
            return Err(Status::new(Code::Error, text).into());
        }
        if protected.iter().any(Option::is_some) && protected.iter().any(Option::is_none) {
            let version = trial.view().0.snapshot.version_rows();
            if version.has(VersionRow::UnstartedVictims) {
                // Those that have not started are in the order of the node.
                victims.sort_by_key(|pod| node.pods().position(|other| Arc::ptr_eq(other, pod)));
            }
            sort_by_importance(&mut victims, version);
        }
        let victims = victims.into_iter().cloned().collect();
        Ok(Candidate { node: node.id(), name: node.name().clone(), victims, violations, budgets: names })
    }

    /// Takes every pod off that may be evicted; the most important comes first.
    fn take_off<'n>(&mut self, node: NodeInfo<'n>, trial: &mut Simulation) -> Result<Pods<'n>, NoRoom> {
        if self.rules.is_empty() {
            let mut lower: Pods = node.pods().filter(|pod| pod.priority < self.preemptor.priority).collect();
            lower.iter().try_for_each(|pod| trial.remove_pod(pod))?;
            sort_by_importance(&mut lower, trial.view().0.snapshot.version_rows());
            return if lower.is_empty() { Err(no_victims().into()) } else { Ok(lower) };
        }
        let mut taken: Pods = SmallVec::new();
        let mut protecting: Vec<PluginId> = Vec::new();
        let judged = self.rules.take_off(node, trial, &mut |_, pod, verdict| match verdict {
            Verdict::Other => {}
            Verdict::Protected(by) if protecting.contains(&by) => {}
            Verdict::Protected(by) => protecting.push(by),
            Verdict::Candidate => taken.push(pod),
        });
        judged.map_err(|failed| match failed {
            TakeOffError::Rule(status) => NoRoom::Anywhere(status),
            TakeOffError::Simulation(status) => NoRoom::Here(status),
        })?;
        match (taken.is_empty(), protecting.is_empty()) {
            (false, _) => {
                // The least important was taken first.
                taken.reverse();
                Ok(taken)
            }
            (true, true) => Err(no_victims().into()),
            (true, false) => Err(protected_by(&protecting, self.run).into()),
        }
    }

    /// Whether the guards hold as things are simulated.
    fn guard(&mut self, trial: &Simulation) -> Result<Result<(), Status>, NoRoom> {
        let (h, node) = trial.view();
        match self.rules.guard(h, node) {
            Err(status) if status.code == Code::Error => Err(NoRoom::Anywhere(status)),
            answer => Ok(answer),
        }
    }

    /// Whether a pod that was put back may stay. Once the guards hold, they go on holding; before, every pod that is
    /// put back may be the one by which they do.
    fn spares(&mut self, trial: &Simulation, guarded: &mut Result<(), Status>) -> Result<bool, NoRoom> {
        if self.rules.is_empty() {
            return Ok(true);
        }
        let with = self.guard(trial)?;
        let stays = with.is_ok() || guarded.is_err();
        if stays {
            *guarded = with;
        }
        Ok(stays)
    }
}

/// Pods of a node.
type Pods<'n> = SmallVec<[&'n Arc<PodInfo>; 16]>;
