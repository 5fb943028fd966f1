//! Makes room for a pod that fits on no node: finds nodes where it would fit without pods of lower priority. The scheduler
//! chooses among them and evicts (`scheduler/evict.rs`).
//!
//! - `args.rs`: the arguments
//! - `victims.rs`: the dry run on one node
//! - `budgets.rs`: what PodDisruptionBudgets protect
//!
//! The choice among the candidates is in `framework/candidates.rs`: extenders may shrink them first.
//!
//! Source: `pkg/scheduler/framework/plugins/defaultpreemption/default_preemption.go`,
//! `pkg/scheduler/framework/preemption/preemption.go`.

mod args;
mod budgets;
mod victims;

use crate::framework::{
    ActionType, ArgsError, Candidate, ClusterEvent, Code, Diagnosis, EnqueueExtensions, EventRegistration,
    Features, FitError, Handle, Need, NodeToStatus, Plugin, PluginsRunner, PostFilter, PostFilterOutcome,
    PreEnqueue, Promise, QueueingHint, Reads, Status, Tree,
};
use crate::model::{Kind, Kinds, NodeId, PodInfo};
use args::Args;
use budgets::Budgets;
use std::sync::Arc;

const NAME: &str = "DefaultPreemption";
/// The status of a node whose refusal no eviction can change.
const NOT_HELPFUL: &str = "Preemption is not helpful for scheduling";

pub(super) fn new(args: &Tree, _: Features) -> Result<Arc<dyn Plugin>, Vec<ArgsError>> {
    let mut errors = Vec::new();
    let args = Args::read(args, &mut errors);
    if errors.is_empty() { Ok(Arc::new(DefaultPreemption { args })) } else { Err(errors) }
}

struct DefaultPreemption {
    args: Args,
}

impl Plugin for DefaultPreemption {
    fn name(&self) -> &str {
        NAME
    }
    fn reads(&self) -> Reads {
        let kinds = Kinds::PODS_OTHER.with(Kinds::PODS_REQUESTS).with(Kinds::NOMINATED).with(Kinds::BUDGETS);
        Reads { other_pods: true, ..Reads::of(kinds) }
    }
    fn kinds(&self) -> &'static [Need] {
        &[Need { kind: Kind::PodDisruptionBudget, optional: false }]
    }
    crate::serves!(PreEnqueue, EnqueueExtensions, PostFilter);
}

impl PreEnqueue for DefaultPreemption {
    /// Keeps a pod out while its victims are being evicted.
    fn pre_enqueue(&self, h: &Handle) -> Result<(), Status> {
        match h.snapshot.is_preempting(&h.pod.key) {
            true => Err(Status::unresolvable("waiting for the preemption for this pod to be finished")),
            false => Ok(()),
        }
    }
}

impl EnqueueExtensions for DefaultPreemption {
    /// A deletion opens the gate again; the plugins that refused the pod know whether it helps.
    fn events(&self) -> Vec<EventRegistration> {
        vec![super::pods(ActionType::DELETE)]
    }
    fn hint(&self, _: &Handle, _: &ClusterEvent) -> QueueingHint {
        QueueingHint::Skip
    }
}

impl PostFilter for DefaultPreemption {
    fn preempts(&self) -> bool {
        true
    }

    fn post_filter(&self, h: &Handle, nodes: &NodeToStatus, run: &dyn PluginsRunner) -> PostFilterOutcome {
        match self.candidates(h, nodes, run) {
            Ok(candidates) => PostFilterOutcome::Candidates(candidates),
            Err((code, text, promise)) => {
                PostFilterOutcome::Not { status: Status::new(code, format!("preemption: {text}")), promise }
            }
        }
    }
}

/// Why the search found no candidate, and how the nomination is treated.
type Refusal = (Code, String, Promise);

impl DefaultPreemption {
    fn candidates(
        &self,
        h: &Handle,
        nodes: &NodeToStatus,
        run: &dyn PluginsRunner,
    ) -> Result<Vec<Candidate>, Refusal> {
        if let Some(reason) = not_eligible(h, nodes) {
            return Err((Code::Unschedulable, reason.to_owned(), Promise::Keep));
        }
        let potential: Vec<NodeId> =
            nodes.with_code(Code::Unschedulable, h.snapshot.columns().alive()).iter().collect();
        let found = self.search(h, &potential, run);
        if !found.candidates.is_empty() {
            return Ok(found.candidates);
        }
        if !found.errors.is_empty() {
            return Err((Code::Error, aggregated(&found.errors), Promise::Keep));
        }
        let mut diagnosis = Diagnosis { nodes: found.statuses, ..Diagnosis::default() };
        diagnosis.nodes.set_absent(Status::unresolvable(NOT_HELPFUL));
        let text = FitError { all_nodes: h.snapshot.node_count(), diagnosis: &diagnosis }.to_string();
        Err((Code::Unschedulable, text, Promise::Clear))
    }

    /// Tries the nodes one after another, from a place that the attempt draws, until there are enough candidates and one
    /// of them violates no PodDisruptionBudget. Candidates without a violation come first.
    fn search(&self, h: &Handle, potential: &[NodeId], run: &dyn PluginsRunner) -> Found {
        let mut found = Found::default();
        let enough = self.args.candidates(potential.len());
        let Some(start) = h.cycle.draw.checked_rem(potential.len() as u64) else { return found };
        let (before, after) = potential.split_at(start as usize);
        let budgets = Budgets::of(h.snapshot);
        let mut violating = Vec::new();
        for id in after.iter().chain(before) {
            let Some(node) = h.snapshot.node(*id) else { continue };
            let tried = match victims::has_potential_victims(h.pod, node) {
                true => run.simulate(*id).map(|trial| victims::on_node(h.pod, node, trial, &budgets)),
                false => Some(Err(victims::no_victims())),
            };
            match tried {
                Some(Ok(candidate)) if candidate.violations == 0 => found.candidates.push(candidate),
                Some(Ok(candidate)) if violating.len() < enough => violating.push(candidate),
                Some(Ok(_)) | None => continue,
                Some(Err(status)) => {
                    if status.code == Code::Error {
                        found.errors.push(status.message());
                    }
                    found.statuses.set(*id, &status);
                    continue;
                }
            }
            if !found.candidates.is_empty() && found.candidates.len() + violating.len() >= enough {
                break;
            }
        }
        found.candidates.append(&mut violating);
        found
    }
}

/// What the dry runs found.
#[derive(Default)]
struct Found {
    candidates: Vec<Candidate>,
    /// Of the nodes where preemption does not help.
    statuses: NodeToStatus,
    errors: Vec<String>,
}

/// Why the pod may not preempt others: its policy, or victims that are still terminating on the node that it is nominated
/// to. A nominated node that no eviction makes fit keeps nothing back.
fn not_eligible(h: &Handle, nodes: &NodeToStatus) -> Option<&'static str> {
    if h.pod.never_preempts {
        return Some("not eligible due to preemptionPolicy=Never.");
    }
    // The nomination in memory may be ahead of the one in the status.
    let named = || h.pod.nominated_node.as_ref().and_then(|name| h.snapshot.node_by_name(name));
    let node = h.snapshot.node(h.snapshot.nominated_node(&h.pod.key).or_else(named)?)?;
    let unresolvable = Code::UnschedulableAndUnresolvable;
    if nodes.get(node.id()).map_or(unresolvable, |status| status.code) == unresolvable {
        return None;
    }
    let leaves = |victim: &Arc<PodInfo>| {
        victim.priority < h.pod.priority && victim.is_terminating() && victim.disruption_target
    };
    node.pods().any(leaves).then_some("not eligible due to a terminating pod on the nominated node.")
}

/// Several errors as one text, each once.
///
/// Source: `staging/src/k8s.io/apimachinery/pkg/util/errors/errors.go`, `aggregate.Error`.
fn aggregated(errors: &[String]) -> String {
    let mut distinct: Vec<&str> = Vec::new();
    for error in errors {
        if !distinct.contains(&error.as_str()) {
            distinct.push(error);
        }
    }
    match distinct[..] {
        [one] => one.to_owned(),
        _ => format!("[{}]", distinct.join(", ")),
    }
}
