//! The invariants. Their numbers are those of the testing plan: after every step, and at rest.

use crate::extenders::{all_leave, bound_by};
use crate::mutants::Mutant;
use crate::plugins::{Reserved, reserved};
use crate::world::World;
use bayplan::engine::{Decider, Plain};
use bayplan::framework::{Cycle, Silent};
use bayplan::lang::codegen::groups::GroupIndex;
use bayplan::lang::eval::ledgers::LedgerIndex;
use bayplan::lang::eval::memos::{MOST_KEYS, MemoIndex};
use bayplan::model::{
    Change, IndexKey, Kept, KeptColumns, NodeId, Placement, PodInfo, PodKey, Snapshot, Symbol, Want,
};
use bayplan::scheduler::{BindingView, PodState, QueuePlace, Stage};
use std::collections::{BTreeMap, BTreeSet};

/// The columns of labels, taints and resources by node, for the keys that `of` has.
fn columns(s: &Snapshot, of: &Snapshot) -> Vec<String> {
    let mut lines = Vec::new();
    let (columns, mut scalars) = (s.columns(), of.columns().scalar_names().collect::<Vec<_>>());
    scalars.sort();
    for node in s.nodes() {
        let row = node.id().row();
        let taints = columns.taints().get(row).and_then(|id| columns.taint_sets().get(id.0 as usize));
        let mut line = format!("{} {:?}", node.name(), taints.map(|set| set.taints()));
        for key in of.columns().label_keys() {
            let value = columns.label(key).and_then(|column| column.get(row).cloned());
            line += &format!(" {key}={value:?}");
        }
        for name in &scalars {
            let amounts =
                columns.resource(name).map(|column| (column.allocatable[row], column.requested[row]));
            line += &format!(" {name}={amounts:?}");
        }
        lines.push(line);
    }
    lines.sort();
    lines
}

/// The topology keys of a pod's terms of pod affinity.
fn keys_of_terms(pod: &PodInfo) -> Vec<Symbol> {
    let Some(constraints) = &pod.constraints else { return Vec::new() };
    let affinity = &constraints.affinity;
    let terms = affinity.required.iter().chain(&affinity.required_anti);
    let terms = terms.chain(affinity.preferred.iter().map(|of| &of.term));
    terms.filter(|term| term.selector.is_some()).map(|term| term.topology_key.clone()).collect()
}

macro_rules! hold {
    ($holds:expr, $($text:tt)*) => {
        if !$holds {
            return Err(format!($($text)*));
        }
    };
}

impl World {
    /// After every step.
    pub(crate) fn check(&self) -> Result<(), String> {
        if let Some(broken) = &self.broken {
            return Err(broken.clone());
        }
        self.each_pod_stands_in_one_place()?;
        self.each_pod_is_bound_once()?;
        self.no_node_holds_too_much()?;
        self.the_snapshot_is_what_its_objects_say()?;
        let panics = self.options.mutant == Some(Mutant::Panics);
        if !panics {
            // A Reserve or Unreserve that panics leaves its own list as it was.
            self.what_was_reserved_is_being_bound()?;
        }
        self.promises_and_waits_are_kept()?;
        self.columns_are_wanted_and_rows_kept()?;
        self.assumptions_belong_to_bindings()?;
        self.budgets_are_counted()?;
        if self.options.volumes {
            self.check_volumes()?;
        }
        if self.options.devices {
            self.check_devices()?;
        }
        if self.options.policies {
            self.waits_are_known()?;
            self.indexes_are_what_a_rebuild_makes()?;
            if !panics {
                self.the_queue_has_its_order()?;
            }
            if !self.options.fragile {
                self.nobody_waits_in_vain()?;
            }
        }
        let s = &self.scheduler;
        let wall = s.snapshot().wall_clock(self.now);
        hold!(wall == self.now + self.wall, "policies see {wall:?}, the wall clock is {:?} ahead", self.wall);
        hold!(s.in_flight_events() <= 10_000, "8: {} events are kept", s.in_flight_events());
        Ok(())
    }

    fn each_pod_stands_in_one_place(&self) -> Result<(), String> {
        let s = &self.scheduler;
        let queued: BTreeSet<PodKey> = s.all_queued().into_iter().collect();
        for (key, state) in s.pod_states() {
            let places = (queued.contains(key), s.is_binding(key));
            let pod = &s.snapshot().pod(key).ok_or_else(|| format!("1: {key:?} is not in the snapshot"))?.pod;
            match state {
                // Its room is free; calls of its plugins may still be open.
                PodState::Pending if pod.is_terminating() && places.1 => {
                    let leaves = |b: &BindingView| b.pod == *key && b.stage == Stage::Leaving;
                    hold!(!places.0 && s.bindings().iter().any(leaves), "1: {key:?} stands in {places:?}");
                }
                PodState::Pending if pod.is_terminating() || !s.is_ours(key) => {
                    hold!(
                        !places.1 && (s.is_ours(key) || !places.0),
                        "1: {key:?} {state:?} stands in {places:?}"
                    );
                }
                PodState::Pending if s.suspended() == Some(key) => {
                    hold!(places == (false, false), "1: {key:?} is being tried and stands in {places:?}");
                }
                PodState::Pending => {
                    hold!(places == (true, false), "1: {key:?} {state:?} stands in {places:?}")
                }
                PodState::Assumed(_) | PodState::Unknown(_) => {
                    hold!(places == (false, true), "1: {key:?} {state:?} stands in {places:?}");
                }
                PodState::Told(_) | PodState::Bound(_) => {
                    hold!(!places.0, "1: {key:?} {state:?} is queued");
                }
            }
        }
        for key in &queued {
            hold!(s.pod_state(key).is_some(), "1: {key:?} is queued and not known");
        }
        Ok(())
    }

    /// The order of the queue is that of the keys as they are, but for keys that are computed before the next attempt.
    fn the_queue_has_its_order(&self) -> Result<(), String> {
        let misplaced = self.scheduler.misplaced();
        hold!(misplaced.is_none(), "27: {misplaced:?} stands where its sort key does not put it");
        Ok(())
    }

    fn each_pod_is_bound_once(&self) -> Result<(), String> {
        let mut bound = BTreeSet::new();
        for bind in self.api.binds() {
            hold!(bound.insert(&bind.pod.uid), "2: {} was bound twice", bind.pod.name);
        }
        let mut open = BTreeSet::new();
        for call in &self.open {
            if let Some(pod) = bound_by(&call.call) {
                hold!(open.insert(&pod.uid), "2: two binds of {} are open", pod.name);
            }
        }
        for pod in self.api.pods().filter(|pod| pod.node_name.is_some()) {
            let refused =
                pod.scheduled_condition.as_ref().is_some_and(|condition| condition.0.as_str() == "False");
            hold!(!refused, "7: {} is bound and says PodScheduled=False", pod.name);
        }
        Ok(())
    }

    fn no_node_holds_too_much(&self) -> Result<(), String> {
        let mut used: BTreeMap<&Symbol, (i64, i64)> = BTreeMap::new();
        for pod in self.api.pods() {
            if let Some(node) = &pod.node_name {
                let used = used.entry(node).or_default();
                *used = (used.0 + pod.requests.milli_cpu, used.1 + 1);
            }
        }
        for object in self.api.list(&bayplan::model::Kind::Node) {
            let bayplan::model::Object::Node(node) = object else { continue };
            if self.not_ours_alone.contains(&node.name) {
                continue;
            }
            let (cpu, pods) = used.get(&node.name).copied().unwrap_or_default();
            let has = &node.allocatable;
            hold!(
                cpu <= has.milli_cpu && pods <= has.pods,
                "3: {} holds {cpu}m of {}m, {pods} pods of {}",
                node.name,
                has.milli_cpu,
                has.pods
            );
        }
        Ok(())
    }

    /// The snapshot that the known objects, assumptions and promises make.
    fn rebuilt(&self) -> Snapshot {
        let s = &self.scheduler;
        let mut fresh = Snapshot::default();
        for node in s.snapshot().nodes() {
            fresh.apply(Change::NodeUpserted { node: node.node().clone() });
        }
        for (key, state) in s.pod_states() {
            let Some(pod) = s.snapshot().pod(key).map(|entry| entry.pod.clone()) else { continue };
            match state.node() {
                Some(node) => {
                    let node = fresh.row_or_placeholder(node);
                    let how = if state.is_bound() { Placement::Bound } else { Placement::Assumed };
                    fresh.apply(Change::PodPlaced { pod, node, how });
                }
                None => fresh.apply(Change::PodPending { pod }),
            }
        }
        for key in s.snapshot().columns().label_keys() {
            fresh.want(&[Want::Label(key.clone())]);
        }
        for (key, node) in s.nominations() {
            if let (Some(entry), node) = (s.snapshot().pod(key), fresh.node_by_name(node)) {
                fresh.apply(Change::Nominated { pod: entry.pod.clone(), node });
            }
        }
        fresh
    }

    fn the_snapshot_is_what_its_objects_say(&self) -> Result<(), String> {
        let (real, fresh) = (self.scheduler.snapshot(), self.rebuilt());
        let describe = |s: &Snapshot| -> Vec<String> {
            let mut all: Vec<String> = s
                .nodes()
                .map(|node| {
                    let mut pods: Vec<&str> = node.pods().map(|pod| pod.key.0.as_str()).collect();
                    pods.sort_unstable();
                    let mut promised: Vec<&str> =
                        s.nominated(node.id()).iter().map(|pod| pod.key.0.as_str()).collect();
                    promised.sort_unstable();
                    let columns = s.columns();
                    let cpu = columns.resource(&Symbol::new("cpu"));
                    let row = node.id().row();
                    let column = cpu.map(|cpu| (cpu.allocatable[row], cpu.requested[row]));
                    format!(
                        "{} {:?} {pods:?} {promised:?} {column:?}",
                        node.name(),
                        node.requested().milli_cpu
                    )
                })
                .collect();
            all.sort();
            all
        };
        let (real_nodes, fresh_nodes) = (describe(real), describe(&fresh));
        hold!(real_nodes == fresh_nodes, "4: {real_nodes:#?} and rebuilt {fresh_nodes:#?}");
        hold!(
            real.pod_count() == fresh.pod_count(),
            "4: {} pods and {}",
            real.pod_count(),
            fresh.pod_count()
        );
        let (real_columns, fresh_columns) = (columns(real, real), columns(&fresh, real));
        hold!(real_columns == fresh_columns, "4: {real_columns:#?} and rebuilt {fresh_columns:#?}");
        for entry in real.pods() {
            let waits = self.scheduler.bindings().iter().any(|binding| {
                binding.pod == entry.pod.key
                    && matches!(&binding.stage, Stage::Permit(waits) if !waits.is_empty())
            });
            hold!(entry.waiting == waits, "4: {} waits at Permit: {}", entry.pod.name, entry.waiting);
        }
        Ok(())
    }

    /// Indexes that follow changes agree with their definition: a plain decision over a rebuilt fork is compared at each
    /// attempt; groups and ledgers are compared here.
    fn indexes_are_what_a_rebuild_makes(&self) -> Result<(), String> {
        let real = self.scheduler.snapshot();
        let mut fresh = real.clone();
        fresh.rebuild_indexes();
        for key in real.index_keys() {
            let of = |snapshot: &Snapshot| snapshot.index::<GroupIndex>(key).cloned();
            hold!(of(real) == of(&fresh), "4: index {key:?}: {:?} and rebuilt {:?}", of(real), of(&fresh));
            if let Some(memo) = real.index::<MemoIndex>(key) {
                let late = memo.iter().find(|(.., end)| *end <= self.now);
                hold!(late.is_none(), "4: index {key:?} keeps {late:?} beyond its end");
                hold!(memo.len() <= MOST_KEYS, "4: index {key:?} keeps {} keys", memo.len());
            }
            let of = |snapshot: &Snapshot| snapshot.index::<LedgerIndex>(key).cloned();
            hold!(of(real) == of(&fresh), "4: index {key:?}: {:?} and rebuilt {:?}", of(real), of(&fresh));
        }
        Ok(())
    }

    /// Every Reserve ends in PostBind or Unreserve, in reverse order.
    fn what_was_reserved_is_being_bound(&self) -> Result<(), String> {
        let s = &self.scheduler;
        let Some(index) = s.snapshot().index::<Reserved>(&reserved()) else { return Ok(()) };
        let bound: BTreeMap<PodKey, i64> = s.bindings().into_iter().map(|binding| (binding.pod, 2)).collect();
        hold!(index.now == bound, "5: reserved {:?}, being bound {bound:?}", index.now);
        let last = index.history.len().saturating_sub(8);
        for pair in index.history[last & !1..].chunks(2) {
            let [first, second] = pair else { continue };
            let in_order = match first.chars().next() {
                Some('-') => first.starts_with("-r2") && second.starts_with("-r1"),
                _ => first[1..].starts_with("r1") && second[1..].starts_with("r2"),
            };
            hold!(in_order, "5: {first} before {second}");
        }
        Ok(())
    }

    fn promises_and_waits_are_kept(&self) -> Result<(), String> {
        let s = &self.scheduler;
        for (pod, node) in s.nominations() {
            let terminating = s.snapshot().pod(pod).is_some_and(|entry| entry.pod.is_terminating());
            hold!(
                s.queue_place(pod).is_some() || terminating || s.suspended() == Some(pod),
                "6: {pod:?} is promised to {node} and not queued"
            );
        }
        for binding in s.bindings() {
            if let Stage::Permit(waits) = &binding.stage {
                let late = waits.iter().any(|(_, until)| *until <= self.now);
                hold!(!late, "6: {:?} waits beyond its deadline: {waits:?} at {:?}", binding.pod, self.now);
            }
        }
        Ok(())
    }

    /// Only pods of our profiles that have no node yet hold columns, and a row is kept while it is bound to.
    fn columns_are_wanted_and_rows_kept(&self) -> Result<(), String> {
        let s = &self.scheduler;
        let mut wants = BTreeSet::new();
        let mut holders = 0;
        for (key, _) in s.pod_states() {
            let Some(pod) = s.snapshot().pod(key).map(|entry| &entry.pod) else { continue };
            let framework = s.profiles().get(&pod.scheduler_name).filter(|_| pod.node_name.is_none());
            let of_pod = framework.map(|framework| framework.wants(pod, s.snapshot())).unwrap_or_default();
            holders += usize::from(!of_pod.is_empty());
            wants.extend(of_pod);
        }
        let plugins = s.profiles().frameworks.iter().flat_map(|framework| framework.plugins());
        wants.extend(plugins.flat_map(|plugin| plugin.reads().label_keys).map(Want::Label));
        let kept = s.snapshot().kept();
        hold!(holders == s.pods_with_wants(), "16: {} pods hold columns, not {holders}", s.pods_with_wants());
        let count = |of: fn(&Want) -> bool| wants.iter().filter(|want| of(want)).count();
        let (labels, matches) =
            (count(|want| matches!(want, Want::Label(_))), count(|want| matches!(want, Want::Count(_))));
        hold!(
            kept.columns.wanted_labels == labels && kept.columns.lingering_labels <= 64,
            "16: {kept:?} of {wants:?}"
        );
        hold!(kept.wanted_matches == matches && kept.lingering_matches <= 64, "16: {kept:?} of {wants:?}");
        // Terms of placed pods hold the domains of their keys besides.
        let terms = s.snapshot().nodes().flat_map(|node| node.pods()).flat_map(|pod| keys_of_terms(pod));
        let dead = s.pod_states().into_iter().filter_map(|(key, state)| {
            let placed = state.node().is_some() && s.snapshot().pod(key).is_some();
            placed.then(|| keys_of_terms(&s.snapshot().pod(key).unwrap().pod))
        });
        let mut domains: BTreeSet<Symbol> = terms.chain(dead.flatten()).collect();
        domains.extend(wants.iter().filter_map(|want| match want {
            Want::Domain(key) => Some(key.clone()),
            _ => None,
        }));
        // A pod holds the one label that volumes ask for, or not, as they were when the pod was seen.
        let of_volumes = usize::from(self.options.volumes);
        hold!(
            kept.columns.wanted_domains.abs_diff(domains.len()) <= of_volumes
                && kept.columns.lingering_domains <= 64,
            "16: {kept:?} of {domains:?}"
        );
        let bound: BTreeSet<_> =
            s.bindings().into_iter().map(|binding| (binding.row, binding.node)).collect();
        hold!(kept.pinned == bound.len(), "17: {} rows are pinned for bindings to {bound:?}", kept.pinned);
        for (row, node) in &bound {
            let has = s.snapshot().node(*row).map(|node| node.name().clone());
            hold!(has.as_ref() == Some(node), "17: a pod is bound to {node}, whose row has {has:?}");
        }
        let taints: BTreeSet<_> = s.snapshot().nodes().map(|node| node.node().taints.clone()).collect();
        let lists = taints.iter().filter(|taints| !taints.is_empty()).count();
        hold!(kept.columns.taint_sets == lists, "16: {} taint lists, not {lists}", kept.columns.taint_sets);
        Ok(())
    }

    /// After everything was deleted.
    pub(crate) fn check_nothing_is_kept(&self) -> Result<(), String> {
        self.check_at_rest()?;
        let s = &self.scheduler;
        let plugins = || s.profiles().frameworks.iter().flat_map(|framework| framework.plugins());
        let keys: BTreeSet<IndexKey> =
            plugins().flat_map(|plugin| plugin.indexes()).map(|(key, _)| key).collect();
        let read: BTreeSet<Symbol> = plugins().flat_map(|plugin| plugin.reads().label_keys).collect();
        let kept = s.snapshot().kept();
        let lingering_labels = kept.columns.lingering_labels;
        let lingering_domains = kept.columns.lingering_domains;
        let wanted_labels = read.len();
        let columns =
            KeptColumns { wanted_labels, lingering_labels, lingering_domains, ..KeptColumns::default() };
        let lingering_matches = kept.lingering_matches;
        let nothing = Kept { columns, indexes: keys.len(), lingering_matches, ..Kept::default() };
        hold!(kept == nothing, "18: {kept:?} is kept, not {nothing:?}");
        hold!(s.in_flight_events() == 0, "18: {} events are kept", s.in_flight_events());
        hold!(s.queue_counts() == [0; 4], "18: {:?} pods are queued", s.queue_counts());
        for key in &keys {
            let empty = |of: &GroupIndex| format!("{of:?}").contains("keys: {}");
            let group = s.snapshot().index::<GroupIndex>(key);
            hold!(group.is_none_or(empty), "18: {key:?} keeps {group:?}");
            let waits = s.snapshot().index::<bayplan::plugins::policy::Waits>(key);
            hold!(waits.is_none_or(|waits| waits.kept() == 0), "18: {key:?} keeps {waits:?}");
        }
        Ok(())
    }

    /// When nothing moves any more.
    pub(crate) fn check_at_rest(&self) -> Result<(), String> {
        self.check()?;
        let s = &self.scheduler;
        hold!(s.open_calls() == 0 && self.open.is_empty(), "10: {} calls are open", s.open_calls());
        let kept = s.calls_kept();
        hold!(kept == 0 || !s.pod_states().is_empty(), "10: {kept} entries are kept for calls");
        hold!(s.evictions().count() == 0, "10: {:?} evict pods", s.evictions().collect::<Vec<_>>());
        hold!(s.snapshot().kept().preempting == 0, "10: a pod is kept out for its victims");
        hold!(s.bindings().is_empty(), "10: {:?} are being bound", s.bindings());
        hold!(s.suspended().is_none(), "10: an attempt waits for extenders");
        self.objects_are_those_of_the_server()?;
        if self.options.devices {
            self.no_claim_is_left()?;
        }
        if self.options.policies {
            self.everything_is_written()?;
        }
        for (key, state) in s.pod_states() {
            hold!(!state.is_assumed(), "10: {key:?} is {state:?}");
            // With policies a scheduler that starts from nothing is asked instead.
            let asks = !self.options.policies && self.options.mutant != Some(Mutant::Panics);
            if s.queue_place(key) == Some(QueuePlace::Unschedulable) && asks {
                self.waits_with_reason(key)?;
            }
        }
        Ok(())
    }

    /// A pod that was refused by filters and waits for an event must be refused by them now.
    fn waits_with_reason(&self, key: &PodKey) -> Result<(), String> {
        let s = &self.scheduler;
        let (Some(entry), Some(queued)) = (s.snapshot().pod(key), s.queued(key)) else { return Ok(()) };
        let Some(framework) = s.profiles().get(&entry.pod.scheduler_name) else { return Ok(()) };
        let at_permit = queued.unschedulable_plugins.iter().any(|id| framework.points().permit.contains(&id));
        if at_permit || entry.pod.is_terminating() {
            return Ok(());
        }
        let mut cycle = Cycle::new(entry.pod.clone(), framework.clone(), self.now);
        let found = Plain::default().filter(&mut cycle, &s.fork(), &mut Silent);
        let left = |id: &NodeId| {
            let node = s.snapshot().node(*id).map(|node| node.name().clone());
            !self.options.extenders || node.is_some_and(|node| all_leave(&entry.pod, &node))
        };
        let fits = found.map(|feasible| feasible.nodes.iter().filter(left).count()).unwrap_or(0);
        let by: Vec<&str> = queued.unschedulable_plugins.iter().map(|id| framework.plugin_name(id)).collect();
        let (name, labels) = (&entry.pod.name, &entry.pod.labels);
        hold!(fits == 0, "9: {name} {labels:?} was refused by {by:?} and waits, {fits} nodes would take it");
        Ok(())
    }
}
