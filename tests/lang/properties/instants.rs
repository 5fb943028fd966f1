//! The computed instant at which a condition that reads the clock turns over is never too late: on
//! random conditions, every instant before it gives the same result.

use super::Random;
use crate::support::policies::{NOW, compile};
use bayplan::lang::analysis::clock::next_change;
use bayplan::lang::eval::context::EvalContext;
use bayplan::lang::typed::Expr;
use bayplan::model::{Duration, Snapshot, Time};
use bayplan::testing::pod;

/// How far the test looks ahead, in seconds.
const HORIZON: i64 = 3_600;
/// Conditions change at multiples of it after `NOW`, or one microsecond later.
const STEP: i64 = 60;

fn atom(random: &mut Random) -> String {
    let seconds = 60 * random.below(70);
    let op = random.of(&["<", "<=", ">", ">=", "==", "!="]);
    match random.below(8) {
        0 => format!("now() - pod.created {op} {seconds}s"),
        1 => format!("now() {op} pod.created + {seconds}s"),
        2 => format!("pod.created + {seconds}s {op} now()"),
        3 => format!("{seconds}s - (now() - pod.created) {op} 300s"),
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
        let expr: &Expr = compiled.policy.gates[0].condition.as_ref().unwrap();
        let mut made = pod("p").created(random.of(&[
            "2026-01-05T11:50:00Z",
            "2026-01-05T12:00:00Z",
            "2026-01-05T12:20:00Z",
        ]));
        made = made.priority(random.below(3) as i32);
        let pod = if random.one_in(2) { made.label("team", "x") } else { made }.build();
        let holds = |at: Time| compiled.evaluator(EvalContext::new(&pod, &snapshot, at)).holds(expr);
        let next = next_change(&compiled.policy, EvalContext::new(&pod, &snapshot, NOW), expr);
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
