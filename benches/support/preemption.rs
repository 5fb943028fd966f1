//! A cluster in which every node is full of pods that may be evicted, and an attempt of a pod with higher priority.

use super::crowd::seen;
use bayplan::engine::{Decider, Scan};
use bayplan::framework::{Candidate, Cycle, Framework, Instances, Profile, Silent};
use bayplan::model::{Change, Kind, Placement, PodInfo, PodKey, Snapshot, Symbol, Time};
use bayplan::testing::{node, pod};
use serde_json::json;
use std::sync::Arc;

/// The search ends at a tenth of the nodes, because every node is a candidate.
pub(crate) const PREEMPTION: &str = "preemption, 10 victims a node";
/// Every candidate violates a PodDisruptionBudget, so that the search tries all nodes.
pub(crate) const BUDGETS: &str = "preemption, all protected by budgets";
/// The same as the first with rules of a policy about every victim: at most twice its time.
pub(crate) const RULES: &str = "preemption, 10 victims a node, with rules";
pub(crate) const KINDS: [&str; 3] = [PREEMPTION, BUDGETS, RULES];

/// What [`RULES`] asks about each pod and node.
const SPARE: &str = r#"policy spare { preempt {
  victim v when v.priority < pod.priority && v.labels["app"] != "db"
  protect v when v.labels["role"] == "leader" || v.created > now() + 10min
  guard node.pods.count() >= 1 else "no pod would be left"
} }"#;

/// Pods of each node.
const VICTIMS: usize = 10;

/// The cluster and the pod that preempts.
pub(crate) struct Full {
    snapshot: Snapshot,
    preemptor: Arc<PodInfo>,
    /// The profile with the policy.
    with_rules: Option<Arc<Framework>>,
}

impl Full {
    pub(crate) fn new(kind: &str, nodes: usize, framework: &Framework) -> Self {
        let mut snapshot = Snapshot::default();
        for (key, index) in framework.plugins().iter().flat_map(|plugin| plugin.indexes()) {
            snapshot.add_index(key, index);
        }
        let small = pod("small").cpu("390m").memory("100Mi").label("app", "web");
        let small = small.set("status.startTime", json!("2026-01-01T00:00:00Z")).phase("Running").build();
        for at in 0..nodes {
            let name = format!("node-{at:06}");
            snapshot.apply(Change::NodeUpserted { node: node(&name).cpu("4").memory("8Gi").build() });
            let row = snapshot.row_by_name(&Symbol::new(&name)).unwrap();
            for number in 0..VICTIMS {
                let text = Symbol::from(format!("{name}-{number}"));
                let victim = PodInfo {
                    key: PodKey(text.clone()),
                    name: text,
                    priority: (number % 3) as i32,
                    ..(*small).clone()
                };
                snapshot.apply(Change::PodPlaced { pod: Arc::new(victim), node: row, how: Placement::Bound });
            }
        }
        if kind == BUDGETS {
            let budget = json!({
                "metadata": { "name": "web", "namespace": "default" },
                "spec": { "selector": { "matchLabels": { "app": "web" } } }, "status": { "disruptionsAllowed": 0 },
            });
            snapshot.apply(seen(Kind::PodDisruptionBudget, &budget));
        }
        let with_rules = (kind == RULES).then(|| {
            let mut registry = bayplan::plugins::registry();
            registry.add_plugin(Arc::new(super::policy(SPARE))).unwrap();
            let profile = Profile::new("default-scheduler");
            Arc::new(profile.build(&registry, &mut Instances::default()).unwrap())
        });
        Self { snapshot, preemptor: pod("high").cpu("1").priority(1_000).build(), with_rules }
    }

    /// One attempt: no node fits, and the search finds the node whose victims matter least.
    pub(crate) fn attempt(&self, scan: &mut Scan, framework: &Arc<Framework>) {
        let framework = self.with_rules.as_ref().unwrap_or(framework);
        let mut cycle = Cycle::new(self.preemptor.clone(), framework.clone(), Time(0));
        let found = scan.filter(&mut cycle, &self.snapshot, &mut Silent).unwrap();
        assert!(found.nodes.is_empty());
        let answer = framework.run_post_filter(&cycle, &self.snapshot);
        assert!(Candidate::best(&answer.candidates, Time(0)).is_some());
    }
}
