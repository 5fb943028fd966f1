//! Whoever reads what moved is asked: after every step each pod that waits for an event is refused by a fresh evaluation
//! of the cluster as it is. One that would pass is queued, or has an alarm.

use crate::world::World;
use bayplan::engine::{Decider, Scan};
use bayplan::framework::{Cycle, Framework, QueuedPodInfo, Silent};
use bayplan::model::{PodEntry, PodKey};
use bayplan::scheduler::{BindingView, QueuePlace, Stage};
use std::collections::BTreeSet;

/// Plugins that upstream wakes when a watch shows a pod on its node. A pod whose binding is about to be seen wakes theirs
/// then; one that waits does so at once.
const WOKEN_BY_THE_WATCH: &[&str] = &["InterPodAffinity", "PodTopologySpread"];

impl World {
    pub(crate) fn nobody_waits_in_vain(&self) -> Result<(), String> {
        let s = &self.scheduler;
        for key in s.all_queued() {
            let place = s.queue_place(&key);
            if !matches!(place, Some(QueuePlace::Gated | QueuePlace::Unschedulable))
                || s.alarm(&key).is_some()
            {
                continue;
            }
            let (Some(entry), Some(queued)) = (s.snapshot().pod(&key), s.queued(&key)) else { continue };
            let Some(framework) = s.profiles().get(&entry.pod.scheduler_name) else { continue };
            let mut cycle = Cycle::new(entry.pod.clone(), framework.clone(), self.now);
            (cycle.queued_at, cycle.attempts) = (Some(queued.added), queued.attempts);
            let passes = match place {
                Some(QueuePlace::Gated) => self.gate_is_open(&key, &cycle),
                _ => self.filters_pass(queued, framework, &mut cycle),
            };
            if let Some(passes) = passes {
                let name = |id| framework.plugin_name(id).to_owned();
                let by: Vec<String> = queued.unschedulable_plugins.iter().map(name).collect();
                let (gate, labels) = (s.gate(&key), &entry.pod.labels);
                let pod = &entry.pod.name;
                return Err(format!(
                    "25: {pod} {labels:?} waits ({place:?}, {by:?}, {gate:?}) though {passes}"
                ));
            }
        }
        Ok(())
    }

    fn gate_is_open(&self, pod: &PodKey, cycle: &Cycle) -> Option<String> {
        let s = &self.scheduler;
        // One whose last victim is going waits for its end.
        if s.gate(pod) == Some("DefaultPreemption") {
            return None;
        }
        let open = cycle.framework.run_pre_enqueue(cycle.handle(s.snapshot())).is_ok();
        open.then(|| String::from("its gate is open"))
    }

    /// Whether a pod has a node here that no watch has shown, and its binding waits neither at Permit nor for PreBind.
    fn a_binding_is_about_to_be_seen(&self) -> bool {
        let s = &self.scheduler;
        let waits = |of: &BindingView| matches!(of.stage, Stage::Permit(_) | Stage::PreBind);
        let waiting: BTreeSet<PodKey> = s.bindings().into_iter().filter(waits).map(|of| of.pod).collect();
        let unseen = |entry: &&PodEntry| entry.placed.is_some() && entry.pod.node_name.is_none();
        s.snapshot().pods().filter(unseen).any(|entry| !waiting.contains(&entry.pod.key))
    }

    fn filters_pass(
        &self,
        queued: &QueuedPodInfo,
        framework: &Framework,
        cycle: &mut Cycle,
    ) -> Option<String> {
        let mut refused_by = queued.unschedulable_plugins.iter().map(|id| framework.plugin_name(id));
        // What Permit and Reserve read is another question.
        let by_the_watch = refused_by.any(|name| WOKEN_BY_THE_WATCH.contains(&name));
        if queued.refused_late || by_the_watch && self.a_binding_is_about_to_be_seen() {
            return None;
        }
        let snapshot = self.scheduler.snapshot();
        let feasible = Scan::new().filter(cycle, snapshot, &mut Silent).ok()?;
        let node = feasible.nodes.iter().find_map(|id| snapshot.node(id))?;
        Some(format!("{} would take it", node.name()))
    }
}
