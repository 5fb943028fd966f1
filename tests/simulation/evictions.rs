//! Invariants of preemption: only chosen pods of lower priority are evicted, by UID, and a pod whose victims are being
//! evicted is not tried.

use crate::world::World;
use bayplan::framework::{ApiCall, Instances, PatchBody, Plugin, Profile};
use bayplan::model::{Demand, IntOrPercent, Kind, Object, PodDisruptionBudget, PodKey, Symbol, downcast};
use bayplan::scheduler::{DecisionRecord, Scheduler};
use bayplan::testing::Random;
use serde_json::json;
use std::collections::BTreeSet;
use std::sync::Arc;

/// DefaultPreemption, as the default profile has it.
pub(crate) fn plugin() -> Arc<dyn Plugin> {
    let registry = bayplan::plugins::registry();
    let framework = Profile::new("any").build(&registry, &mut Instances::default()).unwrap();
    framework.plugins().iter().find(|plugin| plugin.name() == "DefaultPreemption").unwrap().clone()
}

/// What was chosen since the scheduler of the day began.
#[derive(Default)]
pub(crate) struct Chosen {
    /// UIDs of victims.
    victims: BTreeSet<Symbol>,
    /// Pods whose victims were being evicted when the step began.
    preempting: BTreeSet<PodKey>,
}

impl Chosen {
    /// A step begins.
    pub(crate) fn before(&mut self, scheduler: &Scheduler) {
        let evicts = scheduler.evictions().map(|(preemptor, _)| preemptor);
        let gated = evicts.filter(|preemptor| scheduler.snapshot().is_preempting(preemptor));
        self.preempting = gated.cloned().collect();
    }

    /// A decision was made.
    pub(crate) fn decided(&mut self, record: &DecisionRecord, scheduler: &Scheduler) -> Result<(), String> {
        if self.preempting.contains(&record.key) {
            return Err(format!("19: {} is tried while its victims are being evicted", record.pod.name));
        }
        let priority = |key: &PodKey| scheduler.snapshot().pod(key).map(|entry| entry.pod.priority);
        for victim in record.preemption.iter().flat_map(|preemption| &preemption.victims) {
            // One that went while extenders were asked needs no eviction.
            let Some(of) = priority(&PodKey(victim.uid.clone())) else { continue };
            let by = priority(&record.key);
            if by.is_none_or(|by| of >= by) {
                return Err(format!(
                    "19: {} of {of} is to go for {} of {by:?}",
                    victim.name, record.pod.name
                ));
            }
            self.victims.insert(victim.uid.clone());
        }
        Ok(())
    }

    /// A call is sent.
    pub(crate) fn sent(&self, call: &ApiCall) -> Result<(), String> {
        let evicts = match call {
            ApiCall::Delete { of } => of.kind == Kind::Pod,
            ApiCall::Patch { body, .. } => matches!(body, PatchBody::DisruptionTarget { .. }),
            _ => false,
        };
        match evicts && !self.victims.contains(&call.object().uid) {
            true => Err(format!("19: nothing says that this pod goes: {call:?}")),
            false => Ok(()),
        }
    }
}

impl World {
    /// A kubelet ends a pod.
    pub(crate) fn end_pod(&mut self, with: u64) {
        let ending = self.api.ending();
        if let Some(pod) = ending.get(with as usize % ending.len().max(1)) {
            self.api.delete(pod);
        }
    }

    /// A finalizer keeps a pod or lets it go.
    pub(crate) fn hold_pod(&mut self, with: u64) {
        if let Some(pod) = self.pick(&Kind::Pod, with) {
            self.api.hold(&pod, with.is_multiple_of(2));
        }
    }

    /// No finalizer keeps a pod. Kubelets end the pods that are to go. Whether there was one.
    pub(crate) fn end_pods(&mut self) -> bool {
        for pod in self.names(&Kind::Pod) {
            self.api.hold(&pod, false);
        }
        self.api.end_terminating()
    }

    /// All PodDisruptionBudgets go.
    pub(crate) fn delete_budgets(&mut self) {
        for budget in self.names(&Kind::PodDisruptionBudget) {
            self.api.delete(&budget);
            self.deliver(&Kind::PodDisruptionBudget, false);
        }
    }

    /// A PodDisruptionBudget comes or changes, and the watch shows it.
    pub(crate) fn put_budget(&mut self, with: u64) {
        let mut random = Random(with);
        let (name, allowed) = (format!("b{}", random.next() % 2), random.next() % 3);
        let gang = ["red", "blue"][(random.next() % 2) as usize];
        let row = Kind::PodDisruptionBudget.row().unwrap();
        let mut budget = json!({
            "apiVersion": "policy/v1", "kind": "PodDisruptionBudget",
            "metadata": {"name": name, "namespace": "default", "uid": format!("budget-{name}")},
            "spec": {"selector": {"matchLabels": {"gang": gang}}},
        });
        let (field, demand) = match random.next() % 6 {
            0 => ("minAvailable", json!(1)),
            1 => ("minAvailable", json!("50%")),
            2 => ("maxUnavailable", json!(1)),
            3 => ("maxUnavailable", json!("34%")),
            4 => ("maxUnavailable", json!("many")),
            _ => ("minAvailable", json!(null)),
        };
        budget["spec"][field] = demand;
        match random.next() % 4 {
            0 => budget["status"] = json!({"disruptionsAllowed": allowed}),
            1 => {
                let pod = format!("p{}", random.next() % 24);
                budget["status"] = json!({"disruptedPods": {pod: "2026-01-01T00:00:00Z"}});
            }
            _ => {}
        }
        self.api.put((row.from_value)(Arc::new(budget)).unwrap());
        self.deliver(&Kind::PodDisruptionBudget, false);
    }

    /// The disruption controller follows what happened, and the watch shows what it wrote.
    pub(crate) fn control_budgets(&mut self) {
        self.budgets.act(&mut self.api);
        if !self.watches(&Kind::PodDisruptionBudget) {
            while self.deliver(&Kind::PodDisruptionBudget, false) {}
        }
    }

    /// The status of every PodDisruptionBudget is what its pods say.
    pub(crate) fn budgets_are_counted(&self) -> Result<(), String> {
        for object in self.api.list(&Kind::PodDisruptionBudget) {
            let Object::Other(object) = &object else { continue };
            let Some(budget) = downcast::<PodDisruptionBudget>(object.as_ref()) else { continue };
            let (Some(selector), of) = (&budget.selector, &budget.metadata) else { continue };
            let mine = || {
                self.api.pods().filter(|pod| pod.namespace == of.namespace && selector.matches(&pod.labels))
            };
            let matching = mine().count() as i64;
            let share = |percent: i32| (f64::from(percent) * matching as f64 / 100.0).ceil() as i64;
            // No pod of the simulation has a controller.
            let desired = match budget.demand.0 {
                Demand::Nothing => continue,
                Demand::Invalid => i64::MAX,
                Demand::MinAvailable(IntOrPercent::Int(least)) => least.into(),
                Demand::MinAvailable(IntOrPercent::Percent(least)) => share(least),
                Demand::MaxUnavailable(IntOrPercent::Int(most)) => (matching - i64::from(most)).max(0),
                Demand::MaxUnavailable(IntOrPercent::Percent(most)) => (matching - share(most)).max(0),
            };
            let healthy = mine().filter(|pod| {
                let disrupted = budget.disrupted_pods.contains(&pod.name);
                pod.node_name.is_some() && !pod.is_terminating() && !pod.is_finished() && !disrupted
            });
            let more = (healthy.count() as i64).saturating_sub(desired).max(0);
            let allowed = if matching == 0 { 0 } else { more };
            let given = self.budgets.keeps_given_status(&of.namespace, &of.name);
            if !given && i64::from(budget.disruptions_allowed) != allowed {
                let status = budget.disruptions_allowed;
                return Err(format!("24: {} allows {status} disruptions, and its pods {allowed}", of.name));
            }
        }
        Ok(())
    }
}
