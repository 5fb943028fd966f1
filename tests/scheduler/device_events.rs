//! DynamicResources through the whole scheduler: what is told and counted. Pods whose API server has no claims, pods that name a
//! claim twice, and the counts for metrics.

use super::devices::{
    claim, class, conflict, device, frameworks, n1, pod_of, prepared, say, slice, with_claim,
};
use super::steps::Steps;
use bayplan::framework::{ClusterEvent, Counted, Mark, Probe, QueueingHint, RuleTimes, Tally, TimedPoint};
use bayplan::model::{Duration, Kind, Object, Symbol};
use bayplan::scheduler::{Input, Profiles};
use bayplan::testing::pod;
use serde_json::json;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

/// Sends on what plugins count.
struct Counts(Sender<Counted>);

struct Ignored;

impl Tally for Ignored {
    fn add(&self, _: u64) {}
}

impl RuleTimes for Ignored {
    fn mark(&self) -> Mark {
        Mark(0)
    }
    fn add(&self, _: &str, _: &Symbol, _: TimedPoint, _: Mark) {}
}

impl Probe for Counts {
    fn mark(&self) -> Mark {
        Mark(0)
    }
    fn samples(&self) -> bool {
        false
    }
    fn rule_times(&self) -> Arc<dyn RuleTimes> {
        Arc::new(Ignored)
    }
    fn point(&self, _: &Symbol, _: TimedPoint, _: &'static str, _: Mark) {}
    fn plugin(&self, _: &str, _: TimedPoint, _: &'static str, _: Mark) {}
    fn failed(&self, _: &str, _: TimedPoint) {}
    fn waited(&self, _: &'static str, _: Mark) {}
    fn hint(&self, _: &str, _: &ClusterEvent, _: Option<QueueingHint>, _: Mark) {}
    fn event(&self, _: &ClusterEvent, _: Mark) {}
    fn evicted(&self, _: &'static str, _: Mark) {}
    fn counted(&self, profile: &Symbol, what: &Counted) {
        assert_eq!(*profile, "default-scheduler");
        self.0.send(what.clone()).unwrap();
    }
    fn evaluations(&self, _: &Symbol, _: &str, _: TimedPoint) -> Arc<dyn Tally> {
        Arc::new(Ignored)
    }
}

/// The default profile, and what it counts.
fn counting(objects: Vec<Object>) -> (Steps, Receiver<Counted>) {
    let (send, counts) = channel();
    let probe: Arc<dyn Probe> = Arc::new(Counts(send));
    let mut frameworks = frameworks();
    frameworks.iter_mut().for_each(|framework| Arc::get_mut(framework).unwrap().observe(&probe));
    (Steps::new(Arc::new(Profiles { frameworks, revision: 1 }), objects), counts)
}

fn told(steps: &Steps, text: &str) -> usize {
    steps.events.iter().filter(|event| event.contains(text)).count()
}

#[test]
fn pods_with_claims_are_told_that_the_server_has_none() {
    let (mut steps, _counts) = counting(vec![n1()]);
    steps.put(with_claim("p", "x"));
    steps.put(pod("plain").uid("plain").object());
    steps.cycles();
    assert!(steps.events.iter().all(|event| !event.contains("FailedScheduling")), "{:?}", steps.events);
    steps.step(Input::NotServed(Kind::ResourceClaim));
    steps.put(with_claim("q", "x"));
    steps.cycles();
    let text = "FailedScheduling 0/1 nodes are available: the API server has no resource.k8s.io/v1, which Kubernetes \
                has since 1.34: pods with resource claims wait.";
    assert_eq!(told(&steps, text), 2, "{:?}", steps.events);
    steps.serve();
    assert_eq!(steps.pod("plain").node_name.as_deref(), Some("n1"));
    // The API server is upgraded.
    for object in [class(None), slice(json!([{"name": "d1"}]))] {
        steps.put(object);
    }
    steps.step(Input::Relisted(Kind::ResourceClaim, Vec::new()));
    steps.put(claim("x"));
    steps.wait(Duration::from_seconds(20));
    steps.cycles();
    steps.serve();
    assert_eq!(device(&steps, "x").0, "d1");
    assert_eq!(told(&steps, text), 2, "{:?}", steps.events);
}

#[test]
fn a_pod_that_names_a_claim_twice_is_never_bound() {
    let devices = slice(json!([{"name": "d1"}, {"name": "d2"}]));
    let (mut steps, _counts) = counting(vec![n1(), class(None), devices, claim("x")]);
    let claims = json!([{"name": "a", "resourceClaimName": "x"}, {"name": "b", "resourceClaimName": "x"}]);
    steps.put(pod("p").uid("p").set("spec.resourceClaims", claims).object());
    steps.cycles();
    steps.serve();
    let failed = "running PreBind plugin \"DynamicResources\": ";
    let first = format!("{failed}claim default/x got allocated elsewhere in the meantime");
    assert_eq!(told(&steps, &first), 1, "{:?}", steps.events);
    // The allocation stays, the reservation goes.
    assert_eq!(device(&steps, "x"), ("d1".to_owned(), 0));
    for _ in 0..3 {
        steps.wait(Duration::from_seconds(20));
        steps.cycles();
        steps.serve();
    }
    let then = format!(
        "{failed}add reservation to claim default/x: ResourceClaim.resource.k8s.io \"x\" is invalid: \
         status.reservedFor[1]: Duplicate value: {{\"resource\":\"pods\",\"name\":\"p\",\"uid\":\"p\"}}"
    );
    assert_eq!(told(&steps, &then), 3, "{:?}", steps.events);
    assert_eq!((device(&steps, "x").1, steps.scheduler.snapshot().kept().assumptions), (0, 0));
    assert_eq!(steps.pod("p").node_name, None);
}

#[test]
fn creations_of_claims_are_counted() {
    let devices = slice(json!([{"name": "d1"}]));
    let (mut steps, counts) = counting(vec![n1(), class(Some("e.ex/gpu")), devices]);
    steps.put(pod_of("p"));
    steps.cycles();
    steps.open.retain(|(_, call)| !matches!(call, bayplan::framework::ApiCall::PatchStatus { .. }));
    steps.reply(conflict());
    steps.wait(Duration::from_seconds(20));
    steps.cycles();
    steps.serve();
    let counted: Vec<Counted> = counts.try_iter().collect();
    assert_eq!(counted, [false, true].map(|done| Counted::ClaimCreation { done }));
}

#[test]
fn waits_for_devices_are_counted_by_how_they_end() {
    let begin = || {
        let (mut steps, counts) = counting(vec![n1(), class(None), prepared(), claim("x")]);
        steps.put(with_claim("p", "x"));
        steps.cycles();
        steps.serve();
        (steps, counts)
    };
    let preparation = |status: &'static str, seconds: i64| Counted::Preparation {
        status,
        took: Duration::from_seconds(seconds),
        devices: vec!["d.ex".into()],
        prepared: vec!["d.ex".into()],
    };
    let all = |counts: Receiver<Counted>| counts.try_iter().collect::<Vec<_>>();
    let (mut steps, counts) = begin();
    steps.wait(Duration::from_seconds(3));
    say(&mut steps, "ready");
    steps.serve();
    assert_eq!(all(counts), [preparation("success", 3)]);
    let (mut steps, counts) = begin();
    say(&mut steps, "broken");
    steps.serve();
    assert_eq!(all(counts), [preparation("failure", 0)]);
    let (mut steps, counts) = begin();
    (0..120).for_each(|_| steps.wait(Duration::from_seconds(5)));
    assert_eq!(all(counts), [preparation("timeout", 600)]);
    // A pod that is deleted ends its wait from outside.
    let (mut steps, counts) = begin();
    steps.wait(Duration::from_seconds(7));
    steps.delete("p");
    steps.serve();
    assert_eq!(all(counts), [preparation("error", 7)]);
}
