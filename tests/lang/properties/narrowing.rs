//! Narrowing claims no value that is not there: on random types with absent elements at every depth, through
//! every form of narrowing.
//!
//! Each policy is written twice. In one a value with its default (`P ?? 7`) stands after the condition that
//! narrows it, where the checker may drop the default. In the other the value goes through a def, which narrows
//! nothing. Both decide alike, closures decide as the reference evaluator, and nothing that the types promise is
//! absent.

use super::Random;
use super::evaluators::cluster;
use super::soundness::Kept;
use crate::support::policies::{NOW, framework_of, snapshot, try_compile};
use bayplan::lang::codegen::{ColumnScan, Env, compute};
use bayplan::lang::eval::context::EvalContext;
use bayplan::lang::eval::interpret::Evaluator;
use bayplan::lang::policy_set::CompiledPolicy;
use bayplan::lang::typed::Point;
use bayplan::model::{PodInfo, Snapshot};

/// A type of a value.
#[derive(Clone, Debug, PartialEq)]
enum Shape {
    Int,
    Text,
    List(Box<Shape>),
    Map(Box<Shape>),
    Record(Box<Shape>, Box<Shape>),
    Maybe(Box<Shape>),
}

impl Shape {
    fn random(random: &mut Random, depth: usize) -> Shape {
        let inner = |random: &mut Random| Box::new(Shape::random(random, depth - 1));
        let shape = match random.below(if depth == 0 { 2 } else { 8 }) {
            0 => Shape::Int,
            1 => Shape::Text,
            2..=4 => Shape::List(inner(random)),
            5 | 6 => Shape::Map(inner(random)),
            _ => Shape::Record(inner(random), inner(random)),
        };
        if random.one_in(2) { Shape::Maybe(Box::new(shape)) } else { shape }
    }

    /// As a policy writes it.
    fn text(&self) -> String {
        match self {
            Shape::Int => "int".to_owned(),
            Shape::Text => "string".to_owned(),
            Shape::List(of) => format!("list<{}>", of.text()),
            Shape::Map(of) => format!("map<string, {}>", of.text()),
            Shape::Record(x, y) => format!("{{x: {}, y: {}}}", x.text(), y.text()),
            Shape::Maybe(of) => format!("{}?", of.text()),
        }
    }

    fn present(&self) -> &Shape {
        if let Shape::Maybe(of) = self { of } else { self }
    }
}

const KEYS: [&str; 4] = ["team", "tier", "zone", "size"];

/// A step of a path: what it leads from, and where it leads to.
#[derive(Clone)]
struct Step {
    from: String,
    of: Shape,
    step: String,
    to: String,
}

/// A maker of one policy.
struct Maker<'r> {
    random: &'r mut Random,
    /// Whether values with defaults go through defs.
    through_defs: bool,
    /// Whether a value stood without a default.
    bare: bool,
    fresh: usize,
}

impl Maker<'_> {
    fn owner(&mut self) -> &'static str {
        self.random.of(&["node", "pod"])
    }

    fn value(&mut self, of: &Shape, depth: usize) -> String {
        match of {
            Shape::Int => self.random.of(&["3", "pod.priority", "node.pods.size()", "1", "0"]).to_owned(),
            Shape::Text => self.random.of(&["\"a\"", "node.name", "pod.name", "\"3\""]).to_owned(),
            Shape::List(of) => {
                if depth < 2 && self.random.one_in(3) {
                    let from = self.random.of(&["node.pods", "pods"]);
                    return format!("{from}.map(q{depth}, {})", self.value(of, depth + 1));
                }
                let items: Vec<String> =
                    (0..self.random.below(3)).map(|_| self.value(of, depth + 1)).collect();
                format!("[{}]", items.join(", "))
            }
            Shape::Map(of) => {
                let keys = self.random.of(&[&["a"][..], &["a", "b"], &[]]);
                let items: Vec<String> =
                    keys.iter().map(|key| format!("\"{key}\": {}", self.value(of, depth + 1))).collect();
                format!("{{{}}}", items.join(", "))
            }
            Shape::Record(x, y) => {
                format!("{{\"x\": {}, \"y\": {}}}", self.value(x, depth + 1), self.value(y, depth + 1))
            }
            Shape::Maybe(of) => self.maybe(of, depth),
        }
    }

    fn maybe(&mut self, of: &Shape, depth: usize) -> String {
        let (owner, key) = (self.owner(), self.random.of(&KEYS));
        match (of, self.random.below(5)) {
            (Shape::Int, 0 | 1) => format!("int({owner}.labels[\"{key}\"])"),
            (Shape::Int, 2) => "seats[node.name]".to_owned(),
            (Shape::Text, 0..=2) => format!("{owner}.labels[\"{key}\"]"),
            (_, 3) => "none".to_owned(),
            _ => format!("(has({owner}.labels[\"{key}\"]) ? {} : none)", self.value(of, depth + 1)),
        }
    }

    /// A random path below a value, as steps.
    fn path(&mut self, base: &str, of: &Shape) -> (Vec<Step>, Shape) {
        let (mut at, mut of) = (base.to_owned(), of.clone());
        let mut steps = Vec::new();
        loop {
            let (step, to, inner) = match of.present() {
                Shape::List(inner) => {
                    let step = self.random.below(3).to_string();
                    let to = format!("{at}[{step}]");
                    (step, to, Shape::Maybe(Box::new(inner.present().clone())))
                }
                Shape::Map(inner) => {
                    let step = self.random.of(&["\"a\"", "\"b\"", "key", "pod.name"]).to_owned();
                    let dotted = step == "\"a\"" && self.random.one_in(2);
                    let to = if dotted { format!("{at}.a") } else { format!("{at}[{step}]") };
                    (step, to, Shape::Maybe(Box::new(inner.present().clone())))
                }
                Shape::Record(x, y) => {
                    let (name, inner) = if self.random.one_in(2) { ("x", x) } else { ("y", y) };
                    (name.to_owned(), format!("{at}.{name}"), (**inner).clone())
                }
                _ => return (steps, of),
            };
            steps.push(Step { from: at.clone(), of: of.present().clone(), step, to: to.clone() });
            (at, of) = (to, inner);
            if self.random.one_in(6) {
                return (steps, of);
            }
        }
    }

    /// A condition that shows something about a value that is read through these steps.
    fn guard(&mut self, path: &str, steps: &[Step], leaf: &Shape, depth: usize) -> String {
        if depth > 0 && self.random.one_in(3) {
            let (a, b) = (self.guard(path, steps, leaf, depth - 1), self.guard(path, steps, leaf, depth - 1));
            return match self.random.below(4) {
                0 => format!("({a} || {b})"),
                1 => format!("({a} && {b})"),
                2 => format!("!(!{a} || !{b})"),
                _ => format!("!({a} && {b})"),
            };
        }
        let step = self.random.of(steps);
        let (from, at) = (&step.from, &step.step);
        let target = if self.random.one_in(3) { step.to.clone() } else { path.to_owned() };
        let there = format!("has({from}) && ");
        match (self.random.below(8), &step.of) {
            (0 | 1, Shape::List(_)) => {
                let size = self.random.of(&["size({}) > ", "{}.size() > ", "size({}) >= ", "{}.size() != "]);
                format!("({there}{}{at})", size.replace("{}", from))
            }
            (2, Shape::List(_)) => {
                let empty = self.random.of(&["{} != []", "[] != {}", "!({} == [])"]);
                format!("({there}{})", empty.replace("{}", from))
            }
            (3 | 4, Shape::List(of)) => {
                let which = self.random.of(&["exists", "exists_one"]);
                let about = if matches!(**of, Shape::Maybe(_)) { "!has(e)" } else { "true" };
                let about = self.random.of(&[about, "true"]);
                format!("({there}{from}.{which}(e, {about}))")
            }
            (0..=3, Shape::Map(_)) => format!("({at} in {from})"),
            (4, Shape::Map(_)) => format!("({there}{from}.exists(k, k == {at}))"),
            (5, _) => format!("({target} != none)"),
            (6, _) => format!("!({target} == none)"),
            _ => match leaf.present() {
                Shape::Int if self.random.one_in(2) => {
                    let about = self.random.of(&["{} == 3", "3 == {}", "{} in [1, 3]", "{} == pod.priority"]);
                    format!("({})", about.replace("{}", path))
                }
                Shape::Text if self.random.one_in(2) => {
                    let about = self.random.of(&["{} == \"a\"", "{} in [\"a\", \"3\"]", "{} == node.name"]);
                    format!("({})", about.replace("{}", path))
                }
                _ => format!("has({target})"),
            },
        }
    }

    /// A condition that needs the value, with a default.
    fn needs(&mut self, path: &str, leaf: &Shape) -> String {
        if self.random.one_in(16) && *leaf.present() == Shape::Int {
            self.bare = true;
            return format!("({path} > 2)");
        }
        let all = self.through_defs;
        match leaf.present() {
            Shape::Int => match self.random.below(2) {
                0 if all => format!("(number({path}) > 2)"),
                0 => format!("(({path} ?? 7) > 2)"),
                _ if all => format!("((100 / number({path}) ?? 1) > 2)"),
                _ => format!("((100 / ({path} ?? 7) ?? 1) > 2)"),
            },
            Shape::Text if all => format!("(written({path}) < \"c\")"),
            Shape::Text => format!("(({path} ?? \"d\") < \"c\")"),
            // Of what holds others only the presence counts.
            other => {
                let name = format!("given_{}", other_name(other));
                match (other, all) {
                    (_, true) => format!("{name}({path})"),
                    (Shape::List(_), _) => format!("(({path} ?? []).size() > 0)"),
                    _ => format!("(({path} ?? {{}}).size() > 0)"),
                }
            }
        }
    }

    /// A condition that narrows and then needs a value, in a random form.
    fn condition(&mut self, base: &str, of: &Shape) -> String {
        let (steps, leaf) = self.path(base, of);
        let path = steps.last().map_or(base.to_owned(), |step| step.to.clone());
        if matches!(leaf.present(), Shape::Record(..)) {
            return format!("has({path})");
        }
        if steps.is_empty() {
            return self.needs(&path, &leaf);
        }
        if self.random.one_in(3)
            && let Some(loops) = self.over_keys(&steps, base)
        {
            return loops;
        }
        let guard = self.guard(&path, &steps, &leaf, 2);
        let needs = self.needs(&path, &leaf);
        match self.random.below(6) {
            0 => format!("({guard} && {needs})"),
            1 => format!("(!{guard} || {needs})"),
            2 => format!("({guard} ? {needs} : true)"),
            3 => format!("(!{guard} ? false : {needs})"),
            4 => format!("([1].map(z, {guard}, {needs}) == [true])"),
            _ => format!("[1].all(z, !{guard} || {needs})"),
        }
    }

    /// A macro over the keys of a map that a path goes through.
    fn over_keys(&mut self, steps: &[Step], base: &str) -> Option<String> {
        let step = steps.iter().find(|step| matches!(step.of, Shape::Map(_)))?.clone();
        let Shape::Map(of) = &step.of else { return None };
        self.fresh += 1;
        let (key, value) = (format!("k{}", self.fresh), format!("v{}", self.fresh));
        let at = format!("{}[{key}]", step.from);
        let (below, leaf) = self.path(&at, of.present());
        let path = below.last().map_or(at, |step| step.to.clone());
        if matches!(leaf.present(), Shape::Record(..)) {
            return None;
        }
        let needs = self.needs(&path, &leaf);
        let which = self.random.of(&["all", "exists"]);
        let there = if step.from == base { String::new() } else { format!("has({}) && ", step.from) };
        let variables = if self.random.one_in(2) { key } else { format!("{key}, {value}") };
        Some(format!("({there}{}.{which}({variables}, {needs}))", step.from))
    }

    /// A policy over one value.
    fn policy(&mut self) -> String {
        let of = Shape::random(self.random, 3);
        let mut text = String::from(
            "/// A policy.\npolicy random {\n  applies to all pods\n  param key = \"a\"\n  \
             param seats: map<string, int> = {\"n0\": 3, \"n2\": 0}\n  \
             def number(x: int?) = x ?? 7\n  def written(x: string?) = x ?? \"d\"\n",
        );
        let value = self.value(&of, 0);
        let mut body = format!("  filter f {{\n    let v: {} = {value}\n", of.text());
        for at in 0..1 + self.random.below(2) {
            if self.random.one_in(3) {
                let (steps, leaf) = self.path("v", &of);
                if let Some(last) = steps.last() {
                    let path = last.to.clone();
                    let guard = self.guard(&path, &steps, &leaf, 1);
                    let guard = match self.random.below(3) {
                        0 => {
                            body.push_str(&format!("    let g{at} = {guard}\n"));
                            format!("g{at}")
                        }
                        _ => guard,
                    };
                    body.push_str(&match self.random.below(2) {
                        0 => format!("    require {guard} else \"g{at}\"\n"),
                        _ => format!("    reject \"g{at}\" when !{guard}\n"),
                    });
                    if !matches!(leaf.present(), Shape::Record(..)) {
                        body.push_str(&format!("    require {} else \"n{at}\"\n", self.needs(&path, &leaf)));
                    }
                }
            }
            body.push_str(&format!("    require {} else \"c{at}\"\n", self.condition("v", &of)));
        }
        body.push_str("  }\n");
        for shape in defs_of(&of) {
            let name = format!("given_{}", other_name(&shape));
            let empty = if matches!(shape, Shape::List(_)) { "[]" } else { "{}" };
            text.push_str(&format!("  def {name}(x: {}?) = (x ?? {empty}).size() > 0\n", shape.text()));
        }
        text + &body + "}\n"
    }
}

/// A name for a type.
fn other_name(of: &Shape) -> String {
    of.text().chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect()
}

/// The types of lists and maps in a type, each once.
fn defs_of(of: &Shape) -> Vec<Shape> {
    let mut found = match of.present() {
        Shape::List(inner) | Shape::Map(inner) => {
            let mut found = defs_of(inner);
            found.push(of.present().clone());
            found
        }
        Shape::Record(x, y) => [defs_of(x), defs_of(y)].concat(),
        _ => Vec::new(),
    };
    found.sort_by_key(Shape::text);
    found.dedup();
    found
}

/// The first check that refuses each node, by closures.
pub(crate) fn by_closures(policy: &CompiledPolicy, snapshot: &Snapshot, pod: &PodInfo) -> Vec<Option<usize>> {
    let context = EvalContext::new(pod, snapshot, NOW);
    let registers = compute(&policy.policy, &policy.statements.registers, context);
    let alive = snapshot.columns().alive().clone();
    let each = alive.iter().filter_map(|id| snapshot.node(id)).map(|node| {
        let mut env = Env::new(&policy.policy, context.on(node), &registers);
        let mut checks = policy.statements.filters.iter().flat_map(|filter| &filter.checks);
        checks.position(|check| check.refuses(&mut env))
    });
    each.collect()
}

/// The first check that refuses each node, by scans of columns. The nodes fit into one word.
pub(crate) fn by_columns(policy: &CompiledPolicy, snapshot: &Snapshot, pod: &PodInfo) -> Vec<Option<usize>> {
    let context = EvalContext::new(pod, snapshot, NOW);
    let of = &policy.statements;
    let registers = compute(&policy.policy, &of.registers, context);
    let mut scan = ColumnScan::new(&policy.policy, &of.inputs, context, &registers);
    let alive = snapshot.columns().alive().clone();
    let mut open = alive.words().first().copied().unwrap_or(0);
    let mut first = [None; 64];
    for (at, check) in of.filters.iter().flat_map(|filter| &filter.checks).enumerate() {
        let refused = check.refused(&mut scan, 0, open) & open;
        (0..64).filter(|row| refused >> row & 1 == 1).for_each(|row| first[row] = Some(at));
        open &= !refused;
    }
    alive.iter().map(|id| first[id.row()]).collect()
}

/// The first check that refuses each node, by the reference evaluator, which must keep every promise of the types.
pub(crate) fn verdict(policy: &CompiledPolicy, snapshot: &Snapshot, pod: &PodInfo) -> Vec<Option<usize>> {
    let policy = &policy.policy;
    let context = EvalContext::new(pod, snapshot, NOW);
    let alive = snapshot.columns().alive().clone();
    let each = alive.iter().filter_map(|id| snapshot.node(id)).map(|node| {
        let mut kept = Kept::default();
        let mut evaluator = Evaluator::new(policy, context.on(node)).observed(&mut kept);
        let checks = policy.checks_at(Point::Filter);
        let mut checks = checks.enumerate();
        checks
            .find(|(_, check)| {
                check.condition.as_ref().is_none_or(|c| evaluator.holds(c)) == check.refuses_when
            })
            .map(|(at, _)| at)
    });
    each.collect()
}

#[test]
fn no_default_is_dropped_that_is_needed() {
    // `BAYPLAN_PROGRAMS` raises it.
    let asked = std::env::var("BAYPLAN_PROGRAMS").ok();
    let wanted: u64 = asked.and_then(|text| text.parse().ok()).unwrap_or(300);
    let (mut compiled, mut compared, mut dropped) = (0, 0, 0);
    let mut why = Vec::new();
    for seed in 5_000_000..5_000_000 + wanted {
        let write = |through_defs| {
            let mut random = Random(seed);
            let (nodes, pods) = cluster(&mut random);
            let mut maker = Maker { random: &mut random, through_defs, bare: false, fresh: 0 };
            let text = maker.policy();
            (nodes, pods, text, maker.bare)
        };
        let (nodes, pods, text, bare) = write(false);
        let set = match try_compile(&text) {
            Ok(set) => set,
            Err(mistake) => {
                why.push(format!("{mistake}\n{text}"));
                continue;
            }
        };
        compiled += 1;
        let policy = set.iter().next().unwrap();
        let snapshot = snapshot(&framework_of(&set), nodes, pods.clone());
        let other = (!bare).then(|| write(true).2);
        let other = other.map(|text| (try_compile(&text).unwrap_or_else(|e| panic!("{e}\n{text}")), text));
        for pod in pods.iter().filter(|pod| pod.node_name.is_none()).take(2) {
            let verdicts =
                std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| verdict(policy, &snapshot, pod)));
            let Ok(verdicts) = verdicts else { panic!("seed {seed}: {}\n{text}", pod.name) };
            assert_eq!(by_closures(policy, &snapshot, pod), verdicts, "closures, seed {seed}\n{text}");
            assert_eq!(by_columns(policy, &snapshot, pod), verdicts, "columns, seed {seed}\n{text}");
            if let Some((set, written)) = &other {
                let through_defs = verdict(set.iter().next().unwrap(), &snapshot, pod);
                assert_eq!(verdicts, through_defs, "seed {seed}, pod {}\n{text}\n{written}", pod.name);
                compared += 1;
                dropped += usize::from(format!("{:?}", policy.policy.rules).contains("Present("));
            }
        }
    }
    println!("{compiled} of {wanted} policies compile; {compared} comparisons, {dropped} of them narrow");
    for mistake in why.iter().take(8) {
        println!("{mistake}");
    }
    assert!(compiled * 3 > wanted * 2, "{compiled} of {wanted} policies compile");
    assert!(dropped * 10 > compared, "{dropped} of {compared} comparisons are about narrowed values");
}
