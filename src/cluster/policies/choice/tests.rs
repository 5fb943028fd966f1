//! Tests of the choice: which text of each object is in service, on toy policies.

use super::*;
use crate::policies::store::{Compile, Standing};
use crate::policies::verdict::{Texts, hash};

/// A text is `name` and words: `queue` orders the queue, `reads` needs something that may be
/// missing, `heavy` costs 60. Anything with `!` does not compile, and `?` makes the compiler panic.
fn store() -> Store<String> {
    let hold = |_: &str, texts: &Texts, standing: Standing| {
        let text = texts.values().next()?;
        let selects = text.strip_prefix("hold ");
        let text = selects.or((standing == Standing::Whole).then_some(text))?;
        let named = text.split(' ').next()?;
        let reads = if text.contains("blind") && standing != Standing::Whole { " reads" } else { "" };
        Some(Texts::from([("a.bay".to_owned(), format!("{named} held {standing:?}{reads}"))]))
    };
    let compile: Compile<String> = Box::new(|_, texts| {
        let mut policies = Vec::new();
        for (key, text) in texts {
            assert!(!text.contains('?'), "a mistake of the compiler");
            if text.contains('!') {
                return Err(vec![Problem {
                    code: "BP0001".into(),
                    key: key.clone(),
                    line: 1,
                    column: 2,
                    message: "no `!` here".into(),
                    help: String::new(),
                }]);
            }
            let text = text.trim_start_matches("hold ");
            let own = Texts::from([(key.clone(), text.to_owned())]);
            policies.push(Compiled {
                name: text.split(' ').next().unwrap_or_default().to_owned(),
                claims: text.ends_with(" queue").then(|| "orders the queue".to_owned()).into_iter().collect(),
                revision: hash(&own),
                texts: Arc::new(own),
                policy: text.to_owned(),
            });
        }
        Ok(policies)
    });
    Store::new(compile, Box::new(hold))
}

fn texts(text: &str) -> Texts {
    [("a.bay".to_owned(), text.to_owned())].into()
}

/// What the terms of a test vary.
#[derive(Default)]
struct World {
    readable: bool,
    suspended: Vec<&'static str>,
    pinned: Vec<(&'static str, &'static str)>,
    blocked: BTreeMap<ObjectName, (String, String)>,
}

fn choose(store: &Store<String>, world: &World) -> Service<String> {
    store.service(&Terms {
        unmet: &|policy| {
            (policy.contains("reads") && !world.readable).then(|| "reads namespaces; add a rule".to_owned())
        },
        overridden: &|object, compiled| {
            if world.suspended.contains(&compiled.name.as_str()) {
                let words = format!("`{}` is suspended", compiled.name);
                return Some((Override::Suspended(format!("{} off", compiled.name)), words));
            }
            let (_, older) = world.pinned.iter().find(|(name, _)| *name == compiled.name)?;
            let older = store.earlier(object, &compiled.name, &texts(older))?;
            Some((Override::Pinned(Box::new(older)), format!("`{}` is pinned", compiled.name)))
        },
        load: &|policy| Load {
            steps: if policy.contains("heavy") { 60 } else { 1 },
            expressions: 1,
            patterns: 0,
        },
        heaviest: &|_, _| String::from(", and in it `f`"),
        limit: Load { steps: 100, expressions: 1000, patterns: 0 },
        blocked: &world.blocked,
    })
}

/// Chooses and commits; returns what runs.
fn running(store: &mut Store<String>, world: &World) -> Vec<String> {
    let mut service = choose(store, world);
    while store.compile_again(&service) {
        service = choose(store, world);
    }
    store.commit(&service);
    service.policies.into_iter().map(|it| it.compiled.policy).collect()
}

fn plain(store: &mut Store<String>) -> Vec<String> {
    running(store, &World { readable: true, ..World::default() })
}

fn verdict(store: &Store<String>, world: &World, name: &str) -> Verdict {
    choose(store, world).verdicts[name].clone()
}

fn put(store: &mut Store<String>, name: &str, age: &str, text: &str) -> bool {
    store.put(name, age, texts(text), |_| Vec::new())
}

#[test]
fn a_broken_text_keeps_the_last_good_one_and_others_go_on() {
    let mut store = store();
    assert!(put(&mut store, "n/a", "1", "one v1") && put(&mut store, "n/b", "2", "two v1"));
    assert_eq!(plain(&mut store), ["one v1", "two v1"]);
    assert!(store.put("n/a", "1", texts("one v2 !"), |_| panic!("an older text is known")));
    put(&mut store, "n/b", "2", "two v2");
    assert_eq!(plain(&mut store), ["one v1", "two v2"]);
    let service = choose(&store, &World::default());
    let Verdict::Refused { problems, instead, .. } = &service.verdicts["n/a"] else { panic!() };
    assert_eq!(problems[0].to_string(), "a.bay:1:2: no `!` here [BP0001]");
    assert_eq!(instead.as_ref(), service.chosen.get("n/a"));
    assert_eq!(service.verdicts["n/b"], Verdict::Serving);
    assert!(!put(&mut store, "n/a", "1", "one v2 !"), "nothing changed");
    assert!(put(&mut store, "n/a", "1", "one v3"));
    assert_eq!(plain(&mut store), ["one v3", "two v2"]);
    assert!(store.remove("n/b") && !store.remove("n/b"));
    assert_eq!(plain(&mut store), ["one v3"]);
}

#[test]
fn a_panic_of_the_compiler_refuses_one_object() {
    let mut store = store();
    put(&mut store, "n/a", "1", "one v1");
    put(&mut store, "n/b", "2", "two v1");
    plain(&mut store);
    put(&mut store, "n/a", "1", "one ?");
    assert_eq!(plain(&mut store), ["one v1", "two v1"]);
    let Verdict::Refused { problems, .. } = verdict(&store, &World::default(), "n/a") else { panic!() };
    assert_eq!(problems[0].message, "the compiler panicked: a mistake of the compiler");
}

#[test]
fn after_a_restart_the_history_serves_policy_by_policy() {
    let mut store = store();
    let kept = |name: &str, text: &str| (name.to_owned(), texts(text));
    store.put("n/a", "1", texts("one !"), |_| vec![kept("one", "one v1")]);
    assert_eq!(plain(&mut store), ["one v1"]);
    assert_eq!(verdict(&store, &World::default(), "n/a").word(), "Refused");
    store.put("n/b", "2", texts("two !"), |_| vec![kept("two", "two ! too"), kept("three", "other v1")]);
    assert_eq!(plain(&mut store), ["one v1"], "only the policy of that name, if its text compiles");
}

#[test]
fn a_stand_in_never_takes_precedence() {
    let mut store = store();
    put(&mut store, "n/a", "1", "hold one !");
    put(&mut store, "n/b", "2", "hold two !");
    put(&mut store, "n/c", "3", "two v1");
    assert_eq!(plain(&mut store), ["two v1", "one held Broken"]);
    let holds = |store: &Store<String>, name: &str| match verdict(store, &World::default(), name) {
        Verdict::Refused { holds, instead, .. } => (holds, instead),
        other => panic!("{other:?}"),
    };
    assert_eq!(holds(&store, "n/a"), (vec!["one".to_owned()], None));
    assert_eq!(holds(&store, "n/b"), (Vec::new(), None), "a younger object has that policy, and it compiles");
    // The first text that compiles ends it for good.
    put(&mut store, "n/a", "1", "one v1");
    plain(&mut store);
    put(&mut store, "n/a", "1", "hold one !!");
    assert_eq!(plain(&mut store), ["one v1", "two v1"]);
}

#[test]
fn of_two_namesakes_the_older_object_serves_until_it_is_deleted() {
    let mut store = store();
    put(&mut store, "n/new", "2", "same v2");
    put(&mut store, "n/old", "1", "same v1");
    assert_eq!(plain(&mut store), ["same v1"]);
    assert_eq!(verdict(&store, &World::default(), "n/new").word(), "Waiting");
    store.remove("n/old");
    assert_eq!(plain(&mut store), ["same v2"]);
    put(&mut store, "n/q1", "3", "q1 queue");
    put(&mut store, "n/q2", "4", "q2 queue");
    assert_eq!(plain(&mut store), ["same v2", "q1 queue"]);
    let Verdict::Waiting { why } = verdict(&store, &World::default(), "n/q2") else { panic!() };
    assert_eq!(why, "policy `q1` of `n/q1` already orders the queue");
}

#[test]
fn a_new_broken_namesake_takes_over_the_text_of_the_deleted_object() {
    let mut store = store();
    put(&mut store, "n/half-1", "1", "half v1");
    store.put("n/half-2", "2", texts("half ! v2"), |_| vec![("half".to_owned(), texts("half v1"))]);
    assert_eq!(plain(&mut store), ["half v1"]);
    store.remove("n/half-1");
    assert_eq!(plain(&mut store), ["half v1"]);
    assert_eq!(choose(&store, &World::default()).policies[0].object, "n/half-2");
}

#[test]
fn one_that_waits_for_a_right_holds_up_nobody_else() {
    let mut store = store();
    let blind = World::default();
    put(&mut store, "n/a", "1", "one v1");
    put(&mut store, "n/b", "2", "two v1");
    running(&mut store, &blind);
    // It keeps its own text, and the other one changes.
    put(&mut store, "n/a", "1", "one v2 reads");
    put(&mut store, "n/b", "2", "two v2");
    assert_eq!(running(&mut store, &blind), ["one v1", "two v2"]);
    let Verdict::Waiting { why } = verdict(&store, &blind, "n/a") else { panic!() };
    assert!(why.starts_with("policy `one` reads namespaces; add a rule; revision "), "{why}");
    // Without an earlier text its pods wait, as far as a stand-in can be made.
    put(&mut store, "n/c", "3", "hold three reads");
    put(&mut store, "n/d", "4", "four reads");
    assert_eq!(running(&mut store, &blind), ["one v1", "two v2", "three held Waits"]);
    let Verdict::Waiting { why } = verdict(&store, &blind, "n/c") else { panic!() };
    assert!(why.ends_with("; the pods of three wait"), "{why}");
    // With the right all of them serve.
    assert_eq!(plain(&mut store), ["one v2 reads", "two v2", "three reads", "four reads"]);
    let readable = World { readable: true, ..World::default() };
    assert!(choose(&store, &readable).verdicts.values().all(|it| *it == Verdict::Serving));
    // If the right is lost, their pods wait: all pods, where the text does not say which.
    let held = ["two v2", "one held Whole", "three held Waits", "four held Whole"];
    assert_eq!(running(&mut store, &blind), held);
    assert_eq!(plain(&mut store), ["one v2 reads", "two v2", "three reads", "four reads"]);
}

#[test]
fn after_a_restart_a_policy_without_its_objects_holds_its_pods_whatever_the_history() {
    let kept = |name: &str, text: &str| vec![(name.to_owned(), texts(text))];
    for (present, earlier, runs) in [
        // The text that served before the restart, and others, lack the objects too.
        ("hold one reads", "hold one reads", "one held Waits"),
        ("hold one v2 reads", "hold one v1 reads", "one held Waits"),
        ("one v2 reads", "hold one v1 reads", "one held Waits"),
        ("one reads", "one reads", "one held Whole"),
        // A stand-in that lacks objects itself.
        ("hold one reads blind", "hold one reads blind", "one held Whole"),
        // A broken text over one that lacks the objects.
        ("one !", "hold one v1 reads", "one held Waits"),
        ("one !", "one v1 reads", "one held Whole"),
        ("hold one !", "one v1 reads", "one held Broken"),
        // The earlier text has what it reads.
        ("hold one v2 reads", "one v1", "one v1"),
    ] {
        let mut store = store();
        store.put("n/a", "1", texts(present), |_| kept("one", earlier));
        assert_eq!(running(&mut store, &World::default()), [runs], "{present} after {earlier}");
        let serves = if present.contains('!') { earlier } else { present };
        assert_eq!(plain(&mut store), [serves.trim_start_matches("hold ")], "{present} after {earlier}");
    }
    // Without a history a policy that does not say which pods it is about holds none, unless it is a file.
    for (age, runs) in [("1", vec![]), ("", vec!["one held Whole"])] {
        let mut store = store();
        put(&mut store, "n/a", age, "one reads");
        assert_eq!(running(&mut store, &World::default()), runs);
    }
}

#[test]
fn the_newest_beyond_the_limits_is_refused() {
    let mut store = store();
    put(&mut store, "n/new", "8", "new heavy");
    put(&mut store, "n/old", "1", "old heavy");
    put(&mut store, "n/last", "9", "last v1");
    assert_eq!(plain(&mut store), ["old heavy", "last v1"]);
    let Verdict::Refused { problems, .. } = verdict(&store, &World::default(), "n/new") else { panic!() };
    let said = "with the policies of `n/new` all policies together have 120 steps for one pod, and at most 100 are \
                possible; of this object policy `new` costs most, and in it `f`";
    assert_eq!(problems[0].message, said);
    let kept = |store: &Store<String>| store.policies().any(|it| it.policy == "new heavy");
    assert!(!kept(&store), "what is refused is not kept compiled");
    put(&mut store, "n/last", "9", "last v2");
    assert_eq!(plain(&mut store), ["old heavy", "last v2"]);
    assert!(!kept(&store) && !put(&mut store, "n/new", "8", "new heavy"));
    put(&mut store, "n/last", "9", "last v1");
    store.remove("n/old");
    assert_eq!(plain(&mut store), ["new heavy", "last v1"]);
}

#[test]
fn overrides_change_one_policy_and_end_without_a_trace() {
    let mut store = store();
    put(&mut store, "n/a", "1", "one v2 reads");
    put(&mut store, "n/b", "2", "two v2");
    let off = World { suspended: vec!["one"], pinned: vec![("two", "two v1")], ..World::default() };
    let service = choose(&store, &off);
    let origins: Vec<Origin> = service.policies.iter().map(|it| it.origin).collect();
    assert_eq!(origins, [Origin::Suspended, Origin::Pinned]);
    assert_eq!(running(&mut store, &off), ["one off", "two v1"], "a suspended policy needs nothing");
    assert_eq!(verdict(&store, &off, "n/a"), Verdict::Overridden { why: "`one` is suspended".into() });
    assert_eq!(plain(&mut store), ["one v2 reads", "two v2"]);
}

#[test]
fn a_text_without_profiles_leaves_its_object_with_the_earlier_text() {
    let mut store = store();
    put(&mut store, "n/a", "1", "one v1");
    plain(&mut store);
    put(&mut store, "n/a", "1", "one v2");
    put(&mut store, "n/b", "2", "two v1");
    let chosen = choose(&store, &World::default());
    assert_eq!(store.newcomers(&chosen), ["n/b", "n/a"]);
    let world = World {
        blocked: [("n/a".to_owned(), (chosen.chosen["n/a"].clone(), "no".to_owned()))].into(),
        ..World::default()
    };
    assert_eq!(running(&mut store, &world), ["one v1", "two v1"]);
    assert_eq!(verdict(&store, &world, "n/a").word(), "Waiting");
}

#[test]
fn an_object_for_exceptions_has_no_policies() {
    let mut store = store();
    put(&mut store, "n/a", "5", "one v1");
    store.for_exceptions("n/x", true);
    // The object is older, and compiles; its first text is refused, and it gets no stand-in.
    put(&mut store, "n/x", "1", "hold evil v1");
    assert_eq!(plain(&mut store), ["one v1"]);
    let Verdict::Refused { problems, instead: None, holds } = verdict(&store, &World::default(), "n/x")
    else {
        panic!("{:?}", verdict(&store, &World::default(), "n/x"))
    };
    let said = "`n/x` may hold exceptions alone, and has policy `evil`; its label `bayplan.dev/policy` has the value \
                `exceptions`: write the policy into another object";
    assert_eq!((problems[0].to_string().as_str(), holds.len()), (said, 0));
    // Nor does a history of another object's policy serve it.
    store.remove("n/x");
    store.for_exceptions("n/x", true);
    store.put("n/x", "1", texts("two v2"), |_| panic!("no policy of it ever served"));
    assert_eq!(plain(&mut store), ["one v1"]);
    // What served before the label changed serves no more, and serves again when it changes back.
    assert!(store.for_exceptions("n/a", true) && !store.for_exceptions("n/a", true));
    assert_eq!(plain(&mut store), [""; 0]);
    assert!(store.for_exceptions("n/a", false));
    assert_eq!(plain(&mut store), ["one v1"]);
}

#[test]
fn of_two_objects_with_one_policy_the_one_in_service_stays() {
    let mut store = store();
    put(&mut store, "n/b", "5", "one v1");
    assert_eq!(plain(&mut store), ["one v1"]);
    // An older object takes neither its place nor what only one policy may do.
    put(&mut store, "n/a", "1", "one empty");
    put(&mut store, "n/c", "6", "sorts queue");
    assert_eq!(plain(&mut store), ["one v1", "sorts queue"]);
    put(&mut store, "n/0", "0", "other queue");
    assert_eq!(plain(&mut store), ["one v1", "sorts queue"]);
    let why = |store: &Store<String>, name: &str| match verdict(store, &World::default(), name) {
        Verdict::Waiting { why } => why,
        other => panic!("{other:?}"),
    };
    assert_eq!(why(&store, "n/a"), "policy `one` is that of the object `n/b`");
    assert_eq!(why(&store, "n/0"), "policy `sorts` of `n/c` already orders the queue");
    // Nor while the one in service has a mistake, or waits for what it reads.
    put(&mut store, "n/b", "5", "one !");
    assert_eq!(plain(&mut store), ["one v1", "sorts queue"]);
    // After a restart the history tells the object.
    let restarted = |owner: &str| {
        let mut store = self::store();
        store.set_owners([("one".to_owned(), owner.to_owned())].into());
        put(&mut store, "n/a", "1", "one empty");
        put(&mut store, "n/b", "5", "one v1 reads");
        store
    };
    let mut next = restarted("n/b");
    assert_eq!(
        running(&mut next, &World::default()),
        [""; 0],
        "its own object waits, and no other takes its place"
    );
    assert_eq!(plain(&mut next), ["one v1 reads"]);
    // An object that is gone, or has the policy no more, keeps nothing.
    assert_eq!(plain(&mut restarted("n/gone")), ["one empty"]);
    put(&mut next, "n/b", "5", "renamed v1");
    assert_eq!(plain(&mut next), ["one empty", "renamed v1"]);
    store.remove("n/b");
    assert_eq!(plain(&mut store), ["one empty", "sorts queue"]);
}
