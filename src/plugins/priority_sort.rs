//! Orders the queue by priority, the highest first; pods of one priority by the time they entered it.
//!
//! Source: `pkg/scheduler/framework/plugins/queuesort/priority_sort.go`.

use bayplan_framework::{ArgsError, Features, Plugin, QueueSort, QueuedPodInfo, Reads, SortKey, Tree};
use bayplan_model::Snapshot;
use std::sync::Arc;

pub(super) fn new(args: &Tree, _: Features) -> Result<Arc<dyn Plugin>, Vec<ArgsError>> {
    super::without_args(args, PrioritySort)
}

struct PrioritySort;

impl Plugin for PrioritySort {
    fn name(&self) -> &str {
        "PrioritySort"
    }
    fn reads(&self) -> Reads {
        Reads::default()
    }
    bayplan_framework::serves!(QueueSort);
}

impl QueueSort for PrioritySort {
    fn key(&self, pod: &QueuedPodInfo, _: &Snapshot) -> SortKey {
        // Smaller keys go first: the order of signed numbers, turned round. Time and sequence are the queue's part.
        let ascending = (pod.pod.priority as u32) ^ (1 << 31);
        SortKey((!ascending).to_be_bytes().into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bayplan_model::Time;
    use bayplan_model::testing::pod;

    #[test]
    fn higher_priorities_go_first() {
        let key = |priority: i32| {
            let pod = pod("a").set("spec.priority", serde_json::json!(priority)).build();
            PrioritySort.key(&QueuedPodInfo::new(pod, Time(0)), &Snapshot::default())
        };
        let priorities = [i32::MAX, 1000, 1, 0, -1, -1000, i32::MIN];
        for pair in priorities.windows(2) {
            assert!(key(pair[0]) < key(pair[1]), "{} before {}", pair[0], pair[1]);
        }
        assert_eq!(key(7), key(7));
    }
}
