//! Plugins for tests of the scheduler: each small enough to be obvious, and together at every point where a pod can be
//! refused, wait, fail or be undone.

#![allow(dead_code)]

use bayplan::framework::*;
use bayplan::model::*;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Refuses nodes without the label `priority`, and prefers high values of it (the label plugin of the tutorial).
pub(crate) struct Labelled;

const PRIORITY: &str = "priority.lixueduan.com";

impl Plugin for Labelled {
    fn name(&self) -> &str {
        "Priority"
    }
    fn reads(&self) -> Reads {
        Reads { label_keys: [Symbol::new(PRIORITY)].into(), ..Reads::of(Kinds::LABELS) }
    }
    bayplan::serves!(EnqueueExtensions, Filter, Score);
}

impl EnqueueExtensions for Labelled {
    fn events(&self) -> Vec<EventRegistration> {
        let actions = ActionType::ADD.with(ActionType::UPDATE_NODE_LABEL);
        vec![EventRegistration { resource: EventResource::Node, actions }]
    }
    fn hint(&self, _: &Handle, event: &ClusterEvent) -> QueueingHint {
        match &event.objects {
            EventObjects::Node { new: Some(node), .. }
                if node.labels.get(&Symbol::new(PRIORITY)).is_some() =>
            {
                QueueingHint::Queue
            }
            _ => QueueingHint::Skip,
        }
    }
}

impl Filter for Labelled {
    fn filter(&self, _: &Handle, node: NodeInfo) -> Result<(), Status> {
        match node.label(&Symbol::new(PRIORITY)) {
            Some(_) => Ok(()),
            None => Err(Status::unschedulable(format!(
                "Node:Node: {} does not have label {PRIORITY}",
                node.name()
            ))),
        }
    }
}

impl Score for Labelled {
    fn score(&self, _: &Handle, node: NodeInfo) -> Result<i64, Status> {
        let value = node.label(&Symbol::new(PRIORITY)).and_then(|value| value.parse().ok());
        value.ok_or_else(|| Status::error("the label is no number"))
    }
    fn normalize(&self) -> Normalize {
        Normalize::Max
    }
}

/// Room for pods and CPU, as NodeResourcesFit has it, without its refinements.
pub(crate) struct Fit;

impl Plugin for Fit {
    fn name(&self) -> &str {
        "Fit"
    }
    fn reads(&self) -> Reads {
        Reads::of(Kinds::PODS_REQUESTS.with(Kinds::ALLOCATABLE))
    }
    bayplan::serves!(EnqueueExtensions, Filter);
}

impl EnqueueExtensions for Fit {
    fn events(&self) -> Vec<EventRegistration> {
        let node = ActionType::ADD.with(ActionType::UPDATE_NODE_ALLOCATABLE);
        vec![
            EventRegistration { resource: EventResource::Pod, actions: ActionType::DELETE },
            EventRegistration { resource: EventResource::Node, actions: node },
        ]
    }
    fn hint(&self, _: &Handle, event: &ClusterEvent) -> QueueingHint {
        match (&event.objects, event.resource) {
            (EventObjects::Pod { .. }, EventResource::TargetPod) => QueueingHint::Skip,
            _ => QueueingHint::Queue,
        }
    }
}

impl Filter for Fit {
    fn filter(&self, h: &Handle, node: NodeInfo) -> Result<(), Status> {
        let (has, used, asks) = (node.allocatable(), node.requested(), &h.pod.requests);
        if node.pod_count() as i64 + 1 > has.pods {
            return Err(Status::unschedulable("Too many pods"));
        }
        if asks.milli_cpu > 0 && used.milli_cpu + asks.milli_cpu > has.milli_cpu {
            return Err(Status::unschedulable("Insufficient cpu"));
        }
        Ok(())
    }
}

/// Keeps pods with scheduling gates out of the queue.
pub(crate) struct Gates;

impl Plugin for Gates {
    fn name(&self) -> &str {
        "Gates"
    }
    fn reads(&self) -> Reads {
        Reads::default()
    }
    bayplan::serves!(EnqueueExtensions, PreEnqueue);
}

impl PreEnqueue for Gates {
    fn pre_enqueue(&self, h: &Handle) -> Result<(), Status> {
        match h.pod.scheduling_gates.is_empty() {
            true => Ok(()),
            false => Err(Status::unresolvable("waiting for scheduling gates")),
        }
    }
}

impl EnqueueExtensions for Gates {
    fn events(&self) -> Vec<EventRegistration> {
        let actions = ActionType::UPDATE_POD_SCHEDULING_GATES_ELIMINATED;
        vec![EventRegistration { resource: EventResource::Pod, actions }]
    }
    fn hint(&self, h: &Handle, event: &ClusterEvent) -> QueueingHint {
        match &event.objects {
            EventObjects::Pod { new: Some(pod), .. } if pod.key == h.pod.key => QueueingHint::Queue,
            _ => QueueingHint::Skip,
        }
    }
}

/// Higher priority first.
pub(crate) struct ByPriority;

impl Plugin for ByPriority {
    fn name(&self) -> &str {
        "ByPriority"
    }
    fn reads(&self) -> Reads {
        Reads::default()
    }
    bayplan::serves!(QueueSort);
}

impl QueueSort for ByPriority {
    fn key(&self, pod: &QueuedPodInfo, _: &Snapshot) -> SortKey {
        let falling = !(pod.pod.priority as u32 ^ 0x8000_0000);
        SortKey(falling.to_be_bytes().into_iter().collect())
    }
}

/// Binds pods.
pub(crate) struct Binder;

impl Plugin for Binder {
    fn name(&self) -> &str {
        "DefaultBinder"
    }
    fn reads(&self) -> Reads {
        Reads::default()
    }
    bayplan::serves!(Bind);
}

impl Bind for Binder {
    fn bind(&self, h: &Handle, node: NodeId) -> Result<BindOutcome, Status> {
        let node = h.snapshot.node(node).ok_or_else(|| Status::error("the node is gone"))?;
        Ok(BindOutcome::Send(ApiCall::Bind {
            pod: Object::Pod(h.pod.clone()).key(),
            node: node.name().clone(),
            marks: Default::default(),
        }))
    }
}

/// Pods labelled `gang=NAME` wait until `gang-size` of them have a node; a minute at most.
pub(crate) struct Gang {
    pub name: &'static str,
    pub wait: Duration,
}

impl Default for Gang {
    fn default() -> Self {
        Self { name: "Gang", wait: Duration::from_seconds(60) }
    }
}

fn label<'p>(pod: &'p PodInfo, key: &str) -> Option<&'p Symbol> {
    pod.labels.get(&Symbol::new(key))
}

impl Gang {
    fn placed(&self, snapshot: &Snapshot, gang: &Symbol) -> usize {
        snapshot
            .pods()
            .filter(|entry| entry.placed.is_some() && label(&entry.pod, "gang") == Some(gang))
            .count()
    }

    fn answer(&self, a: &Actor, now: Time) -> PermitOutcome {
        let Some(gang) = label(a.pod, "gang") else { return PermitOutcome::Allow };
        let size = label(a.pod, "gang-size").and_then(|size| size.parse().ok()).unwrap_or(1);
        match self.placed(a.handle().snapshot, gang) >= size {
            true => PermitOutcome::Allow,
            false => PermitOutcome::Wait { until: now + self.wait },
        }
    }
}

impl Plugin for Gang {
    fn name(&self) -> &str {
        self.name
    }
    fn reads(&self) -> Reads {
        Reads { other_pods: true, ..Reads::of(Kinds::PODS_OTHER) }
    }
    bayplan::serves!(EnqueueExtensions, Permit);
}

impl EnqueueExtensions for Gang {
    fn events(&self) -> Vec<EventRegistration> {
        let actions = ActionType::ADD;
        let of = |resource| EventRegistration { resource, actions };
        vec![of(EventResource::Pod), of(EventResource::UnschedulablePod)]
    }
    fn hint(&self, h: &Handle, event: &ClusterEvent) -> QueueingHint {
        match &event.objects {
            EventObjects::Pod { new: Some(pod), .. } if label(pod, "gang") == label(h.pod, "gang") => {
                QueueingHint::Queue
            }
            _ => QueueingHint::Skip,
        }
    }
}

impl Permit for Gang {
    fn permit(&self, a: &mut Actor, _: NodeId) -> Result<PermitOutcome, Status> {
        Ok(self.answer(a, a.now))
    }
    fn reconsider(&self, a: &mut Actor, _: NodeId) -> Result<PermitOutcome, Status> {
        Ok(self.answer(a, a.now))
    }
    /// Who leaves takes the others along.
    fn left(&self, a: &mut Actor) {
        let Some(gang) = label(a.pod, "gang").cloned() else { return };
        let me = a.pod.key.clone();
        let waiting = |entry: &&PodEntry| {
            entry.waiting && entry.pod.key != me && label(&entry.pod, "gang") == Some(&gang)
        };
        let mut others: Vec<PodKey> =
            a.handle().snapshot.pods().filter(waiting).map(|entry| entry.pod.key.clone()).collect();
        others.sort();
        for other in others {
            a.reject(other, Status::unschedulable("the gang broke up"));
        }
    }
}

/// Counts what was reserved and not given back, in the order it happened.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reserved {
    /// How often each pod is reserved.
    pub now: BTreeMap<PodKey, i64>,
    /// `+first pod`, `-second pod`, …
    pub history: Vec<String>,
}

impl Index for Reserved {
    fn feeds(&self) -> Feeds {
        Feeds::NONE
    }
    fn apply(&mut self, _: &Delta<'_>, _: &Snapshot, _: &mut Moves) {}
    fn rebuild(&mut self, _: &Snapshot) {}
    fn fork(&self) -> Box<dyn Index> {
        Box::new(self.clone())
    }
}

/// The key of [`Reserved`].
pub(crate) fn reserved() -> IndexKey {
    IndexKey(Symbol::new("reserved"))
}

/// Writes what is reserved into [`Reserved`]. Two of them show the order of Unreserve.
pub(crate) struct Reserver(pub &'static str);

impl Plugin for Reserver {
    fn name(&self) -> &str {
        self.0
    }
    fn reads(&self) -> Reads {
        Reads::default()
    }
    fn indexes(&self) -> Vec<(IndexKey, Box<dyn Index>)> {
        vec![(reserved(), Box::new(Reserved::default()))]
    }
    fn enqueue_extensions(&self) -> Option<&dyn EnqueueExtensions> {
        None
    }
    bayplan::serves!(Reserve, PostBind);
}

impl Reserver {
    fn write(&self, a: &mut Actor, sign: &str, by: i64) {
        let (pod, text) = (a.pod.key.clone(), format!("{sign}{} {}", self.0, a.pod.name));
        if let Some(reserved) = a.own::<Reserved>(&reserved()) {
            let count = reserved.now.entry(pod.clone()).or_default();
            *count += by;
            if *count == 0 {
                reserved.now.remove(&pod);
            }
            reserved.history.push(text);
        }
    }
}

impl Reserve for Reserver {
    fn reserve(&self, a: &mut Actor, _: NodeId) -> Result<(), Status> {
        self.write(a, "+", 1);
        Ok(())
    }
    fn unreserve(&self, a: &mut Actor, _: NodeId) {
        self.write(a, "-", -1);
    }
}

impl PostBind for Reserver {
    /// What is bound is no longer reserved.
    fn post_bind(&self, a: &mut Actor, _: NodeId) {
        self.write(a, "=", -1);
    }
}

/// A PreBind task that writes nothing, and takes a while.
pub(crate) struct Slow;

#[derive(Clone)]
struct SlowTask(Option<Time>);

impl Plugin for Slow {
    fn name(&self) -> &str {
        "Slow"
    }
    fn reads(&self) -> Reads {
        Reads::default()
    }
    bayplan::serves!(PreBind);
}

impl PreBind for Slow {
    fn pre_flight(&self, h: &Handle, _: NodeId) -> Result<PreFlight, Status> {
        Ok(match label(h.pod, "slow") {
            Some(_) => PreFlight::Run { parallel: false },
            None => PreFlight::Skip,
        })
    }
    fn start(&self, _: &mut Actor, _: NodeId) -> Result<Box<dyn BindTask>, Status> {
        Ok(Box::new(SlowTask(None)))
    }
}

impl BindTask for SlowTask {
    fn poll(&mut self, a: &mut Actor, wake: &Wake) -> Result<TaskPoll, Status> {
        match wake {
            Wake::Start => {
                let until = a.now + Duration::from_seconds(2);
                self.0 = Some(until);
                let _ = a.call(ApiCall::Read(Object::Pod(a.pod.clone()).key()));
                Ok(TaskPoll::Pending { until: Some(until), watch: Vec::new() })
            }
            Wake::Deadline => Ok(TaskPoll::Done),
            _ if self.0.is_some_and(|until| until <= a.now) => Ok(TaskPoll::Done),
            _ => Ok(TaskPoll::Pending { until: self.0, watch: Vec::new() }),
        }
    }
    fn fork(&self) -> Box<dyn BindTask> {
        Box::new(self.clone())
    }
}

/// A framework with each plugin at every point that it answers for.
pub(crate) fn framework(scheduler_name: &str, plugins: Vec<Arc<dyn Plugin>>) -> Arc<Framework> {
    let mut points = Points::default();
    for (at, plugin) in plugins.iter().enumerate() {
        let id = PluginId(at as u16);
        let at_point = |there: bool, list: &mut Vec<PluginId>| {
            if there {
                list.push(id);
            }
        };
        at_point(plugin.pre_enqueue().is_some(), &mut points.pre_enqueue);
        at_point(plugin.queue_sort().is_some(), &mut points.queue_sort);
        at_point(plugin.pre_filter().is_some(), &mut points.pre_filter);
        at_point(plugin.filter().is_some(), &mut points.filter);
        at_point(plugin.post_filter().is_some(), &mut points.post_filter);
        at_point(plugin.pre_score().is_some(), &mut points.pre_score);
        at_point(plugin.reserve().is_some(), &mut points.reserve);
        at_point(plugin.permit().is_some(), &mut points.permit);
        at_point(plugin.pre_bind().is_some(), &mut points.pre_bind);
        at_point(plugin.bind().is_some(), &mut points.bind);
        at_point(plugin.post_bind().is_some(), &mut points.post_bind);
        if plugin.score().is_some() {
            points.score.push(ScorePlugin { plugin: id, weight: 1 });
        }
    }
    Arc::new(Framework::new(Symbol::new(scheduler_name), plugins, points))
}

/// The plugins that every profile of the tests has.
pub(crate) fn basics() -> Vec<Arc<dyn Plugin>> {
    vec![Arc::new(ByPriority), Arc::new(Gates), Arc::new(Fit), Arc::new(Binder)]
}

/// Wants the column of the node label that the pod names in its label `reads`.
pub(crate) struct Reader;

impl Plugin for Reader {
    fn name(&self) -> &str {
        "Reader"
    }
    fn reads(&self) -> Reads {
        Reads::default()
    }
    fn wants(&self, pod: &PodInfo, _: &Snapshot, out: &mut Vec<Want>) {
        out.extend(label(pod, "reads").cloned().map(Want::Label));
    }
    fn enqueue_extensions(&self) -> Option<&dyn EnqueueExtensions> {
        None
    }
}

/// Counts the pods with the label `explosive`. It panics while it applies one, and while it is rebuilt with two.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Explosive(pub usize);

impl Explosive {
    pub(crate) fn key() -> IndexKey {
        IndexKey(Symbol::new("explosive"))
    }
}

impl Index for Explosive {
    fn feeds(&self) -> Feeds {
        Feeds::POD_PENDING.with(Feeds::POD_PLACED).with(Feeds::POD_REMOVED)
    }
    fn apply(&mut self, delta: &Delta<'_>, _: &Snapshot, _: &mut Moves) {
        match delta.change {
            Change::PodPending { pod } | Change::PodPlaced { pod, .. } => {
                assert!(label(pod, "explosive").is_none(), "an index panics on purpose");
            }
            Change::PodRemoved { .. } => {
                let before = delta.pod_before.as_ref();
                self.0 -= usize::from(before.is_some_and(|(pod, _)| label(pod, "explosive").is_some()));
            }
            _ => {}
        }
    }
    fn rebuild(&mut self, snapshot: &Snapshot) {
        self.0 = snapshot.pods().filter(|entry| label(&entry.pod, "explosive").is_some()).count();
        assert!(self.0 < 2, "an index panics on purpose while it is rebuilt");
    }
    fn fork(&self) -> Box<dyn Index> {
        Box::new(self.clone())
    }
}

/// Has the index [`Explosive`], and refuses no node.
pub(crate) struct Fragile;

impl Plugin for Fragile {
    fn name(&self) -> &str {
        "Fragile"
    }
    fn reads(&self) -> Reads {
        Reads::of(Kinds::PODS_OTHER)
    }
    fn indexes(&self) -> Vec<(IndexKey, Box<dyn Index>)> {
        vec![(Explosive::key(), Box::new(Explosive::default()))]
    }
    fn enqueue_extensions(&self) -> Option<&dyn EnqueueExtensions> {
        None
    }
    bayplan::serves!(Filter);
}

impl Filter for Fragile {
    fn filter(&self, _: &Handle, _: NodeInfo) -> Result<(), Status> {
        Ok(())
    }
}
