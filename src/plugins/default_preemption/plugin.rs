//! [`DefaultPreemption`]: the plugin, and the evaluation of its candidates.

use super::args::Args;
use super::budgets::Budgets;
use super::victims;
use super::victims::{NoRoom, Search};
use bayplan_framework::{
    ActionType, AppliedRules, ArgsError, Candidate, ClusterEvent, Code, Diagnosis, EnqueueExtensions,
    EventRegistration, Features, FitError, Handle, Need, NodeToStatus, Plugin, PluginsRunner, PostFilter,
    PostFilterOutcome, PreEnqueue, Promise, QueueingHint, Reads, Status, Tree,
};
use bayplan_model::{Kind, Kinds, NodeId, PodInfo};
use std::sync::Arc;

pub(super) const NAME: &str = "DefaultPreemption";

/// The status of a node whose refusal no eviction can change.
pub(super) const NOT_HELPFUL: &str = "Preemption is not helpful for scheduling";

pub(crate) fn new(args: &Tree, _: Features) -> Result<Arc<dyn Plugin>, Vec<ArgsError>> {
    let mut errors = Vec::new();
    let args = Args::read(args, &mut errors);
    let evaluator = Evaluator { args };
    if errors.is_empty() { Ok(Arc::new(DefaultPreemption { evaluator })) } else { Err(errors) }
}

pub(super) struct DefaultPreemption {
    evaluator: Evaluator,
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
        NEEDS
    }
    bayplan_framework::serves!(PreEnqueue, EnqueueExtensions, PostFilter);
}

impl PreEnqueue for DefaultPreemption {
    fn pre_enqueue(&self, h: &Handle) -> Result<(), Status> {
        held_while_evicting(h)
    }
}

impl EnqueueExtensions for DefaultPreemption {
    /// A deletion opens the gate again; the plugins that refused the pod know whether it helps.
    fn events(&self) -> Vec<EventRegistration> {
        vec![crate::pods(ActionType::DELETE)]
    }
    fn hint(&self, _: &Handle, _: &ClusterEvent) -> QueueingHint {
        QueueingHint::Skip
    }
}

impl PostFilter for DefaultPreemption {
    fn preempts(&self) -> bool {
        true
    }

    fn post_filter(
        &self,
        h: &Handle,
        nodes: &NodeToStatus,
        run: &mut dyn PluginsRunner,
    ) -> PostFilterOutcome {
        self.evaluator.evaluate(h, nodes, run)
    }
}

/// The kinds of objects that the evaluator reads beside pods and nodes.
pub const NEEDS: &[Need] = &[Need { kind: Kind::PodDisruptionBudget, optional: false }];

/// Keeps a pod out of the queue while its victims are being evicted.
pub fn held_while_evicting(h: &Handle) -> Result<(), Status> {
    match h.snapshot.is_preempting(&h.pod.key) {
        true => Err(Status::unresolvable("waiting for the preemption for this pod to be finished")),
        false => Ok(()),
    }
}

/// Finds the nodes on which a pod fits once others are evicted. A profile has one: that of DefaultPreemption, or of a
/// policy where DefaultPreemption is disabled.
#[derive(Default)]
pub struct Evaluator {
    args: Args,
}

/// Why the search found no candidate, and how the nomination is treated.
pub(super) type Refusal = (Code, String, Promise);

impl Evaluator {
    /// The candidates, or why there are none. The rules about evictions of all plugins count.
    pub fn evaluate(
        &self,
        h: &Handle,
        nodes: &NodeToStatus,
        run: &mut dyn PluginsRunner,
    ) -> PostFilterOutcome {
        let mut rules = run.rules();
        let found = self.candidates(h, nodes, run, &mut rules);
        let notes = rules.into_notes();
        run.asked(notes);
        match found {
            Ok(candidates) => PostFilterOutcome::Candidates(candidates),
            Err((code, text, promise)) => {
                PostFilterOutcome::Not { status: Status::new(code, format!("preemption: {text}")), promise }
            }
        }
    }

    fn candidates(
        &self,
        h: &Handle,
        nodes: &NodeToStatus,
        run: &dyn PluginsRunner,
        rules: &mut AppliedRules,
    ) -> Result<Vec<Candidate>, Refusal> {
        if let Some(reason) = not_eligible(h, nodes, rules) {
            return Err((Code::Unschedulable, reason.to_owned(), Promise::Keep));
        }
        if let Err(status) = rules.never(*h) {
            let code = if status.code == Code::Error { status.code } else { Code::Unschedulable };
            return Err((code, status.message(), Promise::Keep));
        }
        let potential: Vec<NodeId> =
            nodes.with_code(Code::Unschedulable, h.snapshot.columns().alive()).iter().collect();
        let found = self
            .search(h, &potential, run, rules)
            .map_err(|status| (Code::Error, status.message(), Promise::Keep))?;
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
    /// of them violates no PodDisruptionBudget. Candidates without a violation come first. `Err`: a rule failed.
    fn search(
        &self,
        h: &Handle,
        potential: &[NodeId],
        run: &dyn PluginsRunner,
        rules: &mut AppliedRules,
    ) -> Result<Found, Status> {
        let mut found = Found::default();
        let enough = self.args.candidates(potential.len());
        let Some(start) = h.cycle.draw.checked_rem(potential.len() as u64) else { return Ok(found) };
        let (before, after) = potential.split_at(start as usize);
        let budgets = Budgets::of(h.snapshot);
        let mut violating = Vec::new();
        for id in after.iter().chain(before) {
            let Some(node) = h.snapshot.node(*id) else { continue };
            let tried = match victims::has_potential_victims(h.pod, node, rules) {
                true => run.simulate(*id).map(|trial| {
                    Search { preemptor: h.pod, budgets: &budgets, rules, run }.on_node(node, trial)
                }),
                false => Some(Err(victims::no_victims().into())),
            };
            match tried {
                Some(Ok(candidate)) if candidate.violations == 0 => found.candidates.push(candidate),
                Some(Ok(candidate)) if violating.len() < enough => violating.push(candidate),
                Some(Ok(_)) | None => continue,
                Some(Err(NoRoom::Anywhere(status))) => return Err(status),
                Some(Err(NoRoom::Here(status))) => {
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
        Ok(found)
    }
}

/// What the dry runs found.
#[derive(Default)]
pub(super) struct Found {
    candidates: Vec<Candidate>,
    /// Of the nodes where preemption does not help.
    statuses: NodeToStatus,
    errors: Vec<String>,
}

/// Why the pod may not preempt others: its policy, or victims that are still terminating on the node that it is nominated
/// to. A nominated node that no eviction makes fit keeps nothing back.
pub(super) fn not_eligible(h: &Handle, nodes: &NodeToStatus, rules: &AppliedRules) -> Option<&'static str> {
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
        // Where rules name the victims, their priority does not tell.
        let evicted = rules.names_victims() || victim.priority < h.pod.priority;
        evicted && victim.is_terminating() && victim.disruption_target
    };
    node.pods().any(leaves).then_some("not eligible due to a terminating pod on the nominated node.")
}

/// Several errors as one text, each once.
///
/// Source: `staging/src/k8s.io/apimachinery/pkg/util/errors/errors.go`, `aggregate.Error`.
pub(super) fn aggregated(errors: &[String]) -> String {
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
