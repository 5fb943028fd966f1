//! Everything that waits, by cause: pods of one template are one entry, templates that wait for the
//! same cause are one group, and what would help a group is tried on the whole group by placing all
//! pending pods again.
//!
//! Called by `cli explain` without a pod.

use super::changes::{Question, TRIALS, that_help};
use super::{Explanation, LateRefusal, Suggestion, explain};
use crate::dry_run::{Options, Standing, World, run as schedule};
use crate::framework::{Edit, Exempted, Framework};
use crate::model::{
    Labels, Node, Object, PodInfo, PodKey, Resource, Snapshot, Symbol, Time, amount, amount_beside,
};
use crate::scheduler::{Profiles, RecordLevel};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;
use std::sync::Arc;

/// How many suggestions are tried on a whole group.
const TRIED: usize = 3;

/// Maximum number of additional nodes that are tried.
const MORE_NODES: usize = 64;

/// In a cluster of more objects than these placing all pods again takes long: less is tried.
const MANY_OBJECTS: usize = 20_000;

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
    /// Why the first of them waits; `None` where no node was the reason.
    pub explanation: Option<Explanation>,
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
    let nothing = Symbol::default();
    let labels = pod.labels.iter().filter(|(key, _)| !REPLICA_LABELS.contains(&key.as_str()));
    let annotations = pod.annotations.iter().filter(|(key, _)| !REPLICA_LABELS.contains(&key.as_str()));
    let spec = pod.raw.as_ref().and_then(|raw| raw.get("spec").cloned()).map(Arc::new);
    let bare = PodInfo {
        key: PodKey(nothing.clone()),
        name: nothing.clone(),
        uid: nothing,
        resource_version: Box::default(),
        generation: 0,
        created: None,
        started: None,
        scheduled_condition: None,
        disruption_target: false,
        labels: labels.map(|(key, value)| (key.clone(), value.clone())).collect::<Labels>(),
        annotations: annotations.map(|(key, value)| (key.clone(), value.clone())).collect(),
        raw: spec,
        ..PodInfo::clone(pod)
    };
    format!("{bare:?}")
}

/// Groups templates by cause: the causes with the most pods first, then the oldest.
pub fn by_cause(templates: Vec<Template>) -> Vec<Cause> {
    let mut causes: BTreeMap<String, Vec<Template>> = BTreeMap::new();
    for template in templates {
        causes.entry(template.cause.clone()).or_default().push(template);
    }
    let mut causes: Vec<Cause> = causes
        .into_iter()
        .map(|(text, mut templates)| {
            templates.sort_by_key(|template| std::cmp::Reverse(template.pods.len()));
            Cause { text, templates }
        })
        .collect();
    let age = |cause: &Cause| cause.oldest().map_or(i64::MAX, |time| time.0);
    causes.sort_by_key(|cause| (std::cmp::Reverse(cause.pods().count()), age(cause)));
    causes
}

/// A template of pods that wait, explained on the cluster at its turn. `message` is the reason of
/// its event.
pub fn template(
    framework: &Arc<Framework>,
    pods: Vec<Arc<PodInfo>>,
    snapshot: Snapshot,
    now: Time,
    message: &str,
) -> Template {
    let explanation = pods.first().map(|pod| explain(framework, &snapshot, pod, now));
    let cause = explanation.as_ref().map(|of| cause(of, message)).unwrap_or_default();
    Template { pods, cause, explanation, snapshot }
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

/// Makes the pod's profile where policies and rules have exceptions for the pod.
pub type Excepting<'a> = &'a dyn Fn(&PodInfo, &[Exempted]) -> Option<Arc<Framework>>;

/// How a group is tried.
pub struct Trial<'a> {
    /// The cluster with all pending pods.
    pub world: &'a World,
    /// The profiles.
    pub profiles: &'a Arc<Profiles>,
    /// How pods are placed.
    pub options: &'a Options,
    /// The pod's profile where policies and rules have exceptions for the pod.
    pub excepting: Excepting<'a>,
}

impl Trial<'_> {
    /// The change that places the most pods of a group; of equal ones the first suggestion.
    pub fn help(&self, cause: &Cause, now: Time) -> Option<GroupHelp> {
        let template = cause.templates.first()?;
        let pod = template.pods.first()?;
        let explanation = template.explanation.as_ref()?;
        let framework = self.profiles.get(&pod.scheduler_name)?;
        let excepting = |of: &[Exempted]| (self.excepting)(pod, of);
        let question = Question {
            framework,
            snapshot: &template.snapshot,
            pod,
            now,
            trials: TRIALS / 3,
            excepting: &excepting,
        };
        let suggestions = that_help(explanation, &question);
        let all = cause.pods().count();
        let mut best: Option<GroupHelp> = None;
        let may = suggestions.helps.iter().filter(|help| help.caution.is_none());
        let tried = if self.is_large() { 1 } else { TRIED };
        for suggestion in may.filter(|help| !help.edits.iter().any(Edit::is_wait)).take(tried) {
            let places = self.places(cause, suggestion);
            if places > best.as_ref().map_or(0, |best| best.places) {
                best = Some(GroupHelp { what: self.words(cause, suggestion), places });
            }
            if places == all {
                return best;
            }
        }
        if self.is_large() && best.is_some() {
            return best;
        }
        match self.more_nodes(cause, explanation) {
            Some(more) if best.as_ref().is_none_or(|best| more.places > best.places) => Some(more),
            _ => best,
        }
    }

    fn is_large(&self) -> bool {
        self.world.objects.len() + self.world.pending.len() > MANY_OBJECTS
    }

    /// How many pods of a group are placed after a suggestion was followed for all of them.
    fn places(&self, cause: &Cause, suggestion: &Suggestion) -> usize {
        let group: FxHashSet<&PodKey> = cause.pods().map(|pod| &pod.key).collect();
        let mut world = self.world.clone();
        let mut profiles = self.profiles.clone();
        for edit in &suggestion.edits {
            match edit {
                Edit::Except(of) => {
                    let Some(changed) = self.excepting(cause, of) else { return 0 };
                    profiles = changed;
                }
                edit if edit.changes_node() => edit_nodes(&mut world, edit, &suggestion.nodes),
                edit => {
                    for pod in world.pending.iter_mut().filter(|pod| group.contains(&pod.key)) {
                        let Some(changed) = edited(edit, pod) else { return 0 };
                        *pod = Arc::new(changed);
                    }
                }
            }
        }
        self.placed(&world, &profiles, &group)
    }

    /// The profiles where the pods of a group are excepted: one exception must name them all.
    fn excepting(&self, cause: &Cause, of: &Exempted) -> Option<Arc<Profiles>> {
        let pod = match &cause.templates[..] {
            [template] => template.pods.first()?,
            _ => return None,
        };
        let changed = (self.excepting)(pod, std::slice::from_ref(of))?;
        let frameworks = self.profiles.frameworks.iter();
        let frameworks = frameworks.map(|framework| {
            let same = framework.scheduler_name == changed.scheduler_name;
            if same { changed.clone() } else { framework.clone() }
        });
        Some(Arc::new(Profiles { frameworks: frameworks.collect(), revision: self.profiles.revision + 1 }))
    }

    fn placed(&self, world: &World, profiles: &Arc<Profiles>, group: &FxHashSet<&PodKey>) -> usize {
        let options = Options { records: RecordLevel::Outcome, recorded_pod: None, ..self.options.clone() };
        let report = schedule(world, profiles.clone(), &options);
        let bound = report.pods.iter().filter(|pod| matches!(pod.standing, Standing::Bound(_)));
        bound.filter(|pod| group.contains(&pod.pod.key)).count()
    }

    /// A suggestion for one pod as one for a group.
    fn words(&self, cause: &Cause, suggestion: &Suggestion) -> String {
        let Some(pod) = cause.pods().next() else { return suggestion.what.clone() };
        let which = match suggestion.nodes.len() {
            1 => suggestion.nodes.join(""),
            many => format!("{many} nodes"),
        };
        let words = suggestion.edits.iter().map(|edit| match edit {
            Edit::Request { resource, amount: to } if requests_differ(cause, resource) => {
                let asked = |pod: &Arc<PodInfo>| Resource::get(&pod.requests, resource);
                let most = cause.pods().map(asked).max().unwrap_or(*to);
                let to = amount_beside(resource, *to, most);
                format!("request at most {to} {resource}; the largest requests {}", amount(resource, most))
            }
            Edit::Except(_) if cause.pods().count() > 1 => {
                edit.describe(pod, &which).replace("this pod", "these pods")
            }
            edit => edit.describe(pod, &which),
        });
        words.collect::<Vec<_>>().join(", and ")
    }

    /// `6 more nodes like gpu-1 (8 nvidia.com/gpu)`: the fewest nodes with which all pods of the
    /// group are placed.
    fn more_nodes(&self, cause: &Cause, explanation: &Explanation) -> Option<GroupHelp> {
        let shortfalls = explanation.rules.iter().flat_map(|rule| &rule.because);
        let resource =
            shortfalls.filter_map(|because| because.shortfall.as_ref()).map(|of| &of.resource).next()?;
        let model = self.largest_node(explanation, resource)?;
        let group: FxHashSet<&PodKey> = cause.pods().map(|pod| &pod.key).collect();
        let places = |count: usize| {
            let mut world = self.world.clone();
            world.objects.extend((0..count).map(|at| Object::Node(Arc::new(copy_of(&model, at)))));
            self.placed(&world, self.profiles, &group)
        };
        let (mut low, mut high) = (0, 1);
        while places(high) < group.len() {
            (low, high) = (high, high * 2);
            if high > MORE_NODES {
                return None;
            }
        }
        while high - low > 1 {
            let middle = (low + high) / 2;
            if places(middle) < group.len() { low = middle } else { high = middle }
        }
        let has = amount(resource, model.allocatable.get(resource));
        let nodes = if high == 1 { "1 more node".to_owned() } else { format!("{high} more nodes") };
        let what = format!("{nodes} like {} ({has} {resource})", model.name);
        Some(GroupHelp { what, places: group.len() })
    }

    /// The healthy node with most of a resource.
    fn largest_node(&self, explanation: &Explanation, resource: &Symbol) -> Option<Arc<Node>> {
        let healthy = explanation.per_node.iter().filter(|node| node.trouble.is_none());
        let healthy: FxHashSet<&str> = healthy.map(|node| node.name.as_str()).collect();
        let nodes = self.world.objects.iter().filter_map(|object| match object {
            Object::Node(node) if healthy.contains(node.name.as_str()) => Some(node),
            _ => None,
        });
        nodes.rev().max_by_key(|node| node.allocatable.get(resource)).cloned()
    }
}

/// Whether the pods of a group request different amounts of a resource.
fn requests_differ(cause: &Cause, resource: &Symbol) -> bool {
    let mut amounts = cause.pods().map(|pod| Resource::get(&pod.requests, resource));
    let first = amounts.next();
    amounts.any(|amount| Some(amount) != first)
}

/// Another node of the same shape, empty.
fn copy_of(model: &Node, at: usize) -> Node {
    let name = Symbol::from(format!("{}-more-{at}", model.name));
    let hostname = Symbol::new("kubernetes.io/hostname");
    let labels = model.labels.iter().map(|(key, value)| {
        let value = if *key == hostname { name.clone() } else { value.clone() };
        (key.clone(), value)
    });
    let mut node = Node { labels: labels.collect(), uid: name.clone(), name: name.clone(), ..model.clone() };
    if let Some(raw) = node.raw.as_mut().map(Arc::make_mut) {
        let metadata = &mut raw["metadata"];
        (metadata["name"], metadata["uid"]) = (name.as_str().into(), name.as_str().into());
        if let Some(hostname) = metadata["labels"].get_mut(hostname.as_str()) {
            *hostname = name.as_str().into();
        }
    }
    node
}

/// A pod after an edit. A request is only lowered.
fn edited(edit: &Edit, pod: &PodInfo) -> Option<PodInfo> {
    let raises = match edit {
        Edit::Request { resource, amount } => Resource::get(&pod.requests, resource) <= *amount,
        _ => false,
    };
    if raises { Some(pod.clone()) } else { Edit::edited_pod(pod, std::slice::from_ref(edit)) }
}

/// Makes an edit on some nodes of a world.
fn edit_nodes(world: &mut World, edit: &Edit, names: &[String]) {
    let names: FxHashMap<&str, ()> = names.iter().map(|name| (name.as_str(), ())).collect();
    for object in &mut world.objects {
        if let Object::Node(node) = object
            && names.contains_key(node.name.as_str())
        {
            let mut changed = Node::clone(node);
            edit.edit_node(&mut changed);
            *object = Object::Node(Arc::new(changed));
        }
    }
}
