//! Refuses nodes without room for the pod's requests, and scores them by how much of them is or stays free.
//!
//! Source: `pkg/scheduler/framework/plugins/noderesources/fit.go`, `least_allocated.go`, `most_allocated.go`,
//! `requested_to_capacity_ratio.go`.

use super::resource_allocation::{self as allocation, Amounts, OfClasses, Weighted, percent, quotient};
use crate::shape::{on_line, read_shape};
use bayplan_devices::DeviceSelectors;
use bayplan_framework::{
    ActionType, ArgsError, ClusterEvent, Code, Edit, EnqueueExtensions, EventRegistration, EventResource,
    Feasible, Features, Field, Fields, Filter, Gate, Handle, Plugin, PreFilter, PreFilterOutcome, PreScore,
    PreScoreOutcome, QueueingHint, Reads, Score, Shortage, StateSlot, Status, Tree, Verdicts, Violation,
};
use bayplan_model::{
    CLASS_RESOURCE, DeviceClass, DeviceIndex, Kinds, Node, NodeId, NodeInfo, NodeSet, PodInfo, Resource,
    Snapshot, Symbol, amount_beside, bits, block, blocks_mut, is_extended, key_problem, pack, rounded_down,
};
use std::sync::Arc;

const TOO_MANY_PODS: &str = "Too many pods";

/// How a node is scored by one resource.
#[derive(Clone, PartialEq, Debug)]
enum Strategy {
    /// The more is left free the better.
    LeastAllocated,
    /// The more is used the better.
    MostAllocated,
    /// By a broken line over utilization (0 to 100), scores 0 to 100.
    RequestedToCapacityRatio(Vec<(i64, i64)>),
}

#[derive(Clone, Debug)]
struct NodeResourcesFit {
    ignored: Vec<Symbol>,
    ignored_groups: Vec<String>,
    strategy: Strategy,
    resources: Vec<Weighted>,
    /// Whether classes of devices may stand for extended resources.
    extends: bool,
    /// Of classes of devices that may stand for some of the resources that are scored.
    selectors: Option<Arc<DeviceSelectors>>,
}

pub(super) fn new(args: &Tree, features: Features) -> Result<Arc<dyn Plugin>, Vec<ArgsError>> {
    let mut errors = Vec::new();
    let mut plugin = NodeResourcesFit::read(args, &mut errors);
    plugin.extends = features.on(Gate::DRAExtendedResource);
    plugin.selectors = allocation::selectors(&plugin.resources, features);
    if errors.is_empty() { Ok(Arc::new(plugin)) } else { Err(errors) }
}

impl NodeResourcesFit {
    fn read(args: &Tree, errors: &mut Vec<ArgsError>) -> Self {
        let known = ["apiVersion", "kind", "ignoredResources", "ignoredResourceGroups", "scoringStrategy"];
        let fields = Field::root(args).object(&known, errors);
        let mut plugin = Self {
            ignored: Vec::new(),
            ignored_groups: Vec::new(),
            strategy: Strategy::LeastAllocated,
            resources: allocation::cpu_and_memory(),
            extends: false,
            selectors: None,
        };
        for name in fields.get("ignoredResources").map(|list| list.list(errors)).unwrap_or_default() {
            let Some(text) = name.string(errors) else { continue };
            match key_problem(text) {
                Some(problem) => errors.push(name.error(problem)),
                None => plugin.ignored.push(Symbol::new(text)),
            }
        }
        for name in fields.get("ignoredResourceGroups").map(|list| list.list(errors)).unwrap_or_default() {
            let Some(text) = name.string(errors) else { continue };
            if text.contains('/') {
                errors.push(name.error("resource group name can't contain '/'"));
            } else if let Some(problem) = key_problem(text) {
                errors.push(name.error(problem));
            } else {
                plugin.ignored_groups.push(text.to_owned());
            }
        }
        if let Some(strategy) = fields.get("scoringStrategy") {
            let known = ["type", "resources", "requestedToCapacityRatio"];
            plugin.read_strategy(&strategy.object(&known, errors), errors);
        }
        plugin
    }

    fn read_strategy(&mut self, fields: &Fields, errors: &mut Vec<ArgsError>) {
        let weight = |field: &Field, weight: i64| {
            let text = format!("resource weight of {weight} not in valid range (0, 100]");
            (!(1..=100).contains(&weight)).then(|| field.error(text))
        };
        if let Some(resources) = allocation::read(fields.get("resources"), weight, errors) {
            self.resources = resources;
        }
        let ratio = fields.get("requestedToCapacityRatio");
        let kind = fields.get("type").and_then(|kind| kind.string(errors)).unwrap_or("LeastAllocated");
        self.strategy = match kind {
            "LeastAllocated" => Strategy::LeastAllocated,
            "MostAllocated" => Strategy::MostAllocated,
            "RequestedToCapacityRatio" => {
                let Some(ratio) = &ratio else {
                    let place = fields.place("requestedToCapacityRatio");
                    let text = "requestedToCapacityRatio is required for scoringStrategy type \
                                RequestedToCapacityRatio";
                    errors.push(place.error(text));
                    return;
                };
                let ratio = ratio.object(&["shape"], errors);
                Strategy::RequestedToCapacityRatio(read_shape(&ratio.place("shape"), errors))
            }
            other => {
                let names = "`LeastAllocated`, `MostAllocated`, `RequestedToCapacityRatio`";
                let error = fields.place("type").error(format!("unsupported value `{other}`"));
                errors.push(error.with_help(format!("write one of {names}")));
                return;
            }
        };
        if let (Some(ratio), false) = (ratio, matches!(self.strategy, Strategy::RequestedToCapacityRatio(_)))
        {
            let text = format!("requestedToCapacityRatio is forbidden for scoringStrategy type {kind}");
            errors.push(ratio.error(text));
        }
    }

    /// Whether a scalar resource is left to others.
    fn ignores(&self, name: &Symbol) -> bool {
        if self.ignored.is_empty() && self.ignored_groups.is_empty() || !is_extended(name) {
            return false;
        }
        let group = name.split('/').next().unwrap_or_default();
        self.ignored.contains(name) || self.ignored_groups.iter().any(|ignored| ignored == group)
    }

    /// The classes of devices that stand for resources: a node that has nothing of such a resource is left to
    /// DynamicResources.
    fn classes<'s>(&self, snapshot: &'s Snapshot) -> Classes<'s> {
        let index = snapshot.try_index::<DeviceIndex>(&DeviceIndex::key()).ok();
        Classes(index.filter(|_| self.extends))
    }

    /// The score of one resource; `used` counts the pod.
    fn score_of(&self, used: i64, capacity: i64) -> i64 {
        match &self.strategy {
            Strategy::LeastAllocated if used > capacity => 0,
            Strategy::LeastAllocated => percent(capacity - used, capacity),
            Strategy::MostAllocated => percent(used.min(capacity), capacity),
            Strategy::RequestedToCapacityRatio(shape) if used > capacity => on_line(shape, 100),
            Strategy::RequestedToCapacityRatio(shape) => on_line(shape, percent(used, capacity)),
        }
    }

    /// The score of a node: `parts` are capacity, use with the pod, and weight of each resource that counts.
    fn score_parts(&self, parts: impl Iterator<Item = (i64, i64, i64)>) -> i64 {
        let (mut sum, mut weights) = (0i64, 0i64);
        let by_ratio = matches!(self.strategy, Strategy::RequestedToCapacityRatio(_));
        for (capacity, used, weight) in parts {
            let score = self.score_of(used, capacity);
            if !by_ratio || score > 0 {
                sum += score * weight;
                weights += weight;
            }
        }
        match weights {
            0 => 0,
            weights if by_ratio => (sum as f64 / weights as f64).round() as i64,
            weights => quotient(sum, weights),
        }
    }
}

/// The classes of devices that stand for resources, where there are any.
#[derive(Clone, Copy)]
struct Classes<'s>(Option<&'s DeviceIndex>);

impl Classes<'_> {
    /// Whether a class stands for the resource.
    fn stands_for(self, resource: &Symbol) -> bool {
        self.0.is_some_and(|index| index.class_of_resource(resource).is_some())
    }

    /// Whether the resource of a node is left to DynamicResources.
    fn serves(self, resource: &Symbol, allocatable: &Resource) -> bool {
        allocatable.scalar(resource) <= 0 && self.stands_for(resource)
    }
}

/// A resource that a node lacks for a pod.
struct Lack<'r> {
    /// `None`: a place for a pod.
    resource: Option<&'r str>,
    requested: i64,
    allocatable: i64,
    used: i64,
}

impl Lack<'_> {
    fn reason(&self) -> String {
        match self.resource {
            None => TOO_MANY_PODS.to_owned(),
            Some(name) => format!("Insufficient {name}"),
        }
    }

    /// Whether no eviction would help.
    fn hopeless(&self) -> bool {
        self.resource.is_some() && self.requested > self.allocatable
    }
}

/// Calls `found` for everything that a node lacks; `requested` and `pods` are what is on it.
fn shortages<'r>(
    request: &'r Resource,
    allocatable: &Resource,
    requested: &Resource,
    pods: usize,
    ignores: impl Fn(&Symbol) -> bool,
    mut found: impl FnMut(Lack<'r>),
) {
    let pods = pods as i64;
    if pods + 1 > allocatable.pods {
        found(Lack { resource: None, requested: 1, allocatable: allocatable.pods, used: pods });
    }
    let mut check = |resource: &'r str, wanted: i64, allocatable: i64, used: i64| {
        if wanted > 0 && wanted > allocatable.saturating_sub(used) {
            found(Lack { resource: Some(resource), requested: wanted, allocatable, used });
        }
    };
    check("cpu", request.milli_cpu, allocatable.milli_cpu, requested.milli_cpu);
    check("memory", request.memory, allocatable.memory, requested.memory);
    check(
        "ephemeral-storage",
        request.ephemeral_storage,
        allocatable.ephemeral_storage,
        requested.ephemeral_storage,
    );
    for (name, wanted) in request.scalars.iter().filter(|(name, _)| !ignores(name)) {
        check(name, *wanted, allocatable.scalar(name), requested.scalar(name));
    }
}

impl NodeResourcesFit {
    fn shortages<'r>(&self, h: &Handle<'r>, node: NodeInfo, found: impl FnMut(Lack<'r>)) {
        let (allocatable, requested) = (node.allocatable(), node.requested());
        let classes = self.classes(h.snapshot);
        let ignores = |name: &Symbol| self.ignores(name) || classes.serves(name, allocatable);
        shortages(&h.pod.requests, allocatable, requested, node.pod_count(), ignores, found);
    }
}

impl Plugin for NodeResourcesFit {
    fn name(&self) -> &str {
        "NodeResourcesFit"
    }
    fn reads(&self) -> Reads {
        let kinds = Kinds::PODS_REQUESTS.with(Kinds::ALLOCATABLE);
        match (&self.selectors, self.extends) {
            // Slices may choose nodes by labels.
            (Some(_), _) => {
                Reads { any_label: true, ..Reads::of(kinds.with(Kinds::DEVICES).with(Kinds::LABELS)) }
            }
            (None, true) => Reads::of(kinds.with(Kinds::DEVICES)),
            (None, false) => Reads::of(kinds),
        }
    }
    bayplan_framework::serves!(PreFilter, Filter, PreScore, Score, EnqueueExtensions);
    fn remedies(&self, h: &Handle, node: Option<NodeInfo>) -> Vec<Edit> {
        let Some(node) = node else { return Vec::new() };
        let mut edits = vec![Edit::PodsEnd];
        self.shortages(h, node, |lack| {
            let free = lack.allocatable.saturating_sub(lack.used);
            if let Some(resource) = lack.resource.filter(|_| free > 0) {
                edits.push(Edit::Request {
                    resource: Symbol::new(resource),
                    amount: rounded_down(resource, free),
                });
            }
        });
        edits
    }
}

impl PreFilter for NodeResourcesFit {
    fn pre_filter(&self, h: &Handle, _: &mut StateSlot) -> Result<PreFilterOutcome, Status> {
        match &h.pod.unreadable {
            None => Ok(PreFilterOutcome::AllNodes),
            Some(problem) => {
                Err(Status::unresolvable(format!("it cannot be read what the pod requests: {problem}")))
            }
        }
    }
}

impl Filter for NodeResourcesFit {
    fn filter(&self, h: &Handle, node: NodeInfo) -> Result<(), Status> {
        let mut reasons: Vec<String> = Vec::new();
        let mut code = Code::Unschedulable;
        self.shortages(h, node, |shortage| {
            if shortage.hopeless() {
                code = Code::UnschedulableAndUnresolvable;
            }
            reasons.push(shortage.reason());
        });
        if reasons.is_empty() {
            return Ok(());
        }
        Err(Status::with_reasons(code, reasons.iter().map(String::as_str)))
    }

    fn filter_range(&self, h: &Handle, nodes: &NodeSet, out: &mut Verdicts) {
        let columns = h.snapshot.columns();
        let request = &h.pod.requests;
        let classes = self.classes(h.snapshot);
        if request.scalars.iter().any(|(name, _)| classes.stands_for(name)) {
            // What counts differs from node to node.
            return super::filter_each(self, h, nodes, out);
        }
        let mut wanted: Vec<(i64, &[i64], &[i64])> = Vec::with_capacity(8);
        // The pod itself takes one place.
        let pods = columns.resource(&Symbol::new("pods"));
        let native = [
            ("cpu", request.milli_cpu),
            ("memory", request.memory),
            ("ephemeral-storage", request.ephemeral_storage),
        ];
        let native = native.map(|(name, amount)| (Symbol::new(name), amount));
        let scalars = request.scalars.iter().filter(|(name, _)| !self.ignores(name));
        for (name, amount) in native.iter().chain(scalars).filter(|(_, amount)| *amount > 0) {
            match columns.resource(name) {
                Some(column) => wanted.push((*amount, &column.allocatable, &column.requested)),
                // No node has any of it.
                None => wanted.push((*amount, &[], &[])),
            }
        }
        if let Some(pods) = pods {
            wanted.push((1, &pods.allocatable, &pods.requested));
        }
        // Which resources are short, and which hopeless, with the status that says so; few differ.
        let mut statuses: Vec<(u64, u64, u32)> = Vec::new();
        for (at, word) in nodes.words().iter().enumerate().filter(|(_, word)| **word != 0) {
            for bit in bits(short_rows(at, &wanted) & word) {
                let row = at * 64 + bit;
                let (mut short, mut hopeless) = (0u64, 0u64);
                for (bit, (amount, allocatable, requested)) in wanted.iter().enumerate() {
                    let has = allocatable.get(row).copied().unwrap_or(0);
                    let used = requested.get(row).copied().unwrap_or(0);
                    short |= u64::from(*amount > has.saturating_sub(used)) << (bit % 64);
                    hopeless |= u64::from(*amount > has) << (bit % 64);
                }
                let id = NodeId::from_row(row);
                let known = statuses.iter().find(|(s, h, _)| (*s, *h) == (short, hopeless));
                let number = match known {
                    Some((_, _, number)) => Some(*number),
                    None => h.snapshot.node(id).and_then(|node| {
                        let status = out.status(Filter::filter(self, h, node).err()?);
                        statuses.push((short, hopeless, status));
                        Some(status)
                    }),
                };
                if let Some(number) = number {
                    out.refuse(id, number);
                }
            }
        }
    }

    fn violations(&self, h: &Handle, node: NodeInfo, out: &mut Vec<Violation>) {
        self.shortages(h, node, |lack| {
            let Lack { resource, requested, allocatable, used } = lack;
            let name = resource.unwrap_or("pods");
            let free = allocatable.saturating_sub(used).max(0);
            let shown = rounded_down(name, free);
            out.push(Violation {
                reason: lack.reason(),
                what: name.to_owned(),
                need: amount_beside(name, requested, free),
                have: format!(
                    "{} free of {}",
                    amount_beside(name, shown, requested),
                    amount_beside(name, allocatable, requested)
                ),
                shortage: Some(Shortage {
                    resource: Symbol::new(name),
                    needed: requested,
                    free,
                    allocatable,
                }),
                ..Violation::default()
            });
        });
    }
}

/// The rows of a word where some resource is short.
fn short_rows(word: usize, wanted: &[(i64, &[i64], &[i64])]) -> u64 {
    let mut short = [0u8; 64];
    for (amount, allocatable, requested) in wanted {
        let (Some(allocatable), Some(requested)) = (block(allocatable, word), block(requested, word)) else {
            return u64::MAX;
        };
        let all = allocatable.iter().zip(requested).fold(*amount, |all, (has, used)| all | has | used);
        let rows = short.iter_mut().zip(allocatable.iter().zip(requested));
        if all >> 62 == 0 {
            // The highest bit of what would be left says whether it is below 0.
            rows.for_each(|(short, (has, used))| *short |= ((has - used - amount) as u64 >> 63) as u8);
        } else {
            rows.for_each(|(short, (has, used))| *short |= u8::from(*amount > has.saturating_sub(*used)));
        }
    }
    pack(&short)
}

impl PreScore for NodeResourcesFit {
    fn pre_score(&self, _: &Handle, _: &Feasible, _: &mut StateSlot) -> Result<PreScoreOutcome, Status> {
        Ok(PreScoreOutcome::Score)
    }
}

impl NodeResourcesFit {
    /// The devices that count for the score.
    fn devices<'a>(&'a self, h: &Handle<'a>) -> Option<OfClasses<'a>> {
        OfClasses::of(h, &self.resources, self.selectors.as_ref())
    }

    fn score_on(&self, h: &Handle, node: NodeInfo, devices: Option<&OfClasses>) -> i64 {
        self.score_parts(self.resources.iter().filter_map(|Weighted { name, weight }| {
            let of_pod = Amounts::NonZero.of_pod(h.pod, name);
            let (capacity, used) = Amounts::NonZero.of_node(node, name, of_pod, devices)?;
            Some((capacity, used.saturating_add(of_pod), *weight))
        }))
    }
}

impl Score for NodeResourcesFit {
    fn score(&self, h: &Handle, node: NodeInfo) -> Result<i64, Status> {
        Ok(self.score_on(h, node, self.devices(h).as_ref()))
    }

    fn score_range(&self, h: &Handle, nodes: &NodeSet, out: &mut [i64]) -> Result<(), Status> {
        if let Some(devices) = self.devices(h) {
            allocation::score_each(h, nodes, out, |node| self.score_on(h, node, Some(&devices)));
            return Ok(());
        }
        let columns = allocation::columns(h, Amounts::NonZero, &self.resources);
        let least = self.strategy == Strategy::LeastAllocated;
        for (word, rows, out) in blocks_mut(nodes, out) {
            if let Some(blocks) = least.then(|| allocation::blocks(&columns, word)).flatten() {
                least_allocated(&blocks, out);
                continue;
            }
            for bit in bits(rows) {
                let row = word * 64 + bit;
                let parts = columns.iter().filter_map(|column| {
                    let capacity = *column.allocatable.get(row)?;
                    let used = column.requested.get(row)?.saturating_add(column.of_pod);
                    (capacity != 0).then_some((capacity, used, column.weight))
                });
                out[bit] = self.score_parts(parts);
            }
        }
        Ok(())
    }
}

/// `LeastAllocated` of 64 nodes, as [`NodeResourcesFit::score_parts`] has it of one. Every number here is whole and
/// far below 2^53 but the quotients, which are the same as there.
fn least_allocated(blocks: &[allocation::Block<'_>], out: &mut [i64; 64]) {
    let (mut sums, mut weights) = ([0.0; 64], [0.0; 64]);
    for of in blocks {
        let weight = of.weight as f64;
        for row in 0..64 {
            let capacity = allocation::float(of.allocatable[row]);
            let free = capacity - allocation::float(of.requested[row] + of.of_pod);
            let score = allocation::floor(free * 100.0 / capacity);
            let counts = capacity > 0.0;
            sums[row] += if counts & (free > 0.0) { score * weight } else { 0.0 };
            weights[row] += if counts { weight } else { 0.0 };
        }
    }
    for row in 0..64 {
        let score = allocation::floor(sums[row] / weights[row]);
        out[row] = allocation::whole(if weights[row] > 0.0 { score } else { 0.0 });
    }
}

impl EnqueueExtensions for NodeResourcesFit {
    fn events(&self) -> Vec<EventRegistration> {
        let mut events = vec![
            super::pods(ActionType::DELETE.with(ActionType::UPDATE_POD_SCALE_DOWN)),
            super::nodes(ActionType::ADD.with(ActionType::UPDATE_NODE_ALLOCATABLE)),
        ];
        if self.extends {
            let (resource, actions) = (EventResource::DeviceClass, ActionType::ADD.with(ActionType::UPDATE));
            events.push(EventRegistration { resource, actions });
        }
        events
    }

    fn hint(&self, h: &Handle, event: &ClusterEvent) -> QueueingHint {
        if event.resource == EventResource::DeviceClass {
            let (old, new) = super::object_change::<DeviceClass>(event);
            let helps = new.is_none_or(|new| class_helps(h.pod, old, new));
            return if helps { QueueingHint::Queue } else { QueueingHint::Skip };
        }
        let classes = self.classes(h.snapshot);
        let helps = match (super::node_change(event), super::pod_change(event)) {
            ((old, Some(new)), _) => {
                fits_empty(h.pod, new, classes) && old.is_none_or(|old| some_rose(h.pod, old, new, classes))
            }
            (_, (Some(old), None)) => old.node_name.is_some() || old.nominated_node.is_some(),
            (_, (Some(old), Some(new))) => new.key == h.pod.key || shrank(h.pod, old, new),
            _ => true,
        };
        if helps { QueueingHint::Queue } else { QueueingHint::Skip }
    }
}

/// Whether the pod fits the node with nothing on it.
fn fits_empty(pod: &PodInfo, node: &Node, classes: Classes) -> bool {
    let mut fits = true;
    let ignores = |name: &Symbol| classes.serves(name, &node.allocatable);
    shortages(&pod.requests, &node.allocatable, &Resource::default(), 0, ignores, |_| fits = false);
    fits
}

/// Whether a class, new or changed, stands for a resource that the pod requests.
fn class_helps(pod: &PodInfo, old: Option<&DeviceClass>, new: &DeviceClass) -> bool {
    let requested = |name: &str| pod.requests.scalars.iter().any(|(requested, _)| requested == name);
    let own = match old {
        Some(old) if old.extended_resource == new.extended_resource => return false,
        Some(_) => false,
        None => requested(&format!("{CLASS_RESOURCE}{}", new.metadata.name)),
    };
    own || new.extended_resource.as_ref().is_some_and(|name| requested(name))
}

/// Whether the node has more of something that the pod requests, or of places for pods, or a class of devices stands for
/// what it has not.
fn some_rose(pod: &PodInfo, old: &Node, new: &Node, classes: Classes) -> bool {
    let (request, old, new) = (&pod.requests, &old.allocatable, &new.allocatable);
    old.pods < new.pods
        || request.milli_cpu > 0 && old.milli_cpu < new.milli_cpu
        || request.memory > 0 && old.memory < new.memory
        || request.ephemeral_storage > 0 && old.ephemeral_storage < new.ephemeral_storage
        || request.scalars.iter().any(|(name, amount)| {
            *amount > 0 && (old.scalar(name) < new.scalar(name) || classes.serves(name, new))
        })
}

/// Whether a pod on a node requests less of something that `pod` requests.
fn shrank(pod: &PodInfo, old: &PodInfo, new: &PodInfo) -> bool {
    let (request, before, now) = (&pod.requests, &old.requests, &new.requests);
    new.node_name.is_some()
        && (request.milli_cpu > 0 && before.milli_cpu > now.milli_cpu
            || request.memory > 0 && before.memory > now.memory
            || request.ephemeral_storage > 0 && before.ephemeral_storage > now.ephemeral_storage
            || request
                .scalars
                .iter()
                .any(|(name, amount)| *amount > 0 && before.scalar(name) > now.scalar(name)))
}

#[cfg(test)]
mod tests {
    use super::super::trial::{Trial, map, object};
    use super::*;
    use bayplan_model::testing::{node, pod};
    use serde_json::{Value, json};

    #[test]
    fn a_node_refuses_what_is_not_free_and_says_whether_evicting_pods_could_help() {
        let used = pod("used").cpu("3").memory("1Gi").on("busy").object();
        let full = pod("other").on("full").object();
        let trial = Trial::of(
            "NodeResourcesFit",
            vec![
                node("busy").cpu("4").memory("8Gi").object(),
                node("small").cpu("1").memory("1Gi").object(),
                node("full").cpu("4").memory("8Gi").pods(1).object(),
                used,
                full,
            ],
        );
        assert_eq!(
            trial.refused(&pod("p").cpu("2").memory("2Gi").build()),
            map([
                ("busy", "Unschedulable: Insufficient cpu"),
                ("small", "UnschedulableAndUnresolvable: Insufficient cpu, Insufficient memory"),
                ("full", "Unschedulable: Too many pods"),
            ])
        );
        // Without requests only the number of pods counts.
        assert_eq!(trial.refused(&pod("p").build()), map([("full", "Unschedulable: Too many pods")]));
        let gpu = pod("p").request("example.com/gpu", "1").build();
        let text = "UnschedulableAndUnresolvable: Insufficient example.com/gpu";
        assert_eq!(trial.refused(&gpu).get("busy").map(String::as_str), Some(text));
    }

    /// Source: `pkg/scheduler/framework/plugins/noderesources/resource_allocation.go`, `calculateDRAResourceTotals`.
    #[test]
    fn devices_of_a_class_count_as_its_resource() {
        let api = "resource.k8s.io/v1";
        let class = object(json!({
            "apiVersion": api, "kind": "DeviceClass", "metadata": {"name": "gpu"}, "spec": {
                "extendedResourceName": "example.com/gpu", "selectors": [{"cel": {"expression": "device.driver == 'd.ex'"}}],
            },
        }));
        // Neither slice makes a whole pool, and one device is tainted: they count all the same.
        let slice = |name: &str, driver: &str, generation: i64, more: Value| {
            let mut spec = json!({
                "driver": driver, "pool": {"name": "p", "generation": generation, "resourceSliceCount": 3},
                "devices": [{"name": format!("{name}-0")}, {"name": format!("{name}-1"), "taints": [
                    {"key": "broken", "effect": "NoSchedule"},
                ]}],
            });
            spec.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            object(
                json!({"apiVersion": api, "kind": "ResourceSlice", "metadata": {"name": name}, "spec": spec}),
            )
        };
        let claim = object(json!({
            "apiVersion": api, "kind": "ResourceClaim", "metadata": {"name": "c", "namespace": "default", "uid": "c"},
            "spec": {"devices": {"requests": []}}, "status": {"allocation": {"devices": {"results": [
                {"request": "r", "driver": "d.ex", "pool": "p", "device": "of-a-1"},
            ]}}},
        }));
        let mut plugin = NodeResourcesFit::read(&Tree::default(), &mut Vec::new());
        plugin.resources = vec![Weighted { name: Symbol::new("example.com/gpu"), weight: 1 }];
        plugin.selectors = allocation::selectors(&plugin.resources, Features::default());
        let node = |name: &str| node(name).cpu("4").memory("8Gi");
        let objects = vec![
            node("a").object(),
            node("b").object(),
            node("c").resource("example.com/gpu", "2").object(),
            class,
            slice("of-a", "d.ex", 1, json!({"nodeName": "a"})),
            slice("of-all", "d.ex", 2, json!({"allNodes": true})),
            slice("other", "other.ex", 1, json!({"allNodes": true})),
            claim,
        ];
        let mut trial = Trial::with(Arc::new(plugin), objects);
        trial.snapshot().add_index(DeviceIndex::key(), Box::new(DeviceIndex::default()));
        let asks = |amount: &str| pod("p").request("example.com/gpu", amount).build();
        // `a`: 2 of 4 are left, `b`: 1 of 2; the devices of `c` do not count beside those of its device plugin.
        assert_eq!(trial.scores(&asks("1")), map([("a", 50), ("b", 50), ("c", 50)]));
        assert_eq!(trial.scores(&asks("2")), map([("a", 25), ("b", 0), ("c", 0)]));
    }

    #[test]
    fn nodes_with_more_left_score_higher() {
        let used = pod("used").cpu("2").memory("4Gi").on("b").object();
        let node = |name: &str| node(name).cpu("4").memory("8Gi").object();
        let trial = Trial::of("NodeResourcesFit", vec![node("a"), node("b"), used]);
        // (4-1)/4 and (8-2)/8 are free on `a`, (4-3)/4 and (8-6)/8 on `b`.
        assert_eq!(trial.scores(&pod("p").cpu("1").memory("2Gi").build()), map([("a", 75), ("b", 25)]));
    }
}
