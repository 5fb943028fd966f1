//! The dry run on one node: which pods must go so that the preemptor fits.
//!
//! Source: `pkg/scheduler/framework/plugins/defaultpreemption/default_preemption.go`, `SelectVictimsOnNode`;
//! `pkg/scheduler/util/utils.go`, `MoreImportantPod`.

use super::budgets::Budgets;
use crate::framework::{Candidate, Code, Simulation, Status};
use crate::model::{NodeInfo, PodInfo, Symbol};
use smallvec::SmallVec;
use std::cmp::Reverse;
use std::sync::Arc;

/// The status of a node without pods of lower priority.
const NO_VICTIMS: &str = "No preemption victims found for incoming pod";

/// Whether a pod of lower priority is on the node.
pub(super) fn has_potential_victims(preemptor: &PodInfo, node: NodeInfo) -> bool {
    node.pods().any(|pod| pod.priority < preemptor.priority)
}

pub(super) fn no_victims() -> Status {
    Status::unresolvable(NO_VICTIMS)
}

/// The least important pods whose eviction makes room for the preemptor. Takes every pod of lower priority off, then
/// puts back as many as still leave room: first those whose eviction would violate a PodDisruptionBudget, the more
/// important before the less important.
pub(super) fn on_node(
    preemptor: &PodInfo,
    node: NodeInfo,
    mut trial: Simulation,
    budgets: &Budgets,
) -> Result<Candidate, Status> {
    let lower = node.pods().filter(|pod| pod.priority < preemptor.priority);
    let mut potential: Pods = lower.collect();
    if potential.is_empty() {
        return Err(no_victims());
    }
    for pod in &potential {
        trial.remove_pod(pod)?;
    }
    trial.fits()?;
    sort_by_importance(&mut potential);
    let protected = budgets.violated_by(&potential);
    let split = |wanted: bool| {
        let both = potential.iter().copied().zip(&protected);
        both.filter(move |(_, protected)| protected.is_some() == wanted)
    };
    let mut victims = Pods::new();
    let mut violations = 0;
    let mut names: Vec<Symbol> = Vec::new();
    for (pod, protected) in split(true).chain(split(false)) {
        trial.add_pod(pod)?;
        if trial.fits().is_err() {
            trial.remove_pod(pod)?;
            victims.push(pod);
            if let Some(budget) = protected {
                violations += 1;
                if !names.contains(&budget.name) {
                    names.push(budget.name.clone());
                }
            }
        }
    }
    names.sort();
    if victims.is_empty() {
        let text = format!("expected at least one victim pod on node {:?}", node.name().as_str());
        return Err(Status::new(Code::Error, text));
    }
    if protected.iter().any(Option::is_some) && protected.iter().any(Option::is_none) {
        sort_by_importance(&mut victims);
    }
    let victims = victims.into_iter().cloned().collect();
    Ok(Candidate { node: node.id(), name: node.name().clone(), victims, violations, budgets: names })
}

/// Pods of a node.
type Pods<'n> = SmallVec<[&'n Arc<PodInfo>; 16]>;

/// The more important pod first: higher priority, then earlier start. Pods that have not started follow those that have,
/// and their order is reversed: upstream compares two of them by the clock, which it reads for one after the other, so
/// that each seems to have started before the one that it is compared with.
fn sort_by_importance(pods: &mut [&Arc<PodInfo>]) {
    pods.reverse();
    pods.sort_by_key(|pod| (Reverse(pod.priority), pod.started.is_none(), pod.started));
    // Pods that started at one instant keep their order.
    for alike in pods.chunk_by_mut(|a, b| (a.priority, a.started) == (b.priority, b.started)) {
        if alike.first().is_some_and(|pod| pod.started.is_some()) {
            alike.reverse();
        }
    }
}
