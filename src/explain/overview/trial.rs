//! What would help all pods that wait for one cause: a change is made for all of them, and all waiting pods are placed
//! again in the cluster as it is when the others have their nodes.

use super::{Cause, Example};
use crate::changes::{Question, TRIALS, that_help};
use crate::{Explanation, Suggestion};
use bayplan_dry_run::{Options, Standing, World, run as schedule};
use bayplan_framework::{Edit, Exempted, Framework};
use bayplan_model::{Node, Object, PodInfo, PodKey, Resource, Symbol, Time, amount, amount_beside};
use bayplan_scheduler::{Profiles, RecordLevel};
use rustc_hash::{FxHashMap, FxHashSet};
use std::cell::Cell;
use std::sync::Arc;

/// What would help a group.
#[derive(Clone, Debug, PartialEq)]
pub struct GroupHelp {
    /// What to do.
    pub what: String,
    /// How many pods of the group are then placed.
    pub places: usize,
}

/// How many suggestions are tried on a whole group.
const TRIED: usize = 3;

/// Maximum number of additional nodes that are tried.
const MORE_NODES: usize = 64;

/// All trials together may do as many attempts as this many dry runs of the cluster.
const DRY_RUNS: usize = 3;

/// As many attempts are made in a small cluster too.
const ATTEMPTS: usize = 1_000;

/// How many objects cost as much as an attempt when a cluster is made.
const OBJECTS_PER_ATTEMPT: usize = 20;

/// Makes the pod's profile where policies and rules have exceptions for the pod.
pub type Excepting<'a> = &'a dyn Fn(&PodInfo, &[Exempted]) -> Option<Arc<Framework>>;

/// How groups are tried.
pub struct Trial<'a> {
    /// The cluster in which all pods but those that wait have their nodes.
    pub world: &'a World,
    /// How many attempts are left ([`Trial::attempts`]).
    pub left: Cell<usize>,
    /// The profiles.
    pub profiles: &'a Arc<Profiles>,
    /// How pods are placed.
    pub options: &'a Options,
    /// The pod's profile where policies and rules have exceptions for the pod.
    pub excepting: Excepting<'a>,
}

impl Trial<'_> {
    /// How many attempts the trials of a cluster may make; `pending` pods waited when its dry run began.
    pub fn attempts(world: &World, pending: usize) -> usize {
        ATTEMPTS.max(DRY_RUNS * (pending + world.objects.len() / OBJECTS_PER_ATTEMPT))
    }

    /// The change that places the most pods of a group; of equal ones the first suggestion.
    pub fn help(&self, cause: &Cause, now: Time) -> Option<GroupHelp> {
        let Example { pod, explanation, snapshot } = cause.example.as_ref()?;
        let framework = self.profiles.get(&pod.scheduler_name)?;
        let excepting = |of: &[Exempted]| (self.excepting)(pod, of);
        let question = Question { framework, snapshot, pod, now, trials: TRIALS / 3, excepting: &excepting };
        let suggestions = that_help(explanation, &question);
        let all = cause.pods().count();
        let mut best: Option<GroupHelp> = None;
        let may = suggestions.helps.iter().filter(|help| help.caution.is_none());
        for suggestion in may.filter(|help| !help.edits.iter().any(Edit::is_wait)).take(TRIED) {
            let places = self.places(cause, suggestion).unwrap_or_default();
            if places > best.as_ref().map_or(0, |best| best.places) {
                best = Some(GroupHelp { what: self.words(cause, suggestion), places });
            }
            if places == all {
                return best;
            }
        }
        match self.more_nodes(cause, explanation) {
            Some(more) if best.as_ref().is_none_or(|best| more.places > best.places) => Some(more),
            _ => best,
        }
    }

    /// How many pods of a group are placed after a suggestion was followed for all of them; `None` where that cannot be
    /// tried.
    fn places(&self, cause: &Cause, suggestion: &Suggestion) -> Option<usize> {
        let group: FxHashSet<&PodKey> = cause.pods().map(|pod| &pod.key).collect();
        let mut world = self.world.clone();
        let mut profiles = self.profiles.clone();
        for edit in &suggestion.edits {
            match edit {
                Edit::Except(of) => {
                    profiles = self.excepting(cause, of)?;
                }
                edit if edit.changes_node() => edit_nodes(&mut world, edit, &suggestion.nodes),
                edit => {
                    for pod in world.pending.iter_mut().filter(|pod| group.contains(&pod.key)) {
                        *pod = Arc::new(edited(edit, pod)?);
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

    /// How many pods of a group are placed; `None` when no attempts are left.
    fn placed(&self, world: &World, profiles: &Arc<Profiles>, group: &FxHashSet<&PodKey>) -> Option<usize> {
        let attempts = world.pending.len() + world.objects.len() / OBJECTS_PER_ATTEMPT;
        let left = self.left.get();
        self.left.set(left.saturating_sub(attempts));
        if left == 0 {
            return None;
        }
        let options = Options { records: RecordLevel::Outcome, recorded_pod: None, ..self.options.clone() };
        let report = schedule(world, profiles.clone(), &options);
        let bound = report.pods.iter().filter(|pod| matches!(pod.standing, Standing::Bound(_)));
        Some(bound.filter(|pod| group.contains(&pod.pod.key)).count())
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
        while places(high)? < group.len() {
            (low, high) = (high, high * 2);
            if high > MORE_NODES {
                return None;
            }
        }
        while high - low > 1 {
            let middle = (low + high) / 2;
            match places(middle) {
                Some(placed) if placed < group.len() => low = middle,
                Some(_) => high = middle,
                None => break,
            }
        }
        let has = amount(resource, model.allocatable.get(resource));
        let nodes = if high == 1 { "1 more node".to_owned() } else { format!("{high} more nodes") };
        // Without attempts left, fewer nodes may be enough.
        let most = if high - low > 1 { "at most " } else { "" };
        let what = format!("{most}{nodes} like {} ({has} {resource})", model.name);
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
