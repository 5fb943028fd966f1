//! Refuses nodes with a taint that the pod does not tolerate, and prefers nodes with fewer `PreferNoSchedule` taints
//! that it does not tolerate. Nodes share few distinct taint lists, so a range evaluates each list that a node has
//! once, and only lists with a taint of the effects that count.
//!
//! Source: `pkg/scheduler/framework/plugins/tainttoleration/taint_toleration.go`.

use bayplan_framework::{
    ActionType, ArgsError, CONDITION_TAINTS, CORDONED, ClusterEvent, Edit, EnqueueExtensions,
    EventRegistration, Feasible, Features, Filter, Gate, Handle, Normalize, Plugin, PreFilter, PreScore,
    PreScoreOutcome, QueueingHint, Reads, Score, StateSlot, Status, Tree, Verdicts, Violation,
    is_of_lifecycle,
};
use bayplan_model::{
    Effect, Kinds, NodeInfo, NodeSet, PodInfo, Taint, TaintSet, VersionRow, block, blocks_mut,
    find_untolerated, rows_where,
};
use std::sync::Arc;

const REASON: &str = "node(s) had untolerated taint(s)";

pub(super) fn new(args: &Tree, features: Features) -> Result<Arc<dyn Plugin>, Vec<ArgsError>> {
    let comparison = features.on(Gate::TaintTolerationComparisonOperators);
    let listed = features.has(VersionRow::NodeNameFirst);
    super::without_args(args, TaintToleration { comparison, listed })
}

struct TaintToleration {
    /// Whether `Gt` and `Lt` have their meaning.
    comparison: bool,
    /// Whether profiles have it at PreFilter, where it does nothing.
    listed: bool,
}

impl TaintToleration {
    fn untolerated<'t>(&self, pod: &PodInfo, taints: &'t [Taint]) -> Option<&'t Taint> {
        find_untolerated(taints, &pod.tolerations, Effect::keeps_pods_away, self.comparison)
    }

    /// How many taints of a node would rather not have the pod.
    fn unwelcome(&self, pod: &PodInfo, taints: &[Taint]) -> i64 {
        let tolerated = |taint: &Taint| pod.tolerations.iter().any(|t| t.tolerates(taint, self.comparison));
        let prefers = |taint: &&Taint| taint.effect == Effect::PreferNoSchedule;
        taints.iter().filter(prefers).filter(|taint| !tolerated(taint)).count() as i64
    }
}

fn text(taint: &Taint) -> String {
    let (key, effect) = (&taint.key, taint.effect.name());
    if taint.value.is_empty() { format!("{key}:{effect}") } else { format!("{key}={}:{effect}", taint.value) }
}

impl Plugin for TaintToleration {
    fn name(&self) -> &str {
        "TaintToleration"
    }
    fn reads(&self) -> Reads {
        Reads::of(Kinds::TAINTS)
    }
    bayplan_framework::serves!(Filter, PreScore, Score, EnqueueExtensions);
    fn pre_filter(&self) -> Option<&dyn PreFilter> {
        self.listed.then_some(&super::listed::Listed as &dyn PreFilter)
    }
    fn remedies(&self, h: &Handle, node: Option<NodeInfo>) -> Vec<Edit> {
        let taints = node.map(|node| &*node.node().taints).unwrap_or_default();
        let refuses = |taint: &&Taint| {
            taint.effect.keeps_pods_away() && self.untolerated(h.pod, std::slice::from_ref(*taint)).is_some()
        };
        let refusing: Vec<&Taint> = taints.iter().filter(refuses).collect();
        let mut edits = Vec::new();
        if refusing.iter().any(|taint| is_of_lifecycle(&taint.key)) {
            return edits;
        }
        for taint in refusing {
            edits.push(Edit::Tolerate(taint.clone()));
            if taint.key == *CORDONED {
                edits.push(Edit::Uncordon { tainted: true });
            } else if !taint.key.starts_with(CONDITION_TAINTS) {
                // Kubernetes adds and removes the taints of conditions itself.
                edits.push(Edit::RemoveTaint(taint.clone()));
            }
        }
        edits
    }
}

impl Filter for TaintToleration {
    fn filter(&self, h: &Handle, node: NodeInfo) -> Result<(), Status> {
        match self.untolerated(h.pod, &node.node().taints) {
            Some(_) => Err(Status::unresolvable(REASON)),
            None => Ok(()),
        }
    }

    fn filter_range(&self, h: &Handle, nodes: &NodeSet, out: &mut Verdicts) {
        let columns = h.snapshot.columns();
        let sets = columns.taint_sets().iter();
        let refused =
            sets.map(|set| set.keeps_pods_away() && self.untolerated(h.pod, set.taints()).is_some());
        let refused: Vec<bool> = refused.collect();
        if !refused.contains(&true) {
            return;
        }
        let status = out.status(Status::unresolvable(REASON));
        for (word, rows) in nodes.words().iter().enumerate().filter(|(_, rows)| **rows != 0) {
            let tainted =
                rows_where(columns.taints(), word, |set| refused.get(set.0 as usize) == Some(&true));
            out.refuse_rows(word, tainted & rows, status);
        }
    }

    fn violations(&self, h: &Handle, node: NodeInfo, out: &mut Vec<Violation>) {
        let mut rest: &[Taint] = &node.node().taints;
        while let Some(taint) = self.untolerated(h.pod, rest) {
            out.push(Violation {
                reason: REASON.to_owned(),
                what: format!("taint {}", text(taint)),
                need: String::from("a toleration"),
                have: String::new(),
                ..Violation::default()
            });
            let at = rest.iter().position(|other| other == taint).map_or(rest.len(), |at| at + 1);
            rest = &rest[at..];
        }
    }
}

impl PreScore for TaintToleration {
    fn pre_score(&self, _: &Handle, _: &Feasible, _: &mut StateSlot) -> Result<PreScoreOutcome, Status> {
        Ok(PreScoreOutcome::Score)
    }
}

impl Score for TaintToleration {
    fn score(&self, h: &Handle, node: NodeInfo) -> Result<i64, Status> {
        Ok(self.unwelcome(h.pod, &node.node().taints))
    }

    fn score_range(&self, h: &Handle, nodes: &NodeSet, out: &mut [i64]) -> Result<(), Status> {
        let columns = h.snapshot.columns();
        let count = |set: &TaintSet| match set.prefers_no_pods() {
            true => self.unwelcome(h.pod, set.taints()),
            false => 0,
        };
        let counts: Vec<i64> = columns.taint_sets().iter().map(count).collect();
        if counts.iter().all(|count| *count == 0) {
            out.fill(0);
            return Ok(());
        }
        for (word, _, out) in blocks_mut(nodes, out) {
            let Some(sets) = block(columns.taints(), word) else { continue };
            for (out, set) in out.iter_mut().zip(sets) {
                *out = counts.get(set.0 as usize).copied().unwrap_or(0);
            }
        }
        Ok(())
    }

    fn normalize(&self) -> Normalize {
        Normalize::MaxReversed
    }
}

impl EnqueueExtensions for TaintToleration {
    fn events(&self) -> Vec<EventRegistration> {
        vec![
            super::nodes(ActionType::ADD.with(ActionType::UPDATE_NODE_TAINT)),
            super::pods(ActionType::UPDATE_POD_TOLERATION),
        ]
    }

    fn hint(&self, h: &Handle, event: &ClusterEvent) -> QueueingHint {
        let helps = match (super::node_change(event), super::pod_change(event)) {
            ((old, Some(new)), _) => {
                self.untolerated(h.pod, &new.taints).is_none()
                    && old.is_none_or(|old| self.untolerated(h.pod, &old.taints).is_some())
            }
            (_, (_, Some(pod))) => pod.key == h.pod.key,
            _ => false,
        };
        if helps { QueueingHint::Queue } else { QueueingHint::Skip }
    }
}

#[cfg(test)]
mod tests {
    use super::super::trial::{Trial, map};
    use bayplan_model::testing::{node, pod};

    const TEXT: &str = "UnschedulableAndUnresolvable: node(s) had untolerated taint(s)";

    #[test]
    fn taints_of_effect_no_schedule_and_no_execute_refuse() {
        let trial = Trial::of(
            "TaintToleration",
            vec![
                node("plain").object(),
                node("gpu").taint("dedicated", "gpu", "NoSchedule").object(),
                node("bad").taint("broken", "", "NoExecute").object(),
                node("soft").taint("spot", "", "PreferNoSchedule").object(),
            ],
        );
        assert_eq!(trial.refused(&pod("p").build()), map([("gpu", TEXT), ("bad", TEXT)]));
        let equal = pod("p").toleration("dedicated", "Equal", "gpu", "NoSchedule").build();
        assert_eq!(trial.refused(&equal), map([("bad", TEXT)]));
        let other = pod("p").toleration("dedicated", "Equal", "cpu", "").build();
        assert_eq!(trial.refused(&other), map([("gpu", TEXT), ("bad", TEXT)]));
        let all = pod("p").toleration("", "Exists", "", "").build();
        assert_eq!(trial.refused(&all), map::<&str, _>([]));
    }

    #[test]
    fn fewer_untolerated_prefer_no_schedule_taints_score_higher() {
        let soft = |name: &str, keys: &[&str]| {
            keys.iter().fold(node(name), |node, key| node.taint(key, "", "PreferNoSchedule")).object()
        };
        let objects = || vec![soft("none", &[]), soft("one", &["a"]), soft("two", &["a", "b"])];
        let trial = Trial::of("TaintToleration", objects());
        assert_eq!(trial.scores(&pod("p").build()), map([("none", 100), ("one", 50), ("two", 0)]));
        let tolerates_a = pod("p").toleration("a", "Exists", "", "PreferNoSchedule").build();
        assert_eq!(trial.scores(&tolerates_a), map([("none", 100), ("one", 100), ("two", 0)]));
        let tolerates_all = pod("p").toleration("", "Exists", "", "").build();
        assert_eq!(trial.scores(&tolerates_all), map([("none", 100), ("one", 100), ("two", 100)]));
    }
}
