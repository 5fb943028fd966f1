//! Random pairs of conditions with their verdicts as formulas of SMT-LIB, which `tools/z3.sh` decides anew: `make deep`.
//!
//! Each test is written down here a second time, as when it is a fault and when it holds, so that nothing of the comparison
//! is used.

#![allow(clippy::unwrap_used, clippy::disallowed_methods)]

use super::tests::{Condition, cel_policy, filter, on_error, policy, random_pairs};
use super::*;
use bayplan_lang::syntax::ast::OnError;
use std::fmt::Write;

/// A test: in a policy, when it is a fault, and when it holds.
type Atom = (&'static str, &'static str, &'static str);

/// What the tests are about. Labels of the pod (`p`), the node (`n`), and the load may be absent.
const DECLARED: &str = "(declare-const prio Int)(declare-const unsched Bool)(declare-const hp Bool)(declare-const p String)\
    (declare-const hn Bool)(declare-const n String)(declare-const req Int)(declare-const free Int)\
    (declare-const hl Bool)(declare-const mean Int)(assert (and (>= req 0) (>= free 0) (>= mean 0)))";

const ATOMS: &[Atom] = &[
    ("pod.priority > 3", "false", "(> prio 3)"),
    ("pod.priority >= 3", "false", "(>= prio 3)"),
    ("pod.priority == 3", "false", "(= prio 3)"),
    ("pod.priority < 0", "false", "(< prio 0)"),
    ("node.unschedulable", "false", "unsched"),
    ("node.labels[\"a\"] == \"x\"", "false", "(and hn (= n \"x\"))"),
    ("node.labels[\"a\"] in [\"x\", \"y\"]", "false", "(and hn (or (= n \"x\") (= n \"y\")))"),
    ("node.labels[\"a\"] != \"y\"", "false", "(not (and hn (= n \"y\")))"),
    ("has(node.labels[\"a\"])", "false", "hn"),
    ("pod.labels[\"a\"] == node.labels[\"a\"]", "false", "(and hp hn (= p n))"),
    ("pod.labels[\"a\"] != node.labels[\"a\"]", "false", "(not (and hp hn (= p n)))"),
    ("(pod.labels[\"a\"] ?? \"x\") == \"x\"", "false", "(=> hp (= p \"x\"))"),
    ("\"a\" in pod.labels", "false", "hp"),
    ("pod.requests.cpu > node.free.cpu", "false", "(> req free)"),
    ("node.free.cpu < 2cpu", "false", "(< free 2000)"),
    ("pod.requests.cpu >= 2cpu", "false", "(>= req 2000)"),
    ("(pod.labels[\"a\"] ?? \"\").startsWith(\"x\")", "false", "(and hp (str.prefixof \"x\" p))"),
    ("(pod.labels[\"a\"] ?? \"\").startsWith(\"xy\")", "false", "(and hp (str.prefixof \"xy\" p))"),
    ("(pod.priority > 3 ? node.unschedulable : \"a\" in pod.labels)", "false", "(ite (> prio 3) unsched hp)"),
    ("has(load[node.name])", "false", "hl"),
    ("(load[node.name].cpu.mean ?? 0cpu) > 2cpu", "false", "(and hl (> mean 2000))"),
    ("(load[node.name].cpu.mean ?? 3cpu) > 2cpu", "false", "(=> hl (> mean 2000))"),
    ("(load[node.name].cpu.mean ?? 0cpu) > node.free.cpu", "false", "(> (ite hl mean 0) free)"),
    ("true", "false", "true"),
];

const CEL_ATOMS: &[Atom] = &[
    ("pod.priority > 3", "false", "(> prio 3)"),
    ("pod.priority <= 3", "false", "(<= prio 3)"),
    ("node.unschedulable", "false", "unsched"),
    ("node.labels[\"a\"] == \"x\"", "(not hn)", "(= n \"x\")"),
    ("node.labels[\"a\"] in [\"x\", \"y\"]", "(not hn)", "(or (= n \"x\") (= n \"y\"))"),
    ("node.labels[\"a\"] != \"y\"", "(not hn)", "(not (= n \"y\"))"),
    ("\"a\" in node.labels", "false", "hn"),
    ("pod.labels[\"a\"] == node.labels[\"a\"]", "(not (and hp hn))", "(= p n)"),
    ("pod.labels[\"a\"].startsWith(\"x\")", "(not hp)", "(str.prefixof \"x\" p)"),
    ("pod.labels[?\"a\"].orValue(\"x\") == \"x\"", "false", "(=> hp (= p \"x\"))"),
    (
        "(pod.priority > 3 ? node.unschedulable : pod.labels[\"a\"] == \"x\")",
        "(and (<= prio 3) (not hp))",
        "(ite (> prio 3) unsched (= p \"x\"))",
    ),
    ("pod.labels[?\"a\"].hasValue()", "false", "hp"),
    ("pod.labels[?\"a\"].value() == \"x\"", "(not hp)", "(= p \"x\")"),
    ("pod.labels[?\"a\"].optMap(v, v == \"x\").orValue(false)", "false", "(and hp (= p \"x\"))"),
    (
        "pod.labels[?\"a\"].or(node.labels[?\"a\"]).orValue(\"y\") == \"x\"",
        "false",
        "(= (ite hp p (ite hn n \"y\")) \"x\")",
    ),
    ("sources.load[?node.name].hasValue()", "false", "hl"),
    ("sources.load[node.name].cpu.mean > node.free.cpu", "(not hl)", "(> mean free)"),
    ("true", "false", "true"),
];

/// When a condition is a fault, and when it holds; what a side decides hides a fault of the other one.
fn encoded(of: &Condition, atoms: &[Atom]) -> [String; 2] {
    match of {
        Condition::Atom(at) => {
            let (_, fault, holds) = atoms[*at];
            [fault.to_owned(), format!("(and (not {fault}) {holds})")]
        }
        Condition::Not(inner) => {
            let [fault, holds] = encoded(inner, atoms);
            let not = format!("(not (or {fault} {holds}))");
            [fault, not]
        }
        Condition::And(left, right) | Condition::Or(left, right) => {
            let ([f, t], [g, u]) = (encoded(left, atoms), encoded(right, atoms));
            let (a, b) = (format!("(not (or {f} {t}))"), format!("(not (or {g} {u}))"));
            match of {
                Condition::And(..) => {
                    let holds = format!("(and {t} {u})");
                    [format!("(not (or {holds} {a} {b}))"), holds]
                }
                _ => {
                    let holds = format!("(or {t} {u})");
                    [format!("(not (or {holds} (and {a} {b})))"), holds]
                }
            }
        }
    }
}

/// Writes a line for each pair: the refusals before and after, and the verdict.
#[test]
#[ignore = "writes random pairs for tools/z3.sh: `make deep` runs it"]
fn random_pairs_are_written() {
    let file = std::env::var("BAYPLAN_SMT").unwrap();
    let pairs: usize = std::env::var("BAYPLAN_PAIRS").map_or(1_000, |text| text.parse().unwrap());
    let mut lines = format!("{DECLARED}\n");
    for (atoms, is_cel) in [(ATOMS, false), (CEL_ATOMS, true)] {
        let texts: Vec<&str> = atoms.iter().map(|(text, ..)| *text).collect();
        let mut unknown = 0;
        for (at, both) in random_pairs(atoms.len(), pairs).into_iter().enumerate() {
            let on_error = on_error(at);
            let [old, new] = [0, 1].map(|side: usize| match is_cel {
                true => cel_policy(&both[side].text(&texts), on_error),
                false => policy(&filter(&format!("({})", both[side].text(&texts)))),
            });
            let diffs = compare(Some(&old), Some(&new), None);
            let [diff] = diffs.as_slice() else { panic!("{diffs:?}") };
            let word = match &diff.verdict {
                Verdict::Unknown(Unproved::SameOrStricter(_)) => "same-or-stricter",
                Verdict::Unknown(Unproved::SameOrLooser(_)) => "same-or-looser",
                // The condition is the same, another thing is not.
                Verdict::Changed => "same",
                other => other.word(),
            };
            unknown += usize::from(matches!(diff.verdict, Verdict::Unknown(_)));
            let refusal = |side: usize| {
                let [fault, holds] = encoded(&both[side], atoms);
                if on_error == OnError::Reject { format!("(or {fault} {holds})") } else { holds }
            };
            writeln!(lines, "{}\t{}\t{word}", refusal(0), refusal(1)).unwrap();
        }
        assert!(unknown * 50 <= pairs, "{unknown} of {pairs} are unknown");
    }
    std::fs::write(file, lines).unwrap();
}
