//! What follows for memos once constants are folded: how long they keep a value, and the names of their indexes.

use crate::analysis::shape::constant;
use crate::eval::memos::index_keys;
use crate::typed::Policy;
use crate::types::value::Value;
use bayplan_model::Duration;

/// Fills both in.
pub(super) fn derive(policy: &mut Policy) {
    let of_ttl = |ttl| match constant(policy, ttl) {
        Some(Value::Int(micros)) => Duration(micros.max(0)),
        _ => Duration::default(),
    };
    let found: Vec<Duration> = policy.memos.iter().map(|memo| of_ttl(&memo.ttl)).collect();
    let keys = index_keys(policy);
    for ((memo, keeps_for), key) in policy.memos.iter_mut().zip(found).zip(keys) {
        memo.keeps_for = keeps_for;
        memo.index = key;
    }
}
