//! Which victims PodDisruptionBudgets protect. Only budgets that may select a pod are evaluated: those of others cost
//! an attempt nothing, however many there are.
//!
//! Source: `pkg/scheduler/framework/preemption/util.go`, `FilterPodsWithPDBViolation`.

use bayplan_model::{Kind, PodDisruptionBudget, PodInfo, Snapshot, VersionRow};
use smallvec::SmallVec;
use std::sync::Arc;

/// A budget for each pod.
pub(super) type Violated<'s> = SmallVec<[Option<&'s Arc<PodDisruptionBudget>>; 16]>;

/// The PodDisruptionBudgets of the cluster.
pub(super) struct Budgets<'s> {
    snapshot: &'s Snapshot,
    any: bool,
}

impl<'s> Budgets<'s> {
    pub(super) fn of(snapshot: &'s Snapshot) -> Self {
        Self { snapshot, any: snapshot.object_count(&Kind::PodDisruptionBudget) > 0 }
    }

    /// The budgets that count the eviction of a pod, by name. A pod without labels is in none, and one that a budget
    /// counts as disrupted already takes nothing from it.
    fn about<'p>(
        &self,
        pod: &'p PodInfo,
    ) -> impl Iterator<Item = &'s Arc<PodDisruptionBudget>> + use<'s, 'p> {
        let here = (!pod.labels.is_empty()).then(|| self.snapshot.selecting::<PodDisruptionBudget>(pod));
        here.into_iter()
            .flatten()
            .filter(move |budget| budget.disrupted_pods.binary_search(&pod.name).is_err())
    }

    /// For each pod, in this order, the first budget by name that its eviction would violate when the pods before it are
    /// evicted too. Upstream takes budgets in the order of a map. Those after the first that is violated keep what they
    /// allow, but for 1.36.
    pub(super) fn violated_by(&self, pods: &[&Arc<PodInfo>]) -> Violated<'s> {
        if !self.any {
            return Violated::from_elem(None, pods.len());
        }
        let mut left: SmallVec<[(&Arc<PodDisruptionBudget>, i64); 4]> = SmallVec::new();
        let in_order = self.snapshot.version_rows().has(VersionRow::BudgetsInOrder);
        let violates = |pod: &&Arc<PodInfo>| {
            let mut violates = None;
            for of in self.about(pod) {
                let at = left.iter().position(|(known, _)| Arc::ptr_eq(known, of)).unwrap_or_else(|| {
                    left.push((of, i64::from(of.disruptions_allowed)));
                    left.len() - 1
                });
                let Some((_, left)) = left.get_mut(at) else { continue };
                *left -= 1;
                if *left < 0 {
                    violates = violates.or(Some(of));
                    if in_order {
                        break;
                    }
                }
            }
            violates
        };
        pods.iter().map(violates).collect()
    }
}
