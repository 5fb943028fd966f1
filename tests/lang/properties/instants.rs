//! The computed instant at which a condition that reads the clock turns over is never too late: on
//! random conditions, every instant before it gives the same result.

use super::Random;
use crate::support::policies::{NOW, compile};
use bayplan::lang::analysis::clock::{next_change, parts_of_time};
use bayplan::lang::eval::context::EvalContext;
use bayplan::lang::typed::{Expr, Point};
use bayplan::model::{Change, Duration, Snapshot, Time};
use bayplan::testing::{node, pod};

/// How far the test looks ahead, in seconds.
const HORIZON: i64 = 3_600;
/// Conditions change at multiples of it after `NOW`, or one microsecond later.
const STEP: i64 = 60;

fn atom(random: &mut Random) -> String {
    let seconds = 60 * random.below(70);
    let op = random.of(&["<", "<=", ">", ">=", "==", "!="]);
    match random.below(9) {
        0 => format!("now() - pod.created {op} {seconds}s"),
        1 => format!("now() {op} pod.created + {seconds}s"),
        2 => format!("pod.created + {seconds}s {op} now()"),
        3 => format!("{seconds}s - (now() - pod.created) {op} 300s"),
        7 => format!("pod.age {op} {seconds}s"),
        4 => format!("age {op} {seconds}s"),
        5 => format!("(pod.priority > 1 ? now() : now() - 120s) {op} pod.created + {seconds}s"),
        6 => {
            let (from, minutes) = (random.below(60), 1 + random.below(59));
            let to =
                if from + minutes >= 60 { "13:30".to_owned() } else { format!("12:{:02}", from + minutes) };
            format!("within(now(), \"Mon-Fri 12:{from:02}-{to}\", \"UTC\")")
        }
        _ => random.of(&["pod.priority > 1", "has(pod.labels[\"team\"])", "pod.priority == 0"]).to_owned(),
    }
}

fn condition(random: &mut Random, depth: usize) -> String {
    if depth == 0 {
        return atom(random);
    }
    let (a, b) = (condition(random, depth - 1), condition(random, depth - 1));
    match random.below(6) {
        0 | 1 => format!("({a} && {b})"),
        2 | 3 => format!("({a} || {b})"),
        4 => format!("!({a})"),
        _ => format!("({} ? {a} : {b})", atom(random)),
    }
}

#[test]
fn a_condition_turns_over_no_earlier_than_computed() {
    let snapshot = Snapshot::default();
    let (mut turned, mut exact, mut never) = (0, 0, 0);
    for seed in 0..300 {
        let mut random = Random(seed);
        let text = format!(
            "policy clocks {{ let age = now() - pod.created\n gate \"not now\" when {} }}",
            condition(&mut random, 2)
        );
        let set = compile(&text);
        let compiled = set.iter().next().unwrap();
        let expr: &Expr =
            compiled.policy.checks_at(Point::PreEnqueue).next().unwrap().condition.as_ref().unwrap();
        let mut made = pod("p").created(random.of(&[
            "2026-01-05T11:50:00Z",
            "2026-01-05T12:00:00Z",
            "2026-01-05T12:20:00Z",
        ]));
        made = made.priority(random.below(3) as i32);
        let pod = if random.one_in(2) { made.label("team", "x") } else { made }.build();
        let holds = |at: Time| compiled.evaluator(EvalContext::new(&pod, &snapshot, at)).holds(expr);
        let next = next_change(&compiled.policy, EvalContext::new(&pod, &snapshot, NOW), expr, &mut 0);
        let before = holds(NOW);
        let instants = (0..HORIZON / STEP).flat_map(|step| {
            let at = NOW + Duration::from_seconds(step * STEP);
            [Time(at.0 - 1), at, Time(at.0 + 1)]
        });
        let turns = instants.filter(|at| *at > NOW).find(|at| holds(*at) != before);
        match (turns, next) {
            (Some(turns), next) => {
                turned += 1;
                assert!(
                    next.is_some_and(|next| next <= turns),
                    "seed {seed}: {turns:?}, computed {next:?}: {text}"
                );
                exact += usize::from(next == Some(turns));
            }
            (None, None) => never += 1,
            (None, Some(_)) => {}
        }
    }
    println!("{turned} turn over, {exact} of them at the first computed instant; {never} never do");
    assert!(turned > 50 && exact > turned / 3 && never > 10, "{turned} {exact} {never}");
}

/// Conditions on nodes: what turns over with time alone is computed once for all nodes.
#[test]
fn parts_of_time_turn_over_for_all_nodes() {
    let mut snapshot = Snapshot::default();
    for at in 0..3 {
        let mut of = node(&format!("n{at}"));
        if at > 0 {
            of = of.label("team", if at == 1 { "x" } else { "y" });
        }
        snapshot.apply(Change::NodeUpserted { node: of.build() });
    }
    let of_node = [
        "node.labels[\"team\"] == \"x\"",
        "[node].exists(n, n.labels[\"team\"] == \"y\")",
        "late(now(), node)",
        "nodes.exists(n, n.name == node.name && now() > pod.created + 600s)",
    ];
    let (mut together, mut turned) = (0, 0);
    for seed in 0..300 {
        let mut random = Random(seed);
        let (a, b) = (condition(&mut random, 1), condition(&mut random, 1));
        let (x, y) = (random.of(&of_node), random.of(&of_node));
        let op = random.of(&["&&", "||"]);
        let text = format!(
            "policy clocks {{ let age = now() - pod.created\n def late(t: time, n: node) = t > pod.created + 1200s && n.ready\n filter f {{ require ({a} {op} {x}) && ({y} || {b}) else \"no\" }} }}"
        );
        let set = compile(&text);
        let compiled = set.iter().next().unwrap();
        let policy = &compiled.policy;
        let expr: &Expr = policy.checks_at(Point::Filter).next().unwrap().condition.as_ref().unwrap();
        let pod = pod("p").created("2026-01-05T11:50:00Z").priority(random.below(3) as i32).build();
        let Some(parts) = parts_of_time(policy, expr) else { continue };
        together += 1;
        let context = EvalContext::new(&pod, &snapshot, NOW);
        let next = parts.into_iter().filter_map(|part| next_change(policy, context, part, &mut 0)).min();
        for node in snapshot.nodes() {
            let holds =
                |at: Time| compiled.evaluator(EvalContext::new(&pod, &snapshot, at).on(node)).holds(expr);
            let before = holds(NOW);
            let instants = (0..HORIZON / STEP).flat_map(|step| {
                let at = NOW + Duration::from_seconds(step * STEP);
                [Time(at.0 - 1), at, Time(at.0 + 1)]
            });
            if let Some(turns) = instants.filter(|at| *at > NOW).find(|at| holds(*at) != before) {
                turned += 1;
                assert!(
                    next.is_some_and(|next| next <= turns),
                    "seed {seed}: {turns:?}, computed {next:?}: {text}"
                );
            }
        }
    }
    assert!(together > 100 && turned > 50, "{together} {turned}");
}

/// A window in a let beside a label of the node needs no evaluation for each node.
#[test]
fn a_window_is_computed_once_for_all_nodes() {
    let set = compile(
        "policy p { let open = within(now(), \"Sat 08:00-12:00\", \"Europe/Berlin\")\n filter f { require open && node.labels[\"a\"] == \"b\" else \"no\" } }",
    );
    let policy = &set.iter().next().unwrap().policy;
    let condition = policy.checks_at(Point::Filter).next().unwrap().condition.as_ref().unwrap();
    assert_eq!(parts_of_time(policy, condition).map(|parts| parts.len()), Some(1));
    let mixed = compile("policy p { filter f { require now() < node.created + 5min else \"no\" } }");
    let policy = &mixed.iter().next().unwrap().policy;
    let condition = policy.checks_at(Point::Filter).next().unwrap().condition.as_ref().unwrap();
    assert!(parts_of_time(policy, condition).is_none());
}
