//! What lints say of numbers is true, tried by brute force: conditions near the ends of `int`, `uint`
//! and `float`, near the numbers that floats have no room for, and over small numbers; every value lies in
//! the range of its expression, exactly.

use super::Random;
use crate::support::policies::NOW;
use bayplan::diag::{Diagnostic, SourceMap};
use bayplan::lang;
use bayplan::lang::eval::context::EvalContext;
use bayplan::lang::eval::interpret::{Evaluator, Observer};
use bayplan::lang::typed::{Expr, ExprKind, Point};
use bayplan::lang::types::range::Range;
use bayplan::lang::types::value::Value;
use bayplan::model::{Change, Snapshot};
use bayplan::testing::{node, pod};

const INTS: [&str; 14] = [
    "0",
    "1",
    "-1",
    "2",
    "3",
    "-3",
    "9007199254740992",
    "9007199254740993",
    "9007199254740994",
    "-9007199254740993",
    "9223372036854775807",
    "9223372036854775806",
    "-9223372036854775807",
    "4611686018427387905",
];
const UINTS: [&str; 8] = [
    "0u",
    "1u",
    "3u",
    "9007199254740993u",
    "9223372036854775807u",
    "9223372036854775808u",
    "18446744073709551614u",
    "18446744073709551615u",
];
const FLOATS: [&str; 12] = [
    "0.0",
    "0.5",
    "-1.5",
    "3.0",
    "9007199254740992.0",
    "9007199254740994.0",
    "-9007199254740992.0",
    "9223372036854775807.0",
    "1e300",
    "-1e300",
    "5e-324",
    "0.1",
];

struct Conditions<'r>(&'r mut Random);

impl Conditions<'_> {
    fn int(&mut self, depth: usize) -> String {
        if depth == 0 || self.0.one_in(4) {
            return match self.0.below(4) {
                0 => self.0.of(&INTS).to_owned(),
                1 => "s".to_owned(),
                _ => "x".to_owned(),
            };
        }
        let d = depth - 1;
        match self.0.below(12) {
            0 => format!("({} + {})", self.int(d), self.int(d)),
            1 => format!("({} - {})", self.int(d), self.int(d)),
            2 => format!("({} * {})", self.int(d), self.int(d)),
            3 => format!("-({})", self.int(d)),
            4 => format!("abs({})", self.int(d)),
            5 => format!("min({}, {})", self.int(d), self.int(d)),
            6 => format!("max({}, {})", self.int(d), self.int(d)),
            7 => format!("clamp({}, -3, {})", self.int(d), self.int(0)),
            8 => format!("({} / {})", self.int(d), self.0.of(&["2", "-1", "7", "9007199254740993"])),
            9 => format!("({} % {})", self.int(d), self.0.of(&["2", "-3", "9223372036854775807"])),
            10 => format!("[{}, {}].sum(i, i)", self.int(d), self.int(d)),
            _ => format!("int({})", self.float(d)),
        }
    }

    fn uint(&mut self, depth: usize) -> String {
        if depth == 0 || self.0.one_in(3) {
            return if self.0.one_in(2) { "u".to_owned() } else { self.0.of(&UINTS).to_owned() };
        }
        let d = depth - 1;
        match self.0.below(5) {
            0 => format!("({} + {})", self.uint(d), self.uint(d)),
            1 => format!("({} - {})", self.uint(d), self.uint(d)),
            2 => format!("({} * {})", self.uint(d), self.uint(d)),
            3 => format!("({} / 3u)", self.uint(d)),
            _ => format!("[{}, {}].sum(i, i)", self.uint(d), self.uint(d)),
        }
    }

    fn float(&mut self, depth: usize) -> String {
        if depth == 0 || self.0.one_in(4) {
            return if self.0.one_in(2) { "y".to_owned() } else { self.0.of(&FLOATS).to_owned() };
        }
        let d = depth - 1;
        match self.0.below(9) {
            0 => format!("({} + {})", self.float(d), self.float(d)),
            1 => format!("({} - {})", self.float(d), self.float(d)),
            2 => format!("({} * {})", self.float(d), self.float(d)),
            3 => format!("({} / {})", self.float(d), self.0.of(&["2.0", "-0.5", "1e300", "3"])),
            4 => format!("float({})", self.int(d)),
            5 => format!("sqrt(abs({}))", self.float(d)),
            6 => format!("max({}, {})", self.float(d), self.float(d)),
            7 => format!("share({}, {})", self.int(d), self.int(d)),
            _ => format!("[{}, {}].sum(i, i)", self.float(d), self.float(d)),
        }
    }

    fn bool(&mut self, depth: usize) -> String {
        if depth > 0 && self.0.chance(60) {
            let d = depth - 1;
            return match self.0.below(5) {
                0 => format!("!({})", self.bool(d)),
                1 => format!("({} || {})", self.bool(d), self.bool(d)),
                _ => format!("({} && {})", self.bool(d), self.bool(d)),
            };
        }
        let op = self.0.of(&["<", "<=", ">", ">=", "==", "!="]);
        match self.0.below(6) {
            0 => format!("{} {op} {}", self.int(1), self.float(1)),
            1 => format!("{} {op} {}", self.uint(2), self.uint(1)),
            2 => format!("{} {op} {}", self.float(2), self.float(1)),
            3 => format!("x {op} {}", self.0.of(&INTS)),
            4 => format!("x {op} {}", self.0.of(&FLOATS)),
            _ => format!("{} {op} {}", self.int(2), self.int(1)),
        }
    }

    fn policy(&mut self) -> String {
        let condition = self.bool(3);
        let give = if self.0.one_in(2) { "x" } else { "100" };
        let when = self.bool(2);
        format!(
            "/// A.\npolicy p {{\n  applies to all pods\n  filter f {{\n    \
             let x = int(node.labels[\"x\"]) ?? 0\n    let u = uint(node.labels[\"u\"]) ?? 0u\n    \
             let y = float(node.labels[\"y\"]) ?? 0.0\n    let s = clamp(int(node.labels[\"x\"]) ?? 0, -2, 3)\n    \
             require {condition} else \"no\"\n  }}\n  score s normalize minmax {{\n    \
             let x = int(node.labels[\"x\"]) ?? 0\n    let u = uint(node.labels[\"u\"]) ?? 0u\n    \
             let y = float(node.labels[\"y\"]) ?? 0.0\n    let s = clamp(x, -2, 3)\n    \
             give {give} when {when}\n    give 1\n  }}\n}}\n"
        )
    }
}

/// Compares every value with its range, and with what lints say of its expression.
struct Checked<'d> {
    said: &'d [Diagnostic],
    text: &'d str,
    /// How many claims were tried.
    tried: usize,
}

impl Observer for Checked<'_> {
    fn leave(&mut self, expr: &Expr, value: &Value<'_>) {
        let inside = match (expr.range, value) {
            (Range::Whole { lo, hi, nonzero }, Value::Int(x)) => {
                (lo..=hi).contains(&i128::from(*x)) && !(nonzero && *x == 0)
            }
            (Range::Whole { lo, hi, .. }, Value::Uint(x)) => (lo..=hi).contains(&i128::from(*x)),
            (Range::Real { lo, hi, nonzero }, Value::Float(x)) => {
                (lo..=hi).contains(x) && !(nonzero && *x == 0.0)
            }
            _ => true,
        };
        assert!(inside, "{value} lies outside of {}: {expr:#?}\n{}", expr.range, self.text);
        let Value::Bool(truth) = value else { return };
        // `a != b` is `!(a == b)`, both at one place.
        let written = self.text.get(expr.span.range()).unwrap_or("");
        if matches!(expr.kind, ExprKind::Equal(..)) && written.contains("!=") {
            return;
        }
        for said in self.said.iter().filter(|said| said.span == expr.span) {
            let wrong = match said.code.slug {
                "always" => said.message.ends_with("true") != *truth,
                "contradiction" => *truth,
                _ => continue,
            };
            self.tried += 1;
            assert!(!wrong, "{} {}: {value} for {expr:#?}\n{}", said.code.id, said.message, self.text);
        }
    }
}

fn numbers(random: &mut Random) -> (i64, u64, f64) {
    let near = |random: &mut Random| random.below(7) as i64 - 3;
    let ints = [0, 0, 1 << 53, -(1 << 53), i64::MAX, i64::MIN, 1 << 62];
    let x = random.of(&ints).saturating_add(near(random));
    let u = random.of(&[0, 1 << 53, i64::MAX as u64, u64::MAX]).saturating_add_signed(near(random));
    let floats =
        [0.0, -0.0, 1.0, 9_007_199_254_740_992.0, f64::MAX, f64::MIN, 5e-324, 0.1, 9.3e18, -1.5, x as f64];
    (x, u, random.of(&floats) * random.of(&[1.0, 1.0, 0.5, -1.0]))
}

#[test]
fn what_is_never_and_what_is_always_is_so() {
    let asked = std::env::var("BAYPLAN_PROGRAMS").ok();
    let wanted: u64 = asked.and_then(|text| text.parse().ok()).unwrap_or(1_500);
    let (mut compiled, mut claims, mut tried) = (0u64, 0u64, 0usize);
    for seed in 0..wanted {
        let mut random = Random(7_000_000 + seed);
        let text = Conditions(&mut random).policy();
        let mut sources = SourceMap::new();
        let id = sources.add("claims.bay", text.as_str());
        let (policies, said) = lang::compile(sources.get(id).unwrap());
        let Some(policy) = policies.first().filter(|_| !said.iter().any(Diagnostic::is_error)) else {
            continue;
        };
        compiled += 1;
        claims +=
            said.iter().filter(|said| matches!(said.code.slug, "always" | "contradiction")).count() as u64;
        let mut observer = Checked { said: &said, text: &text, tried: 0 };
        for _ in 0..60 {
            let (x, u, y) = numbers(&mut random);
            let mut snapshot = Snapshot::default();
            let made =
                node("n").label("x", &x.to_string()).label("u", &u.to_string()).label("y", &y.to_string());
            snapshot.apply(Change::NodeUpserted { node: made.build() });
            let pod = pod("p").build();
            let context = EvalContext::new(&pod, &snapshot, NOW);
            let Some(node) = snapshot.nodes().next() else { continue };
            let mut evaluator = Evaluator::new(policy, context.on(node)).observed(&mut observer);
            for check in policy.checks_at(Point::Filter) {
                if check
                    .condition
                    .as_ref()
                    .is_some_and(|condition| evaluator.holds(condition) == check.refuses_when)
                {
                    break;
                }
            }
            for give in policy.scores().flat_map(|(_, score)| &score.gives) {
                if give.when.as_ref().is_none_or(|when| evaluator.holds(when)) {
                    give.value.iter().for_each(|value| drop(evaluator.value(value)));
                    break;
                }
            }
        }
        tried += observer.tried;
    }
    println!("{compiled} policies, {claims} claims, tried {tried} times");
    assert!(compiled > wanted / 3 && claims > wanted / 10, "{compiled} policies, {claims} claims");
}

/// Conditions near the ends of the numbers that a rounded comparison would decide wrongly.
#[test]
fn numbers_beyond_the_digits_of_floats_are_compared_exactly() {
    let said = |condition: &str| {
        let text = format!(
            "/// A.\npolicy p {{\n  applies to all pods\n  filter f {{ let x = int(node.labels[\"x\"]) ?? 0\n    \
             require {condition} else \"no\" }}\n}}\n"
        );
        let mut sources = SourceMap::new();
        let id = sources.add("claims.bay", text);
        let (_, said) = lang::compile(sources.get(id).unwrap());
        said.iter().map(|said| said.message.clone()).collect::<Vec<_>>()
    };
    for condition in [
        "x > 9007199254740994 && x < 9007199254740997",
        "x <= 9223372036854775806",
        "x >= -9223372036854775807",
        "x != 9223372036854775807",
        "[18446744073709551615u].sum(i, i) > 9223372036854775807u && x > 0",
        "x <= 9007199254740992.0 && x > 9007199254740992",
        "x < 9223372036854775807.0",
        "float(x) >= 9007199254740994.0 && x <= 9007199254740993",
    ] {
        assert_eq!(said(condition), Vec::<String>::new(), "{condition}");
    }
    for condition in [
        "x <= 9223372036854775807",
        "x > 9223372036854775806 && x < 9223372036854775807",
        "x > 9007199254740992.0 && x <= 9007199254740992",
        "x < 9007199254740992.0 && x >= 9007199254740992",
        "x <= 9223372036854775807.0",
    ] {
        assert_eq!(said(condition).len(), 1, "{condition}");
    }
}

/// A score is proved by the numbers that its condition lets through, as they are compared.
#[test]
fn a_score_is_not_proved_by_a_rounded_comparison() {
    let text = "/// A.\npolicy p {\n  applies to all pods\n  score s { let x = int(node.labels[\"z\"]) ?? 0\n    \
                give x when x <= 9007199254740992.0 && x > 9007199254740992\n    give 50 }\n}\n";
    let mut sources = SourceMap::new();
    let id = sources.add("claims.bay", text);
    let (_, said) = lang::compile(sources.get(id).unwrap());
    assert_eq!(said.first().map(|said| said.code.slug), Some("score-range"), "{said:#?}");
}
