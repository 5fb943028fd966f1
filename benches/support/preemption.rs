//! A cluster in which every node is full of pods that may be evicted, and an attempt of a pod with higher priority.

use super::crowd::seen;
use bayplan::engine::{Decider, Scan};
use bayplan::framework::{Candidate, Cycle, Framework, Silent};
use bayplan::model::{Change, Kind, Placement, PodInfo, PodKey, Snapshot, Symbol, Time};
use bayplan::testing::{node, pod};
use serde_json::json;
use std::sync::Arc;

/// The search ends at a tenth of the nodes, because every node is a candidate.
pub(crate) const PREEMPTION: &str = "preemption, 10 victims a node";
/// Every candidate violates a PodDisruptionBudget, so that the search tries all nodes.
pub(crate) const BUDGETS: &str = "preemption, all protected by budgets";
pub(crate) const KINDS: [&str; 2] = [PREEMPTION, BUDGETS];

/// Pods of each node.
const VICTIMS: usize = 10;

/// The cluster and the pod that preempts.
pub(crate) struct Full {
    snapshot: Snapshot,
    preemptor: Arc<PodInfo>,
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
        Self { snapshot, preemptor: pod("high").cpu("1").priority(1_000).build() }
    }

    /// One attempt: no node fits, and the search finds the node whose victims matter least.
    pub(crate) fn attempt(&self, scan: &mut Scan, framework: &Arc<Framework>) {
        let mut cycle = Cycle::new(self.preemptor.clone(), framework.clone(), Time(0));
        let found = scan.filter(&mut cycle, &self.snapshot, &mut Silent).unwrap();
        assert!(found.nodes.is_empty());
        let answer = framework.run_post_filter(&cycle, &self.snapshot);
        assert!(Candidate::best(&answer.candidates, Time(0)).is_some());
    }
}
