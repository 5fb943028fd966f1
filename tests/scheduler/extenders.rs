//! Attempts that wait for extenders: what an answer means, and what happens to the pod, its nodes and the scheduler
//! meanwhile.

use super::steps::Steps;
use crate::support::plugins::{Labelled, basics, framework};
use crate::support::policies::compile;
use bayplan::framework::{
    Answer, ApiCall, CallError, Extender, ExtenderAnswer, ExtenderAsk, Extenders, Filtered, Instances,
    Plugin, Profile, Ticket,
};
use bayplan::model::{Duration, Object, PodInfo, Symbol};
use bayplan::plugins;
use bayplan::plugins::policy::{ExemptPods, plugins as of_set};
use bayplan::scheduler::{Decision, Input, Options, Profiles, QueuePlace, RecordLevel};
use bayplan::testing::{Random, node, pod};
use std::sync::Arc;

fn extender(url: &str) -> Extender {
    Extender {
        url: url.to_owned(),
        filter_verb: String::from("filter"),
        node_cache_capable: true,
        weight: 1,
        timeout: Duration::from_seconds(5),
        ..Extender::default()
    }
}

fn scorer(url: &str, weight: i64) -> Extender {
    let (filter_verb, prioritize_verb) = (String::new(), String::from("prioritize"));
    Extender { filter_verb, prioritize_verb, weight, ..extender(url) }
}

fn binder(url: &str, ignorable: bool) -> Extender {
    let (filter_verb, bind_verb) = (String::new(), String::from("bind"));
    Extender { filter_verb, bind_verb, ignorable, ..extender(url) }
}

fn profiles_of(plugins: Vec<Arc<dyn Plugin>>, extenders: Vec<Extender>) -> Arc<Profiles> {
    let framework = Arc::into_inner(framework("default-scheduler", plugins)).unwrap();
    let framework = Arc::new(framework.with_extenders(Arc::new(Extenders::new(extenders))));
    Arc::new(Profiles { frameworks: vec![framework], revision: 1 })
}

fn steps(extenders: Vec<Extender>, objects: Vec<Object>) -> Steps {
    let options = Options { longest_wait: None, records: RecordLevel::Nodes, ..Options::default() };
    let mut steps = Steps::with_options(options, profiles_of(basics(), extenders), objects);
    steps.cycles();
    steps
}

fn nodes(names: &[&str]) -> Vec<Object> {
    names.iter().map(|name| node(name).cpu("1").object()).collect()
}

fn with(mut nodes: Vec<Object>, pod: Object) -> Vec<Object> {
    nodes.push(pod);
    nodes
}

fn filtered(names: &[&str]) -> Filtered {
    Filtered { names: Some(names.iter().map(|name| name.to_string()).collect()), ..Filtered::default() }
}

fn remaining(names: &[&str]) -> Result<Answer, CallError> {
    Ok(Answer::Extender(ExtenderAnswer::Filtered(filtered(names))))
}

fn scores(all: &[(&str, i64)]) -> Result<Answer, CallError> {
    let all = all.iter().map(|(name, score)| (name.to_string(), *score)).collect();
    Ok(Answer::Extender(ExtenderAnswer::Scores(all)))
}

fn failure(message: &str) -> Result<Answer, CallError> {
    Err(CallError::Unknown(message.to_owned()))
}

fn pairs(all: &[(&str, &str)]) -> Vec<(String, String)> {
    all.iter().map(|(name, reason)| (name.to_string(), reason.to_string())).collect()
}

/// Answers the oldest question to an extender.
fn answer(steps: &mut Steps, answer: Result<Answer, CallError>) {
    let at = steps.open.iter().position(|(_, call)| matches!(call, ApiCall::Extender { .. })).unwrap();
    let (ticket, _) = steps.open.remove(at);
    steps.step(Input::Reply(ticket, answer));
}

fn message(steps: &Steps) -> String {
    match &steps.decisions.last().unwrap().decision {
        Decision::Unschedulable { message, .. } | Decision::Error { message } => message.clone(),
        Decision::Placed { node, .. } => format!("placed on {node}"),
    }
}

#[test]
fn extenders_filter_one_after_the_other_what_is_left() {
    let mut late = extender("http://late");
    late.ignorable = true;
    let objects = with(nodes(&["n1", "n2", "n3"]), pod("web").cpu("100m").object());
    // The ignorable one comes last, wherever it is configured.
    let mut steps = steps(vec![late, extender("http://first"), extender("http://second")], objects);
    assert_eq!(steps.calls(), ["filter 0 web n1 n2 n3"]);
    assert!(!steps.scheduler.wants_cycle());
    answer(&mut steps, remaining(&["n2", "n1"]));
    assert_eq!(steps.calls(), ["filter 1 web n1 n2"]);
    answer(&mut steps, remaining(&["n2", "n1"]));
    assert_eq!(steps.calls(), ["filter 2 web n1 n2"]);
    answer(&mut steps, remaining(&["n2"]));
    assert_eq!(steps.calls(), ["bind web n2"]);
    steps.serve();
    assert_eq!(steps.events, ["Scheduled Successfully assigned default/web to n2"]);
    let refused_by: Vec<&str> =
        steps.decisions[0].unschedulable_plugins.iter().map(|name| name.as_str()).collect();
    assert_eq!(refused_by, ["Extender"]);
}

#[test]
fn an_extender_without_interest_in_the_pod_is_not_asked() {
    let gpus = Extender { managed: [Symbol::new("example.com/gpu")].into(), ..extender("http://gpus") };
    let plain = pod("plain").cpu("100m").object();
    let mut steps = steps(vec![gpus.clone()], with(nodes(&["n1"]), plain));
    assert_eq!(steps.calls(), ["bind plain n1"]);
    steps.serve();
    for named in [
        pod("a").request("example.com/gpu", "1").limit("example.com/gpu", "1"),
        pod("b").limit("example.com/gpu", "0"),
    ] {
        assert!(gpus.is_interested(&named.build()));
    }
    let over = pod("c").overhead("example.com/gpu", "1").build();
    assert!(!gpus.is_interested(&over), "overhead is no request of a container");
}

#[test]
fn refused_nodes_have_the_reasons_of_the_extender_and_any_event_wakes_the_pod() {
    let objects = with(nodes(&["n1", "n2", "n3", "n4"]), pod("web").cpu("100m").object());
    let mut steps = steps(vec![extender("http://e")], objects);
    let all = Filtered {
        failed: pairs(&[("n1", "too hot"), ("n2", "too hot"), ("n3", "too hot"), ("elsewhere", "unknown")]),
        unresolvable: pairs(&[("n3", "too old")]),
        ..filtered(&[])
    };
    answer(&mut steps, Ok(Answer::Extender(ExtenderAnswer::Filtered(all))));
    // n4 vanished without a reason.
    assert_eq!(message(&steps), "0/4 nodes are available: 1 too old, 1 unknown, 2 too hot.");
    let web = steps.key("web");
    assert_eq!(steps.scheduler.queue_place(&web), Some(QueuePlace::Unschedulable));
    let detail = steps.decisions[0].detail.clone().unwrap();
    let refused: Vec<String> = detail
        .nodes
        .iter()
        .map(|node| match &node.refused {
            Some((by, status)) => format!("{} {by} {} {}", node.name, status.code.name(), status.message()),
            None => node.name.to_string(),
        })
        .collect();
    assert_eq!(
        refused,
        [
            "n1 Extender Unschedulable too hot",
            "n2 Extender Unschedulable too hot",
            "n3 Extender UnschedulableAndUnresolvable too old",
            "n4"
        ]
    );
    // An extender has no hints: an event that helps no plugin may help it.
    steps.put(node("n1").cpu("1").condition("Ready", "False").object());
    assert_eq!(steps.scheduler.queue_place(&web), Some(QueuePlace::Backoff));
}

#[test]
fn an_extender_that_fails_or_lies_fails_the_attempt_unless_it_is_ignorable() {
    let lie = "extender \"http://e\" claims a filtered node \"n9\" which is not found in the input node list";
    for (said, text) in [
        (remaining(&["n1", "n9"]), lie),
        (failure("the connection was lost"), "the connection was lost"),
        (scores(&[]), "the extender answered another question"),
        (Ok(Answer::Done), "the extender answered another question"),
    ] {
        let objects = || with(nodes(&["n1", "n2"]), pod("web").cpu("100m").object());
        let mut steps = self::steps(vec![extender("http://e")], objects());
        answer(&mut steps, said.clone());
        assert_eq!(message(&steps), text);
        assert!(matches!(steps.decisions[0].decision, Decision::Error { .. }));
        assert!(steps.calls()[0].starts_with("patch web"), "{:?}", steps.calls());
        let web = steps.key("web");
        assert_eq!(steps.scheduler.queue_place(&web), Some(QueuePlace::Backoff));
        let ignorable = Extender { ignorable: true, ..extender("http://e") };
        let mut steps = self::steps(vec![ignorable], objects());
        answer(&mut steps, said);
        assert!(steps.calls()[0].starts_with("bind web"), "{:?}", steps.calls());
    }
}

#[test]
fn an_extender_that_knows_no_nodes_answers_with_nodes() {
    let blind = Extender { node_cache_capable: false, ..extender("http://e") };
    let objects = with(nodes(&["n1", "n2"]), pod("web").cpu("100m").object());
    let mut steps = self::steps(vec![blind.clone()], objects.clone());
    let nodes = Filtered { nodes: Some(vec![String::from("n2")]), ..filtered(&["n1"]) };
    answer(&mut steps, Ok(Answer::Extender(ExtenderAnswer::Filtered(nodes))));
    assert_eq!(steps.calls(), ["bind web n2"]);
    // Without any list no node is left.
    let mut steps = self::steps(vec![blind], objects);
    answer(&mut steps, Ok(Answer::Extender(ExtenderAnswer::Filtered(Filtered::default()))));
    assert_eq!(message(&steps), "0/2 nodes are available:");
}

#[test]
fn scores_are_added_times_weight_and_ten() {
    let objects = with(nodes(&["n1", "n2", "n3"]), pod("web").cpu("100m").object());
    let mut steps = steps(vec![scorer("http://a", 2), scorer("http://b", 1)], objects);
    assert_eq!(steps.calls(), ["prioritize 0 web n1 n2 n3", "prioritize 1 web n1 n2 n3"]);
    answer(&mut steps, scores(&[("n1", 3), ("n2", 3), ("n2", 1), ("n9", 10)]));
    assert_eq!(steps.calls().len(), 1, "the second one is still asked");
    answer(&mut steps, scores(&[("n1", 1), ("n3", -4)]));
    assert_eq!(steps.calls(), ["bind web n2"]);
    let record = &steps.decisions[0];
    assert!(matches!(&record.decision, Decision::Placed { total: Some(80), equal: 1, .. }), "{record:?}");
    let totals: Vec<(String, Option<i64>, Vec<i64>)> = record
        .detail
        .iter()
        .flat_map(|detail| &detail.nodes)
        .map(|node| {
            (node.name.to_string(), node.total, node.scores.iter().map(|score| score.score).collect())
        })
        .collect();
    assert_eq!(
        totals,
        [
            (String::from("n1"), Some(70), vec![60, 10]),
            (String::from("n2"), Some(80), vec![80, 0]),
            (String::from("n3"), Some(-40), vec![0, -40])
        ]
    );
}

#[test]
fn scores_that_do_not_come_count_nothing_and_named_nodes_win_ties() {
    let objects = with(nodes(&["n1", "n2", "n3"]), pod("web").cpu("100m").object());
    let mut steps = self::steps(vec![scorer("http://a", 1), scorer("http://b", 1)], objects.clone());
    answer(&mut steps, failure("no route"));
    answer(&mut steps, scores(&[("n3", 0)]));
    assert_eq!(steps.calls(), ["bind web n3"]);
    // Scores beyond all numbers stop at their end.
    let mut steps = self::steps(vec![scorer("http://a", i64::MAX)], objects);
    answer(&mut steps, scores(&[("n1", i64::MIN), ("n2", i64::MAX), ("n3", 10)]));
    let record = &steps.decisions[0];
    assert!(matches!(&record.decision, Decision::Placed { total: Some(i64::MAX), equal: 2, .. }));
}

#[test]
fn one_feasible_node_is_taken_without_scores() {
    let objects = with(nodes(&["n1"]), pod("web").cpu("100m").object());
    let steps = steps(vec![scorer("http://a", 1)], objects);
    assert_eq!(steps.calls(), ["bind web n1"]);
}

#[test]
fn an_extender_binds_in_place_of_the_plugins() {
    let objects = || with(nodes(&["n1"]), pod("web").cpu("100m").object());
    let bound = Ok(Answer::Extender(ExtenderAnswer::Bound));
    let mut steps = self::steps(vec![binder("http://b", false)], objects());
    assert_eq!(steps.calls(), ["bind 0 web n1"]);
    answer(&mut steps, bound);
    assert_eq!(steps.events, ["Scheduled Successfully assigned default/web to n1"]);

    // One that is ignorable and fails leaves the pod to the plugins.
    let mut steps = self::steps(vec![binder("http://b", true)], objects());
    answer(&mut steps, failure("no route"));
    assert_eq!(steps.calls(), ["bind web n1"]);
    steps.serve();
    assert_eq!(steps.events, ["Scheduled Successfully assigned default/web to n1"]);

    // The pod of one that failed may be bound: it is read.
    let refused = Err(CallError::Refused { code: 200, reason: String::new(), message: String::from("no") });
    let mut steps = self::steps(vec![binder("http://b", false)], objects());
    answer(&mut steps, refused.clone());
    assert_eq!(steps.calls(), ["read web"]);
    steps.serve();
    assert_eq!(steps.events, ["FailedScheduling no"]);
    assert_eq!(steps.taken(), 0);
    let mut steps = self::steps(vec![binder("http://b", false)], objects());
    let key = Object::Pod(steps.pod("web")).key();
    let call = ApiCall::Bind { pod: key, node: Symbol::new("n1"), marks: Default::default() };
    steps.server.answer(&call, steps.now, None).unwrap();
    answer(&mut steps, refused);
    steps.serve();
    assert_eq!(steps.events, ["Scheduled Successfully assigned default/web to n1"]);
}

#[test]
fn a_bind_of_an_extender_without_an_answer_keeps_the_room_until_it_is_decided() {
    let objects = with(nodes(&["n1"]), pod("web").cpu("100m").object());
    let mut steps = steps(vec![binder("http://b", false)], objects);
    answer(&mut steps, failure("context deadline exceeded"));
    steps.serve();
    assert_eq!(steps.taken(), 100);
    steps.wait(Duration::from_seconds(61));
    steps.serve();
    assert_eq!(steps.events, ["FailedScheduling context deadline exceeded"]);
    assert_eq!(steps.taken(), 0);
}

/// A pod whose attempt waits for an extender, on nodes n1 and n2.
fn waiting() -> Steps {
    let objects = with(nodes(&["n1", "n2"]), pod("web").cpu("600m").object());
    let steps = steps(vec![extender("http://e")], objects);
    assert_eq!(steps.scheduler.suspended(), Some(&steps.key("web")));
    steps
}

#[test]
fn the_cluster_goes_on_while_an_attempt_waits() {
    let mut steps = waiting();
    steps.put(pod("other").cpu("600m").on("n1").object());
    steps.put(node("n3").cpu("1").object());
    steps.put(pod("later").cpu("100m").object());
    assert_eq!(steps.taken(), 600);
    assert!(!steps.scheduler.wants_cycle(), "one attempt at a time");
    // The chosen node filled up: the pod is tried again at once, on the cluster as it is.
    answer(&mut steps, remaining(&["n1"]));
    assert_eq!(steps.decisions.len(), 0);
    assert_eq!(steps.scheduler.queue_place(&steps.key("web")), Some(QueuePlace::Active));
    steps.cycles();
    assert_eq!(steps.calls(), ["filter 0 web n2 n3"]);
    answer(&mut steps, remaining(&["n3"]));
    assert_eq!(steps.calls(), ["bind web n3"]);
}

#[test]
fn a_chosen_node_that_is_gone_or_is_another_one_is_not_taken() {
    let mut steps = waiting();
    steps.server.delete(&node("n1").object().key());
    steps.watch();
    answer(&mut steps, remaining(&["n1"]));
    steps.cycles();
    assert_eq!(steps.calls(), ["filter 0 web n2"]);
    // Its row may belong to another node.
    let mut steps = waiting();
    steps.server.delete(&node("n1").object().key());
    steps.watch();
    steps.put(node("n0").cpu("1").object());
    answer(&mut steps, remaining(&["n1"]));
    steps.cycles();
    assert_eq!(steps.calls()[0].split(' ').collect::<std::collections::BTreeSet<_>>().len(), 5);
    // The same name is the same node.
    let mut steps = waiting();
    steps.server.delete(&node("n1").object().key());
    steps.watch();
    steps.put(node("n1").cpu("1").object());
    answer(&mut steps, remaining(&["n1"]));
    assert_eq!(steps.calls(), ["bind web n1"]);
}

#[test]
fn an_attempt_ends_when_its_pod_needs_no_node() {
    let mut deleted = waiting();
    deleted.delete("web");
    let mut terminating = waiting();
    let now = terminating.now;
    terminating.change("web", |pod| pod.deleted = Some(now));
    let mut elsewhere = waiting();
    elsewhere.change("web", |pod| pod.node_name = Some(Symbol::new("n2")));
    for steps in [&mut deleted, &mut terminating, &mut elsewhere] {
        assert_eq!(steps.scheduler.suspended(), None);
        steps.put(pod("next").cpu("100m").object());
        steps.cycles();
        assert_eq!(steps.calls().len(), 2, "the next pod is tried: {:?}", steps.calls());
        // The answer to the old question changes nothing.
        answer(steps, remaining(&["n1"]));
        assert_eq!(steps.calls().len(), 1);
        answer(steps, remaining(&["n1"]));
        assert_eq!(steps.calls(), ["bind next n1"]);
        assert_eq!(steps.scheduler.in_flight_events(), 0);
    }
}

#[test]
fn a_pod_that_changed_is_evaluated_as_it_is() {
    let mut steps = waiting();
    steps.change("web", |pod| {
        let touched = pod.labels.iter().map(|(key, value)| (key.clone(), value.clone()));
        pod.labels = touched.chain([(Symbol::new("touched"), Symbol::new("yes"))]).collect();
    });
    answer(&mut steps, remaining(&["n1"]));
    assert_eq!(steps.calls(), ["bind web n1"]);
    let mut steps = waiting();
    steps.change("web", |pod: &mut PodInfo| pod.requests.milli_cpu = 5_000);
    answer(&mut steps, remaining(&["n1"]));
    steps.cycles();
    assert_eq!(message(&steps), "0/2 nodes are available: 2 Insufficient cpu.");
}

#[test]
fn events_while_an_attempt_waits_are_not_missed() {
    let mut steps = waiting();
    steps.put(node("n3").cpu("1").object());
    answer(&mut steps, remaining(&[]));
    assert_eq!(message(&steps), "0/2 nodes are available:");
    assert_eq!(steps.scheduler.queue_place(&steps.key("web")), Some(QueuePlace::Backoff));
}

#[test]
fn a_lost_lead_and_other_profiles_give_the_attempt_up() {
    let mut steps = waiting();
    steps.step(Input::Lead(false));
    assert_eq!(steps.scheduler.suspended(), None);
    answer(&mut steps, remaining(&["n1"]));
    assert!(steps.calls().is_empty());
    steps.step(Input::Lead(true));
    steps.cycles();
    assert_eq!(steps.calls(), ["filter 0 web n1 n2"]);

    let plugins: Vec<Arc<dyn Plugin>> = basics().into_iter().chain([Arc::new(Labelled) as Arc<_>]).collect();
    steps.step(Input::Profiles(profiles_of(plugins, vec![extender("http://e")])));
    assert_eq!(steps.scheduler.suspended(), None);
    steps.cycles();
    assert!(message(&steps).contains("does not have label"), "the new plugins apply");
    // A profile that goes takes its pods with it.
    let mut steps = waiting();
    steps.step(Input::Profiles(Arc::default()));
    assert_eq!(steps.scheduler.suspended(), None);
    assert_eq!(steps.scheduler.queue_place(&steps.key("web")), None);
}

#[test]
fn an_answer_that_never_comes_is_waited_for_no_longer_than_the_driver_would() {
    let mut steps = waiting();
    let wakeup = steps.scheduler.next_wakeup().unwrap();
    assert_eq!(wakeup - steps.now, Duration::from_seconds(35));
    steps.wait(Duration::from_seconds(35));
    assert_eq!(message(&steps), "the extender did not answer");
    assert_eq!(steps.scheduler.suspended(), None);
    let (ticket, _) = steps.open.remove(0);
    steps.step(Input::Reply(ticket, remaining(&["n1"])));
    assert!(steps.calls().iter().all(|call| call.starts_with("patch")));
    steps.step(Input::Reply(Ticket(9_999), remaining(&["n1"])));
}

#[test]
fn a_nominated_node_that_an_extender_refuses_is_one_of_all() {
    for said in [remaining(&[]), failure("no route")] {
        let objects = with(nodes(&["n1", "n2"]), pod("web").cpu("600m").nominated("n2").object());
        let mut steps = steps(vec![extender("http://e")], objects);
        assert_eq!(steps.calls(), ["filter 0 web n2"]);
        answer(&mut steps, said);
        assert_eq!(steps.calls(), ["filter 0 web n1 n2"]);
        answer(&mut steps, remaining(&["n1", "n2"]));
        assert!(steps.calls()[0].starts_with("bind web"));
    }
}

#[test]
fn a_clone_made_while_an_attempt_waits_goes_on_alike() {
    let mut steps = waiting();
    let (ticket, _) = steps.open[0];
    let mut twin = steps.scheduler.clone();
    let mut out = Vec::new();
    twin.step(Input::Reply(ticket, remaining(&["n2"])), steps.now, &mut out);
    answer(&mut steps, remaining(&["n2"]));
    assert!(format!("{out:?}").contains("Bind"));
    assert_eq!(steps.calls(), ["bind web n2"]);
}

/// What extenders that leave all nodes and give no points decide is what is decided without them.
#[test]
fn extenders_that_change_nothing_change_no_decision() {
    for seed in 0..60 {
        let run = |extenders: Vec<Extender>| {
            let mut random = Random(seed);
            let plugins = basics().into_iter().chain([Arc::new(Labelled) as Arc<dyn Plugin>]).collect();
            let options = Options { longest_wait: None, seed, ..Options::default() };
            let mut steps = Steps::with_options(options, profiles_of(plugins, extenders), Vec::new());
            for at in 0..2 + random.next() % 8 {
                let label = (random.next() % 3).to_string();
                steps.put(node(&format!("n{at}")).cpu("1").label("priority.lixueduan.com", &label).object());
            }
            for at in 0..random.next() % 20 {
                let cpu = format!("{}m", 100 + random.next() % 5 * 100);
                let mut maker = pod(&format!("p{at}")).cpu(&cpu).priority((random.next() % 3) as i32);
                if random.next().is_multiple_of(4) {
                    maker = maker.nominated(&format!("n{}", random.next() % 8));
                }
                steps.put(maker.object());
            }
            while steps.scheduler.wants_cycle() {
                steps.step(Input::Cycle);
                while let Some(at) =
                    steps.open.iter().position(|(_, call)| matches!(call, ApiCall::Extender { .. }))
                {
                    let (ticket, ApiCall::Extender { ask, .. }) = steps.open.remove(at) else {
                        return vec![];
                    };
                    let said = match ask {
                        ExtenderAsk::Filter { nodes, .. } => {
                            remaining(&nodes.iter().map(|name| name.as_str()).collect::<Vec<_>>())
                        }
                        _ => scores(&[]),
                    };
                    steps.step(Input::Reply(ticket, said));
                }
                steps.serve();
            }
            let decided = steps.decisions.iter();
            decided.map(|record| format!("{:?} {:?}", record.pod.name, record.decision)).collect::<Vec<_>>()
        };
        let both = Extender { prioritize_verb: String::from("prioritize"), ..extender("http://a") };
        assert_eq!(run(vec![]), run(vec![both, extender("http://b")]), "seed {seed}");
    }
}

/// A pod that fits nowhere, and whose candidates are n1 and n2, with kube-scheduler's default profile.
fn preempting(extenders: Vec<Extender>) -> Steps {
    preempting_with(extenders, None)
}

/// The same with a policy.
fn preempting_with(extenders: Vec<Extender>, policy: Option<&str>) -> Steps {
    let mut registry = plugins::registry();
    for plugin in policy.into_iter().flat_map(|text| of_set(&compile(text), &ExemptPods::default())) {
        registry.add_plugin(plugin).unwrap();
    }
    let framework = Profile::new("default-scheduler").build(&registry, &mut Instances::default()).unwrap();
    let framework = Arc::new(framework.with_extenders(Arc::new(Extenders::new(extenders))));
    let profiles = Arc::new(Profiles { frameworks: vec![framework], revision: 1 });
    let mut objects = nodes(&["n1", "n2", "n3"]);
    for (name, on) in [("low-1", "n1"), ("low-2", "n2")] {
        objects.push(pod(name).uid(name).cpu("600m").on(on).object());
    }
    objects.push(pod("equal").uid("equal").cpu("600m").priority(10).on("n3").object());
    objects.push(pod("web").cpu("600m").priority(10).object());
    let mut steps = Steps::new(profiles, objects);
    steps.cycles();
    steps
}

fn preempter(url: &str, ignorable: bool) -> Extender {
    let (filter_verb, preempt_verb) = (String::new(), String::from("preempt"));
    Extender { filter_verb, preempt_verb, ignorable, ..extender(url) }
}

fn victims(all: &[(&str, &[&str])]) -> Result<Answer, CallError> {
    let all = all.iter().map(|(node, pods)| {
        (node.to_string(), pods.iter().map(|uid| uid.to_string()).collect::<Vec<_>>(), 0)
    });
    Ok(Answer::Extender(ExtenderAnswer::Victims(all.collect())))
}

#[test]
fn extenders_choose_among_the_candidates_of_a_preemption() {
    let mut steps = preempting(vec![preempter("http://a", false), preempter("http://b", true)]);
    // The search begins at a seeded node.
    assert!(
        ["preempt 0 web n1 n2", "preempt 0 web n2 n1"].contains(&&*steps.calls()[0]),
        "{:?}",
        steps.calls()
    );
    answer(&mut steps, victims(&[("n2", &["low-2"])]));
    // The next one is asked about what is left; its failure changes nothing.
    assert_eq!(steps.calls(), ["preempt 1 web n2"]);
    answer(&mut steps, failure("no route"));
    let decision = &steps.decisions.last().unwrap().decision;
    assert!(
        matches!(decision, Decision::Unschedulable { nominated: Some(node), .. } if node.as_str() == "n2"),
        "{decision:?}"
    );
    assert!(steps.calls().contains(&String::from("patch low-2")), "{:?}", steps.calls());
}

/// An extender chooses among all nodes and pods; `victim`, `protect` and `guard` have the last word.
#[test]
fn rules_about_evictions_are_asked_about_the_victims_of_extenders() {
    let placed = |policy: &str, said: &[(&str, &[&str])]| {
        let mut steps = preempting_with(vec![preempter("http://a", false)], Some(policy));
        answer(&mut steps, victims(said));
        let none = "preemption: no candidate node for preemption";
        let nominated: Vec<String> =
            steps.scheduler.nominations().map(|(_, node)| node.to_string()).collect();
        assert!(!nominated.is_empty() || message(&steps).ends_with(none), "{}", message(&steps));
        nominated
    };
    let one: &[(&str, &[&str])] = &[("n1", &["low-1"])];
    let two: &[(&str, &[&str])] = &[("n2", &["low-2"])];
    for policy in [
        r#"policy keep { preempt { protect v when v.name == "low-2" } }"#,
        r#"policy keep { preempt { guard node.name != "n2" || node.pods.count() > 0 else "no" } }"#,
        r#"policy keep { preempt { victim v when v.name == "low-1" } }"#,
    ] {
        assert_eq!(placed(policy, two), [""; 0], "{policy}");
        assert_eq!(placed(policy, one), ["n1"], "{policy}");
        let both = [one, two].concat();
        assert_eq!(placed(policy, &both), ["n1"], "{policy}");
    }
    // Pods of the same priority are no victims where no rule names any.
    let spare = r#"policy keep { preempt { protect v when v.name == "low-2" } }"#;
    assert_eq!(placed(spare, &[("n3", &["equal"])]), [""; 0]);
}

#[test]
fn a_preemption_fails_in_the_words_of_upstream_when_extenders_leave_or_say_nothing_useful() {
    let none = "preemption: no candidate node for preemption";
    let lost = "extender: http://a claims to preempt pod (UID: &{low-9}) on node: n1, but the pod is not found on that node";
    for (said, text) in [
        (victims(&[]), none),
        (victims(&[("n1", &["low-9"])]), lost),
        (victims(&[("n9", &["low-1"])]), "nodeinfo not found for node name \"n9\""),
        (victims(&[("n1", &[])]), "expected at least one victim pod on node \"n1\""),
        (failure("no route"), "preemption: no route"),
    ] {
        let mut steps = preempting(vec![preempter("http://a", false)]);
        answer(&mut steps, said.clone());
        assert!(message(&steps).ends_with(text), "{}", message(&steps));
        assert_eq!(steps.scheduler.nominations().count(), 0);
        // One that is ignorable is skipped, but for an answer without any candidate.
        let mut steps = preempting(vec![preempter("http://a", true)]);
        answer(&mut steps, said.clone());
        let nominated = steps.scheduler.nominations().count();
        let leaves_none = text == none || text.starts_with("expected");
        assert_eq!(nominated, usize::from(!leaves_none), "{}", message(&steps));
        if leaves_none {
            assert!(message(&steps).ends_with(none), "{}", message(&steps));
        }
    }
}
