//! Which pods an event reaches, which events are kept for pods under way, and plugins that panic where the queue or a
//! waiting pod asks them.

use super::run::Run;
use crate::support::plugins::{basics, framework};
use bayplan::framework::{
    ActionType, Actor, ClusterEvent, EnqueueExtensions, EventRegistration, EventResource, Filter, Handle,
    Permit, PermitOutcome, Plugin, QueueingHint, Reads, Status,
};
use bayplan::model::{Duration, NodeId, NodeInfo, Time};
use bayplan::scheduler::{Input, QueuePlace};
use bayplan::testing::{node, pod};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Refuses pods named `refused…`, and counts how often its hint is asked about events of pods.
struct Refuser {
    events: Vec<EventRegistration>,
    asked: Arc<AtomicUsize>,
}

impl Plugin for Refuser {
    fn name(&self) -> &str {
        "Refuser"
    }
    fn reads(&self) -> Reads {
        Reads::default()
    }
    bayplan::serves!(EnqueueExtensions, Filter);
}

impl Filter for Refuser {
    fn filter(&self, h: &Handle, _: NodeInfo) -> Result<(), Status> {
        match h.pod.name.starts_with("refused") {
            true => Err(Status::unschedulable("refused")),
            false => Ok(()),
        }
    }
}

impl EnqueueExtensions for Refuser {
    fn events(&self) -> Vec<EventRegistration> {
        self.events.clone()
    }
    fn hint(&self, _: &Handle, _: &ClusterEvent) -> QueueingHint {
        self.asked.fetch_add(1, Ordering::Relaxed);
        QueueingHint::Skip
    }
}

/// A scheduler with these plugins beside those without which no pod is bound.
fn run_of(plugins: Vec<Arc<dyn Plugin>>) -> Run {
    let plugins = basics().into_iter().chain(plugins).collect();
    Run::on(node("n1").cpu("100").pods(999), framework("default-scheduler", plugins))
}

fn refuser(events: &[(EventResource, ActionType)]) -> (Arc<dyn Plugin>, Arc<AtomicUsize>) {
    let asked = Arc::new(AtomicUsize::new(0));
    let events =
        events.iter().map(|(resource, actions)| EventRegistration { resource: *resource, actions: *actions });
    (Arc::new(Refuser { events: events.collect(), asked: asked.clone() }), asked)
}

/// How often hints are asked when pods without a node come, change and go beside ten refused ones.
fn asked_about_others(events: &[(EventResource, ActionType)]) -> usize {
    let (plugin, asked) = refuser(events);
    let mut run = run_of(vec![plugin]);
    for at in 0..10 {
        run.step(Input::Upserted(pod(&format!("refused-{at}")).object()));
    }
    run.settle();
    asked.store(0, Ordering::Relaxed);
    for at in 0..10 {
        let name = format!("other-{at}");
        run.step(Input::Upserted(pod(&name).scheduler("another").object()));
        run.step(Input::Upserted(pod(&name).scheduler("another").label("a", "b").object()));
        run.step(Input::Deleted(pod(&name).object().key()));
    }
    asked.load(Ordering::Relaxed)
}

#[test]
fn pods_without_a_node_are_told_only_to_plugins_that_register_for_them() {
    assert_eq!(asked_about_others(&[(EventResource::Pod, ActionType::ALL)]), 0);
    assert_eq!(asked_about_others(&[(EventResource::TargetPod, ActionType::ALL)]), 0);
    assert_eq!(asked_about_others(&[(EventResource::UnschedulablePod, ActionType::ALL)]), 300);
    assert_eq!(asked_about_others(&[(EventResource::UnschedulablePod, ActionType::DELETE)]), 100);
}

#[test]
fn a_refused_pod_is_told_its_own_changes() {
    for resource in [EventResource::Pod, EventResource::TargetPod] {
        let (plugin, asked) = refuser(&[(resource, ActionType::UPDATE)]);
        let mut run = run_of(vec![plugin]);
        run.step(Input::Upserted(pod("refused-1").object()));
        run.settle();
        run.step(Input::Upserted(pod("refused-1").label("a", "b").object()));
        assert_eq!(asked.load(Ordering::Relaxed), 1, "{resource:?}");
    }
}

/// Makes every pod wait at Permit for an hour.
struct Hold {
    panics: &'static str,
}

impl Plugin for Hold {
    fn name(&self) -> &str {
        "Hold"
    }
    fn reads(&self) -> Reads {
        Reads::default()
    }
    fn next_change(&self, _: &Handle, _: &mut u64) -> Option<Time> {
        assert_ne!(self.panics, "next_change");
        None
    }
    bayplan::serves!(EnqueueExtensions, Permit);
}

impl EnqueueExtensions for Hold {
    fn events(&self) -> Vec<EventRegistration> {
        Vec::new()
    }
}

impl Permit for Hold {
    fn permit(&self, a: &mut Actor, _: NodeId) -> Result<PermitOutcome, Status> {
        Ok(PermitOutcome::Wait { until: a.now + Duration::from_seconds(10) })
    }
    fn reconsider(&self, a: &mut Actor, _: NodeId) -> Result<PermitOutcome, Status> {
        Ok(PermitOutcome::Wait { until: a.now + Duration::from_seconds(3_600) })
    }
    fn equivalence_key(&self, _: &Handle) -> Option<u64> {
        assert_ne!(self.panics, "equivalence_key");
        None
    }
    fn interest(&self, _: &Handle) -> Option<bayplan::framework::Interest> {
        assert_ne!(self.panics, "interest");
        None
    }
    fn timed_out(&self, _: &Handle) -> Option<Status> {
        assert_ne!(self.panics, "timed_out");
        None
    }
    fn left(&self, _: &mut Actor) {
        assert_ne!(self.panics, "left");
    }
}

#[test]
fn an_event_that_no_plugin_waits_for_is_not_kept_for_pods_under_way() {
    let (plugin, _) = refuser(&[(EventResource::TargetPod, ActionType::UPDATE)]);
    let mut run = run_of(vec![plugin, Arc::new(Hold { panics: "" })]);
    run.step(Input::Upserted(pod("waiting").object()));
    run.settle();
    assert!(run.scheduler.is_binding(&pod("waiting").build().key));
    let before = run.scheduler.in_flight_events();
    for at in 0..20 {
        let running =
            pod("running").on("n1").scheduler("another").set("status.message", at.to_string().into());
        run.step(Input::Upserted(running.object()));
    }
    assert_eq!(run.scheduler.in_flight_events(), before, "nobody waits for an update of a running pod");
    // The pod's own update is kept once.
    run.step(Input::Upserted(pod("waiting").label("a", "b").object()));
    assert_eq!(run.scheduler.in_flight_events(), before + 1);
}

#[test]
fn a_plugin_that_panics_while_a_pod_waits_fails_that_pod_alone() {
    for panics in ["timed_out", "next_change", "equivalence_key", "interest", "left"] {
        let mut run = run_of(vec![Arc::new(Hold { panics })]);
        run.step(Input::Upserted(pod("waiting").object()));
        run.settle();
        run.now = run.now + Duration::from_seconds(11);
        run.step(Input::Tick);
        let key = pod("waiting").build().key.clone();
        let failed = run.notes.iter().any(|note| note.contains("panicked"));
        assert_eq!(failed, panics == "timed_out", "{panics}: {:?}", run.notes);
        let place = if failed { QueuePlace::Backoff } else { QueuePlace::Unschedulable };
        assert_eq!(run.scheduler.queue_place(&key), Some(place), "{panics}: {:?}", run.notes);
        assert!(!run.scheduler.is_binding(&key), "{panics}");
    }
}

/// As [`Hold`], and counts how often its hint is asked.
struct Told {
    hold: Hold,
    events: Vec<EventRegistration>,
    asked: Arc<AtomicUsize>,
}

impl Plugin for Told {
    fn name(&self) -> &str {
        "Told"
    }
    fn reads(&self) -> Reads {
        Reads::default()
    }
    bayplan::serves!(EnqueueExtensions);
    fn permit(&self) -> Option<&dyn Permit> {
        Some(&self.hold)
    }
}

impl EnqueueExtensions for Told {
    fn events(&self) -> Vec<EventRegistration> {
        self.events.clone()
    }
    fn hint(&self, _: &Handle, _: &ClusterEvent) -> QueueingHint {
        self.asked.fetch_add(1, Ordering::Relaxed);
        QueueingHint::Skip
    }
}

/// How often the hint is asked at the end of waits during which these inputs came.
fn asked_after_waiting(
    registered: (EventResource, ActionType),
    pods: &[&str],
    meanwhile: Vec<Input>,
) -> usize {
    let asked = Arc::new(AtomicUsize::new(0));
    let events = vec![EventRegistration { resource: registered.0, actions: registered.1 }];
    let told = Told { hold: Hold { panics: "" }, events, asked: asked.clone() };
    let mut run = run_of(vec![Arc::new(told)]);
    run.step(Input::Upserted(pod("running").on("n1").scheduler("another").object()));
    for name in pods {
        run.step(Input::Upserted(pod(name).object()));
        run.settle();
        assert!(run.scheduler.is_binding(&pod(name).build().key));
    }
    meanwhile.into_iter().for_each(|input| run.step(input));
    run.now = run.now + Duration::from_seconds(11);
    run.step(Input::Tick);
    asked.load(Ordering::Relaxed)
}

#[test]
fn an_event_that_came_while_a_pod_was_under_way_is_asked_about_when_it_is_refused() {
    let deleted = Input::Deleted(pod("running").object().key());
    let freed = (EventResource::AssignedPod, ActionType::DELETE);
    assert_eq!(asked_after_waiting(freed, &["waiting"], vec![deleted]), 1);
    assert_eq!(asked_after_waiting(freed, &["waiting"], vec![]), 0);
}

#[test]
fn an_update_of_a_pod_under_way_is_not_kept_for_others_under_way() {
    let updated = Input::Upserted(pod("one").label("a", "b").object());
    let own = (EventResource::TargetPod, ActionType::UPDATE);
    assert_eq!(asked_after_waiting(own, &["one", "two"], vec![updated]), 1);
}
