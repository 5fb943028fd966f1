//! Memos are the last value remembered until its end: both evaluators against a list of what was written.

use super::Random;
use crate::support::policies::{NOW, compile, framework_of, snapshot};
use bayplan::lang::codegen::{Env, compute};
use bayplan::lang::eval::context::EvalContext;
use bayplan::lang::eval::ledgers::Key;
use bayplan::lang::eval::memos::{MemoIndex, key_of, remembered};
use bayplan::lang::typed::{MemoId, Point, Policy};
use bayplan::lang::types::Type;
use bayplan::lang::types::value::{Ordered, Value};
use bayplan::model::{Duration, Snapshot, Time};
use bayplan::testing::{node, pod};

/// Remembers values at random under keys that pods of random clusters have: the same in a policy and its twin.
pub(super) fn fill(random: &mut Random, policy: &Policy, snapshot: &mut Snapshot) {
    let mut memos: Vec<_> = policy.memos.iter().collect();
    memos.sort_by(|a, b| a.name.cmp(&b.name));
    for memo in memos {
        for text in ["a", "b", "shop", ""] {
            if random.one_in(2) {
                continue;
            }
            let text = Value::text(text);
            let key = match &memo.key.ty {
                Type::List(_) => Value::list([Value::text("default"), text]),
                Type::Int => Value::Int(random.below(9) as i64),
                _ => text,
            };
            let value = match &memo.ty {
                Type::Bool => Value::Bool(random.one_in(2)),
                Type::String => Value::text(random.of(&["a", "b", "shop"])),
                Type::Time => Value::Time(Time(NOW.0 - 60_000_000 * random.below(9) as i64)),
                _ => Value::Int(random.below(9) as i64),
            };
            let ttl = Duration::from_seconds(3_600);
            snapshot.write_index::<MemoIndex>(&memo.index, |index, moved| {
                index.remember(Ordered(key), Some(value), NOW, ttl, moved);
            });
        }
    }
}

const TEXT: &str = r#"
    policy remembers {
      param long = 10s
      memo last: string by [pod.namespace, pod.labels["job"] ?? ""] ttl long
      memo tries: int by pod.labels["team"] ?? "none" ttl 25s
      memo off: bool by pod.name ttl 0s
      filter f {
        reject "same" when last == pod.name
        reject "many" when (tries ?? 0) > 2
        reject "off" when off ?? false
      }
    }
"#;

/// What was written of a memo, the newest last.
type Writes = Vec<(Key, Option<Value<'static>>, Time)>;

fn by_definition(writes: &Writes, key: &Key, ttl: Duration, now: Time) -> Option<Value<'static>> {
    let last = writes.iter().rev().find(|(of, ..)| of == key)?;
    last.1.clone().filter(|_| now.0 - last.2.0 < ttl.0)
}

#[test]
fn a_memo_is_the_last_value_that_was_remembered_until_its_end() {
    let set = compile(TEXT);
    let of = set.iter().next().unwrap();
    let policy = &of.policy;
    let (mut present, mut moved_at_ends) = (0, 0);
    for seed in 0..60 {
        let mut random = Random(seed);
        let framework = framework_of(&set);
        let mut kept = snapshot(&framework, vec![node("n0").build()], vec![]);
        let mut writes: Vec<Writes> = vec![Vec::new(); policy.memos.len()];
        let mut now = NOW;
        for _ in 0..60 {
            now = Time(now.0 + 1_000_000 * random.below(4) as i64);
            let mut asks = pod(random.of(&["p", "q"]));
            for key in ["job", "team"] {
                if random.one_in(2) {
                    asks = asks.label(key, random.of(&["a", "b"]));
                }
            }
            let asks = asks.build();
            if random.one_in(3) {
                moved_at_ends += kept.expire(now).len();
            }
            let at = random.below(policy.memos.len());
            let memo = &policy.memos[at];
            let key = key_of(policy, MemoId(at as u32), EvalContext::new(&asks, &kept, now));
            let value = match memo.ty {
                Type::String => Value::text(random.of(&["p", "q", "r"])),
                Type::Bool => Value::Bool(true),
                _ => Value::Int(random.below(5) as i64),
            };
            let value = (!random.one_in(4)).then_some(value);
            let before = by_definition(&writes[at], &key, memo.keeps_for, now);
            let fork = kept.clone();
            let moved = kept.write_index::<MemoIndex>(&memo.index, |index, moved| {
                index.remember(key.clone(), value.clone(), now, memo.keeps_for, moved);
            });
            writes[at].push((key.clone(), value, now));
            let after = by_definition(&writes[at], &key, memo.keeps_for, now);
            assert!(before == after || !moved.is_empty(), "seed {seed}: a change that nobody is told of");
            assert_eq!(
                remembered(&EvalContext::new(&asks, &fork, now), &memo.index, &key.0),
                before.unwrap_or(Value::Absent)
            );
            // A rebuild keeps everything.
            kept.rebuild_indexes();
            for (at, memo) in policy.memos.iter().enumerate() {
                let context = EvalContext::new(&asks, &kept, now);
                let key = key_of(policy, MemoId(at as u32), context);
                let wanted = by_definition(&writes[at], &key, memo.keeps_for, now).unwrap_or(Value::Absent);
                present += usize::from(!wanted.is_absent());
                assert_eq!(remembered(&context, &memo.index, &key.0), wanted, "seed {seed}");
            }
            let context = EvalContext::new(&asks, &kept, now).on(kept.nodes().next().unwrap());
            let registers = compute(policy, &of.statements.registers, context);
            let mut env = Env::new(policy, context, &registers);
            let checks = policy.checks_at(Point::Filter);
            for (check, compiled) in checks.zip(&of.statements.filters[0].checks) {
                let slow = of.evaluator(context).holds(check.condition.as_ref().unwrap());
                assert_eq!(compiled.refuses(&mut env), slow, "seed {seed}");
            }
        }
    }
    assert!(present > 1_000 && moved_at_ends > 100, "{present} {moved_at_ends}");
}

#[test]
fn a_memo_outlives_changes_of_its_policy_elsewhere() {
    let index = |text: &str| compile(text).iter().next().unwrap().policy.memos[0].index.clone();
    let before = index(TEXT);
    assert_eq!(before, index(&TEXT.replace("many", "more").replace("param long = 10s", "param long = 20s")));
    let with_let =
        TEXT.replace("      param long", "      let team = pod.labels[\"team\"] ?? \"x\"\n      param long");
    let with_let = with_let.replace("reject \"many\" when", "reject \"many\" when team == \"y\" &&");
    assert_eq!(before, index(&with_let));
    assert_ne!(before, index(&TEXT.replace("labels[\"job\"]", "labels[\"task\"]")));
    assert_ne!(
        before,
        index(&TEXT.replace("last: string", "last: time").replace("last == pod.name", "last == now()"))
    );
}

/// A text from choices that are kept, so that one of them can be made otherwise.
struct Choices<'r> {
    random: &'r mut Random,
    made: Vec<(usize, usize)>,
    at: usize,
}

impl Choices<'_> {
    fn below(&mut self, most: usize) -> usize {
        if self.at == self.made.len() {
            let choice = self.random.below(most);
            self.made.push((choice, most));
        }
        self.at += 1;
        self.made[self.at - 1].0 % most
    }

    fn of(&mut self, texts: &[&str]) -> String {
        texts[self.below(texts.len())].to_owned()
    }

    /// A text that is there.
    fn text(&mut self, depth: usize) -> String {
        let most = if depth == 0 { 5 } else { 12 };
        match self.below(most) {
            0 => self.of(&["pod.name", "pod.namespace", "pod.scheduler", "ns.name"]),
            1 => format!(
                "({}.labels[\"{}\"] ?? \"{}\")",
                self.of(&["pod", "ns"]),
                self.of(&["a", "b"]),
                self.of(&["", "x"])
            ),
            2 => self.of(&["one", "two"]),
            3 => format!("(pod.labels[{}] ?? \"\")", self.of(&["given", "other"])),
            4 => format!(
                "({}.labels[\"k\"] ?? \"\")",
                self.of(&[
                    "lookup(\"v1/ConfigMap\", \"default\", \"x\")",
                    "lookup(\"apps/v1/Deployment\", \"default\", \"x\")"
                ])
            ),
            5 => format!("{}({})", self.of(&["f", "g"]), self.text(depth - 1)),
            6 => format!("{}.{}()", self.text(depth - 1), self.of(&["lowerAscii", "upperAscii"])),
            7 => format!("({} + {})", self.text(depth - 1), self.text(depth - 1)),
            8 | 9 => {
                format!("({} ? {} : {})", self.truth(depth - 1), self.text(depth - 1), self.text(depth - 1))
            }
            10 => format!(
                "{}.map(a, {}).map(b, b + \"{}\").join(\",\")",
                self.of(&["pod.labels", "ns.labels"]),
                self.of(&["a + pod.name", "pod.name + a", "a"]),
                self.of(&["x", "y"]),
            ),
            _ => format!("({} + \"/\" + pod.name)", self.text(depth - 1)),
        }
    }

    fn truth(&mut self, depth: usize) -> String {
        match self.below(if depth == 0 { 3 } else { 5 }) {
            0 => format!(
                "pod.{} {} {}",
                self.of(&["priority", "containers.size()"]),
                self.of(&["<", "<=", ">", ">=", "=="]),
                self.of(&["1", "2", "at_most"])
            ),
            1 => format!("has(pod.labels[\"{}\"])", self.of(&["c", "d"])),
            2 => format!(
                "pod.requests.{}",
                self.of(&["cpu > 1cpu", "cpu > 1m", "memory > 1Gi", "memory > 1Mi"])
            ),
            3 => format!("({} {} {})", self.truth(depth - 1), self.of(&["&&", "||"]), self.truth(depth - 1)),
            _ => format!(
                "pod.labels.{}(k, {}k == {})",
                self.of(&["exists", "all"]),
                self.of(&["", "pod.name + "]),
                self.text(depth - 1)
            ),
        }
    }
}

/// The name of the index of a memo with this key. `above` moves lines and numbers of declarations; `renamed` has other names.
fn index_by(key: &str, above: bool, renamed: bool) -> String {
    let (above, more) = match above {
        true => (
            "// a line\n",
            "let before = pod.name\n memo first: int by pod.namespace ttl 1s\n def same(x: string): string = x\n \
             filter n { require node.name != before else \"no\"\n require same(node.name) != \"y\" && (first ?? 0) < 2 else \"n\" }",
        ),
        false => ("", ""),
    };
    let mut declared = String::from(
        "param at_most = 3\n param given = \"p\"\n param other = \"q\"\n let one = pod.name + \"1\"\n \
         let two = pod.name + \"2\"\n \
         def f(x: string): string = x + \"!\"\n def g(x: string): string = \"!\" + x\n",
    );
    let mut key = key.to_owned();
    if renamed {
        for (from, to) in [("one", "uno"), ("two", "due"), ("f(", "eff("), ("g(", "gee(")] {
            let (from, to) = (format!(" {from}"), format!(" {to}"));
            declared = declared.replace(&from, &to);
            key = format!(" {key}").replace("(", "( ").replace("[", "[ ").replace(&from, &to);
        }
    }
    let text = format!(
        "{above}policy p {{\n {more}\n {declared}\n memo m: bool by {key} ttl 1h\n \
         filter all {{ reject \"x\" when m ?? false }}\n}}"
    );
    let set = compile(&text);
    let policy = &set.iter().next().unwrap().policy;
    let memo = policy.memos.iter().find(|memo| &*memo.name == "m").unwrap();
    memo.index.0.to_string()
}

#[test]
fn a_memo_is_another_one_exactly_when_its_key_means_something_else() {
    let mut pairs = 0;
    for seed in 0..250 {
        let mut random = Random(seed);
        let mut choices = Choices { random: &mut random, made: Vec::new(), at: 0 };
        let key = choices.text(3);
        let index = index_by(&key, false, false);
        assert_eq!(index, index_by(&key, true, false), "lines and declarations above `{key}`");
        assert_eq!(index, index_by(&key, false, true), "names of lets and defs in `{key}`");
        let made = choices.made.clone();
        let changed = choices.random.below(made.len());
        for by in 1..made[changed].1 {
            let mut other = Choices { random: &mut Random(seed + 1), made: made.clone(), at: 0 };
            other.made[changed].0 += by;
            other.made.truncate(made.len());
            let other = other.text(3);
            if other != key {
                pairs += 1;
                assert_ne!(index, index_by(&other, false, false), "`{key}` and `{other}`");
            }
        }
    }
    assert!(pairs > 300, "{pairs} pairs");
}

#[test]
fn what_a_name_stands_for_is_a_part_of_what_a_memo_means() {
    let index = |declared: &str| {
        let text = format!(
            "policy p {{ {declared} memo m: bool by key ttl 1h\n filter all {{ reject \"x\" when m ?? false }} }}"
        );
        compile(&text).iter().next().unwrap().policy.memos[0].index.clone()
    };
    let all = [
        "let key = pod.name",
        "let key = pod.namespace",
        "param key = \"a\"",
        "param key = \"b\"",
        "param key = 1",
        "param key = 1m",
        "param key = 1min",
        "def d(x: string): string = x + \"a\"\n let key = d(pod.name)",
        "def d(x: string): string = x + \"b\"\n let key = d(pod.name)",
        "group g = p in pods where p.namespace == pod.namespace\n let key = g.count()",
        "group g = p in pods where p.name == pod.name\n let key = g.count()",
    ];
    for (at, one) in all.iter().enumerate() {
        for other in &all[..at] {
            assert_ne!(index(one), index(other), "`{one}` and `{other}`");
        }
    }
    assert_eq!(index("let key = pod.name"), index("let a = pod.name\n let key = a"), "a let is its value");
}
