//! [`Trial`]: one plugin on a small cluster, for the tests in the files of the plugins.

use super::IN_TREE;
use bayplan_framework::{
    ApiCall, ClusterEvent, Cycle, Edit, EventRegistration, Feasible, Features, Framework, Make, Plugin,
    PluginId, Points, QueueingHint, Scale, ScorePlugin, Silent, Simulation, Status, Tree, Verdicts,
    Violation,
};
use bayplan_model::{
    Change, KindRow, KubernetesVersion, NodeId, NodeInfo, NodeSet, Object, Placement, PodInfo, Snapshot,
    Symbol, Time,
};
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;

/// One plugin with its default arguments, at every extension point, on a cluster.
pub(super) struct Trial {
    framework: Arc<Framework>,
    snapshot: Snapshot,
}

impl Trial {
    /// The in-tree plugin of this name. Pods among the objects are on the nodes that they name.
    pub(super) fn of(name: &str, objects: Vec<Object>) -> Self {
        Self::in_version(KubernetesVersion::default(), name, objects)
    }

    /// The in-tree plugin of this name as a version of Kubernetes has it.
    pub(super) fn in_version(version: KubernetesVersion, name: &str, objects: Vec<Object>) -> Self {
        let features = Features::of(version);
        let row = IN_TREE.iter().find(|row| row.name == name).unwrap();
        let Make::Built(new) = row.make else { panic!("{name} is not built") };
        let Ok(plugin) = new(&Tree::default(), features) else { panic!("{name} needs arguments") };
        let mut trial = Self::with(plugin, objects);
        trial.snapshot.decide_by(features.rows());
        trial
    }

    /// A trial of a plugin that is made already.
    pub(super) fn with(plugin: Arc<dyn Plugin>, objects: Vec<Object>) -> Self {
        let id = PluginId(0);
        let points = Points {
            pre_enqueue: vec![id],
            pre_filter: vec![id],
            filter: vec![id],
            pre_score: vec![id],
            score: vec![ScorePlugin { plugin: id, weight: 1 }],
            bind: vec![id],
            post_filter: vec![id],
            ..Points::default()
        };
        let mut snapshot = Snapshot::default();
        for (key, index) in plugin.indexes() {
            snapshot.add_index(key, index);
        }
        for object in objects {
            match object {
                Object::Node(node) => snapshot.apply(Change::NodeUpserted { node }),
                Object::Pod(pod) => {
                    let node = snapshot.row_by_name(pod.node_name.as_ref().unwrap()).unwrap();
                    snapshot.apply(Change::PodPlaced { pod, node, how: Placement::Bound });
                }
                Object::Namespace(namespace) => snapshot.apply(Change::NamespaceUpserted { namespace }),
                Object::Other(object) => snapshot.apply(Change::ObjectSeen { object }),
            }
        }
        let framework = Framework::new(Symbol::new("default-scheduler"), vec![plugin], points);
        Self { framework: Arc::new(framework), snapshot }
    }

    /// The cluster, to be changed.
    pub(super) fn snapshot_mut(&mut self) -> &mut Snapshot {
        &mut self.snapshot
    }

    fn cycle(&self, pod: &Arc<PodInfo>) -> Cycle {
        Cycle::new(pod.clone(), self.framework.clone(), Time(0))
    }

    fn name(&self, node: NodeId) -> String {
        self.snapshot.node(node).unwrap().name().to_string()
    }

    /// PreFilter and Filter: code and message for each node that is refused; `*` for all of them. The form for ranges
    /// must agree.
    pub(super) fn refused(&self, pod: &Arc<PodInfo>) -> BTreeMap<String, String> {
        let text = |status: &Status| format!("{}: {}", status.code.name(), status.message());
        let mut cycle = self.cycle(pod);
        let left = match self.framework.run_pre_filter(&mut cycle, &self.snapshot, &mut Silent) {
            Ok(left) => left,
            Err(status) => return BTreeMap::from([(String::from("*"), text(&status))]),
        };
        let mut nodes = self.snapshot.columns().alive().clone();
        let mut refused = BTreeMap::new();
        if let Some(left) = left {
            let mut others = nodes.clone();
            others.subtract(&left);
            refused
                .extend(others.iter().map(|node| (self.name(node), String::from("left out by PreFilter"))));
            nodes.intersect(&left);
        }
        let handle = cycle.handle(&self.snapshot).for_plugin(PluginId(0));
        let by_node = nodes.iter().filter_map(|node| {
            let status = self.framework.filter_node(handle, self.snapshot.node(node).unwrap()).err()?;
            Some((self.name(node), text(&status)))
        });
        let by_node: BTreeMap<String, String> = by_node.collect();
        let filters = self.framework.filters(&cycle.state).collect::<Vec<_>>();
        if let Some(filter) = filters.first().and_then(|id| self.framework.plugin(*id)?.filter()) {
            let mut verdicts = Verdicts::default();
            filter.filter_range(&handle, &nodes, &mut verdicts);
            let wrapped = |status: &Status| match status.is_rejected() {
                true => status.clone(),
                false => self.framework.filter_error(status.clone().by(PluginId(0))),
            };
            let statuses: Vec<Status> = verdicts.statuses().iter().map(wrapped).collect();
            let by_range =
                verdicts.refused().map(|(node, status)| (self.name(node), text(&statuses[status as usize])));
            assert_eq!(by_range.collect::<BTreeMap<_, _>>(), by_node);
        }
        refused.extend(by_node);
        refused
    }

    /// PreScore, Score and NormalizeScore on all nodes; empty when PreScore skips.
    pub(super) fn scores(&self, pod: &Arc<PodInfo>) -> BTreeMap<String, i64> {
        let mut cycle = self.cycle(pod);
        let _ = self.framework.run_pre_filter(&mut cycle, &self.snapshot, &mut Silent);
        let nodes: NodeSet = self.snapshot.columns().alive().clone();
        let feasible = Feasible { nodes };
        self.framework.run_pre_score(&mut cycle, &self.snapshot, &feasible).unwrap();
        let handle = cycle.handle(&self.snapshot).for_plugin(PluginId(0));
        let Some((_, scorer)) = self.framework.scorers(&cycle.state).next() else { return BTreeMap::new() };
        let raw = self.snapshot.nodes().map(|node| (node.id(), scorer.score(&handle, node).unwrap()));
        let raw: Vec<(NodeId, i64)> = raw.collect();
        let counted = || raw.iter().map(|of| of.1).filter(|score| scorer.normalize().counts(*score));
        let (low, high) = (counted().min().unwrap_or(0), counted().max().unwrap_or(0));
        let scale = Scale::of(scorer.normalize(), low, high);
        raw.into_iter().map(|(node, raw)| (self.name(node), scale.apply(raw))).collect()
    }

    /// PreFilter, then `what` with a simulation on a node.
    pub(super) fn simulated<T>(
        &self,
        pod: &Arc<PodInfo>,
        node: &str,
        what: impl FnOnce(&mut Simulation) -> T,
    ) -> T {
        let mut cycle = self.cycle(pod);
        self.framework.run_pre_filter(&mut cycle, &self.snapshot, &mut Silent).unwrap();
        let handle = cycle.handle(&self.snapshot).for_plugin(PluginId(0));
        what(&mut Simulation::new(&*self.framework, handle, self.node(node)))
    }

    /// What keeps the pod off a node.
    pub(super) fn violations(&self, pod: &Arc<PodInfo>, node: &str) -> Vec<Violation> {
        let mut cycle = self.cycle(pod);
        self.framework.run_pre_filter(&mut cycle, &self.snapshot, &mut Silent).unwrap();
        let handle = cycle.handle(&self.snapshot).for_plugin(PluginId(0));
        let mut found = Vec::new();
        if let Some(filter) = self.framework.plugin(PluginId(0)).and_then(|plugin| plugin.filter()) {
            filter.violations(&handle, self.node(node), &mut found);
        }
        found
    }

    /// The edits that may help on a node.
    pub(super) fn remedies(&self, pod: &Arc<PodInfo>, node: &str) -> Vec<Edit> {
        let cycle = self.cycle(pod);
        let handle = cycle.handle(&self.snapshot).for_plugin(PluginId(0));
        self.framework.plugin(PluginId(0)).unwrap().remedies(&handle, Some(self.node(node)))
    }

    fn node(&self, name: &str) -> NodeInfo<'_> {
        self.snapshot.node(self.snapshot.node_by_name(&Symbol::new(name)).unwrap()).unwrap()
    }

    /// Whether the plugin takes an event of the kind and hints that it may help the pod.
    pub(super) fn helps(&self, pod: &Arc<PodInfo>, event: &ClusterEvent) -> bool {
        let cycle = self.cycle(pod);
        let handle = cycle.handle(&self.snapshot).for_plugin(PluginId(0));
        let extensions =
            self.framework.plugin(PluginId(0)).and_then(|plugin| plugin.enqueue_extensions()).unwrap();
        let takes =
            |to: &EventRegistration| to.resource.takes(event.resource) && to.actions.intersects(event.action);
        extensions.events().iter().any(takes) && extensions.hint(&handle, event) == QueueingHint::Queue
    }

    /// What keeps the pod off a node, in words.
    pub(super) fn violation_texts(&self, pod: &Arc<PodInfo>, node: &str) -> Vec<String> {
        let mut cycle = self.cycle(pod);
        let _ = self.framework.run_pre_filter(&mut cycle, &self.snapshot, &mut Silent);
        let handle = cycle.handle(&self.snapshot).for_plugin(PluginId(0));
        let node =
            self.snapshot.node_by_name(&Symbol::new(node)).and_then(|id| self.snapshot.node(id)).unwrap();
        let mut found = Vec::new();
        let filter = self.framework.plugin(PluginId(0)).and_then(|plugin| plugin.filter()).unwrap();
        filter.violations(&handle, node, &mut found);
        assert_eq!(found.is_empty(), filter.filter(&handle, node).is_ok());
        found.into_iter().map(|of| format!("{}: needs {}, has {}", of.what, of.need, of.have)).collect()
    }

    /// The cluster, to change it.
    pub(super) fn snapshot(&mut self) -> &mut Snapshot {
        &mut self.snapshot
    }

    /// PreEnqueue: the message of a refusal.
    pub(super) fn gate(&self, pod: &Arc<PodInfo>) -> Option<String> {
        let cycle = self.cycle(pod);
        self.framework.run_pre_enqueue(cycle.handle(&self.snapshot)).err().map(|status| status.message())
    }

    /// PostFilter after Filter on all nodes: the calls that it waits for, in short, and its text.
    pub(super) fn post_filtered(&self, pod: &Arc<PodInfo>) -> (Vec<String>, String) {
        let mut cycle = self.cycle(pod);
        if self.framework.run_pre_filter(&mut cycle, &self.snapshot, &mut Silent).is_ok() {
            for node in self.snapshot.nodes() {
                let handle = cycle.handle(&self.snapshot).for_plugin(PluginId(0));
                if let Err(status) = self.framework.filter_node(handle, node) {
                    cycle.diagnosis.nodes.set(node.id(), &status);
                }
            }
        }
        let mut answer = self.framework.run_post_filter(&cycle, &self.snapshot);
        let mut calls = Vec::new();
        while let Some(wait) = &mut answer.waits {
            let call = wait.call().unwrap().call.clone();
            calls.push(format!("{} {}", short(&call), call.object().name));
            if wait.answered(Ok(bayplan_framework::Answer::Done)) {
                answer = self.framework.resume_post_filter(&cycle, &self.snapshot, answer);
            }
        }
        (calls, answer.message)
    }

    /// Bind: the call for this node.
    pub(super) fn bind(&self, pod: &Arc<PodInfo>, node: &str) -> ApiCall {
        let node = self.snapshot.node_by_name(&Symbol::new(node)).unwrap();
        self.framework.run_bind(&self.cycle(pod), &self.snapshot, node).unwrap().1
    }
}

/// What a call does, in a word.
fn short(call: &ApiCall) -> &'static str {
    match call {
        ApiCall::Patch { .. } => "patch",
        ApiCall::Delete { .. } => "delete",
        _ => "other",
    }
}

/// An object of a kind of the table, from its JSON.
pub(super) fn object(value: Value) -> Object {
    let text = |key: &str| value[key].as_str().unwrap().to_owned();
    let row = KindRow::named(&text("apiVersion"), &text("kind")).unwrap();
    (row.from_value)(Arc::new(value)).unwrap()
}

/// What [`Trial::refused`] and [`Trial::scores`] return, written shortly.
pub(super) fn map<V, W: From<V>>(of: impl IntoIterator<Item = (&'static str, V)>) -> BTreeMap<String, W> {
    of.into_iter().map(|(name, value)| (name.to_owned(), value.into())).collect()
}
