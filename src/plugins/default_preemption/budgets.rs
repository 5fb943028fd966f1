//! Which victims PodDisruptionBudgets protect.
//!
//! Source: `pkg/scheduler/framework/plugins/defaultpreemption/default_preemption.go`, `filterPodsWithPDBViolation`.

use crate::model::{ObjectMeta, PodDisruptionBudget, PodInfo, Snapshot, Symbol};
use smallvec::SmallVec;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A budget with `namespace/name`.
pub(super) struct Named<'s> {
    pub(super) name: Symbol,
    budget: &'s PodDisruptionBudget,
}

/// A budget for each pod.
pub(super) type Violated<'b, 's> = SmallVec<[Option<&'b Named<'s>>; 16]>;

/// The PodDisruptionBudgets of the cluster that select pods, by namespace.
pub(super) struct Budgets<'s>(BTreeMap<&'s Symbol, Vec<Named<'s>>>);

impl<'s> Budgets<'s> {
    pub(super) fn of(snapshot: &'s Snapshot) -> Self {
        let mut budgets: BTreeMap<&Symbol, Vec<Named>> = BTreeMap::new();
        for budget in snapshot.objects::<PodDisruptionBudget>().filter(|budget| budget.selector.is_some()) {
            let ObjectMeta { namespace, name, .. } = &budget.metadata;
            let name = Symbol::from(format!("{namespace}/{name}"));
            budgets.entry(namespace).or_default().push(Named { name, budget });
        }
        Self(budgets)
    }

    /// The budgets that count the eviction of a pod. A pod without labels is in none, and one that a budget counts as
    /// disrupted already takes nothing from it.
    fn about(&self, pod: &PodInfo) -> impl Iterator<Item = &Named<'s>> {
        let here = self.0.get(&pod.namespace).filter(|_| !pod.labels.is_empty());
        here.into_iter().flatten().filter(|Named { budget, .. }| {
            let selects = budget.selector.as_ref().is_some_and(|selector| selector.matches(&pod.labels));
            selects && budget.disrupted_pods.binary_search(&pod.name).is_err()
        })
    }

    /// For each pod, in this order, the first budget that its eviction would violate when the pods before it are evicted
    /// too.
    pub(super) fn violated_by(&self, pods: &[&Arc<PodInfo>]) -> Violated<'_, 's> {
        if self.0.is_empty() {
            return Violated::from_elem(None, pods.len());
        }
        let mut left: SmallVec<[(&Symbol, i64); 4]> = SmallVec::new();
        let violates = |pod: &&Arc<PodInfo>| {
            let mut violates = None;
            for of in self.about(pod) {
                let at = left.iter().position(|(name, _)| *name == &of.name).unwrap_or_else(|| {
                    left.push((&of.name, i64::from(of.budget.disruptions_allowed)));
                    left.len() - 1
                });
                let Some((_, left)) = left.get_mut(at) else { continue };
                *left -= 1;
                if *left < 0 {
                    violates = violates.or(Some(of));
                }
            }
            violates
        };
        pods.iter().map(violates).collect()
    }
}
