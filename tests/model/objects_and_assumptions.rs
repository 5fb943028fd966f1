//! Objects of the kinds that the core handles by the table alone: what readers of the snapshot see, what pods that are
//! being bound assume, and the index of selectors, each against its definition over everything that happened.

use bayplan::model::{
    Change, Delta, Feeds, Generation, Index, IndexKey, Kind, Kinds, Labels, Moved, Moves, Object, ObjectKey,
    PodDisruptionBudget, PodInfo, PodKey, Selects, Service, Snapshot, Symbol, Typed, downcast,
};
use bayplan::testing::{object_of, pod};
use proptest::prelude::*;
use serde_json::json;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A random change; versions grow with the steps.
#[derive(Clone, Debug)]
enum Step {
    /// A Service is seen with this UID and one of a few selectors.
    See {
        name: u8,
        uid: u8,
        app: u8,
    },
    Gone {
        name: u8,
        uid: u8,
    },
    Assume {
        name: u8,
        uid: u8,
        app: u8,
        by: u8,
    },
    /// The write of it returned the version of a step that is this far ahead; 0 is an old one.
    Written {
        name: u8,
        by: u8,
        ahead: u8,
    },
    Unassume {
        name: u8,
        by: u8,
    },
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let (name, uid, app, by) = (0..3u8, 0..5u8, 0..4u8, 0..3u8);
    // The first UID is common, so that most changes concern an object that is known.
    let uid = uid.prop_map(|uid| uid / 4);
    let step = prop_oneof![
        5 => (name.clone(), uid.clone(), app.clone()).prop_map(|(name, uid, app)| Step::See { name, uid, app }),
        1 => (name.clone(), uid.clone()).prop_map(|(name, uid)| Step::Gone { name, uid }),
        4 => (name.clone(), uid, app, by.clone())
            .prop_map(|(name, uid, app, by)| Step::Assume { name, uid, app, by }),
        3 => (name.clone(), by.clone(), 0..6u8).prop_map(|(name, by, ahead)| Step::Written { name, by, ahead }),
        1 => (name, by).prop_map(|(name, by)| Step::Unassume { name, by }),
    ];
    proptest::collection::vec(step, 0..60)
}

fn service(name: u8, uid: u8, app: u8, version: usize) -> Arc<Service> {
    let selector = match app {
        0 => json!(null),
        1 => json!({"app": "one"}),
        2 => json!({"app": "two", "tier": "web"}),
        _ => json!({"tier": "web"}),
    };
    let name = format!("s{name}");
    let value = json!({
        "apiVersion": "v1", "kind": "Service", "spec": {"selector": selector},
        "metadata": {"name": name, "namespace": "shop", "uid": format!("u{uid}"), "resourceVersion": version.to_string()},
    });
    let Object::Other(object) = object_of(value) else { panic!("a Service") };
    Arc::new(downcast::<Service>(object.as_ref()).unwrap().clone())
}

fn by(pod: u8) -> PodKey {
    PodKey(Symbol::new(&format!("pod-{pod}")))
}

fn key(name: u8, uid: Option<u8>) -> ObjectKey {
    ObjectKey {
        kind: Kind::Service,
        namespace: "shop".into(),
        name: Symbol::new(&format!("s{name}")),
        uid: uid.map(|uid| Symbol::new(&format!("u{uid}"))).unwrap_or_default(),
    }
}

fn change(step: &Step, at: usize) -> Change {
    match step {
        Step::See { name, uid, app } => Change::ObjectSeen { object: service(*name, *uid, *app, at) },
        Step::Gone { name, uid } => Change::ObjectGone { key: key(*name, Some(*uid)) },
        Step::Assume { name, uid, app, by: pod } => {
            let with = service(*name, *uid, *app, at);
            Change::Assumed { key: key(*name, Some(*uid)), with, by: by(*pod) }
        }
        Step::Written { name, by: pod, ahead } => {
            let version = match ahead {
                0 => at.saturating_sub(5),
                ahead => at + usize::from(*ahead),
            };
            let version = version.to_string().into();
            Change::AssumedWritten { key: key(*name, None), by: by(*pod), version }
        }
        Step::Unassume { name, by: pod } => Change::Unassumed { key: key(*name, None), by: by(*pod) },
    }
}

/// The definition: what readers see of an object, and who assumes something about it, by what happened until now.
fn definition(history: &[Change], name: u8) -> (Option<Arc<Service>>, Vec<PodKey>) {
    let name = key(name, None).name;
    // The object after the first `until` changes; the end of another one of its name changes nothing.
    let alive = |until: usize| -> Option<Arc<Service>> {
        let mut seen: Option<Arc<Service>> = None;
        for change in &history[..until] {
            match change {
                Change::ObjectSeen { object } if object.key().name == name => {
                    seen = downcast::<Service>(object.as_ref()).map(|of| Arc::new(of.clone()));
                }
                Change::ObjectGone { key } if key.name == name => {
                    seen = seen.filter(|of| of.metadata.uid != key.uid);
                }
                _ => {}
            }
        }
        seen
    };
    let Some(seen) = alive(history.len()) else { return (None, Vec::new()) };
    // The life of this object began after the last moment at which it was not there.
    let is_there = |until: &usize| alive(*until).is_some_and(|of| of.metadata.uid == seen.metadata.uid);
    let born = (0..=history.len()).rev().find(|until| !is_there(until)).map_or(0, |until| until + 1);
    let version = |of: &Service| of.metadata.version.parse::<usize>().unwrap();
    let mut assumed: Vec<(usize, PodKey, Arc<Service>)> = Vec::new();
    for (at, change) in history.iter().enumerate().filter(|(at, _)| *at >= born) {
        let Change::Assumed { key, with, by } = change else { continue };
        if key.name != name || key.uid != seen.metadata.uid {
            continue;
        }
        let later = &history[at + 1..];
        let replaced = later.iter().any(|change| match change {
            Change::Assumed { key: other, by: pod, .. } => other == key && pod == by,
            Change::Unassumed { key, by: pod } => key.name == name && pod == by,
            _ => false,
        });
        let written = |until: usize| -> Option<usize> {
            history[at..until].iter().rev().find_map(|change| match change {
                Change::AssumedWritten { key, by: pod, version } if key.name == name && pod == by => {
                    Some(version.parse().unwrap())
                }
                _ => None,
            })
        };
        let over = (at..=history.len()).any(|until| {
            written(until).zip(alive(until)).is_some_and(|(written, seen)| version(&seen) >= written)
        });
        if !replaced && !over {
            let with = downcast::<Service>(with.as_ref()).unwrap();
            assumed.push((at, by.clone(), Arc::new(with.clone())));
        }
    }
    let shown = assumed.last().map_or(seen, |(_, _, with)| with.clone());
    (Some(shown), assumed.into_iter().map(|(_, by, _)| by).collect())
}

/// Names of Services with their selectors, fed by deltas.
#[derive(Clone, PartialEq, Debug, Default)]
struct Mirror(BTreeMap<Symbol, Labels>);

impl Index for Mirror {
    fn feeds(&self) -> Feeds {
        Feeds::OBJECTS
    }
    fn apply(&mut self, delta: &Delta<'_>, _: &Snapshot, _: &mut Moves) {
        let object = delta.object.as_ref().unwrap();
        let known = object.before.as_ref().map(|before| self.0.remove(&before.key().name));
        assert!(known != Some(None), "the index knew it");
        if let Some(after) = &object.after {
            let after = downcast::<Service>(after.as_ref()).unwrap();
            self.0.insert(after.metadata.name.clone(), after.selector.clone());
        }
    }
    fn rebuild(&mut self, snapshot: &Snapshot) {
        let all = snapshot.objects::<Service>();
        self.0 = all.map(|of| (of.metadata.name.clone(), of.selector.clone())).collect();
    }
    fn fork(&self) -> Box<dyn Index> {
        Box::new(self.clone())
    }
}

fn records(snapshot: &Snapshot, since: Generation) -> Vec<(Moved, Kinds)> {
    snapshot.changes_since(since).unwrap().map(|record| (record.what, record.kinds)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 2 } else { 400 }))]
    #[test]
    fn readers_see_objects_with_assumptions_as_they_are_defined(steps in steps()) {
        let index = IndexKey("mirror".into());
        let mut snapshot = Snapshot::default();
        snapshot.add_index(index.clone(), Box::new(Mirror::default()));
        let mut history = Vec::new();
        let mut fork: Option<(Snapshot, Vec<Service>)> = None;
        for (at, step) in steps.iter().enumerate() {
            let change = change(step, at + 10);
            let before: Vec<Service> = snapshot.objects().map(|of: &Arc<Service>| (**of).clone()).collect();
            let since = snapshot.generation();
            history.push(change.clone());
            snapshot.apply(change);
            let after: Vec<Service> = snapshot.objects().map(|of: &Arc<Service>| (**of).clone()).collect();
            let mut assumptions = 0;
            for name in 0..3 {
                let (shown, assumed) = definition(&history, name);
                let ours = snapshot.object::<Service>(&"shop".into(), &key(name, None).name);
                prop_assert_eq!(ours, shown.as_ref(), "{:?}", history);
                prop_assert_eq!(ours.map(|of| &of.metadata.version), shown.as_ref().map(|of| &of.metadata.version));
                let by: Vec<PodKey> = snapshot.assumptions(&key(name, None)).iter().map(|of| of.by.clone()).collect();
                prop_assert_eq!(&by, &assumed);
                for pod in &by {
                    let listed = snapshot.assumed_by(pod);
                    prop_assert!(listed.iter().any(|of| of.name == key(name, None).name));
                }
                assumptions += by.len();
            }
            prop_assert_eq!(snapshot.kept().assumptions, assumptions);
            // A record says that a reader sees a difference, and none is made otherwise.
            let moved = if before == after { vec![] } else { vec![(Moved::Global, Kinds::SERVICES)] };
            prop_assert_eq!(records(&snapshot, since), moved);
            let mut rebuilt = Mirror::default();
            rebuilt.rebuild(&snapshot);
            prop_assert_eq!(snapshot.index::<Mirror>(&index), Some(&rebuilt));
            if at % 7 == 3 {
                fork = Some((snapshot.fork(), after));
            }
        }
        if let Some((fork, seen)) = fork {
            let then: Vec<Service> = fork.objects().map(|of: &Arc<Service>| (**of).clone()).collect();
            prop_assert_eq!(then, seen, "a fork is not changed by what follows");
        }
        for name in 0..3 {
            snapshot.apply(Change::ObjectGone { key: key(name, None) });
        }
        let kept = snapshot.kept();
        prop_assert_eq!((kept.objects, kept.assumptions, kept.selectors), (0, 0, 0));
    }

    #[test]
    fn the_objects_that_select_a_pod_are_found_by_one_label_pair(
        selectors in proptest::collection::vec((0..12u8, 0..3u8, selector()), 0..40),
        labels in proptest::collection::vec((0..3u8, 0..3u8), 0..4),
    ) {
        let mut snapshot = Snapshot::default();
        let labels: BTreeMap<String, String> =
            labels.iter().map(|(key, value)| (format!("k{key}"), format!("v{value}"))).collect();
        for (name, act, (pairs, expressions)) in selectors {
            let metadata = json!({"name": format!("o{name}"), "namespace": if act == 0 { "shop" } else { "x" }});
            let Object::Other(budget) = object_of(json!({
                "apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": metadata,
                "spec": {"selector": {"matchLabels": pairs, "matchExpressions": expressions}},
            })) else { panic!("a budget") };
            let Object::Other(service) = object_of(json!({
                "apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": {"selector": pairs},
            })) else { panic!("a Service") };
            for object in [budget, service] {
                match act {
                    2 => snapshot.apply(Change::ObjectGone { key: object.key() }),
                    _ => snapshot.apply(Change::ObjectSeen { object }),
                }
            }
            for namespace in ["shop", "x"] {
                let pod = labels.iter().fold(pod("p").namespace(namespace), |pod, (key, value)| pod.label(key, value));
                let pod = pod.build();
                compare::<Service>(&snapshot, &pod)?;
                compare::<PodDisruptionBudget>(&snapshot, &pod)?;
            }
        }
    }
}

/// `matchLabels` and `matchExpressions`.
fn selector() -> impl Strategy<Value = (BTreeMap<String, String>, Vec<serde_json::Value>)> {
    let pairs = proptest::collection::btree_map(0..3u8, 0..3u8, 0..3);
    let pairs = pairs.prop_map(|pairs| {
        pairs
            .into_iter()
            .map(|(key, value)| (format!("k{key}"), format!("v{value}")))
            .collect::<BTreeMap<_, _>>()
    });
    let expression = (0..3u8, 0..5u8).prop_map(|(key, operator)| {
        let key = format!("k{key}");
        match operator {
            0 => json!({"key": key, "operator": "In", "values": ["v1"]}),
            1 => json!({"key": key, "operator": "In", "values": ["v0", "v1"]}),
            2 => json!({"key": key, "operator": "NotIn", "values": ["v1"]}),
            3 => json!({"key": key, "operator": "Exists"}),
            _ => json!({"key": key, "operator": "DoesNotExist"}),
        }
    });
    (pairs, proptest::collection::vec(expression, 0..2))
}

fn compare<T: Selects>(snapshot: &Snapshot, pod: &PodInfo) -> Result<(), TestCaseError> {
    let name = |of: &Arc<T>| Typed::metadata(&**of).name.clone();
    let found: Vec<Symbol> = snapshot.selecting::<T>(pod).map(name).collect();
    let all = snapshot.objects_in::<T>(&pod.namespace).filter(|of| of.selects(&pod.labels));
    prop_assert_eq!(found, all.map(name).collect::<Vec<_>>());
    Ok(())
}

#[test]
fn versions_are_compared_as_numbers_of_any_length() {
    for (seen, written, over) in [
        ("9", "10", false),
        ("10", "9", true),
        ("10", "10", true),
        ("18446744073709551616", "9", true),
        ("9", "18446744073709551616", false),
        // What is no number can only be told apart: a version that differs is taken for a newer one.
        ("b", "a", true),
        ("", "7", true),
    ] {
        let mut snapshot = Snapshot::default();
        let at = |version: &str, app: u8| -> Arc<Service> {
            let mut service = (*service(0, 0, app, 1)).clone();
            service.metadata.version = version.into();
            Arc::new(service)
        };
        snapshot.apply(Change::ObjectSeen { object: at("1", 1) });
        snapshot.apply(Change::Assumed { key: key(0, Some(0)), with: at("1", 2), by: by(0) });
        let version = written.into();
        snapshot.apply(Change::AssumedWritten { key: key(0, Some(0)), by: by(0), version });
        snapshot.apply(Change::ObjectSeen { object: at(seen, 1) });
        assert_eq!(snapshot.assumptions(&key(0, None)).is_empty(), over, "{seen:?} after {written:?}");
    }
}

#[test]
fn what_names_another_object_changes_nothing() {
    let mut snapshot = Snapshot::default();
    snapshot.apply(Change::Assumed { key: key(0, Some(0)), with: service(0, 0, 1, 1), by: by(0) });
    assert_eq!(snapshot.object_count(&Kind::Service), 0, "only objects that are known are assumed");
    snapshot.apply(Change::ObjectSeen { object: service(0, 0, 1, 1) });
    let since = snapshot.generation();
    snapshot.apply(Change::ObjectGone { key: key(0, Some(7)) });
    snapshot.apply(Change::Assumed { key: key(0, Some(7)), with: service(0, 7, 2, 1), by: by(0) });
    snapshot.apply(Change::Unassumed { key: key(0, Some(0)), by: by(1) });
    // The same at another version: the version is kept, and nobody is told.
    snapshot.apply(Change::ObjectSeen { object: service(0, 0, 1, 2) });
    assert_eq!(records(&snapshot, since), []);
    let seen = snapshot.object::<Service>(&"shop".into(), &"s0".into()).unwrap();
    assert_eq!(&*seen.metadata.version, "2");
    assert_eq!(snapshot.kept().assumptions, 0);
}
