//! Memos as closures: the value under the key of the pod.

use super::Lowering;
use super::closures::{ValueFn, as_value};
use crate::eval::memos;
use crate::typed::MemoId;

impl Lowering<'_> {
    /// What a memo remembers for the pod.
    pub(super) fn memo(&mut self, id: MemoId) -> ValueFn {
        let of = &self.policy[id];
        let (key, index) = (self.value(&of.key), of.index.clone());
        as_value(move |env| {
            let key = key(env);
            memos::remembered(&env.context, &index, &key)
        })
    }
}
