//! Compares the queue with a model of upstream's queue that is small enough to be obvious: one list of pods, one list
//! of all events, hints evaluated for each pod.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use super::*;
use bayplan_framework::{
    ActionType, EnqueueExtensions, EventRegistration, EventResource, Filter, Framework, Handle, Plugin,
    PluginId, Points, PreEnqueue, QueueSort, QueueingHint, Reads, SortKey, Status,
};
use bayplan_model::testing::{Random, pod};
use bayplan_model::{NodeInfo, Symbol};

/// Waits for labels of nodes, and finds that they help pods of even names.
struct A;
/// Waits for taints of nodes, which always help.
struct B;
/// Keeps pods with scheduling gates out; orders by priority.
struct G;

fn is_even(pod: &PodInfo) -> bool {
    pod.name.bytes().last().is_some_and(|last| last % 2 == 0)
}

macro_rules! waits_for {
    ($plugin:ident, $actions:expr, $hint:expr) => {
        impl EnqueueExtensions for $plugin {
            fn events(&self) -> Vec<EventRegistration> {
                vec![EventRegistration { resource: EventResource::Node, actions: $actions }]
            }
            fn hint(&self, h: &Handle, _: &ClusterEvent) -> QueueingHint {
                let hint: fn(&PodInfo) -> bool = $hint;
                if hint(h.pod) { QueueingHint::Queue } else { QueueingHint::Skip }
            }
        }
        impl Filter for $plugin {
            fn filter(&self, _: &Handle, _: NodeInfo) -> Result<(), Status> {
                Ok(())
            }
        }
        impl Plugin for $plugin {
            fn name(&self) -> &str {
                stringify!($plugin)
            }
            fn reads(&self) -> Reads {
                Reads::default()
            }
            bayplan_framework::serves!(EnqueueExtensions, Filter);
        }
    };
}

waits_for!(A, ActionType::UPDATE_NODE_LABEL, is_even);
waits_for!(B, ActionType::UPDATE_NODE_TAINT, |_| true);

impl Plugin for G {
    fn name(&self) -> &str {
        "G"
    }
    fn reads(&self) -> Reads {
        Reads::default()
    }
    bayplan_framework::serves!(EnqueueExtensions, PreEnqueue, QueueSort);
}

impl EnqueueExtensions for G {
    fn events(&self) -> Vec<EventRegistration> {
        let actions = ActionType::UPDATE_POD_SCHEDULING_GATES_ELIMINATED;
        vec![EventRegistration { resource: EventResource::Pod, actions }]
    }
}

impl PreEnqueue for G {
    fn pre_enqueue(&self, h: &Handle) -> Result<(), Status> {
        if h.pod.scheduling_gates.is_empty() { Ok(()) } else { Err(Status::unresolvable("gates")) }
    }
}

impl QueueSort for G {
    fn key(&self, pod: &QueuedPodInfo, _: &Snapshot) -> SortKey {
        SortKey((100 - pod.pod.priority).to_be_bytes().into_iter().collect())
    }
}

fn hints() -> Arc<ProfileHints> {
    let ids = |all: &[u16]| all.iter().map(|id| PluginId(*id)).collect::<Vec<_>>();
    let points =
        Points { pre_enqueue: ids(&[2]), queue_sort: ids(&[2]), filter: ids(&[0, 1]), ..Points::default() };
    let plugins: Vec<Arc<dyn Plugin>> = vec![Arc::new(A), Arc::new(B), Arc::new(G)];
    Arc::new(ProfileHints::of(&Arc::new(Framework::new(Symbol::new("default-scheduler"), plugins, points))))
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum At {
    Active,
    Backoff,
    Unschedulable,
    Gated,
    /// Under way, since so many events.
    Flight(usize),
}

#[derive(Clone, Debug)]
struct Known {
    pod: Arc<PodInfo>,
    number: u64,
    since: Time,
    refusals: u32,
    errors: u32,
    refused_by: Vec<char>,
    pending: bool,
    at: At,
}

impl Known {
    fn expiry(&self) -> Option<Time> {
        let count = if self.errors > 0 { self.errors } else { self.refusals };
        let seconds = match count {
            0 => return None,
            1 => 1,
            2 => 2,
            3 => 4,
            4 => 8,
            _ => 10,
        };
        Some(Time((self.since + Duration::from_seconds(seconds)).0 / 1_000_000 * 1_000_000))
    }

    /// 0: no help, 1: after the penalty, 2: at once.
    fn strategy(&self, event: char) -> u8 {
        if self.refused_by.is_empty() {
            return 1;
        }
        let helps = |plugin: &char| match plugin {
            'A' => event == 'L' && is_even(&self.pod),
            _ => event == 'T',
        };
        match self.refused_by.iter().find(|plugin| helps(plugin)) {
            None => 0,
            Some('B') if self.pending => 2,
            Some(_) => 1,
        }
    }

    fn put(&mut self, strategy: u8, now: Time) {
        let window = Time(now.0 / 1_000_000 * 1_000_000);
        let waits = self.expiry().is_some_and(|expiry| expiry >= window);
        self.at = match strategy {
            0 => At::Unschedulable,
            _ if !self.pod.scheduling_gates.is_empty() => At::Gated,
            1 if waits => At::Backoff,
            _ => At::Active,
        };
        if self.at == At::Gated {
            self.refused_by = vec!['G'];
        }
    }
}

#[test]
fn random_operations_agree_with_the_model() {
    for seed in 0..60 {
        run(seed);
    }
}

fn run(seed: u64) {
    let mut random = Random(seed);
    let snapshot = Snapshot::default();
    let hints = hints();
    let mut queue = SchedulingQueue::new(Duration::from_seconds(1), Duration::from_seconds(10), None);
    let mut model: Vec<Known> = Vec::new();
    let mut events: Vec<char> = Vec::new();
    let mut under_way: Vec<Queued> = Vec::new();
    let mut now = Time(1_000_000_000);
    let mut arrivals = 0;
    for step in 0..300 {
        match random.below(12) {
            0 | 1 => {
                arrivals += 1;
                let mut maker = pod(&format!("p{arrivals}")).priority(random.below(3) as i32);
                if random.below(6) == 0 {
                    maker = maker.gate("g");
                }
                let pod = maker.build();
                queue.add(pod.clone(), hints.clone(), &snapshot, now);
                let mut known = Known {
                    pod,
                    number: arrivals,
                    since: now,
                    refusals: 0,
                    errors: 0,
                    refused_by: Vec::new(),
                    pending: false,
                    at: At::Active,
                };
                known.put(2, now);
                model.push(known);
            }
            2..=4 => {
                let rank = |k: &&mut Known| (100 - k.pod.priority, k.since, k.number);
                let mut best = model.iter_mut().filter(|k| k.at == At::Active).min_by_key(rank);
                if best.is_none() {
                    let refused = model.iter_mut().filter(|k| k.at == At::Backoff && k.errors == 0);
                    best = refused.min_by_key(|k| (k.expiry(), rank(k)));
                }
                let popped = queue.pop(&snapshot, now);
                let names = (popped.as_ref().map(|q| &q.info.pod.name), best.as_ref().map(|k| &k.pod.name));
                assert_eq!(names.0, names.1, "seed {seed}, step {step}");
                if let (Some(popped), Some(best)) = (popped, best) {
                    best.at = At::Flight(events.len());
                    under_way.push(popped);
                }
            }
            5 | 6 if !under_way.is_empty() => {
                let at = random.below(under_way.len());
                let mut queued = under_way.remove(at);
                let known = model.iter_mut().find(|k| k.pod.key == queued.info.pod.key).unwrap();
                let At::Flight(from) = known.at else { panic!("{known:?}") };
                let (by, pending): (&[char], bool) = match random.below(5) {
                    0 => (&['A'], false),
                    1 => (&['B'], false),
                    2 => (&['B'], true),
                    3 => (&['A', 'B'], false),
                    _ => (&[], false),
                };
                known.refused_by = by.to_vec();
                known.pending = pending;
                known.since = now;
                match by.is_empty() {
                    true => known.errors += 1,
                    false => (known.refusals, known.errors) = (known.refusals + 1, 0),
                }
                let strategy = match by.is_empty() {
                    true => 1,
                    false => events[from..].iter().map(|event| known.strategy(*event)).max().unwrap_or(0),
                };
                known.put(strategy, now);
                let ids = by.iter().map(|plugin| PluginId(u16::from(*plugin == 'B'))).collect();
                (queued.info.unschedulable_plugins, queued.info.pending_plugins) =
                    if pending { (Default::default(), ids) } else { (ids, Default::default()) };
                queue.requeue(queued, &snapshot, now);
            }
            7 | 8 => {
                let (letter, action) = match random.below(3) {
                    0 => ('L', ActionType::UPDATE_NODE_LABEL),
                    1 => ('T', ActionType::UPDATE_NODE_TAINT),
                    _ => ('C', ActionType::UPDATE_NODE_CONDITION),
                };
                events.push(letter);
                let event = ClusterEvent::of(EventResource::Node, action, EventObjects::None);
                queue.move_all(&event, &Scope::default(), &snapshot, now);
                for known in model.iter_mut().filter(|k| k.at == At::Unschedulable) {
                    let strategy = known.strategy(letter);
                    known.put(strategy, now);
                }
            }
            9 if !model.is_empty() => {
                let at = random.below(model.len());
                if !matches!(model[at].at, At::Flight(_)) {
                    queue.remove(&model.remove(at).pod.key);
                }
            }
            10 if !model.is_empty() => {
                let at = random.below(model.len());
                let known = &mut model[at];
                if matches!(known.at, At::Unschedulable | At::Backoff) {
                    queue.activate(&known.pod.key, &snapshot, now);
                    known.put(2, now);
                }
            }
            _ => {
                now = now + Duration::from_millis([100, 700, 1_500, 5_000][random.below(4)]);
                queue.tick(&snapshot, now);
                let window = Time(now.0 / 1_000_000 * 1_000_000);
                for known in model.iter_mut().filter(|k| k.at == At::Backoff) {
                    if known.expiry().is_some_and(|expiry| expiry < window) {
                        known.at = At::Active;
                    }
                }
            }
        }
        for known in &model {
            let place = match queue.place(&known.pod.key) {
                Some(QueuePlace::Active) => At::Active,
                Some(QueuePlace::Backoff) => At::Backoff,
                Some(QueuePlace::Unschedulable) => At::Unschedulable,
                Some(QueuePlace::Gated) => At::Gated,
                None => known.at,
            };
            assert_eq!(place, known.at, "seed {seed}, step {step}: {known:?}");
        }
    }
}

#[test]
fn a_pod_that_was_gated_enters_when_its_last_gate_goes() {
    let snapshot = Snapshot::default();
    let mut queue = SchedulingQueue::new(Duration::from_seconds(1), Duration::from_seconds(10), None);
    let (now, gated, free) = (Time(0), pod("a").gate("g").build(), pod("a").build());
    queue.add(gated.clone(), hints(), &snapshot, now);
    assert_eq!((queue.place(&gated.key), queue.gate(&gated.key)), (Some(QueuePlace::Gated), Some("G")));
    let events = ClusterEvent::of_pod(Some(&gated), Some(&free), snapshot.version_rows());
    queue.update(free.clone(), &events, &snapshot, now);
    assert_eq!(queue.place(&free.key), Some(QueuePlace::Active));
}

#[test]
fn beyond_ten_thousand_events_the_oldest_pod_under_way_is_tried_once_more() {
    let snapshot = Snapshot::default();
    let mut queue = SchedulingQueue::new(Duration::from_seconds(1), Duration::from_seconds(10), None);
    queue.add(pod("p1").build(), hints(), &snapshot, Time(0));
    let mut queued = queue.pop(&snapshot, Time(0)).unwrap();
    // Another plugin waits for it than the one that refuses the pod.
    let event = ClusterEvent::of(EventResource::Node, ActionType::UPDATE_NODE_TAINT, EventObjects::None);
    for _ in 0..=in_flight::IN_FLIGHT_EVENTS {
        queue.move_all(&event, &Scope::default(), &snapshot, Time(0));
    }
    assert!(queue.in_flight_events() <= in_flight::IN_FLIGHT_EVENTS);
    queued.info.unschedulable_plugins.insert(PluginId(0));
    let key = queued.info.pod.key.clone();
    queue.requeue(queued, &snapshot, Time(0));
    assert_eq!(queue.place(&key), Some(QueuePlace::Backoff));
}

#[test]
fn arrivals_are_counted_by_queue_and_by_upstreams_label_of_what_brought_them() {
    let snapshot = Snapshot::default();
    let mut queue = SchedulingQueue::new(Duration::from_seconds(1), Duration::from_seconds(10), None);
    queue.add(pod("a").gate("g").build(), hints(), &snapshot, Time(0));
    queue.add(pod("p1").build(), hints(), &snapshot, Time(0));
    let mut queued = queue.pop(&snapshot, Time(0)).unwrap();
    queued.info.unschedulable_plugins.insert(PluginId(1));
    queue.requeue(queued, &snapshot, Time(0));
    let profile = |plugin: &str| ("default-scheduler".to_owned(), plugin.to_owned());
    assert_eq!(queue.refused(), BTreeMap::from([(profile("B"), 1), (profile("G"), 1)]));
    let taint = ClusterEvent::of(EventResource::Node, ActionType::UPDATE_NODE_TAINT, EventObjects::None);
    queue.move_all(&taint, &Scope::default(), &snapshot, Time(0));
    // Nothing is active: the refused pod need not wait out its penalty.
    let mut queued = queue.pop(&snapshot, Time(0)).unwrap();
    queued.info.unschedulable_plugins = Default::default();
    queue.requeue(queued, &snapshot, Time(0));
    queue.tick(&snapshot, Time(60_000_000));
    let counted: Vec<_> = queue.incoming().collect();
    assert_eq!(
        counted,
        [
            ("active", "BackoffComplete", 1),
            ("active", "PopFromBackoffQ", 1),
            ("active", "UnscheduledPodAdd", 1),
            ("backoff", "NodeUpdateNodeTaint", 1),
            ("backoff", "ScheduleAttemptFailure", 1),
            ("unschedulable", "ScheduleAttemptFailure", 1),
            ("unschedulable", "UnscheduledPodAdd", 1),
        ]
    );
}
