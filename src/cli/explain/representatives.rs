//! The pods that are explained for all others that wait: one of each kind, on the cluster at its turn in the queue.

use super::Setup;
use crate::cli::dry_run::{PLACING, standing, why};
use crate::cli::progress::Progress;
use crate::dry_run::{Options, PodReport, Standing, Watcher, run_watched};
use crate::explain::explain;
use crate::explain::overview::{Example, cause, kind_key, template_key};
use crate::model::{PodInfo, PodKey, Snapshot, Time};
use crate::scheduler::{Decision, DecisionRecord, Scheduler};
use rustc_hash::FxHashMap;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

/// How many kinds are explained, those with the most pods; of others the most frequent reason is the cause.
const MOST: usize = 512;

/// Plugins that read the pod's spec and the node and nothing else: for pods that these alone refuse, labels, annotations
/// and namespaces decide nothing.
const READ_THE_SPEC: [&str; 6] =
    ["NodeName", "NodeUnschedulable", "NodeAffinity", "TaintToleration", "NodePorts", "NodeResourcesFit"];

/// The cause of a template.
pub(super) enum CauseText {
    /// In words.
    Known(String),
    /// That of a kind.
    Of(usize),
}

/// Pods with the same constraints and requests, refused for the same reasons; with the same labels too where a plugin may
/// have read these.
struct Kind {
    /// Who is explained.
    pod: Arc<PodInfo>,
    pods: usize,
    /// The reasons of kube-scheduler's text, with counts.
    reasons: String,
}

/// One pod of each kind.
#[derive(Default)]
pub(super) struct Representatives {
    places: FxHashMap<(String, String), usize>,
    kinds: Vec<Kind>,
}

impl Representatives {
    /// The kind of a template.
    pub(super) fn of(&mut self, template: &[&PodReport]) -> CauseText {
        let Some(first) = template.first() else { return CauseText::Known(String::new()) };
        let reasons = match (standing(first), &first.waited) {
            // One node had let it pass, and its count says nothing.
            (Standing::Waiting { message }, Some(waited)) => {
                let plugins: Vec<&str> = waited.plugins.iter().map(|(plugin, _)| plugin.as_str()).collect();
                format!("{}: {}", plugins.join(", "), most_frequent(&why::reasons(&message)))
            }
            (Standing::Waiting { message }, None) => why::reasons(&message),
            _ => String::new(),
        };
        // How many nodes each reason keeps away moves while pods are placed.
        let without_counts = reasons.replace(|c: char| c.is_ascii_digit(), "");
        let refused_by = first.decisions.last().map_or(&[][..], |record| &record.unschedulable_plugins);
        let by_spec = refused_by.iter().all(|plugin| READ_THE_SPEC.contains(&plugin.as_str()));
        let key = if by_spec { kind_key(&first.pod) } else { template_key(&first.pod) };
        let next = self.kinds.len();
        let at = *self.places.entry((key, without_counts)).or_insert(next);
        if at == next {
            self.kinds.push(Kind { pod: first.pod.clone(), pods: 0, reasons });
        }
        if let Some(kind) = self.kinds.get_mut(at) {
            kind.pods += template.len();
        }
        CauseText::Of(at)
    }

    /// The cause of each kind, and for each cause the example with the most pods. `settled`: the cluster at the end, for
    /// pods that no attempt refused.
    pub(super) fn explained(
        self,
        setup: &Setup,
        options: &Options,
        (settled, now): (&Snapshot, Time),
        progress: &Progress,
    ) -> (Vec<String>, BTreeMap<String, Example>) {
        let mut order: Vec<usize> = (0..self.kinds.len()).collect();
        order.sort_by_key(|at| self.kinds.get(*at).map(|kind| Reverse(kind.pods)));
        let explained = order.get(..MOST.min(order.len())).unwrap_or_default();
        let chosen = explained.iter().filter_map(|at| self.kinds.get(*at));
        let mut turns = Turns { states: FxHashMap::default(), progress };
        turns.states.extend(chosen.map(|kind| (kind.pod.key.clone(), None)));
        if !turns.states.is_empty() {
            progress.stage(PLACING, setup.world.pending.len());
            run_watched(&setup.world, setup.profiles.clone(), options, Some(&mut turns));
        }
        let mut causes: Vec<String> = self.kinds.iter().map(|kind| most_frequent(&kind.reasons)).collect();
        let mut examples = BTreeMap::new();
        progress.stage("explaining one pod of each kind", explained.len());
        for (at, kind) in explained.iter().filter_map(|at| Some((*at, self.kinds.get(*at)?))) {
            progress.step();
            let Some(framework) = setup.profiles.get(&kind.pod.scheduler_name) else { continue };
            let snapshot = turns.states.remove(&kind.pod.key).flatten().unwrap_or_else(|| settled.fork());
            let explanation = explain(framework, &snapshot, &kind.pod, now);
            let text = cause(&explanation, &kind.reasons);
            if let Some(cause) = causes.get_mut(at) {
                cause.clone_from(&text);
            }
            // The kinds with the most pods come first.
            let pod = kind.pod.clone();
            examples.entry(text).or_insert_with(|| Example { pod, explanation, snapshot });
        }
        (causes, examples)
    }
}

/// The first of counted reasons, without its count.
fn most_frequent(reasons: &str) -> String {
    let first = reasons.split(", ").next().unwrap_or_default();
    first.trim_start_matches(|c: char| c.is_ascii_digit()).trim_start().to_owned()
}

/// Remembers the cluster before the last attempt that refused each of some pods.
struct Turns<'p> {
    progress: &'p Progress,
    states: FxHashMap<PodKey, Option<Snapshot>>,
}

impl Watcher for Turns<'_> {
    fn wants(&self, next: Option<&PodKey>) -> bool {
        self.progress.step();
        next.is_some_and(|pod| self.states.contains_key(pod))
    }

    fn decided(&mut self, before: Snapshot, record: &DecisionRecord) {
        if let Some(state) = self.states.get_mut(&record.key) {
            let refused = matches!(record.decision, Decision::Unschedulable { .. });
            *state = refused.then_some(before);
        }
    }

    fn handled(&mut self, _: &Scheduler, _: Time) {}
}
