//! What the scheduler keeps for pods that wait and bindings that run, and when it lets go of it.

use crate::support::plugins::{Explosive, Fragile, Reserved, Reserver, basics, framework, reserved};
use crate::support::policies::NOW;
use bayplan::framework::{Answer, Instances, Plugin, Profile, Ticket};
use bayplan::model::{Object, ObjectKey, Symbol, Time};
use bayplan::scheduler::{Decision, Effect, Input, Options, Profiles, Scheduler};
use bayplan::testing::{node, object_of, pod};
use serde_json::json;
use std::collections::BTreeSet;
use std::sync::Arc;

/// A scheduler with its clock; calls stay open until they are answered.
struct Run {
    scheduler: Scheduler,
    now: Time,
    open: Vec<Ticket>,
    effects: Vec<Effect>,
}

impl Run {
    fn new(framework: Arc<bayplan::framework::Framework>) -> Self {
        let options = Options { longest_wait: None, ..Options::default() };
        let mut run =
            Self { scheduler: Scheduler::new(options), now: NOW, open: Vec::new(), effects: Vec::new() };
        run.step(Input::Profiles(Arc::new(Profiles { frameworks: vec![framework], revision: 1 })));
        run.step(Input::Lead(true));
        run.step(Input::Synced);
        run
    }

    fn step(&mut self, input: Input) {
        let mut out = Vec::new();
        self.scheduler.step(input, self.now, &mut out);
        self.open.extend(out.iter().filter_map(|effect| match effect {
            Effect::Call(ticket, _) => Some(*ticket),
            _ => None,
        }));
        self.effects.extend(out);
    }

    fn see(&mut self, object: Object) -> ObjectKey {
        let key = object.key();
        self.step(Input::Upserted(object));
        key
    }

    /// Label columns that pods hold; plugins hold those of the keys that they read for every pod.
    fn wanted(&self) -> usize {
        let plugins = self.scheduler.profiles().frameworks.iter().flat_map(|framework| framework.plugins());
        let of_plugins: BTreeSet<Symbol> = plugins.flat_map(|plugin| plugin.reads().label_keys).collect();
        self.scheduler.snapshot().kept().columns.wanted_labels - of_plugins.len()
    }
}

fn default_profile() -> Arc<bayplan::framework::Framework> {
    let registry = bayplan::plugins::registry();
    Arc::new(Profile::new("default-scheduler").build(&registry, &mut Instances::default()).unwrap())
}

#[test]
fn only_pods_of_our_profiles_that_wait_for_a_node_hold_label_columns() {
    let mut run = Run::new(default_profile());
    run.see(node("n1").cpu("4").memory("8Gi").label("disk", "ssd").object());
    let selecting =
        |name: &str, key: &str| pod(name).cpu("1").set("spec.nodeSelector", json!({ key: "ssd" }));
    run.see(selecting("foreign", "theirs").scheduler("other").object());
    run.see(selecting("bound", "past").on("n1").object());
    assert_eq!(run.wanted(), 0);
    let ours = run.see(selecting("ours", "disk").object());
    let also = run.see(selecting("also", "disk").object());
    let stuck = run.see(selecting("stuck", "absent").object());
    let column = |run: &Run, key: &str| run.scheduler.snapshot().columns().label(&Symbol::new(key)).is_some();
    assert_eq!(run.wanted(), 2);
    assert!(
        column(&run, "disk") && column(&run, "absent") && !column(&run, "theirs") && !column(&run, "past")
    );
    // An update names another key.
    run.see(selecting("stuck", "other").object());
    assert!(run.wanted() == 2 && column(&run, "other"));
    run.step(Input::Deleted(stuck));
    assert_eq!((run.wanted(), run.scheduler.pods_with_wants()), (1, 2));
    // Being bound it holds its column until the watch shows it on its node.
    run.step(Input::Cycle);
    assert_eq!((run.open.len(), run.wanted()), (1, 1));
    run.see(selecting("ours", "disk").on("n1").object());
    run.step(Input::Deleted(also));
    assert_eq!((run.wanted(), run.scheduler.pods_with_wants()), (0, 0));
    run.step(Input::Deleted(ours));
    // Without its profile a pod is another scheduler's.
    run.see(selecting("late", "disk").object());
    assert_eq!(run.wanted(), 1);
    run.step(Input::Profiles(Arc::default()));
    assert_eq!(run.wanted(), 0);
}

#[test]
fn a_service_that_comes_after_the_pod_is_counted_from_the_next_attempt() {
    let mut run = Run::new(default_profile());
    run.see(node("n1").cpu("4").memory("8Gi").label("kubernetes.io/hostname", "n1").object());
    let counted = |run: &Run| run.scheduler.snapshot().kept().wanted_matches;
    let service = json!({ "apiVersion": "v1", "kind": "Service", "metadata": { "name": "web", "namespace": "default" },
        "spec": { "selector": { "app": "web" } } });
    for name in ["one", "two"] {
        run.see(pod(name).cpu("100m").label("app", "web").object());
    }
    run.step(Input::Cycle);
    assert_eq!(counted(&run), 0, "no Service selects the pod");
    run.see(object_of(service));
    assert_eq!(counted(&run), 0);
    run.step(Input::Cycle);
    assert_eq!(counted(&run), 1);
    let bound = run.open.len();
    assert_eq!(bound, 2);
    for name in ["one", "two"] {
        run.see(pod(name).cpu("100m").label("app", "web").on("n1").object());
    }
    assert_eq!(counted(&run), 0);
}

#[test]
fn an_open_bind_keeps_the_row_of_its_node() {
    let plugins: Vec<Arc<dyn Plugin>> =
        basics().into_iter().chain([Arc::new(Reserver("r")) as Arc<dyn Plugin>]).collect();
    let mut run = Run::new(framework("default-scheduler", plugins));
    let old = run.see(node("old").cpu("1").object());
    let web = run.see(pod("web").cpu("1").object());
    run.step(Input::Cycle);
    assert_eq!(run.open.len(), 1, "the bind is out");
    let row = run.scheduler.bindings()[0].row;
    run.step(Input::Deleted(web));
    run.step(Input::Deleted(old));
    run.see(node("new").cpu("1").object());
    let snapshot = run.scheduler.snapshot();
    assert_ne!(snapshot.node_by_name(&Symbol::new("new")), Some(row), "Unreserve would act on another node");
    assert_eq!(snapshot.node(row).unwrap().name().as_str(), "old");
    run.step(Input::Reply(run.open[0], Ok(Answer::Done)));
    assert!(run.scheduler.bindings().is_empty());
    let snapshot = run.scheduler.snapshot();
    assert!(snapshot.index::<Reserved>(&reserved()).unwrap().now.values().all(|count| *count == 0));
    assert_eq!((snapshot.kept().pinned, snapshot.kept().rows), (0, 1), "the row is free again");
}

#[test]
fn a_plugin_without_its_index_answers_error_until_a_reload() {
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let profile = || {
        let plugins = basics().into_iter().chain([Arc::new(Fragile) as Arc<dyn Plugin>]);
        framework("default-scheduler", plugins.collect())
    };
    let mut run = Run::new(profile());
    run.see(node("n1").cpu("4").object());
    let [one, two] = ["one", "two"].map(|name| pod(name).gate("wait").label("explosive", "yes"));
    let one = run.see(one.object());
    assert!(run.scheduler.snapshot().index::<Explosive>(&Explosive::key()).is_some(), "it was rebuilt");
    let two = run.see(two.object());
    run.see(pod("web").cpu("1").object());
    run.step(Input::Cycle);
    let message = run.effects.iter().find_map(|effect| match effect {
        Effect::Decided(record) => match &record.decision {
            Decision::Error { message } => Some(message.clone()),
            _ => None,
        },
        _ => None,
    });
    assert_eq!(
        message.as_deref(),
        Some(
            "running PreFilter plugin \"Fragile\": index \"explosive\": the index panicked twice and is out of use \
             until the next reload"
        )
    );
    run.step(Input::Deleted(one));
    run.step(Input::Deleted(two));
    run.step(Input::Profiles(Arc::new(Profiles { frameworks: vec![profile()], revision: 2 })));
    run.now = run.now + bayplan::model::Duration::from_seconds(60);
    run.step(Input::Tick);
    run.step(Input::Cycle);
    assert_eq!(run.scheduler.bindings().len(), 1, "the pod is placed");
    std::panic::set_hook(hook);
}
