//! What policies write before and after a binding: the mark on the pod, calls that fail, restarts, policies and objects
//! that go; and random sequences of all of these.

use super::steps::{Steps, with};
use crate::support::policies::compile;
use bayplan::dry_run::Fault;
use bayplan::framework::{
    Actor, AfterBind, ApiCall, CallError, Handle, PatchBody, Plugin, PostBind, PreFilter, Reads, RulePlugin,
    Ticket, Write,
};
use bayplan::model::objects::projection::Projection;
use bayplan::model::{
    Duration, Kind, KindName, LookedUp, MarkKey, MarkKeys, MetadataChange, NodeId, Object, ObjectKey,
    OwnerReference, PodInfo, Symbol, looked_up,
};
use bayplan::plugins::policy::{ExemptPods, plugins};
use bayplan::scheduler::{Input, Options, Profiles, Scheduler};
use bayplan::testing::{PodMaker, node, pod};
use std::sync::Arc;

const STICKY: &str = r#"
    policy sticky {
      let vm = pod.owner("example.com/v1/Machine") missing skip
      let home = vm.annotations["example.com/home"]
      after bind {
        annotate vm {"example.com/home": node.name, "example.com/free": none} when home == none
        event vm normal "Pinned" "pinned to {node.name}" when home == none
      }
    }"#;

const MARK: &str = "after-bind.bayplan.dev/sticky";

fn profiles(text: &str) -> Arc<Profiles> {
    with(plugins(&compile(text), &ExemptPods::default()))
}

fn kind() -> KindName {
    KindName::parse("example.com/v1/Machine").unwrap()
}

fn machine(name: &str) -> Object {
    let object = serde_json::json!({
        "metadata": {"name": name, "namespace": "default", "uid": format!("{name}-uid"),
                     "annotations": {"example.com/free": "yes", "example.com/other": "stays"}},
    });
    Object::Other(Arc::new(LookedUp::new(&kind(), object, &Projection::everything()).unwrap()))
}

fn of_machine(pod: Arc<PodInfo>, name: &str) -> Object {
    let owner = OwnerReference {
        api_version: "example.com/v1".into(),
        kind: "Machine".into(),
        name: name.into(),
        uid: format!("{name}-uid").as_str().into(),
        controller: true,
    };
    Object::Pod(Arc::new(PodInfo { owners: vec![owner].into(), ..(*pod).clone() }))
}

fn machine_key(name: &str) -> ObjectKey {
    ObjectKey {
        kind: Kind::LookedUp(kind()),
        namespace: "default".into(),
        name: name.into(),
        uid: Symbol::default(),
    }
}

/// The annotations of a machine on the server.
fn annotations(steps: &Steps, name: &str) -> Vec<String> {
    let Some(Object::Other(object)) = steps.server.get(&machine_key(name)) else { return Vec::new() };
    let object = looked_up(object.as_ref()).unwrap();
    object.annotations().iter().map(|(key, value)| format!("{key}={value}")).collect()
}

fn marked(pod: &PodInfo) -> bool {
    pod.annotations.get(MARK).is_some()
}

/// The pod with this value of the mark.
fn with_mark(pod: &PodInfo, value: &str) -> Object {
    let annotations = [(Symbol::new(MARK), Some(value.into()))].into();
    let change = MetadataChange { annotations, ..MetadataChange::default() };
    Object::Pod(Arc::new(PodInfo { annotations: change.annotations_of(&pod.annotations), ..pod.clone() }))
}

fn without_mark(pod: &PodInfo) -> Object {
    let change =
        MetadataChange { annotations: [(Symbol::new(MARK), None)].into(), ..MetadataChange::default() };
    Object::Pod(Arc::new(PodInfo { annotations: change.annotations_of(&pod.annotations), ..pod.clone() }))
}

fn sticky() -> Steps {
    let objects =
        vec![node("n1").cpu("4").pods(10).object(), machine("m"), of_machine(pod("p").cpu("1").build(), "m")];
    let mut steps = Steps::new(profiles(STICKY), objects);
    steps.cycles();
    steps
}

/// Answers the oldest call as the server does.
fn answer(steps: &mut Steps, fault: Option<Fault>) {
    let (ticket, call) = steps.open.remove(0);
    let answer = steps.server.answer(&call, steps.now, fault);
    steps.step(Input::Reply(ticket, answer));
}

/// Answers the patches of statuses, which say where the pod will go.
fn answer_status(steps: &mut Steps) {
    while let Some(at) = steps.open.iter().position(|(_, call)| matches!(call, ApiCall::PatchStatus { .. })) {
        let (ticket, call) = steps.open.remove(at);
        let answer = steps.server.answer(&call, steps.now, None);
        steps.step(Input::Reply(ticket, answer));
    }
}

fn refused(code: u16) -> CallError {
    CallError::Refused { code, reason: "Forbidden".into(), message: "no right to patch machines".into() }
}

#[test]
fn the_binding_takes_the_mark_along_and_the_last_write_removes_it() {
    let mut steps = sticky();
    let ApiCall::Bind { marks, .. } = &steps.open[0].1 else { panic!("{:?}", steps.calls()) };
    assert!(marks.annotations.contains_key(&Symbol::new(MARK)));
    assert_eq!(steps.calls(), ["bind p n1"], "no write before the binding is known");
    answer(&mut steps, None);
    assert!(marked(&steps.pod("p")) && steps.events.iter().any(|event| event == "Pinned pinned to n1"));
    assert_eq!(steps.calls(), ["patch m"], "the machine first, the pod last");
    answer(&mut steps, None);
    assert_eq!(annotations(&steps, "m"), ["example.com/home=n1", "example.com/other=stays"]);
    assert!(marked(&steps.pod("p")));
    assert_eq!(steps.calls(), ["patch p"]);
    answer(&mut steps, None);
    assert!(!marked(&steps.pod("p")) && steps.scheduler.marks_left().count() == 0);
    // The watch shows the states that the answers told already.
    steps.watch();
    assert!(steps.open.is_empty() && steps.scheduler.marks_left().count() == 0, "{:?}", steps.calls());
    assert_eq!(steps.events.iter().filter(|event| event.starts_with("Pinned")).count(), 1);
}

#[test]
fn a_write_that_is_refused_is_tried_again_after_a_growing_pause() {
    let mut steps = sticky();
    answer(&mut steps, None);
    steps.watch();
    let mut pauses = Vec::new();
    for _ in 0..11 {
        assert_eq!(steps.calls(), ["patch m"]);
        steps.reply(Err(refused(403)));
        assert!(steps.open.is_empty() && marked(&steps.pod("p")));
        let next = steps.scheduler.next_wakeup().unwrap();
        pauses.push((next - steps.now).0 / 1_000_000);
        steps.wait(next - steps.now);
    }
    assert_eq!(pauses, [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300]);
    let said = "AfterBindFailed policy sticky: no right to patch machines";
    assert!(steps.events.iter().any(|event| event == said), "{:?}", steps.events);
    steps.serve();
    assert!(!marked(&steps.pod("p")) && annotations(&steps, "m")[0] == "example.com/home=n1");
}

#[test]
fn a_pod_that_the_api_server_does_not_find_is_written_until_a_watch_shows_that_it_is_gone() {
    let mut steps = sticky();
    answer(&mut steps, None);
    steps.watch();
    answer(&mut steps, None);
    assert_eq!(steps.calls(), ["patch p"]);
    steps.reply(Err(refused(404)));
    assert!(steps.open.is_empty() && steps.scheduler.marks_left().count() == 1);
    steps.wait(Duration::from_seconds(1));
    steps.serve();
    assert!(!marked(&steps.pod("p")) && steps.scheduler.marks_left().count() == 0);
    assert!(!steps.events.iter().any(|event| event.starts_with("AfterBindFailed")), "{:?}", steps.events);
}

#[test]
fn a_restart_between_binding_and_write_loses_nothing() {
    let mut steps = sticky();
    answer(&mut steps, None);
    // The process ends here, and its open call is never sent.
    let mut next = Steps::new(profiles(STICKY), Vec::new());
    next.server = steps.server;
    next.watch();
    next.step(Input::Tick);
    assert_eq!(next.calls(), ["patch m"]);
    next.serve();
    assert!(!marked(&next.pod("p")) && annotations(&next, "m")[0] == "example.com/home=n1");
    assert!(!next.events.iter().any(|event| event.starts_with("Pinned")), "events are not part of the mark");
}

/// The proof of the mark that the open Binding carries.
fn proof_of_binding(steps: &Steps) -> String {
    let ApiCall::Bind { marks, .. } = &steps.open[0].1 else { panic!("{:?}", steps.calls()) };
    marks.annotations[&Symbol::new(MARK)].to_string()
}

#[test]
fn a_mark_that_somebody_forged_is_removed_and_nothing_is_written() {
    // Of nobody, of another pod on the node, of the same pod elsewhere, and of another policy.
    let of = |pod: &str, node: &str, policy: &str| {
        let key = steps_key(pod);
        MarkKey::fixed().proof(&key, &node.into(), policy)
    };
    let forged = [
        "".to_owned(),
        "1".to_owned(),
        of("q", "n1", "sticky"),
        of("p", "n2", "sticky"),
        of("p", "n1", "other"),
    ];
    for value in forged {
        let objects = vec![node("n1").cpu("4").pods(10).object(), machine("m")];
        let mut steps = Steps::new(profiles(STICKY), objects);
        let Object::Pod(there) = of_machine(pod("p").cpu("1").on("n1").build(), "m") else { panic!() };
        steps.put(with_mark(&there, &value));
        assert_eq!(steps.calls(), ["patch p"], "{value}");
        assert_eq!(steps.scheduler.marks_left().count(), 0);
        steps.serve();
        assert!(!marked(&steps.pod("p")) && steps.open.is_empty(), "{value}");
        assert!(annotations(&steps, "m").iter().all(|text| !text.contains("home")), "{value}");
        // The proof of the pod on its node is worked off.
        steps.put(with_mark(&steps.pod("p"), &of("p", "n1", "sticky")));
        steps.serve();
        assert_eq!(annotations(&steps, "m")[0], "example.com/home=n1");
    }
    // A pod that no profile of this scheduler serves is left alone.
    let mut steps = Steps::new(profiles(STICKY), vec![node("n1").cpu("4").pods(10).object()]);
    steps.put(with_mark(&pod("p").scheduler("another").cpu("1").on("n1").build(), "1"));
    assert!(steps.open.is_empty() && marked(&steps.pod("p")));
}

/// The identity of a pod that [`pod`] makes.
fn steps_key(name: &str) -> bayplan::model::PodKey {
    pod(name).build().key.clone()
}

#[test]
fn a_mark_that_is_set_again_after_its_work_is_removed_ever_more_slowly() {
    let mut steps = sticky();
    let proof = proof_of_binding(&steps);
    steps.serve();
    assert!(!marked(&steps.pod("p")));
    let before = annotations(&steps, "m");
    let mut pauses = Vec::new();
    for _ in 0..5 {
        // The machine is free again, so that the policy would write.
        steps.put(machine("m"));
        steps.put(with_mark(&steps.pod("p"), &proof));
        let began = steps.now;
        while steps.open.is_empty() {
            let next = steps.scheduler.next_wakeup().unwrap();
            steps.wait(next - steps.now);
        }
        pauses.push((steps.now - began).0 / 1_000_000);
        assert_eq!(steps.calls(), ["patch p"]);
        steps.serve();
        assert!(!marked(&steps.pod("p")) && annotations(&steps, "m") != before);
    }
    assert_eq!(pauses, [0, 1, 2, 4, 8]);
}

/// The next process has no memory of what was written; the pod has.
#[test]
fn a_mark_that_is_set_again_after_a_restart_is_removed_too() {
    let mut steps = sticky();
    let proof = proof_of_binding(&steps);
    steps.serve();
    assert_eq!(steps.pod("p").written_after_bind.as_ref(), [Symbol::new("sticky")]);
    // The pod as the API has it says so, whoever wrote it; and only a condition that holds.
    let condition = |kind: &str, status: &str| {
        let list = serde_json::json!([{"type": kind, "status": status}]);
        pod("q").set("status.conditions", list).build().written_after_bind.len()
    };
    assert_eq!((condition(MARK, "True"), condition(MARK, "False"), condition("sticky", "True")), (1, 0, 0));
    let written = steps.pod("p");
    let mut next = Steps::new(profiles(STICKY), Vec::new());
    next.server = steps.server;
    // It lists the objects as they are now.
    next.caught_up();
    next.put(node("n1").cpu("4").pods(10).object());
    next.put(machine("m"));
    // The mark is there when the process starts, and is set again later.
    next.put(with_mark(&written, &proof));
    for _ in 0..3 {
        while next.open.is_empty() {
            let wakeup = next.scheduler.next_wakeup().unwrap();
            next.wait(wakeup - next.now);
        }
        assert_eq!(next.calls(), ["patch p"]);
        assert_eq!(next.scheduler.marks_left().count(), 0);
        next.serve();
        assert!(!marked(&next.pod("p")));
        assert!(
            annotations(&next, "m").iter().all(|text| !text.contains("home")),
            "nothing is written again"
        );
        next.put(with_mark(&next.pod("p"), &proof));
    }
    // The mark of another policy is open.
    let mut other = Steps::new(profiles(&STICKY.replace("policy sticky", "policy other")), Vec::new());
    other.server = next.server;
    other.caught_up();
    other.put(node("n1").cpu("4").pods(10).object());
    other.put(machine("m"));
    let key = Symbol::new("after-bind.bayplan.dev/other");
    let value = MarkKey::fixed().proof(&written.key, &"n1".into(), "other");
    let change = MetadataChange {
        annotations: [(key, Some(value.as_str().into()))].into(),
        ..MetadataChange::default()
    };
    let pod = PodInfo { annotations: change.annotations_of(&written.annotations), ..(*written).clone() };
    other.put(Object::Pod(Arc::new(pod)));
    other.serve();
    assert!(annotations(&other, "m").iter().any(|text| text.contains("home")));
    let both = [Symbol::new("sticky"), Symbol::new("other")];
    assert_eq!(other.pod("p").written_after_bind.as_ref(), both);
}

/// A mark that the scheduler did not make is removed without a condition: of it nothing was written.
#[test]
fn the_removal_of_a_forged_mark_says_nothing_of_what_was_written() {
    let mut steps = Steps::new(profiles(STICKY), vec![node("n1").cpu("4").pods(10).object(), machine("m")]);
    let Object::Pod(there) = of_machine(pod("p").cpu("1").on("n1").build(), "m") else { panic!() };
    steps.put(with_mark(&there, "1"));
    steps.serve();
    assert!(!marked(&steps.pod("p")) && steps.pod("p").written_after_bind.is_empty());
}

#[test]
fn a_mark_that_somebody_removes_is_worked_off_by_the_leader_that_knows_it() {
    // Of its own binding, before the watch shows the pod and after.
    for seen in [false, true] {
        let mut steps = sticky();
        answer(&mut steps, None);
        if seen {
            steps.watch();
        }
        steps.put(without_mark(&steps.pod("p")));
        steps.serve();
        assert_eq!(annotations(&steps, "m")[0], "example.com/home=n1", "seen: {seen}");
        assert_eq!(steps.scheduler.marks_left().count(), 0);
    }
    // One that the leader found, between two tries.
    let mut steps = sticky();
    answer(&mut steps, None);
    let mut next = Steps::new(profiles(STICKY), Vec::new());
    next.server = steps.server;
    next.watch();
    assert_eq!(next.calls(), ["patch m"]);
    next.reply(Err(refused(403)));
    next.put(without_mark(&next.pod("p")));
    next.wait(Duration::from_seconds(1));
    next.serve();
    assert_eq!(annotations(&next, "m")[0], "example.com/home=n1");
    // An instance that does not lead leaves it to the one that does.
    let mut steps = sticky();
    answer(&mut steps, None);
    steps.watch();
    steps.reply(Err(refused(403)));
    steps.step(Input::Lead(false));
    steps.put(without_mark(&steps.pod("p")));
    steps.step(Input::Lead(true));
    steps.wait(Duration::from_seconds(600));
    assert!(steps.open.is_empty() && steps.scheduler.marks_left().count() == 0);
    // What was removed while it led is lost with its term, and counted.
    let mut steps = sticky();
    answer(&mut steps, None);
    steps.watch();
    steps.reply(Err(refused(403)));
    steps.put(without_mark(&steps.pod("p")));
    steps.step(Input::Lead(false));
    let given_up: Vec<_> = steps.scheduler.marks_given_up().map(|(_, why, count)| (why, count)).collect();
    assert_eq!(given_up, [("mark", 1)]);
}

#[test]
fn marks_of_others_wait_until_the_shared_key_is_known() {
    let key = |letter: u8| MarkKey::new(&[letter; 32]).unwrap();
    let start = |own: u8| {
        let options =
            Options { longest_wait: None, mark_keys: MarkKeys::of_process(key(own)), ..Options::default() };
        Steps::with_options(options, profiles(STICKY), Vec::new())
    };
    let mut first = start(b'a');
    let objects =
        [node("n1").cpu("4").pods(10).object(), machine("m"), of_machine(pod("p").cpu("1").build(), "m")];
    objects.into_iter().for_each(|object| first.put(object));
    first.step(Input::MarkKey(key(b's')));
    first.cycles();
    answer(&mut first, None);
    // The next process has another key of its own. It cannot judge the mark before it knows the shared one.
    let mut next = start(b'b');
    next.server = first.server;
    next.watch();
    next.put(with_mark(&pod("forged").cpu("1").on("n1").build(), "1"));
    next.wait(Duration::from_seconds(60));
    assert!(next.open.is_empty() && marked(&next.pod("p")) && marked(&next.pod("forged")));
    next.step(Input::MarkKey(key(b's')));
    next.serve();
    next.wait(Duration::from_seconds(1));
    next.serve();
    assert_eq!(annotations(&next, "m")[0], "example.com/home=n1");
    assert!(!marked(&next.pod("p")) && !marked(&next.pod("forged")));
}

#[test]
fn what_the_api_server_would_not_have_is_in_no_binding_and_in_no_patch() {
    const VALUE: &str = "pod.annotations[\"x\"]";
    let long = |verb: &str, block: &str, entries: &str| {
        format!("policy p {{ {block} {{ {verb} pod {{{entries}}} }} }}")
    };
    let one = &format!("\"example.com/x\": {VALUE}");
    let limit = 256 * 1024;
    let run = |policy: &str, of: PodMaker| {
        let objects = vec![node("n1").cpu("4").pods(10).object(), of.cpu("1").object()];
        let mut steps = Steps::new(profiles(policy), objects);
        steps.cycles();
        answer_status(&mut steps);
        steps
    };
    // Policies read values of at most 16 KiB: the others fill the pod up to room for twice the value and both keys.
    let full = (0..30).fold(pod("p"), |pod, at| pod.annotation(&format!("f{at:02}"), &"v".repeat(8_000)));
    let most = (limit - 30 * 8_003 - "x".len() - "example.com/x".len()) / 2;
    let filled = |value: usize| full.clone().annotation("x", &"v".repeat(value));
    let mut fits = run(&long("annotate", "reserve", one), filled(most));
    fits.serve();
    assert_eq!(fits.pod("p").node_name.as_deref(), Some("n1"));
    let steps = run(&long("annotate", "reserve", one), filled(most + 1));
    assert!(steps.open.is_empty() && steps.taken() == 0, "{:?}", steps.calls());
    let said = "its annotations would take 262146 bytes together, and the API server takes 262144";
    assert!(steps.events.iter().any(|event| event.contains(said)), "{:?}", steps.events);
    for block in ["before bind", "after bind"] {
        // Twenty times the longest value that is read.
        let much = vec![format!("({VALUE} ?? \"\")"); 4].join(" + ");
        let much: Vec<String> = (0..5).map(|at| format!("\"example.com/{at}\": {much}")).collect();
        let much = much.join(", ");
        let longest = "v".repeat(16 * 1024);
        for (verb, text, value) in
            [("label", &**one, "not a label"), ("label", one, &longest[..64]), ("annotate", &much, &longest)]
        {
            // No Binding takes a mark to a pod that is full.
            if (block, verb) == ("after bind", "annotate") {
                continue;
            }
            let mut steps = run(&long(verb, block, text), pod("p").annotation("x", value));
            if block == "after bind" {
                answer(&mut steps, None);
                steps.watch();
            }
            assert!(steps.open.is_empty(), "{block} {verb}: {:?}", steps.calls());
            assert!(
                steps.events.iter().any(|event| event.contains("writing to \"p\"")),
                "{:?}",
                steps.events
            );
        }
    }
}

/// The API server takes some annotations with certain values only, and copies those of a Binding without a look at them.
#[test]
fn annotations_of_pods_that_have_a_form_of_their_own_are_checked_before_they_are_sent() {
    let policy = |block: &str| {
        format!(
            "policy p {{ {block} {{ annotate pod {{\"controller.kubernetes.io/pod-deletion-cost\": \
             pod.annotations[\"cost\"]}} }} }}"
        )
    };
    let said = "controller.kubernetes.io/pod-deletion-cost is not a number of 32 bits";
    for block in ["reserve", "before bind", "after bind"] {
        for (value, taken) in [
            ("100", true),
            ("-3", true),
            ("0", true),
            ("cheap", false),
            ("007", false),
            ("4294967296", false),
        ] {
            let objects = vec![
                node("n1").cpu("4").pods(10).object(),
                pod("p").annotation("cost", value).cpu("1").object(),
            ];
            let mut steps = Steps::new(profiles(&policy(block)), objects);
            steps.cycles();
            steps.serve();
            let cost = steps
                .pod("p")
                .annotations
                .get("controller.kubernetes.io/pod-deletion-cost")
                .map(str::to_owned);
            assert_eq!(cost.as_deref(), Some(value).filter(|_| taken), "{block} {value}");
            let told = steps.events.iter().any(|event| event.contains(said));
            assert_eq!(told, !taken, "{block} {value}: {:?}", steps.events);
        }
    }
}

#[test]
fn marks_that_are_found_leave_the_api_server_to_bindings() {
    // Nothing is left to be written but the end of the mark.
    let policy =
        "policy sticky { after bind { label node {\"example.com/x\": \"y\"} when node.name == \"n2\" } }";
    let mut steps = Steps::new(profiles(policy), vec![node("n1").cpu("100").pods(200).object()]);
    let found = |at: usize| {
        let pod = pod(&format!("found-{at}")).cpu("10m").on("n1").build();
        with_mark(&pod, &MarkKey::fixed().proof(&pod.key, &"n1".into(), "sticky"))
    };
    let patches = |steps: &Steps| steps.calls().iter().filter(|call| call.starts_with("patch")).count();
    steps.put(pod("p").cpu("1").object());
    (0..50).for_each(|at| steps.put(found(at)));
    assert_eq!(patches(&steps), 1, "a pod waits for its attempt: {:?}", steps.calls());
    steps.cycles();
    answer(&mut steps, None);
    steps.watch();
    assert_eq!(steps.calls(), ["bind p n1"], "the next one waits while a binding is open");
    steps.wait(Duration::from_millis(9));
    assert_eq!(patches(&steps), 0);
    steps.wait(Duration::from_millis(1));
    assert_eq!(steps.calls(), ["bind p n1", "patch found-1"]);
    answer(&mut steps, None);
    assert!(
        steps.calls().contains(&"patch p".to_owned()),
        "its own mark is not put off: {:?}",
        steps.calls()
    );
    assert_eq!(patches(&steps), 32, "nothing else is to be done");
    steps.watch();
    steps.serve();
    assert_eq!(steps.scheduler.marks_left().count(), 0);
}

#[test]
fn an_instance_that_does_not_lead_writes_nothing() {
    let mut steps = sticky();
    steps.step(Input::Lead(false));
    answer(&mut steps, None);
    steps.watch();
    steps.wait(Duration::from_seconds(60));
    assert!(steps.open.is_empty(), "{:?}", steps.calls());
    steps.step(Input::Lead(true));
    assert_eq!(steps.calls(), ["patch m"]);
}

#[test]
fn the_writes_end_with_the_pod_the_policy_and_the_object() {
    // The pod.
    let mut steps = sticky();
    answer(&mut steps, None);
    steps.watch();
    steps.delete("p");
    steps.serve();
    assert_eq!(steps.scheduler.marks_left().count(), 0);
    let given_up: Vec<_> = steps.scheduler.marks_given_up().map(|(_, why, count)| (why, count)).collect();
    assert_eq!(given_up, [("pod", 1)]);
    // The policy, which comes back.
    let mut steps = sticky();
    answer(&mut steps, None);
    steps.watch();
    steps.reply(Err(refused(403)));
    steps.step(Input::Profiles(profiles("policy other { filter f { require node.ready else \"no\" } }")));
    steps.wait(Duration::from_seconds(600));
    assert!(steps.open.is_empty() && marked(&steps.pod("p")));
    let given_up: Vec<_> = steps.scheduler.marks_given_up().map(|(_, why, count)| (why, count)).collect();
    assert_eq!(given_up, [("policy", 1)]);
    steps.step(Input::Profiles(profiles(STICKY)));
    steps.serve();
    assert!(!marked(&steps.pod("p")) && annotations(&steps, "m")[0] == "example.com/home=n1");
    // The object: nothing is left to be written.
    let mut steps = sticky();
    assert!(steps.server.delete(&machine_key("m")));
    answer(&mut steps, None);
    steps.watch();
    steps.serve();
    steps.wait(Duration::from_seconds(1));
    steps.serve();
    assert!(!marked(&steps.pod("p")), "{:?}", steps.calls());
}

const BEFORE: &str = r#"
    policy ready {
      let vm = pod.owner("example.com/v1/Machine") missing reject "no machine"
      before bind {
        label node {"example.com/used": "yes"}
        annotate vm {"example.com/home": node.name} when !has(vm.annotations["example.com/home"])
      }
    }"#;

#[test]
fn each_write_before_the_binding_is_a_call_that_must_succeed() {
    let objects = || {
        let pod = of_machine(pod("p").cpu("1").build(), "m");
        vec![node("n1").cpu("4").pods(10).object(), machine("m"), pod]
    };
    let mut steps = Steps::new(profiles(BEFORE), objects());
    steps.cycles();
    answer_status(&mut steps);
    assert_eq!(steps.calls(), ["patch n1"], "one after the other");
    answer(&mut steps, None);
    assert_eq!(steps.calls(), ["patch m"]);
    // It may have happened: it is sent again.
    answer(&mut steps, Some(Fault::LoseAnswer));
    assert!(steps.open.is_empty());
    steps.wait(Duration::from_seconds(1));
    assert_eq!(steps.calls(), ["patch m"]);
    answer(&mut steps, None);
    assert_eq!(steps.calls(), ["bind p n1"]);
    steps.serve();
    assert!(annotations(&steps, "m").contains(&"example.com/home=n1".to_owned()));

    let mut steps = Steps::new(profiles(BEFORE), objects());
    steps.cycles();
    answer_status(&mut steps);
    assert_eq!(steps.taken(), 1_000);
    steps.reply(Err(refused(403)));
    assert_eq!(steps.taken(), 0, "the room is free again");
    let said = "ready/before bind: writing to \\\"n1\\\": no right to patch machines";
    assert!(
        steps.events.iter().any(|event| event.contains("no right to patch")),
        "{said}: {:?}",
        steps.events
    );
    steps.wait(Duration::from_seconds(30));
    steps.cycles();
    steps.serve();
    assert_eq!(steps.pod("p").node_name.as_deref(), Some("n1"), "tried again");
}

/// A policy whose writes are forgotten: its marks go at once.
struct Forgetful(Arc<dyn Plugin>);

impl Plugin for Forgetful {
    fn name(&self) -> &str {
        self.0.name()
    }
    fn reads(&self) -> Reads {
        self.0.reads()
    }
    fn pre_filter(&self) -> Option<&dyn PreFilter> {
        self.0.pre_filter()
    }
    fn post_bind(&self) -> Option<&dyn PostBind> {
        Some(self)
    }
    fn rule_plugin(&self) -> Option<&dyn RulePlugin> {
        Some(self)
    }
}

impl RulePlugin for Forgetful {
    fn after_bind(&self) -> Option<&dyn AfterBind> {
        Some(self)
    }
}

impl PostBind for Forgetful {
    fn post_bind(&self, _: &mut Actor, _: NodeId) {}
}

impl AfterBind for Forgetful {
    fn marks(&self, h: &Handle) -> bool {
        self.0.rule_plugin().and_then(|of| of.after_bind()).is_some_and(|point| point.marks(h))
    }
    fn writes(&self, _: &Handle, _: NodeId) -> Vec<Write> {
        Vec::new()
    }
}

struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % end
    }
}

/// A cluster in which everything fails now and then.
struct World {
    steps: Steps,
    profiles: Arc<Profiles>,
    random: Random,
    made: usize,
    leads: bool,
}

impl World {
    fn new(profiles: Arc<Profiles>, seed: u64) -> Self {
        let mut objects = vec![node("n1").cpu("9").pods(99).object(), node("n2").cpu("9").pods(99).object()];
        objects.extend((0..4).map(|at| machine(&format!("m{at}"))));
        let steps = Steps::new(profiles.clone(), objects);
        Self { steps, profiles, random: Random(seed), made: 0, leads: true }
    }

    /// What holds for every write when the server gets it.
    fn check(&self, call: &ApiCall) -> Result<(), String> {
        let ApiCall::Patch { of, body, .. } = call else { return Ok(()) };
        let pods = (0..self.made).filter_map(|at| self.steps.server.pod("default", &format!("p{at}")));
        if let PatchBody::MarkGone { mark, .. } = body {
            if mark.as_str() != MARK {
                return Err(format!("the pod loses {mark}"));
            }
            let mut pods = pods;
            let Some(pod) = pods.find(|pod| pod.uid == of.uid) else { return Ok(()) };
            let machine = &pod.owners[0].name;
            let there = self.steps.server.get(&machine_key(machine)).is_some();
            let home = annotations(&self.steps, machine).iter().any(|text| text.contains("home"));
            return match there && !home && marked(pod) {
                true => Err(format!("the mark of {} goes before its machine is written", pod.name)),
                false => Ok(()),
            };
        }
        let PatchBody::Metadata(change) = body else { return Ok(()) };
        if of.kind == Kind::Pod {
            return Err(format!("the pod gets {change:?}"));
        }
        let keys: Vec<_> = change.annotations.keys().map(|key| key.as_str()).collect();
        if keys != ["example.com/free", "example.com/home"] || !change.labels.is_empty() {
            return Err(format!("the machine gets {change:?}"));
        }
        let home = change.annotations[&Symbol::new("example.com/home")].clone();
        let bound = |pod: &&Arc<PodInfo>| {
            pod.owners[0].name == of.name && pod.node_name.as_deref() == home.as_deref()
        };
        // A pod that was deleted meanwhile was bound before.
        let may_be_gone = self.made > 0;
        let mut pods = pods;
        match pods.any(|pod| bound(&pod)) || may_be_gone && !self.alive(&of.name) {
            true => Ok(()),
            false => Err(format!("{} is written for no bound pod", of.name)),
        }
    }

    /// Whether all pods of a machine are there.
    fn alive(&self, machine: &Symbol) -> bool {
        let of = |at: &usize| *machine == format!("m{}", at % 4).as_str();
        let there = |at: usize| self.steps.server.pod("default", &format!("p{at}")).is_some();
        (0..self.made).filter(of).all(there)
    }

    fn answer_one(&mut self, faults: bool) -> Result<(), String> {
        let at = self.random.below(self.steps.open.len());
        let (ticket, call): (Ticket, ApiCall) = self.steps.open.remove(at);
        self.check(&call)?;
        let fault = match self.random.below(if faults { 9 } else { 1 }) {
            5 => Some(Fault::Refuse([403, 409, 422, 429][self.random.below(4)])),
            6 => Some(Fault::LoseAnswer),
            7 => Some(Fault::LoseCall),
            _ => None,
        };
        let answer = self.steps.server.answer(&call, self.steps.now, fault);
        self.steps.step(Input::Reply(ticket, answer));
        Ok(())
    }

    fn restart(&mut self) {
        // Calls on their way arrive or do not.
        for (_, call) in std::mem::take(&mut self.steps.open) {
            if self.random.below(2) == 0 {
                let _ = self.steps.server.answer(&call, self.steps.now, None);
            }
        }
        self.steps.scheduler = Scheduler::new(Options { longest_wait: None, ..Options::default() });
        self.steps.step(Input::Profiles(self.profiles.clone()));
        let kinds = [Kind::Node, Kind::LookedUp(kind()), Kind::Pod];
        for object in kinds.iter().flat_map(|kind| self.steps.server.list(kind)).collect::<Vec<_>>() {
            self.steps.step(Input::Upserted(object));
        }
        self.steps.caught_up();
        self.steps.step(Input::Synced);
        self.steps.step(Input::Lead(self.leads));
    }

    fn act(&mut self) -> Result<(), String> {
        match self.random.below(20) {
            0..=2 if self.made < 40 => {
                let machine = format!("m{}", self.made % 4);
                let pod = pod(&format!("p{}", self.made)).cpu("100m").build();
                self.made += 1;
                self.steps.server.put(of_machine(pod, &machine));
            }
            3 if self.made > 0 => {
                let name = format!("p{}", self.random.below(self.made));
                if let Some(pod) = self.steps.server.pod("default", &name).cloned() {
                    self.steps.server.delete(&Object::Pod(pod).key());
                }
            }
            4 if self.random.below(12) == 0 => {
                self.steps.server.delete(&machine_key(&format!("m{}", self.random.below(4))));
            }
            5 if self.random.below(4) == 0 => self.restart(),
            6 => {
                self.leads = self.random.below(3) > 0;
                self.steps.step(Input::Lead(self.leads));
            }
            7..=9 => self.steps.cycles(),
            10..=14 if !self.steps.open.is_empty() => self.answer_one(true)?,
            15 | 16 => self.steps.watch(),
            _ => self.steps.wait(Duration::from_millis(700)),
        }
        let mut open: Vec<&ObjectKey> = self.steps.open.iter().map(|(_, call)| call.object()).collect();
        open.sort();
        match open.windows(2).find(|pair| pair[0] == pair[1]) {
            Some(pair) => Err(format!("two calls about {} at once", pair[0].name)),
            None => Ok(()),
        }
    }

    /// Lets everything come to rest without faults.
    fn rest(&mut self) -> Result<(), String> {
        self.leads = true;
        self.steps.step(Input::Lead(true));
        for _ in 0..200 {
            self.steps.watch();
            self.steps.cycles();
            while !self.steps.open.is_empty() {
                self.answer_one(false)?;
                self.steps.watch();
            }
            self.steps.wait(Duration::from_seconds(10));
        }
        for at in 0..self.made {
            let Some(pod) = self.steps.server.pod("default", &format!("p{at}")) else { continue };
            let machine = &pod.owners[0].name;
            let there = self.steps.server.get(&machine_key(machine)).is_some();
            let home = annotations(&self.steps, machine).iter().any(|text| text.contains("home"));
            if pod.node_name.is_none() || marked(pod) || (there && !home) {
                return Err(format!("{}: bound {:?}, marked {}", pod.name, pod.node_name, marked(pod)));
            }
        }
        match self.steps.scheduler.marks_left().count() {
            0 => Ok(()),
            left => Err(format!("{left} marks are left")),
        }
    }

    fn run(profiles: &Arc<Profiles>, seed: u64) -> Result<(), String> {
        let mut world = World::new(profiles.clone(), seed);
        for _ in 0..400 {
            world.act().map_err(|error| format!("seed {seed}: {error}"))?;
        }
        world.rest().map_err(|error| format!("seed {seed}, at rest: {error}"))
    }
}

#[test]
fn every_write_happens_whatever_fails_and_none_before_its_binding() {
    let profiles = profiles(STICKY);
    let seeds = std::env::var("BAYPLAN_SEEDS").ok().and_then(|text| text.parse().ok()).unwrap_or(150);
    for seed in 0..seeds {
        World::run(&profiles, seed).unwrap();
    }
}

#[test]
fn a_mark_that_is_removed_too_early_is_caught() {
    let forgetful = plugins(&compile(STICKY), &ExemptPods::default())
        .into_iter()
        .map(|plugin| Arc::new(Forgetful(plugin)) as Arc<dyn Plugin>);
    let profiles = with(forgetful.collect());
    let caught = (0..10).filter(|seed| World::run(&profiles, *seed).is_err()).count();
    assert!(caught >= 9, "{caught} of 10 seeds");
}
