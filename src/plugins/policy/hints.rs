//! Whether an event helps a pod that the policy refused. Every event that could help queues the
//! pod. An event that cannot help is skipped in these cases:
//!
//! - an event of a node, or of a pod on a node, where filters read nothing else: the filters are
//!   evaluated for that node;
//! - an event of an object of a kind that no rule looks up, or that changes nothing that the policy reads of it;
//! - an event of a claim of devices whose allocation stays as it is;
//! - an event of a pod, where pods are read as members of groups only: it helps if the pod is or
//!   was a member, in the direction in which members are read. So the members of a group that leave
//!   together do not wake each other. Likewise with ledgers: the pod must move a sum under a key that
//!   the refused pod reads;
//! - a memo that was written, or whose time is over, under another key than the pod's; likewise a sum that moved because
//!   an exception ended.

use super::PolicyPlugin;
use super::attempt::{Attempt, Begun};
use super::events::HintReads;
use super::memo_reads::memo_numbers;
use super::queued;
use bayplan_framework::{
    ActionType, ClusterEvent, CycleState, EnqueueExtensions, EventObjects, EventRegistration, EventResource,
    Filter, Handle, QueueingHint,
};
use bayplan_lang::analysis::index::can_be_indexed;
use bayplan_lang::eval::context::EvalContext;
use bayplan_lang::eval::exempt::daemon_set_named_by;
use bayplan_lang::eval::interpret::Evaluator;
use bayplan_lang::typed::GroupId;
use bayplan_lang::typed::reads::Polarity;
use bayplan_model::{ApiObject, Kinds, LookedUp, NodeId, PodInfo, ResourceClaim, downcast, looked_up};

impl PolicyPlugin {
    /// Whether the policy's filters accept the pod on a node in the present state.
    fn would_pass(&self, h: &Handle, node: NodeId) -> bool {
        let Some(node) = h.snapshot.node(node) else { return true };
        let Begun { attempt, left: Ok(only) } = self.begin(h) else { return false };
        if only.is_some_and(|only| !only.contains(node.id())) {
            return false;
        }
        let mut state = CycleState::default();
        state.slot_mut(h.plugin).put::<Attempt>(attempt);
        self.filter(&Handle { cycle: &state, ..*h }, node).is_ok()
    }

    /// Whether a pod is in a group of the handle's pod, by the paths of the group alone.
    fn is_member(&self, h: &Handle, group: GroupId, pod: &PodInfo) -> bool {
        let policy = &self.compiled.policy;
        let of = &policy[group];
        if !can_be_indexed(policy, group) {
            return true;
        }
        let mut evaluator = Evaluator::new(policy, EvalContext::new(h.pod, h.snapshot, h.now));
        evaluator.bind_pod(of.slot, pod);
        of.keys.iter().all(|key| evaluator.value(&key.member).equals(&evaluator.value(&key.pod)))
    }

    /// Whether an added, deleted or changed pod helps because of its groups.
    fn helps_by_groups(
        &self,
        h: &Handle,
        reads: &HintReads,
        old: Option<&PodInfo>,
        new: Option<&PodInfo>,
    ) -> bool {
        let member = |pod: Option<&PodInfo>| {
            pod.is_some_and(|pod| reads.groups.iter().any(|group| self.is_member(h, *group, pod)))
        };
        match reads.more {
            Some(Polarity::Up) => member(new),
            Some(Polarity::Down) => member(old),
            _ => member(old) || member(new),
        }
    }

    /// Whether an added, deleted or changed object differs in something that the policy reads of its kind.
    fn helps_by_object(
        &self,
        reads: &HintReads,
        old: Option<&dyn ApiObject>,
        new: Option<&dyn ApiObject>,
    ) -> bool {
        let policy = &self.compiled.policy;
        let (old, new) = (old.and_then(looked_up), new.and_then(looked_up));
        let Some(kind) = new.or(old).map(LookedUp::kind_name) else { return false };
        if !reads.objects.iter().any(|id| policy[*id].name == *kind) {
            return false;
        }
        match (old, new, policy.keeps.objects.get(kind)) {
            // Watches keep what all policies read.
            (Some(old), Some(new), Some(keep)) => {
                new.metadata().uid != old.metadata().uid || new.projected(keep) != old.projected(keep)
            }
            _ => true,
        }
    }

    /// Whether a claim or a slice of devices that was added, deleted or changed helps. The requests of a claim do not change.
    fn helps_by_devices(
        &self,
        h: &Handle,
        reads: &HintReads,
        old: Option<&dyn ApiObject>,
        new: Option<&dyn ApiObject>,
    ) -> bool {
        if !reads.kinds.intersects(Kinds::DEVICES) {
            return false;
        }
        let of_others = reads.kinds.intersects(Kinds::OF_PODS) || !reads.groups.is_empty();
        let of = |object: Option<&dyn ApiObject>| object.and_then(downcast::<ResourceClaim>).cloned();
        match (of(old), of(new)) {
            (Some(old), Some(new)) => old.allocation != new.allocation,
            (Some(claim), None) | (None, Some(claim)) => {
                claim.allocation.is_some() || claim.metadata.namespace == h.pod.namespace || of_others
            }
            (None, None) => true,
        }
    }

    /// Whether a memo or a sum that the policy reads moved under a key that the pod reads.
    fn helps_by_moves(&self, h: &Handle, reads: &HintReads, moved: &[u64]) -> bool {
        let policy = &self.compiled.policy;
        let context = EvalContext { queued: queued(h), ..EvalContext::new(h.pod, h.snapshot, h.now) };
        let memos = memo_numbers(policy, &reads.memos, context);
        let is_among = |number: &u64| moved.binary_search(number).is_ok();
        memos.iter().any(is_among)
            || reads.ledgers.iter().any(|read| read.numbers(policy, context).iter().any(is_among))
    }

    fn node_of(&self, h: &Handle, pod: Option<&PodInfo>) -> Option<NodeId> {
        h.snapshot.node_by_name(pod?.node_name.as_ref()?)
    }

    fn helps(&self, h: &Handle, event: &ClusterEvent) -> bool {
        let reads = if h.refused_late { &self.events.late } else { &self.events.early };
        if reads.anything {
            return true;
        }
        // Without prefilters and gates a filter refused the pod; with them it is not known which
        // rule did.
        let statements = &self.compiled.statements;
        let asks_nodes = reads.local
            && !h.refused_late
            && !statements.filters.is_empty()
            && statements.prefilters.is_empty()
            && statements.gates.is_empty()
            && statements.required_lets.is_empty()
            && statements.preempt.is_none();
        match &event.objects {
            EventObjects::Pod { old, new } => {
                let (old, new) = (old.as_deref(), new.as_deref());
                if new.or(old).is_some_and(|pod| pod.key == h.pod.key) {
                    return true;
                }
                let by_groups = !reads.groups.is_empty() && self.helps_by_groups(h, reads, old, new);
                let by_ledgers = || self.helps_by_ledgers(h, &reads.ledgers, event.resource, (old, new));
                if !reads.kinds.intersects(Kinds::OF_PODS) || by_groups {
                    return by_groups || by_ledgers();
                }
                if by_ledgers() {
                    return true;
                }
                match self.node_of(h, new).or_else(|| self.node_of(h, old)) {
                    Some(node) if asks_nodes && event.resource != EventResource::UnschedulablePod => {
                        self.would_pass(h, node)
                    }
                    _ => true,
                }
            }
            EventObjects::Node { new, .. } => {
                let node = new.as_ref().and_then(|node| h.snapshot.node_by_name(&node.name));
                match node {
                    _ if reads.of_ledgers.intersects(Kinds::LIFE) => true,
                    None if reads.kinds.intersects(Kinds::METRICS) => true,
                    _ if !reads.kinds.intersects(Kinds::LIFE) => false,
                    Some(node) if asks_nodes => self.would_pass(h, node),
                    _ => true,
                }
            }
            EventObjects::Namespace { old, new } => {
                let name = new.as_ref().or(old.as_ref()).map(|namespace| &namespace.name);
                reads.of_ledgers.intersects(Kinds::NAMESPACES)
                    || reads.kinds.intersects(Kinds::NAMESPACES)
                        && name.is_none_or(|name| *name == h.pod.namespace)
            }
            EventObjects::Object { new, .. } if event.resource == EventResource::DaemonSet => {
                let named = daemon_set_named_by(h.pod);
                named.zip(new.as_deref()).is_some_and(|(named, set)| named.uid == set.metadata().uid)
            }
            EventObjects::Object { old, new } if is_of_devices(event.resource) => {
                self.helps_by_devices(h, reads, old.as_deref(), new.as_deref())
            }
            EventObjects::Object { old, new } => self.helps_by_object(reads, old.as_deref(), new.as_deref()),
            EventObjects::Moved(numbers) => self.helps_by_moves(h, reads, numbers),
            EventObjects::None => true,
        }
    }
}

fn is_of_devices(resource: EventResource) -> bool {
    matches!(resource, EventResource::ResourceClaim | EventResource::ResourceSlice)
}

impl EnqueueExtensions for PolicyPlugin {
    fn events(&self) -> Vec<EventRegistration> {
        let mut events = self.events.registrations.clone();
        if !self.compiled.policy.to_all_pods {
            // A pod may be seen before its DaemonSet, and is refused until then.
            let actions = ActionType::ADD.with(ActionType::UPDATE);
            events.push(EventRegistration { resource: EventResource::DaemonSet, actions });
        }
        events
    }

    fn hint(&self, h: &Handle, event: &ClusterEvent) -> QueueingHint {
        if self.helps(h, event) { QueueingHint::Queue } else { QueueingHint::Skip }
    }
}
