//! What a policy reads, in the framework's terms, and which events may help a pod that it refused.
//!
//! Derived from the reads of its statements. An event of a node, or of a pod on a node, is answered by asking the
//! policy's filters about that node, when these look at nothing else; all other events that touch what is read wake the
//! pod. No event that could help is left out.

use super::PolicyPlugin;
use super::attempt::Attempt;
use crate::framework::{
    ActionType, ClusterEvent, CycleState, EnqueueExtensions, EventObjects, EventRegistration, EventResource,
    Filter, Handle, QueueingHint, Reads,
};
use crate::lang::policy_set::CompiledPolicy;
use crate::lang::reads::{Polarity, ReadOf, ReadPath};
use crate::lang::schema::{Eviction, Moves};
use crate::lang::typed::PrefilterStatement;
use crate::model::{Kinds, NodeId, PodInfo, Symbol};

/// Reads and registrations of a policy.
pub(super) struct Events {
    reads: Reads,
    registrations: Vec<EventRegistration>,
    /// Nothing is read but the pod, its namespace, and the node asked about with the pods on it.
    local: bool,
}

impl Events {
    pub(super) fn of(compiled: &CompiledPolicy) -> Self {
        let mut reads = framework_reads(&compiled.reads);
        reads.label_keys.extend(compiled.statements.leaves.label_keys().iter().cloned());
        let refusing = refusing_reads(compiled);
        let local = refusing.groups.is_empty()
            && refusing.paths.keys().all(|path| {
                matches!(path.of, ReadOf::Pod | ReadOf::Namespace | ReadOf::Node | ReadOf::NodePods)
            });
        let mut registrations = Vec::new();
        // `applies when` and every statement may look at the pod itself.
        register(&mut registrations, EventResource::UnschedulablePod, ActionType::UPDATE);
        for (path, polarity) in &refusing.paths {
            register_path(&mut registrations, path, *polarity);
        }
        if !refusing.groups.is_empty() {
            register(&mut registrations, EventResource::Pod, ActionType::ALL);
        }
        Self { reads, registrations, local }
    }

    pub(super) fn reads(&self) -> &Reads {
        &self.reads
    }
}

/// The reads of statements that can refuse.
fn refusing_reads(compiled: &CompiledPolicy) -> crate::lang::reads::Reads {
    let policy = &compiled.policy;
    let mut all = crate::lang::reads::Reads::default();
    let mut add = |reads: &crate::lang::reads::Reads| crate::lang::policy_set::merge(&mut all, reads);
    for check in policy.gates.iter().chain(policy.filters.iter().flat_map(|filter| &filter.checks)) {
        add(&check.reads);
    }
    for statement in policy.prefilters.iter().flat_map(|prefilter| &prefilter.statements) {
        match statement {
            PrefilterStatement::Check(check) => add(&check.reads),
            PrefilterStatement::Only(only) => add(&only.reads),
        }
    }
    for permit in &policy.permits {
        permit.checks.iter().for_each(|check| add(&check.reads));
        permit.waits.iter().for_each(|wait| add(&wait.reads));
    }
    all
}

fn register(all: &mut Vec<EventRegistration>, resource: EventResource, actions: ActionType) {
    match all.iter_mut().find(|known| known.resource == resource) {
        Some(known) => known.actions = known.actions.with(actions),
        None => all.push(EventRegistration { resource, actions }),
    }
}

fn register_path(all: &mut Vec<EventRegistration>, path: &ReadPath, polarity: Polarity) {
    let def = path.field.map(|field| field.def());
    let moves = def.map_or(Moves::Never, |def| def.moves);
    match path.of {
        ReadOf::Pod => {}
        ReadOf::Namespace => register(all, EventResource::Namespace, ActionType::ALL),
        ReadOf::Node | ReadOf::Nodes => {
            register(all, EventResource::Node, ActionType::ADD);
            if path.of == ReadOf::Nodes {
                register(all, EventResource::Node, ActionType::DELETE);
            }
            if def.is_some_and(|def| def.name == "free") {
                register(all, EventResource::Node, ActionType::UPDATE_NODE_ALLOCATABLE);
            }
            match moves {
                Moves::Never | Moves::Queue => {}
                Moves::Labels => register(all, EventResource::Node, ActionType::UPDATE_NODE_LABEL),
                Moves::Annotations => register(all, EventResource::Node, ActionType::UPDATE_NODE_ANNOTATION),
                Moves::Taints | Moves::Unschedulable => {
                    register(all, EventResource::Node, ActionType::UPDATE_NODE_TAINT);
                }
                Moves::Allocatable => register(all, EventResource::Node, ActionType::UPDATE_NODE_ALLOCATABLE),
                Moves::Conditions => register(all, EventResource::Node, ActionType::UPDATE_NODE_CONDITION),
                Moves::Images | Moves::Object => register(all, EventResource::Node, ActionType::UPDATE),
                Moves::PodsRequests => {
                    let less_helps = match def.map_or(Eviction::Changes, |def| def.eviction) {
                        Eviction::Raises => polarity == Polarity::Up,
                        Eviction::Lowers => polarity == Polarity::Down,
                        Eviction::None | Eviction::Changes => false,
                    };
                    let actions = if less_helps {
                        ActionType::DELETE.with(ActionType::UPDATE_POD_SCALE_DOWN)
                    } else {
                        ActionType::ALL
                    };
                    register(all, EventResource::AssignedPod, actions);
                }
                Moves::PodsOther | Moves::Placement => {
                    register(all, EventResource::AssignedPod, ActionType::ALL);
                }
            }
        }
        ReadOf::NodePods => register(all, EventResource::AssignedPod, ActionType::ALL),
        ReadOf::Pods | ReadOf::Group | ReadOf::Nominated => {
            register(all, EventResource::Pod, ActionType::ALL);
        }
    }
}

/// The reads of a policy in the framework's terms.
fn framework_reads(of: &crate::lang::reads::Reads) -> Reads {
    let mut reads = Reads { clock: of.clock, ..Reads::default() };
    if !of.groups.is_empty() {
        reads.other_pods = true;
        reads.kinds |= Kinds::PODS_OTHER.with(Kinds::PENDING_PODS);
    }
    for path in of.paths.keys() {
        let def = path.field.map(|field| field.def());
        let moves = def.map_or(Moves::Never, |def| def.moves);
        match path.of {
            ReadOf::Pod => {}
            ReadOf::Namespace => reads.kinds |= Kinds::NAMESPACES,
            ReadOf::NodePods => reads.kinds |= Kinds::PODS_OTHER.with(Kinds::PODS_REQUESTS),
            ReadOf::Pods | ReadOf::Group => {
                reads.other_pods = true;
                reads.kinds |= Kinds::PODS_OTHER.with(Kinds::PENDING_PODS);
            }
            ReadOf::Nominated => {
                reads.other_pods = true;
                reads.kinds |= Kinds::NOMINATED;
            }
            ReadOf::Node | ReadOf::Nodes => {
                reads.kinds |= Kinds::LIFE;
                if path.of == ReadOf::Nodes {
                    reads.kinds |= Kinds::NODES;
                    reads.all = true;
                }
                if def.is_some_and(|def| def.name == "free") {
                    reads.kinds |= Kinds::ALLOCATABLE;
                }
                reads.kinds |= match moves {
                    Moves::Never | Moves::Queue => Kinds::NONE,
                    Moves::Labels => {
                        match &path.key {
                            Some(key) => {
                                reads.label_keys.insert(Symbol::new(key));
                            }
                            None => reads.any_label = true,
                        }
                        Kinds::LABELS
                    }
                    Moves::Annotations => Kinds::ANNOTATIONS,
                    Moves::Taints => Kinds::TAINTS,
                    Moves::Unschedulable => Kinds::UNSCHEDULABLE,
                    Moves::Allocatable => Kinds::ALLOCATABLE,
                    Moves::Images => Kinds::IMAGES,
                    Moves::Conditions => Kinds::CONDITIONS,
                    Moves::PodsRequests => Kinds::PODS_REQUESTS.with(Kinds::PODS_OTHER),
                    Moves::PodsOther | Moves::Placement => Kinds::PODS_OTHER,
                    Moves::Object => Kinds::OTHER,
                };
            }
        }
    }
    reads
}

impl PolicyPlugin {
    /// Whether a node lets the pod in as things are, by this policy alone.
    fn would_pass(&self, h: &Handle, node: NodeId) -> bool {
        let Some(node) = h.snapshot.node(node) else { return true };
        let Ok((attempt, only)) = self.begin(h) else { return false };
        if only.is_some_and(|only| !only.contains(node.id())) {
            return false;
        }
        let mut state = CycleState::default();
        state.slot_mut(h.plugin).put::<Attempt>(attempt);
        self.filter(&Handle { cycle: &state, ..*h }, node).is_ok()
    }

    fn node_of(&self, h: &Handle, pod: &PodInfo) -> Option<NodeId> {
        h.snapshot.node_by_name(pod.node_name.as_ref()?)
    }
}

impl EnqueueExtensions for PolicyPlugin {
    fn events(&self) -> Vec<EventRegistration> {
        self.events.registrations.clone()
    }

    fn hint(&self, h: &Handle, event: &ClusterEvent) -> QueueingHint {
        if !self.events.local || self.compiled.statements.filters.is_empty() {
            return QueueingHint::Queue;
        }
        // A policy without prefilter, gate or permit refused by a filter; with one of them anything may have been it.
        let only_filters = self.compiled.statements.prefilters.is_empty()
            && self.compiled.statements.gates.is_empty()
            && self.compiled.statements.permits.is_empty();
        if !only_filters {
            return QueueingHint::Queue;
        }
        let node = match &event.objects {
            EventObjects::Node { new: Some(node), .. } => h.snapshot.node_by_name(&node.name),
            EventObjects::Pod { old, new } if event.resource == EventResource::AssignedPod => {
                let now = new.as_ref().and_then(|pod| self.node_of(h, pod));
                now.or_else(|| old.as_ref().and_then(|pod| self.node_of(h, pod)))
            }
            _ => None,
        };
        match node {
            Some(node) if !self.would_pass(h, node) => QueueingHint::Skip,
            _ => QueueingHint::Queue,
        }
    }
}
