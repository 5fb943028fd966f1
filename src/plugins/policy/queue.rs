//! `queue by`: the keys of a pod as bytes that sort in the order of the keys.

use super::PolicyPlugin;
use crate::framework::{Interest, QueueSort, QueuedPodInfo, SortKey};
use crate::lang::codegen::Env;
use crate::lang::eval::context::{EvalContext, Queued};
use crate::lang::types::value::Value;
use crate::model::Snapshot;

impl QueueSort for PolicyPlugin {
    fn key(&self, pod: &QueuedPodInfo, snapshot: &Snapshot) -> SortKey {
        let mut key = SortKey::default();
        let Some(keys) = &self.compiled.statements.queue else { return key };
        let mut context = EvalContext::new(&pod.pod, snapshot, pod.timestamp);
        context.queued = Queued { since: Some(pod.added), attempts: pod.attempts };
        let mut env = Env::new(&self.compiled.policy, context, &[]);
        for of in keys {
            let begin = key.0.len();
            write(&(of.value)(&mut env), &mut key);
            if of.descending {
                for byte in key.0.iter_mut().skip(begin) {
                    *byte = !*byte;
                }
            }
        }
        key
    }

    fn interest(&self, pod: &QueuedPodInfo, snapshot: &Snapshot) -> Option<Interest> {
        let context = EvalContext::new(&pod.pod, snapshot, pod.timestamp);
        Some(self.interest_of(&self.events.of_queue, context))
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
