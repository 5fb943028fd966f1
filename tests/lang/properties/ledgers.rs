//! The index of a ledger that followed every change equals a rebuilt one and the sum that the definition gives; a
//! simulation gives the sums that the same changes give.

use super::Random;
use crate::support::policies::{NOW, compile, framework_of, snapshot};
use bayplan::lang::eval::context::{EvalContext, MovedPods};
use bayplan::lang::eval::ledgers::{LedgerIndex, recomputed, sum};
use bayplan::lang::policy_set::{CompiledPolicy, PolicySet};
use bayplan::lang::typed::LedgerId;
use bayplan::lang::types::value::Value;
use bayplan::model::objects::projection::Projection;
use bayplan::model::{
    ApiObject, Change, KindName, Labels, LookedUp, Namespace, NodeId, Placement, PodInfo, PodKey, Snapshot,
    Symbol,
};
use bayplan::plugins::policy::ExemptPods;
use bayplan::plugins::policy::plugins;
use bayplan::testing::{node, pod};
use std::sync::Arc;

const TEXT: &str = r#"
    policy sums {
      param most = 3
      let team = pod.labels["team"] ?? ""
      let sized_as = int(pod.labels["size"]) missing skip
      applies when pod.namespace != "apart" && ns.labels["closed"] != "yes"
      ledger counted: int by team { add 1  add 10 when pod.priority > most }
      ledger sized: int by [pod.namespace, team] { add sized_as }
      ledger zoned: cpu by [team, node.zone ?? ""] { let asked = pod.requests.cpu  add asked  add -asked when node.labels["half"] == "yes" }
      ledger kinds: set<string> by true { add pod.labels.map(k, pod.labels[k]).present()  add team when team != "" }
      ledger all: resources by ns.labels["tenant"] ?? "none" { add pod.requests }
      let desk = lookup("example.com/v1/Desk", "default", team)
      let shared = lookup("example.com/v1/Desk", "default", desk.annotations["next"] ?? "none")
      let kept = lookup("example.com/v1/Desk", "default", "kept") missing skip
      let set = pod.owner("apps/v1/ReplicaSet")
      ledger desks: int by desk.labels["tier"] ?? "none" { add int(desk.spec.room) ?? 1  add 100 when has(shared.labels["tier"]) }
      ledger kept_by: int by kept.labels["tier"] ?? "none" { add 1 }
      ledger owned: count by set.labels["tier"] ?? "none" { add 1 when node.labels["half"] != "yes" || has(set) }
      score s normalize minmax {
        give counted[team] + sized[[pod.namespace, team]] + kinds[true].size()
          + desks["a"] + kept_by["a"] + owned["a"].value() + (zoned[[team, node.zone ?? ""]] + all[ns.labels["tenant"] ?? "none"].cpu) / 1m
      }
    }
"#;

fn some_pod(random: &mut Random, name: &str) -> Arc<PodInfo> {
    let mut of = pod(name).cpu(random.of(&["0", "500m", "3"])).priority(random.of(&[0, 5]));
    if random.one_in(3) {
        of = of.namespace(random.of(&["other", "apart", "kube-system"]));
    }
    for key in ["team", "size"] {
        if !random.one_in(3) {
            of = of.label(key, random.of(&["a", "7", ""]));
        }
    }
    if random.one_in(6) {
        of = of.phase(random.of(&["Failed", "Succeeded"]));
    }
    if random.one_in(8) {
        of = of.owner("DaemonSet", "d");
    } else if random.one_in(2) {
        of = of.owner("ReplicaSet", random.of(&["r0", "r1"]));
    }
    of.build()
}

fn some_namespace(random: &mut Random, name: &str) -> Change {
    let mut labels = Vec::new();
    for (key, value) in [("tenant", random.of(&["x", "y"])), ("closed", "yes")] {
        if random.one_in(2) {
            labels.push((Symbol::new(key), Symbol::new(value)));
        }
    }
    let (name, labels) = (Symbol::new(name), Labels::from_iter(labels));
    let namespace = Namespace { name, labels, annotations: Default::default(), raw: None };
    Change::NamespaceUpserted { namespace: Arc::new(namespace) }
}

/// An object that the ledgers look up appears, changes, is assumed to be otherwise, or is gone.
fn some_object(random: &mut Random) -> Change {
    let (kind, names): (_, &[&str]) = match random.below(4) {
        0 => ("apps/v1/ReplicaSet", &["r0", "r1"]),
        1 => ("example.com/v1/Desk", &["kept"]),
        _ => ("example.com/v1/Desk", &["a", "7", "z"]),
    };
    let object = serde_json::json!({
        "metadata": {
            "name": random.of(names), "namespace": "default", "labels": {"tier": random.of(&["a", "b"])},
            "annotations": {"next": random.of(&["a", "7", "z", "kept", "none"])},
        },
        "spec": {"room": random.below(4)},
    });
    let kind = KindName::parse(kind).unwrap();
    let object = Arc::new(LookedUp::new(&kind, object, &Projection::everything()).unwrap());
    let by = PodKey(Symbol::new(random.of(&["w0", "w1"])));
    match random.below(6) {
        0 => Change::ObjectGone { key: object.key() },
        1 => Change::Assumed { key: object.key(), with: object, by },
        2 => Change::Unassumed { key: object.key(), by },
        _ => Change::ObjectSeen { object },
    }
}

fn some_change(random: &mut Random, snapshot: &mut Snapshot) -> Change {
    let name = format!("p{}", random.below(9));
    let of = some_pod(random, &name);
    match random.below(12) {
        9.. => some_object(random),
        0 => Change::PodRemoved { pod: of.key.clone() },
        1 => Change::PodUnplaced { pod: of.key.clone() },
        2 => Change::PodPending { pod: of },
        3 => {
            let name = random.of(&["n0", "n1"]);
            let mut node = node(name);
            if random.one_in(2) {
                node = node.label("topology.kubernetes.io/zone", random.of(&["z", "y"]));
            }
            if random.one_in(2) {
                node = node.label("half", "yes");
            }
            Change::NodeUpserted { node: node.build() }
        }
        4 if random.one_in(3) => Change::NodeRemoved { name: Symbol::new(random.of(&["n0", "n1"])) },
        5 => {
            let name = random_name(random);
            some_namespace(random, name)
        }
        6 if random.one_in(3) => Change::NamespaceRemoved { name: Symbol::new(random_name(random)) },
        _ => {
            let how = random.of(&[Placement::Assumed, Placement::Bound]);
            // Also on a node that is not known yet, or gone.
            let node = snapshot.row_or_placeholder(&Symbol::new(random.of(&["n0", "n1"])));
            Change::PodPlaced { pod: of, node, how }
        }
    }
}

fn random_name(random: &mut Random) -> &'static str {
    random.of(&["default", "other"])
}

/// The keys under which a ledger may have a sum.
fn keys(ledger: usize) -> Vec<Value<'static>> {
    let teams = ["a", "7", ""];
    let pairs = |firsts: &[&'static str]| {
        let pair =
            |first: &&'static str| teams.map(|team| Value::list([Value::text(*first), Value::text(team)]));
        firsts.iter().flat_map(pair).collect()
    };
    match ledger {
        0 => teams.map(Value::text).into(),
        1 => pairs(&["default", "other", "apart", "kube-system"]),
        2 => ["z", "y", ""]
            .iter()
            .flat_map(|zone| teams.map(|team| Value::list([Value::text(team), Value::text(*zone)])))
            .collect(),
        3 => vec![Value::Bool(true), Value::Bool(false)],
        4 => ["x", "y", "none"].map(Value::text).into(),
        _ => ["a", "b", "none"].map(Value::text).into(),
    }
}

fn policy(set: &PolicySet) -> Arc<CompiledPolicy> {
    set.iter().next().unwrap().clone()
}

fn start(set: &PolicySet) -> (Snapshot, Vec<NodeId>) {
    let framework = framework_of(set);
    let snapshot = snapshot(&framework, vec![node("n0").build(), node("n1").build()], vec![]);
    let rows = snapshot.columns().alive().iter().collect();
    (snapshot, rows)
}

#[test]
fn a_ledger_is_the_recomputed_sum_after_every_change() {
    // The second one has a precondition, under which its indexes are filed.
    let filed = TEXT.replace(r#"pod.namespace != "apart""#, r#"has(pod.labels["team"])"#);
    assert_ne!(filed, TEXT);
    let sets = [compile(TEXT), compile(&filed)];
    let (mut sums, mut seen) = (0, 0);
    for seed in 0..100 {
        let set = &sets[seed as usize % 2];
        let of = policy(set);
        let plugins = plugins(set, &ExemptPods::default());
        let mut random = Random(seed);
        let (mut kept, _) = start(set);
        for turn in 0..40 {
            let change = some_change(&mut random, &mut kept);
            kept.apply(change);
            let mut made = kept.clone();
            made.rebuild_indexes();
            let asks = pod("asks").build();
            let context = EvalContext::new(&asks, &kept, NOW);
            for (at, ledger) in of.policy.ledgers.iter().enumerate() {
                let index = kept.index::<LedgerIndex>(&ledger.index).unwrap();
                assert_eq!(Some(index), made.index::<LedgerIndex>(&ledger.index), "seed {seed}, turn {turn}");
                let (entries, with_pods) = index.kept();
                let placed = kept.pods().filter(|entry| entry.placed.is_some()).count();
                let (looking, _) = index.looks_kept();
                assert!(with_pods <= entries && entries <= placed, "seed {seed}, turn {turn}");
                assert!(looking <= placed, "seed {seed}, turn {turn}");
                for key in keys(at) {
                    let known = sum(&context, &ledger.index, &key).unwrap();
                    let defined = recomputed(&of.policy, LedgerId(at as u32), &context, &key);
                    assert_eq!(known, defined, "seed {seed}, turn {turn}: {}[{key}]", ledger.name);
                    // Others read sums of resources by one text, and no other sums.
                    let shown = match &key {
                        Value::String(text) => {
                            plugins[0].rule_plugin().unwrap().sum(&ledger.name, text.as_str(), &kept)
                        }
                        _ => plugins[0].rule_plugin().unwrap().sum(&ledger.name, "", &kept),
                    };
                    let resources = match &defined {
                        Value::Resources(sum) => Some((**sum).clone()),
                        _ => None,
                    };
                    assert_eq!(shown, resources, "seed {seed}, turn {turn}: {}[{key}]", ledger.name);
                    sums += 1;
                    seen += usize::from(
                        known.as_int().is_some_and(|known| known != 0)
                            || known.size().is_some_and(|size| size > 0),
                    );
                }
            }
        }
    }
    assert!(seen * 20 > sums, "{seen} of {sums} sums are not empty");
}

#[test]
fn a_simulation_gives_the_sums_of_the_same_changes() {
    let set = compile(TEXT);
    let of = policy(&set);
    let mut moved_sums = 0;
    for seed in 0..80 {
        let mut random = Random(seed);
        let (mut kept, _) = start(&set);
        for _ in 0..30 {
            let change = some_change(&mut random, &mut kept);
            kept.apply(change);
        }
        let rows: Vec<NodeId> = kept.columns().alive().iter().collect();
        let mut moved = MovedPods::default();
        let mut changed = kept.fork();
        for turn in 0..12 {
            let placed: Vec<Arc<PodInfo>> =
                kept.pods().filter(|entry| entry.placed.is_some()).map(|entry| entry.pod.clone()).collect();
            if random.one_in(2) && !placed.is_empty() {
                let gone = placed[random.below(placed.len())].clone();
                if moved.removed.contains(&gone.key) {
                    // Spared: back onto its node.
                    let (row, how) = kept.pod(&gone.key).unwrap().placed.unwrap();
                    moved.add(&gone, row);
                    changed.apply(Change::PodPlaced { pod: gone, node: row, how });
                } else if !moved.added.iter().any(|(pod, _)| pod.key == gone.key) {
                    moved.remove(&gone);
                    changed.apply(Change::PodRemoved { pod: gone.key.clone() });
                }
            } else if !rows.is_empty() {
                let name = format!("extra{}", random.below(3));
                let extra = some_pod(&mut random, &name);
                if moved.added.iter().any(|(pod, _)| pod.key == extra.key) {
                    moved.remove(&extra);
                    changed.apply(Change::PodRemoved { pod: extra.key.clone() });
                } else {
                    let row = random.of(&rows);
                    moved.add(&extra, row);
                    changed.apply(Change::PodPlaced { pod: extra, node: row, how: Placement::Assumed });
                }
            }
            let asks = pod("asks").build();
            let simulated = EvalContext { moved: &moved, ..EvalContext::new(&asks, &kept, NOW) };
            let real = EvalContext::new(&asks, &changed, NOW);
            let before = EvalContext::new(&asks, &kept, NOW);
            for (at, ledger) in of.policy.ledgers.iter().enumerate() {
                for key in keys(at) {
                    let found = sum(&simulated, &ledger.index, &key).unwrap();
                    assert_eq!(
                        Some(&found),
                        sum(&real, &ledger.index, &key).as_ref(),
                        "seed {seed}, turn {turn}: {}[{key}]",
                        ledger.name
                    );
                    let defined = recomputed(&of.policy, LedgerId(at as u32), &simulated, &key);
                    assert_eq!(found, defined, "seed {seed}, turn {turn}: {}[{key}]", ledger.name);
                    moved_sums += usize::from(sum(&before, &ledger.index, &key).as_ref() != Some(&found));
                }
            }
        }
    }
    assert!(moved_sums > 200, "{moved_sums} sums were moved");
}

/// What tenants write is a key as long as a pod has it, and no longer.
#[test]
fn keys_are_freed_with_their_pods() {
    let set = compile(TEXT);
    let of = policy(&set);
    let (mut kept, rows) = start(&set);
    for round in 0..50 {
        for at in 0..20 {
            let written =
                pod(&format!("p{at}")).label("team", &format!("team-{round}-{at}")).label("size", "1");
            kept.apply(Change::PodPlaced { pod: written.build(), node: rows[0], how: Placement::Bound });
        }
        let index = kept.index::<LedgerIndex>(&of.policy.ledgers[0].index).unwrap();
        assert_eq!(index.kept(), (20, 20), "round {round}");
    }
    for at in 0..20 {
        kept.apply(Change::PodRemoved { pod: pod(&format!("p{at}")).build().key.clone() });
    }
    for ledger in &of.policy.ledgers {
        let index = kept.index::<LedgerIndex>(&ledger.index).unwrap();
        assert_eq!((index.kept(), index.looks_kept()), ((0, 0), (0, 0)), "{}", ledger.name);
    }
}

/// Sums beyond 64 bits come apart again.
#[test]
fn sums_have_128_bits() {
    let set = compile(
        r#"policy large {
             ledger sum: int by 1 { add int(pod.labels["size"]) ?? 0 }
             prefilter { reject "large" when sum[1] > 9 }
           }"#,
    );
    let of = policy(&set);
    let (mut kept, rows) = start(&set);
    let most = i64::MAX.to_string();
    let read = |kept: &Snapshot| {
        let asks = pod("asks").build();
        sum(&EvalContext::new(&asks, kept, NOW), &of.policy.ledgers[0].index, &Value::Int(1)).unwrap()
    };
    for name in ["a", "b", "c"] {
        let pod = pod(name).label("size", &most).build();
        kept.apply(Change::PodPlaced { pod, node: rows[0], how: Placement::Bound });
        assert_eq!(read(&kept), Value::Int(i64::MAX));
    }
    for (name, left) in [("a", i64::MAX), ("b", i64::MAX), ("c", 0)] {
        kept.apply(Change::PodRemoved { pod: pod(name).build().key.clone() });
        assert_eq!(read(&kept), Value::Int(left));
    }
}
