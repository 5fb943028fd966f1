//! [`Candidate`]: a node on which a pod fits once some pods of lower priority are evicted, and the choice among several.
//!
//! Source: `pkg/scheduler/framework/preemption/preemption.go`, `pickOneNodeForPreemption`.

use bayplan_model::{NodeId, PodInfo, Symbol, Time, VersionRow, VersionRows};
use std::cmp::Reverse;
use std::sync::Arc;

/// A node on which a pod fits once the victims are gone.
#[derive(Clone, PartialEq, Debug)]
pub struct Candidate {
    /// The row of the node.
    pub node: NodeId,
    /// Its name.
    pub name: Symbol,
    /// The pods to evict, the most important first; never empty.
    pub victims: Vec<Arc<PodInfo>>,
    /// How many of them a PodDisruptionBudget protects.
    pub violations: usize,
    /// The budgets that protect them, `namespace/name`, each once; for explanations.
    pub budgets: Vec<Symbol>,
}

/// How little a candidate disturbs; the smallest is chosen. The criteria in the order in which they count.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Cost {
    violations: usize,
    /// Priority of the first victim.
    highest_priority: i32,
    /// Sum of the priorities, each counted from the lowest one there is.
    sum_of_priorities: i64,
    victims: usize,
    /// When the first of the victims with the highest priority started; later is better.
    earliest_start: Reverse<Time>,
}

/// What preemption says of the node and the number of victims that it found.
///
/// Source: `pkg/scheduler/framework/preemption/preemption.go`, since 1.37.
pub fn placement_found(node: &Symbol, victims: usize) -> String {
    format!("preemption: found a potential placement for pod on node {node}, preempting {victims} victims")
}

impl Candidate {
    fn cost(&self, now: Time) -> Cost {
        let above_lowest = |pod: &Arc<PodInfo>| i64::from(pod.priority) - i64::from(i32::MIN);
        let highest = self.victims.iter().map(|pod| pod.priority).max().unwrap_or(i32::MIN);
        let most_important = self.victims.iter().filter(|pod| pod.priority == highest);
        Cost {
            violations: self.violations,
            highest_priority: self.victims.first().map_or(i32::MIN, |pod| pod.priority),
            sum_of_priorities: self.victims.iter().map(above_lowest).sum(),
            victims: self.victims.len(),
            earliest_start: Reverse(
                most_important.map(|pod| pod.started.unwrap_or(now)).min().unwrap_or(now),
            ),
        }
    }

    /// The candidate that disturbs least: the fewest violated PodDisruptionBudgets, the lowest priority of its first
    /// victim, the lowest sum of priorities, the fewest victims, the victim of highest priority that started last; among
    /// equals the first. `now` is the wall clock: a pod that has not started counts as started now.
    pub fn best(all: &[Self], now: Time) -> Option<&Self> {
        all.iter().min_by_key(|candidate| candidate.cost(now))
    }
}

/// The more important pod first: higher priority, then earlier start. Pods that have not started follow those that have.
/// In 1.36 their order is reversed: upstream compares two of them by the clock, which it reads for one after the other,
/// so that each seems to have started before the one that it is compared with. 1.37 reads the clock once for each.
///
/// Source: `pkg/scheduler/framework/preemption/util.go`, `MoreImportantVictim`; in 1.36 `pkg/scheduler/util/utils.go`,
/// `MoreImportantPod`.
pub fn sort_by_importance(pods: &mut [&Arc<PodInfo>], version: VersionRows) {
    if version.has(VersionRow::UnstartedVictims) {
        return pods.sort_by_key(|pod| (Reverse(pod.priority), pod.started.is_none(), pod.started));
    }
    pods.reverse();
    pods.sort_by_key(|pod| (Reverse(pod.priority), pod.started.is_none(), pod.started));
    // Pods that started at one instant keep their order.
    for alike in pods.chunk_by_mut(|a, b| (a.priority, a.started) == (b.priority, b.started)) {
        if alike.first().is_some_and(|pod| pod.started.is_some()) {
            alike.reverse();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bayplan_model::Duration;
    use bayplan_model::testing::pod;

    const NOW: Time = Time(1_000_000_000);

    /// Victims by priority and seconds since their start; `None`: not started.
    fn candidate(name: &str, violations: usize, victims: &[(i32, Option<i64>)]) -> Candidate {
        let victim = |(at, (priority, age)): (usize, &(i32, Option<i64>))| {
            let made = pod(&format!("{name}-{at}")).priority(*priority).build();
            let started = age.map(|age| NOW - Duration::from_seconds(age));
            Arc::new(PodInfo { started, ..(*made).clone() })
        };
        Candidate {
            node: NodeId::from_row(0),
            name: name.into(),
            victims: victims.iter().enumerate().map(victim).collect(),
            violations,
            budgets: Vec::new(),
        }
    }

    fn best(all: &[Candidate]) -> &str {
        Candidate::best(all, NOW).unwrap().name.as_str()
    }

    #[test]
    fn each_criterion_decides_when_those_before_it_are_equal() {
        let violating = candidate("violating", 1, &[(0, None)]);
        let high = candidate("high", 0, &[(6, None)]);
        let two = candidate("two", 0, &[(5, Some(300)), (1, Some(300))]);
        let one = candidate("one", 0, &[(5, Some(300))]);
        let later = candidate("later", 0, &[(5, Some(60))]);
        let unstarted = candidate("unstarted", 0, &[(5, None)]);
        assert_eq!(best(&[violating.clone(), high.clone()]), "high");
        assert_eq!(best(&[high, two.clone()]), "two");
        assert_eq!(best(&[two, one.clone()]), "one");
        assert_eq!(best(&[one, later.clone()]), "later");
        assert_eq!(best(&[later.clone(), unstarted.clone()]), "unstarted");
        assert_eq!(best(&[later.clone(), candidate("same", 0, &[(5, Some(60))])]), "later");
        assert!(Candidate::best(&[], NOW).is_none());
    }

    #[test]
    fn negative_priorities_do_not_make_many_victims_cheap() {
        // Equal sums of priorities with different numbers of victims cannot be: each counts from the lowest one.
        let many = candidate("many", 0, &[(-1, None), (-5, None)]);
        let few = candidate("few", 0, &[(-1, None)]);
        assert_eq!(best(&[many.clone(), few.clone()]), "few");
        // The first victim counts before the sum.
        assert_eq!(best(&[candidate("lower", 0, &[(-5, None), (-5, None)]), few]), "lower");
    }
}
