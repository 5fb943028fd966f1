//! Preemption through the whole scheduler: who is evicted, in which order, and what the preemptor does meanwhile.

use super::run::{Run, framework_with};
use super::steps::Steps;
use crate::support::plugins::{Gang, basics, framework};
use bayplan::config;
use bayplan::diag::SourceMap;
use bayplan::framework::{Answer, ApiCall, CallError, ObjectPart, PatchBody};
use bayplan::model::{Duration, Object, Symbol};
use bayplan::plugins;
use bayplan::scheduler::{Input, Profiles, QueuePlace};
use bayplan::testing::{PodMaker, namespace, node, pod};
use serde_json::json;
use std::sync::Arc;

/// The default profile.
fn default_profile() -> Arc<Profiles> {
    let mut sources = SourceMap::new();
    let text = "{apiVersion: kubescheduler.config.k8s.io/v1, kind: KubeSchedulerConfiguration}";
    let id = sources.add("config.yaml", text.to_owned());
    let (config, complaints) = config::read(sources.get(id).unwrap());
    assert!(complaints.is_empty(), "{complaints:#?}");
    let made = config.frameworks(&plugins::registry(), id).unwrap_or_else(|all| panic!("{all:#?}"));
    Arc::new(Profiles { frameworks: made.frameworks, revision: 1 })
}

fn running(name: &str, cpu: &str, priority: i32) -> PodMaker {
    pod(name).cpu(cpu).priority(priority).on("n1").phase("Running")
}

/// A node with room for two CPUs, these pods, and `high`, which needs both.
fn full(placed: Vec<PodMaker>) -> Steps {
    let mut objects = vec![node("n1").cpu("2").memory("8Gi").object()];
    objects.extend(placed.into_iter().map(PodMaker::object));
    let mut steps = Steps::new(default_profile(), objects);
    steps.put(pod("high").cpu("2").priority(10).object());
    steps.cycles();
    steps
}

fn two() -> Vec<PodMaker> {
    vec![running("a", "1", 2), running("b", "1", 1)]
}

#[test]
fn victims_are_patched_then_deleted_the_least_important_last() {
    let mut steps = full(two());
    // The first victim, and the preemptor's condition with its nomination.
    assert_eq!(steps.calls(), ["patch a", "patch high"]);
    let ApiCall::Patch { of, part: ObjectPart::Status, version: None, body } = &steps.open[0].1 else {
        panic!("{:?}", steps.open[0])
    };
    assert_eq!(of.uid.as_str(), "default/a");
    let message = String::from("default-scheduler: preempting to accommodate a higher priority pod");
    assert_eq!(*body, PatchBody::DisruptionTarget { message, generation: 0 });
    steps.serve();
    let pods = ["a", "b"].map(|name| (steps.pod(name).disruption_target, steps.pod(name).is_terminating()));
    assert_eq!(pods, [(true, true); 2]);
    assert_eq!(steps.pod("high").nominated_node.as_deref(), Some("n1"));
    assert_eq!(
        steps.events,
        [
            "FailedScheduling 0/1 nodes are available: 1 Insufficient cpu. preemption: found a potential placement for \
             pod on node n1, preempting 2 victims",
            "Preempted Preempted by pod default/high on node n1",
            "Preempted Preempted by pod default/high on node n1",
        ]
    );
    assert!(!steps.scheduler.snapshot().is_preempting(&steps.key("high")));
    assert!(steps.server.end_terminating());
    steps.watch();
    steps.wait(Duration::from_seconds(2));
    steps.cycles();
    steps.serve();
    assert_eq!(steps.pod("high").node_name.as_deref(), Some("n1"));
    assert_eq!(steps.scheduler.snapshot().kept().preempting, 0);
    assert_eq!(steps.scheduler.evictions().count(), 0);
    assert_eq!(steps.scheduler.futile_preemptions(), 0);
}

#[test]
fn the_preemptor_is_kept_out_until_its_last_victim_is_being_deleted() {
    let mut steps = full(two());
    let high = steps.key("high");
    // Another pod ends meanwhile: its deletion helps, and the gate holds the preemptor all the same.
    steps.delete("a");
    steps.wait(Duration::from_seconds(2));
    assert_eq!(steps.scheduler.queue_place(&high), Some(QueuePlace::Gated));
    assert_eq!(steps.scheduler.gate(&high), Some("DefaultPreemption"));
    steps.serve();
    assert!(steps.pod("b").is_terminating());
    // Its victims are evicted; it waits for their end.
    steps.cycles();
    assert_eq!(failures(&steps), 1, "{:#?}", steps.events);
    assert!(steps.server.end_terminating());
    steps.watch();
    steps.cycles();
    steps.serve();
    assert_eq!(steps.pod("high").node_name.as_deref(), Some("n1"));
    // The pod that was gone got no event.
    assert_eq!(steps.events.iter().filter(|event| event.starts_with("Preempted")).count(), 1);
}

/// The binding of the last victim fails while it is evicted: it gives its room back before its end, which frees nothing.
#[test]
fn a_last_victim_whose_binding_fails_keeps_nobody_waiting() {
    let low = pod("low").cpu("2").priority(1);
    let mut steps =
        Steps::new(default_profile(), vec![node("n1").cpu("2").memory("8Gi").object(), low.object()]);
    steps.cycles();
    assert_eq!(steps.calls(), ["bind low n1"]);
    let bind = steps.open.remove(0).0;
    steps.put(pod("high").cpu("2").priority(10).object());
    steps.cycles();
    assert_eq!(steps.scheduler.evictions().count(), 1, "{:?}", steps.calls());
    let (reason, message) = (String::from("Forbidden"), String::from("no"));
    steps.step(Input::Reply(bind, Err(CallError::Refused { code: 403, reason, message })));
    assert!(steps.events.iter().any(|event| event.contains("DefaultBinder")), "{:#?}", steps.events);
    steps.serve();
    steps.server.end_terminating();
    steps.watch();
    steps.wait(Duration::from_seconds(12));
    steps.cycles();
    steps.serve();
    assert_eq!(steps.pod("high").node_name.as_deref(), Some("n1"), "{:#?}", steps.events);
}

/// What helps a preemptor while its gate holds it counts when the gate opens: here it no longer offends its victim.
#[test]
fn a_preemptor_that_changes_meanwhile_does_not_wait_for_the_end_of_its_victims() {
    let apart = json!([{"topologyKey": "kubernetes.io/hostname",
        "labelSelector": {"matchLabels": {"team": "x"}}}]);
    let victim = running("a", "1", 1)
        .set("spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution", apart);
    let n1 = node("n1").label("kubernetes.io/hostname", "n1").cpu("2").memory("8Gi");
    let mut steps = Steps::new(default_profile(), vec![n1.object(), victim.object()]);
    let high = pod("high").uid("default/high").cpu("1").priority(10);
    steps.put(high.clone().label("team", "x").object());
    steps.cycles();
    assert_eq!(steps.calls(), ["patch a", "patch high"]);
    steps.put(high.object());
    assert_eq!(steps.scheduler.gate(&steps.key("high")), Some("DefaultPreemption"));
    steps.serve();
    steps.wait(Duration::from_seconds(12));
    steps.cycles();
    steps.serve();
    assert!(steps.pod("a").is_terminating());
    assert_eq!(steps.pod("high").node_name.as_deref(), Some("n1"), "{:#?}", steps.events);
}

/// A rule refuses a nominee while its victim ends. The end of the victim wakes it although the rule does not read that pod,
/// and its nomination goes: others get the node.
#[test]
fn a_nominee_that_a_rule_refuses_meanwhile_gives_its_node_up_when_its_victims_have_ended() {
    let rules = "policy held { applies when has(pod.labels[\"crew\"]) \
                 group crew = p in pods where p.labels[\"crew\"] == pod.labels[\"crew\"] \
                 prefilter { reject \"held\" when crew.count() < 2 } }";
    let objects = vec![
        node("n1").label("kubernetes.io/hostname", "n1").cpu("2").memory("8Gi").object(),
        node("n2").cpu("4").memory("8Gi").object(),
        running("a", "2", 1).object(),
        pod("other").cpu("3").priority(20).on("n2").phase("Running").object(),
    ];
    let mut steps = Steps::new(with_policies(rules, ""), objects);
    let high = pod("high").uid("default/high").cpu("2").priority(10);
    steps.put(high.clone().object());
    steps.cycles();
    steps.serve();
    assert!(steps.pod("a").is_terminating());
    steps.put(high.label("crew", "x").set("status.nominatedNodeName", json!("n1")).object());
    steps.delete("other");
    steps.wait(Duration::from_seconds(12));
    steps.cycles();
    steps.serve();
    assert!(steps.events.iter().any(|event| event.contains("held")), "{:#?}", steps.events);
    steps.put(
        pod("low")
            .cpu("2")
            .priority(5)
            .set("spec.nodeSelector", json!({"kubernetes.io/hostname": "n1"}))
            .object(),
    );
    steps.cycles();
    assert!(steps.server.end_terminating());
    steps.watch();
    for _ in 0..3 {
        steps.wait(Duration::from_seconds(12));
        steps.cycles();
        steps.serve();
    }
    assert_eq!(steps.pod("low").node_name.as_deref(), Some("n1"), "{:#?}", steps.events);
}

fn failures(steps: &Steps) -> usize {
    steps.events.iter().filter(|event| event.starts_with("FailedScheduling")).count()
}

#[test]
fn evictions_that_fail_in_a_row_do_not_make_a_storm() {
    let mut steps = full(vec![running("a", "2", 1)]);
    let high = steps.key("high");
    let refuse = |steps: &mut Steps| {
        let at = steps.calls().iter().position(|call| call == "patch a").expect("an eviction");
        let (ticket, _) = steps.open.remove(at);
        let (reason, message) = (String::from("Forbidden"), String::from("no"));
        steps.step(Input::Reply(ticket, Err(CallError::Refused { code: 403, reason, message })));
    };
    refuse(&mut steps);
    assert_eq!(steps.scheduler.queue_place(&high), Some(QueuePlace::Active));
    steps.cycles();
    refuse(&mut steps);
    assert_eq!(steps.scheduler.queue_place(&high), Some(QueuePlace::Backoff));
    // An eviction that succeeds ends the row.
    steps.wait(Duration::from_seconds(12));
    steps.cycles();
    steps.serve();
    assert!(steps.server.end_terminating());
    steps.watch();
    steps.wait(Duration::from_seconds(12));
    steps.cycles();
    steps.serve();
    assert_eq!(steps.pod("high").node_name.as_deref(), Some("n1"));
}

#[test]
fn a_failure_spares_the_last_victim_and_activates_the_preemptor() {
    let mut steps = full(two());
    let denied = || {
        let (reason, message) = (String::from("Forbidden"), String::from("no"));
        Err(CallError::Refused { code: 403, reason, message })
    };
    assert_eq!(steps.calls(), ["patch a", "patch high"]);
    steps.reply(denied());
    let high = steps.key("high");
    assert_eq!(steps.scheduler.queue_place(&high), Some(QueuePlace::Active));
    assert!(!steps.scheduler.snapshot().is_preempting(&high));
    assert_eq!(steps.calls(), ["patch high"]);
    assert_eq!(steps.scheduler.evictions().count(), 0);
}

#[test]
fn a_patch_is_tried_four_times_and_a_deletion_once() {
    let mut steps = full(vec![running("a", "2", 1)]);
    let lost = || Err(CallError::Unknown(String::from("timeout")));
    for _ in 0..3 {
        assert_eq!(steps.calls()[0], "patch a");
        let (ticket, _) = steps.open.remove(0);
        steps.step(bayplan::scheduler::Input::Reply(ticket, lost()));
        steps.open.sort_by_key(|(_, call)| call.object().name != *"a");
    }
    assert_eq!(steps.calls()[0], "patch a");
    steps.reply(Ok(Answer::Written { version: "9".into() }));
    steps.open.sort_by_key(|(_, call)| call.object().name != *"a");
    assert_eq!(steps.calls()[0], "delete a");
    steps.reply(lost());
    assert!(!steps.calls().contains(&String::from("delete a")), "{:?}", steps.calls());
    assert_eq!(steps.scheduler.queue_place(&steps.key("high")), Some(QueuePlace::Active));
}

#[test]
fn an_instance_that_loses_the_lead_evicts_nothing_more() {
    let mut steps = full(two());
    let open = std::mem::take(&mut steps.open);
    steps.step(bayplan::scheduler::Input::Lead(false));
    steps.step(bayplan::scheduler::Input::Lead(true));
    for (ticket, call) in open {
        let answer = steps.server.answer(&call, steps.now, None);
        steps.step(bayplan::scheduler::Input::Reply(ticket, answer));
    }
    assert!(!steps.calls().iter().any(|call| call.starts_with("delete")), "{:?}", steps.calls());
    assert_eq!(steps.scheduler.evictions().count(), 0);
}

#[test]
fn victims_that_are_being_deleted_are_not_evicted_again() {
    let mut steps = full(vec![running("a", "2", 1).terminating()]);
    assert_eq!(steps.calls(), ["patch high"]);
    steps.serve();
    assert_eq!(steps.pod("high").nominated_node.as_deref(), Some("n1"));
    assert!(!steps.scheduler.snapshot().is_preempting(&steps.key("high")));
}

#[test]
fn nominations_of_lower_priority_on_the_node_are_cleared() {
    let middle = pod("middle").cpu("1").priority(5);
    let mut steps = Steps::new(
        default_profile(),
        vec![
            node("n1").cpu("2").memory("8Gi").object(),
            running("a", "2", 1).object(),
            middle.set("status.nominatedNodeName", "n1".into()).object(),
        ],
    );
    steps.put(pod("high").cpu("2").priority(10).object());
    steps.step(bayplan::scheduler::Input::Cycle);
    let nominated: Vec<&str> =
        steps.scheduler.nominations().filter(|(_, node)| ***node == *"n1").map(|(pod, _)| &*pod.0).collect();
    assert_eq!(nominated, ["default/high"]);
    steps.serve();
    assert_eq!(steps.pod("middle").nominated_node, None);
}

#[test]
fn a_victim_that_waits_at_permit_is_refused_in_memory_and_the_preemptor_tries_again() {
    let mut plugins = basics();
    plugins.push(Arc::new(Gang::default()));
    let preemption = default_profile();
    let of_default = preemption.frameworks[0].plugins();
    plugins.extend(of_default.iter().filter(|plugin| plugin.name() == "DefaultPreemption").cloned());
    let profiles =
        Arc::new(Profiles { frameworks: vec![framework("default-scheduler", plugins)], revision: 1 });
    let member = pod("member").cpu("2").priority(1).label("gang", "g").label("gang-size", "2");
    let mut steps = Steps::new(profiles, vec![node("n1").cpu("2").memory("8Gi").object(), member.object()]);
    steps.cycles();
    steps.serve();
    assert_eq!(steps.scheduler.bindings().len(), 1);
    steps.events.clear();
    steps.put(pod("high").cpu("2").priority(10).object());
    steps.step(bayplan::scheduler::Input::Cycle);
    assert!(!steps.calls().iter().any(|call| call.starts_with("delete")), "{:?}", steps.calls());
    assert!(
        steps.events.contains(&String::from(
            "Preempted Preempted by pod default/high on node n1 (in kube-scheduler memory)."
        )),
        "{:#?}",
        steps.events
    );
    let error = String::from("FailedScheduling waiting on permit for pod: preempted");
    assert!(steps.events.contains(&error), "{:#?}", steps.events);
    assert_eq!(steps.scheduler.queue_place(&steps.key("high")), Some(QueuePlace::Active));
    steps.cycles();
    steps.serve();
    assert_eq!(steps.pod("high").node_name, Some(Symbol::new("n1")));
    let member = Object::Pod(steps.pod("member"));
    assert!(!matches!(member, Object::Pod(pod) if pod.is_terminating()));
}

#[test]
fn a_pod_that_never_preempts_evicts_nothing() {
    let mut steps = Steps::new(
        default_profile(),
        vec![node("n1").cpu("2").memory("8Gi").object(), running("a", "2", 1).object()],
    );
    steps.put(pod("high").cpu("2").priority(10).set("spec.preemptionPolicy", "Never".into()).object());
    steps.cycles();
    assert_eq!(steps.calls(), ["patch high"]);
    assert_eq!(
        steps.events,
        ["FailedScheduling 0/1 nodes are available: 1 Insufficient cpu. preemption: \
          not eligible due to preemptionPolicy=Never."]
    );
}

/// A profile without DefaultPreemption, with these policies.
fn without_default_preemption(text: &str) -> Arc<Profiles> {
    with_policies(text, ", plugins: {multiPoint: {disabled: [{name: DefaultPreemption}]}}")
}

/// A profile with these policies and settings.
fn with_policies(text: &str, settings: &str) -> Arc<Profiles> {
    let mut registry = plugins::registry();
    let set = crate::support::policies::compile(text);
    for plugin in plugins::policy::plugins(&set, &plugins::policy::ExemptPods::default()) {
        registry.add_plugin(plugin).unwrap();
    }
    let mut sources = SourceMap::new();
    let config = format!(
        "{{apiVersion: kubescheduler.config.k8s.io/v1, kind: KubeSchedulerConfiguration, profiles: \
         [{{schedulerName: default-scheduler{settings}}}]}}"
    );
    let id = sources.add("config.yaml", config);
    let (config, complaints) = config::read(sources.get(id).unwrap());
    assert!(complaints.is_empty(), "{complaints:#?}");
    let made = config.frameworks(&registry, id).unwrap_or_else(|all| panic!("{all:#?}"));
    Arc::new(Profiles { frameworks: made.frameworks, revision: 1 })
}

#[test]
fn a_policy_preempts_where_default_preemption_is_disabled() {
    let rules = "policy low { preempt { victim v when v.priority < pod.priority } } \
                 policy other { applies when pod.labels[\"team\"] == \"x\" preempt { victim v when v.priority < 99 } }";
    let start = |rules: &str| {
        let mut objects = vec![node("n1").cpu("2").memory("8Gi").object()];
        objects.extend(two().into_iter().map(PodMaker::object));
        let mut steps = Steps::new(without_default_preemption(rules), objects);
        steps.put(pod("high").cpu("2").priority(10).object());
        steps.cycles();
        steps
    };
    let mut steps = start(rules);
    assert_eq!(steps.calls(), ["patch a", "patch high"]);
    let high = steps.key("high");
    assert!(steps.scheduler.snapshot().is_preempting(&high));
    steps.serve();
    assert!(steps.server.end_terminating());
    steps.watch();
    steps.wait(Duration::from_seconds(2));
    steps.cycles();
    steps.serve();
    assert_eq!(steps.pod("high").node_name.as_deref(), Some("n1"));
    // Without a policy that applies to the pod nothing is evicted.
    let steps = start(
        "policy other { applies when pod.labels[\"team\"] == \"x\" preempt { guard node.ready else \"no\" } }",
    );
    assert_eq!(steps.calls(), ["patch high"]);
    assert_eq!(steps.events, ["FailedScheduling 0/1 nodes are available: 1 Insufficient cpu."]);
}

#[test]
fn a_pod_whose_victims_are_protected_is_tried_again_when_that_ends() {
    let rules = "policy spare { preempt { protect v when v.created + 1min > now() || v.labels[\"keep\"] == \"yes\" } }";
    let profiles = {
        let mut registry = plugins::registry();
        let set = crate::support::policies::compile(rules);
        for plugin in plugins::policy::plugins(&set, &plugins::policy::ExemptPods::default()) {
            registry.add_plugin(plugin).unwrap();
        }
        let profile = bayplan::framework::Profile::new("default-scheduler");
        let made = profile.build(&registry, &mut bayplan::framework::Instances::default()).unwrap();
        Arc::new(Profiles { frameworks: vec![Arc::new(made)], revision: 1 })
    };
    let kept = || running("a", "2", 1).label("keep", "yes");
    let mut steps = Steps::new(profiles, vec![node("n1").cpu("2").memory("8Gi").object(), kept().object()]);
    steps.put(pod("high").cpu("2").priority(10).object());
    steps.cycles();
    assert_eq!(
        steps.events,
        ["FailedScheduling 0/1 nodes are available: 1 Insufficient cpu. preemption: 0/1 \
             nodes are available: 1 node(s) with pods protected by spare."]
    );
    steps.serve();
    steps.wait(Duration::from_seconds(30));
    steps.cycles();
    assert_eq!(steps.calls(), [""; 0]);
    // No plugin of kube-scheduler waits for such a change.
    steps.put(running("a", "2", 1).object());
    steps.wait(Duration::from_seconds(30));
    steps.cycles();
    assert_eq!(steps.calls(), ["patch a", "patch high"]);
}

#[test]
fn a_pod_is_tried_again_when_rules_that_name_victims_begin_to_speak_of_it() {
    let applies =
        |rule: &str| format!(r#"policy p {{ applies when ns.labels["may"] == "yes" preempt {{ {rule} }} }}"#);
    let victim = r#"victim v when v.name == "low""#;
    let mode = r#"mode enforce when ns.labels["may"] == "yes" else audit"#;
    for (policy, others) in [
        (applies(victim), &["DefaultPreemption"][..]),
        (applies(victim), &[]),
        (format!("policy p {{ preempt {{ {mode}\n {victim} }} }}"), &["DefaultPreemption"]),
        (applies(r#"guard node.ready else "x""#), &[]),
    ] {
        let mut run = Run::on(node("n").cpu("1"), framework_with(&policy, others));
        run.step(Input::Upserted(namespace("default").object()));
        // Without `victim` pods of lower priority may be evicted.
        let priority = if policy.contains("victim") { 20 } else { 0 };
        run.add(pod("low").priority(priority).cpu("600m"));
        run.add(pod("high").priority(10).cpu("600m"));
        assert!(run.deleted.is_empty(), "{policy}");
        run.step(Input::Upserted(namespace("default").label("other", "yes").object()));
        run.pass(11);
        run.step(Input::Upserted(namespace("default").label("may", "yes").object()));
        run.pass(11);
        assert_eq!(run.deleted, ["low"], "{policy}");
    }
}

/// Evicts for `high`, and lets another scheduler take the room before `high` is tried again.
fn robbed(more: Vec<Object>) -> Steps {
    let mut steps = full(two());
    steps.serve();
    assert!(steps.server.end_terminating());
    steps.watch();
    more.into_iter().for_each(|object| steps.put(object));
    steps.put(pod("rogue").cpu("2").priority(20).set("spec.schedulerName", json!("other")).on("n1").object());
    steps.events.clear();
    steps.wait(Duration::from_seconds(12));
    steps.cycles();
    steps.serve();
    steps
}

fn futile(steps: &Steps) -> (u64, Vec<&str>) {
    let told = steps.events.iter().filter_map(|event| event.strip_prefix("PreemptionFutile "));
    (steps.scheduler.futile_preemptions(), told.collect())
}

#[test]
fn a_preemptor_that_lands_elsewhere_evicted_in_vain() {
    let steps = robbed(vec![node("n2").cpu("2").memory("8Gi").object()]);
    assert_eq!(steps.pod("high").node_name.as_deref(), Some("n2"));
    let text = "pods were evicted from node n1 for the pod, and then it was bound to node n2";
    assert_eq!(futile(&steps), (1, vec![text]));
}

#[test]
fn a_preemptor_that_fits_nowhere_any_more_evicted_in_vain_once() {
    let mut steps = robbed(Vec::new());
    let text = "pods were evicted from node n1 for the pod, and then no node had room for it";
    assert_eq!(futile(&steps), (1, vec![text]));
    // It goes on waiting.
    steps.put(node("n2").cpu("1").memory("8Gi").object());
    steps.wait(Duration::from_seconds(12));
    steps.cycles();
    steps.serve();
    assert_eq!(futile(&steps).0, 1);
}

#[test]
fn a_preemptor_for_which_more_pods_are_evicted_evicted_in_vain() {
    let mut steps = full(two());
    steps.serve();
    assert!(steps.server.end_terminating());
    steps.watch();
    steps.put(running("late", "2", 1).object());
    steps.wait(Duration::from_seconds(12));
    steps.cycles();
    let text = "pods were evicted from node n1 for the pod, and then more pods were evicted from node n1";
    assert_eq!(futile(&steps), (1, vec![text]));
    steps.serve();
    assert!(steps.server.end_terminating());
    steps.watch();
    steps.wait(Duration::from_seconds(12));
    steps.cycles();
    steps.serve();
    assert_eq!(steps.pod("high").node_name.as_deref(), Some("n1"), "{:#?}", steps.events);
    assert_eq!(futile(&steps).0, 1);
}
