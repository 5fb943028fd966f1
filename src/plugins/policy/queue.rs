//! `queue by`: the keys of a pod as bytes that sort in the order of the keys.

use super::PolicyPlugin;
use super::ledger_reads::{reads_only_the_pod, sums_alone};
use bayplan_framework::{Interest, QueueSort, QueuedPodInfo, SortKey, SortShare};
use bayplan_lang::codegen::{CompiledKey, Env};
use bayplan_lang::eval::context::{EvalContext, Queued};
use bayplan_lang::eval::interpret::Evaluator;
use bayplan_lang::typed::{Expr, Point, Rules, Statement};
use bayplan_lang::types::value::Value;
use bayplan_model::Snapshot;

/// Sort keys that each read either the pod and its state in the queue, or only sums of ledgers. Pods that read the same
/// sums then keep their order among each other when a sum moves.
pub(super) struct Shares {
    /// Which of the keys read sums.
    of_sums: Vec<bool>,
    /// The keys under which sums are read, in their order.
    read_under: Vec<Expr>,
}

impl Shares {
    /// Of a policy whose keys are such.
    pub(super) fn of(rules: Rules<'_>) -> Option<Self> {
        let policy = rules.policy;
        let mut sums = Vec::new();
        let statements = rules.at(Point::QueueSort).flat_map(|rule| rules.statements(rule));
        let keys = statements.filter_map(|statement| match statement {
            Statement::Key(key) => Some(key),
            _ => None,
        });
        let of_sums = keys.map(|key| {
            let of_sums = !reads_only_the_pod(policy, &key.value, true);
            (!of_sums || sums_alone(policy, &key.value, &mut sums)).then_some(of_sums)
        });
        let of_sums = of_sums.collect::<Option<Vec<bool>>>()?;
        let read_under = sums.into_iter().map(|(_, key)| key.clone()).collect();
        of_sums.contains(&true).then_some(Self { of_sums, read_under })
    }
}

impl QueueSort for PolicyPlugin {
    fn key(&self, pod: &QueuedPodInfo, snapshot: &Snapshot) -> SortKey {
        let mut key = SortKey::default();
        let Some(keys) = &self.compiled.statements.queue else { return key };
        let mut context = EvalContext::new(&pod.pod, snapshot, pod.timestamp);
        context.queued = Queued { since: Some(pod.added), attempts: pod.attempts };
        let mut env = Env::new(&self.compiled.policy, context, &[]);
        keys.iter().for_each(|of| append(of, &mut env, &mut key));
        key
    }

    fn share(&self, pod: &QueuedPodInfo, snapshot: &Snapshot) -> Option<SortShare> {
        let (shares, keys) = (self.shares.as_ref()?, self.compiled.statements.queue.as_ref()?);
        let mut context = EvalContext::new(&pod.pod, snapshot, pod.timestamp);
        context.queued = Queued { since: Some(pod.added), attempts: pod.attempts };
        let mut evaluator = Evaluator::new(&self.compiled.policy, context);
        let mut class = SortKey::default();
        let mut named = shares.read_under.iter();
        if !named.all(|key| write_exactly(&evaluator.value(key), &mut class)) {
            return None;
        }
        let mut env = Env::new(&self.compiled.policy, context, &[]);
        let mut own = SortKey::default();
        let of_pod = keys.iter().zip(&shares.of_sums).filter(|(_, of_sums)| !**of_sums);
        of_pod.for_each(|(of, _)| append(of, &mut env, &mut own));
        Some(SortShare { class, own })
    }

    fn interest(&self, pod: &QueuedPodInfo, snapshot: &Snapshot) -> Option<Interest> {
        let context = EvalContext::new(&pod.pod, snapshot, pod.timestamp);
        Some(self.interest_of(&self.events.of_queue, context))
    }
}

/// Appends the value of a key, in its direction.
fn append(of: &CompiledKey, env: &mut Env<'_, '_>, key: &mut SortKey) {
    let begin = key.0.len();
    write(&(of.value)(env), key);
    if of.descending {
        for byte in key.0.iter_mut().skip(begin) {
            *byte = !*byte;
        }
    }
}

/// Appends the key of a ledger as bytes that are equal where keys of its type are; `false` where that cannot be told.
fn write_exactly(value: &Value<'_>, key: &mut SortKey) -> bool {
    match value {
        Value::List(parts) => {
            key.0.extend_from_slice(&(parts.len() as u64).to_be_bytes());
            parts.iter().all(|part| write_exactly(part, key))
        }
        Value::Bool(_)
        | Value::Int(_)
        | Value::Uint(_)
        | Value::Float(_)
        | Value::Time(_)
        | Value::String(_) => {
            write(value, key);
            true
        }
        _ => false,
    }
}

/// Appends a value as bytes that compare like values of its type.
fn write(value: &Value<'_>, key: &mut SortKey) {
    let mut whole = |number: i64| key.0.extend_from_slice(&(number as u64 ^ (1 << 63)).to_be_bytes());
    match value {
        Value::Bool(truth) => key.0.push(u8::from(*truth)),
        Value::Int(number) => whole(*number),
        Value::Time(time) => whole(time.0),
        Value::Uint(number) => key.0.extend_from_slice(&number.to_be_bytes()),
        Value::Float(number) => {
            // The bits of negative floats sort in reverse; -0.0 equals 0.0.
            let bits = (number + 0.0).to_bits();
            let ordered = if bits >> 63 == 1 { !bits } else { bits ^ (1 << 63) };
            key.0.extend_from_slice(&ordered.to_be_bytes());
        }
        other => {
            for byte in other.as_str().unwrap_or_default().bytes() {
                key.0.push(byte);
                if byte == 0 {
                    key.0.push(0xff);
                }
            }
            key.0.extend_from_slice(&[0, 0]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(value: Value<'_>) -> SortKey {
        let mut key = SortKey::default();
        write(&value, &mut key);
        key
    }

    #[test]
    fn keys_of_ledgers_are_told_apart() {
        let list =
            |parts: &[&'static str]| Value::List(parts.iter().map(|part| Value::text(*part)).collect());
        let keys = [
            Value::text("a"),
            Value::text("ab"),
            list(&[]),
            list(&["a"]),
            list(&["a", ""]),
            list(&["", "a"]),
            list(&["a\0", "b"]),
            list(&["a", "\0b"]),
        ];
        let written: std::collections::BTreeSet<SortKey> = keys
            .iter()
            .map(|value| {
                let mut key = SortKey::default();
                assert!(write_exactly(value, &mut key));
                key
            })
            .collect();
        assert_eq!(written.len(), keys.len());
        assert!(!write_exactly(&Value::Absent, &mut SortKey::default()));
    }

    #[test]
    fn bytes_order_as_values_do() {
        let whole = [i64::MIN, -1, 0, 1, i64::MAX];
        assert!(whole.windows(2).all(|pair| key(Value::Int(pair[0])) < key(Value::Int(pair[1]))));
        let floats = [f64::MIN, -1.5, -0.25, 0.0, 1e-300, 2.0, f64::MAX];
        assert!(floats.windows(2).all(|pair| key(Value::Float(pair[0])) < key(Value::Float(pair[1]))));
        let texts = ["", "\0", "\0a", "a", "a\0", "a\0b", "ab", "b", "\u{10ffff}"];
        assert!(texts.windows(2).all(|pair| key(Value::text(pair[0])) < key(Value::text(pair[1]))));
        assert_eq!(key(Value::Float(-0.0)), key(Value::Float(0.0)));
        assert!(key(Value::Bool(false)) < key(Value::Bool(true)));
    }
}
