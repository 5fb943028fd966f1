//! What a failed attempt does: the nomination, the texts, the queue.

use super::refuser::{After, Refuser, Until, Where};
use super::steps::{Steps, with};
use bayplan::framework::{AttemptResult, Code, Plugin, PostFilterOutcome, Promise, Status};
use bayplan::model::{Duration, Object, Symbol, Time};
use bayplan::scheduler::{Decision, Input, Options, QueuePlace};
use bayplan::testing::{node, pod};
use std::sync::Arc;

fn to(node: &str) -> Promise {
    Promise::To(Symbol::new(node))
}

/// A preemptor that was nominated for the only node, with room for `cpu`, and a pod of lower priority that does not fit
/// beside it. The preemptor's turn comes last.
fn nominated(plugins: Vec<Arc<dyn Plugin>>, cpu: &str) -> Steps {
    let high = pod("high").cpu(cpu).priority(10).nominated("n1").label("refused", "yes").gate("wait");
    let objects = vec![node("n1").cpu("1").object(), high.object(), pod("low").cpu("700m").object()];
    let mut steps = Steps::new(with(plugins), objects);
    steps.cycles();
    steps.serve();
    assert_eq!(steps.events, ["FailedScheduling 0/1 nodes are available: 1 Insufficient cpu."]);
    assert_eq!(nominations(&steps), ["n1"]);
    steps.change("high", |pod| pod.scheduling_gates = Box::default());
    steps
}

fn nominations(steps: &Steps) -> Vec<String> {
    steps.scheduler.nominations().map(|(_, node)| node.to_string()).collect()
}

#[test]
fn an_attempt_that_fails_after_its_filters_or_for_another_reason_clears_the_nomination() {
    let places =
        [Where::PreFilter, Where::Reserve, Where::Permit, Where::WaitOnPermit, Where::PreBind, Where::Bind];
    for (at, code) in places.into_iter().flat_map(|at| [(at, Code::Unschedulable), (at, Code::Error)]) {
        if (at, code) == (Where::PreFilter, Code::Unschedulable) {
            continue;
        }
        let keeps = After("After", Some(PostFilterOutcome::not(Status::unschedulable(""))));
        let mut steps = nominated(vec![Arc::new(Refuser(at, code)), Arc::new(keeps)], "700m");
        steps.step(Input::Cycle);
        if at == Where::WaitOnPermit {
            steps.put(node("n1").cpu("1").label("moved", "yes").object());
        }
        assert_eq!(nominations(&steps), Vec::<String>::new(), "{at:?} {code:?}: in memory");
        let low = steps.scheduler.queue_place(&steps.key("low"));
        assert_ne!(low, Some(QueuePlace::Unschedulable), "{at:?} {code:?}: the other pod is woken at once");
        steps.serve();
        assert_eq!(steps.pod("high").nominated_node, None, "{at:?} {code:?}: in status");
    }
}

#[test]
fn a_profile_without_post_filter_plugins_clears_the_nomination() {
    let mut steps = nominated(vec![], "2");
    steps.step(Input::Cycle);
    assert_eq!(nominations(&steps), Vec::<String>::new());
    steps.serve();
    assert_eq!(steps.pod("high").nominated_node, None);
    steps.wait(Duration::from_seconds(1));
    steps.cycles();
    steps.serve();
    assert_eq!(steps.pod("low").node_name.as_deref(), Some("n1"));
}

#[test]
fn a_cluster_without_nodes_clears_the_nomination() {
    let objects = vec![pod("high").nominated("n1").object()];
    let keeps = After("After", Some(PostFilterOutcome::not(Status::unschedulable(""))));
    let mut steps = Steps::new(with(vec![Arc::new(keeps)]), objects);
    assert_eq!(nominations(&steps), ["n1"]);
    steps.cycles();
    assert_eq!(nominations(&steps), Vec::<String>::new());
    steps.serve();
    assert_eq!(steps.pod("high").nominated_node, None);
    assert_eq!(steps.events, ["FailedScheduling no nodes available to schedule pods"]);
}

fn not(code: Code, text: &str, promise: Promise) -> Option<PostFilterOutcome> {
    Some(PostFilterOutcome::Not { status: Status::new(code, text), promise })
}

fn made(text: &str, promise: Promise) -> Option<PostFilterOutcome> {
    Some(PostFilterOutcome::Made { promise, message: text.to_owned(), evict: Vec::new() })
}

/// The text after the reasons of the filters, and the nomination of a pod that was nominated for `n1`.
fn after(answers: Vec<Option<PostFilterOutcome>>) -> (String, Vec<String>) {
    let named = ["First", "Second", "Third"].into_iter().zip(answers);
    let plugins = named.map(|(name, answer)| Arc::new(After(name, answer)) as Arc<dyn Plugin>).collect();
    let objects = vec![
        node("n1").cpu("1").object(),
        node("n2").cpu("1").object(),
        pod("p").cpu("2").nominated("n1").object(),
    ];
    let mut steps = Steps::new(with(plugins), objects);
    steps.cycles();
    steps.serve();
    let pod = steps.pod("p");
    let in_status: Vec<String> = pod.nominated_node.iter().map(|node| node.to_string()).collect();
    assert_eq!(nominations(&steps), in_status);
    let condition = pod.scheduled_condition.as_ref().unwrap();
    assert_eq!(condition.1.as_str(), "Unschedulable");
    assert_eq!(steps.results, [AttemptResult::Unschedulable]);
    let text = condition.2.strip_prefix("0/2 nodes are available: 2 Insufficient cpu.").unwrap();
    (text.trim_start().to_owned(), in_status)
}

#[test]
fn texts_of_post_filter_are_joined_dropped_or_replaced_as_upstream() {
    use Code::{Error, Pending, Unschedulable, UnschedulableAndUnresolvable};
    let n = |node: &str| vec![node.to_owned()];
    let none = Vec::<String>::new();
    let u = |text: &str| not(Unschedulable, text, Promise::Keep);

    // All refuse: all reasons.
    assert_eq!(after(vec![u("one"), u(""), u("three")]), ("one, three".into(), n("n1")));
    assert_eq!(after(vec![u("one"), not(Pending, "two", Promise::Keep)]), ("one, two".into(), n("n1")));
    // A success: its own text, and what it says of the nomination.
    assert_eq!(after(vec![u("one"), made("", to("n2")), u("three")]), (String::new(), n("n2")));
    assert_eq!(after(vec![u("one"), made("two", Promise::Keep)]), ("two".into(), n("n1")));
    assert_eq!(after(vec![made("one", Promise::Clear), u("two")]), ("one".into(), none.clone()));
    // Nothing can resolve it: its own text.
    let hopeless = |promise| not(UnschedulableAndUnresolvable, "two", promise);
    assert_eq!(after(vec![u("one"), hopeless(Promise::Keep), u("three")]), ("two".into(), n("n1")));
    assert_eq!(after(vec![u("one"), hopeless(Promise::Clear)]), ("two".into(), none.clone()));
    // It refuses with a text and clears the nomination; the last that says something of it counts.
    let clears = || not(Unschedulable, "one", Promise::Clear);
    assert_eq!(after(vec![clears(), u("two")]), ("one, two".into(), none.clone()));
    assert_eq!(after(vec![clears(), not(Unschedulable, "two", to("n2"))]), ("one, two".into(), n("n2")));
    // A failure: its own text, and the nomination stays.
    let fails = || not(Error, "the eviction API is down", Promise::Clear);
    assert_eq!(after(vec![u("one"), fails(), u("three")]), ("the eviction API is down".into(), n("n1")));
    assert_eq!(after(vec![clears(), fails()]), ("the eviction API is down".into(), n("n1")));
    assert_eq!(after(vec![u("one"), None, u("three")]), ("plugin \"Second\" panicked".into(), n("n1")));
}

#[test]
fn a_pod_whose_post_filter_failed_waits_for_the_events_of_the_plugins_that_refused_it() {
    let plugins: Vec<Arc<dyn Plugin>> =
        vec![Arc::new(After("After", not(Code::Error, "down", Promise::Keep)))];
    let objects = vec![node("n1").cpu("1").object(), pod("p").cpu("2").object()];
    let mut steps = Steps::new(with(plugins), objects);
    steps.cycles();
    let key = steps.key("p");
    assert_eq!(steps.scheduler.queue_place(&key), Some(QueuePlace::Unschedulable));
    let queued = steps.scheduler.queued(&key).unwrap();
    assert_eq!((queued.unschedulable_count, queued.consecutive_errors), (1, 0));
}

#[test]
fn a_refusal_before_or_at_the_bind_is_plain_and_backs_off_as_an_error() {
    for (at, code) in [
        (Where::PreBind, Code::Unschedulable),
        (Where::PreBind, Code::UnschedulableAndUnresolvable),
        (Where::PreBind, Code::Pending),
        (Where::Bind, Code::Unschedulable),
    ] {
        let objects =
            vec![node("n1").cpu("1").object(), pod("p").cpu("500m").label("refused", "yes").object()];
        let mut steps = Steps::new(with(vec![Arc::new(Refuser(at, code))]), objects);
        steps.cycles();
        assert_eq!(steps.events, ["FailedScheduling no luck"], "{at:?}");
        assert_eq!(steps.results, [AttemptResult::Unschedulable]);
        let key = steps.key("p");
        let queued = steps.scheduler.queued(&key).unwrap();
        assert!(queued.unschedulable_plugins.is_empty() && queued.pending_plugins.is_empty());
        assert_eq!((queued.unschedulable_count, queued.consecutive_errors), (0, 1));
        // The back-off of errors is not cut short.
        assert_eq!(steps.scheduler.queue_place(&key), Some(QueuePlace::Backoff));
        assert!(!steps.scheduler.wants_cycle());
        steps.serve();
        let pod = steps.pod("p");
        let condition = pod.scheduled_condition.as_ref().unwrap();
        assert_eq!((condition.1.as_str(), &*condition.2), ("Unschedulable", "no luck"));
        assert_eq!(steps.taken(), 0);
    }
}

#[test]
fn a_refusal_at_permit_names_its_plugin_and_counts_as_a_refusal() {
    for at in [Where::Reserve, Where::Permit, Where::WaitOnPermit] {
        let objects =
            vec![node("n1").cpu("1").object(), pod("p").cpu("500m").label("refused", "yes").object()];
        let mut steps = Steps::new(with(vec![Arc::new(Refuser(at, Code::Pending))]), objects);
        steps.step(Input::Cycle);
        if at == Where::WaitOnPermit {
            steps.put(node("n1").cpu("1").label("moved", "yes").object());
        }
        assert_eq!(steps.events, ["FailedScheduling 0/1 nodes are available: 1 no luck."], "{at:?}");
        assert_eq!(steps.results, [AttemptResult::Unschedulable]);
        let queued = steps.scheduler.queued(&steps.key("p")).unwrap();
        // A refusal of a pod that waited is never `Pending`: its back-off counts.
        let waited = at == Where::WaitOnPermit;
        assert_eq!(queued.unschedulable_plugins.is_empty(), !waited, "{at:?}");
        assert_eq!(queued.pending_plugins.is_empty(), waited, "{at:?}");
    }
}

#[test]
fn the_scheduling_sli_begins_when_the_pod_is_ready_to_be_tried() {
    let objects = vec![node("n1").cpu("1").object(), pod("p").cpu("500m").gate("wait").object()];
    let mut steps = Steps::new(with(vec![]), objects);
    steps.wait(Duration::from_seconds(5));
    steps.change("p", |pod| pod.scheduling_gates = Box::default());
    let ready = steps.now;
    steps.wait(Duration::from_seconds(3));
    steps.cycles();
    assert_eq!(steps.decisions[0].first_attempt, ready);
}

#[test]
fn a_gate_that_registers_for_no_events_is_asked_again_after_the_longest_wait() {
    let begin = Time(1_767_614_400_000_000);
    let opens = begin + Duration::from_seconds(10);
    let objects =
        vec![node("n1").cpu("1").object(), pod("p").cpu("500m").object(), pod("gated").gate("g").object()];
    let options = Options { longest_wait: Some(Duration::from_seconds(60)), ..Options::default() };
    let mut steps = Steps::with_options(options, with(vec![Arc::new(Until(opens))]), objects);
    steps.cycles();
    assert_eq!(steps.scheduler.queue_place(&steps.key("p")), Some(QueuePlace::Gated));
    while steps.now < begin + Duration::from_seconds(120) {
        let next = steps.scheduler.next_wakeup().unwrap_or(Time(i64::MAX));
        steps.wait((next - steps.now).min(Duration::from_seconds(5)));
        steps.cycles();
    }
    steps.serve();
    assert_eq!(steps.pod("p").node_name.as_deref(), Some("n1"));
    // The other gate registered for the event that opens it.
    assert_eq!(steps.scheduler.gate(&steps.key("gated")), Some("Gates"));
}

#[test]
fn a_profile_without_scores_looks_at_all_nodes() {
    let nodes = (0..5).map(|at| node(&format!("n{at}")).cpu("1").object());
    let objects: Vec<Object> = nodes.chain([pod("p").cpu("500m").object()]).collect();
    let mut steps = Steps::new(with(vec![]), objects);
    steps.cycles();
    assert!(steps.decisions.iter().all(|record| record.evaluated == 5), "{:?}", steps.decisions);
    let Decision::Placed { equal, feasible, total, .. } = &steps.decisions[0].decision else { panic!() };
    assert_eq!((*equal, *feasible, *total), (5, 5, Some(1)));
}
