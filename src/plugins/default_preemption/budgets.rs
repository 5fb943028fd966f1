//! Which victims PodDisruptionBudgets protect.
//!
//! Source: `pkg/scheduler/framework/plugins/defaultpreemption/default_preemption.go`, `filterPodsWithPDBViolation`.

use crate::model::{PodDisruptionBudget, PodInfo, Snapshot, Symbol};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The PodDisruptionBudgets of the cluster that select pods, by namespace.
pub(super) struct Budgets<'s>(BTreeMap<&'s Symbol, Vec<&'s Arc<PodDisruptionBudget>>>);

impl<'s> Budgets<'s> {
    pub(super) fn of(snapshot: &'s Snapshot) -> Self {
        let mut budgets: BTreeMap<&Symbol, Vec<&Arc<PodDisruptionBudget>>> = BTreeMap::new();
        for budget in snapshot.objects::<PodDisruptionBudget>() {
            if budget.selector.is_some() {
                budgets.entry(&budget.metadata.namespace).or_default().push(budget);
            }
        }
        Self(budgets)
    }

    /// The budgets that count the eviction of a pod. A pod without labels is in none, and one that a budget counts as
    /// disrupted already takes nothing from it.
    pub(super) fn about(&self, pod: &PodInfo) -> impl Iterator<Item = &'s Arc<PodDisruptionBudget>> {
        let here = self.0.get(&pod.namespace).filter(|_| !pod.labels.is_empty());
        here.into_iter().flatten().copied().filter(|budget| {
            let selects = budget.selector.as_ref().is_some_and(|selector| selector.matches(&pod.labels));
            selects && budget.disrupted_pods.binary_search(&pod.name).is_err()
        })
    }

    /// For each pod, in this order, the first budget that its eviction would violate when the pods before it are evicted
    /// too.
    pub(super) fn violated_by(&self, pods: &[Arc<PodInfo>]) -> Vec<Option<&'s PodDisruptionBudget>> {
        if self.0.is_empty() {
            return vec![None; pods.len()];
        }
        let mut left: BTreeMap<*const PodDisruptionBudget, i64> = BTreeMap::new();
        let violates = |pod: &Arc<PodInfo>| {
            let mut violates = None;
            for budget in self.about(pod) {
                let allowed = i64::from(budget.disruptions_allowed);
                let left = left.entry(Arc::as_ptr(budget)).or_insert(allowed);
                *left -= 1;
                if *left < 0 {
                    violates = violates.or(Some(&**budget));
                }
            }
            violates
        };
        pods.iter().map(violates).collect()
    }
}
