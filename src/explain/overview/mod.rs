//! Everything that waits, by cause: pods of one template are one entry, templates that wait for the
//! same cause are one group. One pod of each kind is explained for all others: pods of a kind have the same
//! constraints and requests, and are refused for the same reasons. What would help a group is tried on the whole group
//! ([`trial`]).
//!
//! Called by `cli explain` without a pod.

pub mod trial;

use super::{Explanation, LateRefusal};
use bayplan_model::{Labels, PodInfo, PodKey, Snapshot, Symbol, Time};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Labels that number the replicas of a workload.
const REPLICA_LABELS: [&str; 3] = [
    "statefulset.kubernetes.io/pod-name",
    "apps.kubernetes.io/pod-index",
    "batch.kubernetes.io/job-completion-index",
];

/// Pods of one template: they differ in nothing that decides about them.
#[derive(Clone, Debug)]
pub struct Template {
    /// The pods, oldest first.
    pub pods: Vec<Arc<PodInfo>>,
    /// Why they wait, in a few words.
    pub cause: String,
}

/// A pod that was explained, for all that wait for the same cause.
#[derive(Clone, Debug)]
pub struct Example {
    /// The pod.
    pub pod: Arc<PodInfo>,
    /// Why it waits.
    pub explanation: Explanation,
    /// The cluster at its turn.
    pub snapshot: Snapshot,
}

impl Template {
    /// `shop/web-7d9f-*`, or the name of the only pod.
    pub fn name(&self) -> String {
        let Some(first) = self.pods.first() else { return String::new() };
        if self.pods.len() == 1 {
            return first.full_name();
        }
        let names = self.pods.iter().skip(1).map(|pod| pod.name.as_str());
        let shared = names.fold(first.name.len(), |shared, name| {
            let same = first.name.bytes().zip(name.bytes()).take_while(|(a, b)| a == b).count();
            shared.min(same)
        });
        format!("{}/{}*", first.namespace, first.name.get(..shared).unwrap_or_default())
    }
}

/// Templates that wait for one cause.
#[derive(Clone, Debug)]
pub struct Cause {
    /// In a few words.
    pub text: String,
    /// The templates, the one with the most pods first.
    pub templates: Vec<Template>,
    /// One of the pods; `None` where no node was the reason.
    pub example: Option<Example>,
}

impl Cause {
    /// The pods of all templates.
    pub fn pods(&self) -> impl Iterator<Item = &Arc<PodInfo>> {
        self.templates.iter().flat_map(|template| &template.pods)
    }

    /// When the oldest of them was created.
    pub fn oldest(&self) -> Option<Time> {
        self.pods().filter_map(|pod| pod.created).min()
    }
}

/// What would help a group.
#[derive(Clone, Debug, PartialEq)]
pub struct GroupHelp {
    /// What to do.
    pub what: String,
    /// How many pods of the group are then placed.
    pub places: usize,
}

/// Pods that differ in nothing that decides about them have the same key.
pub fn template_key(pod: &PodInfo) -> String {
    let labels = pod.labels.iter().filter(|(key, _)| !REPLICA_LABELS.contains(&key.as_str()));
    let annotations = pod.annotations.iter().filter(|(key, _)| !REPLICA_LABELS.contains(&key.as_str()));
    let spec = pod.raw.as_ref().and_then(|raw| raw.get("spec").cloned()).map(Arc::new);
    let bare = PodInfo {
        labels: labels.map(|(key, value)| (key.clone(), value.clone())).collect::<Labels>(),
        annotations: annotations.map(|(key, value)| (key.clone(), value.clone())).collect(),
        raw: spec,
        ..nameless(pod)
    };
    format!("{bare:?}")
}

/// Pods with the same constraints and requests have the same key, whatever their names, namespaces, labels and
/// annotations.
pub fn kind_key(pod: &PodInfo) -> String {
    let bare = PodInfo {
        namespace: Symbol::default(),
        labels: Labels::default(),
        annotations: Default::default(),
        raw: None,
        ..nameless(pod)
    };
    format!("{bare:?}")
}

/// A pod without what tells it from its replicas.
fn nameless(pod: &PodInfo) -> PodInfo {
    let nothing = Symbol::default();
    PodInfo {
        key: PodKey(nothing.clone()),
        name: nothing.clone(),
        uid: nothing,
        resource_version: Box::default(),
        generation: 0,
        created: None,
        started: None,
        scheduled_condition: None,
        disruption_target: false,
        written_after_bind: Box::default(),
        ..PodInfo::clone(pod)
    }
}

/// Groups templates by cause: the causes with the most pods first, then the oldest. `examples`: by cause.
pub fn by_cause(templates: Vec<Template>, mut examples: BTreeMap<String, Example>) -> Vec<Cause> {
    let mut causes: BTreeMap<String, Vec<Template>> = BTreeMap::new();
    for template in templates {
        causes.entry(template.cause.clone()).or_default().push(template);
    }
    let mut causes: Vec<Cause> = causes
        .into_iter()
        .map(|(text, mut templates)| {
            templates.sort_by_key(|template| std::cmp::Reverse(template.pods.len()));
            let example = examples.remove(&text);
            Cause { text, templates, example }
        })
        .collect();
    let age = |cause: &Cause| cause.oldest().map_or(i64::MAX, |time| time.0);
    causes.sort_by_key(|cause| (std::cmp::Reverse(cause.pods().count()), age(cause)));
    causes
}

/// Why a pod waits, in a few words: the rule that alone keeps away the most nodes.
pub fn cause(explanation: &Explanation, message: &str) -> String {
    if let Some((plugin, reason)) = &explanation.refused_before_nodes {
        return format!("{plugin}: {reason}");
    }
    if let Some(LateRefusal { plugin, reason, .. }) = &explanation.refused_late {
        return format!("{plugin}: {reason}");
    }
    if explanation.nodes == 0 {
        return "the cluster has no nodes".to_owned();
    }
    let Some(rule) = explanation.rules.first().filter(|_| explanation.fits.is_empty()) else {
        return message.to_owned();
    };
    let reason = rule.because.first();
    match reason {
        Some(because) if rule.place.is_empty() => match &because.shortfall {
            Some(_) => because.reason.clone(),
            None if because.what.is_empty() => because.reason.clone(),
            None if because.need.is_empty() || because.need.starts_with("a toleration") => {
                format!("{} {}", rule.rule, because.what)
            }
            None => format!("{} {}: {}", rule.rule, because.what, because.need),
        },
        _ if explanation.rules.len() == 1 => format!("{} alone", rule.rule),
        _ => rule.rule.clone(),
    }
}
