//! Spreads pods over topology domains: refuses nodes where a constraint with `DoNotSchedule` would be broken, and prefers
//! nodes whose domains have fewer matching pods for constraints with `ScheduleAnyway`. Pods without constraints get those
//! of the arguments, by default Kubernetes' own, for the pods of the same Services and controller.
//!
//! - `args.rs`: `PodTopologySpreadArgs`
//! - `rules.rs`: the constraints of an attempt with their selectors
//! - `inclusion.rs`: which nodes count for a constraint
//! - `hard.rs`: counts for Filter, and how simulations move them
//! - `soft.rs`: counts and weights for Score; `ln.rs` has the logarithm
//! - `hints.rs`: which events may help
//! - `explain.rs`: violations and remedies
//!
//! An attempt sums the pods of a match ([`Snapshot::matching_pods`]) into the domains of a key
//! ([`Snapshot::domains`]), over the nodes that count.
//!
//! Source: `pkg/scheduler/framework/plugins/podtopologyspread`.

mod args;
mod explain;
mod hard;
mod hints;
mod inclusion;
mod ln;
mod rules;
mod soft;
#[cfg(test)]
mod tests;

use args::Defaults;
use bayplan_framework::{ArgsError, Edit, Features, Gate, Handle, Need, Plugin, Reads, Tree};
use bayplan_model::{ConstraintKinds, Kind, Kinds, NodeInfo, PodInfo, PodPrecondition, Snapshot, Want};
use hard::Hard;
use soft::Soft;
use std::sync::Arc;

pub(super) fn new(args: &Tree, features: Features) -> Result<Arc<dyn Plugin>, Vec<ArgsError>> {
    let mut errors = Vec::new();
    let defaults = Defaults::read(args, &mut errors);
    let comparison = features.on(Gate::TaintTolerationComparisonOperators);
    if errors.is_empty() { Ok(Arc::new(PodTopologySpread { defaults, comparison })) } else { Err(errors) }
}

struct PodTopologySpread {
    defaults: Defaults,
    /// The feature gate `TaintTolerationComparisonOperators`.
    comparison: bool,
}

/// The counts of an attempt.
#[derive(Clone)]
struct State {
    hard: Option<Hard>,
    soft: Option<Soft>,
}

impl Plugin for PodTopologySpread {
    fn name(&self) -> &str {
        "PodTopologySpread"
    }
    fn reads(&self) -> Reads {
        let nodes = Kinds::LIFE.with(Kinds::LABELS).with(Kinds::TAINTS).with(Kinds::NODES);
        let kinds = nodes.with(Kinds::PODS_OTHER).with(Kinds::SERVICES);
        Reads { any_label: true, other_pods: true, ..Reads::of(kinds) }
    }
    fn kinds(&self) -> &'static [Need] {
        const NEEDS: [Need; 4] = [
            Need { kind: Kind::Service, optional: false },
            Need { kind: Kind::ReplicationController, optional: false },
            Need { kind: Kind::ReplicaSet, optional: false },
            Need { kind: Kind::StatefulSet, optional: false },
        ];
        // As upstream: they are listed for the selectors of default constraints alone.
        if self.defaults.constraints.is_empty() { &[] } else { &NEEDS }
    }
    fn precondition(&self) -> Option<PodPrecondition> {
        let spread = ConstraintKinds::HARD_SPREAD.with(ConstraintKinds::SOFT_SPREAD);
        self.defaults.constraints.is_empty().then_some(PodPrecondition::Constraints(spread))
    }
    fn wants(&self, pod: &PodInfo, snapshot: &Snapshot, out: &mut Vec<Want>) {
        for rule in self.all_rules(pod, snapshot) {
            out.push(Want::Domain(rule.topology_key.clone()));
            if rule.counts() {
                out.push(Want::Count(rule.pods));
            }
        }
    }
    bayplan_framework::serves!(EnqueueExtensions, PreFilter, Filter, PreScore, Score);
    fn remedies(&self, h: &Handle, node: Option<NodeInfo>) -> Vec<Edit> {
        self.spread_remedies(h, node)
    }
}
